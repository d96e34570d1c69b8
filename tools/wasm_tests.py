"""Runs the suite in Pyodide under Node, on the wheel that `make wasm` has built.

    python tools/wasm_tests.py                        all tests that fit there
    python tools/wasm_tests.py --part 5               every fifth file of these, for CI
    python tools/wasm_tests.py tests/nn -- -k linear  a part; what follows "--" is pytest's

tools/browser/tests.toml says which tests do not fit, and why. Every other test has to pass, and
none of those that it lists as failing may. Two processes take a file after the other; a file that
ends its process, or takes too long, counts as failed, and the rest goes on. Where `make wasm-numpy`
has left NumPy in build/wasm/numpy, the files that import it run too.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WASM = ROOT / "build" / "wasm"
BROWSER = ROOT / "build" / "browser"
NUMPY = WASM / "numpy"
MADE = WASM / "tests"
SITE, RESULTS = MADE / "site", MADE / "results.jsonl"
LISTS = tomllib.loads((ROOT / "tools" / "browser" / "tests.toml").read_text(encoding="utf-8"))
PROCESSES = 2
PATIENCE = 1800  # seconds for a file
ENOUGH = 1_000_000_000  # bytes: a process of so large a heap takes no further file
STACK = 850  # kilobytes: so a function calls itself 10,000 times, as in a worker of Chromium
PURE = "--only-binary=:all: --python-version 3.13 --implementation py --abi none --platform any"
OF_NUMPY = re.compile(r"^(import|from) (numpy|ml_dtypes)\b", re.M)  # at the top of a file
WRONG = ("failed", "passes, but is listed")


def prepare() -> None:
    """What Pyodide imports: the wheels, and pytest and hypothesis in pure Python."""
    if not (SITE / "hypothesis").exists():
        install = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        wanted = ["--target", str(SITE), *PURE.split(), "pytest>=8", "hypothesis>=6"]
        subprocess.run([*install, *wanted], check=True)
    for name in ("rushlight", "numpy", "ml_dtypes"):
        shutil.rmtree(SITE / name, ignore_errors=True)
    for wheel in (*WASM.glob("dist/*.whl"), *NUMPY.glob("*.whl")):
        zipfile.ZipFile(wheel).extractall(SITE)
    shutil.copy(ROOT / "tools" / "browser" / "suite.mjs", BROWSER)


def pattern(text: str) -> re.Pattern[str]:
    """A name of tests: a folder, a file, a function with all its cases, or with * for anything."""
    return re.compile(".*".join(map(re.escape, text.split("*"))) + r"($|(?<=/)|\[|::)")


def listed(test: str, kind: str) -> str | None:
    for text, reason in LISTS[kind].items():
        if pattern(text).match(test):
            return str(reason)
    return None


def files(asked: list[str]) -> list[str]:
    """The test files asked for that fit, the largest first."""
    found: set[Path] = set()
    for name in asked:
        path = ROOT / name.split("::")[0]
        found |= set(path.rglob("test_*.py")) if path.is_dir() else {path}
    if not NUMPY.exists():
        found = {path for path in found if not OF_NUMPY.search(path.read_text(encoding="utf-8"))}
    names = sorted(found, key=lambda path: path.stat().st_size, reverse=True)
    relative = [path.relative_to(ROOT).as_posix() for path in names]
    return [name for name in relative if not listed(name, "not run")]


class Node:
    """A process of Node with Pyodide in it, which runs files as they are given."""

    def __init__(self, number: int) -> None:
        log = (MADE / f"log-{number}.txt").open("a", encoding="utf-8")
        command = ["node", f"--stack-size={STACK}", "suite.mjs", ROOT, SITE, MADE]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            list(map(str, command)), cwd=BROWSER, text=True, stdin=pipe, stdout=pipe, stderr=log
        )
        self.lines: SimpleQueue[str | None] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def run(self, arguments: list[str]) -> Iterator[dict[str, Any]]:
        """What pytest tells of a file; last {"end": bytes of the heap}, or {"crash": why}."""
        assert self.process.stdin
        until = time.monotonic() + PATIENCE
        self.process.stdin.write(json.dumps(arguments) + "\n")
        self.process.stdin.flush()
        while True:
            try:
                line = self.lines.get(timeout=max(0, until - time.monotonic()))
            except Empty:
                self.stop()
                yield {"crash": f"not done after {PATIENCE} seconds"}
                return
            if line is None:
                self.stop()
                yield {"crash": f"the process ended with {self.process.returncode}"}
                return
            told = json.loads(line)
            yield told
            if "end" in told:
                return

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def reason_of(told: dict[str, Any]) -> str | None:
    """Why a test that did not pass does not fit: it was skipped, or wants what is not here."""
    for kind in ("skipped",) if told["outcome"] == "skipped" else ("asks for", "lacks"):
        for name, texts in LISTS[kind].items():
            for said, file in told["raised"]:
                own = kind != "asks for" or file.startswith("/repo/tests/")
                if own and any(text in said for text in texts):
                    return str(name)
    return "skipped" if told["outcome"] == "skipped" else None


def listing(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {came}" for came, n in sorted(counts.items()))


class Results:
    """What came of every test; several threads add to it."""

    def __init__(self) -> None:
        self.tests: dict[str, dict[str, Any]] = {}
        self.lock = threading.Lock()

    def add(self, told: dict[str, Any]) -> None:
        test = told["test"]
        came, reason = "passed", listed(test, "fails")
        if told["outcome"] != "passed":
            left = reason_of(told)
            came = "left out" if left else "listed" if reason else "failed"
            reason = left or reason
        elif reason:
            came = "passes, but is listed"
        before = self.tests.get(test, {"came": "passed"})["came"]
        if before in ("passed", came) or came == "failed":
            self.tests[test] = told | {"came": came, "reason": reason}

    def leave_out(self, tests: list[str]) -> None:
        for test in tests:
            reason = LISTS["not run"][test]
            self.tests[test] = {"test": test, "came": "left out", "reason": reason}

    def crash(self, file: str, why: str) -> None:
        reason = listed(file, "fails")
        came = "listed" if reason else "failed"
        self.tests[file] = {"test": file, "came": came, "reason": reason, "text": why, "seconds": 0}

    def close(self, file: str) -> str:
        """Writes a file's tests, and counts them."""
        tests = [told for test, told in self.tests.items() if test.split("::")[0] == file]
        with RESULTS.open("a", encoding="utf-8") as out:
            out.writelines(json.dumps(told) + "\n" for told in tests)
        return listing(Counter(told["came"] for told in tests))


