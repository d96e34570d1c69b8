"""Check rushlight on a GPU: its values, its speed beside PyTorch's on the same card, and trouble.

    python3 gpu_check.py [--device cuda] [--minutes 5.5] [--only PART ...] [--quick] [--out FOLDER]

In the folder that `make gpu-bundle` makes nothing else is needed: no network, no installation.
Parts are done in order of worth. All work is done by workers (gpu_tasks.py): processes with time
limits, which a crash, a hang or a driver's error ends alone. Results are written as they come:
results.json, and at the end page.txt, the worst rows first. What a part needs and does not find is
"not here".
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import math
import os
import platform
import queue
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import zipfile
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

PLACE = Path(__file__).resolve().parent
MINUTES = 5.5
ASKED = "name,driver_version,memory.total,memory.used,clocks.sm,clocks.mem,power.limit"
START = 25  # seconds that a process may take to begin
OK, WRONG, FAILED, SLOW, ABSENT, LEFT = "ok", "wrong", "failed", "slow", "not here", "left out"
Answer = dict[str, Any]

# ---- workers, seen from the check


class Worker:
    """A process that does tasks, with a time limit each; where one ended, the next task has a new
    one."""

    running: ClassVar[set[Worker]] = set()

    def __init__(
        self, options: Any, library: str = "rushlight", device: str = "", **environment: str
    ) -> None:
        words = [sys.executable, str(PLACE / "gpu_tasks.py"), library]
        self.words = [*words, device or options.device]
        self.words += ["--quick"] if options.quick else []
        self.environment = {**os.environ, **environment}
        self.process: Any = None

    def _start(self) -> None:
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115  (as long as the process)
        self.process = subprocess.Popen(
            self.words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=self.environment,
            start_new_session=True,
        )
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        Worker.running.add(self)
        threading.Thread(target=self._read, args=(self.process, self.lines), daemon=True).start()

    @staticmethod
    def _read(process: Any, lines: queue.SimpleQueue[str]) -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def do(self, name: str, *arguments: Any, seconds: float, most: float = math.inf) -> Answer:
        """The answer to a task; or, where none comes, why not. A process may take time to begin,
        but at most so much in all."""
        if self.process is None or self.process.poll() is not None:
            self._start()
            seconds += START
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps([name, arguments]) + "\n")
            self.process.stdin.flush()
        seconds = max(min(seconds, most), 0.1)
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            self.end()
            return {"state": FAILED, "said": f"no end after {seconds:.0f} s{self._last_words()}"}
        if line:
            answer: Answer = json.loads(line)
            if answer.pop("last", False):
                self.end(patience=2)
            return answer
        self.end(patience=2)
        code = self.process.returncode
        how = f"by {signal.Signals(-code).name}" if code and code < 0 else f"with code {code}"
        return {"state": FAILED, "said": f"the process ended {how}{self._last_words()}"}

    def _last_words(self) -> str:
        self.log.seek(0)
        lines = self.log.read().strip().splitlines()
        return f": {lines[-1][:200]}" if lines else ""

    def end(self, patience: float = 0.0) -> None:
        """Kill the process, which may take a moment to end by itself, and those that it started."""
        if self not in Worker.running:
            return
        for seconds in (patience, 5):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        Worker.running.discard(self)


# ---- results


class Results:
    """What was found so far, in a file that is whole at any time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lock = folder, threading.RLock()
        self.about: Answer = {"date": time.strftime("%Y-%m-%d %H:%M")}
        self.parts: dict[str, Answer] = {}
        self.rows: list[Answer] = []
        self.saved = 0.0
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, part: str, **row: Any) -> None:
        plain = {
            key: str(v) if isinstance(v, float) and not math.isfinite(v) else v
            for key, v in row.items()
        }
        with self.lock:
            self.rows.append({"part": part, **plain})
            if time.monotonic() - self.saved > 0.5:
                self.save()

    def save(self) -> None:
        with self.lock:
            whole = {"about": self.about, "parts": self.parts, "rows": self.rows}
            part = self.folder / "results.part"
            part.write_text(json.dumps(whole, indent=1, default=str) + "\n")
            part.replace(self.folder / "results.json")
            self.saved = time.monotonic()

    def bad(self) -> list[Answer]:
        """The rows that are not as they must be, worst first: failed, wrong, then the slowest."""
        order = {FAILED: 0, WRONG: 1, SLOW: 2}
        rows = [row for row in self.rows if row["state"] in order]
        return sorted(rows, key=lambda row: (order[row["state"]], row.get("reached", 0)))

    def page(self) -> str:
        with self.lock:
            return self._page()

    def _page(self) -> str:
        lines = [f"rushlight on {self.about.get('card', 'no device')}, {self.about['date']}", ""]
        lines += [f"  {key}: {value}" for key, value in self.about.items()]
        lines += [
            "",
            f"{'part':22}{'rows':>6}" + "".join(f"{s:>10}" for s in STATES) + "   seconds",
        ]
        for part, about in self.parts.items():
            states = Counter(row["state"] for row in self.rows if row["part"] == part)
            counts = "".join(f"{states[s]:10}" for s in STATES)
            lines.append(f"{part:22}{states.total():6}{counts}{about['seconds']:10.1f}")
        lines += ["", "Worst first"]
        lines += [f"  {told(row)}" for row in self.bad()] or ["  nothing"]
        lines += ["", "Not here, or left out"]
        lines += [f"  {told(row)}" for row in self.rows if row["state"] in (ABSENT, LEFT)]
        for part in self.parts:
            rows = [r for r in self.rows if r["part"] == part and "ours" in r]
            if rows:
                head = "".join(f"{c:>11}" for c in ("ours, us", "PyTorch", "alone", "queued"))
                lines += ["", f"{part:56}{head}   ratio      rate         share    error"]
                lines += [measured(row) for row in sorted(rows, key=lambda r: r.get("ratio", 0))]
        return "\n".join(lines) + "\n"


