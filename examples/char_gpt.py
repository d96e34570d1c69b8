"""Train a small character GPT on Python's own manual, and let it write.

The text is the language reference that every Python carries for its `help()` (pydoc_data.topics,
half a million characters). The model is a transformer's decoder: causal self-attention and
feed-forward blocks over the last 64 characters, written out. The picture shows the loss, how
surprised the model is by each character of a passage that it has never seen, and what it writes.

    python examples/char_gpt.py --steps 600 --seed 1
"""

import argparse
import math
import re
from collections import Counter
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = Path(__file__).parent


class Block(nn.Module):
    """Causal self-attention, then a feed-forward network, each added to what came in."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
            nn.Dropout(dropout),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        packed = self.queries_keys_values(self.before_attention(x))
        query, key, value = packed.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        heard = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.mix(heard.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed_forward(x)


class CharGPT(nn.Module):
    """Logits of the next character at every place of a text of at most `context` characters."""

    def __init__(self, characters: int, context=64, width=96, heads=4, layers=3, dropout=0.1):
        super().__init__()
        self.context = context
        self.characters = nn.Embedding(characters, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, characters, bias=False)
        self.apply(self.start)
        self.head.weight = self.characters.weight

    @staticmethod
    def start(module):
        """Small starting weights, as in GPT-2."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.characters(text) + self.places(torch.arange(text.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @torch.no_grad()
    def write(self, text: torch.Tensor, count: int, temperature: float = 0.6) -> torch.Tensor:
        """`text` with `count` more characters, each drawn from the model's own distribution."""
        self.eval()
        for _ in range(count):
            logits = self(text[:, -self.context :])[:, -1] / temperature
            text = torch.cat([text, torch.multinomial(logits.softmax(dim=1), 1)], dim=1)
        return text


def load_text():
    """The manual as one tensor of character numbers, and the characters."""
    text = "\n".join(topics[name] for name in sorted(topics))
    text = re.sub(r"^ *[-=*~]{4,}\n", "", text, flags=re.M)  # lines under headings
    characters = sorted(c for c, count in Counter(text).items() if count >= 20)
    number = {c: i for i, c in enumerate(characters)}
    return torch.tensor([number[c] for c in text if c in number]), characters


def draw_batch(text, context, batch_size):
    """Random passages, and the same passages one character later."""
    starts = torch.randint(len(text) - context, (batch_size, 1))
    places = starts + torch.arange(context)
    return text[places], text[places + 1]


def next_character_loss(model, inputs, targets):
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


@torch.no_grad()
def evaluate(model, text, passages=64):
    """Mean loss over passages spread evenly over a text."""
    model.eval()
    starts = torch.linspace(0, len(text) - model.context - 2, passages).long()
    places = starts[:, None] + torch.arange(model.context)
    loss = next_character_loss(model, text[places], text[places + 1]).item()
    model.train()
    return loss


@torch.no_grad()
def surprise(model, passage):
    """Bits by which each character but the first surprises the model, given those before it."""
    model.eval()
    bits = []
    for start in range(0, len(passage) - 1, model.context // 2):
        # Windows that overlap by half: each character has at least half a context before it.
        begin = max(0, start - model.context // 2)
        window = passage[begin : start + model.context // 2 + 1]
        logits = model(window[None, :-1])[0]
        losses = F.cross_entropy(logits, window[1:], reduction="none")
        bits += (losses[start - begin :] / math.log(2)).tolist()
    return bits


def write_text(axes, text, bits=None, columns=74, rows=14, scale=None):
    """A text in a fixed grid, each character on a background of how much it surprised."""
    row = column = 0
    for i, character in enumerate(text):
        if character == "\n" or column == columns:
            row, column = row + 1, 0
        if row == rows:
            break
        if character != "\n":
            if bits is not None:
                color = scale.to_rgba(bits[i])
                axes.add_patch(plt.Rectangle((column, row - 0.5), 1, 1, color=color, lw=0))
            axes.text(column + 0.5, row, character, family="monospace", size=6.8,
                      ha="center", va="center", parse_math=False)  # fmt: skip
            column += 1
    axes.set(xlim=(0, columns), ylim=(rows - 0.3, -0.7))
    axes.axis("off")


def plot(history, tests, passage, bits, written, path):
    """The loss, the passage with its surprises, the text that the model wrote."""
    figure = plt.figure(figsize=(12, 5.6), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1, 1.35])
    left = figure.add_subplot(grid[:, 0])
    left.plot(range(1, len(history) + 1), history, lw=0.7, alpha=0.6, label="training")
    left.plot(*zip(*tests, strict=True), "o-", ms=3, label="unseen text")
    left.set(xlabel="step", ylabel="cross-entropy of the next character (nats)")
    left.grid(alpha=0.3)
    left.legend()
    scale = plt.cm.ScalarMappable(plt.Normalize(0, 8), cmap="YlOrRd")
    upper = figure.add_subplot(grid[0, 1])
    upper.set_title("unseen text: the redder, the less expected", size=10)
    write_text(upper, passage, bits, scale=scale)
    figure.colorbar(scale, ax=upper, label="bits", shrink=0.8)
    lower = figure.add_subplot(grid[1, 1])
    lower.set_title("what the model writes", size=10)
    write_text(lower, written)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=600, help="optimizer steps")
    parser.add_argument(
        "--every", type=int, default=50, help="steps between printed losses, at most"
    )
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3, help="highest learning rate of AdamW")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="output directory")
    return parser.parse_args()


def main():
    args = parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)

    text, characters = load_text()
    cut = int(0.95 * len(text))
    train_text, test_text = text[:cut], text[cut:]
    model = CharGPT(len(characters))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)
    print(f"{len(text)} characters, {len(characters)} different ones")
    print(f"{sum(p.numel() for p in model.parameters())} parameters")

    every = min(args.every, max(args.steps // 4, 1))
    history, tests = [], [(0, evaluate(model, test_text))]
    for step in range(1, args.steps + 1):
        optimizer.zero_grad()
        loss = next_character_loss(model, *draw_batch(train_text, model.context, args.batch_size))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        history.append(loss.item())
        if step % every == 0:
            print(f"step {step:5d}  loss {loss.item():.6g}", flush=True)
        if step % max(args.steps // 10, 1) == 0:
            tests.append((step, evaluate(model, test_text)))
    print(f"unseen text:  {tests[-1][1]:.4f} nats per character")

    passage = test_text[2000:2800]
    bits = [0.0, *surprise(model, passage)]
    written = model.write(text[None, :1], 800)[0]
    spell = lambda numbers: "".join(characters[i] for i in numbers.tolist())
    path = args.out / "char_gpt.png"
    plot(history, tests, spell(passage), bits, spell(written), path)
    print(f"picture:      {path}")


if __name__ == "__main__":
    main()
