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
parts = [part for page in api_pages.PAGES.values() for part in page.parts]
split = {part.partition(":")[0] for part in parts if ":" in part}
public = {part: list(api_pages.public(part)) for part in {*parts, *split}}
print(json.dumps({"pages": api_pages.pages(), "public": public}))
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
    for part in tool.PAGES[Path(path).stem].parts:
        public = found["public"][part]
        assert public, f"{part} has no public names"
        full = [tool.full_name(part, n) for n in public]
        missing = [n for n in full if f"{{#{n}}}" not in made[path]]
        if part == "Tensor":  # in rows, where a function of torch has the entry
            rows = set(re.findall(r"`(\w+)`", made[path].partition("## As functions")[2]))
            missing = [n for n in missing if n.rpartition(".")[2] not in rows]
        assert missing == []


@pytest.mark.parametrize("namespace", ["torch", "nn", "nn.functional"])
def test_pages_of_groups_have_all_of_a_namespace(tool, found, namespace: str):
    parts = [p for page in tool.PAGES.values() for p in page.parts if p.startswith(f"{namespace}:")]
    listed = [name for part in parts for name in found["public"][part]]
    assert len(parts) > 3
    assert sorted(listed) == sorted(found["public"][namespace])


def test_every_group_is_on_a_page(tool, made):
    """A home that no name has, or a group that no page has, is left over from a change."""
    parts = [part.partition(":")[2] for page in tool.PAGES.values() for part in page.parts]
    named = {title for part in parts for title in part.split("; ")}
    shown = {h for text in made.values() for h in re.findall(r"^\[\*\*(.+)\*\*\]", text, re.M)}
    assert set(tool.ORDER) <= named | shown


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
