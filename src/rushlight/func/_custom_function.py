"""Custom Functions whose inputs are watched: their `jvp` and `vmap`,
or what follows from forward and backward."""

from __future__ import annotations

from typing import Any

from .. import _core
from ..autograd import function as _function
from ..autograd import levels
from ..autograd.function import Function
from ..autograd.levels import Batch, Level
from ..ops._op import namespace

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


class _VmapInfo:
    """What a Function's `vmap` method is told: the size of the batch and the kind of randomness."""

    def __init__(self, level: Level) -> None:
        self.batch_size, self.randomness = level.size, level.randomness


def _mapped(cls: Any, args: tuple[Any, ...], level: Level) -> Any:
    values = [levels.batched_at(a, level) if isinstance(a, _Tensor) else None for a in args]
    own = getattr(cls, "vmap", None)
    if own is not None:
        if cls.generate_vmap_rule:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True "
                "and an overridden vmap staticmethod. Please set generate_vmap_rule=False or "
                "delete the overridden vmap staticmethod to avoid ambiguity."
            )
        dims = tuple(None if v is None else 0 for v in values)
        plain = [a if v is None else v for a, v in zip(args, values, strict=True)]
        result = own(_VmapInfo(level), dims, *plain)
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError(
                "Expected the vmap staticmethod to have two returns, an output and out_dims with "
                "pytree structure compatible with the output. Got a "
                + (f"tuple of {len(result)}" if isinstance(result, tuple) else f"{type(result)}")
                + " instead. For a single output, return (output, 0)."
            )
        return _wrapped(*result, level)
    outer = [a if v is None else v for a, v in zip(args, values, strict=True)]
    result = _Mapped.apply(cls, level, tuple(v is not None for v in values), *outer)
    single = not isinstance(result, tuple)
    outs = (result,) if single else result
    wrapped = tuple(levels.batch(level, o) if isinstance(o, _Tensor) else o for o in outs)
    return wrapped[0] if single else wrapped


def _wrapped(found: Any, dims: Any, level: Level) -> Any:
    if isinstance(found, _Tensor):
        return found if dims is None else levels.batch(level, found.movedim(dims, 0))
    if not isinstance(found, (tuple, list)):
        return found
    if not isinstance(dims, (tuple, list)):
        dims = (dims,) * len(found)
    return type(found)(_wrapped(f, d, level) for f, d in zip(found, dims, strict=True))


class _Mapped(Function):
    """A Function run on all elements at once: forward and backward under the level of the vmap."""

    @staticmethod
    def forward(ctx: Any, cls: Any, level: Level, batched: Any, *args: Any) -> Any:
        inside = [levels.batch(level, a) if b else a for a, b in zip(args, batched, strict=True)]
        context = _Context(ctx.needs_input_grad[3:])
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


class _Context:
    """What a Function's methods get for `ctx` where no node of their own is recorded."""

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs
        self.saved_tensors: tuple[Any, ...] = ()
        self.materialize = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward."""
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for jvp."""
        self.saved_tensors = self.saved_tensors or tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Accepted."""

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Accepted."""

    def set_materialize_grads(self, value: bool) -> None:
        """Whether jvp gets zeros, or None, for inputs without a tangent."""
        self.materialize = value


def _run_forward(cls: Any, context: Any, args: Any) -> Any:
    if cls.setup_context is Function.setup_context:
        return cls.forward(context, *args)
    output = cls.forward(*args)
    cls.setup_context(context, tuple(args), output)
    return output


def _with_tangents(cls: Any, args: tuple[Any, ...], level: Level) -> Any:
    parts = [levels.parts_at(a, level) if isinstance(a, _Tensor) else (a, None) for a in args]
    values = [v for v, _ in parts]
    if cls.jvp is Function.jvp:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )
    output = cls.apply(*values)
    context = _Context(tuple(isinstance(v, _Tensor) and v.requires_grad for v in values))
    before = _core.set_grad_enabled(_core.is_grad_enabled())
    try:
        _run_forward(cls, context, values)
    finally:
        _core.set_grad_enabled(before)
    tangents = [
        _T["zeros_like"](v) if t is None and isinstance(v, _Tensor) and context.materialize else t
        for v, t in parts
    ]
    found = cls.jvp(context, *tangents)
    single = not isinstance(output, tuple)
    outs = (output,) if single else output
    ts = found if isinstance(found, tuple) else (found,)
    joined = tuple(
        levels.with_tangent(o, t, level) if isinstance(o, _Tensor) else o
        for o, t in zip(outs, ts, strict=True)
    )
    return joined[0] if single else joined


_function.watched_apply = apply_watched
