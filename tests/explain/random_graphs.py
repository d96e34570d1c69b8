"""Random programs on scalars, for the tests of the graph's numbers."""

import random

from _subject import torch

WHOLE = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a, b: -a,
    "twice": lambda a, b: a + a,
    "square": lambda a, b: a * a,
    "from_ten": lambda a, b: 10 - a,
}
SMOOTH = {
    "tanh": lambda a, b: torch.tanh(a),
    "sin": lambda a, b: torch.sin(a),
    "sigmoid": lambda a, b: torch.sigmoid(a + b),
    "softplus": lambda a, b: torch.nn.functional.softplus(a * b),
    "div": lambda a, b: a / (b * b + 1),
}


def scalar_graph(seed, ops, calls, dtype=None):
    """(result, leaves) of `calls` random ops on up to four leaves with small whole values."""
    draw = random.Random(seed)
    dtype = dtype or torch.float64
    leaves = [
        torch.tensor(float(draw.randint(-3, 3)), dtype=dtype, requires_grad=True)
        for _ in range(draw.randint(1, 4))
    ]
    values = list(leaves)
    for _ in range(calls):
        op = ops[draw.choice(sorted(ops))]
        values.append(
            op(values[-1] if len(values) > 4 else draw.choice(values), draw.choice(values))
        )
    return values[-1], leaves
