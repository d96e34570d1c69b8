"""ops/indexing/: functions in torch. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from typing import Any, TypeAlias, overload

from .._core import Tensor
from ..ops.indexing.segments import unravel_index as unravel_index
from ..ops.indexing.subscript import index_put as index_put
from ..ops.indexing.subscript import index_put_ as index_put_
from ..ops.indexing.take import argwhere as argwhere
from ..ops.indexing.take import take_along_dim as take_along_dim

_Number: TypeAlias = _int | _float | _bool | _complex

def diagonal_scatter(
    input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
) -> Tensor:
    """The input with src in the place of a diagonal."""

def gather(
    input: Tensor,
    dim: _int,
    index: Tensor,
    *,
    sparse_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """out[i][j] = input[index[i][j]][j] for dim 0, input[i][index[i][j]] for dim 1, ..."""

def index_add(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """The input with alpha * source added to the slices that an index names."""

def index_copy(
    input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """The input with source written to the slices that an index names."""

def index_fill(input: Tensor, dim: _int, index: Tensor, value: _Number | Tensor) -> Tensor:
    """The input with a number in the slices that an index names."""

def index_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    reduce: _str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor: ...
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices of a dimension that an index names."""

def masked_scatter(
    input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """The input with the elements of source, in order, where a mask holds."""

def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where a mask holds, as one row."""

@overload
def nonzero(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one a row."""

@overload
def nonzero(input: Tensor, *, as_tuple: _bool) -> Any: ...
def nonzero_static(
    input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None
) -> Tensor:
    """The indices of the first `size` entries that are not 0, filled up with fill_value."""

def put(
    input: Tensor,
    index: Tensor,
    source: Tensor,
    accumulate: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The input with source written, or added, at an index into all of it, row by row."""

@overload
def scatter(
    input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def scatter(
    input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: _str, out: Tensor | None = None
) -> Tensor: ...
@overload
def scatter(
    input: Tensor, dim: _int, index: Tensor, value: _Number, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    value: _Number,
    *,
    reduce: _str,
    out: Tensor | None = None,
) -> Tensor: ...
def scatter_add(
    input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None
) -> Tensor: ...
def scatter_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: _str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor: ...
def segment_reduce(
    data: Tensor,
    reduce: _str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: _int = 0,
    unsafe: _bool = False,
    initial: _Number | None = None,
) -> Tensor: ...
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """The input with src in the place of one entry of a dimension."""

def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
) -> Tensor:
    """The input with src in the place of a slice."""

def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements at an index into all of the input, row by row."""
