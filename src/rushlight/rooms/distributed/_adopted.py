"""Processes that no mpirun started become an MPI world, on one machine.

Rank 0 starts mpirun with a proxy for each process. Each proxy hands over the environment by which
MPI would find the others, and stays until its process ends; then mpirun ends, too. mpirun goes on
when a process dies (`--continuous`): it neither ends the others nor prints.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from . import _peers
from ._mpirun import mpirun, settings
from ._stores import PrefixStore, Store

_PROXY = os.path.join(os.path.dirname(__file__), "_adopted_proxy.py")


def join(store: Store, rank: int, world_size: int) -> None:
    """Put MPI's variables into the environment; then `from mpi4py import MPI` has this rank.

    The store's timeout bounds the waiting. Raises RuntimeError for processes on several machines,
    and where mpirun does not start, with what it said.
    """
    shared = PrefixStore("rushlight/adopted", store)
    seconds = min(60.0, store.timeout.total_seconds())
    shared.set(f"host{rank}", socket.gethostname())
    shared.set(f"pid{rank}", str(os.getpid()))
    hosts = shared.multi_get([f"host{other}" for other in range(world_size)])
    if len(set(hosts)) > 1:
        names = ", ".join(ascii(host.decode())[1:-1] for host in sorted(set(hosts)))
        raise RuntimeError(
            f"The {world_size} processes are on several machines ({names}), where nobody started "
            "them together. Start them with mpirun or srun."
        )
    others = [other for other in range(world_size) if other != rank]
    numbers = shared.multi_get([f"pid{other}" for other in others]) if others else []
    pids = {other: int(number) for other, number in zip(others, numbers, strict=True)}
    if rank == 0:
        try:
            folder, started = _start(world_size, seconds)
        except (OSError, RuntimeError) as error:
            shared.set("folder", f"!{error}")
            raise
        shared.set("folder", folder)
    else:
        started = None
        folder = shared.get("folder").decode()
        if folder.startswith("!"):
            raise RuntimeError(f"Rank 0 could not start MPI: {folder[1:]}")
    _take_over(folder, rank, seconds, started)
    _peers.watch(pids)


def _start(world_size: int, seconds: float) -> tuple[str, subprocess.Popen[bytes]]:
    """Start mpirun with the proxies, in a session of its own: where they write, and mpirun."""
    program = mpirun()
    folder = tempfile.mkdtemp(prefix="rushlight-mpi-")
    options = ["-n", str(world_size), "--map-by", ":OVERSUBSCRIBE", "--continuous"]
    proxy = [sys.executable, "-I", "-S", _PROXY, folder, str(seconds)]
    with open(os.path.join(folder, "log"), "wb") as log:
        started = subprocess.Popen(
            [program, *options, *proxy],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **settings(one_machine=True)},
            start_new_session=True,
        )
    return folder, started


def _take_over(
    folder: str, rank: int, seconds: float, started: subprocess.Popen[bytes] | None
) -> None:
    """Become the process of this rank that mpirun knows."""
    own = os.path.join(folder, str(rank))
    until = time.monotonic() + seconds
    while not os.path.exists(own + ".json"):
        ended = started is not None and started.poll() is not None
        if ended or time.monotonic() > until or not os.path.isdir(folder):
            said = _log(folder)
            if started is not None:
                started.kill()
                shutil.rmtree(folder, ignore_errors=True)
            what = "ended" if ended else f"did not start the processes in {seconds:g} seconds"
            raise RuntimeError(f"mpirun {what}. It said: {said or 'nothing'}")
        time.sleep(0.002)
    with open(own + ".json", encoding="utf-8") as file:
        os.environ.update(json.load(file))
    os.environ.update(settings(one_machine=True))
    with open(own + ".mine", "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))
    os.rename(own + ".mine", own + ".pid")


def _log(folder: str) -> str:
    try:
        with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:].strip()
    except OSError:
        return ""
