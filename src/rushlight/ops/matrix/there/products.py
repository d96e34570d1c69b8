"""Products of matrices, of stacks of them, and of vectors, and their gradients.

All come down to `product`, in which every operand has strides, so that nothing is copied to be
transposed, spread or cut. Larger ones take another kernel: on a GPU tiles in local memory, and on a
processor copies in the order in which they are read. `choices` says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from .... import _core
from ...._base import dtypes
from ...._base.outside import np
from ...._core import Tensor, kernels
from ...._devices import choices
from ...._devices.accelerators import numbered
from ...._devices.launch import (
    GROUP,
    Ints,
    code,
    computed,
    empty,
    layout,
    number,
    rows,
    start,
    takes,
)
from ...._devices.there import numbers_of, struct_of, there
from ....backends import cuda as switches
from .. import fused_products
from .library import Matrices, planned

_N = numbers_of("products.cl")
__all__ = [
    "WIDE_GROUP",
    "Matrices",
    "Panels",
    "broad",
    "matrices",
    "one",
    "product",
    "stored",
    "tiles",
]

_PRODUCT = struct_of("products.cl", "Product")
_FLAT = bytes(struct_of("products.cl", "Layout").size)
_UNSTACKED = (_FLAT,) * 6  # of a product of two matrices

# Copies of columns: where they are, of how many stacks, the number of the first panel, how many.
Panels = Iterator[tuple[Tensor, int, int, int]]


def matrices(t: Tensor, lead: Ints = (), kind: str = "rc") -> Matrices:
    """A tensor as a stack that is spread to the leading sizes.

    kind: its last dimensions, rows and columns ("rc"), one of them, or neither.
    """
    strides = _core.accelerator_spans(t)
    at = len(strides) - len(kind)
    row = strides[at] if "r" in kind else 0
    column = strides[-1] if "c" in kind else 0
    return Matrices(t, (0,) * (len(lead) - at) + strides[:at], row, column)


_STORED = {t: f"-DSTORED={t.code}" for t in dtypes.ALL if t.is_floating_point}


def stored(t: Tensor) -> str:
    """The option that names the element type of what a product reads."""
    return _STORED.get(t.dtype, "")


def product(
    a: Matrices,
    b: Matrices,
    out: Matrices,
    lead: Ints,
    sizes: tuple[int, int, int],
    summed: int = 0,
    bias: Matrices | None = None,
    alpha: float = 1,
    beta: float = 1,
    columns: Panels | None = None,
) -> bool:
    """out = alpha * a @ b + beta * bias; False where the stacks have too many dimensions.

    sizes: rows, columns, and terms of a sum. The products are added up over the first `summed` of
    the leading dimensions, which `out` and `bias` do not have. columns: panels of the columns of b,
    for a product of packed copies; nothing else is read of b then.
    """
    (m, n, k), parts, stack = sizes, lead[:summed], lead[summed:]
    stacks, like, item = prod(stack), a.tensor, a.tensor.element_size()
    if not stacks * m * n:
        return True
    if columns is None and (plan := planned(a, b, out, lead, sizes, summed)):
        if bias:
            product(a, b, out, lead, (m, n, 0), summed, bias)  # the bias alone
        if plan.compute(alpha, beta if bias else 0):
            return True
    laid = _laid(a, b, out, bias, lead, summed) if lead else _UNSTACKED
    if laid is None:
        return False
    terms, device = prod(parts) * k, like._accelerator
    way, tile = choices.product(device, like.dtype, sizes, terms, stacks)
    if columns:
        way = "PACKED"
    elif way == "TILES" and not _even(laid, terms):
        way, tile = "TILED", _N.BLOCK
    tiles = stacks * -(-m // tile) * -(-n // tile)
    pieces = choices.pieces(device, way, tiles, stacks * m * n, terms)
    more = _option(way, tile, a, b)
    of_bias, of_out = bias.tensor.element_size() if bias else 0, out.tensor.element_size()
    given = _PRODUCT.pack(
        stacks=stacks,
        rows=m,
        columns=n,
        depth=k,
        parts=prod(parts),
        pieces=pieces,
        a=(a.row * item, a.column * item),
        b=(b.row * item, b.column * item),
        bias=(bias.row * of_bias, bias.column * of_bias) if bias else (0, 0),
        out=(out.row * of_out, out.column * of_out),
        a_places=laid[:2],
        b_places=laid[2:4],
        bias_places=laid[4],
        out_places=laid[5],
        image=0,
        out_image=0,
    )
    added = bias.tensor if bias else None
    factors = number(alpha, like), number(beta if bias else 0, like)
    types = code(bias.tensor) if bias else 0, code(out.tensor)
    target = out.tensor
    if pieces > 1:
        target = empty((pieces * stacks * m * n,), like, computed(like.dtype))
    file, ends = "products.cl", (added, target, given, *factors)
    if way == "PACKED":
        for left, right, *these in _copies(a, b, lead, summed, sizes, columns):
            copies = left, right, *ends, *these, *types
            items = pieces * -(-m // _N.HIGH) * these[-1]
            start(file, "product_packed", items, like, *copies, more=more)
    elif way == "TILES":
        items = pieces * tiles * WIDE_GROUP
        whole = a.tensor, b.tensor, *ends
        start(file, "product_tiles", items, like, *whole, more=more, group=WIDE_GROUP)
    else:
        items = pieces * tiles * (GROUP if way else 1)
        whole = a.tensor, b.tensor, *ends, code(like), *types
        start(file, "product_tiled" if way else "product", items, like, *whole, more=more)
    if pieces > 1:
        rest = target, added, out.tensor, given, *factors, *types
        start(file, "sum_pieces", stacks * m * n, like, *rest, more=more)
    return True


WIDE_GROUP = 256
"""Work items of a group that computes tiles."""


def _even(laid: Sequence[bytes], terms: int) -> bool:
    """Whether the parts of a sum are equally far apart, and counts fit into 32 bits."""
    return terms < 1 << 31 and max(laid[1][0], laid[3][0]) < 2  # the first byte is that of `ndim`


def _turned(line: int, term: int) -> int:
    """Whether neighbouring lines are nearer to each other than neighbouring terms; by strides."""
    return int(line == 1 or (term != 1 and line < term))


def _option(way: str, tile: int, a: Matrices, b: Matrices) -> str:
    """The compiler's options for a product; see products.cl."""
    if way != "TILES":
        return f"{stored(a.tensor)} -D{way}" if way else stored(a.tensor)
    return tiles(a.tensor, tile, _turned(a.row, a.column), _turned(b.column, b.row))


