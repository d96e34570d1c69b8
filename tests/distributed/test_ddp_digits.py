"""examples/ddp_digits.py: its losses do not depend on how many processes there are."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from _jobs import environment

from _alone import PATIENCE

SCRIPT = Path(__file__).resolve().parent.parent.parent / "examples" / "ddp_digits.py"
LOSS = re.compile(r"epoch (\d+) batch +(\d+)  loss ([\d.]+)")


# scikit-learn's digits, without scikit-learn: its import takes longer than the training.
DIGITS = """
import numpy, types
def load_digits():
    table = numpy.loadtxt({!r}, delimiter=",")
    return types.SimpleNamespace(data=table[:, :-1], target=table[:, -1].astype(int))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """PYTHONPATH with a package of that name, which has the digits and nothing else."""
    package = tmp_path_factory.mktemp("path") / "sklearn"
    package.mkdir()
    (package / "__init__.py").touch()
    (real,) = importlib.util.find_spec("sklearn").submodule_search_locations
    table = f"{real}/datasets/data/digits.csv.gz"
    (package / "datasets.py").write_text(DIGITS.format(table), encoding="utf-8")
    return os.pathsep.join(filter(None, [str(package.parent), os.environ.get("PYTHONPATH")]))


def run(out, processes, *arguments, options=(), **more):
    """The job's process, run to its end."""
    start = ["torchrun", "--nproc-per-node", str(processes), *options]
    return subprocess.run(
        [sys.executable, "-m", "rushlight", *start, str(SCRIPT), "--out", str(out), *arguments],
        env=environment(**more),
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


def test_more_processes_give_the_losses_of_one(tmp_path, of_one, path):
    done = run(tmp_path, 4, "--epochs", "3", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert len(of_one) == 9
    assert losses(done) == pytest.approx(of_one, rel=1e-10)


def test_two_processes_restarted_go_on_from_their_checkpoint_to_the_losses_of_one(
    tmp_path, of_one, path
):
    arguments = "--epochs", "3", "--fail-at", "2"
    done = run(tmp_path, 2, *arguments, options=("--max-restarts", "1"), PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert "as it was asked to" in done.stderr
    assert "going on after epoch 2" in done.stdout
    assert losses(done) == pytest.approx(of_one, rel=1e-10)
