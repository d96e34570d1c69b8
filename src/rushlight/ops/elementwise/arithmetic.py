"""Arithmetic: sums, products, quotients, remainders, and the fused lerp, addcmul, addcdiv."""

from __future__ import annotations

from typing import Any

from ..._base.outside import np, ufuncs
from ..._core import Op
from ..table.arrays import Array
from ..table.formulas import Symbol, Untraceable
from ..table.kinds import composite, pointwise, variant
from ..table.names import set_operator
from ..table.reference import alias, is_float
from ..table.samples import one, pair, scalars_too, three
from ..table.signature import Tensor

# ---- sums

TWO_BOOLS = (
    RuntimeError,
    "Subtraction, the `-` operator, with two bool tensors is not supported. "
    "Use the `^` or `logical_xor()` operator instead.",
)
ONE_BOOL = (
    RuntimeError,
    "Subtraction, the `-` operator, with a bool tensor is not supported. "
    "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
)
_NO_BOOLS = {"bool": TWO_BOOLS, "any: bool": ONE_BOOL}


def _scaled(b: Array, alpha: float) -> Any:
    if isinstance(alpha, float) and b.dtype.kind in "iub":
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    return b * b.dtype.type(alpha)


add = pointwise(
    "add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1)",
    operator="add",
    reflected="radd",
    reference=lambda a, b, alpha: a + b,
    partials={"input": 1, "other": 1},
    numbers_round=True,
    samples=scalars_too,
    earlier="input alpha other",
    shared_write="shape",
    stored="complex32",
    kernel_name="add_stub",
    doc="Add: input + alpha * other.",
)
_add_scaled = pointwise(
    "_add_scaled(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1)",
    forward=lambda input, other, alpha: input + other * alpha,
    reference=lambda a, b, alpha: a + _scaled(b, alpha),
    partials={"input": 1, "other": lambda alpha: alpha},
    numbers_round=True,
    node="AddBackward0",
    method=False,
    in_place=False,
    samples=pair,
    doc="`add` with alpha.",
)
variant(add, "alpha", "given", _add_scaled)

sub = pointwise(
    "sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1)",
    operator="sub",
    reference=lambda a, b, alpha: a - b,
    partials={"input": 1, "other": -1},
    numbers_round=True,
    refuses=_NO_BOOLS,
    samples=scalars_too,
    earlier="input alpha other",
    shared_write="arithmetic",
    stored="complex32",
    kernel_name="add_stub",
    doc="Subtract: input - alpha * other.",
)
_sub_scaled = pointwise(
    "_sub_scaled(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1)",
    forward=lambda input, other, alpha: input - other * alpha,
    reference=lambda a, b, alpha: a - _scaled(b, alpha),
    partials={"input": 1, "other": lambda alpha: -alpha},
    numbers_round=True,
    refuses=_NO_BOOLS,
    node="SubBackward0",
    method=False,
    in_place=False,
    samples=pair,
    doc="`sub` with alpha.",
)
variant(sub, "alpha", "given", _sub_scaled)

rsub = pointwise(
    "rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1)",
    forward=lambda input, other: other - input,
    reference=lambda a, b, alpha: b - a,
    partials={"input": -1, "other": 1},
    numbers_round=True,
    refuses=_NO_BOOLS,
    method=False,
    in_place=False,
    samples=scalars_too,
    overloads=(
        "(input, other: Tensor, *, alpha)",
        "(input, other: Number, alpha)",
    ),
    doc="Subtract the other way round: other - alpha * input.",
)
_rsub_number = pointwise(
    "_rsub_number(input: Tensor, other: Tensor | Number, *, alpha: Number = 1)",
    operator="rsub",
    forward=lambda input, other: other - input,
    reference=lambda a, b, alpha: b - a,
    partials={"input": -1},
    numbers_round=True,
    refuses=_NO_BOOLS,
    node="RsubBackward1",
    method=False,
    in_place=False,
    samples=lambda make: [(make(2, 3), 1.5)],
    doc="`rsub` of a number.",
)
_rsub_scaled = pointwise(
    "_rsub_scaled(input: Tensor, other: Tensor | Number, *, alpha: Number = 1)",
    forward=lambda input, other, alpha: other - input * alpha,
    reference=lambda a, b, alpha: b - _scaled(a, alpha),
    partials={"input": lambda alpha: -alpha, "other": 1},
    numbers_round=True,
    refuses=_NO_BOOLS,
    node="RsubBackward0",
    method=False,
    in_place=False,
    samples=pair,
    doc="`rsub` with alpha.",
)
variant(rsub, "alpha", "given", _rsub_scaled)
variant(rsub, "other", "scalar", _rsub_number)

