"""Builds the core for aarch64 with a cross compiler, and runs tests of the core under emulation.

    python tools/aarch64.py                        tests/native and tests/kernels
    python tools/aarch64.py tests/kernels/matrix   a part; arguments are pytest's

Needs Debian's g++-aarch64-linux-gnu and qemu-user-static. Python for aarch64 is unpacked from
Debian's packages, what rushlight and the tests import from wheels, all into build/aarch64: nothing
is installed.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setup_venv import requirements

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "aarch64"
SYSTEM, PACKAGES, COMPILED = BUILD / "system", BUILD / "packages", BUILD / "compiled"
DEBIAN = "python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libpython3.11-dev"
LIBRARIES = "libexpat1 zlib1g libffi8"
HEADERS = SYSTEM / "usr" / "include" / "python3.11"
# A processor that there is: on QEMU's own, which has all that it can do, OpenBLAS computes wrongly.
PROCESSOR = "neoverse-n1"


def run(*command: object, **more: object) -> None:
    print("+", *command, flush=True)
    subprocess.run(list(map(str, command)), check=True, **more)  # type: ignore[call-overload]


def unpack_python() -> None:
    """Debian's Python for aarch64, with its headers."""
    apt, packages = BUILD / "apt", BUILD / "debian"
    for folder in (apt / "lists" / "partial", apt / "archives" / "partial", packages):
        folder.mkdir(parents=True, exist_ok=True)
    packages.chmod(0o777)  # apt fetches as a user of its own
    options = [
        "APT::Architecture=arm64",
        "APT::Architectures=arm64",
        f"Dir::State::Lists={apt / 'lists'}",
    ]
    options += [f"Dir::Cache={apt}"]
    fetch = ["apt-get", "-q", *(word for option in options for word in ("-o", option))]
    run(*fetch, "update")
    run(*fetch, "download", *DEBIAN.split(), *LIBRARIES.split(), cwd=packages)
    for package in packages.glob("*.deb"):
        run("dpkg-deb", "-x", package, SYSTEM)
    shutil.copy(
        SYSTEM / "usr/include/aarch64-linux-gnu/python3.11/pyconfig.h", HEADERS
    )  # that of this architecture


def fetch_packages() -> None:
    """Wheels of what rushlight and the tests of its core import."""
    wanted = [*requirements(["run"]), "pytest>=8", "hypothesis>=6", "scipy>=1.11"]
    where = ["--target", PACKAGES, "--python-version", "3.11", "--only-binary=:all:"]
    where += [f"--platform=manylinux_{glibc}_aarch64" for glibc in ("2_28", "2_17")]
    run(
        sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", *where, *wanted
    )


def build() -> None:
    """The core, and the package around it as a wheel has it."""
    defines = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_CXX_COMPILER": "aarch64-linux-gnu-g++",
        "RUSHLIGHT_IPO": "OFF",
        "Python_EXECUTABLE": sys.executable,
        "Python_INCLUDE_DIR": HEADERS,
        "Python_NumPy_INCLUDE_DIR": PACKAGES / "numpy" / "_core" / "include",
    }
    given = [f"-D{name}={value}" for name, value in defines.items()]
    given += os.environ.get("CMAKE_ARGS", "").split()
    tools = Path(sys.executable).parent
    run(
        tools / "cmake",
        "-G",
        "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}",
        "-S",
        ROOT,
        "-B",
        COMPILED,
        *given,
    )
    run(sys.executable, ROOT / "tools" / "building.py", tools / "ninja", "-C", COMPILED, "--quiet")
    package = PACKAGES / "rushlight"
    shutil.rmtree(package, ignore_errors=True)
    left = shutil.ignore_patterns("__pycache__", "*.so", "rooms")
    shutil.copytree(ROOT / "src" / "rushlight", package, ignore=left)
    run(tools / "cmake", "--install", COMPILED, "--prefix", PACKAGES, stdout=subprocess.DEVNULL)


def python() -> Path:
    """A command that is this Python; the processes that tests start run it, too."""
    libraries = ":".join(
        str(SYSTEM / folder / "aarch64-linux-gnu") for folder in ("usr/lib", "lib")
    )
    told = {"LD_LIBRARY_PATH": libraries, "PYTHONHOME": SYSTEM / "usr", "PYTHONPATH": PACKAGES}
    emulator = f'qemu-aarch64-static -cpu {PROCESSOR} -0 "$0" -L /usr/aarch64-linux-gnu'
    words = "".join(f" -E {name}={value}" for name, value in told.items())
    command = BUILD / "python"
    called = f'{emulator}{words} {SYSTEM}/usr/bin/python3.11 "$@"'
    command.write_text(f"#!/bin/sh\nexec {called}\n", encoding="utf-8")
    command.chmod(0o755)
    return command


def main(arguments: list[str]) -> int:
    if not (shutil.which("aarch64-linux-gnu-g++") and shutil.which("qemu-aarch64-static")):
        raise SystemExit("first: apt-get install g++-aarch64-linux-gnu qemu-user-static")
    if not HEADERS.exists():
        unpack_python()
    if not PACKAGES.exists():
        fetch_packages()
    build()
    given = arguments or ["tests/native", "tests/kernels"]
    if not arguments:  # threads and forks at once, which the emulator does not promise to bear
        given += ["--deselect=tests/native/test_end_of_process.py"]
    pytest = [python(), "-m", "pytest", "-p", "no:cacheprovider", *given]
    return subprocess.run(pytest, cwd=ROOT).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
