"""The fuzzer: random programs against the library, in child processes.

    make fuzz SECONDS=600 [SEED=1] [SANITIZE=1]
    python tests/fuzz --seconds 600 [--seed 1] [--kinds calls graphs threads files]

Programs are calls of every public name (calls.py), graphs with hooks and Functions that misbehave
(graphs.py), threads over the same tensors (threads.py), and files (files.py). Exceptions are what
a program may meet; a crash, a sanitizer's report, a SystemError or ten seconds without an end are
not. What is found is made as short as it can be, printed, and written to tests/fuzz/found/, from
where test_found.py runs it from then on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from child import SIZE, read_progress  # noqa: E402

BATCH = {"calls": 3000, "graphs": 250, "threads": 60, "files": 200}
SHARE = {"calls": 5, "graphs": 3, "threads": 1, "files": 1}
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
TOO_LONG = 40.0 if SANITIZED else 10.0  # for one statement; sanitizers cost a factor
TURN = 0.1  # between two looks of the supervisor, in seconds


def start(arguments: list[str], log: Path, folder: str) -> subprocess.Popen[bytes]:
    # NumPy's own BLAS with several threads stands still on a busy machine, which is not ours to find.
    environment = os.environ | {
        "PYTHONHASHSEED": "0",
        "TMPDIR": folder,
        "OPENBLAS_NUM_THREADS": "1",
    }
    with open(log, "wb") as errors:
        return subprocess.Popen(
            [sys.executable, str(HERE / "child.py"), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=folder,
            env=environment,
        )


def ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


class Worker:
    """One child at a time, batch after batch."""

    def __init__(self, fuzzer: Fuzzer, number: int) -> None:
        self.fuzzer = fuzzer
        self.folder = tempfile.mkdtemp(prefix="fuzz")
        self.progress = Path(self.folder) / "progress"
        self.log = Path(self.folder) / "stderr"
        self.process: subprocess.Popen[bytes] | None = None
        self.begin()

    def begin(self) -> None:
        self.kind, self.seed = self.fuzzer.next_batch()
        self.progress.write_bytes(b"\0" * SIZE)
        arguments = [self.kind, str(self.seed), str(BATCH[self.kind]), str(self.progress)]
        self.at, self.waited, self.looked = 0.0, 0.0, time.monotonic()
        self.process = start(arguments, self.log, self.folder)

    def look(self) -> None:
        """Count what is done; report what ended in another way than it should."""
        assert self.process
        code = self.process.poll()
        programs, statements, when, text = read_progress(self.progress.read_bytes())
        if code is None:
            # A machine that stands still stops the supervisor too: its looks are what a child is given.
            now = time.monotonic()
            passed, self.looked = min(now - self.looked, 10 * TURN), now
            self.waited = self.waited + passed if when == self.at else 0.0
            self.at = when
            # Files come by the score; threads take turns after every instruction, again and again.
            if self.waited < TOO_LONG * (1 if when and self.kind in ("calls", "graphs") else 10):
                return
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            self.found(f"no end after {self.waited:.0f} s", programs, text, hang=True)
        elif code != 0:
            self.found(ending(code), programs, text)
        self.fuzzer.count(self.kind, programs, statements)
        if not self.fuzzer.is_over():
            self.begin()
        else:
            self.process = None

    def found(self, how: str, programs: int, text: str, hang: bool = False) -> None:
        log = self.log.read_text(errors="replace")
        self.fuzzer.report(self.kind, self.seed, programs, text, how, log, hang)

    def stop(self) -> None:
        if self.process:
            programs, statements, _, _ = read_progress(self.progress.read_bytes())
            self.process.kill()
            self.process.wait()
            self.fuzzer.count(self.kind, programs, statements)


class Fuzzer:
    def __init__(self, seconds: float, seed: int, kinds: list[str], calls: int | None) -> None:
        self.end, self.calls = time.monotonic() + seconds, calls
        self.draw = random.Random(seed)
        self.kinds = [k for k in kinds for _ in range(SHARE[k])]
        self.counts = dict.fromkeys(kinds, 0)
        self.statements = 0
        self.findings: list[str] = []

    def is_over(self) -> bool:
        enough = self.calls is not None and self.statements >= self.calls
        return enough or time.monotonic() > self.end or len(self.findings) >= 20

    def next_batch(self) -> tuple[str, int]:
        return self.draw.choice(self.kinds), self.draw.randrange(1 << 30)

    def count(self, kind: str, programs: int, statements: int) -> None:
        self.counts[kind] += programs
        self.statements += statements if kind != "files" else programs

    def run(self, jobs: int) -> int:
        workers = [Worker(self, i) for i in range(jobs)]
        said = time.monotonic()
        while any(w.process for w in workers):
            time.sleep(TURN)
            for worker in workers:
                if worker.process:
                    worker.look()
            if self.is_over() and time.monotonic() > self.end + 5:
                for worker in workers:
                    worker.stop()
                    worker.process = None
            if time.monotonic() - said > 60:
                said = time.monotonic()
                print(self.summary(), flush=True)
        print(self.summary())
        return 1 if self.findings else 0

    def summary(self) -> str:
        counts = ", ".join(f"{n:,} {kind}" for kind, n in self.counts.items())
        return f"fuzz: {counts}; {self.statements:,} statements; found: {len(self.findings)}"

    def report(
        self, kind: str, seed: int, programs: int, text: str, how: str, log: str, hang: bool
    ) -> None:
        name = f"{kind}_{seed}_{programs}"
        self.findings.append(name)
        print(f"\n== {name}: {how}, at\n{text}\n{tail(log)}", flush=True)
        if kind == "files":
            return
        lines = shorten(kind, seed, programs, text, hang)
        program = "\n".join(lines)
        print(f"-- as a program of {len(lines)} statements:\n{program}\n", flush=True)
        where = HERE / "found" / f"{name}.txt"
        where.parent.mkdir(exist_ok=True)
        where.write_text(f"# {how}\n{program}\n")


def tail(log: str, lines: int = 25) -> str:
    at = max(log.find("ERROR: AddressSanitizer"), log.find("runtime error:"), 0)
    return "\n".join(log[at:].splitlines()[:lines] if at else log.splitlines()[-lines:])


def fails(lines: list[str], seconds: float) -> bool:
    """Whether a program ends badly when it runs alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program"
        path.write_text("\n".join(lines))
        process = start(["program", str(path)], Path(folder) / "log", folder)
        try:
            return process.wait(seconds) != 0
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return True


