"""How long `rushlight.explain` takes on graphs of 10,000 nodes, and how large the pages are.

    python benchmarks/explain.py

Each figure is the least of three, in seconds of the process; the first call of a process, which
reads the op table's source, is not among them.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable

import rushlight as torch
from rushlight import explain


def scalars() -> torch.Tensor:
    """A chain of 10,000 calls on scalars, half of them on the same leaf."""
    w = torch.tensor(1.0001, requires_grad=True)
    y = w
    for _ in range(5000):
        y = y * w + 1e-4
    return y


def matrices() -> torch.Tensor:
    """A chain of 10,000 calls on 4x4 matrices."""
    h, w = torch.full((4, 4), 0.3, requires_grad=True), torch.full((4, 4), 0.2, requires_grad=True)
    for _ in range(5000):
        h = torch.tanh(h @ w)
    return h.sum()


def least(call: Callable[[], object]) -> float:
    """The shortest of three runs, after one that is not counted."""
    call()
    times = []
    for _ in range(3):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print the table."""
    print("| 10,000 calls on | graph | tree | saved | svg | page | size of the page |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "graph.html")
        for name, make in (("scalars", scalars), ("4x4 matrices", matrices)):
            y = make()
            cells = [
                f"{least(lambda call=call, y=y: call(y)):.2f} s"
                for call in (
                    explain.graph,
                    explain.tree,
                    explain.saved,
                    explain.svg,
                    lambda y: explain.page(y, file),
                )
            ]
            print(f"| {name} | {' | '.join(cells)} | {os.path.getsize(file) / 1e6:.1f} MB |")


if __name__ == "__main__":
    main()
