"""Attention of several heads: `multi_head_attention_forward`, the whole of `MultiheadAttention`.

Within, a sequence is (length, batch, features). Where weights are asked for, the heads of a batch
are one dimension of batch * heads matrices of (length, head_dim).
"""

from __future__ import annotations

import math
from typing import Any

from ..._base.errors import warn
from ..layout.joining import cat
from ..making.creation import zeros_like
from ..matrix.fused_products import baddbmm
from ..matrix.products import bmm, linear
from ..table.kinds import composite
from ..table.signature import Tensor
from .attention import scaled_dot_product_attention
from .dropout import dropout
from .padding import pad
from .softmax import softmax

_NO_MASK = (
    "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
    "`generate_square_subsequent_mask` to create this mask."
)
_MIXED_MASKS = (
    "Support for mismatched key_padding_mask and attn_mask is deprecated. "
    "Use same type for both instead."
)


def _check(right: bool, text: str) -> None:
    if not right:
        raise AssertionError(text)


def _has_batch(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    padding: Tensor | None,
    mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether the sequences come in a batch; the other arguments must have dimensions that fit."""
    if query.ndim not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{query.ndim}-D query tensor"
        )
    batched = query.ndim == 3
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    _check(
        key.ndim == value.ndim == query.ndim,
        f"For {kind} `query`, expected `key` and `value` to be {query.ndim}-D but found "
        f"{key.ndim}-D and {value.ndim}-D tensors respectively",
    )
    if padding is not None:
        _check(
            padding.ndim == query.ndim - 1,
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {query.ndim - 1}-D "
            f"but found {padding.ndim}-D tensor instead",
        )
    if mask is not None:
        _check(
            mask.ndim in (2, 3),
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{mask.ndim}-D tensor instead",
        )
        if not batched and mask.ndim == 3:
            shape = (num_heads, query.shape[0], key.shape[0])
            _check(
                tuple(mask.shape) == shape,
                f"Expected `attn_mask` shape to be {shape} but got {mask.shape}",
            )
    return batched


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: object,
    other_name: str,
    target_type: object,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as numbers that are added to the scores: what is True becomes -inf."""
    if mask is None:
        return None
    boolean = mask.dtype.name == "bool"
    _check(
        boolean or mask.is_floating_point(),
        f"only bool and floating types of {mask_name} are supported",
    )
    if check_other and other_type is not None and mask.dtype is not other_type:
        warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type "
            "for both instead."
        )
    if not boolean:
        return mask
    return zeros_like(mask, dtype=target_type).masked_fill_(mask, -math.inf)


