"""What the pages show is so: programs print it, statements make ops, links lead somewhere.

A `python` block of README.md and ARCHITECTURE.md is a program: it runs in an empty folder, and
behind its `print` stands, as a comment, what it prints. Those of CONTRIBUTING.md and of the op
table's page are statements of the table; they are entered in it and differentiated.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

import rushlight
from test_import_arrows import ORDER, imports_of_torch

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("docs", "src", "examples", "benchmarks", "tests")
PAGES = sorted([*ROOT.glob("*.md"), *(p for f in FOLDERS for p in (ROOT / f).rglob("*.md"))])

PROGRAMS = ("README.md", "ARCHITECTURE.md")
STATEMENTS = ("CONTRIBUTING.md", "src/rushlight/ops/README.md")

# Everything that a statement in one of the table's files may name, and what follows a statement.
AS_IN_THE_TABLE = """
import sys
import numpy as np
import rushlight as torch
from rushlight.ops.table.kinds import *
names = {k: v for k, v in globals().items() if not k.startswith("__")}
from rushlight.ops.elementwise import elementary
from rushlight.ops.layout import rearrange
from rushlight.ops.reduction import sorting
for module in (sorting, rearrange, elementary):
    names = {**vars(module), **names}
before = dict(names, __builtins__=None)
exec(compile(sys.stdin.read(), "block", "exec"), names)
made = [name for name in names if name not in before or names[name] is not before[name]]
made.remove("__builtins__")
print(*made)
x = torch.tensor([[0.3, -0.7], [1.4, 1.9]], dtype=torch.float64, requires_grad=True)
for name in made:
    def call(x):
        out = names[name](x, 0) if "dims" in torch.ops.OPS[name].signature else names[name](x)
        return out if isinstance(out, torch.Tensor) else out[0]
    assert torch.autograd.gradcheck(call, x) and torch.autograd.gradgradcheck(call, x)
"""


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2])
        for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)
    ]


def named(block: Block) -> str:
    return f"{block.page}:{block.line}"


def python(pages: tuple[str, ...]) -> list[Block]:
    return [b for page in pages for b in blocks(page) if b.language == "python"]


@pytest.mark.parametrize("block", python(PROGRAMS), ids=named)
def test_program_prints_what_its_comments_say(block: Block, tmp_path: Path):
    said = re.findall(r"^print\(.*\)  # (.*)$", block.text, re.M)
    done = subprocess.run(
        [sys.executable, "-c", block.text], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == said


@pytest.mark.parametrize("block", python(STATEMENTS), ids=named)
def test_statement_makes_an_op_with_right_derivatives(block: Block, tmp_path: Path):
    stated = re.findall(r"^(\w+)(?:: Any)? = ", block.text, re.M)
    done = subprocess.run(
        [sys.executable, "-c", AS_IN_THE_TABLE],
        cwd=tmp_path,
        input=block.text,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == stated


def test_there_are_programs_and_statements():
    """So that a change of the fences' form cannot empty the tests above."""
    assert len(python(("README.md",))) >= 2
    assert [len(python((page,))) > 0 for page in STATEMENTS] == [True, True]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files(page: Path):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    local = [link for link in links if link and not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_program_imports_pytorch(page: Path):
    """What a page shows runs where PyTorch is not: its blocks of Python are one program."""
    program = "".join(b.text for b in blocks(str(page)) if b.language == "python")
    assert imports_of_torch(program) == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_commands_name_what_exists(page: str):
    """`make` targets, and the files and folders of the project that commands are given."""
    shell = "".join(b.text for b in blocks(page) if b.language == "sh")
    shell = re.sub(r"#.*", "", shell)
    targets = re.findall(r"^([\w -]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    known = {word for line in targets for word in line.split()}
    assert set(re.findall(r"^make ([a-z\d-]+)", shell, re.M)) <= known
    paths = re.findall(r"(?<![\w/.])((?:tests|tools|examples|benchmarks)/[\w./]*)", shell)
    assert [path for path in paths if not (ROOT / path).exists()] == []


ARCHITECTURE = ROOT / "ARCHITECTURE.md"


def text_block(heading: str) -> str:
    """The `text` block under a heading of ARCHITECTURE.md."""
    section = ARCHITECTURE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    return re.search(r"^```text\n(.*?)^```$", section.partition("\n## ")[0], re.M | re.S)[1]


def rooms() -> list[Path]:
    """The files and folders in the left column of the map; a deeper line lies in the folder above.

    A name without a suffix is a Python module where it is no folder.
    """
    found: list[Path] = []
    folders = {-1: ROOT}  # by indentation, the last folder seen
    for line in text_block("Rooms").splitlines():
        indent = len(line) - len(line.lstrip())
        inside = folders[max(at for at in folders if at < indent)]
        folders = {at: folder for at, folder in folders.items() if at < indent}
        for name in re.split(r"[ ,]+", re.split(r"  +", line.strip())[0]):
            module = not name.endswith("/") and "." not in name
            found.append(inside / (f"{name}.py" if module else name))
            if name.endswith("/"):
                folders[indent] = found[-1]
    return found


def test_rooms_of_the_map_exist():
    assert len(rooms()) > 50
    assert [str(p.relative_to(ROOT)) for p in rooms() if not p.exists()] == []


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("native/core", "*.cpp"),
        ("native", "*/"),
        ("src/rushlight", "*/"),
        ("src/rushlight/rooms", "*/"),
        ("src/rushlight/ops", "*/"),
    ],
)
def test_map_leaves_no_room_out(folder: str, pattern: str):
    there = [p for p in (ROOT / folder).glob(pattern) if p.name != "__pycache__"]
    if pattern == "*/":
        there = [p for p in there if p.is_dir()]
    assert there
    assert sorted(p.name for p in set(there) - set(rooms())) == []


