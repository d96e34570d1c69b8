"""What taking a profile costs: steps of training, plain and under `explain.profile` by turns.

    python benchmarks/profiled.py

Thread time of one process with one thread, twelve turns: the least of the turns against the least,
and the median of their ratios. `shapes` keeps the shapes of arguments too, as a trace does.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import workloads

import rushlight as torch
from rushlight import explain, nn

Step = Callable[[], object]


def rnn_cell() -> Step:
    """An RNNCell in a loop of 50 steps, where each step is the call of a module."""
    cell, head = nn.RNNCell(16, 64), nn.Linear(64, 1)
    x = torch.randn(50, 8, 16)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=1e-3)

    def step() -> None:
        h = torch.zeros(8, 64)
        for t in range(50):
            h = cell(x[t], h)
        optimizer.zero_grad()
        head(h).square().mean().backward()
        optimizer.step()

    return step


def classifier(net: nn.Module, *shape: int) -> Step:
    """A step of Adam on cross entropy with ten classes."""
    x, y = torch.randn(*shape), torch.randint(10, shape[:1])
    optimizer = torch.optim.Adam(net.parameters())

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    return step


def mlp() -> Step:
    """64-256-256-10, 128 samples."""
    sizes = nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    return classifier(nn.Sequential(*sizes), 128, 64)


def cnn() -> Step:
    """Two convolutions on 32 pictures of 32x32."""
    net = nn.Sequential(
        *(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(32 * 13 * 13, 10)),
    )
    return classifier(net, 32, 3, 32, 32)


def bare_calls() -> Step:
    """100 calls of `exp` on 64 numbers: 0.3 us each."""
    x = torch.randn(64, requires_grad=True)
    return lambda: [x.exp() for _ in range(100)]


def random_batches() -> Step:
    """A batch that the step draws, as a synthetic task or a game has it."""
    net = nn.Linear(16, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step() -> None:
        x, y = torch.randn(16, 16), torch.randint(8, (16,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x + torch.zeros(16)), y).backward()
        optimizer.step()

    return step


STEPS: dict[str, tuple[Callable[[], Step], int]] = {
    "RNN of 50 steps": (lambda: workloads.rnn_50_steps(torch), 40),
    "RNNCell, 50 calls": (rnn_cell, 20),
    "MLP, small": (lambda: workloads.mlp_adam(torch), 300),
    "MLP": (mlp, 20),
    "CNN": (cnn, 3),
    "drawn batches": (random_batches, 200),
    "100 x exp": (bare_calls, 200),
}


def seconds(step: Step, times: int) -> float:
    begun = time.thread_time()
    for _ in range(times):
        step()
    return (time.thread_time() - begun) / times


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'a step':20}{'plain':>12}{'profiled':>12}{'least':>9}{'median':>9}{'shapes':>9}")
    for name, (make, times) in STEPS.items():
        step = make()
        seconds(step, 3)
        plain, seen, shaped = [], [], []
        for _ in range(12):
            plain.append(seconds(step, times))
            for taken, shapes in ((seen, False), (shaped, True)):
                with explain.profile(shapes=shapes):
                    step()
                    taken.append(seconds(step, times))
        ratios = [b / a - 1 for a, b in zip(plain, seen, strict=True)]
        with_shapes = [b / a - 1 for a, b in zip(plain, shaped, strict=True)]
        print(
            f"{name:20}{min(plain) * 1e6:9.1f} us{min(seen) * 1e6:9.1f} us"
            f"{min(seen) / min(plain) - 1:9.1%}{statistics.median(ratios):9.1%}"
            f"{statistics.median(with_shapes):9.1%}"
        )


if __name__ == "__main__":
    main()
