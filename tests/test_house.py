"""How large each room is, and what a plain training script loads: ceilings that only fall.

The ceilings stand in house.toml. A room that grows beyond its own fails; so does a ceiling that is
far above what there is. `python tests/test_house.py` lowers the ceilings to what there is, and
raises none.
"""

import ast
import io
import re
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from test_import_arrows import KNOWN, room, taken

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "rushlight"
CEILINGS = Path(__file__).with_name("house.toml")
SUFFIXES = {".py", ".pyi", ".cpp", ".h", ".def", ".cl", ".js", ".css", ".html", ".txt"}
MEASURES = {
    "lines": "lines written by hand",
    "any": "mentions of Any",
    "wide": "lines of prose over 100 columns",
    "long": "functions over 60 lines",
    "private": "private names taken from other rooms, but for ops",
    "what": "docstrings and comments that begin with What",
    "pronouns": "sentences with three pronouns in nine words",
}
COMMENT = {".py": re.compile(r'"""(?s:.+?)"""|(?:^ *# .+\n)+|# .+', re.M)}
COMMENT |= dict.fromkeys((".cpp", ".h", ".cl"), re.compile(r"(?:^ *// .+\n)+|// .+", re.M))
PRONOUNS = {"it", "its", "one", "ones", "that", "those", "which", "what"}
SLACK = 0.02  # so that a commit may lower a room without a new ceiling each time

TRAINING = """
import sys
import rushlight as torch
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset
x = torch.randn(64, 4)
data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
for a, b in data:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(a), b).backward()
    optimizer.step()
torch.save(model.state_dict(), sys.argv[1])
model.load_state_dict(torch.load(sys.argv[1]))
ours = [module for name, module in sys.modules.items() if name.split(".")[0] == "rushlight"]
files = {getattr(module, "__file__", None) for module in ours}
print("\\n".join(sorted(f for f in files if f and f.endswith(".py"))))
"""


