"""Parts of sparse tensors, and tensors joined of several."""

from __future__ import annotations

from typing import Any

from .. import _root as rl
from .._base.device import contiguous_format, preserve_format, sparse_coo, strided
from .._base.outside import np, np_types
from .._core import Tensor
from ..ops.table.arrays import dim_in
from ._form import (
    HANDLERS,
    NAMES,
    Parts,
    answers,
    become,
    columns_of,
    format_name,
    in_order,
    integers,
    layout_name,
    named,
    parts,
    placed,
    refuse,
    values_of,
)

__all__: list[str] = []


def _coordinates(t: object, name: str) -> Parts:
    p = parts(t)
    if p.layout is not sparse_coo:
        refuse(name, (t,))
    return p


def _but(shape: Any, dim: int) -> list[int]:
    return [size for d, size in enumerate(shape) if d != dim]


@answers("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0) -> Tensor:
    tensors = list(tensors)
    found = [parts(t) for t in tensors]
    if found[0] is None or any(p is None for p in found):
        i = next(i for i, p in enumerate(found) if p is None)
        raise RuntimeError(
            f"Concatenating sparse tensors, but a dense tensor was found at position {i}."
        )
    for t in tensors:
        _coordinates(t, "cat")
    first: Parts = found[0]
    dim = dim_in(dim, len(first.shape))
    n, total = first.n_sparse, 0
    for i, p in enumerate(found):
        if p.n_sparse != n or p.n_dense != first.n_dense:
            raise RuntimeError(
                "All tensors must have the same number of sparse and dense dims: "
                f"{n} and {first.n_dense}, but tensor at position {i} has {p.n_sparse} and "
                f"{p.n_dense}."
            )
        if _but(p.shape, dim) != _but(first.shape, dim):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the "
                f"concatenating dimension), but found shape: {list(p.shape)} at position {i}."
            )
    places, values = [], []
    whole = sum(p.shape[dim] for p in found)
    for t, p in zip(tensors, found, strict=True):
        at, v = p.places(), values_of(t)
        if dim < n:
            at = at.copy()
            at[dim] += total
        else:
            d = dim - n + 1
            before = [*v.shape[:d], total, *v.shape[d + 1 :]]
            after = [*v.shape[:d], whole - total - p.shape[dim], *v.shape[d + 1 :]]
            v = rl.cat([v.new_zeros(before), v, v.new_zeros(after)], d)
        places.append(at)
        values.append(v)
        total += p.shape[dim]
    v = rl.cat(values)
    shape = list(first.shape)
    shape[dim] = whole
    return placed(v, shape, np.concatenate(places, 1), "CatBackward0")


@answers("stack")
def stack(tensors: Any, dim: int = 0) -> Any:
    tensors = list(tensors)
    ndim = tensors[0].dim() + 1
    dim = dim_in(dim, ndim)
    return named("StackBackward0", cat([unsqueeze(t, dim) for t in tensors], dim))


@answers("unsqueeze")
def unsqueeze(input: object, dim: int) -> Any:
    p = _coordinates(input, "unsqueeze")
    dim = dim_in(dim, len(p.shape) + 1)
    shape = list(p.shape)
    shape.insert(dim, 1)
    v, places = values_of(input), p.places()
    if dim <= p.n_sparse:
        places = np.insert(places, dim, 0, axis=0)
    else:
        v = v.unsqueeze(dim - p.n_sparse + 1)
    return placed(v, shape, places, "UnsqueezeBackward0", p.coalesced)


@answers("select")
def select(input: object, dim: int, index: int) -> Any:
    p = parts(input)
    if p.layout is not sparse_coo:
        return select(HANDLERS["to_sparse"](input), dim, index)
    ndim = len(p.shape)
    dim = dim_in(dim, ndim)
    index = int(index)
    if not -p.shape[dim] <= index < p.shape[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(p.shape)} at dimension "
            f"{dim}"
        )
    index %= p.shape[dim]
    v, places = values_of(input), p.places()
    shape = [s for d, s in enumerate(p.shape) if d != dim]
    if dim >= p.n_sparse:
        v = v.select(dim - p.n_sparse + 1, index)
        return placed(v, shape, places, "SelectBackward0", p.coalesced)
    kept = np.flatnonzero(places[dim] == index)
    v = v.index_select(0, integers(kept))
    if p.n_sparse == 1:
        return named("SelectBackward0", v.sum(0, dtype=v.dtype))
    places = np.delete(columns_of(places, kept), dim, axis=0)
    coalesced = p.coalesced or len(kept) < 2
    return placed(v, shape, places, "SelectBackward0", coalesced)


