"""Teach a cart to balance a pole, by REINFORCE.

The physics is in this file: a cart of 1 kg on a track, a pole of 0.1 kg hinged on it, and a push of
10 N to the left or to the right fifty times a second (Barto, Sutton and Anderson, 1983). An episode
ends when the pole leans by more than 12 degrees, when the cart leaves the track, or after ten
seconds. A small network gives the probability of each push. It learns from what it tried: pushes
that were followed by more time upright than is usual there become more probable. The picture shows
the time upright while it learns, episodes before and after, and the policy.

    python examples/cartpole.py --steps 120 --seed 1
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


def reinforce_loss(policy, states, pushes, standing, discount=0.995):
    """The policy's surrogate loss, with the expected return as baseline, and the baseline's own."""
    returns = returns_of(standing, discount)[standing] * (1 - discount)
    choice, expected = policy(states[standing])
    surplus = returns - expected.detach()
    surplus = (surplus - surplus.mean()) / (surplus.std() + 1e-6)
    gain = (surplus * choice.log_prob(pushes[standing])).mean()
    return F.mse_loss(expected, returns) - gain - 0.005 * choice.entropy().mean()


def draw_paths(axes, episodes, value, label, limit):
    """A quantity over time in many episodes; those that end early end with a cross."""
    for (states, standing), color in zip(episodes, ("tab:red", "tab:blue"), strict=True):
        for pole in range(standing.shape[1]):
            path = value(states[standing[:, pole], pole])
            seconds = torch.arange(len(path)) * TICK
            axes.plot(seconds, path, color=color, lw=0.7, alpha=0.7)
            if len(path) < TICKS:
                axes.plot(seconds[-1], path[-1], "x", color=color, ms=5)
    axes.set(xlabel="s", ylabel=label, xlim=(0, TICKS * TICK), ylim=(-limit, limit))
    axes.grid(alpha=0.3)


@torch.no_grad()
def plot(policy, history, before, after, path):
    """Seconds upright by update; lean and place in episodes before and after; what is pushed
    when.
    """
    figure, axes = plt.subplots(2, 2, figsize=(12, 7), layout="constrained")
    axes[0, 0].plot(range(1, len(history) + 1), [ticks * TICK for ticks in history])
    axes[0, 0].axhline(TICKS * TICK, color="gray", ls=":", label="longest possible")
    axes[0, 0].set(xlabel="update", ylabel="mean time upright (s)", ylim=(0, None))
    axes[0, 0].grid(alpha=0.3)
    axes[0, 0].legend(loc="lower right")

    episodes = (before, after)
    draw_paths(axes[0, 1], episodes, lambda s: s[:, 2].rad2deg(), "lean of the pole (degrees)", 13)
    draw_paths(axes[1, 0], episodes, lambda s: s[:, 0], "place of the cart (m)", TRACK)
    axes[0, 1].set_title("before training red, after it blue; crosses: fallen", size=10)

    turning, angle = torch.meshgrid(
        torch.linspace(-2.5, 2.5, 101), torch.linspace(-LEAN, LEAN, 101), indexing="ij"
    )
    still = torch.zeros_like(angle)
    probability = policy(torch.stack([still, still, angle, turning], dim=-1))[0].probs[..., 1]
    shown = axes[1, 1].pcolormesh(
        angle.rad2deg(), turning, probability, cmap="RdBu_r", vmin=0, vmax=1, rasterized=True
    )
    states, standing = after
    visited = states[standing][::10]
    axes[1, 1].plot(visited[:, 2].rad2deg(), visited[:, 3], "k.", ms=1.5, alpha=0.4)
    axes[1, 1].set(xlabel="lean (degrees)", ylabel="its speed (rad/s)", ylim=(-2.5, 2.5))
    axes[1, 1].set(title="what it does with a cart that stands in the middle; dots: where it was")
    axes[1, 1].title.set_size(10)
    figure.colorbar(shown, ax=axes[1, 1], label="probability of a push to the right")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=120, help="updates of the policy")
    parser.add_argument("--every", type=int, default=10, help="updates between printed losses")
    parser.add_argument("--poles", type=int, default=32, help="episodes for an update")
    parser.add_argument("--lr", type=float, default=1e-2, help="first learning rate of Adam")
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
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=args.steps)
    states, _, standing = play(policy, 12, random)
    before = states, standing
    history = []
    for step in range(1, args.steps + 1):
        states, pushes, standing = play(policy, args.poles, random)
        optimizer.zero_grad()
        loss = reinforce_loss(policy, states, pushes, standing)
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        history.append(standing.sum().item() / args.poles)
        if step % args.every == 0:
            seconds = history[-1] * TICK
            print(f"step {step:5d}  loss {loss.item():.6g}  upright {seconds:.2f} s", flush=True)

    path = args.out / "cartpole.png"
    states, _, standing = play(policy, 12, random)
    plot(policy, history, before, (states, standing), path)
    print(f"picture:    {path}")


if __name__ == "__main__":
    main()
