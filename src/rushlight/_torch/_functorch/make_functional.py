"""Modules as functions of their parameters, as functorch had them before `torch.func`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ... import _root as rl
from ..._core import Tensor
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...nn.utils._named_member_accessor import NamedMemberAccessor

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "extract_buffers",
    "extract_weights",
    "functional_init",
    "functional_init_with_buffers",
    "load_buffers",
    "load_state",
    "load_weights",
    "make_functional",
    "make_functional_deprecated_v1",
    "make_functional_with_buffers",
    "make_functional_with_buffers_deprecated_v1",
    "transpose_stack",
]

_Tensors = tuple[Tensor, ...]
_Names = dict[str, list[str]]  # all names of a tensor, by the first name


def _extracted(
    model: Module, members: Callable[..., Any], stand_in: Callable[[Tensor], Tensor]
) -> tuple[_Tensors, tuple[str, ...], _Names]:
    """The tensors of a module with their names; in their places it has none with values."""
    accessor = NamedMemberAccessor(model)
    first: dict[Tensor, str] = {}
    names: _Names = {}
    for name, tensor in members(remove_duplicate=False):
        names.setdefault(first.setdefault(tensor, name), []).append(name)
    for tensor, name in first.items():
        empty = stand_in(rl.empty_like(tensor, device="meta"))
        for each in names[name]:
            accessor.set_tensor(each, empty)
    return tuple(first), tuple(names), names


def extract_weights(mod: Module) -> tuple[_Tensors, tuple[str, ...], _Names]:
    """Takes the parameters out of a module: they, their names, all names of each."""
    return _extracted(mod, mod.named_parameters, Parameter)


def extract_buffers(mod: Module) -> tuple[_Tensors, tuple[str, ...], _Names]:
    """Takes the buffers out of a module."""
    return _extracted(mod, mod.named_buffers, lambda tensor: tensor)


def load_weights(
    mod: Module, names: Sequence[str], params: Sequence[Tensor], as_params: bool = False
) -> None:
    """Puts tensors into a module, which are parameters only where that is told."""
    given = [Parameter(p) for p in params] if as_params else params
    NamedMemberAccessor(mod).set_tensors(names, given)


def load_buffers(
    mod: Module, names: Sequence[str], buffers: Sequence[Tensor], as_params: bool = False
) -> None:
    """Puts tensors into a module."""
    NamedMemberAccessor(mod).set_tensors(names, buffers)


def load_state(
    model: Module,
    weights: Sequence[Tensor],
    weight_names: Sequence[str],
    buffers: Sequence[Tensor] = (),
    buffer_names: Sequence[str] = (),
) -> Module:
    """The module with these weights and buffers."""
    load_weights(model, weight_names, weights)
    load_buffers(model, buffer_names, buffers)
    return model


def _swapped(model: Module, names: _Names, tensors: Iterable[Tensor]) -> list[Tensor]:
    """Puts tensors into the model; gives the tensors that were in these places."""
    accessor = NamedMemberAccessor(model)
    before = []
    for each, tensor in zip(names.values(), tensors, strict=False):
        before.append(accessor.swap_tensor(each[0], tensor))
        for name in each[1:]:
            accessor.set_tensor(name, tensor)
    return before


def _called(model: Module, names: _Names, tensors: Iterable[Tensor], args: Any, kwargs: Any) -> Any:
    before = _swapped(model, names, tensors)
    try:
        return model(*args, **kwargs)
    finally:
        _swapped(model, names, before)


class FunctionalModuleWithBuffers(Module):
    """The result of `make_functional_with_buffers`: called with parameters, buffers, arguments."""

    def __init__(
        self,
        stateless_model: Module,
        param_names: tuple[str, ...],
        buffer_names: tuple[str, ...],
        param_names_map: _Names,
        buffer_names_map: _Names,
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names
        self.all_names_map = {**param_names_map, **buffer_names_map}

    @staticmethod
    def _create_from(
        model: Module, disable_autograd_tracking: bool = False
    ) -> tuple[FunctionalModuleWithBuffers, _Tensors, _Tensors]:
        model = copy.deepcopy(model)
        params, param_names, params_map = extract_weights(model)
        buffers, buffer_names, buffers_map = extract_buffers(model)
        if disable_autograd_tracking:
            for param in params:
                param.requires_grad_(False)
        made = FunctionalModuleWithBuffers(
            model, param_names, buffer_names, params_map, buffers_map
        )
        return made, params, buffers

    def forward(
        self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        given = (*params, *buffers)
        return _called(self.stateless_model, self.all_names_map, given, args, kwargs)


class FunctionalModule(Module):
    """The result of `make_functional`: called with parameters and arguments."""

    def __init__(
        self, stateless_model: Module, param_names: tuple[str, ...], names_map: _Names
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.names_map = param_names, names_map

    @staticmethod
    def _create_from(
        model: Module, disable_autograd_tracking: bool = False
    ) -> tuple[FunctionalModule, _Tensors]:
        model = copy.deepcopy(model)
        params, names, names_map = extract_weights(model)
        if disable_autograd_tracking:
            for param in params:
                param.requires_grad_(False)
        return FunctionalModule(model, names, names_map), params

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        return _called(self.stateless_model, self.names_map, params, args, kwargs)


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, _Tensors]:
    """A module as a function of its parameters, and these."""
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, _Tensors, _Tensors]:
    """A module as a function of its parameters and buffers, and these."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def transpose_stack(tensors: Sequence[Sequence[Tensor]]) -> _Tensors:
    """The first tensors of several lists stacked, and the second ones, and so on."""
    return tuple(rl.stack(each).detach() for each in zip(*tensors, strict=True))


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, _Tensors, _Tensors]:
    """Modules of one class as one function, with their parameters and buffers stacked."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({bool(model.training) for model in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to have the same training/eval mode."
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to be of the same class."
        )
    functions, params, buffers = zip(*map(make_functional_with_buffers, models), strict=True)
    return functions[0], transpose_stack(params), transpose_stack(buffers)


# ---- older forms: the function takes its arguments as a tuple


def make_functional_deprecated_v1(
    model: Module,
) -> tuple[_Tensors, Callable[..., Any], tuple[str, ...]]:
    """The weights of a module, a function of them and of its arguments, their names."""
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional_deprecated_v1(model): `model` has buffers. Please use "
            "make_functional_with_buffers_deprecated_v1(model) instead."
        )
    weights, names, _ = extract_weights(model)

    def function(weights: Sequence[Tensor], data: Sequence[object]) -> Any:
        return load_state(copy.deepcopy(model), weights, names)(*data)

    return weights, function, names


def make_functional_with_buffers_deprecated_v1(model: Module) -> tuple[Any, ...]:
    """The same of weights and buffers: (weights, buffers, function, their names)."""
    weights, names, _ = extract_weights(model)
    buffers, buffer_names, _ = extract_buffers(model)

    def function(
        weights: Sequence[Tensor], buffers: Sequence[Tensor], data: Sequence[object]
    ) -> Any:
        return load_state(copy.deepcopy(model), weights, names, buffers, buffer_names)(*data)

    return weights, buffers, function, names, buffer_names


def _initial(make: Callable[..., Any], kinds: int) -> Callable[..., object]:
    def functional_init(
        model_class: type[Module], ensemble_shape: tuple[int, ...] = (), device: object = "cpu"
    ) -> Callable[..., object]:
        """A function that makes a module, or several whose weights are stacked, as a function."""

        def wrapped(*args: object, **kwargs: object) -> object:
            if len(ensemble_shape) >= 2:
                raise ValueError("NYI: ensemble_shape with more than 1 element")
            if not ensemble_shape:
                return make(model_class(*args, **kwargs).to(device))
            (count,) = ensemble_shape
            if count <= 0:
                raise ValueError(f"num_models {count} should be > 0")
            made = [make(model_class(*args, **kwargs).to(device)) for _ in range(count)]
            rest = make(model_class(*args, **kwargs))[kinds:]
            return *(transpose_stack([one[i] for one in made]) for i in range(kinds)), *rest

        return wrapped

    return functional_init


functional_init = _initial(make_functional_deprecated_v1, 1)
functional_init_with_buffers = _initial(make_functional_with_buffers_deprecated_v1, 2)
