"""Attention without a matrix of scores in memory, on devices whose work items go in warps."""

from __future__ import annotations

from math import prod
from typing import Any

from ...._base.dtypes import bfloat16, float16, float32
from ...._core import Tensor
from ...._devices import choices
from ...._devices.launch import WIDE_GROUP, code, empty, layout, processors, rows, start
from ...._devices.there import struct_of

_FILE = "fused_attention.cl"
_LAYOUT = struct_of(_FILE, "Layout").size
_ROWS, _PROBLEM = struct_of(_FILE, "Rows"), struct_of(_FILE, "Problem")
_NONE = bytes(_ROWS.size)
_DEPTHS = (32, 64, 128)  # sizes of heads that there are kernels for


class _Matrix:
    """The matrices of all heads: what kernels copy 16 bytes at a time."""

    def __init__(self, t: Tensor, group: int = 1) -> None:
        self.tensor = t
        lead, steps = t.shape[:-2], t.stride()[:-2]
        places = layout(t, (*lead, group), (*steps, 0)) if group > 1 else layout(t, lead, steps)
        item, row = t.element_size(), t.stride()[-2] * t.element_size()
        even = [s * item for s in (*t.stride()[:-1], t.storage_offset())]
        self.fits = places is not None and t.stride()[-1] == 1 and not any(s % 16 for s in even)
        self.given = _ROWS.pack(row=row, heads=places or bytes(_LAYOUT))


def _matrix(t: Tensor, group: int = 1) -> _Matrix:
    """Of a copy where the tensor itself has gaps."""
    found = _Matrix(t, group)
    return found if found.fits else _Matrix(rows(t.clone()), group)


class Fused:
    """A call that the kernels compute, where `fits`."""

    def __init__(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool
    ) -> None:
        self.given, self.mask = (query, key, value), mask
        device: Any = query._accelerator
        lead, depth, shape = query.shape[:-2], query.shape[-1], key.shape
        self.fits = (
            processors(query) > 0
            and choices.has_tf32(device)
            and len({t.dtype for t in self.given}) == 1
            and query.dtype in (float16, bfloat16, float32)
            and depth in _DEPTHS
            and value.shape[-1] == depth
            and min(query.shape[-2], shape[-2], prod(lead)) > 0
        )
        if not self.fits:
            return
        self.heads = prod(lead)
        self.group = query.shape[-3] // shape[-3] if query.dim() > 2 else 1
        self.sizes = query.shape[-2], shape[-2]
        column, laid = 0, bytes(_LAYOUT)
        self.more = f"-DWARPS -DX={code(query)} -DDEPTH={depth}"
        if mask is not None:
            steps = [0 if n == 1 else s for n, s in zip(mask.shape, mask.stride(), strict=True)]
            steps = [0] * (query.dim() - mask.dim()) + steps
            column, found = (
                steps[-1] * mask.element_size(),
                layout(mask, query.shape[:-1], steps[:-1]),
            )
            self.fits, laid = found is not None, found or laid
            self.more += f" -DM={code(mask)}"
        self.problem = _PROBLEM.pack(
            heads=self.heads,
            group=self.group,
            queries=self.sizes[0],
            keys=self.sizes[1],
            causal=int(causal),
            mask_column=column,
            mask_rows=laid,
        )

    def _start(self, name: str, groups: int, items: int, *arguments: Any, more: str) -> None:
        like, more = self.given[0], f"{self.more} {more}"
        start(_FILE, name, groups * items, like, *arguments, more=more, group=items)

    def forward(self, out: Tensor, sums: Tensor, scale: bytes) -> bool:
        """Whether the kernel wrote the results."""
        query, key, value = self.given
        of_q, of_k, of_v = _matrix(query), _matrix(key, self.group), _matrix(value, self.group)
        of_out = _Matrix(out)
        if not of_out.fits:
            return False
        all_of = of_q, of_k, of_v
        tensors = *(m.tensor for m in all_of), self.mask, out, sums
        given = *tensors, self.problem, *(m.given for m in (*all_of, of_out)), scale
        high = 32 if query.element_size() == 4 and query.shape[-1] > 64 else 64
        self._start("attend", self.heads * -(-self.sizes[0] // high), 128, *given, more="-DFORWARD")
        return True

    def backward(
        self,
        g: Tensor,
        out: Tensor,
        sums: Tensor,
        results: tuple[Tensor | None, ...],
        scale: bytes,
    ) -> bool:
        """Whether the kernels wrote the gradients of queries, keys and values, those wanted."""
        query, key, value = self.given
        queries, keys = self.sizes
        to = [None if t is None else _Matrix(t) for t in results]
        if any(t is not None and not t.fits for t in to):
            return False
        of_g, of_q, of_out = _matrix(g), _matrix(query), _matrix(out)
        dots = empty((self.heads, queries), sums)
        given = of_g.tensor, of_out.tensor, dots, self.problem, of_g.given, of_out.given
        pieces = self.heads * queries * query.shape[-1] // 8
        self._start("attention_dots", -(-pieces // WIDE_GROUP), WIDE_GROUP, *given, more="-DDOTS")
        halves, wide = query.element_size() == 2, query.shape[-1] > 64
        high, items = (32, 64) if wide else (64, 128)  # of a group
        if not halves:
            high, items = (16, 128) if wide else (32, 128)

        def run(heads: int, length: int, parts: list[_Matrix], to: Any, more: str) -> None:
            written = [None if t is None else t.tensor for t in to]
            places = [m.given for m in parts] + [_NONE if t is None else t.given for t in to]
            tensors = *(m.tensor for m in parts), self.mask, sums, dots, *written
            given = *tensors, self.problem, *places, scale
            groups = heads * -(-length // high)
            self._start("attention_gradient", groups, items, *given, more=more)

        if to[0] is not None:
            shared = _matrix(key, self.group), _matrix(value, self.group)
            run(self.heads, queries, [of_q, of_g, *shared], (to[0], None), "-DBY_QUERY")
        if to[1] is not None or to[2] is not None:
            parts = [_matrix(key), _matrix(value), of_q, of_g]
            run(self.heads // self.group, keys, parts, to[1:3], "-DBY_KEY")
        return True
