"""Views: the same memory seen with other sizes and strides.

See `strided.py` for views by strides, `rearrange.py` for copies that rearrange elements,
`joining.py` for views by the dozen.

A view's forward is a kernel (native/bindings/views.cpp) that answers with torch's strides and
errors. Its rule is another view op where the gradient is only seen differently (`transpose`), or
the op that writes the gradient into zeros at the view's place (`_select_backward`): each is the
other's transpose, so every order of derivative is there.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from operator import index as as_int
from typing import Any

import numpy as np

from .. import _core
from ..device import channels_last, channels_last_3d, contiguous_format
from ..dtypes import dtype as dtype_class
from ..errors import dim_out_of_range
from ._arrays import listed
from ._kinds import composite, linear
from ._op import namespace

_kernels = _core.kernels
_wrap = _core.wrap
Tensor = _core.Tensor
Array = np.ndarray[Any, Any]

# ---- another shape


def _view_dtype(a: Array, size: tuple[Any, ...]) -> Array:
    """`view(dtype)`, which the kernel leaves to NumPy."""
    if len(size) != 1 or not isinstance(size[0], dtype_class):
        got = ", ".join(type(s).__name__ for s in size)
        raise TypeError(
            f"view() received an invalid combination of arguments - got ({got}), but expected "
            "one of: "
            "(torch.dtype dtype), (tuple of ints size)"
        )
    to = size[0].numpy
    old, new = a.dtype.itemsize, to.itemsize
    if old != new:
        if a.ndim == 0:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {_name_of(a)} as {size[0].scalar_name} "
                "(different element sizes)"
            )
        if a.shape[-1] * old % new:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {new // old} to view {_name_of(a)} as "
                f"{size[0].scalar_name} (different element sizes), but got {a.shape[-1]}"
            )
        if a.strides[-1] != old and a.shape[-1] > 1:
            raise RuntimeError(
                f"self.stride(-1) must be 1 to view {_name_of(a)} as {size[0].scalar_name} "
                f"(different element sizes), but got {a.strides[-1] // old}"
            )
    return a.view(to)


def _name_of(a: Array) -> str:
    from ..dtypes import from_numpy_dtype

    return from_numpy_dtype(a.dtype).scalar_name


def _to_shape(g: Any, input_shape: Any) -> Any:
    return reshape(g, input_shape)


view: Any = linear(
    "view(input, *size)",
    _view_dtype,
    native=_kernels.view,
    transpose={"input": _to_shape},
    backward=(_kernels.reshape, "g input_shape"),
    view=True,
    out=False,
    samples=lambda make: [
        (make(2, 6), 3, 4),
        (make(2, 6), (-1,)),
        (make(), 1, 1),
        (make(0, 3), 3, 0),
    ],
    doc="The same elements in another shape, which the strides must allow; or the same bytes as "
    "another dtype.",
)

_unsafe_view: Any = linear(
    "_unsafe_view(input, *size)",
    _kernels.reshape,
    transpose={"input": _to_shape},
    backward=(_kernels.reshape, "g input_shape"),
    node="UnsafeViewBackward0",
    method=False,
    out=False,
    samples=lambda make: [(make(2, 6), 3, 4)],
    doc="`view` of a tensor that nobody else sees: no view as far as in-place writes are "
    "concerned.",
)


_reshape_alias: Any = linear(
    "_reshape_alias(input, *size)",
    _kernels.view,
    transpose={"input": _to_shape},
    backward=(_kernels.reshape, "g input_shape"),
    node="ReshapeAliasBackward0",
    view=True,
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3).t(), 3, 1, 2)],
    doc="The view that `reshape` gives of a tensor that is not contiguous.",
)


def _shape_argument(name: str, given: tuple[Any, ...], named: Any) -> Any:
    """`f(2, 3)` and `f((2, 3))` alike."""
    if named is not None:
        return named
    if len(given) == 1:
        return given if type(given[0]) is int else given[0]
    if not given:
        raise TypeError(f'{name}() missing 1 required positional arguments: "shape"')
    return given


@composite(samples=lambda make: [(make(2, 6), (3, 4)), (make(3, 4).t(), (2, -1))])
def reshape(input: Any, *size: Any, shape: Any = None) -> Any:
    """The same elements in another shape: a view where the strides allow it, else a copy."""
    shape = _shape_argument("reshape", size, shape)
    if not isinstance(input, Tensor):
        raise TypeError(
            f"reshape(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    array = input._array
    if array.flags.c_contiguous:
        return view(input, shape)
    if _kernels.viewable(array, shape):
        return _reshape_alias(input, shape)
    return _unsafe_view(_contiguous_copy(input), shape)


@composite
def view_as(input: Any, other: Any) -> Any:
    """`view` in the shape of another tensor."""
    return view(input, other.shape)


@composite
def reshape_as(input: Any, other: Any) -> Any:
    """`reshape` to the shape of another tensor."""
    return reshape(input, other.shape)


def _dim(dim: Any, ndim: int) -> int:
    """A dimension made non-negative; IndexError where there is none."""
    d, n = as_int(dim), ndim or 1
    if not -n <= d < n:
        dim_out_of_range(d, ndim)
    return d + n if d < 0 else d


@composite(samples=lambda make: [(make(2, 3, 4),), (make(2, 3, 4), 1), (make(),)])
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Dimensions start_dim to end_dim as one."""
    shape = input._array.shape
    ndim = len(shape)
    if start_dim == 0 and end_dim == -1 and ndim > 1:
        return reshape(input, -1) if 0 not in shape else reshape(input, 0)
    first, last = _dim(start_dim, ndim), _dim(end_dim, ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if ndim == 0:
        return view(input, 1)
    if first == last:
        return input
    size = math.prod(shape[first : last + 1])
    return reshape(input, (*shape[:first], size, *shape[last + 1 :]))


@composite(samples=lambda make: [(make(2, 12), 1, (3, -1))])
def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Any:
    """One dimension as several of the given sizes."""
    shape = input.shape
    dim = _dim(dim, input.ndim)
    sizes = list(sizes)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known, unknown = 1, 0
    for n in sizes:
        if n == -1:
            unknown += 1
        else:
            known *= n
    fits = unknown == 0 and known == shape[dim]
    if unknown == 1 and known and shape[dim] % known == 0:
        sizes[sizes.index(-1)] = shape[dim] // known
        fits = True
    if not fits:
        if unknown > 1:
            raise RuntimeError("only one dimension can be inferred")
        raise RuntimeError(
            f"unflatten: Provided sizes {listed(sizes)} don't multiply up to the size of dim {dim} "
            f"({shape[dim]}) in the input tensor"
        )
    return view(input, (*shape[:dim], *sizes, *shape[dim + 1 :]))


@composite(samples=lambda make: [(make(2, 3),), (make(2, 3).t(),)])
def ravel(input: Any) -> Any:
    """All elements in one dimension."""
    return reshape(contiguous(input), -1)


def _squeezing(signature: str, node: str, samples: Any) -> Any:
    return linear(
        signature,
        _kernels.squeeze,
        transpose={"input": lambda g, input_shape: view(g, input_shape)},
        backward=(_kernels.reshape, "g input_shape"),
        node=node,
        view=True,
        method=False,
        out=False,
        samples=samples,
        doc="Without dimensions of size 1.",
    )


_squeeze = _squeezing("_squeeze(input)", "SqueezeBackward0", lambda make: [(make(1, 3, 1),)])
_squeeze_dim = _squeezing(
    "_squeeze_dim(input, dim: int)",
    "SqueezeBackward1",
    lambda make: [(make(1, 3), 0), (make(1, 3), 1)],
)
_squeeze_dims = _squeezing(
    "_squeeze_dims(input, dim: dims)", "SqueezeBackward2", lambda make: [(make(1, 3, 1), (0, 2))]
)


@composite
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without dimensions of size 1: all of them, or those named."""
    if dim is None:
        return _squeeze(input)
    return _squeeze_dims(input, dim) if isinstance(dim, (tuple, list)) else _squeeze_dim(input, dim)


unsqueeze: Any = linear(
    "unsqueeze(input, dim: int)",
    _kernels.unsqueeze,
    transpose={"input": lambda g, dim: _squeeze_dim(g, dim)},
    backward=(_kernels.squeeze, "g dim"),
    view=True,
    out=False,
    samples=lambda make: [(make(2, 3), 0), (make(2, 3), -1), (make(), 0)],
    doc="With one more dimension of size 1, at position dim.",
)

# ---- dimensions in another order

transpose: Any = linear(
    "transpose(input, dim0: int, dim1: int)",
    _kernels.transpose,
    transpose={"input": lambda g, dim0, dim1: transpose(g, dim0, dim1)},
    backward=(_kernels.transpose, "g dim0 dim1"),
    view=True,
    out=False,
    samples=lambda make: [(make(2, 3, 4), 0, 2), (make(2, 3), -1, 0)],
    doc="Two dimensions changed over.",
)

t: Any = linear(
    "t(input)",
    _kernels.t,
    transpose={"input": lambda g: t(g)},
    backward=(_kernels.t, "g"),
    view=True,
    out=False,
    samples=lambda make: [(make(2, 3),), (make(3),), (make(),)],
    doc="A matrix's transpose; a vector or a number as it is.",
)

permute: Any = linear(
    "permute(input, *dims)",
    _kernels.permute,
    transpose={"input": lambda g, dims: _permute_back(g, dims)},
    backward=(_kernels.permute_back, "g dims"),
    view=True,
    out=False,
    samples=lambda make: [(make(2, 3, 4), 2, 0, 1), (make(2, 3), (-1, 0))],
    doc="The dimensions in the order given.",
)

_permute_back: Any = linear(
    "_permute_back(input, *dims)",
    _kernels.permute_back,
    transpose={"input": lambda g, dims: permute(g, dims)},
    backward=(_kernels.permute, "g dims"),
    node="PermuteBackward0",
    view=True,
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3, 4), 2, 0, 1)],
    doc="Undoes `permute`.",
)


@composite
def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """`transpose` under NumPy's name."""
    return transpose(input, axis0, axis1)


@composite
def swapdims(input: Any, dim0: int, dim1: int) -> Any:
    """`transpose` under another name."""
    return transpose(input, dim0, dim1)


def _movedim(input: Any, source: Any, destination: Any, name: str) -> Any:
    sources = [source] if isinstance(source, int) else list(source)
    targets = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({listed(sources)} dims) "
            "should contain "
            f"the same number of dims as destination ({listed(targets)} dims)"
        )
    ndim = input.ndim
    from_dims = [_dim(d, ndim) for d in sources]
    to_dims = [_dim(d, ndim) for d in targets]
    for what, dims, given in (("source", from_dims, sources), ("destination", to_dims, targets)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({listed(given)})")
    if ndim == 0:
        return alias(input)
    order = [-1] * ndim
    for a, b in zip(from_dims, to_dims, strict=True):
        order[b] = a
    rest = iter([d for d in range(ndim) if d not in from_dims])
    return permute(input, [next(rest) if d < 0 else d for d in order])


@composite(samples=lambda make: [(make(2, 3, 4), 0, 2), (make(2, 3, 4), (0, 1), (2, 0))])
def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places, the rest in their order."""
    return _movedim(input, source, destination, "movedim")


@composite
def moveaxis(input: Any, source: Any, destination: Any) -> Any:
    """`movedim` under NumPy's name."""
    return _movedim(input, source, destination, "moveaxis")


def _conj(input: Any) -> Any:
    return input.conj() if input.dtype.is_complex else input


@composite(samples=lambda make: [(make(2, 3),), (make(2, 3, 4),)])
def adjoint(input: Any) -> Any:
    """The conjugate transpose of the last two dimensions."""
    if input.ndim < 2:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. "
            f"Got {input.ndim}-D tensor."
        )
    return _conj(transpose(input, -2, -1))


