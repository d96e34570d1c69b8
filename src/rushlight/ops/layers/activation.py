"""Activation functions (torch.nn.functional): each one pass forwards and one backwards."""

from __future__ import annotations

import math
from typing import Any

from ... import _core
from ..._base.dtypes import float64
from ..._base.errors import not_implemented_for
from ..._base.outside import np
from ..._core import Op
from ..._devices import of
from ..._levels.running import draws
from ..elementwise.arithmetic import mul
from ..elementwise.elementary import abs, erf, exp, expm1, sigmoid, tanh
from ..elementwise.selection import unless, where
from ..layout.joining import cat
from ..making.creation import empty_like
from ..random.samples import rand
from ..table.arrays import Array, dim_in, refuse
from ..table.formulas import Symbol, Untraceable
from ..table.kinds import composite, general, pointwise, variant
from ..table.reference import add_method, alias
from ..table.samples import one, pair, three
from ..table.signature import Flag, Number, Tensor

_NOT_FLOAT = "bool int complex"
_CLAMP_COMPLEX = {"complex": "clamp is not supported for complex types"}


def _activation(
    signature: str,
    *,
    torch: bool = False,
    method: bool = False,
    written: str = "function",
    below_zero: tuple[str, str] | None = None,
    in_place_node: str | None = None,
    **more: Any,
) -> Op:
    """An activation in nn.functional, with its in-place variant; `torch`: in torch.* too.

    written: "" where that is no function (`inplace=True` alone). in_place_node: its class of node,
    where PyTorch differentiates it by the result. below_zero: the parameter that must not be
    negative there, and torch's name of what refuses.
    """
    more.setdefault("samples", one)
    where = "nn torch" if torch else "nn"
    op = pointwise(signature, where=where, method=method, in_place=False, **more)
    name = op.__name__
    if "inplace" in op.params:
        form = _core.make_in_place(op, f"{name}_", *([in_place_node] if in_place_node else []))
        form.entry = op.entry
        variant(op, "inplace", "equals", form, True)
        if below_zero:
            _refuse_below_zero(form, in_place_node, *below_zero)
        if written:
            alias(f"{name}_", form, method=False, where=where)
        if method:
            add_method(f"{name}_", form)
    return op


def _refuse_below_zero(form: Op, node: str | None, param: str, said: str) -> None:
    """Written in place with a negative slope, the result no longer tells where input was negative:
    as in torch, there is no gradient."""
    op = form.entry.function
    text = (
        f"In-place {said} backward calculation is triggered with a negative slope which is not "
        "supported. This is caused by calling in-place forward function with a negative slope, "
        "please call out-of-place version instead."
    )

    def no_gradient(g: Tensor) -> Any:
        if isinstance(g, Symbol):
            raise Untraceable("there is no gradient")
        raise RuntimeError(text)

    other = pointwise(
        "_" + op.entry.signature.replace("(", "_below_zero(", 1),
        forward=op.entry.traced_forward,
        reference=op.entry.reference,
        partials={"input": no_gradient},
        node=node,
        method=False,
        in_place=False,
        out=False,
        doc=f"`{form.__name__}` without a gradient.",
    )
    variant(form, param, "below", other, 0)


def _slope(kernel: str, formula: Any) -> Any:
    """A derivative that has a kernel: a formula of other ops, which the gradient of the gradient
    is computed by."""

    def slope(x: Any, *numbers: Any) -> Any:
        return x.trace.emit(kernel, x, *numbers) if isinstance(x, Symbol) else formula(x, *numbers)

    return slope


def _outside(input: Any, low: Any, high: Any) -> Any:
    if isinstance(input, Symbol):
        return input.trace.emit("outside", input, low, high)
    return (input <= low) | (input >= high)


