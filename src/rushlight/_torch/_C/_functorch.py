"""torch._C._functorch: what libraries ask of the transforms, and levels of vmap by hand."""

from __future__ import annotations

from ..._core import Tensor
from ..._levels.batch import Batch as _Batch
from ..._levels.running import transforms as _transforms
from ...func._tools import debug_unwrap as _debug_unwrap
from ...func._vmap import (
    _add_batch_dim,
    _remove_batch_dim,
    _vmap_decrement_nesting,
    _vmap_increment_nesting,
)
from ...ops.table.arrays import dim_in as _dim_in

__all__ = ["_add_batch_dim", "_remove_batch_dim"]
__all__ += ["_vmap_decrement_nesting", "_vmap_increment_nesting"]


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor stands for several, inside vmap."""
    return type(tensor._wrapped) is _Batch


def is_legacy_batchedtensor(tensor: Tensor) -> bool:
    """False: there is one kind of batched tensor."""
    return False


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Whether a tensor stands for others, inside vmap, grad or jvp."""
    return tensor._wrapped is not None


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Whether a tensor stands for a value and its tangent."""
    return tensor._wrapped is not None and not is_batchedtensor(tensor)


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The tensor behind a tensor in the innermost transform that has it."""
    return _debug_unwrap(tensor, recurse=False)


def maybe_get_level(tensor: Tensor) -> int:
    """The number of that transform, counted from the outermost, which is 1; -1 without one."""
    return -1 if tensor._wrapped is None else int(tensor._wrapped.level.depth)


def maybe_get_bdim(tensor: Tensor) -> int:
    """The dimension of `get_unwrapped` with the elements, of a batched tensor; else -1."""
    return 0 if is_batchedtensor(tensor) else -1


def maybe_current_level() -> int | None:
    """The number of the innermost running transform, or None."""
    return len(_transforms()) or None


def reshape_dim_into(src: int, dst: int, x: Tensor) -> Tensor:
    """The tensor with dimension `src` merged into dimension `dst` of the others, as its outer
    part."""
    src, dst = _dim_in(src, x.ndim), _dim_in(dst, x.ndim - 1)
    return x.movedim(src, dst).flatten(dst, dst + 1)


def reshape_dim_outof(src: int, size1: int, x: Tensor) -> Tensor:
    """The tensor with dimension `src` as two, the first of size `size1`."""
    src = _dim_in(src, x.ndim)
    if x.shape[src] % size1:
        raise RuntimeError(f"shape[src] % size1 == 0: {x.shape[src]} is no multiple of {size1}")
    return x.unflatten(src, (size1, x.shape[src] // size1))
