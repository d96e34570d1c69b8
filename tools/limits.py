"""Write the list of what refuses into docs/limits.md, below its last line of text.

    python tools/limits.py              (in an environment where rushlight is installed)
    python tools/limits.py --check      says whether the list is out of date

A name that refuses is there, and raises when it is called; its docstring begins with `Refused` and
has the reason. All public modules are looked through, with their classes; not
torch.utils.tensorboard, which needs a package.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rushlight
from rushlight import _torch

TARGET = Path(__file__).resolve().parent.parent / "docs" / "limits.md"
MARK = "<!-- written by tools/limits.py -->\n"
# Parts of reasons that have the name or the device in them.
VARY = [
    (r"NotImplementedError: Could not run 'aten::\w+' with .*?backend\. It", "it"),
    (r"RuntimeError: Cannot execute \w+\(\) without MPS backend\.", "there is no MPS backend."),
    (r"AssertionError: Torch not compiled with .*", "there is no such device here."),
    (r"RuntimeError: NVTX .*", "there is no profiler of NVIDIA's here."),
]


def modules() -> list[str]:
    """The public modules by torch's names, "torch" first, then the shortest."""
    found = {name for name in _torch._table()}
    for module in pkgutil.walk_packages(rushlight.__path__, "rushlight.", lambda name: None):
        found.add(module.name.removeprefix("rushlight.").removeprefix("rooms."))
    public = [m for m in found if not any(part.startswith("_") for part in m.split("."))]
    public = [m for m in public if m.partition(".")[0] != "rooms" and "tensorboard" not in m]
    return sorted(public, key=lambda m: (m != "torch", m.count("."), m))


def named(module: str) -> Iterator[tuple[str, Any]]:
    """The public names of a module, and those of its classes that the class itself states."""
    owner = importlib.import_module("rushlight" if module == "torch" else f"rushlight.{module}")
    rows = _torch._table().get(module, {})
    for name in sorted({*dir(owner), *getattr(owner, "__all__", ()), *rows}):
        if name.startswith("_"):
            continue
        try:
            value = getattr(owner, name)
        except Exception:  # asks for a package or a device
            continue
        yield name, value
        if isinstance(value, type) and not reason(value):
            for member, inner in vars(value).items():
                if not member.startswith("_"):
                    yield f"{name}.{member}", inner


def reason(value: Any) -> str:
    """Why a value refuses; "" for one that does not."""
    doc = getattr(value, "__doc__", None)
    if not isinstance(doc, str) or not doc.startswith("Refused"):
        return ""
    text = doc.partition("\n\n")[0].removeprefix("Refused").lstrip(":, ")
    for pattern, put in VARY:
        text = re.sub(pattern, put, " ".join(text.split()))
    return text


def refused() -> dict[str, dict[str, list[str]]]:
    """By reason and module the names; of an object that several modules have, the first."""
    found: dict[str, dict[str, list[str]]] = {}
    seen: set[int] = set()
    keep = []  # so that no number in `seen` is given out again
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in modules():
            for name, value in named(module):
                why = reason(value)
                if why and id(value) not in seen:
                    seen.add(id(value))
                    keep.append(value)
                    whole = "torch" if module == "torch" else f"torch.{module}"
                    found.setdefault(why, {}).setdefault(whole, []).append(name)
    return found


def listed() -> str:
    """The list as Markdown."""
    found = refused()
    names = [name for rows in found.values() for row in rows.values() for name in row]
    lines = [f"{len(names)} names refuse. By reason:", ""]
    for why in sorted(found, key=str.lower):
        lines += [f"**{why}**", ""]
        for module, row in sorted(found[why].items()):
            text = f"- {module}: {', '.join(f'`{name}`' for name in row)}"
            lines += textwrap.wrap(text, 100, subsequent_indent="  ", break_long_words=False)
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Write the list, or with --check compare it."""
    text = TARGET.read_text(encoding="utf-8")
    written, mark, _ = text.partition(MARK)
    now = f"{written}{mark}\n{listed()}"
    if now == text:
        return 0
    if "--check" in sys.argv[1:]:
        print("docs/limits.md is out of date: run python tools/limits.py")
        return 1
    TARGET.write_text(now, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
