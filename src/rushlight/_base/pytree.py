"""Nested containers as flat lists of leaves and back: tuples, lists, dictionaries, named tuples."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from .._core import Tensor

__all__ = [
    "LeafSpec",
    "TreeSpec",
    "broadcast_to_and_flatten",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]


class TreeSpec:
    """The structure of a tree: the container's type, its context and its children."""

    __slots__ = ("children_specs", "context", "num_leaves", "type")

    def __init__(self, kind: type | None, context: Any, children: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = kind, context, children
        self.num_leaves: int = sum(c.num_leaves for c in children) if kind is not None else 1

    def is_leaf(self) -> bool:
        """Whether this is a leaf."""
        return self.type is None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TreeSpec)
            and self.type is other.type
            and self.context == other.context
            and self.children_specs == other.children_specs
        )

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves))

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.type is None:
            return "*"
        name, context = self.type.__name__, self.context
        if hasattr(self.type, "_make"):
            name, context = "namedtuple", self.type
        children = [c._text(indent + 2) for c in self.children_specs]
        inner = (",\n" + " " * (indent + 2)).join(children)
        if len(children) > 1 or (children and children[0] != "*"):
            inner = inner if len(children) > 1 else children[0]
        return f"TreeSpec({name}, {context}, [{inner}])"


_LEAF = TreeSpec(None, None, [])


def LeafSpec() -> TreeSpec:
    """The structure of a leaf."""
    return _LEAF


Flatten = Callable[[Any], tuple[list[Any], Any]]
Unflatten = Callable[[list[Any], Any], Any]


class NodeDef(NamedTuple):
    """How a container is taken apart and put together."""

    flatten_fn: Flatten
    unflatten_fn: Unflatten
    # As registered, for paths and for structures as text (utils/_pytree.py).
    serialized_type_name: str | None = None
    to_dumpable_context: Callable[[Any], Any] | None = None
    from_dumpable_context: Callable[[Any], Any] | None = None
    flatten_with_keys_fn: Callable[[Any], Any] | None = None


_NODES: dict[type, NodeDef] = {}


def register_pytree_node(
    cls: type, flatten_fn: Flatten, unflatten_fn: Callable[[Any, Any], Any], **more: Any
) -> None:
    """Let instances of a class be containers: flatten gives (children, context).

    more: the other fields of NodeDef.
    """
    known = {name: value for name, value in more.items() if name in NodeDef._fields}
    _NODES[cls] = NodeDef(flatten_fn, unflatten_fn, **known)


def _flatten_dict(d: Any) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


for _kind, _flat, _unflat in (
    (tuple, lambda t: (list(t), None), lambda c, _: tuple(c)),
    (list, lambda t: (list(t), None), lambda c, _: list(c)),
    (dict, _flatten_dict, lambda c, keys: dict(zip(keys, c, strict=True))),
    (OrderedDict, _flatten_dict, lambda c, keys: OrderedDict(zip(keys, c, strict=True))),
    (
        defaultdict,
        lambda d: (list(d.values()), [d.default_factory, list(d)]),
        lambda c, x: defaultdict(x[0], zip(x[1], c, strict=True)),
    ),
    (deque, lambda d: (list(d), d.maxlen), lambda c, maxlen: deque(c, maxlen=maxlen)),
):
    register_pytree_node(_kind, _flat, _unflat)


def _handler(x: object) -> tuple[Any, Flatten, Unflatten] | None:
    kind = type(x)
    found = _NODES.get(kind)
    if found is not None:
        return kind, found[0], found[1]
    if isinstance(x, tuple):
        return kind, lambda t: (list(t), None), lambda c, _: _rebuilt(kind, c)
    return None


def _rebuilt(kind: type, children: list[Tensor]) -> Any:
    """A named tuple, or one of the library's own (torch.return_types), of new items."""
    return kind._make(children) if hasattr(kind, "_make") else kind(tuple(children))


def tree_flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree in order, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Tensor], is_leaf: Any) -> TreeSpec:
    found = None if is_leaf is not None and is_leaf(tree) else _handler(tree)
    if found is None:
        leaves.append(tree)
        return _LEAF
    kind, flatten, _ = found
    children, context = flatten(tree)
    return TreeSpec(kind, context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """The tree of a structure with these leaves."""
    if not isinstance(treespec, TreeSpec):  # the other order of arguments
        leaves, treespec = treespec, leaves
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec "
            f"refers to a pytree that holds {treespec.num_leaves} items ({treespec})."
        )
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_unflatten(leaves, c) for c in spec.children_specs]
    kind = spec.type
    if kind in _NODES:
        return _NODES[kind][1](children, spec.context)
    return _rebuilt(kind, children)


def tree_map(function: Any, tree: Any, *rests: object, is_leaf: Any = None) -> Any:
    """The tree with every leaf replaced by function(leaf, ...)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(r, is_leaf)[0] for r in rests]
    return tree_unflatten([function(*x) for x in zip(leaves, *others, strict=True)], spec)


def tree_map_only(kind: Any, function: Any, tree: Any, is_leaf: Any = None) -> Any:
    """`tree_map` of the leaves of a type (or of several, or that a predicate holds for)."""
    if isinstance(kind, (type, tuple)):
        return tree_map(lambda x: function(x) if isinstance(x, kind) else x, tree, is_leaf=is_leaf)
    return tree_map(lambda x: function(x) if kind(x) else x, tree, is_leaf=is_leaf)


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Any = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_all(predicate: Any, tree: Any) -> bool:
    """Whether a predicate holds for every leaf."""
    return all(map(predicate, tree_leaves(tree)))


def tree_any(predicate: Any, tree: Any) -> bool:
    """Whether a predicate holds for a leaf."""
    return any(map(predicate, tree_leaves(tree)))


def broadcast_to_and_flatten(prefix: Any, spec: TreeSpec) -> list[Any] | None:
    """A prefix of a tree spread over its leaves; None where it does not fit."""
    if spec.type is None:
        return [prefix] if _handler(prefix) is None else None
    found = _handler(prefix)
    if found is None:
        return [prefix] * spec.num_leaves
    kind, flatten, _ = found
    if kind is not spec.type:
        return None
    children, context = flatten(prefix)
    if len(children) != len(spec.children_specs) or context != spec.context:
        return None
    result: list[Any] = []
    for child, child_spec in zip(children, spec.children_specs, strict=True):
        part = broadcast_to_and_flatten(child, child_spec)
        if part is None:
            return None
        result += part
    return result
