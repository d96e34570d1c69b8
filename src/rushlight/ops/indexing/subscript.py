"""Reading and writing by index: `x[key]`, `x[key] = value`, and the ops behind them.

Ints, slices, None and `...` make views, one op a step (`select`, `slice_op`, `unsqueeze`), as torch
does. Boolean and integer tensors are then one op: the dimensions `dims` that they index are
replaced by the shape of one integer tensor, `index`, put before the remaining dimension number
`at`. Several of them become one that counts through the indexed dimensions row by row; a mask
becomes the positions of its true elements. So there is one pair of linear ops, `index_op` and
`index_backward`, each the transpose of the other, and `_index_put` to write.

The keys of every day are read in native/core/subscript.cpp; what it leaves comes to `get_item` and
`set_item` here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.dtypes import dtype, float64, int8, int64, uint8
from ..._base.errors import warn
from ..._base.outside import np, np_types
from ..._core import Op
from ..._devices import of
from ..elementwise.selection import copy_, expanded_warning, fill_
from ..layout.shape import unsqueeze
from ..layout.slices import select, slice_op
from ..making.copies import alias
from ..table.arrays import Array, anywhere, elements, held_number, unshared
from ..table.kinds import linear
from ..table.reference import add_method
from ..table.signature import Tensor

__all__ = ["get_item", "index_put", "set_item"]

_kernels = _core.kernels
_Tensor: Any = _core.Tensor

# ---- one integer tensor in the place of some dimensions


def _rows(x: Any, dims: Any) -> Any:
    """x with the indexed dimensions joined and in front."""
    k = len(dims)
    front = np.moveaxis(x, dims, range(k))
    return front.reshape(math.prod(front.shape[:k]), *front.shape[k:])


def _get(x: Any, index: Any, dims: Any, at: Any) -> Array:
    found = _rows(x, dims)[unshared(index)]
    n = index.ndim
    return np.ascontiguousarray(np.moveaxis(found, range(n), range(at, at + n)))


def _places(x: Any, index: Any, dims: Any, at: Any) -> Any:
    """Where in x each element of `_get` comes from, as NumPy's index."""
    numbers = _get(np.arange(x.size).reshape(x.shape), index, dims, at)
    return np.unravel_index(numbers, x.shape)


def _add_back(g: Any, index: Any, dims: Any, at: Any, shape: Any) -> Any:
    out = np.zeros(shape, g.dtype)
    np.add.at(out, _places(out, index, dims, at), g)
    return out


def _write(x: Any, index: Any, dims: Any, at: Any, values: Any, accumulate: Any) -> None:
    places = _places(x, index, dims, at)
    if accumulate:
        np.add.at(x, places, values)
    else:
        x[places] = values


def _positions(make: Any, *shape: int, below: int) -> Tensor:
    return make(*shape, low=-below, high=below, kind="int")


