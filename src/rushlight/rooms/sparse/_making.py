"""Sparse tensors from indices and values, and the conditions that those fulfil."""

from __future__ import annotations

from typing import Any

from .. import _root as rl
from .._base.device import (
    cpu,
    get_default_device,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
)
from .._base.device import layout as _layout
from .._base.outside import np
from .._base.size import Size
from .._core import Tensor, kernels
from ._form import (
    BLOCKED,
    BY_ROWS,
    COMPRESSED,
    LABELS,
    NAMES,
    Parts,
    make,
    of_parts,
    parts,
    stay_here,
)

__all__ = [
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
]


class _Checks:
    """Whether new sparse tensors are checked where the call does not say."""

    on = False


def _values(values: object, dtype: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values if dtype is None else values.to(dtype)
    return rl.as_tensor(values, dtype=dtype, device=cpu)


def _indices(indices: object, keep: bool = False) -> Tensor:
    made = indices if isinstance(indices, Tensor) else rl.as_tensor(indices, device=cpu)
    if parts(made) is not None:
        raise RuntimeError("expected the indices of a sparse tensor to be a dense tensor")
    if made.dtype is not rl.int64 and not (keep and made.dtype is rl.int32):
        made = made.to(rl.int64)
    return made.detach()


def _stay_here(name: str, given: list[object], device: object) -> None:
    """Raise for what is not on the CPU. Without a device values say where the tensor is, and where
    they are no tensor it is on the default device."""
    if device is None and not isinstance(given[-1], Tensor):
        device = get_default_device()
    stay_here(name, *given, device=device)


def _finished(made: Any, device: object, requires_grad: bool, checks: bool | None) -> Tensor:
    if checks or (checks is None and _Checks.on):
        validate(parts(made))
    if requires_grad:
        if not made.dtype.is_differentiable:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        made.requires_grad_()
    return made


def sparse_coo_tensor(
    *args: Any,
    size: Any = None,
    dtype: Any = None,
    device: object = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    pin_memory: bool = False,
    indices: object = None,
    values: object = None,
) -> Tensor:
    """A sparse tensor in coordinate form, of indices (one column for each value) and values.

    sparse_coo_tensor(indices, values, size=None), or sparse_coo_tensor(size) without values.
    Values may have more dimensions, which are dense. Indices that occur more than once count by
    their sum.

    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    tensor(indices=tensor([[0, 1],
                           [2, 0]]),
           values=tensor([3., 4.]),
           size=(2, 3), nnz=2, layout=torch.sparse_coo)
    """
    if len(args) == 3 and type(args[0]) is type(args[1]) is Tensor and dtype is device is None:
        i, v, size = args
        shape: Any = kernels.sparse_size(i, v, size)
        if shape is not NotImplemented:  # the everyday call
            p = Parts(
                sparse_coo, shape, (i.detach(),), v.detach(), bool(is_coalesced) or len(v) < 2
            )
            made = of_parts(p, v, "SparseCooTensorWithDimsAndTensorsBackward0")
            return _finished(made, device, requires_grad, check_invariants)
    given = list(args)
    if indices is not None:
        given.insert(0, indices)
    if values is not None:
        given.insert(1, values)
    _stay_here("sparse_coo_tensor", given[:2], device)
    if len(given) == 3:
        size = given.pop()
    if not given and size is not None:
        given, size = [size], None
    if len(given) == 1 and size is None:
        shape = Size(given[0])
        if any(n < 0 for n in shape):
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
            )
        kind = dtype or rl.get_default_dtype()
        empty = (
            rl.empty((len(shape), 0), dtype=rl.int64, device=cpu),
            rl.empty((0,), dtype=kind, device=cpu),
        )
        made = make(sparse_coo, shape, empty[:1], empty[1], True)
        return _finished(made, device, requires_grad, check_invariants)
    if len(given) != 2:
        raise TypeError(
            "sparse_coo_tensor() received an invalid combination of arguments: it takes (indices, "
            f"values), (indices, values, size) or (size), but got {len(args)} arguments"
        )
    i, v = _indices(given[0]), _values(given[1], dtype)
    if v.ndim == 0 and i.ndim == 2:
        v = v.reshape(1)
    if i.ndim != 2 and not (i.ndim == 1 and not i.numel()):
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(i.shape)}")
    if i.ndim == 1:
        i = i.reshape(0, 0)
    n, nnz = i.shape
    if nnz != len(v):
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from "
            f"values: {len(v)}"
        )
    if size is None:
        low = i._array.min(1) if nnz else np.zeros(n, np.int64)
        for d, least in enumerate(low.tolist()):
            if least < 0:
                raise RuntimeError(f"found negative index {least} for dim {d}")
        high = i._array.max(1) + 1 if nnz else np.zeros(n, np.int64)
        size = (*high.tolist(), *v.shape[1:])
    shape = size if type(size) is Size else Size(size)
    if len(shape) != n + v.ndim - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
            f"sparse_dim = {n}, dense_dim = {v.ndim - 1}"
        )
    if v.ndim > 1 and shape[n:] != v.shape[1:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[nnz, *shape[n:]]}, got {list(v.shape)}"
        )
    p = Parts(sparse_coo, shape, (i,), v.detach(), bool(is_coalesced) or nnz < 2)
    made = of_parts(p, v, "SparseCooTensorWithDimsAndTensorsBackward0")
    return _finished(made, device, requires_grad, check_invariants)


