"""Steps of optimizers, and norms and scales of gradients: a launch for each parameter.

All lists are checked before the first element is written, so that a step happens whole or not at
all. Halves are computed in float and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._core import Tensor, kernels
from ..._devices.launch import Written, code, empty, number, rows, start
from ..._devices.accelerators import numbered
from ..._devices.there import numbers_of, there

_N = numbers_of("optimizers.cl")

_FILE = "optimizers.cl"
_PARTS = 256  # sums that a norm is made of, for each tensor


def _usable(tensor: Any, like: Tensor) -> bool:
    return tensor.dtype is like.dtype and tensor.shape == like.shape


class _Written:
    """Contiguous forms of tensors that a kernel writes; `done` writes them back."""

    def __init__(self, *tensors: Tensor | None) -> None:
        self.tensors = tensors
        self.rows = [None if t is None else rows(t) for t in tensors]

    def done(self) -> None:
        for tensor, row in zip(self.tensors, self.rows, strict=True):
            if tensor is not None and row is not None and row is not tensor:
                _core.copy_values(tensor, row)


@there(kernels.sgd_step, takes="float")
def sgd_step(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    buffers: Any,
    lr: float,
    momentum: float,
    dampening: float,
    decay: float,
    nesterov: bool,
    maximize: bool,
) -> Written:
    kept = buffers if momentum != 0 else [None] * len(params)
    if not params or not len(params) == len(grads) == len(kept):
        return NotImplemented
    for p, grad, buffer in zip(params, grads, kept, strict=True):
        if not _usable(grad, p) or not (buffer is None or _usable(buffer, p)):
            return NotImplemented
    for i, (p, grad) in enumerate(zip(params, grads, strict=True)):
        buffer, first = kept[i], kept[i] is None
        if first and momentum != 0:
            buffer = kept[i] = empty(p.shape, p)
        if not p.numel():
            continue
        written = _Written(p, buffer)
        param, held = written.rows
        how = _N.HAS_MOMENTUM * (momentum != 0) + _N.IS_FIRST * first + _N.NESTEROV * bool(nesterov)
        numbers = -lr, momentum, 1 - dampening, decay, -1 if maximize else 1
        given = code(p), p.numel(), how, *(number(value, p) for value in numbers)
        start(_FILE, "sgd", p.numel(), p, param, rows(grad), held, *given)
        written.done()
    return None


@there(kernels.adam_step, takes="float, steps: any")
def adam_step(
    params: Any,
    grads: Any,
    means: Any,
    squares: Any,
    highest: Any,
    steps: Any,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    amsgrad: bool,
    maximize: bool,
    decoupled: bool,
) -> Any:
    tops = highest if amsgrad else [None] * len(params)
    lists = grads, means, squares, tops
    if not params or any(len(given) != len(params) for given in (*lists, steps)):
        return NotImplemented
    for p, *others in zip(params, *lists, strict=True):
        if not all(_usable(t, p) for t in (others if amsgrad else others[:-1])):
            return NotImplemented
    if not all(step.numel() == 1 and step.dtype.is_floating_point for step in steps):
        return NotImplemented
    for p, grad, mean, square, top, step in zip(params, *lists, steps, strict=True):
        count = _counted(step)
        if not p.numel():
            continue
        written = _Written(p, mean, square, top)
        param, *moments = written.rows
        numbers = (
            -(lr / (1 - beta1**count)),
            (1 - beta2**count) ** 0.5,
            eps,
            1 - beta1,
            beta2,
            1 - beta2,
            1 - lr * decay if decoupled else 1,
            0 if decoupled else decay,
            -1 if maximize else 1,
        )
        given = code(p), p.numel(), int(amsgrad), *(number(value, p) for value in numbers)
        start(_FILE, "adam", p.numel(), p, param, rows(grad), *moments, *given)
        written.done()
    return None


def _counted(step: Tensor) -> float:
    """The number of a step, which begins now."""
    array = _core.to_write(step)
    array += 1
    _core.write_values(step, array)
    return float(array.reshape(()))


@there(kernels.total_norm2, takes="float same")
def total_norm2(tensors: Sequence[Tensor]) -> Tensor:
    if not tensors:
        return NotImplemented
    like = tensors[0]
    parts = [min(_PARTS, t.numel()) for t in tensors]
    wide = numbered(like._accelerator).facts.has_double
    sums = empty((sum(parts),), like, dtypes.float64 if wide else dtypes.float32)
    place = 0
    for tensor, n in zip(tensors, parts, strict=True):
        if n:
            given = code(tensor), tensor.numel(), n, place
            start(_FILE, "squares", n, like, rows(tensor), sums, *given)
            place += n
    out = empty((), like)
    start(_FILE, "root_of_sum", 1, like, sums, out, code(out), place)
    return out


@there(kernels.scale_, takes="float")
def scale_(tensors: Sequence[Tensor], factor: float) -> Written:
    for tensor in tensors:
        if tensor.numel():
            written = _Written(tensor)
            (held,) = written.rows
            given = code(tensor), tensor.numel(), number(factor, tensor)
            start(_FILE, "scale", tensor.numel(), tensor, held, *given)
            written.done()
    return None
