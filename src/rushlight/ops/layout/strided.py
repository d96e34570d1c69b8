"""Views by sizes and strides, and how writing through one changes the history of the whole.

Note [Layouts]: sizes, strides and offset of such a view refer to the memory of the tensor it is
taken from, counted in elements from that tensor's first one. A gradient has the shape of that
tensor but may lie otherwise in memory, so every op here also takes `layout`, the strides of that
tensor (None: contiguous), and works on a flat buffer in that layout:

- `strided_view`: the tensor -> the view (no copy);
- `_strided_backward`: a gradient of the view -> zeros in the tensor's shape with it at its place;
  where the view shows an element twice, both count; it is the transpose of `_strided_gather`, which
  reads the same places of another tensor;
- `_strided_scatter`: the tensor with the view's place overwritten.

The gradient of a write through a view is made of the last two (native/core/inplace.cpp).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index as as_int
from typing import Any

from ... import _core
from ..._base import determinism as _determinism
from ..._base.device import preserve_format
from ..._base.outside import np
from ..._base.size import Size
from ..._core import Op, Tensor
from ..elementwise.complex_numbers import neg_view, resolve_conj, view_as_complex, view_as_real
from ..making.copies import format_strides, suggested_format
from ..making.creation import empty_strided, unset
from ..table.arrays import Array, is_half
from ..table.kinds import composite, general, linear
from ..table.names import publish
from ..table.signature import Ints, Sizes, memory_format, overloaded
from .shape import to_shape
from .transposes import t, transpose

_kernels = _core.kernels
_wrap = _core.wrap
Lengths = Sequence[int]


def _contiguous_strides(shape: Lengths) -> tuple[int, ...]:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def _reach(shape: Lengths, strides: Lengths) -> int:
    """How many elements from the first one on a strided tensor spans."""
    if 0 in shape:
        return 0
    return 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])


def _overlapping(shape: Lengths, strides: Lengths) -> bool:
    """Whether some element may be seen twice."""
    span = 0
    for s, n in sorted([(s, n) for n, s in zip(shape, strides, strict=True) if n > 1]):
        if s <= span:
            return True
        span += (n - 1) * s
    return False


class _Place:
    """A flat buffer that holds a tensor of `shape` in `layout`, and the strided part of it."""

    __slots__ = ("first", "layout", "offset", "shape", "size", "stride", "total")

    def __init__(
        self,
        shape: Lengths,
        size: Lengths,
        stride: Lengths,
        offset: int,
        layout: tuple[int, ...] | None,
    ) -> None:
        self.shape, self.size, self.stride = shape, size, stride
        self.layout = _contiguous_strides(shape) if layout is None else layout
        low = min(0, offset)
        self.first, self.offset = -low, offset - low
        self.total = max(_reach(shape, self.layout) - low, _reach(size, stride) + offset - low, 1)

    def whole(self, buffer: Array) -> Array:
        seen: Array = _kernels.strided(buffer, self.shape, self.layout, self.first)
        return seen

    def part(self, buffer: Array) -> Array:
        seen: Array = _kernels.strided(buffer, self.size, self.stride, self.offset)
        return seen

    def filled(self, values: Array) -> Array:
        """A buffer with the values laid out in it."""
        buffer = np.zeros(self.total, values.dtype)
        self.whole(buffer)[...] = values
        return buffer


def _scattered(
    g: Array,
    shape: Lengths,
    size: Lengths,
    stride: Lengths,
    offset: int,
    layout: tuple[int, ...] | None,
) -> Array:
    place = _Place(shape, size, stride, offset, layout)
    buffer = np.zeros(place.total, np.float32 if is_half(g) else g.dtype)
    if _overlapping(size, stride):
        where = place.part(np.arange(place.total))
        np.add.at(buffer, where.ravel(), g.ravel().astype(buffer.dtype, copy=False))
    else:
        place.part(buffer)[...] = g
    result = place.whole(buffer)
    if layout is not None and _overlapping(shape, layout):
        # The tensor itself shows elements twice: the gradient of one is divided equally among them.
        where = place.whole(np.arange(place.total))
        result = result / np.bincount(where.ravel(), minlength=place.total)[where]
    return np.ascontiguousarray(result).astype(g.dtype, copy=False).reshape(shape)


def _gathered(
    g: Array, size: Lengths, stride: Lengths, offset: int, layout: tuple[int, ...] | None
) -> Array:
    if (
        layout is None
        and offset >= 0
        and g.flags.c_contiguous
        and _reach(size, stride) + offset <= g.size
    ):
        return _kernels.strided(g, size, stride, offset).copy()
    place = _Place(g.shape, size, stride, offset, layout)
    if layout is not None and _overlapping(g.shape, layout):
        where = place.whole(np.arange(place.total))
        g = (g / np.bincount(where.ravel(), minlength=place.total)[where]).astype(g.dtype)
        buffer = np.zeros(place.total, g.dtype)
        np.add.at(buffer, where.ravel(), g.ravel())
    else:
        buffer = place.filled(g)
    return place.part(buffer).copy()


def _strided_tangent(
    t: Tensor, input: Tensor, size: object, stride: object, storage_offset: int, layout: object
) -> Any:
    if t._seen.strides != input._seen.strides:
        # Strides are those of the value's storage: a tangent laid out otherwise is copied into
        # them.
        laid_out = empty_strided(tuple(input.shape), input.stride(), dtype=t.dtype)
        t = laid_out.zero_().copy_(t)
    storage_offset += t.storage_offset() - input.storage_offset()
    return strided_view(t, size, stride, storage_offset, layout)


strided_view: Op = linear(
    "strided_view(input: Tensor, size: Any, stride: Any, storage_offset: int, layout: Any = None)",
    _kernels.strided,
    transpose={
        "input": lambda g, input_shape, size, stride, storage_offset, layout: _strided_backward(
            g, input_shape, size, stride, storage_offset, layout
        )
    },
    jvp={"input": _strided_tangent},
    backward=(_kernels.strided_backward, "g input_shape size stride storage_offset layout"),
    node="AsStridedBackward0",
    view=True,
    method=False,
    out=False,
    samples=lambda make: [(make(3, 4), (2, 2), (4, 1), 1), (make(3, 4), (3, 3), (1, 1), 2)],
    where="",
    traits="strides",
    doc="Any view of the memory of a tensor, counted from its first element.",
)

_strided_backward: Op = linear(
    "_strided_backward(input: Tensor, shape: Any, size: Any, stride: Any, storage_offset: int, "
    "layout: layout | None = None)",
    _scattered,
    native=_kernels.strided_backward,
    transpose={
        "input": lambda g, size, stride, storage_offset, layout: _strided_gather(
            g, size, stride, storage_offset, layout
        )
    },
    backward=(_kernels.strided_gather, "g size stride storage_offset layout"),
    method=False,
    out=False,
    samples=lambda make: [
        (make(2, 2), (3, 4), (2, 2), (4, 1), 1),
        (make(2, 3), (3, 4), (2, 3), (1, 1), 0),
    ],
    traits="strides",
    doc="Zeros of a shape, with the input added where `strided_view` shows it.",
    written="{input} added up at its elements, 0 elsewhere",
)

_strided_gather: Op = linear(
    "_strided_gather(input: Tensor, size: Any, stride: Any, storage_offset: int, "
    "layout: layout | None = None)",
    _gathered,
    native=_kernels.strided_gather,
    transpose={
        "input": lambda g, input_shape, size, stride, storage_offset, layout: _strided_backward(
            g, input_shape, size, stride, storage_offset, layout
        )
    },
    backward=(_kernels.strided_backward, "g input_shape size stride storage_offset layout"),
    node="AsStridedBackward0",
    method=False,
    out=False,
    samples=lambda make: [(make(3, 4), (2, 2), (4, 1), 1)],
    traits="strides",
    doc="What `strided_view` would show if the tensor lay in memory in that layout.",
    written="as_strided({input}, {size}, {stride})",
)


def _with_part(
    a: Array,
    src: Array | int,
    size: Lengths,
    stride: Lengths,
    offset: int,
    layout: tuple[int, ...] | None,
) -> Array:
    if layout is None:
        result = a.copy()
        _kernels.strided(result, size, stride, offset)[...] = src
        return result
    place = _Place(a.shape, size, stride, offset, layout)
    buffer = place.filled(a)
    place.part(buffer)[...] = src
    return place.whole(buffer).copy()


_strided_zeroed: Op = linear(
    "_strided_zeroed(input: Tensor, size: Any, stride: Any, storage_offset: int, "
    "layout: layout | None = None)",
    lambda a, size, stride, offset, layout: _with_part(a, 0, size, stride, offset, layout),
    native=_kernels.strided_zeroed,
    transpose={
        "input": lambda g, size, stride, storage_offset, layout: _strided_zeroed(
            g, size, stride, storage_offset, layout
        )
    },
    method=False,
    out=False,
    samples=lambda make: [(make(3, 4), (2, 2), (4, 1), 1)],
    traits="strides",
    stored="all",
    doc="The tensor with zeros at the place of a strided view.",
    written="{input}, 0 at the elements of src",
)


_strided_scatter: Op = linear(
    "_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int, "
    "layout: layout | None = None)",
    _with_part,
    native=_kernels.strided_scatter,
    transpose={
        "input": lambda g, size, stride, storage_offset, layout: _strided_zeroed(
            g, size, stride, storage_offset, layout
        ),
        "src": lambda g, size, stride, storage_offset, layout: _strided_gather(
            g, size, stride, storage_offset, layout
        ),
    },
    backward=(_kernels.strided_scatter_backward, "g size stride storage_offset layout"),
    node="AsStridedScatterBackward0",
    method=False,
    out=False,
    samples=lambda make: [(make(3, 4), make(2, 2), (2, 2), (4, 1), 1)],
    traits="strides",
    stored="all",
    doc="The tensor with the place of a strided view overwritten.",
)


# ---- a complex tensor seen as a real one, and the other way round: places count real numbers


def _as_real(a: Tensor, layout: Size | None) -> tuple[Any, Any]:
    return view_as_real(resolve_conj(a)), None if layout is None else (*layout, 1)


def _mixed_view(
    a: Tensor, size: Lengths, stride: Lengths, offset: int, layout: Size | None, which: str
) -> Any:
    if which == "view":
        strides = tuple(layout or _contiguous_strides(a.shape))
        if offset == 0 and (*size, 2) == a.shape and (*stride, 1) == strides:
            return view_as_complex(a)
        return view_as_complex(strided_view(a, (*size, 2), (*stride, 1), offset, layout))
    real, layout = _as_real(a, layout)
    if which == "negative root":
        real = neg_view(real)
    whole = layout is None and offset == 0 and (*size,) == real.shape
    if whole and (*stride,) == _contiguous_strides(size):
        return real
    return strided_view(real, size, stride, offset, layout)


def _mixed_gather(
    g: Tensor, size: Lengths, stride: Lengths, offset: int, layout: Size | None, which: str
) -> Tensor:
    if which == "view":
        return view_as_complex(_strided_gather(g, (*size, 2), (*stride, 1), offset, layout))
    real, layout = _as_real(g, layout)
    return _strided_gather(real, size, stride, offset, layout)


def _mixed_scatter(
    g: Tensor,
    src: Tensor,
    size: Lengths,
    stride: Lengths,
    offset: int,
    layout: Size | None,
    which: str,
) -> Tensor:
    if which == "view":
        place = ((*size, 2), (*stride, 1), offset, layout)
        return _strided_scatter(g, view_as_real(resolve_conj(src)), *place)
    real, layout = _as_real(g, layout)
    return view_as_complex(_strided_scatter(real, src, size, stride, offset, layout))


def layout_of(t: Any) -> tuple[int, ...] | None:
    """The strides of a tensor in elements; None where it is contiguous."""
    return None if t._contiguous else t.stride()


@composite(
    samples=lambda make: [(make(3, 4), (2, 2), (4, 1)), (make(3, 4).t(), (2, 2), (4, 1), 1)],
    traits="strides",
)
def as_strided(
    input: Tensor, size: Sizes, stride: Sizes, storage_offset: int | None = None
) -> Tensor:
    """Any view of the storage; the offset counts from the storage's first element."""
    offset = 0 if storage_offset is None else storage_offset - input._offset
    return strided_view(input, tuple(size), tuple(stride), offset, layout_of(input))