index_op: Op = linear(
    "_index(input: Tensor, index: Tensor, dims: Ints, at: int)",
    _get,
    native=_kernels.index_get,
    transpose={
        "input": lambda g, index, dims, at, input_shape: index_backward(
            g, index, dims, at, input_shape
        )
    },
    backward=(_kernels.index_backward, "g index dims at input_shape"),
    method=False,
    out=False,
    node="IndexBackward0",
    samples=lambda make: [
        (make(3, 4), _positions(make, 5, below=3), (0,), 0),
        (make(2, 3, 4), _positions(make, 2, 2, below=12), (1, 2), 1),
        (make(2, 3, 4), _positions(make, 3, below=8), (0, 2), 0),
    ],
    stored="all",
    subscript="index",
    doc="The elements at the places of an index; see the head of ops/indexing/subscript.py.",
    written="{input}[{index}]",
)
index_backward: Op = linear(
    "_index_backward(input: Tensor, index: Tensor, dims: Ints, at: int, shape: Any)",
    _add_back,
    native=_kernels.index_backward,
    transpose={"input": lambda g, index, dims, at: index_op(g, index, dims, at)},
    backward=(_kernels.index_get, "g index dims at"),
    method=False,
    out=False,
    samples=lambda make: [(make(5, 4), _positions(make, 5, below=3), (0,), 0, (3, 4))],
    stored="all",
    subscript="index",
    doc="Zeros of a shape with the input added at the places of an index.",
    written="{input} added up at {index}, 0 elsewhere",
)
index_zero: Op = linear(
    "_index_zero(input: Tensor, index: Tensor, dims: Ints, at: int)",
    write=lambda x, index, dims, at: _write(x, index, dims, at, np.zeros((), x.dtype), False),
    native=_kernels.index_zero,
    transpose={"input": lambda g, index, dims, at: index_zero(g, index, dims, at)},
    method=False,
    out=False,
    samples=lambda make: [(make(3, 4), _positions(make, 2, below=3), (0,), 0)],
    stored="all",
    subscript="index",
    doc="The input with zeros at the places of an index.",
    written="{input}, 0 at {index}",
)
_index_put: Op = linear(
    "_index_put(input: Tensor, index: Tensor, dims: Ints, at: int, values: Tensor, "
    "accumulate: bool = False)",
    write=_write,
    native=_kernels.index_put,
    overlap="self never",
    expanded=expanded_warning("index_put_", "indices] = tensor"),
    transpose={
        "input": lambda g, index, dims, at, accumulate: (
            g if accumulate else index_zero(g, index, dims, at)
        ),
        "values": lambda g, index, dims, at: index_op(g, index, dims, at),
    },
    in_place=True,
    keeps="strides: input",
    method=False,
    out=False,
    node="IndexPutBackward0",
    samples=lambda make: [
        (make(3, 4), _positions(make, 1, below=3), (0,), 0, make(1, 4), False),
        (make(3, 4), _positions(make, 5, below=3), (0,), 0, make(4), True),
    ],
    shared_write="name",
    stored="all",
    subscript="index",
    doc="The input with values written, or added, at the places of an index.",
)
_index_put_ = _Tensor._index_put_

# ---- reading a key

_NO_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {})"
)
_UINT8 = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
_NO_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in "
    "pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as "
    "tensor index, x[torch.tensor(seq)], which will result either in an error or a different result"
)
_MASKS = (dtypes.bool, uint8)
_SEQUENCES = (list, tuple, range, str, bytes, np_types.ndarray)


def _type_name(value: float | list[int] | str) -> str:
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _is_sequence(value: object) -> bool:
    return isinstance(value, _SEQUENCES) or (
        hasattr(type(value), "__getitem__")
        and hasattr(type(value), "__len__")
        and not isinstance(value, (dict, _Tensor))
    )


def _as_index_tensor(value: Any) -> Tensor:
    """A list, range or ndarray as a tensor: booleans are a mask, everything else becomes int64."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    if not isinstance(value, np_types.ndarray):
        found = _core.kernels.tensor(value, device="cpu")
        if found is not NotImplemented:
            return found if found.dtype in (int64, *_MASKS) else _core.cast(found, int64.code)
        try:
            value = np.array(_plain(value))
        except ValueError:
            raise ValueError(
                f"expected sequences of equal lengths as an index, got {value!r}"
            ) from None
    if value.dtype.kind in "OUS":
        raise TypeError(f"new(): invalid data type '{_odd_one(value)}'")
    if value.dtype != np.bool_ and value.dtype != np.uint8:
        value = value.astype(np.int64)
    return _core.wrap(value)


def _plain(value: Tensor) -> Any:
    """Nested sequences with tensors as plain lists."""
    if isinstance(value, _Tensor):
        return elements(value)
    if isinstance(value, (list, tuple, range)):
        return [_plain(v) for v in value]
    return value


def _odd_one(array: Any) -> str:
    for item in array.reshape(-1).tolist():
        if not isinstance(item, (int, float, complex)):
            return type(item).__name__
    return "object"


def _as_tuple(key: Any) -> tuple[Any, ...]:
    """The items of a key. A list of more than numbers counts as a tuple, with torch's warning."""
    if isinstance(key, tuple):
        return key
    if isinstance(key, (_Tensor, np_types.ndarray, range)) or not _is_sequence(key):
        return (key,)
    if isinstance(key, (str, bytes)):
        _as_index_tensor(key)
    if len(key) <= 32 and any(
        item is None or item is Ellipsis or isinstance(item, (slice, _Tensor)) or _is_sequence(item)
        for item in key
    ):
        warn(_NO_TUPLE)
        return tuple(key)
    return (key,)


def _is_mask(tensor: Tensor) -> bool:
    return tensor._form.dtype in _MASKS


