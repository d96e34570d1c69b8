"""What `rushlight.explain` shows where stdout has no lines to draw, and the names it offers."""

import os
import subprocess
import sys

from rushlight import explain

PROGRAM = """
import rushlight as torch
from rushlight import explain
x = torch.ones(2, requires_grad=True)
print(explain.tree((x * x).sum()))
"""


def test_a_tree_without_unicode():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert b"`- " in done.stdout


def test_dir_has_the_public_names():
    assert {n for n in dir(explain) if n[:2] != "__"} == set(explain.__all__)
