"""Accelerators: devices of CUDA's driver and of OpenCL. A library is looked for when a program
first names a device of its kind.

Memory, copies, launches and pointwise programs are the core's (native/core/accelerator.cpp). Every
other call asks what `there` attached to its op, and goes by way of the host without that.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import hashlib
import importlib.util
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .. import _core
from .._base.device import OF_A_KIND, accelerated, count_cuda, cuda_driver, first
from .._base.late import late
from .._core import Tensor
from .cpu import number
from .texts import text_of

__all__ = [
    "Accelerator",
    "Facts",
    "build",
    "count",
    "in_use",
    "kernel",
    "library_of_nvidia",
    "numbered",
]


def _opencl_libraries() -> list[str]:
    chosen = os.environ.get("RUSHLIGHT_OPENCL_LIBRARY")
    if chosen:
        return [chosen]
    found = [name for name in [ctypes.util.find_library("OpenCL")] if name]
    pocl = importlib.util.find_spec("pocl_binary_distribution")
    if pocl is not None and pocl.origin is not None:
        beside = Path(pocl.origin).parent.parent / "pyopencl" / ".libs"
        found += map(str, sorted(beside.glob("libpocl*.so*")))
    return found


def library_of_nvidia(name: str) -> str | None:
    """The path of a library such as "nvrtc": named by RUSHLIGHT_NVRTC_LIBRARY, of a package of
    NVIDIA's or of a toolkit, or the system's; None where there is none. Of several the newest that
    is not for a newer CUDA than the driver's: what that makes, the driver would refuse."""
    chosen = os.environ.get(f"RUSHLIGHT_{name.upper()}_LIBRARY")
    if chosen is not None:
        return chosen or None
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(place) for place in spec.submodule_search_locations or ()] if spec else []
    folders.append(Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")))
    kinds = f"*/lib/lib{name}.so.*", f"lib64/lib{name}.so.*", f"*/bin/**/{name}64_*[0-9].dll"
    files = [path for folder in folders for kind in kinds for path in folder.glob(kind)]
    if files:
        most = _newest_cuda()
        return str(max(files, key=lambda path: _worth(path.name, most)))
    return ctypes.util.find_library(name)


@cache
def _newest_cuda() -> int:
    """The major version of CUDA that the driver is made for; 0 where there is no driver."""
    version = ctypes.c_int()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(cuda_driver()).cuDriverGetVersion(ctypes.byref(version))
    return version.value // 1000


def _worth(file: str, most: int) -> tuple[bool, list[int]]:
    """The order of files such as "libnvrtc.so.13.0.88" and "nvrtc64_130_0.dll"."""
    version = [int(part) for part in re.findall(r"\d+", file)]
    if file.endswith(".dll"):
        version = [version[1] // 10 if version[1] > 99 else version[1]]
    fits = not most or version[0] <= most
    return fits, version if fits else [-part for part in version]


def _cuda_libraries() -> list[str]:
    return [f"{cuda_driver()}\n{library_of_nvidia('nvrtc') or ''}"]


class _Kind(NamedTuple):
    libraries: Callable[[], list[str]]
    """Where the library may be, in the order in which they are tried."""
    none: str
    """Why there is no device where there is no library."""
    hint: str


_KINDS = (
    _Kind(
        _opencl_libraries,
        "no library of OpenCL was found",
        "no OpenCL device: {why}. A GPU's driver brings OpenCL; `pip install "
        "pocl-binary-distribution` makes a device of the processor; RUSHLIGHT_OPENCL_LIBRARY names "
        "a library that is elsewhere.",
    ),
    _Kind(
        _cuda_libraries,
        "its driver was not found",
        "no CUDA device: {why}. NVIDIA's driver brings libcuda; RUSHLIGHT_CUDA_LIBRARY names a "
        "library that is elsewhere.",
    ),
)
"""Of OpenCL and of CUDA, as the core counts them."""


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
        self.warp: int = facts["warp"]
        """How many work items go in step, where kernels may count on that; else 0."""
        self.capability: tuple[int, int] = facts["capability"]
        """Of CUDA's devices the version of their instructions, such as (9, 0)."""
        self.processors: int = facts["processors"]


in_use: set[int] = set()
"""The numbers of the first devices of the kinds whose libraries are open."""


@cache
def _opened(kind: int) -> tuple[tuple[Facts, ...], str]:
    """The devices of a kind, or why there is none."""
    why = _KINDS[kind].none
    for path in _KINDS[kind].libraries():
        try:
            found = tuple(Facts(**facts) for facts in _core.open_accelerators(kind, path))
        except RuntimeError as error:
            why = f"{path.split()[0]}: {error}"
        else:
            in_use.add(kind * OF_A_KIND)
            return found, ""
    return (), why


def count(kind: str) -> int:
    """How many devices of "opencl" or "cuda" there are."""
    return count_cuda() if first(kind) else len(_opened(0)[0])


class Accelerator:
    """A device of OpenCL or of CUDA's driver."""

    has_memory = True
    makes = True

    def __init__(self, number: int, facts: Facts) -> None:
        self.number, self.facts = number, facts
        self.name = accelerated(number)

    def made(self, shape: tuple[int, ...], dtype: Any, fill: Any = None) -> Tensor:
        tensor = self.empty(shape, dtype.code)
        if fill is not None and tensor.numel():
            element = _core.cast(number(fill), dtype.code)
            _core.copy_values(tensor, element)
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
def numbered(number: int) -> Accelerator:
    """The device of a number; RuntimeError where there is none."""
    kind, index = divmod(number, OF_A_KIND)
    facts, why = _opened(kind)
    if not facts:
        raise RuntimeError(_KINDS[kind].hint.format(why=why))
    if index >= len(facts):
        name = accelerated(number)
        there = "is one device" if len(facts) == 1 else f"are {len(facts)} devices"
        title = "CUDA" if name.type == "cuda" else "OpenCL"
        raise RuntimeError(
            f"{title} error: invalid device ordinal. {name} was asked for; there {there}."
        )
    return Accelerator(number, facts[index])


# ---- kernels


@cache
def kernel(device: int, file: str, name: str, computed: str, more: str = "") -> int:
    """The number of a kernel; computed: the name of the dtype that is T; more: other options."""
    return build(device, text_of(file, computed, numbered(device).facts.has_double, more), name)


_OPENCL = "-cl-std=CL1.2 -w"
# Products and sums are rounded each by itself, as on the CPU.
_CUDA = "--gpu-architecture=sm_{}{} --fmad=false --std=c++17 -w --device-as-default-execution-space"
_CACHE = "RUSHLIGHT_KERNEL_CACHE"


def _cache() -> Path | None:
    """The folder in which compiled kernels are kept from one process to the next."""
    chosen = os.environ.get(_CACHE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "rushlight" / "kernels"


@cache
def _nvrtc() -> str:
    """The compiler, as far as its file tells one from another."""
    path = library_of_nvidia("nvrtc")
    return f"{path} {os.path.getsize(path)}" if path and os.path.isfile(path) else str(path)


def build(device: int, text: str, name: str) -> int:
    """The number of the kernel of a name in a text; what the driver compiles is kept on disk."""
    facts, folder = numbered(device).facts, _cache()
    options, compiler = _OPENCL, ""
    if facts.warp:
        options, compiler = _CUDA.format(*facts.capability), _nvrtc()
    words = [facts.name, facts.vendor, facts.version, facts.driver, compiler, options, text]
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()
    kept = b"" if folder is None else _kept(folder / key)
    number, binary = _core.accelerator_kernel(device, text, options, name, kept)
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
