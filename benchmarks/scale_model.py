"""A model on paper of the time of a training step on many processes, and where it stops to scale.

    python benchmarks/scale_model.py FIGURES    FIGURES: what benchmarks/scale.py --json wrote

A step takes as long as its computing, and what of the communication backward does not hide:

    all-reduce by a ring of P    2 (P - 1) (alpha + n / P / beta)
    all-reduce by halves         2 log2(P) alpha + 2 (P - 1) n / P / beta: Rabenseifner's
    all-reduce by a tree         2 log2(P) (alpha + n / beta): up to a root, and down again
    all-gather, reduce-scatter   (P - 1) (alpha + n / P / beta): half of the ring

with alpha seconds for each message and beta bytes a second, for n bytes. Strategies:

    DDP           an all-reduce of each bucket of gradients, begun when backward has made it
    ZeRO          the same, and an all-gather of the parameters after the optimizer, hidden by none
    fully_shard   for each block an all-gather before forward, one before backward, and a
                  reduce-scatter after it

`overlap` is the share of the communication that can go on while the cores compute: 1 where the
network's card moves the bytes, 0 on a machine whose cores are all busy, since there copying and
adding take the time of computing.

First the model is compared with what was measured on one machine, with overlap 0. Its constants are
measured, too: computing is what as many processes took that did not speak, DDP's own work is what
it adds to one process, and the time of each bucket's all-reduce lies between those of the measured
sizes. Then it is run for networks by their published figures: nothing of that table is measured but
the computing of the small GPT.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from scale import OURS, Figures, median, shown, table

BACKWARD = 2 / 3  # of a step's computing
PROCESSES = 8, 16, 32, 64, 128, 256, 512, 1024
STOPPED = 0.5  # the efficiency from which on more processes are called wasted


@dataclass(frozen=True)
class Network:
    """What connects processes: seconds a message, bytes a second."""

    name: str
    alpha: float
    beta: float


@dataclass(frozen=True)
class Program:
    """What is trained: seconds of computing a step, bytes of each bucket of gradients, blocks."""

    name: str
    computing: float
    buckets: tuple[int, ...]
    blocks: int

    @property
    def size(self) -> int:
        return sum(self.buckets)


# The gradients of GPT-2's smallest, in backward's order: twelve blocks, then the embeddings.
_WIDTH = 768
GPT2 = tuple(
    4 * _WIDTH * n for n in [*[4 * _WIDTH, 4 * _WIDTH, _WIDTH, 3 * _WIDTH] * 12, 1024, 50257]
)

# Published figures: HDR's 200 Gb/s and 0.6 us by the adapter's data sheet (ConnectX-6). Ethernet's
# bit rates by their names; 30 us for a message through the kernel's TCP, of which 20 to 50 are
# reported.
NETWORKS = (
    Network("InfiniBand HDR", 0.6e-6, 25e9),
    Network("Ethernet 100 Gb/s", 30e-6, 12.5e9),
    Network("Ethernet 10 Gb/s", 30e-6, 1.25e9),
)


def ring(n: float, processes: int, network: Network) -> float:
    """Seconds of an all-reduce by a ring."""
    return 2 * half_ring(n, processes, network)


def half_ring(n: float, processes: int, network: Network) -> float:
    """Seconds of an all-gather or a reduce-scatter of n bytes in all."""
    return (processes - 1) * (network.alpha + n / processes / network.beta)


def tree(n: float, processes: int, network: Network) -> float:
    """Seconds of an all-reduce by a tree."""
    return 2 * math.ceil(math.log2(processes)) * (network.alpha + n / network.beta)


def halves(n: float, processes: int, network: Network) -> float:
    """Seconds of an all-reduce by a reduce-scatter and an all-gather of ever smaller halves."""
    messages = 2 * math.ceil(math.log2(processes)) * network.alpha
    return messages + 2 * (processes - 1) * n / processes / network.beta


def exposed(times: list[float], computing: float, overlap: float) -> float:
    """What of transfers takes time of its own that become possible evenly over `computing`."""
    end = 0.0
    for number, seconds in enumerate(times, 1):
        end = max(end, computing * number / len(times)) + seconds
    return overlap * max(0.0, end - computing) + (1 - overlap) * sum(times)


def ddp(
    program: Program,
    processes: int,
    network: Network,
    reduce: Callable[[float, int, Network], float] = halves,
) -> float:
    """Seconds of a step."""
    times = [reduce(n, processes, network) for n in program.buckets]
    return program.computing + exposed(times, BACKWARD * program.computing, 1.0)


def zero(program: Program, processes: int, network: Network) -> float:
    """Seconds of a step."""
    return ddp(program, processes, network) + half_ring(program.size, processes, network)


def fully_shard(program: Program, processes: int, network: Network) -> float:
    """Seconds of a step: a block is gathered while the one before it computes."""
    one = half_ring(program.size / program.blocks, processes, network)
    forward = exposed([one] * program.blocks, (1 - BACKWARD) * program.computing, 1.0)
    backward = exposed([2 * one] * program.blocks, BACKWARD * program.computing, 1.0)
    return program.computing + forward + backward


STRATEGIES = {
    "DDP, halves": ddp,
    "DDP, ring": partial(ddp, reduce=ring),
    "DDP, tree": partial(ddp, reduce=tree),
    "ZeRO": zero,
    "fully_shard": fully_shard,
}


def measured_all_reduce(figures: Figures, n: int, processes: int) -> float:
    """Seconds of an all-reduce, on straight lines between the measured sizes."""
    points = []
    for row in figures:
        kind, *words = row.split()
        if kind == "all_reduce" and int(words[1]) == processes:
            seconds = median(figures, row, OURS)
            if seconds is not None:
                points.append((int(words[0]), seconds))
    points.sort()
    for (small, fast), (large, slow) in pairwise(points):
        if n <= large:
            return float(fast + (slow - fast) * (n - small) / (large - small))
    raise SystemExit(f"no all-reduce of {n} bytes and {processes} processes was measured")


def step_seconds(figures: Figures, network: str, way: str, processes: int) -> float:
    """What was measured of a step."""
    found = median(figures, f"seconds {network} {way} {processes}", OURS)
    if found is None:
        raise SystemExit(f"no step of {network}, {way}, {processes} processes was measured")
    return found


def measured_buckets(figures: Figures, network: str) -> tuple[int, ...]:
    """The bytes of each of DDP's buckets."""
    rows = [
        row for row in figures if row.startswith("bucket") and row.endswith(f" {network} wrapped 2")
    ]
    return tuple(int(median(figures, row, OURS) or 0) for row in rows)


