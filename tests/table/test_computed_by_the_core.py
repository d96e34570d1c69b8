"""What computes the ops for float32 and float64: kernels and loops of the core, not NumPy, and no
Python loop over elements or rows.

Each op runs on its own samples at two sizes, with its gradients. There is no exception.
"""

from __future__ import annotations

import math

import pytest
import scaled
from cases import SAMPLED

from rushlight import _core

BY_NUMPY = (_core.Path.NUMPY, _core.Path.FALLBACK)
FUSED = _core.Way.FUSED_NUMPY
SMALL, LARGE = 60, 2000


def numpys(name: str) -> tuple[set[str], str]:
    """What NumPy computes in the op's samples, and whether the calls in them grow with the size."""
    found: set[str] = set()
    grows = ""
    for dtype in ("float32", "float64"):
        number_of: dict[tuple[int, str], int] = {}
        for elements in (SMALL, LARGE):
            for sample, rule, call in scaled.scaled(name, dtype, elements, 2):
                ways = scaled.paths(call)
                found |= {op for op, path, way in ways if path in BY_NUMPY or way & FUSED}
                number = sum(ways.values())
                before = number_of.setdefault((sample, rule), number)
                if number > before * math.log(LARGE, SMALL) + 4:
                    grows = f"{call!r}: {before} calls, {number} where it is larger"
    return found, grows


@pytest.mark.parametrize("name", [n for n in SAMPLED if not n.startswith("_")])
def test_computed_by_the_core(name: str) -> None:
    found, grows = numpys(name)
    assert not grows
    assert not found, "NumPy computes these"


def test_numpy_is_seen() -> None:
    """logsumexp of complex numbers is NumPy's."""
    calls = scaled.scaled("logsumexp", "complex128", SMALL, 1)
    ways = [way for _, _, call in calls for way in scaled.paths(call)]
    assert any(path in BY_NUMPY for _, path, _ in ways)
