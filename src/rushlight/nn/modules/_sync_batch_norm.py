"""Batch norm over the batches of several processes: one collective forward, one backward.

Each process measures its own batch; all get everyone's statistics, and join them. Of a backward
pass, each adds up its own sums, and all get the total. Only `SyncBatchNorm` of a started group of
more processes than one comes here: `torch.distributed` is imported by then.
"""

from __future__ import annotations

from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base.late import late
from ...autograd.function import Function, once_differentiable
from .. import functional as F


def group_of_several(group: object) -> object:
    """The group to normalise over (None means all processes); None where it has one process."""
    distributed = late.world()
    if distributed is None or not distributed.is_initialized():
        return None
    found = distributed.group.WORLD if group is None else group
    return found if distributed.get_world_size(found) > 1 else None


def sync_batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    eps: float,
    group: object,
) -> Tensor:
    """`F.batch_norm` in training, of the batches of all processes; moves the statistics."""
    found: Tensor = _SyncBatchNorm.apply(
        input, weight, bias, running_mean, running_var, momentum, eps, group
    )
    return found


def _wide(tensor: Tensor) -> Tensor:
    """The values in the type that sums are made in."""
    return tensor.float() if tensor.dtype.itemsize == 2 else tensor


def _each(values: Tensor, like: Tensor) -> Tensor:
    """A value for each channel, in the type of a tensor and to be combined with it."""
    return values.to(like.dtype).reshape(-1, *[1] * (like.dim() - 2))


def _over(tensor: Tensor) -> list[int]:
    """The dimensions that are not the channels."""
    return [0, *range(2, tensor.dim())]


class _SyncBatchNorm(Function):
    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        momentum: float,
        eps: float,
        group: Any,
    ) -> Tensor:
        count, mean, variance = _joined_statistics(input, group)
        if running_mean is not None and running_var is not None and count > 0:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
            unbiased = variance * (count / (count - 1))
            running_var.lerp_(unbiased.to(running_var.dtype), momentum)
        ctx.save_for_backward(input, weight, mean, (variance + eps).rsqrt())
        ctx.count, ctx.group = count, group
        kind = _wide(input.new_empty(0)).dtype
        scale, shift = (None if part is None else part.to(kind) for part in (weight, bias))
        center, spread = mean.to(kind), variance.to(kind)
        return F.batch_norm(input, center, spread, scale, shift, False, 0.0, eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> object:
        input, weight, mean, rstd = ctx.saved_tensors
        g = _wide(g)
        off = _wide(input) - _each(mean, g)
        over = _over(input)
        sums, products = g.sum(over), (g * off).sum(over)
        in_weight = in_bias = in_input = None
        if ctx.needs_input_grad[1]:
            in_weight = (products * rstd).to(weight.dtype)
        if ctx.needs_input_grad[2]:
            in_bias = sums.to(input.dtype if weight is None else weight.dtype)
        if ctx.needs_input_grad[0]:
            total = rl.stack([sums, products]).double()
            late.world().all_reduce(total, group=ctx.group)
            scale = rstd if weight is None else rstd * weight
            total /= ctx.count
            off.mul_(_each(total[1] * rstd * rstd, g)).add_(_each(total[0], g))
            in_input = off.neg_().add_(g).mul_(_each(scale, g)).to(input.dtype)
        return in_input, in_weight, in_bias, None, None, None, None, None


def _joined_statistics(input: Tensor, group: object) -> tuple[float, Tensor, Tensor]:
    """Values a channel, means and variances (biased) of all processes' batches, in float64."""
    channels = input.shape[1]
    count = input.numel() // channels
    own = rl.zeros(2 * channels + 1, dtype=rl.float64, device="cpu")
    if count:
        variance, mean = rl.var_mean(_wide(input), _over(input), correction=0)
        own[0] = count
        own[1 : 1 + channels].copy_(mean)
        own[1 + channels :].copy_(variance)
    distributed = late.world()
    all_ = rl.empty_like(own.expand(distributed.get_world_size(group), -1))
    distributed.all_gather_into_tensor(all_, own, group)
    counts, means, variances = all_[:, :1], all_[:, 1 : 1 + channels], all_[:, 1 + channels :]
    total = counts.sum()
    mean = (counts * means).sum(0) / total
    variance = (counts * (variances + (means - mean).square())).sum(0) / total
    return float(total), mean.to(input.device), variance.to(input.device)