def _none_or_dtype(input: Tensor | None) -> Any:
    if input is not None and not isinstance(input, Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input.dtype


def _packed(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """The three projections, whose weights lie below each other in one matrix."""
    _check(
        key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}"
    )
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if query is key and key is value:
        return linear(query, weight, bias).chunk(3, -1)
    if key is value:
        parts = [query.shape[-1], 2 * query.shape[-1]]
        first, rest = weight.split(parts)
        of_query, of_rest = (None, None) if bias is None else bias.split(parts)
        return linear(query, first, of_query), *linear(key, rest, of_rest).chunk(2, -1)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(map(linear, (query, key, value), weight.chunk(3), biases))


def _separate(
    inputs: tuple[Tensor, ...], weights: tuple[Tensor | None, ...], bias: Tensor | None
) -> tuple[Tensor, ...]:
    """The three projections, each with a weight of its own."""
    query, key, value = inputs
    _check(
        key.shape[:2] == value.shape[:2],
        f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
    )
    for name, input, weight in zip(("query", "key", "value"), inputs, weights, strict=True):
        if weight is None:
            raise AssertionError(
                f"use_separate_proj_weight is True but {name[0]}_proj_weight is None"
            )
        shape = (query.shape[-1], input.shape[-1])
        _check(
            tuple(weight.shape) == shape,
            f"expecting {name} weights shape of {shape}, but got {weight.shape}",
        )
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(map(linear, inputs, weights, biases))


@composite(where="nn", traits="random")
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads between projections; the output, and the weights if asked for."""
    batched = _has_batch(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError(_NO_MASK)
    if not batched:
        same = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    heads = batch * num_heads
    _check(
        width == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}",
    )
    size = width // num_heads
    _check(size * num_heads == width, f"embed_dim {width} not divisible by num_heads {num_heads}")

    padding = _canonical_mask(key_padding_mask, "key_padding_mask", None, "", query.dtype)
    types = {m.dtype for m in (key_padding_mask, attn_mask) if m is not None}
    if len(types) > 1:
        warn(_MIXED_MASKS)
    # Without padding and weights the hint says all that the mask says.
    causal = is_causal and padding is None and not need_weights
    mask = None if causal else _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)

    if use_separate_proj_weight:
        projections = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _separate((query, key, value), projections, in_proj_bias)
    else:
        q, k, v = _packed(query, key, value, in_proj_weight, in_proj_bias)

    if mask is not None:
        expected = (heads, length, key.shape[0])[3 - mask.ndim :]
        if tuple(mask.shape) != expected:
            raise RuntimeError(
                f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be "
                f"{expected}."
            )
        mask = mask.unsqueeze(0) if mask.ndim == 2 else mask

    added = 0  # places beyond the key's own, which no mask forbids
    if bias_k is not None and bias_v is not None:
        _check(static_k is None, "bias cannot be added to static key.")
        _check(static_v is None, "bias cannot be added to static value.")
        k = cat([k, bias_k.repeat(1, batch, 1)])
        v = cat([v, bias_v.repeat(1, batch, 1)])
        added += 1
    else:
        _check(bias_k is None, "bias_k is not None but bias_v is None")
        _check(bias_v is None, "bias_v is not None but bias_k is None")

    # Weights are made of matrices, which lie in one stack; attention reads heads where they are.
    leading = (heads,) if need_weights else (batch, num_heads)

    def split(x: Tensor) -> Tensor:
        if need_weights:
            return x.reshape(x.shape[0], heads, size).transpose(0, 1)
        return x.unflatten(-1, (num_heads, size)).permute(1, 2, 0, 3)

    q = split(q)
    if static_k is None:
        k = split(k)
    else:
        k = _static(static_k, "static_k", heads, size).unflatten(0, leading)
    if static_v is None:
        v = split(v)
    else:
        v = _static(static_v, "static_v", heads, size).unflatten(0, leading)
    if add_zero_attn:
        zeros = k.new_zeros(*leading, 1, size)
        k, v = cat([k, zeros], -2), cat([v, zeros], -2)
        added += 1
    reach = k.shape[-2]

    if padding is not None:
        _check(
            padding.shape[0] == batch,
            f"Expected key_padded_mask.shape[0] to be {batch}, but got {padding.shape[0]}",
        )
        padding = pad(padding, (0, added)) if added else padding
        _check(
            padding.shape[1] == reach,
            f"Expected key_padded_mask.shape[1] to be {reach}, but got {padding.shape[1]}",
        )
        padding = padding.view(batch, 1, 1, reach).expand(-1, num_heads, -1, -1)
        padding = padding.reshape(heads, 1, reach)
    if mask is not None and added:
        mask = pad(mask, (0, added))
    if padding is not None:
        mask = padding if mask is None else mask + padding

    p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        q = q * math.sqrt(1.0 / size)
        weights = softmax(bmm(q, k.mT) if mask is None else baddbmm(mask, q, k.mT), -1)
        weights = dropout(weights, p) if p > 0.0 else weights
        out = bmm(weights, v)
        weights = weights.view(batch, num_heads, length, reach)
        weights = weights.mean(1) if average_attn_weights else weights
        weights = weights if batched else weights.squeeze(0)
    else:
        if mask is not None:
            one = mask.shape[0] == 1
            mask = mask.unsqueeze(0) if one else mask.view(batch, num_heads, *mask.shape[1:])
        out = scaled_dot_product_attention(q, k, v, mask, p, causal)
    out = out.transpose(0, 1) if need_weights else out.permute(2, 0, 1, 3)
    out = out.reshape(length * batch, width)
    out = linear(out, out_proj_weight, out_proj_bias)
    out = out.view(length, batch, out.shape[1])
    return (out if batched else out.squeeze(1)), weights


def _static(given: Tensor, name: str, heads: int, size: int) -> Tensor:
    """Keys or values that the caller has projected."""
    _check(
        given.shape[0] == heads,
        f"expecting {name}.size(0) of {heads}, but got {given.shape[0]}",
    )
    _check(
        given.shape[2] == size,
        f"expecting {name}.size(2) of {size}, but got {given.shape[2]}",
    )
    return given


__all__ = ["multi_head_attention_forward"]
