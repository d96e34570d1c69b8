"""Builds the wheel for Pyodide, which runs Python in browsers and in Node.

    python tools/wasm.py           the core, the wheel in build/wasm/dist, Pyodide in build/browser
    python tools/wasm.py --here    whether that can be done here: nothing, or what is missing

Needs Debian's clang-19, lld-19 and libc++-19-dev-wasm32, npm, and a Python of Pyodide's version for
its headers (WASM_PYTHON, or python3.13). The C library's headers are those of Debian's package
emscripten, and an optimiser is that of its binaryen, both unpacked in build/wasm: nothing is
installed. See native/wasm.cmake for how it compiles.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tokenize
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "wasm"
HEADERS, SYSTEM, COMPILED, WHEEL = (
    BUILD / name for name in ("include", "system", "compiled", "wheel")
)
BROWSER = ROOT / "build" / "browser"
PYODIDE = BROWSER / "node_modules" / "pyodide"
LIBCXX = Path("/usr/lib/llvm-19/include/wasm32-wasi/c++/v1")
EMSCRIPTEN = SYSTEM / "usr" / "share" / "emscripten" / "system"
BINARYEN = SYSTEM / "usr" / "bin" / "wasm-opt"
PYTHON, TAG = "3.13", "cp313-cp313-pyodide_2025_0_wasm32"
CORE = "_core.cpython-313-wasm32-emscripten.so"
# How the headers of a machine of 64 bits say sizes that are others in WebAssembly of 32.
SIZES = "SIZEOF_(?:LONG|VOID_P|SIZE_T|UINTPTR_T|PTHREAD_T)|ALIGNOF_(?:LONG|SIZE_T)"
NUMPY_SIZES = "NPY_SIZEOF_(?:LONG|PY_INTPTR_T|INTP|UINTP)"
# What a browser has no use for: accelerators' kernels, types for editors, a frozen program's hook,
# the command line, several processes, what writes for TensorBoard or runs a compiler.
LEFT_OUT = ("__pycache__", "*.so", "*.pyi", "*.cl", "*.md", "rooms", "_frozen")
LEFT_OUT += ("there", "_there", "_cli", "as_torch.py", "stubs.py", "distributed")
LEFT_OUT += (
    "tensorboard",
    "cpp_extension.py",
    "_doctor_command.py",
    "_live_server.py",
    "launch.py",
)
LEFT_OUT += ("choices.*", "complex.py", "complex_parts.py", "programs.py")
# torch.distributed there, as of a PyTorch that is built without.
ALONE = '''"""Several processes, which a browser does not have."""


def is_available() -> bool:
    """Whether there can be several processes: no."""
    return False


def is_initialized() -> bool:
    """Whether there are several processes: no."""
    return False


def __getattr__(name):
    from ._base.browser import not_in_browser

    if not name.islower() or name.startswith("_"):
        raise AttributeError(f"torch.distributed.{name} is not in a browser")
    instead = "train in one, and give a DistributedSampler num_replicas and rank."
    return lambda *args, **more: not_in_browser(f"torch.distributed.{name}()", instead)
'''


def run(*command: object, **more: object) -> None:
    print("+", *command, flush=True)
    subprocess.run(list(map(str, command)), check=True, **more)  # type: ignore[call-overload]


def python() -> str | None:
    """The Python whose headers are those of Pyodide's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = [os.environ.get("WASM_PYTHON"), shutil.which(f"python{PYTHON}")]
    found += sorted(map(str, pyenv.glob(f"{PYTHON}.*/bin/python3")))
    asked = "import sys; print('{}.{}'.format(*sys.version_info))"
    for path in filter(None, found):
        done = subprocess.run([path, "-c", asked], capture_output=True, text=True)
        if done.stdout.strip() == PYTHON:
            return path
    return None


def missing() -> str:
    """What this machine lacks, as advice, or nothing."""
    if not all(map(shutil.which, ("clang++-19", "wasm-ld-19"))) or not LIBCXX.exists():
        return "apt-get install clang-19 lld-19 libc++-19-dev-wasm32"
    if not shutil.which("npm"):
        return "npm, which comes with Node.js"
    if not python():
        return f"a Python {PYTHON} with its headers: name it in WASM_PYTHON"
    return ""


def resize(path: Path, names: str) -> None:
    """Sizes of four bytes in a header of a machine of 64 bits."""
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(rf"(#define (?:{names})) 8", r"\1 4", text), encoding="utf-8")


def headers() -> None:
    """Python's, NumPy's and libc++'s headers as WebAssembly wants them."""
    import numpy

    shutil.rmtree(HEADERS, ignore_errors=True)
    asked = "import sysconfig; print(sysconfig.get_path('include'))"
    path = subprocess.run([python() or "", "-c", asked], capture_output=True, text=True, check=True)
    shutil.copytree(path.stdout.strip(), HEADERS / "python")
    resize(HEADERS / "python" / "pyconfig.h", SIZES)
    shutil.copytree(numpy.get_include(), HEADERS / "numpy")
    resize(HEADERS / "numpy" / "numpy" / "_numpyconfig.h", NUMPY_SIZES)
    # Debian's libc++ is that of WASI, without threads; Pyodide's has mutexes, which do nothing.
    (HEADERS / "c++").mkdir()
    site = (LIBCXX / "__config_site").read_text(encoding="utf-8")
    threads = site.replace("_LIBCPP_HAS_NO_THREADS", "_LIBCPP_HAS_THREAD_API_PTHREAD")
    (HEADERS / "c++" / "__config_site").write_text(threads, encoding="utf-8")


