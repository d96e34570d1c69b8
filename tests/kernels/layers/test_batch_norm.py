"""Batch and group norm and their gradients, where blocks, registers and parts of the work end."""

import numpy as np
import pytest
from plain import definition, on_one_thread_and_two, within

import rushlight
from rushlight import _core

plain = definition("batch_norm")
kernels = _core.kernels

FLOATS = [np.float32, np.float64]
EPS = 1e-5
# Additions one after the other in a block of at most 2048 elements: four registers of at least two.
BLOCK_ADDITIONS = 2048 // 8 + 8
PLANES = [
    *((2, 3, n) for n in (2, 3, 7, 49, 255, 256, 257, 2047, 2048, 2049, 4099)),
    *((n, 5, 4) for n in (1, 511, 512, 513)),  # gathered into blocks of 2048
    (2, 5, 3, 7),
    (3, 2, 2, 3, 5),
    (2, 5, 70_000),  # a channel is several tasks
]
COLUMNS = [
    *((70, c) for c in (1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130)),
    *((n, 5) for n in (2, 63, 64, 65, 129)),
    (1500, 70),  # in parts
    (600, 2100),  # wider than a block of the last pass
]


def sample(shape, dtype, seed=0, offset=0.5):
    return (np.random.default_rng(seed).standard_normal(shape) + offset).astype(dtype)


def dims_of(x):
    return (0, *range(2, x.ndim))


def statistics_errors(x, mean, rstd, dims, eps):
    """Of the means, and relative ones of rstd; the squares are off a mean that is as wrong."""
    additions = min(x.size // mean.size, BLOCK_ADDITIONS) + 1
    of_mean = additions * eps * np.abs(x).mean(dims)
    return of_mean, (additions + 3) * eps + 2 * rstd * of_mean


def check_forward(x, weight, bias, eps):
    """y, mean and rstd of the kernel against the definition in float64."""
    y, mean, rstd = on_one_thread_and_two(
        lambda: kernels.batch_norm(x, weight, bias, None, None, True, 0.1, EPS)
    )
    wide, c = x.astype(np.float64), x.shape[1]
    m, _, r = plain.statistics(wide, EPS)
    of_mean, of_rstd = statistics_errors(wide, m, r, dims_of(x), eps)
    within(mean, m, of_mean + eps * np.abs(m))
    within(rstd, r, r * (of_rstd + eps))
    w = np.ones(c) if weight is None else weight.astype(np.float64)
    b = np.zeros(c) if bias is None else bias.astype(np.float64)
    expected = plain.batch_norm(wide, m, r, w, b)
    scale = plain.per_channel(np.abs(w) * r, x)
    shift = np.abs(plain.per_channel(b - m * r * w, x))
    off = np.abs(wide - plain.per_channel(m, x))
    bound = scale * (plain.per_channel(of_mean, x) + off * plain.per_channel(of_rstd, x))
    bound = bound + eps * (2 * np.abs(wide) * scale + shift + np.abs(expected))
    return y, expected, bound


def check_backward(g, x, weight, training, eps):
    m, _, r = plain.statistics(x.astype(np.float64), EPS)
    m, r = m.astype(x.dtype), r.astype(x.dtype)
    made = on_one_thread_and_two(
        lambda: kernels.batch_norm_backward(g, x, weight, m, r, training, (1, 1, 1))
    )
    g, x, weight, m, r = (a.astype(np.float64) for a in (g, x, weight, m, r))
    gx, gw, gb = plain.batch_norm_backward(g, x, m, r, weight, training)
    n = x.size // x.shape[1]
    additions = min(n, BLOCK_ADDITIONS)
    off = x - plain.per_channel(m, x)
    of_sum = additions * eps * np.abs(g).sum(dims_of(x))
    of_product = (additions + 2) * eps * np.abs(g * off).sum(dims_of(x))
    within(made[1], gw, of_product * r + eps * np.abs(gw))
    within(made[2], gb, of_sum + eps * np.abs(gb))
    scale = r * np.abs(weight)
    bound = 3 * eps * np.abs(g) * plain.per_channel(scale, x)
    if training:
        slope = plain.per_channel(scale * r * (of_product * r + 4 * eps * np.abs(gw)) / n, x)
        bound = bound + np.abs(off) * slope
        bound = bound + plain.per_channel(scale * (of_sum + 4 * eps * np.abs(gb)) / n, x)
        bound = bound + eps * np.abs(gx)
    within(made[0], gx, bound)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", PLANES + COLUMNS, ids=str)
def test_batch_norm(shape, dtype):
    eps, c = np.finfo(dtype).eps, shape[1]
    x, weight, bias = sample(shape, dtype), sample(c, dtype, 1), sample(c, dtype, 2)
    within(*check_forward(x, weight, bias, eps))
    check_backward(sample(shape, dtype, 3, 0.1), x, weight, True, eps)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2, 65, 4, 5), (3, 5, 2, 3, 4), (40, 3, 16, 16)], ids=str)