def _reversed_dims(self: Any) -> Any:
    """The dimensions in reverse order."""
    ndim = self.ndim
    if ndim == 2:
        return permute(self, (1, 0))
    if ndim == 0:
        message = (
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
        )
    else:
        message = (
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated "
            "and it will throw an error in a future release. Consider `x.mT` to transpose "
            "batches of "
            "matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the "
            "dimensions of a "
            "tensor."
        )
    warnings.warn(message, UserWarning, stacklevel=2)
    return permute(self, tuple(range(ndim - 1, -1, -1)))


def _matrix_transpose(self: Any) -> Any:
    """The last two dimensions changed over."""
    if self.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D "
            "tensor."
        )
    return transpose(self, -2, -1)


def _matrix_adjoint(self: Any) -> Any:
    """The conjugate transpose of the last two dimensions."""
    if self.ndim < 2:
        raise RuntimeError(
            f"tensor.mH is only supported on matrices or batches of matrices. Got {self.ndim}-D "
            "tensor."
        )
    return _conj(transpose(self, -2, -1))


def _hermitian(self: Any) -> Any:
    """A matrix's conjugate transpose."""
    if self.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
        )
    return _conj(transpose(self, 0, 1)) if self.ndim else _conj(self)


for _name, _property in {
    "T": _reversed_dims,
    "mT": _matrix_transpose,
    "mH": _matrix_adjoint,
    "H": _hermitian,
}.items():
    setattr(Tensor, _name, property(_property))

