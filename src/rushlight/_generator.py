"""Generators of random numbers: the Mersenne Twister whose streams are PyTorch's."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _core
from . import _dtypes as dtypes
from ._core import Tensor
from ._device import cpu, device
from ._errors import not_implemented_for

__all__ = ["Generator", "default_generator", "draw", "state_of"]

_kernels = _core.kernels
_wrap = _core.wrap


class Generator:
    """A Mersenne Twister whose numbers are PyTorch's for the same seed.

    >>> torch.rand(1, generator=torch.Generator().manual_seed(0))
    tensor([0.4963])
    """

    _state: Any

    def __init__(self, device: str = "cpu") -> None:
        kind = _device_kind(device)
        if kind != "cpu":
            raise RuntimeError(
                _NO_GENERATORS.get(kind, f"{kind.upper()} device type not an accelerator.")
                + " Random numbers are drawn on the CPU here: torch.Generator() draws them."
            )
        self.device = cpu
        self._state = _kernels.random_new()

    def manual_seed(self, seed: int) -> Generator:
        """Start the sequence of `seed`; returns the generator."""
        number = int(seed)
        if not -(2**63) <= number < 2**64:
            raise ValueError(
                f"Overflow when unpacking long long: the seed {number} needs more than 64 bits"
            )
        _kernels.random_seed(self._state, number)
        return self

    def seed(self) -> int:
        """Start a sequence that the system's entropy chooses; returns its seed."""
        value = int.from_bytes(os.urandom(8), "little") >> 11
        self.manual_seed(value)
        return value

    def initial_seed(self) -> int:
        """The seed that the sequence was started with."""
        return _kernels.random_initial_seed(self._state)

    def get_state(self) -> Tensor:
        """The state as a uint8 tensor of 5056 bytes."""
        return _wrap(np.frombuffer(_kernels.random_get_state(self._state), np.uint8).copy())

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from a state that `get_state` gave; returns the generator."""
        if not isinstance(new_state, _core.Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not dtypes.uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, but got {new_state.dtype}")
        _kernels.random_set_state(self._state, new_state._array.tobytes())
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        return Generator().set_state(self.get_state())

    def __reduce__(self) -> Any:
        return _restore_generator, (self.get_state(),)


_NO_GENERATORS = {
    "cuda": "Cannot get CUDA generator without ATen_cuda library.",
    "xpu": "Cannot get XPU generator without ATen_xpu library.",
    "mps": "Cannot execute getNewGenerator() without MPS backend.",
    "hpu": "Backend doesn`t support getNewGenerator().",
}


def _device_kind(given: str) -> str:
    if given is None:
        return "cpu"
    if isinstance(given, device):
        return given.type
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise TypeError(
            "Generator(): argument 'device' (position 1) must be torch.device, not "
            f"{type(given).__name__}"
        )
    return device(given).type


def _restore_generator(state: Any) -> Generator:
    return Generator().set_state(state)


default_generator = Generator()


def state_of(generator: Generator | None) -> Any:
    """The core's generator behind an optional `generator=` argument."""
    if generator is None:
        return default_generator._state
    if not isinstance(generator, Generator):
        raise TypeError(
            f"argument 'generator' must be torch._C.Generator, not {type(generator).__name__}"
        )
    return generator._state


def draw(kernel: str, generator: Generator | None, array: Any, *args: Any) -> Any:
    """Fill an array; element types without a sampler of their own draw as float32
    and are rounded."""
    if array.dtype.kind == "c":
        return _draw_parts(kernel, generator, array, *args)
    sampler = getattr(_kernels, kernel)
    if sampler(state_of(generator), array, *args) is NotImplemented:
        wide = np.empty(array.shape, np.float32)
        if sampler(state_of(generator), wide, *args) is NotImplemented:
            not_implemented_for(kernel, dtypes.from_numpy_dtype(array.dtype).scalar_name)
        np.copyto(array, wide, casting="unsafe")
    return array


def _draw_parts(kernel: str, generator: Any, array: Any, *args: float) -> Any:
    """Fill a complex array: the real and the imaginary part of each element in turn."""
    if kernel == "normal_":  # each part has half the variance, and the whole mean
        mean, std = args
        args = (mean, std / 2**0.5)
    elif kernel != "uniform_":
        names = {"bernoulli_": "bernoulli_scalar_cpu_", "random_": "random_kernel_cpu"}
        not_implemented_for(
            names.get(kernel, kernel), dtypes.from_numpy_dtype(array.dtype).scalar_name
        )
    real = array.real
    shape, strides = (*array.shape, 2), (*array.strides, real.itemsize)
    draw(kernel, generator, np.lib.stride_tricks.as_strided(real, shape, strides), *args)
    return array
