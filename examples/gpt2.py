"""Fine-tune a small GPT-2 of the transformers library, with and without reading beforehand.

The text is the language reference that every Python carries for its `help()` (pydoc_data.topics).
A GPT-2 of two layers, with random weights, first reads it: it learns to foretell each next word.
Then it learns, from 24 labelled passages of each of eight chapters, to tell which of them a
passage of 32 words is from. A second GPT-2 learns the same without having read. The picture shows
how well both do on other passages, and which chapters the first one confuses.

    python examples/gpt2.py --steps 400 --seed 1
"""

import argparse
import re
from collections import Counter
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import GPT2Config, GPT2ForSequenceClassification, GPT2LMHeadModel

HERE = Path(__file__).parent
CHAPTERS = {
    "compound": "statements",
    "specialnames": "special methods",
    "types": "types",
    "typesseq": "sequences",
    "typesmapping": "mappings",
    "string-methods": "string methods",
    "formatstrings": "formats",
    "debugger": "debugger",
}
LENGTH = 32
PADDING, UNKNOWN = 0, 1  # no passage here is short, but the library must know what would fill it


class Words:
    """The manual's frequent words and signs, numbered; all others are UNKNOWN."""

    def __init__(self, texts, at_least: int = 5):
        counts = Counter(word for text in texts for word in self.split(text))
        frequent = [word for word, count in counts.most_common() if count >= at_least]
        self.number = {word: i + 2 for i, word in enumerate(frequent)}

    @staticmethod
    def split(text):
        return re.findall(r"[a-z]+|[0-9]+|[^\sa-z0-9]", text.lower())

    def passages(self, text):
        """Stretches of LENGTH words, as rows of one tensor."""
        words = torch.tensor([self.number.get(word, UNKNOWN) for word in self.split(text)])
        return words[: len(words) // LENGTH * LENGTH].view(-1, LENGTH)


def next_word_loss(model, passages):
    logits = model(input_ids=passages).logits[:, :-1]
    return F.cross_entropy(logits.flatten(0, 1), passages[:, 1:].flatten())


def chapter_loss(model, passages, labels):
    return F.cross_entropy(model(input_ids=passages).logits, labels)


def optimizer_step(model, optimizer, scheduler, loss):
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()


def make_optimizer(model, lr, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps)


def report(step, every, loss, what):
    if step % every == 0:
        print(f"step {step:5d}  loss {loss.item():.6g}  ({what})", flush=True)


def read(model, passages, args):
    """Learn to foretell each next word; returns the losses."""
    optimizer, scheduler = make_optimizer(model, args.lr, args.steps)
    model.train()
    losses = []
    for step in range(1, args.steps + 1):
        batch = passages[torch.randint(len(passages), (args.batch_size,))]
        loss = next_word_loss(model, batch)
        optimizer_step(model, optimizer, scheduler, loss)
        losses.append(loss.item())
        report(step, args.every, loss, "reading")
    return losses


def fine_tune(model, train, test, args, what):
    """Learn the chapters; returns (step, accuracy on the test passages) now and then."""
    steps = max(args.steps // 4, 1)
    optimizer, scheduler = make_optimizer(model, args.lr / 4, steps)
    course = [(0, accuracy(model, *test))]
    for step in range(1, steps + 1):
        model.train()
        chosen = torch.randperm(len(train[0]))[: args.batch_size]
        loss = chapter_loss(model, train[0][chosen], train[1][chosen])
        optimizer_step(model, optimizer, scheduler, loss)
        report(step, args.every, loss, what)
        if step % max(steps // 5, 1) == 0:
            course.append((step, accuracy(model, *test)))
    return course


@torch.no_grad()
def guess(model, passages):
    model.eval()
    parts = [model(input_ids=part).logits.argmax(dim=1) for part in passages.split(256)]
    return torch.cat(parts)


def accuracy(model, passages, labels):
    return (guess(model, passages) == labels).double().mean().item()


def plot(losses, courses, labels, guesses, path):
    """The loss of the reading, the accuracies, the table of confusions."""
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(14, 4.6), layout="constrained", width_ratios=[1, 1, 1.2]
    )
    left.plot(range(1, len(losses) + 1), losses, lw=0.7)
    left.set(xlabel="step", ylabel="cross-entropy (nats)", title="foretelling the next word")
    left.grid(alpha=0.3)
    for name, course in courses.items():
        steps, found = zip(*course, strict=True)
        middle.plot(steps, 100 * np.array(found), "o-", ms=3, label=name)
    middle.axhline(100 * labels.bincount().max() / len(labels), color="gray", ls=":",
                   label="always the same guess")  # fmt: skip
    middle.set(xlabel="step of fine-tuning", ylabel="right on unseen passages (%)", ylim=(0, 100))
    middle.set_title("telling the chapter")
    middle.legend(loc="lower right")
    middle.grid(alpha=0.3)
    count = len(CHAPTERS)
    table = torch.bincount(labels * count + guesses, minlength=count**2).view(count, count)
    share = 100 * table / table.sum(dim=1, keepdim=True)
    right.imshow(share, cmap="Blues", vmin=0, vmax=100)
    for i, row in enumerate(share.tolist()):
        for j, value in enumerate(row):
            color = "white" if value > 55 else "black"
            right.text(j, i, f"{value:.0f}", ha="center", va="center", color=color, size=8)
    names = list(CHAPTERS.values())
    right.set_xticks(range(count), names, rotation=40, ha="right", size=8)
    right.set_yticks(range(count), names, size=8)
    right.set(xlabel="guess", ylabel="chapter", title="after reading, in % of the chapter")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=400, help="steps of reading; 1/4 to fine-tune")
    parser.add_argument("--every", type=int, default=50, help="steps between printed losses")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--labelled", type=int, default=24, help="passages of each chapter")
    parser.add_argument("--tested", type=int, default=150, help="passages of each, at most")
    parser.add_argument("--lr", type=float, default=2e-3, help="highest learning rate of AdamW")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="output directory")
    return parser.parse_args()


