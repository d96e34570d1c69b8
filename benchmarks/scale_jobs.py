"""What each process of benchmarks/scale.py runs: a plain PyTorch program, the same on both
libraries.

    scale_jobs.py all_reduce             seconds of an all-reduce, by bytes
    scale_jobs.py step NETWORK WRAPPED   seconds of a training step of `mlp` or `gpt`
    scale_jobs.py memory WRAPPED         bytes of parameters, gradients and optimizer state
    scale_jobs.py start                  nothing: only that all have come

WRAPPED is `wrapped` (DistributedDataParallel, or fully_shard), or `alone`: processes that do not
speak. Rank 0 prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parent))

import workloads

# Bytes of an all-reduce, and how many calls are timed together.
SIZES = {4: 500, 1_000_000: 60, 100_000_000: 1}
REPEATS = 7
SECONDS = 0.5  # of steps, for each of the repeats
WIDTH, LAYERS = 512, 8  # of the network whose memory is counted


def timed(call: Callable[[], Any], count: int) -> float:
    """Seconds of a call, the mean of `count` that all processes begin together."""
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count


def all_reduce() -> dict[str, float]:
    """Seconds of an all-reduce in place, the best of the repeats."""
    found = {}
    for size, count in SIZES.items():
        tensor = torch.zeros(size // 4)
        call = partial(dist.all_reduce, tensor)
        timed(call, max(1, count // 10))
        found[str(size)] = min(timed(call, count) for _ in range(REPEATS))
    return found


def parallel(network: Any) -> Any:
    return torch.nn.parallel.DistributedDataParallel(network)


def step(name: str, wrapped: bool) -> dict[str, float]:
    """Seconds of a step, the best of the repeats; bytes of its gradients and of each bucket."""
    networks: list[Any] = []

    def wrap(network: Any) -> Any:
        networks.append(parallel(network) if wrapped else network)
        return networks[-1]

    call: Callable[[], Any]
    if name == "mlp":
        sgd = partial(torch.optim.SGD, lr=1e-3)
        call = workloads.mlp(torch, sgd, (784, 512, 512, 10), batch=128, parallel=wrap)
    else:
        call = workloads.gpt(torch, batch=12, length=64, by_hand=False, parallel=wrap)
    for _ in range(5):
        call()
    # All processes do the same number of steps: rank 0 says how many.
    count = torch.tensor([max(2, int(SECONDS / timed(call, 5)))])
    dist.broadcast(count, 0)
    found = {"seconds": min(timed(call, int(count)) for _ in range(REPEATS))}
    found["bytes"] = all_bytes(networks[0].parameters())
    reducer = getattr(networks[0], "reducer", None)
    for number, bucket in enumerate(getattr(reducer, "buckets", ())):  # PyTorch's cannot be seen
        found[f"bucket{number}"] = all_bytes(bucket.parameters)
    return found


def all_bytes(tensors: Iterable[Any]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


def own_bytes(tensors: list[Any]) -> int:
    """The bytes that this process has of tensors, some of which may be sharded."""
    return all_bytes(t.to_local() if hasattr(t, "to_local") else t for t in tensors)


def memory(wrapped: bool) -> dict[str, int]:
    """Bytes of this process's parameters, gradients and optimizer state after two steps."""
    nn = torch.nn
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)]
    network = nn.Sequential(*layers)
    if wrapped:
        from torch.distributed.fsdp import fully_shard

        for layer in layers:
            fully_shard(layer)
        fully_shard(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        network(torch.ones(8, WIDTH)).square().mean().backward()
        optimizer.step()
    parameters = list(network.parameters())
    states = [value for state in optimizer.state.values() for value in state.values()]
    return {
        "parameters": own_bytes(parameters),
        "gradients": own_bytes([p.grad for p in parameters]),
        "optimizer": own_bytes([value for value in states if torch.is_tensor(value)]),
    }


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    job, *more = sys.argv[1:]
    found: dict[str, Any] = {}
    if job == "all_reduce":
        found = all_reduce()
    elif job == "step":
        found = step(more[0], more[1] == "wrapped")
    elif job == "memory":
        found = memory(more[0] == "wrapped")
    dist.barrier()
    if dist.get_rank() == 0:
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
