"""The array of a tensor under vmap: sizes and a type, no values.

Under vmap a tensor stands for every element of a batch: code that reads memory would read a single
element, and give the result to all. So `_array` of such a tensor is an `OpaqueArray`. Code that
asks for the shape or the element type goes on; code that asks for values raises.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["FLOW", "ITEM", "MEMORY", "OpaqueArray", "Unreadable", "unreadable"]

MEMORY = (
    "Cannot access data pointer of Tensor that doesn't have storage. Under vmap a tensor stands "
    "for all elements of a batch, so it has no values of its own that could leave as numbers or "
    "as an array. Compute with tensor operations, or take this step out of the mapped function."
)

ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error "
    "is occurring somewhere inside PyTorch internals, please file a bug report."
)
FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
    "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)


class Unreadable(RuntimeError):
    """The values of one element of a batch were asked for."""


def unreadable(*_: object, **__: object) -> NoReturn:
    """Raises the error for reading an element's memory under vmap."""
    raise Unreadable(MEMORY)


class OpaqueArray:
    """The shape, element type and layout of one element of a batch."""

    __slots__ = ("_of",)

    def __init__(self, array: Any) -> None:
        self._of = array

    def __len__(self) -> int:
        return len(self._of)

    def __repr__(self) -> str:
        return f"OpaqueArray(shape={self._of.shape}, dtype={self._of.dtype})"

    def __getattr__(self, name: str) -> Any:
        # NumPy looks for protocols by attribute: what it finds is the refusal, not their absence.
        unreadable(name)


def _about(name: str) -> Any:
    return property(lambda self: getattr(self._of, name))


for _name in "shape dtype ndim size itemsize nbytes strides flags".split():
    setattr(OpaqueArray, _name, _about(_name))

_OPERATORS = "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul".split()
_READERS = [
    "array ufunc function getitem setitem iter contains bool int float complex index",
    "eq ne lt le gt ge neg pos abs invert divmod",
]
for _name in " ".join(_READERS).split():
    _name = f"array_{_name}" if _name in ("ufunc", "function") else _name
    setattr(OpaqueArray, f"__{_name}__", unreadable)
for _name in _OPERATORS:
    for _form in (_name, "r" + _name, "i" + _name):
        setattr(OpaqueArray, f"__{_form}__", unreadable)
