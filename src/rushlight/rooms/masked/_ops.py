"""Reductions and normalizations of which only the elements count where `mask` is True.

The elements that do not count are replaced by what leaves the result as it is: 0 for a sum, -inf
for a maximum. `mask` is broadcast to the input's shape. A masked tensor has its own mask. Results
are plain tensors; where no element counts, they are what the replacement gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from .. import _root as rl
from .._base.dtypes import dtype as _dtype
from .._base.errors import dim_out_of_range
from .._core import Tensor
from ..nn import functional as F
from ..ops.matrix.norms import vector_norm
from .maskedtensor.core import REDUCTIONS, MaskedTensor

Dims: TypeAlias = int | Sequence[int] | None

# By function: what an element that does not count is replaced by, where it is a number.
_NEUTRAL = {"sum": 0, "prod": 1, "norm": 0, "median": math.nan}
_LOWEST = ("amax", "argmax", "logaddexp", "logsumexp")


def _identity(name: str, input: Tensor) -> Any:
    kind = input.dtype
    if name in _NEUTRAL:
        return _NEUTRAL[name]
    lowest = name in _LOWEST
    if kind.is_floating_point or (kind.is_complex and name == "logsumexp"):
        return -math.inf if lowest else math.inf
    if kind is rl.bool or (not kind.is_signed and kind is not rl.uint8):
        raise NotImplementedError(f"identity of {name} on {kind} input")
    return rl.iinfo(kind).min if lowest else rl.iinfo(kind).max


def _canonical(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Dimensions in order, all of them for None and ()."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            dim_out_of_range(d, ndim)
        found.append(d % ndim)
    return tuple(sorted(found))


def _full_mask(input: Tensor, mask: Tensor) -> Tensor:
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of "
                "the input)"
            )
        mask = rl.broadcast_to(mask, input.shape)
    return mask.to(dtype=rl.bool)


def _input_mask(input: Tensor, *args: object, mask: Tensor, **kwargs: object) -> Tensor:
    """The mask of a reduction's input, in the shape of that."""
    return _full_mask(input, mask)


def _filled(name: str, input: Tensor, mask: Tensor | None, value: object = None) -> Tensor:
    """The input; elements that do not count become a number that leaves the result unchanged."""
    if isinstance(input, MaskedTensor):
        mask, input = input.get_mask(), input.get_data()
    if mask is None:
        return input
    mask = _full_mask(input, mask)
    value = _identity(name, input) if value is None else value
    return rl.where(mask, input, rl.tensor(value, dtype=input.dtype, device=input.device))


def _summed_type(input: Tensor, dtype: _dtype | None) -> _dtype:
    if dtype is None:
        small = (rl.uint8, rl.bool, rl.int8, rl.int16, rl.int32)
        return rl.int64 if input.dtype in small else input.dtype
    return dtype


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that count; 0 where none does.

    >>> x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    >>> mask = torch.tensor([[True, False, True], [False, False, False]])
    >>> torch.masked.sum(x, 1, mask=mask)
    tensor([4, 0])
    """
    dtype = _summed_type(input, dtype)
    return _filled("sum", input, mask).sum(_canonical(dim, input.ndim), bool(keepdim), dtype=dtype)


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the elements that count; 1 where none does.

    >>> x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    >>> mask = torch.tensor([[True, False, True], [False, False, False]])
    >>> torch.masked.prod(x, 1, mask=mask)
    tensor([3, 1])
    """
    result = _filled("prod", input, mask).to(dtype=_summed_type(input, dtype))
    for d in reversed(_canonical(dim, input.ndim)):
        result = result.prod(dim=d, keepdim=bool(keepdim))
    return result


