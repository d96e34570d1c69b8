"""Rows of a table by number: embedding and its relatives."""

from __future__ import annotations

import functools
from typing import Any

from ... import _core
from ..._base.dtypes import int32, int64
from ..._base.errors import warn
from ..._base.late import late
from ..._base.outside import np
from ..._core import Op
from ..._devices import of
from ..._levels.running import answered, state
from ..making.creation import arange, zeros, zeros_like
from ..making.from_data import tensor
from ..table.arrays import Array, elements, rounded, scalar_name, unshared, widened
from ..table.kinds import composite, constant, general, linear
from ..table.reference import alias
from ..table.signature import Tensor

_kernels = _core.kernels


def _check_indices(indices: Array, name: str) -> None:
    if indices.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            "Long, Int; "
            f"but got torch.{scalar_name(indices)}Tensor instead (while checking arguments for "
            f"{name})"
        )


def _check_range(indices: Array, n: int) -> None:
    if not indices.size:
        return
    low, high = _kernels.amin(indices), _kernels.amax(indices)
    if low is NotImplemented or high is NotImplemented:
        low, high = indices.min(), indices.max()
    if low < 0 or high >= n:
        wrong = indices[(indices < 0) | (indices >= n)].flat[0]
        raise IndexError(
            f"index out of range in self\nIndex {wrong} is not in the table's range of 0 to "
            f"{n - 1}."
        )


def _embedding(weight: Array, indices: Array, padding_idx: int) -> Array:
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices(indices, "embedding")
    _check_range(indices, weight.shape[0])
    return weight[unshared(indices)]


def _embedding_grad(g: Array, indices: Array, padding_idx: int, n: int) -> Array:
    """The sum of the gradients of each row of the table."""
    wide = widened(g).reshape(indices.size, g.shape[-1])
    flat = unshared(indices).reshape(-1)
    out = np.zeros((n, g.shape[-1]), wide.dtype)
    if padding_idx >= 0:
        kept = flat != padding_idx
        flat, wide = flat[kept], wide[kept]
    if flat.size:
        # Rows of equal number stand together, then each run is summed.
        order = np.argsort(flat, kind="stable")
        numbers = flat[order]
        starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
        out[numbers[starts]] = np.add.reduceat(wide[order], starts, axis=0)
    return rounded(out, g)


_embedding_op = linear(
    "_embedding(weight: Tensor, indices: Tensor, padding_idx: Any)",
    _embedding,
    native=_kernels.embedding,
    transpose={
        "weight": lambda g, indices, padding_idx, weight_shape: _embedding_transpose(
            g, indices, padding_idx, weight_shape[0]
        )
    },
    method=False,
    samples=lambda make: [(make(4, 3), make(2, 2, kind="int", low=0, high=4), -1)],
    keeps="rows",
    formula={"weight": "rows of g added up at indices, 0 elsewhere"},
    stored="all",
    doc="The rows of weight that indices name.",
)
_embedding_transpose: Op = linear(
    "_embedding_transpose(input: Tensor, indices: Tensor, padding_idx: Any, n: Any)",
    _embedding_grad,
    native=_kernels.embedding_backward,
    transpose={"input": lambda g, indices, padding_idx: _embedding_again(g, indices, padding_idx)},
    node="EmbeddingDenseBackwardBackward0",
    method=False,
    stored="all",
    doc="The transpose of picking rows: their sum by number; row padding_idx gets nothing.",
)


def _embedding_again(g: Tensor, indices: Tensor, padding_idx: int) -> Tensor:
    rows = _embedding_op(g, indices, -1)
    return (
        rows if padding_idx < 0 else rows.masked_fill((indices == padding_idx).unsqueeze(-1), 0.0)
    )


