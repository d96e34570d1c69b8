"""Convolutions of one to three dimensions.

A convolution is linear in its input and in its weight; three ops are closed under differentiation,
whatever the order:

    _convolution(x, w)          what conv1d, conv2d, conv3d compute
    _convolution_input(g, w)    its transpose in x: the input's gradient, and conv_transpose*
    _convolution_weight(g, x)   its transpose in w: the gradient of the weight

Each one's transposes are the other two.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from operator import index as as_int
from typing import Any

from ... import _core
from ..._base.outside import np
from ..._core import Op
from ..table.arrays import Array, c_name, listed, refuse, scalar_name, warn_once
from ..table.kinds import bilinear, composite, general
from ..table.signature import Ints, Tensor
from .padding import pad

_kernels = _core.kernels
_Ints = tuple[int, ...]

# ---- patches


def place_counts(
    x: Sequence[int], k: Sequence[int], stride: _Ints, padding: _Ints, dilation: _Ints
) -> _Ints:
    """The number of places of a kernel of sizes k on an image of sizes x."""
    return tuple(
        (n + 2 * p - d * (m - 1) - 1) // s + 1
        for n, m, s, p, d in zip(x, k, stride, padding, dilation, strict=True)
    )


def _padded(x: Array, padding: _Ints) -> Array:
    if not any(padding):
        return x
    n = x.ndim - len(padding)
    return np.pad(x, [(0, 0)] * n + [(p, p) for p in padding])


def patches(x: Array, k: Sequence[int], stride: _Ints, padding: _Ints, dilation: _Ints) -> Array:
    """A view of x, padded, with dimensions (batch, channels, *places, *k): what the kernel sees at
    every place."""
    out = place_counts(x.shape[2:], k, stride, padding, dilation)
    x = _padded(x, padding)
    steps = x.strides[2:]

    def strides(sizes: Sequence[int], by: _Ints) -> list[int]:
        # Where there is one place only, no step is taken, and it may be longer than memory.
        return [s * t if n > 1 else 0 for n, s, t in zip(sizes, steps, by, strict=True)]

    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:2], *out, *k),
        (*x.strides[:2], *strides(out, stride), *strides(k, dilation)),
        writeable=False,
    )


def scatter_patches(
    columns: Array, shape: _Ints, stride: _Ints, padding: _Ints, dilation: _Ints
) -> Array:
    """The transpose of `patches`: every element of a patch is added to where it came from."""
    d = len(stride)
    places, k = columns.shape[2 : 2 + d], columns.shape[2 + d :]
    wide = [n + 2 * p for n, p in zip(shape[2:], padding, strict=True)]
    image = np.zeros((*shape[:2], *wide), columns.dtype)
    at: Any
    for at in itertools.product(*(range(m) for m in k)):
        target = tuple(
            slice(i * e, i * e + s * (n - 1) + 1, s)
            for i, e, s, n in zip(at, dilation, stride, places, strict=True)
        )
        if all(places):
            image[(slice(None), slice(None), *target)] += columns[(..., *at)]
    inner = tuple(slice(p, p + n) for p, n in zip(padding, shape[2:], strict=True))
    return np.ascontiguousarray(image[(slice(None), slice(None), *inner)])


# ---- the trio

_GEOMETRY = "stride: Sizes, padding: Sizes, dilation: Sizes, groups: int"


def _bias_grad(g: Tensor) -> Tensor:
    return g.sum((0, *range(2, g.ndim)))


def _bias_tangent(t: Tensor, out: Tensor) -> Tensor:
    return t.reshape(t.shape + (1,) * (out.ndim - 2)).expand(out.shape)


def _samples(make: Callable[..., Any]) -> Any:
    one, pair = (1, 1), (2, 1)
    return [
        (make(2, 3, 5, 4), make(4, 3, 3, 2), make(4), one, (1, 0), one, 1),
        (make(1, 4, 6, 6), make(2, 2, 2, 3), None, pair, (0, 1), pair, 2),
        (make(2, 2, 6), make(3, 2, 3), make(3), (2,), (1,), (1,), 1),
        (make(1, 2, 3, 4, 3), make(2, 2, 2, 2, 2), None, (1, 2, 1), (0, 1, 0), (1, 1, 1), 1),
    ]


_convolution: Op = general(
    f"_convolution(input: Tensor, weight: Tensor, bias: Tensor | None = None, {_GEOMETRY})",
    _kernels.convolution,
    vjp={
        "input": lambda g, weight, input_shape, stride, padding, dilation, groups: (
            _convolution_input(
                g, weight.conj(), None, tuple(input_shape), stride, padding, dilation, groups
            )
        ),
        "weight": lambda g, input, weight_shape, stride, padding, dilation, groups: (
            _convolution_weight(
                g, input.conj(), tuple(weight_shape), stride, padding, dilation, groups
            )
        ),
        "bias": _bias_grad,
    },
    jvp={
        "input": lambda t, weight, stride, padding, dilation, groups: _convolution(
            t, weight, None, stride, padding, dilation, groups
        ),
        "weight": lambda t, input, stride, padding, dilation, groups: _convolution(
            input, t, None, stride, padding, dilation, groups
        ),
        "bias": _bias_tangent,
    },
    method=False,
    samples=_samples,
    keeps="format and back: input weight",
    formula={
        "input": "convolutionᵀ(g, weight)",
        "weight": "correlation of input with g",
        "bias": "1",
    },
    kernel_name="slow_conv2d_cpu",
    doc="A convolution of any number of dimensions: input (batch, channels, ...), weight (out, "
    "channels / groups, ...).",
)
_convolution_input: Op = general(
    "_convolution_input(input: Tensor, weight: Tensor, bias: Tensor | None = None, shape: Any, "
    f"{_GEOMETRY})",
    _kernels.convolution_input,
    vjp={
        "input": lambda g, weight, stride, padding, dilation, groups: _convolution(
            g, weight.conj(), None, stride, padding, dilation, groups
        ),
        "weight": lambda g, input, weight_shape, stride, padding, dilation, groups: (
            _convolution_weight(
                input.conj(), g, tuple(weight_shape), stride, padding, dilation, groups
            )
        ),
        "bias": _bias_grad,
    },
    jvp={
        "input": lambda t, weight, shape, stride, padding, dilation, groups: _convolution_input(
            t, weight, None, shape, stride, padding, dilation, groups
        ),
        "weight": lambda t, input, shape, stride, padding, dilation, groups: _convolution_input(
            input, t, None, shape, stride, padding, dilation, groups
        ),
        "bias": _bias_tangent,
    },
    node="ConvolutionBackward0",
    method=False,
    keeps="format and back: input weight",
    formula={
        "input": "convolution(g, weight)",
        "weight": "correlation of g with input",
        "bias": "1",
    },
    kernel_name="slow_conv_transpose2d_out_cpu",
    doc="The transpose of a convolution in its input, whose shape is given.",
)
_convolution_weight: Op = bilinear(
    f"_convolution_weight(input: Tensor, other: Tensor, shape: Any, {_GEOMETRY})",
    _kernels.convolution_weight,
    transpose={
        "input": lambda g, other, stride, padding, dilation, groups: _convolution(
            other.conj(), g, None, stride, padding, dilation, groups
        ),
        "other": lambda g, input, other_shape, stride, padding, dilation, groups: (
            _convolution_input(
                input.conj(), g, None, tuple(other_shape), stride, padding, dilation, groups
            )
        ),
    },
    node="ConvolutionBackwardBackward0",
    method=False,
    formula={"input": "convolution(other, g)", "other": "convolutionᵀ(input, g)"},
    doc="The transpose of a convolution in its weight, whose shape is given; input is the "
    "gradient, other the image.",
)


def convolution_gradient(
    of: str,
    g: Tensor,
    other: Tensor,
    shape: _Ints,
    stride: _Ints,
    padding: _Ints,
    dilation: _Ints,
    groups: int,
) -> Tensor:
    """A convolution's gradient, of a size, in its "input" (`other`: the weight) or its "weight"."""
    if of == "input":
        made: Tensor = _convolution_input(g, other, None, shape, stride, padding, dilation, groups)
        return made
    made = _convolution_weight(g, other, shape, stride, padding, dilation, groups)
    return made


