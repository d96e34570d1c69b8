"""Layer norm, its gradients and the squared error, at the sizes where registers and blocks end."""

import numpy as np
import pytest
from plain import definition, on_one_thread_and_two, within

from rushlight import _core

plain = definition("norm")
kernels = _core.kernels

FLOATS = [np.float32, np.float64]
SHAPES = [
    *((3, n) for n in (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 129)),
    *((64, 3), (65, 6), (130, 16)),
    *((1, 1000), (2, 4099), (65, 48), (300, 129), (700, 200)),
]
EPS = 1e-5


def sample(shape, dtype, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) + 0.5).astype(dtype)


def normal_error(x, rstd):
    """Of (x - mean) * rstd: the mean is a sum of n, the difference is rounded, and rstd comes of
    a sum of n squares of such differences."""
    eps, n = np.finfo(x.dtype).eps, x.shape[1]
    difference = eps * (np.abs(x) + (n + 1) * np.abs(x).mean(1, keepdims=True))
    # The mean's error moves the sum of squares in the second order only; each square is twice as
    # wrong as its difference.
    relative = (n + 4) * eps + 2 * rstd * difference.max(1, keepdims=True)
    return rstd * difference + np.abs(x - x.mean(1, keepdims=True)) * rstd * relative, relative


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layer_norm(shape, dtype):
    x, weight, bias = sample(shape, dtype), sample(shape[1:], dtype, 1), sample(shape[1:], dtype, 2)
    eps = np.finfo(dtype).eps
    for w, b in ((None, None), (weight, None), (None, bias), (weight, bias)):
        y, mean, rstd = on_one_thread_and_two(lambda w=w, b=b: kernels.layer_norm(x, 1, w, b, EPS))
        scale, shift = 1.0 if w is None else w, 0.0 if b is None else b
        expected, its_mean, its_rstd = plain.layer_norm(x, scale, shift, EPS)
        error, relative = normal_error(x, its_rstd)
        within(y, expected, error * np.abs(scale) + 3 * eps * (np.abs(expected) + np.abs(shift)))
        within(mean, its_mean, eps * (shape[1] + 1) * np.abs(x).mean(1, keepdims=True))
        within(rstd, its_rstd, its_rstd * relative)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_of_layer_norm(shape, dtype):
    x, weight, g = sample(shape, dtype), sample(shape[1:], dtype, 1), sample(shape, dtype, 3)
    eps, (rows, n) = np.finfo(dtype).eps, shape
    for w in (None, weight):
        scale = np.ones(n, dtype) if w is None else w
        _, mean, rstd = plain.layer_norm(x, 1.0, 0.0, EPS)
        error, relative = normal_error(x, rstd)
        kept = mean.astype(dtype), rstd.astype(dtype), w, (3, 2, 2)
        gx, gw, gb = on_one_thread_and_two(
            lambda kept=kept: kernels.layer_norm_backward(g, x, 1, *kept)
        )
        to_x, to_w, to_b = plain.layer_norm_backward(g, x, scale, EPS)
        h, u = np.abs((x - mean) * rstd), np.abs(g.astype(np.float64) * scale)
        of_sums = (n + 4) * eps * (u.mean(1, keepdims=True) + h * (u * h).mean(1, keepdims=True))
        of_normal = error * (u * h).mean(1, keepdims=True) + h * (u * error).mean(1, keepdims=True)
        within(gx, to_x, rstd * (of_sums + of_normal + 4 * eps * u) + relative * np.abs(to_x))
        magnitudes = np.abs(g.astype(np.float64))
        within(gw, to_w, (magnitudes * (error + (rows + 2) * eps * h)).sum(0))
        within(gb, to_b, rows * eps * magnitudes.sum(0))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 3, 8, 16, 17, 33, 128, 129, 5000, 70_001])
def test_the_squared_error(n, dtype):
    x, y = sample((n,), dtype), sample((n,), dtype, 1)
    eps = np.finfo(dtype).eps
    expected = plain.mse_loss(x, y)
    # Each square of a difference has three roundings of half an eps, each sum one more.
    within(kernels.mse_loss(x, y, "mean"), expected, (n + 4) * eps * expected)
    g = np.asarray(0.75, dtype)
    to_x, to_y = kernels.mse_loss_backward(g, x, y, "mean", (2, 2))
    expected = plain.mse_loss_backward(0.75, x, y)
    within(to_x, expected, 3 * eps * np.abs(expected))
    np.testing.assert_array_equal(to_x, -to_y)
