"""MaskedTensor: a tensor of which only the elements count where its mask is True.

Note: how a call runs
    `__torch_function__` looks a function up by its name. An element-wise one runs on the data, and
    the result has the mask; the masks of two masked arguments must be equal. One that moves
    elements runs on data and mask alike. A reduction is that of `torch.masked`. A function that
    gives no tensor runs on the data. Any other function is refused, as PyTorch does.

    The data of a masked tensor is the tensor itself, so the graph is the one of its data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ... import _core
from ... import _root as rl
from ..._base.errors import warn
from ..._core import Tensor

__all__ = ["MaskedTensor", "is_masked_tensor"]

_UNARY = frozenset(
    """abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh
    arctanh bitwise_not ceil clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp
    exp2 expm1 fix floor frac lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg negative
    positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square
    tan tanh trunc conj invert __abs__ __invert__ __neg__ __pos__ __pow__""".split()
)
_BINARY = frozenset(
    """add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift
    div divide floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract
    true_divide eq ne le ge greater greater_equal gt less_equal lt less maximum minimum fmax fmin
    not_equal __add__ __radd__ __sub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__
    __mod__ __and__ __or__ __xor__ __lshift__ __rshift__ __eq__ __ne__ __lt__ __le__ __gt__
    __ge__""".split()
)
_MOVES = frozenset(
    """select transpose split t __getitem__ expand expand_as view view_as reshape reshape_as
    flatten cat concat concatenate unsqueeze unfold narrow chunk stack swapaxes swapdims
    contiguous""".split()
)
_ON_DATA = frozenset(  # the same elements, in other memory or of another type
    """clone detach requires_grad_ to double float half int long short bool type type_as char
    ones_like alias""".split()
)
_TYPES = frozenset("float16 float32 float64 bool int8 int16 int32 int64".split())
# By the names that `torch.masked` has, and `all`; put here by the module that has them.
REDUCTIONS: dict[str, Callable[..., Tensor]] = {}


@contextmanager
def _as_data() -> Iterator[None]:
    """Inside, a masked tensor is the tensor of its data."""
    before = _core.get_overrides()
    _core.set_overrides(max(before, _core.Overrides.MODES))
    try:
        yield
    finally:
        _core.set_overrides(before)


def is_masked_tensor(obj: object, /) -> bool:
    """Whether `obj` is a MaskedTensor.

    >>> data = torch.tensor([1.0, 2.0])
    >>> torch.masked.is_masked_tensor(torch.masked.masked_tensor(data, data > 1))
    True
    >>> torch.masked.is_masked_tensor(data)
    False
    """
    return isinstance(obj, MaskedTensor)


def _element(value: object) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _text(data: Tensor, mask: Tensor) -> str:
    if data.dim() == 1:
        elements, counted = [_element(v) for v in data.tolist()], mask.tolist()
        pairs = list(zip(elements, counted, strict=True))
        width = max((len(e) if c else 8 for e, c in pairs), default=0)
        return f"[{', '.join(e if c else '--'.rjust(width) for e, c in pairs)}]"
    parts = [_text(d, m) for d, m in zip(data.unbind(), mask.unbind(), strict=True)]
    return "[\n" + ",\n".join(map(_indented, parts)) + "\n]"


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))


def _map(value: object, change: Callable[[MaskedTensor], Tensor]) -> object:
    if isinstance(value, MaskedTensor):
        return change(value)
    if isinstance(value, list | tuple) and any(isinstance(v, MaskedTensor) for v in value):
        return type(value)(_map(v, change) for v in value)
    return value


class MaskedTensor(Tensor):
    """A tensor of which only the elements count where its mask, a boolean tensor, is True.

    It prints `--` for the others. `get_data` and `get_mask` give its parts, `to_tensor(value)` a
    tensor with `value` where the mask is False. Operations between masked tensors need equal masks.

    >>> data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> mt = torch.masked.MaskedTensor(data, data != 2)
    >>> mt * 2
    MaskedTensor(
      [
        [  2.0000,       --],
        [  6.0000,   8.0000]
      ]
    )
    >>> mt.sum(1)
    MaskedTensor(
      [  1.0000,   7.0000]
    )
    """

    __module__ = "rushlight.masked.maskedtensor.core"
    _masked_mask: Tensor

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        for name, given in (("data", data), ("mask", mask)):
            if isinstance(given, MaskedTensor) or not isinstance(given, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        if mask.dtype is not rl.bool:
            raise TypeError("mask must have dtype bool.")
        if data.dtype.name not in _TYPES:
            raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
        if data.dim() != mask.dim():
            raise ValueError("data.dim() must equal mask.dim()")
        if data.size() != mask.size():
            raise ValueError("data.size() must equal mask.size()")
        if data.requires_grad:
            warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. "
                "To avoid this, you can use data.detach().clone()",
            )
        made: MaskedTensor = data.detach().clone().as_subclass(cls)
        made._masked_mask = mask.clone()
        return made.requires_grad_() if requires_grad else made

    def __init__(self, data: Any, mask: object, requires_grad: bool = False) -> None: ...

    @classmethod
    def _wrap(cls, data: Any, mask: Any) -> Any:
        """A result with its mask; several of both."""
        if isinstance(data, list | tuple):
            return type(data)(cls._wrap(d, m) for d, m in zip(data, mask, strict=True))
        if type(data) is not cls:
            data = data.as_subclass(cls)
        data._masked_mask = mask
        return data

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _call(func, getattr(func, "__name__", ""), args, kwargs or {})

    def __repr__(self, *, tensor_contents: object = None) -> str:
        data, mask = self._data(), self._masked_mask
        if not data.dim():
            counts = mask.item()
            return f"MaskedTensor({_element(data.item()) if counts else '--'}, {counts})"
        return f"MaskedTensor(\n{_indented(_text(data, mask))}\n)"

    __str__: Any = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __reduce_ex__(self, protocol: object) -> Any:
        return MaskedTensor, (self._data(), self._masked_mask, self.requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> MaskedTensor:
        memo[id(self)] = made = MaskedTensor(self._data(), self._masked_mask, self.requires_grad)
        return made

    def _data(self) -> Tensor:
        with _as_data():
            return self.detach()

    def get_data(self) -> Tensor:
        """The values, also those that do not count; gradients flow through it."""
        with _as_data():
            return self.as_subclass(Tensor)

    def get_mask(self) -> Tensor:
        """A boolean tensor: which elements count."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """A plain tensor, with `value` where the mask is False."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    def is_sparse_coo(self) -> bool:
        """False: data here is strided."""
        return False

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """False: data here is strided."""
        return False


