"""The documentation's pages: their code runs and prints what they say, their pictures are those of
docs/pictures/, the site has all of them, and the reference has an entry for every public name.

`make docs` builds the site; here nothing of it is needed but the files.
"""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TOOLS = ROOT / "tools"
sys.path.insert(0, str(TOOLS))
api_pages = importlib.import_module("api_pages")
docs_examples = importlib.import_module("docs_examples")
sys.path.remove(str(TOOLS))

# What a page's program imports besides the library and NumPy.
NEEDS = {"how-to/watch-training.md": "matplotlib"}
CODE = docs_examples.pages()
NAV = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
HOOKS = (TOOLS / "site_hooks.py").read_text(encoding="utf-8")
MADE = api_pages.pages()


def name(page: Path) -> str:
    return str(page.relative_to(DOCS))


@pytest.mark.parametrize("page", CODE, ids=name)
def test_code_prints_what_the_page_says(page: Path, tmp_path: Path):
    if name(page) in NEEDS:
        pytest.importorskip(NEEDS[name(page)])
    done = docs_examples.run_alone(page, tmp_path)
    assert done.returncode == 0, done.stderr
    for picture in done.stdout.split():
        kept = DOCS / "pictures" / picture
        assert kept.exists(), f"{picture} is not in docs/pictures: run tools/docs_examples.py"
        if kept.suffix == ".svg":
            assert (tmp_path / picture).read_text("utf-8") == kept.read_text("utf-8")


def test_every_picture_is_drawn_and_shown():
    drawn = [block.picture for page in CODE for block in docs_examples.blocks(page)]
    shown = {link for page in CODE for link in re.findall(r"pictures/([\w.-]+)", page.read_text())}
    kept = {path.name for path in (DOCS / "pictures").iterdir()}
    assert {picture for picture in drawn if picture} == kept
    assert kept <= shown


def test_every_program_says_what_it_prints():
    """A block that prints has its output behind it, so that the test above can compare."""
    silent = [
        f"{name(page)}:{block.line}"
        for page in CODE
        for block in docs_examples.blocks(page)
        if re.search(r"^print\(", block.code, re.M) and not block.printed
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "Differences"),
        ("```python\nprint(1)\n1 / 0\n```\n", "ZeroDivisionError: division by zero"),
        ("<!-- picture: a.svg -->\n```python\nx = 1\n```\n", "must end in an expression"),
        ("```python\nx = 1\n```\n\nand\n\n```python\ny\n```\n", "page.md:7: NameError"),
    ],
)
def test_a_wrong_page_is_told(tmp_path: Path, text: str, message: str):
    page = tmp_path / "page.md"
    page.write_text(text)
    done = docs_examples.run_alone(page, tmp_path)
    assert (done.returncode, message in done.stderr) == (1, True), done.stderr


def test_what_is_printed_is_accepted(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(6 * 7)\n```\n\n```text\n41\n```\n\nthat\n")
    done = docs_examples.run_alone(page, tmp_path, accept=True)
    assert done.returncode == 0, done.stderr
    assert page.read_text() == "```python\nprint(6 * 7)\n```\n\n```text\n42\n```\n\nthat\n"


def test_navigation_and_pages_are_the_same():
    listed = re.findall(r"[\w./-]+\.md", NAV)
    assert len(listed) == len(set(listed))
    outside = re.findall(r'^    "([\w./-]+\.md)": "(.*)",$', HOOKS, re.M)
    assert [source for _, source in outside if not (ROOT / source).exists()] == []
    there = {name(page) for page in DOCS.rglob("*.md")} | {path for path, _ in outside} | set(MADE)
    assert set(listed) == there


def test_site_fetches_nothing():
    """No page or setting of ours names an address that a browser would fetch by itself."""
    sources = [ROOT / "mkdocs.yml", *DOCS.rglob("*.md"), *(DOCS / "assets").iterdir()]
    fetched = re.compile(r"(?:src=|url\(|@import|!\[[^\]]*\]\()\s*[\"']?(?:https?:)?//")
    assert [str(path) for path in sources if fetched.search(path.read_text("utf-8"))] == []
    assert re.search(r"^  font: false$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M)


# ---- the reference


@pytest.mark.parametrize("page", api_pages.PAGES)
def test_reference_has_every_public_name(page: str):
    text = MADE[f"api/{page}.md"]
    for namespace in api_pages.PAGES[page].namespaces:
        public = api_pages.public(namespace)
        assert public, f"{namespace} has no public names"
        full = [api_pages.full_name(namespace, n) for n in public]
        missing = [n for n in full if f"{{#{n}}}" not in text]
        if namespace == "Tensor":  # in two rows, where a function of torch has the entry
            missing = [n for n in public if f"#torch.Tensor.{n}}}" not in text]
            missing = [n for n in missing if f"`torch.{n}`" not in text and f"`{n}`" not in text]
        assert missing == []


def test_reference_has_all_of_torch():
    """The rooms of the table and the rest make up the root namespace."""
    import rushlight

    parts = [n for p in api_pages.PAGES.values() for n in p.namespaces if n.startswith("torch:")]
    found = [name for part in parts for name in api_pages.public(part)]
    ours = {n for n in rushlight.__all__ if api_pages.is_ours(getattr(rushlight, n))}
    assert sorted(found) == sorted(n for n in ours if not n.startswith("_"))


def test_an_entry_has_signature_text_and_example():
    text = MADE["api/torch-layers.md"].partition("{#torch.softmax}")[2].partition("\n### ")[0]
    assert "softmax(input, dim, dtype=None, *, out=None) -> Tensor" in text
    assert "divided by its sum along dim" in text
    assert "```pycon\n>>> torch.softmax(" in text


def test_reference_has_no_addresses():
    """A default that prints its place in memory would change the site at each build."""
    assert [path for path, text in MADE.items() if re.search(r"0x[0-9a-f]{6,}", text)] == []


def test_pages_are_written(tmp_path: Path):
    subprocess.run([sys.executable, str(TOOLS / "api_pages.py"), str(tmp_path)], check=True)
    assert (tmp_path / "api" / "index.md").read_text("utf-8") == MADE["api/index.md"]
