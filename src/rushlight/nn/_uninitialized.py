"""Parameters and buffers without a shape, as lazy layers have them before their first call."""

from __future__ import annotations

from typing import Any, Self

from rushlight import _root as rl
from rushlight._tensor import PRINTED_AS_TENSOR

from .._base import dtypes
from .._base.device import DeviceLike
from .parameter import Parameter

_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens "
    "in `load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes."
)
# Names of Tensor that work without a shape.
_ALLOWED = {
    *("__hash__", "size", "dtype", "device", "is_cpu", "is_cuda", "is_meta", "is_complex"),
    *("is_floating_point", "grad", "requires_grad", "grad_fn", "is_leaf", "data", "half", "float"),
    *("double", "bfloat16", "cuda", "cpu", "to", "get_device", "copy_"),
}


class UninitializedTensorMixin(rl.Tensor):
    """A tensor without a shape: `materialize` sets the shape, and the class `cls_to_become`.

    >>> weight = nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, weight.shape
    ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become: type[Any]

    def materialize(
        self, shape: Any, device: DeviceLike | None = None, dtype: dtypes.dtype | None = None
    ) -> None:
        """Gives the tensor memory of this shape, without values."""
        device = self.data.device if device is None else device
        dtype = self.data.dtype if dtype is None else dtype
        self.data = rl.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(_NO_SHAPE)

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: object) -> Any:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: object, args: tuple[object, ...] = (), kwargs: object = None
    ) -> object:
        name = getattr(func, "__name__", "")
        if name == "__get__" or name == "__set__":
            name = getattr(func.__self__, "__name__", "")
        if name in _ALLOWED:
            return super().__torch_function__(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you "
            "are using a `LazyModule` or explicitly manipulating "
            "`torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch "
            "functions"
        )


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter that has no shape yet.

    >>> weight = nn.UninitializedParameter()
    >>> weight
    <UninitializedParameter>
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, weight.shape
    ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(
        cls,
        requires_grad: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> Self:
        data = rl.empty(0, device=device, dtype=dtype)
        return rl.Tensor._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made = type(self)(self.requires_grad, self.data.device, self.data.dtype)
            memo[id(self)] = made
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin):
    """A buffer that has no shape yet.

    >>> mean = nn.UninitializedBuffer()
    >>> mean.materialize((2,))
    >>> mean.shape
    torch.Size([2])
    """

    cls_to_become: type[Any] = rl.Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
        persistent: bool = True,
    ) -> Self:
        made = rl.Tensor._make_subclass(cls, rl.empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


def is_lazy(param: object) -> bool:
    """Whether a parameter or buffer has no shape yet.

    >>> nn.parameter.is_lazy(nn.UninitializedParameter()), nn.parameter.is_lazy(torch.ones(2))
    (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)


for _public in (UninitializedTensorMixin, UninitializedParameter, UninitializedBuffer, is_lazy):
    _public.__module__ = Parameter.__module__  # where programs find them
PRINTED_AS_TENSOR.update((UninitializedParameter, UninitializedBuffer))