@composite(samples=lambda make: [(make(3, 4), make(2, 2), (2, 2), (4, 1))], traits="strides")
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sizes, stride: Sizes, storage_offset: int | None = None
) -> Tensor:
    """A copy of the tensor with `src` at the place of `as_strided`."""
    offset = 0 if storage_offset is None else storage_offset - input._offset
    if tuple(src.shape) != tuple(size):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, "
            f"slice size = {list(size)}"
        )
    return _strided_scatter(input, src, tuple(size), tuple(stride), offset, layout_of(input))


# ---- in place: the same tensor seen with another shape from now on


def _may_be_written(self: Tensor) -> None:
    """Raise where the history forbids it; its memory is not touched."""
    _core.check_place(self, self.requires_grad and _core.is_grad_enabled())


def _reseat(name: str, self: Tensor, seen: Callable[..., Any], *args: object) -> Tensor:
    """Give `self` the array and the history of the view `seen(self, *args)`, for the method
    `name`."""
    _core.check_captured(self, name, None)
    while self._wrapped is not None and not self._wrapped.level.active:
        self._wrapped.level.give_back(self)
    if self._wrapped is not None:  # stands for others in a transform: so does the view
        made = seen(_core.split(self), *args)
        made._wrapped.origin = self._wrapped.origin
        self._array, self._wrapped = (
            made._seen,
            (self._flags() & _core.Flag.WRAPPED, made._wrapped),
        )
        while made._wrapped is not None:
            made = made._wrapped.value
        made._bump_version()
        return self
    _may_be_written(self)
    made = seen(self, *args)
    node = made.grad_fn  # before the write is counted, which makes a view's history out of date
    place = made.shape, made.stride(), made.storage_offset()
    _core.take_place(self, _core.storage_of(made), *place)
    self._bump_version()
    if node is not None:
        _core.set_history(self, node, 0)  # a view's only: its memory is as it was
    return self


