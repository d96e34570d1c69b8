"""Compile every kernel text of accelerators as CUDA C, by NVRTC; no GPU is needed.

    python tools/cuda_check.py [sm_80 ...]

Each file of kernels is compiled for each type that it computes in and each
architecture. NVRTC is the library of `pip install rushlight[cuda-check]`, or one on the system.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys

from rushlight import _core
from rushlight._base.dtypes import ALL
from rushlight._devices.accelerators import library_of_nvidia
from rushlight._devices.programs import EVEN, NARROW, own_text
from rushlight._devices.texts import files, text_of

ARCHITECTURES = "sm_75", "sm_80", "sm_90"
FROM_80 = re.compile("fused_attention.* -DWARPS|-DTF32|-DROWS=.*FLOAT16")
"""Names of texts that older cards have no instructions for, and are not given."""
# Products and sums are rounded each by itself, as on the CPU.
OPTIONS = "--fmad=false", "--std=c++17", "--device-as-default-execution-space", "-w"


def library() -> ctypes.CDLL:
    """NVRTC."""
    path = library_of_nvidia("nvrtc")
    if path is None:
        raise SystemExit("NVRTC is not here: pip install nvidia-cuda-nvrtc")
    return ctypes.CDLL(path)


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


PARTS = "prelude", "elementary", "pairs", "vectors", "gpu", "tiles"
"""Files that others include."""
HELD = [f"-DHELD={n}" for n in (0, 1, 2, 8)]
FUSED = [
    f"-DDEPTH={depth} {more} {mask}"
    for depth, mask in ((32, ""), (64, ""), (128, ""), (64, "-DM=TYPE_BOOL"))
    for more in ("-DFORWARD", "-DDOTS", "-DBY_QUERY", "-DBY_KEY")
]
REDUCTIONS = [
    f"-DHOW={how} -DTAKEN={taken}"
    for how, taken in ((0, 0), (0, 5), (0, 6), (1, 1), (2, 0), (3, 2))
]
NORMS = [f"-DW=TYPE_FLOAT32 {held}" for held in HELD] + ["-DAT_ONCE=1", "-DAT_ONCE=FEW", ""]
BY_WARPS = {
    "softmax": HELD,
    "norms": NORMS,
    "reductions": REDUCTIONS,
    "fused_attention": FUSED,
    "optimizers": [""],
}
"""The options of kernels that count on warps."""
OTHERS = {"products": ["-DTILED"], "softmax": ["-DGROUPS"], "losses": ["-DWARPS"]}
X = {
    "float32": ("FLOAT32", "FLOAT16", "BFLOAT16"),
    "float64": ("FLOAT64",),
    "int64": ("INT64", "INT32", "UINT8", "BOOL"),
}
"""Types of elements, by the type that elements are computed in."""


def tiles(stem: str, computed: str) -> list[str]:
    """The options with which products are computed by tiles: types, transpositions, sizes."""
    halves = ["FLOAT16", "BFLOAT16"]
    kinds = {"float32": ["FLOAT32", "FLOAT32 -DTF32", *halves], "float64": ["FLOAT64"]}
    ways = {
        "products": [f"-DA_TURNED={a} -DB_TURNED={b}" for a in (0, 1) for b in (0, 1)],
        "convolution": [f"-DA_TURNED=0 -DB_TURNED=0 {images}" for images in ("", "-DIMAGES")],
    }
    return [
        f"-DROWS={size} -DCOLUMNS={size} {way} -DSTORED=TYPE_{kind}"
        for kind in kinds.get(computed, ())
        for size in ((64,) if computed == "float64" else (64, 128))
        for way in ways.get(stem, ())
    ]


def options(stem: str, computed: str) -> list[str]:
    """All options with which a file is compiled."""
    found = ["", *OTHERS.get(stem, []), *tiles(stem, computed)]
    if computed == "int64" and stem != "reductions":
        return found
    if stem in ("products", "convolution"):
        return found + [f"-DSTORED=TYPE_{kind}" for kind in X[computed]]
    of = "ELEMENT" if stem == "optimizers" else "X"
    warps = [] if stem == "fused_attention" and computed != "float32" else BY_WARPS.get(stem, [])
    few = {dtype.name.upper(): str(16 // dtype.itemsize) for dtype in ALL}
    return found + [
        f"-DWARPS -D{of}=TYPE_{kind} {more}".replace("FEW", few[kind])
        for kind in X[computed]
        for more in warps
    ]


def programs() -> list[tuple[str, str]]:
    """A program as a kernel of its own, in every form. The interpreter has all instructions."""
    numbers = {name: number for number, (name, _) in enumerate(_core.instructions())}
    steps = struct.pack("10i", numbers["add"], 2, 0, 1, 0, numbers["mul"], 2, 2, 1, 0)
    code = {dtype.name.upper(): dtype.code for dtype in ALL}
    found = []
    for computed, kinds in X.items():
        for kind in kinds:
            types = bytes([code[kind], code[computed.upper()], code[kind], 0])
            for form in (0, 2, 2 | NARROW, 2 | NARROW | EVEN):
                given = steps, types, 2, 0, 2, form
                text = own_text(code[computed.upper()], True, True, *given)[0]
                found.append((f"a program of {kind}, form {form}", text))
    return found


def texts() -> list[tuple[str, str]]:
    """Every file in every type that T may be and with all its options, each with a name."""
    found = []
    for path in files().values():
        if path.stem in PARTS:
            continue
        for computed in X:
            for more in options(path.stem, computed):
                text = text_of(path.name, computed, True, more)
                found.append((f"{path.name} in {computed} {more}", text))
    return found + programs()


def main() -> int:
    nvrtc, wrong, count = library(), 0, 0
    for architecture in sys.argv[1:] or ARCHITECTURES:
        for name, text in texts():
            if int(architecture[3:]) < 80 and FROM_80.search(name):
                continue
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
