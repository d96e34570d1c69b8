"""The loss of a linear layer's logits, and products of matrices in groups."""

from __future__ import annotations

from typing import Any

from ..._base.dtypes import int32
from ..layout.joining import cat, stack
from ..matrix.products import linear, matmul
from ..table.kinds import composite
from ..table.signature import Tensor, dtype
from .class_loss import cross_entropy


@composite(where="nn")
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """The cross entropy of linear(input, linear_weight) with target.

    input: (N, in) or (in); linear_weight: (C, in), or (C, d1, ..., in) for several labels a sample.
    options: how PyTorch saves memory; the value is the same.
    """
    if linear_weight.ndim < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}"
        )
    shape = tuple(linear_weight.shape)
    if len(shape) > 2 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {shape} requires batched input, "
            f"(N, {shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight.reshape(-1, shape[-1]), bias)
    logits = logits.reshape(*input.shape[:-1], *shape[:-1])
    how: dict[str, Any] = {"reduction": reduction, "label_smoothing": label_smoothing}
    if ignore_index is not None:
        how["ignore_index"] = ignore_index
    return cross_entropy(logits, target, weight, **how)


@composite(where="nn")
def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: dtype | None = None,
) -> Tensor:
    """Products of matrices in groups: where a matrix is 2-D, offs (int32) says where each group
    ends,
    in the rows of mat_a, the columns of mat_b, or what both share."""
    a, b = mat_a.ndim, mat_b.ndim
    for name, n in (("mat_a", a), ("mat_b", b)):
        if n not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if (a == 3 and b == 3) is (offs is not None):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if offs is None:
        if mat_a.shape[0] != mat_b.shape[0]:
            raise RuntimeError("batched dimension has to match")
        result = matmul(mat_a, mat_b)
        return result if out_dtype is None else result.to(out_dtype)
    if offs.dtype is not int32:
        raise RuntimeError("Offsets have to be int32")
    groups = mat_a.shape[0] if a == 3 else mat_b.shape[0] if b == 3 else offs.numel()
    if offs.numel() != groups:
        raise RuntimeError("matrix batch sizes have to match")
    ends = offs.tolist()
    cuts = list(zip([0, *ends], ends, strict=False))
    if a == 2 and b == 2:
        parts = [matmul(mat_a[:, i:j], mat_b[i:j]) for i, j in cuts]
        result = stack(parts)
    elif a == 2:
        parts = [matmul(mat_a[i:j], mat_b[n]) for n, (i, j) in enumerate(cuts)]
        rest = mat_a.shape[0] - ends[-1]
        result = cat([*parts, parts[0].new_zeros(rest, mat_b.shape[2])])
    else:
        parts = [matmul(mat_a[n], mat_b[:, i:j]) for n, (i, j) in enumerate(cuts)]
        rest = mat_b.shape[1] - ends[-1]
        result = cat([*parts, parts[0].new_zeros(mat_a.shape[1], rest)], 1)
    return result if out_dtype is None else result.to(out_dtype)
