"""`rushlight as-torch on | off | status`: make rushlight this environment's package `torch`, with
its `functorch`.

The package is a module of a few lines, a stub for each module, and a dist-info, so that pip counts
a requirement of torch as met. The package's RECORD lists its files; `off` removes the files of the
RECORD and nothing else.
"""

from __future__ import annotations

import sys
import sysconfig
from importlib.metadata import Distribution, distributions
from pathlib import Path

from .._base.version import TORCH_VERSION
from .metadata import METADATA, TorchDistribution
from .stubs import stubs

_INSTALLER = "rushlight"
_INFO = f"torch-{TORCH_VERSION}.dist-info"
_MODULE = '''\
"""torch is rushlight here: `rushlight as-torch on` wrote this file, `... off` removes it."""

from rushlight._alias import stand_in

stand_in()
'''
_FILES = {
    "torch/__init__.py": _MODULE,
    "torch/py.typed": "",
    "functorch/__init__.py": _MODULE.replace("stand_in()", 'stand_in("functorch")'),
    f"{_INFO}/METADATA": f"{METADATA}Requires-Dist: rushlight\n",
    f"{_INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: rushlight\nRoot-Is-Purelib: true\n"
    "Tag: py3-none-any\n",
    f"{_INFO}/INSTALLER": f"{_INSTALLER}\n",
    f"{_INFO}/top_level.txt": "functorch\ntorch\n",
    f"{_INFO}/constraints.txt": f"torch=={TORCH_VERSION}\n",
}
_RECORD = f"{_INFO}/RECORD"
_KEEP = """\
pip keeps it with:  pip install -c '{}' ...
Without -c, a library that asks for another torch has pip put PyTorch in its place."""


def _place() -> Path:
    """The folder of this environment's packages."""
    return Path(sysconfig.get_path("purelib"))


def _found() -> list[Distribution]:
    """The packages named torch that are installed."""
    return [
        d
        for d in distributions(name="torch")
        if not isinstance(d, TorchDistribution)  # that of `rushlight run`
    ]


def _is_ours(distribution: Distribution) -> bool:
    return (distribution.read_text("INSTALLER") or "").strip() == _INSTALLER


def _other_torch() -> str:
    """The place of a torch that is not rushlight; "" without such a torch."""
    for distribution in _found():
        if not _is_ours(distribution):
            return f"torch {distribution.version} ({distribution.locate_file('')})"
    for folder in dict.fromkeys(p for p in (str(_place()), *sys.path) if p):
        module = Path(folder) / "torch" / "__init__.py"
        if module.exists() and module.read_text(encoding="utf-8", errors="replace") != _MODULE:
            return str(module)
    return ""


def status() -> str:
    """The meaning of `import torch` in this environment, in one line."""
    other = _other_torch()
    if other:
        return f"off: PyTorch is installed: {other}"
    ours = [d for d in _found() if _is_ours(d)]
    if ours:
        return f"on: torch {ours[0].version} in {ours[0].locate_file('')} is rushlight"
    return "off: no torch is installed"


def turn_on() -> str:
    """Write the package.

    Raises RuntimeError where a torch that is not rushlight is installed, OSError where the folder
    cannot be written.
    """
    other = _other_torch()
    if other:
        raise RuntimeError(
            f"PyTorch is installed in this environment: {other}. Nothing was changed. "
            "Remove it first (pip uninstall torch), or use an environment without it."
        )
    turn_off()  # of another version
    place = _place()
    written: list[Path] = []
    try:
        files = _FILES | stubs()
        for name, text in files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            written.append(path)
            path.write_text(text, encoding="utf-8")
        record = "".join(f"{name},,\n" for name in (*files, _RECORD))
        written.append(place / _RECORD)
        (place / _RECORD).write_text(record, encoding="utf-8")
    except OSError:
        _remove(written, place)
        raise
    return f"{status()}\n{_KEEP.format(place / _INFO / 'constraints.txt')}"


def turn_off() -> str:
    """Remove the files that `turn_on` wrote, as far as they are there."""
    for distribution in _found():
        if _is_ours(distribution):
            # The lines of our RECORD are plain names.
            names = (distribution.read_text("RECORD") or "").split()
            place = Path(str(distribution.locate_file("")))
            _remove([place / n.split(",")[0] for n in names], place)
    return status()


def _remove(paths: list[Path], place: Path) -> None:
    """Remove files, the bytecode made of them, and the folders in `place` that are empty then."""
    folders = {p for path in paths for p in path.parents if place in p.parents}
    for path in paths:
        path.unlink(missing_ok=True)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
    for folder in sorted(folders, reverse=True):
        for one in (folder / "__pycache__", folder):
            if one.is_dir() and not any(one.iterdir()):
                one.rmdir()
