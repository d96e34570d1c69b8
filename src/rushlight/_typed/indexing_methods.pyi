"""ops/indexing/: methods of Tensor. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias

from .._core import Tensor

_Number: TypeAlias = _int | _float | _bool | _complex

class IndexingMethods:
    def argwhere(self) -> Tensor: ...
    def diagonal_scatter(
        self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
    ) -> Tensor: ...
    def fill_diagonal_(self, fill_value: _Number, wrap: _bool = False) -> Tensor: ...
    def gather(
        self, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None
    ) -> Tensor: ...
    def index_add(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        *,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def index_add_(
        self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1
    ) -> Tensor: ...
    def index_copy(
        self, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None
    ) -> Tensor: ...
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor: ...
    def index_fill(self, dim: _int, index: Tensor, value: _Number | Tensor) -> Tensor: ...
    def index_fill_(self, dim: _int, index: Tensor, value: _Number) -> Tensor: ...
    def index_put(
        self, indices: Sequence[Tensor], values: Any, accumulate: _bool = False
    ) -> Tensor: ...
    def index_put_(
        self, indices: Sequence[Tensor], values: Any, accumulate: _bool = False
    ) -> Tensor: ...
    def index_reduce(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        reduce: _str,
        *,
        include_self: _bool = True,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def index_reduce_(
        self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True
    ) -> Tensor: ...
    def index_select(self, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def masked_scatter(
        self, mask: Tensor, source: Tensor, *, out: Tensor | None = None
    ) -> Tensor: ...
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor: ...
    def masked_select(self, mask: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def nonzero(self, *, as_tuple: _bool = False) -> Tensor: ...
    def nonzero_static(
        self, *, size: _int, fill_value: _int = -1, out: Tensor | None = None
    ) -> Tensor: ...
    def put(
        self, index: Tensor, source: Tensor, accumulate: _bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor: ...
    def scatter(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | _Number | None = None,
        *,
        value: _Number | None = None,
        reduce: _str | None = None,
    ) -> Tensor: ...
    def scatter_(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | _Number | None = None,
        *,
        value: _Number | None = None,
        reduce: Any = None,
    ) -> Tensor: ...
    def scatter_add(
        self, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None
    ) -> Tensor: ...
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor: ...
    def scatter_reduce(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor,
        reduce: _str,
        *,
        include_self: _bool = True,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def scatter_reduce_(
        self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True
    ) -> Tensor: ...
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor: ...
    def slice_scatter(
        self,
        src: Tensor,
        dim: _int = 0,
        start: _int | None = None,
        end: _int | None = None,
        step: _int = 1,
    ) -> Tensor: ...
    def take(self, index: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor: ...