STATES = (OK, FAILED, WRONG, SLOW, ABSENT, LEFT)


def told(row: Answer) -> str:
    """A row in a line."""
    said = " ".join(str(row.get("said", "")).split())[:300]
    if row["state"] == SLOW:
        said = f"{row['reached']:.2f} of the figure to reach: {said}"
    return f"{row['state']:9} {row['part']}, {row.get('name', '')}: {said}"


def measured(row: Answer) -> str:
    """A row of times, in a line of a table."""

    def cell(key: str, shown: str, wide: int, factor: float = 1.0) -> str:
        value = row.get(key)
        return f"{format(value * factor, shown) if isinstance(value, float) else '-':>{wide}}"

    times = "".join(cell(key, ".1f", 11, 1e6) for key in ("ours", "theirs", "alone", "queued"))
    rate = f"{cell('rate', '.1f', 10)} {row.get('unit', ''):8}"
    host = f" by way of the host: {', '.join(row['by host'])}" if row.get("by host") else ""
    more = (
        f"{cell('ratio', '.2f', 8)}{rate}{cell('share', '.2f', 6)}{cell('error', '.1e', 9)}{host}"
    )
    return f"  {row['name']:54}{times}{more}"


# ---- parts


@dataclass
class Check:
    """A run of the check."""

    options: Any
    results: Results
    end: float
    card: Answer = field(default_factory=dict)
    theirs: Answer = field(default_factory=dict)
    copy_rate: float = 0.0
    """GB/s of a plain copy, the best that was measured."""

    @cached_property
    def columns(self) -> dict[str, Worker]:
        """The workers that take turns; alone: rushlight without NVIDIA's libraries."""
        found = {"ours": Worker(self.options), "theirs": Worker(self.options, "torch", "cuda")}
        if self.options.device == "cuda":
            none = dict.fromkeys(("RUSHLIGHT_CUBLAS_LIBRARY", "RUSHLIGHT_CUDNN_LIBRARY"), "")
            found["alone"] = Worker(self.options, **none)
        return found

    @property
    def scale(self) -> float:
        """Longer limits for a check that may take longer."""
        return float(self.options.minutes) / MINUTES

    @property
    def judged(self) -> bool:
        """Whether both libraries have computed on the same card."""
        return self.options.device == "cuda" and "capability" in self.theirs