@cache
def generated() -> frozenset[Path]:
    """The files that tools write, as .gitattributes has them."""
    marked = (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()
    patterns = [line.split()[0] for line in marked if "linguist-generated" in line]
    return frozenset(path for pattern in patterns for path in ROOT.glob(pattern))


def room_of(path: Path) -> str:
    """The folder of a file: native/core, ops/matrix, nn; "top" for a file beside them."""
    parts = path.relative_to(ROOT).parts
    if parts[0] == "native":
        return "/".join(parts[: 3 if parts[1:3] == ("kernels", "isa") else 2])
    inner = parts[2:-1]
    return "/".join(inner[: 2 if inner[:1] in (("ops",), ("rooms",)) else 1]) or "top"


@cache
def is_op(module: str, name: str) -> bool:
    """Whether a name is an op: a kernel or a rule is attached to the object, whatever its name."""
    return type(getattr(import_module(f"rushlight.{module}"), name, None)).__name__ == "Op"


@cache
def files() -> tuple[Path, ...]:
    found = [p for root in ("src", "native") for p in (ROOT / root).rglob("*")]
    return tuple(sorted(p for p in found if p.suffix in SUFFIXES and "__pycache__" not in p.parts))


def lengths(path: Path, text: str) -> Iterator[int]:
    """How many lines each function has; in C++ those that begin and end in the first column."""
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield (node.end_lineno or 0) - node.lineno + 1
    elif path.suffix in (".cpp", ".h"):
        began = 0
        for number, line in enumerate(text.splitlines(), 1):
            if re.match(r"\w.*\).*\{$", line):
                began = number
            elif line == "}" and began:
                yield number - began + 1
                began = 0


def prose(path: Path, text: str) -> Iterator[str]:
    """The lines of comments and docstrings."""
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                whole = text.splitlines()[token.start[0] - 1 : token.end[0]]
                yield from whole if token.string.endswith('"""') or token.string[0] == "#" else []
    elif path.suffix in (".cpp", ".h", ".cl"):
        yield from (line for line in text.splitlines() if "//" in line)


def texts(path: Path, text: str) -> Iterator[str]:
    """The comments and docstrings, without their marks; lines of comments in a row are one."""
    for found in COMMENT[path.suffix].findall(text) if path.suffix in COMMENT else ():
        yield re.sub(r'^ *(?:#|//) |"""', "", found, flags=re.M).strip()


def crowded(text: str) -> Iterator[str]:
    """The sentences with three pronouns within nine words; fixed phrases have none."""
    for sentence in re.split(
        r"[.:;!?]\s|\n *\n", re.sub(r"`[^`]*`|>>> .*|so that\b|one by one", "x", text)
    ):
        words = re.findall(r"[\w']+", sentence.lower())
        at = [place for place, word in enumerate(words) if word in PRONOUNS]
        if any(last - first < 9 for first, last in zip(at, at[2:], strict=False)):
            yield sentence


def measured() -> dict[str, dict[str, int]]:
    """Of each room what MEASURES names."""
    rooms: dict[str, dict[str, int]] = {}
    for path in files():
        if path in generated() or path.name == "examples.txt":  # of the documentation
            continue
        text = path.read_text(encoding="utf-8")
        counts = rooms.setdefault(room_of(path), dict.fromkeys(MEASURES, 0))
        counts["lines"] += len(text.splitlines())
        counts["any"] += len(re.findall(r"\bAny\b", text)) if path.suffix == ".py" else 0
        counts["wide"] += sum(len(line) > 100 for line in prose(path, text))
        said = list(texts(path, text))
        counts["what"] += sum(each.startswith("What ") for each in said)
        counts["pronouns"] += sum(len(list(crowded(each))) for each in said)
        counts["long"] += sum(length > 60 for length in lengths(path, text))
    for module, path in KNOWN.items():
        others = [name for name in taken(path, module) if room(name[0]) != room(module)]
        rooms[room_of(path)]["private"] += sum(not is_op(where, name) for where, name, _ in others)
    return rooms


def loaded(folder: Path) -> list[str]:
    """The files of the package that a plain training script loads."""
    told = subprocess.run(
        [sys.executable, "-c", TRAINING, str(folder / "model.pt")],
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.split()


def lines_of(paths: list[str]) -> int:
    return sum(len(Path(path).read_text(encoding="utf-8").splitlines()) for path in paths)


def entries() -> int:
    """What a person sees who lists the package."""
    return len([p for p in SOURCE.iterdir() if p.name != "__pycache__" and p.suffix != ".so"])


def all_measured(folder: Path) -> dict[str, dict[str, int]]:
    rooms = measured()
    paths = loaded(folder)
    whole = {
        "lines": sum(room["lines"] for room in rooms.values()),
        "entries at the top": entries(),
        "modules that training loads": len(paths),
        "lines that training loads": lines_of(paths),
    }
    return {"whole": whole, **rooms}


def ceilings() -> dict[str, dict[str, int]]:
    return tomllib.loads(CEILINGS.read_text(encoding="utf-8"))


def test_no_room_grows(tmp_path: Path) -> None:
    found, allowed = all_measured(tmp_path), ceilings()
    wrong = []
    for name, counts in found.items():
        for what, count in counts.items():
            most = allowed.get(name, {}).get(what, 0)
            said = MEASURES.get(what, what) if name != "whole" else what
            if count > most:
                wrong.append(f"{name}: {count} {said}, at most {most}")
            elif most > count + max(20, SLACK * count):
                wrong.append(f"{name}: {count} {said}; the ceiling of {most} can be lowered")
    assert not wrong, "\n".join([*wrong, "see house.toml; `python tests/test_house.py` lowers"])
    assert found.keys() == allowed.keys(), "house.toml names other rooms than there are"


def test_marked_files_are_those_that_tools_write() -> None:
    heads = {path: path.read_text(encoding="utf-8")[:400] for path in files()}
    written = {path for path, head in heads.items() if re.search(r"[Ww]ritten by `?tools/", head)}
    assert written | {SOURCE / "_torch" / "torch_names.txt"} == generated()  # a list has no head


def test_long_functions_and_prose_are_found() -> None:
    body = "".join(f"  f({i});\n" for i in range(60))
    assert list(lengths(Path("a.cpp"), f"int f(int x) {{\n{body}}}\n")) == [62]
    assert list(lengths(Path("a.py"), "def f():\n    pass\n")) == [2]
    assert list(prose(Path("a.py"), 'x = "a"\n# said\n')) == ["# said"]


def test_beginnings_and_pronouns_are_found() -> None:
    code = 'def f():\n    """What f gives."""\n    # What a\n    # What b\n    g()  # What c\n'
    assert list(texts(Path("a.py"), code)) == ["What f gives.", "What a\nWhat b", "What c"]
    assert list(texts(Path("a.cpp"), "f();  // What f gives\n")) == ["What f gives"]
    bad = "Those that one calls"
    assert list(crowded(f"The result of f. {bad}. One word of `what` it is.")) == [bad]
    assert not list(crowded("Sorted so that it fits: one text, and `that` which follows."))


def write(folder: Path) -> None:
    """Lower the ceilings; a room that is new gets its own."""
    allowed = ceilings() if CEILINGS.exists() else {}
    text = ["# What tests/test_house.py allows each room: these numbers only fall.\n"]
    for name, counts in all_measured(folder).items():
        text.append(f'\n["{name}"]\n')
        most = allowed.get(name, {})
        text += [f'"{what}" = {min(most.get(what, n), n)}\n' for what, n in counts.items()]
    CEILINGS.write_text("".join(text), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        write(Path(made))
