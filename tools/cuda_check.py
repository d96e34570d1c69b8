"""Compile every kernel text of accelerators as CUDA C, by NVRTC; no GPU is needed.

    python tools/cuda_check.py [sm_80 ...]

Each file of kernels is compiled for each type that it computes in and each
architecture. NVRTC is the library of `pip install rushlight[cuda-check]`, or one on the system.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import sys
from pathlib import Path

from rushlight._devices.texts import files, text_of

ARCHITECTURES = "sm_80", "sm_90"
# Products and sums are rounded each by itself, as on the CPU.
OPTIONS = "--fmad=false", "--std=c++17", "--device-as-default-execution-space"


def library() -> ctypes.CDLL:
    """NVRTC."""
    places = []
    try:
        found = importlib.util.find_spec("nvidia.cuda_nvrtc")
    except ModuleNotFoundError:
        found = None
    for folder in found.submodule_search_locations or () if found else ():
        places += sorted(map(str, (Path(folder) / "lib").glob("libnvrtc.so*")))
    places += filter(None, [ctypes.util.find_library("nvrtc")])
    if not places:
        raise SystemExit("NVRTC is not here: pip install nvidia-cuda-nvrtc-cu12")
    return ctypes.CDLL(places[0])


def compiled(nvrtc: ctypes.CDLL, text: str, name: str, architecture: str) -> str:
    """What the compiler says of a text; "" where it compiles."""
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    words = [f"--gpu-architecture={architecture}", *OPTIONS]
    options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    code = nvrtc.nvrtcCompileProgram(program, len(words), options)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() or f"error {code}" if code else ""


PARTS = "prelude", "elementary", "pairs", "gpu", "tiles"  # of other texts
MORE = {"products.cl": ["-DTILED"], "softmax.cl": ["-DGROUPS"]}


def tiles(file: str, computed: str) -> list[str]:
    """The options with which products are computed by tiles: types, transpositions, sizes."""
    halves = ["FLOAT16", "BFLOAT16"]
    kinds = {"float32": ["FLOAT32", "FLOAT32 -DTF32", *halves], "float64": ["FLOAT64"]}
    ways = ["-DA_TURNED=0", "-DA_TURNED=0 -DIMAGES"]
    if file == "products.cl":
        ways = [f"-DA_TURNED={a} -DB_TURNED={b}" for a in (0, 1) for b in (0, 1)]
    return [
        f"-DROWS={size} -DCOLUMNS={size} {way} -DSTORED=TYPE_{kind}"
        for kind in kinds.get(computed, ())
        for size in ((64,) if computed == "float64" else (64, 128))
        for way in ways
    ]


def texts() -> list[tuple[str, str]]:
    """Every file in every type that T may be, each with a name."""
    found = []
    for path in files().values():
        if path.stem in PARTS:
            continue
        for computed in ("float32", "float64", "int64"):
            options = ["", *MORE.get(path.name, ())]
            if path.name in ("products.cl", "convolution.cl"):
                options += tiles(path.name, computed)
            for more in options:
                text = text_of(path.name, computed, True, more)
                found.append((f"{path.name} in {computed} {more}".rstrip(), text))
    return found


def main() -> int:
    nvrtc, wrong, count = library(), 0, 0
    for architecture in sys.argv[1:] or ARCHITECTURES:
        for name, text in texts():
            count += 1
            said = compiled(nvrtc, text, name.replace(" ", "_"), architecture)
            if said:
                wrong += 1
                print(f"{name}, {architecture}:\n{said}", file=sys.stderr)
            if count % 20 == 0:
                print(f"{count} texts so far, the last for {architecture}", flush=True)
    print(f"{count} texts, {wrong} do not compile")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
