"""Tangent rules of single ops: of those whose tangent is cheaper than the transpose of their
gradient. A rule is f(op, values, tangents by position, result) and gives the tangent (or several).
"""

from __future__ import annotations

from typing import Any

from .. import _core
from ..ops.table.statement import OPS, namespace
from .tangents import tangent_rule

__all__: list[str] = []

_call = _core.call_op
_T = namespace("torch")


def _sum(terms: list[Any]) -> Any:
    total = None
    for t in terms:
        if t is not None:
            total = t if total is None else total + t
    return total


@tangent_rule("addmm", "addmv", "addr", "baddbmm", "addbmm")
def _add_product(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    beta, alpha = values[3], values[4]
    total = None
    if 0 in tangents:
        total = tangents[0] * beta
    for at in (1, 2):
        if at in tangents:
            args = [_T["zeros_like"](values[0]), values[1], values[2], 0, alpha]
            args[at] = tangents[at]
            total = _sum([total, _call(op, args)])
    return total


@tangent_rule("_linear_bias")
def _linear_with_bias(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    product = OPS["linear"].function
    x, weight = values[0], values[1]
    total = None
    if 0 in tangents:
        total = product(tangents[0], weight)
    if 1 in tangents:
        total = _sum([total, product(x, tangents[1])])
    return _sum([total, tangents.get(2)])


@tangent_rule("_convolution", "_convolution_input")
def _convolution(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    total = None
    for at in (0, 1):
        if at in tangents:
            args = list(values)
            args[at], args[2] = tangents[at], None
            total = _sum([total, _call(op, args)])
    if 2 in tangents:
        bias = tangents[2]
        total = _sum([total, bias.reshape(bias.shape + (1,) * (out.ndim - 2)).expand(out.shape)])
    return total


@tangent_rule("softmax", "_softmax_as")
def _softmax(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    weighted = out * tangents[0]
    return weighted - out * weighted.sum(values[1], keepdim=True)


@tangent_rule("log_softmax", "_log_softmax_as")
def _log_softmax(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    t = tangents[0]
    return t - (out.exp() * t).sum(values[1], keepdim=True)


@tangent_rule("fill", "_overwrite", "_copied")
def _replaced(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    if 1 not in tangents:
        return None
    return tangents[1].to(out.dtype).expand(out.shape)


@tangent_rule("_overwrite_number", "_zeroed")
def _cleared(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    return None


@tangent_rule("_max_dim", "_min_dim", "_median_dim", "_nanmedian_dim")
def _picked(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    t, index = tangents[0], out[1]
    dim, keepdim = values[1], values[2]
    if t.ndim == 0:
        return t, None
    if keepdim:
        return t.gather(dim, index), None
    return t.gather(dim, index.unsqueeze(dim)).squeeze(dim), None


@tangent_rule("_sort", "_stable_sort", "cummax", "cummin")
def _permuted(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    t = tangents[0]
    return (t if t.ndim == 0 else t.gather(values[1], out[1])), None


@tangent_rule("topk")
def _topk(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    t = tangents[0]
    return (t if t.ndim == 0 else t.gather(values[2], out[1])), None


@tangent_rule("logcumsumexp")
def _logcumsumexp(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    x, dim, t = values[0], values[1], tangents[0]
    if t.ndim == 0:
        return t
    # Weights exp(x_j - out_i) for j <= i: never above 1, where a quotient of sums could overflow.
    x, y, t = x.movedim(dim, -1), out.movedim(dim, -1), t.movedim(dim, -1)
    n = x.shape[-1]
    row = _T["arange"](n)
    earlier = row <= row.unsqueeze(1)
    away = x.unsqueeze(-2) - y.unsqueeze(-1)
    weights = _T["where"](earlier, _T["where"](earlier, away, 0).exp(), 0)
    return (weights * t.unsqueeze(-2)).sum(-1).movedim(-1, dim)


@tangent_rule("strided_view")
def _strided_view(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    value, t = values[0], tangents[0]
    if t._seen.strides != value._seen.strides:
        # Strides are those of the value's storage: a tangent laid out otherwise is copied into
        # them.
        laid_out = _T["empty_strided"](tuple(value.shape), value.stride(), dtype=t.dtype)
        t = laid_out.zero_().copy_(t)
    offset = values[3]
    if offset is not None:
        offset += t.storage_offset() - value.storage_offset()
    return _call(op, [t, values[1], values[2], offset, *values[4:]])
