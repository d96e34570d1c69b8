"""Accelerators that OpenCL gives. The library is looked for when a program first names one.

Memory, copies, launches and pointwise programs are the core's (native/core/accelerator.cpp). Every
other call asks what `there` attached to its op, and goes by way of the host without that.
"""

from __future__ import annotations

import contextlib
import ctypes.util
import hashlib
import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import Any

from .. import _core
from .._base.device import accelerated, accelerators
from .._base.late import late
from .._core import Tensor
from .cpu import number
from .texts import text_of

__all__ = ["Facts", "OpenCL", "build", "count", "kernel", "numbered"]

_VARIABLE = "RUSHLIGHT_OPENCL_LIBRARY"
_MISSING = (
    "no OpenCL device: {why}. A GPU's driver brings OpenCL; `pip install pocl-binary-distribution` "
    "makes a device of the processor; {variable} names a library that is elsewhere."
)


def _libraries() -> list[str]:
    """Where a library may be, in the order in which they are tried."""
    if os.environ.get(_VARIABLE):
        return [os.environ[_VARIABLE]]
    found = [name for name in [ctypes.util.find_library("OpenCL")] if name]
    pocl = importlib.util.find_spec("pocl_binary_distribution")
    if pocl is not None and pocl.origin is not None:
        beside = Path(pocl.origin).parent.parent / "pyopencl" / ".libs"
        found += map(str, sorted(beside.glob("libpocl*.so*")))
    return found


class Facts:
    """The facts that a device's driver tells of the device."""

    def __init__(self, **facts: Any) -> None:
        self.name: str = facts["name"]
        self.vendor: str = facts["vendor"]
        self.version: str = facts["version"]
        self.driver: str = facts["driver"]
        self.total_memory: int = facts["total_memory"]
        self.largest_block: int = facts["largest_block"]
        self.largest_group: int = facts["largest_group"]
        self.has_double: bool = facts["has_double"]
        self.is_cpu: bool = facts["is_cpu"]
        self.warp: int = facts.get("warp", 0)
        self.processors: int = facts.get("processors", 1)


@cache
def _opened() -> tuple[tuple[Facts, ...], str]:
    """The devices, or why there is none."""
    tried = _libraries()
    why = "no library of OpenCL was found"
    for path in tried:
        try:
            return tuple(Facts(**facts) for facts in _core.open_opencl(path)), ""
        except RuntimeError as error:
            why = f"{path}: {error}"
    return (), why


def count() -> int:
    """How many devices there are."""
    return len(_opened()[0])


class OpenCL:
    """A device of OpenCL."""

    has_memory = True
    makes = True

    def __init__(self, number: int, facts: Facts) -> None:
        self.number, self.facts = number, facts
        self.name = accelerated(number)

    def made(self, shape: tuple[int, ...], dtype: Any, fill: Any = None) -> Tensor:
        tensor = self.empty(shape, dtype.code)
        if fill is not None and tensor.numel():
            element = _core.cast(number(fill), dtype.code)
            _core.copy_values(tensor, self.from_host(element))
        return tensor

    def tensor(self, array: Any) -> Tensor:
        return self.from_host(_core.wrap(array))

    def empty(self, shape: tuple[int, ...], code: int, strides: Any = None) -> Tensor:
        """A tensor that nobody wrote; code: of the dtype; strides in elements."""
        return _core.empty_accelerated(self.number, shape, code, strides)

    def from_host(self, tensor: Tensor) -> Tensor:
        return _core.copy_to(tensor, self.number)

    def to_host(self, tensor: Tensor) -> Tensor:
        return _core.copy_to(tensor, -1)

    def check_values(self, op: str) -> None:
        pass

    def synchronize(self) -> None:
        _core.accelerator_finish(self.number)

    def draw(self, kernel: str, place: Any, tensor: Tensor, *args: Any) -> None:
        late.accelerator_draw(kernel, place, tensor, *args)

    def fill_steps(self, tensor: Tensor, *numbers: float) -> None:
        fill = late.accelerator_steps if len(numbers) == 2 else late.accelerator_between
        fill(tensor, *numbers)


@cache
def numbered(number: int) -> OpenCL:
    """The device of a number; RuntimeError where there is none."""
    facts, why = _opened()
    if not facts:
        raise RuntimeError(_MISSING.format(why=why, variable=_VARIABLE))
    if number >= len(facts):
        kind = "CUDA" if accelerators.kind == "cuda" else "OpenCL"
        there = "is one device" if len(facts) == 1 else f"are {len(facts)} devices"
        raise RuntimeError(
            f"{kind} error: invalid device ordinal. {accelerated(number)} was asked for; "
            f"there {there}."
        )
    return OpenCL(number, facts[number])


# ---- kernels


@cache
def kernel(device: int, file: str, name: str, computed: str, more: str = "") -> int:
    """The number of a kernel; computed: the name of the dtype that is T; more: other options."""
    return build(device, text_of(file, computed, numbered(device).facts.has_double, more), name)


_OPTIONS = "-cl-std=CL1.2 -w"
_CACHE = "RUSHLIGHT_KERNEL_CACHE"


def _cache() -> Path | None:
    """The folder in which compiled kernels are kept from one process to the next."""
    chosen = os.environ.get(_CACHE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "rushlight" / "kernels"


def build(device: int, text: str, name: str) -> int:
    """The number of the kernel of a name in a text; what the driver compiles is kept on disk."""
    facts, folder = numbered(device).facts, _cache()
    words = [facts.name, facts.vendor, facts.version, facts.driver, _OPTIONS, text]
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()
    kept = b"" if folder is None else _kept(folder / key)
    number, binary = _core.accelerator_kernel(device, text, _OPTIONS, name, kept)
    if folder is not None and binary:
        _keep(folder / key, binary)
    return number


def _kept(path: Path) -> bytes:
    """The content of a file; b"" for no file, and for a damaged file: drivers may crash then."""
    with contextlib.suppress(OSError):
        digest, content = (whole := path.read_bytes())[:32], whole[32:]
        if hashlib.sha256(content).digest() == digest:
            return content
    return b""


def _keep(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; a disk that is full or read-only is no error."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(hashlib.sha256(content).digest() + content)
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
