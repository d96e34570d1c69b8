"""Drawings of graphs, by the package pydot."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..._base.missing import missing_name as _missing_name

__all__ = ["FxGraphDrawer"]


class FxGraphDrawer:
    """A drawing of a traced module: `get_dot_graph()` is a pydot.Dot.

    Raises RuntimeError where the package pydot is not installed.
    """

    def __init__(self, graph_module: Any, name: str, **settings: Any) -> None:
        try:
            pydot = import_module("pydot")
        except ModuleNotFoundError as error:
            raise RuntimeError(
                "FXGraphDrawer requires the pydot package to be installed. Please install pydot "
                "through your favorite Python package manager."
            ) from error
        dot = pydot.Dot(name, rankdir="TB")
        for node in graph_module.graph.nodes:
            lines = [f"name=%{node.name}", f"op_code={node.op}"]
            if node.op not in ("placeholder", "output"):
                lines.append(f"target={node._pretty_print_target(node.target)}")
            lines.append(f"num_users={len(node.users)}")
            meta = node.meta.get("tensor_meta")
            if hasattr(meta, "shape"):
                lines += [f"dtype={meta.dtype}", f"shape={tuple(meta.shape)}"]
            label = "{" + "|".join(lines).replace("<", "").replace(">", "") + "}"
            dot.add_node(pydot.Node(node.name, label=label, shape="record"))
            for used in node.all_input_nodes:
                dot.add_edge(pydot.Edge(used.name, node.name))
        self._name, self._dot_graphs = name, {name: dot}

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The drawing."""
        return self._dot_graphs[submod_name or self._name]

    get_main_dot_graph = get_dot_graph

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """All drawings by name."""
        return self._dot_graphs


__getattr__ = _missing_name(__name__)
