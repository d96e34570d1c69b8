"""ops/layout/: functions in torch, methods of Tensor. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias

from .._core import Tensor
from .._device import memory_format as _memory_format
from .._size import Size as _Size

_Ints: TypeAlias = _int | Sequence[_int]

def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""

def as_strided(
    input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None
) -> Tensor:
    """Any view of the storage; the offset counts from the storage's first element."""

def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Sequence[_int],
    stride: Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """A copy of the tensor with `src` at the place of `as_strided`."""

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

def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor:
    """`expand` to a shape."""

def cartesian_prod(*tensors: Any) -> Tensor:
    """Every choice of one element of each vector, as rows."""

def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors one after the other along a dimension."""

def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of one size along a dimension."""

def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Vectors as columns, joined with matrices."""

def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """Every choice of r elements of a vector, in order, as rows."""

def concat(
    tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int | None = None, out: Tensor | None = None
) -> Tensor:
    """`cat` under another name."""

def concatenate(
    tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int | None = None, out: Tensor | None = None
) -> Tensor:
    """`cat` under another name."""

def diag(input: Tensor, diagonal: _int = 0) -> Tensor:
    """A vector as a diagonal matrix; a matrix's diagonal as a vector."""

def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """The last dimension laid on the diagonal of two dimensions of zeros."""

def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """All elements as a diagonal matrix."""

def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A diagonal of two dimensions, as a new last dimension."""

def dsplit(input: Tensor, indices_or_sections: Any = None) -> tuple[Tensor, ...]:
    """`tensor_split` as numpy.dsplit does it."""

def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along the third dimension."""

def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Dimensions start_dim to end_dim as one."""

def flip(input: Tensor, *dims: _Ints) -> Tensor:
    """The order of entries reversed along dimensions."""

def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order."""

def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order."""

def hsplit(input: Tensor, indices_or_sections: Any = None) -> tuple[Tensor, ...]:
    """`tensor_split` as numpy.hsplit does it."""

def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined column by column (vectors end to end)."""

def meshgrid(*tensors: Any, indexing: _str | None = None) -> tuple[Any, ...]:
    """The grid of several vectors: each expanded along the others' dimensions."""

def moveaxis(
    input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]
) -> Tensor:
    """`movedim` under NumPy's name."""

def movedim(
    input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]
) -> Tensor:
    """Dimensions moved to other places, the rest in their order."""

def narrow(input: Tensor, dim: _int, start: Tensor | _int, length: _int) -> Tensor:
    """`length` entries of a dimension from `start` on."""

def permute(input: Tensor, *dims: _Ints) -> Tensor:
    """The dimensions in the order given."""

def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""

def repeat_interleave(
    input: Tensor,
    repeats: Tensor | _int | None = None,
    dim: _int | None = None,
    *,
    output_size: _Ints | None = None,
) -> Tensor:
    """Each entry repeated as often as `repeats` says; over all elements where dim is None."""

def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor:
    """The same elements in another shape: a view where the strides allow it, else a copy."""

def roll(input: Tensor, shifts: _Ints, dims: _Ints | None = ()) -> Tensor:
    """Entries moved along dimensions; what falls off the end comes in at the beginning."""

def rot90(input: Tensor, k: _int = 1, dims: Sequence[_int] = (0, 1)) -> Tensor:
    """Turned by quarter turns in the plane of two dimensions (the first two)."""

def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined row by row."""

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """One entry of a dimension, without it."""

def split(
    tensor: Any, split_size_or_sections: Any = None, dim: _int = 0, *, split_size: Any = None
) -> tuple[Tensor, ...]:
    """Pieces along a dimension: of one size, or of the sizes given."""

def split_with_sizes(
    input: Tensor, split_sizes: Sequence[_int], dim: _int = 0
) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along a dimension."""

def squeeze(input: Tensor, dim: _Ints | None = None) -> Tensor:
    """Without dimensions of size 1: all of them, or those named."""

def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape as the entries of a new dimension."""

def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """`transpose` under NumPy's name."""

def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """`transpose` under another name."""

def t(input: Tensor) -> Tensor:
    """A matrix's transpose; a vector or a number as it is."""

def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: _int = 0
) -> tuple[Tensor, ...]:
    """Pieces along a dimension: so many, sizes differing by at most one, or cut at the indices."""

