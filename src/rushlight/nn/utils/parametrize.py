"""Parametrizations: tensors of a module that are computed, when they are read, from others.

`register_parametrization(module, "weight", P)` moves the weight to
`module.parametrizations.weight.original`, and gives the module a new class, where the property
`weight` computes P(original). A method `right_inverse` of P says which original gives a value: it
is asked when a value is assigned, and once at the registration. Where it gives several tensors,
they are `original0`, `original1`, ..., and P takes as many.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_NO_PICKLE = (
    "Serialization of parametrized modules is only supported through state_dict(). See:\n"
    "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
    "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
)


class _Cache:
    """The values that `cached` keeps, and how many of its blocks are open."""

    depth = 0
    values: ClassVar[dict[tuple[int, str], object]] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within the block each parametrized tensor is computed once.

    >>> parametrize = nn.utils.parametrize
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.values = {}


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _replace(old: Tensor, new: Tensor) -> None:
    """The data of a tensor, and its shape, become those of another."""
    old.data = new.detach()


_NOT_TENSORS = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "


def _check_originals(values: object) -> None:
    if isinstance(values, rl.Tensor):
        return
    if not isinstance(values, Sequence):
        raise ValueError(f"{_NOT_TENSORS}Got {type(values).__name__}")
    for i, value in enumerate(values):
        if not isinstance(value, rl.Tensor):
            raise ValueError(
                f"{_NOT_TENSORS}Got element {i} of the sequence with type {type(value).__name__}."
            )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, one behind the other, and the tensors they start from."""

    original: Tensor
    unsafe: bool

    def __init__(
        self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False
    ) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        value = original
        before = {"dtype": original.dtype, "shape": original.shape}
        with rl.no_grad():
            new: Any = original
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        _check_originals(new)
        self.is_tensor: bool = isinstance(new, rl.Tensor)
        self.ntensors: int = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if value.dtype is not new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {value.dtype}\n"
                    f"right_inverse(original).dtype: {new.dtype}"
                )
            if value.device != new.device:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the device.\n"
                    f"original.device: {value.device}\n"
                    f"right_inverse(original).device: {new.device}"
                )
            # The parameter itself stays, for optimizers that have the parameter.
            _replace(value, new)
            _register(self, "original", value)
        else:
            for name, part in zip(self._names(), new, strict=True):
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                _register(self, name, part)
        if not unsafe:
            self._check(before)

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def _check(self, before: dict[str, Any]) -> None:
        """The parametrized tensor must be like the one it stands for."""
        made = self()
        if not isinstance(made, rl.Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
        for what, had in before.items():
            if getattr(made, what) != had:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, "
                    "unless `unsafe` flag is enabled.\n"
                    f"unparametrized {what}: {had}\nparametrized {what}: {getattr(made, what)}"
                )

    def right_inverse(self, value: Tensor) -> None:
        """Sets the originals so that the parametrized tensor becomes `value`."""
        with rl.no_grad():
            new: Any = value
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                new = module.right_inverse(new)
            _check_originals(new)
            if self.is_tensor:
                if not isinstance(new, rl.Tensor):
                    raise ValueError(
                        f"`right_inverse` should return a tensor. Got {type(new).__name__}"
                    )
                new = [new]
            elif len(new) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(new)}."
                )
            for name, part in zip(self._names(), new, strict=True):
                old = getattr(self, name)
                if old.dtype is not part.dtype:
                    raise ValueError(
                        f"Tensor `{name}` returned by `right_inverse` should have the same dtype "
                        f"as before: {old.dtype}. Got {part.dtype}"
                    )
                _replace(old, part)

    def forward(self) -> Tensor:
        if not len(self):
            raise RuntimeError("ParametrizationList is empty.")
        first, *rest = self
        value = first(*(getattr(self, name) for name in self._names()))
        for module in rest:
            value = module(value)
        return value


