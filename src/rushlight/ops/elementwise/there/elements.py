"""Ops on elements that are no pointwise programs: some are made of such, some have kernels."""

from __future__ import annotations

from typing import Any

from .... import _core
from ...._base import dtypes
from ...._base.outside import np
from ...._core import Tensor
from ...._devices.launch import Ints, Tensors, code, empty, layout, number, rows, start, takes
from ...._devices.there import named, numbers_of, there
from ...layers import activation, fake_quantization
from ...layers.activation import gelu
from ...layout.there.rearranging import copied, zeros
from .. import comparison, complex_numbers, elementary
from ..arithmetic import _nonzero
from ..comparison import isfinite
from ..elementary import round as whole
from ..selection import maximum, minimum, where
from ..special import xlogy
from .special import brought, common_shape, in_double

_N = numbers_of("elements.cl")
_FILE = "elements.cl"


def is_float(a: Tensor) -> bool:
    """Whether it is a tensor of floats that kernels read."""
    return takes(a) and bool(a.dtype.is_floating_point)


def widened(a: Tensor) -> Tensor:
    """The tensor without its history, halves as float32."""
    a = a.detach()
    return a.to(dtypes.float32) if a.dtype.itemsize == 2 and a.dtype.is_floating_point else a


def order_of(shape: Ints, *operands: Ints) -> list[int]:
    """The dimensions from outermost to innermost, as NumPy orders them for operands with these
    strides. A stride of 0, and one of a dimension of size 1, says nothing."""
    order: list[int] = []  # from the innermost
    for d in reversed(range(len(shape))):
        place = len(order)
        for at in reversed(range(len(order))):
            pairs = [
                (s[d], s[order[at]]) for s in operands if shape[d] > 1 and shape[order[at]] > 1
            ]
            pairs = [(outer, inner) for outer, inner in pairs if outer and inner]
            if pairs and any(inner <= outer for outer, inner in pairs):
                break
            place = at if pairs else place
        order.insert(place, d)
    return order[::-1]


def laid_in(out: Tensor, order: list[int]) -> Tensor:
    """The numbers with the dimensions in this order in memory, from outermost to innermost."""
    device = out._accelerator
    if device is None or order == sorted(order) or not out.numel():
        return out
    strides, step = [0] * out.dim(), 1
    for d in reversed(order):
        strides[d], step = step, step * out.shape[d]
    made = _core.empty_accelerated(device, tuple(out.shape), out.dtype.code, tuple(strides))
    copied(made, out)
    return made


def filled_with(made: Tensor, value: int) -> Tensor:
    """The tensor, every element of which gets one number."""
    _core.copy_values(made, _core.wrap(np.asarray(value, made.dtype.numpy)))
    return made


@there(comparison.isreal, takes="real")
def isreal(a: Tensor) -> Tensor:
    return (a == a) | (a != a)


@there(complex_numbers.conj_physical, takes="real")
def conj_physical(a: Tensor) -> Tensor:
    return a


@there(comparison._isclose)
def isclose(a: Tensor, b: Tensor, rtol: float, atol: float) -> Tensor:
    if not takes(a, b) or not (a.dtype.is_floating_point or in_double(a)):
        return NotImplemented
    if common_shape(a, b) is None:
        return NotImplemented
    a, b = widened(a), widened(b)
    close = a == b
    if not a.dtype.is_floating_point:
        a, b = a.to(dtypes.float64), b.to(dtypes.float64)
    if rtol == 0 and atol == 0:
        return close
    difference = abs(a - b)
    return close | (isfinite(difference) & (difference <= atol + abs(rtol * b)))


@there(elementary.frexp, takes="float")
def frexp(a: Tensor) -> Tensors:
    mantissa, exponent = empty(a.shape, a), empty(a.shape, a, dtypes.int32)
    start(_FILE, "taken_apart", a.numel(), a, rows(a), mantissa, exponent, code(a), a.numel())
    return mantissa, exponent


@there(elementary._round_decimals_op, takes="float")
def round_decimals(a: Tensor, decimals: int) -> Tensor:
    if not isinstance(decimals, int):
        return NotImplemented
    out = empty(a.shape, a)
    with np.errstate(over="ignore"):
        ten = number(np.float64(10) ** abs(decimals), a)
    start(_FILE, "to_decimals", a.numel(), a, rows(a), out, code(a), a.numel(), decimals < 0, ten)
    return out


@there(activation._gelu_given, takes="float")
def gelu_given(a: Tensor, approximate: str) -> Tensor:
    return gelu(a.detach()) if approximate == "none" else NotImplemented


# ---- whole quotients


