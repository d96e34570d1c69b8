"""`rushlight as-torch on | off | status` in an environment of its own, with real processes."""

import importlib.util
import io
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

import rushlight
from _alone import PATIENCE
from rushlight import _cli
from rushlight._alias import as_torch


class Environment:
    """An environment with rushlight and what it needs, and no torch."""

    def __init__(self, place):
        venv.create(place, with_pip=False, symlinks=True)
        self.place, self.packages = place, next(place.glob("lib*/python*/site-packages"))
        for name in ("numpy", "ml_dtypes", "scipy_openblas32", "rushlight", "pip"):
            spec = importlib.util.find_spec(name)
            if spec is None:  # numpy brings its own BLAS, and a wheel of rushlight may too
                continue
            folder = Path(spec.origin).parent
            (self.packages / name).symlink_to(folder)
            libraries = folder.parent / f"{name}.libs"
            if libraries.is_dir():
                (self.packages / libraries.name).symlink_to(libraries)

    def python(self, *arguments):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "RUSHLIGHT"))}
        kept["PYTHONDONTWRITEBYTECODE"] = "1"
        return subprocess.run(
            [self.place / "bin" / "python", *arguments],
            cwd=self.place,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=kept,
        )

    def as_torch(self, *arguments):
        return self.python("-m", "rushlight", "as-torch", *arguments)

    def files(self):
        return sorted(str(p.relative_to(self.packages)) for p in self.packages.rglob("*"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """One in which nothing is switched on."""
    return Environment(tmp_path_factory.mktemp("environment"))


if sys.platform == "win32":
    pytest.skip("the environment is made of symbolic links", allow_module_level=True)


@pytest.fixture(scope="module")
def switched_on(tmp_path_factory):
    """One in which torch is rushlight; at the end nothing of that is left."""
    environment = Environment(tmp_path_factory.mktemp("switched_on"))
    before = environment.files()
    done = environment.as_torch("on")
    assert done.returncode == 0, done.stderr
    yield environment
    assert environment.as_torch("off").stdout == "off: no torch is installed\n"
    assert environment.files() == before


def printed(environment, code):
    done = environment.python("-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_import_torch_is_rushlight(switched_on):
    code = "import torch, rushlight, torch.nn as nn; print(nn is rushlight.nn, torch.ones(1))"
    assert printed(switched_on, code) == ["True tensor([1.])"]


def test_a_submodule_first(switched_on):
    code = "import torch.nn.functional as F, torch; print(F is torch.nn.functional)"
    assert printed(switched_on, code) == ["True"]


def test_the_versions_agree(switched_on):
    code = """
import importlib.metadata, torch, rushlight
print(importlib.metadata.version("torch"), torch.__version__, torch.version.__version__)
print(torch.__version__ >= (2, 13), torch.__name__, rushlight.__version__)
"""
    told = f"True torch {rushlight.__version__}"
    assert printed(switched_on, code) == ["2.13.0+rushlight " * 2 + "2.13.0+rushlight", told]


def test_found_without_importing(switched_on):
    code = "import importlib.util, sys; print(importlib.util.find_spec('torch').name)"
    assert printed(switched_on, f"{code}; print('torch' in sys.modules)") == ["torch", "False"]


def test_missing_names_say_so(switched_on):
    done = switched_on.python("-c", "import torch; torch.no_such_name")
    assert done.stderr.endswith("AttributeError: module 'torch' has no attribute 'no_such_name'\n")


def test_the_files_that_run_are_few_and_small(switched_on):
    written = [p for p in switched_on.packages.rglob("torch*/**/*") if p.is_file()]
    stubs = [p for p in written if p.suffix == ".pyi"]
    assert len(written) - len(stubs) == 8
    assert sum(p.stat().st_size for p in written if p not in stubs) < 40_000  # with RECORD
    assert sum(p.stat().st_size for p in stubs) < 100_000


def test_checkers_find_the_modules(switched_on):
    found = {str(p.relative_to(switched_on.packages)) for p in switched_on.packages.rglob("*.pyi")}
    assert {
        "torch/__init__.pyi",
        "torch/nn/functional.pyi",
        "torch/utils/data/__init__.pyi",
        "torch/distributions/normal.pyi",  # of a room, which a wheel has beside the base
        "torch/jit.pyi",
    } <= found
    assert not [name for name in found if "_alias" in name or "rooms" in name]


def wheel(folder, name, version, requires=""):
    """A wheel with nothing in it."""
    info = f"{name}-{version}.dist-info"
    with ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}"
        file.writestr(f"{info}/METADATA", metadata)
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        file.writestr(f"{info}/RECORD", "")


@pytest.fixture
def metadata(switched_on):
    """The folder by which pip knows that rushlight is installed."""
    pytest.importorskip("pip")
    info = switched_on.packages / "rushlight-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rushlight\nVersion: 1.0\n")
    yield info
    shutil.rmtree(info, ignore_errors=True)


def test_pip_says_what_is_broken_without_rushlight(switched_on, metadata):
    assert switched_on.python("-m", "pip", "check").returncode == 0
    shutil.rmtree(metadata)  # as `pip uninstall rushlight` does
    checked = switched_on.python("-m", "pip", "check")
    assert checked.returncode == 1
    assert "torch 2.13.0+rushlight requires rushlight, which is not installed." in checked.stdout


def test_pip_keeps_the_package_by_the_file_that_on_names(switched_on, metadata, tmp_path):
    wheel(tmp_path, "torch", "2.14.1")
    wheel(tmp_path, "wants_another", "1.0", "Requires-Dist: torch>=2.14\n")
    wheel(tmp_path, "wants_any", "1.0", "Requires-Dist: torch>=2.13\n")
    constraints = switched_on.as_torch("on").stdout.partition("-c '")[2].partition("'")[0]
    install = ["-m", "pip", "install", "--dry-run", "--no-index", "--find-links", str(tmp_path)]
    replaced = switched_on.python(*install, "wants_another")
    assert "Would install torch-2.14.1 wants" in replaced.stdout
    refused = switched_on.python(*install, "-c", constraints, "wants_another")
    assert refused.returncode == 1
    assert "==2.13.0+rushlight" in refused.stdout + refused.stderr
    kept = switched_on.python(*install, "-c", constraints, "wants_any")
    assert "Would install wants" in kept.stdout, kept.stderr  # and no torch


def test_status(switched_on):
    assert switched_on.as_torch("status").stdout.startswith("on: torch 2.13.0+rushlight in ")


def test_on_twice_is_on(switched_on):
    assert switched_on.as_torch("on").returncode == 0


def test_off_without_on_changes_nothing(environment):
    before = environment.files()
    assert environment.as_torch("off").returncode == 0
    assert environment.files() == before


def test_refuses_where_a_torch_is_installed(environment):
    other = environment.packages / "torch"
    other.mkdir()
    (other / "__init__.py").write_text("__version__ = '2.0'")
    try:
        before = environment.files()
        for action in ("on", "off"):
            done = environment.as_torch(action)
            assert done.returncode == (1 if action == "on" else 0)
            assert str(other) in done.stderr + done.stdout
            assert environment.files() == before
    finally:
        (other / "__init__.py").unlink()
        other.rmdir()


def test_usage(environment):
    assert environment.as_torch().returncode == environment.as_torch("maybe").returncode == 2


def test_the_answer_names_a_path_that_the_terminal_cannot_show(monkeypatch):
    monkeypatch.setattr(as_torch, "status", lambda: "off: torch is in /home/andré")
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, "ascii", line_buffering=True))
    _cli.main(["as-torch", "status"])
    assert shown.getvalue() == rb"off: torch is in /home/andr\xe9" + os.linesep.encode()
