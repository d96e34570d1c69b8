"""Jobs of several processes, started by the command as a user starts them."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from _alone import PATIENCE


def environment(**more):
    """This process's environment without what a launcher would have given it."""
    ours = "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ours and not name.startswith(("TORCHELASTIC_", "OMPI_", "PMI", "SLURM_"))
    }
    return kept | {"OMP_NUM_THREADS": "1"} | more


def start(folder, program, *options, arguments=(), **more):
    """Start `rushlight OPTIONS train.py ARGUMENTS`, a Popen in a session of its own."""
    (folder / "train.py").write_text(textwrap.dedent(program), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-m", "rushlight", *options, "train.py", *arguments],
        cwd=folder,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(folder, program, *options, arguments=(), **more):
    """The same, run to its end: exit code, output and errors."""
    with start(folder, program, *options, arguments=arguments, **more) as process:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)  # the supervisor ends its processes
            raise
    return Done(process.returncode, out, err)


class Done:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


def alive(pid):
    """Whether a process runs: one that has ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until(condition, seconds=PATIENCE):
    """Wait until a condition is true, at most so long; whether it is."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def children(pid):
    """The processes that a process has started."""
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
