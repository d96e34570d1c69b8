"""A program as a list of nodes, and the Python code that says the same."""

from __future__ import annotations

import builtins
import contextlib
import copy
import enum
import inspect
import keyword
import math
import re
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from .. import nn
from .._alias.spelling import root, spelled
from .._base.device import device as _device
from .._base.errors import warn
from .._base.missing import missing_name as _missing_name
from .._core import Tensor
from ..utils import _pytree as pytree
from . import _pytree as fx_pytree
from .node import (
    Node,
    Target,
    _get_qualified_name,
    _type_repr,
    dtype_abbreviation,
    is_ours,
    map_arg,
    typename,
)

__all__ = ["CodeGen", "Graph", "PythonCode"]

_legal_ops = dict.fromkeys(
    "call_function call_method get_attr call_module placeholder output".split()
)

reflectable_magic_methods: dict[str, str] = {
    name: f"{{}} {sign} {{}}"
    for name, sign in (
        *(("add", "+"), ("sub", "-"), ("mul", "*"), ("floordiv", "//"), ("truediv", "/")),
        *(("div", "/"), ("mod", "%"), ("pow", "**"), ("lshift", "<<"), ("rshift", ">>")),
        *(("and_", "&"), ("or_", "|"), ("xor", "^"), ("matmul", "@")),
    )
} | {"getitem": "{}[{}]"}
magic_methods: dict[str, str] = {
    **{
        name: f"{{}} {sign} {{}}"
        for name, sign in zip("eq ne lt gt le ge".split(), "== != < > <= >=".split(), strict=True)
    },
    **{"pos": "+{}", "neg": "-{}", "invert": "~{}"},
    **reflectable_magic_methods,
}
inplace_methods: dict[str, str] = {
    **{
        f"i{name.rstrip('_')}": text.replace(" {}", "= {}")
        for name, text in reflectable_magic_methods.items()
        if name not in ("div", "getitem")
    },
    "setitem": "{}[{}] = {}",
}


class _CustomBuiltin(NamedTuple):
    """A name that generated code may use, and how a file gets it."""

    import_str: str
    obj: object


_custom_builtins = {
    "inf": _CustomBuiltin("from math import inf", math.inf),
    "nan": _CustomBuiltin("from math import nan", math.nan),
    "NoneType": _CustomBuiltin("NoneType = type(None)", type(None)),
    "torch": _CustomBuiltin("import rushlight as torch", root()),
    "device": _CustomBuiltin("from rushlight import device", _device),
    "fx_pytree": _CustomBuiltin("import rushlight.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _CustomBuiltin("import rushlight.utils._pytree as pytree", pytree),
}
_reserved = {
    **{word: object() for word in keyword.kwlist},
    **vars(builtins),
    **{name: known.obj for name, known in _custom_builtins.items()},
}


def _register_custom_builtin(name: str, import_str: str, obj: object) -> None:
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)
    _reserved[name] = obj


def _is_magic(x: str) -> bool:
    return x.startswith("__") and x.endswith("__")


def _snake_case(s: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", s).lower()


class _Namespace:
    """Names for objects, each its own: of a candidate that is taken, one with a number."""

    def __init__(self) -> None:
        self._obj_to_name: dict[object, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: object) -> str:
        """A name that is not taken; the one that an object has already, if any."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        parts = re.match(r"^(.+?)(?:_(\d+))?$", candidate)
        assert parts is not None
        base, number = parts.group(1), parts.group(2)
        if number is None or candidate in self._used_names:
            count = self._base_count.get(base, 0)
            if _reserved.get(candidate, obj) is not obj:
                count += 1
                candidate = f"{base}_{count}"
        else:
            count = int(number)
        while candidate in self._used_names:
            count += 1
            candidate = f"{base}_{count}"
        self._used_names.add(candidate)
        self._base_count[base] = count
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: object) -> None:
        """Note the name of an object that has none yet."""
        if self._obj_to_name.setdefault(obj, name) is not name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj: object, name: str) -> None:
        if obj not in self._obj_to_name:
            raise AssertionError(f"Object {obj} is not in _obj_to_name")
        self._obj_to_name[obj] = name
        self._used_names.add(name)


@dataclass
class PythonCode:
    """Python code of a graph: the text, and the objects by name."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None
    _prologue_start: int = 0


def _format_target(base: str, target: str) -> str:
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class _InsertPoint:
    """Where new nodes go; as a context, until its end."""

    orig_insert: Callable[..., None]

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.graph._insert = self.orig_insert


class _node_list:
    """The nodes of a graph, in order; it may change while it is walked."""

    graph: Graph

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        if direction not in ("_next", "_prev"):
            raise AssertionError(f"direction must be '_next' or '_prev', got {direction}")
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Any]:
        first = self.graph._root
        node = getattr(first, self.direction)
        while node is not first:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> Iterator[Any]:
        return iter(_node_list(self.graph, "_prev" if self.direction == "_next" else "_next"))


