"""examples/ddp_digits.py: its losses do not depend on how many processes there are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from _jobs import environment

from _alone import PATIENCE

SCRIPT = Path(__file__).resolve().parent.parent.parent / "examples" / "ddp_digits.py"
LOSS = re.compile(r"epoch (\d+) batch +(\d+)  loss ([\d.]+)")


def run(out, processes, *arguments, options=()):
    """The job's process, run to its end."""
    start = ["torchrun", "--nproc-per-node", str(processes), *options]
    return subprocess.run(
        [sys.executable, "-m", "rushlight", *start, str(SCRIPT), "--out", str(out), *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def losses(done):
    """Each loss that was printed, by epoch and batch."""
    return {(int(e), int(b)): float(loss) for e, b, loss in LOSS.findall(done.stdout)}


@pytest.fixture(scope="module")
def of_one(tmp_path_factory):
    done = run(tmp_path_factory.mktemp("one"), 1, "--epochs", "3")
    assert done.returncode == 0, done.stderr
    return losses(done)


def test_more_processes_give_the_losses_of_one(tmp_path, of_one):
    done = run(tmp_path, 4, "--epochs", "3")
    assert done.returncode == 0, done.stderr
    assert len(of_one) == 9
    assert losses(done) == pytest.approx(of_one, rel=1e-10)


def test_two_processes_restarted_go_on_from_their_checkpoint_to_the_losses_of_one(tmp_path, of_one):
    arguments = "--epochs", "3", "--fail-at", "2"
    done = run(tmp_path, 2, *arguments, options=("--max-restarts", "1"))
    assert done.returncode == 0, done.stderr
    assert "as it was asked to" in done.stderr
    assert "going on after epoch 2" in done.stdout
    assert losses(done) == pytest.approx(of_one, rel=1e-10)
