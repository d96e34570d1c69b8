"""Learn the law of motion of a spiral from its path, with a neural ordinary differential equation.

A point moves by dy/dt = A y^3 (the cube of each coordinate). The network sees places on its path
only, never the law. It stands for dy/dt: a Runge-Kutta solver of fourth order integrates it from a
place on the path, and autograd runs back through the solver (Chen, Rubanova, Bettencourt and
Duvenaud, 2018). The picture shows the path and the field of speeds, learned and true.

    python examples/neural_ode.py --steps 3000 --seed 1
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import torch
import torch.nn as nn

HERE = Path(__file__).parent
SECONDS, PLACES = 15.0, 600
A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


def law(y: torch.Tensor) -> torch.Tensor:
    """The speed at a place, as nature has it."""
    return y**3 @ A.T


class Speed(nn.Module):
    """The speed at a place, as the network guesses it."""

    def __init__(self, width: int = 64):
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(2, width),
            nn.Tanh(),
            nn.Linear(width, width),
            nn.Tanh(),
            nn.Linear(width, 2),
        )
        nn.init.zeros_(self.network[-1].weight)  # at first everything stands still

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        return self.network(y**3)


def integrate(speed, y, dt, steps):
    """Places at 0, dt, ..., steps * dt from `y`, by Runge and Kutta's method of fourth order."""
    path = [y]
    for _ in range(steps):
        k1 = speed(y)
        k2 = speed(y + dt / 2 * k1)
        k3 = speed(y + dt / 2 * k2)
        k4 = speed(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(y)
    return torch.stack(path)


def draw_field(axes, speed, title):
    """Lines along the speed, darker where it is greater."""
    line = torch.linspace(-2.3, 2.3, 30)
    x, y = torch.meshgrid(line, line, indexing="xy")
    across, up = speed(torch.stack([x, y], dim=-1)).unbind(-1)
    fast = torch.hypot(across, up).sqrt().numpy()
    axes.streamplot(line.numpy(), line.numpy(), across.numpy(), up.numpy(), color=fast,
                    cmap="Blues", linewidth=0.9, arrowsize=0.8, density=1.1)  # fmt: skip
    axes.set(xlim=(-2.3, 2.3), ylim=(-2.3, 2.3), aspect="equal", title=title)


@torch.no_grad()
def plot(speed, times, path, history, file):
    """Both fields with the path, the coordinates over time, the loss."""
    dt = (times[1] - times[0]).item()
    found = integrate(speed, path[0], dt, len(path) - 1)
    figure = plt.figure(figsize=(12, 7.5), layout="constrained")
    grid = figure.add_gridspec(2, 6, height_ratios=[2, 1])
    axes = figure.add_subplot(grid[0, :3])
    draw_field(axes, law, "the law, and the path that it gave")
    axes.plot(*path.T, ".", color="tab:orange", ms=2.5)
    axes = figure.add_subplot(grid[0, 3:])
    draw_field(axes, speed, "what the network learned")
    axes.plot(*found.T, color="tab:red", lw=1.2)
    axes = figure.add_subplot(grid[1, :4])
    for i, name in enumerate("xy"):
        axes.plot(times, path[:, i], ".", ms=2, color=f"C{i}", label=f"{name}, seen")
        axes.plot(times, found[:, i], color=f"C{i}", lw=1, label=f"{name}, learned")
    axes.set(xlabel="s")
    axes.grid(alpha=0.3)
    axes.legend(ncols=2, loc="upper right", fontsize="small")
    axes = figure.add_subplot(grid[1, 4:])
    axes.semilogy(range(1, len(history) + 1), history, lw=0.6)
    axes.set(xlabel="step", title="loss")
    axes.grid(alpha=0.3)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=3000, help="optimizer steps")
    parser.add_argument("--every", type=int, default=200, help="steps between printed losses")
    parser.add_argument("--batch-size", type=int, default=64, help="places to start from")
    parser.add_argument("--ahead", type=int, default=20, help="places to foretell from each")
    parser.add_argument("--lr", type=float, default=5e-3, help="first learning rate of Adam")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="output directory")
    return parser.parse_args()


def main():
    args = parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)

    times = torch.linspace(0, SECONDS, PLACES)
    dt = SECONDS / (PLACES - 1)
    path = integrate(law, torch.tensor([2.0, 0.0]), dt, PLACES - 1)

    speed = Speed()
    optimizer = torch.optim.Adam(speed.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    print(f"{PLACES} places, {sum(p.numel() for p in speed.parameters())} parameters")

    history = []
    for step in range(1, args.steps + 1):
        starts = torch.randint(PLACES - args.ahead, (args.batch_size,))
        seen = path[starts + torch.arange(args.ahead + 1)[:, None]]
        optimizer.zero_grad()
        loss = (integrate(speed, seen[0], dt, args.ahead) - seen).square().mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        history.append(loss.item())
        if step % args.every == 0:
            print(f"step {step:5d}  loss {loss.item():.6g}", flush=True)

    with torch.no_grad():
        miss = (integrate(speed, path[0], dt, PLACES - 1) - path).norm(dim=1).mean()
    print(f"mean miss over {SECONDS:.0f} s from the first place alone: {miss:.4f}")
    file = args.out / "neural_ode.png"
    plot(speed, times, path, history, file)
    print(f"picture: {file}")


if __name__ == "__main__":
    main()
