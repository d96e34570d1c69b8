"""Forward-mode: the tangent of an op's result from the tangents of its arguments, by the op's kind.

- pointwise: the sum of partial * tangent; a boolean partial selects.
- linear: the op itself on the tangents of the arguments it is linear in.
- bilinear: the product rule.
- general: a rule below where one is cheaper; else the transpose of the op's gradient rule, which is
  linear in the incoming gradient u: v = vjp(u), and the gradient of v with respect to u, given
  the tangents, is the tangent of the result.

Composites call ops, so they never come here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Source
from ..autograd import _levels as levels
from ..autograd._levels import Dual, Level, dual
from ..autograd.forward_ad import _is_fwd_grad_enabled
from ..ops.table.statement import OPS, namespace

__all__ = ["RULES"]

_Tensor = _core.Tensor
_call = _core.call_op
_T = namespace("torch")

RULES: dict[str, Callable[..., Any]] = {}
"""Tangent rules of single ops: f(op, values, tangents by position, result) -> tangent(s)."""


def _split(slots: Any, level: Level) -> tuple[list[Any], dict[int, Any]]:
    values: list[Any] = []
    tangents: dict[int, Any] = {}
    for i, a in enumerate(slots):
        if isinstance(a, _Tensor):
            w = a._wrapped
            if w is not None and w.level is level:
                tangents[i] = w.tangent
                a = w.value
        elif (type(a) is list or type(a) is tuple) and a and isinstance(a[0], _Tensor):
            parts = [levels.parts_at(x, level) for x in a]
            if any(t is not None for _, t in parts):
                tangents[i] = [t for _, t in parts]
                a = [v for v, _ in parts]
        values.append(a)
    return values, tangents


def _dual_call(op: Any, slots: Any, level: Level) -> Any:
    values, tangents = _split(slots, level)
    out = _call(op, values)
    if not op.differentiable or not _is_fwd_grad_enabled(level):
        return out
    tangent = tangent_of(op, values, tangents, out)
    return _join(op, out, tangent, tangents.values(), level)


def tangent_of(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    """The tangent of `out`, the op's result: a tensor or None; of several results, a tuple."""
    entry = op.entry
    rule = RULES.get(entry.name) or _KINDS[entry.kind]
    try:
        return rule(op, values, tangents, out)
    except RuntimeError as error:
        other = _no_derivative(entry, str(error))
        if other is None:
            raise
        raise other from None


_NO_DERIVATIVE = re.compile("(?:the )?derivative for '?(aten::)?(\\w+)'? is not implemented")


def _no_derivative(entry: Any, text: str) -> NotImplementedError | None:
    """What forward-mode says of a derivative that there is not: `text` is what the rule said."""
    found = _NO_DERIVATIVE.match(text)
    if found is None:
        return None
    if found[1]:
        why = f"aten::{found[2]} that does not support it."
    else:
        name = found[2] if entry.namespace != "special" else f"special_{found[2]}"
        why = f"{name} that does not support it because it has not been implemented yet."
    return NotImplementedError(f"Trying to use forward AD with {why}{text[found.end() :]}")


def _fitted(tangent: Any, out: Any) -> Any:
    """A tangent of the shape and dtype of its value."""
    if tangent.dtype is not out.dtype:
        if tangent.dtype.is_complex and not out.dtype.is_complex:
            tangent = tangent.real
        tangent = tangent.to(out.dtype)
    if tangent._seen.shape != out._seen.shape:
        tangent = tangent.expand(out.shape).clone()
    return tangent


def _joined(op: Any, out: Any, tangent: Any, given: Any, level: Level) -> Any:
    """A result with its tangent, in memory of its own unless the op is a view: each may be written
    without the other's knowing."""
    if tangent is None or out is None or not out.dtype.is_differentiable:
        return out
    tangent = _fitted(tangent, out)
    if not op.view:
        if tangent._seen.strides != out._seen.strides:
            tangent = levels.laid_out(tangent, out)
        elif _is_borrowed(tangent, given):
            tangent = tangent.clone()
    return dual(level, out, tangent)


def _is_borrowed(tangent: Any, given: Any) -> bool:
    """Whether a tangent that an op should have made is (or shows) another tensor."""
    w = tangent._wrapped
    if w is None:
        if tangent._base is not None:
            return True
    elif _is_borrowed(w.value, ()) or (isinstance(w, Dual) and _is_borrowed(w.tangent, ())):
        return True
    return any(any(tangent is x for x in t) if type(t) is list else tangent is t for t in given)


def _join(op: Any, out: Any, tangent: Any, given: Any, level: Level) -> Any:
    if isinstance(out, _Tensor):
        return _joined(op, out, tangent, given, level)
    if tangent is None:
        return out
    joined = tuple(_joined(op, o, t, given, level) for o, t in zip(out, tangent, strict=True))
    return joined if type(out) is tuple else type(out)(joined)