@dataclass
class Under:
    """A part under way."""

    name: str
    check: Check
    end: float

    def left(self) -> float:
        return min(self.end, self.check.end) - time.monotonic()

    def row(self, **fields: Any) -> None:
        self.check.results.add(self.name, **fields)
        if fields["state"] in (FAILED, WRONG):
            print(told({"part": self.name, **fields}), flush=True)

    def do(self, worker: Worker, name: str, *arguments: Any, seconds: float) -> Answer:
        """A task, within the part's time; cut short at its end, nothing is held against it."""
        left = self.left()
        if left <= 0:
            return {"state": LEFT, "said": "no time was left"}
        answer = worker.do(name, *arguments, seconds=seconds * self.check.scale, most=left)
        if answer["state"] == FAILED and self.left() <= 0:
            return {"state": LEFT, "said": f"cut short: {answer['said']}"}
        return answer


def side_by_side(calls: Iterable[Callable[[], None]]) -> None:
    """Calls, each in a thread of its own, until the last has ended."""
    running = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def pooled(
    under: Under,
    tasks: list[tuple[Any, ...]],
    processes: int,
    seconds: float = 30,
    device: str = "",
    fresh: bool = False,
) -> None:
    """Tasks done by several workers side by side; fresh: each by one of its own."""
    waiting = deque(tasks)

    def work() -> None:
        worker = Worker(under.check.options, device=device, OMP_NUM_THREADS="1")
        while under.left() > 0:
            try:
                words = waiting.popleft()
            except IndexError:
                break
            answer = under.do(worker, *words, seconds=seconds)
            under.row(**{"name": " ".join(map(str, words[1:])) or words[0], **answer})
            if fresh:
                worker.end()
        worker.end()

    if under.check.options.quick:
        processes = min(processes, 2)
    side_by_side(work for _ in range(min(processes, len(tasks))))
    if waiting:
        under.row(name=f"{len(waiting)} tasks", state=LEFT, said="no time was left")


def named(under: Under, doing: str, processes: int, part: str = "", device: str = "") -> None:
    """A task for each name that a worker tells of."""
    worker = Worker(under.check.options, device=device)
    answer = under.do(worker, "names", part or under.name, seconds=60)
    worker.end()
    if "names" not in answer:
        under.row(name="names", **answer)
        return
    pooled(under, [(doing, name) for name in answer["names"]], processes, device=device)


def there(under: Under) -> None:
    """The machine, the libraries and their devices; the device to check is chosen here."""
    check, options = under.check, under.check.options
    about, found = check.results.about, dict[str, Answer]()
    wanted = [options.device] if options.device else ["cuda", "opencl"]
    workers = {"machine": Worker(options, device="cpu")}
    workers |= {device: Worker(options, device=device) for device in wanted}
    workers["PyTorch"] = Worker(options, "torch", "cuda")

    def ask(name: str) -> None:
        doing = "machine" if name == "machine" else "facts"
        found[name] = under.do(workers[name], doing, seconds=60)
        workers[name].end()

    side_by_side(partial(ask, name) for name in workers)
    for name in workers:
        driver = {"cuda": "driver's CUDA", "opencl": "OpenCL's platforms"}.get(name)
        if found[name]["state"] == FAILED and driver and not found["machine"].get(driver):
            found[name]["state"] = ABSENT
        under.row(**{**found[name], "name": name, "card": found[name].get("name")})
    about |= {key: value for key, value in found["machine"].items() if key != "state"}
    about["nvidia-smi"] = said_by("nvidia-smi", f"--query-gpu={ASKED}", "--format=csv")
    about["nvcc"] = said_by("nvcc", "--version").rpartition("release ")[2]
    here = [device for device in wanted if found[device]["state"] == OK]
    options.device = here[0] if here else ""
    if here:
        check.card = found[here[0]]
        about |= {"card": check.card["name"], "checked": here[0], "devices": here}
    check.theirs = found["PyTorch"] if found["PyTorch"]["state"] == OK else {}
    about["libraries"] = [found[name].get("library", ABSENT) for name in (*wanted, "PyTorch")]


