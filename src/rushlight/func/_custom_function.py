"""Custom Functions whose inputs are watched: their `jvp` and `vmap`,
or what follows from forward and backward."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _core
from ..autograd import function as _function
from ..autograd import levels
from ..autograd.function import Function, FunctionCtx
from ..autograd.levels import Batch, Level
from ..autograd.running import below, only
from ..ops._op import namespace
from ._pytree import broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__: list[str] = []

_Tensor = _core.Tensor
_T = namespace("torch")


def apply_watched(cls: Any, args: tuple[Any, ...]) -> Any:
    """`cls.apply` at the youngest level among the arguments."""
    w = levels.youngest(args)
    if w is None:
        return cls.apply(*args)
    if isinstance(w, Batch):
        return _mapped(cls, args, w.level)
    return _with_tangents(cls, args, w.level)


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told: the size of the batch and the kind of randomness."""

    batch_size: int
    randomness: str


def _mapped(cls: Any, args: tuple[Any, ...], level: Level) -> Any:
    values = [levels.batched_at(a, level) if isinstance(a, _Tensor) else None for a in args]
    plain = [a if v is None else v for a, v in zip(args, values, strict=True)]
    if cls.vmap is not Function.vmap:
        dims = tuple(None if v is None else 0 for v in values)
        with only(below(level)):
            found = cls.vmap(VmapInfo(level.size, level.randomness), dims, *plain)
        if not isinstance(found, tuple) or len(found) != 2:
            raise RuntimeError(
                "Expected the vmap staticmethod to have two returns, an output and out_dims with "
                "pytree structure compatible with the output. Got a "
                + (f"tuple of {len(found)}" if isinstance(found, tuple) else f"{type(found)}")
                + " instead. For a single output, return (output, 0)."
            )
        return _wrapped(*found, level)
    result = _Mapped.apply(cls, level, tuple(v is not None for v in values), *plain)
    single = not isinstance(result, tuple)
    outs = (result,) if single else result
    wrapped = tuple(levels.batch(level, o) if isinstance(o, _Tensor) else o for o in outs)
    return wrapped[0] if single else wrapped


def _wrapped(found: Any, dims: Any, level: Level) -> Any:
    leaves, spec = tree_flatten(found)
    where = broadcast_to_and_flatten(dims, spec)
    if where is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) "
            f"tuple. Expected out_dims={dims} to be compatible with the structure of `output`. "
            f"out_dims has structure {tree_flatten(dims)[1]} but output has structure {spec}."
        )
    wrapped = [
        x if d is None or not isinstance(x, _Tensor) else levels.batch(level, x.movedim(d, 0))
        for x, d in zip(leaves, where, strict=True)
    ]
    return tree_unflatten(wrapped, spec)


class _Mapped(Function):
    """A Function run on all elements at once: forward and backward under the level of the vmap."""

    _for_transforms = True

    @staticmethod
    def forward(ctx: Any, cls: Any, level: Level, batched: Any, *args: Any) -> Any:
        inside = [levels.batch(level, a) if b else a for a, b in zip(args, batched, strict=True)]
        context = _Context(ctx.needs_input_grad[3:])
        with only([*below(level), level]):
            output = _run_forward(cls, context, inside)
        ctx.call = (cls, level, batched, context, tuple(getattr(a, "shape", None) for a in inside))
        single = not isinstance(output, tuple)
        outs = (output,) if single else output
        values = tuple(_spread(o, level) if isinstance(o, _Tensor) else o for o in outs)
        return values[0] if single else values

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        cls, level, batched, context, shapes = ctx.call
        active, level.active = level.active, True
        try:
            given = [None if g is None else levels.batch(level, g) for g in grads]
            with only([*below(level), level]):
                found = _backward_of(cls)(context, *given)
            found = found if isinstance(found, tuple) else (found,)
            results: list[Any] = []
            for g, b, shape in zip(found, batched, shapes, strict=False):
                if g is None or shape is None:
                    results.append(None)
                elif b:
                    results.append(_spread(g, level))
                else:
                    value = levels.batched_at(g, level)
                    results.append(g if value is None else value.sum(0))
        finally:
            level.active = active
        return (None, None, None, *results)


def _backward_of(cls: Any) -> Any:
    return cls.vjp if cls.vjp is not Function.vjp else cls.backward


def _spread(t: Any, level: Level) -> Any:
    value = levels.batched_at(t, level)
    return t.expand(level.size, *t.shape).clone() if value is None else value


class _Context(FunctionCtx):
    """What a Function's methods get for `ctx` where no node of their own is recorded."""

    to_save: tuple[Any, ...] = ()
    saved_for_forward: tuple[Any, ...] = ()
    materialize_grads = True
    _in_jvp = False

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was kept."""
        return self.saved_for_forward or self.to_save


def _run_forward(cls: Any, context: Any, args: Any) -> Any:
    if cls.setup_context is Function.setup_context:
        return cls.forward(context, *args)
    output = cls.forward(*args)
    cls.setup_context(context, tuple(args), output)
    return output


def _with_tangents(cls: Any, args: tuple[Any, ...], level: Level) -> Any:
    parts = [levels.parts_at(a, level) if isinstance(a, _Tensor) else (a, None) for a in args]
    values = tuple(v for v, _ in parts)
    with only(below(level)):
        context, output = _called(cls, values)
    if cls.jvp is Function.jvp:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )
    tangents = [
        _T["zeros_like"](v)
        if t is None and isinstance(v, _Tensor) and context.materialize_grads
        else t
        for v, t in parts
    ]
    context._in_jvp = True
    with only(below(level)):
        found = cls.jvp(context, *tangents)
    context._in_jvp, context.saved_for_forward = False, ()
    single = not isinstance(output, tuple)
    outs = (output,) if single else output
    ts = found if isinstance(found, tuple) else (found,)
    if len(ts) != len(outs):
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{len(outs)} but got {len(ts)})"
        )
    joined = tuple(
        _joined(o, t, args, parts, level) if isinstance(o, _Tensor) else o
        for o, t in zip(outs, ts, strict=True)
    )
    return joined[0] if single else joined


def _joined(out: Any, tangent: Any, args: Any, parts: Any, level: Level) -> Any:
    """A result with its tangent; an argument that forward has written is itself the result."""
    if tangent is None:
        return out
    if tangent.shape != out.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(out.shape)} while the given "
            f"forward gradient is of size {list(tangent.shape)}."
        )
    for a, (value, _) in zip(args, parts, strict=True):
        if out is value and a._watched is not None and a._watched.level is level:
            a._watched.tangent = tangent
            return a
    if out._is_view() and tangent._watched is None and not tangent._is_view():
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is "
            "not returning a view. Return a view of the tangent, such as t.view_as(t)."
        )
    return levels.with_tangent(out, tangent, level)


def _called(cls: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
    """(the context, the results) of one call of forward."""
    if not any(isinstance(v, _Tensor) and v._watched is not None for v in values):
        return cls._run(values)  # type: ignore[no-any-return]
    context = _Context(tuple(isinstance(v, _Tensor) and v.requires_grad for v in values))
    output = cls.apply(*values)
    before = _core.set_grad_enabled(False)
    try:
        if cls.setup_context is not Function.setup_context:
            cls.setup_context(context, values, output)
        else:  # levels of forward_ad inside each other: what forward keeps has the older tangents
            _core.set_grad_enabled(before)
            cls.forward(context, *values)
    finally:
        _core.set_grad_enabled(before)
    return context, output


_function.watched_apply = apply_watched
