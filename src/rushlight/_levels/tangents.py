"""Forward-mode: the tangent of an op's result from the tangents of its arguments, by the op's kind.

- pointwise: the sum of partial * tangent; a boolean partial selects.
- linear: the op itself on the tangents of the arguments it is linear in.
- bilinear: the product rule.
- general: a rule of its statement where one is cheaper (`jvp=`); else the transpose of the op's
  gradient rule, which is linear in the incoming gradient u: v = vjp(u), and the gradient of v
  with respect to u, given the tangents, is the tangent of the result.

Composites call ops, so they never come here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Op, Source, Tensor
from ..ops.elementwise.selection import _where
from ..ops.layout.shape import sum_to
from ..ops.making.creation import zeros_like
from ..ops.table.statement import Entry
from .backward import run_backward
from .places import as_tangent
from .structure import needs_grad
from .variables import zero_leaf

__all__ = ["has_history", "tangent_of", "transposed"]

_call = _core.call_op
where: Any = _where


def tangent_of(
    op: Op, values: list[Any], tangents: dict[int, Any], out: Tensor
) -> Tensor | tuple[Tensor | None, ...] | None:
    """The tangent of `out`, the op's result: a tensor or None; of several results, a tuple."""
    entry = op.entry
    rule = _by_statement if entry.jvp else _KINDS[entry.kind]
    try:
        return rule(op, values, tangents, out)
    except RuntimeError as error:
        other = _no_derivative(entry, str(error))
        if other is None:
            raise
        raise other from None


_NO_DERIVATIVE = re.compile("(?:the )?derivative for '?(aten::)?(\\w+)'? is not implemented")


def _no_derivative(entry: Entry, text: str) -> NotImplementedError | None:
    """The forward-mode error for a missing derivative, made of the rule's error text."""
    found = _NO_DERIVATIVE.match(text)
    if found is None:
        return None
    if found[1]:
        why = f"aten::{found[2]} that does not support it."
    else:
        name = found[2] if entry.namespace != "special" else f"special_{found[2]}"
        why = f"{name} that does not support it because it has not been implemented yet."
    return NotImplementedError(f"Trying to use forward AD with {why}{text[found.end() :]}")


def _source_values(
    rule: Any,
    values: Any,
    outs: tuple[Tensor, ...],
    gs: Sequence[Tensor | None],
    needs: tuple[bool, ...] | None = None,
) -> list[Any]:
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


def _by_statement(
    op: Op, values: list[Any], tangents: dict[int, Any], out: Any
) -> Tensor | tuple[Tensor | None, ...] | None:
    """By the op's `jvp`."""
    outs = (out,) if isinstance(out, Tensor) else tuple(out)
    total = None
    for at, rule in op.entry.jvp.items():
        if at in tangents:
            term = rule.function(tangents[at], *_source_values(rule, values, outs, ()))
            total = term if total is None else total + term
    return total if isinstance(out, Tensor) else (total, *(None,) * (len(outs) - 1))


# ---- kinds


def _pointwise(op: Op, values: list[Any], tangents: dict[int, Any], out: Tensor) -> Any:
    entry = op.entry
    total = None
    for rule, (at,) in zip(entry.rules, entry.targets, strict=True):
        t = tangents.get(at)
        if t is None:
            continue
        partial = rule.partial
        if not callable(partial):
            if partial == 0:
                term = zeros_like(t)
            else:
                term = t if partial == 1 else -t if partial == -1 else t * partial
        elif rule.sources and rule.sources[0][0] == Source.GRAD and rule.function is partial:
            if out.dtype.is_complex or t.dtype.is_complex:
                return transposed(op, values, tangents, out)
            term = partial(*_source_values(rule, values, (out,), (t,)))
        else:
            value = partial(*_source_values(rule, values, (out,), (t,))[1:])
            if isinstance(value, Tensor):
                term = where(value, t, 0) if value.dtype.name == "bool" else t * value
            elif value is True:
                term = t
            else:
                term = zeros_like(t) if value == 0 else t * value
        total = term if total is None else total + term
    return total


def _zeros(value: Tensor) -> Tensor:
    if isinstance(value, Tensor):
        return zeros_like(value)
    return 0 if isinstance(value, (int, float, complex)) else value


def _linear(
    op: Op, values: list[Any], tangents: dict[int, Any], out: Tensor | tuple[Tensor, ...]
) -> Any:
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


def _bilinear(op: Op, values: list[Any], tangents: dict[int, Any], out: Tensor) -> Any:
    total = None
    for (at,) in op.entry.targets:
        t = tangents.get(at)
        if t is not None:
            args = list(values)
            args[at] = t
            term = _call(op, args)
            total = term if total is None else total + term
    return total


def transposed(op: Op, values: list[Any], tangents: dict[int, Any], out: Any) -> Any:
    """The tangent by the transpose of the gradient rules."""
    single = isinstance(out, Tensor)
    outs = (out,) if single else tuple(out)
    us = [
        zero_leaf(o) if isinstance(o, Tensor) and o.dtype.is_differentiable else None for o in outs
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
            found = rule.function(*_source_values(rule, values, outs, us, needs))
            if len(row) == 1 and not isinstance(tangents[row[0]], list):
                found = (found,)
            ts: Any = [tangents.get(at) for at in row]
            if len(row) == 1 and isinstance(ts[0], list):
                ts = ts[0]
            for v, t, at in zip(found, ts, row if len(row) > 1 else row * len(ts), strict=True):
                if v is None or t is None or not needs_grad(v):
                    continue
                target = values[at]
                if isinstance(target, Tensor):
                    v = _matched(v, target)
                    t = as_tangent(t, v)
                roots.append(v)
                given.append(t)
        if not roots:
            return None
        create = recording and (
            any(needs_grad(t) for t in given) or any(has_history(v) for v in values)
        )
        wanted = tuple(u for u in us if u is not None)
        found = run_backward(tuple(roots), tuple(given), create, create, wanted)
    finally:
        _core.set_grad_enabled(recording)
    it = iter(found)
    result = [None if u is None else next(it) for u in us]
    return result[0] if single else tuple(result)


def has_history(v: Any) -> bool:
    if isinstance(v, (list, tuple)):
        return any(has_history(x) for x in v)
    return isinstance(v, Tensor) and needs_grad(v)


def _matched(v: Tensor, target: Tensor) -> Tensor:
    """A rule's gradient as the engine fits it: rules may give the broadcast shape."""
    if v._form.shape != target._form.shape:
        v = sum_to(v, tuple(target.shape))
    if v.dtype is not target.dtype:
        if v.dtype.is_complex and not target.dtype.is_complex:
            v = v.real
        v = v.to(target.dtype)
    return v


def _constant(op: Op, values: list[Any], tangents: dict[int, Any], out: object) -> Any:
    return None


_KINDS: dict[str, Callable[..., Any]] = {
    "pointwise": _pointwise,
    "linear": _linear,
    "bilinear": _bilinear,
    "general": transposed,
    "constant": _constant,
}
