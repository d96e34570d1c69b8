"""Scaled dot-product attention.

`_attention` computes it in one call, with a fused gradient, where all leading dimensions agree;
`_composed` says the same in terms of other functions, for the rest. The rule of `_attention` is
made of such functions too, so that it can be differentiated again.
"""

from __future__ import annotations

import math
from typing import Any

from ... import _core
from ..._base.outside import np
from ..._core import Tensor
from ..._devices import of
from ..matrix.products import matmul
from ..table.arrays import Array, refuse, rounded, widened
from ..table.kinds import composite, general
from ..table.samples import Make, Samples
from .dropout import drawn_mask, dropout
from .softmax import softmax

_kernels = _core.kernels

_NEVER = float("-inf")

# Of formulas: the weights of the values, and the gradient of the scores.
_WEIGHTS = "P = softmax(scale · query · keyᵀ + mask)"
_OF_SCORES = f"P ⊙ (D − sum(P ⊙ D)), D = g · valueᵀ, {_WEIGHTS}"


# ---- in one call


def _forward(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    noise: Array | None,
    causal: bool,
    scale: float,
) -> tuple[Array, Array]:
    refuse("softmax_lastdim_kernel_impl", query, "biuc")
    q, k, v = widened(query), widened(key), widened(value)
    if q.ndim > 2 and q.shape[-3] != k.shape[-3]:
        k, v = (np.repeat(a, q.shape[-3] // a.shape[-3], -3) for a in (k, v))
    with np.errstate(all="ignore"):
        scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(scale)
        if causal:
            scores = np.where(
                np.tri(*scores.shape[-2:], dtype=np.bool_), scores, q.dtype.type(_NEVER)
            )
        if mask is not None:
            allowed = mask.dtype == bool
            added = np.where(mask, 0, _NEVER).astype(q.dtype) if allowed else widened(mask)
            scores = scores + added.astype(q.dtype, copy=False)
        top = scores.max(-1, keepdims=True, initial=_NEVER)
        weights = np.exp(scores - np.where(top == _NEVER, 0, top))
        total = weights.sum(-1, keepdims=True)
        nothing = total == 0
        weights = weights / np.where(nothing, 1, total)
        lse = np.where(nothing, -_NEVER, top + np.log(total))[..., 0].astype(q.dtype)
        return rounded((weights if noise is None else weights * noise) @ v, query), lse


def _wide(t: Tensor) -> Tensor:
    """Halves as float32, so that what is computed from them is rounded once, when it is done."""
    return t.float() if t.dtype.itemsize == 2 else t


def _triangle(scores: Tensor) -> Tensor:
    """The mask by which each query sees no key after its own place."""
    return _core.made_of_numbers(of(scores).tensor(np.tri(*scores.shape[-2:], dtype=bool)))


def _weights(scores: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """The softmax of scores under masks. A row that may see nothing gives zeros, and takes no
    gradient."""
    if causal:
        scores = scores.masked_fill(~_triangle(scores), _NEVER)
    if mask is None:
        return softmax(scores, -1)
    allowed = mask.dtype.name == "bool"
    forbidden = ~mask if allowed else mask == _NEVER
    scores = scores.masked_fill(forbidden, _NEVER) if allowed else scores + mask
    if causal:
        forbidden = forbidden | ~_triangle(scores)
    nothing = forbidden.all(-1, keepdim=True)
    return softmax(scores.masked_fill(nothing, 0.0), -1).masked_fill(nothing, 0.0)


def _repeated(t: Tensor, times: int) -> Tensor:
    return t if times == 1 else t.repeat_interleave(times, -3)


def _together(t: Tensor, times: int) -> Tensor:
    """The transpose of `_repeated`."""
    return t if times == 1 else t.unflatten(-3, (-1, times)).sum(-3)


def _rule(
    g: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    noise: Tensor | None,
    causal: bool,
    scale: float,
) -> tuple[Tensor | None, ...]:
    times = query.shape[-3] // key.shape[-3] if query.ndim > 2 and key.shape[-3] else 1
    g, q = _wide(g), _wide(query)
    k, v = _repeated(_wide(key), times), _repeated(_wide(value), times)
    added = mask if mask is None or mask.dtype.name == "bool" else mask.to(q.dtype)
    weights = _weights(matmul(q * scale, k.mT), added, causal)
    kept = weights if noise is None else weights * noise
    slopes = matmul(g, v.mT)
    slopes = slopes if noise is None else slopes * noise
    slopes = weights * (slopes - (weights * slopes).sum(-1, keepdim=True))
    return (
        matmul(slopes, k) * scale,
        _together(matmul(slopes.mT, q) * scale, times),
        _together(matmul(kept.mT, g), times),
        None if mask is None or mask.dtype.name == "bool" else slopes,
    )


def _samples(make: Make) -> Samples:
    def heads(n: int, rows: int, width: int = 4) -> Any:
        return make(2, n, rows, width)

    return [
        (heads(2, 3), heads(2, 5), heads(2, 5, 3), None, None, False, 0.5),
        (heads(2, 4), heads(2, 4), heads(2, 4), None, None, True, 0.5),
        (heads(2, 3), heads(1, 5), heads(1, 5), make(3, 5), None, False, 0.3),
        (make(3, 2), make(4, 2), make(4, 2), None, make(3, 4, kind="fixed"), False, 0.7),
    ]


attention_op = general(
    "_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, "
    "noise: Tensor | None, causal: Any, scale: Any)",
    _forward,
    native=_kernels.attention,
    vjp={"query, key, value, mask": _rule},
    backward=(
        _kernels.attention_backward,
        "g query key value mask noise causal scale out out1 needs",
    ),
    node="ScaledDotProductFlashAttentionForCpuBackward0",
    method=False,
    first_only=True,
    samples=_samples,
    formula={
        "query": f"scale · S · key, S = {_OF_SCORES}",
        "key": f"scale · Sᵀ · query, S = {_OF_SCORES}",
        "value": f"Pᵀ · g, {_WEIGHTS}",
        "mask": _OF_SCORES,
    },
    doc="Attention of heads: the result, and the logarithm of each row's sum of exponentials. The "
    "weights are multiplied by `noise`.",
)


# ---- torch's function


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype.c_name} key.dtype: {key.dtype.c_name} and value.dtype: "
            f"{value.dtype.c_name} instead."
        )
    if query.ndim < 2 or key.ndim < 2 or value.ndim < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if mask is None:
        return
    kind = mask.dtype
    if kind is not query.dtype and kind.name not in ("bool", "float32"):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {kind.c_name} and  query.dtype: {query.dtype.c_name} instead."
        )