neg = pointwise(
    "neg(input: Tensor)",
    in_place="function",
    operator="neg",
    reference=ufuncs.negative,
    partials={"input": -1},
    refuses={
        "bool": (
            RuntimeError,
            "Negation, the `-` operator, on a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
        )
    },
    out="found",
    samples=one,
    stored="complex32",
    doc="The negative.",
)


@composite(operator="pos", samples=one, elementwise=True)
def positive(input: Tensor) -> Tensor:
    """input itself."""
    if input.dtype.name == "bool":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


# ---- products and quotients

mul = pointwise(
    "mul(input: Tensor | Number, other: Tensor | Number)",
    operator="mul",
    reflected="rmul",
    reference=ufuncs.multiply,
    partials={"input": lambda other: other, "other": lambda input: input},
    samples=scalars_too,
    shared_write="arithmetic",
    stored="all",
    doc="Multiply.",
)
reciprocal = pointwise(
    "reciprocal(input: Tensor)",
    in_place="function",
    dtype="float",
    reference=ufuncs.reciprocal,
    partials={"input": lambda out: -(out * out)},
    domain=(0.5, 2.0),
    samples=one,
    autocast="float32 there",
    doc="1 / input.",
)


def conj_of(value: Any) -> Any:
    """The conjugate, where that is something else."""
    if isinstance(value, complex) or (isinstance(value, Tensor) and value.dtype.is_complex):
        return value.conj() if isinstance(value, Tensor) else value.conjugate()
    return value


div = pointwise(
    "div(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = None)",
    operator="truediv",
    dtype="float",
    reference=lambda a, b, rounding_mode: np.true_divide(a, b),
    partials={
        "input": lambda g, other: g / conj_of(other),
        "other": lambda g, input, other: -g * conj_of((input / other) / other),
    },
    domain=(0.5, 2.0),
    samples=scalars_too,
    overloads=(
        "(input: Tensor, other: Tensor, *, out)",
        "(input: Tensor, other: Tensor, *, rounding_mode: str | None, out)",
        "(input: Tensor, other: Number, *, rounding_mode: str | None)",
    ),
    shared_write="arithmetic",
    doc="Divide; rounding_mode 'trunc' or 'floor' rounds the quotient.",
)


def _rtruediv(self: Tensor, other: float) -> Tensor:
    return reciprocal(self) * other


set_operator("rtruediv", _rtruediv, div.entry)


def _nonzero(b: Array) -> Array:
    if b.dtype.kind in "iu" and not b.all():
        raise RuntimeError("ZeroDivisionError. An integer tensor was divided by zero.")
    return b