def _reshaping(signature: str, kernel: Any, back: Any, node: str) -> Op:
    """The op that an in-place form records: like the one of its name, under another node."""
    return linear(
        signature,
        kernel,
        transpose={"input": back},
        node=node,
        view=True,
        method=False,
        out=False,
        doc="What the in-place form of a view records.",
    )


_t_in_place = _reshaping("_t_in_place(input: Tensor)", _kernels.t, lambda g: t(g), "TBackward1")
_transpose_in_place = _reshaping(
    "_transpose_in_place(input: Tensor, dim0: int, dim1: int)",
    _kernels.transpose,
    lambda g, dim0, dim1: transpose(g, dim0, dim1),
    "TransposeBackward1",
)
_unsqueeze_in_place = _reshaping(
    "_unsqueeze_in_place(input: Tensor, dim: int)",
    _kernels.unsqueeze,
    to_shape,
    "UnsqueezeBackward1",
)
_squeeze_in_place = _reshaping(
    "_squeeze_in_place(input: Tensor)", _kernels.squeeze, to_shape, "SqueezeBackward3"
)
_squeeze_dim_in_place = _reshaping(
    "_squeeze_dim_in_place(input: Tensor, dim: int)", _kernels.squeeze, to_shape, "SqueezeBackward4"
)
_squeeze_dims_in_place = _reshaping(
    "_squeeze_dims_in_place(input: Tensor, dim: Ints)",
    _kernels.squeeze,
    to_shape,
    "SqueezeBackward5",
)


