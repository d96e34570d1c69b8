"""Means and p-norms of windows of one to three dimensions. Average pooling is linear."""

from __future__ import annotations

import math
from typing import Any

from ... import _core
from ..._base.size import Size
from ..._core import Op
from ..table.arrays import Array, dim_in, listed, refuse
from ..table.kinds import composite, linear
from ..table.signature import Ints, Tensor
from .pooling import (
    checked_window,
    each_dim,
)

_kernels = _core.kernels
_Ints = tuple[int, ...]


_AVERAGE = (
    "kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, divisor: Any"
)


def _avg_pool_op(n: int) -> tuple[Op, ...]:
    def down(
        g: Tensor,
        input_shape: Size,
        kernel_size: _Ints,
        stride: _Ints,
        padding: _Ints,
        ceil_mode: bool,
        include: bool,
        divisor: int | None,
    ) -> Tensor:
        shape = tuple(input_shape)
        return back(g, shape, kernel_size, stride, padding, ceil_mode, include, divisor)

    forward = linear(
        f"_avg_pool{n}d(input: Tensor, {_AVERAGE})",
        _kernels.avg_pool,
        transpose={"input": down},
        batch="folded",
        node=f"AvgPool{n}DBackward0" if n > 1 else "SqueezeBackward1",
        method=False,
        samples=lambda make: [
            (
                make(2, *(5, 4, 3)[:n]),
                (2, 2, 2)[:n],
                (2, 1, 1)[:n],
                (1, 0, 0)[:n],
                True,
                False,
                None,
            )
        ],
        keeps="format and back: input" if n == 2 else "",
        doc=f"The means of windows of {n} dimension(s).",
    )
    back = linear(
        f"_avg_pool{n}d_transpose(input: Tensor, shape: Any, {_AVERAGE})",
        _kernels.avg_pool_backward,
        transpose={
            "input": lambda g, kernel_size, stride, padding, ceil_mode, include, divisor: forward(
                g, kernel_size, stride, padding, ceil_mode, include, divisor
            )
        },
        batch="folded",
        node=f"AvgPool{max(n, 2)}DBackwardBackward0",
        method=False,
        doc="The transpose of average pooling.",
    )
    return forward, back


_avg_pools = {n: _avg_pool_op(n)[0] for n in (1, 2, 3)}


def _refuse_types(name: str, a: Array, halves: bool = False) -> None:
    """Of the integers, int64 only has a mean."""
    refuse(name, a, "bc" if a.dtype.name == "int64" else "biuc", halves)


def _avg_pool_of(n: int) -> Any:
    name = f"avg_pool{n}d"
    op = _avg_pools[n]

    def run(
        input: Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        if input.ndim not in (n + 1, n + 2):
            if n == 1:
                raise RuntimeError(
                    f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for "
                    "argument "
                    "#1 'self' (while checking arguments for avg_pool1d)"
                )
            if input.ndim <= n:
                dim_in(-n - 1, input.ndim)  # raises: torch asks for the number of channels
            raise RuntimeError(
                f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got {listed(input.shape)}"
            )
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        how = kernel_size, stride, padding, 1, ceil_mode
        k, s, p, _ = checked_window(name, n, input.shape, *how)
        if n < 3:
            _refuse_types("avg_pool2d", input._form)
        else:
            _refuse_types("avg_pool3d_out_frame", input._form, halves=True)
        return _core.remember(op, input, k, s, p, ceil_mode, count_include_pad, divisor_override)

    enter = composite(
        where="nn torch" if n == 1 else "nn",
        method=False,
        name=name,
        autocast="float32 here" if n == 3 else "",
        doc=f"The mean of each window of {n} dimension(s).",
        remembers=True,
    )
    if n == 1:

        @enter
        def pool(
            input: Tensor,
            kernel_size: Ints,
            stride: Ints | None = None,
            padding: Ints = 0,
            ceil_mode: bool = False,
            count_include_pad: bool = True,
        ) -> Tensor:
            return run(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    else:

        @enter
        def pool(
            input: Tensor,
            kernel_size: Ints,
            stride: Ints | None = None,
            padding: Ints = 0,
            ceil_mode: bool = False,
            count_include_pad: bool = True,
            divisor_override: int | None = None,
        ) -> Tensor:
            return run(
                input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
            )

    return pool


avg_pool1d, avg_pool2d, avg_pool3d = _avg_pool_of(1), _avg_pool_of(2), _avg_pool_of(3)


def _lp_pool_of(n: int) -> Any:
    average = (avg_pool1d, avg_pool2d, avg_pool3d)[n - 1]

    name = f"lp_pool{n}d"

    @composite(where="nn", name=name, doc=f"The p-norm of each window of {n} dimension(s).")
    def pool(
        input: Tensor,
        norm_type: float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        k = each_dim(kernel_size, name, "kernel_size", n)
        mean = average(input.pow(norm_type), k, stride, 0, ceil_mode)
        # 0 where the mean is 0, where a root would have an infinite slope.
        some = mean.detach().sign().abs()
        return ((mean + (1 - some)) * math.prod(k)).pow(1.0 / norm_type) * some

    return pool


lp_pool1d, lp_pool2d, lp_pool3d = _lp_pool_of(1), _lp_pool_of(2), _lp_pool_of(3)