def _backward_op(signature: str, forward: Any, slope: Any) -> Op:
    """The gradient of a function made of straight pieces, itself an op: linear in g, flat in input.

    Written as a mask, the gradient of the gradient would not depend on input at all; torch's does,
    and is zero.
    """
    name = signature.partition("(")[0]
    node = "".join(word.capitalize() for word in name.strip("_").split("_")) + "Backward0"
    names = [
        p.partition(":")[0].strip() for p in signature.partition("(")[2].rstrip(")").split(",")
    ]
    return pointwise(
        signature,
        forward=forward,
        numbers_round=name == "_shrink_backward",
        partials={"grad": slope, names[1]: 0},
        node=node,
        method=False,
        in_place=False,
        samples=lambda make: [(make(2, 3), make(2, 3), *([0.25, 0.75][: len(names) - 2]))],
        doc=f"The gradient of `{name.strip('_').removesuffix('_backward')}`.",
    )


# ---- cut at a point

_threshold_backward = _backward_op(
    "_threshold_backward(grad: Tensor, input: Tensor, threshold: Number)",
    lambda grad, input, threshold: where(input <= threshold, 0, grad),
    lambda input, threshold: ~(input <= threshold),
)
_hardtanh_backward = _backward_op(
    "_hardtanh_backward(grad: Tensor, input: Tensor, low: Number, high: Number)",
    lambda grad, input, low, high: where(_outside(input, low, high), 0, grad),
    lambda input, low, high: ~_outside(input, low, high),
)
_shrink_backward = _backward_op(
    "_shrink_backward(grad: Tensor, input: Tensor, lambd: Number)",
    lambda grad, input, lambd: where(abs(input) <= lambd, 0, grad),
    lambda input, lambd: ~(abs(input) <= lambd),
)


def _shrunk(g: Tensor | Symbol, input: Tensor | Symbol, lambd: Symbol | float) -> Tensor:
    if isinstance(g, Symbol):
        raise Untraceable("lambd is rounded with halves")
    return _shrink_backward(g, input, lambd)


_leaky_relu_backward: Any = _backward_op(
    "_leaky_relu_backward(grad: Tensor, input: Tensor, slope: Number)",
    lambda grad, input, slope: where(input > 0, grad, grad * slope),
    lambda g, input, slope: _leaky_relu_backward(g, input, slope),
)

relu = _activation(
    "relu(input: Tensor, inplace: bool = False)",
    torch=True,
    method=True,
    reference=lambda a, inplace: np.maximum(a, a.dtype.type(0)),
    partials={"input": lambda g, out: _threshold_backward(g, out, 0)},
    refuses={"bool": (RuntimeError, "Boolean inputs not supported for relu")} | _CLAMP_COMPLEX,
    kernel_name="clamp_min_scalar_cpu",
    doc="max(input, 0).",
)


def _hardtanh_reference(a: Array, low: float, high: float, inplace: bool) -> Any:
    if a.dtype.kind == "u" and low < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return np.minimum(np.maximum(a, low), high).astype(a.dtype, copy=False)


hardtanh = _activation(
    "hardtanh(input: Tensor, min_val: Number = -1.0, max_val: Number = 1.0, inplace: bool = False)",
    kernel="clamp",
    reference=_hardtanh_reference,
    reference_for="byte",
    partials={
        "input": lambda g, input, min_val, max_val: _hardtanh_backward(g, input, min_val, max_val)
    },
    refuses={"bool": (RuntimeError, "Bool inputs not supported for hardtanh")} | _CLAMP_COMPLEX,
    keeps="strides: input",
    doc="input cut off below min_val and above max_val.",
)


@composite(where="nn", samples=one)
def relu6(input: Tensor, inplace: Flag = False) -> Tensor:
    """min(max(input, 0), 6)."""
    return hardtanh(input, 0.0, 6.0, inplace)


def _above(a: Array, threshold: float, value: float, inplace: bool) -> Array:
    return np.where(a <= threshold, value, a).astype(a.dtype)


