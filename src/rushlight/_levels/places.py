"""Where values and tangents lie in memory: a tangent is a view where its value is one, so that both
must lie alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core
from .._core import Flag, Tensor
from ..ops.elementwise.complex_numbers import neg_view
from ..ops.layout.strided import strided_view
from ..ops.making.creation import zeros, zeros_like
from ..ops.table.statement import LAZY
from .running import maps
from .settling import settled, take_part
from .structure import batched_at, note_alike_by, with_batch

if TYPE_CHECKING:
    from .batch import BatchLevel
    from .dual import DualLevel
    from .level import Level

__all__ = [
    "as_tangent",
    "copies",
    "fitted",
    "laid_out",
    "let_have_batches",
    "put_off_alike",
    "zeros_laid_out",
]

_LAZY = Flag.LAZY  # the bits of a conjugate or a negative that was put off


def put_off_alike(tangent: Tensor, value: Tensor) -> Tensor:
    """The tangent with the lazy bits of the value, so that views of both are alike."""
    if not (value._flags() ^ tangent._flags()) & _LAZY:
        return tangent
    turned = _turned(tangent, value)
    turned = turned.clone() if tangent.is_contiguous() else laid_out(turned, tangent)
    return _turned(turned, value)


def _turned(t: Tensor, value: Tensor) -> Tensor:
    """A view of a tensor with those bits changed over that a value has."""
    bits = value._flags()
    t = t.conj() if bits & LAZY["conj"] else t
    return neg_view(t) if bits & LAZY["neg"] else t


def zeros_laid_out(value: Tensor, level: DualLevel) -> Tensor:
    """Zeros in the same places of memory, as views count in them, for a tangent of a level: with
    the batch of every older running vmap, as later writes may bring any batch."""
    if value.is_contiguous():
        zeros = _with_batches(zeros_like(value), level)
    else:
        zeros = _in_place_of(value, _with_batches(value.new_zeros(_extent(value)), level))
    return _turned(zeros, value)


def fitted(tangent: Tensor, value: Tensor) -> Tensor:
    """A program's tangent with the layout and the memory of the value: the same tensor if both
    fit."""
    if tangent.dtype.is_complex and not value.dtype.is_complex:
        tangent = tangent.real.clone()
    alike = tangent.stride() == value.stride()
    if tangent._wrapped is None and value._wrapped is None:
        if alike and _storage(tangent) == _storage(value):
            return tangent
        if 0 not in value.stride():
            start, size = _storage(value)
            memory = zeros(size, dtype=tangent.dtype, device=tangent.device)
            place = (value._form.shape, value.stride(), start)
            return strided_view(memory, *place).copy_(tangent)
    return tangent if alike else laid_out(tangent, value)


def _storage(t: Tensor) -> tuple[int, int]:
    """Where a plain tensor begins in its storage, and how many elements that has."""
    size = t.untyped_storage().nbytes() // t.element_size()
    return t.storage_offset(), size


def laid_out(tangent: Tensor, value: Tensor) -> Tensor:
    """A tangent in the same places of memory as its value, as views count in them."""
    if 0 in value.stride():  # nothing can be written there
        return tangent.clone()
    found = _in_place_of(value, tangent.new_zeros(_extent(value)))
    return found.copy_(tangent)


def copies(value: Tensor, n: int) -> Tensor:
    """A tensor n times, each in the same places of memory and with the same bits as itself."""
    recording = _core.set_grad_enabled(True)
    try:
        rows = _turned(value, value).expand(n, *value.shape)
        if value.is_contiguous():
            made = zeros_like(rows)
        else:
            room = value.new_zeros(n, _extent(value))
            place = (rows._form.shape, (_extent(value), *value.stride()), 0)
            made = strided_view(room, *place)
        return _turned(made.copy_(rows), value)
    finally:
        _core.set_grad_enabled(recording)


def _extent(value: Tensor) -> int:
    """How many elements a tensor reaches over in memory."""
    shape, strides = value._form.shape, value.stride()
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if all(shape) else 0


def _in_place_of(value: Tensor, memory: Tensor) -> Tensor:
    """Memory seen as a value is."""
    return strided_view(memory, value._form.shape, value.stride(), 0)


def _with_batches(t: Tensor, level: Level) -> Tensor:
    for older in maps():
        if older.number < level.number and batched_at(t, older) is None:
            t = with_batch(t.expand(older.size, *t.shape).clone(), older)
            note_alike_by(t, (), older)
    return t


def let_have_batches(t: Tensor, source: Tensor) -> None:
    """Before a write to a tangent: gives the tangent the batches that only the source has."""
    for level in maps():
        if batched_at(source, level) is not None and batched_at(t, level) is None:
            _let_have_batch(t, level)


def _let_have_batch(t: Tensor, level: BatchLevel) -> None:
    w = settled(t)
    if w is None or w.level.number < level.number:
        take_part(t, level, lambda inside: level.wrap(copies(inside, level.size), True))
    elif w.level is not level:
        for part in w.parts():
            _let_have_batch(part, level)


def as_tangent(tangent: Tensor, out: Tensor) -> Tensor:
    """A tangent of the shape and dtype of its value."""
    if tangent.dtype is not out.dtype:
        if tangent.dtype.is_complex and not out.dtype.is_complex:
            tangent = tangent.real
        tangent = tangent.to(out.dtype)
    if tangent._form.shape != out._form.shape:
        tangent = tangent.expand(out.shape).clone()
    return tangent
