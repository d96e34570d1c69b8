"""Traced modules whose code is written later: here it is written at once."""

from __future__ import annotations

from typing import Any

from .._base.missing import missing_name as _missing_name
from .graph_module import GraphModule


class _LazyGraphModule(GraphModule):
    @classmethod
    def force_recompile(cls, gm: object) -> None:
        """Nothing is left to do."""

    def real_recompile(self) -> None:
        """Write the code anew."""
        self.recompile()


def _make_graph_module(*args: Any, graph_module_cls: Any = None, **kwargs: Any) -> object:
    return (graph_module_cls or GraphModule)(*args, **kwargs)


__getattr__ = _missing_name(__name__)
