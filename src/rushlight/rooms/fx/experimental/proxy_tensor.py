"""`make_fx`: a function traced over values, by the calls of public functions that it makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._alias.spelling import spelled
from ..._base import pytree
from ..._base.errors import refused as _refused
from ..._base.missing import missing_name as _missing_name
from ..._core import Tensor
from ...overrides import TorchFunctionMode, is_tensor_method_or_property, resolve_name
from .._symbolic_trace import Tracer
from ..graph import Graph
from ..graph_module import GraphModule
from ..proxy import Proxy

__all__ = ["PythonKeyTracer", "dispatch_trace", "get_innermost_proxy_mode", "make_fx"]


class PythonKeyTracer(Tracer):
    """Makes nodes of calls over tensors with values."""

    def __init__(self) -> None:
        super().__init__()
        from ... import nn

        self.root: Any = nn.Module()
        self.graph: Graph = Graph(tracer_cls=Tracer)
        self.nodes: dict[int, Any] = {}
        self.kept: list[Any] = []  # so that ids stay those of the tensors

    def know(self, value: Any, proxy: Proxy) -> None:
        """Let a proxy stand for a value from now on."""
        if isinstance(value, Tensor):
            self.nodes[id(value)] = proxy
            self.kept.append(value)
        elif isinstance(value, (tuple, list)):
            for i, item in enumerate(value):
                if isinstance(item, (Tensor, tuple, list)):
                    self.know(item, proxy[i])  # type: ignore[index]

    def create_arg(self, a: Any) -> Any:
        """A value as an argument: known tensors are nodes, others become members."""
        if isinstance(a, Tensor):
            known = self.nodes.get(id(a))
            return known.node if known is not None else self._kept(a, "_tensor_constant")
        return super().create_arg(a)


class _Recorder(TorchFunctionMode):
    """Makes a node of each public call over tensors."""

    def __init__(self, tracer: PythonKeyTracer) -> None:
        super().__init__()
        self.tracer = tracer

    def __torch_function__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        tensors = [x for x in pytree.tree_leaves(result) if isinstance(x, Tensor)]
        if not tensors:
            return result
        tracer, name = self.tracer, spelled(func, kwargs)
        if name is not None:
            made = tracer.create_proxy("call_function", func, args, kwargs)
        elif func.__name__ == "__get__":
            attribute = (resolve_name(func) or "").split(".")[-2]
            made = tracer.create_proxy("call_function", getattr, (args[0], attribute), {})
        elif is_tensor_method_or_property(func) or hasattr(Tensor, func.__name__):
            made = tracer.create_proxy("call_method", func.__name__, args, kwargs)
        else:
            made = tracer.create_proxy("call_function", func, args, kwargs)
        tracer.know(result, made)
        return result


def make_fx(
    f: Callable[..., Any],
    decomposition_table: object = None,
    tracing_mode: str = "real",
    **settings: object,
) -> Callable[..., GraphModule]:
    """A function that traces f over the values of its arguments into a GraphModule.

    The nodes are the public functions and methods that f calls, not PyTorch's aten operators; a
    backward inside f is not traced. tracing_mode: "real", or "fake", which does the same.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"Expected tracing_mode in real, fake, symbolic, got {tracing_mode}")
    if tracing_mode == "symbolic":
        raise NotImplementedError(
            'make_fx(tracing_mode="symbolic") is not in rushlight: sizes are numbers here.'
        )

    def traced(*args: object) -> GraphModule:
        tracer = PythonKeyTracer()
        leaves, spec = pytree.tree_flatten(args)
        given = []
        for i, leaf in enumerate(leaves):
            value = (
                leaf.detach().requires_grad_(leaf.requires_grad)
                if isinstance(leaf, Tensor)
                else leaf
            )
            proxy = tracer.create_proxy("placeholder", f"arg{i}_1", (), {})
            tracer.know(value, proxy)
            given.append(value)
        with _Recorder(tracer):
            result = f(*pytree.tree_unflatten(given, spec))
        tracer.create_node("output", "output", (tracer.create_arg(result),), {})
        return GraphModule(tracer.root, tracer.graph, getattr(f, "__name__", "GraphModule"))

    return traced


def get_innermost_proxy_mode() -> None:
    """None: no mode of the dispatcher traces here."""


get_proxy_mode = get_innermost_proxy_mode


_NO_DISPATCHER = "there is no dispatcher whose operators could be traced."
dispatch_trace: Any = _refused("torch.fx.experimental.proxy_tensor.dispatch_trace", _NO_DISPATCHER)

__getattr__ = _missing_name(__name__)