def _normal(item: Any) -> Any:
    """One item as an int, slice, None, Ellipsis, bool or tensor."""
    kind = type(item)
    if kind is int or kind is slice or kind is bool or item is None or item is Ellipsis:
        return item
    if isinstance(item, np_types.ndarray):
        item = _as_index_tensor(item)
    if isinstance(item, _Tensor):
        form = item._form
        if form.ndim == 0 and not _is_mapped(item):
            if form.dtype in _MASKS:
                return bool(_element(item))
            if form.dtype.kind in "iu":
                return _Number(_element(item))
        _check_index(form.dtype)
        return item
    if _is_sequence(item):
        return _as_index_tensor(item)
    if hasattr(kind, "__index__") and not isinstance(item, np_types.bool_):
        return operator.index(item)
    raise IndexError(_NO_INDEX.format(_type_name(item)))


def _is_mapped(item: Tensor) -> bool:
    """Whether a tensor may be another for each element of a batch, so that it is no one number."""
    return item._wrapped is not None


def _element(item: Tensor) -> int:
    """The number of a tensor without dimensions."""
    if item._on_meta:
        elements(item)  # which raises
    return _core.summary(item, -1)[0]


def _check_index(kind: dtype) -> None:
    if kind.kind not in "biu" or kind.itemsize == 2 or kind is int8:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")


class _Number(int):
    """An int that came as a 0-dim tensor."""


def _mask_positions(mask: Tensor, dim: int, x: Tensor) -> Tensor:
    have, want = mask._form.shape, x._form.shape
    if _is_mapped(mask):
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. "
            "Attempting to batch over indexing with a boolean mask. Use torch.where instead."
        )
    for i, size in enumerate(have):
        if size != want[dim + i]:
            raise IndexError(
                f"The shape of the mask {list(have)} at index {i} does not match the shape of the "
                f"indexed tensor {list(want)} at index {dim + i}"
            )
    of(mask).check_values("nonzero")
    return of(mask).tensor(np.flatnonzero(elements(mask)))


def _resolve(x: Tensor, key: object, writing: bool) -> tuple[Any, Any]:
    """The view that the simple items make of x, and the `_place` of the rest or None."""
    items = [_normal(item) for item in _as_tuple(key)]
    ndim = x._form.ndim
    specified = 0
    for item in items:
        if isinstance(item, _Tensor):
            specified += item._form.ndim if _is_mask(item) else 1
        elif item is not None and item is not Ellipsis and type(item) is not bool:
            specified += 1
    if specified > ndim:
        if ndim == 0 and not isinstance(key, (tuple, _Tensor)) and type(items[0]) is int:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    view, dim = x, 0
    found: list[tuple[int, int, Any]] = []  # (first dimension, how many, index tensor)
    for at, item in enumerate(items):
        if isinstance(item, slice):
            size = view._form.shape[dim]
            start, stop, step = item.indices(size)
            if step <= 0:
                raise ValueError("step must be greater than zero")
            whole = (item.start is None or operator.index(item.start) == 0) and (
                item.stop is None or operator.index(item.stop) >= size
            )
            if not (whole and step == 1):
                view = slice_op(view, dim, start, max(start, stop), step)
            dim += 1
        elif item is Ellipsis:
            dim += ndim - specified
        elif item is None:
            view = unsqueeze(view, dim)
            dim += 1
        elif type(item) is bool:
            view = unsqueeze(view, dim)
            found.append((dim, 1, _core.wrap(np.zeros(1 if item else 0, np.int64))))
            dim += 1
        elif isinstance(item, _Tensor):
            if not item.ndim and not writing and not _is_mask(item):
                view = index_op(view, item.long(), (dim,), dim)  # one number for each element
                continue
            if not _is_mask(item):
                found.append((dim, 1, item))
                dim += 1
                continue
            if item._form.dtype is uint8:
                warn(_UINT8)
            found.append((dim, item._form.ndim, item))
            dim += item._form.ndim
        else:
            size = view._form.shape[dim]
            if not -size <= item < size:
                raise IndexError(
                    f"index {int(item)} is out of bounds for dimension {at} with size {size}"
                )
            view = select(view, dim, int(item))
    if not found:
        return (view if writing or view is not x else alias(x)), None
    return view, _place(view, found)