def tile(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """`repeat` with missing leading counts taken as 1."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions changed over."""

def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle, zeros elsewhere."""

def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle, zeros elsewhere."""

def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """The entries of a dimension, as a tuple."""

def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
    """One dimension as several of the given sizes."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """With one more dimension of size 1, at position dim."""

def vsplit(input: Tensor, indices_or_sections: Any = None) -> tuple[Tensor, ...]:
    """`tensor_split` as numpy.vsplit does it."""

def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined row by row."""

class LayoutMethods:
    def adjoint(self) -> Tensor: ...
    def as_strided(
        self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None
    ) -> Tensor: ...
    def as_strided_(self, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor: ...
    def as_strided_scatter(
        self,
        src: Tensor,
        size: Sequence[_int],
        stride: Sequence[_int],
        storage_offset: _int | None = None,
    ) -> Tensor: ...
    def broadcast_to(self, *size: _Ints) -> Tensor: ...
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
    def combinations(self, r: _int = 2, with_replacement: _bool = False) -> Tensor: ...
    def diag(self, diagonal: _int = 0) -> Tensor: ...
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor: ...
    def diagflat(self, offset: _int = 0) -> Tensor: ...
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor: ...
    def dsplit(self, indices_or_sections: Any = None) -> tuple[Tensor, ...]: ...
    def expand(self, *size: _Ints, implicit: _bool = False) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor: ...
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor: ...
    def flip(self, *dims: _Ints) -> Tensor: ...
    def fliplr(self) -> Tensor: ...
    def flipud(self) -> Tensor: ...
    def hsplit(self, indices_or_sections: Any = None) -> tuple[Tensor, ...]: ...
    def moveaxis(
        self, source: _int | Sequence[_int], destination: _int | Sequence[_int]
    ) -> Tensor: ...
    def movedim(
        self, source: _int | Sequence[_int], destination: _int | Sequence[_int]
    ) -> Tensor: ...
    def narrow(self, dim: _int, start: Tensor | _int, length: _int) -> Tensor: ...
    def permute(self, *dims: _Ints) -> Tensor: ...
    def ravel(self) -> Tensor: ...
    def repeat(self, *repeats: _Ints) -> Tensor: ...
    def repeat_interleave(
        self, repeats: Any = None, dim: _int | None = None, *, output_size: _Ints | None = None
    ) -> Tensor: ...
    def reshape(self, *shape: _Ints) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor: ...
    def resize_(self, *size: _Ints, memory_format: _memory_format | None = None) -> Tensor: ...
    def resize_as_(
        self, the_template: Any, *, memory_format: _memory_format | None = None
    ) -> Tensor: ...
    def roll(self, shifts: _Ints, dims: _Ints | None = ()) -> Tensor: ...
    def rot90(self, k: _int = 1, dims: Sequence[_int] = (0, 1)) -> Tensor: ...
    def select(self, dim: _int, index: _int) -> Tensor: ...
    def set_(
        self,
        source: Any = None,
        storage_offset: _int | None = None,
        size: Sequence[_int] | None = None,
        stride: Sequence[_int] | None = None,
    ) -> Tensor: ...
    def split(
        self, split_size_or_sections: Any = None, dim: _int = 0, *, split_size: Any = None
    ) -> tuple[Tensor, ...]: ...
    def split_with_sizes(
        self, split_sizes: Sequence[_int], dim: _int = 0
    ) -> tuple[Tensor, ...]: ...
    def squeeze(self, dim: _Ints | None = None) -> Tensor: ...
    def squeeze_(self, dim: _int | None = None) -> Tensor: ...
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor: ...
    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor: ...
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor: ...
    def swapdims_(self, axis0: _int, axis1: _int) -> Tensor: ...
    def t(self) -> Tensor: ...
    def t_(self) -> Tensor: ...
    def tensor_split(
        self, indices_or_sections: Any = None, dim: _int = 0
    ) -> tuple[Tensor, ...]: ...
    def tile(self, *dims: _Ints) -> Tensor: ...
    def transpose(self, dim0: _int, dim1: _int) -> Tensor: ...
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor: ...
    def tril(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
    def tril_(self, diagonal: _int = 0) -> Tensor: ...
    def triu(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
    def triu_(self, diagonal: _int = 0) -> Tensor: ...
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]: ...
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor: ...
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor: ...
    def unsqueeze(self, dim: _int) -> Tensor: ...
    def unsqueeze_(self, dim: _int) -> Tensor: ...
    def view(self, *size: _Ints) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor: ...
    def vsplit(self, indices_or_sections: Any = None) -> tuple[Tensor, ...]: ...