def compared(figures: Figures) -> str:
    """The model beside what was measured on one machine."""
    rows = []
    for network in ("mlp", "gpt"):
        one = step_seconds(figures, network, "alone", 1)
        own = step_seconds(figures, network, "wrapped", 1) - one
        for processes in (2, 4):
            computing = step_seconds(figures, network, "alone", processes)
            measured = step_seconds(figures, network, "wrapped", processes)
            sizes = measured_buckets(figures, network)
            times = [measured_all_reduce(figures, n, processes) for n in sizes]
            talking = exposed(times, BACKWARD * computing, 0.0)
            # Processes without a core of their own wait for each other's work.
            work = own * computing / one
            model = computing + work + talking
            rows.append([f"{network}, {processes}", shown(computing), shown(work), shown(talking)])
            rows[-1] += [shown(model), shown(measured), f"{model / measured - 1:+.0%}"]
    head = ["program, processes", "computing", "DDP's work", "all-reduce", "model", "measured"]
    return table([*head, "difference"], rows)


def projected(program: Program) -> str:
    """How much of P times one process's throughput is left, and where half of it is lost."""
    rows = []
    for network in NETWORKS:
        for name, step in STRATEGIES.items():
            left = {p: program.computing / step(program, p, network) for p in PROCESSES}
            last = [p for p, share in left.items() if share >= STOPPED]
            cells = [f"{share:.0%}" for share in left.values()]
            rows.append([f"{network.name}, {name}", *cells, str(last[-1]) if last else "none"])
    return table([program.name, *map(str, PROCESSES), "last above half"], rows)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    figures: Figures = json.loads(Path(sys.argv[1]).read_text())["figures"]
    print(compared(figures))
    seconds = step_seconds(figures, "gpt", "alone", 1)
    small = Program(
        f"small GPT, {shown(seconds)} a step", seconds, measured_buckets(figures, "gpt"), 4
    )
    print(projected(small))
    print(projected(Program("124 M parameters, 1 s a step", 1.0, GPT2, 12)))


if __name__ == "__main__":
    main()
