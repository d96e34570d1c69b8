"""Custom Functions whose inputs are wrapped: their `jvp` and `vmap`,
or what follows from forward and backward."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from .. import _core
from .._base.pytree import broadcast_to_and_flatten, tree_flatten, tree_unflatten
from .._core import Tensor
from .._levels.batch import BatchLevel
from .._levels.dual import DualLevel, let_have_tangent
from .._levels.running import below, only
from .._levels.structure import at_level, batched_at, parts_at, with_tangent
from ..ops.making.creation import zeros_like
from .function import Function, FunctionCtx, FunctionMeta

__all__ = ["mapped", "with_tangents"]


class VmapInfo(NamedTuple):
    """The argument `info` of a Function's `vmap`: the size of the batch, the kind of randomness."""

    batch_size: int
    randomness: str


def mapped(cls: Any, args: tuple[Tensor, ...], level: BatchLevel) -> Any:
    if cls.vmap is not Function.vmap:
        return _by_its_own_rule(cls, args, level)
    values = [batched_at(a, level) if isinstance(a, Tensor) else None for a in args]
    plain = [a if v is None else v for a, v in zip(args, values, strict=True)]
    result = _mapped_class(cls).apply(cls, level, tuple(v is not None for v in values), *plain)
    single = not isinstance(result, tuple)
    outs = (result,) if single else result
    wrapped = tuple(level.wrap(o) if isinstance(o, Tensor) else o for o in outs)
    return wrapped[0] if single else wrapped


def _by_its_own_rule(cls: Any, args: tuple[Tensor, ...], level: BatchLevel) -> Tensor:
    """The Function's `vmap`, told where the batch of each argument is."""
    leaves, spec = tree_flatten(args)
    dims: list[int | None] = []
    for i, a in enumerate(leaves):
        value = batched_at(a, level) if isinstance(a, Tensor) else None
        dims.append(None if value is None else 0)
        if value is None:
            continue
        leaves[i] = value
        w = a._wrapped
        if w.level is level and w.shown_at:  # where the program had it
            dims[i], leaves[i] = w.shown_at, value.movedim(0, w.shown_at)
    with only(below(level)):
        found = cls.vmap(
            VmapInfo(level.size, level.randomness),
            tree_unflatten(dims, spec),
            *tree_unflatten(leaves, spec),
        )
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with "
            "pytree structure compatible with the output. Got a "
            + (f"tuple of {len(found)}" if isinstance(found, tuple) else f"{type(found)}")
            + " instead. For a single output, return (output, 0)."
        )
    return _wrapped(*found, level)


def _wrapped(found: Tensor, dims: int, level: BatchLevel) -> Tensor:
    leaves, spec = tree_flatten(found)
    where = broadcast_to_and_flatten(dims, spec)
    if where is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) "
            f"tuple. Expected out_dims={dims} to be compatible with the structure of `output`. "
            f"out_dims has structure {tree_flatten(dims)[1]} but output has structure {spec}."
        )
    wrapped = [
        x if d is None or not isinstance(x, Tensor) else level.wrap(x.movedim(d, 0))
        for x, d in zip(leaves, where, strict=True)
    ]
    return tree_unflatten(wrapped, spec)


class _Mapped(Function):
    """A Function run on all elements at once: forward and backward under the level of the vmap."""

    _for_transforms = True

    @staticmethod
    def forward(
        ctx: Any, cls: type, level: BatchLevel, batched: tuple[bool, ...], *args: Any
    ) -> Any:
        inside = [level.wrap(a) if b else a for a, b in zip(args, batched, strict=True)]
        context = _Context(ctx.needs_input_grad[3:])
        with only([*below(level), level]):
            output = _run_forward(cls, context, inside)
        ctx.call = (cls, level, batched, context, tuple(getattr(a, "shape", None) for a in inside))
        single = not isinstance(output, tuple)
        outs = (output,) if single else output
        values = tuple(_ensure_batched(o, level) if isinstance(o, Tensor) else o for o in outs)
        return values[0] if single else values

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        cls, level, batched, context, shapes = ctx.call
        active, level.active = level.active, True
        try:
            given = [None if g is None else level.wrap(g) for g in grads]
            with only([*below(level), level]):
                found = _backward_of(cls)(context, *given)
            found = found if isinstance(found, tuple) else (found,)
            results: list[object] = []
            for g, b, shape in zip(found, batched, shapes, strict=False):
                if g is None or shape is None:
                    results.append(None)
                elif b:
                    results.append(_ensure_batched(g, level))
                else:
                    value = batched_at(g, level)
                    results.append(g if value is None else value.sum(0))
        finally:
            level.active = active
        return (None, None, None, *results)

    @staticmethod
    def jvp(ctx: Any, *tangents: object) -> object:
        cls, level, batched, context, _ = ctx.call
        given = [
            level.wrap(t) if b and t is not None else t
            for t, b in zip(tangents[3:], batched, strict=True)
        ]
        context._in_jvp = True
        try:
            with only([*below(level), level]):
                found = cls.jvp(context, *given)
        finally:
            context._in_jvp = False
        outs = found if isinstance(found, tuple) else (found,)
        values = tuple(_ensure_batched(t, level) if isinstance(t, Tensor) else t for t in outs)
        return values if isinstance(found, tuple) else values[0]


@functools.cache
def _mapped_class(cls: type) -> Any:
    """`_Mapped`, with nodes of a name that says whose they are."""
    return FunctionMeta(f"{cls.__name__}Generated", (_Mapped,), {})


