"""What the build of the documentation adds to the pages of docs/ (mkdocs.yml names this file).

- The API reference, made from the docstrings (api_pages.py).
- Pages that stand elsewhere (OUTSIDE).
- `<!-- include: NAME.md -->` on a page becomes that page of docs/, without its title.
- A link to a file that is not part of the site becomes the file's path.
- In a search a function comes before what is written about it (BOOSTS).
- A name in `code` that has an entry in the reference links to it: `torch.func.vmap`, `nn.Linear`.
- Programs of the tutorial and of the how-to pages run on the page (docs/assets/run), where the
  wheel for Pyodide was built (`make wasm`). `<!-- not in the browser: REASON -->` before a block
  says why it does not. `<!-- question -->`, `<!-- answer -->` and `<!-- check -->` before three
  blocks make a question, whose answer the page checks.
- A content security policy on every page: its own scripts and those in the page, nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import posixpath
import re
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import api_pages
import browser_site
import wasm
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
# Pages of the site that stand outside of docs/, by their path in it.
OUTSIDE = {
    "design/architecture.md": "ARCHITECTURE.md",
    "design/table.md": "src/rushlight/ops/README.md",
    "design/contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
# How much pages count in a search, by the beginning of their paths; 0 leaves them out.
# The first beginning that fits is taken.
BOOSTS = {"ops.md": 0, "changelog.md": 0.1, "performance.md": 0.2, "design/": 0.3}
BOOSTS |= {"tutorial/": 0.35, "coverage.md": 0.3}
BOOSTS |= {"api/index": 0.2, "api/nn": 2.4, "api/functional": 2.2, "api/optim": 2.4}
BOOSTS |= {"api/torch": 2, "api/tensor": 1.8, "api/": 1.5}

# How a name in `code` may begin, and what that stands for.
SHORT = {"nn.": "torch.nn.", "F.": "torch.nn.functional.", "Tensor.": "torch.Tensor."}
SHORT |= {
    "explain.": "rushlight.explain.",
    "optim.": "torch.optim.",
    "autograd.": "torch.autograd.",
}

# The last line of a paragraph before a list.
LIST = re.compile(r"^((?![-*] |[|#>]|\d+\. )\S.*)\n(?=(?:[-*]|1\.) \S)", re.M)

# Pages whose programs run, by the beginnings of their paths.
RUN = ("tutorial/", "how-to/")
# What the worker loads besides the wheel (docs/assets/run/worker.js).
RUNTIME = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
RUNTIME += ("pyodide-lock.json",)

CODE = r'<div class="language-python highlight">.*?</div>'
QUESTION = re.compile(
    rf"<!-- question -->\s*({CODE})\s*<!-- answer -->\s*({CODE})\s*<!-- check -->\s*({CODE})", re.S
)
ELSEWHERE = re.compile(
    r"<!-- not in the browser: (.*?) -->(\s*(?:<!--.*?-->\s*)?)<div (?=class=\"language-python)"
)

_anchors: dict[str, str] = {}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made and those that stand elsewhere."""
    made = api_pages.pages()
    _anchors.update(api_pages.anchors(made))
    made |= {path: (ROOT / source).read_text(encoding="utf-8") for path, source in OUTSIDE.items()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(text: str, page: Any, config: Any, files: Any) -> str:
    """Put in what is included, and mend links that lead out of the site."""
    path = page.file.src_uri
    boost = next((value for start, value in BOOSTS.items() if path.startswith(start)), 1)
    page.meta["search"] = {"boost": boost, "exclude": not boost}
    text = re.sub(r"^<!-- include: (\S+) -->$", lambda found: included(found[1]), text, flags=re.M)
    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    parts[::2] = [
        re.sub(
            r"(?<!!)\[((?:[^\]\n]|\n(?!\n))+)\]\(([^)\s]+)\)",
            lambda found: link(found, path, files),
            part,
        )
        for part in parts[::2]
    ]
    # A list may follow its paragraph at once on the pages; this Markdown wants a line between.
    parts[::2] = [re.sub(LIST, r"\1\n\n", part) for part in parts[::2]]
    return "".join(parts)


def included(name: str) -> str:
    """A page of docs/ without its title."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return re.sub(r"\A# .*\n", "", text).strip()


def link(found: re.Match[str], path: str, files: Any) -> str:
    """A link of a page: as it stands, to the page's place in the site, or the path as text."""
    shown, target = found[1], found[2]
    where, mark, anchor = target.partition("#")
    if not where or re.match(r"[a-z]+:", where):
        return found[0]
    home = OUTSIDE.get(path, f"docs/{path}")
    source = posixpath.normpath(posixpath.join(posixpath.dirname(home), where))
    places = {source: place for place, source in OUTSIDE.items()}
    inside = places.get(source, source.removeprefix("docs/"))
    if (source.startswith("docs/") or source in places) and files.get_file_from_path(inside):
        here = posixpath.relpath(inside, posixpath.dirname(path) or ".")
        return f"[{shown}]({here}{mark}{anchor})"
    plain = shown.strip("`")
    return f"`{source}`" if source.endswith(plain) else f"{shown} (`{source}`)"


def wheel() -> Path | None:
    """The wheel for Pyodide, where it was built."""
    runtime = all((wasm.PYODIDE / name).exists() for name in RUNTIME)
    return next((wasm.BUILD / "dist").glob("*.whl"), None) if runtime else None


def programs(content: str) -> str:
    """The page's questions, and what its blocks that do not run say."""

    def question(found: re.Match[str]) -> str:
        starter, answer, check = found.groups()
        return (
            f'<div class="question">{starter}'
            f"<details><summary>An answer</summary>{answer}</details>"
            f'<template class="check">{re.sub("<[^>]*>", "", check)}</template></div>'
        )

    content = re.sub(r"<!-- wrong\n.*?-->", "", content, flags=re.S)  # for those who test the check
    content = QUESTION.sub(question, content)
    return ELSEWHERE.sub(lambda m: f'{m[2]}<div data-elsewhere="{html.escape(m[1])}" ', content)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Questions and programs; link names in `code` to their entries in the reference."""
    here = page.file.src_uri
    content = content.replace(' style="text-align: right;"', ' class="right"')
    if here.startswith(RUN):
        content = programs(content)
        if wheel():
            script = posixpath.relpath("assets/run/start.js", posixpath.dirname(here))
            content += f'<script src="{script}"></script>'
    if here == "changelog.md":  # names there are of their time
        return content

    def linked(found: re.Match[str]) -> str:
        name = html.unescape(found[1]).rstrip("()")
        for short, whole in SHORT.items():
            if name.startswith(short):
                name = whole + name[len(short) :]
        place = _anchors.get(name)
        if place is None:
            return found[0]
        target, _, anchor = place.partition("#")
        if target == here:
            return found[0] if here.startswith("api/") else f'<a href="#{anchor}">{found[0]}</a>'
        url = files.get_file_from_path(target).url_relative_to(page.file)
        return f'<a href="{url}#{anchor}">{found[0]}</a>'

    # Not in blocks of code, titles, or what is a link already.
    pieces = re.split(r"(<pre.*?</pre>|<a .*?</a>|<h\d.*?</h\d>)", content, flags=re.S)
    pieces[::2] = [re.sub(r"<code>([\w.]+(?:\(\))?)</code>", linked, p) for p in pieces[::2]]
    return "".join(pieces)


# What a browser fetches by itself: addresses in these attributes, in style sheets.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|audio|video|embed)\b[^>]*\bsrc=["']?((?:https?:)?//[^\s"'>]+)"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|icon|preconnect))"""
    r"""[^>]*\bhref=["']?((?:https?:)?//[^\s"'>]+)"""
    r"""|(?:@import\s+|url\()["']?((?:https?:)?//[^\s"')]+)"""
)


