"""Collectives that give their results: of one process, its tensors."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .._missing import missing_name as _missing_name


class AsyncCollectiveTensor(Tensor):
    """A result that is not there yet: no tensor is one here."""


def _same(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor: of one process, it is the result."""
    return tensor


all_reduce = all_gather_tensor = all_gather_tensor_autograd = reduce_scatter_tensor = _same
reduce_scatter_tensor_autograd = all_to_all_single = all_to_all_single_autograd = _same
broadcast = wait_tensor = permute_tensor = all_gather_single = reduce_scatter_single = _same

__getattr__ = _missing_name(__name__)
