"""Running a graph node by node: to watch it, or to change it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import nn
from .._base.missing import missing_name as _missing_name
from . import traceback as _notes
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node; a method for each op is to be overridden.

    garbage_collect_values: values are dropped after their last use.

    >>> class Named(torch.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         print(target.__name__)
    ...         return super().call_function(target, args, kwargs)
    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> Named(gm).run(torch.tensor([-1.0]))
    relu
    add
    tensor([1.])
    """

    def __init__(
        self, module: nn.Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module: Any = module
        self.submodules: dict[str, Any] = dict(module.named_modules())
        self.graph: Graph = graph if graph is not None else self.module.graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for node in reversed(self.graph.nodes) if garbage_collect_values else ():
            for used in node._input_nodes:
                if used not in seen:
                    seen.add(used)
                    self.user_to_last_uses.setdefault(node, []).append(used)

    def run(
        self,
        *args: object,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """The result of the graph for arguments. initial_env: values of nodes known before."""
        self.env = initial_env if initial_env is not None else {}
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    self._say_where(error, node)
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            for done in self.user_to_last_uses.get(node, ()):
                self.env.pop(done, None)
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    @staticmethod
    def _say_where(error: Exception, node: Node) -> None:
        said = f"{error.args[0]}\n\n" if error.args else ""
        where = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
        error.args = (said + where, *error.args[1:])

    def boxed_run(self, args_list: list[Any]) -> Any:
        """`run` of a list of arguments, which is emptied."""
        nodes = [n for n in self.graph.nodes if n.op == "placeholder"]
        if len(args_list) != len(nodes):
            what = "extra" if len(args_list) > len(nodes) else "missing"
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(nodes)} arguments for placeholders but "
                f"received {len(args_list)} ({what} arguments)"
            )
        env = dict(zip(nodes, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    def run_node(self, n: Node) -> Any:
        """The value of one node."""
        with _notes.set_current_meta(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument of `run`."""
        if target.startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(
            f"Expected positional argument for parameter {target}, but one was not passed in!"
        )

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A member of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a method of args[0]."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a child."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the graph."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """The attribute of the module under a dotted name."""
        at, path = self.module, target.split(".")
        for i, part in enumerate(path):
            if not hasattr(at, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(path[: i + 1])}")
            at = getattr(at, part)
        return at

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with values for nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Nested arguments with values for nodes."""

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose "
                    "such issues"
                )
            return self.env[node]

        return map_arg(args, value)


class _TransformerTracer(Tracer):
    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Each call of a child stays one node."""
        return True


class Transformer(Interpreter):
    """Makes a new traced module of a traced one: override what becomes of an op.

    >>> class Swap(torch.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(torch.tanh, args, kwargs)
    >>> gm = Swap(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform()
    >>> gm(torch.zeros(1))
    tensor([0.])
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph: Graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer: _TransformerTracer = _TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A new placeholder."""
        default = (next(iter(args)),) if args else ()
        return Proxy(self.new_graph.create_node("placeholder", target, default), self.tracer)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A new node of the member."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A new node of the call."""
        return self.tracer.call_module(
            self.fetch_attr(target), self.fetch_attr(target).forward, args, kwargs
        )

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A new node of the call."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        with _notes.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(x: object) -> Any:
                return x.node if isinstance(x, Proxy) else x

            made = self.new_graph.output(map_aggregate(result, node_of))
            for old in reversed(self.graph.nodes):
                if old.op == "output":
                    made.meta.update(old.meta)
                    break
        return GraphModule(self.module, self.new_graph)


__getattr__ = _missing_name(__name__)
