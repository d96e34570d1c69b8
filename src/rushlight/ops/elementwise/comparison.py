"""Comparisons, predicates, logic and bits: what gives bools or works on integers."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base.dtypes import bool as _bool
from ..._base.dtypes import complex64
from ..._base.outside import np, ufuncs
from ..._core import Op
from ..._devices import of
from ..._levels.opaque_array import FLOW
from ..._levels.running import answered
from ..making.creation import ones_like
from ..table.arrays import Array, anywhere, as_type
from ..table.kinds import composite, constant, pointwise, variant
from ..table.names import set_operator
from ..table.reference import alias
from ..table.samples import one, pair, scalars_too
from ..table.signature import Tensor

# ---- comparisons


def _comparison(name: str, operator: str, reference: object, ordered: bool, doc: str) -> Op:
    more: dict[str, Any] = {
        "dtype": "bool",
        "reference": reference,
        "refuses": {"complex": f"{name}_cpu"} if ordered else {},
        "numbers_round": True,
        "stored": None if ordered else "all",
        "doc": doc,
    }
    # The derivatives are those of the in-place form: what was there before is gone.
    op = pointwise(
        f"{name}(input: Tensor, other: Tensor | Number)",
        operator=operator,
        partials={"input": 0, "other": 0},
        node=f"{name.capitalize()}Backward1",
        samples=scalars_too,
        overloads=("(input, other: Tensor, *, out)", "(input, other: Number, *, out)"),
        **more,
    )
    number = pointwise(
        f"_{name}_number(input: Tensor, other: Tensor | Number)",
        kernel=name if _core.kernel_arity(name) >= 0 else None,
        partials={"input": 0},
        node=f"{name.capitalize()}Backward0",
        method=False,
        in_place=False,
        samples=lambda make: [(make(2, 3), 0.5)],
        **more,
    )
    variant(op, "other", "scalar", number)
    return op


eq = _comparison("eq", "eq", ufuncs.equal, False, "Whether equal, element by element.")
ne = _comparison("ne", "ne", ufuncs.not_equal, False, "Whether different, element by element.")
lt = _comparison("lt", "lt", ufuncs.less, True, "input < other.")
le = _comparison("le", "le", ufuncs.less_equal, True, "input <= other.")
gt = _comparison("gt", "gt", ufuncs.greater, True, "input > other.")
ge = _comparison("ge", "ge", ufuncs.greater_equal, True, "input >= other.")

alias("not_equal", ne)
alias("less", lt)
alias("less_equal", le)
alias("greater", gt)
alias("greater_equal", ge)

# ---- predicates


isnan = pointwise(
    "isnan(input: Tensor)",
    dtype="bool",
    reference=ufuncs.isnan,
    never="bool int",
    in_place=False,
    samples=one,
    stored="all",
    doc="Whether not a number.",
)
isinf = pointwise(
    "isinf(input: Tensor)",
    dtype="bool",
    reference=ufuncs.isinf,
    never="bool int",
    in_place=False,
    samples=one,
    stored="complex32",
    kernel_name="isinf",
    doc="Whether infinite.",
)
isfinite = pointwise(
    "isfinite(input: Tensor)",
    dtype="bool",
    reference=ufuncs.isfinite,
    always="bool int",
    in_place=False,
    samples=one,
    stored="complex32",
    kernel_name="isfinite",
    doc="Whether neither infinite nor NaN.",
)
isposinf = pointwise(
    "isposinf(input: Tensor)",
    dtype="bool",
    forward=lambda input: input == float("inf"),
    reference=lambda a: a == np.inf,
    refuses={"complex": (RuntimeError, "isposinf does not support complex inputs.")},
    never="bool int",
    in_place=False,
    out="{name} does not support non-boolean outputs.",
    samples=one,
    doc="Whether +inf.",
)
isneginf = pointwise(
    "isneginf(input: Tensor)",
    dtype="bool",
    forward=lambda input: input == -float("inf"),
    reference=lambda a: a == -np.inf,
    refuses={"complex": (RuntimeError, "isneginf does not support complex inputs.")},
    never="bool int",
    in_place=False,
    out="{name} does not support non-boolean outputs.",
    samples=one,
    doc="Whether -inf.",
)
isreal = constant(
    "isreal(input: Tensor)",
    native=_core.kernels.isreal,
    is_=lambda input: input.imag == 0 if input.dtype.is_complex else ones_like(input, dtype=_bool),
    out=False,
    samples=one,
    stored="all",
    batch="trailing",
    doc="Whether the imaginary part is 0.",
)
signbit = pointwise(
    "signbit(input: Tensor)",
    dtype="bool",
    reference=lambda a: np.signbit(a) if a.dtype.kind == "f" else a < 0,
    never="bool",
    refuses={"complex": "signbit is not implemented for complex tensors."},
    in_place=False,
    out="{name} does not support non-boolean outputs.",
    samples=one,
    doc="Whether the sign is minus, of -0.0 too.",
)

# ---- logic

logical_not = pointwise(
    "logical_not(input: Tensor)",
    dtype="bool",
    reference=ufuncs.logical_not,
    samples=one,
    doc="Whether zero.",
)
logical_and = pointwise(
    "logical_and(input: Tensor, other: Tensor | Number)",
    dtype="bool",
    reference=ufuncs.logical_and,
    samples=pair,
    shared_write="arithmetic",
    doc="Whether both are nonzero.",
)
logical_or = pointwise(
    "logical_or(input: Tensor, other: Tensor | Number)",
    dtype="bool",
    reference=ufuncs.logical_or,
    samples=pair,
    shared_write="arithmetic",
    doc="Whether one is nonzero.",
)
logical_xor = pointwise(
    "logical_xor(input: Tensor, other: Tensor | Number)",
    dtype="bool",
    reference=ufuncs.logical_xor,
    samples=pair,
    shared_write="arithmetic",
    doc="Whether exactly one is nonzero.",
)

# ---- bits


_invert = pointwise(
    "_invert(input: Tensor)",
    kernel="bitwise_not",
    reference=ufuncs.bitwise_not,
    reference_for="bool",
    refuses={
        "float complex": (
            TypeError,
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors",
        )
    },
    method=False,
    in_place=False,
    samples=lambda make: [(make(2, 3, kind="int"),)],
    doc="What `~input` calls: `bitwise_not`.",
)
set_operator(
    "invert",
    lambda self: logical_not(self) if self.dtype is _bool else _invert(self),
    _invert.entry,
)
bitwise_not = pointwise(
    "bitwise_not(input: Tensor)",
    reference=ufuncs.bitwise_not,
    reference_for="bool",
    refuses={"float complex": "bitwise_not_cpu"},
    out="found",
    samples=lambda make: [(make(2, 3, kind="int"),)],
    doc="Every bit turned over; of bools, not.",
)


_EITHER_A_NUMBER = (
    "(input: Tensor, other: Tensor, *, out)",
    "(self: Number, other: Tensor)",
    "(input: Tensor, other: Number, *, out)",
)


def _bitwise(operator: str, reference: object, doc: str) -> Op:
    return pointwise(
        f"bitwise_{operator}(input: Tensor | Number, other: Tensor | Number)",
        operator=operator,
        reflected=f"r{operator}",
        reference=reference,
        refuses={"float complex": f"bitwise_{operator}_cpu"},
        samples=lambda make: [
            (make(2, 3, kind="int"), make(2, 3, kind="int")),
            (make(3, kind="int"), 2),
        ],
        overloads=_EITHER_A_NUMBER,
        shared_write="shape",
        doc=doc,
    )


bitwise_and = _bitwise("and", ufuncs.bitwise_and, "The bits set in both.")
bitwise_or = _bitwise("or", ufuncs.bitwise_or, "The bits set in either.")
bitwise_xor = _bitwise("xor", ufuncs.bitwise_xor, "The bits set in exactly one.")


def _shift(kernel: str, operator: str, reference: object, doc: str) -> Op:
    op = pointwise(
        f"bitwise_{kernel}(input: Tensor | Number, other: Tensor | Number)",
        operator=operator,
        kernel=kernel,
        reference=reference,
        refuses={"bool float complex": f"{operator}_cpu"},
        samples=lambda make: [(make(2, 3, kind="int"), 2)],
        overloads=_EITHER_A_NUMBER,
        shared_write="shape",
        aten=f"bitwise_{kernel}_.Tensor | bitwise_{kernel}_.Tensor_Scalar",
        doc=doc,
    )
    set_operator(f"r{operator}", lambda self, other: op(other, self), op.entry)
    return op


bitwise_left_shift = _shift(
    "left_shift", "lshift", ufuncs.left_shift, "input * 2**other; by more than the width, 0."
)
bitwise_right_shift = _shift(
    "right_shift", "rshift", ufuncs.right_shift, "input divided by 2**other, rounded down."
)


# ---- whole tensors


@composite
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|, element by element."""
    if input.dtype != other.dtype:
        raise RuntimeError(f"{input.dtype.scalar_name} did not match {other.dtype.scalar_name}")
    if rtol < 0:
        raise RuntimeError(f"rtol must be greater than or equal to zero, but got {rtol}")
    if atol < 0:
        raise RuntimeError(f"atol must be greater than or equal to zero, but got {atol}")
    if rtol == 0 and atol == 0 and input.dtype.is_floating_point:  # also of 8 bits
        same = input == other
    else:
        same = _isclose(input, other, rtol, atol)
    return same | (isnan(input) & isnan(other)) if equal_nan else same


