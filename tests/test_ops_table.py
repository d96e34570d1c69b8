"""docs/ops.md, which tools/ops_table.py writes, is current and complete."""

import importlib.util
from pathlib import Path

import pytest

from rushlight.ops.table.kinds import constant
from rushlight.ops.table.statement import OPS

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("ops_table", ROOT / "tools" / "ops_table.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_page_is_current(tool):
    assert tool.TARGET.read_text(encoding="utf-8") == tool.page(), "run: python tools/ops_table.py"


def test_rows_tell_something(tool):
    rows = [line for line in tool.page().splitlines() if line.startswith("| `")]
    assert len(rows) > 500
    assert any(
        r.startswith("| `matmul(input, other, *, out=None) -> Tensor` | bilinear | `.` | ")
        for r in rows
    )
    assert not [r for r in rows if r.endswith("|  |")], "without a sentence"


@pytest.mark.parametrize("word", ["autocast", "stored", "typed", "overlap", "keeps", "unheard_of"])
def test_an_unknown_word_is_an_error(word):
    with pytest.raises((TypeError, KeyError), match=r"never|lower"):
        constant("_never(input: Tensor)", lambda a: a, **{word: "lower"})
    assert "_never" not in OPS
