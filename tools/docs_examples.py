"""Run the code of the documentation's pages, and draw their pictures.

    python tools/docs_examples.py              run all pages, write docs/pictures/
    python tools/docs_examples.py PAGE...      only these
    python tools/docs_examples.py --into DIR   write the pictures there; docs/ stays as it is
    python tools/docs_examples.py --accept     write into the pages what is printed now

The ```python blocks of a page are one program: they run in order, in one namespace, in a process
and an empty folder of their own. A ```text block right after one is what it prints, word for word;
`...` there stands for anything. Where it ends in an exception, the last lines are the exception's.
A block after the line

    <!-- picture: NAME.svg -->

ends in an expression, whose value becomes the file docs/pictures/NAME.svg: a text, the bytes of a
picture, or the path of a file that the block wrote. A block that needs more than a browser has
stands after the line `<!-- not in the browser: REASON -->`.

A question to the reader is three blocks:

    <!-- question -->   what the reader edits
    <!-- answer -->     code that passes
    <!-- check -->      assertions on the names of the code before, with messages that help

and after them any number of plausible answers that are wrong, which a page does not show:

    <!-- wrong
    the code
    -->

Each is run with the check in a copy of the page's names: the answer passes; what the reader edits
and the wrong answers do not. No other block sees what a question defined.

tests/test_docs_pages.py runs all pages and compares the pictures with those of docs/.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import doctest
import io
import linecache
import os
import re
import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).resolve().parent.parent / "docs"
# What errors and tables of a page's program call its file.
PROGRAM = "example.py"
READER = "answer.py"

BLOCK = re.compile(
    r"(?:^<!-- not in the browser: (?P<reason>[^\n]+) -->\n\s*)?"
    r"(?:^<!-- picture: (?P<picture>[\w.-]+) -->\n\s*)?"
    r"^```python\n(?P<code>.*?)^```$"
    r"(?:\n\s*^```text\n(?P<printed>.*?)^```$)?",
    re.M | re.S,
)


QUESTION = re.compile(
    "".join(
        rf"^<!-- {part} -->\n```python\n(?P<{part}>(?:(?!```).*\n)*)```\n\s*"
        for part in ("question", "answer", "check")
    )
    + r"(?P<wrong>(?:^<!-- wrong\n(?:(?!-->).*\n)*-->\n\s*)*)",
    re.M,
)
WRONG = re.compile(r"^<!-- wrong\n(.*?)^-->$", re.M | re.S)


class Block(NamedTuple):
    """A block of code of a page, what it prints (None: the page does not say), its picture, and
    the reason why a browser cannot run it.

    span: where what it prints stands in the page's text.
    """

    line: int
    code: str
    printed: str | None
    picture: str | None
    reason: str | None
    span: tuple[int, int]


class Question(NamedTuple):
    """A question to the reader, and plausible answers that are wrong."""

    line: int
    starter: str
    answer: str
    check: str
    wrong: list[str]


class Wrong(Exception):
    """A block that fails, or prints something else than the page says."""


def blocks(page: Path) -> list[Block]:
    """The blocks of code of a page's program, in order."""
    text = page.read_text(encoding="utf-8")
    text = QUESTION.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return [
        Block(
            text.count("\n", 0, found.start("code")),
            found["code"],
            found["printed"],
            found["picture"],
            found["reason"],
            found.span("printed"),
        )
        for found in BLOCK.finditer(text)
    ]


