"""torch.quasirandom against PyTorch: the same points, bit for bit, and the same errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both import first_sentence
from rushlight.quasirandom import SobolEngine  # noqa: F401  imports the module

import rushlight

pytorch = pytest.importorskip("torch")
pytest.importorskip("scipy")

# Programs of a library `m`; the last expression is compared.
CASES: dict[str, Any] = {
    "all directions": lambda m: m.quasirandom.SobolEngine(21201).sobolstate,
    "points": lambda m: m.quasirandom.SobolEngine(40).draw(33),
    "doubles": lambda m: m.quasirandom.SobolEngine(3).draw(9, dtype=m.float64),
    "scrambled": lambda m: m.quasirandom.SobolEngine(50, True, seed=7).draw(100),
    "by the default generator": lambda m: [
        m.manual_seed(3) and m.quasirandom.SobolEngine(5, scramble=True).draw(4),
        m.rand(3),
    ],
    "parts": lambda m: [
        (e := m.quasirandom.SobolEngine(4, True, seed=1)).draw(),
        *(e.draw(k) for k in (1, 3, 0, 5)),
        e.quasi,
        e.reset().draw(2),
    ],
    "base2": lambda m: list(map(m.quasirandom.SobolEngine(3).draw_base2, (2, 2, 3))),
    "forward": lambda m: [
        (e := m.quasirandom.SobolEngine(3).fast_forward(1000)).draw(3),
        e.fast_forward(0).draw(1),
        e.fast_forward(1 << 20).draw(2),
        m.quasirandom.SobolEngine(3).fast_forward(1).draw(2),
        m.quasirandom.SobolEngine(3).fast_forward(0).draw(2),
    ],
    "out": lambda m: [
        o := m.zeros(0, dtype=m.float64),
        m.quasirandom.SobolEngine(2).draw(4, out=o) is o,
    ],
    "half": lambda m: m.quasirandom.SobolEngine(2).draw(1, dtype=m.float16),
    "text": lambda m: [repr(m.quasirandom.SobolEngine(2, True, 3)), m.quasirandom.SobolEngine(2)],
    "functions": lambda m: [
        s := m._sobol_engine_initialize_state_(m.zeros(3, 30, dtype=m.int64), 3),
        m._sobol_engine_draw(m.zeros(3, dtype=m.int64), 3, s, 3, 5, m.float64),
        m._sobol_engine_ff_(m.zeros(3, dtype=m.int64), 77, s, 3, 5),
        m._sobol_engine_scramble_(s, m.ones(3, 30, 30, dtype=m.int64).tril(), 3),
    ],
}
ERRORS: dict[str, Any] = {
    "no dimension": lambda m: m.quasirandom.SobolEngine(0),
    "too many": lambda m: m.quasirandom.SobolEngine(21202),
    "no points": lambda m: m.quasirandom.SobolEngine(2).draw(0),
    "fewer": lambda m: m.quasirandom.SobolEngine(2).draw(-3),
    "halves": lambda m: m.quasirandom.SobolEngine(2).draw(3, dtype=m.bfloat16),
    "integers": lambda m: m.quasirandom.SobolEngine(2).draw(3, dtype=m.int64),
    "a float": lambda m: m.quasirandom.SobolEngine(2).draw(2.5),
    "unbalanced": lambda m: (e := m.quasirandom.SobolEngine(2), e.draw(3), e.draw_base2(2)),
    "state": lambda m: m._sobol_engine_initialize_state_(m.zeros(3, 30), 3),
    "point": lambda m: m._sobol_engine_ff_(m.zeros(1), 2, m.zeros(1, 30, dtype=m.int64), 1, 0),
    "matrices": lambda m: m._sobol_engine_scramble_(
        m.zeros(1, 30, dtype=m.int64), m.zeros(1, 30, 30), 1
    ),
}


def flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for v in value for leaf in flat(v)]
    return [value]


@pytest.mark.parametrize("case", CASES)
def test_the_same_points(case: str) -> None:
    for mine, theirs in zip(flat(CASES[case](rushlight)), flat(CASES[case](pytorch)), strict=True):
        if isinstance(theirs, pytorch.Tensor):
            assert str(mine.dtype) == str(theirs.dtype)
            np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
        else:
            assert str(mine) == str(theirs)


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str) -> None:
    with pytest.raises(Exception) as want:
        ERRORS[case](pytorch)
    with pytest.raises(type(want.value)) as found:
        ERRORS[case](rushlight)
    assert first_sentence(found.value) == first_sentence(want.value)