def shorten(kind: str, seed: int, programs: int, text: str, hang: bool) -> list[str]:
    """The fewest statements that were found to end in the same way; all of them where none do."""
    listed = subprocess.run(
        [sys.executable, str(HERE / "child.py"), "list", kind, str(seed), str(programs)],
        capture_output=True,
        env=os.environ | {"PYTHONHASHSEED": "0"},
    )
    if listed.returncode:
        return [text]
    every = json.loads(listed.stdout)
    if not every:
        return [text]
    if text and text not in every[-1]:
        return [text]  # the names differ from those that the child saw
    every[-1] = every[-1][: every[-1].index(text) + 1] if text else every[-1]
    patience = TOO_LONG + 15 if hang else 3 * TOO_LONG + 15
    last = every[-1]
    several = [line for program in every[-30:] for line in program]
    whole = [line for program in every for line in program]
    start_from = next((c for c in (last, several, whole) if fails(c, patience)), None)
    if start_from is None:
        return last  # it came from what other threads did, or from earlier damage
    return minimal(start_from, patience, tries=40 if not hang else 15)


def minimal(lines: list[str], patience: float, tries: int) -> list[str]:
    """Leave out what is not needed, halves first."""
    size = max(len(lines) // 2, 1)
    while tries > 0:
        at = 0
        while at < len(lines) and tries > 0 and len(lines) > 1:
            shorter = lines[:at] + lines[at + size :]
            tries -= 1
            if shorter and fails(shorter, patience):
                lines = shorter
            else:
                at += size
        if size == 1:
            break
        size = max(size // 2, 1)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--calls", type=int, help="end after so many statements")
    parser.add_argument("--kinds", nargs="+", choices=list(SHARE), default=list(SHARE))
    options = parser.parse_args()
    fuzzer = Fuzzer(options.seconds, options.seed, options.kinds, options.calls)
    sys.exit(fuzzer.run(options.jobs))


if __name__ == "__main__":
    main()
