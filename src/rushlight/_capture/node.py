"""A captured call that gives back tensors with a graph: its node's backward is replayed, too
(native/core/captured_node.cpp).

The program has two parts: the forward, and the backward of the same graph. Second derivatives, and
gradients that arrive in another way than in the captured run, come from the call made once more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _core
from .._base.pytree import tree_flatten
from .._core import Tensor
from ..autograd.grad_mode import enable_grad, no_grad
from ..ops.making.creation import empty_strided
from ..random import get_rng_state, set_rng_state
from .calls import is_pythons, observe, title_of
from .state import State

__all__ = ["Arrivals", "Graph", "Start", "Way", "gradients"]

# How gradients of the results arrive: stride and dtype of each, None where there is none.
Way = tuple[Any, ...]
_ENDS = 2  # a walk ends at its inputs, before their hooks (Backward::AtInputs)


def gradients(
    outputs: list[Tensor],
    leaves: list[Tensor],
    incoming: list[Any],
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> list[Tensor | None]:
    """Gradients by `incoming`, whatever else the graph leads to, without the hooks of leaves."""
    given = [(o, g) for o, g in zip(outputs, incoming, strict=True) if g is not None]
    if not given or not leaves:
        return [None] * len(leaves)
    ends, grads = zip(*given, strict=True)
    retain = retain_graph or create_graph
    return list(_core.run_backward(ends, grads, retain, create_graph, tuple(leaves), _ENDS))


class Graph:
    """The second part of a captured run: what it reads, and whose gradients it gives.

    learn: told of the way in which gradients arrive, where that is another than the captured one's.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        outputs: list[Tensor],
        state: State,
        writes: list[Tensor],
        way: Way | None,
    ) -> None:
        self.function, self.writes, self.guards = function, writes, state.guards
        written = {id(t) for t in writes}
        self.kept = tuple(t for t in state.tensors if id(t) not in written)
        self.shown = [t.requires_grad for t in outputs]
        plain = [_layout(t) if t.requires_grad else None for t in outputs]
        fits = way is not None and len(way) == len(plain) and any(way)
        for w, p in zip(way or (), plain, strict=False):
            fits = fits and (w is None or (p is not None and len(w[0]) == len(p[0])))
        self.way: Way = way if fits and way is not None else tuple(plain)
        # Whose gradients: numbers of arguments, and tensors that guards hold.
        self.leaves: list[Any] = [i for i, t in enumerate(state.inputs) if t.requires_grad]
        self.leaves += [t for t in state.tensors if t.requires_grad]
        self.others = 0  # how often gradients arrived in another way
        self.spent = False  # whether the graph of the captured run is
        self.program: Any = None

    def of(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The leaves of a call."""
        return [inputs[x] if isinstance(x, int) else x for x in self.leaves]

    def record(
        self, outputs: list[Tensor], inputs: list[Tensor]
    ) -> tuple[list[Tensor], str | None]:
        """Walk the graph of the outputs, as part of the captured run: the gradients that it gives,
        and why the run cannot be replayed."""
        with no_grad():
            incoming = [
                None if w is None else empty_strided(t.shape, w[0], dtype=w[1])
                for t, w in zip(outputs, self.way, strict=True)
            ]
        leaves = self.of(inputs)
        _core.capture_second(tuple(outputs), tuple(g for g in incoming if g is not None))
        if not _core.captures():
            return [], None
        self.spent = True
        try:
            ran = observe(lambda: gradients(outputs, leaves, incoming), (), {})
        except Exception as error:
            return [], f"raises {type(error).__name__} in its backward"
        self.given = [g is not None for g in ran.result]
        hooks = any(not is_pythons(code) for code, _ in ran.scopes.values())
        why = ran.trouble or ("has hooks of the program in its backward" if hooks else None)
        return [g for g in ran.result if g is not None], why

    def take(self, program: Any, learn: Callable[[Way], None]) -> None:
        """Take the program over, whose second part this is. `learn`: is called with another way in
        which gradients arrived."""
        self.program, self.learn = program, learn
        ends = [w is not None for w in self.way]
        told = self.leaves, self.given, self.shown, ends, self.kept, bool(self.writes)
        self.starts = program.take(self, *told)

    def start(self) -> Start | None:
        """All that a call writes and draws from, as it is now."""
        return Start(self.writes, draws=True) if self.starts else None

    def call(self, args: Any, kwargs: Any, inputs: Any, compare: Any = None) -> tuple[Any, ...]:
        """A call as its node keeps it, about to be made."""
        places = self.program.places(inputs)
        return self.program, args, kwargs, inputs, self.start(), places, compare

    def gradients(self, call: tuple[Any, ...], incoming: list[Any], relaid: bool) -> Any:
        """The gradients by an eager call, whose writes are undone. `relaid`: they
        arrive in other layouts than the captured ones, and NotImplemented may be given."""
        _, args, kwargs, inputs, start, places, _ = call
        create = _core.is_grad_enabled()
        with enable_grad():
            same = self.guards.match_again(args, kwargs) is not None
            if not same or places != self.program.places(inputs):
                if relaid:
                    return NotImplemented
                raise RuntimeError(
                    "torch.compile: second derivatives, and gradients of other results than "
                    f"before, need the call of {title_of(self.function)} made once more, and "
                    "something that it reads has changed since. Differentiate before that is "
                    "changed, or call it without torch.compile"
                )
            now = self.start()
            if start is not None:
                start.put_back()
            try:
                made = tree_flatten(self.function(*args, **kwargs))[0]
            finally:
                if now is not None:
                    now.put_back()
        outputs = list({id(o): o for o in made if isinstance(o, Tensor)}.values())
        if not create:
            self.others += 1
            self.learn(tuple(None if g is None else _layout(g) for g in incoming))
        return tuple(gradients(outputs, self.of(inputs), incoming, create_graph=create))


class Arrivals:
    """How gradients of results arrive, which hooks on these note."""

    def __init__(self, results: Iterable[object]) -> None:
        self._seen: dict[int, Any] = {}
        outputs = list({id(t): t for t in results if isinstance(t, Tensor)}.values())
        self._count = len(outputs)
        for i, t in enumerate(outputs):
            if t.requires_grad and t.grad_fn is not None:
                t.register_hook(functools.partial(self._note, i))

    def _note(self, number: int, g: Tensor) -> None:
        self._seen[number] = _layout(g)

    def way(self) -> Way:
        """As far as is known."""
        return tuple(self._seen.get(i) for i in range(self._count))


def _layout(t: Tensor) -> tuple[Any, Any]:
    return t.stride(), t.dtype


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
