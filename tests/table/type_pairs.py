"""What functions of several tensors make of each pair of element types: the cases.

`python tests/table/type_pairs.py --accept` writes PyTorch's answers, for where it is not installed:
a line a function, and for each pair the types of its results, or `-` where it refuses.
"""

from __future__ import annotations

import gzip
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from cases import OPS, SAMPLED, Call, calls, mapped, plain

import rushlight

FILE = Path(__file__).parents[1] / "data" / "type_pairs.tsv.gz"
TYPES = "uint8 int64 bool float16 bfloat16 float32 float64 complex64".split()
PAIRS = [(a, b) for a in TYPES for b in TYPES]
HOMES = {"torch": "", "nn": "nn.functional", "linalg": "linalg", "special": "special"}


def function_of(library: Any, name: str) -> Any:
    """The public function of that name, or the method where there is none."""
    found = library
    for part in HOMES.get(OPS[name].namespace, "Tensor").split("."):
        found = getattr(found, part) if part else found
    return getattr(found, name, None) or getattr(library.Tensor, name, None)


@cache
def case(name: str) -> Call | None:
    """The first of its samples that has two or more tensors of floating type."""
    for call in calls(name):
        if sum(t.is_floating_point() for t in call.tensors) > 1:
            return call
    return None


@cache
def names() -> list[str]:
    public = [n for n in SAMPLED if not n.startswith("_")]
    return [n for n in public if function_of(rushlight, n) and case(n) is not None]


def answer(library: Any, name: str, first: str, other: str) -> str:
    """The types of the results where the first tensor has one type, and the others another."""
    call = case(name)
    assert call is not None
    order = iter(range(len(call.tensors)))

    def typed(t: Any) -> Any:
        floating = t.is_floating_point()
        at = next(order)
        made = library.tensor(t.tolist(), dtype=getattr(library, str(t.dtype)[6:]))
        dtype = first if at == 0 else other
        return made.to(getattr(library, dtype)) if floating else made

    args, kwargs = mapped(typed, (call.args, call.kwargs))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = plain(function_of(library, name)(*args, **kwargs))
    except Exception:
        return "-"
    return ",".join(_types(library, result))


def _types(library: Any, result: Any) -> Iterator[str]:
    if isinstance(result, library.Tensor):
        yield str(result.dtype)[6:]
    elif isinstance(result, (tuple, list)):
        for each in result:
            yield from _types(library, each)
    else:
        yield type(result).__name__


def answers(library: Any) -> dict[str, list[str]]:
    return {name: [answer(library, name, a, b) for a, b in PAIRS] for name in names()}


def read() -> dict[str, list[str]]:
    lines = gzip.decompress(FILE.read_bytes()).decode().splitlines()
    return {name: said for name, *said in (line.split("\t") for line in lines)}


if __name__ == "__main__" and sys.argv[1:] == ["--accept"]:
    import torch

    text = "".join("\t".join([n, *said]) + "\n" for n, said in answers(torch).items())
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
