"""vmap: rules of layers and losses; a loss is brought to its values before the reduction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _core
from ..._core import Op, Tensor
from ..._levels.batching import batched, batching, folded_first, inner, pointwise, wrap_all
from ..._levels.structure import detach
from ..elementwise.selection import _where as where
from ..indexing.batching import first_rows
from ..making.creation import arange, ones, zeros
from .attention import attention_op
from .class_loss import _binary_cross_entropy, _nll_loss, _nll_loss2d
from .class_loss import _nll_transpose as nll_transpose
from .conv import _convolution as convolution
from .conv import _convolution_input
from .conv import _convolution_weight as convolution_weight
from .embedding import _embedding_op, one_hot
from .embedding import _embedding_scaled as embedding_scaled
from .embedding import _embedding_scaled_transpose as embedding_scaled_transpose
from .embedding import _embedding_transpose as embedding_transpose
from .loss import reduce_loss
from .margin_loss import _multi_margin_loss
from .normalization import _native_layer_norm, native_batch_norm_op, native_group_norm_op

if TYPE_CHECKING:
    from ..._levels.batch import BatchLevel

__all__: list[str] = []

_call = _core.call_op


# ---- normalization


@batching(_native_layer_norm)
def _layer_norm(op: Op, args: Sequence[Any], level: BatchLevel) -> tuple[Tensor, ...]:
    x, n, weight, bias, eps = args
    if inner(x, level) is not None and inner(weight, level) is None and inner(bias, level) is None:
        return wrap_all(_call(op, [inner(x, level), *args[1:]]), level)
    return _affine(_call(op, [x, n, None, None, eps]), weight, bias, 2)


def _affine(found: Any, weight: Tensor | None, bias: Tensor | None, ndim: int) -> Any:
    """The results of a normalization with weights and biases; of channels, where x has `ndim`
    dimensions."""
    if ndim > 2:
        behind = (1,) * (ndim - 2)
        weight, bias = (None if t is None else t.reshape(t.shape + behind) for t in (weight, bias))
    single = isinstance(found, Tensor)
    out = found if single else found[0]
    out = out if weight is None else out * weight
    out = out if bias is None else out + bias
    return out if single else (out, *found[1:])


@batching(native_group_norm_op)
def _group_norm(op: Op, args: Sequence[Any], level: BatchLevel) -> tuple[Tensor, ...]:
    x, groups, weight, bias, eps = args
    if inner(weight, level) is None and inner(bias, level) is None:
        return folded_first(op, args, level)
    return _affine(_call(op, [x, groups, None, None, eps]), weight, bias, x.ndim)


@batching(native_batch_norm_op)
def _batch_norm(op: Op, args: Sequence[Any], level: BatchLevel) -> tuple[Tensor, ...]:
    x, weight, bias, mean, var, training, momentum, eps = args
    size = level.size
    stats: list[Any] = [None if s is None else inner(s, level) for s in (mean, var)]
    if training and mean is not None and stats[0] is None:
        raise RuntimeError(
            "vmap: Batch norm got a batched tensor as input while the running_mean or running_var, "
            "which will be updated in place, were not batched.\nIf you are using a module and do "
            "not need eval mode, please set `track_running_stats` to be False."
        )
    if mean is not None:
        stats = [batched(s, level).reshape(-1) for s in (mean, var)]
    wide = fold(batched(x, level), 1)
    found = _call(op, [wide, None, None, *stats, training, momentum, eps])
    single = isinstance(found, Tensor)
    if training and mean is not None:
        for s, new in zip((mean, var), stats, strict=True):
            value: Any = inner(s, level)
            if new.data_ptr() != value.data_ptr():
                value.copy_(new.reshape(value.shape))
    out: Any = level.wrap(unfold(found if single else found[0], 1, size))
    if not single:
        rest = (None if f is None else level.wrap(f.reshape(size, -1)) for f in found[1:])
        out = (out, *rest)
    return _affine(out, weight, bias, x.ndim)


# ---- attention


@batching(attention_op)
def _attention(op: Op, args: Sequence[Any], level: BatchLevel) -> tuple[Tensor, ...]:
    ndim = args[0].ndim

    def in_front(t: Tensor | None) -> Any:
        """The batch before as many dimensions as the query has."""
        if t is None:
            return None
        value = batched(t, level)
        return value.reshape(value.shape[:1] + (1,) * (ndim - t.ndim) + value.shape[1:])

    return wrap_all(_call(op, [*map(in_front, args[:5]), *args[5:]]), level)


# ---- losses

_NONE, _MEAN, _SUM = ("none", 0), ("mean", 1), ("sum", 2)


@batching(_binary_cross_entropy)
def _probabilities(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    *values, reduction = args
    return reduce_loss(pointwise(op, [*values, "none"], level), reduction)


@batching(_nll_loss, _nll_loss2d)
def _nll(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, target, weight, ignored, reduction = args
    one = x.ndim == 1
    v, t = batched(x, level), batched(target, level)
    if inner(weight, level) is not None:
        return _weighted_nll(x, target, weight, ignored, reduction)
    if not one:
        v, t = v.flatten(0, 1), t.flatten(0, 1)
    none = "none" if isinstance(reduction, str) else 0
    each = _call(op, [v, t, weight, ignored, none])
    out = level.wrap(each if one else each.unflatten(0, (level.size, x.shape[0])))
    if reduction in _NONE:
        return out
    total = out.sum()
    if reduction in _SUM:
        return total
    counted = target != ignored
    if weight is None:
        return total / counted.sum()
    picked = weight[target.masked_fill(~counted, 0)]
    return total / picked.masked_fill(~counted, 0).sum()


@batching(_multi_margin_loss)
def _multi_margin(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    """The loss in terms of ops."""
    x, target, weight, p, margin, reduction = args
    rows, classes = (x.unsqueeze(0) if x.ndim == 1 else x), target.reshape(-1, 1)
    excess = (margin - rows.gather(1, classes) + rows).relu()
    if p == 2:
        excess = excess * excess
    if weight is not None:
        excess = excess * weight.gather(0, target.reshape(-1)).unsqueeze(1)
    each = excess.scatter(1, classes, 0.0).sum(1) / rows.shape[1]
    if reduction in _NONE:
        return each.reshape(target.shape)
    return each.sum() if reduction in _SUM else each.mean()


def _weights_of(
    target: Tensor, weight: Tensor | None, ignored: int, like: Tensor
) -> tuple[Tensor, ...]:
    """(the class of each place, its weight: 0 where it is ignored)."""
    kept = target != ignored
    classes = target.masked_fill(~kept, 0)
    if weight is None:
        return classes, kept.to(like.dtype)
    weight = detach(weight)  # the op has no gradient for it
    picked = weight.gather(0, classes.reshape(-1)).reshape(classes.shape)
    return classes, picked.masked_fill(~kept, 0)


def _weighted_nll(
    x: Tensor, target: Tensor, weight: Tensor, ignored: int, reduction: int
) -> Tensor:
    """nll_loss in terms of ops: weights that each sample has for itself."""
    dim = 0 if x.ndim == 1 else 1
    classes, weights = _weights_of(target, weight, ignored, x)
    each = -x.gather(dim, classes.unsqueeze(dim)).squeeze(dim) * weights
    if reduction in _NONE:
        return each
    return each.sum() if reduction in _SUM else each.sum() / weights.sum()


@batching(nll_transpose)
def _nll_transpose(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    g, target, weight, ignored, reduction, shape = args
    if not g.ndim and inner(target, level) is None and inner(weight, level) is None:
        one = ones((), dtype=g.dtype, device=g.device)
        return _call(op, [one, target, weight, ignored, reduction, shape]) * g
    dim = 0 if len(shape) == 1 else 1
    classes, weights = _weights_of(target, weight, ignored, g)
    if reduction in _MEAN:
        weights = weights / weights.sum()
    found = zeros(shape, dtype=g.dtype, device=g.device)
    return found.scatter(dim, classes.unsqueeze(dim), -(g * weights).unsqueeze(dim))


# ---- embeddings


@batching(_embedding_op, embedding_scaled)
def _embedding(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    weight, indices, padding = args
    # With scaling the uses are counted in one element: each needs a weight of its own.
    if op is _embedding_op and inner(weight, level) is None:
        return level.wrap(_call(op, [weight, inner(indices, level), padding]))
    value, places = batched(weight, level), batched(indices, level)
    rows = weight.shape[0]
    if padding is not None and padding >= 0:
        masked = arange(rows, device=value.device).eq(padding).unsqueeze(1)
        value = where(masked, value.detach(), value)
    return level.wrap(_call(op, [value.flatten(0, 1), first_rows(places, rows, level), -1]))


@batching(embedding_transpose, embedding_scaled_transpose)
def _embedding_transpose(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    g, indices, padding, n = args
    value, places = batched(g, level), batched(indices, level)
    if padding is not None and padding >= 0:
        value = value * places.ne(padding).unsqueeze(-1)
    out = _call(op, [value, first_rows(places, n, level), -1, n * level.size])
    return level.wrap(out.unflatten(0, (level.size, n)))


@batching(one_hot)
def _one_hot(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    if args[1] == -1:
        raise RuntimeError(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive "
            "num_classes argument. Without it the result's shape would depend on the values."
        )
    return level.wrap(_call(op, [inner(args[0], level), args[1]]))


# ---- convolutions


def fold(v: Tensor, dim: int) -> Tensor:
    """The batch (dimension 0) joined with dimension `dim` of the rest, the batch outside."""
    moved = v.movedim(0, dim)
    return moved.flatten(dim, dim + 1)


def unfold(v: Tensor, dim: int, size: int) -> Tensor:
    return v.unflatten(dim, (size, v.shape[dim] // size if size else 0)).movedim(dim, 0)


@batching(convolution, _convolution_input)
def _convolution(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, weight, bias = args[:3]
    rest = list(args[3:])
    shaped = op is _convolution_input
    size = level.size
    if inner(weight, level) is None and inner(bias, level) is None:
        if shaped:
            rest[0] = (size * rest[0][0], *rest[0][1:])
        out = _call(op, [inner(x, level).flatten(0, 1), weight, bias, *rest])
        return level.wrap(out.unflatten(0, (size, x.shape[0])))
    wide = fold(batched(x, level), 1)
    if shaped:
        rest[0] = (rest[0][0], size * rest[0][1], *rest[0][2:])
    rest[-1] *= size
    out = _call(op, [wide, batched(weight, level).flatten(0, 1), None, *rest])
    result = level.wrap(unfold(out, 1, size))
    if bias is not None:
        result = result + bias.reshape(bias.shape + (1,) * (x.ndim - 2))
    return result


@batching(convolution_weight)
def _convolution_weight(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, other, shape = args[:3]
    rest = list(args[3:])
    rest[-1] *= level.size
    wide, g = fold(batched(x, level), 1), fold(batched(other, level), 1)
    out = _call(op, [wide, g, (level.size * shape[0], *shape[1:]), *rest])
    return level.wrap(out.unflatten(0, (level.size, shape[0])))
