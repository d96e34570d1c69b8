"""Tangent rules of single ops: of those whose tangent is cheaper than the transpose of their
gradient. A rule is f(op, values, tangents by position, result) and gives the tangent (or several).
"""

from __future__ import annotations

from typing import Any

from .. import _core
from ..ops.layers.conv import _convolution as convolution
from ..ops.layers.conv import _convolution_input
from ..ops.layout.strided import strided_view
from ..ops.making.creation import empty_strided, zeros_like
from ..ops.matrix.fused_products import addbmm, addmm, addmv, addr, baddbmm
from ..ops.matrix.products import _linear_bias, linear
from .tangents import tangent_rule

__all__: list[str] = []

_call = _core.call_op


def _sum(terms: list[Any]) -> Any:
    total = None
    for t in terms:
        if t is not None:
            total = t if total is None else total + t
    return total


@tangent_rule(addmm, addmv, addr, baddbmm, addbmm)
def _add_product(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    beta, alpha = values[3], values[4]
    total = None
    if 0 in tangents:
        total = tangents[0] * beta
    for at in (1, 2):
        if at in tangents:
            args = [zeros_like(values[0]), values[1], values[2], 0, alpha]
            args[at] = tangents[at]
            total = _sum([total, _call(op, args)])
    return total


@tangent_rule(_linear_bias)
def _linear_with_bias(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    product = linear
    x, weight = values[0], values[1]
    total = None
    if 0 in tangents:
        total = product(tangents[0], weight)
    if 1 in tangents:
        total = _sum([total, product(x, tangents[1])])
    return _sum([total, tangents.get(2)])


@tangent_rule(convolution, _convolution_input)
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


@tangent_rule(strided_view)
def _strided_view(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    value, t = values[0], tangents[0]
    if t._seen.strides != value._seen.strides:
        # Strides are those of the value's storage: a tangent laid out otherwise is copied into
        # them.
        laid_out = empty_strided(tuple(value.shape), value.stride(), dtype=t.dtype)
        t = laid_out.zero_().copy_(t)
    offset = values[3]
    if offset is not None:
        offset += t.storage_offset() - value.storage_offset()
    return _call(op, [t, values[1], values[2], offset, *values[4:]])
