"""NestedTensor: tensors of different lengths as one, of jagged layout.

Note: how a call runs
    The tensor itself is its values, all parts one behind the other in the ragged dimension, so the
    graph is the one of the values, whose dimension d is d + 1 of the nested tensor.
    `__torch_function__` looks a function up by its name. An element-wise one runs on the values;
    one that reduces or moves dimensions is put in terms of the values' dimensions; attention runs
    on each part. Any other function is refused.
    Of parts that are narrower than the room between their offsets, `_lengths` has the lengths:
    the values then have holes, which only functions of each element go over.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ... import _root as rl
from ..._base.device import jagged
from ..._core import Tensor
from ...ops.table.arrays import dim_in

__all__ = ["NestedTensor"]

_ON_VALUES = frozenset(  # of the same dimensions: each element alone, or the last dimension
    """abs clamp clone copy_ cos detach double dropout elu embedding erf exp expm1 float
    gelu half hardswish isinf isnan layer_norm leaky_relu linear log log1p logical_not long mish neg
    nan_to_num pow reciprocal relu rms_norm round rsqrt sigmoid sign silu sin
    softplus sqrt square tanh to type __neg__ __pow__ __abs__ __invert__ alpha_dropout bfloat16
    ones_like zeros_like rand_like randn_like empty_like full_like""".split()
)
_BINARY = frozenset(
    """add sub mul div true_divide subtract multiply divide maximum minimum where eq ne lt le gt ge
    masked_fill __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __eq__
    __ne__ __lt__ __le__ __gt__ __ge__ __rpow__ logical_and logical_or logical_xor __and__ __or__
    __xor__ bitwise_and bitwise_or bitwise_xor isclose""".split()
)
_REDUCTIONS = frozenset("sum mean prod amax amin max min any all".split())
_OF_TENSOR = frozenset("requires_grad_ retain_grad backward register_hook __hash__".split())


class _Ragged(int):
    """The size of the ragged dimension: -1, as `view` takes it."""

    def __repr__(self) -> str:
        return "j1"


def _refused(name: str, why: str = "keep it to element-wise functions, or pad it first") -> object:
    raise NotImplementedError(f"{name}(): not supported for NestedTensor with jagged layout; {why}")


class NestedTensor(Tensor):
    """Tensors of different lengths as one: shape (parts, lengths, ...). Made by
    `torch.nested.nested_tensor` with `layout=torch.jagged`."""

    _offsets: Tensor
    _ragged_idx: int
    _lengths: Tensor | None

    @classmethod
    def _of(
        cls, values: Tensor, offsets: Tensor, ragged: int = 1, lengths: Tensor | None = None
    ) -> NestedTensor:
        made: NestedTensor = values.as_subclass(cls)
        made._offsets, made._ragged_idx, made._lengths = offsets, ragged, lengths
        return made

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        before = _core.get_overrides()
        _core.set_overrides(max(before, _core.Overrides.MODES))
        try:
            return _call(func, getattr(func, "__name__", ""), args, kwargs or {})
        finally:
            _core.set_overrides(before)

    def __repr__(self, *, tensor_contents: object = None) -> str:
        shape = ", ".join(map(repr, self.shape))
        whole = self.is_contiguous()
        return f"NestedTensor(size=({shape}), offsets={self._offsets}, contiguous={whole})"

    __str__ = __repr__

    def values(self) -> Tensor:
        """The parts one behind the other; gradients flow through it."""
        return _values(self)

    def offsets(self) -> Tensor:
        """Where each part begins, and where the last ends."""
        return self._offsets

    def lengths(self) -> Tensor | None:
        """The parts' lengths, where they leave holes between them; else None."""
        return self._lengths

    def __deepcopy__(self, memo: dict[int, Any]) -> NestedTensor:
        copied = copy.deepcopy(_values(self).detach(), memo).requires_grad_(self.requires_grad)
        memo[id(self)] = made = _moved(self, copied)
        return made

    def __reduce_ex__(self, protocol: object) -> Any:
        values = _values(self).detach()
        return NestedTensor._of, (values, self._offsets, self._ragged_idx, self._lengths)


def _values(nested: Any) -> Tensor:
    before = _core.get_overrides()
    _core.set_overrides(max(before, _core.Overrides.MODES))
    try:
        return nested.as_subclass(Tensor) if isinstance(nested, NestedTensor) else nested
    finally:
        _core.set_overrides(before)


def _count(nested: NestedTensor) -> int:
    return len(nested._offsets) - 1


