"""ops/reduction/: functions in torch. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from .. import return_types
from .._base.dtypes import dtype as _dtype
from .._core import Tensor
from ..ops.reduction.reductions import nanmean as nanmean
from ..ops.reduction.sorting import msort as msort
from ..ops.reduction.statistics import corrcoef as corrcoef
from ..ops.reduction.statistics import cov as cov
from ..ops.reduction.statistics import gradient as gradient

_Number: TypeAlias = _int | _float | _bool | _complex
_Ints: TypeAlias = _int | Sequence[_int]

def all(
    input: Tensor, dim: _Ints | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Whether no element is zero."""

def amax(
    input: Tensor, dim: _Ints | None = (), keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The largest element, of all or along dimensions; ties share the gradient."""

def amin(
    input: Tensor, dim: _Ints | None = (), keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The smallest element, of all or along dimensions; ties share the gradient."""

def aminmax(
    input: Tensor,
    *,
    dim: _int | None = None,
    keepdim: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.aminmax:
    """The smallest and the largest element."""

def any(
    input: Tensor, dim: _Ints | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Whether any element is not zero."""

def argmax(
    input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The index of the largest element; the first of several."""

def argmin(
    input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The index of the smallest element; the first of several."""

def argsort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    stable: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Where each entry of the sorted dimension was."""

def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """How often each of 0, 1, 2, ... occurs; with weights, the sum of theirs."""

@overload
def bucketize(
    input: Tensor,
    boundaries: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Which of the intervals between boundaries each value lies in."""

@overload
def bucketize(
    self: _Number, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False
) -> Tensor: ...
def count_nonzero(input: Tensor, dim: _Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """How many elements are not zero."""

def cummax(input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = None) -> return_types.cummax:
    """The largest entry so far along a dimension, and its index."""

def cummin(input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = None) -> return_types.cummin:
    """The smallest entry so far along a dimension, and its index."""

def cumprod(
    input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None
) -> Tensor:
    """The product of all entries so far, along a dimension."""

def cumsum(
    input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None
) -> Tensor:
    """The sum of all entries so far, along a dimension."""

def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: _Number = 1.0, dim: _int = -1
) -> Tensor:
    """The integral up to each entry of a dimension by the trapezoidal rule."""

def diff(
    input: Tensor,
    n: _int = 1,
    dim: _int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along a dimension, n times over."""

def hash_tensor(
    input: Tensor,
    dim: _Ints | None = (),
    *,
    keepdim: _bool = False,
    mode: _int = 0,
    out: Tensor | None = None,
) -> Tensor:
    """The exclusive or of all elements' 64 bits, or of those along dimensions."""

def histc(
    input: Tensor,
    bins: _int = 100,
    min: _Number = 0,
    max: _Number = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """How many elements fall in each of `bins` equal intervals from min to max."""

def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.histogram: ...
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Any = None,
    weight: Tensor | None = None,
    density: _bool = False,
) -> return_types.histogramdd:
    """How many rows fall into each bin of a grid, and the edges of each dimension."""

@overload
def isin(
    elements: Tensor,
    test_elements: Tensor,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Whether each element is among the test elements."""

@overload
def isin(
    element: _Number,
    test_elements: Tensor,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def isin(
    elements: Tensor,
    test_element: _Number,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
def kthvalue(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    keepdim: _bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.kthvalue:
    """The k-th smallest entry of a dimension, and where it was."""

def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """log(cumsum(exp(input))) along a dimension, without overflow."""

def logsumexp(
    input: Tensor, dim: _Ints, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """log(sum(exp(input))) along dimensions, without overflow."""

@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(
    input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.max: ...
def mean(
    input: Tensor,
    dim: _Ints | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of all elements, or along dimensions."""

@overload
def median(input: Tensor) -> Tensor:
    """The lower median of all elements, or along a dimension with its index."""

@overload
def median(
    input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.median: ...
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(
    input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.min: ...
def mode(
    input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.mode:
    """The most frequent entry of a dimension, and where it was last."""

@overload
def nanmedian(input: Tensor) -> Tensor:
    """The lower median of all elements, or along a dimension with its index, NaN left out."""

@overload
def nanmedian(
    input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.nanmedian: ...
def nanquantile(
    input: Tensor,
    q: Tensor | _float,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: _str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """`quantile` with NaN left out."""

def nansum(
    input: Tensor,
    dim: _Ints | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`sum` with NaN counted as zero."""

def prod(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The product of all elements, or along a dimension."""

def quantile(
    input: Tensor,
    q: Tensor | _float,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: _str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The q-th quantiles, of all elements or along a dimension."""

@overload
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: _str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where values would be inserted to keep each row of a sorted sequence sorted."""

@overload
def searchsorted(
    sorted_sequence: Tensor,
    self: _Number,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: _str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def sort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    stable: _bool | None = None,
    *,
    out: Tensor | Sequence[Tensor] | None = None,
) -> return_types.sort:
    """The entries of a dimension in order, and where each was."""

@overload
def std(
    input: Tensor,
    dim: _Ints | None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The standard deviation, of all elements or along dimensions."""

@overload
def std(
    input: Tensor,
    dim: _Ints | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def std(input: Tensor, unbiased: _bool = True) -> Tensor: ...
@overload
def std_mean(
    input: Tensor, dim: _Ints | None, unbiased: _bool = True, keepdim: _bool = False
) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean)."""

@overload
def std_mean(
    input: Tensor,
    dim: _Ints | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(input: Tensor, unbiased: _bool = True) -> tuple[Tensor, Tensor]: ...
def sum(
    input: Tensor,
    dim: _Ints | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of all elements, or along dimensions."""

def topk(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    largest: _bool = True,
    sorted: _bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.topk:
    """The k largest (or smallest) entries of a dimension in order, and where each was."""

def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Number = 1.0, dim: _int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule."""

def trapz(
    y: Tensor, x: Tensor | None = None, *, dx: _Number | _float = 1.0, dim: _int = -1
) -> Tensor:
    """`trapezoid` under its older name."""

def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any:
    """The distinct elements (or slices along dim) in order."""

def unique_consecutive(
    input: Tensor,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any:
    """The elements (or slices along dim) without repeats of the one before."""

@overload
def var(
    input: Tensor,
    dim: _Ints | None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The variance, of all elements or along dimensions."""

@overload
def var(
    input: Tensor,
    dim: _Ints | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def var(input: Tensor, unbiased: _bool = True) -> Tensor: ...
@overload
def var_mean(
    input: Tensor, dim: _Ints | None, unbiased: _bool = True, keepdim: _bool = False
) -> tuple[Tensor, Tensor]:
    """(variance, mean)."""

@overload
def var_mean(
    input: Tensor,
    dim: _Ints | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(input: Tensor, unbiased: _bool = True) -> tuple[Tensor, Tensor]: ...
