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

__all__ = ["live_html", "page_html", "write_page"]

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
    return _filled("page.html", {**_parts(), **_own(data, data.get("title", ""))})


def live_html(data: dict[str, object], title: str, live: bool) -> str:
    """The page of a training run as HTML. It opens pages of graphs inside, so that its policy
    allows their scripts too; where `live` is true it may ask the server for more."""
    graph = _parts()
    style, script = graph["style"] + _read("live.css"), _script(("dom", "numbers", "live"))
    policy = _policy(
        (graph["dagre"], graph["script"], script),
        (graph["style"], style),
        "; connect-src 'self'" if live else "",
    )
    parts = {"policy": policy, "style": style, "script": script}
    own = _own({**data, "graphPage": page_html({})}, title)
    return _filled("live.html", {**parts, **own})


def _own(data: dict[str, object], title: object) -> dict[str, str]:
    """The parts that are of one page alone."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return {
        "title": _shown(str(title)),
        "version": _shown(str(data.get("version", ""))),
        "data": re.sub("[<>&]", lambda found: _UNSAFE[found[0]], text),
    }


@cache
def _parts() -> dict[str, str]:
    """The parts that are the same in all pages of graphs."""
    style, script = _read("page.css"), _script(_SCRIPTS)
    # The map of dagre's source is not in the page; a browser would look for it.
    dagre = _read("dagre.min.js").split("//# sourceMappingURL")[0]
    dagre = f"/*! dagre 3.1.3\n{_read('dagre.LICENSE.txt')}*/\n{dagre}"
    policy = _policy((dagre, script), (style,))
    return {"policy": policy, "style": style, "dagre": dagre, "script": script}


def _script(names: tuple[str, ...]) -> str:
    script = "".join(_read(f"{name}.js") for name in names)
    return f'(() => {{\n"use strict";\n{script}}})();\n'


def _policy(scripts: tuple[str, ...], styles: tuple[str, ...], more: str = "") -> str:
    return (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; "
        f"style-src {' '.join(map(_hash, styles))}; base-uri 'none'; form-action 'none'{more}"
    )


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """A source as the policy names it."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest())
    return f"'sha256-{digest.decode()}'"


def _shown(text: str) -> str:
    """A text inside of HTML; half a surrogate pair, which no file can hold, as a question mark."""
    return html.escape(text.encode("utf-8", "replace").decode())


def _filled(template: str, parts: dict[str, str]) -> str:
    """The template; what is filled in is not looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read(template))