threshold: Any = _activation(
    "threshold(input: Tensor, threshold: Number, value: Number, inplace: bool = False)",
    in_place_node="ThresholdBackward1",
    torch=True,
    forward=lambda input, threshold, value: where(input <= threshold, value, input),
    overlap="self",
    reference=_above,
    partials={"input": lambda g, input, threshold: _threshold_backward(g, input, threshold)},
    refuses={"bool complex": "threshold_cpu"},
    numbers_fit=True,
    samples=lambda make: [(make(2, 3), 0.3, -1.5), (make(), 0.0, 2.0)],
    doc="input where it is above the threshold, else `value`.",
)
_threshold = threshold  # its name in traced programs
leaky_relu = _activation(
    "leaky_relu(input: Tensor, negative_slope: Number = 0.01, inplace: bool = False)",
    in_place_node="LeakyReluBackward1",
    below_zero=("negative_slope", "leakyReLu"),
    forward=lambda input, negative_slope: where(input > 0, input, input * negative_slope),
    reference=lambda a, slope, inplace: np.where(a > 0, a, a * a.dtype.type(slope)),
    partials={
        "input": lambda g, input, negative_slope: _leaky_relu_backward(g, input, negative_slope)
    },
    refuses={_NOT_FLOAT: "leaky_relu_cpu"},
    doc="input above 0, negative_slope * input below.",
)
_prelu_kernel = pointwise(
    "_prelu_kernel(input: Tensor, weight: Tensor)",
    forward=lambda input, weight: where(input > 0, input, input * weight),
    reference=lambda a, weight: np.where(a > 0, a, weight * a),
    partials={
        "input": lambda input, weight: where(input > 0, 1, weight),
        "weight": lambda g, input: where(input > 0, 0, g * input),
    },
    refuses={_NOT_FLOAT: "prelu_cpu"},
    method=False,
    in_place=False,
    node="PreluKernelBackward0",
    samples=lambda make: [(make(2, 3), make(1, 3))],
    doc="`prelu` with a weight that broadcasts.",
)