def unpack() -> None:
    """The C library's headers of Debian's emscripten, and Debian's binaryen."""
    packages = BUILD / "debian"
    packages.mkdir(parents=True, exist_ok=True)
    packages.chmod(0o777)  # apt fetches as a user of its own
    run("apt-get", "-q", "download", "emscripten", "binaryen", cwd=packages)
    for package in packages.glob("*.deb"):
        run("dpkg-deb", "-x", package, SYSTEM)
    shutil.rmtree(packages)
    # The package is older than Pyodide's emscripten, whose seconds have 64 bits.
    types = EMSCRIPTEN / "lib" / "libc" / "musl" / "arch" / "emscripten" / "bits" / "alltypes.h"
    text = types.read_text(encoding="utf-8")
    types.write_text(text.replace("typedef long time_t", "typedef long long time_t"), "utf-8")


def build() -> None:
    """The core, by CMake as everywhere."""
    defines = {
        "CMAKE_TOOLCHAIN_FILE": ROOT / "native" / "wasm.cmake",
        "RUSHLIGHT_WASM_HEADERS": HEADERS,
        "RUSHLIGHT_EMSCRIPTEN": EMSCRIPTEN,
        "Python_EXECUTABLE": python(),
        "Python_INCLUDE_DIR": HEADERS / "python",
        "Python_NumPy_INCLUDE_DIR": HEADERS / "numpy",
    }
    given = [f"-D{name}={value}" for name, value in defines.items()]
    given += os.environ.get("CMAKE_ARGS", "").split()
    tools = Path(sys.executable).parent
    ninja = f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"
    # Afresh: flags that a toolchain file gives are else those of the first time.
    run(tools / "cmake", "--fresh", "-G", "Ninja", ninja, "-S", ROOT, "-B", COMPILED, *given)
    run(sys.executable, ROOT / "tools" / "building.py", tools / "ninja", "-C", COMPILED, "--quiet")


def without_comments(path: Path) -> None:
    """A file of Python in fewer bytes: docstrings stay, and lines have their numbers."""
    lines = path.read_text(encoding="utf-8").split("\n")
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column].rstrip()
    path.write_text("\n".join(lines), encoding="utf-8")


def wheel() -> Path:
    """The package as a wheel has it, the rooms beside the base, and the core in it."""
    from scikit_build_core.build import prepare_metadata_for_build_wheel

    shutil.rmtree(WHEEL, ignore_errors=True)
    package = WHEEL / "rushlight"
    left = shutil.ignore_patterns(*LEFT_OUT)
    for source in (ROOT / "src" / "rushlight", ROOT / "src" / "rushlight" / "rooms"):
        shutil.copytree(source, package, ignore=left, dirs_exist_ok=True)
    for path in package.rglob("*.py"):
        without_comments(path)
    (package / "distributed.py").write_text(ALONE, encoding="utf-8")
    # Binaryen merges what is alike in the core and drops its names: a twentieth less to fetch.
    library = next((SYSTEM / "usr" / "lib").glob("*/libbinaryen.so")).parent
    found = os.environ | {"LD_LIBRARY_PATH": str(library)}
    run(BINARYEN, "-Os", COMPILED / "_core.wasm", "-o", package / CORE, env=found)
    os.chdir(ROOT)
    info = WHEEL / prepare_metadata_for_build_wheel(str(WHEEL))
    (info / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: tools/wasm.py\nRoot-Is-Purelib: false\nTag: {TAG}\n",
        encoding="utf-8",
    )
    dist = BUILD / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    run(sys.executable, "-m", "wheel", "pack", WHEEL, "--dest-dir", dist)
    made = next(dist.glob("*.whl"))
    squeeze(made)
    return made


def squeeze(wheel: Path) -> None:
    """The same files in fewer bytes: zopfli looks longer for them than zlib does."""
    from zopfli import ZopfliDeflater

    with zipfile.ZipFile(wheel) as old:
        files = [(each, old.read(each)) for each in old.infolist()]
    longer = mock.patch.object(zipfile, "_get_compressor", lambda *_: ZopfliDeflater(iterations=5))
    with longer, zipfile.ZipFile(wheel, "w") as new:
        for each, content in files:
            new.writestr(each, content)


def runtime() -> None:
    """Pyodide, from npm, in build/browser."""
    BROWSER.mkdir(parents=True, exist_ok=True)
    for path in (ROOT / "tools" / "browser").iterdir():
        shutil.copy(path, BROWSER)
    run("npm", "ci", "--silent", cwd=BROWSER)


def main(arguments: list[str]) -> int:
    lacking = missing()
    if arguments == ["--here"] or lacking:
        if lacking:
            print(f"rushlight cannot be built for browsers here; first: {lacking}")
        return bool(lacking)
    if not all(map(Path.exists, (EMSCRIPTEN, BINARYEN))):
        unpack()
    if not HEADERS.exists():
        headers()
    build()
    made = wheel()
    runtime()
    print(f"the wheel: {made.relative_to(ROOT)}, {made.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
