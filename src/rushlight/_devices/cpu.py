"""The device `cpu`: main memory, where the host itself computes."""

from __future__ import annotations

import math
from struct import pack
from typing import Any

from .. import _core
from .._base.device import cpu
from .._base.dtypes import complex128, float64, int64, uint64
from .._core import Tensor

__all__ = ["Cpu", "beyond_memory", "number", "over"]

# How NumPy says that a size cannot be counted in 64 bits.
_TOO_BIG = ("array is too big", "Maximum allowed")


class Cpu:
    name = cpu
    has_memory = True
    makes = False

    def made(self, shape: tuple[int, ...], dtype: Any, fill: Any = None) -> Tensor:
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes >= 2**63:
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
        made = _core.place(_core.UntypedStorage(nbytes), dtype, shape, None, 0)
        if fill is not None:
            _core.copy_values(made, number(fill))
        return made

    def tensor(self, array: Any) -> Tensor:
        return _core.wrap(array)

    def from_host(self, tensor: Tensor) -> Tensor:
        return tensor.detach().clone()

    to_host = from_host

    def check_values(self, op: str) -> None:
        pass

    def synchronize(self) -> None:
        pass  # a call returns when it is done

    def draw(self, kernel: str, place: Any, tensor: Any, *args: Any) -> None:
        raise NotImplementedError

    def fill_steps(self, tensor: Any, *numbers: float) -> None:
        raise NotImplementedError


def number(value: complex) -> Tensor:
    """A Python number as a tensor without dimensions, of a type that holds the number."""
    if isinstance(value, complex):
        kind, packed = complex128, pack("2d", value.real, value.imag)
    elif isinstance(value, float):
        kind, packed = float64, pack("d", value)
    else:
        kind, packed = (int64, pack("q", value)) if value < 2**63 else (uint64, pack("Q", value))
    return _core.made_of_numbers(over(bytearray(packed), kind, ()))


def over(memory: Any, dtype: Any, shape: tuple[int, ...]) -> Tensor:
    """A tensor of the memory of a writeable buffer."""
    storage = _core.UntypedStorage(0)
    storage._move(memory, math.prod(shape) * dtype.itemsize)
    return _core.place(storage, dtype, shape, None, 0)


def beyond_memory(error: Any) -> RuntimeError | None:
    """torch's RuntimeError for what NumPy raises where memory does not suffice, else None."""
    if isinstance(error, ValueError):
        if not str(error).startswith(_TOO_BIG):
            return None
        return RuntimeError(
            "Storage size calculation overflowed. The result would have more bytes than 64 "
            f"bits can count. {error}"
        )
    if not hasattr(error, "shape"):
        return RuntimeError(
            "std::bad_alloc. The results of this call are more than memory has room for."
        )
    shape = tuple(error.shape)
    count = math.prod(shape) * error.dtype.itemsize
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
        f"you tried to allocate {count} bytes (a tensor of shape {list(shape)})."
    )