@composite(
    where="torch nn",
    samples=lambda make: [(make(2, 3, 4), make(3)), (make(2, 3), make(1)), (make(4), make())],
    autocast="low",
)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input above 0, weight * input below; one weight, or one a channel (dimension 1)."""
    sizes, count = input.shape, weight.numel()
    common = len(sizes) > 1 and weight.ndim == 1 and count in (1, sizes[1])
    if common and input.dtype is weight.dtype:
        return _prelu_kernel(input, weight.view(1, count, *(1,) * (len(sizes) - 2)))
    if weight.dim() > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{weight.dim()}. Flatten it first."
        )
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.scalar_name} and "
            f"{weight.dtype.scalar_name}"
        )
    if weight.dim() == 0 or (weight.numel() == 1 and input.dim() <= 1):
        return _prelu_kernel(
            input, weight.reshape(()) if weight.dim() and not input.dim() else weight
        )
    if input.dim() == 0:
        raise RuntimeError("Not allow zero-dim input tensor.")
    raise RuntimeError(
        "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
        f"{count} and channel size = {sizes[1] if len(sizes) > 1 else 1}."
    )


# ---- exponential below 0


def _exp_below(x: Tensor | Symbol) -> Tensor | Symbol:
    """exp(x) below 0, for `where` to choose: what is not chosen must have finite derivatives too,
    where there will be any."""
    return exp(x if isinstance(x, Symbol) else unless(x >= 0, x, 0))


def _elu(x: Symbol, alpha: float, scale: float) -> Any:
    return where(x > 0, x * scale, expm1(x) * (alpha * scale))


def _elu_slope(x: Tensor | Symbol, alpha: float, scale: float) -> Tensor | Symbol:
    return where(x > 0, scale, _exp_below(x) * (alpha * scale))


def _elu_reference(a: Array, alpha: float, scale: float) -> Array:
    return np.where(a > 0, a * scale, np.expm1(a) * (alpha * scale)).astype(a.dtype)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

elu = _activation(
    "elu(input: Tensor, alpha: Number = 1.0, inplace: bool = False)",
    in_place_node="EluBackward1",
    below_zero=("alpha", "elu"),
    forward=lambda input, alpha: where(input > 0, input, expm1(input) * alpha),
    reference=lambda a, alpha, inplace: _elu_reference(a, alpha, 1.0),
    partials={"input": lambda input, alpha: where(input > 0, 1, _exp_below(input) * alpha)},
    refuses={_NOT_FLOAT: "elu_cpu"},
    doc="input above 0, alpha * (e ** input - 1) below.",
)
selu = _activation(
    "selu(input: Tensor, inplace: bool = False)",
    in_place_node="EluBackward1",
    torch=True,
    forward=lambda input: _elu(input, _SELU_ALPHA, _SELU_SCALE),
    reference=lambda a, inplace: _elu_reference(a, _SELU_ALPHA, _SELU_SCALE),
    partials={"input": lambda input: _elu_slope(input, _SELU_ALPHA, _SELU_SCALE)},
    refuses={_NOT_FLOAT: "elu_cpu"},
    node="EluBackward0",
    doc="`elu`, scaled so that mean 0 and variance 1 are kept from layer to layer.",
)
celu = _activation(
    "celu(input: Tensor, alpha: Number = 1.0, inplace: bool = False)",
    in_place_node="CeluBackward1",
    below_zero=("alpha", "elu"),
    torch=True,
    forward=lambda input, alpha: where(input > 0, input, expm1(input / alpha) * alpha),
    reference=lambda a, alpha, inplace: np.where(a > 0, a, np.expm1(a / alpha) * alpha).astype(
        a.dtype
    ),
    partials={"input": lambda input, alpha: where(input > 0, 1, _exp_below(input / alpha))},
    refuses={_NOT_FLOAT: "elu_cpu"},
    doc="input above 0, alpha * (e ** (input / alpha) - 1) below.",
)


def _no_alpha(a: object, alpha: object, inplace: bool) -> Any:
    raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


_celu_of_zero = pointwise(
    "_celu_of_zero(input: Tensor, alpha: Number, inplace: bool = False)",
    reference=_no_alpha,
    method=False,
    in_place=False,
    out=False,
    doc="`celu` with alpha 0, which has no value.",
)
for _zero in (0, 0.0):
    variant(celu, "alpha", "equals", _celu_of_zero, _zero)

# ---- smooth gates

_INV_SQRT2, _INV_SQRT_2PI = 1 / math.sqrt(2.0), 1 / math.sqrt(2.0 * math.pi)
_GELU_BETA, _GELU_KAPPA = math.sqrt(2.0 / math.pi), 0.044715


def _gelu_tanh(x: Tensor) -> Tensor:
    return tanh(_GELU_BETA * (x + _GELU_KAPPA * (x * x * x)))


def _gelu_tanh_formula(x: Tensor) -> Tensor:
    t = _gelu_tanh(x)
    inner = _GELU_BETA * (1 + (3 * _GELU_KAPPA) * (x * x))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner


def _gelu_reference(a: Array, approximate: str) -> Any:
    if approximate == "tanh":
        return (
            0.5
            * a
            * (1 + np.tanh(a.dtype.type(_GELU_BETA) * (a + a.dtype.type(_GELU_KAPPA) * a**3)))
        )
    return 0.5 * a * (1 + erf(_core.wrap(np.asarray(a * a.dtype.type(_INV_SQRT2))))._array)


_GELU = {_NOT_FLOAT: "GeluKernelImpl"}

_gelu_slope = _slope(
    "gelu_slope",
    lambda x: 0.5 * (1 + erf(x * _INV_SQRT2)) + x * (_INV_SQRT_2PI * exp(-0.5 * (x * x))),
)

gelu = _activation(
    "gelu(input: Tensor, *, approximate: str = 'none')",
    reference=_gelu_reference,
    partials={"input": lambda input: _gelu_slope(input)},
    refuses=_GELU,
    out="found",
    doc="input times the normal distribution function of input; approximate 'tanh' is faster.",
)
_gelu_tanh_slope = _slope("gelu_tanh_slope", _gelu_tanh_formula)

_gelu_by_tanh = pointwise(
    "_gelu_by_tanh(input: Tensor, *, approximate: str = 'none')",
    kernel="gelu_tanh",
    reference=lambda a, approximate: _gelu_reference(a, "tanh"),
    partials={"input": lambda input: _gelu_tanh_slope(input)},
    refuses=_GELU,
    node="GeluBackward0",
    method=False,
    in_place=False,
    out="found",
    samples=one,
    doc="`gelu` by its tanh approximation.",
)


def _gelu_checked(a: Array, approximate: str) -> Any:
    if approximate != "none":
        raise RuntimeError(
            f"approximate argument must be either none or tanh. Got '{approximate}'; "
            "write approximate='tanh' for the fast form."
        )
    return _gelu_reference(a, approximate)


_gelu_given = pointwise(
    "_gelu_given(input: Tensor, *, approximate: str = 'none')",
    reference=_gelu_checked,
    partials=gelu.entry.partials,
    refuses=_GELU,
    node="GeluBackward0",
    method=False,
    in_place=False,
    out="found",
    samples=one,
    doc="`gelu` with an `approximate` that is looked at.",
)
variant(gelu, "approximate", "equals", _gelu_by_tanh, "tanh")
variant(gelu, "approximate", "given", _gelu_given)


def _silu_formula(x: Tensor) -> Tensor:
    s = sigmoid(x)
    return s * (1 + x * (1 - s))


_silu_slope = _slope("silu_slope", _silu_formula)

silu = _activation(
    "silu(input: Tensor, inplace: bool = False)",
    written="",
    reference=lambda a, inplace: a / (1 + np.exp(-a)),
    partials={"input": lambda input: _silu_slope(input)},
    refuses={"bool int": "silu_cpu"},
    doc="input * sigmoid(input), also called swish.",
)


def _mish_formula(x: Tensor) -> Tensor:
    t = tanh(softplus(x))
    return t + x * sigmoid(x) * (1 - t * t)


_mish_slope = _slope("mish_slope", _mish_formula)

mish = _activation(
    "mish(input: Tensor, inplace: bool = False)",
    written="",
    reference=lambda a, inplace: a * np.tanh(np.logaddexp(a, a.dtype.type(0))),
    partials={"input": lambda input: _mish_slope(input)},
    refuses={_NOT_FLOAT: "mish_cpu"},
    doc="input * tanh(softplus(input)).",
)
_softplus_slope = _slope(
    "softplus_slope",
    lambda x, beta, threshold: where(x * beta > threshold, 1, sigmoid(x * beta)),
)
_logsigmoid_slope = _slope("logsigmoid_slope", lambda x: sigmoid(-x))

softplus = _activation(
    "softplus(input: Tensor, beta: Number = 1.0, threshold: Number = 20.0)",
    reference=lambda a, beta, threshold: np.where(
        a * beta > threshold, a, np.log1p(np.exp(a * beta)) / beta
    ).astype(a.dtype),
    partials={"input": lambda input, beta, threshold: _softplus_slope(input, beta, threshold)},
    refuses={_NOT_FLOAT: "softplus_cpu"},
    out="found",
    autocast="float32 there",
    doc="log(1 + e ** (beta * input)) / beta, a smooth relu; input itself above the threshold.",
)
logsigmoid = _activation(
    "logsigmoid(input: Tensor)",
    reference=lambda a: np.minimum(a, 0) - np.log1p(np.exp(-np.abs(a))),
    partials={"input": lambda input: _logsigmoid_slope(input)},
    refuses={_NOT_FLOAT: "log_sigmoid_cpu"},
    node="LogSigmoidBackward0",
    out="expected scalar type {want.scalar_name} but found {got.scalar_name}",
    keeps="rows",
    doc="log(sigmoid(input)) without overflow.",
)


@composite(where="nn", samples=one)
def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""
    return input / (abs(input) + 1)


@composite(where="nn", samples=one)
def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input)."""
    return input - tanh(input)


