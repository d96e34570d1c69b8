"""The page of names that are here (docs/coverage.md) is current: none of them is lost unseen."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]


def test_as_many_names_are_here_as_the_page_says():
    spec = importlib.util.spec_from_file_location("coverage_page", ROOT / "tools" / "coverage.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    written = tool.PAGE.read_text(encoding="utf-8")
    assert tool.count(tool.page()) == tool.count(written), "run: python tools/coverage.py"
