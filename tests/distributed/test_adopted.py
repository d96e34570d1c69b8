"""Processes that no mpirun started become an MPI world; mpirun ends when they have ended."""

import glob
import os
import subprocess
import sys
import tempfile

import pytest
from _jobs import wait_until

from _alone import PATIENCE

PROGRAM = """
import os, signal, sys, time
from datetime import timedelta
import rushlight as torch
from rushlight.distributed._adopted import join
path, rank, size, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
store = torch.distributed.FileStore(path, size)
store.set_timeout(timedelta(seconds=120))
join(store, rank, size)
from mpi4py import MPI
world = MPI.COMM_WORLD
print(world.rank, world.size, world.allreduce(rank + 1), flush=True)
if end == "killed":
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.5)
    print("alive", flush=True)
if end == "all killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def run(tmp_path, size, end):
    """Each process's exit code, output and errors."""
    tempfiles = tmp_path / "t"
    tempfiles.mkdir()
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "store")]
    environment = {**os.environ, "TMPDIR": str(tempfiles)}
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(size), end],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(size)
    ]
    try:
        said = [process.communicate(timeout=PATIENCE) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(p.returncode, *texts) for p, texts in zip(processes, said, strict=True)]


def nothing_is_left(tmp_path):
    assert wait_until(lambda: not glob.glob(f"{tmp_path}/t/rushlight-mpi-*"))


def test_each_process_has_its_rank_and_nothing_is_left(tmp_path):
    pytest.importorskip("mpi4py")
    assert run(tmp_path, 3, "well") == [(0, f"{rank} 3 6\n", "") for rank in range(3)]
    nothing_is_left(tmp_path)


def test_the_others_live_on_when_one_is_killed(tmp_path):
    pytest.importorskip("mpi4py")
    found = run(tmp_path, 3, "killed")
    assert found[1] == (-9, "1 3 6\n", "")
    assert [found[0], found[2]] == [(0, f"{rank} 3 6\nalive\n", "") for rank in (0, 2)]
    nothing_is_left(tmp_path)


def test_nothing_is_left_when_all_are_killed(tmp_path):
    pytest.importorskip("mpi4py")
    assert [code for code, _, _ in run(tmp_path, 2, "all killed")] == [-9, -9]
    nothing_is_left(tmp_path)


def test_mpirun_s_words_are_in_the_error(tmp_path, monkeypatch):
    from datetime import timedelta

    from rushlight.distributed import _adopted

    import rushlight as torch

    false = tmp_path / "mpirun"
    false.write_text("#!/bin/sh\necho no slots today\nexit 1\n")
    false.chmod(0o755)
    monkeypatch.setattr(_adopted, "mpirun", lambda: str(false))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    store = torch.distributed.HashStore()
    store.set_timeout(timedelta(seconds=PATIENCE))
    with pytest.raises(RuntimeError, match=r"mpirun ended. It said: no slots today"):
        _adopted.join(store, 0, 1)
    assert glob.glob(f"{tmp_path}/rushlight-mpi-*") == []


def test_processes_on_several_machines_are_told_how_to_start():
    from rushlight.distributed import _adopted

    import rushlight as torch

    store = torch.distributed.HashStore()
    store.set("rushlight/adopted/host1", "elsewhere")
    with pytest.raises(RuntimeError, match=r"several machines .*elsewhere.*with mpirun or srun"):
        _adopted.join(store, 0, 2)
