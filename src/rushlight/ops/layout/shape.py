"""Views in another shape: other sizes for the same elements, and dimensions repeated.

See `transposes.py` for views with the dimensions in another order, `parts.py` for views of parts,
`strided.py` for views by strides, `joining.py` for views by the dozen, `rearrange.py` for copies
that rearrange elements.

A view's forward is a kernel (native/bindings/layout/views.cpp) that answers with torch's strides
and errors. Its rule is another view op where the gradient is only seen differently (`transpose`),
or the op that writes the gradient into zeros at the view's place (`_select_backward`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._base.dtypes import dtype
from ..._base.dtypes import dtype as dtype_class
from ..._base.outside import np
from ..._core import Op, Tensor
from ..table.arrays import Array, check_tensors, is_half, joined_sizes
from ..table.kinds import composed, composite, linear
from ..table.signature import Ints

_kernels = _core.kernels

# ---- another shape


def _view_dtype(a: Array, size: tuple[dtype | int | None, ...]) -> Array:
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
        names = f"{_name_of(a)} as {size[0].scalar_name} (different element sizes)"
        if new > old:
            _divisible("size(-1)", a.shape[-1], new // old, names)
            _divisible("storage_offset()", _kernels.storage_offset(a), new // old, names)
        if a.size and a.strides[-1] != old and a.shape[-1] > 1:
            raise RuntimeError(
                f"self.stride(-1) must be 1 to view {names}, but got {a.strides[-1] // old}"
            )
        if new > old and a.size:
            for i in range(a.ndim - 1):
                if a.shape[i] > 1:
                    _divisible(f"stride({i})", a.strides[i] // old, new // old, names)
    return a.view(to)


def _refuse_dtype(input: Tensor, size: tuple[int, ...]) -> None:
    """`view(dtype)` of bytes whose conjugate or negative is meant."""
    if len(size) == 1 and isinstance(size[0], dtype_class):
        what = "conjugate view tensors" if input.is_conj() else "tensors with negative bit set"
        raise RuntimeError(
            f"torch.Tensor.view is not supported for {what} when converting to a different dtype. "
            "Use resolve_conj() or resolve_neg() first."
        )


def _divisible(what: str, value: int, by: int, names: str) -> None:
    if value % by:
        raise RuntimeError(
            f"self.{what} must be divisible by {by} to view {names}, but got {value}"
        )


def _name_of(a: Array) -> str:
    from ..._base.dtypes import from_numpy_dtype

    return from_numpy_dtype(a.dtype).scalar_name


def to_shape(g: Any, input_shape: Any) -> Any:
    return reshape(g, input_shape)


def _reshaping(signature: str, forward: Any, **more: Any) -> Op:
    """A linear op that changes nothing but the shape."""
    return linear(
        signature,
        forward,
        transpose={"input": to_shape},
        backward=(_kernels.reshape, "g input_shape"),
        out=False,
        **more,
    )


view = _reshaping(
    "view(input: Tensor, *size: Ints)",
    _view_dtype,
    native=_kernels.view,
    view=True,
    put_off=_refuse_dtype,
    samples=lambda make: [
        (make(2, 6), 3, 4),
        (make(2, 6), (-1,)),
        (make(), 1, 1),
        (make(0, 3), 3, 0),
    ],
    overloads=("(self: Tensor, dtype: dtype)", "(self: Tensor, size: Sizes)"),
    where="Tensor",
    doc="The same elements in another shape, which the strides must allow; or the same bytes as "
    "another dtype.",
    written="reshape({input}, {size})",
)
unsafe_view = _reshaping(
    "_unsafe_view(input: Tensor, *size: Ints)",
    _kernels.reshape,
    node="UnsafeViewBackward0",
    method=False,
    samples=lambda make: [(make(2, 6), 3, 4)],
    stored="all",
    doc="`view` of a tensor that nobody else sees: no view as far as in-place writes are "
    "concerned.",
)
_reshape_alias = _reshaping(
    "_reshape_alias(input: Tensor, *size: Ints)",
    _kernels.view,
    node="ReshapeAliasBackward0",
    view=True,
    method=False,
    samples=lambda make: [(make(2, 3).t(), 3, 1, 2)],
    doc="The view that `reshape` gives of a tensor that is not contiguous.",
)


reshape = composed(
    "reshape(input: Tensor, *shape: Ints)",
    _kernels.composed_reshape,
    samples=lambda make: [(make(2, 6), (3, 4)), (make(3, 4).t(), (2, -1))],
    doc="The same elements in another shape: a view where the strides allow it, else a copy.",
)


@composite(where="Tensor")
def view_as(input: Tensor, other: Tensor) -> Any:
    """`view` in the shape of another tensor."""
    return view(input, other.shape)


@composite(where="Tensor")
def reshape_as(input: Tensor, other: Tensor) -> Any:
    """`reshape` to the shape of another tensor."""
    return reshape(input, other.shape)


flatten = composed(
    "flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1)",
    _kernels.flatten,
    samples=lambda make: [(make(2, 3, 4),), (make(2, 3, 4), 1), (make(),)],
    doc="Dimensions start_dim to end_dim as one.",
)
unflatten = composed(
    "unflatten(input: Tensor, dim: int, sizes: Sizes)",
    _kernels.unflatten,
    samples=lambda make: [(make(2, 12), 1, (3, -1))],
    doc="One dimension as several of the given sizes.",
)
ravel = composed(
    "ravel(input: Tensor)",
    _kernels.ravel,
    samples=lambda make: [(make(2, 3),), (make(2, 3).t(),)],
    doc="All elements in one dimension.",
)


def _squeezing(signature: str, node: str, samples: object, written: str = "") -> Op:
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
        written=written,
    )


_squeeze = _squeezing(
    "_squeeze(input: Tensor)", "SqueezeBackward0", lambda make: [(make(1, 3, 1),)]
)
_squeeze_dim = _squeezing(
    "_squeeze_dim(input: Tensor, dim: int)",
    "SqueezeBackward1",
    lambda make: [(make(1, 3), 0), (make(1, 3), 1)],
    written="squeeze({input}, {dim})",
)
_squeeze_dims = _squeezing(
    "_squeeze_dims(input: Tensor, dim: Ints)",
    "SqueezeBackward2",
    lambda make: [(make(1, 3, 1), (0, 2))],
)


@composite(overloads=("(input)", "(input, dim: int)", "(input, dim: Sizes)"))
def squeeze(input: Tensor, dim: Ints | None = None) -> Tensor:
    """Without dimensions of size 1: all of them, or those named."""
    if dim is None:
        return _squeeze(input)
    return _squeeze_dims(input, dim) if isinstance(dim, (tuple, list)) else _squeeze_dim(input, dim)


unsqueeze: Op = linear(
    "unsqueeze(input: Tensor, dim: int)",
    _kernels.unsqueeze,
    transpose={"input": lambda g, dim: _squeeze_dim(g, dim)},
    backward=(_kernels.squeeze, "g dim"),
    view=True,
    out=False,
    samples=lambda make: [(make(2, 3), 0), (make(2, 3), -1), (make(), 0)],
    doc="With one more dimension of size 1, at position dim.",
)

# ---- repeated without copying

expand: Op = linear(
    "expand(input: Tensor, *size: Ints, *, implicit: bool = False)",
    _kernels.expand,
    transpose={"input": lambda g, input_shape: sum_to(g, input_shape)},
    backward=(_kernels.sum_to, "g input_shape"),
    view=True,
    out=False,
    samples=lambda make: [(make(3, 1), 3, 4), (make(3), 2, 3), (make(1), (2, -1)), (make(), 2)],
    where="Tensor",
    doc="Dimensions of size 1 repeated without copying; -1 keeps a size; new dimensions come "
    "first.",
    written="{input}",
)


def _sum_to(a: Array, shape: tuple[int, ...]) -> Array:
    """The sums that the kernel leaves: integers, halves and complex numbers, each in its type."""
    lead = a.ndim - len(shape)
    dims = [
        *range(lead),
        *(i + lead for i, n in enumerate(shape) if n == 1 and a.shape[i + lead] != 1),
    ]
    total = a.sum(tuple(dims), dtype=np.float32 if is_half(a) else a.dtype)
    return np.array(total, a.dtype).reshape(shape)


sum_to: Op = linear(
    "sum_to(input: Tensor, shape: Any)",
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
    where="",
    doc="Undoes broadcasting: sums over the dimensions that expanding `shape` repeated.",
    written="sum_to_size({input}, {shape})",
)


@composite(where="Tensor")
def expand_as(input: Tensor, other: Tensor) -> Any:
    """`expand` to the shape of another tensor."""
    return expand(input, other.shape)


broadcast_to = composed(
    "broadcast_to(input: Tensor, *size: Ints)",
    lambda input, size: expand(input, size),
    samples=lambda make: [(make(3, 1), (2, 3, 4))],
    doc="`expand` to a shape.",
)


def common_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The shape that all broadcast to."""
    return functools.reduce(joined_sizes, shapes, ())


@composite(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All tensors expanded to their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    check_tensors(tensors)
    shape = common_shape([x.shape for x in tensors])
    return tuple([x if x.shape == shape else expand(x, shape) for x in tensors])


@composite(method=False, asks="nobody")
def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes broadcast to."""
    from ..._base.size import Size

    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    for size in sizes:
        for n in size:
            if n < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({n}): ({n})")
    result: list[int] = []
    for at, size in enumerate(sizes):
        try:
            result = list(common_shape([result, size]))
        except RuntimeError:
            pairs = enumerate(zip(reversed(result), reversed(size), strict=False), 1)
            d = next(i for i, (have, n) in pairs if have != n and 1 not in (have, n))
            raise RuntimeError(
                f"Attempting to broadcast a dimension of length {size[-d]} at {-d}! Mismatching "
                f"argument at index {at} had {size}; but expected shape should be broadcastable to "
                f"{result}"
            ) from None
    return Size(result)
