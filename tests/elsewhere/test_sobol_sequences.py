"""torch.quasirandom against SciPy's own Sobol sequences, and by what such points are good for."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import rushlight as torch

qmc = pytest.importorskip("scipy.stats.qmc")


def test_points_are_scipys() -> None:
    want = qmc.Sobol(30, scramble=False).random(64)
    np.testing.assert_array_equal(torch.quasirandom.SobolEngine(30).draw(64), want.astype("f"))


@pytest.mark.parametrize("scramble", [False, True])
def test_every_dyadic_interval_has_as_many_points(scramble: bool) -> None:
    points = torch.quasirandom.SobolEngine(8, scramble, seed=2).draw_base2(7).numpy()
    for column in points.T:
        assert (np.bincount((column * 128).astype(int), minlength=128) == 1).all()


def test_scrambling_follows_the_seed() -> None:
    one, same, other = (
        torch.quasirandom.SobolEngine(3, True, seed=s).draw(8).numpy() for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()


def test_drawing_in_parts_gives_the_same_points() -> None:
    whole = torch.quasirandom.SobolEngine(5).draw(20)
    engine = torch.quasirandom.SobolEngine(5)
    parts = torch.cat([engine.draw(k) for k in (1, 2, 6)] + [engine.fast_forward(3).draw(8)])
    assert torch.equal(torch.cat([whole[:9], whole[12:]]), parts)


def test_a_sequence_ends() -> None:
    engine = torch.quasirandom.SobolEngine(1).fast_forward(2**30 - 2)
    assert engine.draw(2).shape == (2, 1)
    with pytest.raises(ValueError, match="has 2\\*\\*30 points"):
        engine.draw(1)
    with pytest.raises(ValueError, match="has 2\\*\\*30 points"):
        engine.fast_forward(1 << 40)


def test_without_scipy_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight import quasirandom

    real: Any = importlib.util.find_spec
    monkeypatch.setattr(
        quasirandom, "find_spec", lambda name: None if name == "scipy" else real(name)
    )
    with pytest.raises(ImportError, match=r"pip install rushlight\[scipy\]"):
        torch.quasirandom.SobolEngine(2)