# ---- straight pieces

_softshrink = pointwise(
    "_softshrink(input: Tensor, lambd: Number = 0.5)",
    kernel="softshrink",
    reference=lambda a, lambd: np.where(
        a > lambd, a - lambd, np.where(a < -lambd, a + lambd, a * 0)
    ).astype(a.dtype),
    partials={"input": lambda g, input, lambd: _shrunk(g, input, lambd)},
    refuses={_NOT_FLOAT: "softshrink_check"},
    node="SoftshrinkBackward0",
    method=False,
    in_place=False,
    out="found",
    samples=one,
    doc="`softshrink` of a lambd that was looked at.",
)


@composite(where="nn", samples=one, out="found")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input pulled towards 0 by lambd, and 0 within."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd:g}.")
    return _softshrink(input, lambd)


hardshrink = _activation(
    "hardshrink(input: Tensor, lambd: Number = 0.5)",
    torch=True,
    method=True,
    reference=lambda a, lambd: np.where((a >= -lambd) & (a <= lambd), 0, a).astype(a.dtype),
    numbers_round=True,
    partials={"input": lambda g, input, lambd: _shrunk(g, input, lambd)},
    refuses={_NOT_FLOAT: "hardshrink_cpu"},
    out="found",
    doc="input outside of [-lambd, lambd], 0 inside.",
)
_SIXTH = 0.1666666716337204  # in single precision whatever the type, as torch has it
hardsigmoid = _activation(
    "hardsigmoid(input: Tensor, inplace: bool = False)",
    written="",
    forward=lambda input: hardtanh(input + 3, 0, 6) / 6,
    reference=lambda a, inplace: np.clip(a + 3, 0, 6) / 6,
    partials={"input": lambda g, input: _hardtanh_backward(g * _SIXTH, input, -3, 3)},
    refuses={_NOT_FLOAT: "hardsigmoid_cpu"},
    doc="A sigmoid of three straight pieces.",
)
_hardswish_slope = _slope(
    "hardswish_slope", lambda x: where(x <= -3, 0, where(x < 3, x / 3 + 0.5, 1))
)
hardswish = _activation(
    "hardswish(input: Tensor, inplace: bool = False)",
    written="",
    reference=lambda a, inplace: a * np.clip(a + 3, 0, 6) / 6,
    partials={"input": lambda g, input: where(input <= -3, 0, g * _hardswish_slope(input))},
    refuses={_NOT_FLOAT: "hardswish_cpu"},
    doc="input * hardsigmoid(input).",
)

