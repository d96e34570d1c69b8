"""How long `rushlight.explain` takes on graphs of 10,000 nodes, and how large the pages are.

    python benchmarks/explain.py

Each figure is the least of three, in seconds of the process; the first call of a process, which
reads the op table's source, is not among them. "Opens" is what Chromium takes from the address to
the drawing that is painted, by the clock and in seconds of the page's thread: it needs Playwright.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rushlight as torch
from rushlight import explain, nn

sys.path.append(str(Path(__file__).parents[1] / "tests" / "explain"))
from browser import Pages, launched

_PAINTED = """new Promise(done => {
    const look = () => document.body.dataset.ready
        ? requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))
        : setTimeout(look);
    look();
})"""


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


def layers() -> torch.Tensor:
    """2,500 layers with their activations, each of them a module of its own."""
    net = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(2500)))
    with explain.recording():
        return net(torch.ones(2, 4)).sum()


def tangle() -> torch.Tensor:
    """Calls on results from anywhere before, so that no loop and no module folds them."""
    torch.manual_seed(0)
    made = [torch.tensor(0.5, requires_grad=True) for _ in range(400)]
    for at, which in torch.rand(9000, 2).tolist():
        a, b = made[int(at * len(made))], made[-1 - int(which * min(300, len(made)))]
        made.append(a * b if len(made) % 3 else torch.tanh(a) - b)
    return torch.stack(made[-3000:]).sum()


def opening(browser: Any, file: str) -> str:
    """The least of three times until a page is painted: on the clock, and of its thread."""
    pages, found = Pages(browser), []
    for _ in range(3):
        tab = pages.open(Path(file))
        tab.goto("about:blank")
        asked = tab.context.new_cdp_session(tab)
        asked.send("Performance.enable", {"timeDomain": "threadTicks"})
        tab.goto(Path(file).resolve().as_uri())
        painted = tab.evaluate(_PAINTED) / 1000
        metrics = asked.send("Performance.getMetrics")["metrics"]
        thread = next(row["value"] for row in metrics if row["name"] == "TaskDuration")
        found.append((painted, thread))
        pages.close()
    return " / ".join(f"{min(times):.2f} s" for times in zip(*found, strict=True))


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
    print("| 10,000 calls on | graph | tree | saved | svg | page | size of the page | opens |")
    print("|---|---|---|---|---|---|---|---|")
    makers = {"scalars": scalars, "4x4 matrices": matrices, "layers": layers, "a tangle": tangle}
    with tempfile.TemporaryDirectory() as folder, launched() as browser:
        file = os.path.join(folder, "graph.html")
        for name, make in makers.items():
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
            size = os.path.getsize(file) / 1e6
            print(f"| {name} | {' | '.join(cells)} | {size:.1f} MB | {opening(browser, file)} |")


if __name__ == "__main__":
    main()
