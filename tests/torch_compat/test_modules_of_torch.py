"""Modules that PyTorch imports at its start are attributes of their parents here too."""

import importlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")

LOADED = """
import sys, torch
print(*sorted(name for name in sys.modules if name.partition(".")[0] == "torch"))
"""


def test_modules_that_are_here_are_attributes():
    names = subprocess.check_output([sys.executable, "-W", "ignore", "-c", LOADED], text=True)
    missing = []
    for name in names.split():
        ours = "rushlight" + name.removeprefix("torch")
        *parents, last = ours.split(".")
        try:
            parent = importlib.import_module(".".join(parents) or ours)
            importlib.import_module(ours)
        except ImportError:
            continue
        if not hasattr(parent, last) and parents:
            missing.append(name)
    assert not missing
