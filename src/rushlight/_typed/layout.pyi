"""ops/layout/: functions in torch. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from .._base.dtypes import dtype as _dtype
from .._base.size import Size as _Size
from .._core import Tensor
from ..ops.layout.joining import chunk as chunk
from ..ops.layout.joining import split as split
from ..ops.layout.rearrange import combinations as combinations
from ..ops.layout.rearrange import diag as diag
from ..ops.layout.rearrange import diagflat as diagflat
from ..ops.layout.rearrange import fliplr as fliplr
from ..ops.layout.rearrange import flipud as flipud
from ..ops.layout.strided import as_strided as as_strided
from ..ops.layout.strided import as_strided_scatter as as_strided_scatter
from ..ops.layout.transposes import adjoint as adjoint
from ..ops.layout.transposes import swapaxes as swapaxes
from ..ops.layout.transposes import swapdims as swapdims
from ..ops.layout.view_copies import as_strided_copy as as_strided_copy
from ..ops.layout.view_copies import narrow_copy as narrow_copy
from ..ops.layout.view_copies import slice_inverse as slice_inverse
from ..ops.layout.view_copies import unsafe_chunk as unsafe_chunk
from ..ops.layout.view_copies import view_as_complex_copy as view_as_complex_copy

_Ints: TypeAlias = _int | Sequence[_int]

def atleast_1d(*tensors: Tensor) -> Any:
    """Tensors with at least 1 dimension."""

def atleast_2d(*tensors: Tensor) -> Any:
    """Tensors with at least 2 dimensions."""

def atleast_3d(*tensors: Tensor) -> Any:
    """Tensors with at least 3 dimensions."""

def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of a matrix of zeros."""

def broadcast_shapes(*shapes: Any) -> _Size:
    """The shape that tensors of these shapes broadcast to."""

def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All tensors expanded to their common shape."""

def broadcast_to(input: Tensor, *size: _Ints) -> Tensor:
    """`expand` to a shape."""

def cartesian_prod(*tensors: Any) -> Tensor:
    """Every choice of one element of each vector, as rows."""

def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors one after the other along a dimension."""

def concat(
    tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int | None = None, out: Tensor | None = None
) -> Tensor:
    """`cat` under another name."""

def concatenate(
    tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int | None = None, out: Tensor | None = None
) -> Tensor:
    """`cat` under another name."""

def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same elements, in memory of their own; `backward` refuses to go through."""

def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """The last dimension laid on the diagonal of two dimensions of zeros."""

def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A diagonal of two dimensions, as a new last dimension."""

def diagonal_copy(
    input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None
) -> Tensor:
    """A diagonal of two dimensions, as a new last dimension, in memory of its own."""

def expand_copy(
    input: Tensor, size: Sequence[_int], *, implicit: _bool = False, out: Tensor | None = None
) -> Tensor: ...
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Dimensions start_dim to end_dim as one."""

def flip(input: Tensor, *dims: _Ints) -> Tensor:
    """The order of entries reversed along dimensions."""

def meshgrid(*tensors: Any, indexing: _str | None = None) -> tuple[Any, ...]:
    """The grid of several vectors: each expanded along the others' dimensions."""

def moveaxis(input: Tensor, source: _Ints, destination: _Ints) -> Tensor:
    """`movedim` under NumPy's name."""

def movedim(input: Tensor, source: _Ints, destination: _Ints) -> Tensor:
    """Dimensions moved to other places, the rest in their order."""

def narrow(input: Tensor, dim: _int, start: Tensor | _int, length: _int) -> Tensor:
    """`length` entries of a dimension from `start` on."""

def permute(input: Tensor, *dims: _Ints) -> Tensor:
    """The dimensions in the order given."""

def permute_copy(input: Tensor, dims: Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """The dimensions in the order given, in memory of its own."""

def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""

@overload
def repeat_interleave(
    input: Tensor, repeats: Tensor, dim: _int | None = None, *, output_size: _int | None = None
) -> Tensor:
    """Each entry repeated as often as `repeats` says; over all elements where dim is None."""

@overload
def repeat_interleave(repeats: Tensor, *, output_size: _int | None = None) -> Tensor: ...
@overload
def repeat_interleave(
    input: Tensor, repeats: _int, dim: _int | None = None, *, output_size: _int | None = None
) -> Tensor: ...
def reshape(input: Tensor, *shape: _Ints) -> Tensor:
    """The same elements in another shape: a view where the strides allow it, else a copy."""

def roll(input: Tensor, shifts: _Ints, dims: _Ints | None = ()) -> Tensor:
    """Entries moved along dimensions; what falls off the end comes in at the beginning."""

def rot90(input: Tensor, k: _int = 1, dims: Sequence[_int] = (0, 1)) -> Tensor:
    """Turned by quarter turns in the plane of two dimensions (the first two)."""

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """One entry of a dimension, without it."""

def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor:
    """One entry of a dimension, without it, in memory of its own."""

def slice_copy(
    input: Tensor,
    dim: _int = 0,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def split_copy(
    input: Tensor, split_size: _int, dim: _int = 0, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...]:
    """Pieces of one size along a dimension, in memory of its own."""

def split_with_sizes(
    input: Tensor, split_sizes: Sequence[_int], dim: _int = 0
) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along a dimension."""

def split_with_sizes_copy(
    input: Tensor,
    split_sizes: Sequence[_int],
    dim: _int = 0,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along a dimension, in memory of its own."""

def squeeze(input: Tensor, dim: _Ints | None = None) -> Tensor:
    """Without dimensions of size 1: all of them, or those named."""

def squeeze_copy(input: Tensor, dim: _Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """Without dimensions of size 1, all of them or those named, in memory of its own."""

def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape as the entries of a new dimension."""

def t(input: Tensor) -> Tensor:
    """A matrix's transpose; a vector or a number as it is."""

def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A matrix's transpose; a vector or a number as it is, in memory of its own."""

@overload
def tensor_split(input: Tensor, indices: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces along a dimension: so many, sizes differing by at most one, or cut at the indices."""

@overload
def tensor_split(
    input: Tensor, tensor_indices_or_sections: Tensor, dim: _int = 0
) -> tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, sections: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
def tile(input: Tensor, *dims: _Ints) -> Tensor:
    """`repeat` with missing leading counts taken as 1."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions changed over."""

def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor:
    """Two dimensions changed over, in memory of its own."""

def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle, zeros elsewhere."""

def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle, zeros elsewhere."""

def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """The entries of a dimension, as a tuple."""

def unbind_copy(
    input: Tensor, dim: _int = 0, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...]:
    """The entries of a dimension, as a tuple, in memory of its own."""

def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
    """One dimension as several of the given sizes."""

def unfold_copy(
    input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = None
) -> Tensor: ...
def unsafe_split(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces of one size along a dimension, that may be written in place each by itself."""

def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[_int], dim: _int = 0
) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along a dimension, that may be written in place each by itself."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """With one more dimension of size 1, at position dim."""

def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """With one more dimension of size 1, at position dim, in memory of its own."""

@overload
def view_copy(input: Tensor, dtype: _dtype, *, out: Tensor | None = None) -> Tensor:
    """The result of `view`, another shape or the bytes as another dtype, in memory of its own."""

@overload
def view_copy(input: Tensor, size: Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...