# ---- randomised, gated


@draws()
def _drawn_slopes(input: Tensor, lower: Number, upper: Number) -> Tensor:
    """1, and a number drawn from [lower, upper) for each element that is not above 0."""
    if not of(input).has_memory:
        return empty_like(input)
    refuse("rrelu_with_noise_out_cpu", input._form, "biuc")
    if of(input).makes:
        drawn = rand(input.shape, dtype=input.dtype, device=input.device)
        return where(input > 0, 1.0, drawn * (upper - lower) + lower)
    below = input._seen <= 0
    slopes = np.ones(below.shape, input.dtype.numpy)
    noise = rand(int(below.sum()), dtype=float64)._array
    slopes[below] = noise * (upper - lower) + lower
    return _core.wrap(slopes)


@composite(where="nn torch", method=False, samples=one)
def rrelu(
    input: Tensor,
    lower: Number = 1.0 / 8,
    upper: Number = 1.0 / 3,
    training: bool = False,
    inplace: Flag = False,
) -> Tensor:
    """`leaky_relu` with slopes drawn from [lower, upper]; their middle when not training."""
    if training:
        slope = _drawn_slopes(input.detach(), lower, upper)
        return input.mul_(slope) if inplace else mul(input, slope)
    return _rrelu_middle(input, (lower + upper) / 2, inplace)