def test_files_that_architecture_speaks_of_exist():
    """By the end of their path: `core.h`, `tests/test_import_arrows.py`, `results/`."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    ends = {
        *re.findall(r"[\w./]*\w\.(?:py|pyi|cpp|h|def|md|txt)\b", text),
        *re.findall(r"[\w./]+/(?=[\s`,)])", text),
    }
    tops = ("native", "src", "tests", "benchmarks", "tools", "docs", "libraries")
    paths = [p for top in tops for p in (ROOT / top).rglob("*") if "__pycache__" not in p.parts]
    known = [f"/{p.relative_to(ROOT)}{'/' * p.is_dir()}" for p in paths]
    known += [f"/{top}/" for top in tops]
    assert sorted(end for end in ends if not any(k.endswith(f"/{end}") for k in known)) == []


def test_arrows_agree_with_the_order_of_imports():
    arrows = [re.split(r",\s*", group.strip()) for group in text_block("Arrows").split("<-")]
    assert len(arrows) > 5
    named = [name for group in arrows for name in group]
    assert [name for name in named if name not in ORDER] == []
    places = [ORDER.index(name) for name in named]
    assert places == sorted(places), named


def test_rooms_of_the_table_stand_in_the_order_of_imports():
    table = ROOT / "src" / "rushlight" / "ops"
    named = [f"ops.{p.name}" for p in rooms() if p.parent == table]
    assert named == [room for room in ORDER if re.fullmatch(r"ops\.\w+", room)]


def test_arrows_of_the_table_are_those_of_its_imports():
    section = ARCHITECTURE.read_text(encoding="utf-8").partition("\nInside `ops/` the arrows")[2]
    block = re.search(r"^```text\n(.*?)^```$", section, re.M | re.S)[1]
    drawn = {
        (user, room.strip())
        for room, _, users in (line.partition("<-") for line in block.splitlines())
        for user in re.findall(r"\w+", users)
    }
    there = set()
    for path in (ROOT / "src/rushlight/ops").glob("*/*.py"):
        if path.stem == "batching":  # loaded by vmap
            continue
        rooms = re.findall(r"^\s*from \.\.(\w+)[\w.]* import", path.read_text("utf-8"), re.M)
        there |= {(path.parent.name, room) for room in rooms if room != "table"}
    assert drawn == there


def test_what_an_index_shows_has_no_links():
    """Links and pictures of the repository lead nowhere there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["authors"]
    assert not re.search(r"\]\(|<img|http", project["readme"]["text"])


def section(page: str, heading: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("heading", ["Is it for me?", "Install"])
def test_the_first_screens_say_the_same(heading: str):
    """README and home page; on the README make's targets follow."""
    home = re.sub(r"^</?div.*>\n\n", "", section("docs/index.md", heading), flags=re.M)
    home = home.strip()
    assert len(home) > 500
    assert section("README.md", heading).replace("](docs/", "](").strip().startswith(home)


def test_readme_quotes_the_error_for_a_missing_name_as_it_is():
    with pytest.raises(AttributeError) as caught:
        _ = rushlight.linalg.common_notes
    assert f"\nAttributeError: {caught.value}\n" in (ROOT / "README.md").read_text("utf-8")