def _mask_of(masked: MaskedTensor) -> Tensor:
    return masked._masked_mask


def _call(func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> object:
    """Call a function of this name with masked tensors, and mask its result."""

    def on(change: Callable[[MaskedTensor], Tensor]) -> Any:
        with _as_data():
            return func(
                *(_map(a, change) for a in args),
                **{key: _map(a, change) for key, a in kwargs.items()},
            )

    def data(masked: MaskedTensor) -> Tensor:
        return masked

    if name == "__get__":
        return _attribute(func, func.__self__.__name__, args[0])
    if name in REDUCTIONS:
        return _reduce(name, *args, **kwargs)
    in_place = name.endswith("_") and not name.endswith("__")
    plain = name.removesuffix("_") if in_place else name
    if name.startswith("__i") and name != "__invert__":
        plain, in_place = f"__{name[3:]}", True
    if plain in _BINARY or (plain == "where" and len(args) == 3 and not kwargs):
        if plain == "where":
            return _where(*args)
        mask = _common_mask(args, kwargs)
        result = on(data)
        return result if in_place else MaskedTensor._wrap(result, mask.expand_as(result))
    if plain in _UNARY:
        if any(isinstance(a, Tensor) for a in args[1:]):
            raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
        result = on(data)
        return result if in_place else MaskedTensor._wrap(result, args[0]._masked_mask)
    if name in _MOVES:
        return MaskedTensor._wrap(on(data), on(_mask_of))
    if name in _ON_DATA:
        result = on(data)
        return MaskedTensor._wrap(result, args[0]._masked_mask)
    if name == "softmax":
        return _softmax(*args, **kwargs)
    if name == "copy_":
        _common_mask(args, kwargs)
        return on(data)
    if name in ("tolist", "numpy", "__array__"):
        got = f", got {type(args[0]).__name__}" if name == "tolist" else "."
        raise RuntimeError(f".{name.strip('_')}() is not supported for tensor subclasses{got}")
    if name in ("item", "__float__", "__int__", "__bool__", "__complex__", "__index__"):
        if not args[0]._masked_mask:
            raise ValueError("__torch_dispatch__, aten._local_scalar_dense: expected a mask tensor")
        return on(data)
    if not in_place or name in ("retain_grad_",):
        result = on(data)
        parts = result if isinstance(result, list | tuple) else [result]
        if not any(isinstance(part, Tensor) for part in parts):
            return result
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.aten.{name}.default'; all __torch_dispatch__ "
        "handlers returned NotImplemented: a MaskedTensor has no rule for it. Take the values with "
        "get_data() or to_tensor(value)."
    )