_rrelu_middle = pointwise(
    "_rrelu_middle(input: Tensor, slope: Number, inplace: bool = False)",
    forward=leaky_relu.entry.traced_forward,
    reference=lambda a, slope, inplace: np.where(a > 0, a, a * a.dtype.type(slope)),
    partials={"input": lambda g, input, slope: _leaky_relu_backward(g, input, slope)},
    refuses={_NOT_FLOAT: "leaky_relu_cpu"},
    node="RreluWithNoiseBackward0",
    method=False,
    in_place=False,
    samples=lambda make: [(make(2, 3), 0.2)],
    keeps="rows",
    doc="`rrelu` with the middle slope.",
)
_rrelu_middle_in_place = _core.make_in_place(_rrelu_middle, "rrelu_", "RreluWithNoiseBackward1")
_rrelu_middle_in_place.entry = _rrelu_middle.entry
variant(_rrelu_middle, "inplace", "equals", _rrelu_middle_in_place, True)
_refuse_below_zero(_rrelu_middle_in_place, "RreluWithNoiseBackward1", "slope", "leakyReLu")


def rrelu_(
    input: Tensor, lower: Number = 1.0 / 8, upper: Number = 1.0 / 3, training: bool = False
) -> Tensor:
    """In-place version of `rrelu`."""
    return rrelu(input, lower, upper, training, True)


alias("rrelu_", rrelu_, method=False, where="nn torch")


_gate: Op = pointwise(
    "_gate(input: Tensor, other: Tensor)",
    forward=lambda input, other: input * sigmoid(other),
    partials={
        "input": lambda other: sigmoid(other),
        "other": lambda g, input, other: _gate_slope(g, input, sigmoid(other)),
    },
    refuses={"complex": "glu_cpu"},
    method=False,
    in_place=False,
    samples=pair,
    doc="input * sigmoid(other).",
)
_gate_slope: Op = pointwise(
    "_gate_slope(grad: Tensor, input: Tensor, gate: Tensor)",
    forward=lambda grad, input, gate: grad * input * (gate * (1 - gate)),
    partials={
        "grad": lambda input, gate: input * (gate * (1 - gate)),
        "input": lambda grad, gate: grad * (gate * (1 - gate)),
        "gate": lambda grad, input, gate: grad * input * (1 - 2 * gate),
    },
    method=False,
    in_place=False,
    samples=three,
    doc="The gradient of input * gate for x, of which gate is the sigmoid.",
)


def _glu(input: Tensor, dim: int) -> Tensor:
    if input.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    at = dim_in(dim, input.ndim)
    size = input.shape[at]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {at} is size {size}")
    if not input.dtype.is_floating_point:
        not_implemented_for("glu_cpu", input.dtype.scalar_name)
    left, right = input.chunk(2, dim)
    return _gate(left, right)


def _glu_vjp(g: Tensor, input: Tensor, dim: int) -> Tensor:
    left, right = input.chunk(2, dim)
    gate = sigmoid(right)
    return cat([g * gate, _gate_slope(g, left, gate)], dim)


glu = general(
    "glu(input: Tensor, dim: int = -1)",
    is_=_glu,
    batch="along",
    vjp={"input": _glu_vjp},
    where="nn",
    samples=lambda make: [(make(2, 4),), (make(4, 3), 0)],
    formula={
        "input": "g ⊙ σ and g ⊙ a ⊙ σ ⊙ (1 − σ), σ = sigmoid(b), a and b = halves of input",
    },
    doc="The first half times the sigmoid of the second, along dim.",
)

alias("sigmoid", sigmoid, method=False, where="nn")
alias("tanh", tanh, method=False, where="nn")
