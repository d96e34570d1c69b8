"""Make the virtual environment that the Makefile builds and tests in.

    python3 tools/setup_venv.py VENV            make it, with the build requirements installed
    python3 tools/setup_venv.py --list EXTRA... print the requirements of extras of pyproject.toml

A fresh Debian machine with python3, make and g++ has neither `ensurepip` (package python3-venv) nor
`Python.h` (python3-dev). Both are got round without root: pip comes from the system's pip or from
PyPI, the headers from Debian's own package, unpacked inside the environment. Where that does not
work either, the last line says what to install. Standard library only; it runs before anything is
installed.
"""

from __future__ import annotations

import hashlib
import html.parser
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD_TOOLS = [
    "cmake>=3.21",
    "ninja>=1.10",
]  # what scikit-build-core would add by itself when isolated


def stop(message: str) -> None:
    """End with a message a newcomer can act on."""
    sys.exit(f"\nrushlight cannot be built here: {message}\n")


def requirements(extras: list[str]) -> list[str]:
    """The requirements that pyproject.toml names: `build`, `run` or an optional extra."""
    import tomllib  # 3.11 and later; the version has been checked by now

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = {
        "build": project["build-system"]["requires"] + BUILD_TOOLS,
        "run": project["project"]["dependencies"],
        **project["project"]["optional-dependencies"],
    }
    return [requirement for extra in extras for requirement in known[extra]]


def check_python() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036  (this very line is for those that have less)
        found = ".".join(map(str, sys.version_info[:3]))
        stop(
            f"it needs Python 3.11 or later and {sys.executable} is {found}.\n"
            "Name another one, for example:  make PYTHON=python3.12 run"
        )


