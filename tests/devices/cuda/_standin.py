"""A stand-in for CUDA's driver and for NVRTC: CUDA's kernel texts run on the processor.

Proven by it: that the driver is called as CUDA asks (order, sizes, lifetimes, contexts, captures),
and what kernels compute, as C++ computes that, with barriers, warps and shared memory (here.h).
Not proven: NVIDIA's compiler (tools/cuda_check.py), any time, and what threads do that really run
at once: a block's threads take turns.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FLAGS = (
    "-std=c++17 -O1 -fPIC -fvisibility=hidden -fno-strict-aliasing -fno-fast-math "
    "-ffp-contract=off -fsanitize=alignment,bounds -w"
)
"""Of the compiler, for kernel texts."""


def compiler() -> str | None:
    """The compiler's path, or None where there is none."""
    return shutil.which(os.environ.get("CXX") or "c++")


@cache
def library() -> Path:
    """The path of the stand-in, which is libcuda and NVRTC at once; built where it is not yet."""
    names = "here.h", "nvrtc.cpp", "driver.cpp", "standin.h", "declared.h"
    sources = {name: (HERE / name).read_bytes() for name in names if (HERE / name).exists()}
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
    return ctypes.CDLL(str(library()))


def compiled(text: str, *options: str) -> bytes:
    """The "cubin" of a text, by NVRTC's functions; RuntimeError with the compiler's words."""
    nvrtc, program, size = opened(), ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"text", 0, None, None)
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    code = nvrtc.nvrtcCompileProgram(program, len(options), words)
    ask = (nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog) if code else ()
    size_of, content_of = ask or (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    size_of(program, ctypes.byref(size))
    content = ctypes.create_string_buffer(size.value)
    content_of(program, content)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    if code:
        raise RuntimeError(f"error {code}: {content.value.decode()}")
    return content.raw


class _Size(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint) for name in "xyz"]


_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Kernel(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("most_threads", ctypes.c_int),
        ("n_parameters", ctypes.c_int),
        ("sizes", ctypes.POINTER(ctypes.c_size_t)),
        ("shared", ctypes.c_size_t),
        ("run", ctypes.c_void_p),
        (
            "launch",
            ctypes.CFUNCTYPE(
                ctypes.c_char_p,
                ctypes.c_char_p,
                ctypes.c_void_p,
                _Size,
                _Size,
                ctypes.c_size_t,
                ctypes.c_void_p,
            ),
        ),
    ]


@cache
def _module(text: str, options: tuple[str, ...]) -> ctypes.CDLL:
    number = os.memfd_create("module")
    os.write(number, compiled(text, *options))
    return ctypes.CDLL(f"/proc/self/fd/{number}")


def run(text: str, name: str, grid: Any, block: Any, *arguments: Any, shared: int = 0) -> None:
    """Run a kernel of a text. An array (NumPy) is passed by its address, so it is read and written;
    bytes are a struct; numbers come as NumPy's (np.int64(3)), which have the parameter's size.
    RuntimeError tells what the kernel did wrong."""
    kernel = _Kernel.in_dll(_module(text, ()), f"here_kernel_{name}")
    values = []
    for argument, size in zip(arguments, kernel.sizes[: kernel.n_parameters], strict=True):
        content = argument if isinstance(argument, bytes) else argument.tobytes()
        if getattr(argument, "shape", ()):
            content = argument.ctypes.data.to_bytes(8, "little")
        if len(content) != size:
            raise TypeError(f"{argument!r} has {len(content)} bytes, the parameter {size}")
        values.append(ctypes.create_string_buffer(content, len(content)))
    addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    sizes = [_Size(*size, *[1] * (3 - len(size))) for size in map(_dims, (grid, block))]
    said = kernel.launch(name.encode(), kernel.run, *sizes, shared, addresses)
    if said:
        raise RuntimeError(said.decode())


def _dims(size: Any) -> tuple[int, ...]:
    return size if isinstance(size, tuple) else (size,)
