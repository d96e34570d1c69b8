"""ops/reduction/: methods of Tensor. Written by tools/public_stub.py."""

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

_Number: TypeAlias = _int | _float | _bool | _complex
_Ints: TypeAlias = _int | Sequence[_int]

class ReductionMethods:
    def all(
        self, dim: _Ints | None = None, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...
    def amax(
        self, dim: _Ints | None = (), keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...
    def amin(
        self, dim: _Ints | None = (), keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...
    def aminmax(
        self, *, dim: _int | None = None, keepdim: _bool = False, out: Tensor | None = None
    ) -> Tensor: ...
    def any(
        self, dim: _Ints | None = None, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...
    def argmax(
        self, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...
    def argmin(
        self, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...
    def argsort(
        self, dim: _int = -1, descending: _bool = False, stable: _bool = False
    ) -> Tensor: ...
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor: ...
    def corrcoef(self) -> Tensor: ...
    def count_nonzero(self, dim: _Ints | None = None, *, out: Tensor | None = None) -> Tensor: ...
    def cov(
        self,
        *,
        correction: _int = 1,
        fweights: Tensor | None = None,
        aweights: Tensor | None = None,
    ) -> Tensor: ...
    def cummax(self, dim: _int, *, out: Tensor | None = None) -> Tensor: ...
    def cummin(self, dim: _int, *, out: Tensor | None = None) -> Tensor: ...
    def cumprod(
        self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None
    ) -> Tensor: ...
    def cumprod_(self, dim: _int, *, dtype: _dtype | None = None) -> Tensor: ...
    def cumsum(
        self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None
    ) -> Tensor: ...
    def cumsum_(self, dim: _int, *, dtype: _dtype | None = None) -> Tensor: ...
    def diff(
        self,
        n: _int = 1,
        dim: _int = -1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def hash_tensor(
        self,
        dim: _Ints | None = (),
        *,
        keepdim: _bool = False,
        mode: _int = 0,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def histc(
        self, bins: _int = 100, min: _Number = 0, max: _Number = 0, *, out: Tensor | None = None
    ) -> Tensor: ...
    def histogram(
        self,
        bins: Any = 100,
        *,
        range: Any = None,
        weight: Tensor | None = None,
        density: _bool = False,
    ) -> return_types.histogram: ...
    def kthvalue(
        self, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...
    def logcumsumexp(self, dim: _int, *, out: Tensor | None = None) -> Tensor: ...
    def logsumexp(
        self, dim: _Ints, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...
    @overload
    def max(self, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def max(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def max(
        self, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
    ) -> return_types.max: ...
    def mean(
        self,
        dim: _Ints | None = None,
        keepdim: _bool = False,
        *,
        dtype: _dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @overload
    def median(self) -> Tensor: ...
    @overload
    def median(
        self, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
    ) -> return_types.median: ...
    @overload
    def min(self, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def min(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def min(
        self, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
    ) -> return_types.min: ...
    def mode(
        self, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...
    def msort(self) -> Tensor: ...
    def nanmean(
        self, dim: _Ints | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None
    ) -> Tensor: ...
    @overload
    def nanmedian(self) -> Tensor: ...
    @overload
    def nanmedian(
        self, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
    ) -> return_types.nanmedian: ...
    def nanquantile(
        self,
        q: Tensor | _float,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: _str = "linear",
    ) -> Tensor: ...
    def nansum(
        self,
        dim: _Ints | None = None,
        keepdim: _bool = False,
        *,
        dtype: _dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def prod(
        self,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        dtype: _dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def quantile(
        self,
        q: Tensor | _float,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: _str = "linear",
    ) -> Tensor: ...
    def sort(
        self,
        dim: _int = -1,
        descending: _bool = False,
        stable: _bool | None = None,
        *,
        out: Tensor | Sequence[Tensor] | None = None,
    ) -> return_types.sort: ...
    def std(
        self,
        dim: _Ints | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _Number | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def sum(
        self,
        dim: _Ints | None = None,
        keepdim: _bool = False,
        *,
        dtype: _dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def sum_to_size(self, *size: _Ints) -> Tensor: ...
    def topk(
        self,
        k: _int,
        dim: _int = -1,
        largest: _bool = True,
        sorted: _bool = True,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: _bool = False,
        return_counts: _bool = False,
        dim: _int | None = None,
    ) -> Any: ...
    def unique_consecutive(
        self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None
    ) -> Any: ...
    def var(
        self,
        dim: _Ints | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _Number | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