def tiles(like: Tensor, tile: int, a_turned: int, b_turned: int = 0) -> str:
    """The compiler's options for tiles.cl."""
    more = f"{stored(like)} -DROWS={tile} -DCOLUMNS={tile} -DA_TURNED={a_turned}"
    more += f" -DB_TURNED={b_turned}"
    fast = like.dtype is dtypes.float32 and switches.matmul.allow_tf32
    return f"{more} -DTF32" if fast and choices.has_tf32(like._accelerator) else more


def _copies(
    a: Matrices,
    b: Matrices,
    lead: Ints,
    summed: int,
    sizes: tuple[int, int, int],
    columns: Panels | None,
) -> Iterator[tuple[Any, ...]]:
    """The packed copies that are multiplied one after another, and their numbers."""
    m, n, k = sizes
    left, many = _packed(a, lead, summed, (m, k), a.row, a.column, _N.HIGH)
    if columns is None:
        width = broad(a.tensor)
        right, of = _packed(b, lead, summed, (n, k), b.column, b.row, width)
        columns = iter([(right, of, 0, prod(lead[summed:]) * -(-n // width))])
    for right, *these in columns:
        yield left, right, many, *these


def _packed(
    x: Matrices,
    lead: Ints,
    summed: int,
    sizes: tuple[int, int],
    line: int,
    term: int,
    width: int,
) -> tuple[Tensor, int]:
    """A copy in the order in which `product_packed` reads, and of how many stacks it is.

    sizes: lines, and terms of each part; line, term: how far they are apart in x, in elements.
    """
    (lines, depth), parts, stack = sizes, lead[:summed], lead[summed:]
    while stack and not x.lead[len(x.lead) - len(stack)]:
        stack = stack[1:]  # one for all of these
    item, like, stacks = x.tensor.element_size(), x.tensor, prod(stack)
    laid = layout(like, stack, x.lead[len(x.lead) - len(stack) :])
    panels = stacks * -(-lines // width) * prod(parts) * depth
    to = empty((panels * width,), like, computed(like.dtype))
    numbers = code(like), stacks, lines, depth, prod(parts), line * item, term * item, width
    given = like, to, laid, layout(like, parts, x.lead[:summed]), *numbers
    start("products.cl", "pack", panels, like, *given, more=f"{stored(like)} -DPACKED")
    return to, stacks


def broad(like: Tensor) -> int:
    """The columns of a panel, BROAD in prelude.cl."""
    return 32 // computed(like.dtype).itemsize


def _laid(
    a: Matrices,
    b: Matrices,
    out: Matrices,
    bias: Matrices | None,
    lead: Ints,
    summed: int,
) -> Sequence[bytes] | None:
    """The layouts of the stacks and of what is summed; None where one has too many dimensions."""
    parts, stack = lead[:summed], lead[summed:]
    none = bias or Matrices(a.tensor, (0,) * len(stack), 0, 0)
    laid = []
    for x in (a, b):
        laid += [layout(x.tensor, stack, x.lead[summed:]), layout(x.tensor, parts, x.lead[:summed])]
    laid += [layout(x.tensor, stack, x.lead) for x in (none, out)]
    found = [one for one in laid if one is not None]
    return found if len(found) == len(laid) else None


@cache
def _one(device: int, dtype: dtypes.dtype) -> Tensor:
    there = numbered(device).from_host(_core.wrap(np.ones((), computed(dtype).name)))
    return _core.accelerator_constant(rows(there, dtype))


def one(like: Tensor) -> Tensor:
    """A tensor of one element, 1, of the type and on the device of `like`."""
    return _one(like._accelerator, like.dtype)


def _multiplies(*tensors: Any) -> bool:
    """Whether all are numbers of one type."""
    if not takes(*tensors):
        return False
    dtype = tensors[0].dtype
    for t in tensors:
        if t.dtype is not dtype:
            return False
    return dtype is not dtypes.bool


def _spread(a: Ints, b: Ints) -> tuple[int, ...] | None:
    """The sizes that both are spread to."""
    if a == b:
        return tuple(a)
    try:
        return np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        return None


# ---- products


@there(kernels.matmul)
def matmul(a: Tensor, b: Tensor) -> Tensor:
    return _sum(None, a, b)


def _sum(
    bias: Tensor | None,
    a: Tensor,
    b: Tensor,
    beta: float = 1,
    alpha: float = 1,
    summed: bool = False,
) -> Tensor:
    """beta * bias + alpha * a @ b, over all of a stack where `summed`."""
    if not _multiplies(a, b) or not a.dim() or not b.dim():
        return NotImplemented
    left, right = "rc"[a.dim() == 1 :], "rc"[: min(b.dim(), 2)]
    lead = _spread(a.shape[:-2], b.shape[:-2])
    if lead is None or a.shape[-1] != b.shape[-len(right)]:
        return NotImplemented
    kind, kept = left[:-1] + right[1:], () if summed else lead
    m, n = a.shape[-2] if "r" in kind else 1, b.shape[-1] if "c" in kind else 1
    shape = *kept, *_sizes(kind, m, n)
    added = None
    if bias is not None:
        if not _multiplies(a, bias) or not _fits(alpha, a) or not _fits(beta, a):
            return NotImplemented
        if bias.dim() > len(shape) or _spread(bias.shape, shape) != shape:
            return NotImplemented
        if beta != 0:
            added = matrices(bias, kept, kind[max(0, len(kind) - bias.dim()) :])
    out = empty(shape, a)
    x, y, to = matrices(a, lead, left), matrices(b, lead, right), matrices(out, kept, kind)
    skipped = len(lead) if summed else 0
    done = product(x, y, to, lead, (m, n, a.shape[-1]), skipped, added, alpha, beta)
    return out if done else NotImplemented


def _sizes(kind: str, m: int, n: int) -> list[int]:
    """The sizes of the dimensions of a kind."""
    return [m if which == "r" else n for which in kind]


def _fits(value: float, like: Tensor) -> bool:
    """Whether a factor needs no words about its type or size."""
    if like.dtype.is_floating_point:
        return isinstance(value, (int, float)) and not 6e4 < abs(value) < float("inf")
    return type(value) is int and abs(value) < 2**7


def _are(dims: tuple[int, ...], a: Tensor, b: Tensor) -> bool:
    """Whether they are tensors of so many dimensions; stacks are as long."""
    if a.dim() != dims[0] or b.dim() != dims[1]:
        return False
    return dims != (3, 3) or a.shape[0] == b.shape[0]


@there(kernels.mm, takes="real")
def mm(a: Tensor, b: Tensor) -> Tensor:
    return matmul(a, b) if _are((2, 2), a, b) else NotImplemented


def _added(*dims: int, summed: bool = False) -> Any:
    """The same with something added; the products of a stack are added up where `summed`."""

    def function(input: Tensor, a: Tensor, b: Tensor, beta: Any = 1, alpha: float = 1) -> Tensor:
        return _sum(input, a, b, beta, alpha, summed) if _are(dims, a, b) else NotImplemented

    return function


there(kernels.addmm, fused_products.addmm, takes="real")(_added(2, 2))
there(fused_products.addmv, takes="real")(_added(2, 1))
there(fused_products.baddbmm, takes="real")(_added(3, 3))
there(fused_products.addbmm, takes="real")(_added(3, 3, summed=True))


@there(fused_products.addr)
def addr(input: Tensor, a: Tensor, b: Tensor, beta: int = 1, alpha: int = 1) -> Tensor:
    if not _multiplies(input, a, b) or a.dim() != 1 or b.dim() != 1 or input.dim() > 2:
        return NotImplemented
    shape = a.shape[0], b.shape[0]
    if not _fits(alpha, a) or not _fits(beta, a) or _spread(input.shape, shape) != shape:
        return NotImplemented
    out = empty(shape, a)
    added = matrices(input, (), "rc"[2 - input.dim() :]) if beta != 0 else None
    x, y = matrices(a, (), "r"), matrices(b, (), "c")
    product(x, y, matrices(out), (), (*shape, 1), 0, added, alpha, beta)
    return out


# ---- gradients


def _gradient(
    a: Matrices,
    b: Matrices,
    lead: Ints,
    sizes: tuple[int, int, int],
    factor: Tensor | None,
    ndim: int,
    kind: str,
) -> Any:
    """The gradient a @ b of a factor of `ndim` dimensions, summed over the dimensions that the
    factor was spread to; kind: which dimensions of a matrix the factor has. Where the factor itself
    is not known, the engine sums over its dimensions of size 1."""
    missing = len(lead) - (ndim - len(kind))
    shape = [
        1 if factor is not None and factor.shape[d - missing] == 1 else lead[d]
        for d in range(missing, len(lead))
    ]
    out = empty((*shape, *_sizes(kind, *sizes[:2])), a.tensor)
    to = matrices(out, shape, kind)
    kept = [d for d in range(missing, len(lead)) if shape[d - missing] == lead[d]]
    order = [d for d in range(len(lead)) if d not in kept] + kept
    a, b = (x._replace(lead=tuple(x.lead[d] for d in order)) for x in (a, b))
    to = to._replace(lead=tuple(to.lead[d - missing] for d in kept))
    turned = [lead[d] for d in order]
    return out if product(a, b, to, turned, sizes, len(lead) - len(kept)) else NotImplemented


@there(kernels.matmul_backward)
def matmul_backward(g: Tensor, a: Any, b: Any, needs: Any) -> tuple[Tensor | None, ...]:
    if (needs[0] and b is None) or (needs[1] and a is None):
        return NotImplemented
    if not _multiplies(g, b if needs[0] else g, a if needs[1] else g):
        return NotImplemented
    # `needs` says how many dimensions a factor has: see Source::Needs of the core.
    left = needs[0] - 1 if needs[0] else a.dim()
    right = needs[1] - 1 if needs[1] else b.dim()
    of_a, of_b = "rc"[left == 1 :], "rc"[: min(right, 2)]
    kind = of_a[:-1] + of_b[1:]
    lead = g.shape[: g.dim() - len(kind)]
    m, n = g.shape[len(lead)] if "r" in kind else 1, g.shape[-1] if "c" in kind else 1
    gradient = matrices(g, lead, kind)
    to_a = to_b = None
    if needs[0]:
        other = matrices(b, lead, of_b).turned
        to_a = _gradient(gradient, other, lead, (m, b.shape[-len(of_b)], n), a, left, of_a)
    if needs[1]:
        other = matrices(a, lead, of_a).turned
        to_b = _gradient(other, gradient, lead, (a.shape[-1], n, m), b, right, of_b)
    return NotImplemented if to_a is NotImplemented or to_b is NotImplemented else (to_a, to_b)


# ---- linear


@there(kernels.linear)
def linear(x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    given = (x, w) if bias is None else (x, w, bias)
    if not _multiplies(*given) or not x.dim() or w.dim() not in (1, 2):
        return NotImplemented
    if w.dim() == 1:
        return matmul(x, w) if bias is None else NotImplemented
    m, n, k = prod(x.shape[:-1]), w.shape[0], x.shape[-1]
    if k != w.shape[1]:
        return NotImplemented
    if bias is not None and (bias.dim() > 2 or _spread(bias.shape, (m, n)) != (m, n)):
        return NotImplemented
    out = empty((*x.shape[:-1], n), x)
    added = None if bias is None else matrices(bias, (), "rc"[2 - bias.dim() :])
    product(_rows(x), matrices(w).turned, _rows(out), (), (m, n, k), bias=added)
    return out


def _rows(t: Tensor) -> Matrices:
    """All rows of a tensor as one matrix."""
    if t.dim() == 2:
        return matrices(t)
    whole = rows(t)
    return Matrices(whole, (), t.shape[-1], 1)


@there(kernels.linear_backward)
def linear_backward(g: Tensor, x: Any, w: Any, needs: Ints) -> tuple[Tensor | None, ...]:
    need_b, need_x, need_w = needs if len(needs) == 3 else (0, *needs)
    known = [g] + ([w] if need_x else []) + ([x] if need_w else [])
    if not _multiplies(*known) or not g.dtype.is_floating_point:
        return NotImplemented
    if need_b > 2 and g.dim() != 2:
        return NotImplemented
    if (need_x and w.dim() == 1) or need_w == 2:
        # A weight that is a vector: the result has a dimension less than the input.
        return matmul_backward(g, x, w, (need_x, need_w))
    gradient = _rows(g)
    m, n = prod(g.shape[:-1]), g.shape[-1]
    to_b = to_x = to_w = None
    if need_x:
        k = w.shape[1]
        to_x = empty((*g.shape[:-1], k), g)
        product(gradient, matrices(w), _rows(to_x), (), (m, k, n))
    if need_w:
        k = x.shape[-1]
        to_w = empty((n, k), g)
        product(gradient.turned, _rows(x), matrices(to_w), (), (n, k, m))
    if need_b > 2:
        to_b = g  # the engine sums over what was spread
    elif need_b:
        to_b = empty((n,), g)
        ones = matrices(one(g), (), "")
        product(ones, gradient, matrices(to_b, (), "c"), (), (1, n, m))
    return (to_b, to_x, to_w) if len(needs) == 3 else (to_x, to_w)
