"""torch.autograd._functions: a function of older programs."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .function import Function


class Resize(Function):
    """The same elements in another shape."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
        ctx.input_sizes = tensor.shape
        return tensor.contiguous().view(sizes).clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        return grad_output.contiguous().view(ctx.input_sizes), None
