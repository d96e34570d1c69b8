"""The command `rushlight doctor`: a program runs for some passes, and its mistakes are printed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from ._doctor import Doctor, Line, own_code
from ._doctor_rules import Finding, findings
from ._names import quiet
from ._passes import without_own_frames
from ._text import counted

__all__ = ["examine"]

_Row = tuple[Line, str, int]


class examine:
    """Around a program: end the program after `steps` passes, and print the findings.

    seconds: end the program then, too; 0 for no such bound. again: the words that run the program a
    second time, for comparison; None for no second run. stream: a file for the results of the
    calls, which makes this the second run.
    """

    def __init__(
        self, steps: int, seconds: float, again: Sequence[str] | None, stream: str | None
    ) -> None:
        streams = again is not None or stream is not None
        self._doctor = Doctor(steps, streams=streams, over=self._give_up)
        self._seconds, self._again, self._stream = seconds, again, stream

    def __enter__(self) -> None:
        if self._seconds:
            signal.signal(signal.SIGALRM, lambda *_: self._doctor.end())
            signal.setitimer(signal.ITIMER_REAL, self._seconds, 1.0)
        self._doctor.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if self._seconds:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self._doctor.__exit__(kind, error, trace)
        if error is not None:
            without_own_frames(error, own_code())
        self._report()

    def _give_up(self) -> None:
        """End a program that catches each SystemExit."""
        self._report()
        sys.stdout.flush()
        os._exit(0)

    def _report(self) -> None:
        doctor = self._doctor
        if self._stream is not None:
            with open(self._stream, "w", encoding="utf-8") as file:
                json.dump(doctor.stream, file)
            return
        with quiet():
            found = findings(doctor)
        if self._again is not None:
            found += _compared(doctor.stream, self._second(self._again))
        head = f"rushlight doctor: {counted(doctor.passes, 'backward')}, "
        head += counted(len(found), "finding") if found else "nothing found"
        encoding = sys.stdout.encoding or "utf-8"
        missed = (f"(something could not be looked at: {text})" for text in doctor.trouble)
        said = "\n".join([head, *map(str, found), *missed])
        print(said.encode(encoding, "backslashreplace").decode(encoding), flush=True)

    def _second(self, words: Sequence[str]) -> list[_Row]:
        """The results of a second run, in a process of its own whose output nobody sees."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "stream.json")
            options = ["--steps", str(self._doctor.steps), "--stream", file]
            options += ["--seconds", str(self._seconds)] if self._seconds else []
            command = [sys.executable, "-m", "rushlight", "doctor", *options, *words]
            null = subprocess.DEVNULL
            subprocess.run(command, stdin=null, stdout=null, stderr=null, check=False)
            if not os.path.exists(file):
                return []
            with open(file, encoding="utf-8") as read:
                return [((place, line), *rest) for (place, line), *rest in json.load(read)]


def _compared(first: list[_Row], second: list[_Row]) -> list[Finding]:
    """The first call whose result is another in the second run."""
    for a, b in zip(first, second, strict=False):
        if a != b:
            same = a[:2] == b[:2]
            how = f"{a[1]} gives other values" if same else "another call comes here"
            text = f"two runs differ from here on: {how} in the second, with the seeds as they are."
            return [Finding("twice", a[0], text)]
    return []
