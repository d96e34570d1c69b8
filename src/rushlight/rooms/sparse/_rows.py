"""Sparse gradients of dense tables: `embedding(sparse=True)`, `gather(sparse_grad=True)`."""

from __future__ import annotations

from typing import Any

from .. import _root as rl
from .._base.outside import np
from .._core import Tensor
from ._form import integers, placed, record, stay_here

__all__ = ["gathered", "rows"]


def rows(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    """The rows of weight that indices name; the gradient of weight has a row for each of them."""
    if weight._accelerator is not None:  # on meta nothing is computed backward
        stay_here("embedding_sparse_backward", weight)
    with rl.no_grad():
        made = rl.embedding(weight.detach(), indices, padding_idx)
    shape = tuple(weight.shape)

    def rule(g: Tensor) -> Tensor:
        if scale_grad_by_freq:
            raise RuntimeError(
                "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
            )
        numbers = np.asarray(indices._array, np.int64).reshape(1, -1)
        values = g.reshape(numbers.size, shape[1])
        if padding_idx >= 0:
            kept = np.flatnonzero(numbers[0] != padding_idx)
            numbers, values = numbers[:, kept], values.index_select(0, integers(kept))
        return placed(values, shape, numbers)

    return record("EmbeddingBackward0", made, (weight,), (rule,))


def gathered(g: Tensor, dim: int, index: Tensor, shape: Any) -> Tensor:
    """The gradient of `torch.gather`, which has a value for each element of the result."""
    at = np.asarray(index._array, np.int64)
    places = np.indices(at.shape).reshape(at.ndim, at.size)
    if len(shape) == 0:
        places = np.zeros((0, at.size), np.int64)
    elif at.ndim:
        places[dim] = at.ravel()
    else:
        places = at.reshape(1, 1)
    return placed(g.reshape(-1), shape, places)
