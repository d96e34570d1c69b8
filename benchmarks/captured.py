"""The training steps of workloads.py as they are and under `torch.compile`, on rushlight and on
PyTorch, which runs both eagerly: its compiler takes minutes and is slower on steps this small.

    python benchmarks/captured.py [the options of compare.py]

A row that ends in `_captured` is the row above it, captured: its time over the eager row's is what
capture saves, and PyTorch's time over it is what a program gains by coming here. Of mlp_adam also
the module alone is captured, and the parts of a step that reads its loss.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from workloads import WORKLOADS as ALL
from workloads import Setup, Step, Workloads, fill, mlp, random

NAMES = ["mlp_sgd", "mlp_adam", "mlp_17", "pinn_burgers", "rnn_50_steps", "ode_rk4_64_steps"]
NAMES += ["chain_4m_backward", "hvp_mlp", *[name for name in ALL if name.startswith("gpt")][:2]]


def policy(torch: Any) -> Step:
    """One sample through the policy of a robot, as a controller asks for it."""
    nn = torch.nn
    network = nn.Sequential(
        nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 6)
    )
    fill(torch, network)
    x = torch.from_numpy(random(1, 17))

    def step() -> Any:
        with torch.no_grad():
            return network(x)

    return step


def captured(setup: Setup, torch: Any, **setting: Any) -> Step:
    step = setup(torch, **setting)
    return torch.compile(step) if torch.__name__ == "rushlight" else step


def module(torch: Any, **setting: Any) -> Step:
    """A step whose network alone is captured."""
    compiled = torch.compile if torch.__name__ == "rushlight" else lambda network: network
    return mlp(torch, partial(torch.optim.Adam, lr=1e-4, **setting), parallel=compiled)


def parts(torch: Any, **setting: Any) -> Step:
    """A step that reads its loss: the network and the optimizer's step are captured."""
    plain = ALL["mlp_adam"][0](torch, **setting)

    def step() -> float:
        value: float = plain().item() + 0.0
        return value

    return torch.compile(step) if torch.__name__ == "rushlight" else step


WORKLOADS: Workloads = {}
for _name, (_setup, _options) in [*((n, ALL[n]) for n in NAMES), ("policy", (policy, {}))]:
    WORKLOADS[_name] = _setup, _options
    WORKLOADS[f"{_name}_captured"] = partial(captured, _setup), _options
    if _name == "mlp_adam":
        for _part in (module, parts):
            WORKLOADS[f"mlp_adam_{_part.__name__}_captured"] = _part, _options


if __name__ == "__main__":
    import compare

    compare.main(WORKLOADS, "captured")
