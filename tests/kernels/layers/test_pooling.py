"""Pooling against its definition, where registers, blocks and the buffer of a row end."""

import numpy as np
import pytest
from plain import definition, on_one_thread_and_two

from rushlight import _core

plain = definition("pooling")
kernels = _core.kernels

FLOATS = [np.float32, np.float64]
# sizes, kernel, stride, padding, dilation
WINDOWS = [
    *(((3, 2 * n), (2, 2), 2, 0, 1) for n in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33)),
    *(((3, n), (2, 3), 1, 1, 1) for n in (1, 2, 3, 4, 8, 15, 16, 17, 18, 255, 256, 257)),
    *(((4, 2 * n + 1), (3, 3), 2, 1, 1) for n in (1, 3, 7, 8, 16, 40)),
    ((5, 23), (3, 2), (1, 3), (1, 1), (2, 1)),
    ((5, 40), (2, 3), (2, 1), (1, 2), (1, 3)),
    ((4, 9), (4, 9), 1, 0, 1),
    ((2, 70), (1, 30), (1, 7), (0, 15), 1),
    ((1, 2200), (1, 700), (1, 300), (0, 10), 1),  # few windows fit into the buffer of a row
    ((37,), (3,), 2, 1, 1),
    ((520,), (2,), 2, 0, 1),
    ((3, 5, 18), (2, 2, 2), (2, 1, 1), (1, 0, 1), 1),
    ((4, 4, 34), (3, 3, 3), 2, 1, 1),
]


def numbers(value, n):
    return value if isinstance(value, tuple) else (value,) * n


