"""The reference of the documentation's site: an entry for every public name, and nothing that
changes from build to build."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / "tools" / "api_pages.py"
LISTED = re.findall(r"api/[\w-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(TOOL.parent))
    try:
        return importlib.import_module("api_pages")
    finally:
        sys.path.remove(str(TOOL.parent))


# Other tests of the process leave names in the library's modules; a new process has none of theirs.
IN_A_NEW_PROCESS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import api_pages, rushlight
namespaces = [n for page in api_pages.PAGES.values() for n in page.namespaces]
ours = [n for n in rushlight.__all__ if api_pages.is_ours(getattr(rushlight, n))]
public = {n: list(api_pages.public(n)) for n in namespaces}
print(json.dumps({"pages": api_pages.pages(), "public": public, "ours": ours}))
"""


@pytest.fixture(scope="module")
def found():
    command = [sys.executable, "-c", IN_A_NEW_PROCESS, str(TOOL.parent)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


@pytest.fixture(scope="module")
def made(found):
    return found["pages"]


def test_navigation_has_its_pages(made):
    assert sorted(LISTED) == sorted(made)


@pytest.mark.parametrize("path", [path for path in LISTED if path != "api/index.md"])
def test_page_has_every_public_name(tool, found, made, path: str):
    for namespace in tool.PAGES[Path(path).stem].namespaces:
        public = found["public"][namespace]
        assert public, f"{namespace} has no public names"
        full = [tool.full_name(namespace, n) for n in public]
        missing = [n for n in full if f"{{#{n}}}" not in made[path]]
        if namespace == "Tensor":  # in two rows, where a function of torch has the entry
            rows = set(re.findall(r"`(?:torch\.)?(\w+)`", made[path].partition("## Members")[0]))
            missing = [n for n in missing if n.rpartition(".")[2] not in rows]
        assert missing == []


def test_pages_have_all_of_torch(tool, found):
    """The rooms of the table and the rest make up the root namespace."""
    parts = [n for p in tool.PAGES.values() for n in p.namespaces if n.startswith("torch:")]
    listed = [name for part in parts for name in found["public"][part]]
    assert sorted(listed) == sorted({n for n in found["ours"] if not n.startswith("_")})


def test_an_entry_has_signature_text_and_example(made):
    text = made["api/torch-layers.md"].partition("{#torch.softmax}")[2].partition("\n### ")[0]
    assert "softmax(input, dim, dtype=None, *, out=None) -> Tensor" in text
    assert "divided by its sum along dim" in text
    assert "```pycon\n>>> torch.softmax(" in text


def test_pages_have_no_addresses(made):
    """A default that prints its place in memory would change the site at each build."""
    assert [path for path, text in made.items() if re.search(r"0x[0-9a-f]{6,}", text)] == []


def test_pages_are_written(made, tmp_path: Path):
    subprocess.run([sys.executable, str(TOOL), str(tmp_path)], check=True)
    written = {str(p.relative_to(tmp_path)): p for p in tmp_path.rglob("*.md")}
    assert {path: p.read_text("utf-8") for path, p in written.items()} == made
