"""A step of a graph, and maps over the nested arguments of steps."""

from __future__ import annotations

import builtins
import inspect
import operator
import types
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from .._alias.spelling import resolved, root, spelled
from .._base import dtypes
from .._base.device import device as _device
from .._base.missing import missing_name as _missing_name
from .._base.missing import torch_spelling
from .._core import Tensor
from .immutable_collections import immutable_dict, immutable_list
from .operator_schemas import ArgsKwargsPair, normalize_function, normalize_module

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Target: TypeAlias = Callable[..., Any] | str
Argument: TypeAlias = Any
BaseArgumentTypes: TypeAlias = (
    str | int | float | bool | complex | dtypes.dtype | Tensor | _device  # and formats, layouts
)
base_types: tuple[type, ...] = (
    *(str, int, float, bool, complex, dtypes.dtype, Tensor, _device),
    *(type(getattr(dtypes, n)) for n in ("contiguous_format", "strided") if hasattr(dtypes, n)),
)
_Function = TypeVar("_Function", bound=Callable[..., Any])

_legal_ops = dict.fromkeys(
    "placeholder call_method call_module call_function get_attr output root".split()
)
_side_effectful_functions: set[object] = {operator.setitem}


def has_side_effect(fn: _Function) -> _Function:
    """Decorator: `eliminate_dead_code` keeps calls of the function whose results nobody uses.

    >>> @torch.fx.has_side_effect
    ... def log(x):
    ...     return x
    >>> gm = torch.fx.symbolic_trace(lambda x: x)
    >>> with gm.graph.inserting_before(gm.graph.output_node()):
    ...     _ = gm.graph.call_function(log, (1,))
    >>> gm.graph.eliminate_dead_code()
    False
    """
    _side_effectful_functions.add(fn)
    return fn


def _is_random(target: object) -> bool:
    name = spelled(target) or ""
    return name in _RANDOM


_RANDOM = {
    f"torch.{name}"
    for name in (
        "rand rand_like randn randn_like randint randint_like randperm normal bernoulli multinomial"
    ).split()
}


def _find_module_of_method(orig_method: Callable[..., object]) -> str:
    """The module that a function's name is told with, as PyTorch spells it."""
    name = spelled(orig_method)
    if name is not None:
        return name.rpartition(".")[0]
    module = orig_method.__module__
    if module is None:
        raise RuntimeError(f"cannot find module for {orig_method}")
    return torch_spelling(module) if module.startswith("rushlight") else module


def _type_repr(obj: object) -> str:
    """A type's name with its module; what Python's repr says of anything else."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        known = spelled(obj)
        if known is not None:
            return known
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{torch_spelling_of(obj.__module__)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    return obj.__name__ if isinstance(obj, types.FunctionType) else repr(obj)


def torch_spelling_of(module: str) -> str:
    """A module's name as PyTorch's programs know it."""
    return torch_spelling(module) if module.split(".")[0] == "rushlight" else module


def _get_qualified_name(func: Callable[..., object], kwargs: object = ()) -> str:
    """A function's name with its module's, as PyTorch spells it."""
    name: str = func.__name__
    if getattr(builtins, name, None) is func:
        return name
    known = spelled(func, kwargs)
    if known is not None:
        return known
    if getattr(Tensor, name, None) is func:
        return f"torch.Tensor.{name}"
    if name == "<lambda>":
        try:
            name = inspect.getsource(func).split("=")[0].strip()
        except Exception as error:
            raise RuntimeError("Unable to represent lambda") from error
    return f"{_find_module_of_method(func)}.{name}"


def is_ours(obj: object, name: str) -> bool:
    """Whether a name that starts with "torch." leads to that very object."""
    return name.startswith("torch.") and resolved(name) is obj


# ---- nested arguments


def map_aggregate(a: object, fn: Callable[[Any], object]) -> Any:
    """A nested argument with fn(x) for each x that is no tuple, list, dict or slice.

    >>> torch.fx.node.map_aggregate([1, (2, 3)], lambda x: x + 1)
    [2, (3, 4)]
    """
    if isinstance(a, tuple):
        items = [map_aggregate(x, fn) for x in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: object, fn: Callable[[Node], object]) -> Any:
    """A nested argument with fn(n) for each node n in it.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> torch.fx.map_arg([x, 1], lambda n: n.name)
    ['x', 1]
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def _format_arg(arg: object, max_list_len: float = float("inf")) -> str:
    """An argument as printed graphs show it: nodes with a percent sign."""
    own = getattr(arg, "_custom_fx_repr_fn", None)
    if own is not None:
        return str(own())
    if isinstance(arg, (list, tuple)):
        shown = [_format_arg(a) for i, a in enumerate(arg) if i < max_list_len]
        cut = f", ...[total_len={len(arg)}]" if len(arg) >= max_list_len + 1 else ""
        text = ", ".join(shown)
        if isinstance(arg, list):
            return f"[{text}{cut}]"
        return f"({text}{',' if len(arg) == 1 else ''}{cut})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


