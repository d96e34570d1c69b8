"""Modules as functions: calls with other parameters,
and the parameters of several modules stacked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._core import Tensor
from ..ops.layout.joining import stack

__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: object,
    args: object = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Tensor:
    """Call a module with other tensors in the place of the parameters and buffers of these names.

    parameter_and_buffer_dicts: a dictionary, or several that have no name in common. tie_weights: a
    tensor that the module has under several names is replaced under all of them. strict: every name
    must be given, and no other; otherwise names that the module does not have are ignored.

    >>> layer = nn.Linear(2, 1)
    >>> weights = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([10.0])}
    >>> torch.func.functional_call(layer, weights, torch.tensor([3.0, 4.0]))
    tensor([21.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, (list, tuple)):
        for d in parameter_and_buffer_dicts:
            if not isinstance(d, dict):
                raise ValueError(
                    "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
                )
        names = [n for d in parameter_and_buffer_dicts for n in d]
        repeated = [n for n in dict.fromkeys(names) if names.count(n) > 1]
        if repeated:
            raise ValueError(
                f"{repeated} appeared in multiple dictionaries; behavior of functional "
                "call is ambiguous"
            )
        given = {n: v for d in parameter_and_buffer_dicts for n, v in d.items()}
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _places(module: Any) -> dict[str, tuple[dict[str, object], str]]:
    """Where each parameter and buffer is kept: (the dictionary, its key there)."""
    found = {}
    for prefix, m in module.named_modules(remove_duplicate=False):
        for table in (m._parameters, m._buffers):
            for key in table:
                found[f"{prefix}.{key}" if prefix else key] = (table, key)
    return found


@contextmanager
def _replaced(module: object, given: dict[str, Any], tie: bool, strict: bool) -> Iterator[None]:
    places = _places(module)
    unexpected = [n for n in given if n not in places]
    if strict:
        missing = [n for n in places if n not in given]
        if missing or unexpected:
            parts = []
            if unexpected:
                parts.append(f"Unexpected key(s): {', '.join(map(repr, unexpected))}.")
            if missing:
                parts.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
            raise RuntimeError(
                "Error(s) in reparametrizing for "
                + type(module).__name__
                + ":\n\t"
                + "\n\t".join(parts)
            )
    new = {n: v for n, v in given.items() if n in places}
    if tie:
        new = _tied(places, new)
    before = {n: places[n][0][places[n][1]] for n in new}
    try:
        for n, v in new.items():
            table, key = places[n]
            table[key] = v
        yield
    finally:
        for n, v in before.items():
            table, key = places[n]
            if n in given:
                given_now = table[key]
                if given_now is not new[n] and isinstance(parent := given, dict):
                    parent[n] = given_now
            table[key] = v


def _tied(places: dict[str, Any], new: dict[str, object]) -> dict[str, object]:
    groups: dict[int, list[str]] = {}
    for n, (table, key) in places.items():
        if isinstance(table[key], Tensor):
            groups.setdefault(id(table[key]), []).append(n)
    result = dict(new)
    for names in groups.values():
        values = [new[n] for n in names if n in new]
        if not values or len(names) == 1:
            continue
        if any(v is not values[0] for v in values):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                "Consider using tie_weights=False"
            )
        for n in names:
            result[n] = values[0]
    return result


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of several modules of one class, each stacked along a new dimension 0.

    With `vmap` and `functional_call` the modules are then one: an ensemble.

    >>> layers = [nn.Linear(2, 1) for _ in range(3)]
    >>> params, buffers = torch.func.stack_module_state(layers)
    >>> params["weight"].shape, buffers
    (torch.Size([3, 1, 2]), {})
    >>> def one(params, x):
    ...     return torch.func.functional_call(layers[0], params, x)
    >>> torch.func.vmap(one, in_dims=(0, None))(params, torch.ones(5, 2)).shape
    torch.Size([3, 5, 1])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = {
        name: _stacked([dict(m.named_parameters())[name] for m in models], name)
        for name, _ in models[0].named_parameters()
    }
    buffers = {
        name: _stacked([dict(m.named_buffers())[name] for m in models], name)
        for name, _ in models[0].named_buffers()
    }
    return parameters, buffers


def _stacked(tensors: list[Any], name: str) -> object:
    wanted = tensors[0].requires_grad
    if any(t.requires_grad != wanted for t in tensors):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    if not wanted:
        return stack(tensors)
    return stack([t.detach() for t in tensors]).requires_grad_()
