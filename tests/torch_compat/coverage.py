"""Which widely used PyTorch names does the library under test lack?

    python tests/torch_compat/coverage.py [--all] [library]

`tests/data/api_usage_15.tsv` lists the names that at least 15 of 105 public repositories use. By
default only tensor functions, tensor methods and autograd are looked at; `--all` adds nn, optim,
data, cuda and the rest.
"""

import importlib
import sys
from pathlib import Path

TABLE = Path(__file__).parents[1] / "data" / "api_usage_15.tsv"

# Names in the table that are not PyTorch's: methods of other objects that a count by name mixes in.
NOT_TENSOR = {"T.name", "T.index", "T.values", "T.indices", "T.resize"}
ELSEWHERE = ("torch.nn.", "torch.optim.", "torch.utils.", "torch.cuda.", "torch.backends.",
             "torch.distributed.", "torch.distributions.", "Module.", "Optim.")  # fmt: skip
# In scope although their prefix is not: what tensors and the first example need.
ALSO = {"torch.nn.Parameter", "torch.cuda.is_available"}


def names(everything: bool = False) -> list[tuple[str, int]]:
    """(name, repositories) of the table, most used first."""
    rows = [line.split("\t") for line in TABLE.read_text().splitlines() if line[0] != "#"]
    return [
        (name, int(count))
        for name, _, count in rows
        if everything or name in ALSO or not name.startswith(ELSEWHERE)
        if name not in NOT_TENSOR
    ]


def present(library: str, name: str) -> bool:
    """Whether `library` has it."""
    root, _, path = name.partition(".")
    torch = importlib.import_module(library)
    if root == "T":
        target = torch.ones(2, 2)
    elif root == "Module":
        target = importlib.import_module(f"{library}.nn").Module()
    elif root == "Optim":
        optim = importlib.import_module(f"{library}.optim")
        target = optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    else:
        target = torch
    walked = library
    for part in path.split("."):
        walked += f".{part}"
        if not hasattr(target, part):
            try:
                target = importlib.import_module(walked)
            except ImportError:
                return False
        else:
            target = getattr(target, part)
    return True


def missing(library: str, everything: bool = False) -> list[tuple[str, int]]:
    """The names of the table that `library` lacks."""
    found = []
    for name, count in names(everything):
        try:
            there = present(library, name)
        except (ImportError, AttributeError):
            there = False
        if not there:
            found.append((name, count))
    return found


if __name__ == "__main__":
    flags = [word for word in sys.argv[1:] if word.startswith("-")]
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")] or ["rushlight"]
    lacking = missing(chosen[0], "--all" in flags)
    for name, count in lacking:
        print(f"{count:4d}  {name}")
    print(f"{len(lacking)} of {len(names('--all' in flags))} names are missing in {chosen[0]}")
    sys.exit(bool(lacking))
