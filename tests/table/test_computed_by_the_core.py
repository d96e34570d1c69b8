"""What computes the ops for float32 and float64: kernels and loops of the core, not NumPy, and no
Python loop over elements or rows.

Each op runs on its own samples at two sizes, with its gradients. The lists below say where NumPy
still computes, by the op that does; an op that NumPy no longer computes must leave its list.
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

# NumPy is the right tool there.
REASONS: dict[str, str] = {}

# What is left to do.
LEFT = frozenset(
    """
    AsStridedBackward0 AsStridedScatterBackward0 _binary_cross_entropy _fake_quantize_numbers
    _has _index_fill_number _index_zero _max_dim _min_dim _pixel_shuffle _pixel_unshuffle
    _scatter _scatter_zero _std _std_mean _strided_backward _strided_scatter _take_backward
    _var_mean alias_copy all angle any argmax argmin detach_copy diagonal_scatter fill frexp gcd
    hash_tensor index_add index_copy index_reduce isreal lcm mul nonzero_static prod put
    scatter_add scatter_reduce select_scatter sgn slice_scatter
    """.split()
)


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
    assert found <= LEFT | REASONS.keys(), f"NumPy computes {found - LEFT - REASONS.keys()}"


def test_every_exception_is_one() -> None:
    """What stands in the lists is an op or a node that NumPy computes, in one of its samples."""
    found: set[str] = set()
    for name in SAMPLED:
        if name in LEFT or name in REASONS:
            found |= numpys(name)[0]
    assert (LEFT | REASONS.keys()) - found == set()
