"""Time programs on an accelerator: rushlight's OpenCL device, and PyTorch's GPU beside it.

    python benchmarks/device.py [--device opencl] [--only NAME ...] [--repeats N] [--write FILE]

For a machine with a GPU. Where OpenCL's device is the processor (PoCL), the times say only that the
programs run, and the table says so. Each library has a process of its own and they take turns; a
time is the best of the repeats, each of which waits for the device at its end. Calls that went by
way of the host are counted: where there are any, the time is not that of the device.

The second table says what one small call costs: how long the program is held up until the work is
queued, or for copies to the host until they are done. The device's work is not in it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import pathlib
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

LEAST = 0.2  # seconds of a repeat
Program = Callable[[Any, str], Callable[[], Any]]
PROGRAMS: dict[str, Program] = {}
CALLS: dict[str, Program] = {}  # of 8 x 8 elements
CALLS_AT_ONCE = 100  # queued before the device is waited for


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


def _call(name: str, function: Callable[[Any, Any], Any]) -> None:
    def made(torch: Any, device: str) -> Callable[[], Any]:
        a = torch.ones(8, 8, device=device)
        return lambda: function(torch, a)

    CALLS[name] = made


_call("a * b", lambda torch, a: a * a)
_call("a.sum()", lambda torch, a: a.sum())
_call("softmax", lambda torch, a: torch.softmax(a, 1))
_call("a @ b", lambda torch, a: a @ a)
_call("empty", lambda torch, a: torch.empty(8, 8, device=a.device))
_call("copy to the host", lambda torch, a: a.to("cpu", copy=True))
_call("item()", lambda torch, a: a.view(-1)[0].item())


def _upload(torch: Any, device: str) -> Callable[[], Any]:
    a = torch.ones(8, 8)
    return lambda: a.to(device, copy=True)


def _launch(torch: Any, device: str) -> Callable[[], Any]:
    """A kernel that does nothing, with two tensors and two numbers; on the device alone."""
    core = importlib.import_module("rushlight._core")
    opencl = importlib.import_module("rushlight._devices.accelerators")
    a = torch.ones(8, 8, device=device)
    text = "kernel void nothing(global char *a, long x, global char *b, long y, long m, long n) {}"
    number, given = opencl.build(a._accelerator, text, "nothing"), (a, a, 1, 2)
    return lambda: core.accelerator_launch(number, 64, 64, given)


CALLS["copy from the host"] = _upload
CALLS["a launch alone"] = _launch


def _least(call: Callable[[], Any], wait: Callable[[], None], repeats: int) -> float:
    """The seconds of one of the calls that are queued at once, the best of the repeats."""
    best = float("inf")
    for _ in range(10 * repeats):
        begin = time.perf_counter()
        for _ in range(CALLS_AT_ONCE):
            call()
        best = min(best, (time.perf_counter() - begin) / CALLS_AT_ONCE)
        wait()
    return best


def worker(library: str, name: str, device: str, repeats: int) -> None:
    """Time one program in this process and print a line of JSON."""
    torch = importlib.import_module(library)
    call = (PROGRAMS | CALLS)[name](torch, device)

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
    if name in CALLS:
        found["seconds"] = _least(call, wait, repeats)
    else:
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
    names = [*PROGRAMS, *CALLS]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--write", help="a file for the figures, as JSON")
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
    columns = {f"rushlight, {given.device}": ("rushlight", given.device)}
    columns["rushlight, cpu"] = "rushlight", "cpu"
    if theirs:
        columns[f"PyTorch, {theirs}"] = "torch", theirs
    figures: dict[str, dict[str, float]] = {}
    for title, table in (("program", PROGRAMS), ("one call", CALLS)):
        names = [name for name in table if name in given.only]
        if not names:
            continue
        print("| " + " | ".join([title, *columns, "by way of the host"]) + " |")
        print("|---|" + "--:|" * len(columns) + "---|")
        for name in names:
            found = {}
            for column, where in columns.items():
                alone = name == "a launch alone" and column != next(iter(columns))
                found[column] = {} if alone else run(where[0], name, where[1], str(given.repeats))
            figures[name] = {c: f["seconds"] for c, f in found.items() if f}
            hosts = next(iter(found.values())).get("by_host", [])
            cells = [name.replace("_", " "), *map(shown, found.values()), ", ".join(hosts)]
            print("| " + " | ".join(cells) + " |", flush=True)
        print()
    if given.write:
        about = {"date": time.strftime("%Y-%m-%d"), "machine": platform.machine()}
        about |= {"cores": os.cpu_count(), "device": _device_name()}
        text = json.dumps({**about, "figures": figures}, indent=1)
        pathlib.Path(given.write).write_text(text + "\n")


def _device_name() -> str:
    opencl = importlib.import_module("rushlight._devices.accelerators")
    return str(opencl.numbered(0).facts.name)


if __name__ == "__main__":
    main()
