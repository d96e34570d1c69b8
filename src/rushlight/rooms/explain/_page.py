"""The page as one HTML file: template, style, dagre with its licence, script and data, inlined.

Nothing is fetched: the content security policy allows these scripts and this style, by their
hashes, and nothing else. The data stands in the page as JSON that no name of a program can end.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["hashed", "page_html", "read", "safe_json", "shown", "write_page"]

_FOLDER = Path(__file__).parent / "page"
_SCRIPTS = (
    *("dom", "numbers", "data", "layout", "draw", "view", "scene"),
    *("details", "paths", "lists", "steps", "main"),
)
"""The parts of the page's script, in their order."""

_UNSAFE = {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"}
"""Characters that JSON inside of HTML must not have. Others beyond ASCII are escaped too."""


def write_page(data: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a page of `page_data`'s data to a file."""
    Path(path).write_text(page_html(data), encoding="utf-8", newline="\n")


def page_html(data: dict[str, object]) -> str:
    """The page of `page_data`'s data as HTML."""
    return _filled(
        {
            **_parts(),
            "title": shown(str(data.get("title", ""))),
            "version": shown(str(data.get("version", ""))),
            "data": safe_json(data),
        }
    )


def safe_json(data: object) -> str:
    """Data as JSON that may stand in HTML."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&]", lambda found: _UNSAFE[found[0]], text)


@cache
def _parts() -> dict[str, str]:
    """The parts that are the same in all pages."""
    style = read("page.css")
    script = "".join(read(f"{name}.js") for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    # The map of dagre's source is not in the page; a browser would look for it.
    dagre = read("dagre.min.js").split("//# sourceMappingURL")[0]
    dagre = f"/*! dagre 3.1.3\n{read('dagre.LICENSE.txt')}*/\n{dagre}"
    policy = (
        f"default-src 'none'; script-src {hashed(dagre)} {hashed(script)}; "
        f"style-src {hashed(style)}; base-uri 'none'; form-action 'none'"
    )
    return {"policy": policy, "style": style, "dagre": dagre, "script": script}


def read(name: str) -> str:
    """The text of a file of the page."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def hashed(text: str) -> str:
    """A source as the policy names it."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest())
    return f"'sha256-{digest.decode()}'"


def shown(text: str) -> str:
    """A text inside of HTML; half a surrogate pair, which no file can hold, as a question mark."""
    return html.escape(text.encode("utf-8", "replace").decode())


def _filled(parts: dict[str, str]) -> str:
    """The template; what is filled in is not looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], read("page.html"))
