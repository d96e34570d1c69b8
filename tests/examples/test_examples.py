"""The scripts of examples/: their pictures, and the losses that they print beside PyTorch's.

Each script is a process of its own, as a user would start it, with one thread. Where PyTorch is
installed the same script runs on it, and the first 50 losses agree to four digits: the same seed
draws the same weights, batches and dropout. Otherwise three steps show that it runs.
"""

import importlib
import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from _alone import PATIENCE

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
run_examples = importlib.import_module("run_examples")
sys.path.pop(0)

COMPARED = find_spec("torch") is not None
STEPS = 50 if COMPARED else 3

# What makes a script's steps smaller, and the packages that it needs.
EXAMPLES = {
    "digits": ("--epochs 2", ["sklearn", "matplotlib", "tqdm"]),
    "vae": ("", ["sklearn", "matplotlib"]),
    "burgers": ("--points 500", ["matplotlib"]),
    "neural_ode": ("--batch-size 4 --ahead 8", ["matplotlib"]),
    "sunspots": ("--batch-size 4 --years 30", ["matplotlib"]),
    "cartpole": ("--poles 4", ["matplotlib"]),
    "char_gpt": ("--batch-size 4 --lr 1e-3", ["matplotlib"]),
    "gpt2": ("--batch-size 4 --tested 8", ["transformers", "matplotlib"]),
}


def run(name: str, library: str, out: Path) -> str:
    """What the script prints; its files go to `out`."""
    arguments = [*EXAMPLES[name][0].split(), "--out", str(out)]
    if name != "digits":
        arguments += ["--steps", str(STEPS), "--every", "1"]
    done = subprocess.run(
        run_examples.command(name, library, arguments),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "COLUMNS": "200"},
    )
    assert done.returncode == 0, f"{library}:\n{done.stdout}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def losses(name: str, printed: str) -> list[float]:
    found = [float(loss) for loss in run_examples.losses(printed)]
    # Its progress bar shows a loss as often as there is time for it, and at the end.
    return found[-1:] if name == "digits" else found


def test_all_are_listed():
    assert sorted(EXAMPLES) == sorted(run_examples.NAMES)
    scripts = {path.stem for path in run_examples.FOLDER.glob("*.py")}
    # The one of several processes: tests/distributed/test_ddp_digits.py.
    assert set(EXAMPLES) == scripts - {"ddp_digits"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_runs_draws_and_agrees_with_pytorch(name: str, tmp_path: Path):
    for package in EXAMPLES[name][1]:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    ours = losses(name, run(name, "rushlight", tmp_path / "ours"))
    (picture,) = (tmp_path / "ours").glob("*.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(ours) >= (1 if name == "digits" else STEPS)
    assert all(map(math.isfinite, ours))
    if COMPARED:
        theirs = losses(name, run(name, "torch", tmp_path / "theirs"))
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-7)


def test_programs_do_not_name_the_library():
    named = [p.name for p in run_examples.FOLDER.glob("*.py") if "rushlight" in p.read_text()]
    assert named == []


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("step    50  loss 2.3456  upright 1.00 s", ["2.3456"]),
        ("step 1  loss -1.5e-05\nstep 2  loss 3", ["-1.5e-05", "3"]),
        ("12.9epoch/s, accuracy=0.9916, loss=0.0064]", ["0.0064"]),
        ("closs 1.5", []),
    ],
)
def test_losses_are_read_as_printed(printed: str, found: list[str]):
    assert run_examples.losses(printed) == found


def test_table_has_a_row_for_each():
    rows = [
        run_examples.Result("vae", 31.25, "23.1", "examples/out/vae.png"),
        run_examples.Result("gpt2", 4.0, "-", "failed"),
    ]
    assert run_examples.table(rows).splitlines() == [
        "example  seconds  last loss  picture",
        "vae         31.2       23.1  examples/out/vae.png",
        "gpt2         4.0          -  failed",
    ]
