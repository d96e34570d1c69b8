"""The few names of torch's compiled module that programs use."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ... import _core
from ... import _root as _root
from ... import fft as _ffts
from ... import linalg as _linalgs
from ... import special as _specials
from ..._base import determinism as _determinism
from ..._base.missing import missing_name as _missing_name
from ..._levels import running as _running
from ...autograd import grad_mode as _grad_mode
from ...autograd._saved import SavedTensor as _SavedTensor
from ...autograd._saved import hooks_are_enabled as _hooks_are_enabled
from ...autograd.function import DelayedError as _DelayedError
from ...autograd.function import UndefinedGrad as _UndefinedGrad
from ...autograd.graph import Node as _Node
from ...backends import cudnn as _cudnn
from ...nn import functional as _functional
from ...nn._moving import target as _target
from .. import accelerator as _accelerator
from .._utils import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass

_Node.register(_DelayedError)  # its class is a node's in torch


class _TensorBaseMeta(type):
    """Makes TensorBase the name of all that torch.Tensor is."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _core.Tensor)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _core.Tensor)

    def __call__(cls, *args: Any, **kwargs: object) -> Any:
        raise RuntimeError(
            "Cannot directly construct TensorBase; subclass it and then construct that: "
            "torch.Tensor is such a class"
        )

    def __getattr__(cls, name: str) -> Any:
        return getattr(_core.Tensor, name)


class TensorBase(metaclass=_TensorBaseMeta):
    """The base of PyTorch's Tensor; here another name for Tensor."""

    def __init_subclass__(cls) -> None:
        raise RuntimeError("Cannot subclass _TensorBase directly; derive from torch.Tensor")


class _Functions(type):
    """Gives the functions of torch by name."""

    def __getattr__(cls, name: str) -> Any:
        return getattr(_root, name)


class _VariableFunctionsClass(metaclass=_Functions):
    """Where PyTorch's pickles look for the functions of torch."""


class _Part(ModuleType):
    """A submodule: names that are elsewhere here."""

    def __init__(self, name: str, **names: Any) -> None:
        super().__init__(f"{__name__}.{name}", f"torch._C.{name}.")
        self.__dict__.update(names)
        self.__spec__ = ModuleSpec(self.__name__, None)
        sys.modules[self.__name__] = self  # pickles look for functions there


_autograd = _Part(
    "_autograd", SavedTensor=_SavedTensor, _saved_tensors_hooks_is_enabled=_hooks_are_enabled
)
_functions = _Part(
    "_functions",
    AccumulateGrad=_core.AccumulateGrad,
    DelayedError=_DelayedError,
    UndefinedGrad=_UndefinedGrad,
)


def _set_grad_enabled(enabled: bool) -> None:
    """Turn recording on or off on this thread."""
    _grad_mode.check_bool("set_grad_enabled", "enabled", enabled)
    _core.set_grad_enabled(enabled)


# ---- __torch_function__


class _TorchFunctionState:
    """Who may take calls over on a thread."""

    ENABLED = _core.Overrides.ALL
    SUBCLASSES_DISABLED = _core.Overrides.MODES
    ALL_DISABLED = _core.Overrides.NONE


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


def _get_function_stack_at(level: int) -> object:
    """A mode that is entered on this thread, counted from the one entered first."""
    return _core.entered_modes()[level]


# ---- what libraries ask of the compiled module


def _set_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """`torch.use_deterministic_algorithms`."""
    _root.use_deterministic_algorithms(mode, warn_only=warn_only)


def _set_deterministic_fill_uninitialized_memory(mode: bool) -> None:
    """Whether `torch.empty` and its kin fill in deterministic mode."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    _determinism.fills = mode


def _get_deterministic_fill_uninitialized_memory() -> bool:
    """Whether `torch.empty` and its kin fill in deterministic mode."""
    return _determinism.fills


def _get_cudnn_enabled() -> bool:
    """The switch `torch.backends.cudnn.enabled`."""
    return bool(_cudnn.enabled)


def _get_default_device() -> str:
    """The device that tensors are made on, as text."""
    return str(_root.get_default_device())


def _get_accelerator(check: bool | None = None) -> object:
    """The accelerator that the program has named; the CPU where there is none."""
    return _accelerator.current_accelerator() or _root.device("cpu")


def _are_functorch_transforms_active() -> bool:
    """Whether this runs inside vmap, grad or jvp."""
    return bool(_running.state.stack)


def _parse_to(*args: Any, **kwargs: Any) -> tuple[object, object, bool, object]:
    """The meaning of the arguments of `Tensor.to`: device, dtype, non_blocking, memory_format."""
    device = kwargs.pop("device", None)
    dtype = kwargs.pop("dtype", None)
    non_blocking = kwargs.pop("non_blocking", False)
    memory_format = kwargs.pop("memory_format", None)
    if kwargs.pop("copy", False):
        raise RuntimeError(".to() does not accept copy argument")
    rest = list(args)
    if rest and isinstance(rest[0], _core.Tensor):
        device, dtype = rest[0].device, rest[0].dtype
    elif rest and isinstance(rest[0], _root.dtype):
        dtype = rest[0]
    elif rest:
        device = rest[0] if device is None else device
        if len(rest) > 1 and isinstance(rest[1], _root.dtype):
            dtype = rest.pop(1)
    if len(rest) > 1:
        non_blocking = rest[1]
    if kwargs or not isinstance(non_blocking, bool):
        raise TypeError("to() received an invalid combination of arguments")
    device = None if device is None else _root.device(device)
    return device, dtype, non_blocking, memory_format


# ---- functions under the names of PyTorch's bindings: generated code calls them so


class _Bindings(_Part):
    """The functions of a namespace, with the prefix that their names have in torch._C."""

    def __init__(
        self, name: str, module: ModuleType, prefix: str, renamed: dict[str, str] | None = None
    ) -> None:
        super().__init__(name)
        self._module, self._prefix, self._renamed = module, prefix, renamed or {}

    def _parse_to(self, *args: Any, **kwargs: Any) -> tuple[object, object, bool, object]:
        """The meaning of arguments of `Module.to`: device, type, non_blocking, memory format."""
        told = _target(args, kwargs)
        return told.device, told.dtype, told.non_blocking, told.memory_format

    def __getattr__(self, name: str) -> Any:
        own = self._renamed.get(name, name)
        if own.startswith(self._prefix) and not own.startswith("__"):
            found = getattr(self._module, own.removeprefix(self._prefix), None)
            if found is not None:
                return found
        raise AttributeError(f"module 'torch._C' has no function {name!r}")


_nn = _Bindings("_nn", _functional, "", {"log_sigmoid": "logsigmoid"})
_linalg = _Bindings("_linalg", _linalgs, "linalg_")
_special = _Bindings("_special", _specials, "special_")
_fft = _Bindings("_fft", _ffts, "fft_")

__getattr__ = _missing_name(__name__)