# ---- the public functions


def _each(value: int | tuple[int, ...], name: str, n: int) -> _Ints:
    """A number for every dimension."""
    if isinstance(value, int):
        return (value,) * n
    values = tuple(as_int(v) for v in value)
    if len(values) == 1:
        return values * n
    if len(values) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the "
            f"convolution dimensions, but got {name}={listed(values)}"
        )
    return values


def _refuse_arguments(name: str, *args: object) -> None:
    given = ", ".join("Tensor" if isinstance(a, Tensor) else type(a).__name__ for a in args)
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({given}), but expected one "
        "of:\n"
        " * (Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, tuple of "
        "ints padding = 0, "
        "tuple of ints dilation = 1, int groups = 1)"
    )


def _batched(name: str, input: Tensor, n: int) -> bool:
    if input.ndim == n + 2:
        return True
    if input.ndim != n + 1:
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, "
            f"but got input of size: {listed(input.shape)}"
        )
    return False


def _check_types(input: Tensor, weight: Tensor, bias: Tensor) -> None:
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(input._form)} but found {scalar_name(weight._form)}"
        )
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(
            f"Input type ({c_name(input._form)}) and bias type ({c_name(bias._form)}) should be "
            "the same"
        )
    refuse("slow_conv2d_cpu", input._form, "b")


