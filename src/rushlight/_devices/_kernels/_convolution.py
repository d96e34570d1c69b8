"""Convolutions and their gradients, and patches of images as columns.

The three kinds of convolution are one kernel, a product with patches that are read where they lie;
see convolution.cl for what its numbers mean.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod
from typing import Any

from ... import _dtypes as dtypes
from ..._core import Tensor
from . import kernel
from ._launch import code, computed, empty, made, rows, start, takes
from ._products import Matrices, matrices, one, product, stored

_TILE = 4  # as in convolution.cl
_TILES, _LEAST = 2048, 256  # sums are cut where there are fewer tiles, into pieces of so many terms


def _three(values: Sequence[int], fill: int) -> list[int]:
    """The numbers of three dimensions."""
    return [fill] * (3 - len(values)) + list(values)


def _steps(t: Tensor) -> list[int]:
    """The strides in bytes: of the first two dimensions, and of the others filled up to three."""
    strides = [s * t.element_size() for s in t.stride()]
    return [*strides[:2], *_three(strides[2:], 0)]


def _run(
    a: Tensor,
    x: Tensor,
    bias: Any,
    out: Tensor,
    images: int,
    groups: int,
    size: int,
    v: Sequence[int],
    r: Sequence[int],
    places: Sequence[Sequence[int]],
    a_steps: Sequence[int],
    x_steps: Sequence[int],
) -> Tensor:
    """The product; size: rows of a group. The rest is as in the text of the kernel."""
    if not out.numel():
        return out
    stacks, columns = images * groups, prod(v)
    tiles = stacks * -(-size // _TILE) * -(-columns // _TILE)
    lines = prod(r[:3])
    pieces = 1 if bias is not None else max(1, min(_TILES // tiles, lines, lines * r[3] // _LEAST))
    sizes = _three(x.shape[2:], 1)
    numbers = [stacks, groups, size, columns, pieces, *v, *r]
    numbers += [n for which in (*places, sizes) for n in which]
    given = struct.pack("41q", *numbers, *a_steps, *x_steps)
    target = out
    if pieces > 1:
        wide = getattr(dtypes, computed(out.dtype))
        target = empty((pieces, out.numel()), out, wide)
    added = None if bias is None else rows(bias)
    types = int(bias is not None), code(a), code(target)
    whole = a, x, added, target, given, *types
    start("convolution.cl", "convolve", pieces * tiles, a, *whole, more=stored(a))
    if pieces > 1:
        ones, n = matrices(one(target), (), ""), out.numel()
        flat = Matrices(out, (), 0, 1)
        product(ones, matrices(target), flat, (), (1, n, pieces))
    return out


@kernel("convolution")
def convolution(
    x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    if not takes(x, w, *([] if bias is None else [bias])):
        return NotImplemented
    out = made("convolution", x, w, bias, stride, padding, dilation, groups)
    if out is NotImplemented:
        return out
    of_x, of_w = _steps(x), _steps(w)
    size, channels = w.shape[0] // groups, w.shape[1]
    v, r = [1, *_three(out.shape[2:], 1)], [channels, *_three(w.shape[2:], 1)]
    places = _three(stride, 1), _three(dilation, 1), [-p for p in _three(padding, 0)], [1] * 3
    a_steps = [size * of_w[0], of_w[0], of_w[1], *of_w[2:]]
    x_steps = [of_x[0], channels * of_x[1], 0, of_x[1], *of_x[2:]]
    return _run(w, x, bias, out, x.shape[0], groups, size, v, r, places, a_steps, x_steps)


@kernel("convolution_input")
def convolution_input(
    g: Any,
    w: Any,
    bias: Any,
    shape: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    if not takes(g, w, *([] if bias is None else [bias])):
        return NotImplemented
    out = made("convolution_input", g, w, bias, shape, stride, padding, dilation, groups)
    if out is NotImplemented:
        return out
    of_g, of_w = _steps(g), _steps(w)
    channels, size = w.shape[0] // groups, w.shape[1]
    v, r = [1, *_three(shape[2:], 1)], [channels, *_three(w.shape[2:], 1)]
    back = [-d for d in _three(dilation, 1)]
    places = [1] * 3, back, _three(padding, 0), _three(stride, 1)
    a_steps = [channels * of_w[0], of_w[1], of_w[0], *of_w[2:]]
    x_steps = [of_g[0], channels * of_g[1], 0, of_g[1], *of_g[2:]]
    return _run(w, g, bias, out, g.shape[0], groups, size, v, r, places, a_steps, x_steps)


@kernel("convolution_weight")
def convolution_weight(
    g: Any, x: Any, shape: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    if not takes(g, x):
        return NotImplemented
    out = made("convolution_weight", g, x, shape, stride, padding, dilation, groups)
    if out is NotImplemented:
        return out
    of_g, of_x = _steps(g), _steps(x)
    size, channels = shape[0] // groups, shape[1]
    v, r = [channels, *_three(shape[2:], 1)], [g.shape[0], *_three(g.shape[2:], 1)]
    places = _three(dilation, 1), _three(stride, 1), [-p for p in _three(padding, 0)], [1] * 3
    a_steps = [size * of_g[1], of_g[1], of_g[0], *of_g[2:]]
    x_steps = [0, channels * of_x[1], of_x[1], of_x[0], *of_x[2:]]
    return _run(g, x, None, out, 1, groups, size, v, r, places, a_steps, x_steps)


# ---- patches as columns


def _counts(size: Any, k: Any, dilation: Any, padding: Any, stride: Any) -> list[int]:
    """How many places patches have in each dimension."""
    given = zip(size, k, dilation, padding, stride, strict=True)
    return [(n + 2 * p - d * (m - 1) - 1) // s + 1 for n, m, d, p, s in given]


def _patches(
    name: str, x: Tensor, out: Tensor, size: Any, k: Any, d: Any, p: Any, s: Any
) -> Tensor:
    if out.numel():
        given = struct.pack("12q", *size, *_counts(size, k, d, p, s), *k, *s, *p, *d)
        start("convolution.cl", name, out.numel(), x, rows(x), out, given, out.numel(), code(x))
    return out


def _is_image(x: Any, ndim: int, *pairs: Any) -> bool:
    return (
        takes(x)
        and x.dim() == ndim
        and x.dtype.is_floating_point
        and all(len(pair) == 2 for pair in pairs)
    )


@kernel("_im2col")
def im2col(x: Any, k: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    if not _is_image(x, 4, k, dilation, padding, stride):
        return NotImplemented
    size = x.shape[2:]
    places = prod(_counts(size, k, dilation, padding, stride))
    out = empty((x.shape[0], x.shape[1] * prod(k), places), x)
    return _patches("to_columns", x, out, size, k, dilation, padding, stride)


@kernel("_col2im")
def col2im(x: Any, size: Any, k: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    if not _is_image(x, 3, size, k, dilation, padding, stride):
        return NotImplemented
    out = empty((x.shape[0], x.shape[1] // prod(k), *size), x)
    return _patches("from_columns", x, out, size, k, dilation, padding, stride)
