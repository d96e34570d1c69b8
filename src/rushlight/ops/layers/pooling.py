"""Pooling over windows of one to three dimensions: the windows, and maxima.

Maximum pooling picks elements: it gives their flat places in each plane too, and its gradient is a
scatter to them, whose own transpose is the gather from them.
`average_pooling.py` has the means, `adaptive_pooling.py` windows by the wanted size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index as as_int
from typing import Any

from ... import _core
from ..._base import determinism as _determinism
from ..._base.outside import np
from ..._core import Op
from ..table.arrays import Array, anywhere, listed, refuse, rounded, unshared, widened
from ..table.kinds import composite, constant, general, linear
from ..table.signature import Flag, Ints, Tensor

_kernels = _core.kernels
_Ints = tuple[int, ...]

# ---- windows


def window_count(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """The number of windows along a dimension of size n; the last must start inside it or its left
    border."""
    span = n + 2 * p - d * (k - 1) - 1
    out = -(-span // s) + 1 if ceil_mode else span // s + 1
    return out - 1 if ceil_mode and (out - 1) * s >= n + p else out


def window_counts(
    x: Sequence[int], k: _Ints, s: _Ints, p: _Ints, d: _Ints, ceil_mode: bool
) -> list[int]:
    return [window_count(*v, ceil_mode) for v in zip(x[-len(k) :], k, s, p, d, strict=True)]


# ---- maximum


def _planes(shape: Sequence[int], n: int) -> tuple[int, int]:
    return math.prod(shape[:-n]), math.prod(shape[-n:])


def _scatter(g: Array, indices: Array, shape: tuple[int, ...], n: int) -> Array:
    """Every element of g added at its place in planes of n dimensions."""
    rows, size = _planes(shape, n)
    wide = widened(g)
    out = np.zeros((rows, size), wide.dtype)
    if g.size:
        places = unshared(indices.reshape(rows, -1))
        np.add.at(out, (np.arange(rows)[:, None], places), wide.reshape(rows, -1))
    return rounded(out.reshape(shape), g)


def _gather(x: Tensor, indices: Tensor, n: int) -> Tensor:
    """The elements of planes of n dimensions at the given places."""
    places = indices.reshape(_planes(indices.shape, n)).long()
    return x.reshape(_planes(x.shape, n)).gather(1, places).reshape(indices.shape)


pool_scatter = linear(
    "_pool_scatter(input: Tensor, indices: Tensor, shape: Any, n: Any)",
    _scatter,
    native=_kernels.max_pool_backward,
    transpose={"input": lambda g, indices, n: _pool_gather(g, indices, n)},
    node="MaxPoolBackwardBackward0",
    method=False,
    doc="The transpose of picking elements by their places in a plane.",
    batch="folded",
    written="{input} added up at {indices}, 0 elsewhere",
)
_pool_gather: Op = linear(
    "_pool_gather(input: Tensor, indices: Tensor, n: Any)",
    is_=_gather,
    transpose={
        "input": lambda g, indices, input_shape, n: pool_scatter(g, indices, tuple(input_shape), n)
    },
    node="MaxUnpoolBackward0",
    method=False,
    doc="Elements by their places in a plane.",
    batch="folded",
    written="{input}[{indices}]",
)


_WINDOW = "kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any"


def _max_pool_op(n: int, node: str) -> Op:
    return general(
        f"_max_pool{n}d(input: Tensor, {_WINDOW})",
        _kernels.max_pool,
        vjp={"input": lambda g, out1, input_shape: pool_scatter(g, out1, tuple(input_shape), n)},
        backward=(_kernels.max_pool_backward, "g out1 input_shape kernel_size"),
        batch="folded",
        node=node,
        method=False,
        first_only=True,
        samples=lambda make: [
            (make(2, *(5, 4, 3)[:n]), (2, 2, 2)[:n], (2, 1, 1)[:n], (1, 0, 0)[:n], (1,) * n, False)
        ],
        keeps="format and back: input",
        doc=f"The largest elements of windows of {n} dimensions, and their places in each plane.",
    )


_max_pools = {
    n: _max_pool_op(n, node)
    for n, node in (
        (1, "SqueezeBackward1"),
        (2, "MaxPool2DWithIndicesBackward0"),
        (3, "MaxPool3DWithIndicesBackward0"),
    )
}


def largest_alone(name: str, kernel: Any) -> Op:
    """The op of maximum pooling where nobody asks for the places, and no gradient."""
    adaptive = name.startswith("adaptive")
    return constant(
        f"_{name}_values(input: Tensor, {'size: Any' if adaptive else _WINDOW})",
        kernel,
        batch="folded",
        method=False,
        said=name,
        keeps="" if adaptive and name != "adaptive_max_pool2d" else "format: input",
        doc="The largest elements of windows.",
    )


_values = {n: largest_alone(f"max_pool{n}d", _kernels.max_pool_values) for n in (1, 2, 3)}


def has_no_history(input: Tensor) -> bool:
    """Whether it is a plain tensor of the CPU of which no gradient is wanted."""
    return (
        input._wrapped is None
        and input.device.type == "cpu"
        and not (input.requires_grad and _core.is_grad_enabled())
    )


def each_dim(value: Any, name: str, what: str, n: int) -> _Ints:
    if isinstance(value, int):
        return (value,) * n
    values = tuple(as_int(v) for v in value)
    if len(values) == 1:
        return values * n
    if len(values) != n:
        number = {
            1: "a single int, or a tuple of one int",
            2: "a single int, or a tuple of two ints",
        }
        raise RuntimeError(
            f"{name}: {what} must either be "
            + number.get(n, "a single int, or a tuple of three ints")
        )
    return values


def _check_input(name: str, shape: Sequence[int], n: int) -> None:
    if len(shape) not in (n + 1, n + 2) or 0 in shape[-n - 1 :]:
        if n == 1:
            raise RuntimeError(
                f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
                "input, "
                f"but got:{listed(shape)}"
            )
        if len(shape) not in (n + 1, n + 2):
            raise RuntimeError(
                f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input\n"
                f"{name} got {listed(shape)}."
            )
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for "
            "input, "
            f"but got:{listed(shape)}"
        )


def _check_window(
    shape: Sequence[int], k: _Ints, s: _Ints, p: _Ints, d: _Ints, ceil_mode: bool, name: str
) -> None:
    n = len(k)
    if name == "max_pool1d":
        _check_line(k[0], s[0], p[0], d[0])
    elif max(*k, *s, *p, *d) >= 2**31:
        raise RuntimeError(
            f"value cannot be converted to type int without overflow\n{name} got kernel_size={k}, "
            f"stride={s}, padding={p}, dilation={d}."
        )
    if 0 in s:
        raise RuntimeError(f"stride should not be zero\n{name} got stride={s}.")
    for what, values, letter in (
        ("kernel size", k, "k"),
        ("stride", s, "d"),
        ("dilation", d, "dilation"),
    ):
        if min(values) <= 0:
            shown = (1, *values) if n == 1 else values
            raise RuntimeError(
                f"{what} should be greater than zero, but got "
                + " ".join(
                    letter + f"{a}: {v}" for a, v in zip("THW"[-len(shown) :], shown, strict=True)
                )
            )
    if name == "avg_pool3d" and any(e > size for e, size in zip(k, shape[-3:], strict=True)):
        t, h, w = shape[-3:]
        raise RuntimeError(
            f"input image (T: {t} H: {h} W: {w}) smaller than kernel size "
            f"(kT: {k[0]} kH: {k[1]} kW: {k[2]})"
        )
    for b, size, e in zip(p, k, d, strict=True):
        if b < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {b}")
        if b > ((size - 1) * e + 1) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={b}, kernel_size={size} and dilation={e}"
            )
    out = window_counts(shape, k, s, p, d, ceil_mode)
    if min(out) < 1:
        if name == "max_pool1d":
            raise RuntimeError(f"{name}() Invalid computed output size: {out[0]}")
        channels = (shape[-n - 1], 1) if n == 1 else (shape[-n - 1],)
        before = "x".join(str(v) for v in (*channels, *shape[-n:]))
        after = "x".join(str(v) for v in (*channels, *out))
        raise RuntimeError(
            f"Given input size: ({before}). Calculated output size: ({after}). Output size is too "
            "small"
        )


def _check_line(k: int, s: int, p: int, d: int) -> None:
    """max_pool1d's error where there are no indices to give."""
    for what, value in (("kernel_size", k), ("stride", s), ("dilation", d)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
    if p < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {p}")
    if p > k // 2:
        raise RuntimeError(
            "max_pool1d() padding should be at most half of kernel size, but got "
            f"padding={p} and kernel_size={k}"
        )


def checked_window(
    name: str,
    n: int,
    shape: Sequence[int],
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> tuple[_Ints, _Ints, _Ints, _Ints]:
    """The checked numbers of each dimension."""
    k = each_dim(kernel_size, name, "kernel_size", n)
    s = k if stride in (None, (), []) else each_dim(stride, name, "stride", n)
    p = each_dim(padding, name, "padding", n)
    d = each_dim(dilation, name, "dilation", n)
    _check_input(name, shape, n)
    _check_window(shape, k, s, p, d, ceil_mode, name)
    return k, s, p, d


def _max_pool_of(n: int) -> None:
    name = f"max_pool{n}d"
    op = _max_pools[n]
    kernel = name if n > 1 else "max_pool2d"
    where = "nn torch" if n == 1 else "nn"

    def run(asked: str, both: bool, input: Tensor, *how: Any) -> Any:
        window = checked_window(asked if n == 1 else name, n, input.shape, *how)
        refuse(kernel, input._form, "bc")
        if not both and has_no_history(input):
            return _core.remember(_values[n], input, *window, how[-1])
        pair = _core.remember(op, input, *window, how[-1])
        return pair if both else pair[0]

    @composite(
        where=where,
        method=False,
        name=f"{name}_with_indices",
        doc="The largest elements of windows and their places.",
        remembers=True,
    )
    def with_indices(
        input: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        return_indices: Flag = True,
    ) -> Any:
        how = kernel_size, stride, padding, dilation, ceil_mode
        return run(f"{name}_with_indices", True, input, *how)

    @composite(
        where="nn torch",
        method=False,
        name=name,
        autocast="float32 here" if n == 3 else "",
        doc=f"The largest element of each window of {n} dimension(s).",
        remembers=True,
    )
    def pool(
        input: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        return_indices: Flag = False,
    ) -> Any:
        if n == 1 and not return_indices:
            # Where no indices are asked for, torch has a kernel of its own, for fewer types.
            refuse("max_pool1d_impl", input._form, "biuc")
        asked = f"{name}_with_indices" if return_indices else name
        how = kernel_size, stride, padding, dilation, ceil_mode
        return run(asked, return_indices, input, *how)


for _n in (1, 2, 3):
    _max_pool_of(_n)


def _unpooled(shape: Sequence[int], k: _Ints, s: _Ints, p: _Ints, wanted: Any) -> list[int]:
    """The size of the planes that were pooled: the wanted size, or the size that fits."""
    n = len(k)
    size = [(m - 1) * t + e - 2 * b for m, t, e, b in zip(shape[-n:], s, k, p, strict=True)]
    for i, m in enumerate(size):
        if m < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                f"output_size[{i}]={m}"
            )
    if wanted is None:
        return size
    given = wanted if isinstance(wanted, (tuple, list)) else tuple(wanted)
    if len(given) not in (n, n + 2):
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a "
            f"length of '{len(given)}'"
        )
    given = given[-n:]
    for i, (m, v, t) in enumerate(zip(size, given, s, strict=True)):
        if not m - t < v < m + t:
            raise ValueError(
                f'invalid output_size "{given}" (dim {i} must be between {m - t} and {m + t})'
            )
    return list(given)


