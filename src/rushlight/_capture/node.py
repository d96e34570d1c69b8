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

__all__ = ["Again", "Graph", "Start", "called"]


class Graph:
    """The second part of a captured run: what it reads, and whose gradients it gives."""

    def __init__(self, outputs: list[Tensor], state: State, writes: list[Tensor]) -> None:
        self.writes, self.guards = writes, state.guards
        written = {id(t) for t in writes}
        self.kept = tuple(t for t in state.tensors if id(t) not in written)
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
        if any(t._hooks is not None for t in leaves):
            return [], "gives back a graph whose leaves have hooks"
        with no_grad():
            incoming = [empty_like(t) for t in ends]
        _core.capture_second(tuple(outputs), tuple(incoming))
        try:
            ran = observe(lambda: grad(ends, leaves, incoming, allow_unused=True), (), {})
        except Exception as error:
            return [], f"raises {type(error).__name__} in its backward"
        self.given = [g is not None for g in ran.result]
        hooks = any(not is_pythons(code) for code, _ in ran.scopes.values())
        why = ran.trouble or ("has hooks of the program in its backward" if hooks else None)
        return [g for g in ran.result if g is not None], why

    def take(self, program: Any) -> None:
        """Take the program over, whose second part this is."""
        self.program = program
        self.reads_inputs, self.reads_outputs, self.reads, self.draws = program.parts()
        self.inputs = []


class Start:
    """Tensors and the random state, to be put back as they are now."""

    def __init__(self, tensors: Iterable[Tensor], *, draws: bool) -> None:
        self.random = get_rng_state() if draws else None
        self.values = [(t, t.detach().clone(), _core.version_of(t)) for t in tensors]

    def put_back(self, tensors: Iterable[Tensor] | None = None) -> None:
        """All, or of the tensors these alone."""
        wanted = None if tensors is None else {id(t) for t in tensors}
        if self.random is not None:
            set_rng_state(self.random)
        for t, values, version in self.values:
            if wanted is None or id(t) in wanted:
                _core.copy_values(t, values)
                _core.set_version(t, version)


class Again:
    """A call that can be made once more, with history."""

    def __init__(
        self,
        graph: Graph,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        inputs: list[Tensor],
    ) -> None:
        self.graph, self.function, self.inputs = graph, function, inputs
        self.args, self.kwargs = args, kwargs
        self.start = Start(graph.writes, draws=graph.draws)
        self.places = _core.places((*graph.kept, *inputs))
        self.compare: Callable[..., None] | None = None  # of replayed gradients (check.py)

    def gradients(self, leaves: list[Tensor], incoming: list[Any]) -> list[Any]:
        """The gradients by an eager call, which leaves what it writes as it was."""
        graph, create = self.graph, _core.is_grad_enabled()
        with enable_grad():
            same = graph.guards.match_again(self.args, self.kwargs) is not None
            same = same and self.places == _core.places((*graph.kept, *self.inputs))
            if not same:
                raise RuntimeError(
                    "torch.compile: second derivatives, and gradients of some results alone, need "
                    f"the call of {title_of(self.function)} made once more, and something that it "
                    "reads has changed since. Differentiate before that is changed, or call it "
                    "without torch.compile"
                )
            now = Start(graph.writes, draws=graph.draws)
            self.start.put_back()
            try:
                made = tree_flatten(self.function(*self.args, **self.kwargs))[0]
            finally:
                now.put_back()
        outputs = list({id(o): o for o in made if isinstance(o, Tensor)}.values())
        ends = [o for o, shown in zip(outputs, graph.shown, strict=True) if shown]
        pairs = [(o, g) for o, g in zip(ends, incoming, strict=True) if g is not None]
        if not pairs:
            return [None] * len(leaves)
        ends, incoming = [o for o, _ in pairs], [g for _, g in pairs]
        return list(grad(ends, leaves, incoming, allow_unused=True, create_graph=create))


class _Call(Function):
    @staticmethod
    def forward(ctx: Any, again: Again, made: Any, *leaves: Tensor) -> Any:
        graph, (outputs, saved) = again.graph, made
        ctx.again, ctx.leaves = again, leaves
        ctx.set_materialize_grads(False)
        inputs = [again.inputs[i] for i in graph.reads_inputs]
        kept = [outputs[i] for i in graph.reads_outputs]
        ctx.save_for_backward(*inputs, *graph.reads, *kept, *saved)
        ctx.mark_non_differentiable(
            *(t for t, shown in zip(outputs, graph.shown, strict=True) if not shown)
        )
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        again, saved = ctx.again, ctx.saved_tensors
        graph = again.graph
        incoming = [g for g, shown in zip(grads, graph.shown, strict=True) if shown]
        made: Any = NotImplemented
        if not _core.is_grad_enabled() and None not in incoming:
            read = dict(zip(graph.reads_inputs, saved, strict=False))
            given = [read.get(i, t) for i, t in enumerate(again.inputs)]
            fitted = map(_fitted, incoming, graph.layouts)
            before = len(graph.reads_inputs) + len(graph.reads) + len(graph.reads_outputs)
            made = graph.program.second(*given, *fitted, *saved[before:])
        if made is NotImplemented:
            return None, None, *again.gradients(ctx.leaves, incoming)
        if again.compare is not None:
            again.compare(incoming, made)
        of = iter(made)
        return None, None, *[next(of) if given else None for given in graph.given]


def _fitted(g: Any, layout: Any) -> Tensor:
    """A gradient in the layout that the captured one had."""
    shape, stride, dtype = layout
    if g.stride() == stride and g.dtype is dtype:
        return g.detach()
    made = empty_strided(shape, stride, dtype=dtype)
    _core.copy_values(made, g)
    return made


def called(again: Again, made: Any) -> tuple[Tensor, ...]:
    """The outputs of a call, with its node; `made`: (outputs, what the first part saved)."""
    return _Call.apply(again, made, *again.graph.of(again.inputs))