def said_by(*words: str) -> str:
    """What a program prints; "not here" where there is none."""
    if shutil.which(words[0]) is None:
        return ABSENT
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(words, capture_output=True, text=True, timeout=10)
        return " ".join(done.stdout.split())
    return "no answer"


def tensor(under: Under) -> None:
    kinds = "float32 float64 float16 bfloat16 int64 int32 uint8 bool complex64".split()
    pooled(under, [("round_trip", kind) for kind in kinds], 3)


def networks(under: Under) -> None:
    made = "digits mlp cnn lstm gpt vae pinn".split()
    pooled(under, [("network", name) for name in made], 2, seconds=60)


def on_opencl(under: Under) -> None:
    """The sweep again by NVIDIA's OpenCL, where the check is CUDA's."""
    about = under.check.results.about
    if about["checked"] == "cuda" and "opencl" in about["devices"]:
        named(under, "op", 4, "sweep", "opencl")
    else:
        under.row(name="opencl", state=ABSENT, said="no OpenCL beside CUDA")


def timed_in_turns(under: Under, turns: int = 3) -> None:
    """The programs of a group: set up by all libraries at once, then timed by each in turns."""
    columns, group, quick = under.check.columns, under.name, under.check.options.quick
    if group in ("calls", "memory"):  # no library of NVIDIA's is in these
        columns = {name: worker for name, worker in columns.items() if name != "alone"}
    names = under.do(columns["ours"], "names", group, seconds=30).get("names", [])
    for at, name in enumerate(names):
        if under.left() < 1:
            said = f"no time was left: {', '.join(names[at:])}"
            under.row(name=f"{len(names) - at} programs", state=LEFT, said=said)
            return
        made: dict[str, Answer] = {}

        def prepare(column: str, made: dict[str, Answer] = made, name: str = name) -> None:
            made[column] = under.do(columns[column], "prepared", group, name, seconds=20)

        side_by_side(partial(prepare, column) for column in columns)
        times: dict[str, list[Answer]] = {column: [] for column in columns}
        for _ in range(1 if quick else turns):
            for column in columns if made["ours"]["state"] == OK else ():
                if made[column]["state"] == OK:
                    words = "timed", group, name, 0.05 if quick else 0.15
                    answer = under.do(columns[column], *words, seconds=20)
                    times[column].append(answer)
                    made[column]["state"] = answer["state"]
        under.row(**{"name": name, **compared(under, name, made, times)})


def compared(
    under: Under, name: str, made: dict[str, Answer], times: dict[str, list[Answer]]
) -> Answer:
    """The row of a program: medians, ratio, rate, share, error and what is to be reached."""
    check, ours = under.check, made["ours"]
    broken = [a for a in (ours, *times["ours"]) if a["state"] != OK and "said" in a]
    if broken:
        return broken[0]
    row: Answer = {"state": OK, "by host": ours["by host"]}
    for column, answers in times.items():
        done = [t for answer in answers for t in answer.get("done", [])]
        if done:
            row[column] = statistics.median(done)
        said = [a["said"] for a in (made[column], *answers) if "said" in a]
        row |= {"said": f"{column}: {said[0]}"} if said else {}
    for column, word in (("ours", "queued"), ("theirs", "theirs queued")):
        queued = [t for answer in times.get(column, []) for t in answer.get("queued", [])]
        row |= {word: statistics.median(queued)} if queued else {}
    if ours["bytes"] or ours["operations"]:
        row["rate"] = (ours["bytes"] / 1e9 or ours["operations"] / 1e12) / row["ours"]
        row["unit"] = "GB/s" if ours["bytes"] else "TFLOP/s"
    if "theirs" in row:
        row["ratio"] = row["theirs"] / row["ours"]
    for column in ("theirs", "alone"):
        if "values" in made.get(column, {}):
            error = difference(ours["values"], made[column]["values"])
            row["error"] = max(error, row.get("error", 0.0))
            if not error <= ours["bound"]:
                row |= {"state": WRONG, "said": f"the results of ours and {column} differ"}
    if ours["bytes"]:
        if name == "copy":
            check.copy_rate = ours["bytes"] / 1e9 / min(row["ours"], row.get("theirs", math.inf))
        row |= {"share": row["rate"] / check.copy_rate} if check.copy_rate else {}
    reached = {word: v for word, v in figures(under.name, name, row).items() if v < 1}
    if check.judged and reached and row["state"] == OK:
        worst = min(reached, key=lambda word: reached[word])
        row |= {"state": SLOW, "reached": reached[worst], "said": worst}
    return row


