"""Time how long small calls on an accelerator hold up the program, until the device has been asked.

    python benchmarks/launches.py [--device cuda] [--stand-in] [--write FILE]

The device's work is not in the times: it is waited for after each round. A call like one before
starts its kernels without Python; the second column is without that. --stand-in: on the driver of
the tests, which only notes what it is asked before the wait; so its own part is small.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS, CALLS = 25, 20


def programs(torch: Any, device: str) -> dict[str, Callable[[], Any]]:
    """Small calls, and the steps of small networks."""
    a, b = (torch.rand(16, 16, device=device) for _ in range(2))
    words = torch.arange(16, device=device)
    f = torch.nn.functional
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 16)
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        f.cross_entropy(model(a), words).backward()
        optimizer.step()

    return {
        "a * b": lambda: a * b,
        "a @ b": lambda: a @ b,
        "a.sum()": lambda: a.sum(),
        "softmax": lambda: torch.softmax(a, 1),
        "layer_norm": lambda: f.layer_norm(a, (16,)),
        "linear": lambda: f.linear(a, b),
        "cat": lambda: torch.cat([a, b]),
        "embedding": lambda: f.embedding(words, a),
        "a step of an MLP with Adam": step,
    }


def microseconds(call: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """The median of rounds, of one call."""
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        found.append((time.perf_counter() - start) / CALLS * 1e6)
        wait()
    return statistics.median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--stand-in", action="store_true")
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    if given.stand_in:
        sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "devices" / "cuda"))
        library = str(importlib.import_module("_standin").library())
        os.environ["RUSHLIGHT_CUDA_LIBRARY"] = os.environ["RUSHLIGHT_NVRTC_LIBRARY"] = library
        os.environ["RUSHLIGHT_CUBLAS_LIBRARY"] = os.environ["RUSHLIGHT_CUDNN_LIBRARY"] = ""
    torch: Any = importlib.import_module("rushlight")
    core = importlib.import_module("rushlight._core")
    name = torch.get_device_module(given.device).get_device_name()
    rows = {}
    print(f"microseconds a call, {name}\n{'':28}{'kept':>8}{'by Python':>12}{'ratio':>8}")
    for what, call in programs(torch, given.device).items():
        times = []
        for keeps in (True, False):
            core.accelerator_keep_calls(keeps)
            microseconds(call, torch.accelerator.synchronize)  # kernels are compiled
            times.append(microseconds(call, torch.accelerator.synchronize))
        rows[what] = {"kept": round(times[0], 2), "by Python": round(times[1], 2)}
        print(f"{what:28}{times[0]:8.2f}{times[1]:12.2f}{times[1] / times[0]:8.1f}")
    if given.write:
        given.write.write_text(json.dumps({"device": name, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