def _compressed_size(layout: _layout, starts: Tensor, plain: Tensor, values: Tensor) -> Size:
    b = starts.ndim - 1
    block = 2 if layout in BLOCKED else 0
    if values.ndim <= b + block:
        raise RuntimeError(
            "values must have dimensionality > sum of batch and block dimensionalities (="
            f"{b} + {block}) but got {values.ndim}"
        )
    rows, columns = values.shape[b + 1 : b + 3] if block else (1, 1)
    groups = starts.shape[-1] - 1
    others = int(plain._array.max()) + 1 if plain.numel() else 0
    pair = (groups * rows, others * columns)
    if layout not in BY_ROWS:
        pair = (others * rows, groups * columns)
    return Size((*starts.shape[:-1], *pair, *values.shape[b + 1 + block :]))


def _compressed(
    layout: _layout,
    starts: object,
    plain: object,
    values: object,
    size: Any,
    dtype: object,
    device: object,
    requires_grad: bool,
    checks: bool | None,
) -> Tensor:
    _stay_here("sparse_compressed_tensor", [starts, plain, values], device)
    a, b, v = _indices(starts, True), _indices(plain, True), _values(values, dtype)
    block = 2 if layout in BLOCKED else 0
    # Numbers of dimensions that do not fit are always refused; the rest is an optional check.
    if a.ndim < 1:
        raise RuntimeError(f"{LABELS[layout][0]} must have dimensionality >= 1 but got {a.ndim}")
    if b.ndim != a.ndim:
        raise RuntimeError(
            f"{LABELS[layout][0]} and {LABELS[layout][1]} dimensionalities must be equal but got "
            f"{a.ndim} and {b.ndim}, respectively"
        )
    if v.ndim < a.ndim + block:
        raise RuntimeError(
            "values must have dimensionality > sum of batch and block dimensionalities (="
            f"{a.ndim - 1} + {block}) but got {v.ndim}"
        )
    if size is None:
        size = _compressed_size(layout, a, b, v)
    shape = Size(size)
    if len(shape) != v.ndim + 1 - block:
        raise RuntimeError(
            "dimensionality of values must be equal to sum of batch, block and dense "
            f"dimensionalities and 1: tensor has {len(shape)} dimensions, values have {v.ndim}"
        )
    p = Parts(layout, shape, (a, b), v.detach())
    if (
        checks
        or (checks is None and _Checks.on)
        or b.shape != v.shape[: b.ndim]
        or a.shape[:-1] != b.shape[:-1]
    ):
        validate(p)
    made = of_parts(p, v, "SparseCompressedTensorBackward0")
    return _finished(made, device, requires_grad, False)