@functools.lru_cache(maxsize=1024)
def _check_geometry(
    x: Sequence[int],
    w: Sequence[int],
    bias: Sequence[int] | None,
    stride: _Ints,
    padding: _Ints,
    dilation: _Ints,
    groups: int,
    transposed: bool,
) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {listed(dilation)}")
    if w[0] < groups or w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{listed(w)}] instead"
        )
    how = "transposed=1" if transposed else f"groups={groups}"
    channels = w[0] if transposed else w[1] * groups
    if x[1] != channels:
        raise RuntimeError(
            f"Given {how}, weight of size {listed(w)}, expected input{listed(x)} to have "
            f"{channels} channels, but got {x[1]} channels instead"
        )
    out = w[1] * groups if transposed else w[0]
    if bias is not None and tuple(bias) != (out,):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {listed(w)}, expected "
            "bias to be "
            f"1-dimensional with {out} elements, but got bias of size {listed(bias)} instead"
        )
    if transposed:
        return
    padded = [n + 2 * p for n, p in zip(x[2:], padding, strict=True)]
    kernel = [d * (k - 1) + 1 for d, k in zip(dilation, w[2:], strict=True)]
    if any(n < k for n, k in zip(padded, kernel, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). "
            f"Kernel size: ({' x '.join(map(str, kernel))}). "
            "Kernel size can't be greater than actual input size"
        )


