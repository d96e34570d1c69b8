"""Generators of random numbers: the Mersenne Twister whose streams are PyTorch's, and Philox on
accelerators, whose numbers are a function of a seed and of a place in its sequence."""

from __future__ import annotations

import os
import threading
from struct import pack, unpack
from typing import Any, TypeAlias

from .. import _core, _devices
from .._base import dtypes
from .._base.device import cpu, device, is_accelerator
from .._base.errors import not_implemented_for
from .._base.outside import np
from .._core import Tensor

__all__ = [
    "Draws",
    "Generator",
    "capture",
    "default_generator",
    "default_there",
    "fill",
    "for_host",
    "place_of",
    "seed_all",
    "set_states",
    "state_of",
    "states",
]

_kernels = _core.kernels


_taking = threading.Lock()  # so that no block is drawn by two threads


class Place:
    """Where an accelerator's generator is in the sequence of a seed: how many words of 32 bits were
    drawn. They are drawn in blocks of four."""

    def __init__(self) -> None:
        self.seed, self.offset = default_generator.initial_seed(), 0

    def take(self, words: int) -> int:
        """The number of the first of the blocks that give so many words, which are drawn now."""
        _core.accelerator_unlike()
        with _taking:
            first = self.offset // 4
            self.offset = (self.offset + -(-words // 4) * 4) % 2**64
        return first

    def drawn(self, words: int, number: int) -> tuple[int, int, Tensor | None]:
        """For a kernel on the device of a number: the seed, such a first block, and where a graph
        that is being captured finds the two numbers to add at each replay."""
        if captured is None or captured.number != number:
            return self.seed, self.take(words), None
        with _taking:
            return 0, *captured.drawn(self, words)


class Draws:
    """The random numbers of a captured graph. Its kernels count from the first that a replay draws:
    each replay writes the seeds and the first blocks into the device's memory, and moves the
    generators on by what the graph draws."""

    _MOST = 8

    def __init__(self, number: int) -> None:
        self.number = number
        self._memory = _devices.accelerator(number).made((self._MOST, 2), dtypes.int64, 0)
        self._blocks: dict[Place, int] = {}

    def drawn(self, place: Place, words: int) -> tuple[int, Tensor]:
        """How many blocks the graph has drawn before, and where it finds what to add."""
        before = self._blocks.setdefault(place, 0)
        if len(self._blocks) > self._MOST:
            raise RuntimeError(f"A graph draws random numbers of at most {self._MOST} generators.")
        self._blocks[place] = before - -words // 4
        return before, self._memory[list(self._blocks).index(place)]

    def move_on(self) -> None:
        """Tell the device, before a replay, where the numbers go on."""
        if not self._blocks:
            return
        rows = np.zeros((self._MOST, 2), np.uint64)
        for row, (place, blocks) in zip(rows, self._blocks.items(), strict=False):
            row[:] = place.seed, place.take(4 * blocks)
        _core.copy_values(self._memory, _core.wrap(rows.view(np.int64)))


captured: Draws | None = None
"""Those of the graph that is being captured."""


def capture(draws: Draws | None) -> None:
    """From now on a graph's draws are noted; None: no graph's."""
    global captured
    captured = draws


_Device: TypeAlias = device


class Generator:
    """A Mersenne Twister whose numbers are PyTorch's for the same seed; of an accelerator Philox,
    whose numbers are others.

    >>> torch.rand(1, generator=torch.Generator().manual_seed(0))
    tensor([0.4963])
    """

    __module__ = "rushlight"
    _state: Any
    device: _Device

    def __init__(self, device: Any = "cpu") -> None:
        wanted = _device_of(device)
        if is_accelerator(wanted.type):
            self.device = _devices.on(wanted).name
            self._state = Place()
            return
        if wanted.type != "cpu":
            raise RuntimeError(
                _NO_GENERATORS.get(
                    wanted.type, f"{wanted.type.upper()} device type not an accelerator."
                )
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
        if isinstance(self._state, Place):
            self._state.seed, self._state.offset = number % 2**64, 0
        else:
            _kernels.random_seed(self._state, number)
        return self

    def seed(self) -> int:
        """Start a sequence that the system's entropy chooses; returns its seed."""
        value = int.from_bytes(os.urandom(8), "little") >> 11
        self.manual_seed(value)
        return value

    def initial_seed(self) -> int:
        """The seed that the sequence was started with."""
        if isinstance(self._state, Place):
            return self._state.seed
        return _kernels.random_initial_seed(self._state)

    def get_offset(self) -> int:
        """How many words of 32 bits were drawn since the seed; of accelerators' generators only."""
        return self._place().offset

    def set_offset(self, offset: int) -> None:
        """Go on after so many words, a multiple of four; of accelerators' generators only."""
        place = self._place()
        if offset % 4 or not 0 <= offset < 2**64:
            raise RuntimeError(f"offset must be a multiple of 4. It is {offset}.")
        place.offset = offset

    def _place(self) -> Place:
        if not isinstance(self._state, Place):
            raise RuntimeError(
                "CPU Generator does not use offset. The generators of accelerators do."
            )
        return self._state

    def get_state(self) -> Tensor:
        """The state as a uint8 tensor on the CPU: of 5056 bytes, or of an accelerator's generator
        the seed and the offset, of eight each."""
        if isinstance(self._state, Place):
            held = pack("<2Q", self._state.seed, self._state.offset)
        else:
            held = _kernels.random_get_state(self._state)
        return _devices.over(bytearray(held), dtypes.uint8, (len(held),))

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from a state that `get_state` gave; returns the generator."""
        if not isinstance(new_state, _core.Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not dtypes.uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, but got {new_state.dtype}")
        if isinstance(self._state, Place):
            held = bytes(new_state.tolist())
            if len(held) != 16:
                raise RuntimeError(f"RNG state is wrong size. It has {len(held)} bytes, not 16.")
            seed, offset = unpack("<2Q", held)
            self.manual_seed(seed).set_offset(offset)
        else:
            _kernels.random_set_state(self._state, new_state)
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        return Generator(self.device).set_state(self.get_state())

    def __reduce__(self) -> Any:
        there = is_accelerator(self.device.type)
        seed, offset = self.initial_seed(), self.get_offset() if there else None
        return type(self), (self.device,), (seed, offset, self.get_state())

    def __setstate__(self, state: tuple[int, int | None, Tensor]) -> None:
        seed, offset, content = state
        self.manual_seed(seed)
        if offset is not None:
            self.set_offset(offset)
        self.set_state(content)


_NO_GENERATORS = {
    "cuda": "Cannot get CUDA generator without ATen_cuda library.",
    "xpu": "Cannot get XPU generator without ATen_xpu library.",
    "mps": "Cannot execute getNewGenerator() without MPS backend.",
    "hpu": "Backend doesn`t support getNewGenerator().",
}


def _device_of(given: object) -> device:
    if given is None:
        return cpu
    if isinstance(given, device):
        return given
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise TypeError(
            "Generator(): argument 'device' (position 1) must be torch.device, not "
            f"{type(given).__name__}"
        )
    return device(given)


default_generator = Generator()
_kernels.random_default(default_generator)
_there: dict[int, Generator] = {}


def states() -> dict[int, Tensor]:
    """The states of the default generators: the CPU's at -1, accelerators' at their numbers."""
    found = {number: generator.get_state() for number, generator in _there.items()}
    return {-1: default_generator.get_state(), **found}


def set_states(before: dict[int, Tensor]) -> None:
    """Go on from `states`. A device that had not drawn then begins anew."""
    default_generator.set_state(before[-1])
    for number, generator in _there.items():
        if number in before:
            generator.set_state(before[number])
        else:
            generator.set_offset(0)


def seed_all(seed: int) -> Generator:
    """Seed the default generators of the CPU, which is returned, and of all accelerators."""
    for generator in _there.values():
        generator.manual_seed(seed)
    return default_generator.manual_seed(seed)


def default_there(number: int) -> Generator:
    """The generator that an accelerator has; it begins at the seed of the CPU's."""
    if number not in _there:
        _there[number] = Generator(_devices.accelerator(number).name)
    return _there[number]


def place_of(generator: Any, number: int) -> Place:
    """Of an optional `generator=` argument for a tensor on an accelerator."""
    if generator is None:
        return default_there(number)._place()
    _check(generator)
    where = _devices.accelerator(number).name
    if generator.device != where:
        _refuse(where, generator)
    return generator._place()


def _refuse(wanted: device, generator: Generator) -> None:
    raise RuntimeError(
        f"Expected a '{wanted.type}' device type for generator but found '{generator.device.type}'"
    )


def _check(generator: Any) -> None:
    if not isinstance(generator, Generator):
        raise TypeError(
            f"argument 'generator' must be torch._C.Generator, not {type(generator).__name__}"
        )


def for_host(generator: Any, tensor: Tensor) -> Any:
    """The generator for numbers that the host draws for a tensor: on an accelerator, one that the
    generator there seeds."""
    number = tensor._accelerator
    if number is None:
        return generator
    place = place_of(generator, number)
    seed = np.random.SeedSequence([place.seed, place.take(4)]).generate_state(1, np.uint64)
    return Generator().manual_seed(int(seed[0]))


def state_of(generator: Generator | None) -> Any:
    """The core's generator behind an optional `generator=` argument."""
    if generator is None:
        return default_generator._state
    _check(generator)
    if isinstance(generator._state, Place):
        _refuse(cpu, generator)
    return generator._state


def _draw(kernel: str, generator: Generator | None, tensor: Tensor, *args: Any) -> None:
    """Fill a tensor in main memory; element types without a sampler of their own draw as float32
    and are rounded."""
    kind = tensor._form.dtype
    if kind.is_complex:
        _draw_parts(kernel, generator, tensor, *args)
        return
    sampler = getattr(_kernels, kernel)
    if sampler(state_of(generator), tensor, *args) is NotImplemented:
        wide = _core.cast(tensor, dtypes.float32.code)  # in the same order in memory
        if sampler(state_of(generator), wide, *args) is NotImplemented:
            not_implemented_for(kernel, kind.scalar_name)
        _core.copy_values(tensor, wide)


def fill(kernel: str, generator: Generator | None, tensor: Tensor, *args: Any) -> None:
    """Fill a tensor where it is."""
    number = tensor._accelerator
    if number is not None:
        place = place_of(generator, number)
        _devices.accelerator(number).draw(kernel, place, tensor, *args)
        return
    if tensor.is_conj() or tensor.is_neg():
        values = _devices.cpu.made(tensor.shape, tensor.dtype)
        _draw(kernel, generator, values, *args)
        _core.write_values(tensor, values._array)
    else:
        _draw(kernel, generator, tensor, *args)


def _draw_parts(kernel: str, generator: Any, tensor: Tensor, *args: float) -> None:
    """Fill a complex tensor: the real and the imaginary part of each element in turn."""
    if kernel == "normal_":  # each part has half the variance, and the whole mean
        mean, std = args
        args = (mean, std / 2**0.5)
    elif kernel != "uniform_":
        names = {"bernoulli_": "bernoulli_scalar_cpu_", "random_": "random_kernel_cpu"}
        not_implemented_for(names.get(kernel, kernel), tensor._form.dtype.scalar_name)
    _draw(kernel, generator, _kernels.view_as_real(tensor), *args)
