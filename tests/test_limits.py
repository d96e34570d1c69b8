"""docs/limits.md lists every public name that refuses, and the list is that of tools/limits.py."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
LIST = PAGE.partition("<!-- written by tools/limits.py -->")[2]


def test_the_list_is_current():
    """In a process of its own: other tests leave names in the library's modules."""
    tool = ROOT / "tools" / "limits.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_that_the_table_says_refuse_are_listed():
    """Read from names.txt itself: a word that is a name alone, or `name<!`, refuses."""
    table = (ROOT / "src/rushlight/_torch/names.txt").read_text(encoding="utf-8")
    words = [
        (first, word)
        for first, *rest in map(str.split, table.replace("\n    ", " ").splitlines())
        if re.fullmatch(r"[a-z]\w*(?:\.[a-z]\w*)*", first)
        for word in rest
    ]
    refusing = {w.removesuffix("<!") for _, w in words if re.fullmatch(r"[A-Za-z]\w*(?:<!)?", w)}
    assert len(refusing) > 300
    assert refusing - set(re.findall(r"`(\w+)`", LIST)) == set()


def test_the_page_is_linked_from_where_readers_look():
    for page in ("README.md", "docs/index.md", "docs/coverage.md", "docs/from-pytorch.md"):
        assert "limits.md" in (ROOT / page).read_text(encoding="utf-8"), page
