"""Reads every native file with a compiler for Windows and for macOS: nothing runs.

    python tools/other_systems.py            both
    python tools/other_systems.py macos      one

The compiler is Clang, which the package ziglang brings with the C and C++ headers of both systems.
Python's headers are those of the Python that runs this; Windows gets a pyconfig.h of its own,
below. NumPy's are those of its wheels.
"""

import os
import shlex
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "other_systems"
ANY = BUILD / "any.cpp"
SYSTEMS = {
    "windows": ("x86_64-windows-gnu", "win_amd64"),
    "macos": ("aarch64-macos", "macosx_11_0_arm64"),
}
# What Python's headers ask of pyconfig.h where pointers have 64 bits and long has 32.
PYCONFIG = """#define MS_WINDOWS
#define MS_WIN64
#define NT_THREADS
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_TIME_T 8
"""
OPTIONS = [
    *("-std=gnu++20", "-w", f"-I{ROOT}/native", f"-I{BUILD}", "-DRUSHLIGHT_ISA=baseline"),
    *("-include", "cfloat"),  # Apple's math.h and float.h hide each other's names
    *("-DRUSHLIGHT_HAS_ISA_baseline", "-DNPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION"),
    "-DNPY_TARGET_VERSION=NPY_2_0_API_VERSION",
]


def headers(system: str, tag: str) -> list[str]:
    """Folders of Python's and NumPy's headers for a system."""
    folder = BUILD / system
    python, packages = folder / "python", folder / "packages"
    python.mkdir(parents=True, exist_ok=True)
    for path in Path(sysconfig.get_path("include")).iterdir():
        link = python / path.name
        if not link.exists() and (system != "windows" or path.name != "pyconfig.h"):
            link.symlink_to(path)
    if system == "windows":
        (python / "pyconfig.h").write_text(PYCONFIG, encoding="utf-8")
    if not packages.exists():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        wanted = ["--only-binary=:all:", "--no-deps", "--target", str(packages), "numpy>=2"]
        subprocess.run([*pip, f"--platform={tag}", *wanted], check=True)
    return [str(python), str(packages / "numpy" / "_core" / "include")]


def reader(zig: str, target: str, folders: list[str]) -> list[str]:
    """The command that reads the file ANY for a system.

    `zig c++` compiles the standard library, too: it only tells, of an empty file, how it calls its
    compiler.
    """
    ANY.write_text("", encoding="utf-8")
    options = [*OPTIONS, *(f"-isystem{folder}" for folder in folders)]
    command = [zig, "c++", "-target", target, *options, "-###", "-c", str(ANY), "-o", "any.o"]
    told = subprocess.run(command, cwd=BUILD, capture_output=True, text=True).stderr.splitlines()
    words = shlex.split(told[-1])
    words[words.index("-emit-obj")] = "-fsyntax-only"
    return words


def said(words: list[str], source: Path) -> str:
    """What the compiler says of a file; "" where it takes it."""
    command = [str(source) if word == str(ANY) else word for word in words]
    done = subprocess.run(command, cwd=BUILD, capture_output=True, text=True)
    return done.stderr or f"exit code {done.returncode}" if done.returncode else ""


def main(systems: list[str]) -> int:
    spec = find_spec("ziglang")
    if spec is None or spec.origin is None:
        raise SystemExit("the package ziglang is not here")
    zig = str(Path(spec.origin).parent / "zig")
    BUILD.mkdir(parents=True, exist_ok=True)
    # CMake writes texts of accelerators here; what they say is no matter.
    (BUILD / "shared_texts.inc").write_text('"{ss}",\n"ops.def", ""\n', encoding="utf-8")
    sources = sorted((ROOT / "native").rglob("*.cpp"))
    wrong = 0
    for system in systems or SYSTEMS:
        target, tag = SYSTEMS[system]
        read = partial(said, reader(zig, target, headers(system, tag)))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for source, errors in zip(sources, pool.map(read, sources), strict=True):
                if errors:
                    wrong += 1
                    print(f"{source.relative_to(ROOT)} for {system}:\n{errors}", flush=True)
        print(f"{len(sources)} files read for {system} ({target})", flush=True)
    print(f"{wrong} do not compile" if wrong else "all compile")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
