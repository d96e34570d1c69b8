"""The command `rushlight profile`: where the time of a program went."""

from __future__ import annotations

import os
import sys

from ._profile import profile

__all__ = ["report"]


class report:
    """Around a program: print the table at its end, however it ends, and write the files."""

    def __init__(self, page: str, trace: str | None, title: str) -> None:
        self._page = os.path.abspath(page)
        self._trace = trace and os.path.abspath(trace)
        self._profile = profile(title=title, shapes=trace is not None)
        self._process = os.getpid()

    def __enter__(self) -> None:
        self._profile.__enter__()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._profile.__exit__()
        if os.getpid() != self._process:  # a child process that ends as the program does
            return
        encoding = sys.stderr.encoding or "utf-8"
        said = str(self._profile).encode(encoding, "backslashreplace").decode(encoding)
        sys.stderr.write(said)
        written = [(self._page, self._profile.page)]
        if self._trace:
            written.append((self._trace, self._profile.trace))
        for file, write in written:
            try:
                write(file)
            except OSError as wrong:
                _say(f"{file} cannot be written: {wrong.strerror}.")
                if error is None:
                    raise SystemExit(1) from None
            else:
                _say(f"written to {file}")


def _say(text: str) -> None:
    sys.stderr.write(f"rushlight profile: {text}\n")
