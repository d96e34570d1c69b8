"""Time the same PyTorch programs on rushlight and on torch, and show torch's time over ours.

    python benchmarks/compare.py [--quick] [--only NAME ...] [--json FILE] [--later]
                                 [--threads N ...] [--markdown]
                                 [--ours LIBRARY] [--theirs LIBRARY] [--their-python PYTHON]
                                 [--wheel FILE]
    python benchmarks/compare.py --show FILE [--markdown]

Each library has a process of its own, and they take turns (ours, theirs, ours, ...), so that a slow
moment of the machine meets both; a time is the best over all turns, and beside the ratio of the
best times stands the range of the ratios of the turns. Rows that have a target for two threads are
timed with one and with two, the others with one; with --threads, all rows with those numbers. A row
is trusted only if both libraries computed the same numbers. `--theirs torch --ours torch` shows the
method's own error: ratios near 1.

The floor of a row is the time that no program can beat which does the row's operations and moves
its bytes (workloads.py counts both): the larger of operations over the machine's peak and of bytes
over its bandwidth. The peak is the highest rate at which either library multiplies square matrices
that stay in a core's cache, measured as the run starts; the bandwidth is that of a copy of an array
as large as the row's, so it is the cache's where they fit there. A kernel that needs fewer
operations than the definition, as Winograd's convolution, can pass its floor, and so can one that
does several operations while an array is at hand.

The results of a whole run are written as JSON to benchmarks/results/, with date, machine, versions
and targets; those of a --quick, --only or --threads run where --json says. --show prints a file of
results again, --markdown makes the table Markdown, as in docs/performance.md.

around.py is a second list of programs, which runs by the same `main`.

A benchmark, not a test: nothing fails when a ratio falls short.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import operator
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from workloads import MEMORY, WORKLOADS, Workloads  # noqa: E402  (the folder is on the path now)

# Torch's time over ours that we mean to reach at least: with one thread, or with one and with two.
# Rows without a target are shown all the same.
TARGETS: dict[str, float | tuple[float, float]] = {
    "mul_no_grad": 10,
    "mul_recording": 9,
    "chain_50_mul": 10,
    "mixed_14_ops": 13,
    "view_select": 8,
    "view_transpose": 8,
    "view_reshape": 8,
    "view_select_recorded": 6,
    "view_transpose_recorded": 6,
    "view_reshape_recorded": 6,
    "mlp_sgd": 9,
    "mlp_adam": 13,
    "rnn_50_steps": 4,
    "ode_rk4_64_steps": 4,
    "pinn_burgers": 3,
    "exp_4m": 1.5,
    "tanh_4m": 1.5,
    "softmax_4m": (1.15, 1.15),
    "layer_norm_4m": (1.15, 1.15),
    "chain_4m_backward": (1.05, 1.0),
    "linear_1024": (1.0, 0.95),
    "conv_128": (1.6, 1.5),
    "lstm_64_128": (1.35, 1.2),
    "residual_blocks": (1.4, 1.3),
    "mnist_net": (1.4, 1.4),
    "mlp_784": (1.6, 1.8),
    "mlp_17": (1.9, 1.9),
    "gpt_4x128": (1.25, 1.2),
    "gpt_4x128_by_hand": (1.25, 1.2),
    "gpt_6x384": (1.1, 1.0),
    "hvp_mlp": 4,
    "hvp_forward": 4,
    "vmap_grad_256": 1,
    "import": 5,
    "memory": 3,
}
# Of the memory that a program takes beyond its library's: torch's over ours at least this.
OWN_MEMORY = 1 / 1.1
IMPORT_OVER_NUMPY = 1.8  # import: at most this times `import numpy`
WHEEL_BYTES = 10_000_000  # the wheel: at most this
PROBE_NUMBERS = 1 << 26  # an array that no cache holds, for the machine's bandwidth


def target_of(name: str, threads: int = 1) -> float | None:
    target = TARGETS.get(name)
    if isinstance(target, tuple):
        return target[threads - 1] if threads <= len(target) else None
    return target if threads == 1 else None


def threads_of(name: str) -> range:
    """The numbers of threads that a row is timed with where nothing else is asked for."""
    most = 2 if isinstance(TARGETS.get(name), tuple) else 1
    return range(1, min(most, os.cpu_count() or 1) + 1)


def environment_for(threads: int) -> dict[str, str]:
    settings = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return os.environ | dict.fromkeys(settings, str(threads))


class Worker:
    """A process that runs workloads on one library with some number of threads, started again if a
    workload kills it."""

    def __init__(
        self, library: str, python: str, environment: dict[str, str], threads: int, module: str
    ) -> None:
        self.library, self.python, self.environment = library, python, environment
        self.threads, self.module = threads, module
        self.process: subprocess.Popen[str] | None = None
        self.facts: dict[str, Any] = {}
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.python, str(HERE / "workloads.py"), self.library, str(self.threads), self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        line = self.read()
        if line is None:
            sys.exit(f"compare.py: {self.library} could not be loaded by its worker (see above)")
        self.facts = line

    def read(self) -> dict[str, Any] | None:
        assert self.process and self.process.stdout
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process and self.process.stdin
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            answer = self.read()
        except BrokenPipeError:
            answer = None
        if answer is None:
            code = self.process.wait()
            self.start()
            return {"error": f"the process died with exit code {code}"}
        return answer

    def stop(self) -> None:
        assert self.process and self.process.stdin
        self.process.stdin.close()
        self.process.wait()


class Pair:
    """The workers of both libraries with one number of threads, and what the machine can do with
    so many."""

    def __init__(self, options: argparse.Namespace, threads: int) -> None:
        environment = environment_for(threads)
        if options.quick:
            environment["RUSHLIGHT_BENCH_NODES"] = "100000"
        self.ours = Worker(options.ours, sys.executable, environment, threads, options.module)
        self.theirs = Worker(
            options.theirs, options.their_python, environment, threads, options.module
        )
        self.peak = self.best(operations=True)

    def sides(self) -> tuple[tuple[str, Worker], tuple[str, Worker]]:
        return ("ours", self.ours), ("theirs", self.theirs)

    def best(self, **probe: Any) -> float:
        """What the faster library reaches in a probe of the machine."""
        return float(max(worker.ask(**probe)["best"] for _, worker in self.sides()))

    def bandwidth(self, numbers: int) -> float:
        return self.best(copy=numbers)

    def facts(self) -> dict[str, float]:
        return {
            "operations_per_second": self.peak,
            "bytes_per_second": self.bandwidth(PROBE_NUMBERS),
        }

    def stop(self) -> None:
        for _, worker in self.sides():
            worker.stop()


def same(a: list[float], b: list[float]) -> bool:
    return all(math.isclose(x, y, rel_tol=2e-3, abs_tol=1e-5) for x, y in zip(a, b, strict=True))


def fastest(
    name: str, settings: list[dict[str, Any]], worker: Worker, seconds: float, failed: set[str]
) -> tuple[dict[str, Any] | None, str]:
    """One turn of a library: its answer in the fastest of the settings that it has, and what went
    wrong. A library need not have every setting, but it must do the plain program."""
    best: dict[str, Any] | None = None
    error = ""
    for setting in settings:
        if json.dumps(setting) in failed:
            continue
        answer = worker.ask(name=name, setting=setting, seconds=seconds / len(settings))
        if "error" in answer:
            failed.add(json.dumps(setting))
            error = error if setting else answer["error"]
        elif best is None or answer["best"] < best["best"]:
            best = answer | {"setting": setting}
    return best, error


def compare(
    name: str, options: dict[str, Any], pair: Pair, rounds: int, seconds: float
) -> dict[str, Any]:
    """One row: both libraries in turns."""
    settings = options.get("variants", [{}])
    threads = pair.ours.threads
    row: dict[str, Any] = {"name": name, "threads": threads, "target": target_of(name, threads)}
    if "path" in options:
        row["path"] = options["path"]
    if options.get("once"):
        rounds = min(rounds, 2)
    turns: dict[str, list[dict[str, Any]]] = {"ours": [], "theirs": []}
    failed: dict[str, set[str]] = {"ours": set(), "theirs": set()}
    for _ in range(rounds):
        for side, worker in pair.sides():
            if f"{side}_error" in row:
                continue
            best, error = fastest(name, settings, worker, seconds, failed[side])
            if best is None or error:
                row[f"{side}_error"] = error or "no setting worked"
            else:
                turns[side].append(best)
    calls = options.get("calls", 1)
    for side in turns:
        if f"{side}_error" not in row:
            best = min(turns[side], key=lambda turn: turn["best"])
            row[f"{side}_seconds"] = best["best"] / calls
            if best["setting"]:
                row[f"{side}_setting"] = best["setting"]
    if calls > 1:
        row["calls"] = calls
    if "ours_seconds" in row and "theirs_seconds" in row:
        row["ratio"] = row["theirs_seconds"] / row["ours_seconds"]
        each = [
            theirs["best"] / ours["best"]
            for ours, theirs in zip(turns["ours"], turns["theirs"], strict=True)
        ]
        row["ratio_of_turns"] = {
            "lowest": min(each),
            "median": statistics.median(each),
            "highest": max(each),
            "turns": len(each),
        }
        row["agree"] = same(turns["ours"][0]["values"], turns["theirs"][0]["values"])
    return row | floor_of(options, pair, row.get("ours_seconds"))


def floor_of(options: dict[str, Any], pair: Pair, seconds: float | None) -> dict[str, Any]:
    """What the row does at least, the time that the machine needs for it, and our share of that."""
    times = {}
    found: dict[str, Any] = {}
    if "operations" in options:
        found["operations"] = options["operations"]
        times["operations"] = options["operations"] / pair.peak
    if "arrays" in options:
        count, numbers = options["arrays"]
        found["bytes"] = 4 * count * numbers
        found["bytes_per_second"] = pair.bandwidth(numbers)
        times["bytes"] = found["bytes"] / found["bytes_per_second"]
    if times:
        found["floor"] = max(times, key=lambda kind: times[kind])
        found["floor_seconds"] = times[found["floor"]]
        if seconds:
            found["share"] = found["floor_seconds"] / seconds
    return found


def fresh_process(python: str, code: str, environment: dict[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["?"])[-1][:160])
    return time.perf_counter() - began


def import_row(ours: Worker, theirs: Worker, rounds: int) -> dict[str, Any]:
    """Import times: the best wall time of `python -c 'import X'`, less a bare interpreter's."""
    row: dict[str, Any] = {"name": "import", "target": target_of("import")}
    base = ours.library.removesuffix("-as-torch")
    codes = {
        "bare": (ours, "pass"),
        "ours": (ours, f"import {base}"),
        "theirs_bare": (theirs, "pass"),
        "theirs": (theirs, f"import {theirs.library.removesuffix('-as-torch')}"),
        "numpy": (ours, "import numpy"),
    }
    best = dict.fromkeys(codes, float("inf"))
    try:
        for _ in range(max(3, rounds)):
            for key, (worker, code) in codes.items():
                best[key] = min(best[key], fresh_process(worker.python, code, worker.environment))
    except RuntimeError as error:
        return row | {"ours_error": str(error)}
    row["ours_seconds"] = best["ours"] - best["bare"]
    row["theirs_seconds"] = best["theirs"] - best["theirs_bare"]
    row["numpy_seconds"] = best["numpy"] - best["bare"]
    row["ratio"] = row["theirs_seconds"] / row["ours_seconds"]
    row["over_numpy"] = row["ours_seconds"] / row["numpy_seconds"]
    row["over_numpy_target"] = IMPORT_OVER_NUMPY
    return row