def _divided(which: int, a: Tensor, b: Tensor) -> Tensor:
    """Of integers, and of halves, whose steps are rounded one by one. The host waits to hear
    whether a divisor was zero, which is the CPU's error."""
    divisor = b.item() if b._accelerator is None and not b.dim() else None
    a, b = brought(a, b)
    if not takes(a, b) or a.dtype is not b.dtype or a.dtype is dtypes.bool:
        return NotImplemented
    real, shape = a.dtype.is_floating_point, common_shape(a, b)
    if shape is None or (real and (a.dtype.itemsize != 2 or which > _N.TOWARDS_ZERO)):
        return NotImplemented
    divides = not real and which <= _N.REST
    if divides and divisor is not None:
        _nonzero(np.asarray(divisor))
    spread = [_core.kernels.expand(t, shape) for t in (a, b)]
    laid = [layout(t) for t in spread]
    if None in laid:
        return NotImplemented
    out = empty(shape, a)
    found = zeros((1,), a, dtypes.int32) if divides and divisor is None else None
    start(_FILE, "divided", out.numel(), a, a, b, out, found, *laid, code(a), out.numel(), which)
    if found is not None and found.item():
        _nonzero(np.zeros(1, np.int64))  # raises
    return laid_in(out, order_of(shape, *(t.stride() for t in spread)))


def _division(which: int, *names: str) -> None:
    @there(*named(*names))
    def function(a: Tensor, b: Tensor, rounding_mode: Any = None) -> Tensor:
        return _divided(which, a, b)


_division(_N.DOWN, "floor_divide", "_floor_divide_number")
_division(_N.DOWN, "_div_floor", "_div_floor_number")
_division(_N.TOWARDS_ZERO, "_div_trunc", "_div_trunc_number")
_division(_N.REMAINDER, "remainder", "_remainder_number", "_remainder_of_number")
_division(_N.REST, "fmod", "_fmod_number")
_division(_N.COMMON_DIVISOR, "gcd")
_division(_N.COMMON_MULTIPLE, "lcm")


# ---- functions of real numbers, of integers


def _of_integers(names: str, function: Any, takes: str = "bool int") -> None:
    """Register ops on integers, which are all finite and whole."""

    @there(*named(*names.split()), takes=f"{takes}, rest: real")
    def functions(a: Tensor, *rest: Any) -> Tensor:
        return function(a.detach(), *rest)


_of_integers("isnan isinf isposinf isneginf", lambda a: a != a)
_of_integers("isfinite", lambda a: a == a)
_of_integers("_nan_to_num", lambda a, *_: a + 0, "int")
_of_integers("fmax", lambda a, b: maximum(a, b.detach()))
_of_integers("fmin", lambda a, b: minimum(a, b.detach()))


def _in_float(name: str, function: Any) -> None:
    """An op of two tensors of halves, computed in float and rounded once."""

    @there(*named(name))
    def of_halves(a: Tensor, b: Tensor) -> Tensor:
        a, b = brought(a, b)
        if not takes(a, b) or not a.dtype.is_floating_point or a.dtype is not b.dtype:
            return NotImplemented
        if a.dtype.itemsize != 2:
            return NotImplemented
        return function(widened(a), widened(b)).to(a.dtype)


for _name in ("xlogy", "_xlogy_number1"):
    _in_float(_name, xlogy)


# ---- fake quantization


def _levels(a: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
    """The integer that stands for each number, whatever the range, as float64."""
    inverse = 1 / rows(scale.detach(), dtypes.float32)
    return rows(whole(a * inverse) + 0, dtypes.float64) + zero_point


def _quantizes(a: Tensor, scale: Tensor, zero_point: Tensor) -> bool:
    if not is_float(a) or not in_double(a, scale, zero_point):
        return False
    return scale.dtype.is_floating_point and not zero_point.dtype.is_floating_point


@there(
    fake_quantization._by_numbers,
    fake_quantization._by_tensors,
    fake_quantization._by_channel,
    fake_quantization._observed,
)
def fake_quantize(a: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
    if not _quantizes(a, scale, zero_point):
        return NotImplemented
    wide, scale = widened(a), scale.detach()
    levels = _levels(wide, scale, zero_point)
    levels = where(levels >= low, levels, low)  # a NaN becomes the lowest
    levels = where(levels <= high, levels, high)
    kind = wide.dtype if scale.dim() else dtypes.float32  # one scale for all: in its own type
    steps = rows(levels - zero_point, kind) * rows(scale, kind)
    return rows(rows(steps, wide.dtype), a.dtype)


@there(fake_quantization._mask)
def fake_quantize_mask(a: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
    if not _quantizes(a, scale, zero_point):
        return NotImplemented
    levels = _levels(widened(a), scale, zero_point)
    return (levels >= low) & (levels <= high)
