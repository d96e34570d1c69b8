"""Foretell the sunspots with an LSTM, and say how sure that is.

The data are the yearly mean sunspot numbers from 1700 to 2008 (NOAA, in examples/data). An LSTM
reads the years and gives, after each, a normal distribution of the next one; it learns from the
years before 1950. The picture shows the later years, each foretold from those before it, and many
possible courses that the model draws from 1976 on by itself.

    python examples/sunspots.py --steps 800 --seed 1
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = Path(__file__).parent
LAST = 1950  # the first year that training does not see
ALONE = 1976  # the first year of the courses that the model draws by itself
SCALE = 8.0


class Forecast(nn.Module):
    """Mean and deviation of the next year's number, after each year of a series."""

    def __init__(self, width: int = 48):
        super().__init__()
        self.lstm = nn.LSTM(1, width, num_layers=2, batch_first=True, dropout=0.3)
        self.head = nn.Linear(width, 2)

    def forward(self, series: torch.Tensor, state=None):
        """Means and deviations, both of the series' shape (batch, years), and the LSTM's state."""
        found, state = self.lstm(series[..., None], state)
        change, spread = self.head(found).unbind(-1)
        return series + change, F.softplus(spread) + 1e-2, state


def load_series():
    """The years, and the square roots of their sunspot numbers over SCALE: large counts vary
    more.
    """
    years, numbers = np.loadtxt(HERE / "data" / "sunspots.csv", delimiter=",", skiprows=2).T
    return years.astype(int), torch.tensor(numbers, dtype=torch.float32).sqrt() / SCALE


def draw_windows(series, length, count):
    """Random stretches of the series, of one length; some made larger and some smaller, since the
    sun has been livelier lately than ever before.
    """
    starts = torch.randint(len(series) - length + 1, (count, 1))
    return series[starts + torch.arange(length)] * (0.7 + 0.7 * torch.rand(count, 1))


def next_year_loss(model, windows, skipped=5):
    """Mean negative log-likelihood of each next year; the first have too little before them."""
    mean, deviation, _ = model(windows[:, :-1])
    target = windows[:, 1:]
    return F.gaussian_nll_loss(mean[:, skipped:], target[:, skipped:], deviation[:, skipped:] ** 2)


@torch.no_grad()
def draw_courses(model, known, years, count):
    """Ways in which the series may go on: each next year is drawn, then read as if it were true."""
    model.eval()
    mean, deviation, state = model(known.expand(count, -1))
    year = torch.normal(mean[:, -1:], deviation[:, -1:]).clamp(min=0.0)
    courses = [year]
    for _ in range(years - 1):
        mean, deviation, state = model(year, state)
        year = torch.normal(mean, deviation).clamp(min=0.0)
        courses.append(year)
    return torch.cat(courses, dim=1)


def numbers(scaled):
    """Back from the model's scale to sunspot numbers."""
    return ((scaled.clamp(min=0.0) * SCALE) ** 2).numpy()


@torch.no_grad()
def plot(model, years, series, history, path):
    """All years; the next year foretold from those before; possible courses; the loss."""
    model.eval()
    first = int(LAST - years[0])
    mean, deviation, _ = model(series[None])
    mean, deviation = mean[0, first - 1 : -1], deviation[0, first - 1 : -1]
    ahead = np.arange(ALONE, LAST + 60)
    courses = draw_courses(model, series[: ALONE - years[0]], len(ahead), 400)

    figure = plt.figure(figsize=(12, 7), layout="constrained")
    grid = figure.add_gridspec(3, 3)
    axes = figure.add_subplot(grid[0, :2])
    axes.plot(years, numbers(series), color="black", lw=0.8)
    axes.axvspan(LAST, years[-1], color="tab:orange", alpha=0.15, label="not seen in training")
    axes.set(ylabel="sunspots", xlim=(years[0], years[-1] + 1))
    axes.legend(loc="upper left")
    axes = figure.add_subplot(grid[0, 2])
    axes.plot(range(1, len(history) + 1), history, lw=0.6)
    axes.set(xlabel="step", title="loss")
    axes.grid(alpha=0.3)

    axes = figure.add_subplot(grid[1, :])
    axes.fill_between(years[first:], numbers(mean - 2 * deviation), numbers(mean + 2 * deviation),
                      color="tab:blue", alpha=0.2, label="two deviations")  # fmt: skip
    axes.plot(years[first:], numbers(mean), color="tab:blue", label="foretold a year before")
    axes.plot(years[first - 20 :], numbers(series[first - 20 :]), "k.-", lw=0.8, label="counted")
    axes.set(ylabel="sunspots", xlim=(LAST - 20, LAST + 60))
    axes.legend(loc="upper right", ncols=3)
    axes.grid(alpha=0.3)

    axes = figure.add_subplot(grid[2, :])
    for low, high in ((0.05, 0.95), (0.25, 0.75)):
        band = [numbers(courses.quantile(q, dim=0)) for q in (low, high)]
        axes.fill_between(ahead, *band, color="tab:green", alpha=0.18, lw=0,
                          label=f"{round(100 * (high - low))} % of the courses")  # fmt: skip
    axes.plot(ahead, numbers(courses[:2]).T, color="tab:green", lw=0.9)
    axes.plot(years[first - 20 :], numbers(series[first - 20 :]), "k.-", lw=0.8)
    axes.set(xlabel="year", ylabel="sunspots", xlim=(LAST - 20, LAST + 60), ylim=(0, 250))
    axes.set_title(f"courses that the model draws from {ALONE} on, two of them as lines", size=10)
    axes.legend(loc="upper right", ncols=2)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=800, help="optimizer steps")
    parser.add_argument("--every", type=int, default=50, help="steps between printed losses")
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--years", type=int, default=60, help="length of a stretch")
    parser.add_argument("--lr", type=float, default=5e-3, help="first learning rate of Adam")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="output directory")
    return parser.parse_args()


def main():
    args = parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)

    years, series = load_series()
    first = int(LAST - years[0])
    model = Forecast()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    print(f"{first} years to learn from, {len(series) - first} to foretell")

    history = []
    for step in range(1, args.steps + 1):
        windows = draw_windows(series[:first], args.years, args.batch_size)
        optimizer.zero_grad()
        loss = next_year_loss(model, windows)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        history.append(loss.item())
        if step % args.every == 0:
            print(f"step {step:5d}  loss {loss.item():.6g}", flush=True)

    model.eval()
    with torch.no_grad():
        foretold = model(series[None])[0][0, first - 1 : -1]
    true = numbers(series[first:])
    naive = np.abs(numbers(series[first - 1 : -1]) - true).mean()
    miss = np.abs(numbers(foretold) - true).mean()
    print(f"mean miss from {LAST} on: {miss:.1f} sunspots; of 'as last year': {naive:.1f}")
    path = args.out / "sunspots.png"
    plot(model, years, series, history, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
