"""vmap: rules of single ops and small families; see `_batching.py` for the general ones.

Products are brought to one batched matmul, convolutions to one with more groups, losses to their
values before the reduction. What is written with `x.sum()` and the like runs on the wrapped
tensors, so that it means one element of the batch.
"""

from __future__ import annotations

from typing import Any

from .. import _core
from ..autograd._levels import Level, batch, detach
from ..ops.table.statement import OPS, namespace
from ._batching import inner, normal, pointwise, rule, spread, trailing, wrap
from ._batching_places import first_rows

_Tensor = _core.Tensor
_call = _core.call_op
_T = namespace("torch")

# ---- products


def _padded(v: Any, have: int, want: int) -> Any:
    """A batched value with dimensions of size 1 behind the batch."""
    if have >= want:
        return v
    return v.reshape(v.shape[:1] + (1,) * (want - have) + v.shape[1:])


@rule("matmul", "_viewed_product", "mm", "bmm", "mv", "dot")
def _matmul(op: Any, slots: Any, level: Level) -> Any:
    a, b = slots[0], slots[1]
    matmul = OPS["matmul"].function
    na, nb = a.ndim, b.ndim
    va, vb = inner(a, level), inner(b, level)
    _check_product(op.entry.name, a, b)
    if not na or not nb:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {na}D and {nb}D"
        )
    if vb is None and nb <= 2 and (na > 1 or nb == 2):
        return batch(level, matmul(va, b))
    if vb is None and nb == 1:
        return batch(level, matmul(va, b))
    if va is None and na <= 2 and nb == 1:
        return batch(level, matmul(vb, a.transpose(0, 1) if na == 2 else a))
    if va is None and na <= 2 and nb == 2:
        return batch(level, matmul(a, vb))
    left = va if va is not None else a.expand(level.size, *a.shape)
    right = vb if vb is not None else b.expand(level.size, *b.shape)
    if na == 1:
        left = left.unsqueeze(1)
    if nb == 1:
        right = right.unsqueeze(2)
    n = max(na, nb, 2)
    out = matmul(_padded(left, max(na, 2), n), _padded(right, max(nb, 2), n))
    if nb == 1:
        out = out.squeeze(-1)
    if na == 1:
        out = out.squeeze(-1 if nb == 1 else -2)
    return batch(level, out)


_NDIMS = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}


def _check_product(name: str, a: Any, b: Any) -> None:
    """The op's own words where the shapes do not fit."""
    if (name in _NDIMS and (a.ndim, b.ndim) != _NDIMS[name]) or (
        name == "dot" and a.shape != b.shape
    ):
        OPS[name].function(_plain_like(a), _plain_like(b))


def _plain_like(t: Any) -> Any:
    return _T["zeros"](tuple(t.shape), dtype=t.dtype)


@rule("vdot")
def _vdot(op: Any, slots: Any, level: Level) -> Any:
    return (slots[0].conj() * slots[1]).sum()


@rule("linear", "_linear_bias")
def _linear(op: Any, slots: Any, level: Level) -> Any:
    x, weight, bias = slots
    vx = inner(x, level)
    if vx is not None and inner(weight, level) is None and inner(bias, level) is None:
        return batch(level, _call(op, [vx, weight, bias]))
    out = _T["matmul"](x, weight.t())
    return out if bias is None else out + bias


@rule("addmm", "addmv", "baddbmm")
def _add_product(op: Any, slots: Any, level: Level) -> Any:
    x, a, b, beta, alpha = slots
    product = _T["matmul"](a, b)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (x if beta == 1 else x * beta)


@rule("addr")
def _addr(op: Any, slots: Any, level: Level) -> Any:
    x, a, b, beta, alpha = slots
    return x * beta + a.unsqueeze(1) * b * alpha


@rule("addbmm")
def _addbmm(op: Any, slots: Any, level: Level) -> Any:
    x, a, b, beta, alpha = slots
    return x * beta + _T["matmul"](a, b).sum(0) * alpha


@rule("_linalg_cross")
def _cross(op: Any, slots: Any, level: Level) -> Any:
    a, b, dim = slots
    n = max(a.ndim, b.ndim)
    dim = normal(dim, n)
    va, vb = (_padded(spread(t, level), t.ndim, n) for t in (a, b))
    return batch(level, _call(op, [va, vb, dim + 1]))


