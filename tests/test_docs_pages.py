"""The documentation's pages: their code runs and prints what they say, their pictures are those of
docs/pictures/, and the site has all of them.

`make docs` builds the site; here nothing of it is needed but the files.
"""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TOOLS = ROOT / "tools"
_spec = importlib.util.spec_from_file_location("docs_examples", TOOLS / "docs_examples.py")
docs_examples = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(docs_examples)

# What a page's program imports besides the library and NumPy.
NEEDS = {"how-to/watch-training.md": "matplotlib"}
CODE = docs_examples.pages()
NAV = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
HOOKS = (TOOLS / "site_hooks.py").read_text(encoding="utf-8")


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
        if kept.suffix == ".html":  # made when the site is, and not kept
            continue
        assert kept.exists(), f"{picture} is not in docs/pictures: run tools/docs_examples.py"
        if kept.suffix == ".svg":
            assert (tmp_path / picture).read_text("utf-8") == kept.read_text("utf-8")


def test_every_picture_is_drawn_and_shown():
    drawn = [block.picture for page in CODE for block in docs_examples.blocks(page)]
    shown = {link for page in CODE for link in re.findall(r"pictures/([\w.-]+)", page.read_text())}
    kept = {path.name for path in (DOCS / "pictures").iterdir() if path.suffix != ".html"}
    pages = {picture for picture in drawn if picture and picture.endswith(".html")}
    assert {picture for picture in drawn if picture} - pages == kept
    assert kept | pages <= shown


def test_the_gallery_has_every_example_that_draws():
    drawing = {
        p.stem for p in (ROOT / "examples").glob("*.py") if "savefig" in p.read_text("utf-8")
    }
    shown = re.findall(r"\(gallery/(\w+)\.webp\)", (DOCS / "gallery.md").read_text("utf-8"))
    assert sorted(shown) == sorted(drawing) == sorted(p.stem for p in (DOCS / "gallery").iterdir())
    assert max(p.stat().st_size for p in (DOCS / "gallery").iterdir()) < 100_000


# What people look for in a search, and must find on a page that is no list of changes.
SOUGHT = """backpropagation; automatic differentiation; reinforcement; vanishing; exercise;
RUSHLIGHT_TRACE; TensorBoard; torchvision; Jupyter; mixed precision; reproducib; FAQ"""


@pytest.mark.parametrize("words", [w.strip() for w in SOUGHT.split(";")])
def test_what_people_look_for_is_on_a_page(words: str):
    assert [
        name(page)
        for page in DOCS.rglob("*.md")
        if words.lower() in page.read_text("utf-8").lower()
    ]


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


def question(answer: str, check: str, starter: str = "n = ...", wrong: str = "n = 3") -> str:
    parts = {"question": starter, "answer": answer, "check": check}
    text = "\n\n".join(f"<!-- {p} -->\n```python\n{code}\n```" for p, code in parts.items())
    return f"```python\nm = 1\n```\n\n{text}\n<!-- wrong\n{wrong}\n-->\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (question("n = m + 1", "assert n == 2, 'one more'"), ""),
        (question("n = m + 1", "assert n == 2, 'one more'", starter="1 / 0"), ""),
        (question("n = 4", "assert n == 2, 'one more'"), "page.md:6: the answer: Assertion"),
        (question("n = m + 1", "pass"), "passes, and is no answer:\nn = ..."),
        (question("n = m + 1", "assert n != ..., 'a'"), "passes, and is no answer:\nn = 3"),
        (question("n = m + 1", "assert n == 2"), "fails without a hint:\nn = ..."),
        (question("n = m + 1", "assert n + 0 == 2, 'a'"), "TypeError: unsupported operand"),
        (question("n = 2", "assert n == 2, 'a'").replace("answer", "anwser"), "a question is not"),
        (question("n = 2", "assert n == 2, 'a'") + "```python\nn\n```\n", "NameError"),
        (question("m = 2", "assert m == 2, 'a'") + "```python\nassert m == 1\n```\n", ""),
    ],
)
def test_a_question_is_proven(tmp_path: Path, text: str, message: str):
    page = tmp_path / "page.md"
    page.write_text(text)
    done = docs_examples.run_alone(page, tmp_path)
    assert (done.returncode, message in done.stderr) == (int(message != ""), True), done.stderr


def test_every_lesson_begins_with_its_aim_and_ends_in_questions():
    for page in sorted((DOCS / "tutorial").glob("[0-9]*.md")):
        assert re.match(r"# .*\n\nAfter this page you can ", page.read_text("utf-8")), page
        asked = docs_examples.questions(page)
        assert 1 <= len(asked) <= 3, page
        assert all(question.wrong for question in asked), page
        assert asked[0].line > max(block.line for block in docs_examples.blocks(page)), page


def test_what_a_browser_cannot_run_is_marked():
    """The Python of the site has the standard library and rushlight, and no processes."""
    foreign = re.compile(
        r"^\s*(?:import|from) (?:numpy|matplotlib|subprocess|multiprocessing)", re.M
    )
    unmarked = [
        f"{name(page)}:{block.line}"
        for page in sorted((DOCS / "tutorial").glob("*.md"))
        for block in docs_examples.blocks(page)
        if foreign.search(block.code) and not block.reason
    ]
    assert unmarked == []


def test_what_is_printed_is_accepted(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(6 * 7)\n```\n\n```text\n41\n```\n\nthat\n")
    done = docs_examples.run_alone(page, tmp_path, accept=True)
    assert done.returncode == 0, done.stderr
    assert page.read_text() == "```python\nprint(6 * 7)\n```\n\n```text\n42\n```\n\nthat\n"


def test_navigation_and_pages_are_the_same():
    """Of the reference, which is made at each build, see test_reference_pages.py."""
    listed = re.findall(r"[\w./-]+\.md", NAV)
    assert len(listed) == len(set(listed))
    outside = dict(re.findall(r'^    "([\w./-]+\.md)": "(.*)",$', HOOKS, re.M))
    assert outside and all((ROOT / source).exists() for source in outside.values())
    there = {name(page) for page in DOCS.rglob("*.md")} | set(outside)
    assert {path for path in listed if not path.startswith("api/")} == there


def test_site_fetches_nothing():
    """No page or setting of ours names an address that a browser would fetch by itself."""
    sources = [
        ROOT / "mkdocs.yml",
        *DOCS.rglob("*.md"),
        *filter(Path.is_file, (DOCS / "assets").rglob("*")),
    ]
    fetched = re.compile(r"(?:src=|url\(|@import|!\[[^\]]*\]\()\s*[\"']?(?:https?:)?//")
    assert [str(path) for path in sources if fetched.search(path.read_text("utf-8"))] == []
    assert re.search(r"^  font: false$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M)
