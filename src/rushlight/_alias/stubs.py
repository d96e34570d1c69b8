"""The stubs of the package `torch` that `rushlight as-torch on` writes, for checkers and editors.

A stub for each module, with the names of the module that it is at run time: the types are told
once, in rushlight, and a tensor of `torch` is a tensor of `rushlight`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from .._base import FOLDER

__all__ = ["stubs"]

# `import *` leaves out what begins with an underscore: classes, functions, and in a stub all names.
_PRIVATE = re.compile(r"^(?:class|def) (_[a-zA-Z]\w*)", re.MULTILINE)
_PRIVATE_IN_STUB = re.compile(r"^from .* import (_[a-zA-Z]\w*) as \1$", re.MULTILINE)
_DYNAMIC = re.compile(r"^(?:def )?__getattr__\b", re.MULTILINE)
_ANY_NAME = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"
_VERSION = "from rushlight._torch.torch_version import TorchVersion\n\n__version__: TorchVersion\n"


def stubs() -> dict[str, str]:
    """The stubs by their paths, "torch/nn/functional.pyi"."""
    base = Path(FOLDER)
    found: dict[str, str] = {}
    for folder, package in (
        (base, "rushlight"),
        (base / "rooms", "rushlight"),  # which a wheel has beside the base
        (base / "_torch", "rushlight._torch"),
    ):
        for module, source in _modules(folder):
            if folder == base and (module[:1] == "_" or module.split(".")[0] in ("ops", "rooms")):
                continue  # rushlight's own
            if module or package == "rushlight":
                path = "/".join(["torch", *filter(None, module.split("."))])
                end = "/__init__.pyi" if source.stem == "__init__" else ".pyi"
                found.setdefault(path + end, _stub(f"{package}.{module}".rstrip("."), source))
    rooms = sorted({path.removesuffix(".pyi").split("/")[1] for path in found} - {"__init__"})
    lines = [f"from . import {room} as {room}\n" for room in rooms if room[0] != "_"]
    found["torch/__init__.pyi"] = "".join(
        ["# mypy: ignore-errors\n", found["torch/__init__.pyi"], *lines, _VERSION]
    )
    return found


def _modules(folder: Path) -> Iterator[tuple[str, Path]]:
    """The modules below a folder, "nn.functional", with the file that checkers read of each."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        parts = Path(at).relative_to(folder).parts
        stems = {f.rpartition(".")[0] for f in files if f.endswith((".py", ".pyi"))}
        if parts and "__init__" not in stems and not any(Path(at).glob("*/__init__.py")):
            continue
        for stem in sorted(stems):
            stub = Path(at, f"{stem}.pyi")
            source = stub if stub.exists() else Path(at, f"{stem}.py")
            yield ".".join([*parts, *([stem] if stem != "__init__" else [])]), source


def _stub(module: str, source: Path) -> str:
    text = source.read_text(encoding="utf-8")
    lines = [f"from {module} import *"]
    names = sorted({*_PRIVATE.findall(text), *_PRIVATE_IN_STUB.findall(text)})
    if names:
        lines += [f"from {module} import {', '.join(f'{n} as {n}' for n in names)}"]
    if _DYNAMIC.search(text):
        lines += [_ANY_NAME]
    return "\n".join(lines) + "\n"
