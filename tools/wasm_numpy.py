"""Builds NumPy for Pyodide, for tests of what Tensor and ndarray have to do with each other there.

    python tools/wasm_numpy.py      after tools/wasm.py: the wheel in build/wasm/numpy

Pyodide's own NumPy comes from a server of the Pyodide project; this one is compiled from PyPI's
source by the compiler and the flags of the core (native/wasm.cmake), in the version that Pyodide's
list of packages names. It has no BLAS and no vector code of NumPy's own; nobody ships it. pip and
meson do the building: meson is told what to know of the other machine (`cross_file`), and compiles
and links by a script, because clang alone does not link as Pyodide wants its modules.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from zipfile import ZipFile

import wasm

BUILD = wasm.BUILD / "numpy"
HOST, MACHINE = BUILD / "host", BUILD / "machine"
SYSCONFIG = "_sysconfigdata__emscripten_wasm32-emscripten"
BUILD_TOOLS = ("meson-python==0.22.1", "Cython==3.3.1", "ninja==1.13.2")
OPTIONS = ("blas=none", "lapack=none", "cpu-baseline=none", "cpu-dispatch=none", "optimization=2")
OPTIONS += ("disable-optimization=true", "disable-highway=true")

# Without -shared meson asks whether a function exists: all that Pyodide does not have is an error.
COMPILER = """#!/bin/bash
case $0 in *c++) compiler=clang++-19;; *) compiler=clang-19;; esac
given=() link=--no-entry,--no-gc-sections,--allow-undefined-file={machine}/has
for argument; do
  case $argument in
    -Wl,--version) exec wasm-ld-19 --version;;
    -c|-E|-S|--version|-print-*) link=; given+=("$argument");;
    -shared) link={link};;
    -Wl,*|-l*|-pthread) ;;
    *) given+=("$argument");;
  esac
done
[ "$link" ] && given+=(-nostdlib -Wl,$link)
exec $compiler --target=wasm32-unknown-emscripten -I{headers}/python {flags} "${{given[@]}}"
"""
CROSS = """[binaries]
c = '{machine}/cc'
cpp = '{machine}/c++'
ar = 'llvm-ar-19'
strip = 'llvm-strip-19'
cython = '{host}/bin/cython'
[host_machine]
system = 'emscripten'
cpu_family = 'wasm32'
cpu = 'wasm32'
endian = 'little'
[properties]
longdouble_format = 'IEEE_QUAD_LE'
"""
NAMES = """const module = new WebAssembly.Module(require('fs').readFileSync(process.argv[1]));
const has = [...WebAssembly.Module.exports(module), ...WebAssembly.Module.imports(module)];
require('fs').writeFileSync(process.argv[2], has.map(({name}) => name + '\\n').join(''));"""


def toolchain() -> tuple[str, str]:
    """The flags of compiler and linker in native/wasm.cmake."""
    text = (wasm.ROOT / "native" / "wasm.cmake").read_text(encoding="utf-8")
    for name, path in (("WASM_HEADERS", wasm.HEADERS), ("EMSCRIPTEN", wasm.EMSCRIPTEN)):
        text = text.replace(f"${{RUSHLIGHT_{name}}}", str(path))
    compiler = re.search(r"CMAKE_CXX_FLAGS_INIT\s+(.*?)\)", text, re.DOTALL)
    linker = re.search(r"\$\{WASM_LD\} (-shared .*?) --export=\S+ (.*?) <OBJECTS>", text)
    assert compiler and linker, "native/wasm.cmake says its flags in another way"
    link = [*linker[1].split(), "--export-dynamic", *linker[2].split()]
    return " ".join(compiler[1].split()), ",".join(link)


def cross_file() -> Path:
    """The other machine for meson: its compilers, and the names that Pyodide has."""
    MACHINE.mkdir(parents=True, exist_ok=True)
    flags, link = toolchain()
    places = {"machine": MACHINE, "host": HOST, "headers": wasm.HEADERS}
    for name in ("cc", "c++"):
        (MACHINE / name).write_text(COMPILER.format(flags=flags, link=link, **places))
        (MACHINE / name).chmod(0o755)
    wasm.run("node", "-e", NAMES, wasm.PYODIDE / "pyodide.asm.wasm", MACHINE / "has")
    (MACHINE / "cross").write_text(CROSS.format(**places))
    return MACHINE / "cross"


def main() -> int:
    packages = json.loads((wasm.PYODIDE / "pyodide-lock.json").read_text())["packages"]
    version = packages["numpy"]["version"]
    wasm.run(wasm.python(), "-m", "venv", HOST)
    wasm.run(HOST / "bin" / "pip", "install", "--quiet", *BUILD_TOOLS)
    cross = cross_file()
    with ZipFile(wasm.PYODIDE / "python_stdlib.zip") as library:
        library.extract(f"{SYSCONFIG}.py", MACHINE)
    # sysconfig answers for Pyodide's Python: suffix of the modules and tag of the wheel.
    answers = {
        "PATH": f"{HOST / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(MACHINE),
        "_PYTHON_SYSCONFIGDATA_NAME": SYSCONFIG,
        "_PYTHON_HOST_PLATFORM": wasm.TAG.rpartition("-")[2],
    }
    settings = [f"setup-args=--cross-file={cross}", f"builddir={BUILD / 'compiled'}"]
    settings += [f"setup-args=-D{option}" for option in OPTIONS]
    given = [part for setting in settings for part in ("-C", setting)]
    wasm.run(
        *(HOST / "bin" / "python", "-m", "pip", "wheel", f"numpy=={version}", "--no-binary=numpy"),
        *("--no-deps", "--no-build-isolation", "--no-cache-dir", "--wheel-dir", BUILD, *given),
        env=os.environ | answers,
    )
    (made,) = BUILD.glob("numpy-*.whl")
    print(f"the wheel: {made.relative_to(wasm.ROOT)}, {made.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
