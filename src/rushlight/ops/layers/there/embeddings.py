"""Rows of tables by number: their means, their lengths, and rows of one 1."""

from __future__ import annotations

from typing import Any

from .... import _core
from ...._base.dtypes import int64
from ...._devices.launch import empty, rows
from ...._devices.there import there
from ...elementwise.comparison import eq
from ...elementwise.there.elements import filled_with
from ...indexing.there.indexing import embedding, embedding_backward
from ...layout.there.rearranging import wide, zeros
from ...making.there.filling import steps
from ...reduction.extremes import amax, amin
from .. import embedding as embedding_ops


@there(embedding_ops._embedding_scaled_transpose, takes="float, indices: real")
def embedding_scaled_transpose(g: Any, indices: Any, padding: Any, n: int) -> Any:
    """Rows of g added up by number, each divided by how often its number occurs."""
    uses = filled_with(empty((*indices.shape, 1), g, wide(g)), 1)
    counts = embedding_backward(uses, indices, None, n)
    if counts is NotImplemented:
        return NotImplemented
    share = rows(g.detach(), wide(g)) / embedding(counts, indices, None)
    found = embedding_backward(share, indices, padding, n)
    return found if found is NotImplemented else rows(found, g.dtype)


@there(embedding_ops.one_hot, _core.kernels.one_hot, takes="int64")
def one_hot(indices: Any, n: int) -> Any:
    """The host waits for the largest integer and the least, which are looked at on the CPU, too."""
    if not indices.numel():
        return zeros((*indices.shape, n), indices) if n > 0 else NotImplemented
    least, most = (int(end(indices).item()) for end in (amin, amax))
    if least < 0 or (n != -1 and most >= n):
        return NotImplemented  # the CPU's error
    classes = empty((most + 1 if n == -1 else n,), indices)
    steps(classes, 0, 1)
    return rows(eq(indices.unsqueeze(-1), classes), int64)
