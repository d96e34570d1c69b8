"""Train a small convolutional network to read handwritten digits.

The data are the 1,797 images of 8x8 pixels that scikit-learn ships (UCI Optical Recognition of
Handwritten Digits). The script trains, draws the learning curve, saves a checkpoint, loads it back
into a fresh network and prints the accuracy of that network on images it has never seen.

    python examples/digits.py --epochs 30 --seed 1
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
from torch.utils.data import DataLoader, TensorDataset, random_split
from tqdm import tqdm

HERE = Path(__file__).parent


class DigitNet(nn.Module):
    """Two convolutions, each halving the image, and a classifier over what they find."""

    def __init__(self, classes: int = 10, dropout: float = 0.3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, kernel_size=3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(32 * 2 * 2, 64),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(64, classes),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(images))


def load_data(seed: int, test_fraction: float = 0.2):
    """The digits as tensors of shape (N, 1, 8, 8) in [0, 1], split at random into training and
    test.
    """
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target, dtype=torch.int64)
    dataset = TensorDataset(images, labels)
    n_test = int(test_fraction * len(dataset))
    generator = torch.Generator().manual_seed(seed)
    return random_split(dataset, [len(dataset) - n_test, n_test], generator=generator)


def train_epoch(model, loader, optimizer, scheduler):
    """One pass over the training data; returns the mean loss."""
    model.train()
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    scheduler.step()
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader):
    """Mean loss and accuracy over a dataset."""
    model.eval()
    total, correct = 0.0, 0
    for images, labels in loader:
        logits = model(images)
        total += F.cross_entropy(logits, labels, reduction="sum").item()
        correct += (logits.argmax(dim=1) == labels).sum().item()
    return total / len(loader.dataset), correct / len(loader.dataset)


def plot_curves(history, path):
    """Training and test loss, and test accuracy, by epoch."""
    epochs = range(1, len(history) + 1)
    train_loss, test_loss, accuracy = zip(*history, strict=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    left.plot(epochs, train_loss, label="training")
    left.plot(epochs, test_loss, label="test")
    left.set(xlabel="epoch", ylabel="cross-entropy", yscale="log")
    left.legend()
    right.plot(epochs, accuracy, color="tab:green")
    right.set(xlabel="epoch", ylabel="test accuracy")
    right.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=30, help="passes over the data")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3, help="learning rate of Adam")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="output directory")
    return parser.parse_args()


def main():
    args = parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)

    train_set, test_set = load_data(args.seed)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=256)

    model = DigitNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    print(f"{len(train_set)} training and {len(test_set)} test images")
    print(f"{sum(p.numel() for p in model.parameters())} parameters")

    history = []
    progress = tqdm(range(args.epochs), unit="epoch")
    for _ in progress:
        train_loss = train_epoch(model, train_loader, optimizer, scheduler)
        test_loss, accuracy = evaluate(model, test_loader)
        history.append((train_loss, test_loss, accuracy))
        progress.set_postfix(loss=f"{train_loss:.4f}", accuracy=f"{accuracy:.4f}")

    curves = args.out / "learning_curve.png"
    plot_curves(history, curves)
    print(f"learning curve: {curves}")

    checkpoint = args.out / "digits.pt"
    torch.save({"model": model.state_dict(), "epochs": args.epochs, "seed": args.seed}, checkpoint)
    restored = DigitNet()
    restored.load_state_dict(torch.load(checkpoint)["model"])
    print(f"checkpoint:     {checkpoint}")

    _, accuracy = evaluate(restored, test_loader)
    print(f"test accuracy:  {accuracy:.4f}")


if __name__ == "__main__":
    main()
