"""Choosing and overwriting elements: where, clamp, maximum, masked_fill, fill_, zero_, copy_."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.outside import np, np_types, ufuncs
from ..._core import Op
from ..._devices import of
from ..making.casts import to_copy
from ..making.creation import zeros_like
from ..table.arrays import Array, as_type, cell, held_number, joined_sizes, warn_once
from ..table.kinds import composite, general, pointwise, variant
from ..table.reference import add_method, alias
from ..table.samples import one, pair
from ..table.signature import Tensor
from .comparison import isnan

# ---- where


def _masked(make: Callable[..., Any]) -> Any:
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
    "where(condition: Tensor, input: Tensor | Number, other: Tensor | Number)",
    reference=lambda c, a, b: np.where(c != 0, a, b),
    partials={"input": lambda condition: condition != 0, "other": lambda condition: condition == 0},
    refuses={"condition: int float complex": _NOT_BOOL},
    numbers_fit=True,
    halves_round=True,
    method=False,
    in_place=False,
    out="Expected out type to be {want.scalar_name} but got {got.scalar_name}",
    samples=_masked,
    overloads=(
        "(condition: Tensor)",
        "(condition: Tensor, input: Tensor, other: Tensor, *, out)",
        "(condition: Tensor, self: Number, other: Tensor)",
        "(condition: Tensor, input: Tensor, other: Number)",
        "(condition: Tensor, self: Number, other: Number)",
    ),
    formula={"input": "1 if condition else 0", "other": "0 if condition else 1"},
    stored="all",
    doc="input where the condition holds, else other; without them, the indices where it holds.",
)


def _truth(condition: object) -> Any:
    """A condition of bytes as truth values, which torch takes with a warning."""
    if not isinstance(condition, Tensor) or condition.dtype is not dtypes.uint8:
        return condition
    warn_once(
        "where received a uint8 condition tensor. This behavior is deprecated and will be removed "
        "in a future version of PyTorch. Use a boolean condition instead."
    )
    return condition.to(dtypes.bool)


def _where(
    condition: Tensor,
    input: Tensor | None = None,
    other: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Any:
    """input where the condition holds, else other; without them, the indices where it holds."""
    if input is None or other is None:
        if input is None and other is None:
            return condition.nonzero(as_tuple=True)
        raise TypeError(
            "where() received an invalid combination of arguments - got "
            f"({', '.join(type(a).__name__ for a in (condition, input, other) if a is not None)})"
        )
    condition = _truth(condition)
    return (
        where(condition, input, other) if out is None else where(condition, input, other, out=out)
    )


alias("where", _where, method=False)
add_method(
    "where",
    lambda input, condition, other: where(_truth(condition), input, other),
    "The tensor where the condition holds, else other.",
)


def unless(condition: Any, value: Any, instead: float) -> Any:
    """The value, for a branch of `where` that is not taken where the condition holds: `instead` is
    there, so that the branch's own derivatives are finite numbers, of which `where` takes none."""
    return where(condition, instead, value)


# ---- clamp


def _clamp_both(a: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(a, low), high)


_NO_COMPLEX = {"complex": "clamp is not supported for complex types"}

_clamp = pointwise(
    "_clamp(input: Tensor, min: Tensor | Number, max: Tensor | Number)",
    kernel="clamp",
    reference=_clamp_both,
    partials={
        "input": lambda input, min, max: (input >= min) & (input <= max),
        "min": lambda input, min, max: (min < max) & (input < min),
        "max": lambda input, min, max: (input > max) | (max < min),
    },
    refuses={**_NO_COMPLEX, "bool": "clamp_cpu"},
    node="ClampBackward0",
    method=False,
    in_place=False,
    out="found",
    samples=lambda make: [(make(2, 3), make(2, 3, high=0), make(2, 3, low=0))],
    aten="clamp_.Tensor | clamp_",
    doc="`clamp` between two bounds.",
)
_clamp_numbers = pointwise(
    "_clamp_numbers(input: Tensor, min: Tensor | Number, max: Tensor | Number)",
    kernel="clamp",
    reference=_clamp_both,
    partials={"input": lambda input, min, max: (input >= min) & (input <= max)},
    refuses={**_NO_COMPLEX, "bool": "clamp_scalar_cpu"},
    numbers_fit=True,
    node="ClampBackward1",
    method=False,
    in_place=False,
    out="found",
    samples=lambda make: [(make(2, 3), -0.5, 0.5)],
    doc="`clamp` between two numbers.",
)
variant(_clamp, "min", "scalar", _clamp_numbers)
_at_least = {"input": lambda input, min: input >= min}
_at_most = {"input": lambda input, max: input <= max}