def cumsum(
    input: Tensor, dim: int, *, dtype: _dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Sums of the elements that count, up to each place.

    >>> x = torch.tensor([1.0, 2.0, 3.0])
    >>> torch.masked.cumsum(x, 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 4.])
    """
    dtype = dtype or input.dtype
    d = _canonical(dim, input.ndim)[0]
    return _filled("sum", input, mask).cumsum(d, dtype=dtype).to(dtype=dtype)


def cumprod(
    input: Tensor, dim: int, *, dtype: _dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Products of the elements that count, up to each place.

    >>> x = torch.tensor([1.0, 2.0, 3.0])
    >>> torch.masked.cumprod(x, 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 3.])
    """
    dtype = dtype or input.dtype
    d = _canonical(dim, input.ndim)[0]
    return _filled("prod", input, mask).cumprod(d, dtype=dtype).to(dtype=dtype)


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest element that counts; the type's smallest number where none does.

    >>> x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> torch.masked.amax(x, 1, mask=torch.tensor([True, True, False]))
    tensor([2., 5.])
    """
    filled = _filled("amax", input, mask)
    dims = _canonical(dim, filled.ndim)
    return filled.amax(dims, bool(keepdim)).to(dtype=dtype or input.dtype)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The smallest element that counts; the type's largest number where none does.

    >>> x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> torch.masked.amin(x, 1, mask=torch.tensor([False, True, True]))
    tensor([2., 5.])
    """
    filled = _filled("amin", input, mask)
    dims = _canonical(dim, filled.ndim)
    return filled.amin(dims, bool(keepdim)).to(dtype=dtype or input.dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The place of the largest element that counts, in the type of the input.

    >>> x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    >>> torch.masked.argmax(x, 1, mask=torch.tensor([True, True, False]))
    tensor([1, 1])
    """
    filled = _filled("argmax", input, mask)
    return filled.argmax(dim, bool(keepdim)).to(dtype=dtype or input.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The place of the smallest element that counts, in the type of the input.

    >>> x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    >>> torch.masked.argmin(x, 1, mask=torch.tensor([False, True, True]))
    tensor([1, 1])
    """
    filled = _filled("argmin", input, mask)
    return filled.argmin(dim, bool(keepdim)).to(dtype=dtype or input.dtype)


def _counted(input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many elements count; all of them without a mask."""
    if mask is None:
        return sum(rl.ones(input.shape, dtype=rl.int64, device=input.device), dim, keepdim=keepdim)
    return mask.sum(_canonical(dim, mask.ndim), keepdim)


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that count; NaN where none does.

    >>> x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> torch.masked.mean(x, 1, mask=torch.tensor([True, False, True]))
    tensor([2., 5.])
    """
    source, dtype = ("Input", input.dtype) if dtype is None else ("Optional", dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point "
            f"or complex dtype. Got: {dtype}"
        )
    mask = None if mask is None else _full_mask(input, mask)
    count = _counted(input, dim, bool(keepdim), mask)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / count


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The median of the elements that count, the lower one of two; NaN where none does.

    >>> x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> torch.masked.median(x, 1, mask=torch.tensor([False, True, True]))
    tensor([2., 5.])
    """
    dtype = dtype or input.dtype
    d = _canonical(dim, input.ndim)[0]
    floating = input.dtype.is_floating_point
    if not floating:
        input = input.to(dtype=rl.float32)
    found = _filled("median", input, mask).nanmedian(d, keepdim).values
    if floating:
        return found
    if found.isnan().any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return found.to(dtype=dtype)


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """log(sum(exp(x))) of the elements that count; -inf where none does.

    >>> x = torch.tensor([0.0, 5.0, 0.0])
    >>> torch.masked.logsumexp(x, 0, mask=torch.tensor([True, False, True]))
    tensor(0.6931)
    """
    dims = _canonical(dim, input.ndim)
    filled = _filled("logsumexp", input, mask)
    return rl.logsumexp(filled, dims, keepdim=keepdim).to(dtype=dtype or input.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: _dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), each with a mask of its own.

    >>> x, y = torch.tensor([-100.0, -200.0, -300.0]), torch.tensor([-1.0, -2.0, -3.0])
    >>> mask = torch.tensor([True, False, True])
    >>> torch.masked.logaddexp(x, y, input_mask=mask, other_mask=mask)
    tensor([-1., -inf, -3.])
    """
    a, b = _filled("logaddexp", input, input_mask), _filled("logaddexp", other, other_mask)
    return rl.logaddexp(a, b).to(dtype=dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of order `ord` of the elements that count.

    >>> x = torch.tensor([[3.0, 9.0, 4.0]])
    >>> torch.masked.norm(x, 2.0, 1, mask=torch.tensor([True, False, True]))
    tensor([5.])
    """
    masked = mask is not None or isinstance(input, MaskedTensor)
    if masked and ord == -math.inf and not input.dtype.is_floating_point:
        raise AssertionError(f"input must be floating point, got {input.dtype}")
    filled = _filled("norm", input, mask, math.inf if ord == -math.inf else 0)
    dims = _canonical(dim, input.ndim)
    return vector_norm(filled, ord, dims, bool(keepdim), dtype=dtype or input.dtype)


def _variance(
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool | None,
    dtype: _dtype | None,
    mask: Tensor | None,
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    less = float(unbiased is not False) if correction is None else float(correction)
    if dtype is None:
        dtype = input.dtype if input.dtype.is_differentiable else rl.float32
    computed = dtype if dtype.is_differentiable else rl.float32
    data, counts = (
        (input.get_data(), input.get_mask()) if isinstance(input, MaskedTensor) else (input, mask)
    )
    if mask is not None:
        counts = mask = _full_mask(data, mask)
    count = _counted(data, dim, True, mask)
    x = data - sum(data, dim, keepdim=True, dtype=dtype, mask=counts) / count
    squares = x * x.conj() if x.dtype.is_complex else x * x
    spread = sum(squares, dim, keepdim=keepdim, dtype=computed, mask=counts)
    if not keepdim:
        count = count.reshape(spread.shape)
    if less:
        count = count.to(computed.to_real()) - less
        count = rl.maximum(count, count.new_zeros([]))
    return (spread / count).to(dtype=dtype)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements that count, with Bessel's correction unless told otherwise.

    >>> x = torch.tensor([1.0, 9.0, 3.0])
    >>> torch.masked.var(x, 0, mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: int | None = None,
    keepdim: bool | None = False,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of the elements that count: the root of `var`.

    >>> x = torch.tensor([1.0, 9.0, 3.0])
    >>> torch.masked.std(x, 0, False, mask=torch.tensor([True, False, True]))
    tensor(1.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def softmax(
    input: Tensor, dim: int, *, dtype: _dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The softmax over the elements that count; 0 at the others.

    >>> x = torch.tensor([1.0, 5.0, 1.0])
    >>> torch.masked.softmax(x, 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    d = _canonical(dim, input.ndim)[0]
    return F.softmax(_filled("amax", input, mask), d, dtype=dtype or input.dtype)


def log_softmax(
    input: Tensor, dim: int, *, dtype: _dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of `softmax`; -inf at elements that do not count.

    >>> x = torch.tensor([1.0, 5.0, 1.0])
    >>> torch.masked.log_softmax(x, 0, mask=torch.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    d = _canonical(dim, input.ndim)[0]
    return F.log_softmax(_filled("amax", input, mask), d, dtype=dtype or input.dtype)


def softmin(
    input: Tensor, dim: int, *, dtype: _dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The softmax of the negative elements that count; 0 at the others.

    >>> x = torch.tensor([1.0, 5.0, 1.0])
    >>> torch.masked.softmin(x, 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    d = _canonical(dim, input.ndim)[0]
    return F.softmin(_filled("amin", input, mask), d, dtype=dtype or input.dtype)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: _dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that count by the norm of those along `dim`, at least `eps`; 0 at the others.

    >>> x = torch.tensor([3.0, 9.0, 4.0])
    >>> torch.masked.normalize(x, 2.0, 0, mask=torch.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    size = norm(input, ord, dim, keepdim=True, dtype=dtype or input.dtype, mask=mask)
    return _filled("sum", input, mask) / rl.maximum(size, size.new_full([], eps))


def _all(input: Tensor, dim: Dims = None, keepdim: bool = False, mask: object = None) -> Tensor:
    data = input.to_tensor(True) if isinstance(input, MaskedTensor) else input
    return data.all() if dim is None else data.all(dim, keepdim)


REDUCTIONS.update(
    {f.__name__: f for f in (sum, mean, amin, amax, argmin, argmax, prod, norm, var, std)}
)
REDUCTIONS["all"] = _all