def _backward_of(cls: Any) -> Any:
    return cls.vjp if cls.vjp is not Function.vjp else cls.backward


def _ensure_batched(t: Any, level: Any) -> Any:
    value = batched_at(t, level)
    return t.expand(level.size, *t.shape).clone() if value is None else value


class _Context(FunctionCtx):
    """The `ctx` of a Function's methods where the call records no node."""

    to_save: tuple[Any, ...] = ()
    saved_for_forward: tuple[Any, ...] = ()
    materialize_grads = True
    _in_jvp = False

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that `save_for_backward` or `save_for_forward` kept."""
        return self.saved_for_forward if self._in_jvp else self.to_save


def _run_forward(cls: Any, context: _Context, args: list[Tensor]) -> Tensor:
    if cls.setup_context is Function.setup_context:
        return cls.forward(context, *args)
    output = cls.forward(*args)
    cls.setup_context(context, tuple(args), output)
    return output


def with_tangents(cls: Any, args: tuple[Any, ...], level: DualLevel) -> Any:
    parts = [parts_at(a, level) if isinstance(a, Tensor) else (a, None) for a in args]
    values = tuple(v for v, _ in parts)
    before = _versions(values)
    with only(below(level)):
        context, output = _called(cls, values, level)
    tangents = [
        zeros_like(v)
        if t is None
        and isinstance(v, Tensor)
        and v.dtype.is_differentiable
        and context.materialize_grads
        else t
        for v, t in parts
    ]
    wrote = [now > old for now, old in zip(_versions(values), before, strict=True)]
    before = _versions(tangents)
    context._in_jvp = True
    try:
        with only(below(level)):
            found = cls.jvp(context, *tangents)
    finally:
        context._in_jvp, context.saved_for_forward = False, ()
    single = not isinstance(output, tuple)
    outs = (output,) if single else output
    ts = found if isinstance(found, tuple) else (found,)
    if len(ts) != len(outs):
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{len(outs)} but got {len(ts)})"
        )
    missed = [
        w and now == old for w, now, old in zip(wrote, _versions(tangents), before, strict=True)
    ]
    written = {id(v): it for v, *it in zip(values, args, values, tangents, missed, strict=True)}
    joined = tuple(
        _joined(i, o, t, written, level) for i, (o, t) in enumerate(zip(outs, ts, strict=True))
    )
    return joined[0] if single else joined


def _versions(values: Any) -> list[int]:
    return [v._version if isinstance(v, Tensor) and not v.is_inference() else 0 for v in values]


def _joined(
    i: int, out: Tensor, tangent: Tensor, inputs: dict[int, Any], level: DualLevel
) -> Tensor:
    """Result i with its tangent; an argument that forward has written is itself the result.
    `inputs`: by their values, the arguments, the values, the tangents that jvp was given for them,
    and whether forward wrote where jvp did not."""
    if tangent is not None and not isinstance(tangent, Tensor):
        raise RuntimeError(
            f"expected Variable or None (got {type(tangent).__name__}) for grad output {i}."
        )
    differentiable = isinstance(out, Tensor) and out.dtype.is_differentiable
    if not differentiable and tangent is not None:
        raise RuntimeError(
            f"Function's jvp returned a gradient at position {i}, but  the corresponding forward "
            "output is not a differentiable Tensor.You should return None at that position instead."
        )
    if differentiable and id(out) in inputs:
        argument, _, given, missed = inputs[id(out)]
        if tangent is not given or missed:
            raise RuntimeError(
                "An inplace custom Function is not modifying the forward mode gradients inplace. "
                "If the forward is modifying an input inplace, then the jvp function must modify "
                "the corresponding gradient inplace. Write to the tangent that jvp was given and "
                "return it."
            )
        if at_level(argument, level) is None:
            let_have_tangent(argument, level)
            argument._wrapped.tangent.copy_(tangent)
        return argument
    if tangent is None:
        return out
    if tangent.shape != out.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(out.shape)} while the given "
            f"forward gradient is of size {list(tangent.shape)}."
        )
    if not out._is_view():
        if any(tangent is given for *_, given, _ in inputs.values()):
            tangent = tangent.clone()  # each may be written without the other's knowing
    elif tangent._wrapped is None and not tangent._is_view():
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is "
            "not returning a view. Return a view of the tangent, such as t.view_as(t)."
        )
    elif tangent._wrapped is None:
        shown = [t for _, v, t, _ in inputs.values() if _shows(out, v) and isinstance(t, Tensor)]
        if shown and not any(_shows(tangent, t) for t in shown):
            which = "same base as the given" if shown[0]._is_view() else "given"
            raise RuntimeError(
                "A custom Function is returning a view but the jvp is not returning a view of the "
                f"{which} grad input."
            )
    return with_tangent(out, tangent, level)


def _shows(view: Tensor, t: object) -> bool:
    """Whether a view is a view of a tensor, or of the tensor's base."""
    return isinstance(t, Tensor) and view._base is (t._base if t._is_view() else t)


def _called(cls: Any, values: tuple[object, ...], level: DualLevel) -> tuple[Any, Any]:
    """(the context, the results) of one call of forward."""
    if not any(isinstance(v, Tensor) and v._wrapped is not None for v in values):
        node = cls._generated() if not level.by_hand else None
        return cls._run(values, node)
    context = _Context(tuple(isinstance(v, Tensor) and v.requires_grad for v in values))
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
