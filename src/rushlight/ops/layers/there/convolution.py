"""Convolutions and their gradients, and patches of images as columns.

The three kinds of convolution are one kernel, a product with patches that are read where they lie;
see convolution.cl for what its numbers mean. Of larger ones on a processor, the matrix and the
patches are copied in the order in which products read them, some patches at a time.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from ...._core import Tensor, kernels
from ...._devices.launch import Ints, code, computed, empty, made, rows, start
from ...._devices.accelerators import numbered
from ...._devices.there import numbers_of, struct_of, there
from ...matrix.there.products import Matrices, Panels, broad, matrices, one, product, stored
from .. import unfold

_N = numbers_of("convolution.cl")
_GEOMETRY = struct_of("convolution.cl", "Geometry")
_PATCHES = struct_of("convolution.cl", "Patches")
_TILES, _LEAST = 2048, 256  # sums are cut where there are fewer tiles, into pieces of so many terms
# Products of packed copies: what they multiply at least, and bytes of patches at a time.
_SMALL, _COPIED = 1 << 17, 1 << 26


def _three(values: Ints, fill: int) -> list[int]:
    """The numbers of three dimensions."""
    return [fill] * (3 - len(values)) + list(values)


def _steps(t: Tensor) -> list[int]:
    """The strides in bytes: of the first two dimensions, and of the others filled up to three."""
    strides = [s * t.element_size() for s in t.stride()]
    return [*strides[:2], *_three(strides[2:], 0)]


class _Convolution(NamedTuple):
    """A product of a matrix in `a` with patches of `x`; the rest is as in convolution.cl."""

    a: Tensor
    x: Tensor
    out: Tensor
    images: int
    groups: int
    rows: int  # of a group
    v: Ints
    r: Ints
    by_v: Ints
    by_r: Ints
    shift: Ints
    over: Ints
    a_steps: Ints
    x_steps: Ints

    def geometry(self, pieces: int = 1) -> bytes:
        return _GEOMETRY.pack(
            stacks=self.images * self.groups,
            groups=self.groups,
            rows=self.rows,
            columns=prod(self.v),
            pieces=pieces,
            v=self.v,
            r=self.r,
            by_v=self.by_v,
            by_r=self.by_r,
            shift=self.shift,
            over=self.over,
            sizes=_three(self.x.shape[2:], 1),
            a_steps=self.a_steps,
            x_steps=self.x_steps,
        )


def _run(c: _Convolution, bias: Tensor | None = None) -> Tensor:
    a, x, out = c.a, c.x, c.out
    if not out.numel():
        return out
    added = None if bias is None else rows(bias)
    if out.numel() * prod(c.r) >= _SMALL and numbered(a._accelerator).facts.is_cpu:
        return _run_packed(c, added)
    tiles = c.images * c.groups * -(-c.rows // _N.TILE) * -(-prod(c.v) // _N.TILE)
    lines = prod(c.r[:3])
    pieces = (
        1 if bias is not None else max(1, min(_TILES // tiles, lines, lines * c.r[3] // _LEAST))
    )
    target = out
    if pieces > 1:
        target = empty((pieces, out.numel()), out, computed(out.dtype))
    types = int(bias is not None), code(a), code(target)
    whole = a, x, added, target, c.geometry(pieces), *types
    start("convolution.cl", "convolve", pieces * tiles, a, *whole, more=stored(a))
    if pieces > 1:
        ones, n = matrices(one(target), (), ""), out.numel()
        flat = Matrices(out, (), 0, 1)
        product(ones, matrices(target), flat, (), (1, n, pieces))
    return out


def _run_packed(c: _Convolution, bias: Tensor | None) -> Tensor:
    """The same from copies of the matrix and of the patches; of these, not all at a time."""
    a, x, columns, terms = c.a, c.x, prod(c.v), prod(c.r)
    width = broad(x)
    panels = c.images * c.groups * -(-columns // width)
    most = min(panels, max(1, _COPIED // (terms * width * computed(x.dtype).itemsize)))

    def copies() -> Panels:
        to, given = empty((most * width * terms,), x, computed(x.dtype)), c.geometry()
        for first in range(0, panels, most):
            count = min(most, panels - first)
            whole = x, to, given, first, count, code(x)
            start("convolution.cl", "pack_columns", count * c.r[0], x, *whole, more=stored(x))
            yield to, c.images * c.groups, first, count

    lead = *c.r[:3], c.images, c.groups
    group, row, *steps = (s // a.element_size() for s in c.a_steps)
    left = Matrices(a, (*steps[:3], 0, group), row, steps[3])
    right = Matrices(x, (0,) * 5, 0, 0)
    each = c.rows * columns
    to = Matrices(c.out, (c.groups * each, each), columns, 1)
    added = None if bias is None else Matrices(bias, (0, c.rows), 1, 0)
    product(left, right, to, lead, (c.rows, columns, c.r[3]), 3, added, columns=copies())
    return c.out


@there(kernels.convolution, takes="real")
def convolution(
    x: Tensor,
    w: Tensor,
    bias: Tensor | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> Tensor:
    out = made("convolution", x, w, bias, stride, padding, dilation, groups)
    if out is NotImplemented:
        return out
    of_x, of_w = _steps(x), _steps(w)
    size, channels = w.shape[0] // groups, w.shape[1]
    v, r = [1, *_three(out.shape[2:], 1)], [channels, *_three(w.shape[2:], 1)]
    places = _three(stride, 1), _three(dilation, 1), [-p for p in _three(padding, 0)], [1] * 3
    a_steps = [size * of_w[0], of_w[0], of_w[1], *of_w[2:]]
    x_steps = [of_x[0], channels * of_x[1], 0, of_x[1], *of_x[2:]]
    c = _Convolution(w, x, out, x.shape[0], groups, size, v, r, *places, a_steps, x_steps)
    return _run(c, bias)


@there(kernels.convolution_input, takes="real")
def convolution_input(
    g: Tensor,
    w: Tensor,
    bias: Tensor | None,
    shape: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> Tensor:
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
    c = _Convolution(w, g, out, g.shape[0], groups, size, v, r, *places, a_steps, x_steps)
    return _run(c, bias)


@there(kernels.convolution_weight, takes="real")
def convolution_weight(
    g: Tensor, x: Tensor, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    out = made("convolution_weight", g, x, shape, stride, padding, dilation, groups)
    if out is NotImplemented:
        return out
    of_g, of_x = _steps(g), _steps(x)
    size, channels = shape[0] // groups, shape[1]
    v, r = [channels, *_three(shape[2:], 1)], [g.shape[0], *_three(g.shape[2:], 1)]
    places = _three(dilation, 1), _three(stride, 1), [-p for p in _three(padding, 0)], [1] * 3
    a_steps = [size * of_g[1], of_g[1], of_g[0], *of_g[2:]]
    x_steps = [0, channels * of_x[1], of_x[1], of_x[0], *of_x[2:]]
    return _run(_Convolution(g, x, out, 1, groups, size, v, r, *places, a_steps, x_steps))


# ---- patches as columns


def _counts(size: Ints, k: Ints, dilation: Ints, padding: Ints, stride: Ints) -> list[int]:
    """How many places patches have in each dimension."""
    given = zip(size, k, dilation, padding, stride, strict=True)
    return [(n + 2 * p - d * (m - 1) - 1) // s + 1 for n, m, d, p, s in given]


def _patches(
    name: str, x: Tensor, out: Tensor, size: Ints, k: Ints, d: Ints, p: Ints, s: Ints
) -> Tensor:
    if out.numel():
        counts = _counts(size, k, d, p, s)
        given = _PATCHES.pack(size=size, counts=counts, taps=k, stride=s, padding=p, dilation=d)
        start("convolution.cl", name, out.numel(), x, rows(x), out, given, out.numel(), code(x))
    return out


def _is_image(x: Tensor, ndim: int, *pairs: Any) -> bool:
    return x.dim() == ndim and all(len(pair) == 2 for pair in pairs)


@there(unfold._im2col, kernels.im2col, takes="float")
def im2col(x: Tensor, k: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Tensor:
    if not _is_image(x, 4, k, dilation, padding, stride):
        return NotImplemented
    size = x.shape[2:]
    places = prod(_counts(size, k, dilation, padding, stride))
    out = empty((x.shape[0], x.shape[1] * prod(k), places), x)
    return _patches("to_columns", x, out, size, k, dilation, padding, stride)


@there(unfold._col2im, kernels.col2im, takes="float")
def col2im(x: Tensor, size: Ints, k: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Tensor:
    if not _is_image(x, 3, size, k, dilation, padding, stride):
        return NotImplemented
    out = empty((x.shape[0], x.shape[1] // prod(k), *size), x)
    return _patches("from_columns", x, out, size, k, dilation, padding, stride)