def memory_rows(ours: Worker, theirs: Worker) -> list[dict[str, Any]]:
    """Memory of processes that train: the lower of two runs each. `memory` is the whole process
    that trains the MLP; the other rows are what a program takes beyond its library's memory."""
    rows = []
    for name in MEMORY:
        row: dict[str, Any] = {"name": f"memory_{name}", "target": round(OWN_MEMORY, 2)}
        whole: dict[str, Any] = {"name": "memory", "target": target_of("memory")}
        for side, worker in (("ours", ours), ("theirs", theirs)) * 2:
            command = [worker.python, str(HERE / "workloads.py"), worker.library, "memory", name]
            done = subprocess.run(command, env=worker.environment, capture_output=True, text=True)
            if done.returncode:
                row[f"{side}_error"] = (done.stderr.strip().splitlines() or ["?"])[-1][:160]
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            for into, key in ((row, "own"), (whole, "bytes")):
                into[f"{side}_bytes"] = min(into.get(f"{side}_bytes", 1 << 62), found[key])
            row[f"{side}_faults"] = min(row.get(f"{side}_faults", 1 << 62), found["faults"])
        for each in [whole, row] if name == "mlp" else [row]:
            if "ours_bytes" in each and "theirs_bytes" in each:
                each["ratio"] = each["theirs_bytes"] / max(each["ours_bytes"], 1)
            rows.append(each)
    return rows


