"""The few names of torch's compiled module that programs use."""

from __future__ import annotations

import importlib
from typing import Any

from . import _core
from .autograd import grad_mode as _grad_mode
from .autograd._saved import SavedTensor as _SavedTensor
from .autograd.function import DelayedError as _DelayedError
from .autograd.graph import Node as _Node

Node = _core.Node
_Node.register(_DelayedError)  # its class is a node's in torch
_FunctionBase = _core.FunctionNode
_TensorMeta = type(_core.Tensor)


class _TensorBaseMeta(type):
    """Makes TensorBase the name of all that torch.Tensor is."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _core.Tensor)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _core.Tensor)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Cannot directly construct TensorBase; subclass it and then construct that: "
            "torch.Tensor is such a class"
        )

    def __getattr__(cls, name: str) -> Any:
        return getattr(_core.Tensor, name)


class TensorBase(metaclass=_TensorBaseMeta):
    """What PyTorch's Tensor is derived from; here another name for it."""

    def __init_subclass__(cls) -> None:
        raise RuntimeError("Cannot subclass _TensorBase directly; derive from torch.Tensor")


_TensorBase = TensorBase


class _autograd:
    """torch._C._autograd."""

    SavedTensor = _SavedTensor


class _functions:
    """torch._C._functions."""

    AccumulateGrad = _core.AccumulateGrad
    DelayedError = _DelayedError


def _current_graph_task_id() -> int:
    """The number of the running backward, or -1."""
    return _core.current_task()


def _current_autograd_node() -> Any:
    """The node that is being run, or None."""
    return _core.current_node()


def _set_grad_enabled(enabled: bool) -> None:
    """Turn recording on or off on this thread."""
    _grad_mode.check_bool("set_grad_enabled", "enabled", enabled)
    _core.set_grad_enabled(enabled)


is_grad_enabled = _core.is_grad_enabled
_is_multithreading_enabled = _grad_mode.is_multithreading_enabled


def _get_tracing_state() -> None:
    """None: nothing is ever traced."""


# ---- __torch_function__

_disabled_torch_function_impl = _core._disabled_torch_function_impl
_has_torch_function = _core.has_torch_function
_has_torch_function_unary = _core.has_torch_function_unary
_has_torch_function_variadic = _core.has_torch_function_variadic
_skip_one_hop_torch_function = _core.skip_one_hop
_push_on_torch_function_stack = _core.enter_mode
_pop_torch_function_stack = _core.leave_mode


class _TorchFunctionState:
    """Who may take calls over on a thread."""

    ENABLED = _core.Overrides.ALL
    SUBCLASSES_DISABLED = _core.Overrides.MODES
    ALL_DISABLED = _core.Overrides.NONE


_get_torch_function_state = _core.get_overrides
_set_torch_function_state = _core.set_overrides


class DisableTorchFunctionSubclass:
    """Inside the block, no class of an argument takes a call over."""

    _most = _TorchFunctionState.SUBCLASSES_DISABLED

    def __enter__(self) -> None:
        self._before = _core.get_overrides()
        _core.set_overrides(max(self._before, self._most))

    def __exit__(self, *exc: object) -> None:
        _core.set_overrides(self._before)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside the block, no class and no mode takes a call over."""

    _most = _TorchFunctionState.ALL_DISABLED


def _is_torch_function_enabled() -> bool:
    """Whether classes with `__torch_function__` are asked on this thread."""
    return _core.get_overrides() == _TorchFunctionState.ENABLED


def _is_torch_function_all_disabled() -> bool:
    """Whether not even modes are asked on this thread."""
    return _core.get_overrides() == _TorchFunctionState.ALL_DISABLED


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode is entered on this thread, and asked."""
    return bool(_core.entered_modes()) and not _is_torch_function_all_disabled()


def _len_torch_function_stack() -> int:
    """How many modes are entered on this thread."""
    return len(_core.entered_modes())


def _get_function_stack_at(level: int) -> Any:
    """A mode that is entered on this thread, counted from the one entered first."""
    return _core.entered_modes()[level]


# ---- functions under the names of PyTorch's bindings: generated code calls them so


class _Bindings:
    """The functions of a namespace, with the prefix that their names have in torch._C."""

    def __init__(self, module: str, prefix: str, renamed: dict[str, str] | None = None) -> None:
        self._module, self._prefix, self._renamed = module, prefix, renamed or {}

    def _parse_to(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
        """What arguments of `Module.to` say: device, type, non_blocking, memory format."""
        moving = importlib.import_module("rushlight.nn._moving")
        told = moving.target(args, kwargs)
        return told.device, told.dtype, told.non_blocking, told.memory_format

    def __getattr__(self, name: str) -> Any:
        own = self._renamed.get(name, name)
        if own.startswith(self._prefix) and not own.startswith("__"):
            module = importlib.import_module(f"rushlight.{self._module}")
            found = getattr(module, own.removeprefix(self._prefix), None)
            if found is not None:
                return found
        raise AttributeError(f"module 'torch._C' has no function {name!r}")


_nn = _Bindings("nn.functional", "", {"log_sigmoid": "logsigmoid"})
_linalg = _Bindings("linalg", "linalg_")
_special = _Bindings("special", "special_")
_fft = _Bindings("fft", "fft_")