def _bound(name: str, kernel: str, bound: str, node: str, scalar_node: str, doc: str) -> Op:
    """A clamp with one bound, and its overload for a number."""
    lower = bound == "min"
    hidden = name.startswith("_")
    written = "clamp_" if hidden else f"{name}_"
    more: dict[str, Any] = {
        "kernel": kernel,
        "reference": ufuncs.maximum if lower else ufuncs.minimum,
    }
    more["out"] = "found" if hidden else "cast"
    inside: dict[str, Any] = dict(_at_least if lower else _at_most)
    own = (lambda input, min: input < min) if lower else (lambda input, max: input > max)
    op = pointwise(
        f"{name}(input: Tensor, {bound}: Tensor | Number)",
        partials={**inside, bound: own},
        refuses=_NO_COMPLEX if hidden else {"complex": f"{kernel}_cpu"},
        node=node,
        method=not hidden,
        in_place="function" if not hidden else False,
        samples=pair,
        overloads=(f"(input, {bound}: Tensor, *, out)", f"(input, {bound}: Number, *, out)"),
        aten=f"{written}.Tensor | {written}",
        shared_write="" if hidden else "arithmetic",
        doc=doc,
        **more,
    )
    number = pointwise(
        f"_{name.lstrip('_')}_number(input: Tensor, {bound}: Tensor | Number)",
        partials=inside,
        refuses={**_NO_COMPLEX, "bool": f"clamp_{bound}_scalar_cpu"},
        numbers_fit=True,
        node=scalar_node,
        method=False,
        in_place=False,
        samples=lambda make: [(make(2, 3), 0.5)],
        doc=doc,
        **(more | {"out": "found"}),
    )
    variant(op, bound, "scalar", number)
    return op


_clamp_low = _bound(
    "_clamp_low", "maximum", "min", "ClampBackward0", "ClampBackward1", "`clamp` from below."
)
_clamp_high = _bound(
    "_clamp_high", "minimum", "max", "ClampBackward0", "ClampBackward1", "`clamp` from above."
)
clamp_min = _bound(
    "clamp_min",
    "maximum",
    "min",
    "ClampMinBackward1",
    "ClampMinBackward0",
    "The larger of input and min.",
)
clamp_max = _bound(
    "clamp_max",
    "minimum",
    "max",
    "ClampMaxBackward1",
    "ClampMaxBackward0",
    "The smaller of input and max.",
)


def _clamp_samples(make: Callable[..., Any]) -> Any:
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


@composite(
    samples=_clamp_samples,
    elementwise=True,
    overloads=(
        "(input, min: Tensor | None = None, max: Tensor | None = None, *, out)",
        "(input, min: Number | None = None, max: Number | None = None, *, out)",
    ),
)
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """input, but at least min and at most max (numbers or tensors); where they cross, max."""
    more = {} if out is None else {"out": out}
    if max is None:
        if min is None:
            raise _no_bound()
        return _clamp_low(input, min, **more)
    return _clamp_high(input, max, **more) if min is None else _clamp(input, min, max, **more)