# ---- repeated without copying

expand: Any = linear(
    "expand(input, *size, implicit=False)",
    _kernels.expand,
    transpose={"input": lambda g, input_shape: sum_to(g, input_shape)},
    backward=(_kernels.sum_to, "g input_shape"),
    view=True,
    out=False,
    samples=lambda make: [(make(3, 1), 3, 4), (make(3), 2, 3), (make(1), (2, -1)), (make(), 2)],
    doc="Dimensions of size 1 repeated without copying; -1 keeps a size; new dimensions come "
    "first.",
)


def _sum_to(a: Array, shape: tuple[int, ...]) -> Array:
    """What the kernel leaves: integers, half precision and complex numbers, each in its own "
    "type."""
    lead = a.ndim - len(shape)
    dims = [
        *range(lead),
        *(i + lead for i, n in enumerate(shape) if n == 1 and a.shape[i + lead] != 1),
    ]
    half = a.dtype.itemsize == 2 and a.dtype.kind in "fV"
    total = a.sum(tuple(dims), dtype=np.float32 if half else a.dtype)
    return np.array(total, a.dtype).reshape(shape)


sum_to: Any = linear(
    "sum_to(input, shape: shape)",
    _sum_to,
    native=_kernels.sum_to,
    transpose={"input": lambda g, input_shape: expand(g, input_shape)},
    backward=(_kernels.expand, "g input_shape"),
    node="SumBackward1",
    method=False,
    out=False,
    samples=lambda make: [
        (make(2, 3), (3,)),
        (make(2, 3), (2, 1)),
        (make(2, 3), ()),
        (make(4, 2, 3), (1, 3)),
    ],
    doc="Undoes broadcasting: sums over the dimensions that expanding `shape` repeated.",
)


