"""`associative_scan`: all prefixes of a sequence under an associative function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base import pytree as _pytree
from ..._core import Tensor
from ...func import vmap
from ...ops.layout.joining import cat, stack

__all__ = ["associative_scan"]

_Leaves = list[Tensor]


def _scan(combine: Callable[[_Leaves, _Leaves], _Leaves], leaves: _Leaves) -> _Leaves:
    """Pairs are combined, their prefixes are every second one of all, and the rest follow."""
    count = leaves[0].shape[0]
    if count < 2:
        return leaves
    pairs = combine([t[:-1:2] for t in leaves], [t[1::2] for t in leaves])
    odd = _scan(combine, pairs)
    if count < 3:
        return [cat([t[:1], o]) for t, o in zip(leaves, odd, strict=True)]
    later = combine([o[: (count - 1) // 2] for o in odd], [t[2::2] for t in leaves])
    results = []
    for t, o, e in zip(leaves, odd, later, strict=True):
        even = cat([t[:1], e])
        both = stack([even[: len(o)], o], 1).flatten(0, 1)
        results.append(cat([both, even[len(o) :]]))
    return results


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: object,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """The running results of an associative function along a dimension; gradients go through.

    xs: a tensor, or tensors in lists, tuples and dicts, of one length along dim. combine_fn is
    given two elements of it, and computes one. reverse: from the last element on.

    >>> from rushlight._higher_order_ops import associative_scan
    >>> associative_scan(lambda a, b: a * b, torch.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 2., 6.])
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    leaves, spec = _pytree.tree_flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(t, Tensor) for t in leaves):
        raise ValueError(f"xs leaves must be a Tensor, but got {leaves}")
    moved = [t.movedim(dim, 0) for t in leaves]
    if not all(t.dim() and len(t) for t in moved):
        raise ValueError(
            "All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0"
        )
    if any(len(t) != len(moved[0]) for t in moved):
        raise ValueError(f"xs leaves must have one length along dim {dim}")

    def combine(left: _Leaves, right: _Leaves) -> _Leaves:
        one = vmap(combine_fn)
        found = one(_pytree.tree_unflatten(left, spec), _pytree.tree_unflatten(right, spec))
        return list(_pytree.tree_leaves(found))

    if reverse:
        moved = [t.flip(0) for t in moved]
    results = _scan(combine, moved)
    if reverse:
        results = [t.flip(0) for t in results]
    return _pytree.tree_unflatten([t.movedim(0, dim) for t in results], spec)
