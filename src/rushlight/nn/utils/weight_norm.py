"""Weight normalisation by a hook: a weight that is computed from a length and a direction before
each call. `parametrizations.weight_norm` is its successor.
"""

from __future__ import annotations

from typing import TypeVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base.errors import warn
from ..._base.handles import listed, tables_lock
from ..modules.module import Module
from ..parameter import Parameter

_M = TypeVar("_M", bound=Module)


def scaled(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """`v` with lengths `g`; a length is that of all but `dim` (-1: of the whole)."""
    return v * (g / rl.norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook: computes the attribute `name` from `name_g` and `name_v`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim: int = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight for the present length and direction."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return scaled(v, g, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Puts the hook on a module, and length and direction in the weight's place."""
        _check_single(module, WeightNorm, "weight_norm", name)
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        from .._uninitialized import is_lazy

        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure "
                "to run the dummy forward before applying weight normalization"
            )
        del module._parameters[name]
        g = rl.norm_except_dim(weight, 2, hook.dim).data
        module.register_parameter(f"{name}_g", Parameter(g))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Makes the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _check_single(module: Module, kind: type, said: str, name: str) -> None:
    for _, hook in listed(module._forward_pre_hooks):
        if isinstance(hook, kind) and hook.name == name:  # type: ignore[attr-defined]
            raise RuntimeError(f"Cannot register two {said} hooks on the same parameter {name}")


def _remove(module: Module, kind: type, said: str, name: str) -> None:
    """Takes the hook of a kind for a name off a module."""
    for key, hook in listed(module._forward_pre_hooks):
        if isinstance(hook, kind) and hook.name == name:  # type: ignore[attr-defined]
            hook.remove(module)  # type: ignore[attr-defined]
            with tables_lock:
                del module._forward_pre_hooks[key]
            return
    raise ValueError(f"{said} of '{name}' not found in {module}")


def weight_norm(module: _M, name: str = "weight", dim: int | None = 0) -> _M:
    """Replaces a parameter by its lengths `name_g`, one an entry of `dim`, and directions `name_v`.

    Deprecated: `parametrizations.weight_norm` does the same.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> layer = nn.utils.weight_norm(nn.Linear(3, 2))
    >>> [(name, tuple(p.shape)) for name, p in layer.named_parameters()]
    [('bias', (2,)), ('weight_g', (2, 1)), ('weight_v', (2, 3))]
    """
    warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: _M, name: str = "weight") -> _M:
    """Makes the parameter that `weight_norm` replaced a parameter again.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(3, 2)))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    _remove(module, WeightNorm, "weight_norm", name)
    return module
