"""The device `cpu`: main memory, where the host itself computes."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._base.device import cpu
from .._base.outside import np
from .._core import Tensor

__all__ = ["Cpu", "beyond_memory"]

# How NumPy says that a size cannot be counted in 64 bits.
_TOO_BIG = ("array is too big", "Maximum allowed")


class Cpu:
    name = cpu
    has_memory = True
    makes = False

    def allocate(self, shape: tuple[int, ...], dtype: Any, fill: complex | None = None) -> Any:
        try:
            if fill is None:
                return np.empty(shape, dtype)
            if fill == 0:
                return np.zeros(shape, dtype)
            if dtype.names:  # complex32, a pair
                whole = complex(fill)
                return np.full(shape, np.array((whole.real, whole.imag), dtype))
            return np.full(shape, fill, dtype)
        except (MemoryError, ValueError) as error:
            said = beyond_memory(error, shape)
            if said is None:
                raise
            raise said from None

    def made(
        self, shape: tuple[int, ...], dtype: Any, fill: Any = None, strides: Any = None
    ) -> Any:
        return self.tensor(self.allocate(shape, dtype, fill))

    def tensor(self, array: Any, requires_grad: bool = False) -> Tensor:
        return _core.wrap(array, True) if requires_grad else _core.wrap(array)

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


def beyond_memory(error: Any, shape: tuple[int, ...] | None = None) -> RuntimeError | None:
    """torch's RuntimeError for what NumPy raises where memory does not suffice, else None; with the
    shape that was asked for, where it is known."""
    if isinstance(error, ValueError):
        if shape is not None and str(error).startswith("maximum supported dimension"):
            return RuntimeError(f"a tensor has at most 64 dimensions, got {len(shape)}")
        if not str(error).startswith(_TOO_BIG):
            return None
        if shape is None:
            return RuntimeError(
                "Storage size calculation overflowed. The result would have more bytes than 64 "
                f"bits can count. {error}"
            )
        if 0 in shape:
            return RuntimeError("Stride calculation overflowed")
        return RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
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
