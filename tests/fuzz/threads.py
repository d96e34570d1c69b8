"""Several threads over the same tensors: the statements of graphs.py, two to four of them side by
side, each again and again, with a switch interval of a microsecond.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from graphs import STATEMENTS, N
from values import FUNCTIONS, HOOKS

# What no two threads may do at once in any Python program, or what starts threads of its own.
_ALONE = ("with ", "del ", "w = ", "copy.deepcopy", "detect_anomaly", "n.resize", "dir(")


def program(draw: random.Random) -> list[str]:
    large = draw.random() < 0.6
    shape = draw.choice([(40_000,), (200, 300)] if large else [(3,), (2, 3), (3, 3)])
    kinds = ["float32", "float64", "complex64"]
    lines = [
        f"x{i} = t({shape!r}, {draw.choice(kinds)!r}, {'leaf' if i % 2 else 'plain'!r})"
        for i in range(N)
    ]
    choices = [s for s in STATEMENTS if not any(word in s for word in _ALONE) and "; " not in s]
    texts = []
    for _ in range(draw.randint(2, 4)):
        parts = []
        for _ in range(draw.randint(1, 4)):
            text = draw.choice(choices)
            a, b, c = (draw.randrange(N) for _ in range(3))
            for mark, value in (("{a}", a), ("{b}", b), ("{c}", c)):
                text = text.replace(mark, str(value))
            text = text.replace("{H}", draw.choice(HOOKS)).replace("{F}", draw.choice(FUNCTIONS))
            parts.append(text.replace("{S}", "(3,)"))
        texts.append("; ".join(parts))
    lines.append(f"together({', '.join(map(repr, texts))}, times={5 if large else 30})")
    return lines


def programs(seed: int) -> Iterator[list[str]]:
    """Programs without end."""
    draw = random.Random(seed)
    while True:
        yield program(draw)
