"""What the processes of test_spawned.py do: each imports this module, and with it no pytest."""

import os
import signal
from pathlib import Path

import rushlight.distributed as dist

import rushlight as torch


def join(method, place, rank, size):
    if method == "env":
        told = {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": place}
        os.environ.update({name: str(value) for name, value in told.items()})
        dist.init_process_group("gloo")
    elif method == "store":
        store = dist.TCPStore("127.0.0.1", place, size, rank == 0)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    else:
        dist.init_process_group("gloo", init_method=place, rank=rank, world_size=size)


def summed(rank, size, method, place, results):
    join(method, place, rank, size)
    tensor = torch.tensor([rank + 1.0])
    dist.all_reduce(tensor)
    Path(results, str(rank)).write_text(str(tensor.item()))
    dist.destroy_process_group()


def fails(rank, how, place):
    join("tcp", place, rank, 2)
    dist.barrier()
    if rank == 1:
        if how == "raises":
            raise ValueError("boom")
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()