def _close(a: Array, b: Array, rtol: float, atol: float) -> Array:
    if a.dtype.names:  # complex32
        a, b = as_type(a, np.dtype(np.complex64)), as_type(b, np.dtype(np.complex64))
    with np.errstate(all="ignore"):
        close = np.equal(a, b)
        if rtol == 0 and atol == 0:
            return np.asarray(close)
        if a.dtype.kind in "bui":
            a, b = a.astype(np.float64), b.astype(np.float64)
        difference = np.abs(a - b)
        within = difference <= atol + np.abs(rtol * b)
        return np.asarray(close | (np.isfinite(difference) & within))


_isclose: Op = pointwise(
    "_isclose(input: Tensor, other: Tensor, rtol: Number, atol: Number)",
    dtype="bool",
    forward=lambda input, other, rtol, atol: _near(input, other, rtol, atol),
    reference=_close,
    reference_for="bool int complex",
    by_ops=lambda input, other, rtol, atol: (input == other) | _near_of(input, other, rtol, atol),
    method=False,
    in_place=False,
    out=False,
    samples=lambda make: [(make(2, 3), make(3), 0.5, 0.5)],
    stored="complex32",
    doc="`isclose` of arguments that were looked at.",
)


def _near_of(input: Tensor, other: Tensor, rtol: float, atol: float) -> Tensor:
    if not input.dtype.is_complex:
        input, other = input.double(), other.double()
    elif input.dtype.itemsize == 4:
        input, other = input.to(complex64), other.to(complex64)
    return _near(input, other, rtol, atol)


def _near(input: Tensor, other: Tensor, rtol: float, atol: float) -> Tensor:
    away = (input - other).abs()
    return (input == other) | (isfinite(away) & (away <= (other * rtol).abs() + atol))


@composite
@answered(
    "no_value",
    "vmap over torch.allclose isn't supported yet. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature.",
)
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close, see `isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite
@answered(
    "no_value",
    "Batching rule not implemented for aten::equal. We could not generate a fallback.",
)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and the same elements."""
    for at, value in (("input", input), ("other", other)):
        if not isinstance(value, _core.Tensor):
            place = 1 if at == "input" else 2
            raise TypeError(
                f"equal(): argument '{at}' (position {place}) must be Tensor, "
                f"not {type(value).__name__}"
            )
    for value in (input, other):
        of(value).check_values("equal")
    if input.shape != other.shape:
        return False
    return not anywhere(ne(input, other))


@composite
@answered("no_value", FLOW)
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero."""
    if input.numel() != 1:
        what = "with no values" if input.numel() == 0 else "with more than one value"
        raise RuntimeError(f"Boolean value of Tensor {what} is ambiguous")
    return input.item() != 0


@composite(method=False)
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return bool(input.is_inference())