def test_channels_last(shape, dtype):
    eps, c = np.finfo(dtype).eps, shape[1]
    x, g = (np.moveaxis(sample((shape[0], *shape[2:], c), dtype, s), -1, 1) for s in (0, 3))
    weight = sample(c, dtype, 1)
    y, expected, bound = check_forward(x, weight, None, eps)
    within(y, expected, bound)
    assert y.strides == x.strides
    check_backward(g, x, weight, True, eps)
    check_backward(np.ascontiguousarray(g), x, weight, True, eps)


@pytest.mark.parametrize("shape", [(4, 6, 5), (30, 6), (3, 2, 4, 4)], ids=str)
def test_evaluation_takes_the_running_statistics(shape):
    eps, c = np.finfo(np.float64).eps, shape[1]
    x, mean = sample(shape, np.float64), sample(c, np.float64, 4)
    variance, weight = np.abs(sample(c, np.float64, 5)), sample(c, np.float64, 6)
    before = mean.copy(), variance.copy()
    y = kernels.batch_norm(x, weight, None, mean, variance, False, 0.1, EPS)[0]
    expected = plain.batch_norm(x, mean, 1 / np.sqrt(variance + EPS), weight, np.zeros(c))
    within(y, expected, 64 * eps * (1 + np.abs(expected)))
    np.testing.assert_array_equal((mean, variance), before)
    check_backward(sample(shape, np.float64, 3), x, weight, False, eps)


@pytest.mark.parametrize("shape", [(4, 6, 5), (30, 6), (2, 5, 70_000)], ids=str)
def test_running_statistics_move(shape):
    x, c = sample(shape, np.float32), shape[1]
    mean, variance = sample(c, np.float32, 4), np.abs(sample(c, np.float32, 5))
    m, v, _ = plain.statistics(x.astype(np.float64), EPS)
    n = x.size // c
    expected = 0.7 * mean + 0.3 * m, 0.7 * variance + 0.3 * v * n / (n - 1)
    kernels.batch_norm(x, None, None, mean, variance, True, 0.3, EPS)
    np.testing.assert_allclose(mean, expected[0], rtol=0, atol=2e-5)
    np.testing.assert_allclose(variance, expected[1], rtol=0, atol=2e-5)


def test_running_statistics_that_are_every_second_element():
    x, held = sample((8, 3), np.float64), np.zeros(6)
    kernels.batch_norm(x, None, None, held[::2], None, True, 1.0, EPS)
    np.testing.assert_allclose(held[::2], x.mean(0), rtol=1e-14)
    np.testing.assert_array_equal(held[1::2], 0)