class _PyTreeInfo(NamedTuple):
    """The nested arguments and results of a function that was traced with their leaves."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


def _trace_summary(stack_trace: str | None) -> str:
    """The innermost call of a stack trace in one line."""
    lines = (stack_trace or "").strip().split("\n")
    for i in range(len(lines) - 2, -1, -1):
        found = re.match(r"^File \"(.+)\", line (\d+), in (.+)$", lines[i].strip())
        if found:
            file, line, name = found.groups()
            return f"File: {file}:{line} in {name}, code: {lines[i + 1].strip()}"
    return "No stacktrace found for following nodes"


class _Writer:
    """Writes the code of a graph: one use for each text."""

    def __init__(self, root_module: str, namespace: _Namespace) -> None:
        self.root_module, self.namespace = root_module, namespace
        self.free: list[str] = []  # parameters
        self.body: list[str] = []
        self.globals: dict[str, object] = {}
        self.wrapped: dict[str, None] = {}
        self.returns = ""
        for name, known in _custom_builtins.items():
            self.add_global(name, known.obj)

    def add_global(self, hint: str, obj: object) -> str:
        """The name that the code has for an object; one of the library's keeps its own."""
        if obj is not _device and is_ours(obj, hint):
            return hint
        name = self.namespace.create_name(hint, obj)
        if self.globals.setdefault(name, obj) is not obj and self.globals[name] != obj:
            raise AssertionError(f"Global name {name} already assigned to different object")
        return name

    def type_repr(self, o: Any) -> str:
        if o == ():
            return "()"
        name = _type_repr(o)
        if isinstance(o, types.UnionType) and "|" in name:
            return "|".join(self.type_repr(a) for a in typing.get_args(o))
        origin = getattr(o, "__origin__", None)
        if origin is None:
            return self.add_global(name, o)
        if isinstance(o, typing._GenericAlias):  # type: ignore[attr-defined]
            origin = _GENERICS.get(origin, origin)
        head = self.add_global(_type_repr(origin), origin)
        inner = o.__args__ if hasattr(o, "dims") else typing.get_args(o)
        return f"{head}[{','.join(map(self.type_repr, inner))}]" if inner else head

    def show(self, arg: object) -> str:
        """An argument as an expression."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            kind = type(arg)
            return f"{self.add_global(_get_qualified_name(kind), kind)}{tuple(arg)!r}"
        if isinstance(arg, enum.Enum):
            return f"{self.add_global(type(arg).__name__, type(arg))}.{arg.name}"
        if isinstance(arg, Tensor):
            kind_name = str(arg.dtype).split(".")[-1]
            return f"torch.Tensor(size={list(arg.size())}, dtype={kind_name})"
        if isinstance(arg, tuple):
            return f"({', '.join(map(self.show, arg))}{',' if len(arg) == 1 else ''})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.show, arg))}]"
        if isinstance(arg, slice):
            return f"slice({', '.join(self.show(x) for x in (arg.start, arg.stop, arg.step))})"
        return repr(arg)

    def arguments(self, args: Any, kwargs: Any) -> str:
        return ", ".join(
            [*map(self.show, args), *(f"{k} = {self.show(v)}" for k, v in kwargs.items())]
        )

    def value(self, node: Node) -> str:
        """The expression of a node."""
        target: Any = node.target
        if node.op == "call_method":
            called = _format_target(self.show(node.args[0]), target)
            return f"{called}({self.arguments(node.args[1:], node.kwargs)})"
        if node.op == "get_attr":
            return _format_target(self.root_module, target)
        if node.op == "call_module":
            called = _format_target(self.root_module, target)
            return f"{called}({self.arguments(node.args, node.kwargs)})"
        name = _get_qualified_name(target, node.kwargs)
        name = self.add_global(name, target)
        args = node.args
        if (
            name == "getattr"
            and len(args) == 2
            and isinstance(args[1], str)
            and args[1].isidentifier()
        ):
            return _format_target(self.show(args[0]), args[1])
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)
        return f"{name}({self.arguments(args, node.kwargs)})"

    def emit(
        self, node: Node, annotation: str, comment: str, output: Callable[[object], str]
    ) -> None:
        """The line of a node, without its end."""
        body, target = self.body, node.target
        kind = annotation or ("" if node.type is None else f" : {self.type_repr(node.type)}")
        if node.op == "placeholder":
            assert isinstance(target, str)
            default = f" = {self.show(node.args[0])}" if node.args else ""
            self.free.append(f"{target}{kind}{default}{comment}")
            plain = target.replace("*", "")
            if plain != repr(node):
                body.append(f"{node!r} = {plain}\n")
        elif node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.type_repr(node.type)}"
            body.append(output(node.args[0]))
        else:
            name = getattr(target, "__name__", "")
            from_operator = getattr(target, "__module__", "") == "_operator"
            if node.op == "call_function" and from_operator and name in magic_methods:
                shown = magic_methods[name].format(*map(self.show, node.args))
                body.append(f"{node!r}{kind} = {shown}")
            elif node.op == "call_function" and from_operator and name in inplace_methods:
                done = inplace_methods[name].format(*map(self.show, node.args))
                body.append(f"{done};  {node!r}{kind} = {self.show(node.args[0])}")
            else:
                body.append(f"{node!r}{kind} = {self.value(node)}")


_GENERICS: dict[object, object] = {
    **{list: typing.List, dict: typing.Dict, set: typing.Set},  # noqa: UP006
    **{frozenset: typing.FrozenSet, tuple: typing.Tuple},  # noqa: UP006
}


def _annotation(node: Node, include_stride: bool, include_device: bool) -> str:
    """The type and shape of a node's tensor, from `meta`, as an annotation."""
    found = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
    if isinstance(found, Tensor):
        shown = [found.shape, *([found.stride()] if include_stride else [])]
        text = "".join(f"[{', '.join(map(str, s))}]" for s in shown)
        text += str(found.device) if include_device else ""
    elif found is not None and hasattr(found, "memory_format"):
        text = f"[{', '.join(map(str, found.shape))}]"
    else:
        return ""
    return f': "{dtype_abbreviation(found.dtype)}{text}"'


