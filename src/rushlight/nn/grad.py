"""torch.nn.grad: the gradients of convolutions, as functions of their own.

`convNd_input` is the gradient in the input, of which only the size is needed, and `convNd_weight`
the gradient in the weight.

>>> torch.nn.grad.conv1d_input((1, 1, 4), torch.ones(1, 1, 2), torch.ones(1, 1, 3))
tensor([[[1., 2., 2., 1.]]])
>>> torch.nn.grad.conv1d_weight(torch.ones(1, 1, 4), (1, 1, 2), torch.ones(1, 1, 3))
tensor([[[3., 3.]]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._root import Tensor

from .._base.missing import missing_name as _missing_name
from ..ops.layers.conv import convolution_gradient as _gradient
from ..ops.table.arrays import listed as _listed
from .modules.utils import _ntuple

_More = int | tuple[int, ...]


def _gradient_of(of: str, n: int) -> Callable[..., Tensor]:
    def input_gradient(
        input_size: Any,
        weight: Tensor,
        grad_output: Tensor,
        stride: _More = 1,
        padding: _More = 0,
        dilation: _More = 1,
        groups: int = 1,
    ) -> Tensor:
        _check(len(input_size), weight.shape, input_size)
        s, p, d = (_ntuple(x, n) for x in (stride, padding, dilation))
        return _gradient("input", grad_output, weight, tuple(input_size), s, p, d, groups)

    def weight_gradient(
        input: Tensor,
        weight_size: Any,
        grad_output: Tensor,
        stride: _More = 1,
        padding: _More = 0,
        dilation: _More = 1,
        groups: int = 1,
    ) -> Tensor:
        _check(input.ndim, weight_size, input.shape)
        s, p, d = (_ntuple(x, n) for x in (stride, padding, dilation))
        return _gradient("weight", grad_output, input, tuple(weight_size), s, p, d, groups)

    def _check(dims: int, weight: Any, input: Any) -> None:
        if dims != n + 2:
            raise RuntimeError(
                f"Expected {n + 2}-dimensional input for {n + 2}-dimensional weight "
                f"{_listed(weight)}, but got {dims}-dimensional input of size {_listed(input)} "
                "instead"
            )

    made = input_gradient if of == "input" else weight_gradient
    made.__name__ = made.__qualname__ = f"conv{n}d_{of}"
    made.__doc__ = f"The gradient of `conv{n}d` in its {of}."
    return made


conv1d_input: Callable[..., Tensor] = _gradient_of("input", 1)
conv2d_input: Callable[..., Tensor] = _gradient_of("input", 2)
conv3d_input: Callable[..., Tensor] = _gradient_of("input", 3)
conv1d_weight: Callable[..., Tensor] = _gradient_of("weight", 1)
conv2d_weight: Callable[..., Tensor] = _gradient_of("weight", 2)
conv3d_weight: Callable[..., Tensor] = _gradient_of("weight", 3)

__all__ = [f"conv{n}d_{of}" for n in (1, 2, 3) for of in ("input", "weight")]

__getattr__ = _missing_name(__name__)
