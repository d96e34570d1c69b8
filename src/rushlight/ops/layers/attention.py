"""Scaled dot-product attention."""

from __future__ import annotations

import math

import numpy as np

from ..._core import Tensor
from ..._devices import of
from ..matrix.products import matmul
from ..table.kinds import composite
from .dropout import dropout
from .softmax import softmax

_NEVER = float("-inf")


def _masked(scores: Tensor, allowed: Tensor) -> Tensor:
    return scores.masked_fill(~allowed, _NEVER)


@composite(where="nn")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.mT * scale + attn_mask) @ value; a boolean mask says what may be
    attended to."""
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype.c_name} key.dtype: {key.dtype.c_name} and value.dtype: "
            f"{value.dtype.c_name} instead."
        )
    kind = query.dtype
    if kind.itemsize == 2:  # rounded once, at the end
        query, key, value = query.float(), key.float(), value.float()
        if attn_mask is not None and attn_mask.dtype.name != "bool":
            attn_mask = attn_mask.float()
    if enable_gqa:
        n = query.shape[-3]
        key = key.repeat_interleave(n // key.shape[-3], -3)
        value = value.repeat_interleave(n // value.shape[-3], -3)
    if scale is None:
        scale = 1.0 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    scores = matmul(query * scale, key.mT)
    if is_causal:
        rows, columns = scores.shape[-2:]
        scores = _masked(scores, of(scores).tensor(np.tri(rows, columns, dtype=bool)))
    if attn_mask is None:
        return matmul(_some(softmax(scores, -1), dropout_p), value).to(kind)
    forbidden = ~attn_mask if attn_mask.dtype.name == "bool" else attn_mask == _NEVER
    if attn_mask.dtype.name == "bool":
        scores = scores.masked_fill(forbidden, _NEVER)
    else:
        scores = scores + attn_mask
    # A row that may attend to nothing gives zeros, and takes no gradient, as torch's does.
    nothing = forbidden.all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nothing, 0.0), -1).masked_fill(nothing, 0.0)
    return matmul(_some(weights, dropout_p), value).to(kind)


def _some(weights: Tensor, dropout_p: float) -> Tensor:
    return dropout(weights, dropout_p) if dropout_p > 0.0 else weights


__all__ = ["scaled_dot_product_attention"]
