"""References of what moves, reduces, sorts and indexes; see `references.py`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray


def hashed(a: Array, dim: Any = (), *, keepdim: bool = False) -> Array:
    """The exclusive or of the bits that the numbers have as doubles, or as 64-bit integers."""
    bits = a.astype(np.int64 if a.dtype.kind in "biu" else np.float64).view(np.uint64)
    axes = dim if isinstance(dim, int) else dim or tuple(range(a.ndim))
    return np.bitwise_xor.reduce(bits, axes, keepdims=keepdim)


def floating(a: Array) -> Array:
    """Integers as float64."""
    return np.asarray(a) * 1.0 if np.asarray(a).dtype.kind in "biu" else np.asarray(a)


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    return tuple(d % max(ndim, 1) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))


def reducing(f: Callable[..., Any], floats: bool = False) -> Callable[..., Any]:
    """A reduction f(array, axis=, keepdims=) with torch's arguments."""

    def reduce(a: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        a = floating(a) if floats else a
        axes = dims_of(dim, a.ndim) if a.ndim else ()
        return f(a, axis=axes, keepdims=keepdim)

    return reduce


def one_dim(f: Callable[[Array, int], Any]) -> Callable[..., Any]:
    """f(array, axis) of torch's (input, dim), with 0-d arrays as if of one dimension."""

    def along(a: Array, dim: int, *_: Any, **__: Any) -> Any:
        return f(a, dim) if a.ndim else f(a.reshape(1), 0).reshape(())

    return along


def sizes(*size: Any) -> tuple[int, ...]:
    """`(2, 3)` and `((2, 3),)` as one tuple."""
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


# ---- shapes


def expand(a: Array, *size: Any, implicit: bool = False) -> Array:
    wanted = list(sizes(*size))
    new = len(wanted) - a.ndim
    shape = [a.shape[i - new] if s == -1 else s for i, s in enumerate(wanted)]
    return np.broadcast_to(a, shape)


def squeeze(a: Array, dim: Any = None) -> Array:
    dims = dims_of(dim, a.ndim) if a.ndim else ()
    return a.squeeze(tuple(d for d in dims if a.shape[d] == 1))


def slice_(a: Array, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Array:
    return np.moveaxis(np.moveaxis(a, dim, 0)[start:end:step], 0, dim)


def narrow(a: Array, dim: int, start: Any, length: int) -> Array:
    return np.take(a, range(int(start), int(start) + length), dim)


def diagonal(a: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    return np.diagonal(a, offset, dim1, dim2)


def unfold(a: Array, dimension: int, size: int, step: int) -> Array:
    if not a.ndim:
        return a.reshape(1)
    windows = np.lib.stride_tricks.sliding_window_view(a, size, dimension)
    return np.take(windows, range(0, a.shape[dimension] - size + 1, step), dimension)


def split(a: Array, split_size: Any, dim: int = 0) -> tuple[Array, ...]:
    n = a.shape[dim]
    if isinstance(split_size, int):
        at = list(range(split_size, n, split_size)) if split_size else []
    else:
        at = list(np.cumsum(split_size)[:-1])
    return tuple(np.split(a, at, dim))


def chunk(a: Array, chunks: int, dim: int = 0) -> tuple[Array, ...]:
    return split(a, -(-a.shape[dim] // chunks), dim)


def tensor_split(a: Array, parts: Any, dim: int = 0) -> tuple[Array, ...]:
    parts = parts if isinstance(parts, int) else list(np.asarray(parts))
    return tuple(np.array_split(a, parts, dim))


def unbind(a: Array, dim: int = 0) -> tuple[Array, ...]:
    return tuple(np.moveaxis(a, dim, 0))


def flatten(a: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    if not a.ndim:
        return a.reshape(1)
    first, last = start_dim % a.ndim, end_dim % a.ndim
    return a.reshape(*a.shape[:first], -1, *a.shape[last + 1 :])


def unflatten(a: Array, dim: int, sizes: Any) -> Array:
    d = dim % a.ndim
    return a.reshape(*a.shape[:d], *sizes, *a.shape[d + 1 :])


def sum_to(a: Array, shape: Any) -> Array:
    lead = a.ndim - len(shape)
    a = a.sum(tuple(range(lead)))
    return a.sum(tuple(i for i, s in enumerate(shape) if s == 1 and a.shape[i] != 1), keepdims=True)


def as_strided(a: Array, size: Any, stride: Any, storage_offset: int = 0, *_: Any) -> Array:
    """A view of what lies in memory, whatever the order of the dimensions there."""
    flat = a.ravel(order="K")[storage_offset:]
    return np.lib.stride_tricks.as_strided(flat, size, [s * a.itemsize for s in stride])


def as_strided_scatter(
    a: Array, src: Array, size: Any, stride: Any, offset: int = 0, *_: Any
) -> Array:
    out = a.copy(order="K")
    as_strided(out, size, stride, offset)[...] = src
    return out


def rolled(a: Array, shifts: Any, dims: Any = ()) -> Array:
    if dims == () or dims is None:
        return np.roll(a.reshape(-1), shifts).reshape(a.shape)
    return np.roll(a, shifts, dims)


def repeated(a: Array, *repeats: Any) -> Array:
    return np.tile(a, sizes(*repeats)) if sizes(*repeats) else a


def repeat_interleave(a: Array, repeats: Any = None, dim: Any = None, **_: Any) -> Array:
    if repeats is None:
        return np.repeat(np.arange(a.size), a)
    return np.repeat(a, repeats, dim)


def diag_embed(a: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    n = a.shape[-1] + abs(offset)
    out = np.zeros((*a.shape[:-1], n, n), a.dtype)
    for i in range(a.shape[-1]):
        out[..., i + max(-offset, 0), i + max(offset, 0)] = a[..., i]
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


def combinations(a: Array, r: int = 2, with_replacement: bool = False) -> Array:
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return np.array(list(pick(a, r)))


def atleast(n: int) -> Callable[..., Any]:
    """atleast_1d(x) and atleast_1d(x, y)."""

    def padded(a: Array) -> Array:
        if n == 3 and a.ndim == 2:
            return a[:, :, None]
        if n == 3 and a.ndim == 1:
            return a[None, :, None]
        return a.reshape((1,) * max(0, n - a.ndim) + a.shape)

    return lambda a, *more: padded(a) if not more else tuple(map(padded, (a, *more)))


def constant_pad(a: Array, pad: Any, value: float = 0) -> Array:
    """Pads (a negative one crops) as (before, after) of the last dimension first."""
    for i in range(0, len(pad), 2):
        dim = a.ndim - 1 - i // 2
        crop = [slice(None)] * a.ndim
        crop[dim] = slice(max(-pad[i], 0), a.shape[dim] - max(-pad[i + 1], 0))
        widths = [(0, 0)] * a.ndim
        widths[dim] = (max(pad[i], 0), max(pad[i + 1], 0))
        a = np.pad(a[tuple(crop)], widths, constant_values=value)
    return a


# ---- reductions


def moment(f: Callable[..., Any]) -> Callable[..., Any]:
    """var and std: the divisor is n - correction."""

    def reduce(
        a: Array,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        return f(a, axis=dims_of(dim, a.ndim), ddof=correction, keepdims=keepdim)

    return reduce


def moments(f: Callable[..., Any]) -> Callable[..., Any]:
    """var_mean and std_mean."""

    def reduce(a: Array, dim: Any = None, *args: Any, **more: Any) -> Any:
        keepdim = more.get("keepdim", False)
        spread = moment(f)(a, dim, *args, **more)
        return spread, np.mean(a, axis=dims_of(dim, a.ndim), keepdims=keepdim)

    return reduce


def extremes(a: Array, *, dim: Any = None, keepdim: bool = False) -> Any:
    return a.min(dim, keepdims=keepdim), a.max(dim, keepdims=keepdim)


def definite(a: Array, dim: int, index: Array) -> Array | None:
    """Indices, where no two elements are equal; else which of them is open."""
    return index if len(np.unique(a)) == a.size else None


def ranked(choose: Callable[[int], int]) -> Callable[..., Any]:
    """The element at a place of the order along a dimension, with its index."""

    def reduce(a: Array, dim: int = -1, keepdim: bool = False) -> Any:
        if not a.ndim:
            return a, np.array(0)
        order = np.argsort(a, dim, kind="stable")
        index = np.take(order, [choose(a.shape[dim])], dim)
        values = np.take_along_axis(a, index, dim)
        index = definite(a, dim, index)
        if not keepdim:
            values = values.squeeze(dim)
            index = None if index is None else index.squeeze(dim)
        return values, index

    return reduce


def ranked_or_all(choose: Callable[[int], int], pair: Callable[..., Any]) -> Callable[..., Any]:
    """max(x), max(x, dim) and max(x, y)."""

    def reduce(a: Array, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, np.ndarray):
            return pair(a, dim)
        if dim is None:
            return np.sort(a, None)[choose(a.size)]
        return ranked(choose)(a, dim, keepdim)

    return reduce


def kthvalue(a: Array, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    return ranked(lambda n: k - 1)(a, dim, keepdim)


def arg(choose: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(a: Array, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None or not a.ndim:
            return choose(a) if not keepdim else choose(a).reshape((1,) * a.ndim)
        return choose(a, dim, keepdims=keepdim)

    return reduce


def sort(a: Array, dim: int = -1, descending: bool = False, stable: Any = False) -> Any:
    if not a.ndim:
        return a, np.array(0)
    index = np.argsort(-a if descending else a, dim, kind="stable")
    return np.take_along_axis(a, index, dim), definite(a, dim, index)


def topk(a: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    values, index = sort(a, dim, largest)
    if not a.ndim:
        return values, index
    first = range(k)
    return np.take(values, first, dim), None if index is None else np.take(index, first, dim)


def mode(a: Array, dim: int = -1, keepdim: bool = False) -> Any:
    def one(row: Array) -> Any:
        values, counts = np.unique(row, return_counts=True)
        return values[np.argmax(counts)]

    values = np.apply_along_axis(one, dim, a)
    return np.expand_dims(values, dim) if keepdim else values, None


def running(choose: Callable[..., Any]) -> Callable[..., Any]:
    """cummax and cummin."""

    def along(a: Array, dim: int) -> Any:
        if not a.ndim:
            return a, np.array(0)
        values = choose.accumulate(a, dim)  # type: ignore[attr-defined]
        steps = np.arange(a.shape[dim]).reshape([-1] + [1] * (a.ndim - dim % a.ndim - 1))
        index = np.maximum.accumulate(np.where(values == a, steps, 0), dim)
        return values, definite(a, dim, index)

    return along


def logcumsumexp(a: Array, dim: int) -> Array:
    return np.log(np.cumsum(np.exp(a), dim)) if a.ndim else a


def diff(a: Array, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Array:
    more = {"prepend": prepend, "append": append}
    return np.diff(a, n, dim, **{k: v for k, v in more.items() if v is not None})


def trapezoid(y: Array, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Array:
    return np.trapezoid(y, x, dx, dim)


def cumulative_trapezoid(y: Array, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Array:
    y = np.moveaxis(y, dim, -1)
    step = dx if x is None else np.diff(x)
    return np.moveaxis(np.cumsum((y[..., 1:] + y[..., :-1]) / 2 * step, -1), -1, dim)


def histc(a: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    span = (a.min(), a.max()) if min == max else (min, max)
    return np.histogram(a, bins, span)[0] * 1.0


def quantile_by(f: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(
        a: Array, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Any:
        return f(a, q, axis=dim, keepdims=keepdim, method=interpolation)

    return reduce


# ---- indexing


def index(a: Array, index: Array, dims: Any, at: int) -> Array:
    """a at the places that `index`, flat over the dimensions `dims`, names."""
    rest = [d for d in range(a.ndim) if d not in dims]
    moved = np.transpose(a, [*dims, *rest])
    flat = moved.reshape(-1, *moved.shape[len(dims) :])
    found = flat[index]
    n = index.ndim
    order = [*range(n, n + at), *range(n), *range(n + at, found.ndim)]
    return np.transpose(found, order)


def gather(a: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    if not a.ndim:
        return a
    places = list(np.indices(index.shape))
    places[dim] = index
    return a[tuple(places)]


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sum": lambda a, b: a + b,
    "mean": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "prod": lambda a, b: a * b,
    "amax": max,
    "amin": min,
}


def scatter(
    a: Array,
    dim: int,
    index: Array,
    src: Any = None,
    reduce: Any = None,
    *,
    value: Any = None,
    include_self: bool = True,
) -> Array:
    """Element by element, as the definition says."""
    src = value if src is None else src
    out = a.copy()
    met: dict[tuple[int, ...], int] = {}
    for place in np.ndindex(index.shape):
        at = list(place)
        at[dim] = index[place]
        to = tuple(at)
        item = src[place] if isinstance(src, np.ndarray) and src.ndim else src
        first = to not in met and not include_self
        met[to] = met.get(to, int(include_self)) + 1
        out[to] = item if reduce is None or first else _COMBINE[reduce](out[to], item)
    if reduce == "mean":
        for to, n in met.items():
            out[to] = out[to] // n if out.dtype.kind == "i" else out[to] / n
    return out


def index_reduce(
    a: Array, dim: int, index: Array, source: Array, reduce: str, *, include_self: bool = True
) -> Array:
    shape = [1] * source.ndim
    shape[dim] = -1
    places = np.broadcast_to(index.reshape(shape), source.shape)
    return scatter(a, dim, places, source, reduce, include_self=include_self)


def take_along_dim(a: Array, indices: Array, dim: Any = None) -> Array:
    return np.take_along_axis(a.reshape(-1) if dim is None else a, indices, dim or 0)


def masked_select(a: Array, mask: Array) -> Array:
    a, mask = np.broadcast_arrays(a, mask)
    return a[mask]


def index_add(a: Array, dim: int, index: Array, source: Array, *, alpha: float = 1) -> Array:
    out = np.moveaxis(a.copy(), dim, 0)
    np.add.at(out, index, alpha * np.moveaxis(source, dim, 0))
    return np.moveaxis(out, 0, dim)


def index_copy(a: Array, dim: int, index: Array, source: Any) -> Array:
    out = np.moveaxis(a.copy(), dim, 0)
    out[index] = np.moveaxis(source, dim, 0) if np.ndim(source) else source
    return np.moveaxis(out, 0, dim)


def index_put(a: Array, indices: Any, values: Array, accumulate: bool = False) -> Array:
    out = a.copy()
    if accumulate:
        np.add.at(out, tuple(indices), values)
    else:
        out[tuple(indices)] = values
    return out


def masked_scatter(a: Array, mask: Array, source: Array) -> Array:
    out = np.array(np.broadcast_to(a, np.broadcast_shapes(a.shape, mask.shape)))
    mask = np.broadcast_to(mask, out.shape)
    out[mask] = source.reshape(-1)[: mask.sum()]
    return out


def put(a: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    out = a.reshape(-1).copy()
    if accumulate:
        np.add.at(out, index, source)
    else:
        out[index] = source
    return out.reshape(a.shape)


def select_scatter(a: Array, src: Array, dim: int, index: int) -> Array:
    out = a.copy()
    np.moveaxis(out, dim, 0)[index] = src
    return out


def diagonal_scatter(a: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    out = a.copy()
    view = np.diagonal(out, offset, dim1, dim2)
    view.flags.writeable = True
    view[...] = src
    return out


def slice_scatter(
    a: Array, src: Array, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Array:
    out = a.copy()
    np.moveaxis(out, dim, 0)[start:end:step] = np.moveaxis(src, dim, 0)
    return out


def segments(a: Array, lengths: Array, how: str, axis: int, first: float | None) -> Array:
    """Segment by segment, for axis 0 or, row by row, 1."""
    if axis:
        rows = zip(a, lengths, strict=True)
        return np.stack([segments(row, sizes, how, 0, first) for row, sizes in rows])
    start = {"sum": 0, "mean": 0, "prod": 1, "max": -np.inf, "min": np.inf}[how]
    out = []
    for end, size in zip(np.cumsum(lengths), lengths, strict=True):
        part = a[end - size : end]
        begun = np.full((1, *a.shape[1:]), start if first is None else first)
        f = {"sum": np.sum, "mean": np.sum, "prod": np.prod, "max": np.max, "min": np.min}[how]
        value = f(np.concatenate([begun, part]), axis=0)
        out.append(value / size if how == "mean" else value)
    return np.stack(out)


def gradient(a: Array, spacing: float = 1.0) -> Any:
    found = np.gradient(a, spacing)
    return tuple(found) if isinstance(found, (list, tuple)) else (found,)


def histogram(a: Array, bins: int, **how: Any) -> Any:
    return np.histogram(a, bins, **how)


def nonzero_static(a: Array, *, size: int) -> Array:
    found = np.argwhere(a)[:size]
    return np.concatenate([found, np.full((size - len(found), a.ndim), -1)])


ARRAYS: dict[str, Callable[..., Any]] = {
    "_segment_reduce": segments,
    "cov": lambda a, correction=1: np.cov(a, ddof=correction),
    "corrcoef": np.corrcoef,
    "gradient": gradient,
    "histogram": histogram,
    "nonzero_static": nonzero_static,
    # shapes
    "view": lambda a, *size: a.reshape(sizes(*size)),
    "reshape": lambda a, *size: a.reshape(sizes(*size)),
    "flatten": flatten,
    "unflatten": unflatten,
    "ravel": lambda a: a.ravel(),
    "squeeze": squeeze,
    "unsqueeze": lambda a, dim: np.expand_dims(a, dim),
    "transpose": lambda a, i, j: np.swapaxes(a, i, j) if a.ndim else a,
    "t": np.transpose,
    "adjoint": lambda a: np.conj(np.swapaxes(a, -1, -2)),
    "permute": lambda a, *dims: np.transpose(a, sizes(*dims)),
    "movedim": np.moveaxis,
    "expand": expand,
    "broadcast_to": lambda a, size: np.broadcast_to(a, size),
    "sum_to": sum_to,
    "select": lambda a, dim, index: np.take(a, index, dim),
    "_slice": slice_,
    "narrow": narrow,
    "diagonal": diagonal,
    "unfold": unfold,
    "alias": lambda a: a,
    "clone": lambda a, **_: a,
    "cat": lambda arrays, dim=0: np.concatenate(arrays, dim),
    "stack": lambda arrays, dim=0: np.stack(arrays, dim),
    "split": split,
    "_split": split,
    "split_with_sizes": split,
    "chunk": chunk,
    "tensor_split": tensor_split,
    "unbind": unbind,
    "as_strided": as_strided,
    "strided_view": as_strided,
    "as_strided_scatter": as_strided_scatter,
    "_strided_scatter": as_strided_scatter,
    "flip": lambda a, *dims: np.flip(a, sizes(*dims)) if a.ndim else a,
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "roll": rolled,
    "rot90": lambda a, k=1, dims=(0, 1): np.rot90(a, k, dims or (0, 1)),
    "repeat": repeated,
    "tile": repeated,
    "repeat_interleave": repeat_interleave,
    "tril": np.tril,
    "triu": np.triu,
    "diag_embed": diag_embed,
    "diag": np.diag,
    "diagflat": np.diagflat,
    "combinations": combinations,
    "hash_tensor": hashed,
    "view_as_real_copy": lambda a: np.stack([a.real, a.imag], -1),
    "view_as_real": lambda a: np.stack([a.real, a.imag], -1),
    "view_as_complex": lambda a: a[..., 0] + 1j * a[..., 1],
    "constant_pad_nd": constant_pad,
    # reductions
    "sum": reducing(np.sum),
    "_sum_dims": reducing(np.sum),
    "mean": reducing(np.mean),
    "_mean_dims": reducing(np.mean),
    "prod": reducing(np.prod),
    "nansum": reducing(np.nansum),
    "nanmean": reducing(np.nanmean),
    "amax": reducing(np.max),
    "amin": reducing(np.min),
    "aminmax": extremes,
    "var": moment(np.var),
    "std": moment(np.std),
    "var_mean": moments(np.var),
    "std_mean": moments(np.std),
    "_var": lambda a, dim, correction, keepdim: moment(np.var)(
        a, dim, None, keepdim, correction=correction
    ),
    "_std": lambda a, dim, correction, keepdim: moment(np.std)(
        a, dim, None, keepdim, correction=correction
    ),
    "max": ranked_or_all(lambda n: n - 1, np.maximum),
    "min": ranked_or_all(lambda n: 0, np.minimum),
    "median": ranked_or_all(lambda n: (n - 1) // 2, np.maximum),
    "nanmedian": ranked_or_all(lambda n: (n - 1) // 2, np.maximum),
    "argmax": arg(np.argmax),
    "argmin": arg(np.argmin),
    "any": reducing(np.any),
    "all": reducing(np.all),
    "count_nonzero": lambda a, dim=None: np.asarray(np.count_nonzero(a, dim)),
    "cumsum": one_dim(np.cumsum),
    "cumprod": one_dim(np.cumprod),
    "cummax": running(np.maximum),
    "cummin": running(np.minimum),
    "logcumsumexp": logcumsumexp,
    "diff": diff,
    "trapezoid": trapezoid,
    "cumulative_trapezoid": cumulative_trapezoid,
    "histc": histc,
    "bincount": lambda a, weights=None, minlength=0: np.bincount(a, weights, minlength),
    "sort": sort,
    "_sort": sort,
    "msort": lambda a: np.sort(a, 0),
    "argsort": lambda a, *args, **more: sort(a, *args, **more)[1],
    "topk": topk,
    "kthvalue": kthvalue,
    "mode": mode,
    "quantile": quantile_by(np.quantile),
    "nanquantile": quantile_by(np.nanquantile),
    "fill": lambda a, value: np.full_like(a, value),
    # indexing
    "_index": index,
    "gather": gather,
    "index_select": lambda a, dim, index: np.take(a, index, dim) if a.ndim else a,
    "scatter": scatter,
    "scatter_add": lambda a, dim, index, src: scatter(a, dim, index, src, "add"),
    "scatter_reduce": scatter,
    "index_add": index_add,
    "index_copy": index_copy,
    "index_fill": index_copy,
    "index_reduce": index_reduce,
    "take": np.take,
    "put": put,
    "take_along_dim": take_along_dim,
    "masked_select": masked_select,
    "masked_scatter": masked_scatter,
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
    "diagonal_scatter": diagonal_scatter,
    "nonzero": np.argwhere,
    "one_hot": lambda a, num_classes=-1: np.eye(num_classes, dtype=int)[a],
}

# A copy has the values of its view, and the pieces of `unsafe_split` those of `split`.
_VIEWS = """alias diagonal expand narrow select split split_with_sizes squeeze t transpose unbind
unfold unsqueeze""".split()
ARRAYS |= {f"{name}_copy": ARRAYS[name] for name in _VIEWS}
ARRAYS |= {f"unsafe_{name}": ARRAYS[name] for name in ("chunk", "split", "split_with_sizes")}
ARRAYS |= {
    "as_strided_copy": as_strided,
    "detach_copy": ARRAYS["alias"],
    "permute_copy": ARRAYS["permute"],
    "slice_copy": slice_,
    "view_copy": ARRAYS["view"],
}
