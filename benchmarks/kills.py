"""Kill a process of a training job at a random step, again and again, and look what is left.

    python benchmarks/kills.py [--times 20] [--steps 200] [--processes 2] [--seed 0]

Each run is `rushlight torchrun --max-restarts 1` of the script of restarting.py,
where a random rank ends itself by SIGKILL at a random step. A run is right if it ends with exit
code 0 after one restart, its losses are those of a run that was never stopped, to the bit, the
checkpoint can be read and has the last step, no half one is beside it, and no process is left that
has the run's marker in its environment. The exit code is the number of runs that were not.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = Path(__file__).resolve().with_name("restarting.py")
MARKER = "RUSHLIGHT_KILLS"


def orphans(marker: str) -> list[int]:
    """The processes with the marker in their environment."""
    wanted = f"{MARKER}={marker}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (place / "environ").read_bytes().split(b"\0"):
                found.append(int(place.name))
        except OSError:
            pass  # it has ended, or is another user's
    return found


def run(folder: Path, processes: int, steps: int, kills: list[str]) -> tuple[int, str, float]:
    """Run the job in a folder: exit code, what it said, seconds."""
    options = ["torchrun", "--nproc-per-node", str(processes), "--max-restarts", "1"]
    command = [sys.executable, "-m", "rushlight", *options, str(SCRIPT)]
    begin = time.monotonic()
    done = subprocess.run(
        [*command, str(folder), str(steps), *kills],
        env={**os.environ, MARKER: str(folder), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
    )
    return done.returncode, done.stderr, time.monotonic() - begin


def main() -> None:
    """Run the jobs and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance, wrong, times, left_over = random.Random(options.seed), 0, [], 0
    restarts = 0
    import rushlight as rl  # to read the checkpoints

    with tempfile.TemporaryDirectory() as parent:
        expected = ""
        print("run   kill  rank    exit  restarts  orphans  checkpoint  losses       seconds")
        for number in range(options.times + 1):
            folder = Path(parent, str(number))
            folder.mkdir()
            step, rank = chance.randrange(options.steps), chance.randrange(options.processes)
            kills = [f"0:{rank}:{step}"] if number else []
            code, said, seconds = run(folder, options.processes, options.steps, kills)
            restarted = said.count("restart 1 of 1")
            left = len(orphans(str(folder)))
            file = folder / "losses"
            losses = file.read_text() if file.exists() else ""
            expected = expected or losses
            names = sorted(path.name for path in folder.iterdir())
            whole = names == ["checkpoint.pt", "losses"]
            whole = whole and rl.load(folder / "checkpoint.pt")["step"] == options.steps
            same = losses == expected != ""
            right = code == 0 and restarted == len(kills) and not left and whole and same
            what = f"{step:6d}{rank:6d}" if kills else f"{'-':>6}{'-':>6}"
            print(
                f"{number:3d} {what}{code:8d}{restarted:10d}{left:9d}"
                f"{'whole' if whole else 'LOST':>12}{'same' if same else 'OTHER':>8}"
                f"{seconds:14.2f}",
                flush=True,
            )
            if not right:
                wrong += 1
                print(said, file=sys.stderr)
            left_over += left
            restarts += restarted
            times += [seconds] if kills else []
    if times:
        print(
            f"{len(times)} runs killed: median {statistics.median(times):.2f} s "
            f"({min(times):.2f} to {max(times):.2f}), {restarts} restarts, {left_over} orphans, "
            f"{wrong} wrong"
        )
    raise SystemExit(min(wrong, 100))


if __name__ == "__main__":
    main()
