"""Fractional max pooling: the largest values of windows whose distances are drawn at random.

Of an input of `size` places and `count` windows of `k`, window i begins at floor((i + u) * a) -
floor(u * a), a being (size - k) / (count - 1) and u the random number of this plane and dimension.
The last one ends with the input.
"""

from __future__ import annotations

import math
from typing import Any

from ... import _core
from ..._base.outside import np
from ..._core import Op
from ..random.samples import rand
from ..table.arrays import Array, listed, refuse
from ..table.kinds import composite, general
from ..table.signature import Ints, Tensor
from .pooling import pool_scatter

_ORDER = {2: (1, 0), 3: (0, 1, 2)}  # which of a plane's random numbers is for which dimension
_SIZES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _starts(u: Array, size: int, count: int, k: int) -> Array:
    """Where each window begins: (planes, count)."""
    a = u.dtype.type((size - k) / (count - 1)) if count > 1 else u.dtype.type(0)
    i = np.arange(count).astype(u.dtype)
    starts = ((i + u[:, None]) * a).astype(np.int64) - (u[:, None] * a).astype(np.int64)
    starts[:, -1:] = size - k
    return starts


def _pool(
    x: Array, samples: Array, kernel: tuple[int, ...], out: tuple[int, ...]
) -> tuple[Array, ...]:
    n = len(kernel)
    refuse(f"fractional_max_pool{n}d_out_frame", x, "biuc")
    size = x.shape[-n:]
    if min(out) < 1:
        shape = [*x.shape[:-n], *out]
        if min(out) < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(out)}: {shape}"
            )
        return np.zeros(shape, x.dtype), np.zeros(shape, np.int64)
    planes = math.prod(x.shape[:-n])
    flat = x.reshape(planes, math.prod(size))
    u = samples.reshape(-1, n)[:planes]
    places = np.zeros((planes, *(1,) * 2 * n), np.int64)  # (plane, windows..., kernel...)
    for d, order in enumerate(_ORDER[n]):
        starts = _starts(u[:, order], size[d], out[d], kernel[d])
        one = starts[:, :, None] + np.arange(kernel[d])
        shape = [planes] + [1] * 2 * n
        shape[1 + d], shape[1 + n + d] = out[d], kernel[d]
        places = places * size[d] + one.reshape(shape)
    places = places.reshape(planes, math.prod(out), math.prod(kernel))
    values = np.take_along_axis(flat[:, None, :], places, 2)
    best = values.argmax(2)[..., None]  # the first, and a NaN before all
    shape = [*x.shape[:-n], *out]
    return (
        np.take_along_axis(values, best, 2).reshape(shape),
        np.take_along_axis(places, best, 2).reshape(shape),
    )


def _op(n: int) -> Op:
    return general(
        f"_fractional_max_pool{n}d(input: Tensor, samples: Tensor, kernel_size: Any, "
        "output_size: Any)",
        _pool,
        native=_core.kernels.fractional_max_pool,
        backward=(_core.kernels.max_pool_backward, "g out1 input_shape kernel_size"),
        vjp={"input": lambda g, out1, input_shape: pool_scatter(g, out1, tuple(input_shape), n)},
        node=f"FractionalMaxPool{n}DBackward0",
        method=False,
        first_only=True,
        doc=f"The largest elements of windows of {n} dimensions at random distances, "
        "and their places.",
    )


def _of(n: int) -> None:
    op = _op(n)
    name = f"fractional_max_pool{n}d"
    planes = n + 1

    def run(
        input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any
    ) -> Any:
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        size = input.shape[-n:]
        if output_size is None:
            ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else [output_ratio] * n
            if len(ratios) > n:
                raise ValueError(
                    f"{name} requires output_ratio to either be a single Int or tuple of Ints."
                )
            output_size = tuple(int(size[d] * ratios[d]) for d in range(n))
        kind = "a single Int or tuple of " + ("three " if n == 3 else "") + "Ints"
        kernel = _each(kernel_size, n, f"{name}: kernel_size must either be {kind}")
        out = _each(output_size, n, f"{name}: output_size must either be {kind}")
        if input.ndim < planes:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(input.ndim, 1)}, "
                f"{max(input.ndim, 1) - 1}], but got {-planes})"
            )
        if input.ndim > planes + 1:
            raise RuntimeError(
                f"{name}(): Expected {planes}D or {planes + 1}D tensor, but got: {input.shape}"
            )
        for d in range(input.ndim - planes, input.ndim):
            if not input.shape[d]:
                raise RuntimeError(
                    f"{name}{'_out' * (n == 3)}(): Expected input to have non-zero size for "
                    f"non-batch dimensions, but got{listed(input.shape)} with dimension {d} being "
                    "empty."
                )
        batch = input.shape[0] if input.ndim > planes else 1
        channels = input.shape[-planes]
        if samples is None:
            refuse("check_uniform_bounds", input._form, "biu")
            how = {"dtype": input.dtype, "device": input.device}
            samples = _core.kernels.rand(batch, channels, n, **how)
            if samples is NotImplemented:
                samples = rand(batch, channels, n, **how)
        elif samples.dtype is not input.dtype:
            raise RuntimeError("Expect _random_samples to have the same dtype as input")
        elif samples.shape[1] != channels:
            raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
        elif samples.shape[0] < batch:
            raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
        elif samples.shape[2] != n:
            raise RuntimeError(
                f"Expect _random_samples.size(2) equals to {n}; got {samples.shape[2]}."
            )
        # In three dimensions PyTorch refuses the most windows that fit.
        said, spare = (name, 2) if n == 2 else (f"{name}_out", 1)
        for which, have, k, count in zip(_SIZES[n], size, kernel, out, strict=True):
            if k < 1:
                raise RuntimeError(f"{name}(): kernel sizes must be positive, but got {kernel}")
            if count < 0:
                raise RuntimeError(
                    f"Trying to create tensor with negative dimension {count}: "
                    f"{listed([*input.shape[:-n], *out])}"
                )
            if count + k - spare >= have:
                raise RuntimeError(
                    f"{said}(): pool {which} {k} too large relative to input {which} {have}"
                )
        return _core.remember(op, input, samples, kernel, out)

    @composite(
        where="nn",
        name=name,
        autocast="float32 here",
        doc=f"The largest elements of windows of {n} dimensions at random distances.",
        traits="random",
        remembers=True,
    )
    def pool(
        input: Tensor,
        kernel_size: Ints,
        output_size: Ints | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        both = run(input, kernel_size, output_size, output_ratio, _random_samples)
        return both if return_indices else both[0]

    @composite(
        where="nn",
        name=f"{name}_with_indices",
        doc=f"The largest elements of windows of {n} dimensions at random distances, and their "
        "places.",
        traits="random",
        remembers=True,
    )
    def pool_with_indices(
        input: Tensor,
        kernel_size: Ints,
        output_size: Ints | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        return run(input, kernel_size, output_size, output_ratio, _random_samples)


def _each(value: Any, n: int, text: str) -> tuple[int, ...]:
    values = (value,) * n if isinstance(value, int) else tuple(value)
    if len(values) != n:
        raise RuntimeError(text)
    return values


for _n in (2, 3):
    _of(_n)

__all__: list[str] = []
