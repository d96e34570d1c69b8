"""The stubs that tools/public_stub.py writes: current, and enough for a program under mypy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

PROGRAM = """
import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.second(F.relu(self.first(x)))
        return F.log_softmax(y, dim=-1)


def step(net: Net, x: torch.Tensor, labels: torch.Tensor) -> float:
    loss = F.nll_loss(net(x), labels)
    loss.backward()
    total = torch.zeros(2, 3, dtype=torch.float64) @ torch.ones(3) + loss.sum()
    values, indices = torch.max(x, 1)
    best: torch.Tensor = torch.max(values, indices.to(torch.float32))
    with torch.no_grad():
        scale: float = float(total.detach().mean() + best.norm())
    return scale * x.shape[0] + x.size(0)


step(Net(), torch.randn(5, 4), torch.randint(0, 2, (5,)))
"""
WRONG = """
import rushlight as torch

torch.matmul(torch.zeros(2))
torch.cat(3)
torch.zeros(2).transpose("a", "b")
number: int = torch.relu(torch.zeros(2))
"""


def test_stubs_are_current():
    """In a process of its own: here other tests have imported what `import rushlight` has not."""
    command = [sys.executable, ROOT / "tools" / "public_stub.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _mypy(program: str, folder: Path) -> subprocess.CompletedProcess:
    pytest.importorskip("mypy")
    (folder / "program.py").write_text(program)
    return subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"),
            *("--cache-dir", str(folder / "cache"), "program.py"),
        ],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )


def test_a_program_passes_strict_mypy(tmp_path):
    checked = _mypy(PROGRAM, tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_wrong_calls_are_found(tmp_path):
    checked = _mypy(WRONG, tmp_path)
    lines = {line.split(":")[1] for line in checked.stdout.splitlines() if ": error:" in line}
    assert lines == {"4", "5", "6", "7"}, checked.stdout + checked.stderr
