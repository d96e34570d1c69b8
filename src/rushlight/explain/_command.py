"""The command `rushlight explain`: a page of the graph that a script calls backward on."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass

from ._graph import Place
from ._passes import Pass, follow, unfollow, without_own_frames
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


class take:
    """Around a program: write the page at the backward that is wanted."""

    def __init__(self, wanted: Options, title: str, stem: str) -> None:
        self._wanted, self._title = wanted, title
        self._file = os.path.abspath(wanted.file or f"{stem}.html")
        self._recorded = ExitStack()
        self._count = 0
        self._done = False

    def __enter__(self) -> None:
        if self._wanted.step == 1:
            self._recorded.enter_context(recording())
        follow(self._passes)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        unfollow(self._passes)
        self._recorded.close()
        if error is not None:
            without_own_frames(error)
        ended = error is None or isinstance(error, SystemExit)
        if self._done or not ended:
            return
        _say(
            f"the program ended after {self._count} calls of backward, and number "
            f"{self._wanted.step} was wanted: no page was written."
            + ("" if self._count else " Gradients that autograd.grad asks for are not counted.")
        )
        if not getattr(error, "code", None):
            raise SystemExit(1)

    def _passes(self, now: Pass) -> None:
        """A backward is about to run."""
        if self._done:
            return
        self._count += 1
        if self._count == self._wanted.step - 1:  # what the next one is of begins after this
            self._recorded.enter_context(recording())
        if self._count < self._wanted.step:
            return
        self._done = True
        self._recorded.close()
        from . import page

        try:
            page(
                now.roots,
                self._file,
                gradient=now.gradients,
                program=self._title,
                step=self._count,
            )
        except OSError as error:
            _say(f"{self._file} cannot be written: {error.strerror}. -o FILE says where to write.")
            raise SystemExit(1) from None
        code = now.frame.f_code
        place = Place(code.co_filename, now.frame.f_lineno, code.co_qualname)
        _say(f"backward number {self._count}, called at {place}, is drawn in {self._file}")
        if not self._wanted.goes_on:
            raise SystemExit(0)


def _say(text: str) -> None:
    sys.stderr.write(f"rushlight explain: {text}\n")
