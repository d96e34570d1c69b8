"""State dicts of models and optimizers by the parameters' names.

Those of modules that `fully_shard` divided have DTensors. With `full_state_dict` they are made
whole one after the other; with `broadcast_from_rank0` the values of rank 0 are loaded, of which
each process keeps its part before the next tensor comes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from ... import _root as rl
from ... import nn
from ..._base.missing import missing_name as _missing_name
from ..._base.pytree import tree_map_only
from ..._core import Tensor
from .. import _groups
from .._collectives import broadcast
from .._objects import broadcast_object_list
from ..tensor._dtensor import Divided, DTensor, part_of

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
    """How state dicts are given and taken.

    full_state_dict, cpu_offload, ignore_frozen_params, broadcast_from_rank0 and strict count.
    """

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


def _given(state: object, options: StateDictOptions | None) -> Any:
    """A state dict as it was asked for; whole ones on the CPU are rank 0's alone."""
    if options is None:
        return state
    full, keep = options.full_state_dict, True
    if full and options.cpu_offload and _groups.is_initialized():
        keep = _groups.get_rank() == 0

    def given(tensor: Tensor) -> Tensor | None:
        if full and isinstance(tensor, DTensor):
            tensor = tensor.full_tensor()
        if not keep:
            return None
        return tensor.cpu() if options.cpu_offload else tensor

    found = tree_map_only(Tensor, given, state)
    return found if keep else {}


class _Coming:
    """A tensor that rank 0 has and will send."""

    def __init__(self, tensor: Tensor) -> None:
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype


def _sent(state: object, place: Any) -> Any:
    """Rank 0's dict, of dicts, on all processes. place: what is kept of a key's tensor."""
    first = _groups.get_rank() == 0
    told = [tree_map_only(Tensor, _Coming, state) if first else None]
    broadcast_object_list(told, src=0)

    def receive(plan: object, own: Any, keys: tuple[object, ...]) -> object:
        if isinstance(plan, dict):
            return {k: receive(v, own[k] if first else None, (*keys, k)) for k, v in plan.items()}
        if not isinstance(plan, _Coming):
            return plan
        whole = own.detach().contiguous() if first else rl.empty(plan.shape, dtype=plan.dtype)
        broadcast(whole, src=0)
        return place(keys, whole)

    return receive(told[0], state, ())


def _from_rank0(options: StateDictOptions | None) -> bool:
    asked = options is not None and options.broadcast_from_rank0
    return asked and _groups.is_initialized() and _groups.get_world_size() > 1


def _as_divided(like: object, whole: object) -> Any:
    """A whole tensor as the DTensor that it is to be compared with; others as they are."""
    if (
        isinstance(like, DTensor)
        and isinstance(whole, Tensor)
        and not isinstance(whole, DTensor)
        and whole.shape == like.shape
    ):
        part = part_of(whole.detach(), like.device_mesh, like.placements[0])
        return like._like(part.clone(memory_format=rl.contiguous_format))
    return whole


def get_model_state_dict(
    model: nn.Module, *, submodules: object = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """A model's state dict."""
    plain = _plain(model)
    state: dict[str, Any] = plain.state_dict()
    if options is not None and options.ignore_frozen_params:
        frozen = {n for n, p in plain.named_parameters() if not p.requires_grad}
        state = {k: v for k, v in state.items() if k not in frozen}
    return _given(dict(state), options)


def _parameters(model: nn.Module) -> dict[str, Any]:
    """The parameters by name; of divided modules, the divided ones."""
    plain = _plain(model)
    for module in plain.modules():
        if isinstance(module, Divided):
            module.reshard()
    return dict(plain.named_parameters())


def _names(model: nn.Module) -> dict[int, str]:
    return {id(p): name for name, p in _parameters(model).items()}


def _listed(optimizers: object) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def get_optimizer_state_dict(
    model: nn.Module,
    optimizers: object,
    *,
    submodules: object = None,
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
    parameters = _parameters(model)
    names = {id(p): name for name, p in parameters.items()}
    own = optimizer.state_dict()
    state, groups = {}, []
    found = {tuple(g["params"]): g for g in state_dict["param_groups"]}
    for group, numbers in zip(optimizer.param_groups, own["param_groups"], strict=True):
        known = [names[id(p)] for p in group["params"]]
        groups.append({**found.get(tuple(known), numbers), "params": numbers["params"]})
        for name, number in zip(known, numbers["params"], strict=True):
            if name in state_dict["state"]:
                state[number] = {
                    key: _as_divided(parameters[name], value)
                    for key, value in state_dict["state"][name].items()
                }
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: nn.Module,
    optimizers: object,
    *,
    submodules: object = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dicts of a model and of its optimizers."""
    return (
        get_model_state_dict(model, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


def set_model_state_dict(
    model: nn.Module,
    model_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> Any:
    """Load a model's state dict."""
    strict = options.strict if options is not None else True
    if _from_rank0(options):
        own = _plain(model).state_dict()
        model_state_dict = _sent(
            model_state_dict, lambda keys, whole: _as_divided(own.get(keys[0]), whole)
        )
    return _plain(model).load_state_dict(model_state_dict, strict=strict)


def set_optimizer_state_dict(
    model: nn.Module,
    optimizers: object,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load optimizers' state dicts, given by names."""
    if _from_rank0(options):
        parameters = _parameters(model)
        optim_state_dict = _sent(
            optim_state_dict,
            lambda keys, whole: _as_divided(parameters.get(keys[1]), whole),
        )
    for optimizer in _listed(optimizers):
        optimizer.load_state_dict(by_number(model, optimizer, optim_state_dict))


def set_state_dict(
    model: nn.Module,
    optimizers: object,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Load the state dicts of a model and of its optimizers."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


__getattr__ = _missing_name(__name__)
