"""Elements that are moved as they are: copies in another order, triangles, diagonals, borders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

from .... import _core
from ...._base import dtypes
from ...._base.dtypes import float32
from ...._core import Tensor, kernels
from ...._devices.launch import Ints, code, empty, layout, rows, start, takes
from ...._devices.there import named, there
from ...indexing import take
from ...layers import padding
from ...layers.padding import _border_of
from ...making import casts
from ...making import copies as copies_ops
from ...making.copies import like_strides
from ...table.arrays import cell, dims_in
from .. import rearrange, view_copies

__all__ = ["arrange", "copied", "duplicate", "filled", "movable", "zeros"]

_FILE = "rearranging.cl"
_views = _core.kernels


def movable(*tensors: object) -> bool:
    """Whether all are tensors on one accelerator whose elements can be moved as they lie."""
    device = tensors[0]._accelerator if isinstance(tensors[0], Tensor) else None
    return device is not None and all(
        isinstance(t, Tensor) and t._accelerator == device and not (t.is_conj() or t.is_neg())
        for t in tensors
    )


def filled(out: Tensor, bits: int = 0) -> Tensor:
    """A contiguous tensor whose elements all get these bits."""
    size = out.element_size()
    more = 2 if size == 16 else 1
    start(_FILE, "fill", out.numel() * more, out, out, bits, size // more, out.numel() * more)
    return out


def zeros(shape: Ints, like: Tensor, dtype: dtypes.dtype | None = None) -> Tensor:
    """A contiguous tensor of zeros on the device of `like`."""
    return filled(empty(shape, like, dtype))


def arrange(x: Tensor, out: Tensor, strides: Ints | None = None, first: int = 0) -> None:
    """Elements of x into `out`, which may be a view: with the sizes of `out`, strides of x's memory
    (in elements, from `first` on). Where there are more dimensions than kernels take, the first is
    gone through here."""
    steps = x.stride() if strides is None else strides
    there, here = layout(x, out.shape, steps), layout(out)
    if there is None or here is None:
        for i in range(out.shape[0]):
            arrange(x, _views.select(out, 0, i), steps[1:], first + i * steps[0])
        return
    item = x.element_size()
    if out.numel():
        begin = x if not first else _views.strided(x, (), (), first)
        start(_FILE, "arrange", out.numel(), out, begin, out, there, here, item, out.numel())


def _strides_to(x: Tensor, shape: Ints) -> list[int]:
    """The strides of x spread to a shape."""
    more = len(shape) - x.dim()
    own = zip(x.stride(), x.shape, strict=True)
    return [0] * more + [0 if size == 1 else stride for stride, size in own]


def copied(to: Tensor, x: Tensor) -> Tensor:
    """x, spread to the shape of `to`, into `to`."""
    if to.dtype is not x.dtype:
        _core.copy_values(to, x)
    else:
        arrange(x, to, _strides_to(x, to.shape))
    return to


def duplicate(x: Tensor) -> Tensor:
    """A contiguous copy."""
    return copied(empty(x.shape, x), x)


def alike(x: Any, dtype: dtypes.dtype | None = None) -> Tensor:
    """A copy without gaps whose dimensions lie in the order of x."""
    strides, code = like_strides(x, None), (x.dtype if dtype is None else dtype).code
    return copied(_core.empty_accelerated(x._accelerator, tuple(x.shape), code, strides), x)


@there(copies_ops.alias)
def alias(x: Tensor) -> Tensor:
    return x


@there(copies_ops.contiguous_copy, *named("alias_copy"), view_copies.detach_copy)
def _contiguous_copy(x: Tensor) -> Tensor:
    return duplicate(x) if movable(x) else NotImplemented


@there(copies_ops.clone)
def clone(x: Any, memory_format: Any) -> Any:
    if not movable(x):
        return NotImplemented

    strides = like_strides(x, memory_format)
    out = _core.empty_accelerated(x._accelerator, tuple(x.shape), x.dtype.code, strides)
    _core.copy_values(out, x)
    return out


@there(casts.to_copy)
def _to_copy(x: Tensor, dtype: dtypes.dtype) -> Tensor:
    if not takes(x) or x.is_neg() or dtype.is_complex or dtype.itemsize > 8:
        return NotImplemented
    out = empty(x.shape, x, dtype)
    if not takes(out):
        return NotImplemented
    _core.copy_values(out, x)
    return out


def turned(x: Tensor, axes: Ints, out: Tensor) -> Tensor:
    """x with dimensions in reverse into `out`."""
    if not x.numel():
        return out
    strides = [-s if d in axes else s for d, s in enumerate(x.stride())]
    first = sum([(x.shape[d] - 1) * x.stride(d) for d in axes])
    arrange(x, out, strides, first)
    return out


@there(rearrange.flip)
def flip(x: Tensor, dims: Ints) -> Tensor:

    if not movable(x):
        return NotImplemented
    axes = dims_in(dims, x.dim())
    device: Any = x._accelerator
    out = _core.empty_accelerated(device, tuple(x.shape), x.dtype.code, _core.like_strides(x))
    return turned(x, axes if x.dim() else (), out)


def _words(value: Any) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


@there(rearrange.roll)
def roll(x: Tensor, shifts: int | Ints, dims: int | Ints) -> Tensor:
    by, along = _words(shifts), _words(() if dims is None else dims)
    if not movable(x) or not by or ((along or len(by) != 1) and len(along) != len(by)):
        return NotImplemented
    if not x.numel() or not x.dim():
        return duplicate(x) if all(-1 <= d <= 0 or x.dim() for d in along) else NotImplemented
    if any(not -x.dim() <= d < x.dim() for d in along):
        return NotImplemented
    if not along:
        return _views.view(_rolled(_views.view(rows(x), (x.numel(),)), by[0], 0), tuple(x.shape))
    for shift, dim in zip(by, along, strict=True):
        x = _rolled(x, shift, dim % x.dim())
    return x


def _rolled(x: Tensor, shift: int, dim: int) -> Tensor:
    out, size = empty(x.shape, x), x.shape[dim]
    at = shift % size
    copied(_views.slice(out, dim, at, size, 1), _views.slice(x, dim, 0, size - at, 1))
    copied(_views.slice(out, dim, 0, at, 1), _views.slice(x, dim, size - at, size, 1))
    return out


@there(rearrange.repeat)
def repeat(x: Tensor, repeats: Ints) -> Tensor:
    if not movable(x) or len(repeats) < x.dim() or min(repeats, default=0) < 0:
        return NotImplemented
    sizes = (*([1] * (len(repeats) - x.dim())), *x.shape)
    out = empty([n * size for n, size in zip(repeats, sizes, strict=True)], x)
    if not out.numel():
        return out
    copies: list[int] = []
    once: list[int] = []
    for n, size in zip(repeats, sizes, strict=True):
        copies += (n, size) if n != 1 else (size,)
        once += (1, size) if n != 1 else (size,)
    copied(_views.view(out, tuple(copies)), _views.view(rows(x), tuple(once)))
    return out


# ---- triangles and diagonals


def _triangle(x: Tensor, diagonal: int, upper: bool) -> Tensor:
    if not movable(x) or x.dim() < 2 or x.element_size() > 16:
        return NotImplemented
    whole, out = _whole(x), empty(x.shape, x)
    if not x.numel():
        return out
    n, m = x.shape[-2:]
    given = n, m, max(min(diagonal, m), -n), int(upper), x.element_size(), x.numel()
    start(_FILE, "triangle", x.numel(), x, whole, out, *given)
    return out


def _whole(x: Tensor) -> Tensor:
    return x if x.is_contiguous() else duplicate(x)


there(rearrange.tril)(partial(_triangle, upper=False))
there(rearrange.triu)(partial(_triangle, upper=True))


def _placed(view: Callable[..., Any], g: Tensor, shape: Ints, *args: object) -> Tensor:
    """Zeros with g where a view of them shows it."""
    if not movable(g):
        return NotImplemented
    out = zeros(shape, g)
    part = view(out, *args)
    if not isinstance(part, Tensor) or part.shape != g.shape:
        return NotImplemented
    copied(part, g)
    return out


there(kernels.diagonal_backward)(partial(_placed, _views.diagonal))
there(kernels.slice_backward)(partial(_placed, _views.slice))
there(kernels.select_backward)(partial(_placed, _views.select))


def _replaced(view: Callable[..., Any], x: Tensor, src: Tensor, *args: object) -> Tensor:
    """A copy of x with src where a view shows it."""
    same = movable(x, src) and (x.dtype is src.dtype or takes(x, src))
    if not same or (view is _views.slice and not x.dim()):
        return NotImplemented
    out = alike(x)
    part = view(out, *args)
    if not isinstance(part, Tensor) or part.shape != src.shape:
        return NotImplemented
    copied(part, src)
    return out


there(take.select_scatter)(partial(_replaced, _views.select))
there(take.slice_scatter)(partial(_replaced, _views.slice))
there(take.diagonal_scatter)(partial(_replaced, _views.diagonal))


@there(rearrange._block_diag)
def _block_diag(tensors: Sequence[Tensor]) -> Tensor:
    blocks = list(tensors)
    if not movable(*blocks) or any(t.dim() > 2 or t.dtype is not blocks[0].dtype for t in blocks):
        return NotImplemented
    shapes = [(1, 1, *t.shape)[-2:] for t in blocks]
    out = zeros([sum(sizes) for sizes in zip(*shapes, strict=True)], blocks[0])
    row = column = 0
    for block, (n, m) in zip(blocks, shapes, strict=True):
        part = _views.slice(_views.slice(out, 0, row, row + n, 1), 1, column, column + m, 1)
        copied(part, block)
        row, column = row + n, column + m
    return out


# ---- borders and blocks


@there(padding.constant_pad_nd, _core.kernels.constant_pad)
def constant_pad_nd(x: Tensor, pad: Ints, value: float) -> Tensor:

    if not movable(x) or len(pad) % 2 or len(pad) > 2 * x.dim():
        return NotImplemented
    kept, shape, there = _border_of(tuple(x.shape), tuple(pad))
    if min(shape, default=0) < 0 or (value and x.element_size() > 8):
        return NotImplemented
    bits = 0
    if value:
        bits = int.from_bytes(cell(value, x.dtype.numpy).tobytes(), "little", signed=True)
    out = filled(empty(shape, x), bits)
    part = out
    for d, (a, b) in enumerate(zip(kept, there, strict=True)):
        if a != slice(None):
            x = _views.slice(x, d, a.start, max(a.stop, a.start), 1)
            part = _views.slice(part, d, b.start, max(b.stop, b.start), 1)
    copied(part, x)
    return out


def _permuted(x: Tensor, sizes: Ints, order: Ints, shape: Ints) -> Tensor:
    """x seen with sizes, in another order of dimensions, as a contiguous tensor of a shape."""
    if not movable(x):
        return NotImplemented
    found = duplicate(_views.permute(_views.reshape(_whole(x), tuple(sizes)), tuple(order)))
    return _views.view(found, tuple(shape))


@there(padding.pixel_shuffle)
def _pixel_shuffle(x: Tensor, r: int) -> Tensor:
    if x.ndim < 3 or r <= 0 or x.shape[-3] % (r * r):
        return NotImplemented
    *lead, c, h, w = x.shape
    sizes = (prod(lead), c // (r * r), r, r, h, w)
    return _permuted(x, sizes, (0, 1, 4, 2, 5, 3), (*lead, c // (r * r), h * r, w * r))


@there(padding.pixel_unshuffle)
def _pixel_unshuffle(x: Tensor, r: int) -> Tensor:
    if x.ndim < 3 or r <= 0 or x.shape[-2] % r or x.shape[-1] % r:
        return NotImplemented
    *lead, c, h, w = x.shape
    sizes = (prod(lead), c, h // r, r, w // r, r)
    return _permuted(x, sizes, (0, 1, 3, 5, 2, 4), (*lead, c * r * r, h // r, w // r))


@there(padding.channel_shuffle)
def _channel_shuffle(x: Tensor, groups: int) -> Tensor:
    if x.ndim < 3 or groups <= 0 or x.shape[1] % groups:
        return NotImplemented
    n, c = x.shape[:2]
    sizes = (n, groups, c // groups, *x.shape[2:])
    return _permuted(x, sizes, (0, 2, 1, *range(3, len(sizes))), x.shape)


@there(kernels.unfold_backward, takes="float")
def _unfold_backward(g: Tensor, shape: Ints, dimension: int, size: int, step: int) -> Tensor:
    if not shape:  # one window at most, of one element
        g, dimension = _views.reshape(rows(g), (1, g.numel())), 0
    out, dim = empty(shape, g), dimension % max(len(shape), 1)
    inner, windows = prod(shape[dim + 1 :]), g.shape[dim]
    given = code(g), (*shape, 1)[dim], inner, windows, size, step, out.numel()
    if out.numel():
        start(_FILE, "add_windows", out.numel(), g, rows(g), out, *given)
    return out


def wide(x: Tensor) -> dtypes.dtype:
    """The dtype that sums of elements are kept in."""
    return float32 if x.dtype.is_floating_point and x.element_size() == 2 else x.dtype