@composite
def expand_as(input: Any, other: Any) -> Any:
    """`expand` to the shape of another tensor."""
    return expand(input, other.shape)


@composite(samples=lambda make: [(make(3, 1), (2, 3, 4))])
def broadcast_to(input: Any, *size: Any) -> Any:
    """`expand` to a shape."""
    return expand(input, _shape_argument("broadcast_to", size, None))


def _common_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The shape that all broadcast to."""
    result: list[int] = []
    for shape in shapes:
        result[:0] = [1] * (len(shape) - len(result))
        shift = len(result) - len(shape)
        for i, n in enumerate(shape):
            have = result[i + shift]
            if have == 1:
                result[i + shift] = n
            elif n not in (1, have):
                raise RuntimeError(
                    f"The size of tensor a ({have}) must match the size of tensor b ({n}) at "
                    f"non-singleton dimension {i + shift}"
                )
    return tuple(result)


@composite(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All tensors expanded to their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape = _common_shape([x.shape for x in tensors])
    return tuple([x if x.shape == shape else expand(x, shape) for x in tensors])


@composite(method=False)
def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes broadcast to."""
    from ..size import Size

    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    for size in sizes:
        for n in size:
            if n < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({n}): ({n})")
    result: list[int] = []
    for at, size in enumerate(sizes):
        try:
            result = list(_common_shape([result, size]))
        except RuntimeError:
            pairs = enumerate(zip(reversed(result), reversed(size), strict=False), 1)
            d = next(i for i, (have, n) in pairs if have != n and 1 not in (have, n))
            raise RuntimeError(
                f"Attempting to broadcast a dimension of length {size[-d]} at {-d}! Mismatching "
                f"argument at index {at} had {size}; but expected shape should be broadcastable to "
                f"{result}"
            ) from None
    return Size(result)


