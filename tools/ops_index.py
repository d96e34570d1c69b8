"""Write src/rushlight/ops/table/index.txt: which file has which names of the op table.

python tools/ops_index.py              after a name or a file was added, renamed or moved
python tools/ops_index.py --check      says whether the index is out of date

Every file of src/ is imported, over the core that is installed, from a copy with an empty index;
each name is noted with the file whose statement put the name into the table.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TARGET = Path("ops", "table", "index.txt")
# Those first that others import.
ROOMS = "making elementwise layout random matrix reduction indexing spectral layers".split()
BESIDE = {"__init__", "batching"}  # of a room's purpose; rules of vmap, which are read with vmap
OTHERS = ["_tensor.rare", "autograd.graph", "autograd._engine"]  # members of Tensor, too


def file_that_runs() -> str:
    frame: Any = sys._getframe()
    while frame is not None:
        _, _, file = frame.f_globals["__name__"].partition("rushlight.")
        if file and frame.f_code.co_name == "<module>":
            return str(file)
        frame = frame.f_back
    return ""


def found(package: Path) -> str:
    """The text for a package whose index is empty, and which is not imported yet."""
    rows: dict[str, dict[str, dict[str, None]]] = {}

    def note(kind: str, name: str) -> None:
        rows.setdefault(file_that_runs(), {}).setdefault(kind, {})[name] = None

    run = SourceFileLoader.exec_module

    def noted(loader: SourceFileLoader, module: Any) -> None:
        run(loader, module)
        if module.__name__ == "rushlight.return_types":
            named, listed = module.named, module.__all__

            def noted_named(*what: Any, **how: Any) -> Any:
                known = len(listed)
                made = named(*what, **how)
                for name in listed[known:]:
                    note("return_types", name)
                return made

            module.named = noted_named
        if module.__name__ != "rushlight.ops.table.names":
            return
        publish = module.publish

        def noted_publish(where: str, name: str, member: Any, plain: bool = False) -> None:
            if where in ("Tensor", "Node"):
                note(where, name)
            publish(where, name, member, plain)

        def noted_item(self: Any, name: str, value: Any) -> None:
            note(self.kind, name)
            dict.__setitem__(self, name, value)

        module.publish, module.Names.__setitem__ = noted_publish, noted_item

    SourceFileLoader.exec_module = noted  # type: ignore[method-assign]
    sys.path.insert(0, str(package.parent))
    order = [
        f"ops.{folder}.{path.stem}"
        for folder in ROOMS
        for path in sorted((package / "ops" / folder).glob("*.py"))
        if path.stem not in BESIDE
    ]
    order += OTHERS
    for file in order:
        importlib.import_module(f"rushlight.{file}")
    return "".join(
        f"{file} {kind} {' '.join(names)}\n"
        for file in order
        for kind, names in rows.get(file, {}).items()
    )


def current(package: Path) -> str:
    """What the file of a package should say."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "rushlight")
        shutil.copytree(
            package,
            copy,
            copy_function=os.symlink,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        installed = find_spec("rushlight")
        assert installed is not None and installed.origin is not None, "make install comes first"
        for core in (Path(installed.origin).with_name(f"_core{end}") for end in EXTENSION_SUFFIXES):
            if core.exists() and not (copy / core.name).exists():
                (copy / core.name).symlink_to(core)
        (copy / TARGET).unlink(missing_ok=True)
        (copy / TARGET).touch()
        return found(copy)


def main() -> None:
    where = Path(__file__).resolve().parent.parent / "src" / "rushlight"
    text = current(where)
    if "--check" not in sys.argv:
        (where / TARGET).write_text(text, encoding="utf-8")
    elif (where / TARGET).read_text(encoding="utf-8") != text:
        sys.exit(f"{where / TARGET} is out of date: run python tools/ops_index.py")


if __name__ == "__main__":
    main()
