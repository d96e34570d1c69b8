"""Nested arguments of traced functions: their leaves, in the order of a structure told before."""

from __future__ import annotations

from typing import Any

from .._base import pytree as _pytree
from .._base.pytree import TreeSpec

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

SUPPORTED_NODES: dict[type, Any] = {}


def register_pytree_flatten_spec(
    cls: type, flatten_fn_spec: object, flatten_fn_exact_match_spec: object = None
) -> None:
    """Let a function take containers of a class apart: flatten_fn_spec(container, spec)."""
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(tree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of a tree, as the structure has them."""
    if spec.type is None:
        return [tree]
    kind = spec.type
    if kind in SUPPORTED_NODES:
        children = SUPPORTED_NODES[kind](tree, spec)
    elif issubclass(kind, dict):
        children = [tree[key] for key in spec.context]
    elif issubclass(kind, (tuple, list)):
        children = [tree[i] for i in range(len(spec.children_specs))]
    else:
        children = _pytree.tree_flatten(tree, is_leaf=lambda x: x is not tree)[0]
    return [
        leaf
        for child, inner in zip(children, spec.children_specs, strict=True)
        for leaf in tree_flatten_spec(child, inner)
    ]