@answers("index_select")
def index_select(input: object, dim: int, index: Tensor) -> Any:
    p = parts(input)
    if p is None or parts(index) is not None:
        refuse("index_select", (input, index))
    layout = p.layout
    if layout is not sparse_coo:
        refuse("index_select", (input,))
    ndim = len(p.shape)
    dim = dim_in(dim, ndim)
    if index.dim() > 1 or index.dtype not in (rl.int64, rl.int32):
        raise IndexError(
            "index_select() argument index must be 1-D long-tensor, "
            f"got {index.dim()}-D {index.dtype}"
        )
    picked = index._array.reshape(-1).astype(np.int64)
    size = p.shape[dim]
    wrong = np.flatnonzero((picked < -size) | (picked >= size))
    if len(wrong):
        raise IndexError(
            f"index_select(): index contains {picked[wrong[0]]} that is out of range for tensor of "
            f"size {list(p.shape)} at dimension {dim}"
        )
    picked = np.where(picked < 0, picked + size, picked)
    shape = list(p.shape)
    shape[dim] = len(picked)
    v, places = values_of(input), p.places()
    if dim >= p.n_sparse:
        v = v.index_select(dim - p.n_sparse + 1, integers(picked))
        return placed(v, shape, places, "IndexSelectBackward0", p.coalesced)
    # For each place of the result, in order, the values that have that index.
    ordered, order = in_order(places[dim])
    starts = np.searchsorted(ordered, picked)
    counts = np.searchsorted(ordered, picked, "right") - starts
    ends = np.cumsum(counts)
    n = int(ends[-1]) if len(ends) else 0
    at = order[np.arange(n) - np.repeat(ends - counts, counts) + np.repeat(starts, counts)]
    found = columns_of(places, at)
    found[dim] = np.repeat(np.arange(len(picked)), counts)
    v = v.index_select(0, integers(at))
    return placed(v, shape, found, "IndexSelectBackward0")


@answers("narrow_copy")
def narrow_copy(input: Any, dim: int, start: int, length: int) -> Tensor:
    if parts(input) is None:
        return input.narrow(dim, start, length).clone()
    p = _coordinates(input, "narrow_copy")
    dim = dim_in(dim, len(p.shape))
    if not 0 <= start <= start + length <= p.shape[dim]:
        raise RuntimeError(
            f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, "
            f"{p.shape[dim]})."
        )
    shape = list(p.shape)
    shape[dim] = length
    v, places = values_of(input), p.places()
    if dim >= p.n_sparse:
        v = v.narrow(dim - p.n_sparse + 1, start, length).clone()
    else:
        kept = np.flatnonzero((places[dim] >= start) & (places[dim] < start + length))
        places = columns_of(places, kept)
        places[dim] -= start
        v = v.index_select(0, integers(kept))
    return placed(v, shape, places, "NarrowCopyBackward0", p.coalesced)


@answers("unbind", "__iter__")
def unbind(input: Any, dim: int = 0) -> Any:
    dim = dim_in(dim, input.dim())
    return tuple(select(input, dim, i) for i in range(input.shape[dim]))


HANDLERS["__iter__"] = lambda self: iter(unbind(self))


@answers("__getitem__")
def getitem(self: Any, key: object) -> Tensor:
    """Integers and None at the front, slices of everything, and tensors of indices."""
    if parts(self) is None:
        refuse("index.Tensor", (self, *([key] if isinstance(key, Tensor) else [])))
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in [k for k in keys if k is Ellipsis]:
        i = next(i for i, k in enumerate(keys) if k is Ellipsis)
        missing = self.dim() - sum(k is not None for k in keys) + 1
        keys[i : i + 1] = [slice(None)] * missing
    found, d = self, 0
    for k in keys:
        if k is None:
            found = unsqueeze(found, d)
            d += 1
        elif isinstance(k, slice):
            if range(found.shape[d])[k] != range(found.shape[d]):
                refuse("as_strided", (self,))
            d += 1
        elif isinstance(k, (int, np_types.integer)) and not isinstance(k, bool):
            found = found.select(d, k) if parts(found) is None else select(found, d, int(k))
        elif isinstance(k, Tensor) and parts(k) is None and k.dim() == 1 and parts(found):
            if k.dtype is rl.bool:
                k = integers(np.flatnonzero(k._array))
            found = index_select(found, d, k)
            d += 1
        else:
            refuse("index.Tensor", (self,))
    return found


