"""Fine-tune a small BERT of the transformers library, with and without reading beforehand.

The text is the language reference that every Python carries for its `help()` (pydoc_data.topics).
A BERT of two layers, with random weights, first reads it as BERT does: it guesses words that are
masked. Then it learns, from sixteen labelled passages for each chapter, to tell of a passage of 24
words which of eight chapters it is from. A second BERT learns the same without having read. The
picture shows how well both do on the other passages, and which chapters the first one confuses.

    python examples/bert.py --steps 600 --seed 1
"""

import argparse
import re
from collections import Counter
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn as nn
from pydoc_data.topics import topics
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

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
LENGTH = 24
UNKNOWN, MASK, CLS = 0, 1, 2


class Words:
    """The manual's frequent words and signs, numbered; all others are UNKNOWN."""

    def __init__(self, texts, at_least: int = 5):
        counts = Counter(word for text in texts for word in self.split(text))
        frequent = [word for word, count in counts.most_common() if count >= at_least]
        self.number = {word: i + 3 for i, word in enumerate(frequent)}

    @staticmethod
    def split(text):
        return re.findall(r"[a-z]+|[0-9]+|[^\sa-z0-9]", text.lower())

    def passages(self, text):
        """Stretches of LENGTH words, each behind CLS, as one tensor."""
        words = torch.tensor([self.number.get(word, UNKNOWN) for word in self.split(text)])
        whole = words[: len(words) // LENGTH * LENGTH].view(-1, LENGTH)
        return torch.cat([torch.full((len(whole), 1), CLS), whole], dim=1)


def mask_words(passages, words):
    """Passages with 15 % of the words hidden, and labels that ask for those alone. Of the hidden
    ones a tenth is replaced by a random word, and a tenth is left.
    """
    hidden = (torch.rand(passages.shape) < 0.15) & (passages != CLS)
    labels = torch.where(hidden, passages, -100)
    how = torch.rand(passages.shape)
    seen = torch.where(hidden & (how < 0.8), MASK, passages)
    random_words = torch.randint(3, words, passages.shape)
    return torch.where(hidden & (how > 0.9), random_words, seen), labels


def optimizer_step(model, optimizer, scheduler, **batch):
    """One step on a batch; returns the loss."""
    optimizer.zero_grad()
    loss = model(**batch).loss
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    return loss.item()


def make_optimizer(model, lr, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps)


def report(step, every, loss, what):
    if step % every == 0:
        print(f"step {step:5d}  loss {loss:.6g}  ({what})", flush=True)


def read(model, passages, args):
    """Guess masked words; returns the losses."""
    optimizer, scheduler = make_optimizer(model, args.lr, args.steps)
    model.train()
    losses = []
    for step in range(1, args.steps + 1):
        batch = passages[torch.randint(len(passages), (args.batch_size,))]
        seen, labels = mask_words(batch, model.config.vocab_size)
        losses.append(optimizer_step(model, optimizer, scheduler, input_ids=seen, labels=labels))
        report(step, args.every, losses[-1], "guessing masked words")
    return losses


def fine_tune(model, train, test, args, what):
    """Learn the chapters; returns (step, accuracy on the test passages) now and then."""
    steps = max(args.steps // 4, 1)
    optimizer, scheduler = make_optimizer(model, args.lr / 2, steps)
    course = [(0, accuracy(model, *test))]
    for step in range(1, steps + 1):
        model.train()
        chosen = torch.randperm(len(train[0]))[: args.batch_size // 2]
        passages, labels = train[0][chosen], train[1][chosen]
        loss = optimizer_step(model, optimizer, scheduler, input_ids=passages, labels=labels)
        report(step, args.every, loss, what)
        if step % max(steps // 10, 1) == 0:
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
    left.set(xlabel="step", ylabel="cross-entropy (nats)", title="guessing masked words")
    left.grid(alpha=0.3)
    for name, course in courses.items():
        steps, found = zip(*course, strict=True)
        middle.plot(steps, 100 * np.array(found), "o-", ms=3, label=name)
    middle.axhline(100 * labels.bincount().max() / len(labels), color="gray", ls=":",
                   label="always the longest chapter")  # fmt: skip
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
    parser.add_argument("--steps", type=int, default=600, help="steps of reading; 1/4 to fine-tune")
    parser.add_argument("--every", type=int, default=50, help="steps between printed losses")
    parser.add_argument("--batch-size", type=int, default=64, help="half of it in fine-tuning")
    parser.add_argument("--labelled", type=int, default=16, help="passages of each chapter")
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
        rest = passages[args.labelled :]
        test.append((rest, torch.full((len(rest),), label)))
    train, test = ([torch.cat(part) for part in zip(*which)] for which in (train, test))

    config = BertConfig(
        vocab_size=len(words.number) + 3,
        hidden_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=192,
        max_position_embeddings=LENGTH + 1,
        num_labels=len(CHAPTERS),
    )
    reader = BertForMaskedLM(config)
    print(f"{len(everything)} passages to read, {config.vocab_size} words")
    print(f"{len(train[0])} labelled passages, {len(test[0])} to test")
    print(f"{sum(p.numel() for p in reader.parameters())} parameters")
    losses = read(reader, everything, args)

    after_reading, fresh = (BertForSequenceClassification(config) for _ in range(2))
    after_reading.bert.load_state_dict(reader.bert.state_dict(), strict=False)  # all but the pooler
    courses = {
        "fresh": fine_tune(fresh, train, test, args, "fine-tuning, fresh"),
        "after reading": fine_tune(after_reading, train, test, args, "fine-tuning, after reading"),
    }
    for name, course in courses.items():
        print(f"{name + ':':14} {course[-1][1]:.3f} of the test passages right")
    path = args.out / "bert.png"
    plot(losses, courses, test[1], guess(after_reading, test[0]), path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
