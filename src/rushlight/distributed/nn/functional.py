"""Collectives that give their results, with gradients: of one process, its tensors."""

from __future__ import annotations

from typing import Any

from ..._core import Tensor
from ..._missing import missing_name as _missing_name
from .. import ReduceOp as ReduceOp
from .. import group as group
from .._groups import member as _group


def _same(tensor: Tensor, *args: Any, group: Any = None, **kwargs: Any) -> Tensor:
    """The tensor: of one process, it is the result."""
    _group(group)
    return tensor


broadcast = reduce = all_reduce = _same


def _listed(tensor: Tensor, *args: Any, group: Any = None, **kwargs: Any) -> tuple[Tensor, ...]:
    """The tensor of each process: of one."""
    _group(group)
    return (tensor,)


gather = all_gather = _listed


def _taken(tensors: Any, *args: Any, group: Any = None, **kwargs: Any) -> Tensor:
    """The one tensor of a list."""
    _group(group)
    found: Tensor = tensors[0]
    return found


scatter = _taken


def reduce_scatter(output: Tensor, input_list: Any, *args: Any, **kwargs: Any) -> Tensor:
    """The one tensor of a list."""
    return _taken(input_list, **kwargs)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None) -> Any:
    """The tensors of a list."""
    _group(group)
    return tuple(input_tensor_list)


__getattr__ = _missing_name(__name__)
