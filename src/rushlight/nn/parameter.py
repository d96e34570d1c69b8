"""`Parameter` and `Buffer`: tensors that a module registers by being assigned to an attribute."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Self

from rushlight import _core
from rushlight import _root as rl
from rushlight._root import Tensor
from rushlight._tensor import PRINTED_AS_TENSOR
from rushlight._tensor.rebuilding import set_attributes

from .._base.missing import missing_name as _missing_name

_LATE = ("UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy")
__all__ = ["Buffer", "Parameter", *_LATE]


class _ParameterMeta(type(rl.Tensor)):  # type: ignore[misc]
    """Lets `isinstance(t, Parameter)` hold for custom tensor classes wrapped by `Parameter(t)`."""

    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and getattr(instance, "_is_param", False) is True


class Parameter(rl.Tensor, metaclass=_ParameterMeta):
    """A tensor that is a trainable part of a module; shares the memory of `data`.

    >>> nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __torch_function__ = _core._disabled_torch_function_impl  # results are plain tensors

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = rl.empty(0)
        kind: Any = type(data)
        if kind is rl.Tensor or kind is Parameter:
            return rl.Tensor._make_subclass(cls, data, requires_grad)
        wrapped: Any = data.detach().requires_grad_(requires_grad)
        if type(wrapped) is not kind:
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {kind.__name__} requires that "
                "detach() returns an instance of the same type, but return type "
                f"{type(wrapped).__name__} was found instead. To use the type as a Parameter, "
                "please correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation."
            )
        wrapped._is_param = True
        return wrapped

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self) -> str:
        text = super().__repr__()
        return "Parameter containing:\n" + (
            text if type(self) is Parameter else f"Parameter({text})"
        )

    def __reduce_ex__(self, protocol: object) -> Any:
        hooks: OrderedDict[int, Any] = OrderedDict()
        parts = self.data, self.requires_grad, hooks
        state = self.__getstate__()
        if not state:
            return _rebuild_parameter, parts
        return _rebuild_parameter_with_state, (*parts, state)


_core.register(parameter=Parameter)
PRINTED_AS_TENSOR.add(Parameter)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: object) -> Tensor:
    """A Parameter from a pickle (hooks are never saved)."""
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: object, state: object
) -> Tensor:
    """The same for a Parameter with attributes of its own."""
    return set_attributes(_rebuild_parameter(data, requires_grad, backward_hooks), state)


_rebuild_parameter.__module__ = _rebuild_parameter_with_state.__module__ = "rushlight._utils"


class _BufferMeta(type(rl.Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        if cls is Buffer:
            return (
                isinstance(instance, rl.Tensor) and getattr(instance, "_is_buffer", False) is True
            )
        return type.__instancecheck__(cls, instance)


class Buffer(rl.Tensor, metaclass=_BufferMeta):
    """Module state that is saved but not trained: `self.mean = Buffer(zeros(3))`.

    >>> class Centre(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.mean = nn.Buffer(torch.zeros(3))
    >>> list(Centre().state_dict()), list(Centre().parameters())
    (['mean'], [])
    """

    persistent: bool
    __torch_function__ = _core._disabled_torch_function_impl

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = rl.empty(0)
        tensor: Any = data.detach().requires_grad_(data.requires_grad)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor


_FACTORY = {"device", "dtype", "memory_format"}


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The keywords of a layer that say where its tensors are made and of which type.

    >>> nn.factory_kwargs({"dtype": torch.float64})
    {'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    unknown = kwargs.keys() - _FACTORY - {"factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    made = dict(kwargs.get("factory_kwargs", {}))
    for name in kwargs.keys() & _FACTORY:
        if name in made:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        made[name] = kwargs[name]
    return made


__getattr__ = _missing_name(__name__, late=dict.fromkeys(_LATE, "rushlight.nn._uninitialized"))
