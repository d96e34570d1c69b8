"""vmap: rules of products, brought to one batched matmul, and of convolutions, to one with more
groups.

What is written with `x.sum()` and the like runs on the wrapped tensors, so that it means one
element of the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _core
from ..._core import Op, Tensor
from ..._levels.batching import batched, batching, inner, padded, wrap_all
from ..making.creation import zeros
from .factors import solve_ex
from .fused_products import addbmm, addmm, addmv, addr, baddbmm
from .matrix_functions import _least_squares_op
from .norms import _cdist_op
from .products import _linear_bias, bmm, dot, linear, matmul, mm, mv, vdot, viewed_product
from .solving import solve

if TYPE_CHECKING:
    from ..._levels.batch import BatchLevel

__all__: list[str] = []

_call = _core.call_op


# ---- products


@batching(matmul, viewed_product, mm, bmm, mv, dot)
def _matmul(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    a, b = args[0], args[1]
    na, nb = a.ndim, b.ndim
    va, vb = inner(a, level), inner(b, level)
    _check_product(op, a, b)
    if not na or not nb:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {na}D and {nb}D"
        )
    if vb is None and nb <= 2:
        return level.wrap(matmul(va, b))
    if va is None and na <= 2 and nb == 1:
        return level.wrap(matmul(vb, a.transpose(0, 1) if na == 2 else a))
    if va is None and na <= 2 and nb == 2:
        return level.wrap(matmul(a, vb))
    left, right = batched(a, level), batched(b, level)
    if na == 1:
        left = left.unsqueeze(1)
    if nb == 1:
        right = right.unsqueeze(2)
    n = max(na, nb, 2)
    out = matmul(padded(left, max(na, 2), n), padded(right, max(nb, 2), n))
    if nb == 1:
        out = out.squeeze(-1)
    if na == 1:
        out = out.squeeze(-1 if nb == 1 else -2)
    return level.wrap(out)


_NDIMS = {mm: (2, 2), bmm: (3, 3), mv: (2, 1), dot: (1, 1)}


def _check_product(op: Op, a: Tensor, b: Tensor) -> None:
    """The op's own words where the shapes do not fit."""
    ndims = _NDIMS.get(op)
    if (ndims is not None and (a.ndim, b.ndim) != ndims) or (op is dot and a.shape != b.shape):
        op(_plain_like(a), _plain_like(b))


def _plain_like(t: Tensor) -> Any:
    return zeros(tuple(t.shape), dtype=t.dtype, device=t.device)


@batching(vdot)
def _vdot(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    return (args[0].conj() * args[1]).sum()


@batching(linear, _linear_bias)
def _linear(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, weight, bias = args
    vx = inner(x, level)
    if vx is not None and inner(weight, level) is None and inner(bias, level) is None:
        return level.wrap(_call(op, [vx, weight, bias]))
    out = matmul(x, weight.t())
    return out if bias is None else out + bias


@batching(addmm, addmv, baddbmm)
def _add_product(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, a, b, beta, alpha = args
    product = matmul(a, b)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (x if beta == 1 else x * beta)


@batching(addr)
def _addr(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, a, b, beta, alpha = args
    return x * beta + a.unsqueeze(1) * b * alpha


@batching(addbmm)
def _addbmm(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, a, b, beta, alpha = args
    return x * beta + matmul(a, b).sum(0) * alpha


@batching(solve, solve_ex)
def _solve(op: Op, args: Sequence[Any], level: BatchLevel) -> Any:
    a, b, left, *more = args
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    va, vb = batched(a, level), batched(b, level)
    if vector:
        vb = vb.unsqueeze(-1)
    n = max(va.ndim, vb.ndim)
    out = _call(op, [padded(va, va.ndim, n), padded(vb, vb.ndim, n), left or vector, *more])
    if op is not solve:
        out, info = out
        info = info.reshape(len(info), *a.shape[:-2])
        return wrap_all((out.squeeze(-1) if vector else out, info), level)
    return level.wrap(out.squeeze(-1) if vector else out)


@batching(_least_squares_op)
def _least_squares(op: Op, args: Sequence[Any], level: BatchLevel) -> tuple[Tensor, ...]:
    a, b, rcond, driver = args
    va, vb = batched(a, level), batched(b, level)
    n = max(va.ndim, vb.ndim)
    found = _call(op, [padded(va, va.ndim, n), padded(vb, vb.ndim, n), rcond, driver])
    # An empty one has nothing to tell of any matrix.
    told = [t if t.numel() or t.ndim > 1 else t.unsqueeze(0).expand(level.size, 0) for t in found]
    return wrap_all(tuple(told), level)


@batching(_cdist_op)
def _cdist(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    a, b, *how = args
    n = max(a.ndim, b.ndim)
    va, vb = (padded(batched(t, level), t.ndim, n) for t in (a, b))
    return level.wrap(_call(op, [va, vb, *how]))