def sparse_compressed_tensor(
    compressed_indices: object,
    plain_indices: object,
    values: Tensor,
    size: object = None,
    *,
    dtype: object = None,
    layout: Any = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor of one of the compressed layouts.

    compressed_indices: where each row (or column) of values begins. plain_indices: the columns
    (or rows) of the values. layout: sparse_csr, sparse_csc, sparse_bsr or sparse_bsc.

    >>> layout = torch.sparse_csc
    >>> x = torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [1.0, 2.0], layout=layout)
    >>> x.to_dense()
    tensor([[0., 2.],
            [1., 0.]])
    """
    if layout not in COMPRESSED:
        given = "none" if layout is None else NAMES.get(layout, "Strided")
        raise RuntimeError(
            f"sparse_compressed_tensor expected sparse compressed tensor layout but got {given}"
        )
    return _compressed(
        layout,
        compressed_indices,
        plain_indices,
        values,
        size,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


def sparse_csr_tensor(
    crow_indices: object,
    col_indices: object,
    values: object,
    size: object = None,
    *,
    dtype: object = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor in compressed rows.

    Row i has the values from crow_indices[i] to crow_indices[i + 1], in these col_indices.

    >>> torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0]).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    how = size, dtype, device, requires_grad, check_invariants
    return _compressed(sparse_csr, crow_indices, col_indices, values, *how)


def sparse_csc_tensor(
    ccol_indices: object,
    row_indices: object,
    values: Tensor,
    size: object = None,
    *,
    dtype: object = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """A sparse tensor in compressed columns.

    >>> torch.sparse_csc_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0]).to_dense()
    tensor([[0., 4.],
            [0., 0.],
            [3., 5.]])
    """
    how = size, dtype, device, requires_grad, check_invariants
    return _compressed(sparse_csc, ccol_indices, row_indices, values, *how)


def sparse_bsr_tensor(
    crow_indices: object,
    col_indices: object,
    values: Tensor,
    size: object = None,
    *,
    dtype: object = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor in compressed rows of blocks: each value is a matrix.

    >>> torch.sparse_bsr_tensor([0, 1], [1], [[[1.0, 2.0], [3.0, 4.0]]]).to_dense()
    tensor([[0., 0., 1., 2.],
            [0., 0., 3., 4.]])
    """
    how = size, dtype, device, requires_grad, check_invariants
    return _compressed(sparse_bsr, crow_indices, col_indices, values, *how)


