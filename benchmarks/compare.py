"""Time the same PyTorch programs on rushlight and on torch, and show torch's time over ours.

    python benchmarks/compare.py [--quick] [--only NAME ...] [--json FILE] [--later]
                                 [--ours LIBRARY] [--theirs LIBRARY] [--their-python PYTHON]
                                 [--wheel FILE]

Each library has a process of its own, and they take turns (ours, theirs, ours, ...), one thread
each, so that a slow moment of the machine meets both; a time is the best over all turns. A row is
trusted only if both libraries computed the same numbers. `--theirs torch --ours torch` shows the
method's own error: ratios near 1. The results of a whole run are written as JSON to
benchmarks/results/, with date, machine, versions and targets; those of a --quick or --only run
where --json says.

A benchmark, not a test: nothing fails when a ratio falls short.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from workloads import MEMORY, WORKLOADS  # noqa: E402  (the folder had to be put on the path first)

# Torch's time over ours that we mean to reach at least; rows without a target are shown all the
# same.
TARGETS = {
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
    "softmax_4m": 1.1,
    "layer_norm_4m": 1.1,
    "chain_4m_backward": 1.0,
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

ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "RUSHLIGHT_NUM_THREADS",
    )
}


class Worker:
    """A process that runs workloads on one library, started again if a workload kills it."""

    def __init__(self, library: str, python: str, environment: dict[str, str]) -> None:
        self.library, self.python, self.environment = library, python, environment
        self.process: subprocess.Popen[str] | None = None
        self.facts: dict[str, Any] = {}
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.python, str(HERE / "workloads.py"), self.library],
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

    def time(self, name: str, setting: dict[str, Any], seconds: float) -> dict[str, Any]:
        assert self.process and self.process.stdin
        request = json.dumps({"name": name, "setting": setting, "seconds": seconds})
        try:
            self.process.stdin.write(request + "\n")
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


def same(a: list[float], b: list[float]) -> bool:
    return all(math.isclose(x, y, rel_tol=2e-3, abs_tol=1e-5) for x, y in zip(a, b, strict=True))


def compare(name: str, ours: Worker, theirs: Worker, rounds: int, seconds: float) -> dict[str, Any]:
    """One row: both libraries in turns, each with the fastest of the settings it has."""
    options = WORKLOADS[name][1]
    settings = options.get("variants", [{}])
    row: dict[str, Any] = {"name": name, "target": TARGETS.get(name)}
    if options.get("once"):
        rounds = min(rounds, 2)
    best: dict[str, tuple[float, dict[str, Any]]] = {}
    numbers: dict[str, list[float]] = {}
    errors: dict[str, str] = {}
    for setting in settings:
        failed: set[str] = set()
        for _ in range(rounds):
            for side, worker in (("ours", ours), ("theirs", theirs)):
                if side in failed:
                    continue
                answer = worker.time(name, setting, seconds / len(settings))
                if "error" in answer:
                    # A library need not have every setting, but it must do the plain program.
                    failed.add(side)
                    if not setting:
                        errors[side] = answer["error"]
                    continue
                if answer["values"] is not None:
                    numbers.setdefault(side, answer["values"])
                if side not in best or answer["best"] < best[side][0]:
                    best[side] = (answer["best"], setting)
    calls = options.get("calls", 1)
    for side in ("ours", "theirs"):
        if side in errors or side not in best:
            row[f"{side}_error"] = errors.get(side, "no setting worked")
        else:
            row[f"{side}_seconds"] = best[side][0] / calls
            if best[side][1]:
                row[f"{side}_setting"] = best[side][1]
    if calls > 1:
        row["calls"] = calls
    if "ours_seconds" in row and "theirs_seconds" in row:
        row["ratio"] = row["theirs_seconds"] / row["ours_seconds"]
        row["agree"] = same(numbers["ours"], numbers["theirs"])
    return row


def fresh_process(python: str, code: str, environment: dict[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["?"])[-1][:160])
    return time.perf_counter() - began


def import_row(ours: Worker, theirs: Worker, rounds: int) -> dict[str, Any]:
    """Import times: the best wall time of `python -c 'import X'`, less a bare interpreter's."""
    row: dict[str, Any] = {"name": "import", "target": TARGETS["import"]}
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
        whole: dict[str, Any] = {"name": "memory", "target": TARGETS["memory"]}
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


def print_row(row: dict[str, Any]) -> None:
    ratio, target = row.get("ratio"), row.get("target")
    notes = []
    if ratio is not None and target:
        notes.append("reached" if ratio >= target else "short")
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
    print(
        f"{row['name']:<18} {shown(row, 'ours'):>10} {shown(row, 'theirs'):>10} "
        f"{'' if ratio is None else f'{ratio:.2f}':>7} {target or '':>7}  {'; '.join(notes)}",
        flush=True,
    )


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="short turns, for a rough look")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="only the rows with these in their names"
    )
    parser.add_argument("--later", action="store_true", help="also the rows of later work")
    parser.add_argument("--json", metavar="FILE", help="where to write the results; - for nowhere")
    parser.add_argument(
        "--ours", default="rushlight", help="rushlight, rushlight-as-torch or torch"
    )
    parser.add_argument("--theirs", default="torch")
    parser.add_argument(
        "--their-python", default=sys.executable, help="the interpreter that has torch"
    )
    parser.add_argument("--wheel", metavar="FILE", help="the wheel to weigh (default: dist/)")
    options = parser.parse_args()
    rounds, seconds = (2, 0.1) if options.quick else (5, 0.4)

    def wanted(name: str, later: bool = False) -> bool:
        if options.only:
            return any(part in name for part in options.only)
        return options.later or not later

    environment = os.environ | ONE_THREAD
    if options.quick:
        environment["RUSHLIGHT_BENCH_NODES"] = "100000"
    ours = Worker(options.ours, sys.executable, environment)
    theirs = Worker(options.theirs, options.their_python, environment)
    print(
        f"{options.ours} {ours.facts['version']} and {options.theirs} {theirs.facts['version']}, "
        f"one thread each, best of {rounds} turns\n"
    )
    print(f"{'':<18} {'ours':>10} {'theirs':>10} {'ratio':>7} {'target':>7}")
    rows: list[dict[str, Any]] = []

    def add(row: dict[str, Any] | None) -> None:
        if row:
            rows.append(row)
            print_row(row)

    for name, (_, row_options) in WORKLOADS.items():
        if wanted(name, row_options.get("later", False)):
            add(compare(name, ours, theirs, rounds, seconds))
    if wanted("import"):
        add(import_row(ours, theirs, rounds))
    if wanted("memory"):
        for row in memory_rows(ours, theirs):
            add(row)
    if wanted("wheel"):
        add(wheel_row(options.wheel))
    ours.stop()
    theirs.stop()

    today = datetime.date.today().isoformat()
    result = {
        "date": today,
        "machine": machine(),
        "quick": options.quick,
        "ours": ours.facts,
        "theirs": theirs.facts,
        "rows": rows,
    }
    # A rough or partial run does not stand for the machine: it is kept only where asked.
    if options.json == "-" or ((options.quick or options.only) and not options.json):
        return
    file = Path(options.json) if options.json else HERE / "results" / f"{today}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten to {os.path.relpath(file)}")


if __name__ == "__main__":
    main()