# Annotations of tensors in printed code.
_ABBREVIATIONS = {
    **{f"float{n}": f"f{n}" for n in (16, 32, 64)},
    **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
    **{f"complex{n}": f"c{n}" for n in (32, 64, 128)},
    **{"bfloat16": "bf16", "bool": "b8"},
}


def dtype_abbreviation(dtype: object) -> str:
    """An element type in printed code: "f32"."""
    name = str(dtype).removeprefix("torch.")
    return _ABBREVIATIONS.get(name, name)


# ---- the node


class Node:
    """A step of a graph: what `op` does with `target`, `args` and `kwargs`.

    op is "placeholder" (a parameter of the function, target is its name), "get_attr" (a member of
    the module), "call_function", "call_module", "call_method" (on args[0]) or "output" (args[0] is
    what is returned). `users` are the nodes that use the value; `meta` is for passes to write into.
    Nodes are made by the methods of `Graph`.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> y, y.op, y.args, list(x.users)
    (relu, 'call_function', (x,), [relu])
    """

    graph: Any
    name: str
    op: str
    target: Target
    users: dict[Node, None]
    type: Any
    meta: dict[str, Any]

    def __init__(
        self,
        graph: Any,
        name: str,
        op: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        return_type: object = None,
    ) -> None:
        want = "Callable" if op == "call_function" else "str"
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{typename(target)} but a {want} is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = (
            graph,
            name,
            op,
            target,
            return_type,
        )
        self._prev = self._next = self
        self._order = 0
        self._erased = False
        self._args: tuple[object, ...] = ()
        self._kwargs: dict[str, object] = immutable_dict()
        self._input_nodes: dict[Node, None] = {}
        self._repr_fn: Callable[[Node], str] | None = None
        self.users, self.meta = {}, {}
        self._update_args_kwargs(args, kwargs)

    # --- the list that the graph's nodes form

    @property
    def next(self) -> Node:
        """The node after this one; after the last one comes the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def _prepend(self, x: Node) -> None:
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        x._prev, x._next = self._prev, self
        x._prev._next = self._prev = x
        self.graph._stale = True

    def prepend(self, x: Node) -> None:
        """Move a node of the same graph to before this one."""
        self._prepend(x)

    def append(self, x: Node) -> None:
        """Move a node of the same graph to after this one."""
        self._next._prepend(x)

    @property
    def _sort_key(self) -> tuple[int, ...]:
        self.graph._number()
        return (self._order,)

    def __lt__(self, other: Node) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: Node) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # --- arguments

    def _update_args_kwargs(self, args: object, kwargs: object) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def note(x: object) -> object:
            if isinstance(x, Node):
                self._input_nodes.setdefault(x)
                x.users.setdefault(self)
            return x

        self._args, self._kwargs = map_aggregate(args, note), map_aggregate(kwargs, note)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments, nodes among them. A new tuple may be assigned."""
        return self._args

    @args.setter
    def args(self, a: tuple[Any, ...]) -> None:
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name. A new dict may be assigned."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._update_args_kwargs(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in order."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Insert a positional argument before that index."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(
                f"insert_args index must be between 0 and len(self.args), got {idx}"
            )
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replace or add one argument by name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let all users use another node; returns those that were changed.

        delete_user_cb: says of a user whether it is changed. propagate_meta: also copy `meta`.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), "
                    "but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [u for u in self.users if delete_user_cb is None or delete_user_cb(u)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another node wherever this one uses `old_input`."""
        for hook in getattr(self.graph.owning_module, "_replace_hooks", None) or ():
            hook(old=old_input, new=new_input.name, user=self)

        def other(x: Node) -> Node:
            return new_input if x is old_input else x

        self._update_args_kwargs(map_arg(self._args, other), map_arg(self._kwargs, other))

    # --- what a node says of itself

    @property
    def stack_trace(self) -> str | None:
        """Where the program made the call, if the tracer noted it."""
        trace: str | None = self.meta.get("stack_trace")
        return trace

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def _pretty_print_target(self, target: object) -> str:
        if isinstance(target, str):
            return target
        module = getattr(target, "__module__", None)
        if module in ("builtins", "_operator"):
            return f"{module.strip('_')}.{target.__name__}"  # type: ignore[attr-defined]
        return _get_qualified_name(target, self._kwargs)  # type: ignore[arg-type]

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The line that a printed graph has for the node.

        >>> graph = torch.fx.Graph()
        >>> graph.call_function(torch.relu, (graph.placeholder("x"),)).format_node()
        '%relu : [num_users=0] = call_function[target=torch.relu](args = (%x,), kwargs = {})'
        """
        kind = f"{_type_repr(self.type)} " if self.type is not None else ""
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        if self.op == "placeholder":
            assert isinstance(self.target, str)
            if placeholder_names:
                typed = f"{self.target}: {_type_repr(self.type)}" if self.type else ""
                placeholder_names.append(self.target + typed)
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            tail = f"placeholder[target={self.target}]{default}"
            kind = kind if self.type else ""
        elif self.op == "get_attr":
            tail = f"get_attr[target={self._pretty_print_target(self.target)}]"
        else:
            tail = (
                f"{self.op}[target={self._pretty_print_target(self.target)}]"
                f"(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"
            )
            value = self.meta.get("val", self.meta.get("tensor_meta"))
            if include_tensor_metadata and isinstance(value, Tensor):
                sizes = "".join(
                    f"[{', '.join(map(str, s))}]" for s in (value.shape, value.stride())
                )
                kind = f'Tensor "{dtype_abbreviation(value.dtype)}{sizes}{value.device}"'
        return f"%{self.name} : {kind}[num_users={len(self.users)}] = {tail}"

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node does more than give a value: `eliminate_dead_code` keeps such nodes."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = spelled(self.target) or ""
            written = name.startswith("torch.") and name.endswith("_") and name[-2] != "_"
            return (
                written
                or self.target in _side_effectful_functions
                or self.target is getattr(root(), "_assert", None)
                or (impure_random and _is_random(self.target))
            )
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return bool(getattr(owner.get_submodule(self.target), "_is_impure", False))
        return False

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> ArgsKwargsPair | None:
        """The arguments matched to the callee's signature, with defaults; None where unknown."""
        if self.op == "call_function":
            assert callable(self.target)
            return normalize_function(
                self.target,
                self.args,
                self.kwargs,
                arg_types,
                kwarg_types,
                normalize_to_only_use_kwargs,
            )
        if self.op == "call_module":
            assert isinstance(self.target, str)
            return normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            names = self.graph._graph_namespace
            self.name = names.create_name(candidate, None)
            names._rename_object(self, self.name)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def typename(obj: object) -> str:
    """The name of an object's type with its module."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = type(obj)
    module = "" if kind.__module__ in ("builtins", "__builtin__") else f"{kind.__module__}."
    return f"{torch_spelling_of(module.rstrip('.'))}.{kind.__qualname__}".lstrip(".")


__getattr__ = _missing_name(__name__)
