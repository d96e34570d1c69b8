"""The command `rushlight explain`: a page of the graph that a script calls backward on, or what was
captured of its compiled functions."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import Any

from .._capture import run as _run
from ._graph import Place
from ._passes import Pass, follow, unfollow, without_own_frames
from ._scopes import graph_of, recording

__all__ = ["captures", "take"]

_BEFORE = 16
"""So many passes before the one that is drawn, modules are noted: a pass may be of calls that were
made before another one, as two losses of one model are."""


class take:
    """Around a program: write the page at its `step`-th backward, and end the program there.

    With `goes_on` the program is not ended.
    """

    def __init__(self, file: str, step: int, goes_on: bool, title: str) -> None:
        self._file, self._step = os.path.abspath(file), step
        self._goes_on, self._title = goes_on, title
        self._recorded = ExitStack()
        self._count = 0
        self._done = False

    def __enter__(self) -> None:
        if self._step <= _BEFORE:
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
            f"{self._step} was wanted: no page was written."
            + ("" if self._count else " Gradients that autograd.grad asks for are not counted.")
        )
        if not getattr(error, "code", None):
            raise SystemExit(1)

    def _passes(self, now: Pass) -> None:
        """A backward is about to run."""
        if self._done:
            return
        self._count += 1
        if self._count == self._step - _BEFORE:
            self._recorded.enter_context(recording())
        if self._count < self._step:
            return
        self._done = True
        self._recorded.close()
        from ._page import write_page
        from ._page_data import page_data

        data = page_data(
            graph_of(now.roots),
            now.gradients,
            program=self._title,
            step=self._count,
            goes_on=self._goes_on,
        )
        try:
            write_page(data, self._file)
        except OSError as error:
            _say(f"{self._file} cannot be written: {error.strerror}. -o FILE says where to write.")
            raise SystemExit(1) from None
        code = now.frame.f_code
        place = Place(code.co_filename, now.frame.f_lineno, code.co_qualname)
        _say(f"backward number {self._count}, called at {place}, is drawn in {self._file}")
        if not self._goes_on:
            raise SystemExit(0)


class _Kept(list[Any]):
    """Compiled functions in the order in which they were made, kept to the end of the program."""

    add = list.append


class captures:
    """Around a program: print at its end what was captured of each compiled function."""

    def __enter__(self) -> None:
        self._made = _Kept()
        self._before = {name: vars(_run)[name] for name in ("_all", "_timed")}
        vars(_run).update(_all=self._made, _timed=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        vars(_run).update(self._before)
        encoding = sys.stdout.encoding or "utf-8"
        for compiled in [c for c in self._made if not c.quiet]:  # whose functions tell of parts
            said: str = compiled.explain()
            print(said.encode(encoding, "backslashreplace").decode(encoding))
        if error is not None:
            without_own_frames(error)
        if not self._made and (error is None or isinstance(error, SystemExit)):
            _say("the program compiled nothing: torch.compile(function) makes a compiled one.")
            if not getattr(error, "code", None):
                raise SystemExit(1)


def _say(text: str) -> None:
    sys.stderr.write(f"rushlight explain: {text}\n")
