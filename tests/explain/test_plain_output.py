"""What `rushlight.explain` shows where stdout has no lines to draw, and the names it offers."""

import os
import subprocess
import sys

from rushlight import explain

PROGRAM = """
import rushlight as torch
from rushlight import explain
x = torch.ones(2, requires_grad=True)
y = (x.sigmoid() * x).square().sum()
print(explain.tree((x * x).sum()))
for made in explain.dot(y), explain.svg(y):
    print(made)
    assert not made.isascii()  # as a file gets them
"""


def test_trees_and_pictures_without_unicode():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert b"`- " in done.stdout and b"&#215;" in done.stdout and b"\n</svg>" in done.stdout


def test_dir_has_the_public_names():
    assert {n for n in dir(explain) if n[:2] != "__"} == set(explain.__all__)