def _same_padding(
    input: Tensor, weight: Tensor, stride: _Ints, dilation: _Ints
) -> tuple[Any, _Ints]:
    """The input and the padding for which a result has the input's size."""
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    if any(t % 2 for t in total):
        # torch pads one more behind.
        warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a "
            "zero-padded copy of the input be created",
        )
        border = [v for t in reversed(total) for v in (0, t % 2)]
        input = pad(input, border)
    return input, tuple(t // 2 for t in total)


def run(
    name: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    if not (isinstance(input, Tensor) and isinstance(weight, Tensor)):
        _refuse_arguments(name, input, weight)
    if weight.ndim != n + 2:
        n_weight = max(weight.ndim - 2, 0)
        raise RuntimeError(
            f"expected stride to be a single integer value or a list of {n_weight} values to match "
            "the "
            f"convolution dimensions, but got stride={listed(_each(stride, 'stride', n))}\n"
            f"{name} needs a weight of {n + 2} dimensions, got {listed(weight.shape)}."
        )
    batched = _batched(name, input, n)
    if not batched:
        input = input.unsqueeze(0)
    if input.dtype is not weight.dtype or bias is not None or input.dtype.name == "bool":
        _check_types(input, weight, bias)
    stride = _each(stride, "stride", n)
    dilation = _each(dilation, "dilation", n)
    if isinstance(padding, str):
        if padding == "same":
            input, padding = _same_padding(input, weight, stride, dilation)
        elif padding == "valid":
            padding = (0,) * n
        else:
            raise RuntimeError(
                f"Invalid padding string: '{padding}'\nUse 'same', 'valid' or numbers."
            )
    else:
        padding = _each(padding, "padding", n)
    bias_shape = None if bias is None else bias.shape
    _check_geometry(
        input.shape, weight.shape, bias_shape, stride, padding, dilation, groups, transposed=False
    )
    result = _core.remember(_convolution, input, weight, bias, stride, padding, dilation, groups)
    return result if batched else result.squeeze(0)


def run_transposed(
    name: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    batched = _batched(name, input, n)
    if not batched:
        input = input.unsqueeze(0)
    if input.dtype.name != "int64":
        refuse(f"slow_conv_transpose{max(n, 2)}d_out_cpu", input._form, "biu")
    _check_types(input, weight, bias)
    stride, padding, dilation = (
        _each(v, what, n)
        for v, what in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"))
    )
    extra = _each(output_padding, "output_padding", n)
    bias_shape = None if bias is None else bias.shape
    _check_geometry(
        input.shape, weight.shape, bias_shape, stride, padding, dilation, groups, transposed=True
    )
    if min(extra) < 0:
        raise RuntimeError(f"negative output_padding is not supported, but got {listed(extra)}")
    for e, s, d in zip(extra, stride, dilation, strict=True):
        if e >= s and e >= d:
            names = ("depth", "height", "width")[3 - n :]
            parts = [
                f"{what}_{axis}: {v}"
                for what, values in (
                    ("output_padding", extra),
                    ("stride", stride),
                    ("dilation", dilation),
                )
                for axis, v in zip(names, values, strict=True)
            ]
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                + " ".join(parts)
            )
    out = [
        (size - 1) * s - 2 * p + d * (k - 1) + e + 1
        for size, s, p, d, k, e in zip(
            input.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True
        )
    ]
    if min(out) <= 0:
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, input.shape[2:]))}). "
            f"Calculated output size per channel: ({' x '.join(map(str, out))}). Output size is "
            "too small"
        )
    if max(out) >= 1 << 62:
        raise RuntimeError(f"convolution sizes are too large: {listed(out)}")
    places = place_counts(out, weight.shape[2:], stride, padding, dilation)
    if places != tuple(input.shape[2:]):
        # An output padding of a whole step makes room for places that have no input.
        border = [
            v
            for have, want in zip(reversed(input.shape[2:]), reversed(places), strict=True)
            for v in (0, want - have)
        ]
        input = pad(input, border)
    shape = (input.shape[0], weight.shape[1] * groups, *out)
    result = _core.remember(
        _convolution_input, input, weight, bias, shape, stride, padding, dilation, groups
    )
    return result if batched else result.squeeze(0)


def _public(n: int) -> None:
    name, transposed_name = f"conv{n}d", f"conv_transpose{n}d"

    @composite(
        where="nn torch",
        method=False,
        name=name,
        autocast="low",
        doc=f"A convolution over {n} dimension{'s' * (n > 1)}.",
        overloads=(
            "(input, weight, bias, stride, padding, dilation, groups)",
            '(input, weight, bias, stride, padding: str = "valid", dilation, groups)',
        ),
        remembers=True,
    )
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
    ) -> Tensor:
        return run(name, n, input, weight, bias, stride, padding, dilation, groups)

    @composite(
        where="nn torch",
        method=False,
        name=transposed_name,
        autocast="low",
        doc=f"The transpose of a convolution over {n} dimension{'s' * (n > 1)}.",
        remembers=True,
    )
    def transposed(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        groups: int = 1,
        dilation: Ints = 1,
    ) -> Tensor:
        return run_transposed(
            transposed_name,
            n,
            input,
            weight,
            bias,
            stride,
            padding,
            output_padding,
            groups,
            dilation,
        )


for _n in (1, 2, 3):
    _public(_n)
