"""Softmax, its gradients and the losses of it, at the sizes where registers and blocks end."""

import numpy as np
import pytest
from plain import definition, within

from rushlight import _core

plain = definition("softmax")
kernels = _core.kernels

FLOATS = [np.float32, np.float64]
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 4097)


def sample(shape, dtype, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 3).astype(dtype)


def log_error(x):
    """Of a log-probability: the two subtractions are rounded, and the sum of n exponentials is
    relatively right to n + 4 roundings and that of the argument of each."""
    below = np.abs(x - x.max(-1, keepdims=True))
    return np.finfo(x.dtype).eps * (below + below.max(-1, keepdims=True) + x.shape[-1] + 4)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", LENGTHS)
def test_rows_of_any_length(n, dtype):
    x = sample((5, n), dtype)
    expected, error = plain.softmax(x), log_error(x)
    within(kernels.softmax(x, 1), expected, expected * error + np.finfo(dtype).tiny)
    within(kernels.log_softmax(x, 1), plain.log_softmax(x), error)
    largest = np.finfo(dtype).eps * np.abs(x).max(1)
    within(kernels.logsumexp(x, 1), plain.logsumexp(x), error.max(1) + largest)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", LENGTHS)
def test_gradients_of_rows_of_any_length(n, dtype):
    g, x = sample((5, n), dtype, 1), sample((5, n), dtype)
    eps = np.finfo(dtype).eps
    y, log_y = kernels.softmax(x, 1), kernels.log_softmax(x, 1)
    # A sum of n terms, a subtraction and two products.
    summed = (np.abs(g) * y).sum(1, keepdims=True) * (n + 2)
    within(kernels.softmax_backward(g, y, 1), plain.softmax_backward(g, y),
           eps * y * (summed + 2 * np.abs(g)))  # fmt: skip
    p = np.exp(log_y.astype(np.float64))
    summed = np.abs(g).sum(1, keepdims=True) * (n + 4 + np.abs(log_y))
    within(kernels.log_softmax_backward(g, log_y, 1), plain.log_softmax_backward(g, log_y),
           eps * (p * summed + np.abs(g)))  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 5, 1), (4, 33, 17), (2, 70, 129), (40, 100, 40)], ids=str)
def test_the_middle_dimension_on_one_thread_and_two(shape, dtype, threads):
    x = sample(shape, dtype)
    rows = np.ascontiguousarray(x.swapaxes(1, 2))
    expected, error = plain.softmax(rows), log_error(rows)
    within(kernels.softmax(x, 1).swapaxes(1, 2), expected, expected * error)
    within(kernels.log_softmax(x, 1).swapaxes(1, 2), plain.log_softmax(rows), error)


@pytest.mark.parametrize("dtype", FLOATS)
def test_large_numbers_do_not_overflow_and_a_row_of_one_kind_is_even(dtype):
    x = np.array([[1e4, 1e4 - 2, -1e4], [-1e4] * 3, [0, -np.inf, 0]], dtype)
    expected = plain.softmax(x[:2])
    within(kernels.softmax(x, 1)[:2], expected, 8 * np.finfo(dtype).eps * expected)
    np.testing.assert_array_equal(kernels.softmax(x, 1)[2], [0.5, 0, 0.5])


def test_a_row_that_is_all_minus_infinity_or_has_a_nan_is_nan():
    x = np.zeros((3, 33), np.float32)
    x[0], x[1, 32] = -np.inf, np.nan
    assert np.isnan(kernels.softmax(x, 1)).all(1).tolist() == [True, True, False]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(5,), (1, 1), (33, 65), (3, 7, 2, 5), (300, 257)], ids=str)
def test_nll_loss_and_its_gradient(shape, weighted, dtype):
    x, rng = sample(shape, dtype), np.random.default_rng(3)
    axis = 1 if len(shape) > 1 else 0
    target = rng.integers(0, shape[axis], shape[:axis] + shape[axis + 1 :])
    if shape[0] > 1 and axis:
        target[::5] = -100
    weight = (
        rng.random(shape[axis]).astype(dtype) + 0.5 if weighted else np.ones(shape[axis], dtype)
    )
    given = weight if weighted else None
    picked = np.expand_dims(target, axis) == np.arange(shape[axis]).reshape(
        -1, *[1] * (len(shape) - axis - 1)
    )
    shares = picked * np.float64(weight).reshape(-1, *[1] * (len(shape) - axis - 1))
    losses, total = -(shares * x).sum(axis), shares.sum()
    eps = 4 * np.finfo(dtype).eps
    for how, expected, share in (
        (0, losses, 1.0),
        (1, losses.sum() / total, 1 / total),
        (2, losses.sum(), 1.0),
    ):
        found = kernels.nll_loss(x, target, given, -100, how)
        within(found, expected, eps * np.abs(losses if how == 0 else share * np.abs(losses).sum()))
        g = np.full(target.shape if how == 0 else (), 0.75, dtype)
        found = kernels.nll_loss_backward(g, target, given, -100, how, shape)
        within(found, -0.75 * share * shares, eps * share * shares)