def source_values(rule: Any, values: Any, outs: Any, gs: Any, needs: Any = None) -> list[Any]:
    """The arguments of a gradient rule."""
    found = []
    for kind, at in rule.sources:
        if kind == Source.ARG:
            found.append(values[at])
        elif kind in (Source.ARG_SHAPE, Source.ARG_DTYPE):
            name = "shape" if kind == Source.ARG_SHAPE else "dtype"
            v = values[at]
            if isinstance(v, (list, tuple)):
                found.append(tuple(getattr(x, name) for x in v))
            else:
                found.append(getattr(v, name, None))
        elif kind == Source.OUT:
            found.append(outs[at])
        elif kind == Source.GRAD:
            found.append(gs[at])
        elif kind == Source.GRADS:
            found.append(tuple(gs))
        else:
            found.append(needs)
    return found


# ---- kinds


def _pointwise(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    entry = op.entry
    total = None
    for rule, (at,) in zip(entry.rules, entry.targets, strict=True):
        t = tangents.get(at)
        if t is None:
            continue
        partial = rule.partial
        if not callable(partial):
            if partial == 0:
                term = _T["zeros_like"](t)
            else:
                term = t if partial == 1 else -t if partial == -1 else t * partial
        elif rule.sources and rule.sources[0][0] == Source.GRAD and rule.function is partial:
            if out.dtype.is_complex or t.dtype.is_complex:
                return transposed(op, values, tangents, out)
            term = partial(*source_values(rule, values, (out,), (t,)))
        else:
            value = partial(*source_values(rule, values, (out,), (t,))[1:])
            if isinstance(value, _Tensor):
                term = _T["where"](value, t, 0) if value.dtype.name == "bool" else t * value
            elif value is True:
                term = t
            else:
                term = _T["zeros_like"](t) if value == 0 else t * value
        total = term if total is None else total + term
    return total


def _zeros(value: Any) -> Any:
    if isinstance(value, _Tensor):
        return _T["zeros_like"](value)
    return 0 if isinstance(value, (int, float, complex)) else value


def _linear(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    entry = op.entry
    wanted = {at for row in entry.targets for at in row}
    if not wanted & tangents.keys():
        return None
    args = list(values)
    for at in wanted:
        t = tangents.get(at)
        v = values[at]
        if isinstance(v, (list, tuple)):
            given = t if t is not None else [None] * len(v)
            args[at] = [_zeros(x) if g is None else g for x, g in zip(v, given, strict=True)]
        else:
            args[at] = _zeros(v) if t is None else t
    return _call(op, args)


def _bilinear(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    total = None
    for (at,) in op.entry.targets:
        t = tangents.get(at)
        if t is not None:
            args = list(values)
            args[at] = t
            term = _call(op, args)
            total = term if total is None else total + term
    return total


def transposed(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    """The tangent by the transpose of the gradient rules."""
    single = isinstance(out, _Tensor)
    outs = (out,) if single else tuple(out)
    us = [
        levels.zero_leaf(o) if isinstance(o, _Tensor) and o.dtype.is_differentiable else None
        for o in outs
    ]
    roots: list[Any] = []
    given: list[Any] = []
    entry = op.entry
    recording = _core.set_grad_enabled(True)
    try:
        needs = tuple(at in tangents for row in entry.targets for at in row)
        for rule, row in zip(entry.rules, entry.targets, strict=True):
            if not any(at in tangents for at in row):
                continue
            found = rule.function(*source_values(rule, values, outs, us, needs))
            if len(row) == 1 and not isinstance(tangents[row[0]], list):
                found = (found,)
            ts: Any = [tangents.get(at) for at in row]
            if len(row) == 1 and isinstance(ts[0], list):
                ts = ts[0]
            for v, t, at in zip(found, ts, row if len(row) > 1 else row * len(ts), strict=True):
                if v is None or t is None or not levels.needs_grad(v):
                    continue
                target = values[at]
                if isinstance(target, _Tensor):
                    v = _matched(v, target)
                    t = _fitted(t, v)
                roots.append(v)
                given.append(t)
        if not roots:
            return None
        create = recording and (
            any(levels.needs_grad(t) for t in given) or any(_has_history(v) for v in values)
        )
        wanted = tuple(u for u in us if u is not None)
        found = levels.run_backward(tuple(roots), tuple(given), create, create, wanted)
    finally:
        _core.set_grad_enabled(recording)
    it = iter(found)
    result = [None if u is None else next(it) for u in us]
    return result[0] if single else tuple(result)


def _has_history(v: Any) -> bool:
    if isinstance(v, (list, tuple)):
        return any(_has_history(x) for x in v)
    return isinstance(v, _Tensor) and levels.needs_grad(v)


def _matched(v: Any, target: Any) -> Any:
    """A rule's gradient as the engine fits it: rules may give the broadcast shape."""
    if v._seen.shape != target._seen.shape:
        v = OPS["sum_to"].function(v, tuple(target.shape))
    if v.dtype is not target.dtype:
        if v.dtype.is_complex and not target.dtype.is_complex:
            v = v.real
        v = v.to(target.dtype)
    return v


def _constant(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    return None


_KINDS: dict[str, Callable[..., Any]] = {
    "pointwise": _pointwise,
    "linear": _linear,
    "bilinear": _bilinear,
    "general": transposed,
    "constant": _constant,
}


# ---- in place


def _dual_in_place(op: Any, slots: Any, level: Level) -> Any:
    self = slots[0]
    values, tangents = _split(slots, level)
    if 0 not in tangents:
        if (
            not op.base.differentiable
            or not self.dtype.is_differentiable
            or not _is_fwd_grad_enabled(level)
        ):
            _call(op, values)
            return self
        levels.let_have_tangent(self, level)
        values, tangents = _split(slots, level)
    w = self._wrapped
    if not _is_fwd_grad_enabled(level):
        _call(op, values)
        return self
    recording = _core.is_grad_enabled() and any(_has_history(v) for v in values)
    if recording:
        # What the tangent's rule saves must not be what is about to be overwritten.
        before = [values[0].clone(), *values[1:]]
        result = _call(op.base, _rejoined(before, {**tangents, 0: w.tangent.clone()}, level))
    else:
        result = _call(op.base, slots)
    _, tangent = levels.parts_at(result, level)
    _call(op, values)
    if tangent is None:
        w.tangent.zero_()
    else:
        levels.let_have_batches(w.tangent, tangent)
        w.tangent.copy_(tangent)
    levels.show_history(self, w.value.requires_grad or w.tangent.requires_grad)
    return self


def _rejoined(values: list[Any], tangents: dict[int, Any], level: Level) -> list[Any]:
    joined = list(values)
    for at, t in tangents.items():
        if isinstance(t, list):
            joined[at] = [dual(level, v, x) for v, x in zip(values[at], t, strict=True)]
        else:
            joined[at] = dual(level, values[at], t)
    return joined


Dual.call = staticmethod(_dual_call)
Dual.in_place = staticmethod(_dual_in_place)


# ---- ops whose tangent is cheaper than the transpose of their gradient


def rule(*names: str) -> Callable[[Any], Any]:
    """Decorator: the tangent rule of the ops of these names."""

    def enter(f: Any) -> Any:
        for name in names:
            RULES[name] = f
        return f

    return enter


def _sum(terms: list[Any]) -> Any:
    total = None
    for t in terms:
        if t is not None:
            total = t if total is None else total + t
    return total


@rule("addmm", "addmv", "addr", "baddbmm", "addbmm")
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


@rule("_linear_bias")
def _linear_with_bias(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    product = OPS["linear"].function
    x, weight = values[0], values[1]
    total = None
    if 0 in tangents:
        total = product(tangents[0], weight)
    if 1 in tangents:
        total = _sum([total, product(x, tangents[1])])
    return _sum([total, tangents.get(2)])


@rule("_convolution", "_convolution_input")
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


@rule("softmax", "_softmax_as")
def _softmax(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    weighted = out * tangents[0]
    return weighted - out * weighted.sum(values[1], keepdim=True)


@rule("log_softmax", "_log_softmax_as")
def _log_softmax(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    t = tangents[0]
    return t - (out.exp() * t).sum(values[1], keepdim=True)


@rule("fill", "_overwrite", "_copied")
def _replaced(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    if 1 not in tangents:
        return None
    return tangents[1].to(out.dtype).expand(out.shape)


@rule("_overwrite_number", "_zeroed")
def _cleared(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    return None


@rule("_max_dim", "_min_dim", "_median_dim", "_nanmedian_dim")
def _picked(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    t, index = tangents[0], out[1]
    dim, keepdim = values[1], values[2]
    if t.ndim == 0:
        return t, None
    if keepdim:
        return t.gather(dim, index), None
    return t.gather(dim, index.unsqueeze(dim)).squeeze(dim), None


@rule("_sort", "_stable_sort", "cummax", "cummin")
def _permuted(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    t = tangents[0]
    return (t if t.ndim == 0 else t.gather(values[1], out[1])), None


@rule("topk")
def _topk(op: Any, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    t = tangents[0]
    return (t if t.ndim == 0 else t.gather(values[2], out[1])), None


@rule("logcumsumexp")
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


@rule("strided_view")
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