def _inject_class(module: Module) -> None:
    """Gives a module a class of its own, to which properties can be added."""
    cls = type(module)

    def refuse_pickle(self: object) -> object:
        raise RuntimeError(_NO_PICKLE)

    def deep_copy(self: object, memo: dict[int, object]) -> object:
        if id(self) in memo:
            return memo[id(self)]
        replica = self.__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    members: dict[str, Any] = {"__getstate__": refuse_pickle}
    if cls.__deepcopy__ is Module.__deepcopy__:
        members["__deepcopy__"] = deep_copy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)
    module.__class__.__module__ = __name__


def _inject_property(module: Module, name: str) -> None:
    def read(self: Any) -> Any:
        parametrization = self.parametrizations[name]
        if not _Cache.depth:
            return parametrization()
        key = (id(self), name)
        value = _Cache.values.get(key)
        if value is None:
            value = _Cache.values[key] = parametrization()
        return value

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Lets a parameter or buffer be computed by `parametrization` from then on.

    A second one for the same name is applied behind the first. unsafe: it may change the tensor's
    shape and type, and is not run at the registration.

    >>> parametrize = nn.utils.parametrize
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.mT).all())
    True
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        parts: Any = module.parametrizations[tensor_name]
        if unsafe:
            parts.unsafe = True
        else:
            value = getattr(module, tensor_name)
            made = parametrization(value)
            if not isinstance(made, rl.Tensor):
                raise ValueError(
                    f"A parametrization must return a tensor. Got {type(made).__name__}."
                )
            for what in ("dtype", "shape"):
                if getattr(made, what) != getattr(value, what):
                    raise ValueError(
                        f"Registering a parametrization may not change the {what} of the tensor, "
                        "unless the `unsafe` flag is enabled.\n"
                        f"module.{tensor_name}.{what}: {getattr(value, what)}\n"
                        f"parametrization(module.{tensor_name}).{what}: {getattr(made, what)}"
                    )
            if hasattr(parametrization, "right_inverse"):
                back = parametrization.right_inverse(made)
                if not isinstance(back, rl.Tensor):
                    raise ValueError(
                        "parametrization.right_inverse must return a tensor. Got: "
                        f"{type(back).__name__}"
                    )
                for what in ("dtype", "shape"):
                    if getattr(back, what) != getattr(value, what):
                        raise ValueError(
                            "The tensor returned by parametrization.right_inverse must have the "
                            f"same {what} as module.{tensor_name}, unless the `unsafe` flag is "
                            f"enabled.\nmodule.{tensor_name}.{what}: {getattr(value, what)}\n"
                            f"returned {what}: {getattr(back, what)}"
                        )
        parts.append(parametrization)
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    made_list = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_class(module)
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = made_list
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has a parametrization, or one for this tensor.

    >>> parametrize = nn.utils.parametrize
    >>> parametrize.is_parametrized(nn.Linear(2, 2))
    False
    """
    parametrizations = module._modules.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    if tensor_name is None:
        return len(parametrizations) > 0
    return tensor_name in parametrizations


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Makes a tensor plain again, with its parametrized value, or with the original one.

    >>> parametrize = nn.utils.parametrize
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> parametrize.remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    all_of: Any = module.parametrizations
    parts = all_of[tensor_name]
    if parts.is_tensor:
        original = parts.original
        if leave_parametrized:
            with rl.no_grad():
                _replace(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del all_of[tensor_name]
    _register(module, tensor_name, original)
    if not len(all_of):
        del module._modules["parametrizations"]
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """A module's class from before any parametrization.

    >>> parametrize = nn.utils.parametrize
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> parametrize.type_before_parametrizations(layer) is nn.Linear
    True
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Gives a module the parametrizations of another, with the values they start from.

    >>> parametrize = nn.utils.parametrize
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> other = parametrize.transfer_parametrizations_and_params(layer, nn.Linear(2, 2))
    >>> torch.equal(layer.weight, other.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    every: Any = from_module.parametrizations
    names = list(every) if tensor_name is None else [tensor_name]
    for name in names:
        if name not in every:
            continue
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        parts = every[name]
        for part in parts:
            register_parametrization(to_module, name, copy.deepcopy(part), unsafe=True)
        target: Any = to_module.parametrizations
        for original in parts._names():
            _replace(getattr(target[name], original), getattr(parts, original))
    return to_module
