"""Limits on gradients: by their total norm, or element by element."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base.errors import warn
from ...ops.matrix.norms import vector_norm as _vector_norm


def _gradients(parameters: Any) -> list[Tensor]:
    """The gradients there are, of one tensor or of an iterable of them."""
    if isinstance(parameters, rl.Tensor):
        parameters = [parameters]
    return [grad for p in parameters if (grad := p.grad) is not None]


def get_total_norm(
    tensors: Iterable[Tensor] | Tensor,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The p-norm of all tensors taken as one vector (`norm_type` may be `inf`).

    >>> nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([[4.0]])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, rl.Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return rl.tensor(0.0)
    total: Any = NotImplemented
    own = rl._core.has_torch_function(tensors)  # a class may have only a part in its memory
    if norm_type == 2.0 and not own and not any(t.requires_grad or t.is_meta for t in tensors):
        total = rl._core.kernels.total_norm2(tensors)
    if total is NotImplemented:
        norms = [_vector_norm(tensor, norm_type) for tensor in tensors]
        total = _vector_norm(rl.stack(norms), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from "
            "`parameters` is non-finite, so it cannot be clipped. To disable "
            "this error and scale the gradients by the non-finite norm anyway, "
            "set `error_if_nonfinite=False`"
        )
    norm: Tensor = total
    return norm


def clip_grads_with_norm_(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scales gradients in place by max_norm / (total_norm + 1e-6), but never up.

    >>> x = torch.zeros(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, 4.0])
    >>> norm = nn.utils.get_total_norm([x.grad])
    >>> nn.utils.clip_grads_with_norm_([x], max_norm=1.0, total_norm=norm)
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    grads = _gradients(parameters)
    if grads:
        with rl.no_grad():
            scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
            if not total_norm.is_meta:
                plain = type(scale) is rl.Tensor and scale.device == grads[0].device
                done = rl._core.kernels.scale_(grads, scale if plain else scale.item())
                if done is not NotImplemented:
                    rl._core.bump_versions(grads)
                    return
            for grad in grads:
                grad.mul_(scale)


def clip_grad_norm_(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales gradients in place so that their total norm is at most `max_norm`; returns the norm
    before.

    >>> x = torch.zeros(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, 4.0])
    >>> nn.utils.clip_grad_norm_([x], max_norm=1.0)
    tensor(5.)
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    if not isinstance(parameters, rl.Tensor):
        generator = isinstance(parameters, types.GeneratorType)
        parameters = list(parameters)
        if generator and not parameters:
            warn("`parameters` is an empty generator, no gradient clipping will occur.")
    with rl.no_grad():
        total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
        clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated name of `clip_grad_norm_`.

    >>> x = torch.zeros(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, 4.0])
    >>> nn.utils.clip_grad_norm(x, 1.0)
    tensor(5.)
    """
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated "
        "in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(
    parameters: Iterable[Tensor] | Tensor, clip_value: float, foreach: bool | None = None
) -> None:
    """Clamps every element of the gradients in place to [-clip_value, clip_value].

    >>> x = torch.zeros(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, -0.5])
    >>> nn.utils.clip_grad_value_([x], 1.0)
    >>> x.grad
    tensor([ 1.0000, -0.5000])
    """
    bound = float(clip_value)
    with rl.no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(min=-bound, max=bound)