INLINE = re.compile(r"<(script|style)(?![^>]*(?:\bsrc=|application/json))[^>]*>(.*?)</\1>", re.S)
POLICY = (
    "default-src 'self'; script-src 'self'{script}; style-src 'self'{style}; "
    "img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'"
)


def policy(page: str) -> str:
    """The content security policy of a page: what stands in it may run, by its hash."""
    hashes: dict[str, set[str]] = {"script": set(), "style": set()}
    for kind, text in INLINE.findall(page):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        hashes[kind].add(f" 'sha256-{digest}'")
    return POLICY.format(**{kind: "".join(sorted(found)) for kind, found in hashes.items()})


def protect(path: Path) -> None:
    """Write a page's policy into the page, unless the page has one of its own."""
    page = path.read_text(encoding="utf-8")
    if "Content-Security-Policy" not in page:
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(page)}">'
        page = page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">{meta}', 1)
        path.write_text(page, encoding="utf-8")


def bring_runtime(folder: Path) -> None:
    """Copy Pyodide and the wheel into the site, with the list that the worker reads."""
    built = wheel()
    if built is None:
        return
    folder.mkdir(exist_ok=True)
    sources = [built, *(wasm.PYODIDE / name for name in RUNTIME)]
    for source in sources:
        shutil.copy2(source, folder)
    total = sum(s.stat().st_size for s in sources if s.suffix not in (".js", ".mjs"))
    listed = json.dumps({"wheel": built.name, "total": total})
    (folder / "files.json").write_text(listed, encoding="utf-8")
    browser_site.bundle(folder.parent / "assets" / "run")


def on_post_build(config: Any) -> None:
    """Python for the pages; policies. The site asks nothing of the network."""
    site = Path(config["site_dir"])
    bring_runtime(site / "run")
    for path in site.rglob("*.html"):
        protect(path)
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".css"):
            text = path.read_text(encoding="utf-8")
            found += [f"{path}: {''.join(m.groups(''))}" for m in FETCHED.finditer(text)]
    if found:
        raise PluginError("pages that fetch from the network:\n" + "\n".join(found))
