"""Patches of images as columns (unfold), and their sum back at their places (fold)."""

from __future__ import annotations

import math
from operator import index as as_int
from typing import Any

from ... import _core
from ..._core import Op
from ..making.factory import allocate
from ..table.arrays import Array, dim_in, listed, refuse, rounded, widened
from ..table.kinds import composite, linear
from ..table.reference import alias
from ..table.signature import Ints, Tensor
from .conv import patches, place_counts, scatter_patches

_Ints = tuple[int, ...]


def _unfold(x: Array, k: _Ints, dilation: _Ints, padding: _Ints, stride: _Ints) -> Array:
    refuse("im2col_out_cpu", x, "iu")
    view = patches(x, k, stride, padding, dilation)
    n, c, *places = view.shape[:4]
    result: Array = allocate((n, c * math.prod(k), math.prod(places)), x.dtype)
    result.reshape(n, c, *k, *places)[...] = view.transpose(0, 1, 4, 5, 2, 3)
    return result


def _fold(
    columns: Array, size: _Ints, k: _Ints, dilation: _Ints, padding: _Ints, stride: _Ints
) -> Array:
    refuse("col2im_out_cpu", columns, "iu")
    n, rows = columns.shape[:2]
    c = rows // math.prod(k)
    places = place_counts(size, k, stride, padding, dilation)
    split = widened(columns).reshape(n, c, *k, *places).transpose(0, 1, 4, 5, 2, 3)
    return rounded(scatter_patches(split, (n, c, *size), stride, padding, dilation), columns)


_FOLDS = "kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes"
_im2col = linear(
    f"_im2col(input: Tensor, {_FOLDS})",
    _unfold,
    native=_core.kernels.im2col,
    transpose={
        "input": lambda g, input_shape, kernel_size, dilation, padding, stride: _col2im(
            g, tuple(input_shape[2:]), kernel_size, dilation, padding, stride
        )
    },
    batch="folded",
    node="Im2ColBackward0",
    method=False,
    samples=lambda make: [(make(1, 2, 4, 5), (2, 3), (1, 1), (0, 1), (2, 1))],
    doc="The patches of images, a column each.",
    written="unfold({input})",
)
_col2im: Op = linear(
    f"_col2im(input: Tensor, output_size: Sizes, {_FOLDS})",
    _fold,
    native=_core.kernels.col2im,
    transpose={
        "input": lambda g, kernel_size, dilation, padding, stride: _im2col(
            g, kernel_size, dilation, padding, stride
        )
    },
    batch="folded",
    node="Col2ImBackward0",
    method=False,
    samples=lambda make: [(make(1, 12, 9), (4, 4), (2, 2), (1, 1), (0, 0), (1, 1))],
    doc="The sum of patches at their places.",
    written="fold({input})",
)


def _two(name: str, value: Any) -> _Ints:
    pair = (value, value) if isinstance(value, int) else tuple([as_int(v) for v in value])
    if len(pair) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(pair)}")
    for v in pair:
        if not -(2**63) <= v < 2**63:
            raise RuntimeError(f"Overflow when unpacking long long. {name} is {v}.")
    return pair


def _numbers(
    kernel_size: object, dilation: object, padding: object, stride: object
) -> tuple[_Ints, ...]:
    """The numbers of both dimensions, checked."""
    k, d = _two("kernel_size", kernel_size), _two("dilation", dilation)
    p, s = _two("padding", padding), _two("stride", stride)
    for what, values, names, least in (
        ("kernel size should be greater than zero", k, "kernel", 1),
        ("stride should be greater than zero", s, "stride", 1),
        ("dilation should be greater than zero", d, "dilation", 1),
        ("padding should be non-negative", p, "pad", 0),
    ):
        if min(values) < least:
            raise RuntimeError(
                f"{what}, but got {names}_height: {values[0]} {names}_width: {values[1]}"
            )
    return k, d, p, s


def _batched(input: Tensor, ndim: int) -> Tensor:
    """The input with a batch; torch's error where an empty dimension is no batch."""
    shape = input.shape
    batched = input.ndim == ndim
    if input.ndim not in (ndim - 1, ndim) or 0 in shape[batched:]:
        possible = "with possibly 0 batch size and other non-zero dimensions for input"
        if ndim == 3:
            possible = "for input with possibly 0 batch size and non-zero dimensions for input"
        raise RuntimeError(
            f"Expected {ndim - 1}D or {ndim}D (batch mode) tensor {possible}, but got: "
            f"{listed(shape)}"
        )
    return input if batched else input.unsqueeze(0)


@composite(method=False)
def _image_patches(
    input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Tensor:
    """The patches of images (batch, channels, height, width) as (batch, channels * kernel,
    places)."""
    k, d, p, s = _numbers(kernel_size, dilation, padding, stride)
    if input.ndim < 3:
        dim_in(2, input.ndim)  # raises: torch asks for the size of the images
    x = _batched(input, 4)
    places = place_counts(x.shape[2:], k, s, p, d)
    if min(places) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(x.shape[2:])}, kernel_size={k}, dilation={d}, "
            f"padding={p}, calculated shape of the array of sliding blocks as {places}, "
            "but its components must be at least one."
        )
    result = _im2col(x, k, d, p, s)
    return result if input.ndim == 4 else result.squeeze(0)


alias("unfold", _image_patches, method=False, where="nn")


@composite(where="nn")
def fold(
    input: Tensor,
    output_size: Ints,
    kernel_size: Ints,
    dilation: Ints = 1,
    padding: Ints = 0,
    stride: Ints = 1,
) -> Tensor:
    """The transpose of `unfold`: patches summed into images of output_size."""
    size = _two("output_size", output_size)
    k, d, p, s = _numbers(kernel_size, dilation, padding, stride)
    x = _batched(input, 3)
    if x.shape[1] % math.prod(k):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={x.shape[1]} and kernel_size={k}."
        )
    places = place_counts(size, k, s, p, d)
    if x.shape[2] != math.prod(places):
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={k}, dilation={d}, padding={p}, stride={s}, "
            "expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{places[0]} * {places[1]} = {math.prod(places)}, but got input.size(2)={x.shape[2]}."
        )
    if min(places) < 1:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={k}, dilation={d}, padding={p}, stride={s}, "
            f"calculated shape of the array of sliding blocks as {places}, which is too small "
            "(non-positive)"
        )
    if min(size) < 1:
        raise RuntimeError(
            f"Expected output spatial size to be positive, but got: output_size={size}."
        )
    result = _col2im(x, size, k, d, p, s)
    return result if input.ndim == 3 else result.squeeze(0)


__all__ = ["fold"]
