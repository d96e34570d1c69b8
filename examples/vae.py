"""Train a variational autoencoder on handwritten digits, and draw the plane that it finds.

The data are the 1,797 images of 8x8 pixels that scikit-learn ships. The encoder gives each image a
normal distribution over a plane, the decoder an image for each point of the plane; the loss is the
negative evidence lower bound. The picture shows where the digits lie in the plane, the images that
the decoder draws along it, and reconstructions.

    python examples/vae.py --steps 4000 --seed 1
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

HERE = Path(__file__).parent


class VAE(nn.Module):
    """Encoder and decoder of three layers each, with a plane between them."""

    def __init__(self, pixels: int = 64, width: int = 256, latent: int = 2):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(pixels, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, 2 * latent),
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, pixels),
        )

    def encode(self, images: torch.Tensor) -> torch.distributions.Normal:
        mean, log_scale = self.encoder(images).chunk(2, dim=-1)
        return torch.distributions.Normal(mean, log_scale.exp())

    def forward(self, images: torch.Tensor):
        """Logits of the reconstructions, and the distributions that their codes were drawn from."""
        codes = self.encode(images)
        return self.decoder(codes.rsample()), codes


def negative_elbo(model, images):
    """Nats per image: of the pixels, given the code, and of the code beside a standard normal."""
    logits, codes = model(images)
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    prior = torch.distributions.Normal(0.0, 1.0)
    divergence = torch.distributions.kl_divergence(codes, prior).sum()
    return (pixels + divergence) / len(images)


@torch.no_grad()
def plot(model, images, labels, history, path, side=12):
    """The codes of all images, the decoder's images over the same plane, reconstructions, loss."""
    model.eval()
    figure = plt.figure(figsize=(12, 7), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=[2.2, 1])

    axes = figure.add_subplot(grid[0, 0])
    codes = model.encode(images).mean
    shown = axes.scatter(*codes.T, c=labels, s=7, cmap="tab10", vmin=-0.5, vmax=9.5)
    figure.colorbar(shown, ax=axes, ticks=range(10), label="digit")
    axes.set(title="where the encoder puts the images", xlim=(-3, 3), ylim=(-3, 3), aspect="equal")

    axes = figure.add_subplot(grid[0, 1])
    line = torch.linspace(-2.6, 2.6, side)
    points = torch.cartesian_prod(line.flip(0), line).flip(1)  # rows from the top, then columns
    drawn = F.pad(model.decoder(points).sigmoid().view(side, side, 8, 8), (1, 1, 1, 1))
    canvas = drawn.permute(0, 2, 1, 3).reshape(side * 10, side * 10)
    axes.imshow(canvas, cmap="gray_r", extent=(-2.8, 2.8, -2.8, 2.8))
    axes.set(title="what the decoder draws there")

    axes = figure.add_subplot(grid[1, 0])
    chosen = torch.stack([torch.nonzero(labels == digit)[0, 0] for digit in range(10)])
    again = model.decoder(model.encode(images[chosen]).mean).sigmoid()
    rows = torch.stack([images[chosen], again]).view(2, 10, 8, 8)
    rows = F.pad(rows, (1, 1, 1, 1)).permute(0, 2, 1, 3).reshape(20, 100)
    axes.imshow(rows, cmap="gray_r")
    axes.set(title="images, and their reconstructions", xticks=[], yticks=[])

    axes = figure.add_subplot(grid[1, 1])
    axes.plot(range(1, len(history) + 1), history, lw=0.7)
    axes.set(xlabel="step", ylabel="negative ELBO (nats)")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=8000, help="optimizer steps")
    parser.add_argument("--every", type=int, default=500, help="steps between printed losses")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-3, help="first learning rate of Adam")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="output directory")
    return parser.parse_args()


def main():
    args = parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)

    digits = load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32) / 16
    labels = torch.tensor(digits.target)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    print(f"{len(images)} images, {sum(p.numel() for p in model.parameters())} parameters")

    history = []
    for step in range(1, args.steps + 1):
        batch = images[torch.randint(len(images), (args.batch_size,))]
        optimizer.zero_grad()
        loss = negative_elbo(model, batch)
        loss.backward()
        optimizer.step()
        scheduler.step()
        history.append(loss.item())
        if step % args.every == 0:
            print(f"step {step:5d}  loss {loss.item():.6g}", flush=True)

    path = args.out / "vae.png"
    plot(model, images, labels, history, path)
    print(f"picture:     {path}")


if __name__ == "__main__":
    main()