def t_(self: Tensor) -> Any:
    """In-place version of `t`."""
    if self.dim() > 2:
        _may_be_written(self)
        raise RuntimeError(
            f"t_() expects a tensor with <= 2 dimensions, but self is {self.dim()}D. "
            "Say which two with transpose_(dim0, dim1)."
        )
    return _reseat("t_", self, _t_in_place)


def transpose_(self: Tensor, dim0: int, dim1: int) -> Any:
    """In-place version of `transpose`."""
    return _reseat("transpose_", self, _transpose_in_place, dim0, dim1)


def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Any:
    """In-place version of `swapaxes`."""
    return _reseat("swapaxes_", self, _transpose_in_place, axis0, axis1)


def swapdims_(self: Tensor, dim0: int, dim1: int) -> Any:
    """In-place version of `swapdims`."""
    return _reseat("swapdims_", self, _transpose_in_place, dim0, dim1)


def unsqueeze_(self: Tensor, dim: int) -> Any:
    """In-place version of `unsqueeze`."""
    return _reseat("unsqueeze_", self, _unsqueeze_in_place, dim)


def squeeze_(self: Tensor, dim: int | None = None) -> Any:
    """In-place version of `squeeze`."""
    if dim is None:
        return _reseat("squeeze_", self, _squeeze_in_place)
    several = isinstance(dim, (tuple, list))
    name = "squeeze_.dims" if several else "squeeze_.dim"
    return _reseat(name, self, _squeeze_dims_in_place if several else _squeeze_dim_in_place, dim)


