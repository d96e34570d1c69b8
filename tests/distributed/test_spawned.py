"""Processes of `torch.multiprocessing` and processes started by hand are a group, and fail as one.

A rank that waits for one which has died would wait for the timeout of half an hour: a hang here.
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rushlight.multiprocessing as mp
from _jobs import environment, wait_until
from _spawned import fails, summed

from _alone import PATIENCE


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def nothing_stays(tmp_path, monkeypatch):
    """After the test no process of it runs, and MPI's folder is gone."""
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    for name in environment().keys() ^ os.environ.keys():
        monkeypatch.delenv(name, raising=False)
    yield
    marker = f"TMPDIR={folder}".encode()

    def left():
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            if int(place.name) == os.getpid():
                continue
            try:
                if marker in (place / "environ").read_bytes():
                    command = (place / "cmdline").read_bytes()
                    found += [command] if b"resource_tracker" not in command else []
            except OSError:
                pass
        return [*found, *folder.glob("rushlight-mpi-*")]

    wait_until(lambda: not left())
    assert left() == []


def place_of(method, folder):
    return {
        "env": free_port,
        "store": free_port,
        "tcp": lambda: f"tcp://127.0.0.1:{free_port()}",
        "file": lambda: f"file://{folder}/store",
    }[method]()


@pytest.mark.parametrize(("method", "size"), [("env", 2), ("tcp", 4), ("file", 2), ("store", 2)])
def test_spawned_processes_are_a_group_one_spawn_after_the_other(
    tmp_path, method, size, nothing_stays
):
    mp.spawn(summed, args=(size, method, place_of(method, tmp_path), str(tmp_path)), nprocs=size)
    total = str(float(sum(range(1, size + 1))))
    assert [(tmp_path / str(rank)).read_text() for rank in range(size)] == [total] * size


def test_processes_of_multiprocessing_are_a_group(tmp_path, nothing_stays):
    place = f"tcp://127.0.0.1:{free_port()}"
    context = mp.get_context("spawn")
    args = [(rank, 2, "tcp", place, str(tmp_path)) for rank in range(2)]
    processes = [context.Process(target=summed, args=one) for one in args]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
    assert [process.exitcode for process in processes] == [0, 0]
    assert (tmp_path / "0").read_text() == "3.0"


@pytest.mark.parametrize(
    ("how", "error", "text"),
    [
        ("raises", mp.ProcessRaisedException, r"Process 1 .*(?s:.)*ValueError: boom"),
        ("killed", mp.ProcessExitedException, r"process 1 terminated with signal SIGKILL"),
    ],
)
def test_a_spawned_process_that_fails_is_the_parents_error_soon(how, error, text, nothing_stays):
    begin = time.monotonic()
    with pytest.raises(error, match=text) as caught:
        mp.spawn(fails, args=(how, f"tcp://127.0.0.1:{free_port()}"), nprocs=2)
    assert caught.value.error_index == 1
    assert time.monotonic() - begin < PATIENCE


BY_HAND = """
import os, signal, sys, time
import rushlight as torch, rushlight.distributed as dist
dist.init_process_group()
tensor = torch.ones(4)
rank = dist.get_rank()
dist.all_reduce(tensor)
if rank == 1:
    if sys.argv[1] == "raises":
        raise ValueError("boom")
    os.kill(os.getpid(), signal.SIGKILL)
# A message between those that live still comes, however long that takes.
if rank == 0:
    time.sleep(2)
    dist.send(tensor, 2)
else:
    dist.recv(tensor, 0)
    print(tensor.tolist(), file=sys.stderr)
dist.all_reduce(tensor)
"""


@pytest.mark.parametrize("how", ["killed", "raises"])
def test_processes_started_by_hand_notice_that_one_has_died(how, nothing_stays):
    told = {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", BY_HAND, how],
            env=environment(**told, RANK=str(rank)),
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]
    said = [process.communicate(timeout=PATIENCE)[1] for process in processes]
    closed = "rushlight.distributed.DistBackendError: Connection closed by peer: "
    for rank in (0, 2):
        last = said[rank].splitlines()[-1]
        # The other of the two may have noticed, and ended for it, before.
        assert last.startswith(closed) and f"rank 1 (pid {processes[1].pid})" in last
        assert processes[rank].returncode == 1
    assert said[2].startswith("[3.0, 3.0, 3.0, 3.0]\n")
