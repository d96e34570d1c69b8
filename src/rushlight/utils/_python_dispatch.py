"""Modes and classes of PyTorch's dispatcher: there is none here, and its modes cannot be entered.

`torch.overrides.TorchFunctionMode` takes calls of public functions over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .._base.missing import missing_name as _missing_name
from .._core import Tensor


class TorchDispatchMode:
    """A mode of the dispatcher: may be derived from; entering it raises NotImplementedError."""

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: object = None) -> None:
        pass

    def __torch_dispatch__(
        self, func: object, types: object, args: object = (), kwargs: object = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__}: modes of the dispatcher are not in rushlight. "
            "torch.overrides.TorchFunctionMode takes calls of public functions over."
        )

    def __exit__(self, *exc: object) -> None:
        pass

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether the mode is PyTorch's own."""
        return False


BaseTorchDispatchMode = TorchDispatchMode


def _get_current_dispatch_mode() -> None:
    """None: no mode is entered."""


def _get_current_dispatch_mode_stack() -> list[object]:
    """No mode is entered."""
    return []


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """False: no mode is entered."""
    return False


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[object]]:
    """A block without modes, as any other."""
    yield []


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class of tensors can be taken apart, by `__tensor_flatten__` and its inverse."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor can be taken apart into others."""
    return is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any,
    callback: Callable[[str, object], object],
    outer_size: object = None,
    outer_stride: object = None,
) -> Any:
    """A tensor of the same class, with callback(name, inner) for each tensor inside."""
    size = outer_size if outer_size is not None else t.size()
    stride = outer_stride if outer_stride is not None else t.stride()
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    result = type(t).__tensor_unflatten__(parts, context, size, stride)
    if result.shape != size:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to "
            f"{size}, but got: {result.shape}"
        )
    return result


def return_and_correct_aliasing(func: object, args: object, kwargs: object, out: object) -> Any:
    """The result as it is."""
    return out


__getattr__ = _missing_name(__name__)
