"""Normalisation: batch, layer, group, instance, root-mean-square and local response.

`_native_layer_norm`, `_native_batch_norm` and `_native_group_norm` compute a layer in one call and
have fused gradients; their rules say the same in terms of other functions, from the input alone, so
that they can be differentiated again. Instance normalisation is batch normalisation in another
shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._base.dtypes import finfo, float32
from ..._base.outside import np
from ..._core import Tensor
from ..table.arrays import Array, listed, refuse, rounded, widened
from ..table.kinds import composite, general
from ..table.reference import alias
from ..table.signature import Ints, Number, Sizes
from .average_pooling import avg_pool2d, avg_pool3d
from .padding import pad

_kernels = _core.kernels

# The gradient of what is standardized, in formulas.
_STANDARDIZED = "(h − mean(h) − x̂ ⊙ mean(h ⊙ x̂)) / σ, h = g ⊙ weight, x̂ = (input − μ) / σ"


# ---- layer norm


def _layer_norm(
    x: Array, n: int, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, ...]:
    refuse("LayerNormKernelImpl", x, "biuc")
    dims = tuple(range(x.ndim - n, x.ndim))
    wide = widened(x)
    mean = wide.mean(dims, keepdims=True)
    centred = wide - mean
    with np.errstate(divide="ignore", invalid="ignore"):
        rstd = 1 / np.sqrt((centred * centred).mean(dims, keepdims=True) + wide.dtype.type(eps))
        y = centred * rstd
    if weight is not None:
        y = y * widened(weight)
    if bias is not None:
        y = y + widened(bias)
    return rounded(y, x), rounded(mean, x), rounded(rstd, x)


def _wide(t: Tensor) -> Tensor:
    """A tensor for a gradient: halves as float32, so that it is rounded once, when it is done."""
    return t.float() if t is not None and t.dtype.itemsize == 2 else t


def _standard(x: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """x less its mean, over its deviation; and one over the deviation."""
    x = _wide(x)
    centred = x - x.mean(dims, keepdim=True)
    rstd = ((centred * centred).mean(dims, keepdim=True) + eps).rsqrt()
    return centred * rstd, rstd


def _standard_vjp(g: Tensor, x: Tensor, dims: tuple[int, ...], eps: float) -> Any:
    """The gradient of x through `_standard`."""
    hat, rstd = _standard(x, dims, eps)
    g = _wide(g)
    return rstd * (g - g.mean(dims, keepdim=True) - hat * (g * hat).mean(dims, keepdim=True))


def _last(n: int) -> tuple[int, ...]:
    return tuple(range(-n, 0))


_native_layer_norm = general(
    "_native_layer_norm(input: Tensor, n: Any, weight: Tensor | None = None, "
    "bias: Tensor | None = None, eps: Any = 1e-05)",
    _layer_norm,
    native=_kernels.layer_norm,
    vjp={
        "input": lambda g, input, n, weight, eps: _standard_vjp(
            g if weight is None else _wide(g) * weight, input, _last(n), eps
        ),
        "weight": lambda g, input, n, eps: _wide(g) * _standard(input, _last(n), eps)[0],
        "bias": lambda g: _wide(g),
    },
    backward=(_kernels.layer_norm_backward, "g input n out1 out2 weight needs eps"),
    node="NativeLayerNormBackward0",
    method=False,
    first_only=True,
    samples=lambda make: [
        (make(2, 3, 4), 1, make(4), make(4)),
        (make(2, 3, 4), 2, make(3, 4), None),
        (make(3, 4), 1),
    ],
    formula={
        "input": _STANDARDIZED,
        "weight": "(input − μ) / σ",
    },
    doc="Layer normalisation over the last n dimensions: the result, the means, one over the "
    "deviations.",
)


def _check_normalized(input: Tensor, shape: Any, weight: Any, bias: Any) -> None:
    if isinstance(shape, int):
        raise TypeError(
            "layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int"
        )
    n = len(shape)
    if not n:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, "
            "but got normalized_shape = []"
        )
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and tuple(part.shape) != tuple(shape):
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{listed(part.shape)} and normalized_shape = {listed(shape)}"
            )
    _check_types(input, weight, bias)
    if input.ndim < n or tuple(input.shape[input.ndim - n :]) != tuple(shape):
        raise RuntimeError(
            f"Given normalized_shape={listed(shape)}, expected input with shape "
            f"[*, {listed(shape)[1:]}, but got input of size{listed(input.shape)}"
        )


def _check_types(input: Tensor, *parts: Any) -> None:
    """Parameters have the input's type; with halves they may be float32, all of them."""
    parts = tuple(part for part in parts if part is not None)
    if all(part.dtype is input.dtype for part in parts):
        return
    first, other = parts[0].dtype, next(p.dtype for p in parts if p.dtype is not input.dtype)
    if first is input.dtype:
        why = f"expected scalar type {input.dtype.scalar_name} but found {other.scalar_name}."
    elif any(part.dtype.name != "float32" for part in parts):
        why = "mixed dtype (CPU): expect parameter to have scalar type of Float."
    elif input.dtype.itemsize != 2:
        why = "mixed dtype (CPU): all inputs must share same datatype."
    else:
        return
    raise RuntimeError(f"{why} The input is {input.dtype}, a parameter {other}.")