def questions(page: Path) -> list[Question]:
    """The questions of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = list(QUESTION.finditer(text))
    if len(re.findall(r"^<!-- (?:question|answer|check) -->$", text, re.M)) != 3 * len(found):
        raise Wrong(f"{page}: a question is not: question, answer, check")
    return [
        Question(text.count("\n", 0, q.start(1)), q[1], q[2], q[3], WRONG.findall(q["wrong"]))
        for q in found
    ]


def pages() -> list[Path]:
    """The pages with code. Those of docs/design/ show statements of the library, which do not run
    alone."""
    every = [p for p in sorted(DOCS.rglob("*.md")) if p.parent.name != "design"]
    return [page for page in every if blocks(page)]


def run(page: Path, pictures: Path, accept: bool = False) -> Iterator[str]:
    """Run a page here, in this process; write its pictures into a folder and give their names.

    Wrong where a block fails or prints something else than the page says. accept: what it prints
    goes into the page instead, except where the page has `...`.
    """
    printed: list[tuple[Block, str]] = []
    main = types.ModuleType("__main__")  # as a script has it: what pickle and others look up
    main.__file__ = PROGRAM
    sys.modules["__main__"] = main
    names = vars(main)
    program = ""
    for block in sorted([*blocks(page), *questions(page)], key=lambda block: block.line):
        place = f"{page}:{block.line}"
        if isinstance(block, Question):
            prove(block, names, place)
            continue
        tree = ast.parse(block.code, PROGRAM)
        # Lines are counted over all blocks: the page's program is one file to those who look.
        ast.increment_lineno(tree, program.count("\n"))
        program += block.code
        lines = program.splitlines(keepends=True)
        linecache.cache[PROGRAM] = (len(program), None, lines, PROGRAM)
        last = tree.body.pop() if block.picture else None
        value, said = None, io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                exec(compile(tree, PROGRAM, "exec"), names)
                if last is not None:
                    if not isinstance(last, ast.Expr):
                        raise Wrong(f"{place}: the block of a picture must end in an expression")
                    value = eval(compile(ast.Expression(last.value), PROGRAM, "eval"), names)
            except Wrong:
                raise
            except Exception as error:
                if block.printed is None:
                    raise Wrong(f"{place}: {type(error).__name__}: {error}") from error
                print(f"{type(error).__name__}: {error}")
        if block.printed is not None and accept and "..." not in block.printed:
            printed.append((block, plain(said.getvalue())))
        elif block.printed is not None:
            check(block.printed, said.getvalue(), place)
        if block.picture is not None:
            write(pictures / block.picture, value)
            yield block.picture
    text = page.read_text(encoding="utf-8") if printed else ""
    for block, now in reversed(printed):
        text = text[: block.span[0]] + now + text[block.span[1] :]
    if printed:
        page.write_text(text, encoding="utf-8")


def prove(question: Question, names: dict[str, Any], place: str) -> None:
    """Wrong where the check refuses the answer, or lets another code pass."""
    error = attempt(question.answer, question.check, names)
    if error is not None:
        raise Wrong(f"{place}: the answer: {type(error).__name__}: {error}") from error
    for code in [question.starter, *question.wrong]:
        error = attempt(code, question.check, names)
        if error is None:
            raise Wrong(f"{place}: passes, and is no answer:\n{code}")
        if not str(error):
            raise Wrong(f"{place}: fails without a hint:\n{code}") from error


def attempt(code: str, check: str, names: dict[str, Any]) -> Exception | None:
    """The error of a reader's code, or the failed assertion of its check, in a copy of names."""
    names = names.copy()
    linecache.cache[READER] = (len(code), None, code.splitlines(keepends=True), READER)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, READER, "exec"), names)
            exec(compile(check, "check.py", "exec"), names)
    except Exception as error:
        theirs = any(
            frame.filename == READER for frame in traceback.extract_tb(error.__traceback__)
        )
        if theirs or isinstance(error, AssertionError):
            return error
        raise
    return None


def plain(printed: str) -> str:
    """What a page shows of what was printed: no spaces at the ends of lines."""
    return "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())


def check(expected: str, printed: str, place: str) -> None:
    """Wrong with a comparison, where something else was printed than the page says."""
    got = plain(printed)
    checker = doctest.OutputChecker()
    if not checker.check_output(expected, got, doctest.ELLIPSIS):
        example = doctest.Example("", expected)
        difference = checker.output_difference(
            example, got, doctest.ELLIPSIS | doctest.REPORT_NDIFF
        )
        raise Wrong(f"{place}: {difference}")


def write(path: Path, value: object) -> None:
    """A picture's value as a file, unless the file is the same already.

    A picture in pixels stays as it is where there is one: it shows times, and would never be the
    same.
    """
    if path.suffix == ".png" and path.exists():
        return
    if isinstance(value, os.PathLike):
        data = Path(value).read_bytes()
    elif isinstance(value, bytes):
        data = value
    else:
        data = str(value).rstrip().encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def run_alone(page: Path, pictures: Path, accept: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a page in a process and an empty folder of its own; prints its pictures' names."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            [sys.executable, __file__, "--here", str(page), "--into", str(pictures.resolve())]
            + ["--accept"] * accept,
            cwd=folder,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "COLUMNS": "100", "PYTHONUTF8": "1"},
        )


def main() -> int:
    """Run the pages that are named, or all; 1 where one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE")
    parser.add_argument("--into", type=Path, default=DOCS / "pictures", metavar="DIR")
    parser.add_argument(
        "--accept", action="store_true", help="write what is printed into the pages"
    )
    parser.add_argument("--here", action="store_true", help="in this very process and folder")
    given = parser.parse_args()
    if given.here:
        try:
            for page in given.pages:
                for name in run(page, given.into, given.accept):
                    print(name)
        except Wrong as wrong:
            print(wrong, file=sys.stderr)
            return 1
        return 0
    failed = 0
    for page in given.pages or pages():
        done = run_alone(page.resolve(), given.into, given.accept)
        if done.returncode:
            failed += 1
            print(done.stderr, file=sys.stderr)
    print(f"{len(given.pages or pages())} pages run, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
