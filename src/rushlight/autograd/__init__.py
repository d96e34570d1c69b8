"""Automatic differentiation: backward and grad, modes, custom functions, the graph."""

from __future__ import annotations

from .._missing import missing_name as _missing_name
from . import anomaly_mode, forward_ad, function, functional, grad_mode, graph, profiler, variable
from . import gradcheck as _gradcheck
from ._engine import backward, grad
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .grad_mode import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from .grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .profiler import _disable_profiler as _disable_profiler
from .profiler import _profiler_enabled as _profiler_enabled
from .variable import Variable

__all__ = [
    "Function",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]

# torch.autograd.gradcheck is the function, as in PyTorch.
gradcheck, gradgradcheck = _gradcheck.gradcheck, _gradcheck.gradgradcheck

__getattr__ = _missing_name(__name__, late={"profiler_util": "profiler_util"})
