"""Quantized tensors by name: their dtypes, schemes and storages exist, and no tensor is one.

What trains with the errors of quantizing works: `fake_quantize_per_tensor_affine` and its kin.
"""

from __future__ import annotations

from typing import Any

from . import _dtypes
from ._device import _Named
from ._elsewhere import refusing

__all__ = ["NAMES"]

_WHY = "it has no quantized tensors. fake_quantize_per_tensor_affine rounds as they would."


class qscheme(_Named):
    """How a quantized tensor scales its integers: known by name."""

    __slots__ = ()
    __module__ = "rushlight"

    def __reduce__(self) -> str:
        return self._name


def _named(name: str) -> qscheme:
    self = object.__new__(qscheme)
    object.__setattr__(self, "_name", name)
    return self


_SCHEMES = """per_channel_affine per_channel_affine_float_qparams per_channel_symmetric
per_tensor_affine per_tensor_symmetric"""
_TYPES = "qint32 qint8 quint2x4 quint4x2 quint8"
_FUNCTIONS = """choose_qparams_optimized empty_quantized quantize_per_channel quantize_per_tensor
quantize_per_tensor_dynamic quantized_batch_norm quantized_gru quantized_gru_cell quantized_lstm
quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d
quantized_rnn_relu_cell quantized_rnn_tanh_cell"""
_OF_TENSORS = """int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale
q_zero_point"""


def _of_tensor(name: str) -> Any:
    """A function of a quantized tensor: for any other it is an error, as its method is."""

    def function(input: Any) -> Any:
        return getattr(input, name)()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Refused: only quantized tensors have it."
    return function


def _storage(scalar: str) -> type:
    name = f"{scalar}Storage"
    members = {"__init__": refusing(f"torch.{name}", _WHY), "__doc__": f"Refused: {_WHY}"}
    return type(name, (), {**members, "__module__": "rushlight"})


NAMES: dict[str, Any] = {
    "qscheme": qscheme,
    **{name: _named(name) for name in _SCHEMES.split()},
    **{name: _dtypes._BY_NAME[name] for name in _TYPES.split()},
    **{name: refusing(f"torch.{name}", _WHY) for name in _FUNCTIONS.split()},
    **{name: _of_tensor(name) for name in _OF_TENSORS.split()},
    **{
        f"{_dtypes._BY_NAME[name].scalar_name}Storage": _storage(_dtypes._BY_NAME[name].scalar_name)
        for name in _TYPES.split()
    },
}
