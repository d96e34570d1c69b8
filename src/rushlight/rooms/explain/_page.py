"""Pages as one HTML file each: template, style, scripts and data, inlined.

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
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .._base.version import __version__

__all__ = ["document", "live_html", "page_html", "script", "text_of", "write_page"]

_FOLDER = Path(__file__).parent / "page"
_SCRIPTS = (
    *("dom", "numbers", "data", "layout", "draw", "view", "scene"),
    *("details", "paths", "lists", "steps", "main"),
)
"""The parts of the script of a graph's page, in their order."""

_UNSAFE = {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"}
"""Characters that JSON inside of HTML must not have. Others beyond ASCII are escaped too."""


def write_page(data: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a page of `page_data`'s data to a file."""
    Path(path).write_text(page_html(data), encoding="utf-8", newline="\n")


def page_html(data: dict[str, Any]) -> str:
    """The page of `page_data`'s data as HTML."""
    return document("page.html", _graph(), data, f"{data.get('title', '')}: its graph")


def live_html(data: dict[str, Any], title: str, live: bool) -> str:
    """The page of a training run as HTML. It opens pages of graphs inside, so that its policy
    allows their scripts too; where `live` is true it may ask the server for more."""
    parts = {
        "style": text_of("page.css") + text_of("live.css"),
        "script": script("dom", "numbers", "live"),
    }
    more = "; connect-src 'self'" if live else ""
    data = {**data, "graphPage": page_html({})}
    return document("live.html", parts, data, f"{title}: its training", _graph(), more)


def document(
    template: str,
    parts: dict[str, str],
    data: dict[str, Any],
    title: str,
    inside: Mapping[str, str] = MappingProxyType({}),
    policy: str = "",
) -> str:
    """The head that all pages have, and a template, with its parts, data, title and policy.

    parts: "style", and scripts by their names; `inside`: the parts of a page within the page.
    """
    texts = [(name, text) for group in (inside, parts) for name, text in group.items()]
    scripts = " ".join(_hash(text) for name, text in texts if name != "style")
    styles = " ".join(_hash(text) for name, text in texts if name == "style")
    allowed = f"script-src {scripts}; style-src {styles}; base-uri 'none'; form-action 'none'"
    json_text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    every = {
        **parts,
        "policy": f"default-src 'none'; {allowed}{policy}",
        "title": _shown(title),
        "version": _shown(__version__),
        "data": re.sub("[<>&]", lambda found: _UNSAFE[found[0]], json_text),
    }
    page = text_of("head.html") + text_of(template)
    # Texts that are filled in are not looked at again.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: every[found[1]], page)


@cache
def _graph() -> dict[str, str]:
    """The parts that are the same in all pages of graphs."""
    # The map of dagre's source is not in the page; a browser would look for it.
    dagre = text_of("dagre.min.js").split("//# sourceMappingURL")[0]
    dagre = f"/*! dagre 3.1.3\n{text_of('dagre.LICENSE.txt')}*/\n{dagre}"
    return {"style": text_of("page.css"), "dagre": dagre, "script": script(*_SCRIPTS)}


def script(*names: str) -> str:
    """Files of the page as one script."""
    text = "".join(text_of(f"{name}.js") for name in names)
    return f'(() => {{\n"use strict";\n{text}}})();\n'


def text_of(name: str) -> str:
    """A file of the page."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """A source as the policy names it."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest())
    return f"'sha256-{digest.decode()}'"


def _shown(text: str) -> str:
    """A text inside of HTML; half a surrogate pair, which no file can hold, as a question mark."""
    return html.escape(text.encode("utf-8", "replace").decode())
