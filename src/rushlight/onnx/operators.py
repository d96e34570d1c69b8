"""Functions whose results an export keeps as tensors."""

from __future__ import annotations

from .. import _root as rl
from .._core import Tensor
from .._missing import missing_name as _missing_name


def shape_as_tensor(x: Tensor) -> Tensor:
    """The sizes of a tensor, as a tensor."""
    return rl.tensor(list(x.shape), dtype=rl.int64)


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """A tensor reshaped to sizes that are a tensor."""
    return x.reshape([int(n) for n in shape.tolist()])


__getattr__ = _missing_name(__name__)