def _unpool(n: int) -> None:
    name = f"max_unpool{n}d"

    @composite(
        where="nn",
        name=name,
        autocast="float32 here" if n > 1 else "",
        doc="Elements back at the places that max_pool gave, zeros elsewhere.",
    )
    def unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        output_size: Ints | None = None,
    ) -> Tensor:
        k = each_dim(kernel_size, name, "kernel_size", n)
        _determinism.alert(f"max_unpooling{max(n, 2)}d_forward_out")
        refuse(f"max_unpool{max(n, 2)}d", input._form, "biuc")
        s = k if stride is None else each_dim(stride, name, "stride", n)
        p = each_dim(padding, name, "padding", n)
        if n == 3 and min(s) <= 0:
            raise RuntimeError(f"strides should be greater than zero, but got stride: {listed(s)}")
        if n > 1 and input.ndim not in (n + 1, n + 2):
            raise RuntimeError(
                f"Input to max_unpooling{n}d should be a {n + 1}d or {n + 2}d Tensor, but got a "
                f"tensor with {input.ndim} dimensions."
            )
        size = _unpooled(input.shape, k, s, p, output_size)
        shape = (*input.shape[:-n], *size)
        if indices.shape != input.shape:
            raise RuntimeError(
                "Expected shape of indices to be same as that of the input tensor "
                f"({listed(input.shape)}) "
                f"but got indices tensor with shape: {listed(indices.shape)}"
            )
        return _pool_unpool(input, indices, shape, n)


def _place(x: Tensor, indices: Tensor, shape: tuple[int, ...], n: int) -> Tensor:
    rows, size = _planes(shape, n)
    if rows * size * x.element_size() >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={[rows, size]}")
    out = x.new_zeros((rows, size))
    at = indices.reshape(rows, math.prod(indices.shape[-n:])).long()
    outside = (at < 0) | (at >= size)
    if anywhere(outside):
        raise RuntimeError(
            f"Found an invalid max index: {at[outside][0].item()} (output volumes are of size "
            + "x".join(map(str, shape[-n:]))
            + ")"
        )
    return out.scatter_(1, at, x.reshape(at.shape)).reshape(shape)


_pool_unpool = linear(
    "_pool_unpool(input: Tensor, indices: Tensor, shape: Any, n: Any)",
    is_=_place,
    transpose={"input": lambda g, indices, n: _pool_gather(g, indices, n)},
    node="MaxUnpool2DBackward0",
    method=False,
    keeps="format and back: input",
    doc="Elements put at their places in planes of zeros.",
    batch="folded",
)

for _n in (1, 2, 3):
    _unpool(_n)