# ---- parts

select: Any = linear(
    "select(input, dim: int, index: int)",
    _kernels.select,
    transpose={
        "input": lambda g, input_shape, dim, index: _select_backward(g, input_shape, dim, index)
    },
    backward=(_kernels.select_backward, "g input_shape dim index"),
    view=True,
    out=False,
    samples=lambda make: [(make(2, 3), 0, 1), (make(2, 3, 4), -1, -2)],
    doc="One entry of a dimension, without it.",
)
_select_backward: Any = linear(
    "_select_backward(input, shape: shape, dim: int, index: int)",
    _kernels.select_backward,
    transpose={"input": lambda g, dim, index: select(g, dim, index)},
    backward=(_kernels.select, "g dim index"),
    method=False,
    out=False,
    samples=lambda make: [(make(3), (2, 3), 0, 1)],
    doc="Zeros of a shape, with the input where `select` finds it.",
)

_slice: Any = linear(
    "_slice(input, dim=0, start=None, end=None, step=1)",
    _kernels.slice,
    transpose={
        "input": lambda g, input_shape, dim, start, end, step: _slice_backward(
            g, input_shape, dim, start, end, step
        )
    },
    backward=(_kernels.slice_backward, "g input_shape dim start end step"),
    view=True,
    method=False,
    out=False,
    samples=lambda make: [
        (make(5, 3), 0, 1, None, 2),
        (make(5, 3), 1, -2, 10, 1),
        (make(5), 0, 3, 1, 1),
    ],
    doc="Every step-th entry of a dimension from start to end, clamped as Python's slices.",
)
_slice_backward: Any = linear(
    "_slice_backward(input, shape: shape, dim: int, start: int, end: int, step: int)",
    _kernels.slice_backward,
    transpose={"input": lambda g, dim, start, end, step: _slice(g, dim, start, end, step)},
    backward=(_kernels.slice, "g dim start end step"),
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3), (5, 3), 0, 1, None, 2)],
    doc="Zeros of a shape, with the input where `_slice` finds it.",
)


@composite(samples=lambda make: [(make(5, 3), 0, 1, 2), (make(5, 3), -1, -2, 1)])
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """`length` entries of a dimension from `start` on."""
    if input.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    shape = input._array.shape
    size = shape[_dim(dim, len(shape))]
    start = as_int(start)
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return _slice(input, dim, start, start + length, 1)


diagonal: Any = linear(
    "diagonal(input, offset=0, dim1=0, dim2=1)",
    _kernels.diagonal,
    transpose={
        "input": lambda g, input_shape, offset, dim1, dim2: _diagonal_backward(
            g, input_shape, offset, dim1, dim2
        )
    },
    backward=(_kernels.diagonal_backward, "g input_shape offset dim1 dim2"),
    view=True,
    out=False,
    samples=lambda make: [(make(3, 4),), (make(3, 4), 1), (make(2, 3, 4), -1, 0, 2)],
    doc="A diagonal of two dimensions, as a new last dimension.",
)
_diagonal_backward: Any = linear(
    "_diagonal_backward(input, shape: shape, offset: int, dim1: int, dim2: int)",
    _kernels.diagonal_backward,
    transpose={"input": lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2)},
    backward=(_kernels.diagonal, "g offset dim1 dim2"),
    method=False,
    out=False,
    samples=lambda make: [(make(3), (3, 4), 1, 0, 1)],
    doc="Zeros of a shape, with the input on a diagonal.",
)


def _unfold_back(g: Array, shape: tuple[int, ...], dimension: int, size: int, step: int) -> Array:
    half = g.dtype.itemsize == 2 and g.dtype.kind in "fV"
    result = np.zeros(shape, np.float32 if half else g.dtype)
    if result.ndim == 0:
        result += g.sum(dtype=result.dtype)
        return result.astype(g.dtype)
    dim = dimension % result.ndim
    windows = g.shape[dim]
    target = np.moveaxis(result, dim, -1)
    source = np.moveaxis(g, dim, -2)
    for k in range(size):
        target[..., k : k + step * windows : step][..., :windows] += source[..., k]
    return result.astype(g.dtype, copy=False)