def test_a_mean_far_from_zero_costs_no_accuracy_of_the_deviation():
    x = (sample((64, 3, 50), np.float64, offset=0) + 1e4).astype(np.float32)
    rstd = kernels.batch_norm(x, None, None, None, None, True, 0.1, 0.0)[2]
    expected = plain.statistics(x.astype(np.float64), 0.0)[2]
    np.testing.assert_allclose(rstd, expected, rtol=2e-6)


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 4), (2, 3, 0), (2, 0, 4)], ids=str)
def test_nothing(shape):
    c, x = shape[1], np.zeros(shape, np.float32)
    y, mean, rstd = kernels.batch_norm(x, None, None, np.ones(c), None, True, 0.1, EPS)
    assert y.shape == shape
    np.testing.assert_array_equal(mean, np.zeros(c))
    np.testing.assert_allclose(rstd, np.full(c, EPS**-0.5), rtol=1e-6)
    gx, gw, gb = kernels.batch_norm_backward(x, x, None, mean, rstd, True, (1, 1, 1))
    assert gx.shape == shape
    np.testing.assert_array_equal((gw, gb), np.zeros((2, c)))


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("last", [False, True])
def test_halves_are_rounded_once(half, last):
    kind = getattr(rushlight, half)
    t = rushlight.tensor(sample((3, 5, 4, 70), np.float32)).to(kind)
    g = rushlight.tensor(sample((3, 5, 4, 70), np.float32, 3)).to(kind)
    if last:
        t, g = (a.contiguous(memory_format=rushlight.channels_last) for a in (t, g))
    weight = rushlight.tensor(sample(5, np.float32, 1))
    ulp = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[half]
    y, mean, rstd = kernels.batch_norm(t, weight, None, None, None, True, 0.1, EPS)
    wide, w = t.double().numpy(), weight.double().numpy()
    m, _, r = plain.statistics(wide, EPS)
    expected = plain.batch_norm(wide, m, r, w, np.zeros(5))
    within(y.double().numpy(), expected, ulp * np.abs(expected) + 1e-4)
    gx = kernels.batch_norm_backward(g, t, weight, mean, rstd, True, (1, 0, 0))[0]
    assert gx.dtype is kind
    expected = plain.batch_norm_backward(g.double().numpy(), wide, m, r, w, True)[0]
    within(gx.double().numpy(), expected, ulp * np.abs(expected) + 1e-4)


GROUPS = [
    ((3, 6), 2),
    ((2, 6, 5), 3),
    ((2, 6, 2049), 6),
    ((2, 4, 700), 1),
    ((2, 8, 3, 5, 2), 4),
    ((1, 4, 257), 4),
    ((70, 4, 3), 2),
    ((65, 6), 2),
    ((5, 4, 4), 1),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "groups"), GROUPS, ids=str)
def test_group_norm(shape, groups, dtype):
    eps, c = np.finfo(dtype).eps, shape[1]
    x, g = sample(shape, dtype), sample(shape, dtype, 3)
    weight, bias = sample(c, dtype, 1), sample(c, dtype, 2)
    made = on_one_thread_and_two(lambda: kernels.group_norm(x, groups, weight, bias, EPS))
    wide, w, b = (a.astype(np.float64) for a in (x, weight, bias))
    expected = plain.group_norm(wide, groups, w, b, EPS)
    # As in statistics_errors, for the worst group.
    n = x.size // expected[1].size
    additions = min(n, BLOCK_ADDITIONS) + 4
    rstd, largest = expected[2].max(), np.abs(wide).max()
    relative = additions * eps * (1 + 2 * rstd * largest)
    within(made[1], expected[1], additions * eps * largest)
    within(made[2], expected[2], relative * expected[2])
    within(made[0], expected[0], 4 * relative * rstd * largest * np.abs(w).max() + eps)
    back = on_one_thread_and_two(
        lambda: kernels.group_norm_backward(
            g, None, None, x, groups, made[1], made[2], weight, EPS, (1, 1, 1)
        )
    )
    wanted = plain.group_norm_backward(g.astype(np.float64), wide, groups, w, EPS)
    size = np.abs(g).max() * np.abs(w).max() * rstd
    within(back[0], wanted[0], 8 * relative * size * (1 + rstd * largest) ** 2)
    sums = np.abs(g).sum(dims_of(x)) * (1 + rstd * largest)
    within(back[1], wanted[1], 4 * relative * sums)
    within(back[2], wanted[2], 4 * relative * sums)