def difference(ours: Answer, theirs: Answer) -> float:
    """How far two results are apart, as a part of the largest number."""
    if ours["size"] != theirs["size"]:
        return math.inf
    pairs = [(ours["mean"], theirs["mean"]), *zip(ours["samples"], theirs["samples"], strict=True)]
    apart = [abs(a - b) for a, b in pairs if a != b and not (math.isnan(a) and math.isnan(b))]
    largest = max((abs(b) for _, b in pairs if math.isfinite(b)), default=0.0)
    return math.inf if any(map(math.isnan, apart)) else max(apart, default=0.0) / (largest or 1.0)


def figures(part: str, name: str, row: Answer) -> Answer:
    """The parts of the figures to reach that a row reaches; 1 is enough."""
    found: Answer = {}
    ratio, alone = row.get("ratio"), row.get("alone")
    aim = 2.0 if part == "steps" and name.startswith(("MLP 4", "PINN", "RNN")) else 1.0
    if ratio:
        found[f"{aim} times PyTorch's speed"] = ratio / aim
    if ratio and alone and (name.endswith("in float32") or name == "GPT 6x384"):
        found["0.8 times PyTorch's speed without its libraries"] = row["theirs"] / alone / 0.8
    if "share" in row:
        found["85 % of a copy's bandwidth"] = row["share"] / 0.85
    if name in ("an empty kernel", "a + b") and "queued" in row:
        found["a call queued in 3 us"] = 3e-6 / row["queued"]
    if "theirs queued" in row:
        found["PyTorch's time to queue a call"] = row["theirs queued"] / row["queued"]
    return found


def trouble(under: Under) -> None:
    doing = ["index_out_of_bounds", "fork", "threads", "many_steps", "out_of_memory"]
    pooled(under, [(name,) for name in doing], 1, seconds=60, fresh=True)
    killed(under)


def killed(under: Under) -> None:
    """The memory of a killed process is free again."""

    def used() -> int:
        words = "--query-gpu=memory.used", "--format=csv,noheader,nounits"
        return int(said_by("nvidia-smi", *words).split()[0])

    quick, worker = under.check.options.quick, Worker(under.check.options)
    size = (16 if quick else 8192) << 20
    try:
        before = used()
    except ValueError:
        before = -1
    answer = under.do(worker, "hold", size, seconds=20)
    if answer["state"] != OK or before < 0:
        worker.end()
        absent = {"state": ABSENT, "said": "nvidia-smi"}
        under.row(**{**(absent if answer["state"] == OK else answer), "name": "killed"})
        return
    held = used()
    worker.end()
    until = time.monotonic() + 10
    while used() > before + (size >> 21) and time.monotonic() < until:
        time.sleep(0.2)
    after = used()
    well = after <= before + (size >> 21) < held
    said = (
        f"MiB in use: {before} before, {held} with a process, {after} after the process was killed"
    )
    under.row(name="killed", state=OK if well else WRONG, said=said)


