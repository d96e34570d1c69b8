"""Automatic differentiation: backward and grad, modes, custom functions, the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .._base.late import functions_named_as_modules as _functions_named_as_modules
from .._base.missing import missing_name as _missing_name
from . import grad_mode
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

if _TYPE_CHECKING:
    from . import anomaly_mode, forward_ad, function, graph, variable
    from . import functional as functional
    from . import profiler as profiler
    from ._engine import backward, grad
    from .anomaly_mode import detect_anomaly, set_detect_anomaly
    from .function import Function
    from .gradcheck import gradcheck as gradcheck
    from .gradcheck import gradgradcheck as gradgradcheck
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

_functions_named_as_modules(__name__, "gradcheck")

__getattr__ = _missing_name(
    __name__,
    late={
        **dict.fromkeys(["profiler", "_disable_profiler", "_profiler_enabled"], "profiler"),
        "gradgradcheck": "gradcheck",
        **dict.fromkeys(("backward", "grad"), "_engine"),
        **dict.fromkeys(("detect_anomaly", "set_detect_anomaly"), "anomaly_mode"),
        "Function": "function",
        "Variable": "variable",
        **{
            name: name
            for name in """anomaly_mode forward_ad function functional graph profiler_util
            variable""".split()
        },
    },
)
