"""The page's file: all in one, nothing fetched, no name that ends a script or the JSON."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

from rushlight.explain._page import page_html, write_page

DATA = {"title": "loss", "nodes": [], "edges": [], "boxes": [], "version": "1.2.3"}
HOSTILE = "</script><script>alert(1)</script><!--&\u2028\u2029\ud800\"'\\{{data}}"


class Parts(HTMLParser):
    """The elements of a page, and the text in each script and style."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.texts = {"script": [], "style": [], "title": []}
        self._inside = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in self.texts:
            self._inside = tag
            self.texts[tag].append("")

    def handle_endtag(self, tag):
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data):
        if self._inside:
            self.texts[self._inside][-1] += data


def policy_of(parts):
    return next(
        attributes["content"]
        for tag, attributes in parts.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )


def test_the_policy_allows_what_is_in_the_page_and_nothing_else():
    parts = Parts(page_html(DATA))
    _, *scripts = parts.texts["script"]  # the first is the data, which is not run
    hashes = {
        text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (*scripts, *parts.texts["style"])
    }
    allowed = dict(part.split(" ", 1) for part in policy_of(parts).split("; "))
    assert allowed["default-src"] == "'none'"
    assert allowed["script-src"].split() == [f"'sha256-{hashes[text]}'" for text in scripts]
    assert allowed["style-src"] == f"'sha256-{hashes[parts.texts['style'][0]]}'"
    assert "unsafe" not in policy_of(parts)


def test_nothing_is_fetched():
    parts = Parts(page_html(DATA))
    for tag, attributes in parts.elements:
        assert tag not in ("link", "img", "iframe", "object", "base"), tag
        assert not {"src", "href", "action"} & set(attributes), (tag, attributes)
    assert "sourceMappingURL" not in page_html(DATA)
    assert not re.search(r"url\((?!#)|@import", parts.texts["style"][0])


def test_dagre_comes_with_its_licence():
    scripts = Parts(page_html(DATA)).texts["script"]
    (dagre,) = [text for text in scripts if "var dagre" in text]
    assert "Copyright (c) 2012-2014 Chris Pettitt" in dagre
    assert "The above copyright notice and this permission notice shall be included" in dagre


def test_a_hostile_name_stays_text():
    data = {**DATA, "title": HOSTILE, "notes": [HOSTILE]}
    before, after = Parts(page_html(DATA)), Parts(page_html(data))
    assert [tag for tag, _ in after.elements] == [tag for tag, _ in before.elements]
    assert json.loads(after.texts["script"][0]) == data
    assert after.texts["title"] == [HOSTILE.replace("\ud800", "?") + ": its graph"]


def test_the_file_is_what_was_made(tmp_path):
    data = {**DATA, "title": HOSTILE}
    write_page(data, tmp_path / "graph.html")
    written = (tmp_path / "graph.html").read_bytes()
    assert written == page_html(data).encode()
    assert b"\r" not in written
