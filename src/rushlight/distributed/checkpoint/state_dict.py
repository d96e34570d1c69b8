"""State dicts of models and optimizers by the parameters' names."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from ... import nn
from ..._core import Tensor
from ..._missing import missing_name as _missing_name
from ..._pytree import tree_map_only

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclasses.dataclass
class StateDictOptions:
    """How state dicts are given and taken: cpu_offload, ignore_frozen_params and strict count."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _plain(model: Any) -> Any:
    """A model out of what wraps it for several processes."""
    while isinstance(model, nn.parallel.DistributedDataParallel) or (
        "_fsdp_wrapped_module" in getattr(model, "_modules", ())
    ):
        model = model.module
    return model


def _given(state: Any, options: StateDictOptions | None) -> Any:
    if options is not None and options.cpu_offload:
        return tree_map_only(Tensor, lambda t: t.cpu(), state)
    return state


def get_model_state_dict(
    model: nn.Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """A model's state dict."""
    plain = _plain(model)
    state: dict[str, Any] = plain.state_dict()
    if options is not None and options.ignore_frozen_params:
        frozen = {n for n, p in plain.named_parameters() if not p.requires_grad}
        state = {k: v for k, v in state.items() if k not in frozen}
    return _given(dict(state), options)


def _names(model: nn.Module) -> dict[int, str]:
    return {id(p): name for name, p in _plain(model).named_parameters()}


def _listed(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def get_optimizer_state_dict(
    model: nn.Module,
    optimizers: Any,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """Optimizers' state dicts as one, with the parameters' names for their numbers."""
    names = _names(model)
    state: dict[str, Any] = {}
    groups = []
    for optimizer in _listed(optimizers):
        own = optimizer.state_dict()
        numbered: dict[int, str] = {}
        for group, numbers in zip(optimizer.param_groups, own["param_groups"], strict=True):
            known = [names[id(p)] for p in group["params"]]
            numbered.update(zip(numbers["params"], known, strict=True))
            groups.append({**numbers, "params": known})
        state.update({numbered[n]: s for n, s in own["state"].items()})
    return _given({"state": state, "param_groups": groups}, options)


def by_number(model: nn.Module, optimizer: Any, state_dict: dict[str, Any]) -> dict[str, Any]:
    """A state dict by names as `optimizer.load_state_dict` takes it."""
    names = _names(model)
    own = optimizer.state_dict()
    state, groups = {}, []
    found = {tuple(g["params"]): g for g in state_dict["param_groups"]}
    for group, numbers in zip(optimizer.param_groups, own["param_groups"], strict=True):
        known = [names[id(p)] for p in group["params"]]
        groups.append({**found.get(tuple(known), numbers), "params": numbers["params"]})
        for name, number in zip(known, numbers["params"], strict=True):
            if name in state_dict["state"]:
                state[number] = state_dict["state"][name]
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: nn.Module,
    optimizers: Any,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dicts of a model and of its optimizers."""
    return (
        get_model_state_dict(model, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


def set_model_state_dict(
    model: nn.Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load a model's state dict."""
    strict = options.strict if options is not None else True
    return _plain(model).load_state_dict(model_state_dict, strict=strict)


def set_optimizer_state_dict(
    model: nn.Module,
    optimizers: Any,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load optimizers' state dicts, given by names."""
    for optimizer in _listed(optimizers):
        optimizer.load_state_dict(by_number(model, optimizer, optim_state_dict))


def set_state_dict(
    model: nn.Module,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Load the state dicts of a model and of its optimizers."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


__getattr__ = _missing_name(__name__)
