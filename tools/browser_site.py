"""Bundles the playground's editor for the site, from the packages that `make wasm` installs.

Beside the bundle stand the licences of what is in it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BROWSER = ROOT / "build" / "browser"
SOURCE = ROOT / "tools" / "browser" / "editor.js"


def bundle(into: Path) -> None:
    """Write editor.js and editor.LICENSES.txt into a folder of the site."""
    entry = BROWSER / SOURCE.name  # beside node_modules, where its imports are looked up
    shutil.copy(SOURCE, entry)
    into.mkdir(parents=True, exist_ok=True)
    made, listing = into / SOURCE.name, BROWSER / "editor.json"
    command = [BROWSER / "node_modules" / ".bin" / "esbuild", entry.name, "--bundle", "--minify"]
    command += ["--format=esm", "--target=es2022", "--log-level=warning"]
    command += [f"--outfile={made}", f"--metafile={listing}"]
    command += ["--banner:js=// CodeMirror and its parts; see editor.LICENSES.txt"]
    subprocess.run(list(map(str, command)), check=True, cwd=BROWSER)
    used = json.loads(listing.read_text(encoding="utf-8"))["inputs"]
    text = "\n\n".join(map(licence, sorted(set(map(package, used)) - {""})))
    (into / "editor.LICENSES.txt").write_text(text, encoding="utf-8")


def package(path: str) -> str:
    """The package that a file is of: `style-mod`, `@lezer/common`; nothing of other files."""
    _, found, name = path.rpartition("node_modules/")
    return "/".join(name.split("/")[: 1 + name.startswith("@")]) if found else ""


def licence(name: str) -> str:
    """A package's name and version, and its licence in words."""
    folder = BROWSER / "node_modules" / name
    told = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    text = (folder / "LICENSE").read_text(encoding="utf-8").strip()
    return f"{name} {told['version']}, {told['license']}\n\n{text}\n"
