"""Solve Burgers' equation with a physics-informed neural network, trained by L-BFGS.

    u_t + u u_x = (0.01 / pi) u_xx        u(0, x) = -sin(pi x)        u(t, -1) = u(t, 1) = 0

A network of t and x is the solution. Its loss is how far it misses the equation at random points of
the domain, its derivatives being taken by autograd, and how far it misses the starting and boundary
values. Nothing else is known to it (Raissi, Perdikaris and Karniadakis, 2019). Near t = 0.4 a shock
forms at x = 0. The exact solution, by Cole and Hopf's transformation, tells the error.

    python examples/burgers.py --steps 1500 --seed 1
"""

import argparse
import math
from itertools import pairwise
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn as nn

HERE = Path(__file__).parent
VISCOSITY = 0.01 / math.pi

torch.set_default_dtype(torch.float64)


class Solution(nn.Module):
    """u(t, x) as a network of tanh layers."""

    def __init__(self, width: int = 20, layers: int = 5):
        super().__init__()
        sizes = [2] + [width] * layers
        hidden = [layer for a, b in pairwise(sizes) for layer in (nn.Linear(a, b), nn.Tanh())]
        self.network = nn.Sequential(*hidden, nn.Linear(width, 1))
        for layer in hidden[::2]:
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return self.network(torch.stack([2 * t - 1, x], dim=1))[:, 0]


def residual(u, t, x):
    """What u leaves of u_t + u u_x - viscosity u_xx."""
    t, x = t.requires_grad_(), x.requires_grad_()
    value = u(t, x)
    u_t, u_x = torch.autograd.grad(value.sum(), (t, x), create_graph=True)
    (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
    return u_t + value * u_x - VISCOSITY * u_xx


def exact(t, x, terms=120):
    """Cole and Hopf's solution, by Gauss and Hermite's quadrature; arrays of one shape, t > 0."""
    nodes, weights = np.polynomial.hermite.hermgauss(terms)
    shifted = x[..., None] - np.sqrt(4 * VISCOSITY * t[..., None]) * nodes
    density = weights * np.exp(-np.cos(np.pi * shifted) / (2 * np.pi * VISCOSITY))
    return -(np.sin(np.pi * shifted) * density).sum(-1) / density.sum(-1)


@torch.no_grad()
def compare(u, sides=(101, 256)):
    """The network and the exact solution on a grid of t by x."""
    t, x = np.linspace(0, 1, sides[0]), np.linspace(-1, 1, sides[1])
    at = np.meshgrid(t, x, indexing="ij")
    found = u(*(torch.tensor(a.ravel()) for a in at)).numpy().reshape(sides)
    return t, x, found, np.vstack([-np.sin(np.pi * x), exact(at[0][1:], at[1][1:])])


def plot(t, x, found, true, history, path):
    """The solution over t and x, sections of it beside the exact ones, and the loss."""
    figure = plt.figure(figsize=(12, 6), layout="constrained")
    upper, lower = figure.subfigures(2, 1)
    fields, slices = upper.add_gridspec(1, 4), lower.add_gridspec(1, 4)
    axes = upper.add_subplot(fields[0, :2])
    shown = axes.pcolormesh(t, x, found.T, cmap="RdBu_r", vmin=-1, vmax=1, rasterized=True)
    upper.colorbar(shown, ax=axes, label="u")
    axes.set(xlabel="t", ylabel="x", title="what the network found")
    axes = upper.add_subplot(fields[0, 2])
    miss = np.abs(found - true).T
    shown = axes.pcolormesh(t, x, np.log10(miss + 1e-9), vmin=-6, vmax=0, rasterized=True)
    upper.colorbar(shown, ax=axes)
    axes.set(xlabel="t", title="its error (log10)")
    axes = upper.add_subplot(fields[0, 3])
    axes.semilogy(range(1, len(history) + 1), history, lw=0.8)
    axes.set(xlabel="evaluation", title="loss")
    axes.grid(alpha=0.3)
    for place, moment in enumerate((0, 25, 50, 75)):
        axes = lower.add_subplot(slices[0, place])
        axes.plot(x, true[moment], color="0.7", lw=4, label="exact")
        axes.plot(x, found[moment], "--", color="tab:red", lw=1.5, label="network")
        axes.set(xlabel="x", title=f"t = {t[moment]:.2f}", ylim=(-1.1, 1.1))
        axes.grid(alpha=0.3)
        if place == 0:
            axes.set_ylabel("u")
            axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=1500, help="evaluations of the loss")
    parser.add_argument("--every", type=int, default=100, help="evaluations between printed losses")
    parser.add_argument("--points", type=int, default=3000, help="points where the equation holds")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="output directory")
    return parser.parse_args()


def main():
    args = parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)

    inside_t, inside_x = torch.rand(args.points), 2 * torch.rand(args.points) - 1
    edge_x = torch.cat([torch.linspace(-1, 1, 200), torch.ones(100), -torch.ones(100)])
    edge_t = torch.cat([torch.zeros(200), torch.rand(200)])
    edge_u = torch.where(edge_t == 0, -torch.sin(math.pi * edge_x), 0.0)

    u = Solution()
    print(f"{args.points} points, {sum(p.numel() for p in u.parameters())} parameters")
    optimizer = torch.optim.LBFGS(
        u.parameters(),
        max_iter=args.steps,
        max_eval=args.steps,
        history_size=50,
        tolerance_grad=0,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )
    history = []

    def closure():
        optimizer.zero_grad()
        equation = residual(u, inside_t, inside_x).square().mean()
        values = (u(edge_t, edge_x) - edge_u).square().mean()
        loss = equation + values
        loss.backward()
        history.append(loss.item())
        if len(history) % args.every == 0:
            print(f"step {len(history):5d}  loss {loss.item():.6g}", flush=True)
        return loss

    optimizer.step(closure)  # all of it: L-BFGS calls the closure as often as it needs

    t, x, found, true = compare(u)
    print(f"relative error: {np.linalg.norm(found - true) / np.linalg.norm(true):.2e}")
    path = args.out / "burgers.png"
    plot(t, x, found, true, history, path)
    print(f"picture:        {path}")


if __name__ == "__main__":
    main()