def work(number: int, wanted: SimpleQueue[str], options: list[str], results: Results) -> None:
    node: Node | None = None
    cpu = 0.0
    while True:
        try:
            file = wanted.get_nowait()
        except Empty:
            break
        node = node or Node(number)
        last: dict[str, Any] = {}
        without = [name for name in LISTS["not run"] if name.startswith(file + "::")]
        deselected = [f"--deselect={name}" for name in without]
        for last in node.run([file, *deselected, *options]):
            if "test" in last:
                with results.lock:
                    results.add(last)
        with results.lock:
            results.leave_out(without)
            if "crash" in last:
                results.crash(file, last["crash"])
            cpu, used = last.get("cpu", 0.0), cpu
            print(f"{file}: {results.close(file)}, {cpu - used:.1f} s of CPU", flush=True)
        if last.get("end", ENOUGH) >= ENOUGH:
            node.stop()
            node, cpu = None, 0.0
    if node:
        node.stop()


def table(results: Results) -> None:
    """How many tests of each folder passed, were left out and why, and failed."""
    rows: dict[str, Counter[str]] = {}
    for test, told in results.tests.items():
        folder = Path(test.split("::")[0]).parent.name
        came = told["came"]
        came = f"left out: {told['reason']}" if came == "left out" else came
        rows.setdefault(folder, Counter())[came] += 1
    for folder, row in sorted(rows.items()):
        print(f"{folder:16}", listing(row))
    total = sum(rows.values(), Counter())
    bad = total["failed"] + total["listed"]
    share = 100 * total["passed"] / max(1, total["passed"] + bad)
    print(f"{'all':16}", listing(total))
    print(f"{share:.2f} % of the tests that fit pass")


def run_all(wanted: SimpleQueue[str], options: list[str]) -> Results:
    results = Results()
    threads = [
        threading.Thread(target=work, args=(number, wanted, options, results))
        for number in range(PROCESSES)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def main(arguments: list[str]) -> int:
    at = arguments.index("--") if "--" in arguments else len(arguments)
    given, options, step = arguments[:at], arguments[at + 1 :], 1
    if given[:1] == ["--part"]:
        step, given = int(given[1]), given[2:]
    started = time.monotonic()
    prepare()
    for old in (*MADE.glob("log-*.txt"), RESULTS):
        old.unlink(missing_ok=True)
    wanted = SimpleQueue[str]()
    for file in files(given or ["tests"])[::step]:
        wanted.put(file)
    results = run_all(wanted, options)
    wrong = {test: told for test, told in results.tests.items() if told["came"] in WRONG}
    for test, told in wrong.items():
        print(f"\n== {test}: {told['came']}\n{told['text'][-1500:]}")
    table(results)
    print(f"{time.monotonic() - started:.0f} seconds; every test: {RESULTS.relative_to(ROOT)}")
    return bool(wrong) or not results.tests


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
