"""Checkers of types on programs: those of this folder, in which the mistakes are marked, and the
scripts of examples/, docs/ and libraries/, in which nothing is wrong.

Each checker runs once over all of them, under both names: `torch` by the stubs of `rushlight
as-torch on`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rushlight._alias.stubs import stubs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = ROOT / "src" / "rushlight"
# The code of a page, but for questions to the reader.
BLOCK = re.compile(
    r"(?<!question -->\n)(?<!answer -->\n)(?<!check -->\n)^```python\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

# Lines in which the checkers are right though the scripts run: file and code, below a reason.
KNOWN = {
    tuple(row.split(": ", 1))
    for row in (HERE / "known.txt").read_text(encoding="utf-8").splitlines()
    if row[0] not in "#!"
}


def of_page(text):
    """A page's program: its code on the lines where it stands, and nothing else."""
    kept = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        start = text.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        kept[start : start + len(code)] = code
    return "\n".join(kept) + "\n"


def as_torch(text):
    """A program that imports torch, of one that imports rushlight."""
    return text.replace("import rushlight as torch", "import torch").replace("rushlight", "torch")


def programs():
    """All programs by the names of their files, which are in one folder."""
    found = {}
    for path in sorted(HERE.glob("programs/*.py")):
        text = path.read_text(encoding="utf-8")
        found[f"{path.stem}-as-torch"] = as_torch(text)
        found[f"{path.stem}-as-rushlight"] = text
    for path in sorted(ROOT.glob("examples/*.py")) + sorted(
        ROOT.glob("libraries/quick_starts/*.py")
    ):
        found[str(path.relative_to(ROOT))] = path.read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("docs/**/*.md")):
        program = of_page(path.read_text(encoding="utf-8"))
        if program.strip() and "design" not in path.parts:
            found[str(path.relative_to(ROOT).with_suffix(".py"))] = program
    return {re.sub(r"\W", "_", name.removesuffix(".py")) + ".py": t for name, t in found.items()}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the programs, with rushlight as a wheel has it, and with `torch`."""
    place = tmp_path_factory.mktemp("typing")
    files = {f"scripts/{name}": text for name, text in programs().items()}
    files |= {f"known/{name}": text for name, text in stubs().items()}
    files["known/torch/py.typed"] = ""
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    (place / "known" / "rushlight").mkdir()
    for path in [*PACKAGE.iterdir(), *(PACKAGE / "rooms").iterdir()]:
        if path.name not in ("rooms", "__pycache__"):
            (place / "known" / "rushlight" / path.name).symlink_to(path)
    return place


def compared(errors):
    """The errors of a checker, by file and line, are those that are marked or known."""
    lines = {name: text.split("\n") for name, text in programs().items()}
    marked = {
        (name, i)
        for name, program in lines.items()
        for i, line in enumerate(program, 1)
        if line.endswith("# wrong")
    }
    assert len(marked) > 100
    assert len(lines) >= 60 + 4
    said = {(name, line): text for name, line, text in errors}
    missed = [f"{name}:{line}: nothing is said" for name, line in sorted(marked - said.keys())]
    false = [
        f"{name}:{line}: {text}"
        for (name, line), text in said.items()
        if (name, line) not in marked
        and (name.removesuffix(".py"), lines[name][line - 1].strip()) not in KNOWN
    ]
    assert not missed + false, "\n".join([*missed, *false])


def test_mypy(place):
    pytest.importorskip("mypy")
    scripts = sorted(programs())
    command = [sys.executable, "-m", "mypy", "--check-untyped-defs", "--ignore-missing-imports"]
    command += ["--allow-redefinition"]  # a page has several programs
    command += [
        "--follow-imports=silent",
        "--scripts-are-modules",
        "--cache-dir",
        str(place / "cache"),
    ]
    done = subprocess.run(
        [*command, *scripts],
        cwd=place / "scripts",
        env={**os.environ, "MYPYPATH": str(place / "known")},
        capture_output=True,
        text=True,
    )
    found = re.findall(r"^(\S+?):(\d+): error: (.*)", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    compared([(name, int(line), text) for name, line, text in found])


def pyright(place, *arguments):
    """The report of pyright, which is a program of its own; skips where there is none."""
    beside = Path(sys.executable).with_name("pyright")
    program = str(beside) if beside.exists() else shutil.which("pyright")
    if not program:
        pytest.skip("pyright is not installed")
    done = subprocess.run(
        [program, "--outputjson", *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
    )
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright does not run: {done.stdout}{done.stderr}")
    return json.loads(done.stdout[done.stdout.index("{") :])


def test_pyright(place):
    settings = {
        "include": ["scripts"],
        "extraPaths": ["known"],
        "reportMissingImports": False,
        "reportPossiblyUnboundVariable": False,
    }
    (place / "pyrightconfig.json").write_text(json.dumps(settings))
    report = pyright(place)
    scripts = place.resolve() / "scripts"
    errors = [
        (
            str(Path(d["file"]).resolve().relative_to(scripts)),
            d["range"]["start"]["line"] + 1,
            d["message"],
        )
        for d in report["generalDiagnostics"]
        if d["severity"] == "error"
    ]
    assert errors
    compared(errors)


def test_public_names_have_types(place):
    """At least 98 of 100 names need no inference, by pyright's measure of a typed package.

    Of rushlight's own are the modules with an underscore and the table of ops.
    """
    report = pyright(place / "known", "--verifytypes", "rushlight", "--ignoreexternal")
    known, unknown = [], []
    for symbol in report["typeCompleteness"]["symbols"]:
        path = symbol["name"].split(".")
        if symbol["isExported"] and path[1] != "ops" and not any(p[0] == "_" for p in path):
            good = symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"]
            (known if good else unknown).append(symbol["name"])
    assert len(known) > 5000
    assert len(unknown) / len(known + unknown) <= 0.02, "\n".join(sorted(unknown))