@composite(where="nn", autocast="float32 there", remembers=True)
def layer_norm(
    input: Tensor,
    normalized_shape: Sizes,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, then weight and bias."""
    _check_normalized(input, normalized_shape, weight, bias)
    return _core.remember(_native_layer_norm, input, len(normalized_shape), weight, bias, eps)[0]


def _torch_layer_norm(
    input: Tensor,
    normalized_shape: Sizes,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, then weight and bias."""
    return layer_norm(input, normalized_shape, weight, bias, eps)


def native_layer_norm(
    input: Tensor, normalized_shape: Sizes, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """`layer_norm` with the means and one over the deviations."""
    _check_normalized(input, normalized_shape, weight, bias)
    return _native_layer_norm(input, len(normalized_shape), weight, bias, eps)


@composite(where="nn torch", method=False, autocast="float32 there")
def rms_norm(
    input: Tensor, normalized_shape: Sizes, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """input over the root of the mean of its squares over the last dimensions, times weight."""
    n = len(normalized_shape)
    if input.ndim < n or tuple(input.shape[input.ndim - n :]) != tuple(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={listed(normalized_shape)}, expected input with shape "
            f"[*{listed(normalized_shape)[1:]}, but got input of size{listed(input.shape)}"
        )
    x = input.float() if input.dtype.itemsize == 2 else input
    if eps is None:
        eps = finfo(x.dtype).eps
    result = x * ((x * x).mean(_last(n), keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if result.dtype is input.dtype else result.to(input.dtype)


# ---- batch norm


def _channel(a: Array | None, ndim: int) -> Any:
    """Values of channels, shaped to broadcast over (batch, channels, ...)."""
    return None if a is None else widened(a).reshape(-1, *(1,) * (ndim - 2))


def _batch_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    momentum: float | None,
    eps: float,
) -> tuple[Array, ...]:
    refuse("batch_norm", x, "biuc")
    wide = widened(x)
    dims = (0, *range(2, x.ndim))
    if training:
        n = x.size // max(x.shape[1], 1)
        # Of nothing 0 rather than nan, so that what is computed from them stays finite.
        mean, var = (wide.mean(dims), wide.var(dims)) if n else (np.zeros(x.shape[1]),) * 2
        if momentum is not None and n:
            if running_mean is not None:
                running_mean += ((mean - running_mean) * momentum).astype(running_mean.dtype)
            if running_var is not None:
                unbiased = var * (n / max(n - 1, 1))
                running_var += ((unbiased - running_var) * momentum).astype(running_var.dtype)
    else:
        mean, var = widened(running_mean), widened(running_var)  # type: ignore[arg-type]
    mean, var = mean.astype(wide.dtype, copy=False), var.astype(wide.dtype, copy=False)
    rstd = 1 / np.sqrt(var + wide.dtype.type(eps))
    scale = rstd if weight is None else rstd * widened(weight)
    shift = -mean * scale if bias is None else widened(bias) - mean * scale
    y = wide * _channel(scale, x.ndim)
    y += _channel(shift, x.ndim)
    return rounded(y, x), mean, rstd


def _per_channel(t: Tensor, ndim: int) -> Any:
    return t.reshape([-1 if i == 1 else 1 for i in range(ndim)])


def _over(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


def _batch_norm_input(
    g: Tensor, input: Tensor, weight: Tensor | None, running_var: Any, training: bool, eps: float
) -> Any:
    g = _wide(g)
    if weight is not None:
        g = g * _per_channel(weight, input.ndim)
    if training:
        return _standard_vjp(g, input, _over(input.ndim), eps)
    return g * _per_channel((running_var + eps).rsqrt(), input.ndim)


def _batch_norm_weight(
    g: Tensor, input: Tensor, running_mean: Any, running_var: Any, training: bool, eps: float
) -> Any:
    n = input.ndim
    if training:
        hat = _standard(input, _over(n), eps)[0]
    else:
        rstd = _per_channel((running_var + eps).rsqrt(), n)
        hat = (_wide(input) - _per_channel(running_mean, n)) * rstd
    return (_wide(g) * hat).sum(_over(n))


def _batch_norm_shape(input: Tensor, *rest: object) -> Any:
    kind = float32 if input.dtype.itemsize == 2 else input.dtype
    channels = input.new_empty(input.shape[1], dtype=kind)
    return input.clone(), channels, channels.clone()


native_batch_norm_op = general(
    "_native_batch_norm(input: Tensor, weight: Tensor | None = None, "
    "bias: Tensor | None = None, running_mean: Tensor | None = None, "
    "running_var: Tensor | None = None, training: Any = False, momentum: Any = 0.1, "
    "eps: Any = 1e-05)",
    _batch_norm,
    native=_kernels.batch_norm,
    vjp={
        "input": lambda g, input, weight, running_var, training, eps: _batch_norm_input(
            g, input, weight, running_var, training, eps
        ),
        "weight": lambda g, input, running_mean, running_var, training, eps: _batch_norm_weight(
            g, input, running_mean, running_var, training, eps
        ),
        "bias": lambda g: _wide(g).sum(_over(g.ndim)),
    },
    shape=_batch_norm_shape,
    backward=(_kernels.batch_norm_backward, "g input weight out1 out2 training needs"),
    node="NativeBatchNormBackward0",
    method=False,
    first_only=True,
    samples=lambda make: [
        (make(4, 3), make(3), make(3), None, None, True),
        (make(2, 3, 2, 2), None, None, None, None, True),
    ],
    keeps="format and back: input",
    formula={
        "input": f"{_STANDARDIZED} (in evaluation h / σ)",
        "weight": "(input − μ) / σ",
        "bias": "1",
    },
    doc="Batch normalisation: the result, the means, one over the deviations. Training moves the "
    "running statistics.",
)


def check_channels(input: Tensor, parts: Sequence[tuple[str, Any]]) -> None:
    if input.ndim < 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(input.ndim, 1)}, "
            f"{max(input.ndim, 1) - 1}], but got 1)"
        )
    channels = input.shape[1]
    for name, part in parts:
        if part is not None and part.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {part.numel()}")
    found = [part for _, part in parts]
    _check_types(input, *found[-2:], *found[:-2])  # the weight's type says what the others' are


def check_statistics(running_mean: Any, running_var: Any) -> None:
    for name, part in (("running_mean", running_mean), ("running_var", running_var)):
        if part is not None and part.requires_grad and _core.is_grad_enabled():
            raise RuntimeError(
                f"The function 'native_batch_norm' is not differentiable with respect to argument "
                f"'{name}'. This input cannot have requires_grad True."
            )


@composite(where="nn")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | None = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over all but the channels, then weight and bias; training measures and
    moves the running statistics."""
    if training:
        size = input.size()
        if input.ndim > 1 and input.numel() == size[1] * 1 and input.numel():
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size {size}"
            )
    if not input.numel():  # nothing is checked
        empty = input.clone()
        for part, merge in ((weight, Tensor.mul), (bias, Tensor.add)):
            empty = empty if part is None else merge(empty, part[0])
        return empty
    check_channels(
        input,
        (
            ("running_mean", running_mean),
            ("running_var", running_var),
            ("weight", weight),
            ("bias", bias),
        ),
    )
    check_statistics(running_mean, running_var)
    if not training:
        for name, part in (("running_mean", running_mean), ("running_var", running_var)):
            if part is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
    return native_batch_norm_op(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )[0]


def _torch_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """torch.nn.functional.batch_norm with its arguments in another order."""
    return batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


# ---- group and instance norm


def _group_norm(
    x: Array, groups: int, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, ...]:
    refuse("GroupNormKernelImpl", x, "biuc")
    n = x.shape[0]
    rows = np.ascontiguousarray(widened(x)).reshape(_grouped_shape(x.shape, groups))
    y, mean, rstd = _layer_norm(rows, 1, None, None, eps)
    y = y.reshape(x.shape)
    if weight is not None:
        y *= _channel(weight, x.ndim)
    if bias is not None:
        y += _channel(bias, x.ndim)
    return rounded(y, x), mean.reshape(n, groups), rstd.reshape(n, groups)


def _grouped_shape(shape: Sequence[int], groups: int) -> tuple[int, int]:
    """The values of a group as a row."""
    return shape[0] * groups, math.prod(shape[1:]) // groups


def _grouped(t: Tensor, groups: int) -> Any:
    return t.reshape(_grouped_shape(t.shape, groups))


def _group_norm_input(
    gs: Any, input: Tensor, groups: int, weight: Tensor | None, eps: float
) -> Any:
    """From the gradients of the result, the means and one over the deviations."""
    g, of_mean, of_rstd = gs
    rows, total = _wide(_grouped(input, groups)), None
    if g is not None:
        g = _wide(g)
        if weight is not None:
            g = g * _per_channel(weight, input.ndim)
        total = _standard_vjp(_grouped(g, groups), rows, (1,), eps)
    if of_mean is not None:
        part = (of_mean.reshape(-1, 1) / rows.shape[1]).expand(rows.shape)
        total = part if total is None else total + part
    if of_rstd is not None:
        hat, rstd = _standard(rows, (1,), eps)
        part = hat * (rstd * rstd * of_rstd.reshape(-1, 1) / -rows.shape[1])
        total = part if total is None else total + part
    return None if total is None else total.reshape(input.shape)


def _group_norm_weight(gs: Any, input: Tensor, groups: int, eps: float) -> Any:
    if gs[0] is None:
        return None
    hat = _standard(_grouped(input, groups), (1,), eps)[0]
    return (_wide(gs[0]) * hat.reshape(input.shape)).sum(_over(input.ndim))


def _group_norm_bias(gs: Any) -> Any:
    return None if gs[0] is None else _wide(gs[0]).sum(_over(gs[0].ndim))


native_group_norm_op = general(
    "_native_group_norm(input: Tensor, groups: Any, weight: Tensor | None = None, "
    "bias: Tensor | None = None, eps: Any = 1e-05)",
    _group_norm,
    native=_kernels.group_norm,
    vjp={
        "input": _group_norm_input,
        "weight": _group_norm_weight,
        "bias": _group_norm_bias,
    },
    backward=(_kernels.group_norm_backward, "g g1 g2 input groups out1 out2 weight eps needs"),
    node="NativeGroupNormBackward0",
    method=False,
    samples=lambda make: [(make(2, 4, 3), 2, make(4), make(4)), (make(3, 4), 2)],
    keeps="format and back: input",
    formula={
        "input": _STANDARDIZED,
        "weight": "(input − μ) / σ",
        "bias": "1",
    },
    doc="Group normalisation: the result, the means, one over the deviations.",
)


@composite(where="nn torch", method=False, autocast="float32 there", remembers=True)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over each of num_groups groups of channels, then weight and bias."""
    if input.ndim < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}"
        )
    if num_groups < 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if not num_groups or input.shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            "shape "
            f"{listed(input.shape)} and num_groups={num_groups}"
        )
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and tuple(part.shape) != (input.shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                "but got "
                f"{name} of shape {listed(part.shape)} and input of shape {listed(input.shape)}"
            )
    _check_types(input, weight, bias)
    size = math.prod(input.shape[2:]) * input.shape[1] // num_groups
    if input.shape[0] * size == input.shape[0] and input.shape[0] == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.size()}"
        )
    return _core.remember(native_group_norm_op, input, num_groups, weight, bias, eps)[0]


