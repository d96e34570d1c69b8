"""Time programs on an accelerator: rushlight's OpenCL device, and PyTorch's GPU beside it.

    python benchmarks/device.py [--device opencl] [--only NAME ...] [--repeats N]

For a machine with a GPU. Where OpenCL's device is the processor (PoCL), the times say only that the
programs run, and the table says so. Each library has a process of its own and they take turns; a
time is the best of the repeats, each of which waits for the device at its end. Calls that went by
way of the host are counted: where there are any, the time is not that of the device.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

LEAST = 0.2  # seconds of a repeat
Program = Callable[[Any, str], Callable[[], Any]]
PROGRAMS: dict[str, Program] = {}


def program(made: Program) -> Program:
    PROGRAMS[made.__name__] = made
    return made


def _pointwise(count: int) -> Program:
    def made(torch: Any, device: str) -> Callable[[], Any]:
        a, b = (torch.ones(count, device=device) for _ in range(2))
        return lambda: a * b + a

    return made


PROGRAMS["a * b + a, 1 thousand"] = _pointwise(1_000)
PROGRAMS["a * b + a, 16 million"] = _pointwise(1 << 24)


@program
def sum_of_16_million(torch: Any, device: str) -> Callable[[], Any]:
    a = torch.ones(1 << 24, device=device)
    return lambda: a.sum()


@program
def softmax_4096_x_1024(torch: Any, device: str) -> Callable[[], Any]:
    a = torch.ones(4096, 1024, device=device)
    return lambda: torch.softmax(a, 1)


@program
def product_1024(torch: Any, device: str) -> Callable[[], Any]:
    a, b = (torch.ones(1024, 1024, device=device) for _ in range(2))
    return lambda: a @ b


@program
def convolution_64_channels(torch: Any, device: str) -> Callable[[], Any]:
    x = torch.ones(16, 64, 28, 28, device=device)
    w = torch.ones(64, 64, 3, 3, device=device)
    return lambda: torch.nn.functional.conv2d(x, w, padding=1)


@program
def index_add_of_a_million(torch: Any, device: str) -> Callable[[], Any]:
    target = torch.zeros(1000, 16, device=device)
    index = (torch.arange(1 << 16) % 1000).to(device)
    rows = torch.ones(1 << 16, 16, device=device)
    return lambda: target.index_add(0, index, rows)


def _step(torch: Any, network: Any, x: Any, target: Any) -> Callable[[], Any]:
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)

    def step() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(x), target)
        loss.backward()
        optimizer.step()
        return loss

    return step


@program
def step_of_784_512_512_10(torch: Any, device: str) -> Callable[[], Any]:
    nn = torch.nn
    layers = nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    x = torch.ones(128, 784, device=device)
    target = (torch.arange(128) % 10).to(device)
    return _step(torch, nn.Sequential(*layers).to(device), x, target)


@program
def step_of_a_convolution_net(torch: Any, device: str) -> Callable[[], Any]:
    nn = torch.nn
    layers = (
        *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)),
    )
    x = torch.ones(64, 1, 28, 28, device=device)
    target = (torch.arange(64) % 10).to(device)
    return _step(torch, nn.Sequential(*layers).to(device), x, target)


def worker(library: str, name: str, device: str, repeats: int) -> None:
    """Time one program in this process and print a line of JSON."""
    torch = importlib.import_module(library)
    call = PROGRAMS[name](torch, device)

    def wait() -> None:
        if device != "cpu":
            torch.accelerator.synchronize()

    def timed(count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        return (time.perf_counter() - begin) / count

    timed(2)
    found: dict[str, Any] = {}
    if library == "rushlight":
        devices = importlib.import_module("rushlight.devices")
        devices.forget_fallbacks()
    count = max(1, int(LEAST / timed(1)))
    found["seconds"] = min(timed(count) for _ in range(repeats))
    if library == "rushlight":
        found["by_host"] = sorted(devices.fallbacks())
    print(json.dumps(found), flush=True)


def run(*words: str) -> dict[str, Any]:
    """What a worker found; empty where it failed."""
    done = subprocess.run(
        [sys.executable, __file__, "--worker", *words], capture_output=True, text=True
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        print("\n".join(done.stderr.strip().splitlines()[-3:]), file=sys.stderr)
        return {}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def shown(found: dict[str, Any]) -> str:
    return f"{found['seconds'] * 1e6:.1f} us" if found else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="opencl")
    parser.add_argument("--only", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(*given.worker[:3], int(given.worker[3]))
        return
    theirs = ""
    if importlib.util.find_spec("torch"):
        code = "import torch; a = torch.accelerator; print(a.current_accelerator() or 'cpu')"
        asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        theirs = asked.stdout.strip()
    head = ["program", f"rushlight, {given.device}", "rushlight, cpu"]
    head += [f"PyTorch, {theirs}"] if theirs else []
    print("| " + " | ".join([*head, "by way of the host"]) + " |")
    print("|---|" + "--:|" * (len(head) - 1) + "---|")
    repeats = str(given.repeats)
    for name in given.only:
        ours = run("rushlight", name, given.device, repeats)
        cells = [name.replace("_", " "), shown(ours), shown(run("rushlight", name, "cpu", repeats))]
        if theirs:
            cells.append(shown(run("torch", name, theirs, repeats)))
        print("| " + " | ".join([*cells, ", ".join(ours.get("by_host", []))]) + " |", flush=True)


if __name__ == "__main__":
    main()
