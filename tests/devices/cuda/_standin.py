"""A stand-in for CUDA's driver and for NVRTC: CUDA's kernel texts run on the processor.

Proven by it: that the driver is called as CUDA asks (order, sizes, lifetimes, contexts, captures),
and what kernels compute, as C++ computes that, with barriers, warps and shared memory (here.h).
With RUSHLIGHT_STANDIN_RACES=1 also that no barrier is missing where threads share memory.
Not proven: NVIDIA's compiler (tools/cuda_check.py), any time, how tensor cores round, numbers that
an integer cannot hold (the card takes the nearest), and what threads do that really run at once in
memory of the device: here they take turns.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FLAGS = (
    "-std=c++17 -O1 -fPIC -fvisibility=hidden -fno-exceptions -fno-strict-aliasing "
    "-fno-fast-math -ffp-contract=off -fsanitize=alignment,bounds -w"
)
"""Of the compiler, for kernel texts."""


def compiler() -> str | None:
    """The compiler's path; None where there is none that makes Linux's shared objects."""
    return shutil.which(os.environ.get("CXX") or "c++") if sys.platform == "linux" else None


@cache
def library() -> Path:
    """The path of the stand-in: libcuda, NVRTC, cuBLAS and cuDNN at once; built where it is not."""
    names = "here.h", "nvrtc.cpp", "driver.cpp", "declared.h", "queue.h", "libraries.cpp"
    paths = [*(HERE / name for name in names), HERE.parents[2] / "native/devices/cuda_functions.h"]
    sources = {path.name: path.read_bytes() for path in paths}
    digest = hashlib.sha256(b"\0".join([FLAGS.encode(), *sources.values()]))
    version = subprocess.run([str(compiler()), "--version"], capture_output=True, check=True).stdout
    digest.update(version)
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rushlight/standin"
    folder = root / digest.hexdigest()[:20]
    if not folder.exists():
        part = folder.with_name(f"{folder.name}.{os.getpid()}")
        (part / "kernels").mkdir(parents=True)
        for name, content in sources.items():
            (part / name).write_bytes(content)
        _build(part, [name for name in sources if name.endswith(".cpp")])
        try:
            part.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(part)
    os.environ.setdefault("RUSHLIGHT_STANDIN_CACHE", str(folder / "kernels"))
    return folder / "libcuda.so.1"


def _build(folder: Path, sources: list[str]) -> None:
    def run(*words: str) -> None:
        subprocess.run([str(compiler()), *words], check=True, cwd=folder)

    run(*FLAGS.split(), "-x", "c++-header", "here.h", "-o", "here.h.gch")
    run(
        *"-std=c++17 -O1 -g -fPIC -shared -Wall -Wextra -pthread".split(),
        f'-DSTANDIN_FLAGS="{FLAGS}"',
        *sources,
        *["-o", "libcuda.so.1", "-ldl"],
    )


@cache
def opened() -> ctypes.CDLL:
    """The stand-in, to be called by ctypes."""
    cuda = ctypes.CDLL(str(library()))
    cuda.standin_said.restype = ctypes.c_char_p
    cuda.standin_launches.restype = cuda.standin_violations.restype = ctypes.c_long
    cuda.standin_live.restype = ctypes.c_long
    return cuda


def said() -> str:
    """What the stand-in told last."""
    return str(opened().standin_said().decode())


def live(what: str) -> int:
    """How many there are of "blocks", "pinned", "streams", "events", "modules", "graphs",
    "executables"; "bytes" of all blocks."""
    return int(opened().standin_live(what.encode()))


def fail(function: str, code: int, after: int = 0) -> None:
    """After so many calls of a function (as the manual calls it: without _v2) the next fails."""
    opened().standin_fail(function.encode(), code, after)


def number(name: str) -> ctypes.c_int:
    """A number that the stand-in shows by a name, such as "standin_algorithm"."""
    return ctypes.c_int.in_dll(opened(), name)


class Failed(RuntimeError):
    """A call's error."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name}: {code}: {said()}")
        self.code = code


def call(name: str, *arguments: Any) -> None:
    """Call a function of CUDA; Failed where that does not return success."""
    given = [ctypes.c_size_t(a) if isinstance(a, int) else a for a in arguments]
    if code := getattr(opened(), name)(*given):
        raise Failed(name, code)


def made(name: str, *arguments: Any) -> int:
    """The handle, number or address that a function writes to its first argument."""
    found = ctypes.c_size_t()
    call(name, ctypes.byref(found), *arguments)
    return found.value


def compiled(text: str, *options: str) -> bytes:
    """The "cubin" of a text; RuntimeError with the compiler's words."""

    def content(what: str) -> bytes:
        size = made_of(f"nvrtcGet{what}Size")
        place = ctypes.create_string_buffer(size)
        call(f"nvrtcGet{what}", program, place)
        return place.raw

    def made_of(name: str) -> int:
        found = ctypes.c_size_t()
        call(name, program, ctypes.byref(found))
        return found.value

    program = made("nvrtcCreateProgram", text.encode(), b"text", 0, None, None)
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    try:
        call("nvrtcCompileProgram", program, len(options), words)
    except Failed as error:
        raise RuntimeError(content("ProgramLog").decode()) from error
    else:
        return content("CUBIN")
    finally:
        call("nvrtcDestroyProgram", ctypes.byref(ctypes.c_size_t(program)))


@cache
def context() -> int:
    """The context of device 0, to be made current."""
    call("cuInit", 0)
    return made("cuDevicePrimaryCtxRetain", 0)


@cache
def module(text: str, *options: str) -> int:
    """A text's module."""
    call("cuCtxSetCurrent", context())
    return made("cuModuleLoadData", compiled(text, *options))


def run(text: str, name: str, grid: Any, block: Any, *arguments: Any, shared: int = 0) -> None:
    """Run a kernel of a text and wait for its end.

    An array (NumPy) is copied to the device, and what the kernel made of the array is copied back;
    bytes are a struct; numbers are NumPy's (np.int64(3)), for they have a size. RuntimeError tells
    what the kernel or the launch did wrong.
    """
    function = made("cuModuleGetFunction", module(text), name.encode())
    blocks, values = [], []
    for argument in arguments:
        content = argument if isinstance(argument, bytes) else argument.tobytes()
        if getattr(argument, "shape", ()):
            blocks.append((argument, made("cuMemAlloc_v2", max(argument.nbytes, 1))))
            call("cuMemcpyHtoDAsync_v2", blocks[-1][1], content, len(content), 0)
            content = blocks[-1][1].to_bytes(8, "little")
        values.append(ctypes.create_string_buffer(content, len(content)))
    addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    sizes = [n for size in (grid, block) for n in (*_dims(size), 1, 1)[:3]]
    before = opened().standin_violations()
    try:
        call("cuLaunchKernel", function, *sizes, shared, 0, addresses, None)
        call("cuStreamSynchronize", 0)
        for array, address in blocks:
            place = array.ctypes.data_as(ctypes.c_void_p)
            call("cuMemcpyDtoHAsync_v2", place, address, array.nbytes, 0)
    finally:
        opened().standin_mend()
        for _, address in blocks:
            call("cuMemFree_v2", address)
    if opened().standin_violations() != before:
        raise RuntimeError(said())


def _dims(size: Any) -> tuple[int, ...]:
    return size if isinstance(size, tuple) else (size,)
