"""vmap: which rule an op has; without any it runs once for each element, with a warning the first
time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Op, Tensor
from ..ops.elementwise import batching as _of_elementwise  # noqa: F401 - holds rules of ops
from ..ops.indexing import batching as _of_indexing  # noqa: F401 - holds rules of ops
from ..ops.layers import batching as _of_layers  # noqa: F401 - holds rules of ops
from ..ops.layout import batching as _of_layout  # noqa: F401 - holds rules of ops
from ..ops.layout.joining import stack
from ..ops.matrix import batching as _of_matrix  # noqa: F401 - holds rules of ops
from ..ops.reduction import batching as _of_reduction  # noqa: F401 - holds rules of ops
from ..ops.table.statement import OPS
from ..ops.table.words import BATCH
from .batching import folded, inner, pointwise, solved, trailing, wrap_all
from .batching_dims import DIMS, along, picked, reduced
from .composites import warn_of_loop

if TYPE_CHECKING:
    from .batch import BatchLevel

__all__ = ["batching_of", "by_definition", "looped", "unbatched_ops"]

_call = _core.call_op

_FAMILIES = {
    "trailing": trailing,
    "solved": solved,
    "folded": folded,
    "along": along,
    "reduced": reduced,
    "picked": picked,
}
if _FAMILIES.keys() != BATCH.keys():
    raise TypeError("the families of batching rules are not those that statements can name")


def batching_of(op: Op) -> Any:
    """The batching rule of an op."""
    entry = op.entry
    if entry.batching is None:
        entry.batching = _said(op)
    return entry.batching


def _said(op: Op) -> Any:
    """The rule that follows from an op's statement."""
    said = op.entry.batch
    if callable(said):
        return lambda op, args, level: said(*args)
    if said is not None:
        return _FAMILIES[said]
    if op.entry.is_ is not None:
        return by_definition
    if op.entry.kind == "pointwise":
        return pointwise
    return looped if DIMS.isdisjoint(op.params) else along


def by_definition(op: Op, args: Sequence[Any], level: BatchLevel) -> Any:
    """The definition in other ops. An argument for which the op has no gradient gets none."""
    derived = {i for targets in op.entry.targets for i in targets}
    return op.entry.is_(
        *[
            a.detach() if isinstance(a, Tensor) and i not in derived else a
            for i, a in enumerate(args)
        ]
    )


def looped(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    """The last resort: the op once for each element."""
    name = op.entry.name
    warn_of_loop(name)
    if not level.size:
        raise RuntimeError(f"vmap: {name} cannot be mapped over a dimension of size 0")

    def element(a: Any, i: int) -> Any:
        if isinstance(a, (list, tuple)) and a and isinstance(a[0], Tensor):
            return [element(x, i) for x in a]
        value = inner(a, level)
        return a if value is None else value[i]

    results = [_call(op, [element(a, i) for a in args]) for i in range(level.size)]
    if isinstance(results[0], Tensor):
        return wrap_all(_stacked(name, results), level)
    columns = [_stacked(name, list(c)) for c in zip(*results, strict=True)]
    kind = type(results[0])
    return wrap_all(tuple(columns) if kind in (tuple, list) else kind(tuple(columns)), level)


def _stacked(name: str, rows: list[Tensor]) -> Tensor:
    if any(r.shape != rows[0].shape for r in rows):
        k = next(k for k, r in enumerate(rows) if r.shape != rows[0].shape)
        raise RuntimeError(
            f"stack expects each tensor to be equal size, but got {list(rows[0].shape)} at entry "
            f"0 and {list(rows[k].shape)} at entry {k}. Under vmap the result of {name} must have "
            "one shape for all elements of the batch."
        )
    return stack(rows)


def unbatched_ops() -> list[str]:
    """The ops that vmap still runs once for each element of the batch, as PyTorch does too.

    Of the functions among them (those that are Python over other ops), only the calls that decide
    by values: `embedding_bag` with mode='max' or a padding_idx, `lstsq` with another driver.

    >>> "histc" in unbatched_ops()
    True
    """
    entries = OPS.items()
    ops = [n for n, e in entries if e.kind != "composite" and batching_of(e.function) is looped]
    plain = [(n, getattr(e.function, "plain", e.function)) for n, e in entries]
    by_element = [n for n, f in plain if getattr(f, "hook", None) == "by_element"]
    return ops + sorted(by_element)
