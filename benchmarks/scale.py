"""Time programs of several processes on rushlight and, in turns with it, on PyTorch's gloo.

    python benchmarks/scale.py [--rounds N] [--only all_reduce step memory start ...]
                               [--processes N ...] [--json FILE]
    python benchmarks/scale.py --show FILE

Every job (scale_jobs.py) is started anew: ours by `rushlight run --nproc N`, PyTorch's by its
torchrun; each process has one thread. A job gives the best of its repeats, since whatever else runs
only adds time. The libraries take turns, and a figure is the median of the rounds. Without PyTorch
the tables have our column only. `--json` keeps the figures, from which benchmarks/scale_model.py
takes its constants.

A training step is one of every process with a batch of its own (128 pictures, or 12 texts of 64
tokens), so N processes do N times the work of one. `alone` are as many processes that do not speak:
what the machine leaves of its speed where all its cores are busy, whatever the library does.

A benchmark, not a test: nothing fails when a ratio falls short.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).resolve().parent / "scale_jobs.py"
OURS, THEIRS = "rushlight", "PyTorch"
LIMIT = 240  # seconds of a job
KINDS = "all_reduce", "step", "memory", "start"
Figures = dict[str, dict[str, list[float]]]  # row -> library -> a figure of each round


def command(library: str, processes: int, words: list[str]) -> list[str]:
    """How a job is started."""
    program = [str(PROGRAM), *words]
    if library == OURS:
        return [sys.executable, "-m", "rushlight", "run", "--nproc", str(processes), *program]
    launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return [sys.executable, "-m", *launcher, *program]


def run(library: str, processes: int, *words: str) -> tuple[dict[str, Any], float]:
    """What rank 0 of a job printed, and the seconds from its start to its end.

    An empty answer for a job that failed; why is shown.
    """
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            command(library, processes, list(words)),
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        print(f"{library}, {processes} processes, {' '.join(words)}: too slow", file=sys.stderr)
        return {}, 0.0
    seconds = time.perf_counter() - begin
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        text = "\n".join(done.stderr.strip().splitlines()[-6:])
        print(f"{library}, {processes} processes, {' '.join(words)}:\n{text}", file=sys.stderr)
        return {}, 0.0
    found: dict[str, Any] = json.loads(lines[-1])
    return found, seconds


def measure(kinds: list[str], counts: list[int], libraries: list[str], rounds: int) -> Figures:
    """All figures: `rounds` times each job, the libraries in turns."""
    figures: Figures = {}

    def add(row: str, library: str, value: float) -> None:
        figures.setdefault(row, {}).setdefault(library, []).append(value)

    def all_reduce(library: str) -> None:
        for processes in counts:
            if processes > 1:
                for size, seconds in run(library, processes, "all_reduce")[0].items():
                    add(f"all_reduce {size} {processes}", library, seconds)

    def step(library: str) -> None:
        for network in ("mlp", "gpt"):
            for processes in counts:
                for way in ("alone", "wrapped"):
                    found, _ = run(library, processes, "step", network, way)
                    for what, value in found.items():
                        add(f"{what} {network} {way} {processes}", library, value)

    def memory(library: str) -> None:
        for processes, way in ((1, "alone"), (4, "wrapped")):
            for what, value in run(library, processes, "memory", way)[0].items():
                add(f"memory {what} {processes}", library, value)

    def start(library: str) -> None:
        _, seconds = run(library, 2, "start")
        if seconds:
            add("start 2", library, seconds)

    # Memory is the same in every round.
    jobs = {"all_reduce": all_reduce, "step": step, "memory": memory, "start": start}
    for number in range(rounds):
        for kind in kinds:
            if kind == "memory" and number:
                continue
            for library in libraries if number % 2 == 0 else libraries[::-1]:
                jobs[kind](library)
    return figures


def median(figures: Figures, row: str, library: str) -> float | None:
    """A row's figure for a library; None where there is none."""
    found = figures.get(row, {}).get(library)
    return statistics.median(found) if found else None


def ratio(one: float | None, other: float | None) -> str:
    return f"{one / other:.2f}" if one and other else "-"


def shown(seconds: float | None) -> str:
    """A time with a unit that suits it."""
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    marks = ["---"] + ["--:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, marks, *rows]) + "\n"


def tables(figures: Figures) -> str:
    """All tables of what was measured."""
    parts = []
    rows = []
    for row in figures:
        kind, *words = row.split()
        if kind == "all_reduce":
            ours, theirs = median(figures, row, OURS), median(figures, row, THEIRS)
            size = {"4": "4 B", "1000000": "1 MB", "100000000": "100 MB"}[words[0]]
            rows.append([f"{size}, {words[1]} processes", shown(ours), shown(theirs)])
            rows[-1].append(ratio(ours, theirs))
    if rows:
        parts.append(table(["all_reduce", OURS, THEIRS, "time over PyTorch's"], rows))
    rows = []
    for row in figures:
        kind, *words = row.split()
        if kind == "seconds":
            network, way, processes = words
            ours, theirs = median(figures, row, OURS), median(figures, row, THEIRS)
            one = median(figures, f"seconds {network} alone 1", OURS)
            gain = one * int(processes) if one else None
            name = f"{network}, {processes} {'DDP' if way == 'wrapped' else way}"
            rows.append([name, shown(ours), shown(theirs), ratio(gain, ours), ratio(theirs, ours)])
    if rows:
        head = ["step", OURS, THEIRS, "throughput over one process's", "over PyTorch's"]
        parts.append(table(head, rows))
    rows = []
    for what in ("parameters", "gradients", "optimizer"):
        cells = [what]
        for library in (OURS, THEIRS):
            one = median(figures, f"memory {what} 1", library)
            cells.append(ratio(median(figures, f"memory {what} 4", library), one))
        rows.append(cells)
    if any(row.startswith("memory") for row in figures):
        parts.append(table(["fully_shard, 4 processes over 1", OURS, THEIRS], rows))
    if "start 2" in figures:
        ours, theirs = (median(figures, "start 2", name) for name in (OURS, THEIRS))
        cells = ["2 processes", shown(ours), shown(theirs), ratio(ours, theirs)]
        parts.append(table(["start to end", OURS, THEIRS, "time over PyTorch's"], [cells]))
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--json", type=Path, help="where the figures are kept")
    parser.add_argument("--show", type=Path, help="print the tables of kept figures")
    given = parser.parse_args()
    if given.show:
        print(tables(json.loads(given.show.read_text())["figures"]))
        return
    libraries = [OURS, THEIRS] if importlib.util.find_spec("torch") else [OURS]
    figures = measure(given.only, given.processes, libraries, given.rounds)
    if given.json:
        facts = {"date": str(date.today()), "machine": platform.machine(), "cores": os.cpu_count()}
        given.json.write_text(json.dumps({**facts, "figures": figures}, indent=1) + "\n")
    print(tables(figures))


if __name__ == "__main__":
    main()
