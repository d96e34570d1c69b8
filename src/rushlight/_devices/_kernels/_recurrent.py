"""Recurrent layers: their definition by steps, each of which runs on the device.

The gradient runs the steps again. Of what it reads only the biases are no arguments of the call;
they are what the forward pass keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _core
from ..._core import kernels
from ...ops.layers import recurrent
from ...ops.layout.joining import stack
from . import there
from ._launch import empty, takes


def _forward(mode: str) -> Callable[..., Any]:
    def layer(*args: Any) -> Any:
        *given, reverse, sizes = args
        tensors, biases = [t for t in given if t is not None], given[5:]
        if not takes(*tensors) or not tensors[0].dtype.is_floating_point:
            return NotImplemented
        if (biases[0] is None) is not (biases[1] is None):
            return NotImplemented
        before = _core.set_grad_enabled(False)
        try:
            found = recurrent._whole(recurrent._on(mode, given, reverse, sizes))
            kept = empty((0,), tensors[0]) if biases[0] is None else stack(biases)
        finally:
            _core.set_grad_enabled(before)
        out, h, c, _ = found
        return out, h, c, kept

    return layer


def _backward(mode: str) -> Callable[..., Any]:
    rule = recurrent._rule(mode)

    def gradients(*args: Any) -> Any:
        *gs, x, h, c, w_ih, w_hh, _, kept, reverse, sizes, needs = args
        if not takes(*[t for t in (*gs, x, h, c, w_ih, w_hh, kept) if t is not None]):
            return NotImplemented
        b_ih, b_hh = kept.unbind(0) if kept.numel() else (None, None)
        return rule(gs, x, h, c, w_ih, w_hh, b_ih, b_hh, reverse, sizes, needs)

    return gradients


for _mode in recurrent.STEPS:
    _name = f"{_mode.lower()}_layer"
    there(getattr(kernels, _name))(_forward(_mode))
    there(getattr(kernels, f"{_name}_backward"))(_backward(_mode))
