"""Maxima and means of windows over the last one to three dimensions, and their gradients.

A work item does a window, or in the gradient of means an element of the input. The gradient of
maxima has only their places, which windows may share: a work item does a volume there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...._base import dtypes
from ...._core import Tensor, kernels
from ...._devices.launch import Ints, Tensors, code, empty, made, number, rows, start
from ...._devices.there import named, struct_of, there
from ...layout.there.rearranging import zeros

_FILE = "pooling.cl"
_WINDOW = struct_of(_FILE, "Window")


def _each(value: Any, n: int, otherwise: int) -> list[Any]:
    """A number for each of three dimensions, of which the first may be missing."""
    wanted = [value] * n if isinstance(value, int) else list(value)
    return [otherwise] * (3 - n) + wanted


def _window(
    sizes: Ints,
    out: Ints,
    size: int | Ints,
    stride: Ints | None = None,
    padding: int | Ints = 0,
    dilation: int | Ints = 1,
) -> bytes:
    """kernels/pooling.cl's Window; size 0: as many windows as wanted."""
    n = len(sizes)
    strides = stride if stride is not None and stride != () else size
    return _WINDOW.pack(
        sizes=_each(sizes, n, 1),
        out=_each(out, n, 1),
        kernels=_each(size, n, 1),
        strides=_each(strides, n, 1),
        pads=_each(padding, n, 0),
        dilations=_each(dilation, n, 1),
    )


def _maxima(x: Tensor, results: Sequence[Tensor], window: bytes) -> Any:
    out, indices = results
    start(_FILE, "max_pool", out.numel(), x, rows(x), out, indices, window, code(x), out.numel())
    return results


def _dims(value: int | Ints) -> int:
    """How many dimensions a window has: it, or the number itself, is given."""
    return value if isinstance(value, int) else len(value)


@there(kernels.max_pool, takes="float")
def max_pool(
    x: Tensor, size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> Tensors:
    results = made("max_pool", x, size, stride, padding, dilation, ceil_mode)
    if results is NotImplemented:
        return results
    n = len(size)
    shape = x.shape[-n:], results[0].shape[-n:]
    return _maxima(x, results, _window(*shape, size, stride, padding, dilation))


@there(kernels.adaptive_max_pool, takes="float")
def adaptive_max_pool(x: Tensor, sizes: Ints) -> Tensors:
    results = made("adaptive_max_pool", x, sizes)
    if results is NotImplemented:
        return results
    return _maxima(x, results, _window(x.shape[-len(sizes) :], sizes, 0))


_ORDER = {2: (1, 0), 3: (0, 1, 2)}  # which of a plane's random numbers is for which dimension


@there(
    *named("_fractional_max_pool2d", "_fractional_max_pool3d"),
    kernels.fractional_max_pool,
    takes="float32 float64 same",
)
def fractional_max_pool(x: Tensor, samples: Tensor, size: Ints, out: Ints) -> Tensors:
    n = len(size)
    planes = prod(x.shape[:-n])
    if samples.numel() != planes * n or 0 in (*x.shape, *out):
        return NotImplemented
    results = empty((*x.shape[:-n], *out), x), empty((*x.shape[:-n], *out), x, dtypes.int64)
    sizes = zip(x.shape[-n:], out, size, strict=True)
    steps = [(have - k) / (count - 1) if count > 1 else 0 for have, count, k in sizes]
    rest = *_each(_ORDER[n], n, -1), *(number(v, x) for v in _each(steps, n, 0))
    window, items = _window(x.shape[-n:], out, size), results[0].numel()
    given = rows(x), rows(samples), *results, window, code(x), items, n
    start(_FILE, "fractional_max_pool", items, x, *given, *rest)
    return results


def _added(g: Tensor, indices: Tensor, shape: Ints, n: int) -> Tensor:
    """Elements added at their places in volumes of zeros."""
    wide = dtypes.float32 if g.dtype.itemsize == 2 else g.dtype
    out = empty(shape, g, wide)
    volume, positions = prod(shape[-n:]), prod(g.shape[-n:])
    items = prod(shape[:-n])
    given = rows(g), rows(indices), out, code(g), items, positions, volume
    start(_FILE, "add_at_places", items, g, *given)
    return rows(out, g.dtype)


@there(kernels.max_pool_backward, takes="float, indices: int64")
def max_pool_backward(g: Tensor, indices: Tensor, shape: Ints, window: int | Ints) -> Tensor:
    n = _dims(window)
    if g.shape != indices.shape or len(shape) != g.dim():
        return NotImplemented
    if tuple(shape[:-n]) != tuple(g.shape[:-n]):
        return NotImplemented
    return _added(g, indices, tuple(shape), n)


def _means(
    name: str, from_: Tensor, out: Tensor, window: bytes, include_pad: bool, divisor: int | None
) -> Tensor:
    sizes = code(from_), out.numel(), int(include_pad), 0 if divisor is None else divisor
    start(_FILE, name, out.numel(), from_, rows(from_), out, window, *sizes)
    return out


@there(kernels.avg_pool, takes="float")
def avg_pool(
    x: Tensor,
    size: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    out = made("avg_pool", x, size, stride, padding, ceil_mode, count_include_pad, divisor)
    if out is NotImplemented:
        return out
    n = len(size)
    window = _window(x.shape[-n:], out.shape[-n:], size, stride, padding)
    return _means("mean_pool", x, out, window, count_include_pad, divisor)


@there(kernels.avg_pool_backward, takes="float")
def avg_pool_backward(
    g: Tensor,
    shape: Ints,
    size: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    rest = size, stride, padding, ceil_mode, count_include_pad, divisor
    out = made("avg_pool_backward", g, shape, *rest)
    if out is NotImplemented:
        return out
    n = len(size)
    window = _window(out.shape[-n:], g.shape[-n:], size, stride, padding)
    return _means("mean_pool_backward", g, out, window, count_include_pad, divisor)


@there(kernels.adaptive_avg_pool, takes="float")
def adaptive_avg_pool(x: Tensor, sizes: Ints) -> Tensor:
    out = made("adaptive_avg_pool", x, sizes)
    if out is NotImplemented:
        return out
    window = _window(x.shape[-len(sizes) :], sizes, 0)
    return _means("mean_pool", x, out, window, False, None)


@there(kernels.adaptive_avg_pool_backward, takes="float")
def adaptive_avg_pool_backward(g: Tensor, sizes: Ints) -> Tensor:
    out = made("adaptive_avg_pool_backward", g, sizes)
    if out is NotImplemented:
        return out
    if not g.numel():
        return zeros(out.shape, g)
    window = _window(sizes, g.shape[-len(sizes) :], 0)
    return _means("mean_pool_backward", g, out, window, False, None)
