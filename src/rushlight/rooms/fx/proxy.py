"""Proxies: the values of a traced program. Each call of a proxy becomes a node."""

from __future__ import annotations

import dataclasses
import dis
import enum
import inspect
import operator
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from .. import nn, overrides
from .._alias.spelling import spelled
from .._base.missing import missing_name as _missing_name
from .._base.pytree import tree_map
from . import traceback as _notes
from .graph import Graph, magic_methods, reflectable_magic_methods
from .node import Node, Target, base_types, map_arg

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "MetaProxy",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
    "assert_fn",
]


class Scope:
    """Which module's forward is being traced."""

    module_path: str
    module_type: Any

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Another scope until the end of the block."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope, self._before = scope, (scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exc: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before


class TraceError(ValueError):
    """A program does with a traced value what only a real one allows."""


def assert_fn(x: object) -> None:
    """The target of the node for an assertion over a traced value."""
    if not x:
        raise AssertionError("Assertion failed")


def _no_nodes(arg: object) -> object:
    raise RuntimeError(
        f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {arg}"
    )


class TracerBase:
    """Makes nodes of calls."""

    graph: Graph
    scope: Scope
    record_stack_traces = False
    _record_forward_stack_traces_only = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    module_stack: OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node: override it to check what a program calls."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation

            assert callable(target)
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = self.scope.module_path, self.scope.module_type
        if _notes.has_preserved_node_meta():
            node.meta.update(_notes.get_current_meta())
        elif self.module_stack:
            node.meta["nn_module_stack"] = self.module_stack.copy()
        if self.record_stack_traces and not node.stack_trace:
            frames = traceback.extract_stack()
            names = [f.name for f in frames]
            own = frames[names.index("forward") :] if "forward" in names else []
            shown = [f for f in own if "rushlight" not in f.filename.replace("\\", "/").split("/")]
            if shown:
                node.stack_trace = "".join(traceback.format_list(shown)).strip()
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy for a node's value; override this method for another class."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Any:
        """Add the node of a call, and give what stands for its value."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Any:
        """A value of the program as an argument of a node; NotImplementedError for odd types."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(x) for x in a]
            if hasattr(a, "_fields"):
                return type(a)(*items)
            return tuple(items) if type(a) is tuple else type(a)(items)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            found = {}
            for k, v in a.items():
                key = k
                if not isinstance(k, str):
                    key = self.create_arg(k)
                    map_arg(key, _no_nodes)
                found[key] = self.create_arg(v)
            return found
        if isinstance(a, slice):
            return slice(*(self.create_arg(x) for x in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*(self.create_arg(x) for x in (a.start, a.stop, a.step)))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """The truth of a traced value, for `if`: an error, unless overridden."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """An iterator over a traced value, for loops: an error, unless overridden."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument. See the torch.fx docs on "
            "pytorch.org for a more detailed explanation of what types of control flow can be "
            "traced, and check out the Proxy docstring for help troubleshooting Proxy iteration "
            "errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """The keys of a traced value, for `**`."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds nodes to a graph that is there."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope: Scope = Scope("", None)
        self.module_stack: OrderedDict[str, tuple[str, Any]] = OrderedDict()
        self.node_name_to_scope: dict[str, tuple[str, Any]] = {}


def _instruction(depth_frame: Any) -> tuple[list[dis.Instruction], int]:
    """The instructions of a frame's code, and which of them is being run."""
    found = list(dis.get_instructions(depth_frame.f_code))
    at = next(i for i, x in enumerate(found) if x.offset >= depth_frame.f_lasti)
    return found, at


class Proxy:
    """Stands for a value of a traced program: what is done with it becomes nodes.

    It cannot be looped over, tested by `if`, or asked for its length: the values are not there.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> y = torch.relu(x) + 1
    >>> y, y.node.op, y.node.args
    (Proxy(add), 'call_function', (relu, 1))
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer: Any = tracer if tracer is not None else GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        import copy

        return Proxy(copy.deepcopy(self.node, memo), self.tracer)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = inspect.currentframe()
        assert frame is not None
        instructions, at = _instruction(frame.f_back)
        if instructions[at].opname == "UNPACK_SEQUENCE":
            return (self[i] for i in range(instructions[at].argval))  # type: ignore[index]
        found: Iterator[Any] = self.tracer.iter(self)
        return found

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            frame = inspect.currentframe()
            assert frame is not None
            instructions, at = _instruction(frame.f_back)
            following = [i.opname for i in instructions[at + 1 : at + 2]]
            if instructions[at].opname.startswith("POP_JUMP") and following in (
                ["LOAD_ASSERTION_ERROR"],
                ["LOAD_COMMON_CONSTANT"],
            ):
                self.tracer.create_proxy("call_function", assert_fn, (self,), {})
                return True
        answer: bool = self.tracer.to_bool(self)
        return answer

    def keys(self) -> Any:
        """A node of the keys."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None
    ) -> Any:
        args, kwargs = args or (), kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def note(x: object) -> Any:
            if isinstance(x, Proxy):
                tracers[x.tracer] = None
            return x

        tree_map(note, (args, kwargs))
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace "
                f"operations {orig_method}"
            )
        tracer: Any = next(iter(tracers))
        name = spelled(orig_method, kwargs)
        if name is None and overrides.is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy(
            "call_function",
            orig_method,
            args,
            kwargs,
            name=tracer.graph._target_to_str(orig_method),
        )


