"""The sizes and types of the tensors in a graph, found by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import _root as rl
from ..._base.missing import missing_name as _missing_name
from ..._core import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """The facts about a tensor that a pass notes."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """Reads the facts about a tensor."""
    found = None
    for name, dims in (("contiguous_format", None), ("channels_last", 4), ("channels_last_3d", 5)):
        known = getattr(rl, name)
        if include_contiguity and found is None and dims in (None, result.dim()):
            found = known if result.is_contiguous(memory_format=known) else None
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), found, False, {}
    )


class ShapeProp(Interpreter):
    """Runs a traced module and notes of each node its type and, in meta, its tensors' sizes."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """The value of one node, noted."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        tensors = []

        def note(x: object) -> Any:
            if not isinstance(x, Tensor):
                return x
            tensors.append(x)
            return _extract_tensor_metadata(x)

        meta = map_aggregate(result, note)
        if tensors:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: object) -> Any:
        """Run the module on arguments; returns its result."""
        return self.run(*args)


__getattr__ = _missing_name(__name__)
