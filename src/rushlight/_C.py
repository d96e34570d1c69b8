"""The few names of torch's compiled module that programs use."""

from __future__ import annotations

from typing import Any

from . import _core
from .autograd import grad_mode as _grad_mode
from .autograd.function import DelayedError as _DelayedError
from .autograd.graph import Node as _Node
from .autograd.saved import SavedTensor as _SavedTensor

Node = _core.Node
_Node.register(_DelayedError)  # its class is a node's in torch
TensorBase = _core.Tensor
_FunctionBase = _core.FunctionNode


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


def _is_torch_function_enabled() -> bool:
    """True: subclasses with `__torch_function__` are asked."""
    return True