def sparse_bsc_tensor(
    ccol_indices: object,
    row_indices: object,
    values: object,
    size: object = None,
    *,
    dtype: object = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor in compressed columns of blocks: each value is a matrix.

    >>> torch.sparse_bsc_tensor([0, 1], [1], [[[1.0, 2.0], [3.0, 4.0]]]).to_dense()
    tensor([[0., 0.],
            [0., 0.],
            [1., 2.],
            [3., 4.]])
    """
    how = size, dtype, device, requires_grad, check_invariants
    return _compressed(sparse_bsc, ccol_indices, row_indices, values, *how)


# ---- what must hold


def validate(p: Parts) -> None:
    """Raise for the first condition of its layout that a sparse tensor does not fulfil."""
    (_check_coo if p.layout is sparse_coo else _check_compressed)(p)


def _check_coo(p: Parts) -> None:
    i = p.indices[0]._array
    for d, n in enumerate(p.outer):
        if not i.shape[1]:
            break
        low, high = int(i[d].min()), int(i[d].max())
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
        if high >= n:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {n} but found index "
                f"{high}"
            )
    if p.coalesced and (np.diff(p.linear()) <= 0).any():
        raise RuntimeError(
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
        )


def _check_compressed(p: Parts) -> None:
    starts, plain = p.indices
    a, b = LABELS[p.layout]
    n_batch, values = p.n_batch, p.value
    by_rows = p.layout in BY_ROWS
    if starts.dtype is not plain.dtype:
        raise RuntimeError(
            f"{a} and {b} must have the same dtype, bot got {starts.dtype.scalar_name} and "
            f"{plain.dtype.scalar_name}, respectively"
        )
    if not starts.shape[:-1] == plain.shape[:-1] == values.shape[:n_batch] == p.shape[:n_batch]:
        raise RuntimeError(
            f"all batch dimensions of {a} (={list(starts.shape[:-1])}), {b} "
            f"(={list(plain.shape[:-1])}), and values (={list(values.shape[:n_batch])}) must be "
            f"equal to tensor batch dimensions (={list(p.shape[:n_batch])})"
        )
    nnz = int(values.shape[n_batch])
    for d in range(2):
        size, block = p.shape[n_batch + d], p.block[d]
        if block == 0 or size % block:
            raise RuntimeError(
                f"tensor shape[{n_batch + d}] (={size}) must be divisible with blocksize[{d}] "
                f"(={block}) as defined by values shape"
            )
    groups, others = (p.outer[n_batch + d] for d in ((0, 1) if by_rows else (1, 0)))
    what = ("row", "column") if by_rows else ("column", "row")
    of_blocks = " blocks" if p.layout in BLOCKED else ""
    if starts.shape[-1] != groups + 1:
        name = f"{what[0]} blocks" if of_blocks else f"{what[0]}s"
        raise RuntimeError(
            f"{a}.shape[-1] must be equal to the number of {name} + 1 (={groups + 1}), but got "
            f"{starts.shape[-1]}"
        )
    if plain.shape[-1] != nnz:
        raise RuntimeError(
            f"{b}.shape[-1] must be equal to nnz (={nnz}) as defined by "
            f"values.shape[{n_batch}], but got {plain.shape[-1]}"
        )
    s, q = (np.asarray(t._array, np.int64) for t in p.indices)
    if (s[..., 0] != 0).any():
        raise RuntimeError(f"`{a}[..., 0] == 0` is not satisfied.")
    if (s[..., -1] != nnz).any():
        raise RuntimeError(f"`{a}[..., -1] == nnz` is not satisfied.")
    short = "ncols" if by_rows else "nrows"
    if q.size and (q.min() < 0 or q.max() >= others):
        raise RuntimeError(f"`0 <= {b} < {short}{of_blocks and '_blocks'}` is not satisfied.")
    counts = np.diff(s, axis=-1)
    short = "nrows" if by_rows else "ncols"
    sorted_ = (
        f"`{b}[..., {a}[..., i - 1]:{a}[..., i]] for all i = 1, ..., {short} are sorted and "
        "distinct along the last dimension values` is not satisfied."
    )
    if (counts < 0).any():
        raise RuntimeError(sorted_)
    if (counts > others).any():
        name = "ncols" if by_rows else "nrows"
        raise RuntimeError(f"`0 <= {a}[..., 1:] - {a}[..., :-1] <= {name}` is not satisfied.")
    order = p.places() if by_rows else p.places()[[*range(n_batch), n_batch + 1, n_batch]]
    sizes = p.outer if by_rows else (*p.outer[:n_batch], p.outer[-1], p.outer[-2])
    numbers = np.zeros(order.shape[1], np.int64)
    for row, size in zip(order, sizes, strict=True):
        numbers = numbers * size + row
    if (np.diff(numbers) <= 0).any():
        raise RuntimeError(sorted_)


def _rebuild_sparse_tensor(layout: Any, data: Any, check: bool = True) -> Tensor:
    """A sparse tensor from a pickle. check: whether the indices are checked."""
    tensors = 2 if layout is sparse_coo else 3
    if len(data) < tensors + 1 or any(type(t) is not Tensor for t in data[:tensors]):
        raise TypeError("its indices and values are no tensors")
    if layout is sparse_coo:
        indices, values, size, *coalesced = data
        made = sparse_coo_tensor(indices, values, size, check_invariants=check)
        if coalesced:
            p = parts(made)
            p.coalesced = bool(coalesced[0])
            if check:
                validate(p)
        return made
    starts, plain, values, size = data
    return sparse_compressed_tensor(
        starts, plain, values, size, layout=layout, check_invariants=check
    )


_rebuild_sparse_tensor.__module__ = "rushlight._utils"  # torch's place for the function
