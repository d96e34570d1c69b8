"""The catalogue of errors and warnings: type and first sentence, here and on PyTorch.

The cases are in `tests/error_catalogue`. Where PyTorch raises and this library deliberately gives a
value (`better`), or the other way round (`stricter`), the case says why and both sides are tested.
"""

import pytest

from _subject import NAME, torch
from error_catalogue import CASES, ELSEWHERE, WANTED, check_here, check_there, missing

IDS = [f"{case.name}-{i}" for i, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_type_and_first_sentence(case):
    (check_there if NAME == "torch" else check_here)(torch, case)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_sentence_is_torchs(case):
    check_there(pytest.importorskip("torch"), case)


def test_no_text_is_missing():
    """The session's last lines say how many there are (conftest.py)."""
    assert not missing()
    have = {case.name for case in CASES}
    assert have <= set(WANTED), "a case whose text is not in the list"
    assert not have & set(ELSEWHERE)