def _are_heads(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, grouped: bool
) -> bool:
    """Whether `attention_op` takes them."""
    q, k, v = query.shape, key.shape, value.shape
    if k[-1] != q[-1] or v[:-1] != k[:-1] or len(q) != len(k) or not query.is_floating_point():
        return False
    if grouped and len(q) < 3:
        return False
    if q[:-2] != k[:-2] and not (grouped and q[:-3] == k[:-3] and k[-3] and q[-3] % k[-3] == 0):
        return False
    if mask is None:
        return True
    m, scores = mask.shape, (*q[:-1], k[-2])
    return 2 <= len(m) <= len(q) and all(
        a in (1, b) for a, b in zip(m, scores[-len(m) :], strict=True)
    )


def _composed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    causal: bool,
    scale: float,
    grouped: bool,
) -> Tensor:
    """Attention in terms of other functions."""
    kind = query.dtype
    query, key, value = _wide(query), _wide(key), _wide(value)
    if mask is not None and mask.dtype.name != "bool":
        mask = mask.to(query.dtype)
    if grouped:
        n = query.size(-3)
        if key.shape[-3] == 0 or n % key.shape[-3] or n % value.shape[-3]:
            raise RuntimeError(
                "Number of heads in key and value must divide the number of heads in query"
            )
        key = key.repeat_interleave(n // key.shape[-3], -3)
        value = value.repeat_interleave(n // value.shape[-3], -3)
    weights = _weights(matmul(query * scale, key.mT), mask, causal)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return matmul(weights, value).to(kind)


@composite(where="nn", autocast="low")
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
    _check(query, key, value, attn_mask)
    if scale is None:
        depth = query.shape[-1]
        scale = 1.0 / math.sqrt(depth) if depth else 1.0
    heads = _are_heads(query, key, value, attn_mask, enable_gqa)
    # Both are taken where PyTorch's own kernel is.
    if is_causal and attn_mask is not None and not (heads and query.ndim == 4 and not dropout_p):
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    if not heads or dropout_p >= 1.0:
        return _composed(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    noise = None
    if dropout_p > 0.0 and query.numel() and key.numel():
        shape = (*query.shape[:-1], key.shape[-2])
        noise = drawn_mask(_wide(query), shape, dropout_p).div_(1.0 - dropout_p)
    out: Tensor = attention_op(query, key, value, attn_mask, noise, is_causal, scale)[0]
    return out


__all__ = ["scaled_dot_product_attention"]
