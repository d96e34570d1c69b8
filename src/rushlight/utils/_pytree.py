"""Nested containers as flat lists of leaves (the same module as `rushlight._pytree`)."""

import collections
from typing import Any

from .._pytree import *  # noqa: F403
from .._pytree import _NODES, NodeDef, _handler
from .._pytree import __all__ as __all__

# PyTorch's private names that libraries build on.
PyTree = Any
SUPPORTED_NODES = _NODES
_NodeDef = NodeDef


def _get_node_type(tree: Any) -> Any:
    """The type that says how a container is taken apart: that of named tuples is `namedtuple`."""
    kind = type(tree)
    named = kind not in _NODES and _handler(tree) is not None and hasattr(kind, "_fields")
    return collections.namedtuple if named else kind


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """The values of a dict, each with its key, and the keys."""
    return list(d.items()), list(d)
