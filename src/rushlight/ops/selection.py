"""Choosing and overwriting elements: where, clamp, maximum and its kin, masked_fill, fill_, zero_, copy_."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ._kinds import composite, general, pointwise, variant
from ._op import OPS, namespace
from ._portable import alias
from ._samples import one, pair

# ---- where


def _masked(make: Any) -> Any:
    return [
        (make(2, 3, kind="bool"), make(2, 3), make(2, 3)),
        (make(2, 3, kind="bool"), make(3), make(2, 1)),
        (make(2, 1, kind="bool"), make(2, 3), 1.5),
    ]


_NOT_BOOL = (
    RuntimeError,
    "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
)

where = pointwise(
    "where(condition: Tensor, input: Operand, other: Operand)",
    portable=lambda c, a, b: np.where(c != 0, a, b),
    partials={"input": lambda condition: condition != 0, "other": lambda condition: condition == 0},
    refuses={"condition: int float complex": _NOT_BOOL},
    method=False,
    in_place=False,
    samples=_masked,
    doc="input where the condition holds, else other; without them, the indices where it holds.",
)


def _where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """input where the condition holds, else other; without them, the indices where it holds."""
    if input is None or other is None:
        if input is None and other is None:
            return condition.nonzero(as_tuple=True)
        raise TypeError(
            "where() received an invalid combination of arguments - got "
            f"({', '.join(type(a).__name__ for a in (condition, input, other) if a is not None)})"
        )
    return where(condition, input, other) if out is None else where(condition, input, other, out=out)


namespace("torch")["where"] = _where
setattr(_core.Tensor, "where", lambda self, condition, other: where(condition, self, other))

# ---- clamp


def _clamp_both(a: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(a, low), high)


_NO_COMPLEX = {"complex": "clamp is not supported for complex types"}

_clamp = pointwise(
    "_clamp(input, min, max)",
    kernel="clamp",
    portable=_clamp_both,
    partials={
        "input": lambda input, min, max: (input >= min) & (input <= max),
        "min": lambda input, min, max: (min < max) & (input < min),
        "max": lambda input, min, max: (input > max) | (max < min),
    },
    refuses=_NO_COMPLEX,
    node="ClampBackward0",
    method=False,
    samples=lambda make: [(make(2, 3), make(2, 3, high=0), make(2, 3, low=0))],
    doc="`clamp` between two bounds.",
)
_clamp_numbers = pointwise(
    "_clamp_numbers(input, min, max)",
    kernel="clamp",
    portable=_clamp_both,
    partials={"input": lambda input, min, max: (input >= min) & (input <= max)},
    refuses=_NO_COMPLEX,
    node="ClampBackward1",
    method=False,
    in_place=False,
    samples=lambda make: [(make(2, 3), -0.5, 0.5)],
    doc="`clamp` between two numbers.",
)
variant(_clamp, "min", "scalar", _clamp_numbers)
_at_least = {"input": lambda input, min: input >= min}
_at_most = {"input": lambda input, max: input <= max}


def _bound(name: str, kernel: str, bound: str, node: str, scalar_node: str, doc: str) -> Any:
    """A clamp with one bound, and its overload for a number."""
    lower = bound == "min"
    more: dict[str, Any] = {"kernel": kernel, "portable": np.maximum if lower else np.minimum}
    hidden = name.startswith("_")
    inside: dict[str, Any] = dict(_at_least if lower else _at_most)
    own = (lambda input, min: input < min) if lower else (lambda input, max: input > max)
    op = pointwise(
        f"{name}(input, {bound})",
        partials={**inside, bound: own},
        refuses=_NO_COMPLEX if hidden else {"complex": f"{kernel}_cpu"},
        node=node,
        method=not hidden,
        samples=pair,
        doc=doc,
        **more,
    )
    number = pointwise(
        f"_{name.lstrip('_')}_number(input, {bound})",
        partials=inside,
        refuses=_NO_COMPLEX,
        node=scalar_node,
        method=False,
        in_place=False,
        samples=lambda make: [(make(2, 3), 0.5)],
        doc=doc,
        **more,
    )
    variant(op, bound, "scalar", number)
    return op


_clamp_low = _bound("_clamp_low", "maximum", "min", "ClampBackward0", "ClampBackward1", "`clamp` from below.")
_clamp_high = _bound("_clamp_high", "minimum", "max", "ClampBackward0", "ClampBackward1", "`clamp` from above.")
clamp_min = _bound("clamp_min", "maximum", "min", "ClampMinBackward1", "ClampMinBackward0", "The larger of input and min.")
clamp_max = _bound("clamp_max", "minimum", "max", "ClampMaxBackward1", "ClampMaxBackward0", "The smaller of input and max.")


def _clamp_samples(make: Any) -> Any:
    return [
        (make(2, 3), -0.5, 0.5),
        (make(2, 3), 0),
        (make(4), None, 0.5),
        (make(2, 3), make(2, 3, high=0), make(3, low=0)),
    ]


def _no_bound() -> RuntimeError:
    return RuntimeError(
        "torch.clamp: At least one of 'min' or 'max' must not be None. "
        "Give clamp a lower bound, an upper bound, or both."
    )


@composite(samples=_clamp_samples)
def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """input, but at least min and at most max (numbers or tensors); where they cross, max."""
    more = {} if out is None else {"out": out}
    if max is None:
        if min is None:
            raise _no_bound()
        return _clamp_low(input, min, **more)
    return _clamp_high(input, max, **more) if min is None else _clamp(input, min, max, **more)


def clamp_(self: Any, min: Any = None, max: Any = None) -> Any:
    """In-place version of `clamp`."""
    if max is None:
        if min is None:
            raise _no_bound()
        return _clamp_low_in_place(self, min)
    return _clamp_high_in_place(self, max) if min is None else _clamp_in_place(self, min, max)


_clamp_in_place = _core.make_in_place(_clamp, "clamp_")
_clamp_low_in_place = _core.make_in_place(_clamp_low, "clamp_")
_clamp_high_in_place = _core.make_in_place(_clamp_high, "clamp_")
setattr(_core.Tensor, "clamp_", clamp_)
alias("clip", clamp)

# ---- the larger and the smaller


def _half_at_ties(input: Any, other: Any, larger: Any) -> Any:
    return where(input == other, 0.5, where(larger, 1, 0))


def _extremum(name: str, portable: Any, input: Any, other: Any, doc: str) -> Any:
    return pointwise(
        f"{name}(input, other: Tensor)",
        portable=portable,
        partials={"input": input, "other": other},
        refuses={"complex": (RuntimeError, f"{name} not implemented for complex tensors.")},
        in_place=False,
        samples=pair,
        doc=doc,
    )


maximum = _extremum(
    "maximum",
    np.maximum,
    lambda input, other: _half_at_ties(input, other, ~(input < other)),
    lambda input, other: _half_at_ties(input, other, ~(input > other)),
    "The larger of two; NaN if one is NaN. Equal elements share the gradient.",
)
minimum = _extremum(
    "minimum",
    np.minimum,
    lambda input, other: _half_at_ties(input, other, ~(input > other)),
    lambda input, other: _half_at_ties(input, other, ~(input < other)),
    "The smaller of two; NaN if one is NaN. Equal elements share the gradient.",
)
fmax = _extremum(
    "fmax",
    np.fmax,
    lambda input, other: (input >= other) | isnan(other),
    lambda input, other: ~((input >= other) | isnan(other)),
    "The larger of two; of a number and NaN the number.",
)
fmin = _extremum(
    "fmin",
    np.fmin,
    lambda input, other: (input <= other) | isnan(other),
    lambda input, other: ~((input <= other) | isnan(other)),
    "The smaller of two; of a number and NaN the number.",
)


def isnan(value: Any) -> Any:
    return OPS["isnan"].function(value)


# ---- overwriting

_MASK = {
    "mask: int float complex": (
        RuntimeError,
        "masked_fill_ only supports boolean masks, but got mask with dtype {}",
    )
}

masked_fill = pointwise(
    "masked_fill(input, mask: Tensor, value: Operand)",
    forward=lambda input, mask, value: where(mask, value, input),
    portable=lambda a, mask, value: np.where(mask != 0, value, a),
    partials={"input": lambda mask: mask == 0, "value": lambda mask: mask != 0},
    refuses=_MASK,
    node="MaskedFillBackward1",
    samples=lambda make: [(make(2, 3), make(2, 3, kind="bool"), make())],
    doc="input with `value` where the mask holds.",
)
_masked_fill_number = pointwise(
    "_masked_fill_number(input, mask: Tensor, value: Number)",
    forward=lambda input, mask, value: where(mask, value, input),
    portable=lambda a, mask, value: np.where(mask != 0, np.asarray(value).astype(a.dtype), a),
    partials={"input": lambda mask: mask == 0},
    refuses=_MASK,
    node="MaskedFillBackward0",
    method=False,
    in_place=False,
    samples=lambda make: [(make(2, 3), make(2, 3, kind="bool"), 1.5)],
    doc="`masked_fill` with a number.",
)
variant(masked_fill, "value", "scalar", _masked_fill_number)


def _spread(value: Any, like: Any) -> Any:
    """`value` (0-d) as an array of the shape and type of `like`, all elements one place in memory."""
    if isinstance(value, complex) and like.dtype.kind != "c" and value.imag != 0:
        raise RuntimeError(
            f"value cannot be converted to type {_C_NAMES.get(like.dtype.name, like.dtype.name)} "
            "without overflow"
        )
    with np.errstate(all="ignore"):
        cell = np.asarray(value).astype(like.dtype)
    return np.ndarray(like.shape, like.dtype, cell, 0, (0,) * like.ndim)


_C_NAMES = {
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int",
    "int64": "int64_t",
}


def _fill_value(input: Any, value: Any) -> Any:
    if getattr(value, "ndim", 0) > 0:
        raise RuntimeError(
            "fill only supports 0-dimension value tensor but got tensor with "
            f"{value.ndim} dimensions."
        )
    return _spread(value, input)


def _fill_op(name: str, value_kind: str, node: str, **more: Any) -> Any:
    vjp: dict[str, Any] = {"input": lambda g: OPS["zeros_like"].function(g)}
    if value_kind == "Tensor":
        vjp["value"] = lambda g: g.sum()
    return general(
        f"{name}(input, value: {value_kind})",
        _fill_value,
        vjp=vjp,
        node=node,
        samples=lambda make: [(make(2, 3), make() if value_kind == "Tensor" else 1.5)],
        doc="A tensor like input, every element `value`.",
        **more,
    )


fill = _fill_op("fill", "Operand", "FillBackward1", method=False)
_fill_number = _fill_op("_fill_number", "number", "FillBackward0", method=False)
_fill_tensor = _fill_op("_fill_tensor", "Tensor", "FillBackward1", method=False)
