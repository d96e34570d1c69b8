"""Run the quick start of each library built on PyTorch, and compare its numbers with PyTorch's.

    make libraries                              an environment with them and rushlight; all of them
    python libraries/run.py kornia pyro         some of them, in such an environment
    python libraries/run.py --record            write pytorch.json, where `import torch` is PyTorch

A program in quick_starts/ is what its library's own introduction shows, made small: it names torch
and the library only, seeds its random numbers, and prints numbers. The recorded ones are those that
the same program printed on PyTorch, with the libraries of requirements.txt.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "pytorch.json"
NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)")
RELATIVE, ABSOLUTE = 1e-4, 1e-6  # float32, through at most fifty steps of training
SECONDS = 300


def numbers(name: str) -> tuple[list[float] | None, float, str]:
    """What a quick start prints, its seconds, and where it failed the last line of its error."""
    command = [sys.executable, "-W", "ignore", str(HERE / "quick_starts" / f"use_{name}.py")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    started = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as folder:  # some write logs where they stand
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
    except subprocess.TimeoutExpired:
        return None, SECONDS, f"no end after {SECONDS} s"
    seconds = time.perf_counter() - started
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return None, seconds, lines[-1] if lines else f"exit code {done.returncode}"
    return [float(n) for n in NUMBER.findall(done.stdout)], seconds, ""


def differing(found: list[float], wanted: list[float]) -> str:
    """The first number that is not PyTorch's, as text; empty where all agree."""
    if len(found) != len(wanted):
        return f"{len(found)} numbers, PyTorch's are {len(wanted)}"
    for place, (a, b) in enumerate(zip(found, wanted, strict=True), 1):
        if not (a == b or abs(a - b) <= ABSOLUTE + RELATIVE * abs(b)):
            return f"number {place} is {a:.7g}, PyTorch's is {b:.7g}"
    return ""


def record(names: list[str]) -> int:
    """Write what PyTorch prints; nothing where a program fails."""
    import torch

    if "rushlight" in torch.__version__:
        sys.exit("--record needs PyTorch itself: here `import torch` finds rushlight")
    known = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for name in names:
        found, seconds, error = numbers(name)
        print(f"{name:20}{seconds:7.1f} s  {error or f'{len(found or [])} numbers'}", flush=True)
        if found is None:
            return 1
        known[name] = {"torch": str(torch.__version__), "seconds": round(seconds, 1)}
        known[name]["numbers"] = found
    lines = [f"{json.dumps(name)}: {json.dumps(known[name])}" for name in sorted(known)]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return 0


def main() -> int:
    """Run those named, or all, and print a line for each; 1 where one failed."""
    named = [a for a in sys.argv[1:] if not a.startswith("-")]
    all_names = sorted(p.stem.removeprefix("use_") for p in (HERE / "quick_starts").glob("*.py"))
    names = named or all_names
    if "--record" in sys.argv[1:]:
        return record(names)
    recorded = json.loads(RECORDED.read_text())
    wrong = 0
    print(f"{'library':20}{'seconds':>9}  {'numbers':>7}")
    for name in names:
        found, seconds, error = numbers(name)
        error = error or differing(found or [], recorded[name]["numbers"])
        wrong += bool(error)
        count = "" if found is None else len(found)
        print(f"{name:20}{seconds:9.1f}  {count:>7}  {error or 'the same'}", flush=True)
    print(f"{len(names) - wrong} of {len(names)} give PyTorch's numbers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
