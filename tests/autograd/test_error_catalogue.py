"""The catalogue of errors and warnings: type and first sentence, here and on PyTorch.

The cases are in `tests/error_catalogue`. Where PyTorch raises and this library deliberately gives a
value (`better`), or the other way round (`stricter`), the case says why and both sides are tested.
"""

import pytest

from _subject import NAME, torch
from error_catalogue import CASES, ELSEWHERE, WANTED, check_here, check_there

IDS = [f"{case.name}-{i}" for i, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_type_and_first_sentence(case):
    (check_there if NAME == "torch" else check_here)(torch, case)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_sentence_is_torchs(case):
    check_there(pytest.importorskip("torch"), case)


def test_no_text_is_missing(capsys):
    """Says how many of the catalogue's texts are raised, and which are not."""
    have = {case.name for case in CASES}
    missing = [name for name in WANTED if name not in have and name not in ELSEWHERE]
    apart = [case for case in CASES if case.better or case.stricter]
    numbers = {name.split()[0] for name in WANTED if name[1].isdigit()}
    reached = numbers & {name.split()[0] for name in have}
    with capsys.disabled():
        print(
            f"\nerror catalogue: {len(CASES)} cases raise {len(have)} of {len(WANTED)} texts, "
            f"{len(reached)} of {len(numbers)} numbers; {len(apart)} of the cases differ from "
            f"PyTorch on purpose; elsewhere: {', '.join(ELSEWHERE)}; missing: "
            f"{', '.join(missing) or 'none'}"
        )
    assert not missing
    assert have <= set(WANTED), "a case whose text is not in the list"
    assert not have & set(ELSEWHERE)
