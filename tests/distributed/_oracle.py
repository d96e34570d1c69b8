"""A program run by several processes under PyTorch (gloo) and under rushlight, for comparison.

The program says `import torch` and calls `note(name, function)`: what the function gives, or its
error, is written down as text, and the files of both runs are compared.
"""

import json
import socket
import subprocess
import sys
import textwrap

import pytest
from _jobs import environment, run

from _alone import PATIENCE

_HEAD = """
import json, sys
import torch
import torch.distributed as dist
noted = {}
def note(name, function):
    assert name not in noted, name
    try:
        found = function()
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    text = found if isinstance(found, str) else repr(found)
    noted[name] = text.replace("rushlight", "torch")
"""
# PyTorch's gloo sometimes tells the error of an earlier collective in the last barrier, or aborts
# while its process ends; what it found is written by then.
END = """
import os, sys
if "rushlight" not in sys.modules:
    try:
        dist.barrier()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
dist.barrier()
dist.destroy_process_group()
"""
_TAIL = (
    """
with open(f"{sys.argv[1]}.{dist.get_rank()}", "w") as file:
    json.dump(noted, file)
"""
    + END
)
# PyTorch takes seconds to import: ranks are forked from a process that has. The first that fails
# ends the others, which would wait for it.
_RANKS = """
import os, runpy, signal, sys
import torch, torch.distributed
del sys.argv[0]
ranks, failed = [], 0
for rank in range(int(os.environ["WORLD_SIZE"])):
    ranks.append(os.fork())
    if not ranks[-1]:
        os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(rank)
        runpy.run_path(sys.argv[0], run_name="__main__")
        sys.exit()
while ranks:
    ended, status = os.wait()
    ranks.remove(ended)
    if status and not failed:
        failed = 1
        for other in ranks:
            os.kill(other, signal.SIGKILL)
sys.exit(failed)
"""


def by_torch(folder, processes, script, *arguments):
    """Run a script in a group of PyTorch's processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(processes)}
    done = subprocess.run(
        [sys.executable, "-c", _RANKS, script, *arguments],
        cwd=folder,
        env=environment(**told),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr


def compare(folder, program, processes):
    """Run a program under both; the names noted, and where the two differ."""
    pytest.importorskip("torch")
    text = _HEAD + textwrap.dedent(program) + _TAIL
    ours = run(folder, text, "run", "--nproc", str(processes), arguments=["rushlight"])
    assert ours.code == 0, ours.err
    by_torch(folder, processes, "train.py", "torch")
    differing, names = [], set()
    for rank in range(processes):
        theirs, ours = (
            json.loads((folder / f"{name}.{rank}").read_text()) for name in ("torch", "rushlight")
        )
        assert list(theirs) == list(ours)
        names |= set(theirs)
        differing += [(rank, n, theirs[n], ours[n]) for n in theirs if theirs[n] != ours[n]]
    return names, differing
