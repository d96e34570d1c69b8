"""A program run by several processes under PyTorch (gloo) and under rushlight, for comparison.

The program says `import torch` and calls `note(name, function)`: what the function gives, or its
error, is written down as text, and the files of both runs are compared.
"""

import json
import subprocess
import sys
import textwrap

import pytest
from _jobs import environment

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
_STARTS = {
    "torch": ["torch.distributed.run", "--nproc-per-node"],
    "rushlight": ["rushlight", "run", "--nproc"],
}


def compare(folder, program, processes):
    """Run a program under both; the names noted, and where the two differ."""
    pytest.importorskip("torch")
    (folder / "noted.py").write_text(_HEAD + textwrap.dedent(program) + _TAIL, encoding="utf-8")
    runs = {}
    for name, (module, *options) in _STARTS.items():
        runs[name] = subprocess.run(
            [sys.executable, "-m", module, *options, str(processes), "noted.py", name],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert runs[name].returncode == 0, runs[name].stderr
    differing, names = [], set()
    for rank in range(processes):
        theirs, ours = (json.loads((folder / f"{name}.{rank}").read_text()) for name in _STARTS)
        assert list(theirs) == list(ours)
        names |= set(theirs)
        differing += [(rank, n, theirs[n], ours[n]) for n in theirs if theirs[n] != ours[n]]
    return names, differing
