"""grad_fn class names and `next_functions`, against a table of what PyTorch 2.13 makes.

PyTorch is not needed: the table is in tests/data. A row whose function the library does not have
yet is skipped and says so; what must exist is the business of `test_coverage.py`.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from _subject import submodule, torch

LINES = (Path(__file__).parents[1] / "data" / "grad_fn_names.tsv").read_text().splitlines()
ROWS = [tuple(line.split("\t")) for line in LINES if line and not line.startswith("#")]

MISSING = re.compile(r"has no attribute|cannot import name|No module named|not there yet")


def leaf(*shape, low=-0.9, high=0.9):
    """A leaf of that shape (given as numbers or one tuple) that requires grad."""
    shape = shape[0] if shape and isinstance(shape[0], tuple) else shape
    values = np.random.default_rng(len(shape)).uniform(low, high, shape).astype(np.float32)
    return torch.from_numpy(np.asarray(values)).requires_grad_(True)


def space() -> dict:
    """The inputs of the table."""
    lower = leaf(4, 4).detach()
    spd = (lower @ lower.t() + 4 * torch.eye(4)).requires_grad_(True)
    turn = np.exp(1j * np.arange(3)).astype(np.complex64)
    found = {
        "torch": torch, "R": leaf, "x": leaf(3, 4, low=-2, high=2), "y": leaf(3, 4), "spd": spd,
        "p": leaf(3, 4, low=0.5, high=2), "q": leaf(3, 4, low=0.5, high=2), "m": leaf(4, 5),
        "v": leaf(4), "sq": leaf(4, 4), "b3": leaf(2, 3, 4), "b4": leaf(2, 4, 5),
        "im": leaf(1, 2, 8, 8), "unit": leaf(3, 4, low=0.1, high=0.9),
        "c": torch.from_numpy(turn).requires_grad_(True), "idx": torch.tensor([0, 2]),
        "gi": torch.tensor([[0, 1, 2, 0]]), "msk": torch.arange(12).reshape(3, 4) % 2 == 0,
    }  # fmt: skip
    try:
        found["F"] = submodule("nn.functional")
    except ImportError:
        found["F"] = None
    return found


def evaluate(expression: str):
    try:
        return eval(expression, space())
    except (AttributeError, ImportError) as error:
        if MISSING.search(str(error)):
            pytest.skip(f"not there yet: {error}")
        raise


@pytest.mark.parametrize("expression, name, following", ROWS, ids=[row[0] for row in ROWS])
def test_name(expression, name, following):
    assert type(evaluate(expression).grad_fn).__name__ == name


@pytest.mark.parametrize("expression, name, following", ROWS, ids=[row[0] for row in ROWS])
def test_next_functions(expression, name, following):
    node = evaluate(expression).grad_fn
    found = [type(n).__name__ if n else "None" for n, _ in node.next_functions]
    assert ", ".join(found) == following
