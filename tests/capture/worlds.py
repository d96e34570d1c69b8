"""Two worlds made alike: in one a function is compiled, in the other it is called as it is. After
each call results, arguments, random numbers and state have the same bits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import rushlight as torch

from .programs import bits, different


def state_of(held: Any) -> list[Any]:
    """The tensors of modules, optimizers and tensors, with their gradients."""
    found: list[Any] = []
    for o in held:
        if isinstance(o, torch.nn.Module):
            tensors = [*o.parameters(), *o.buffers()]
        elif isinstance(o, torch.optim.Optimizer):
            tensors = [v for s in o.state.values() for v in s.values()]
        else:
            tensors = [o]
        found += tensors
        found += [t.grad for t in tensors if isinstance(t, torch.Tensor) and t.is_leaf]
    return bits(found)


def same(
    make: Callable[[], tuple[Callable[..., Any], list[Any]]],
    inputs: Callable[[int], tuple[Any, ...]] = lambda number: (),
    *,
    calls: int = 6,
    after: Callable[[int, Any, list[Any]], Any] = lambda number, result, held: None,
    compile: Callable[[Any], Any] = torch.compile,
    replayed: bool | None = True,
) -> Any:
    """Compare the worlds of `make`: a function, and what it may change. `after`: what the program
    does between calls. Gives the compiled function; `replayed`: whether it has to be captured."""
    seen: list[list[Any]] = [[], []]
    compiled = None
    for world in range(2):
        torch.manual_seed(0)
        function, held = make()
        if world:
            function = compiled = compile(function)
        with warnings.catch_warnings():
            warnings.simplefilter("default" if replayed else "ignore")
            for number in range(calls):
                torch.manual_seed(number + 1)
                arguments = inputs(number)
                result = function(*arguments)
                seen[world].append((bits(result), bits(arguments), state_of(held)))
                seen[world].append((bits(after(number, result, held)), state_of(held)))
                seen[world].append(torch.get_rng_state().tolist())
    for number, (eager, other) in enumerate(zip(*seen, strict=True)):
        assert eager == other, f"call {number // 3 + 1}, {different(eager, other)}"
    runs = variants(compiled)
    assert replayed is None or bool(runs) == replayed, explained(compiled)
    return compiled


def variants(compiled: Any) -> list[Any]:
    """The captured runs of a compiled function or module."""
    return getattr(compiled, "_compiled", compiled).variants


def captured(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The function, compiled and captured for these arguments."""
    made = torch.compile(function)
    for _ in range(3):
        made(*args, **kwargs)
    assert variants(made), explained(made)
    return made


def explained(compiled: Any) -> str:
    return str(compiled.explain())