@composite(where="nn", method=False)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over each channel of each sample, then weight and bias."""
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.size()}"
        )
    check_channels(
        input,
        (
            ("running_mean", running_mean),
            ("running_var", running_var),
            ("weight", weight),
            ("bias", bias),
        ),
    )
    check_statistics(running_mean, running_var)
    n, c = input.shape[:2]

    def repeated(t: Any) -> Any:
        return None if t is None else t.repeat(n)

    # Every channel of every sample becomes a channel of one sample.
    flat = input.reshape(1, n * c, *input.shape[2:])
    means, variances = repeated(running_mean), repeated(running_var)
    result = native_batch_norm_op(
        flat, repeated(weight), repeated(bias), means, variances, use_input_stats, momentum, eps
    )[0]
    if use_input_stats:
        for running, all_of_them in ((running_mean, means), (running_var, variances)):
            if running is not None:
                _core.copy_values(running, all_of_them.detach().view(n, c).mean(0))
    return result.view(input.shape)


# ---- vectors and neighbours


@composite(where="nn")
def normalize(
    input: Tensor,
    p: Number = 2.0,
    dim: Ints | None = 1,
    eps: Number = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """input over its p-norm along dim, the norm not below eps."""
    from ..matrix.norms import norm

    size = norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    result = input / size
    return result if out is None else out.copy_(result)


@composite(where="nn")
def local_response_norm(
    input: Tensor, size: int, alpha: Number = 1e-4, beta: Number = 0.75, k: Number = 1.0
) -> Tensor:
    """input over a power of the mean square of neighbouring channels."""
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )
    if not input.numel():
        return input
    squares = (input * input).unsqueeze(1)
    border = (size // 2, (size - 1) // 2)
    if input.ndim == 3:
        mean = avg_pool2d(pad(squares, (0, 0, *border)), (size, 1), stride=1)
    else:
        shape = input.shape
        folded = squares.reshape(shape[0], 1, shape[1], shape[2], -1)
        mean = avg_pool3d(pad(folded, (0, 0, 0, 0, *border)), (size, 1, 1), stride=1)
    mean = mean.squeeze(1).reshape(input.shape)
    return input / (mean * alpha + k).pow(beta)


def _torch_instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`nn.functional.instance_norm` with torch's own order of the arguments, all given."""
    return instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


alias("batch_norm", _torch_batch_norm, method=False)
alias("instance_norm", _torch_instance_norm, method=False)
alias("layer_norm", _torch_layer_norm, method=False)
alias("native_layer_norm", native_layer_norm, method=False)

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "native_layer_norm",
    "normalize",
    "rms_norm",
]
