"""Every tensor function and method that at least 15 of 105 public repositories use is there."""

import importlib.util
from pathlib import Path

import pytest

from _subject import NAME

# Loaded from its file: a module called `coverage` on the path would hide the tool of that name.
_spec = importlib.util.spec_from_file_location(
    "rushlight_coverage", Path(__file__).with_name("coverage.py")
)
report = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(report)


@pytest.mark.parametrize("name", [name for name, _ in report.names()])
def test_present(name):
    assert report.present(NAME, name)