def clamp_(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """In-place version of `clamp`."""
    if not input.dtype.is_differentiable:
        bounds = [b for b in (min, max) if isinstance(b, (int, float, _core.Tensor))]
        found = _core.result_type([input, *bounds])
        if not _core.can_cast(found.code, input.dtype.code):
            _core.refuse_cast(found.scalar_name, input.dtype.c_name)
    if max is None:
        if min is None:
            _core.check_in_place(input, input.requires_grad and _core.is_grad_enabled())
            raise _no_bound()
        return _clamp_low_in_place(input, min)
    return _clamp_high_in_place(input, max) if min is None else _clamp_in_place(input, min, max)


_clamp_in_place = _core.make_in_place(_clamp, "clamp_")
_clamp_low_in_place = _core.make_in_place(_clamp_low, "clamp_")
_clamp_high_in_place = _core.make_in_place(_clamp_high, "clamp_")
add_method("clamp_", clamp_, function=True)
alias("clip", clamp)
add_method("clip_", clamp_, function=True)

# ---- the larger and the smaller


def _half_at_ties(g: Tensor, input: Tensor, other: Tensor, loses: Any) -> Tensor:
    # A gradient that is not finite ends where the other one was chosen.
    return where(loses, 0, where(input == other, g * 0.5, g))


def _extremum(name: str, reference: object, input: object, other: object, doc: str) -> Op:
    return pointwise(
        f"{name}(input: Tensor, other: Tensor)",
        reference=reference,
        partials={"input": input, "other": other},
        refuses={"complex": (RuntimeError, f"{name} not implemented for complex tensors.")},
        in_place=False,
        samples=pair,
        doc=doc,
    )


maximum = _extremum(
    "maximum",
    ufuncs.maximum,
    lambda g, input, other: _half_at_ties(g, input, other, input < other),
    lambda g, input, other: _half_at_ties(g, input, other, input > other),
    "The larger of two; NaN if one is NaN. Equal elements share the gradient.",
)
minimum = _extremum(
    "minimum",
    ufuncs.minimum,
    lambda g, input, other: _half_at_ties(g, input, other, input > other),
    lambda g, input, other: _half_at_ties(g, input, other, input < other),
    "The smaller of two; NaN if one is NaN. Equal elements share the gradient.",
)
fmax = _extremum(
    "fmax",
    ufuncs.fmax,
    lambda input, other: (input >= other) | isnan(other),
    lambda input, other: ~((input >= other) | isnan(other)),
    "The larger of two; of a number and NaN the number.",
)
fmin = _extremum(
    "fmin",
    ufuncs.fmin,
    lambda input, other: (input <= other) | isnan(other),
    lambda input, other: ~((input <= other) | isnan(other)),
    "The smaller of two; of a number and NaN the number.",
)


# ---- overwriting


def expanded_warning(name: str, written: str) -> str:
    """PyTorch's warning where a function writes a tensor that shows an element twice."""
    return (
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before "
        "performing this operation. This also applies to advanced indexing e.g. "
        f"tensor[{written}"
    )


_MASK = {
    "mask: int float complex": (
        RuntimeError,
        "masked_fill_ only supports boolean masks, but got mask with dtype {c}",
    )
}

masked_fill = pointwise(
    "masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number)",
    forward=lambda input, mask, value: where(mask, value, input),
    reference=lambda a, mask, value: np.where(mask != 0, value, a),
    partials={"input": lambda mask: mask == 0, "value": lambda mask: mask != 0},
    refuses=_MASK,
    numbers_fit=True,
    own_type=True,
    zero_dim=(
        "value",
        "masked_fill_ only supports a 0-dimensional value tensor, but got tensor "
        "with %d dimension(s).",
    ),
    overlap="self arguments",
    expanded=expanded_warning("masked_fill_", "mask] = scalar"),
    node="MaskedFillBackward1",
    samples=lambda make: [(make(2, 3), make(2, 3, kind="bool"), make())],
    keeps="rows",
    overloads=("(input, mask, value: Tensor)", "(input, mask, value: Number)"),
    shared_write="number",
    formula={"input": "0 if mask else 1", "value": "1 if mask else 0"},
    stored="complex32",
    kernel_name="masked_fill",
    doc="input with `value` where the mask holds.",
)
_masked_fill_number = pointwise(
    "_masked_fill_number(input: Tensor, mask: Tensor, value: Number)",
    forward=lambda input, mask, value: where(mask, value, input),
    reference=lambda a, mask, value: np.where(mask != 0, cell(value, a.dtype), a),
    partials={"input": lambda mask: mask == 0},
    refuses=_MASK,
    numbers_fit=True,
    own_type=True,
    overlap="self",
    expanded=expanded_warning("masked_fill_", "mask] = scalar"),
    node="MaskedFillBackward0",
    method=False,
    in_place=False,
    samples=lambda make: [(make(2, 3), make(2, 3, kind="bool"), 1.5)],
    keeps="rows",
    formula={"input": "0 if mask else 1"},
    stored="complex32",
    kernel_name="masked_fill",
    doc="`masked_fill` with a number.",
)
variant(masked_fill, "value", "scalar", _masked_fill_number)


def _cell(value: Array | complex, dtype: Any) -> Array:
    if isinstance(value, np_types.ndarray):
        return as_type(value, dtype)
    if not isinstance(value, (int, float, complex, np_types.generic)):
        raise TypeError(f"argument 'value' must be Number, not {type(value).__name__}")
    return cell(value, dtype)


def _spread(element: Array | bytes, like: Any) -> Array:
    """One element seen as a whole array of like's shape: stride 0 throughout."""
    return np.ndarray(like.shape, like.dtype, element, 0, (0,) * like.ndim)


def _filled(input: Tensor, value: Array | complex) -> Array:
    if isinstance(value, np_types.ndarray) and value.ndim:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value.ndim} dimensions."
        )
    return _spread(_cell(value, input.dtype), input)