def wheel_row(wheel: str | None) -> dict[str, Any] | None:
    found = [Path(wheel)] if wheel else sorted((HERE.parent / "dist").glob("rushlight-*.whl"))
    if not found:
        return None
    return {"name": "wheel", "ours_bytes": found[-1].stat().st_size, "most_bytes": WHEEL_BYTES}


# --- showing
# ---------------------------------------------------------------------------------------


def span(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def size(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


def shown(row: dict[str, Any], side: str) -> str:
    if f"{side}_error" in row:
        return "-"
    if f"{side}_bytes" in row:
        return size(row[f"{side}_bytes"])
    return span(row[f"{side}_seconds"]) if f"{side}_seconds" in row else ""


def titled(row: dict[str, Any]) -> str:
    return f"{row['name']}  {'; '.join(notes_of(row))}".rstrip()


def notes_of(row: dict[str, Any]) -> list[str]:
    notes = [row["path"]] if "path" in row else []
    if row.get("agree") is False:
        notes.append("THE NUMBERS DIFFER")
    if "calls" in row:
        notes.append(f"each of {row['calls']}")
    for side in ("ours", "theirs"):
        if f"{side}_setting" in row:
            setting = ", ".join(f"{k}={v}" for k, v in row[f"{side}_setting"].items())
            notes.append(f"{side} with {setting}")
        if f"{side}_error" in row:
            notes.append(f"{side}: {row[f'{side}_error']}")
    if "over_numpy" in row:
        notes.append(f"{row['over_numpy']:.2f} x import numpy, at most {row['over_numpy_target']}")
    if "ours_faults" in row:
        notes.append(f"page faults a step: {row['ours_faults']}, {row.get('theirs_faults', '-')}")
    if "most_bytes" in row:
        notes.append(f"at most {size(row['most_bytes'])}")
    return notes


HEADINGS = "program threads ours theirs ratio turns target  floor share notes".split(" ")
WIDTHS = [24, 7, 10, 10, 7, 15, 7, 8, 22, 7, 0]


def cells(row: dict[str, Any]) -> list[str]:
    """The row as text, a cell for each of HEADINGS."""
    ratio, target, turns = row.get("ratio"), row.get("target"), row.get("ratio_of_turns")
    verdict = ""
    if ratio is not None and target:
        verdict = "reached" if ratio >= target else "short"
    return [
        row["name"],
        str(row.get("threads", "")),
        shown(row, "ours"),
        shown(row, "theirs"),
        "" if ratio is None else f"{ratio:.2f}",
        f"{turns['lowest']:.2f} to {turns['highest']:.2f}" if turns else "",
        f"{target}" if target else "",
        verdict,
        f"{span(row['floor_seconds'])} ({row['floor']})" if "floor" in row else "",
        f"{row['share']:.0%}" if "share" in row else "",
        "; ".join(notes_of(row)),
    ]


def line_of(texts: list[str]) -> str:
    return " ".join(f"{t:<{width}}" for t, width in zip(texts, WIDTHS, strict=True)).rstrip()


def markdown(result: dict[str, Any]) -> str:
    """The rows as a table of Markdown, with what the machine can do above it."""
    lines = []
    for threads, facts in result.get("probe", {}).items():
        lines.append(
            f"- {threads} {'thread' if threads == '1' else 'threads'}: "
            f"{facts['operations_per_second'] / 1e9:.0f} billion operations a second, "
            f"{facts['bytes_per_second'] / 1e9:.1f} GB read and written a second"
        )
    named = [heading or "verdict" for heading in HEADINGS]
    lines += ["", f"| {' | '.join(named)} |", "|---" * len(named) + "|"]
    lines += [f"| {' | '.join(cells(row))} |".replace("  ", " ") for row in result["rows"]]
    return "\n".join(lines)


def machine() -> dict[str, Any]:
    """What kind of machine this is: processor, cores, system. No names, no paths."""
    processor = platform.processor() or platform.machine()
    flags = ""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.split(":", 1)[1].strip()
            elif line.startswith("flags"):
                flags = line
    except OSError:
        pass
    vector = [name for name in ("avx2", "fma", "avx512f") if f" {name} " in f"{flags} "]
    return {
        "processor": processor,
        "vector": vector,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def summary(rows: list[dict[str, Any]]) -> str:
    """The geometric mean of the ratios, and the rows below 1, slowest first."""
    ratios = [(row["ratio"], row) for row in rows if "ratio" in row]
    if not ratios:
        return "no row has a ratio"
    mean = statistics.geometric_mean(ratio for ratio, _ in ratios)
    slower = sorted((each for each in ratios if each[0] < 1), key=operator.itemgetter(0))
    first = f"{len(ratios)} rows, geometric mean {mean:.2f}, {len(slower)} below 1"
    return "\n".join([first, *(f"  {ratio:.2f}  {titled(row)}" for ratio, row in slower)])


def measure(
    options: argparse.Namespace, workloads: Workloads, show: Callable[[str], None]
) -> dict[str, Any]:
    """Run what the options ask for; `show` gets each line as it is known."""
    rounds, seconds = (2, 0.1) if options.quick else (5, 0.4)

    def wanted(name: str, later: bool = False) -> bool:
        if options.only:
            return any(part in name for part in options.only)
        return options.later or not later

    names = [name for name, (_, o) in workloads.items() if wanted(name, o.get("later", False))]
    counts = {name: options.threads or threads_of(name) for name in names}
    pairs = {n: Pair(options, n) for n in sorted({1}.union(*counts.values()))}
    probe = {str(n): pair.facts() for n, pair in pairs.items()}
    ours, theirs = pairs[1].ours, pairs[1].theirs
    show(
        f"{options.ours} {ours.facts['version']} and {options.theirs} {theirs.facts['version']}, "
        f"best of {rounds} turns\n"
    )
    WIDTHS[0] = max(map(len, names), default=0)
    show(line_of(HEADINGS))
    rows: list[dict[str, Any]] = []

    def add(row: dict[str, Any] | None) -> None:
        if row:
            rows.append(row)
            show(line_of(cells(row)))

    for name in names:
        for threads in counts[name]:
            add(compare(name, workloads[name][1], pairs[threads], rounds, seconds))
    if workloads is WORKLOADS:
        if wanted("import"):
            add(import_row(ours, theirs, rounds))
        if wanted("memory"):
            for row in memory_rows(ours, theirs):
                add(row)
        if wanted("wheel"):
            add(wheel_row(options.wheel))
    show("\n" + summary(rows))
    for pair in pairs.values():
        pair.stop()
    return {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "quick": options.quick,
        "ours": ours.facts,
        "theirs": theirs.facts,
        "probe": probe,
        "rows": rows,
    }


def file_of(result: dict[str, Any]) -> str:
    """The result as JSON: a row on a line, numbers of four digits."""

    def rounded(text: str) -> float:
        return float(f"{float(text):.4g}")

    rows = json.loads(json.dumps(result["rows"]), parse_float=rounded)
    lines = ",\n".join(json.dumps({k: v for k, v in r.items() if v is not None}) for r in rows)
    head = json.dumps(result | {"rows": []}, indent=1)
    return head.replace('"rows": []', f'"rows": [\n{lines}\n ]') + "\n"


def main(
    workloads: Workloads = WORKLOADS,
    module: str = "workloads",
    table: Callable[[dict[str, Any]], str] = markdown,
) -> None:
    """The command. `module` is the file of the programs, by whose name a worker finds them;
    `table` makes of a result the table for documents."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="short turns, for a rough look")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="only the rows with these in their names"
    )
    parser.add_argument("--later", action="store_true", help="also the rows of later work")
    parser.add_argument(
        "--threads", nargs="+", type=int, metavar="N", help="time every row with so many threads"
    )
    parser.add_argument("--json", metavar="FILE", help="where to write the results; - for nowhere")
    parser.add_argument("--show", metavar="FILE", help="print these results, measure nothing")
    parser.add_argument("--markdown", action="store_true", help="print a table of Markdown")
    parser.add_argument(
        "--ours", default="rushlight", help="rushlight, rushlight-as-torch or torch"
    )
    parser.add_argument("--theirs", default="torch")
    parser.add_argument(
        "--their-python", default=sys.executable, help="the interpreter that has torch"
    )
    parser.add_argument("--wheel", metavar="FILE", help="the wheel to weigh (default: dist/)")
    options = parser.parse_args()
    options.module = module

    def show(line: str) -> None:
        if not options.markdown:
            print(line, flush=True)

    if options.show:
        result = json.loads(Path(options.show).read_text(encoding="utf-8"))
        for texts in [HEADINGS, *(cells(row) for row in result["rows"])]:
            show(line_of(texts))
        show("\n" + summary(result["rows"]))
    else:
        result = measure(options, workloads, show)
    if options.markdown:
        print(table(result))
    # A rough or partial run does not stand for the machine: it is kept only where asked.
    partial = options.quick or options.only or options.threads
    if options.show or options.json == "-" or (partial and not options.json):
        return
    prefix = "" if workloads is WORKLOADS else f"{module}-"
    file = HERE / "results" / f"{prefix}{result['date']}.json"
    file = Path(options.json) if options.json else file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(file_of(result), encoding="utf-8")
    show(f"\nwritten to {os.path.relpath(file)}")


if __name__ == "__main__":
    main()
