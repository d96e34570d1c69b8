"""Processes that mpirun or srun has started: their variables, in torchrun's names."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a process stands in the job of its launcher. None: the launcher does not tell."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    node: int | None
    nodes: int | None
    job: str
    host: str | None  # of rank 0

    def environment(self, address: str | None, port: int) -> dict[str, str]:
        """torchrun's variables; an address and a port that were given come before found ones."""
        found = {
            "RANK": self.rank,
            "LOCAL_RANK": self.local_rank,
            "ROLE_RANK": self.rank,
            "ROLE_NAME": "default",
            "WORLD_SIZE": self.size,
            "LOCAL_WORLD_SIZE": self.local_size,
            "ROLE_WORLD_SIZE": self.size,
            "GROUP_RANK": self.node,
            "GROUP_WORLD_SIZE": self.nodes,
            "MASTER_ADDR": address or os.environ.get("MASTER_ADDR") or self.host,
            # The processes agree on a port without a word: it is made of the job's name.
            "MASTER_PORT": port
            or os.environ.get("MASTER_PORT")
            or 20000 + zlib.crc32(self.job.encode()) % 12000,
            "TORCHELASTIC_RUN_ID": self.job,
            "TORCHELASTIC_RESTART_COUNT": 0,
            "TORCHELASTIC_MAX_RESTARTS": 0,
            "TORCHELASTIC_USE_AGENT_STORE": False,
        }
        return {name: str(value) for name, value in found.items() if value is not None}


def place(environment: Mapping[str, str]) -> Place | None:
    """Where this process stands among those that Open MPI's mpirun, a PMI launcher (MPICH, Intel
    MPI) or Slurm's srun has started; None where none of them has.

    >>> from rushlight.distributed._joined import place
    >>> place({"PMI_RANK": "3", "PMI_SIZE": "4"}).local_rank
    3
    >>> place({})
    """
    if "OMPI_COMM_WORLD_RANK" in environment:
        size = int(environment["OMPI_COMM_WORLD_SIZE"])
        job = environment.get("PMIX_NAMESPACE", "mpirun")
        names = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"
        return _of_mpi(environment, size, job, *names)
    if "SLURM_STEP_ID" in environment and "SLURM_PROCID" in environment:
        return _of_slurm(environment)
    if "PMI_RANK" in environment and "PMI_SIZE" in environment:
        job = environment.get("PMI_ID", environment.get("HYDI_CONTROL_FD", "mpirun"))
        names = "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"
        return _of_mpi(environment, int(environment["PMI_SIZE"]), job, *names)
    return None


def _of_mpi(
    environment: Mapping[str, str], size: int, job: str, rank: str, local: str, locals_: str
) -> Place:
    number = int(environment[rank])
    local_size = int(environment.get(locals_, size))
    alone = local_size == size
    return Place(
        rank=number,
        size=size,
        local_rank=int(environment.get(local, number)),
        local_size=local_size,
        node=0 if alone else None,
        nodes=1 if alone else None,
        job=job,
        host="localhost" if alone else None,
    )


def _of_slurm(environment: Mapping[str, str]) -> Place:
    def number(*names: str) -> int:
        return int(next(environment[name] for name in names if name in environment))

    node = number("SLURM_NODEID")
    tasks = environment.get("SLURM_STEP_TASKS_PER_NODE") or environment["SLURM_TASKS_PER_NODE"]
    hosts = environment.get("SLURM_STEP_NODELIST") or environment["SLURM_JOB_NODELIST"]
    return Place(
        rank=number("SLURM_PROCID"),
        size=number("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        local_rank=number("SLURM_LOCALID"),
        local_size=tasks_of_nodes(tasks)[node],
        node=node,
        nodes=number("SLURM_STEP_NUM_NODES", "SLURM_NNODES"),
        job=f"{environment.get('SLURM_JOB_ID', 0)}.{environment['SLURM_STEP_ID']}",
        host=first_host(hosts),
    )


def tasks_of_nodes(text: str) -> list[int]:
    """How many processes each node has, as Slurm writes it.

    >>> from rushlight.distributed._joined import tasks_of_nodes
    >>> tasks_of_nodes("2(x3),1")
    [2, 2, 2, 1]
    """
    found = re.findall(r"(\d+)(?:\(x(\d+)\))?", text)
    return [int(tasks) for tasks, times in found for _ in range(int(times or 1))]


def first_host(text: str) -> str:
    """The first of a list of hosts as Slurm writes it.

    >>> from rushlight.distributed._joined import first_host
    >>> first_host("node[01-04,7],login")
    'node01'
    """
    first = re.match(r"([^,[]*)(?:\[([^],-]*)[^]]*\])?([^,]*)", text)
    assert first is not None  # it matches any text
    return "".join(part or "" for part in first.groups())