def _attribute(func: Any, name: str, masked: MaskedTensor) -> object:
    with _as_data():
        found = func(masked)
    if name in ("grad", "data") and isinstance(found, Tensor):
        return MaskedTensor._wrap(found, masked._masked_mask)
    if isinstance(found, Tensor) and name not in ("_base",):
        raise TypeError(
            f"Multiple dispatch failed for 'torch._ops.aten.{name}.default'; all "
            "__torch_dispatch__ handlers returned NotImplemented: a MaskedTensor has no rule for it"
        )
    return found


def _common_mask(args: Any, kwargs: dict[str, object]) -> Tensor:
    """The mask of the masked tensors among the arguments, which must be one and the same."""
    masks = [a._masked_mask for a in (*args, *kwargs.values()) if isinstance(a, MaskedTensor)]
    for other in masks[1:]:
        if other.dim() != masks[0].dim() or not (other == masks[0]).all():
            raise ValueError(
                "Input masks must match. If you need support for this, please open an issue on "
                "Github."
            )
    return masks[0]


def _where(condition: Tensor, input: Any, other: Any) -> Any:
    data = [a.get_data() if isinstance(a, MaskedTensor) else a for a in (condition, input, other)]
    masks = [
        a._masked_mask if isinstance(a, MaskedTensor) else rl.ones_like(a, dtype=rl.bool)
        for a in (input, other)
    ]
    return MaskedTensor._wrap(rl.where(*data), rl.where(data[0], *masks))


def _softmax(input: MaskedTensor, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
    mask = input._masked_mask
    kwargs.pop("_stacklevel", None)
    dtype = kwargs.pop("dtype", None)
    result = input.to_tensor(-rl.inf).softmax(dim, dtype=dtype)
    return MaskedTensor._wrap(result.masked_fill(~mask, 0), mask)


def _reduce(name: str, input: Any, *args: Any, **kwargs: object) -> Any:
    """A reduction: an element of the result counts where at least one of its inputs does."""
    mask, reduction = input._masked_mask, REDUCTIONS[name]
    if not args and not kwargs:
        return MaskedTensor._wrap(reduction(input, mask=mask), mask.any())
    bound = dict(zip(("dim", "keepdim", "dtype"), args, strict=False)) | kwargs
    unknown = [key for key in bound if key not in ("dim", "keepdim", "dtype")]
    if unknown or "dim" not in bound:
        raise TypeError(
            f"{name}() got an unexpected keyword argument '{unknown[0]}'"
            if unknown
            else f"{name}() missing 1 required positional argument: 'dim'"
        )
    dim, keepdim = bound["dim"], bool(bound.get("keepdim", False))
    dims = [dim] if isinstance(dim, int) else dim
    more = {} if name == "all" else {"dtype": bound.get("dtype")}
    result = reduction(input, dim=dim, keepdim=keepdim, mask=mask, **more)
    return MaskedTensor._wrap(result, mask.any(tuple(dims), keepdim) if dims else mask)