class CodeGen:
    """Writes the function of a graph: first line, body and return."""

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        """The first line, of the parameters."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if not expanded_def:
            return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"
        lines = []
        for parameter in free_vars:
            name, _, comment = parameter.partition("#")
            tail = f"  # {comment.lstrip()}" if comment else ""
            lines.append(f"    {name.rstrip() if comment else name},{tail}\n")
        return f"def {self._func_name}(\n{''.join(lines)}){maybe_return_annotation}:"

    def generate_output(
        self, output_args: Any, *, descs: Any = None, repr_fn: Callable[[Any], str] = repr
    ) -> str:
        """The line that returns."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args: object) -> Any:
        """The function's arguments as the placeholders take them."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The value that the function returns, from the value of the output node."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Further names that the code uses, with their objects."""
        return []

    def _gen_python_code(
        self,
        nodes: _node_list,
        root_module: str,
        namespace: _Namespace,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
        **settings: object,
    ) -> PythonCode:
        writer = _Writer(root_module, namespace)
        body = writer.body
        last_uses: dict[Node, list[Node]] = {}  # of a node: the inputs used here last
        seen: set[Node] = set()
        for node in reversed(nodes):
            for used in node._input_nodes:
                if used not in seen:
                    seen.add(used)
                    last_uses.setdefault(node, []).append(used)

        def output(value: object) -> str:
            takes = inspect.signature(self.generate_output).parameters
            return self.generate_output(
                value, **({"repr_fn": writer.show} if "repr_fn" in takes else {})
            )

        summary = None
        for i, node in enumerate(nodes):
            if verbose and node.op not in ("placeholder", "output"):
                shown = [f"{k}: {node.meta[k]}" for k in additional_meta or () if k in node.meta]
                more = f"# {', '.join(shown)} " if shown else ""
                text = f"\n{more}# {_trace_summary(node.stack_trace)}\n"
                if text != summary:
                    summary = text
                    body.append(text)
            body.append(f"# COUNTER: {i}\n")
            annotation = _annotation(node, include_stride, include_device) if verbose else ""
            described = expanded_def and node.op == "placeholder" and node.meta.get("desc")
            writer.emit(node, annotation, f"  # {described}" if described else "", output)
            if node.op == "output":
                body.append("\n")
            elif node.op != "placeholder":
                done = last_uses.get(node, []) + ([] if node.users else [node])
                names = " = ".join([*map(repr, done), "None"])
                body.append(f";  {names}\n" if done else "\n")
        if not body:
            body.append("pass\n")
        wraps = ""
        if writer.wrapped:
            from ._symbolic_trace import wrap

            name = writer.add_global("torch.fx._symbolic_trace.wrap", wrap)
            wraps = "\n".join(f'{name}("{f}")' for f in writer.wrapped)
        if self._body_transformer:
            body = self._body_transformer(body)
        for name, value in self.additional_globals():
            writer.add_global(name, value)
        takes = inspect.signature(self.gen_fn_def).parameters
        more_settings = {"expanded_def": expanded_def} if "expanded_def" in takes else {}
        first = self.gen_fn_def(writer.free, writer.returns, **more_settings)

        lines: list[str] = []
        numbers: dict[int, int | None] = {}
        index = None
        for line in "".join(body).split("\n"):
            counter = re.search(r"# COUNTER: (\d+)", line)
            if counter:
                index = int(counter.group(1))
            else:
                numbers[len(lines) + first.count("\n") + 1] = index
                lines.append(line)
        code = "\n".join("    " + line for line in "\n".join(lines).lstrip("\n").split("\n"))
        return PythonCode(
            f"\n{wraps}\n\n{first}\n{code}",
            writer.globals,
            _lineno_map=numbers,
            _prologue_start=wraps.count("\n") + 4,
        )


