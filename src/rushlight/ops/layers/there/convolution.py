"""Convolutions and their gradients, and patches of images as columns.

The three kinds of convolution are one kernel, a product with patches that are read where they lie;
see convolution.cl for what its numbers mean. Of larger ones on a processor, the matrix and the
patches are copied in the order in which products read them, some patches at a time.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, TypeAlias

from ...._core import Tensor, kernels
from ...._devices import choices
from ...._devices.accelerators import numbered
from ...._devices.launch import Ints, code, computed, empty, made, number, rows, start
from ...._devices.there import numbers_of, struct_of, there
from ...matrix.there.products import (
    WIDE_GROUP,
    Matrices,
    Panels,
    broad,
    matrices,
    one,
    product,
    stored,
    tiles,
)
from .. import unfold
from .cudnn import INPUT, OUTPUT, WEIGHT, biased, convolved

_N = numbers_of("convolution.cl")
_GEOMETRY = struct_of("convolution.cl", "Geometry")
_PATCHES = struct_of("convolution.cl", "Patches")
_PRODUCT = struct_of("products.cl", "Product")
_LAYOUT = struct_of("products.cl", "Layout")
_views = kernels


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
    kind: str = ""  # "weight" for that gradient, which has no bias; "input"

    @property
    def device(self) -> Any:
        return self.a._accelerator

    @property
    def plane(self) -> tuple[int, ...]:
        """The sizes of the places that the matrix's side of the product counts."""
        return tuple((self.r if self.kind == "weight" else self.v)[1:])

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
    added, device = None if bias is None else rows(bias), c.device
    columns, terms, chosen = prod(c.v), prod(c.r), choices.row(device)
    if numbered(device).facts.is_cpu and out.numel() * terms >= chosen.least_convolution:
        return _run_packed(c, added)
    sizes = c.rows, c.images * columns, terms
    way, tile = choices.product(device, a.dtype, sizes, terms, c.groups)
    if way == "TILES" and terms < 1 << 31:
        return out if _run_single(c, added) else _run_tiles(c, added, tile)
    work_items = c.images * c.groups * -(-c.rows // _N.TILE) * -(-columns // _N.TILE)
    lines, pieces = prod(c.r[:3]), 1
    if bias is None:
        pieces = max(1, min(lines, choices.pieces(device, "", work_items, 1, terms)))
    target = out
    if pieces > 1:
        target = empty((pieces, out.numel()), out, computed(out.dtype))
    types = int(bias is not None), code(a), code(target)
    whole = a, x, added, target, c.geometry(pieces), *types
    start("convolution.cl", "convolve", pieces * work_items, a, *whole, more=stored(a))
    if pieces > 1:
        ones, n = matrices(one(target), (), ""), out.numel()
        flat = Matrices(out, (), 0, 1)
        product(ones, matrices(target), flat, (), (1, n, pieces))
    return out


def _along(*steps: tuple[int, int]) -> bytes:
    """A layout of dimensions, each a size and a stride in bytes."""
    sizes, strides = ([*numbers, *[0] * (6 - len(steps))] for numbers in zip(*steps, strict=True))
    return _LAYOUT.pack(ndim=len(steps), sizes=sizes, strides=strides)


def _run_tiles(c: _Convolution, bias: Tensor | None, tile: int) -> Tensor:
    """The same by tiles in shared memory; see convolution.cl for the stacks and parts."""
    a, given, geometry = (_weight if c.kind == "weight" else _images)(c)
    more = tiles(a, tile, 0) + ("" if c.kind == "weight" else " -DIMAGES")
    stacks, rows_, columns = given["stacks"], c.rows, given["columns"]
    count, groups = stacks * rows_ * columns, stacks * -(-rows_ // tile) * -(-columns // tile)
    terms = given["parts"] * given["depth"]
    pieces = choices.pieces(c.device, "TILES", groups, count, terms)
    item, target = a.element_size(), c.out
    if pieces > 1:
        target = empty((pieces * count,), c.out, computed(c.out.dtype))
    packed = _PRODUCT.pack(
        rows=rows_,
        pieces=pieces,
        a=(given["depth"] * item, item),
        b=(0, 0),
        bias=(item, 0),
        b_places=given["a_places"],
        bias_places=_along((c.groups, rows_ * item)),
        **given,
    )
    factors = number(1, a), number(int(bias is not None), a)
    file, name = "convolution.cl", "weight_tiles" if c.kind == "weight" else "convolve_tiles"
    whole, items = (a, c.x, bias, target, packed, *factors, geometry), pieces * groups * WIDE_GROUP
    start(file, name, items, a, *whole, more=more, group=WIDE_GROUP)
    if pieces > 1:
        types = code(c.out), code(c.out)
        start(
            file, "sum_pieces", count, a, target, bias, c.out, packed, *factors, *types, more=more
        )
    return c.out


_Given: TypeAlias = tuple[Tensor, dict[str, Any], bytes]


def _images(c: _Convolution) -> _Given:
    """The matrix, the numbers of the product and the geometry: all images have their columns."""
    item, places, taps, depth = c.a.element_size(), prod(c.v), prod(c.r[1:]), c.r[0]
    panel, each = c.rows * depth * item, c.rows * places * item
    given = {
        "stacks": c.groups,
        "columns": c.images * places,
        "depth": depth,
        "parts": taps,
        "out": (places * item, item),
        "a_places": (_along((c.groups, taps * panel)), _along((taps, panel))),
        "out_places": _along((c.groups, each)),
        "image": places,
        "out_image": c.groups * each,
    }
    steps = [0, c.x_steps[1], c.x_steps[0], *c.x_steps[3:]]
    return _by_taps(c), given, c._replace(v=[c.images, *c.v[1:]], x_steps=steps).geometry()


def _weight(c: _Convolution) -> _Given:
    """The same of the weight's gradient: a stack for each group and tap, a part for each image."""
    item, taps, places, channels = c.a.element_size(), prod(c.v[1:]), prod(c.r[1:]), c.v[0]
    plane = c.rows * places * item
    given = {
        "stacks": c.groups * taps,
        "columns": channels,
        "depth": places,
        "parts": c.r[0],
        "out": (channels * taps * item, taps * item),
        "a_places": (_along((c.groups, plane), (taps, 0)), _along((c.r[0], c.groups * plane))),
        "out_places": _along((c.groups, c.rows * channels * taps * item), (taps, item)),
        "image": 0,
        "out_image": 0,
    }
    return rows(c.a), given, c.geometry()


def _run_single(c: _Convolution, bias: Tensor | None) -> bool:
    """The same where a kernel has one tap and each place sees its own: products of matrices as
    they lie. False where that is not so."""
    taps = c.v if c.kind == "weight" else c.r
    spatial = c.x.stride()[2:]
    places = [prod(c.x.shape[d + 1 :]) for d in range(2, c.x.dim())]
    if prod(taps[1:]) > 1 or tuple(_three(c.x.shape[2:], 1)) != c.plane or list(spatial) != places:
        return False
    if any(c.shift) or prod(c.over) > 1:
        return False
    item, count = c.a.element_size(), prod(c.plane)
    group, row, term, *_ = (s // item for s in c.a_steps)
    image, x_group, column, x_term = (s // item for s in c.x_steps[:4])
    each = c.rows * count
    if c.kind == "weight":
        a = rows(c.a)
        left = Matrices(a, (c.groups * each, each), count, 1)
        right = Matrices(c.x, (x_term, x_group), 1, column)
        out = Matrices(c.out, (c.rows * c.v[0],), c.v[0], 1)
        return product(left, right, out, (c.r[0], c.groups), (c.rows, c.v[0], count), 1)
    left = Matrices(c.a, (0, group), row, term)
    right = Matrices(c.x, (image, x_group), x_term, 1)
    out = Matrices(c.out, (c.groups * each, each), count, 1)
    added = None if bias is None else Matrices(bias, (0, c.rows), 1, 0)
    sizes = c.rows, count, c.r[0]
    return product(left, right, out, (c.images, c.groups), sizes, bias=added)


def _by_taps(c: _Convolution) -> Tensor:
    """A copy of the weight: of each group and tap a matrix of rows and terms."""
    w = rows(c.a)
    split = _views.view(w, (c.groups, w.shape[0] // c.groups, w.shape[1], *c.r[1:]))
    lines = (2, 1) if c.kind == "input" else (1, 2)
    return rows(_views.permute(split, (0, 3, 4, 5, *lines)))


def _run_packed(c: _Convolution, bias: Tensor | None) -> Tensor:
    """The same from copies of the matrix and of the patches; of these, not all at a time."""
    a, x, columns, terms = c.a, c.x, prod(c.v), prod(c.r)
    width = broad(x)
    panels = c.images * c.groups * -(-columns // width)
    most = min(
        panels,
        max(
            1,
            choices.row(c.device).packed_bytes // (terms * width * computed(x.dtype).itemsize),
        ),
    )

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
    if convolved(OUTPUT, x, w, out, stride, padding, dilation, groups):
        return biased(out, bias)
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
    if convolved(INPUT, out, w, g, stride, padding, dilation, groups):
        return biased(out, bias)
    of_g, of_w = _steps(g), _steps(w)
    channels, size = w.shape[0] // groups, w.shape[1]
    v, r = [1, *_three(shape[2:], 1)], [channels, *_three(w.shape[2:], 1)]
    back = [-d for d in _three(dilation, 1)]
    places = [1] * 3, back, _three(padding, 0), _three(stride, 1)
    a_steps = [channels * of_w[0], of_w[1], of_w[0], *of_w[2:]]
    x_steps = [of_g[0], channels * of_g[1], 0, of_g[1], *of_g[2:]]
    c = _Convolution(w, g, out, g.shape[0], groups, size, v, r, *places, a_steps, x_steps, "input")
    return _run(c, bias)


@there(kernels.convolution_weight, takes="real")
def convolution_weight(
    g: Tensor, x: Tensor, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    out = made("convolution_weight", g, x, shape, stride, padding, dilation, groups)
    if out is NotImplemented or convolved(WEIGHT, x, out, g, stride, padding, dilation, groups):
        return out
    of_g, of_x = _steps(g), _steps(x)
    size, channels = shape[0] // groups, shape[1]
    v, r = [channels, *_three(shape[2:], 1)], [g.shape[0], *_three(g.shape[2:], 1)]
    places = _three(dilation, 1), _three(stride, 1), [-p for p in _three(padding, 0)], [1] * 3
    a_steps = [size * of_g[1], of_g[1], of_g[0], *of_g[2:]]
    x_steps = [0, channels * of_x[1], of_x[1], of_x[0], *of_x[2:]]
    c = _Convolution(g, x, out, 1, groups, size, v, r, *places, a_steps, x_steps, "weight")
    return _run(c)


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