def _put_over(t: Tensor, out: Tensor) -> Tensor:
    return t.to(out.dtype).expand(out.shape)


def _fill_op(name: str, node: str, *, number: bool) -> Op:
    vjp: dict[str, Any] = {"input": lambda g: zeros_like(g)}
    if not number:
        vjp["value"] = lambda g: g.sum()
    return general(
        f"{name}(input: Tensor, value: {'Number' if number else 'Tensor'})",
        _filled,
        native=_core.kernels.filled_like,
        vjp=vjp,
        jvp={} if number else {"value": _put_over},
        write=_core.kernels.fill,
        keeps="strides: input",
        overlap="self" if number else "arguments",
        node=node,
        stored="all",
        by_value="value",
        batch="trailing" if number else None,
        shared_write="name",
        method=False,
        samples=lambda make: [(make(2, 3), 1.5 if number else make())],
        overloads=("(input, value: Tensor)", "(input, value: Number)"),
        doc="A tensor like input, every element `value`.",
    )


fill = _fill_op("fill", "FillBackward1", number=False)
variant(fill, "value", "scalar", _fill_op("_fill_number", "FillBackward0", number=True))
_overwrite = _fill_op("_overwrite", "FillBackward3", number=False)
variant(_overwrite, "value", "scalar", _fill_op("_overwrite_number", "FillBackward2", number=True))
_zeroed = general(
    "_zeroed(input: Tensor)",
    lambda a: _spread(bytes(16), a),
    native=_core.kernels.zeroed,
    vjp={"input": lambda g: zeros_like(g)},
    write=_core.kernels.zero,
    overlap="self",
    node="ZeroBackward0",
    method=False,
    samples=one,
    stored="all",
    doc="Zeros in the place of input.",
    batch="trailing",
)


def _fitted(input: Tensor, src: Any, non_blocking: bool) -> Any:
    """src in input's shape and type, without a copy where it has them."""
    shape, kind = input._form.shape, input._form.dtype
    if not isinstance(src, Tensor):
        src = of(input).made((), kind, held_number(src, kind))
    elif src._form.dtype is not kind:
        src = to_copy(src, kind)
    joined = joined_sizes(shape, src.shape)
    if joined != shape:
        _core.refuse_shape(shape, joined)
    return src.expand(shape)


_copied = general(
    "_copied(input: Tensor, src: Tensor | Number, non_blocking: Any = False)",
    is_=_fitted,
    native=_core.kernels.fitted,
    vjp={"input": lambda g: zeros_like(g), "src": lambda g: g},
    jvp={"src": _put_over},
    overlap="same",
    node="CopyBackwards",
    method=False,
    samples=lambda make: [(make(2, 3), make(2, 3)), (make(2, 3), make(3)), (make(2, 2), make())],
    overloads=("(self: Tensor, other: Tensor, non_blocking: bool = False)",),
    shared_write="arithmetic",
    stored="all",
    like_first=True,
    doc="src in the place of input.",
)


def _in_place(op: Op, name: str, *, function: bool = True) -> Op:
    form = _core.make_in_place(op, name)
    form.entry = op.entry
    form.__doc__ = f"In place: {op.entry.doc}"
    add_method(name, form, function=function)
    return form


fill_ = _in_place(_overwrite, "fill_")
zero_ = _in_place(_zeroed, "zero_")
copy_ = _in_place(_copied, "copy_", function=False)
