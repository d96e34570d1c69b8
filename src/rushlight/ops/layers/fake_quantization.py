"""Fake quantization: numbers are rounded as for small integers with a scale and a zero point, for
training with the errors that quantizing will make. The gradient goes through where the range holds
the number, as if nothing had been rounded.
"""

from __future__ import annotations

import math
from typing import Any

from ... import _core
from ..._base.dtypes import float32, float64
from ..._base.errors import not_implemented_for
from ..._base.outside import np
from ..._core import Op
from ..._devices import of
from ..elementwise.selection import where
from ..table.arrays import dim_in, elements
from ..table.kinds import composite, constant, general, pointwise
from ..table.reference import wide
from ..table.signature import Tensor

_SMALLEST = 6.1e-5  # no scale is smaller


def _level(x: Any, inverse: Any, zero_point: Any) -> Any:
    """The integer that stands for each number, whatever the range."""
    return (x * inverse + 0).round() + zero_point


def _levels(x: Tensor, scale: Tensor, zero_point: Tensor) -> Any:
    return _level(wide(x), scale.to(float32).reciprocal(), zero_point)


def _quantized(x: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
    if not x.dtype.is_floating_point:
        kernel = "fake_quantize_tensor_cachemask_kernel_type_handling"
        not_implemented_for(kernel, x.dtype.scalar_name)
    levels = _levels(x, scale, zero_point)
    levels = where(levels >= low, levels.clamp_max(high), low)  # of NaN the lowest
    kind = levels.dtype if scale.ndim else float32  # one scale for all: in its own type
    return ((levels - zero_point).to(kind) * scale.to(kind)).to(x.dtype)


def _inside(x: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
    levels = _levels(x, scale, zero_point)
    return (levels >= low) & (levels <= high)


def _straight_through(input: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Any:
    """Quantized, with a difference of 0 that has the gradient."""
    through = _mask(input, scale, zero_point, low, high)
    return _quantized(input.detach(), scale, zero_point, low, high) + where(
        through, input - input.detach(), 0
    )


_mask: Op = constant(
    "_fake_quantize_mask(input: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int)",
    is_=_inside,
    method=False,
    out=False,
    doc="Where the range of a fake quantization holds the numbers.",
)


def _fake_quantize(name: str, node: str) -> Any:
    return general(
        f"_{name}(input: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int)",
        is_=_quantized,
        batch=_straight_through,
        vjp={
            "input": lambda g, input, scale, zero_point, low, high: (
                g * _mask(input, scale, zero_point, low, high)
            )
        },
        node=f"{node}Backward0",
        method=False,
        out=False,
        keeps="strides: input",
        doc="Numbers rounded to multiples of a scale, in a range.",
    )


_NUMBERS_NODE = "FakeQuantizePerTensorAffineCachemask"
_by_numbers = _fake_quantize("fake_quantize_numbers", _NUMBERS_NODE)
_by_tensors = _fake_quantize(
    "fake_quantize_tensors", "FakeQuantizePerTensorAffineCachemaskTensorQparams"
)
_by_channel = _fake_quantize("fake_quantize_channels", "FakeQuantizePerChannelAffineCachemask")
_observed = _fake_quantize("fake_quantize_observed", "FusedMovingAvgObsFqHelper")


def _in_program(x: Any, scale: Any, inverse: Any, zero_point: Any, low: Any, high: Any) -> Any:
    levels = _level(x, inverse, zero_point)
    cut = where(levels >= low, where(levels > high, high, levels), low)
    return (cut - zero_point) * scale


def _in_program_mask(input: Any, inverse: Any, zero_point: Any, low: Any, high: Any) -> Any:
    levels = _level(input, inverse, zero_point)
    return (levels >= low) & (levels <= high)


# `_by_numbers` of numbers that are computed with in float32, as a scale is.
_by_numbers_in_float32 = pointwise(
    "_fake_quantize_in_float32(input: Tensor, scale: Number, inverse: Number, zero_point: Number, "
    "low: Number, high: Number)",
    forward=_in_program,
    partials={"input": _in_program_mask},
    node=f"{_NUMBERS_NODE}Backward0",
    method=False,
    in_place=False,
    out=False,
    samples=lambda make: [(make(2, 3, kind="fixed"), 0.5, 2.0, 3, 0, 15)],
    doc="Numbers rounded to multiples of a scale, in a range.",
)


def _check_range(low: int, high: int) -> None:
    if low > high:
        raise RuntimeError(
            "`quant_min` should be less than or         equal to `quant_max`.\n"
            f"They are {low} and {high}."
        )


def _outside(low: int, high: int) -> RuntimeError:
    return RuntimeError(
        f"`zero_point` must be between `quant_min` and `quant_max`.\nThese are {low} and {high}."
    )


@composite(
    method=False,
    samples=lambda make: [(make(2, 3, kind="fixed"), 0.5, 3, 0, 15)],
    overloads=(
        "(input, scale: Tensor, zero_point: Tensor, quant_min, quant_max)",
        "(input, scale: float, zero_point: int, quant_min, quant_max)",
    ),
    remembers=True,
)
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """Numbers rounded to multiples of scale, in the range that the integers quant_min to quant_max
    hold, zero_point standing for 0."""
    _check_range(quant_min, quant_max)
    if isinstance(scale, Tensor):
        return _core.remember(_by_tensors, input, scale, zero_point, quant_min, quant_max)
    if not quant_min <= zero_point <= quant_max:
        raise _outside(quant_min, quant_max)
    if input.dtype.is_floating_point and input.dtype is not float64:
        step = np.float32(scale)
        with np.errstate(all="ignore"):
            inverse = float(np.float32(1) / step)
        numbers = float(step), inverse, zero_point, quant_min, quant_max
        return _core.remember(_by_numbers_in_float32, input, *numbers)
    tensor = of(input).tensor
    values = tensor(np.array(scale, np.float32)), tensor(np.array(zero_point))
    return _by_numbers(input, *values, quant_min, quant_max)


@composite(method=False)
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each entry of a
    dimension."""
    if scale.dtype.name not in ("float32", "bfloat16"):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {scale.dtype.scalar_name}")
    if zero_point.dtype.name not in ("int32", "float32", "float16"):
        raise RuntimeError(
            f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.scalar_name}"
        )
    if scale.ndim != 1:
        raise RuntimeError("scale should be a 1-D tensor")
    if zero_point.ndim != 1:
        raise RuntimeError("zero point should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    at = dim_in(axis, input.ndim)
    if scale.numel() != input.shape[at]:
        raise RuntimeError(
            "dimensions of scale and zero-point are not consistent with input tensor"
        )
    _check_range(quant_min, quant_max)
    points = elements(zero_point)
    outside = (points < quant_min) | (points > quant_max)
    if zero_point.dtype.name == "int32" and outside.any():
        raise _outside(quant_min, quant_max)
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    shape = [-1 if d == at else 1 for d in range(input.ndim)]
    places = scale.reshape(shape), zero_point.reshape(shape)
    return _by_channel(input, *places, quant_min, quant_max)


def _parameters(low: float, high: float, qmin: int, qmax: int, symmetric: bool) -> tuple[Any, Any]:
    """The scale and the zero point with which integers qmin to qmax cover the numbers low to
    high."""
    both = symmetric and low < 0 < high
    if both:
        most = (qmax - qmin) // 2
        step = max(abs(low / -(most + 1)), abs(high / most))
        low, high = -step * (most + 1), step * most
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (qmax - qmin)
    if np.float32(scale) == 0 or math.isinf(1 / scale):
        scale = 0.1
    if scale < _SMALLEST:
        grown = _SMALLEST / scale
        low, high, scale = low * grown, high * grown, _SMALLEST
    from_low, from_high = qmin - low / scale, qmax - high / scale
    near = abs(qmin) - abs(low / scale) < abs(qmax) - abs(high / scale)
    point = from_low if near else from_high
    if both:
        point = (qmin + qmax) / 2
    if math.isnan(point):
        return scale, qmin
    return scale, int(min(max(np.rint(point), qmin), qmax))


@composite(method=False)
def fused_moving_avg_obs_fake_quant(
    input: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    """Fake quantization with a range that follows the inputs.

    While observer_on holds, running_min and running_max move by averaging_const towards those of
    the input, and scale and zero_point, all of them in place, to what covers them.
    """
    if per_row_fake_quant and ch_axis != 0:
        raise RuntimeError(
            "Per-channel FakeQuant in fused_moving_avg_obs_fake_quant is only supported on "
            "axis == 0"
        )
    rows = input.shape[0] if per_row_fake_quant else 1
    if int(observer_on.item()):
        _observe(input, rows, running_min, running_max, averaging_const)
    if not int(fake_quant_on.item()):
        return input.clone()
    ranges = zip(running_min.tolist(), running_max.tolist(), strict=True)
    found = [_parameters(*r, quant_min, quant_max, symmetric_quant) for r in ranges]
    for t, values in zip((scale, zero_point), zip(*found, strict=True), strict=True):
        t.resize_(len(values)).copy_(of(t).tensor(np.array(values, t._form.dtype.numpy)))
    shape = (rows, *(1,) * (input.ndim - 1)) if per_row_fake_quant else ()
    places = scale.detach().reshape(shape).clone(), zero_point.reshape(shape).clone()
    return _observed(input, *places, quant_min, quant_max)


def _observe(input: Tensor, rows: int, low: Tensor, high: Tensor, share: float) -> None:
    values = input.detach().reshape(rows, -1)
    for running, now in ((low, values.amin(1)), (high, values.amax(1))):
        now = now.to(running.dtype)
        if running.numel() != rows:
            running.resize_(rows).fill_(math.inf)
        before = elements(running)
        moved = before + share * (elements(now) - before)
        fresh = np.isinf(before)
        running.copy_(
            of(running).tensor(np.where(fresh, elements(now), moved).astype(before.dtype))
        )
