"""A captured call that gives back tensors with a graph: a node whose backward is replayed, too.

The program has two parts: the forward, and the backward of the same graph. Second derivatives, and
gradients of other outputs than those of the captured run, come from the call made once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import _core
from .._base.pytree import tree_flatten
from .._core import Tensor
from ..autograd import grad
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, no_grad
from ..ops.making.creation import empty_like, empty_strided
from ..random import get_rng_state, set_rng_state
from .calls import is_pythons, observe, title_of
from .state import State

__all__ = ["Again", "Graph", "called"]


class Graph:
    """The second part of a captured run: what it reads, and whose gradients it gives."""

    def __init__(self, outputs: list[Tensor], state: State, writes: list[Tensor]) -> None:
        self.writes = writes
        self.shown = [t.requires_grad for t in outputs]
        self.layouts = [(t.shape, t.stride(), t.dtype) for t in outputs if t.requires_grad]
        # Whose gradients: numbers of arguments, and tensors that guards hold.
        self.leaves: list[Any] = [i for i, t in enumerate(state.inputs) if t.requires_grad]
        self.leaves += [t for t in state.tensors if t.requires_grad and t.is_leaf]
        self.inputs = state.inputs
        self.program: Any = None

    def of(self, inputs: list[Tensor]) -> list[Tensor]:
        """The leaves of a call."""
        return [inputs[x] if isinstance(x, int) else x for x in self.leaves]

    def record(self, outputs: list[Tensor]) -> tuple[list[Tensor], str | None]:
        """Walk the graph of the outputs, as part of the captured run: the gradients that it gives,
        and why the run cannot be replayed."""
        ends, leaves = [t for t in outputs if t.requires_grad], self.of(self.inputs)
        with no_grad():
            incoming = [empty_like(t) for t in ends]
        _core.capture_second(tuple(outputs), tuple(incoming))
        ran = observe(lambda: grad(ends, leaves, incoming, allow_unused=True), (), {})
        self.given = [g is not None for g in ran.result]
        hooks = any(not is_pythons(code) for code, _ in ran.scopes.values())
        why = ran.trouble or ("has hooks of the program in its backward" if hooks else None)
        return [g for g in ran.result if g is not None], why

    def take(self, program: Any) -> None:
        """Take the program over, whose second part this is."""
        self.program = program
        self.reads_inputs, self.reads_outputs, self.reads, self.draws = program.parts()
        self.inputs = []


class Again:
    """A call that can be made once more, with history."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        inputs: list[Tensor],
        *,
        guards: Any,
        draws: bool,
    ) -> None:
        self.guards = guards
        self.function, self.args, self.kwargs, self.inputs = function, args, kwargs, inputs
        self.random = get_rng_state() if draws else None
        self.start: list[tuple[Tensor, Tensor, int]] = []
        self.compare: Callable[..., None] | None = None  # of replayed gradients (check.py)

    def keep(self, writes: Iterable[Tensor]) -> None:
        """Keep what the call is about to write."""
        self.start = _values(writes)

    def gradients(self, graph: Graph, leaves: list[Tensor], incoming: list[Any]) -> list[Any]:
        """The gradients by an eager call, which leaves what it writes as it was."""
        create = _core.is_grad_enabled()
        now = get_rng_state() if self.random is not None else None
        kept = _values(graph.writes)
        try:
            _put_back(self.start)
            if self.random is not None:
                set_rng_state(self.random)
            with enable_grad():
                if self.guards.match_again(self.args, self.kwargs) is None:
                    raise RuntimeError(
                        "torch.compile: second derivatives need the call of "
                        f"{title_of(self.function)} made once more, "
                        "and an argument, a setting or an attribute that it reads changed since. "
                        "Differentiate before that is changed, or call it without torch.compile"
                    )
                made = tree_flatten(self.function(*self.args, **self.kwargs))[0]
        finally:
            if now is not None:
                set_rng_state(now)
            _put_back(kept)
        outputs = list({id(o): o for o in made if isinstance(o, Tensor)}.values())
        ends = [o for o, shown in zip(outputs, graph.shown, strict=True) if shown]
        pairs = [(o, g) for o, g in zip(ends, incoming, strict=True) if g is not None]
        if not pairs:
            return [None] * len(leaves)
        ends, incoming = [o for o, _ in pairs], [g for _, g in pairs]
        return list(grad(ends, leaves, incoming, allow_unused=True, create_graph=create))


def _values(tensors: Iterable[Tensor]) -> list[tuple[Tensor, Tensor, int]]:
    return [(t, t.detach().clone(), _core.version_of(t)) for t in tensors]


def _put_back(values: list[tuple[Tensor, Tensor, int]]) -> None:
    for t, value, version in values:
        _core.copy_values(t, value)
        _core.set_version(t, version)


class _Call(Function):
    @staticmethod
    def forward(ctx: Any, graph: Graph, again: Again, made: Any, *leaves: Tensor) -> Any:
        outputs, saved = made
        ctx.graph, ctx.again, ctx.leaves, ctx.replays = graph, again, leaves, saved is not None
        ctx.set_materialize_grads(False)
        if ctx.replays:
            inputs = [again.inputs[i] for i in graph.reads_inputs]
            kept = [outputs[i] for i in graph.reads_outputs]
            ctx.save_for_backward(*inputs, *graph.reads, *kept, *saved)
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
            read = dict(zip(graph.reads_inputs, saved, strict=False))
            given = [read.get(i, t) for i, t in enumerate(again.inputs)]
            fitted = map(_fitted, incoming, graph.layouts)
            before = len(graph.reads_inputs) + len(graph.reads) + len(graph.reads_outputs)
            bytes_ = saved[before:]
            made = graph.program.second(*given, *fitted, *bytes_)
        if made is NotImplemented:
            return None, None, None, *again.gradients(graph, ctx.leaves, incoming)
        if again.compare is not None:
            again.compare(incoming, made)
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
    """The outputs of a call, with its node; `made`: they, and what the first part saved or None."""
    return _Call.apply(graph, again, made, *graph.of(again.inputs))
