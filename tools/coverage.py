"""How many of PyTorch's public names are here: docs/coverage.md.

    python tools/coverage.py           (in an environment with rushlight and the PyTorch it follows)
    python tools/coverage.py --check   says whether the page is out of date, and writes nothing

A module's public names are those of its `__all__`; where it has none, the names that do not begin
with an underscore and are no modules, type variables or imports from elsewhere. The column of uses
weighs the names by how many of 105 public repositories use them (tests/data/api_usage_15.tsv).
"""

from __future__ import annotations

import csv
import importlib
import re
import sys
import types
import typing
import warnings
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coverage.md"
USES = ROOT / "tests" / "data" / "api_usage_15.tsv"

MODULES = """
torch torch.Tensor torch.nn torch.nn.functional torch.nn.utils torch.nn.utils.parametrize
torch.nn.utils.parametrizations torch.nn.utils.prune torch.nn.utils.stateless torch.nn.attention
torch.nn.attention.flex_attention torch.nn.parallel torch.optim torch.optim.lr_scheduler
torch.optim.swa_utils torch.autograd torch.autograd.profiler torch.func torch.linalg torch.fft
torch.special torch.signal.windows torch.distributions torch.distributions.constraints
torch.distributions.transforms torch.distributions.kl torch.utils.data torch.utils.checkpoint
torch.utils.dlpack torch.utils.hooks torch.testing torch.amp torch.random torch.sparse
torch.masked torch.multiprocessing torch.hub torch.overrides torch.serialization torch.storage
torch.types torch.version torch.futures torch.cpu torch.accelerator torch.cuda.amp
torch.profiler torch.compiler torch.library torch.fx torch.return_types
""".split()


class Row(NamedTuple):
    """A module's names, those that are here, and the same weighed by use."""

    module: str
    names: frozenset[str]
    here: frozenset[str]
    uses: int
    uses_here: int


def place(name: str) -> object:
    """A module, or a class in one; None where it is not there."""
    try:
        return importlib.import_module(name)
    except ImportError:
        home, _, last = name.rpartition(".")
        return getattr(place(home), last, None) if home else None


def public_names(owner: object) -> frozenset[str]:
    """The public names of one of PyTorch's modules or classes."""
    declared = getattr(owner, "__all__", None)
    whole = isinstance(owner, types.ModuleType) and owner.__name__ == "torch"
    if declared is not None and not whole:
        return frozenset(declared)
    found = set()
    for name in dir(owner):
        value = getattr(owner, name, None)
        home = getattr(value, "__module__", None) or "torch"
        kept = not isinstance(value, (types.ModuleType, typing.TypeVar))
        if kept and not name.startswith("_") and home.split(".")[0] in ("torch", "builtins"):
            found.add(name)
    return frozenset(found)


def uses() -> dict[str, int]:
    """By PyTorch's name ("torch.nn.Linear"): how many repositories use it."""
    with USES.open(encoding="utf-8") as file:
        rows = csv.reader((line for line in file if not line.startswith("#")), delimiter="\t")
        return {name.replace("T.", "torch.Tensor.", 1): int(count) for name, _, count in rows}


def rows() -> list[Row]:
    """A row for each module."""
    weights, found = uses(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in MODULES:
            names = public_names(place(module))
            ours = place(module.replace("torch", "rushlight", 1))
            here = frozenset(n for n in names if ours is not None and hasattr(ours, n))
            used = {n: weights.get(f"{module}.{n}", 0) for n in names}
            of_here = sum(used[n] for n in here)
            found.append(Row(module, names, here, sum(used.values()), of_here))
    return found


def page() -> str:
    """The text of docs/coverage.md."""
    found = rows()
    all_names = sum(len(r.names) for r in found)
    all_here = sum(len(r.here) for r in found)
    uses, uses_here = sum(r.uses for r in found), sum(r.uses_here for r in found)
    lines = [
        "# Which of PyTorch's names are here",
        "",
        "Written by `tools/coverage.py`, which says how names are counted.",
        "",
        f"**{all_here:,} of {all_names:,}** public names of PyTorch 2.13; weighed by how many of "
        f"105 public repositories use them, {uses_here / uses:.1%}.",
        "",
        "| module | public names | here | here by use |",
        "|---|---|---|---|",
    ]
    for r in found:
        share = f"{r.uses_here / r.uses:.1%}" if r.uses else ""
        lines.append(f"| {r.module} | {len(r.names)} | {len(r.here)} | {share} |")
    lines += ["", "## Not here", ""]
    for r in found:
        missing = sorted(r.names - r.here)
        if missing:
            lines.append(f"- **{r.module}**: {', '.join(missing)}")
    lines += ["", "Some names are here and refuse when they are called: [limits](limits.md)."]
    return "\n".join(lines) + "\n"


def count(text: str) -> int:
    """How many names a page says are here."""
    match = re.search(r"\*\*([\d,]+) of", text)
    assert match, "no count on the page"
    return int(match[1].replace(",", ""))


def main() -> int:
    """Write the page, or with --check say whether it differs."""
    text = page()
    if "--check" in sys.argv[1:]:
        stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text
        print(f"docs/coverage.md is {'out of date' if stale else 'current'}")
        return int(stale)
    PAGE.write_text(text, encoding="utf-8")
    print(text.split("\n")[4])
    return 0


if __name__ == "__main__":
    sys.exit(main())
