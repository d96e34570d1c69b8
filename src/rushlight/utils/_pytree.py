"""Nested containers as flat lists of leaves (the same module as `rushlight._base.pytree`)."""

from __future__ import annotations

import collections
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .._base.missing import missing_name as _missing_name
from .._base.pytree import *  # noqa: F403
from .._base.pytree import (
    _NODES,
    LeafSpec,
    NodeDef,
    TreeSpec,
    _handler,
    register_pytree_node,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from .._base.pytree import __all__ as __all__

# PyTorch's private names that libraries build on.
PyTree = Context = Any
_Dict = dict[object, object]
_Function = Callable[..., object]
_Predicate = Callable[[object], bool]
SUPPORTED_NODES = _NODES
_NodeDef = NodeDef


def _get_node_type(tree: object) -> object:
    """The type that says how a container is taken apart: that of named tuples is `namedtuple`."""
    kind = type(tree)
    named = kind not in _NODES and _handler(tree) is not None and hasattr(kind, "_fields")
    return collections.namedtuple if named else kind


def _dict_flatten_with_keys(d: _Dict) -> tuple[list[tuple[object, object]], list[object]]:
    """The values of a dict, each with its key, and the keys."""
    return list(d.items()), list(d)


# ---- where a leaf is


class SequenceKey(NamedTuple):
    """A place in a list or a tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The value at the place."""
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """A place in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The value at the place."""
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """An attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: object) -> Any:
        """The value at the place."""
        return getattr(obj, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey
KeyPath = tuple[KeyEntry, ...]


def keystr(kp: KeyPath) -> str:
    """A path as it would be written: "['a'][1]"."""
    return "".join(map(str, kp))


def key_get(obj: object, kp: KeyPath) -> Any:
    """The value at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _paths(tree: object, path: KeyPath, is_leaf: Any) -> Iterator[tuple[KeyPath, object]]:
    """The leaves of a tree, each with its path."""
    found = None if is_leaf is not None and is_leaf(tree) else _handler(tree)
    if found is None:
        yield path, tree
        return
    kind, flatten, _ = found
    with_keys = getattr(_NODES.get(kind), "flatten_with_keys_fn", None)
    pairs: list[tuple[KeyEntry, object]]
    if with_keys is not None:
        pairs = list(with_keys(tree)[0])
    elif isinstance(tree, dict):
        pairs = [(MappingKey(key), value) for key, value in tree.items()]
    elif hasattr(tree, "_fields"):
        pairs = [(GetAttrKey(name), getattr(tree, name)) for name in tree._fields]
    else:
        pairs = [(SequenceKey(i), child) for i, child in enumerate(flatten(tree)[0])]
    for key, child in pairs:
        yield from _paths(child, (*path, key), is_leaf)


def tree_leaves_with_path(tree: object, is_leaf: object = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each with its path."""
    return list(_paths(tree, (), is_leaf))


def tree_flatten_with_path(
    tree: object, is_leaf: object = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves of a tree, each with its path, and its structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: _Function, tree: object, *rests: object, is_leaf: object = None
) -> Any:
    """The tree with every leaf replaced by func(path, leaf, ...)."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    paired = zip(leaves, *others, strict=True)
    return tree_unflatten([func(path, leaf, *more) for (path, leaf), *more in paired], spec)


# ---- more ways to go over a tree


def tree_iter(tree: object, is_leaf: object = None) -> Iterator[Any]:
    """The leaves of a tree, one after the other."""
    return (leaf for _, leaf in _paths(tree, (), is_leaf))


def tree_is_leaf(tree: object, is_leaf: Any = None) -> bool:
    """Whether this is no container."""
    return (is_leaf is not None and bool(is_leaf(tree))) or _handler(tree) is None


def tree_map_(func: _Function, tree: object, *rests: object, is_leaf: object = None) -> Any:
    """Call a function with every leaf, and give the tree back."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chosen(kind: Any) -> Callable[[object], bool]:
    """Whether a leaf is of a type, of one of several, or what a predicate holds for."""
    if isinstance(kind, (type, tuple)):
        return lambda x: isinstance(x, kind)
    return kind


def map_only(kind: object) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function leaves what is of another type as it is."""
    chosen = _chosen(kind)
    return lambda function: lambda x: function(x) if chosen(x) else x


def tree_map_only_(kind: object, func: _Function, tree: object, is_leaf: object = None) -> Any:
    """Call a function with every leaf of a type, and give the tree back."""
    return tree_map_(map_only(kind)(func), tree, is_leaf=is_leaf)


def tree_all_only(kind: object, pred: _Predicate, tree: object, is_leaf: object = None) -> bool:
    """Whether a predicate holds for every leaf of a type."""
    return all(map(pred, filter(_chosen(kind), tree_leaves(tree, is_leaf))))


def tree_any_only(kind: object, pred: _Predicate, tree: object, is_leaf: object = None) -> bool:
    """Whether a predicate holds for a leaf of a type."""
    return any(map(pred, filter(_chosen(kind), tree_leaves(tree, is_leaf))))


def arg_tree_leaves(*args: object, **kwargs: object) -> list[Any]:
    """The leaves of a call's arguments."""
    return tree_leaves((args, kwargs))


def is_namedtuple(obj: object) -> bool:
    """Whether this is a named tuple, or a class of them."""
    cls = obj if isinstance(obj, type) else type(obj)
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


is_namedtuple_class = is_namedtuple_instance = _is_namedtuple_instance = is_namedtuple


def is_structseq_instance(obj: object) -> bool:
    """Whether something is a named tuple of C code (`torch.return_types.max`)."""
    return is_structseq_class(type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether a class is one of such tuples."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "n_sequence_fields")


def _list_flatten(d: list[object]) -> tuple[list[object], None]:
    """The elements of a list."""
    return d, None


def _list_flatten_with_keys(d: list[object]) -> tuple[list[tuple[object, object]], None]:
    """Its elements with their places."""
    return [(SequenceKey(i), x) for i, x in enumerate(d)], None


def _list_unflatten(values: Iterable[object], context: object) -> list[object]:
    """The list of those elements."""
    return list(values)


def _dict_flatten(d: dict[object, object]) -> tuple[list[object], list[object]]:
    """The values of a dict, and its keys."""
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[object], context: Iterable[object]) -> dict[object, object]:
    """The dict of these values under these keys."""
    return dict(zip(context, values, strict=True))


_register_pytree_node = _private_register_pytree_node = register_pytree_node


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Let instances of a dataclass be containers of their fields."""
    dropped = drop_field_names or []
    known = [f.name for f in dataclasses.fields(cls) if f.init]
    names = field_names or [name for name in known if name not in dropped]
    register_pytree_node(
        cls,
        lambda x: ([getattr(x, name) for name in names], names),
        lambda values, names: cls(**dict(zip(names, values, strict=True))),
        flatten_with_keys_fn=lambda x: ([(GetAttrKey(n), getattr(x, n)) for n in names], names),
        serialized_type_name=serialized_type_name,
    )


def _deregister_pytree_node(cls: type) -> None:
    """Let instances of a class be leaves again."""
    _NODES.pop(cls, None)


# ---- structures as text

_SERIALIZED: dict[str, type] = {
    **{f"builtins.{kind.__name__}": kind for kind in (list, tuple, dict)},
    "collections.OrderedDict": collections.OrderedDict,
    "collections.deque": collections.deque,
}


def _schema(spec: TreeSpec) -> dict[str, object]:
    """A structure as what JSON can hold."""
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    name = next((name for name, kind in _SERIALIZED.items() if kind is spec.type), None)
    node = _NODES.get(spec.type)
    name = name or getattr(node, "serialized_type_name", None)
    if name is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    to_text = getattr(node, "to_dumpable_context", None)
    context = to_text(spec.context) if to_text else json.dumps(spec.context)
    children = [_schema(child) for child in spec.children_specs]
    return {"type": name, "context": context, "children_spec": children}


def _from_schema(schema: dict[str, Any]) -> TreeSpec:
    """The structure of that."""
    name = schema["type"]
    if name is None:
        return LeafSpec()
    kind = _SERIALIZED.get(name)
    if kind is None:
        named = (k for k, n in _NODES.items() if getattr(n, "serialized_type_name", None) == name)
        kind = next(named, None)
    if kind is None:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    from_text = getattr(_NODES.get(kind), "from_dumpable_context", None)
    context = from_text(schema["context"]) if from_text else json.loads(schema["context"])
    return TreeSpec(kind, context, [_from_schema(child) for child in schema["children_spec"]])


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec "
            f"but got item of type {type(treespec)}."
        )
    if protocol not in (None, 1):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return json.dumps([1, _schema(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that JSON tells."""
    protocol, schema = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _from_schema(schema)


__getattr__ = _missing_name(__name__)