def renormalize(weight: Any, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Shorten, in place, the rows that are named and longer than max_norm."""
    _core.check_in_place(weight, False)
    if weight.device.type not in ("cpu", "meta"):
        _renormalize_there(weight.detach(), indices.reshape(-1).long(), max_norm, norm_type)
        return
    array = _core.to_write(weight)
    rows = np.unique(indices._array)
    _check_range(rows, array.shape[0])
    sizes = np.linalg.norm(widened(array[rows]), norm_type, axis=1)
    long = sizes > max_norm
    factor = max_norm / (sizes[long] + 1e-7)
    array[rows[long]] = (widened(array[rows[long]]) * factor[:, None]).astype(array.dtype)
    _core.write_values(weight, array)
    _core.bump_versions([weight])


def _renormalize_there(table: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """The same in tensor operations. A row that is named often is written as often, alike."""
    rows = table.index_select(0, indices)
    wide = rows.float() if rows.element_size() == 2 else rows
    sizes = wide.norm(norm_type, 1, keepdim=True)
    shorter = wide * (max_norm / (sizes + 1e-7))
    table.index_copy_(0, indices, shorter.where(sizes > max_norm, wide).to(table.dtype))


def _row(padding_idx: int | None, n: int) -> int:
    if padding_idx is None:
        return -1
    if not -n <= padding_idx < n:
        raise AssertionError(
            f"Padding_idx must be within num_embeddings\nIt is {padding_idx}, the table has {n} "
            "rows."
        )
    return padding_idx % n


_Unchecked = Any  # `weight` comes first in torch.embedding, which checks its type


@composite(where="nn", remembers=True)
def embedding(
    input: Tensor,
    weight: _Unchecked,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of weight that input names; row padding_idx gets no gradient."""
    if padding_idx is not None:
        padding_idx = _row(padding_idx, weight.shape[0])
    if max_norm is not None:
        renormalize(weight, input, max_norm, norm_type)
    padding_idx = -1 if padding_idx is None else padding_idx
    if sparse and _records(weight):
        return _with_sparse_gradient(weight, input, padding_idx, scale_grad_by_freq)
    op = _embedding_scaled if scale_grad_by_freq else _embedding_op
    if sparse or max_norm is not None:
        return op(weight, input, padding_idx)
    return _core.remember(op, weight, input, padding_idx)


def _records(weight: Tensor) -> bool:
    """Whether a gradient is wanted outside of transforms, in which gradients are dense."""
    return (
        weight.requires_grad
        and _core.is_grad_enabled()
        and not state.stack
        and weight._wrapped is None
    )


def _with_sparse_gradient(weight: Tensor, indices: Tensor, padding_idx: int, scaled: bool) -> Any:
    return late.sparse_rows(weight, indices, padding_idx, scaled)


def _embedding_scaled_grad(g: Array, indices: Array, padding_idx: int, n: int) -> Array:
    counts = np.bincount(np.asarray(indices.reshape(-1), np.intp), minlength=n)
    share = widened(g) / counts[indices][..., None].astype(widened(g).dtype)
    sums = _kernels.embedding_backward(share, indices, padding_idx, n)
    if sums is NotImplemented:
        sums = _embedding_grad(share, indices, padding_idx, n)
    return rounded(sums, g)


_embedding_scaled = linear(
    "_embedding_scaled(weight: Tensor, indices: Tensor, padding_idx: Any)",
    _embedding,
    native=_kernels.embedding,
    transpose={
        "weight": lambda g, indices, padding_idx, weight_shape: _embedding_scaled_transpose(
            g, indices, padding_idx, weight_shape[0]
        )
    },
    node="EmbeddingBackward0",
    method=False,
    formula={"weight": "rows of g added up at indices / their count, 0 elsewhere"},
    doc="`embedding` whose gradient is the mean, not the sum, over the uses of a row.",
)
_embedding_scaled_transpose: Op = constant(
    "_embedding_scaled_transpose(input: Tensor, indices: Tensor, padding_idx: Any, n: Any)",
    _embedding_scaled_grad,
    method=False,
    doc="The means of gradients by row number.",
)


def _torch_embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of weight that indices name."""
    if sparse and _records(weight):
        return _with_sparse_gradient(weight, indices, padding_idx, scale_grad_by_freq)
    op = _embedding_scaled if scale_grad_by_freq else _embedding_op
    return op(weight, indices, padding_idx)


alias("embedding", _torch_embedding, method=False)


def _bags(indices: Tensor, offsets: Tensor, padding: int) -> tuple[Tensor, Tensor, Tensor]:
    """The bag of each index, whether the index counts, and how many of each bag do."""
    places = arange(indices.shape[0], device=indices.device)
    bags = (offsets.unsqueeze(-1) <= places).sum(0) - 1
    kept = indices != padding
    counts = zeros_like(offsets).index_add(0, bags, kept.to(offsets.dtype))
    return bags, kept, counts.clamp_min(1)


def _bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale: Tensor | None,
    mean: bool,
    padding: int,
) -> Tensor:
    bags, kept, counts = _bags(indices, offsets, padding)
    rows = _embedding_op(weight, indices, -1)
    if scale is not None:
        rows = rows * scale.unsqueeze(-1)
    rows = rows.masked_fill(~kept.unsqueeze(-1), 0.0)
    sums = _embedding_transpose(rows, bags, -1, offsets.shape[0])
    return sums / counts.to(sums.dtype).unsqueeze(-1) if mean else sums


def _bag_vjp(
    g: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale: Tensor | None,
    mean: bool,
    padding: int,
    needs: tuple[int, ...],
) -> tuple[Tensor | None, ...]:
    bags, kept, counts = _bags(indices, offsets, padding)
    if mean:
        g = g / counts.to(g.dtype).unsqueeze(-1)
    each = _embedding_op(g, bags, -1).masked_fill(~kept.unsqueeze(-1), 0.0)
    scaled = each if scale is None else each * scale.conj().unsqueeze(-1)
    to_weight = _embedding_transpose(scaled, indices, -1, weight.shape[0]) if needs[0] else None
    to_scale = (each * _embedding_op(weight, indices, -1).conj()).sum(-1) if needs[1] else None
    return to_weight, to_scale


_embedding_bag_op = general(
    "_embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale: Tensor | None, "
    "mean: Any, padding: Any)",
    is_=_bag,
    native=_kernels.embedding_bag,
    vjp={"weight, scale": _bag_vjp},
    backward=(
        _kernels.embedding_bag_backward,
        "g weight indices offsets scale mean padding needs",
    ),
    method=False,
    samples=lambda make: [
        (make(4, 3), make(5, kind="int", low=0, high=4), tensor([0, 2, 2]), *how)
        for how in ((None, True, 1), (make(5), False, -1))
    ],
    formula={"weight": "rows of g added up at indices, 0 elsewhere", "scale": "g · rows"},
    doc="The sums (means) of the rows of bags.",
)


@composite(where="nn")
@answered("by_element")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows in each bag of indices."""
    if weight.dtype.is_floating_point is False and input.dtype.is_floating_point:
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`.",
        )
        input, weight = weight, input
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
            "Half, BFloat16, "
            f"Float, Double; but got torch.{weight.dtype.scalar_name}Tensor instead (while "
            "checking arguments for "
            "embedding_bag)"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError(
            "max mode does not support scaling the gradient by the frequency"
            if scale_grad_by_freq
            else "max mode does not support sparse weights"
        )
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            "for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    plain = mode != "max" and not sparse and not scale_grad_by_freq and not include_last_offset
    plain = plain and weight.ndim == 2 and _plain(input)
    plainly = mode == "max" or padding_idx is not None or weight.dtype.name == "float64"
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                "of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        n, length = input.shape
        indices = input.reshape(-1)
        offsets = _starts(n, length)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.ndim == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        indices = input
        if include_last_offset:  # what lies behind is in no bag; in torch's plain loop in the last
            last = int(_seen(offsets)[-1])
            if not 0 <= last <= len(indices):
                raise RuntimeError(
                    f"offsets[-1] can not be greater than input's length {len(indices)} but got "
                    f"offsets[-1] of {last}"
                )
            offsets = offsets[:-1]
            if not plainly:
                indices = indices[:last]
                if per_sample_weights is not None:
                    per_sample_weights = per_sample_weights[:last]
    else:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if offsets.numel() and not offsets._on_meta and (first := int(offsets[0])) != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            "position 0. "
            f"However, got {first}"
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            f"#1 'per_sample_weights'; but type {weight.type()} does not equal "
            f"{per_sample_weights.type()} (while checking arguments for embedding_bag)"
        )
    n = weight.shape[0]
    if padding_idx is not None and not -n <= padding_idx < n:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-n} through {n - 1}, but got "
            f"{padding_idx}"
        )
    if plain and _kernels.bags_in_order(indices, offsets, n) is True:
        padding = -1 if padding_idx is None else _row(padding_idx, n)
        if max_norm is not None:
            renormalize(weight, indices, max_norm, norm_type)
        how = per_sample_weights, mode == "mean", padding
        return _embedding_bag_op(weight, indices, offsets, *how)
    starts = _seen(offsets).astype(np.int64)
    if max_norm is None and indices.device.type == "cpu":
        _check_bags(elements(indices), n, plainly)
    total = indices.shape[0]
    ends = np.append(starts[1:], total)
    if (ends < starts).any():
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {total} but got offsets[-1] of "
            f"{starts[-1]}"
            if starts[-1] > total
            else f"offsets have to rise from 0, but got {starts.tolist()}"
        )
    rows = embedding(indices, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    bag = np.repeat(np.arange(starts.size, dtype=np.int64), np.asarray(ends - starts, np.intp))
    kept = np.ones(total, bool)
    if padding_idx is not None:
        kept = _seen(indices) != _row(padding_idx, weight.shape[0])
    if mode == "max":
        return _bag_max(rows, bag, kept, starts.size)
    if not kept.all():
        rows = rows.masked_fill(of(rows).tensor(~kept[:, None]), 0.0)
    sums = _embedding_transpose(rows, of(rows).tensor(bag), -1, starts.size)
    if mode == "mean":
        counts = np.maximum(np.bincount(np.asarray(bag[kept], np.intp), minlength=starts.size), 1)
        sums = sums / of(sums).tensor(counts.astype(weight.dtype.numpy)[:, None])
    return sums


def _plain(indices: Tensor) -> bool:
    """Whether a kernel can look at them."""
    return indices.device.type == "cpu" and indices.dtype in (int32, int64)


@functools.lru_cache(maxsize=64)
def _starts(n: int, length: int) -> Tensor:
    return arange(0, n * length, length) if length else zeros(n, dtype=int64)


def _seen(t: Tensor) -> Array:
    """The elements of a tensor; on meta, where there are none, an array of its shape and type."""
    return t._seen if t._on_meta else elements(t)


def _check_bags(indices: Array, n: int, plainly: bool) -> None:
    wrong = np.flatnonzero((indices < 0) | (indices >= n))
    if wrong.size and indices.dtype.kind in "iu":
        i = int(wrong[0])
        raise RuntimeError(
            "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
            f"{indices[i]}"
            if plainly
            else f"Index {i} of input takes value {indices[i]} which is not in the valid range "
            f"[0, {n})"
        )


def _bag_max(rows: Tensor, bag: Array, kept: Array, n: int) -> Tensor:
    """The largest element of each column in each bag; an empty bag gives 0."""
    values = np.ascontiguousarray(_seen(rows))
    best = _kernels.largest_in_bags(widened(values), bag, kept, n)
    empty = best < 0
    if not len(values):
        return rows.new_zeros(best.shape) + rows.sum()  # the zero keeps the history
    picked = rows.gather(0, of(rows).tensor(np.where(empty, 0, best)))
    return picked.masked_fill(of(rows).tensor(empty), 0.0)


def _one_hot(indices: Array, n: int) -> Array:
    if indices.dtype != np.int64:
        raise RuntimeError(
            "one_hot is only applicable to index tensor of type LongTensor.\n"
            f"It is of type {scalar_name(indices)}: use `.long()`."
        )
    if indices.size == 0:
        if n <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return np.zeros((*indices.shape, n), np.int64)
    if indices.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if n == -1:
        n = int(indices.max()) + 1
    elif indices.max() >= n:
        raise RuntimeError(
            f"Class values must be smaller than num_classes.\nThe largest is {indices.max()}, "
            f"num_classes is {n}."
        )
    out = np.zeros((*indices.shape, n), np.int64)
    np.put_along_axis(out, indices[..., None], 1, -1)
    return out


one_hot = constant(
    "one_hot(input: Tensor, num_classes: int = -1)",
    _one_hot,
    native=_kernels.one_hot,
    where="nn",
    samples=lambda make: [(make(3, kind="int", low=0, high=4), 5)],
    doc="1 at the place that each integer names, 0 elsewhere.",
)

__all__ = ["embedding", "embedding_bag", "one_hot"]