def check_compiler() -> None:
    """Compile a line of C++20, so that a missing compiler is told in one sentence."""
    named = os.environ.get("CXX")
    candidates = [named] if named else ["c++", "g++", "clang++"]
    compiler = next((c for c in candidates if shutil.which(c.split()[0])), None)
    advice = "Debian, Ubuntu:  apt install g++\nmacOS:  xcode-select --install"
    if compiler is None:
        stop(f"there is no C++ compiler ({', '.join(candidates)}).\n{advice}")
        return
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.cpp")
        source.write_text(
            "#include <concepts>\ntemplate <std::integral T> T one(T) { return 1; }\n"
            "int main() { return one(1) - 1; }\n"
        )
        command = [
            *compiler.split(),
            "-std=c++20",
            str(source),
            "-o",
            str(source.with_suffix(".out")),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        stop(
            f"{compiler} does not compile C++20 (GCC 11, Clang 13 or later do); it says:\n"
            f"{done.stderr.strip()[:800]}\n{advice}"
        )


def pip_in(venv: Path) -> bool:
    python = venv_python(venv)
    return (
        python.exists()
        and not subprocess.run(
            [str(python), "-m", "pip", "--version"], capture_output=True
        ).returncode
    )


def venv_python(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def quietly(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True)


def make_venv(venv: Path) -> None:
    """`python -m venv`; where ensurepip is missing, one without pip, and pip put in afterwards."""
    if pip_in(venv):
        return
    if venv.exists():
        shutil.rmtree(venv)
    plain = quietly([sys.executable, "-m", "venv", str(venv)])
    if plain.returncode == 0 and pip_in(venv):
        return
    shutil.rmtree(venv, ignore_errors=True)
    bare = quietly([sys.executable, "-m", "venv", "--without-pip", str(venv)])
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    advice = f"Debian, Ubuntu:  apt install python{version}-venv"
    if bare.returncode:
        stop(
            f"python -m venv fails; it says:\n{(bare.stdout + bare.stderr).strip()[:800]}\n{advice}"
        )
    # The system's pip, where there is one (22.3 and later have --python), knows the machine's index
    # settings.
    quietly(
        [sys.executable, "-m", "pip", "--python", str(venv_python(venv)), "install", "-q", "pip"]
    )
    if not pip_in(venv):
        try:
            pip_from_index(venv)
        except (OSError, ValueError, LookupError) as error:
            stop(f"there is no ensurepip, and pip could not be fetched: {error}\n{advice}")
    if not pip_in(venv):
        stop(f"pip does not run in {venv}.\n{advice}")


class Wheels(html.parser.HTMLParser):
    """The wheels on an index's page (PEP 503), by release number: address and checksum."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[tuple[int, ...], tuple[str, str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        url, _, checksum = (given.get("href") or "").partition("#sha256=")
        name = url.rpartition("/")[2]
        if not name.endswith("-py3-none-any.whl") or "data-yanked" in given:
            return
        number = name.split("-")[1]
        if number.replace(".", "").isdigit():  # a pre-release has a letter in it
            self.found[tuple(map(int, number.split(".")))] = (url, checksum)


def pip_from_index(venv: Path) -> None:
    """Fetch pip's wheel (checked against the index's SHA-256) and let it install itself."""
    page = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pip/"
    request = urllib.request.Request(page, headers={"Accept": "text/html"})
    wheels = Wheels()
    with urllib.request.urlopen(request, timeout=60) as reply:
        wheels.feed(reply.read().decode())
    if not wheels.found:
        raise LookupError(f"no wheel of pip on {page}")
    url, checksum = wheels.found[max(wheels.found)]
    with urllib.request.urlopen(urllib.parse.urljoin(page, url), timeout=120) as reply:
        data = reply.read()
    if hashlib.sha256(data).hexdigest() != checksum:
        raise ValueError(f"{url} does not have the checksum that the index gives")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, url.rpartition("/")[2])
        path.write_bytes(data)
        command = [str(venv_python(venv)), str(path / "pip"), "install", "-q", "--no-index"]
        subprocess.run([*command, str(path)], check=False)


def find_headers(venv: Path) -> str:
    """Python's C headers: the installed ones, else Debian's package unpacked in the environment.

    Answers the CMake arguments that the build needs for them.
    """
    if Path(sysconfig.get_path("include"), "Python.h").exists():
        return ""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    target = venv / "include" / f"python{version}"
    if not (target / "Python.h").exists():
        problem = unpack_debian_headers(version, target)
        if problem:
            stop(
                f"Python's C headers (Python.h) are missing: {problem}.\n"
                "Debian, Ubuntu:  apt install python3-dev     Fedora:  dnf install python3-devel"
            )
    return f"-DPython_INCLUDE_DIR={target.resolve()}"


def unpack_debian_headers(version: str, target: Path) -> str:
    """Unpack libpythonX.Y-dev into `target`, as any user. Answers what went wrong, or nothing."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return "no apt-get here to fetch them with"
    package = f"libpython{version}-dev"
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # apt drops its rights to a user of its own while it downloads
        got = subprocess.run(
            ["apt-get", "download", package], cwd=folder, capture_output=True, text=True
        )
        archives = list(Path(folder).glob("*.deb"))
        if got.returncode or not archives:
            return f"'apt-get download {package}' did not fetch them"
        subprocess.run(["dpkg-deb", "-x", str(archives[0]), folder], check=True)
        shutil.copytree(
            Path(folder, "usr", "include", f"python{version}"), target, dirs_exist_ok=True
        )
        # Debian's pyconfig.h only points to the one of the machine's architecture: put that in its
        # place.
        for real in Path(folder, "usr", "include").glob(f"*-*/python{version}/pyconfig.h"):
            shutil.copy(real, target / "pyconfig.h")
    return ""


def main(arguments: list[str]) -> None:
    check_python()
    if arguments[:1] == ["--list"]:
        print(" ".join(f"'{requirement}'" for requirement in requirements(arguments[1:])))
        return
    venv = Path(arguments[0])
    check_compiler()
    make_venv(venv)
    cmake_arguments = find_headers(venv)
    (venv / "cmake-args").write_text(cmake_arguments + "\n", encoding="utf-8")
    install = [str(venv_python(venv)), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run([*install, *requirements(["build", "run"])])
    if done.returncode:
        stop("pip could not install the build requirements (see above); is PyPI reached from here?")


if __name__ == "__main__":
    main(sys.argv[1:])
