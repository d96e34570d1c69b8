"""Automatic differentiation: backward and grad, modes, custom functions, the graph."""

from __future__ import annotations

from typing import Any

from .. import _core
from . import (
    anomaly_mode,
    engine,
    forward_ad,
    function,
    functional,
    grad_mode,
    graph,
    levels,  # noqa: F401 - the core's callbacks for watched tensors
    profiler,
)
from . import gradcheck as _gradcheck
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .engine import backward, grad
from .function import Function
from .grad_mode import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
)
from .grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = [
    "Function",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "engine",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

# torch.autograd.gradcheck is the function, as in PyTorch.
gradcheck, gradgradcheck = _gradcheck.gradcheck, _gradcheck.gradgradcheck


class _VariableMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _core.Tensor)


class _ExecutionEngine:
    """The old name under which callbacks are queued."""

    @staticmethod
    def queue_callback(function: Any) -> None:
        """Call `function` at the end of the running backward."""
        _core.queue_callback(function)


class Variable(metaclass=_VariableMeta):
    """The old name of a tensor that takes part in autograd: gives back the tensor.

    >>> x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    >>> x
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = _ExecutionEngine

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        if data is None:
            from ..ops import namespace

            data = namespace("torch")["empty"](0)
        result = data.detach()
        if requires_grad:
            result.requires_grad_()
        return result