def _shape(nested: NestedTensor) -> tuple[int, ...]:
    sizes: list[int] = [_count(nested), *_values(nested).shape]
    sizes[nested._ragged_idx] = _Ragged(-1)
    return tuple(sizes)


def _parts(nested: NestedTensor) -> tuple[Tensor, ...]:
    values, dim = _values(nested), nested._ragged_idx - 1
    if nested._lengths is None:
        return values.split(nested._offsets.diff().tolist(), dim)
    pairs = zip(nested._offsets.tolist(), nested._lengths.tolist(), strict=False)
    return tuple(values.narrow(dim, start, length) for start, length in pairs)


def offsets_of(lengths: Tensor) -> Tensor:
    """Where parts of these lengths begin, one after another, and where the last ends."""
    return rl.cat([lengths.new_zeros(1), lengths.cumsum(0)])


def _without_holes(nested: NestedTensor) -> NestedTensor:
    if nested._lengths is None:
        return nested
    dim = nested._ragged_idx
    return NestedTensor._of(rl.cat(_parts(nested), dim - 1), offsets_of(nested._lengths), dim)


def _refuse_holes(nested: NestedTensor, said: str) -> None:
    if nested._lengths is not None:
        raise RuntimeError(f"{said} with holes: call contiguous() first")


def _owner(nested: NestedTensor) -> tuple[Tensor, Tensor]:
    """Of each row of the values: its part, and its place there."""
    lengths = nested._offsets.diff()
    part = rl.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)
    return part, rl.arange(len(part), device=lengths.device) - nested._offsets[part]


def padded(nested: NestedTensor, padding: float, output_size: Any = None) -> Tensor:
    """A dense tensor with `padding` behind the shorter parts."""
    _refuse_holes(nested, "to_padded_tensor(): not supported for nested tensors")
    if nested._ragged_idx != 1:
        _refused("to_padded_tensor", "transpose it back first")
    values, (part, place) = _values(nested), _owner(nested)
    longest = int(nested._offsets.diff().max()) if _count(nested) else 0
    size = output_size or (_count(nested), longest, *values.shape[1:])
    made = values.new_full(tuple(size), padding)
    return made.index_put((part, place), values)


def _dim(nested: NestedTensor, dim: int) -> int:
    return dim_in(dim, _values(nested).dim() + 1)


def _alike(a: NestedTensor, b: NestedTensor) -> bool:
    """Whether their parts lie alike."""
    if not rl.equal(a._offsets, b._offsets):
        return False
    if a._lengths is None or b._lengths is None:
        return a._lengths is b._lengths
    return rl.equal(a._lengths, b._lengths)


def _beside(other: object, nested: NestedTensor) -> Any:
    """Another operand in terms of the values."""
    if isinstance(other, NestedTensor):
        same = other._ragged_idx == nested._ragged_idx
        if not same or not _alike(other, nested):
            raise RuntimeError(
                "cannot call binary pointwise function on NestedTensors whose offsets differ: "
                f"{other._offsets.tolist()} and {nested._offsets.tolist()}"
            )
        return _values(other)
    if not isinstance(other, Tensor) or other.dim() < _values(nested).dim() + 1:
        return other
    if nested._ragged_idx != 1 or other.dim() > _values(nested).dim() + 1 or other.shape[1] != 1:
        _refused("broadcasting", "a dense operand has the size 1 in the ragged dimension")
    rows = other.squeeze(1)
    if len(rows) == 1:
        return rows
    _refuse_holes(nested, "broadcasting(): not supported for nested tensors")
    return rows[_owner(nested)[0]]


