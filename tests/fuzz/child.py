"""One batch of the fuzzer, in a process of its own.

    python child.py KIND SEED COUNT PROGRESS    run COUNT programs, telling PROGRESS what runs
    python child.py list KIND SEED COUNT        print these programs as JSON, without running them
    python child.py program FILE                run one program, a statement a line

Before a statement runs, its number, the time and its text go to the file PROGRESS, which is mapped
into memory: whatever ends this process, they are there. A SystemError ends it with exit code 70.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import itertools
import json
import mmap
import os
import struct
import sys
import time
import warnings

HEADER = struct.Struct("=qqdi")  # programs begun, statements begun, when, length of the text
SIZE = 1 << 16
DEFECT = 70  # a SystemError, or a file that altered something


class Progress:
    """What runs now, where the parent can read it."""

    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), SIZE)
        self.programs = self.statements = 0

    def begin(self, text: str) -> None:
        data = text.encode()[: SIZE - HEADER.size]
        self.statements += 1
        self.memory[: HEADER.size] = HEADER.pack(
            self.programs, self.statements, time.monotonic(), len(data)
        )
        self.memory[HEADER.size : HEADER.size + len(data)] = data


def read_progress(data: bytes) -> tuple[int, int, float, str]:
    programs, statements, when, length = HEADER.unpack(data[: HEADER.size])
    return (
        programs,
        statements,
        when,
        data[HEADER.size : HEADER.size + length].decode(errors="replace"),
    )


def limit() -> None:
    """Bound the memory, so that a size beyond all reason is a MemoryError and not the machine's end."""
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        return  # the sanitizer maps terabytes for itself, and bounds single allocations
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))  # to fill more takes seconds


def execute(lines: list[str], space: dict[str, object], begin: object = None) -> None:
    import values

    for line in lines:
        if begin:
            begin(line)  # type: ignore[operator]
        try:
            exec(line, space)
        except Exception as error:
            values.unexpected(error)
        except RecursionError:
            pass


def batch(kind: str, seed: int, count: int, progress: Progress, folder: str) -> None:
    import calls
    import values

    if kind == "files":
        files = importlib.import_module("files")
        step, at = 20, 0
        while at < count:
            progress.begin(f"files.run({seed + at}, {step}, 60, keep={folder!r})")
            files.run(seed + at, step, 60, keep=folder)
            at += step
            progress.programs += step
        return
    space = values.names()
    kept = [calls.KEPT]
    for i, lines in enumerate(
        itertools.islice(importlib.import_module(kind).programs(seed), count)
    ):
        progress.programs += 1
        if kind != "calls":
            space = values.names()
        execute(lines, space, progress.begin)
        if i % 50 == 0:
            execute(kept, space)
            space.pop("x", None)


def main() -> None:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    faulthandler.enable()
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(600)
    os.environ["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "2")
    if sys.argv[1] == "list":
        kind, seed, count = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
        programs = importlib.import_module(kind).programs(seed)
        json.dump(list(itertools.islice(programs, count)), sys.stdout)
        return
    limit()
    try:
        if sys.argv[1] == "program":
            import values

            with open(sys.argv[2]) as file:
                execute(file.read().splitlines(), values.names())
        else:
            kind, seed, count, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
            progress = Progress(path)
            batch(kind, seed, count, progress, os.path.dirname(path))
            progress.begin("")  # taking down what is left
    except AssertionError as error:
        print(error, file=sys.stderr)
        sys.stderr.flush()
        os._exit(DEFECT)


if __name__ == "__main__":
    main()
