"""Compare the declarations of CUDA's functions in native/ with NVIDIA's headers.

    python tools/cuda_headers.py [FOLDER ...]

FOLDERs have headers somewhere below: cuda.h and nvrtc.h, of the runtime's package, and those of
cuBLAS and cuDNN; without a FOLDER they are those of `pip install rushlight[cuda-check]`. Nothing is
run: a C++ compiler reads tools/cuda_headers.cpp, and says what differs.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def folders(roots: list[str]) -> list[Path]:
    """The folders of headers below these, or below NVIDIA's packages."""
    if not roots:
        found = importlib.util.find_spec("nvidia")
        roots = list(found.submodule_search_locations or ()) if found else []
    return sorted({path for root in roots for path in Path(root).glob("**/include/")})


def differences(include: list[Path], native: Path) -> list[str]:
    """What the compiler says of the declarations in a copy of native/."""
    words = [os.environ.get("CXX") or "c++", "-std=c++20", "-fsyntax-only", "-w"]
    words += [f"-I{native}", *(f"-isystem{path}" for path in include)]
    done = subprocess.run(
        [*words, str(ROOT / "tools/cuda_headers.cpp")], capture_output=True, text=True
    )
    if not done.returncode:
        return []
    return re.findall("error: (.*)", done.stderr) or [done.stderr]


def main() -> int:
    include = folders(sys.argv[1:])
    if not include:
        raise SystemExit("NVIDIA's headers are not here: pip install rushlight[cuda-check]")
    wrong = differences(include, ROOT / "native")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    rows = len(re.findall(r"^  X\(", (ROOT / "native/devices/cuda_functions.h").read_text(), re.M))
    print(f"{rows} rows of native/devices/cuda_functions.h, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
