"""The command `rushlight explain`: a page of the graph that a script calls backward on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from ._graph import Place
from ._passes import Pass, follow, unfollow
from ._scopes import recording

__all__ = ["Options", "options", "take"]


@dataclass
class Options:
    """What the command was told. step: which backward is taken; goes_on: the program is not ended
    there."""

    file: str = ""
    step: int = 1
    goes_on: bool = False


def options(given: list[str]) -> tuple[Options, list[str]]:
    """The options in front of a program, and the rest; ValueError says what is wrong."""
    found, rest = Options(), list(given)
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "-m", "-c"):
        option, equals, value = rest.pop(0).partition("=")
        if option == "--continue" and not equals:
            found.goes_on = True
            continue
        if option not in ("-o", "--output", "--step"):
            raise ValueError(f"unknown option {option}")
        if not equals:
            if not rest:
                raise ValueError(f"argument expected for the {option} option")
            value = rest.pop(0)
        if option != "--step":
            found.file = value
        elif value.isdecimal() and int(value) > 0:
            found.step = int(value)
        else:
            raise ValueError(f"--step takes the number of a backward, 1 or more, got {value!r}")
    if found.file and not os.path.isdir(os.path.dirname(found.file) or "."):
        raise ValueError(f"-o {found.file}: there is no such folder")
    return found, rest


@contextmanager
def take(wanted: Options, title: str, stem: str) -> Iterator[None]:
    """Around a program: write the page at the backward that is wanted."""
    file = os.path.abspath(wanted.file or f"{stem}.html")
    with ExitStack() as recorded:
        taker = _Taker(wanted, title, file, recorded)
        if wanted.step == 1:
            recorded.enter_context(recording())
        follow(taker.passes)
        try:
            yield
        finally:
            unfollow(taker.passes)
    if not taker.done:
        _say(
            f"the program ended after {taker.count} calls of backward, and number {wanted.step} "
            "was wanted: no page was written."
            + ("" if taker.count else " Gradients that autograd.grad asks for are not counted.")
        )
        raise SystemExit(1)


class _Taker:
    """Counts the backward passes, and writes the page of one of them."""

    def __init__(self, wanted: Options, title: str, file: str, recorded: ExitStack) -> None:
        self.wanted, self.title, self.file, self.recorded = wanted, title, file, recorded
        self.count = 0
        self.done = False

    def passes(self, now: Pass) -> None:
        """A backward is about to run."""
        if self.done:
            return
        self.count += 1
        if self.count == self.wanted.step - 1:  # what the next one is of begins after this
            self.recorded.enter_context(recording())
        if self.count < self.wanted.step:
            return
        self.done = True
        self.recorded.close()
        from . import page

        page(
            now.roots,
            self.file,
            gradient=now.gradients,
            program=self.title,
            step=self.count,
        )
        code = now.frame.f_code
        place = Place(code.co_filename, now.frame.f_lineno, code.co_qualname)
        _say(f"backward number {self.count}, called at {place}, is drawn in {self.file}")
        if not self.wanted.goes_on:
            raise SystemExit(0)


def _say(text: str) -> None:
    sys.stderr.write(f"rushlight explain: {text}\n")