def main():
    args = parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)

    texts = [topics[name] for name in sorted(topics)]
    words = Words(texts)
    everything = torch.cat([words.passages(text) for text in texts])
    train, test = [], []
    for label, name in enumerate(CHAPTERS):
        passages = words.passages(topics[name])
        passages = passages[torch.randperm(len(passages))]
        train.append((passages[: args.labelled], torch.full((args.labelled,), label)))
        rest = passages[args.labelled :][: args.tested]
        test.append((rest, torch.full((len(rest),), label)))
    train, test = (
        [torch.cat(part) for part in zip(*which, strict=True)] for which in (train, test)
    )

    config = GPT2Config(
        vocab_size=len(words.number) + 2,
        n_positions=LENGTH,
        n_embd=96,
        n_layer=2,
        n_head=4,
        num_labels=len(CHAPTERS),
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=PADDING,
    )
    reader = GPT2LMHeadModel(config)
    print(f"{len(everything)} passages to read, {config.vocab_size} words")
    print(f"{len(train[0])} labelled passages, {len(test[0])} to test")
    print(f"{sum(p.numel() for p in reader.parameters())} parameters")
    losses = read(reader, everything, args)

    after_reading, fresh = (GPT2ForSequenceClassification(config) for _ in range(2))
    after_reading.transformer.load_state_dict(reader.transformer.state_dict())
    courses = {
        "fresh": fine_tune(fresh, train, test, args, "fine-tuning, fresh"),
        "after reading": fine_tune(after_reading, train, test, args, "fine-tuning, after reading"),
    }
    for name, course in courses.items():
        print(f"{name + ':':14} {course[-1][1]:.3f} of the test passages right")
    path = args.out / "gpt2.png"
    plot(losses, courses, test[1], guess(after_reading, test[0]), path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