def _reduce(
    func: Any, nested: NestedTensor, dim: Any, keepdim: bool, more: dict[str, object]
) -> object:
    values, name, ragged = _values(nested), func.__name__, nested._ragged_idx
    if dim is None:
        _refuse_holes(nested, f"{name}(): not supported for nested tensors")
        return func(values, **more)
    dims = [_dim(nested, d) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    if ragged not in dims:
        if 0 in dims:
            raise RuntimeError(
                f"{name}(): reducing along the batch dimension but not the ragged dimension is "
                "not supported for NestedTensor"
            )
        inner = [d - 1 for d in dims]
        result = func(values, inner if len(inner) > 1 else inner[0], keepdim, **more)
        left = ragged if keepdim else ragged - sum(d < ragged for d in dims)
        return _each(result, lambda found: _moved(nested, found, left))
    _refuse_holes(
        nested,
        f"{name}(): reducing across the ragged dimension is not supported for non-contiguous "
        "nested tensors",
    )
    if len(dims) > 1:
        _refused(name, "reduce one dimension at a time")
    parts = [func(part, ragged - 1, keepdim, **more) for part in _parts(nested)]
    if isinstance(parts[0], Tensor):
        return rl.stack(parts)
    return type(parts[0])(map(rl.stack, zip(*parts, strict=True)))


def _each(result: Any, change: Callable[[Tensor], object]) -> object:
    """A result with each of its tensors changed."""
    if isinstance(result, Tensor):
        return change(result)
    return type(result)([change(part) for part in result])


def _moved(nested: NestedTensor, values: Tensor, ragged: int | None = None) -> NestedTensor:
    return NestedTensor._of(values, nested._offsets, ragged or nested._ragged_idx, nested._lengths)


def _inside(func: Any, nested: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    """A function of one dimension of each part, behind the ragged one."""
    name, ragged, at = func.__name__, nested._ragged_idx, _INSIDE[func.__name__]
    dim = _dim(nested, args[at] if at < len(args) else kwargs.get("dim") or 0)
    if dim <= ragged:
        where = "ragged dim" if dim == ragged else f"dim={dim}"
        raise RuntimeError(f"{name}(): not supported for NestedTensor on {where}")
    if at < len(args):
        args = (*args[:at], dim - 1, *args[at + 1 :])
    else:
        kwargs["dim"] = dim - 1
    return _each(func(_values(nested), *args, **kwargs), lambda found: _moved(nested, found))


# Where `dim` stands among the arguments behind the tensor.
_INSIDE = {"chunk": 1, "split": 1} | dict.fromkeys(
    ("select", "narrow", "squeeze", "log_softmax", "argmax", "argmin"), 0
)


def _joined(func: Any, tensors: Sequence[Any], dim: int = 0) -> NestedTensor:
    nested = next(t for t in tensors if isinstance(t, NestedTensor))
    at = _dim(nested, dim)
    if at <= nested._ragged_idx:
        where = "ragged dim" if at == nested._ragged_idx else f"dim={at}"
        raise RuntimeError(f"cat(): not supported for NestedTensor on {where}")
    return _moved(nested, func([_beside(t, nested) for t in tensors], at - 1))


def _viewed(nested: NestedTensor, *size: Any) -> NestedTensor:
    wanted = list(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else list(size)
    at = nested._ragged_idx
    if len(wanted) <= at or wanted[0] not in (_count(nested), -1) or wanted[at] != -1:
        _refused("view", "the first sizes are the number of parts and -1")
    total = _values(nested).shape[at - 1]
    return _moved(nested, _values(nested).reshape(*wanted[1:at], total, *wanted[at + 1 :]))


def _transposed(nested: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    a, b = _dim(nested, dim0), _dim(nested, dim1)
    if 0 in (a, b):
        _refused("transpose", "the first dimension stays")
    ragged = {a: b, b: a}.get(nested._ragged_idx, nested._ragged_idx)
    return _moved(nested, _values(nested).transpose(a - 1, b - 1), ragged)


def _unsqueezed(nested: NestedTensor, dim: int) -> NestedTensor:
    at = dim % (_values(nested).dim() + 2)
    if at <= nested._ragged_idx:
        _refused("unsqueeze", "the new dimension stands behind the ragged one")
    return _moved(nested, _values(nested).unsqueeze(at - 1))


def _unflattened(nested: NestedTensor, dim: int, sizes: Sequence[int]) -> NestedTensor:
    at = _dim(nested, dim)
    if at <= nested._ragged_idx:
        _refused("unflatten", "the dimension stands behind the ragged one")
    return _moved(nested, _values(nested).unflatten(at - 1, sizes))


def _flattened(nested: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> NestedTensor:
    start, end = _dim(nested, start_dim), _dim(nested, end_dim)
    if start <= nested._ragged_idx:
        _refused("flatten", "the dimensions stand behind the ragged one")
    return _moved(nested, _values(nested).flatten(start - 1, end - 1))


def _softmax(nested: NestedTensor, dim: int, dtype: Any = None, **_: object) -> NestedTensor:
    at = _dim(nested, dim)
    if at == nested._ragged_idx:
        _refuse_holes(nested, "softmax(): not supported for nested tensors")
        parts = [part.softmax(at - 1, dtype=dtype) for part in _parts(nested)]
        return _moved(nested, rl.cat(parts, at - 1))
    return _moved(nested, _values(nested).softmax(at - 1, dtype=dtype))


def _attention(
    func: Any, query: object, key: object, value: Any, *args: object, **kwargs: object
) -> Any:
    tensors = (query, key, value)
    if not all(isinstance(t, NestedTensor) and t._ragged_idx == 2 for t in tensors):
        _refused("scaled_dot_product_attention", "all three have the shape (N, heads, j1, size)")
    if (args and args[0] is not None) or kwargs.get("attn_mask") is not None:
        _refused("scaled_dot_product_attention", "without a mask")
    query, key, value = map(_without_holes, tensors)
    results = [
        func(*parts, *args, **kwargs)
        for parts in zip(*map(_parts, (query, key, value)), strict=True)
    ]
    return NestedTensor._of(rl.cat(results, 1), query._offsets, 2)


def _item(nested: NestedTensor, index: object) -> Any:
    """A part; or [..., i], of each part."""
    if isinstance(index, int):
        return _parts(nested)[index]
    if isinstance(index, tuple) and len(index) == 2 and index[0] is ...:
        return _moved(nested, _values(nested)[index])
    return _refused("indexing", "by one whole number, or [..., i]")


_MOVES: dict[str, Callable[..., object]] = {
    "view": _viewed,
    "reshape": _viewed,
    "transpose": _transposed,
    "unsqueeze": _unsqueezed,
    "unflatten": _unflattened,
    "flatten": _flattened,
    "softmax": _softmax,
    "to_padded_tensor": padded,
    "contiguous": _without_holes,
    "is_contiguous": lambda nested, **_: (
        nested._lengths is None and _values(nested).is_contiguous()
    ),
    "unbind": lambda nested, dim=0: _parts(nested) if dim == 0 else _refused("unbind"),
    "__len__": _count,
    "dim": lambda nested: _values(nested).dim() + 1,
    "numel": lambda nested: _values(nested).numel(),
    "size": lambda nested, dim=None: _shape(nested) if dim is None else _shape(nested)[dim],
    "__getitem__": _item,
}


def _call(func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> object:
    listed = (
        b for a in (*args, *kwargs.values()) for b in (a if type(a) in (list, tuple) else [a])
    )
    nested = next((a for a in listed if isinstance(a, NestedTensor)), None)
    if nested is None:
        return _refused(name)
    if name == "__get__":
        return _attribute(func, func.__self__.__name__, nested)
    plain = name.removesuffix("_") if not name.endswith("__") else name
    if args and args[0] is nested and name in _MOVES:
        return _MOVES[name](*args, **kwargs)
    if name in ("cat", "concat", "concatenate"):
        return _joined(func, *args, **kwargs)
    if name in _INSIDE and args[0] is nested:
        return _inside(func, *args, **kwargs)
    if name == "scaled_dot_product_attention":
        return _attention(func, *args, **kwargs)
    if name in _REDUCTIONS:
        given = dict(zip(("dim", "keepdim"), args[1:], strict=False)) | kwargs
        return _reduce(func, nested, given.pop("dim", None), given.pop("keepdim", False), given)
    if name in ("matmul", "__matmul__"):
        if args[0] is not nested or isinstance(args[1], NestedTensor) or args[1].dim() != 2:
            return _refused(name, "multiply it by one matrix")
        return _moved(nested, func(_values(nested), args[1]))
    if name in _OF_TENSOR or name == "__set__":
        return func(*args, **kwargs)
    if plain in _ON_VALUES or plain in _BINARY:
        change = _beside if plain in _BINARY else lambda a, nested: _values(a)
        result = func(
            *(change(a, nested) for a in args),
            **{key: change(a, nested) for key, a in kwargs.items()},
        )
        if result is not None and result.shape[nested._ragged_idx - 1 :][:1] != (
            _values(nested).shape[nested._ragged_idx - 1],
        ):
            _refused(name)
        return nested if name.endswith("_") and plain != name else _moved(nested, result)
    return _refused(name)


def _attribute(func: Any, name: str, nested: NestedTensor) -> object:
    if name == "shape":
        return _shape(nested)
    constant = {"is_nested": True, "layout": jagged, "ndim": _values(nested).dim() + 1}
    if name in constant:
        return constant[name]
    found = func(nested)
    if name in ("grad", "data") and isinstance(found, Tensor):
        return _moved(nested, found.as_subclass(Tensor))
    if isinstance(found, Tensor):
        return _refused(name)
    return found