def axes_of(sizes, kernel, stride, padding, dilation, ceil_mode=False):
    n, axes = len(sizes), []
    every = zip(sizes, kernel, *(numbers(v, n) for v in (stride, padding, dilation)), strict=True)
    for size, k, s, p, d in every:
        span = size + 2 * p - d * (k - 1) - 1
        count = (-(-span // s) if ceil_mode else span // s) + 1
        if ceil_mode and (count - 1) * s >= size + p:
            count -= 1
        axes.append(plain.windows(size, k, s, p, d, count))
    return axes


def with_ties_and_specials(shape, dtype, seed=0):
    """Few different values; some NaN, whole stretches of -inf, or of the lowest integer."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 3, shape).astype(dtype)
    whole = x.dtype.kind in "iu"
    lowest = np.iinfo(dtype).min if whole else -np.inf
    x[rng.random(shape) < 0.02] = np.iinfo(dtype).max if whole else np.nan
    x[rng.random(shape) < 0.1] = lowest
    x[..., : min(4, shape[-1])] = lowest
    return x


def check_maxima(x, n, made, axes):
    flat = x.reshape(-1, *x.shape[x.ndim - n :])
    values, places = plain.maxima(flat, axes)
    np.testing.assert_array_equal(made[0].reshape(values.shape), values)
    np.testing.assert_array_equal(made[1].reshape(places.shape), places)


@pytest.mark.parametrize("dtype", [*FLOATS, np.float16, np.int64, np.uint8])
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_max_pool(case, dtype):
    sizes, kernel, stride, padding, dilation = case
    x = with_ties_and_specials((2, 3, *sizes), dtype)
    made = kernels.max_pool(x, kernel, stride, padding, dilation, False)
    check_maxima(x, len(sizes), made, axes_of(*case))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_max_pool_backward(case, dtype):
    sizes, kernel, stride, padding, dilation = case
    x = np.random.default_rng(1).standard_normal((2, 3, *sizes)).astype(dtype)
    out, places = kernels.max_pool(x, kernel, stride, padding, dilation, False)
    g = np.random.default_rng(2).standard_normal(out.shape).astype(dtype)
    made = on_one_thread_and_two(lambda: kernels.max_pool_backward(g, places, x.shape, len(sizes)))
    rows = (6, *out.shape[2:])
    expected, size = (
        plain.maxima_backward(v, places.reshape(rows), (6, *sizes)).reshape(x.shape)
        for v in (g.reshape(rows).astype(np.float64), np.abs(g.reshape(rows)))
    )
    # A place is reached from as many windows as cover it.
    bound = np.prod(kernel) * np.finfo(dtype).eps * size
    assert (np.abs(made - expected) <= bound).all()


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("size", range(5, 12))
def test_ceil_mode(size, ceil_mode):
    case = (4, size), (2, 3), 2, 1, 1
    x = with_ties_and_specials((2, 4, size), np.float32, size)
    made = kernels.max_pool(x, *case[1:], ceil_mode)
    check_maxima(x, 2, made, axes_of(*case, ceil_mode))


def divisors_of(sizes, kernel, stride, padding, include, axes):
    total = np.ones(())
    n = len(sizes)
    every = zip(sizes, kernel, numbers(stride, n), numbers(padding, n), axes, strict=True)
    for size, k, s, p, axis in every:
        counted = [
            min(i * s - p + k, size + p) - (i * s - p) if include else len(axis[i])
            for i in range(len(axis))
        ]
        total = np.multiply.outer(total, counted)
    return np.maximum(total, 1)


def with_sizes(volumes):
    """Volumes and, after them, their absolute values."""
    return np.concatenate((volumes, np.abs(volumes)))


MEANS = [case for case in WINDOWS if case[4] == 1]
LONG = [((1, 5000), (1, 4500), (1, 100), 0, 1), ((2, 4200), (2, 2049), (1, 1000), 0, 1)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("case", MEANS + LONG, ids=str)
def test_avg_pool(case, include, dtype):
    sizes, kernel, stride, padding, _ = case
    x = np.random.default_rng(3).standard_normal((2, 2, *sizes)).astype(dtype)
    axes = axes_of(*case)
    divisors = divisors_of(sizes, kernel, stride, padding, include, axes)
    options = kernel, stride, padding, False, include
    eps, additions = np.finfo(dtype).eps, np.prod(kernel) + 2
    for divisor in (None, 3):
        made = on_one_thread_and_two(lambda d=divisor: kernels.avg_pool(x, *options, d))
        over = divisors if divisor is None else divisor
        flat = x.reshape(4, *sizes).astype(np.float64)
        expected, size = np.split(plain.means(with_sizes(flat), axes, over), 2)
        assert (np.abs(made.reshape(expected.shape) - expected) <= additions * eps * size).all()
        g = np.random.default_rng(4).standard_normal(made.shape).astype(dtype)
        back = on_one_thread_and_two(
            lambda d=divisor, g=g: kernels.avg_pool_backward(g, x.shape, *options, d)
        )
        flat = g.reshape(expected.shape).astype(np.float64)
        made_plainly = plain.means_backward(with_sizes(flat), (8, *sizes), axes, over)
        expected, size = np.split(made_plainly, 2)
        assert (np.abs(back.reshape(expected.shape) - expected) <= additions * eps * size).all()


@pytest.mark.parametrize("case", MEANS + LONG, ids=str)
def test_avg_pool_of_integers(case):
    """Sums wrap, and quotients are rounded toward zero."""
    sizes, kernel, stride, padding, _ = case
    x = np.random.default_rng(3).integers(-(2**63), 2**63, (2, 2, *sizes), np.int64)
    x[0] >>= 56
    x[0, 0, ..., :9] = 0
    x[0, 0, ..., -1] = -(2**63)
    axes = axes_of(*case)
    for divisor in (None, 3, -1, -7, 2**63 - 1):
        made = on_one_thread_and_two(
            lambda d=divisor: kernels.avg_pool(x, kernel, stride, padding, False, False, d)
        ).reshape(4, *map(len, axes))
        flat = x.reshape(4, *sizes)
        for position, places in plain.each(axes):
            for v in range(4):
                total = sum(int(flat[(v, *place)]) for place in places)
                total = (total + 2**63) % 2**64 - 2**63
                over = divisor or max(len(places), 1)
                quotient = abs(total) // abs(over) * (1 if (total < 0) == (over < 0) else -1)
                assert made[(v, *position)] == (quotient + 2**63) % 2**64 - 2**63


ADAPTIVE = [
    ((32, 32), (4, 4)),
    ((32, 33), (7, 7)),
    ((5, 6), (8, 1)),
    ((1, 17), (3, 17)),
    ((9,), (4,)),
    ((3, 5, 18), (2, 5, 4)),
    ((2, 5000), (1, 2)),
]


@pytest.mark.parametrize("dtype", [*FLOATS, np.float16])
@pytest.mark.parametrize(("sizes", "wanted"), ADAPTIVE, ids=str)
def test_adaptive_max_pool(sizes, wanted, dtype):
    x = with_ties_and_specials((2, 2, *sizes), dtype)
    axes = [plain.even_cuts(*v) for v in zip(sizes, wanted, strict=True)]
    check_maxima(x, len(sizes), kernels.adaptive_max_pool(x, wanted), axes)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("sizes", "wanted"), ADAPTIVE, ids=str)
def test_adaptive_avg_pool(sizes, wanted, dtype):
    x = np.random.default_rng(5).standard_normal((2, 2, *sizes)).astype(dtype)
    axes = [plain.even_cuts(*v) for v in zip(sizes, wanted, strict=True)]
    divisors = np.ones(())
    for axis in axes:
        divisors = np.multiply.outer(divisors, [len(w) for w in axis])
    eps = np.finfo(dtype).eps
    made = on_one_thread_and_two(lambda: kernels.adaptive_avg_pool(x, wanted))
    flat = x.reshape(4, *sizes).astype(np.float64)
    expected, size = (plain.means(v, axes, divisors) for v in (flat, np.abs(flat)))
    bound = (divisors + 2) * eps * size
    assert (np.abs(made.reshape(expected.shape) - expected) <= bound).all()
    g = np.random.default_rng(6).standard_normal(made.shape).astype(dtype)
    back = on_one_thread_and_two(lambda: kernels.adaptive_avg_pool_backward(g, sizes))
    flat = g.reshape(expected.shape).astype(np.float64)
    expected, size = (
        plain.means_backward(v, (4, *sizes), axes, divisors) for v in (flat, np.abs(flat))
    )
    # An element lies in at most 2 windows a dimension where they are larger than 1, else in as many
    # as there are.
    bound = (np.prod(wanted) + 2) * eps * size
    assert (np.abs(back.reshape(expected.shape) - expected) <= bound).all()


def test_no_volumes():
    x = np.zeros((0, 3, 4, 4), np.float32)
    out, places = kernels.max_pool(x, (2, 2), 2, 0, 1, False)
    assert out.shape == places.shape == (0, 3, 2, 2)
    assert kernels.max_pool_backward(out, places, x.shape, 2).shape == x.shape
    assert kernels.avg_pool(x, (2, 2), 2, 0, False, True, None).shape == (0, 3, 2, 2)
    assert kernels.adaptive_avg_pool(x, (3, 3)).shape == (0, 3, 3, 3)


def test_an_index_outside_of_its_volume_is_refused():
    g = np.ones((1, 2, 2), np.float32)
    for wrong in (-1, 9, 2**40):
        with pytest.raises(IndexError):
            kernels.max_pool_backward(g, np.full((1, 2, 2), wrong, np.int64), (1, 3, 3), 2)