def as_strided_(
    self: Tensor, size: tuple[int, ...], stride: Lengths, storage_offset: int | None = None
) -> Tensor:
    """In-place version of `as_strided`."""
    return _reseat("as_strided_", self, as_strided, size, stride, storage_offset)


def resize_(input: Tensor, *size: Ints, memory_format: memory_format | None = None) -> Tensor:
    """Another size, elements kept in storage order; new ones are unset."""
    if not size:
        raise TypeError('resize_() missing 1 required positional arguments: "size"')
    given: Any = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    try:
        wanted = tuple([as_int(n) for n in given])
    except TypeError:
        raise TypeError(
            "resize_(): argument 'size' (position 1) must be tuple of ints, not "
            + type(size[0]).__name__
        ) from None
    _core.check_captured(input, "resize_", None)
    if input.requires_grad and not input.is_inference() and not _core.is_inference():
        raise RuntimeError("cannot resize variables that require grad")
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    before = input.untyped_storage().nbytes() if _determinism.level else 0
    if input.shape != wanted:
        _core.check_place(input, False)
        _core.take_place(input, _core.storage_of(input), wanted, None, input.storage_offset())
        input._bump_version()
    if memory_format is not None:
        strides = format_strides(wanted, memory_format)
        _core.take_place(input, _core.storage_of(input), wanted, strides, input.storage_offset())
    if _determinism.level:
        start = -(-before // input.itemsize)
        rest = input.untyped_storage().nbytes() // input.itemsize - start
        if rest > 0:
            unset(as_strided(input.detach(), (rest,), (1,), start))
    return input


def resize_as_(
    self: Tensor, the_template: Any, *, memory_format: memory_format | None = None
) -> Any:
    """`resize_` to the size of another tensor."""
    _core.check_captured(self, "resize_as_", None)
    if memory_format is preserve_format:
        memory_format = suggested_format(the_template)
    return resize_(self, the_template.shape, memory_format=memory_format)


def _no_derivative_of_set(g: Tensor) -> Any:
    raise RuntimeError(
        "derivative for set_ is not implemented. The tensor was given other memory; compute it "
        "anew in place of that, or call set_ under torch.no_grad()."
    )


_set_away = general(
    "_set_away(input: Tensor, source: Tensor, shape: Any)",
    is_=lambda input, source, shape: input.new_empty(shape),
    vjp={"input": _no_derivative_of_set, "source": _no_derivative_of_set},
    node="NotImplemented",
    method=False,
    out=False,
    doc="What `set_` records: that its derivative is not known.",
)


@overloaded(
    "(self: Tensor)",
    "(self: Tensor, source: Storage)",
    "(self: Tensor, source: Storage, storage_offset: int, size: Sizes, stride: Sizes = None)",
    "(self: Tensor, source: Tensor)",
    "(self: Tensor, source: Tensor, storage_offset: int, size: Sizes, stride: Sizes = None)",
)
def set_(
    self: Tensor,
    source: Any = None,
    storage_offset: Any = None,
    size: Any = None,
    stride: Lengths | None = None,
) -> Any:
    """Take over the memory of another tensor or storage, or a part of it; an empty one by default.

    Results computed before keep their history, which no longer leads to this tensor.
    """
    part = storage_offset is not None or size is not None or stride is not None
    storage = getattr(source, "_untyped_storage", source)
    overload = "set_.source_" + ("Tensor" if isinstance(source, Tensor) else "Storage")
    overload += "_storage_offset" if part else ""
    if source is None:
        storage, overload = _core.UntypedStorage(), "set_"
    elif isinstance(source, Tensor):
        storage = _core.storage_of(source)
    parts = isinstance(storage_offset, int) and isinstance(size, (tuple, list))
    if not isinstance(storage, _core.UntypedStorage) or (
        part and not (source is not None and parts)
    ):
        given = (source, storage_offset, size, stride)
        raise TypeError(
            "set_() received an invalid combination of arguments - got "
            f"({', '.join(type(v).__name__ for v in given if v is not None)}), but expected one "
            "of:\n * ()\n * (torch.Storage source)\n * (torch.Storage source, int storage_offset, "
            "tuple of ints size, tuple of ints stride = None)\n * (Tensor source)\n * (Tensor "
            "source, int storage_offset, tuple of ints size, tuple of ints stride = None)"
        )
    dtype = getattr(source, "dtype", self.dtype)
    if dtype is not self.dtype:
        if not isinstance(source, Tensor):
            raise RuntimeError(
                f"Expected a Storage of type {self.dtype.c_name} or an UntypedStorage, but got "
                f"type {dtype.scalar_name} for argument 1 'storage'"
            )
        raise RuntimeError(
            f"Could not set tensor of type {dtype.c_name} to a tensor of type {self.dtype.c_name}"
        )
    _core.check_captured(self, overload, None)
    seen = source if isinstance(source, Tensor) else _core.place(storage, dtype, (0,), None, 0)
    recording = _core.is_grad_enabled() and (self.requires_grad or seen.requires_grad)
    _core.check_place(self, recording)
    if part:
        place = (size, stride or None, storage_offset)
    elif isinstance(source, Tensor):
        place = (source.shape, source.stride(), source.storage_offset())
    else:
        place = ((storage.nbytes() // self.dtype.itemsize,), None, 0)
    if place[1] is None and tuple(place[0]) == self.shape:
        place = (place[0], self.stride(), place[2])  # as in torch, which looks at the sizes alone
    node = _set_away(self, seen, tuple(place[0])).grad_fn if recording else None
    _core.take_place(self, storage, *place)
    self._bump_version()
    self._forget_accumulator()
    if node is not None:
        _core.set_history(self, node, 0)
    return self


for _method in (
    t_,
    transpose_,
    swapaxes_,
    swapdims_,
    unsqueeze_,
    squeeze_,
    as_strided_,
    resize_,
    resize_as_,
    set_,
):
    publish("Tensor", _method.__name__, _method)