def _trunc_quotient(a: Array, b: Array) -> Array:
    if is_float(a):
        return np.trunc(a / b)
    quotient = np.floor_divide(a, _nonzero(b))
    return quotient + ((np.remainder(a, b) != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


def _floor_quotient(a: Array, b: Array) -> Array:
    return np.floor_divide(a, _nonzero(b))


def _steps_down(a: Symbol, b: Symbol) -> Symbol:
    """As torch computes it with halves."""
    rest, whole = a.fmod(b), a / b
    quotient = (a - rest) / b - ((rest != 0) & ((b < 0) != (rest < 0)))
    down = quotient.floor()
    down = (down + (quotient - down > 0.5)).copysign(whole)
    return a.trace.emit("where", b == 0, whole, down)


def _rounded_div(mode: str, quotient: Any, halves: Any, how: str) -> Op:
    """`div` with a rounding_mode."""
    shared: dict[str, Any] = {
        "kernel": "floor_divide" if mode == "floor" else "trunc_divide",
        "reference": lambda a, b, rounding_mode: quotient(a, b),
        "refuses": {"bool complex": f"div_{mode}_cpu"},
        "divides": True,
        "method": False,
        "in_place": False,
        "domain": (0.5, 2.0),
    }
    op = pointwise(
        f"_div_{mode}(input: Tensor | Number, other: Tensor | Number, *, "
        "rounding_mode: str | None = None)",
        halves=halves,
        partials={"input": 0, "other": 0},
        node="DivBackward2",
        samples=scalars_too,
        doc=f"`div` rounded {how}.",
        **shared,
    )
    number = pointwise(
        f"_div_{mode}_number(input: Tensor | Number, other: Tensor | Number, *, "
        "rounding_mode: str | None = None)",
        partials={"input": 0},
        node="DivBackward3",
        samples=lambda make: [(make(2, 3), 1.5)],
        doc=f"`div` by a number, rounded {how}.",
        **shared,
    )
    variant(op, "other", "scalar", number)
    variant(div, "rounding_mode", "equals", op, mode)
    return op


div_floor = _rounded_div("floor", _floor_quotient, _steps_down, "down")
div_trunc = _rounded_div("trunc", _trunc_quotient, lambda a, b: (a / b).trunc(), "towards zero")


def _unknown_rounding(a: object, b: object, rounding_mode: object) -> Any:
    raise RuntimeError(
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' "
        f"but found '{rounding_mode}'"
    )


_div_unknown = pointwise(
    "_div_unknown(input: Tensor | Number, other: Tensor | Number, *, "
    "rounding_mode: str | None = None)",
    reference=_unknown_rounding,
    method=False,
    in_place=False,
    doc="`div` with a rounding_mode that there is not.",
)
variant(div, "rounding_mode", "given", _div_unknown)


def no_derivative(op: str) -> Any:
    def partial(input: Tensor | Symbol | int) -> Any:
        if isinstance(input, Symbol):
            raise Untraceable("no derivative")
        raise RuntimeError(
            f"derivative for aten::{op} is not implemented. "
            "Detach its arguments, or use an op that has one."
        )

    return partial


def _no_derivative_of_other(op: str) -> Any:
    raise_ = no_derivative(op)
    return lambda other: raise_(other)


def _division(
    name: str,
    kernel: str,
    reference: Any,
    node: str,
    partials: dict[str, Any],
    doc: str,
    **more: Any,
) -> Op:
    """A division to whole numbers, and its overload for a number, where zero is seen at once."""
    refuses = {"bool complex": f"{kernel}_cpu"}
    rounds = name != "floor_divide"
    traits = "underived" if node == "NotImplemented" else ""
    op = pointwise(
        f"{name}(input: Tensor | Number, other: Tensor | Number)",
        reference=reference,
        partials=partials,
        refuses=refuses,
        divides=True,
        numbers_round=rounds,
        node=node + more.pop("tensor_index", ""),
        domain=(0.5, 2.0),
        samples=scalars_too,
        traits=traits,
        doc=doc,
        **more,
    )
    parts = {key: p for key, p in partials.items() if key == "input"}
    index = "0" if node != "NotImplemented" else ""
    shared: dict[str, Any] = {
        "reference": reference,
        "partials": parts,
        "refuses": refuses,
        "divides": True,
        "numbers_round": rounds,
        "node": node + index,
        "method": False,
        "in_place": False,
        "domain": (0.5, 2.0),
    }
    number = pointwise(
        f"_{name}_number(input: Tensor | Number, other: Tensor | Number)",
        kernel=name,
        samples=lambda make: [(make(2, 3), 1.5)],
        traits=traits,
        doc=f"`{name}` by a number.",
        **shared,
    )
    variant(op, "other", "scalar", number)
    return op


floor_divide = _division(
    "floor_divide",
    "div_floor",
    _floor_quotient,
    "NotImplemented",
    {"input": no_derivative("floor_divide"), "other": no_derivative("floor_divide")},
    "Divide and round down.",
    overloads=("(input: Tensor, other: Tensor, *, out)", "(input: Tensor, other: Number)"),
    operator="floordiv",
    halves=_steps_down,
)
remainder = _division(
    "remainder",
    "remainder",
    lambda a, b: np.remainder(a, _nonzero(b)),
    "RemainderBackward",
    {"input": 1, "other": lambda input, other: -div_floor(input, other)},
    "What is left of dividing; it has the sign of `other`.",
    overloads=(
        "(input: Tensor, other: Tensor, *, out)",
        "(self: Number, other: Tensor)",
        "(input: Tensor, other: Number, *, out)",
    ),
    operator="mod",
    tensor_index="1",
)
fmod = _division(
    "fmod",
    "fmod",
    lambda a, b: np.fmod(a, _nonzero(b)),
    "FmodBackward",
    {"input": 1, "other": lambda input, other: -div_trunc(input, other)},
    "What is left of dividing; it has the sign of `input`.",
    overloads=("(input: Tensor, other: Tensor, *, out)", "(input: Tensor, other: Number, *, out)"),
    tensor_index="1",
)
_remainder_of_number = pointwise(
    "_remainder_of_number(input: Tensor | Number, other: Tensor | Number)",
    kernel="remainder",
    reference=lambda a, b: np.remainder(a, _nonzero(b)),
    divides=True,
    numbers_round=True,
    partials={"other": _no_derivative_of_other("remainder")},
    refuses={"bool complex": "remainder_cpu"},
    node="NotImplemented",
    method=False,
    in_place=False,
    doc="`remainder` of a number.",
)
variant(remainder, "input", "scalar", _remainder_of_number)
set_operator("rfloordiv", lambda self, other: floor_divide(other, self), floor_divide.entry)
set_operator("rmod", lambda self, other: remainder(other, self), remainder.entry)

# ---- fused

_LERP = {"bool int": "lerp_kernel_tensor"}


def _lerp_reference(a: Array, b: Array, w: Array | float) -> Array:
    return np.where(np.abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w))


lerp = pointwise(
    "lerp(input: Tensor, end: Tensor, weight: Tensor | Number)",
    reference=_lerp_reference,
    partials={
        "input": lambda weight: 1 - weight,
        "end": lambda weight: weight,
        "weight": lambda input, end: end - input,
    },
    refuses=_LERP,
    one_type=True,
    node="LerpBackward1",
    out="found",
    samples=three,
    overloads=(
        "(input, end, weight: Tensor, *, out)",
        "(input, end, weight: Number, *, out)",
    ),
    doc="input + weight * (end - input).",
)
_lerp_number = pointwise(
    "_lerp_number(input: Tensor, end: Tensor, weight: Number)",
    kernel="lerp",
    reference=_lerp_reference,
    partials={"input": lambda weight: 1 - weight, "end": lambda weight: weight},
    refuses={"bool int": "lerp_kernel_scalar"},
    one_type=True,
    node="LerpBackward0",
    method=False,
    in_place=False,
    samples=lambda make: [(make(2, 3), make(3), 0.3)],
    doc="`lerp` with a number for the weight.",
)
variant(lerp, "weight", "scalar", _lerp_number)

_ADDCMUL = {"bool": "addcmul_cpu_out"}
_ADDCDIV = {
    "bool int": (
        RuntimeError,
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv "
        "will perform a true division of tensor1 and tensor2. Cast them to a floating type first.",
    )
}

addcmul = pointwise(
    "addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1)",
    forward=lambda input, tensor1, tensor2: input + tensor1 * tensor2,
    reference=lambda a, b, c, value: a + b * c,
    partials={"input": 1, "tensor1": lambda tensor2: tensor2, "tensor2": lambda tensor1: tensor1},
    refuses=_ADDCMUL,
    samples=three,
    earlier="input value tensor1 tensor2",
    stored="complex32",
    autocast="widest there",
    doc="input + value * tensor1 * tensor2.",
)
_addcmul_scaled = pointwise(
    "_addcmul_scaled(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1)",
    forward=lambda input, tensor1, tensor2, value: input + value * tensor1 * tensor2,
    reference=lambda a, b, c, value: a + a.dtype.type(value) * b * c,
    partials={
        "input": 1,
        "tensor1": lambda tensor2, value: tensor2 * value,
        "tensor2": lambda tensor1, value: tensor1 * value,
    },
    refuses=_ADDCMUL,
    node="AddcmulBackward0",
    method=False,
    in_place=False,
    samples=lambda make: [(*args, {"value": 0.5}) for args in three(make)],
    doc="`addcmul` with a value.",
)
variant(addcmul, "value", "given", _addcmul_scaled)
addcdiv = pointwise(
    "addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1)",
    forward=lambda input, tensor1, tensor2: input + tensor1 / tensor2,
    reference=lambda a, b, c, value: a + b / c,
    partials={
        "input": 1,
        "tensor1": lambda tensor2: 1 / tensor2,
        "tensor2": lambda tensor1, tensor2: -tensor1 / (tensor2 * tensor2),
    },
    refuses=_ADDCDIV,
    domain=(0.5, 2.0),
    samples=three,
    earlier="input value tensor1 tensor2",
    kernel_name="addcdiv_cpu_out",
    autocast="widest there",
    doc="input + value * tensor1 / tensor2.",
)
_addcdiv_scaled = pointwise(
    "_addcdiv_scaled(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1)",
    forward=lambda input, tensor1, tensor2, value: input + value * tensor1 / tensor2,
    reference=lambda a, b, c, value: a + value * b / c,
    partials={
        "input": 1,
        "tensor1": lambda tensor2, value: value / tensor2,
        "tensor2": lambda tensor1, tensor2, value: -value * tensor1 / (tensor2 * tensor2),
    },
    refuses=_ADDCDIV,
    node="AddcdivBackward0",
    method=False,
    in_place=False,
    domain=(0.5, 2.0),
    samples=lambda make: [(*args, {"value": 0.5}) for args in three(make)],
    doc="`addcdiv` with a value.",
)
variant(addcdiv, "value", "given", _addcdiv_scaled)

# ---- whole numbers

for _name in ("gcd", "lcm"):
    pointwise(
        f"{_name}(input: Tensor, other: Tensor)",
        reference=getattr(ufuncs, _name),
        refuses={"bool float complex": f"{_name}_cpu"},
        in_place="function",
        samples=lambda make: [(make(2, 3, kind="int"), make(2, 3, kind="int"))],
        shared_write="shape",
        doc=f"The {'greatest common divisor' if _name == 'gcd' else 'least common multiple'}.",
    )


alias("multiply", mul)
alias("subtract", sub)
alias("divide", div)
alias("true_divide", div)
alias("negative", neg)
