"""Rows of more than 131,072 elements, which go to several threads in pieces of 65,536."""

import numpy as np
import pytest

import rushlight as rl

PIECE = 1 << 16
LENGTHS = [2 * PIECE - 1, 2 * PIECE, 2 * PIECE + 1, 5 * PIECE + 17]


@pytest.fixture(params=LENGTHS)
def row(request):
    return np.random.default_rng(request.param).standard_normal(request.param)


@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_var_is_of_all_pieces(row, kind, correction):
    values = (row * 3 + 100).astype(kind)  # the pieces' means differ, and are large beside that
    wide = values.astype(np.longdouble)
    expected = ((wide - wide.mean()) ** 2).sum() / (len(row) - correction)
    found = rl.var(rl.from_numpy(values), correction=correction).item()
    assert found == pytest.approx(float(expected), rel=1e-6 if kind == "float32" else 1e-14)


def test_var_of_pieces_of_one_value_is_zero():
    assert rl.var(rl.full((3 * PIECE,), 0.1, dtype=rl.float64)).item() == 0
    assert rl.var(rl.full((3 * PIECE,), float("inf"))).isnan()


@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "int32", "bfloat16"])
def test_first_of_equal_extremes(row, kind):
    values = np.round(row * 2)  # of few values: ties in every piece
    t = rl.from_numpy(values).to(getattr(rl, kind))
    assert rl.argmax(t).item() == values.argmax()
    assert rl.argmin(t).item() == values.argmin()


def test_first_nan_wins(row):
    row[[PIECE + 3, 2 * PIECE - 2]] = np.nan
    assert rl.argmax(rl.from_numpy(row)).item() == PIECE + 3
    assert rl.argmin(rl.from_numpy(row)).item() == PIECE + 3


@pytest.mark.parametrize("loss", ["mse_loss", "huber_loss", "smooth_l1_loss"])
def test_losses_add_the_pieces_up(row, loss):
    other = np.roll(row, 1)
    far = np.abs(row - other)
    each = far**2 if loss == "mse_loss" else np.where(far < 1, far**2 / 2, far - 0.5)
    found = getattr(rl.nn.functional, loss)(rl.from_numpy(row), rl.from_numpy(other)).item()
    assert found == pytest.approx(each.mean(), rel=1e-13)


def test_the_threads_do_not_decide_the_sum(row):
    x, y = rl.from_numpy(row).float(), rl.from_numpy(np.roll(row, 1)).float()
    threads = rl.get_num_threads()
    found = set()
    try:
        for n in (1, 2, 3):
            rl.set_num_threads(n)
            found.add((rl.var(x).item(), rl.nn.functional.mse_loss(x, y).item()))
    finally:
        rl.set_num_threads(threads)
    assert len(found) == 1
