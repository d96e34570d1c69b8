"""Large products by cuBLAS, and what convolutions need of cuDNN: libraries of NVIDIA's that are
opened when they are first wanted. Where a library is not here, ours is the way.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import prod
from typing import Any, NamedTuple

from .... import _core
from ...._base import dtypes
from ...._core import Tensor
from ...._devices.accelerators import library_of_nvidia, numbered
from ...._devices.choices import row
from ...._devices.launch import Ints
from ....backends import cuda

__all__ = ["Matrices", "Planned", "done", "is_for", "planned", "taken", "why_not"]

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


class Planned(NamedTuple):
    """A product as cuBLAS takes it: rows, columns, depth and stacks; of each matrix whether its
    columns lie as lines, and from line to line and from matrix to matrix."""

    tensors: tuple[Tensor, Tensor, Tensor]
    sizes: tuple[int, int, int, int]
    laid: tuple[_Laid, _Laid, _Laid]

    def compute(self, alpha: float, beta: float) -> bool:
        """out = alpha * a @ b + beta * out; whether cuBLAS did."""
        allowed, half = cuda.matmul, self.tensors[0].dtype is dtypes.float16
        reduced = allowed.allow_fp16_reduced_precision_reduction
        if not half:
            reduced = allowed.allow_bf16_reduced_precision_reduction
        why = _core.accelerator_multiply(
            *self.tensors, self.sizes, *self.laid, alpha, beta, allowed.allow_tf32, reduced
        )
        return done("cublas", why)


def planned(
    a: Matrices, b: Matrices, out: Matrices, lead: Ints, sizes: Ints, summed: int
) -> Planned | None:
    """The product for cuBLAS, see `product`; None where it is small, where operands do not lie as
    cuBLAS reads them, or without cuBLAS."""
    (m, n, k), like = sizes, out.tensor
    if min(sizes) < _NARROW or not a.tensor.dtype is b.tensor.dtype is like.dtype:
        return None
    if not is_for("cublas", like, prod(lead) * m * n * k):
        return None
    # What is summed over makes longer sums, and stacks that share b make one matrix of more rows.
    terms, (along_a, along_b) = _joined(
        (*lead[:summed], k), (*a.lead[:summed], a.column), (*b.lead[:summed], b.row)
    )
    stack = lead[summed:]
    lines, (of_a, of_b, of_out) = _joined(
        (*stack, m),
        (*a.lead[summed:], a.row),
        (*b.lead[summed:], 0),
        (*out.lead, out.row),
    )
    if len(terms) > 1 or len(lines) > 2:
        return None
    stacks, steps = 1, (0, 0, 0)
    if len(lines) == 2:
        stacks, steps = lines[0], (of_a[0], of_b[0], of_out[0])
    m, k = lines[-1], terms[-1]
    a = Matrices(a.tensor, (steps[0],), of_a[-1], along_a[-1])
    b = Matrices(b.tensor, (steps[1],), along_b[-1], b.column)
    out = Matrices(like, (steps[2],), of_out[-1], out.column)
    of_left, of_right, of_result = _laid(a, m, k), _laid(b, k, n), _laid(out, m, n)
    if not of_left or not of_right or not of_result or of_result[0]:
        return None
    laid = of_left, of_right, of_result
    return Planned((a.tensor, b.tensor, like), (m, n, k, stacks), laid)


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


def _laid(x: Matrices, rows: int, columns: int) -> _Laid | None:
    """Whether columns lie as lines, and from line to line and from matrix to matrix; None where
    neither rows nor columns lie without gaps."""
    if x.column == 1 and x.row >= columns:
        return False, x.row, x.lead[0]
    if x.row == 1 and x.column >= rows:
        return True, x.column, x.lead[0]
    return None
