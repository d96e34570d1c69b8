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
import ast, importlib, inspect, json, sys
sys.path.insert(0, sys.argv[1])
import api_pages, rushlight
parts = [part for page in api_pages.PAGES.values() for part in page.parts]
split = {part.partition(":")[0] for part in parts if ":" in part} - {"Tensor"}
spaces = {part.partition(":")[0] for part in parts} - {"Tensor", "torch"}
# Names that come when they are asked for: that they were here before changes nothing on a page.
for space in sorted(spaces):
    module = importlib.import_module(f"rushlight.{space}")
    [getattr(module, name) for name in dir(module)]
members = sorted(n for n in dir(rushlight.Tensor) if not n.startswith("_"))
public = {part: list(api_pages.public(part)) for part in {*parts, *split}}
def named(name, value):
    # The parameters that the page shows, and those that help() shows, where both can be read.
    try:
        forms = [f"def {line}: ..." for line in api_pages.usage(name, value)[0]]
        declared = [n for n in inspect.signature(value).parameters if n not in ("self", "out")]
        spec = ast.parse("".join(forms)).body[0].args
    except (SyntaxError, TypeError, ValueError, IndexError):
        return None
    told = [*spec.posonlyargs, *spec.args, spec.vararg, *spec.kwonlyargs, spec.kwarg]
    return [a.arg for a in told if a and a.arg != "out"], declared
calls = {f"{part}.{name}": named(name, value)
         for part in parts for name, value in api_pages.public(part).items()
         if part[:6] != "Tensor" and len(api_pages.usage(name, value)[0]) == 1}
found = {"calls": calls, "public": public, "members": members}
print(json.dumps({"pages": api_pages.pages(), **found}))
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
        assert missing == []


def test_pages_have_every_member_of_tensor(made, found):
    """As an entry, or in a row where a function of torch has the entry."""
    rows = set(re.findall(r"`(\w{2,}|t)`", made["api/tensor.md"].partition("## As functions")[2]))
    entries = {n for part, names in found["public"].items() if part[:7] == "Tensor:" for n in names}
    assert len(entries) > 100 and len(rows) > 300 and not rows & entries
    assert sorted(rows | entries) == found["members"]


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


def test_a_call_names_the_parameters_that_help_shows(found):
    """Of names with one form; help() takes them from the signature."""
    read = {name: both for name, both in found["calls"].items() if both}
    assert len(read) > 900
    assert {name: both for name, both in read.items() if both[0] != both[1]} == {}


def test_pages_have_no_addresses(made):
    """A default that prints its place in memory would change the site at each build."""
    assert [path for path, text in made.items() if re.search(r"0x[0-9a-f]{6,}", text)] == []


def test_pages_are_written(made, tmp_path: Path):
    subprocess.run([sys.executable, str(TOOL), str(tmp_path)], check=True)
    written = {str(p.relative_to(tmp_path)): p for p in tmp_path.rglob("*.md")}
    assert {path: p.read_text("utf-8") for path, p in written.items()} == made
