"""Functions that make masked tensors: a leaf, or a tensor that stands in the graph."""

from __future__ import annotations

from typing import Any

from ..._core import Tensor
from ...autograd.function import Function
from .core import MaskedTensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: object, mask: object, requires_grad: bool = False) -> MaskedTensor:
    """A tensor of `data`'s values of which those count where `mask` is True; a leaf of the graph.

    `mask` is a boolean tensor of the shape of `data`. Both are copied.

    >>> data = torch.tensor([1.0, 2.0, 3.0])
    >>> mask = torch.tensor([True, False, True])
    >>> torch.masked.masked_tensor(data, mask)
    MaskedTensor(
      [  1.0000,       --,   3.0000]
    )
    """
    return MaskedTensor(data, mask, requires_grad)


class _Constructor(Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(mask)
        return MaskedTensor(data.detach(), mask)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> object:
        (mask,) = ctx.saved_tensors
        return grads[0].masked_fill(~mask, 0), None


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """As `masked_tensor`, and gradients flow on to `data`: zero where the mask is False.

    >>> data = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> mt = torch.masked.as_masked_tensor(data, torch.tensor([True, False, True]))
    >>> mt.sum()
    MaskedTensor(  4.0000, True)
    """
    if not isinstance(data, Tensor) or isinstance(data, MaskedTensor) or not data.requires_grad:
        return MaskedTensor(data, mask)
    made: Any = _Constructor.apply(data, mask)
    return MaskedTensor._wrap(made, mask)
