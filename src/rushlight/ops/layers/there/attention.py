"""Scaled dot-product attention and its gradient: products, and a kernel for the rows between them.

Where there are more heads of queries than of keys, the stacks of the products have the members of a
group as their first dimension, in which keys and values take no step.
"""

from __future__ import annotations

from math import prod

from ...._core import Tensor, kernels
from ...._devices.launch import (
    Ints,
    Tensors,
    code,
    computed,
    empty,
    layout,
    made,
    number,
    rows,
    start,
)
from ...._devices.there import struct_of, there
from ...matrix.there.products import Matrices, matrices, product
from .fused_attention import Fused

_GIVEN = struct_of("attention.cl", "Attention")
_NONE = bytes(struct_of("attention.cl", "Layout").size)


def _wide(t: Tensor) -> Tensor:
    """The tensor in the type that is computed in."""
    return t if t.dtype is computed(t.dtype) else rows(t, computed(t.dtype))


class _Heads:
    """The stacks of a call, and what the rows between the products are seen with."""

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        noise: Tensor | None,
        causal: bool,
    ) -> None:
        self.sizes = query.shape[-2], key.shape[-2], query.shape[-1], value.shape[-1]
        heads = key.shape[-3] if key.dim() > 2 else 1
        self.group = query.shape[-3] // heads if query.dim() > 2 and heads else 1
        self.lead = (self.group, *key.shape[:-2])
        self.extra = mask, noise
        self.types = [-1 if t is None else code(t) for t in self.extra]
        self.rows = prod(query.shape[:-1])
        columns: list[int] = []
        laid: list[bytes | None] = []
        for t in self.extra:
            if t is None:
                columns.append(0)
                laid.append(_NONE)
                continue
            steps = [0 if n == 1 else s for n, s in zip(t.shape, t.stride(), strict=True)]
            steps = [0] * (query.dim() - t.dim()) + steps
            columns.append(steps[-1] * t.element_size())
            laid.append(layout(t, query.shape[:-1], steps[:-1]))
        self.fits = None not in laid
        self.given = _GIVEN.pack(
            rows=self.rows,
            queries=self.sizes[0],
            keys=self.sizes[1],
            causal=int(causal),
            columns=columns,
            places=[one or _NONE for one in laid],
        )

    def queries(self, t: Tensor) -> Matrices:
        """The matrices of all heads of queries, the members of a group first."""
        whole = matrices(t)
        if not whole.lead:
            return whole._replace(lead=(0,))
        *outer, head = whole.lead
        return whole._replace(lead=(head, *outer, head * self.group))

    def keys(self, t: Tensor) -> Matrices:
        """The matrices of all heads of keys, the same for each member of a group."""
        whole = matrices(t)
        return whole._replace(lead=(0, *whole.lead))

    def start(self, name: str, *tensors: Tensor) -> bool:
        if self.rows:
            whole = *tensors[:-1], *self.extra, tensors[-1], self.given, *self.types
            start("attention.cl", name, self.rows, tensors[0], *whole)
        return True


@there(kernels.attention, takes="real")
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    noise: Tensor | None,
    causal: bool,
    scale: float,
) -> Tensors:
    results = made("attention", query, key, value, mask, noise, causal, scale)
    if results is NotImplemented:
        return results
    out, sums = results
    fused = None if noise is not None else Fused(query, key, value, mask, causal)
    if fused is not None and fused.fits and fused.forward(out, sums, number(scale, query)):
        return out, sums
    heads = _Heads(query, key, value, mask, noise, causal)
    m, n, depth, width = heads.sizes
    q, k, v = _wide(query), _wide(key), _wide(value)
    weights = empty((*query.shape[:-1], n), q)
    of_weights, of_keys = heads.queries(weights), heads.keys(k).turned
    whole = (
        heads.fits
        and product(heads.queries(q), of_keys, of_weights, heads.lead, (m, n, depth), alpha=scale)
        and heads.start("attention_weights", weights, sums)
        and product(of_weights, heads.keys(v), heads.queries(out), heads.lead, (m, width, n))
    )
    return (out, sums) if whole else NotImplemented


@there(kernels.attention_backward, takes="real")
def attention_backward(
    g: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    noise: Tensor | None,
    causal: bool,
    scale: float,
    out: Tensor,
    sums: Tensor,
    needs: Ints,
) -> tuple[Tensor | None, ...]:
    given = g, query, key, value, mask, noise, causal, scale, out, sums
    results = made("attention_backward", *given, (*needs[:3], 0))
    if results is NotImplemented:
        return results
    if noise is None and not needs[3] and g.dtype is query.dtype:
        fused = Fused(query, key, value, mask, causal)
        if fused.fits and fused.backward(g, out, rows(sums), results[:3], number(scale, query)):
            return results
    heads = _Heads(query, key, value, mask, noise, causal)
    if not heads.fits:
        return NotImplemented
    m, n, depth, width = heads.sizes
    lead = heads.lead
    q, k, v, slope = _wide(query), _wide(key), _wide(value), _wide(g)
    weights, slopes = (empty((*query.shape[:-1], n), q) for _ in range(2))
    of_weights, of_slopes = heads.queries(weights), heads.queries(slopes)
    of_q, of_g, of_k = heads.queries(q), heads.queries(slope), heads.keys(k)
    if needs[3]:  # as the composed rule lays them out
        each = zip(needs, (query, key, value), strict=False)
        results = [empty(t.shape, t) if wanted else None for wanted, t in each] + [None]
    to_q, to_k, to_v, _ = results
    whole = (
        product(of_q, of_k.turned, of_weights, lead, (m, n, depth), alpha=scale)
        and product(of_g, heads.keys(v).turned, of_slopes, lead, (m, n, width))
        and heads.start("attention_slopes", weights, slopes, rows(sums))
    )
    if whole and to_q is not None:
        whole = product(of_slopes, of_k, heads.queries(to_q), lead, (m, depth, n), alpha=scale)
    if whole and to_k is not None:
        whole = product(of_slopes.turned, of_q, matrices(to_k), lead, (n, depth, m), 1, alpha=scale)
    if whole and to_v is not None:
        whole = product(of_weights.turned, of_g, matrices(to_v), lead, (n, width, m), 1)
    # A mask's gradient is summed by the engine over what the mask was spread to.
    return (to_q, to_k, to_v, slopes if needs[3] else None) if whole else NotImplemented