unfold: Any = linear(
    "unfold(input, dimension: int, size: int, step: int)",
    _kernels.unfold,
    transpose={
        "input": lambda g, input_shape, dimension, size, step: _unfold_backward(
            g, input_shape, dimension, size, step
        )
    },
    view=True,
    out=False,
    samples=lambda make: [(make(7, 3), 0, 3, 2), (make(7), 0, 2, 1), (make(), 0, 1, 1)],
    doc="Windows of a size along a dimension, every step, as a new last dimension.",
)
_unfold_backward: Any = linear(
    "_unfold_backward(input, shape: shape, dimension: int, size: int, step: int)",
    _unfold_back,
    transpose={"input": lambda g, dimension, size, step: unfold(g, dimension, size, step)},
    method=False,
    out=False,
    samples=lambda make: [(make(3, 3, 3), (7, 3), 0, 3, 2)],
    doc="The sum of windows, each at its place.",
)

# ---- the same and copies of it

alias: Any = linear(
    "alias(input)",
    lambda a: a,
    transpose={"input": lambda g: g},
    view=True,
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3),)],
    doc="A view of everything.",
)

_ORDERS = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}


def _format_order(memory_format: Any, ndim: int) -> tuple[int, ...] | None:
    """The order of dimensions in memory; None where it is that of the shape."""
    if memory_format is channels_last or memory_format is channels_last_3d:
        order = _ORDERS[memory_format._name]
        if ndim != len(order):
            raise RuntimeError(
                f"required rank {len(order)} tensor to use {memory_format._name} format. "
                f"This one has {ndim} dimensions."
            )
        return order
    return None


def _copied(a: Array, memory_format: Any) -> Array:
    order = _format_order(memory_format, a.ndim)
    if order is None:
        return a.copy() if memory_format is contiguous_format else a.copy(order="K")
    return a.transpose(order).copy().transpose(np.argsort(order))


clone: Any = linear(
    "clone(input, *, memory_format=None)",
    _copied,
    native=_kernels.clone,
    transpose={"input": lambda g: g},
    out=False,
    samples=lambda make: [(make(2, 3),), (make(),), (make(2, 3).t(),)],
    doc="A copy, which gradients flow through.",
)

_contiguous_copy: Any = linear(
    "_contiguous_copy(input)",
    lambda a: a.copy(),
    transpose={"input": lambda g: g},
    node="CloneBackward0",
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3).t(),)],
    doc="A copy whose memory order is that of the shape.",
)


def is_contiguous(self: Any, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements lie in memory in the order of the shape (or of a memory format)."""
    array = self._array
    if memory_format is contiguous_format:
        return array.flags.c_contiguous  # type: ignore[no-any-return]
    order = _ORDERS.get(getattr(memory_format, "_name", ""))
    if order is None or array.ndim != len(order):
        return False
    return array.transpose(order).flags.c_contiguous  # type: ignore[no-any-return]


@composite
def contiguous(input: Any, memory_format: Any = contiguous_format) -> Any:
    """The tensor itself when it is contiguous, else a contiguous copy."""
    if memory_format is contiguous_format:
        return input if input._array.flags.c_contiguous else _contiguous_copy(input)
    _format_order(memory_format, input.ndim)
    return (
        input if is_contiguous(input, memory_format) else clone(input, memory_format=memory_format)
    )


def storage_offset(self: Any) -> int:
    """How many elements of the storage come before the first."""
    return _kernels.storage_offset(self._array)  # type: ignore[no-any-return]


for _method in (is_contiguous, storage_offset):
    setattr(Tensor, _method.__name__, _method)


def internal(*names: str) -> None:
    """Take ops out of the public namespace: what torch has only as a method, or not at all."""
    for name in names:
        namespace("torch").pop(name, None)


internal(
    "view",
    "view_as",
    "reshape_as",
    "expand",
    "expand_as",
    "unfold",
    "contiguous",
    "sum_to",
    "alias",
)

_core.register(callbacks={"clone": clone, "sum_to": sum_to})