@rule("solve")
def _solve(op: Any, slots: Any, level: Level) -> Any:
    a, b, left = slots
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    va, vb = spread(a, level), spread(b, level)
    if vector:
        vb = vb.unsqueeze(-1)
    n = max(va.ndim, vb.ndim)
    out = _call(op, [_padded(va, va.ndim, n), _padded(vb, vb.ndim, n), left or vector])
    return batch(level, out.squeeze(-1) if vector else out)


@rule("_least_squares")
def _least_squares(op: Any, slots: Any, level: Level) -> Any:
    a, b, rcond, driver = slots
    va, vb = spread(a, level), spread(b, level)
    n = max(va.ndim, vb.ndim)
    x, left = _call(op, [_padded(va, va.ndim, n), _padded(vb, vb.ndim, n), rcond, driver])
    if left.ndim == 1 and n > 2:  # none remain to be told
        left = left.unsqueeze(0).expand(level.size, 0)
    return wrap((x, left), level)


@rule("trace")
def _trace(op: Any, slots: Any, level: Level) -> Any:
    return slots[0].diagonal().sum()


@rule("_trace_transpose")
def _trace_transpose(op: Any, slots: Any, level: Level) -> Any:
    g, shape = slots
    return _T["eye"](*shape, dtype=g.dtype) * g


@rule("_cdist")
def _cdist(op: Any, slots: Any, level: Level) -> Any:
    a, b, p = slots
    n = max(a.ndim, b.ndim)
    va, vb = (_padded(spread(t, level), t.ndim, n) for t in (a, b))
    return batch(level, _call(op, [va, vb, p]))


# ---- convolutions


def _fold(v: Any, dim: int) -> Any:
    """The batch (dimension 0) joined with dimension `dim` of the rest, the batch outside."""
    moved = v.movedim(0, dim)
    return moved.flatten(dim, dim + 1)


