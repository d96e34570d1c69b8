"""Teach a cart to balance a pole, by REINFORCE.

The physics is in this file: a cart of 1 kg on a track, a pole of 0.1 kg hinged on it, and a push of
10 N to the left or to the right fifty times a second (Barto, Sutton and Anderson, 1983). An episode
ends when the pole leans by more than 12 degrees, when the cart leaves the track, or after ten
seconds. A small network gives the probability of each push. It learns from what it tried: pushes
that were followed by more time upright than is usual there become more probable. The picture shows
the time upright while it learns, and two episodes side by side, before and after.

    python examples/cartpole.py --steps 150 --seed 1
"""

import argparse
import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = Path(__file__).parent

GRAVITY, CART, POLE, HALF_LENGTH = 9.8, 1.0, 0.1, 0.5  # m/s2, kg, kg, m
PUSH, TICK = 10.0, 0.02  # N, s
TRACK, LEAN = 2.4, math.radians(12)  # m and rad from the middle
TICKS = 500

torch.set_default_dtype(torch.float64)


class Poles:
    """Carts under poles, all at once: position, speed, angle and the angle's speed of each."""

    def __init__(self, count: int, random: np.random.Generator):
        """They nearly stand still, nearly upright."""
        self.state = random.uniform(-0.05, 0.05, (count, 4))

    def push(self, to_right: np.ndarray):
        """One tick later, after a push to the right (1) or to the left (0)."""
        _, speed, angle, turning = self.state.T
        force = PUSH * (2 * to_right - 1)
        mass = CART + POLE
        sin, cos = np.sin(angle), np.cos(angle)
        thrust = (force + POLE * HALF_LENGTH * turning**2 * sin) / mass
        spin = (GRAVITY * sin - cos * thrust) / (HALF_LENGTH * (4 / 3 - POLE * cos**2 / mass))
        pull = thrust - POLE * HALF_LENGTH * spin * cos / mass
        self.state = self.state + TICK * np.stack([speed, pull, turning, spin], axis=1)

    def upright(self) -> np.ndarray:
        return (abs(self.state[:, 0]) < TRACK) & (abs(self.state[:, 2]) < LEAN)


class Policy(nn.Module):
    """Logits of the two pushes, and the time upright to be expected from a state."""

    def __init__(self, width: int = 64):
        super().__init__()
        self.pushes = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 2))
        self.value = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, state: torch.Tensor):
        return torch.distributions.Categorical(logits=self.pushes(state)), self.value(state)[..., 0]


@torch.no_grad()
def play(policy, count, random):
    """Episodes of so many poles at once: states, pushes and, at each tick, which still stand."""
    poles = Poles(count, random)
    alive = np.ones(count, dtype=bool)
    states, pushes, standing = [], [], []
    for _ in range(TICKS):
        state = torch.from_numpy(poles.state)
        push = policy(state)[0].sample()
        states.append(state)
        pushes.append(push)
        standing.append(torch.from_numpy(alive))
        poles.push(push.numpy())
        alive = alive & poles.upright()
        if not alive.any():
            break
    return torch.stack(states), torch.stack(pushes), torch.stack(standing)


def returns_of(standing, discount):
    """For each tick the discounted number of ticks that the pole goes on to stand."""
    later = torch.zeros(standing.shape[1])
    out = []
    for alive in standing.flip(0):
        later = alive * (1 + discount * later)
        out.append(later)
    return torch.stack(out).flip(0)


def reinforce_loss(policy, states, pushes, standing, discount=0.99):
    """The policy's surrogate loss, with the expected return as baseline, and the baseline's own."""
    returns = returns_of(standing, discount)[standing] * (1 - discount)
    choice, expected = policy(states[standing])
    surplus = returns - expected.detach()
    surplus = (surplus - surplus.mean()) / (surplus.std() + 1e-6)
    gain = (surplus * choice.log_prob(pushes[standing])).mean()
    return F.mse_loss(expected, returns) - gain - 0.005 * choice.entropy().mean()


def draw_cart(axes, states, title):
    """Snapshots of an episode: the cart's place and the pole's lean, early pale, late dark."""
    shown = states[:: max(1, len(states) // 40)]
    for i, (x, _, angle, _) in enumerate(shown.tolist()):
        color = plt.cm.viridis_r(0.1 + 0.9 * i / len(shown))
        tip = x + 2 * HALF_LENGTH * math.sin(angle), 2 * HALF_LENGTH * math.cos(angle)
        axes.plot([x, tip[0]], [0, tip[1]], color=color, lw=1.5)
        axes.plot(x, 0, "s", color=color, ms=5)
    axes.axhline(0, color="gray", lw=0.8, zorder=0)
    axes.set(xlim=(-TRACK / 2, TRACK / 2), ylim=(-0.15, 1.15), aspect="equal", title=title)
    axes.set(xlabel="m")


def plot(history, before, after, path):
    """Seconds upright by update; the longest episode before and after, as pictures and as angles."""
    figure = plt.figure(figsize=(12, 5.5), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1, 1.2])
    axes = figure.add_subplot(grid[0, 0])
    axes.plot(range(1, len(history) + 1), [ticks * TICK for ticks in history])
    axes.axhline(TICKS * TICK, color="gray", ls=":", label="longest possible")
    axes.set(xlabel="update", ylabel="mean time upright (s)")
    axes.grid(alpha=0.3)
    axes.legend()
    axes = figure.add_subplot(grid[1, 0])
    for states, label in ((before, "before"), (after, "after")):
        seconds = torch.arange(len(states)) * TICK
        axes.plot(seconds, states[:, 2].rad2deg(), label=label, lw=1)
    axes.set(xlabel="s", ylabel="lean of the pole (degrees)", ylim=(-13, 13))
    axes.grid(alpha=0.3)
    axes.legend()
    for row, (states, label) in enumerate(((before, "before"), (after, "after"))):
        seconds = len(states) * TICK
        draw_cart(figure.add_subplot(grid[row, 1]), states, f"{label} training: {seconds:.1f} s")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def longest(policy, random, count=16):
    """States of the pole that stands longest."""
    states, _, standing = play(policy, count, random)
    best = standing.sum(dim=0).argmax()
    return states[standing[:, best], best]


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=150, help="updates of the policy")
    parser.add_argument("--every", type=int, default=10, help="updates between printed losses")
    parser.add_argument("--poles", type=int, default=32, help="episodes for an update")
    parser.add_argument("--lr", type=float, default=1e-2, help="learning rate of Adam")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="output directory")
    return parser.parse_args()


def main():
    args = parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    random = np.random.default_rng(args.seed)

    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    before = longest(policy, random)
    history = []
    for step in range(1, args.steps + 1):
        states, pushes, standing = play(policy, args.poles, random)
        optimizer.zero_grad()
        loss = reinforce_loss(policy, states, pushes, standing)
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        history.append(standing.sum().item() / args.poles)
        if step % args.every == 0:
            seconds = history[-1] * TICK
            print(f"step {step:5d}  loss {loss.item():.6g}  upright {seconds:.2f} s", flush=True)

    path = args.out / "cartpole.png"
    plot(history, before, longest(policy, random), path)
    print(f"picture:    {path}")


if __name__ == "__main__":
    main()