def choices(under: Under) -> None:
    """The device's row for the table of choices, in a file of its own, too."""
    worker = Worker(under.check.options)
    answer = under.do(worker, "chosen", under.left() / 2, seconds=120)
    worker.end()
    under.row(**{"name": "choices", **answer})
    if "row" in answer:
        (under.check.results.folder / "choices.toml").write_text(answer["row"])


Stages = list[list[tuple[str, float, Callable[[Under], None]]]]
STAGES: Stages = [  # parts in order of worth, and how many of 330 seconds each may take
    [("there", 90, there)],
    [("tensor", 10, tensor)],
    [("compile", 60, partial(named, doing="compiled", processes=14))],
    [
        ("sweep", 75, partial(named, doing="op", processes=7)),
        ("networks", 75, networks),
        ("op_db", 75, partial(named, doing="entry", processes=5)),
    ],
    [("calls", 20, timed_in_turns)],
    [("memory", 30, timed_in_turns)],
    [("products", 40, partial(timed_in_turns, turns=2))],
    [("steps", 40, timed_in_turns)],
    [("attention", 15, timed_in_turns)],
    [("convolutions", 20, timed_in_turns)],
    [("trouble", 35, trouble)],
    [("choices", 30, choices)],
    [("sweep on OpenCL", 30, on_opencl)],
]
PARTS = [name for stage in STAGES for name, _, _ in stage]


def do_part(check: Check, name: str, seconds: float, part: Callable[[Under], None]) -> None:
    """A part, whatever becomes of it."""
    began = time.monotonic()
    under = Under(name, check, began + seconds)
    with check.results.lock:
        check.results.parts[name] = {"seconds": 0.0}
    if not check.options.device and name != "there":
        under.row(name=name, state=ABSENT, said="a device")
    elif under.left() < 2:
        under.row(name=name, state=LEFT, said="no time was left")
    else:
        try:
            part(under)
        except Exception:
            said = " ".join(traceback.format_exc().split())[-300:]
            under.row(name=name, state=FAILED, said=f"the check itself: {said}")
    check.results.parts[name] = {"seconds": round(time.monotonic() - began, 1)}
    check.results.save()
    counts = Counter(row["state"] for row in check.results.rows if row["part"] == name)
    said = ", ".join(f"{count} {state}" for state, count in counts.items())
    print(f"{name}: {said} ({time.monotonic() - began:.0f} s)", flush=True)


def run(options: Any, stages: Stages = STAGES) -> Results:
    """All parts, those of a stage side by side; a page at the end."""
    began = time.monotonic()
    check = Check(options, Results(Path(options.out)), began + 60 * options.minutes)
    results, chosen = check.results, options.only or PARTS
    try:
        for stage in stages:
            side_by_side(
                partial(do_part, check, name, seconds * check.scale, part)
                for name, seconds, part in stage
                if name in ("there", *chosen)
            )
    finally:
        check.end = 0.0
        for worker in list(Worker.running):
            worker.end()
        results.about["seconds"] = round(time.monotonic() - began, 1)
        results.save()
        (results.folder / "page.txt").write_text(results.page())
    return results


def unpack(into: Path) -> None:
    """Make the bundle's wheels importable for workers: rushlight's, and those that are missing."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    for wheel in sorted((PLACE / "wheels").glob("*.whl")):
        name = wheel.name.partition("-")[0].lower()
        if name == "rushlight" and f"-{tag}-" not in wheel.name:
            sys.exit(f"{wheel.name} is not for this Python, {platform.python_version()}")
        if name == "rushlight" or importlib.util.find_spec(name) is None:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(into)
    paths = [str(into), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def arguments() -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="", help="cuda or opencl; the first that is there")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all parts together")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="few and small, for trying")
    parser.add_argument("--out", default="gpu-results", help="the folder for the results")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    with tempfile.TemporaryDirectory() as folder:
        unpack(Path(folder))
        results = run(options)
    print(results.page())


if __name__ == "__main__":
    main()