def _unfold(v: Any, dim: int, size: int) -> Any:
    return v.unflatten(dim, (size, v.shape[dim] // size if size else 0)).movedim(dim, 0)


@rule("_convolution", "_convolution_input")
def _convolution(op: Any, slots: Any, level: Level) -> Any:
    x, weight, bias = slots[:3]
    rest = list(slots[3:])
    shaped = op.entry.name == "_convolution_input"
    size = level.size
    if inner(weight, level) is None and inner(bias, level) is None:
        if shaped:
            rest[0] = (size * rest[0][0], *rest[0][1:])
        out = _call(op, [inner(x, level).flatten(0, 1), weight, bias, *rest])
        return batch(level, out.unflatten(0, (size, x.shape[0])))
    wide = _fold(spread(x, level), 1)
    if shaped:
        rest[0] = (rest[0][0], size * rest[0][1], *rest[0][2:])
    rest[-1] *= size
    out = _call(op, [wide, spread(weight, level).flatten(0, 1), None, *rest])
    result = batch(level, _unfold(out, 1, size))
    if bias is not None:
        result = result + bias.reshape(bias.shape + (1,) * (x.ndim - 2))
    return result


@rule("_convolution_weight")
def _convolution_weight(op: Any, slots: Any, level: Level) -> Any:
    x, other, shape = slots[:3]
    rest = list(slots[3:])
    rest[-1] *= level.size
    wide, g = _fold(spread(x, level), 1), _fold(spread(other, level), 1)
    out = _call(op, [wide, g, (level.size * shape[0], *shape[1:]), *rest])
    return batch(level, out.unflatten(0, (level.size, shape[0])))


# ---- normalization


@rule("_native_layer_norm")
def _layer_norm(op: Any, slots: Any, level: Level) -> Any:
    x, n, weight, bias, eps = slots
    if inner(x, level) is not None and inner(weight, level) is None and inner(bias, level) is None:
        return wrap(_call(op, [inner(x, level), *slots[1:]]), level)
    found = _call(op, [x, n, None, None, eps])
    single = isinstance(found, _Tensor)
    out = found if single else found[0]
    out = out if weight is None else out * weight
    out = out if bias is None else out + bias
    return out if single else (out, *found[1:])


def _per_channel(t: Any, ndim: int) -> Any:
    return t.reshape(t.shape + (1,) * (ndim - 2))


@rule("_native_group_norm")
def _group_norm(op: Any, slots: Any, level: Level) -> Any:
    x, groups, weight, bias, eps = slots
    if inner(weight, level) is None and inner(bias, level) is None:
        return folded_first(op, slots, level)
    found = _call(op, [x, groups, None, None, eps])
    single = isinstance(found, _Tensor)
    out = found if single else found[0]
    out = out if weight is None else out * _per_channel(weight, x.ndim)
    out = out if bias is None else out + _per_channel(bias, x.ndim)
    return out if single else (out, *found[1:])


def folded_first(op: Any, slots: Any, level: Level) -> Any:
    """`folded` where the tensors after the first have no batch of their own."""
    x = slots[0]
    out = _call(op, [inner(x, level).flatten(0, 1), *slots[1:]])
    split = (level.size, x.shape[0])
    if isinstance(out, _Tensor):
        return wrap(out.unflatten(0, split), level)
    return wrap(tuple(o.unflatten(0, split) for o in out), level)


@rule("_native_batch_norm")
def _batch_norm(op: Any, slots: Any, level: Level) -> Any:
    x, weight, bias, mean, var, training, momentum, eps = slots
    size = level.size
    stats: list[Any] = [None if s is None else inner(s, level) for s in (mean, var)]
    if training and mean is not None and stats[0] is None:
        raise RuntimeError(
            "vmap: Batch norm got a batched tensor as input while the running_mean or running_var, "
            "which will be updated in place, were not batched.\nIf you are using a module and do "
            "not need eval mode, please set `track_running_stats` to be False."
        )
    if mean is not None:
        stats = [spread(s, level).reshape(-1) for s in (mean, var)]
    wide = _fold(spread(x, level), 1)
    found = _call(op, [wide, None, None, *stats, training, momentum, eps])
    single = isinstance(found, _Tensor)
    if training and mean is not None:
        for s, new in zip((mean, var), stats, strict=True):
            value: Any = inner(s, level)
            if new.data_ptr() != value.data_ptr():
                value.copy_(new.reshape(value.shape))
    out = batch(level, _unfold(found if single else found[0], 1, size))
    out = out if weight is None else out * _per_channel(weight, x.ndim)
    out = out if bias is None else out + _per_channel(bias, x.ndim)
    if single:
        return out
    return (out, *(batch(level, f.reshape(size, -1)) if f is not None else None for f in found[1:]))


# ---- losses

_NONE, _MEAN, _SUM = ("none", 0), ("mean", 1), ("sum", 2)


@rule(
    "_mse_loss",
    "_smooth_l1_loss",
    "_huber_loss",
    "_binary_cross_entropy",
    "_binary_cross_entropy_with_logits",
    "_soft_margin_loss",
)
def _elementwise_loss(op: Any, slots: Any, level: Level) -> Any:
    values = list(slots)
    at = op.params.index("reduction")
    reduction = slots[at]
    values[at] = "none" if isinstance(reduction, str) else 0
    out = pointwise(op, values, level)
    if reduction in _MEAN:
        return out.mean()
    return out.sum() if reduction in _SUM else out


@rule("_nll_loss", "_nll_loss2d")
def _nll(op: Any, slots: Any, level: Level) -> Any:
    x, target, weight, ignored, reduction = slots
    one = x.ndim == 1
    v, t = spread(x, level), spread(target, level)
    if inner(weight, level) is not None:
        return _weighted_nll(x, target, weight, ignored, reduction)
    if not one:
        v, t = v.flatten(0, 1), t.flatten(0, 1)
    none = "none" if isinstance(reduction, str) else 0
    each = _call(op, [v, t, weight, ignored, none])
    out = batch(level, each if one else each.unflatten(0, (level.size, x.shape[0])))
    if reduction in _NONE:
        return out
    total = out.sum()
    if reduction in _SUM:
        return total
    counted = target != ignored
    if weight is None:
        return total / counted.sum()
    picked = weight[_T["where"](counted, target, 0)]
    return total / _T["where"](counted, picked, 0).sum()


@rule("_multi_margin_loss")
def _multi_margin(op: Any, slots: Any, level: Level) -> Any:
    """The loss in terms of ops."""
    x, target, weight, p, margin, reduction = slots
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


@rule("renorm")
def _renorm(op: Any, slots: Any, level: Level) -> Any:
    """The slices brought down, in terms of ops."""
    x, p, dim, maxnorm = slots
    others = tuple(i for i in range(x.ndim) if i != dim % x.ndim)
    wide = x.float() if x.dtype.itemsize == 2 else x
    sizes = namespace("linalg")["vector_norm"](wide, p, others, True)
    return (wide * _T["where"](sizes > maxnorm, maxnorm / (sizes + 1e-7), 1.0)).to(x.dtype)


def _weights_of(target: Any, weight: Any, ignored: int, like: Any) -> tuple[Any, Any]:
    """(the class of each place, its weight: 0 where it is ignored)."""
    kept = target != ignored
    classes = _T["where"](kept, target, 0)
    if weight is None:
        return classes, kept.to(like.dtype)
    weight = detach(weight)  # the op has no gradient for it
    picked = weight.gather(0, classes.reshape(-1)).reshape(classes.shape)
    return classes, _T["where"](kept, picked, 0)


def _weighted_nll(x: Any, target: Any, weight: Any, ignored: int, reduction: Any) -> Any:
    """nll_loss in terms of ops: weights that each sample has for itself."""
    dim = 0 if x.ndim == 1 else 1
    classes, weights = _weights_of(target, weight, ignored, x)
    each = -x.gather(dim, classes.unsqueeze(dim)).squeeze(dim) * weights
    if reduction in _NONE:
        return each
    return each.sum() if reduction in _SUM else each.sum() / weights.sum()


# ---- indices


@rule("index_select")
def _index_select(op: Any, slots: Any, level: Level) -> Any:
    x, dim, index = slots
    if inner(index, level) is None and x.ndim:
        return batch(level, _call(op, [inner(x, level), normal(dim, x.ndim) + 1, index]))
    if not x.ndim:
        return x.expand(index.shape) if index.ndim else x.clone()
    dim = normal(dim, x.ndim)
    return x.gather(dim, _index_along(index, x, dim))


def _index_along(index: Any, x: Any, dim: int) -> Any:
    """A row of positions along `dim` as `gather` wants it."""
    index = index.reshape(-1)
    n = index.shape[0]
    row = index.reshape((1,) * dim + (n,) + (1,) * (x.ndim - dim - 1))
    return row.expand((*x.shape[:dim], n, *x.shape[dim + 1 :]))


@rule("index_add", "index_copy", "_fill_tensor", "_fill_number")
def _index_write(op: Any, slots: Any, level: Level) -> Any:
    x, dim, index = slots[:3]
    name = op.entry.name
    if inner(index, level) is None and x.ndim:
        values = list(slots)
        values[0], values[1] = spread(x, level), normal(dim, x.ndim) + 1
        if name == "_fill_tensor":
            if inner(slots[3], level) is not None:
                return x.index_copy(
                    dim, index, slots[3].expand(*_replace(x.shape, dim, len(index)))
                )
        elif isinstance(slots[3], _Tensor):
            values[3] = spread(slots[3], level)
        return batch(level, _call(op, values))
    if not x.ndim:
        one = [a.reshape(1) if isinstance(a, _Tensor) else a for a in slots]
        return _index_write(op, one, level).squeeze(0)
    dim = normal(dim, x.ndim)
    where = _index_along(index, x, dim)
    if name == "_fill_number":
        return x.scatter(dim, where, slots[3])
    source = slots[3].expand(where.shape) if name == "_fill_tensor" else slots[3]
    if name == "index_add":
        return x.scatter_add(dim, where, source if slots[4] == 1 else source * slots[4])
    return x.scatter(dim, where, source)


def _replace(shape: Any, dim: int, n: int) -> tuple[int, ...]:
    sizes = list(shape)
    sizes[dim] = n
    return tuple(sizes)


@rule("_take_along", "_put_along")
def _take_along(op: Any, slots: Any, level: Level) -> Any:
    values = list(slots)
    put = "shape" in op.params
    at = op.params.index("dim")
    n = len(slots[2]) if put else slots[0].ndim
    if n == 0:
        # A number has one place: there it is.
        return batch(level, spread(slots[0], level).clone())
    values[0], values[1] = spread(slots[0], level), spread(slots[1], level)
    if put:
        values[2] = (level.size, *slots[2])
    values[at] = normal(slots[at], n) + 1
    return batch(level, _call(op, values))


@rule("_embedding")
def _embedding(op: Any, slots: Any, level: Level) -> Any:
    weight, indices, padding = slots
    if inner(weight, level) is None:
        return batch(level, _call(op, [weight, inner(indices, level), padding]))
    value, where = inner(weight, level), spread(indices, level)
    rows = weight.shape[0]
    if padding is not None and padding >= 0:
        masked = _T["arange"](rows).eq(padding).unsqueeze(1)
        value = _T["where"](masked, value.detach(), value)
    return batch(level, _call(op, [value.flatten(0, 1), first_rows(where, rows, level), -1]))


@rule("_embedding_transpose")
def _embedding_transpose(op: Any, slots: Any, level: Level) -> Any:
    g, indices, padding, n = slots
    value, where = spread(g, level), spread(indices, level)
    where = first_rows(where, n, level)
    if padding is not None and padding >= 0:
        value = value * spread(indices, level).ne(padding).unsqueeze(-1)
    out = _call(op, [value, where, -1, n * level.size])
    return batch(level, out.unflatten(0, (level.size, n)))


@rule("one_hot")
def _one_hot(op: Any, slots: Any, level: Level) -> Any:
    if slots[1] == -1:
        raise RuntimeError(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive "
            "num_classes argument. Without it the result's shape would depend on the values."
        )
    return batch(level, _call(op, [inner(slots[0], level), slots[1]]))


@rule("_searchsorted")
def _searchsorted(op: Any, slots: Any, level: Level) -> Any:
    values, x = slots[0], slots[1]
    if values.ndim == 1 and inner(values, level) is None and inner(slots[5], level) is None:
        return batch(level, _call(op, [values, inner(x, level), *slots[2:]]))
    number = x.ndim == 0
    rest = [slots[2], slots[3], slots[4], None if slots[5] is None else spread(slots[5], level)]
    v, found = spread(values, level), spread(x, level)
    if number:
        found = found.unsqueeze(1)
    elif values.ndim == 1 and x.ndim > 1:
        found = found.reshape(level.size, -1)
    out = _call(op, [v.contiguous(), found.contiguous(), *rest])
    return batch(level, out.reshape(level.size, *x.shape))


@rule("_isin")
def _isin(op: Any, slots: Any, level: Level) -> Any:
    elements, wanted, invert = slots
    found = (elements.unsqueeze(-1) == wanted.reshape(-1)).any(-1)
    return ~found if invert else found


# ---- written over


@rule("fill", "_overwrite", "_copied")
def _written_over(op: Any, slots: Any, level: Level) -> Any:
    x, value = slots[0], slots[1]
    if not isinstance(value, _Tensor):
        return trailing(op, slots, level)
    v = inner(value, level)
    if v is None:
        return batch(level, _call(op, [spread(x, level), *slots[1:]]))
    return batch(
        level, _padded(v, value.ndim, x.ndim).to(x.dtype).expand(level.size, *x.shape).clone()
    )


@rule("_diagonal_copy")
def _diagonal_copy(op: Any, slots: Any, level: Level) -> Any:
    return slots[0].diagonal(slots[1]).clone()


@rule("_block_diag")
def _block_diag(op: Any, slots: Any, level: Level) -> Any:
    blocks = [b.reshape(1, -1) if b.ndim < 2 else b for b in slots[0]]
    width = sum(b.shape[1] for b in blocks)
    rows, start = [], 0
    for b in blocks:
        rows.append(_T["constant_pad_nd"](b, (start, width - start - b.shape[1])))
        start += b.shape[1]
    return _T["cat"](rows, 0)


@rule("_share")
def _share(op: Any, slots: Any, level: Level) -> Any:
    x, value, dim, keepdim, nan = slots
    dims = range(x.ndim) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    if not x.ndim:
        rows = spread(x, level).unsqueeze(1)
        return batch(level, _call(op, [rows, spread(value, level), (1,), False, nan]).squeeze(1))
    moved = tuple(normal(d, x.ndim) + 1 for d in dims)
    return batch(level, _call(op, [spread(x, level), spread(value, level), moved, keepdim, nan]))


@rule("_nll_transpose")
def _nll_transpose(op: Any, slots: Any, level: Level) -> Any:
    g, target, weight, ignored, reduction, shape = slots
    if not g.ndim and inner(target, level) is None and inner(weight, level) is None:
        one = _T["ones"]((), dtype=g.dtype)
        return _call(op, [one, target, weight, ignored, reduction, shape]) * g
    dim = 0 if len(shape) == 1 else 1
    classes, weights = _weights_of(target, weight, ignored, g)
    if reduction in _MEAN:
        weights = weights / weights.sum()
    zeros = _T["zeros"](shape, dtype=g.dtype)
    return zeros.scatter(dim, classes.unsqueeze(dim), -(g * weights).unsqueeze(dim))


@rule("masked_fill")
def _masked_fill(op: Any, slots: Any, level: Level) -> Any:
    x, mask, value = slots
    if isinstance(value, _Tensor) and inner(value, level) is not None and not value.ndim:
        return _T["where"](mask, value.to(x.dtype), x)
    return pointwise(op, slots, level)