class _PyTreeCodeGen(CodeGen):
    """Writes a function of nested arguments over the placeholders of their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: object) -> Any:
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out: object) -> object:
        spec = self.pytree_info.out_spec
        if spec is None:
            return out
        return pytree.tree_unflatten(out if isinstance(out, (list, tuple)) else [out], spec)

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        names = self.pytree_info.orig_args
        first = super().gen_fn_def(names[:], maybe_return_annotation, expanded_def=expanded_def)
        if names and names[0] == "self":
            free_vars.insert(0, "self")
        if free_vars:
            typed = [v for v in free_vars if ":" in v]
            if typed:
                first += "\n    " + "".join(f"{v}; " for v in typed) + "\n"
            left = ", ".join(v.split(":")[0].split("#")[0] for v in free_vars)
            given = f"[{', '.join(names)}], self._in_spec"
            first += f"\n    {left}, = fx_pytree.tree_flatten_spec({given})"
        return first

    def generate_output(
        self, output_args: object, *, descs: object = None, repr_fn: Callable[[object], str] = repr
    ) -> str:
        if not self.pytree_info.out_spec:
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({repr_fn(output_args)}, self._out_spec)"


class Graph:
    """A program: nodes in the order in which they are computed.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(torch.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(
        self,
        owning_module: Any = None,
        tracer_cls: type[Any] | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._stale, self._len = True, 0
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root._prepend
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, object] = {}

    @property
    def owning_module(self) -> Any:
        """The module that the graph is the program of, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> _node_list:
        """The nodes, in order; changes while a loop walks them are allowed."""
        return _node_list(self)

    def _number(self) -> None:
        if self._stale:
            for i, node in enumerate(self.nodes):
                node._order = i
            self._root._order = self._len
            self._stale = False

    def output_node(self) -> Node:
        """The node that returns."""
        for node in reversed(self.nodes):
            if node.op == "output":
                found: Node = node
                return found
        raise AssertionError("No output node found in graph")

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of an op, and of a target if one is told.

        Where the op is "call_function", the target must be told, as in PyTorch.
        """
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # --- making nodes

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node where new ones go: at the end, unless `inserting_before` or so says other."""
        if args and not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if kwargs and not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        wanted = name if name is not None else self._target_to_str(target)
        name = self._graph_namespace.create_name(wanted, None)
        node = Node(self, name, op, target, args or (), kwargs or {}, type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", None) or ():
            hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Target) -> str:
        if callable(target):
            return _snake_case((spelled(target) or target.__name__).rpartition(".")[2])
        if not isinstance(target, str):
            raise AssertionError(f"Expected target to be str, got {type(target)}")
        return _snake_case(target[2:-2] if _is_magic(target) else target)

    def placeholder(
        self, name: str, type_expr: Any = None, default_value: Any = inspect.Signature.empty
    ) -> Node:
        """Add a parameter."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add the use of a member of the module: a parameter, buffer or child ("layer.weight")."""
        if self.owning_module is not None and not self._has_member(qualified_name):
            warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning "
                "GraphModule! Call GraphModule.add_submodule to add the necessary submodule, "
                "GraphModule.add_parameter to add the necessary Parameter, or "
                "nn.Module.register_buffer to add the necessary buffer",
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def _has_member(self, qualified_name: str) -> bool:
        path, _, name = qualified_name.rpartition(".")
        try:
            module = self.owning_module.get_submodule(path)
        except AttributeError:
            warn(f"Failed to fetch module {path}!")
            return False
        value = getattr(module, name, None)
        return isinstance(value, (nn.Module, nn.Parameter)) or name in module._buffers

    def call_module(
        self,
        module_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of a child, named from the module ("block.layer")."""
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of a method of args[0]."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Add what the program returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Add a copy of a node of another graph; arg_transform gives this graph's arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(
        self, g: Graph, val_map: dict[Any, Any], return_output_node: bool = False
    ) -> Any:
        """Add copies of all nodes of a graph; returns what stands for its output, or None.

        val_map: filled with the copy of each node; what it has already is not copied.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[Any, Any] | None = None) -> Graph:
        memo = memo if memo else {}
        copied = Graph(tracer_cls=self._tracer_cls)
        found = copied.graph_copy(self, val_map=memo, return_output_node=True)
        copied._codegen = copy.deepcopy(self._codegen)
        if found is not None:
            value, old = found
            copied.output(value, type_expr=old.type).meta = copy.copy(old.meta)
        return copied

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Let new nodes go before a node (without one: to the very beginning). Also a context."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Let new nodes go after a node (without one: to the very end). Also a context.

        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(torch.neg, (x,))
        >>> with graph.inserting_after(x):
        ...     _ = graph.call_function(torch.abs, (x,))
        >>> list(graph.nodes)
        [x, abs_1, neg]
        """
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def erase_node(self, to_erase: Node) -> None:
        """Take out a node that nobody uses; RuntimeError where somebody does."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} "
                f"users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warn(f"erase_node({to_erase}) on an already erased node")
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", None) or ():
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs(
            map_arg(to_erase._args, lambda n: None), map_arg(to_erase._kwargs, lambda n: None)
        )

    # --- code

    def process_inputs(self, *args: object) -> Any:
        """The function's arguments as the placeholders take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The value that the function returns, from the value of the output node."""
        return self._codegen.process_outputs(out)

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
        additional_meta: Any = None,
    ) -> PythonCode:
        """The graph as Python: root_module is what the code calls the module, mostly "self".

        >>> graph = torch.fx.Graph()
        >>> _ = graph.output(graph.call_function(torch.relu, (graph.placeholder("x"),)))
        >>> print(graph.python_code("self").src.strip())
        def forward(self, x):
            relu = torch.relu(x);  x = None
            return relu
        """
        namespace = _Namespace()  # of the code: globals may take the names that nodes have
        before = {node: node._repr_fn for node in self.nodes}
        for node in before:
            node._repr_fn = lambda n: namespace.create_name(n.name, n)
        try:
            return self._codegen._gen_python_code(
                *(self.nodes, root_module, namespace),
                verbose=verbose,
                include_stride=include_stride,
                include_device=include_device,
                colored=colored,
                expanded_def=expanded_def,
                record_func=record_func,
                additional_meta=additional_meta,
            )
        finally:
            for node, shown in before.items():
                node._repr_fn = shown

    def __str__(self) -> str:
        lines = [node.format_node([]) for node in self.nodes]
        return "\n    ".join(["graph():", *(line for line in lines if line)])

    def print_tabular(self) -> None:
        """Print the nodes as a table, by the package tabulate."""
        try:
            tabulate = import_module("tabulate").tabulate
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on "
                "this machine. Run `pip install tabulate` to install the library."
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let another object write the code."""
        self._codegen = codegen

    def on_generate_code(
        self, make_transformer: Callable[[Any], Any]
    ) -> contextlib.AbstractContextManager[None]:
        """Let a function change the lines of the code before it is put together.

        make_transformer: given the function before, or None, it gives the new one. The result is a
        context at whose end the one before is back.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until_the_end() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return until_the_end()

    # --- checks and passes

    def lint(self) -> None:
        """Check the graph: RuntimeError for an argument used before it is made, and the like."""
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.op not in _legal_ops:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for arg in node._input_nodes:
                if arg.graph is not self:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was "
                        "used as an argument! If you are copying nodes from another graph, make "
                        f"sure to use ``arg_transform`` on node_copy() to remap values\n{self}"
                    )
                if arg not in seen:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' was used before it has been defined! "
                        f"Please check that Nodes in the graph are topologically ordered\n{self}"
                    )
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                self._check_target(node)

    def _check_target(self, node: Node) -> None:
        want = "Callable" if node.op == "call_function" else "str"
        if not (callable(node.target) if want == "Callable" else isinstance(node.target, str)):
            raise ValueError(
                f"Node {node} target {node.target} has type {typename(node.target)} but a {want} "
                "is expected"
            )
        if node.op not in ("get_attr", "call_module"):
            return
        assert isinstance(node.target, str)
        at, path = self.owning_module, node.target.split(".")
        for i, part in enumerate(path):
            found, before = getattr(at, part, None), ".".join(path[:i])
            if found is None:
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} of "
                    f"{before}"
                )
            if node.op == "call_module" and not isinstance(found, nn.Module):
                raise RuntimeError(
                    f"Node {node} target {node.target} {part} of {before} does not reference an "
                    "nn.Module"
                )
            at = found

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out what nobody uses and what does nothing else; returns whether that was any node.

        is_impure_node: says of a node whether it does more than give a value; `Node.is_impure` if
        not told.

        >>> gm = torch.fx.symbolic_trace(lambda x: (x + 1, x.neg())[1])
        >>> gm.graph.eliminate_dead_code(), list(gm.graph.nodes)
        (True, [x, neg, output])
        """
        self.lint()
        keep = is_impure_node or Node.is_impure
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and not keep(node):
                self.erase_node(node)
        changed = self._len < before
        if self.owning_module is not None:
            used = {n.target for n in self.find_nodes(op="get_attr")}
            for name, child in self.owning_module.named_children():
                graph = getattr(child, "graph", None)
                if name in used and isinstance(graph, Graph):
                    changed |= graph.eliminate_dead_code()
                    child.recompile()
        return changed

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)


__getattr__ = _missing_name(__name__)
