"""Replays that are compared with eager calls: `RUSHLIGHT_CAPTURE=check`, for tests and for doubt.

Each replay is taken back, and the function is called from the same start. What both leave has to
have the same bits: the results, the arguments, all tensors that guards hold, their gradients, and
the random state. The eager results are given back; of a call with a graph the replay's, whose
backward is compared with that of the eager graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._base.pytree import tree_flatten
from .._core import Tensor
from ..random import get_rng_state, set_rng_state
from .calls import title_of
from .node import Graph, gradients

__all__ = ["Checked"]


class Checked:
    """The part of a captured run that compares its replays with eager calls."""

    guards: Any
    state: Any
    program: Any
    function: Callable[..., Any]
    graph: Graph | None
    result: Callable[[Any], Any]

    def _way(self) -> Callable[[Any, Any], Any]:
        return self._checked

    def _checked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inputs = self.guards.match(args, kwargs)
        if inputs is None:
            return NotImplemented
        names = {t: f"argument {i + 1}" for i, t in enumerate(inputs)} | {
            t: f"`{path}`" for t, path in self.state.tensors.items()
        }
        graph = self.graph
        call = None if graph is None else graph.call(args, kwargs, inputs)
        start = _Start(names)
        replay = self.program.replay if graph is None else self.program.first
        made, raised = _outcome(lambda: replay(*inputs))
        if made is NotImplemented:
            self._compare(start.found(), start.bytes)
            return made
        told = made if graph is None or raised else made[0]
        results = None if raised else tree_flatten(self.result(told))[0]
        after = _told(results, raised), start.found()
        start.put_back()
        eager, error = _outcome(lambda: self.function(*args, **kwargs))
        leaves = None if error else tree_flatten(eager)[0]
        outputs = list({id(x): x for x in leaves or () if isinstance(x, Tensor)}.values())
        if graph is not None and not error:
            shown = [t.requires_grad for t in outputs]
            self._compare(
                {"what requires a gradient": graph.shown}, {"what requires a gradient": shown}
            )
            leaves = [x.detach() if isinstance(x, Tensor) else x for x in leaves or ()]
        self._compare(after[0], _told(leaves, error))
        self._compare(after[1], start.found())
        if error:
            raise error
        if graph is None or call is None:
            return eager
        compare = self._backward(graph, graph.of(inputs), outputs)
        return self.result(self.program.node((*call[:-1], compare), *made))

    def _backward(
        self, graph: Graph, leaves: list[Tensor], outputs: list[Tensor]
    ) -> Callable[..., None]:
        def compare(incoming: list[Any], made: Any) -> None:
            expected = gradients(outputs, leaves, incoming, retain_graph=True)
            given = [g for g in expected if g is not None]
            self._compare(_told(list(made), None), _told(given, None))

        return compare

    def _compare(self, replayed: dict[str, Any], eager: dict[str, Any]) -> None:
        for name in [*eager, *replayed]:
            if replayed.get(name) != eager.get(name):
                steps = self.program.describe()[0]
                head = ", ".join(step for step, *_ in steps[:8])
                title = title_of(self.function)
                raise RuntimeError(
                    f"torch.compile: a replay of {title} differs from an eager call in {name}: "
                    f"{_short(replayed.get(name))} and {_short(eager.get(name))}. Its "
                    f"{len(steps)} steps begin: {head}. Call it without torch.compile, and "
                    "report this with the function"
                )


class _Start:
    """All that a call can write: bytes of tensors and of their gradients, and the random state."""

    def __init__(self, names: dict[Tensor, str]) -> None:
        self.names, self.random = names, get_rng_state()
        self.grads = [(t, t._grad) for t in names]
        kept = [*names, *(g for _, g in self.grads if g is not None)]
        self.kept = [(t, _core.version_of(t), _storage(t), _storage(t).clone()) for t in kept]
        self.bytes = self.found()

    def found(self) -> dict[str, Any]:
        """All of it, as it is now."""
        found: dict[str, Any] = {}
        for t, name in self.names.items():
            found[name] = _bits(t)
            found[f"the gradient of {name}"] = None if t._grad is None else _bits(t._grad)
            found[f"how often {name} was written"] = _core.version_of(t)
        found["the random state"] = get_rng_state().tolist()
        return found

    def put_back(self) -> None:
        """Leave all as it was."""
        for t, before in self.grads:
            t._grad = before
        for t, version, storage, values in self.kept:
            storage.copy_(values)
            _core.set_version(t, version)
        set_rng_state(self.random)


def _outcome(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return function(), None
    except Exception as error:
        return None, error


def _told(results: list[Any] | None, error: Exception | None) -> dict[str, Any]:
    """Results, or an exception, in words and bits."""
    if results is None:
        return {"its exception": f"{type(error).__name__}: {error}"}
    return {
        f"result {i + 1}": _bits(x) if isinstance(x, Tensor) else (type(x), repr(x))
        for i, x in enumerate(results)
    }


def _storage(t: Tensor) -> Any:
    return _core.storage_of(t)


def _bits(t: Tensor) -> tuple[Any, ...]:
    plain = t.detach().resolve_conj().resolve_neg().contiguous()
    at, n = plain.storage_offset() * plain.element_size(), plain.numel() * plain.element_size()
    layout = t.dtype, tuple(t.shape), t.stride(), t.requires_grad
    return (*layout, bytes(_storage(plain))[at : at + n] if n else b"")


def _short(bits: Any) -> str:
    if not isinstance(bits, tuple) or len(bits) != 5:
        return str(bits)[:100]
    return f"{bits[0]} {bits[1]} 0x{bits[4][:16].hex()}"