def _place(
    view: Tensor, found: list[tuple[int, int, Any]]
) -> tuple[Any, tuple[int, ...], int, bool]:
    """Several indices as one: (index, dims, at, whether it was a single mask)."""
    mask = len(found) == 1 and _is_mask(found[0][2])
    found = [
        (first, n, _mask_positions(index, first, view) if _is_mask(index) else index)
        for first, n, index in found
    ]
    if len(found) == 1:
        first, n, index = found[0]
        if index._form.dtype is not int64:
            index = index.long()
        return index, tuple(range(first, first + n)), first, mask
    dims = tuple(d for first, n, _ in found for d in range(first, first + n))
    shape = view._form.shape
    sizes = tuple(math.prod(shape[first : first + n]) for first, n, _ in found)
    if any(_is_mapped(index) for _, _, index in found):
        return _joined(sizes, found), dims, _result_at(found), False
    rest_is_empty = 0 in [n for d, n in enumerate(shape) if d not in dims]
    linear_index = _kernels.linear_index(
        sizes, [index for _, _, index in found], tuple(n for _, n, _ in found), not rest_is_empty
    )
    adjacent = dims[-1] - dims[0] == len(dims) - 1
    return linear_index, dims, dims[0] if adjacent else 0, False


def _joined(sizes: tuple[int, ...], found: list[tuple[int, int, Any]]) -> Tensor:
    """`linear_index` in terms of ops: some index is another for each element of a batch."""
    total: Any = None
    for size, (first, _, index) in zip(sizes, found, strict=True):
        index = index.long()
        if anywhere((index < -size) | (index >= size)):
            raise IndexError(f"index is out of bounds for dimension {first} with size {size}")
        index = index.remainder(size)
        total = index if total is None else total * size + index
    return total


def _result_at(found: list[tuple[int, int, Any]]) -> int:
    """Where the dimensions of indices go that numbers are among: those take one away each."""
    numbers = [first for first, _, index in found if not index.ndim]
    left = [
        d - sum(k < first for k in numbers)
        for first, n, index in found
        for d in range(first, first + n)
        if index.ndim
    ]
    return left[0] if left and left[-1] - left[0] == len(left) - 1 else 0


def get_item(x: Tensor, key: Any) -> Tensor:
    """`x[key]`."""
    view, place = _resolve(x, key, False)
    return view if place is None else index_op(view, *place[:3])


# ---- writing

_NUMBERS = (bool, int, float, complex, np_types.integer)