class MetaProxy(Proxy):
    """A proxy whose node also has a value, in meta["val"]."""

    def __init__(self, node: Node, tracer: TracerBase | None = None, fake_mode: Any = None) -> None:
        super().__init__(node, tracer)
        self.fake_mode = fake_mode

    def __repr__(self) -> str:
        return f"MetaProxy({self.node.name})"

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None
    ) -> Any:
        args, kwargs = args or (), kwargs or {}
        first = next((a for a in args if isinstance(a, MetaProxy)), None)
        if first is None:
            raise AssertionError("No MetaProxy found in arguments, but one is expected.")
        made = super().__torch_function__(orig_method, types, args, kwargs)
        with first.fake_mode:
            values = [a.node.meta["val"] if isinstance(a, Proxy) else a for a in args]
            made.node.meta["val"] = orig_method(*values, **kwargs)
        return MetaProxy(made.node, made.tracer, first.fake_mode)


class Attribute(Proxy):
    """An attribute of a traced value: a method's call, or a node of its own where it is used."""

    attr: str
    root: Proxy
    tracer: Any

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of the attribute, made when it is asked for."""
        if self._node is None:
            made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = made.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter, and knows its sizes."""

    name: str

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: nn.Parameter) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, nn.Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's sizes."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """How many dimensions the parameter has."""
        return self.param.ndim

    def size(self) -> Any:
        """The parameter's sizes."""
        return self.param.size()

    def dim(self) -> int:
        """How many dimensions the parameter has."""
        return self.param.dim()

    def numel(self) -> int:
        """How many elements the parameter has."""
        return self.param.numel()

    nelement = numel


def _operator(name: str, reflected: bool) -> Callable[..., object]:
    function = getattr(operator, name, None)

    def call(*args: object, **kwargs: object) -> Any:
        if reflected:
            args = args[1], args[0]
        tracer = next(a for a in args if isinstance(a, Proxy)).tracer
        return tracer.create_proxy("call_function", function, args, kwargs)

    call.__name__ = name
    return call


for _name in magic_methods:
    setattr(Proxy, f"__{_name.strip('_')}__", _operator(_name, False))
for _name in reflectable_magic_methods:
    setattr(Proxy, f"__r{_name.strip('_')}__", _operator(_name, True))

__getattr__ = _missing_name(__name__)
