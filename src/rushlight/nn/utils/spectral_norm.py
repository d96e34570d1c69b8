"""Spectral normalisation by a hook: the weight over its largest singular value, before each call.

The value is estimated by power iteration; its two vectors are kept as buffers. While training each
call takes `n_power_iterations` steps. `parametrizations.spectral_norm` is its successor.
"""

from __future__ import annotations

from typing import Any, TypeVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base.handles import listed, tables_lock
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from ..parameter import Parameter
from .weight_norm import _check_single, _remove

_M = TypeVar("_M", bound=Module)
TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)  # their outputs are dimension 1


def iterate(
    matrix: Tensor, back: Tensor, first: Tensor, second: Tensor, steps: int, eps: float
) -> None:
    """Power iteration: brings vectors nearer to the first singular ones, in place.

    `matrix` times `second` has the direction of the new `first`, and `back` times that the one of
    the new `second`.
    """
    with rl.no_grad():
        for _ in range(steps):
            first.copy_(F.normalize(matrix.mv(second), dim=0, eps=eps))
            second.copy_(F.normalize(back.mv(first), dim=0, eps=eps))


class SpectralNorm:
    """The hook: computes the attribute `name` from `name_orig`."""

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, "
                f"but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """One row an entry of `dim`."""
        return weight.movedim(self.dim, 0).flatten(1) if weight.dim() > 1 else weight.unsqueeze(1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight over the estimate of its largest singular value."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            iterate(matrix.mT, matrix, v, u, self.n_power_iterations, self.eps)
            u, v = u.clone(), v.clone()  # a later call writes to the buffers
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Puts the hook on a module, and the plain weight and the two vectors beside it."""
        _check_single(module, SpectralNorm, "spectral_norm", name)
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        from .._uninitialized import is_lazy

        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with rl.no_grad():
            matrix = hook.reshape_weight_to_matrix(weight)
            u, v = (
                F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in matrix.shape
            )
        del module._parameters[name]
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook

    def remove(self, module: Module) -> None:
        """Makes the weight a parameter again."""
        with rl.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + name)
        module.register_parameter(self.name, Parameter(weight.detach()))
        for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
            for key, hook in listed(hooks):
                if getattr(getattr(hook, "hook", hook), "fn", None) is self:
                    with tables_lock:
                        hooks.pop(key, None)

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


class SpectralNormStateDictHook:
    """Notes in a state_dict's metadata that both vectors are in it, as PyTorch looks for."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, module: object, state_dict: object, prefix: str, metadata: dict[str, Any]
    ) -> None:
        versions = metadata.setdefault("spectral_norm", {})
        versions[f"{self.fn.name}.version"] = SpectralNorm._version


class SpectralNormLoadStateDictPreHook:
    """Computes the second vector for a state_dict of before PyTorch 1.0, which has one."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: Any,
        prefix: str,
        metadata: Any,
        strict: bool,
        missing: list[str],
        *_: object,
    ) -> None:
        name = prefix + self.fn.name
        version = metadata.get("spectral_norm", {}).get(f"{self.fn.name}.version")
        if version is not None or name not in state_dict:
            return
        absent = [name + end for end in ("_orig", "_u") if name + end not in state_dict]
        if absent:
            missing.extend(absent if strict else ())
            return
        with rl.no_grad():
            plain, normed = state_dict[f"{name}_orig"], state_dict.pop(name)
            matrix, u = self.fn.reshape_weight_to_matrix(plain), state_dict[f"{name}_u"]
            v = rl.pinverse(matrix).mv(u)
            state_dict[f"{name}_v"] = v * ((plain / normed).mean() / u.dot(matrix.mv(v)))


def spectral_norm(
    module: _M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> _M:
    """Divides a parameter by its largest singular value, of the matrix of rows along `dim`.

    >>> layer = nn.utils.spectral_norm(nn.Linear(3, 2), n_power_iterations=50)
    >>> y = layer(torch.zeros(1, 3))
    >>> round(torch.linalg.matrix_norm(layer.weight, 2).item(), 4)
    1.0
    """
    if dim is None:
        dim = 1 if isinstance(module, TRANSPOSED) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: _M, name: str = "weight") -> _M:
    """Makes the parameter that `spectral_norm` replaced a parameter again.

    >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(3, 2)))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    _remove(module, SpectralNorm, "spectral_norm", name)
    return module
