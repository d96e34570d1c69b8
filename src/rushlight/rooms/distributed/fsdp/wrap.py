"""Which children of a module would be divided by themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ... import nn
from ..._base.missing import missing_name as _missing_name

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]


def always_wrap_policy(*args: object, **kwargs: object) -> bool:
    """True."""
    return True


def lambda_auto_wrap_policy(
    module: nn.Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Any], bool]
) -> bool:
    """Whether a function says so."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: Iterable[type[nn.Module]],
) -> bool:
    """Whether the module is of one of the classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


_module_wrap_policy = _or_policy = transformer_auto_wrap_policy


def size_based_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = 100_000_000,
    force_leaf_modules: Any = None,
    exclude_wrap_modules: Any = None,
) -> bool:
    """Whether the module has so many parameters."""
    leaves = tuple(force_leaf_modules or (nn.MultiheadAttention,))
    excluded = tuple(exclude_wrap_modules or (nn.ModuleList, nn.ModuleDict))
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, leaves if recurse else excluded)


class _Policy:
    pass


class ModuleWrapPolicy(_Policy):
    """Modules of some classes."""

    def __init__(self, module_classes: Iterable[type[nn.Module]]) -> None:
        self._module_classes = set(module_classes)

    def __call__(self, module: nn.Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))


class CustomPolicy(_Policy):
    """Modules for which a function says so."""

    def __init__(self, lambda_fn: Callable[[nn.Module], Any]) -> None:
        self._lambda_fn = lambda_fn


def wrap(module: nn.Module, **wrap_overrides: object) -> nn.Module:
    """The module as it is."""
    return module


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: object, **wrapper_kwargs: object) -> Iterator[None]:
    """A block like any other: `wrap` leaves modules as they are."""
    yield


__getattr__ = _missing_name(__name__)
