"""A captured call that gives back tensors with a graph: a node whose backward is replayed, too.

The program has two parts: the forward, and the backward of the same graph. Second derivatives, and
gradients of other outputs than those of the captured run, come from the call made once more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._base.pytree import tree_flatten
from .._core import Tensor
from ..autograd.function import Function
from ..autograd.grad import grad
from ..autograd.grad_mode import enable_grad, no_grad
from ..ops.making.creation import empty_like, empty_strided
from ..random import get_rng_state, set_rng_state
from .calls import observe

__all__ = ["Graph", "called", "record"]


def record(outputs: list[Tensor], leaves: list[Tensor]) -> tuple[list[Any], str | None]:
    """Walk the graph of the outputs while a run is captured: the gradients of the leaves, and why
    the run cannot be replayed."""
    ends = [t for t in outputs if t.requires_grad]
    with no_grad():
        incoming = [empty_like(t) for t in ends]
    _core.capture_second(tuple(outputs), tuple(incoming))

    def backward() -> Any:
        return grad(ends, leaves, incoming, allow_unused=True) if leaves else []

    ran = observe(backward, (), {})
    if ran.trouble or ran.scopes:
        return [], ran.trouble or "has hooks of the program in its backward"
    return list(ran.result), None


class Graph:
    """The second part of a captured run: what it reads, and whose gradients it gives.

    `leaves`: numbers of arguments, and tensors that guards hold.
    """

    def __init__(
        self, program: Any, outputs: list[Tensor], leaves: list[int | Tensor], grads: list[Any]
    ) -> None:
        self.program, self.leaves = program, leaves
        self.inputs, self.outputs, self.reads, self.writes, self.draws = program.parts()
        self.shown = [t.requires_grad for t in outputs]
        self.layouts = [(t.shape, t.stride(), t.dtype) for t in outputs if t.requires_grad]
        self.given = [g is not None for g in grads]


class Again:
    """A call that can be made once more, with history."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        inputs: list[Tensor],
        draws: bool,
    ) -> None:
        self.function, self.args, self.kwargs, self.inputs = function, args, kwargs, inputs
        self.random = get_rng_state() if draws else None

    def gradients(self, graph: Graph, leaves: list[Tensor], incoming: list[Any]) -> list[Any]:
        """The gradients by an eager call, which leaves what it writes as it was."""
        create = _core.is_grad_enabled()
        now = get_rng_state() if self.random is not None else None
        kept = [(t, t.detach().clone(), t._version) for t in graph.writes]
        try:
            if self.random is not None:
                set_rng_state(self.random)
            with enable_grad():
                made = tree_flatten(self.function(*self.args, **self.kwargs))[0]
        finally:
            if now is not None:
                set_rng_state(now)
            for t, values, version in kept:
                _core.copy_values(t, values)
                _core.set_version(t, version)
        outputs = list({id(o): o for o in made if isinstance(o, Tensor)}.values())
        ends = [o for o, shown in zip(outputs, graph.shown, strict=True) if shown]
        pairs = [(o, g) for o, g in zip(ends, incoming, strict=True) if g is not None]
        if not pairs:
            return [None] * len(leaves)
        ends, incoming = [o for o, _ in pairs], [g for _, g in pairs]
        return list(grad(ends, leaves, incoming, allow_unused=True, create_graph=create))


class _Call(Function):
    @staticmethod
    def forward(ctx: Any, graph: Graph, again: Again, made: Any, *leaves: Tensor) -> Any:
        outputs, saved = made
        ctx.graph, ctx.again, ctx.leaves, ctx.replays = graph, again, leaves, saved is not None
        ctx.set_materialize_grads(False)
        inputs = [again.inputs[i] for i in graph.inputs]
        kept = [outputs[i] for i in graph.outputs] if ctx.replays else []
        ctx.save_for_backward(*inputs, *graph.reads, *kept, *(saved or ()))
        ctx.mark_non_differentiable(
            *(t for t, shown in zip(outputs, graph.shown, strict=True) if not shown)
        )
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        graph, again, saved = ctx.graph, ctx.again, ctx.saved_tensors
        incoming = [g for g, shown in zip(grads, graph.shown, strict=True) if shown]
        made: Any = NotImplemented
        if ctx.replays and not _core.is_grad_enabled() and None not in incoming:
            read = dict(zip(graph.inputs, saved, strict=False))
            given = [read.get(i, t) for i, t in enumerate(again.inputs)]
            fitted = map(_fitted, incoming, graph.layouts)
            bytes_ = saved[len(graph.inputs) + len(graph.reads) + len(graph.outputs) :]
            made = graph.program.second(*given, *fitted, *bytes_)
        if made is NotImplemented:
            return None, None, None, *again.gradients(graph, ctx.leaves, incoming)
        of = iter(made)
        return None, None, None, *[next(of) if given else None for given in graph.given]


def _fitted(g: Any, layout: Any) -> Tensor:
    """A gradient in the layout that the captured one had."""
    shape, stride, dtype = layout
    if g.stride() == stride and g.dtype is dtype:
        return g.detach()
    made = empty_strided(shape, stride, dtype=dtype)
    _core.copy_values(made, g)
    return made


def called(graph: Graph, again: Again, made: Any) -> tuple[Tensor, ...]:
    """The outputs of a call, with its node; `made`: (outputs, what the first part saved or None)."""
    leaves = [again.inputs[x] if isinstance(x, int) else x for x in graph.leaves]
    return _Call.apply(graph, again, made, *leaves)
