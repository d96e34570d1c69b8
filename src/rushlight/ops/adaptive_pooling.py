"""Adaptive pooling: windows that cut the input into as many parts as asked for."""

from __future__ import annotations

import itertools
import math
from operator import index as as_int
from typing import Any

import numpy as np

from ._arrays import Array, listed, refuse, rounded, widened
from ._kinds import Flag, composite, general, linear
from ._op import namespace
from .pooling import _pool_scatter

_Ints = tuple[int, ...]


def _cuts(n: int, out: int) -> tuple[Array, Array]:
    """Where the windows along a dimension start and end."""
    i = np.arange(out)
    return i * n // max(out, 1), -(-((i + 1) * n) // max(out, 1))


def _adaptive_avg(x: Array, out: _Ints) -> Array:
    n = len(out)
    wide = widened(x)
    for axis, m in zip(range(x.ndim - n, x.ndim), out, strict=True):
        start, end = _cuts(x.shape[axis], m)
        parts = [
            wide.take(range(a, b), axis).sum(axis, keepdims=True) / wide.dtype.type(b - a)
            for a, b in zip(start, end, strict=True)
        ]
        wide = np.concatenate(parts, axis) if parts else wide.take([], axis)
    return rounded(np.ascontiguousarray(wide), x)


def _adaptive_avg_back(g: Array, size: _Ints) -> Array:
    n = len(size)
    wide = widened(g)
    for axis, m in zip(range(g.ndim - n, g.ndim), size, strict=True):
        start, end = _cuts(m, g.shape[axis])
        shape = list(wide.shape)
        shape[axis] = m
        full = np.zeros(shape, wide.dtype)
        for i, (a, b) in enumerate(zip(start, end, strict=True)):
            at = [slice(None)] * g.ndim
            at[axis] = slice(a, b)
            full[tuple(at)] += wide.take([i], axis) / wide.dtype.type(b - a)
        wide = full
    return rounded(wide, g)


def _adaptive_avg_op(n: int) -> Any:
    forward = linear(
        f"_adaptive_avg_pool{n}d(input, output_size: plain)",
        _adaptive_avg,
        transpose={"input": lambda g, input_shape: back(g, tuple(input_shape[-n:]))},
        node=f"AdaptiveAvgPool{n}DBackward0" if n > 1 else "SqueezeBackward1",
        method=False,
        samples=lambda make: [(make(2, *(5, 4, 3)[:n]), (3, 2, 2)[:n])],
        doc="The means of as many windows as asked for.",
    )
    back: Any = linear(
        f"_adaptive_avg_pool{n}d_transpose(input, output_size: plain)",
        _adaptive_avg_back,
        transpose={"input": lambda g, input_shape: forward(g, tuple(input_shape[-n:]))},
        node=f"AdaptiveAvgPool{max(n, 2)}DBackwardBackward0",
        method=False,
        doc="The transpose of adaptive average pooling.",
    )
    return forward


def _adaptive_max(x: Array, out: _Ints) -> Any:
    n = len(out)
    size = x.shape[-n:]
    rows_of = math.prod(x.shape[:-n])
    cuts = [list(zip(*_cuts(m, o), strict=True)) for m, o in zip(size, out, strict=True)]
    values = np.empty((*x.shape[:-n], *out), x.dtype)
    places = np.empty(values.shape, np.int64)
    numbers = np.arange(math.prod(size)).reshape(size)
    wide = widened(x)
    at: Any
    for at in itertools.product(*(range(m) for m in out)):
        window: Any = tuple(slice(*cuts[i][j]) for i, j in enumerate(at))
        inside = numbers[window].reshape(-1)
        rows = wide[(..., *window)].reshape(rows_of, inside.size)
        best = rows.argmax(-1)
        found = np.take_along_axis(rows, best[:, None], -1)
        values[(..., *at)] = found.reshape(x.shape[:-n])
        places[(..., *at)] = inside[best].reshape(x.shape[:-n])
    return values, places


def _adaptive_max_op(n: int) -> Any:
    return general(
        f"_adaptive_max_pool{n}d(input, output_size: plain)",
        _adaptive_max,
        vjp={"input": lambda g, out1, input_shape: _pool_scatter(g, out1, tuple(input_shape), n)},
        node=f"AdaptiveMaxPool{n}DBackward0" if n > 1 else "SqueezeBackward1",
        method=False,
        first_only=True,
        samples=lambda make: [(make(2, *(5, 4, 3)[:n]), (3, 2, 2)[:n])],
        doc="The largest elements of as many windows as asked for, and their places.",
    )


def _target_size(name: str, input: Any, output_size: Any, n: int, colon: str) -> _Ints:
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {listed(input.shape)}"
        )
    shape, said = list(input.shape), name
    if name == "adaptive_avg_pool1d":  # which torch computes so
        shape.insert(-1, 1)
        said = "adaptive_avg_pool2d"
    for dim, size in enumerate(shape):
        if not size and (dim or input.ndim == n + 1):
            raise RuntimeError(
                f"{said}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {listed(shape)} with dimension {dim} being empty"
            )
    if isinstance(output_size, int):
        wanted = (output_size,) * n
    else:
        wanted = tuple(output_size)
        if len(wanted) == 1:
            wanted = wanted * n
        if len(wanted) != n:
            raise RuntimeError(f"{name}: output_size must be {n}")
        wanted = tuple(
            size if v is None else as_int(v)
            for v, size in zip(wanted, input.shape[-n:], strict=True)
        )
    if min(wanted) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 "
            f"but received {{{', '.join(map(str, wanted))}}}"
        )
    return wanted


def _adaptive_of(n: int) -> None:
    average, largest = _adaptive_avg_op(n), _adaptive_max_op(n)
    avg_name, max_name = f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d"

    @composite(
        where="nn",
        name=avg_name,
        doc=f"The means of windows of {n} dimension(s) that cut the input into output_size parts.",
    )
    def avg(input: Any, output_size: Any) -> Any:
        wanted = _target_size(avg_name, input, output_size, n, "")
        if n > 1 and all(v == 1 for v in wanted):
            return input.mean(tuple(range(-n, 0)), keepdim=True)
        refuse("adaptive_avg_pool2d" if n < 3 else avg_name, input._array, "biuc")
        return average(input, wanted)

    @composite(
        where="nn",
        name=max_name,
        doc=f"The largest elements of windows of {n} dimension(s) that cut the input into parts.",
    )
    def maximum(input: Any, output_size: Any, return_indices: Flag = False) -> Any:
        wanted = _target_size(max_name, input, output_size, n, ":")
        refuse("adaptive_max_pool2d" if n < 3 else max_name, input._array, "biuc")
        pair = largest(input, wanted)
        return pair if return_indices else pair[0]

    @composite(
        where="nn",
        name=f"{max_name}_with_indices",
        doc="Largest elements and their places.",
    )
    def with_indices(input: Any, output_size: Any, return_indices: Flag = True) -> Any:
        return maximum(input, output_size, True)

    if n == 1:
        namespace("torch").update({avg_name: avg, max_name: with_indices})


for _n in (1, 2, 3):
    _adaptive_of(_n)