def _number_as(x: Tensor, value: complex) -> Tensor:
    """A Python number as a tensor of one element, as x; torch's error where it does not fit."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")
    kind = x._form.dtype
    half = kind.is_floating_point and kind.itemsize == 2  # which large numbers are infinite in
    return of(x).made((), kind, held_number(value, float64 if half else kind))


def _without_leading_ones(value: Tensor, want: tuple[int, ...]) -> Tensor:
    shape = value._form.shape
    if shape == want:
        return value
    extra = 0
    while extra < len(shape) and shape[extra] == 1:
        extra += 1
    return value.reshape(shape[extra:]) if extra else value


def _full_name(dtype: dtype) -> str:
    if dtype.is_complex or dtype.name in ("bfloat16", "bool"):
        return f"CPU{dtype.scalar_name}Type"
    return f"torch.{dtype.scalar_name}Tensor"


def _check_expands(value: Tensor, target: Tensor) -> None:
    have, want = value._form.shape, target._form.shape
    more = len(want) - len(have)
    if more < 0:
        raise RuntimeError(
            f"expand({_full_name(value.dtype)}{{{list(have)}}}, size={list(want)}): the "
            f"number of sizes provided ({len(want)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({len(have)})"
        )
    for i, size in reversed(list(enumerate(have))):
        if size != 1 and size != want[i + more]:
            raise RuntimeError(
                f"The expanded size of the tensor ({want[i + more]}) must match the existing size "
                f"({size}) at non-singleton dimension {i + more}.  Target sizes: {list(want)}.  "
                f"Tensor sizes: {list(have)}"
            )


def _spread_to(value: Tensor, target: Tensor) -> Tensor:
    """`value` seen with the shape of `target`; as torch, two views are recorded for it."""
    shape = value._form.shape
    extra = 0
    while extra < len(shape) and shape[extra] == 1:
        extra += 1
    value = value.view(shape[extra:])
    _check_expands(value, target)
    want = target._form.shape
    return value if value._form.shape == want else value.expand(want)


def set_item(x: Tensor, key: Any, value: Any) -> None:
    """`x[key] = value`."""
    is_tensor = isinstance(value, _Tensor)
    if not is_tensor and not isinstance(value, _NUMBERS):
        raise TypeError(
            f"can't assign a {_type_name(value)} to a torch.{x.dtype.scalar_name}Tensor"
        )
    if key is False:
        return
    one = not is_tensor or value.numel() == 1  # so that no position needs to be known
    if x._on_meta and one and isinstance(key, _Tensor) and _is_mask(key):
        x.masked_fill_(key.reshape(*key.shape, *[1] * (x.ndim - key.ndim)), value)
        return
    if isinstance(key, _Tensor) and _is_mapped(key) and _is_mask(key):
        _fill_masked(x, key, value)
        return
    target, place = (unsqueeze(x, 0), None) if key is True else _resolve(x, key, True)
    if place is None:
        if not is_tensor:
            value = _number_as(x, value)
        if value._form.ndim == 0 and target._form.ndim:
            fill_(target, value)
            return
        if value._form.shape != target._form.shape:
            value = _spread_to(value, target)
        copy_(target, value)
        return
    value = _for_place(target, place, value) if is_tensor else _number_as(x, value)
    _index_put_(target, *place[:3], value, False)


def _fill_masked(x: Tensor, mask: Tensor, value: float) -> None:
    """`x[mask] = number` where the mask is another for each element of a batch."""
    if isinstance(value, _Tensor) and value.ndim:
        _mask_positions(mask, 0, x)  # raises: how many values are written is not known
    x.masked_fill_(mask.bool().reshape(mask.shape + (1,) * (x.ndim - mask.ndim)), value)


def _for_place(
    target: Tensor, place: tuple[Tensor | int | tuple[int, ...], ...], value: Tensor
) -> Tensor:
    """A value as `_index_put` takes it: torch fills a mask with one number of any type."""
    if place[3] and value._form.size == 1:
        if value._form.dtype != target._form.dtype:
            value = value.to(target.dtype)
        elif np.may_share_memory(value._seen, target._seen):
            value = value.clone()
    return _without_leading_ones(value, ()) if value._form.ndim else value


def _iterate(x: Tensor) -> Any:
    if x.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(x.unbind(0))


# ---- index_put


def _put_place(
    name: str, input: Tensor, indices: Any
) -> tuple[Tensor | int | tuple[int, ...], ...]:
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not "
            f"{_type_name(indices)}"
        )
    for i, index in enumerate(indices):
        if not isinstance(index, _Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {_type_name(index)}"
            )
        _check_index(index._form.dtype)
    if len(indices) == 1 and indices[0].dtype is int64 and input.ndim:
        return indices[0], (0,), 0, False
    if not indices:
        raise RuntimeError("index_put needs at least one index tensor")
    ndim = input._form.ndim
    specified = sum(i._form.ndim if _is_mask(i) else 1 for i in indices)
    if specified > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim} (got {specified})")
    dim = 0
    found = []
    for index in indices:
        n = index._form.ndim if _is_mask(index) else 1
        found.append((dim, n, index))
        dim += n
    return _place(input, found)


def _put_values(name: str, values: Any) -> Tensor:
    if not isinstance(values, _Tensor):
        raise TypeError(
            f"{name}(): argument 'values' (position 2) must be Tensor, not {_type_name(values)}"
        )
    return values


def _put_value(
    input: Tensor, place: tuple[Tensor | int | tuple[int, ...], ...], values: Tensor
) -> Tensor:
    return _for_place(input, place, values) if place[3] else values


def index_put(
    input: Tensor, indices: Sequence[Tensor], values: Any, accumulate: bool = False
) -> Tensor:
    """The input with values written (or added, if accumulate) where the index tensors point."""
    values = _put_values("index_put", values)
    place = _put_place("index_put", input, indices)
    return _index_put(input, *place[:3], _put_value(input, place, values), bool(accumulate))


def index_put_(
    input: Tensor, indices: Sequence[Tensor], values: Any, accumulate: bool = False
) -> Tensor:
    """In-place version of `index_put`."""
    values = _put_values("index_put_", values)
    place = _put_place("index_put_", input, indices)
    return _index_put_(input, *place[:3], _put_value(input, place, values), bool(accumulate))


add_method("index_put", index_put, function=True)
add_method("index_put_", index_put_, function=True)
_core.set_subscript(select, slice_op, unsqueeze, alias, index_op, _index_put_, fill_, copy_)
