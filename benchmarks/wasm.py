"""The library in WebAssembly, timed against the native one of the instruction set v2, which
has vectors of 16 bytes too; each with one thread.

    python benchmarks/wasm.py [ROUNDS]

The wheel of `make wasm` runs in Node's Pyodide; both take turns for ROUNDS (3), and a time is the
best of all. Prints a table, and keeps a whole run as benchmarks/results/wasm-DATE.json. The last
row is a loop of Python alone: how much of a ratio is the interpreter's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Step = Callable[[], Any]
# A round in Node: where Pyodide, the wheel, and this file are.
NODE = """
import fs from "node:fs";
const [pyodide, wheel, program] = process.argv.slice(1);
const { loadPyodide } = await import(pyodide);
const python = await loadPyodide();
await python.unpackArchive(new Uint8Array(fs.readFileSync(wheel)), "wheel");
python.FS.writeFile("/wasm.py", fs.readFileSync(program));
const run = "import sys; sys.path.insert(0, '/'); import wasm; wasm.worker()";
await python.runPythonAsync(run).catch(error => { console.log(error.message); process.exit(1); });
"""


def rows(torch: Any) -> dict[str, Step]:
    """What is timed, by its name; no row needs NumPy."""
    nn, functional = torch.nn, torch.nn.functional

    def random(*shape: int, grad: bool = False) -> Any:
        return torch.randn(*shape, requires_grad=grad)

    def network(between: type, *sizes: int) -> Any:
        layers = [nn.Linear(inner, outer) for inner, outer in pairwise(sizes)]
        return nn.Sequential(
            *(each for layer in layers[:-1] for each in (layer, between())), layers[-1]
        )

    def trained(parts: Any, loss: Callable[[], Any], learn: Any = torch.optim.Adam) -> Step:
        update = learn(parts.parameters(), lr=1e-3)

        def step() -> None:
            update.zero_grad()
            loss().backward()
            update.step()

        return step

    def classified(parts: Any, inputs: Any, classes: int) -> Step:
        targets = torch.randint(0, classes, (len(inputs),))
        return trained(parts, lambda: functional.cross_entropy(parts(inputs), targets))

    def learned(call: Callable[..., Any], *inputs: Any) -> Step:
        """Forward and backward."""
        leaves = [each.requires_grad_() for each in inputs]
        return lambda: torch.autograd.grad(call(*leaves).sum(), leaves)

    def pinn() -> Step:
        field, x = network(nn.Tanh, 2, 20, 20, 20, 1), random(100, 2, grad=True)

        def loss() -> Any:
            u = field(x)
            first = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
            second = torch.autograd.grad(first[:, 0].sum(), x, create_graph=True)[0]
            return (first[:, 1:] + u * first[:, :1] - 0.003 * second[:, :1]).square().mean()

        return trained(field, loss)

    def cells() -> Step:
        cell, inputs = nn.RNNCell(8, 32), random(20, 16, 8)

        def loss() -> Any:
            state = torch.zeros(16, 32)
            for each in inputs:
                state = cell(each, state)
            return state.square().mean()

        return trained(cell, loss)

    def letters() -> Step:
        """A block of a small transformer on 8 pieces of 32 letters, with its embedding."""
        embedding, head = nn.Embedding(64, 48), nn.Linear(48, 64)
        block = nn.TransformerEncoderLayer(
            48, 4, 192, dropout=0.0, batch_first=True, norm_first=True
        )
        text, later = torch.randint(0, 64, (8, 32)), torch.ones(32, 32).triu(1).bool()

        def loss() -> Any:
            scores = head(block(embedding(text), src_mask=later))
            return functional.cross_entropy(scores[:, :-1].flatten(0, 1), text[:, 1:].flatten())

        return trained(nn.ModuleList([embedding, block, head]), loss)

    def spiral() -> None:
        step = classified(network(nn.Tanh, 2, 16, 16, 3), random(300, 2), 3)
        for _ in range(200):
            step()

    def python() -> int:
        total = 0
        for each in range(10000):
            total += each % 7
        return total

    a, b = random(4, 4), random(4, 4)
    large, image, table = random(1000, 1000), random(4, 8, 16, 16), random(64, 256)
    made: dict[str, Step] = {
        "MLP 64-128-128-10, batch 64, Adam": classified(
            network(nn.ReLU, 64, 128, 128, 10), random(64, 64), 10
        ),
        "spiral: 200 steps of 2-16-16-3, 300 points": spiral,
        "PINN 2-20-20-20-1, 100 points": pinn(),
        "RNN cell, 20 steps": cells(),
        "letters: a transformer's block of 48": letters(),
        "add 4x4": lambda: a + b,
        "matmul 4x4": lambda: a @ b,
        "sum 4x4": lambda: a.sum(),
        "mul 4x4, recorded": learned(torch.mul, random(4, 4), random(4, 4)),
        "linear and relu 4x4, recorded": learned(
            lambda x, w, c: functional.linear(x, w, c).relu(), random(4, 4), random(4, 4), random(4)
        ),
        "add of 1000x1000": lambda: large + large,
        "exp of 1000x1000": lambda: large.exp(),
        "tanh of 1000x1000": lambda: large.tanh(),
        "relu of 1000x1000": lambda: large.relu(),
        "sum of 1000x1000": lambda: large.sum(),
        "sum of 1000x1000 over rows": lambda: large.sum(0),
        "transposed copy of 1000x1000": lambda: large.t().contiguous(),
        "softmax of 64x256, recorded": learned(lambda x: x.softmax(-1).square(), table.clone()),
        "layer_norm of 64x256, recorded": learned(
            lambda x: functional.layer_norm(x, (256,)).square(), table.clone()
        ),
        "conv2d 4x8x16x16 by 16x8x3x3, recorded": learned(
            lambda x, w: functional.conv2d(x, w, padding=1), image, random(16, 8, 3, 3)
        ),
        "max_pool2d 4x8x16x16, recorded": learned(
            lambda x: functional.max_pool2d(x, 2), image.clone()
        ),
        "cumsum of 64x256": lambda: table.cumsum(1),
        "sort of 64x256": lambda: table.sort(1),
        "Python: a loop of 10000": python,
    }
    for size in (64, 256, 512):
        x, y = random(size, size), random(size, size)
        made[f"matmul {size}"] = lambda x=x, y=y: x @ y  # type: ignore[misc]
    return made


def seconds(step: Step, least: float = 0.4) -> float:
    """Of one call: the best of several runs that take a while."""
    step()
    start = time.perf_counter()
    step()
    calls = max(1, int(0.002 / (time.perf_counter() - start + 1e-9)))
    found, end = float("inf"), time.perf_counter() + least
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(calls):
            step()
        found = min(found, (time.perf_counter() - start) / calls)
    return found


def worker() -> None:
    """A round, as one line of JSON."""
    start = time.perf_counter()
    import rushlight

    took = time.perf_counter() - start
    rushlight.manual_seed(0)
    rushlight.set_num_threads(1)
    print(
        json.dumps(
            {"import": took} | {name: seconds(step) for name, step in rows(rushlight).items()}
        )
    )


def turn(command: list[Any]) -> dict[str, float]:
    one = {"RUSHLIGHT_ISA": "v2", "OPENBLAS_CORETYPE": "Nehalem", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        list(map(str, command)), env=os.environ | one, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def main(rounds: int) -> None:
    pyodide = ROOT / "build" / "browser" / "node_modules" / "pyodide" / "pyodide.mjs"
    wheel = next((ROOT / "build" / "wasm" / "dist").glob("*.whl"))
    program = Path(__file__).resolve()
    node = ["node", "--input-type=module", "-e", NODE, pyodide, wheel, program]
    times: list[dict[str, float]] = [{}, {}]
    for _ in range(rounds):
        for best, command in zip(times, ([sys.executable, program, "--worker"], node), strict=True):
            for name, took in turn(command).items():
                best[name] = min(took, best.get(name, took))
    native, wasm = times
    for name, took in native.items():
        print(f"{name:46}{took * 1e6:12.1f}{wasm[name] * 1e6:12.1f} us{wasm[name] / took:8.2f}")
    from compare import machine

    day = time.strftime("%Y-%m-%d")
    found = {"date": day, "machine": machine(), "rounds": rounds, "native": native, "wasm": wasm}
    kept = ROOT / "benchmarks" / "results" / f"wasm-{day}.json"
    kept.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        worker()
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 3)
