"""Adaptive pooling: windows that cut the input into as many parts as asked for."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

from ... import _core
from ..._core import Op
from ..table.arrays import check_64_bits, listed, refuse
from ..table.kinds import composite, general, linear
from ..table.reference import alias
from ..table.signature import Flag, Tensor
from .pooling import has_no_history, largest_alone, pool_scatter

_Ints = tuple[int, ...]


def _adaptive_avg_op(n: int) -> Op:
    forward = linear(
        f"_adaptive_avg_pool{n}d(input: Tensor, output_size: Any)",
        _core.kernels.adaptive_avg_pool,
        transpose={"input": lambda g, input_shape: back(g, tuple(input_shape[-n:]))},
        batch="folded",
        node=f"AdaptiveAvgPool{n}DBackward0" if n > 1 else "SqueezeBackward1",
        method=False,
        samples=lambda make: [(make(2, *(5, 4, 3)[:n]), (3, 2, 2)[:n])],
        keeps="format and back: input" if n == 2 else "",
        doc="The means of as many windows as asked for.",
    )
    back: Any = linear(
        f"_adaptive_avg_pool{n}d_transpose(input: Tensor, output_size: Any)",
        _core.kernels.adaptive_avg_pool_backward,
        transpose={"input": lambda g, input_shape: forward(g, tuple(input_shape[-n:]))},
        batch="folded",
        node=f"AdaptiveAvgPool{max(n, 2)}DBackwardBackward0",
        method=False,
        doc="The transpose of adaptive average pooling.",
    )
    return forward


def _adaptive_max_op(n: int) -> Op:
    return general(
        f"_adaptive_max_pool{n}d(input: Tensor, output_size: Any)",
        _core.kernels.adaptive_max_pool,
        vjp={"input": lambda g, out1, input_shape: pool_scatter(g, out1, tuple(input_shape), n)},
        backward=(_core.kernels.max_pool_backward, "g out1 input_shape output_size"),
        batch="folded",
        node=f"AdaptiveMaxPool{n}DBackward0" if n > 1 else "SqueezeBackward1",
        method=False,
        first_only=True,
        samples=lambda make: [(make(2, *(5, 4, 3)[:n]), (3, 2, 2)[:n])],
        keeps="format and back: input" if n == 2 else "",
        doc="The largest elements of as many windows as asked for, and their places.",
    )


def _target_size(name: str, input: Tensor, output_size: Any, n: int, colon: str) -> _Ints:
    if n > 1 and isinstance(output_size, (tuple, list)) and input.ndim <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 "
            f"'self' (while checking arguments for {name})"
            if n == 1
            else f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} "
            f"{listed(input.shape)}"
        )
    shape, said = list(input.shape), name
    if name == "adaptive_avg_pool1d":  # which torch computes so
        shape.insert(-1, 1)
        said = "adaptive_avg_pool2d"
    last = len(shape) - 2 if said == "adaptive_avg_pool2d" else 1  # torch asks of these dimensions
    for dim, size in enumerate(shape):
        if not size and dim >= last:
            raise RuntimeError(
                f"{said}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {listed(shape)} with dimension {dim} being empty"
            )
    if isinstance(output_size, int):
        wanted = (output_size,) * n
    else:
        wanted = tuple(output_size)
        if len(wanted) != n:
            raise RuntimeError(f"{name}: output_size must be {n}")
        wanted = tuple(
            size if v is None else as_int(v)
            for v, size in zip(wanted, input.shape[-n:], strict=True)
        )
        check_64_bits(said, "output_size", wanted)
    if min(wanted) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 "
            f"but received {{{', '.join(map(str, wanted))}}}"
        )
    return wanted


def _adaptive_of(n: int) -> Any:
    average, largest = _adaptive_avg_op(n), _adaptive_max_op(n)
    alone = largest_alone(f"adaptive_max_pool{n}d", _core.kernels.adaptive_max_pool_values)
    avg_name, max_name = f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d"
    where = "nn torch" if n == 1 else "nn"

    @composite(
        where=where,
        method=False,
        name=avg_name,
        autocast="float32 here" if n == 3 else "",
        doc=f"The means of windows of {n} dimension(s) that cut the input into output_size parts.",
        remembers=True,
    )
    def avg(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
        ones = output_size in (1, (1,) * n, [1] * n)
        if n > 1 and ones and input.ndim >= n + (not isinstance(output_size, int)):
            mean = input.mean(tuple(range(-n, 0)), keepdim=True)
            if _core.suggests_channels_last(input):
                c = mean.shape[-n - 1]
                lead = (c,) * (input.ndim - n - 1)
                return mean.as_strided_(mean.shape, (*lead, 1, *(c,) * n))
            return mean
        wanted = _target_size(avg_name, input, output_size, n, "")
        refuse("adaptive_avg_pool2d" if n < 3 else avg_name, input._form, "biuc")
        return _core.remember(average, input, wanted)

    @composite(
        where="nn",
        name=max_name,
        autocast="float32 here" if n == 3 else "",
        doc=f"The largest elements of windows of {n} dimension(s) that cut the input into parts.",
        remembers=True,
    )
    def maximum(
        input: Tensor, output_size: int | Sequence[int | None], return_indices: Flag = False
    ) -> Any:
        wanted = _target_size(max_name, input, output_size, n, ":")
        refuse("adaptive_max_pool2d" if n < 3 else max_name, input._form, "biuc")
        if not return_indices and has_no_history(input):
            return _core.remember(alone, input, wanted)
        pair = _core.remember(largest, input, wanted)
        return pair if return_indices else pair[0]

    @composite(
        where="nn",
        name=f"{max_name}_with_indices",
        doc="Largest elements and their places.",
        remembers=True,
    )
    def with_indices(
        input: Tensor, output_size: int | Sequence[int | None], return_indices: Flag = True
    ) -> Any:
        return maximum(input, output_size, True)

    if n == 1:
        alias(max_name, with_indices, method=False)
    return avg


adaptive_avg_pools = {n: _adaptive_of(n) for n in (1, 2, 3)}