# ---- what programs ask of any tensor


@answers("get layout")
def _layout(self: object) -> Any:
    return parts(self).layout


@answers("get is_sparse")
def _is_sparse(self: object) -> bool:
    return parts(self).layout is sparse_coo


@answers("get is_sparse_csr")
def _is_sparse_csr(self: object) -> bool:
    return NAMES[parts(self).layout] == "SparseCsr"


@answers("stride")
def _stride(self: Any, dim: int | None = None) -> Any:
    if parts(self).layout is not sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have strides")
    return (0,) * self.dim() if dim is None else 0


@answers("is_contiguous")
def _is_contiguous(self: object, memory_format: object = None) -> bool:
    return False


@answers("contiguous")
def _contiguous(self: object, memory_format: object = None) -> Any:
    if parts(self).layout is not sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    name = format_name(memory_format or contiguous_format)
    raise RuntimeError(f"unsupported memory format option {name}")


def _refuses(error: type[Exception], text: str, *names: str) -> None:
    """Let functions raise an error; {layout} and {kind} in its text are of the tensor."""

    def refused(self: object, *args: object, **kwargs: object) -> Any:
        layout = layout_name(self)
        raise error(text.format(layout=layout, kind=layout if layout == "Sparse" else "SparseCsr"))

    answers(*names)(refused)


_text = "reshape is not implemented for sparse tensors"
_refuses(RuntimeError, _text, "reshape", "flatten", "ravel", "reshape_as", "repeat")
_text = "expand is unsupported for Sparse tensors"
_refuses(RuntimeError, _text, "expand", "expand_as", "broadcast_to")
_text = "can't convert {layout} layout tensor to numpy. Use Tensor.to_dense() first."
_refuses(TypeError, _text, "numpy", "__array__")
_text = "Cannot access data pointer of Tensor that doesn't have storage"
_refuses(RuntimeError, _text, "data_ptr", "tolist")
_text = "Can't export tensors with layout other than torch.strided"
_refuses(BufferError, _text, "__dlpack__", "__dlpack_device__")
_text = "Cannot access storage of {kind}TensorImpl"
_storage = "storage untyped_storage _typed_storage share_memory_ storage_offset".split()
_refuses(NotImplementedError, _text, *_storage)


@answers("get nbytes")
def _nbytes(self: object) -> Any:
    raise RuntimeError(
        "nbytes is not defined for sparse tensors.  If you want the size of the constituent "
        "tensors, add the nbytes of the indices and values.  If you want the size of the  "
        "equivalent dense tensor, multiply numel() by element_size()"
    )


@answers("is_shared")
def _is_shared(self: object) -> bool:
    p = parts(self)
    return all(t.is_shared() for t in (*p.indices, p.value))


@answers("item")
def _item(self: Any) -> Any:
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return HANDLERS["to_dense"](self.detach()).item()


@answers("__bool__")
def _bool(self: Any) -> bool:
    if self.numel() != 1:
        what = "no values" if self.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(_item(self))


@answers("set data")
def _set_data(self: object, value: object) -> None:
    p = parts(value)
    if p is None or parts(self) is None:
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
            "incompatible tensor type."
        )
    with rl.no_grad():
        become(self, p)


@answers("set grad")
def _set_grad(self: Any, value: object) -> None:
    if isinstance(value, Tensor) and parts(self) is not None and parts(value) is None:
        raise RuntimeError(
            "attempting to assign a gradient to a tensor that has data of a different type"
        )
    self._grad = value


@answers("delete grad")
def _delete_grad(self: Any) -> None:
    self._grad = None


@answers("ones_like", "full_like", "rand_like", "randn_like", "randint_like")
def _like(input: object, *args: object, **kwargs: object) -> Any:
    if kwargs.get("layout") is strided:
        refuse("like", (input,))
    refuse("ones_like", (input,))
