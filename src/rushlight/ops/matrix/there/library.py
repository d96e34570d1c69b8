"""Large products by cuBLAS, and what convolutions need of cuDNN: libraries of NVIDIA's that are
opened when they are first wanted. Where a library is not here, ours is the way.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from math import prod
from typing import Any, NamedTuple

from .... import _core
from ...._base import dtypes, switches
from ...._core import Tensor
from ...._devices.accelerators import library_of_nvidia, numbered
from ...._devices.choices import row
from ...._devices.launch import Ints

__all__ = ["Matrices", "done", "is_for", "multiplied", "planned", "taken", "why_not"]

_NARROW = 16  # a matrix of less is read once, and nothing is gained
_TYPES = frozenset((dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64))
taken: Counter[str] = Counter()
"""How many calls each library computed, and how many it refused for which reason."""


@cache
def why_not(device: int, name: str) -> str:
    """Why "cublas" or "cudnn" is not here; "" where it is."""
    path = library_of_nvidia(name)
    if not numbered(device).facts.warp or path is None:
        return f"no lib{name} was found" if path is None else "the device is none of CUDA's"
    try:
        _core.accelerator_library(device, name, path)
    except RuntimeError as error:
        return f"{path}: {error}"
    return ""


def is_for(name: str, like: Tensor, multiplied: int) -> bool:
    """Whether a library computes what multiplies so much, with tensors like this."""
    device: Any = like._accelerator
    if not numbered(device).facts.warp or multiplied < row(device).least_library:
        return False
    return like.dtype in _TYPES and not why_not(device, name)


def done(name: str, refusal: str) -> bool:
    """Whether a library computed what it was asked for; either is counted."""
    taken[f"{name}: {refusal}" if refusal else name] += 1
    return not refusal


class Matrices(NamedTuple):
    """A stack of matrices: a tensor and its strides, in elements."""

    tensor: Tensor
    lead: tuple[int, ...]
    row: int
    column: int

    @property
    def turned(self) -> Matrices:
        """Each transposed."""
        return self._replace(row=self.column, column=self.row)


_Laid = tuple[bool, int, int]
"""Of matrices: whether columns lie as lines, and from line to line and from matrix to matrix."""


def _allowed() -> tuple[bool, bool, bool]:
    """Whether programs allow TF32, and sums of float16 and of bfloat16 in parts of that type."""
    matmul = switches.matmul
    return (
        bool(matmul.allow_tf32),
        bool(matmul.allow_fp16_reduced_precision_reduction),
        bool(matmul.allow_bf16_reduced_precision_reduction),
    )


class Plan(NamedTuple):
    """A product as cuBLAS takes it: rows, columns, depth and stacks, and how each operand lies."""

    sizes: tuple[int, int, int, int]
    laid: tuple[_Laid, _Laid, _Laid]


def planned(
    a: Matrices, b: Matrices, out: Matrices, lead: Ints, sizes: tuple[int, int, int], summed: int
) -> Plan | None:
    """The product for cuBLAS, see `product`; None where it is small, where operands do not lie as
    cuBLAS reads them, or without cuBLAS."""
    like = out.tensor
    if min(sizes) < _NARROW or not a.tensor.dtype is b.tensor.dtype is like.dtype:
        return None
    if not is_for("cublas", like, prod(lead) * prod(sizes)):
        return None
    return _plan(a[1:], b[1:], out[1:], tuple(lead), sizes, summed)


def multiplied(plan: Plan, a: Tensor, b: Tensor, out: Tensor, alpha: float, beta: float) -> bool:
    """out = alpha * a @ b + beta * out; whether cuBLAS did."""
    tf32, of_half, of_bfloat = _core.accelerator_asked(_allowed)
    reduced = of_half if out.dtype is dtypes.float16 else of_bfloat
    why = _core.accelerator_multiply(a, b, out, plan.sizes, *plan.laid, alpha, beta, tf32, reduced)
    return done("cublas", why)


_Strides = tuple[tuple[int, ...], int, int]
"""Of Matrices: lead, row and column."""


@lru_cache(4096)
def _plan(
    a: _Strides,
    b: _Strides,
    out: _Strides,
    lead: tuple[int, ...],
    sizes: tuple[int, int, int],
    summed: int,
) -> Plan | None:
    m, n, k = sizes
    # Sums over a stack make longer sums, and stacks that share b make one matrix of more rows.
    terms, (along_a, along_b) = _joined(
        (*lead[:summed], k), (*a[0][:summed], a[2]), (*b[0][:summed], b[1])
    )
    lines, (of_a, of_b, of_out) = _joined(
        (*lead[summed:], m), (*a[0][summed:], a[1]), (*b[0][summed:], 0), (*out[0], out[1])
    )
    if len(terms) > 1 or len(lines) > 2:
        return None
    stacks, steps = 1, (0, 0, 0)
    if len(lines) == 2:
        stacks, steps = lines[0], (of_a[0], of_b[0], of_out[0])
    m, k = lines[-1], terms[-1]
    left = _laid(m, k, of_a[-1], along_a[-1], steps[0])
    right = _laid(k, n, along_b[-1], b[2], steps[1])
    result = _laid(m, n, of_out[-1], out[2], steps[2])
    if not left or not right or not result or result[0]:
        return None
    return Plan((m, n, k, stacks), (left, right, result))


def _joined(sizes: Ints, *strides: Ints) -> tuple[list[int], list[list[int]]]:
    """The dimensions without those of size 1, joined where all go through neighbours in one step;
    the last stays."""
    kept: list[int] = []
    found: list[list[int]] = [[] for _ in strides]
    for d, size in enumerate(sizes):
        if size == 1 and d < len(sizes) - 1:
            continue
        steps = [stride[d] for stride in strides]
        if kept and all(to[-1] == step * size for to, step in zip(found, steps, strict=True)):
            kept[-1] *= size
            for to, step in zip(found, steps, strict=True):
                to[-1] = step
        else:
            kept.append(size)
            for to, step in zip(found, steps, strict=True):
                to.append(step)
    return kept, found


def _laid(rows: int, columns: int, row: int, column: int, stack: int) -> _Laid | None:
    """How matrices of such strides lie; None where neither rows nor columns are without gaps."""
    if column == 1 and row >= columns:
        return False, row, stack
    if row == 1 and column >= rows:
        return True, column, stack
    return None
