"""Sorting, selecting, searching, counting and scans, at the sizes where their ways change."""

from functools import partial

import numpy as np
import pytest
from plain import on_one_thread_and_two

from rushlight import _core

kernels = _core.kernels

LENGTHS = (1, 2, 39, 40, 41, 64, 65, 129, 1023, 5000)  # those of native/kernels/sorting.cpp
TYPES = (
    *(np.bool_, np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64),
    *(np.float16, np.float32, np.float64),
)


def rows(dtype, length, count=7, seed=0):
    """Random rows: of few values, of all values, of special ones."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        a = np.round(rng.standard_normal((count, length)) * 4) / 4
        a[1] = rng.standard_normal(length) * 1e3
        a[2, rng.random(length) < 0.3] = np.nan
        a[3, rng.random(length) < 0.3] = -np.inf
        a[4, rng.random(length) < 0.5] = -0.0
        a[5] = np.sort(a[5])
        return a.astype(dtype)
    if dtype is np.bool_:
        return rng.random((count, length)) < 0.5
    ends = np.iinfo(dtype)
    a = rng.integers(ends.min, ends.max, (count, length), dtype, endpoint=True)
    a[1] = rng.integers(max(ends.min, -5), 5, length)
    a[2] = ends.max
    return a


def order_of(a, descending):
    """Stable, NaN as the largest."""
    if not descending:
        return np.argsort(a, -1, kind="stable")
    return a.shape[-1] - 1 - np.flip(np.argsort(np.flip(a, -1), -1, kind="stable"), -1)


def check(found, a, index):
    values, places = found
    np.testing.assert_array_equal(places, index)
    np.testing.assert_array_equal(values, np.take_along_axis(a, index, -1))


@pytest.mark.parametrize("dtype", TYPES)
def test_sorting_and_selecting(dtype):
    for length in LENGTHS:
        a = rows(dtype, length)
        columns = np.asfortranarray(a).T  # the same lines, along the first dimension
        for descending in (False, True):
            order = order_of(a, descending)
            check(on_one_thread_and_two(partial(kernels.sort, a, -1, descending)), a, order)
            values, places = kernels.sort(columns, 0, descending)
            check((values.T, places.T), a, order)
            for k in {0, 1, min(5, length), length // 70, length // 10, length // 3, length}:
                if dtype is not np.bool_:
                    check(kernels.topk(a, k, -1, descending), a, order[:, :k])
        for k in {1, length // 10 + 1, length // 2 + 1, length}:
            if dtype is not np.bool_:
                order = order_of(a, False)
                check(kernels.kthvalue(a, k, -1, True), a, order[:, k - 1 : k])


@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.float32, np.float64])
def test_medians_and_modes(dtype):
    for length in LENGTHS:
        a = rows(dtype, length)
        order = order_of(a, False)
        nan = np.isnan(a).sum(-1)
        places = [
            o[(length - n if n else (length - 1) // 2)] for o, n in zip(order, nan, strict=True)
        ]
        check(kernels.median(a, -1, True), a, np.array(places)[:, None])
        places = [o[max(length - n - 1, 0) // 2] for o, n in zip(order, nan, strict=True)]
        check(kernels.nanmedian(a, -1, True), a, np.array(places)[:, None])
        for row, value, place in zip(a, *kernels.mode(a, -1), strict=True):
            found, counts = np.unique(row, return_counts=True, equal_nan=False)
            best = found[counts.argmax()]
            assert value == best or counts.max() == 1
            assert value != value or place == np.flatnonzero(row == value)[-1]


def test_equal_elements_share_a_bucket_only():
    # All keys alike but for the last bits, and none at all: what selection counts by has few bits.
    for step in (0.0, 1e-7):
        a = (1 + step * np.random.default_rng(0).permutation(3000)).astype(np.float32)
        order = order_of(a, False)
        for k in (1, 700, 1500, 3000):
            assert kernels.kthvalue(a, k, 0)[1] == order[k - 1]


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float16, np.float64])
def test_distinct_elements(dtype):
    for length in (0, 1, 5, 1000):
        a = rows(dtype, length, 6)
        numbers = a[:2].reshape(-1)
        found, inverse, counts = kernels.distinct(numbers, None, False)
        for own, theirs in zip(
            (found, inverse, counts),
            np.unique(numbers, return_inverse=True, return_counts=True),
            strict=True,
        ):
            np.testing.assert_array_equal(own, theirs)
        if not length:
            continue
        lines = np.concatenate([a[:2], a[:1], a[3:]])
        found, inverse, counts = kernels.distinct(lines, 0, False)
        expected = np.unique(lines, axis=0, return_inverse=True, return_counts=True)
        np.testing.assert_array_equal(found, expected[0])
        np.testing.assert_array_equal(found[inverse], lines)
        np.testing.assert_array_equal(counts, expected[2])
        runs = np.repeat(numbers[numbers == numbers], 3)
        found, _, many = kernels.distinct(runs, None, True)
        found_alone, *others = kernels.distinct(runs, None, True, False, False)
        ends = np.flatnonzero(np.append(runs[1:] != runs[:-1], True))
        np.testing.assert_array_equal(found, runs[ends])
        np.testing.assert_array_equal(found_alone, runs[ends])
        np.testing.assert_array_equal(np.cumsum(many) - 1, ends)
        assert [other.size for other in others] == [0, 0]
    nan = np.array([np.nan, 1, np.nan, np.nan])
    assert kernels.distinct(nan, None, False)[2].tolist() == [1, 1, 1, 1]
    assert kernels.distinct(nan, None, True)[2].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.uint64, np.float32, np.float64])
def test_places_in_sorted_rows(dtype):
    values = rows(dtype, 300)
    for length in (0, 1, 2, 3, 64, 1000):
        bounds = np.sort(rows(dtype, length, seed=1), -1)
        for right in (False, True):
            side = "right" if right else "left"
            for narrow in (False, True):
                found = kernels.searchsorted(bounds[2], values, right, None, narrow)
                assert found.dtype == (np.int32 if narrow else np.int64)
                np.testing.assert_array_equal(found, np.searchsorted(bounds[2], values, side))
            found = kernels.searchsorted(bounds, values, False, side, False)
            expected = [np.searchsorted(b, v, side) for b, v in zip(bounds, values, strict=True)]
            np.testing.assert_array_equal(found, expected)
        for invert in (False, True):
            found = kernels.isin(values, bounds, invert)
            np.testing.assert_array_equal(found, np.isin(values, bounds, invert=invert))


def test_counts():
    rng = np.random.default_rng(0)
    for n in (0, 1, 255, 256, 257, 70_000):
        a = rng.integers(0, 50, n)
        w = rng.standard_normal(n)
        np.testing.assert_array_equal(kernels.bincount(a), np.bincount(a))
        np.testing.assert_array_equal(kernels.bincount(a, None, 5000), np.bincount(a, None, 5000))
        np.testing.assert_allclose(kernels.bincount(a, w), np.bincount(a, w), rtol=1e-12)
        x = (rng.integers(-8, 9, (n, 2)) / 4).astype(np.float32)  # on the edges, and outside
        edges = [np.linspace(-1, 1, 9, dtype=np.float32), np.float32([-2, -1.9, 0, 0.25, 1.5])]
        expected = np.histogramdd(x, edges)[0]
        np.testing.assert_array_equal(kernels.bin_counts(x, edges), expected)
        inside = x[:, 0][np.abs(x[:, 0]) <= 1]
        expected = np.histogram(inside, 8, (-1, 1))[0]
        np.testing.assert_array_equal(kernels.histc(x[:, 0], 8, -1, 1), expected)


@pytest.mark.parametrize("shape", [(1, 1), (3, 17), (9, 700), (1, 70_000), (300, 5)], ids=str)
def test_sums_and_products_so_far(shape):
    a = np.random.default_rng(0).uniform(0.9, 1.1, shape)
    for dim in (0, 1):
        for dtype in (np.float32, np.float64):
            x = a.astype(dtype)
            eps = 4 * np.finfo(dtype).eps * shape[dim] ** (dtype is np.float64)
            for name, ufunc in (("cumsum", np.add), ("cumprod", np.multiply)):
                exact = ufunc.accumulate(x.astype(np.float64), dim)
                found = on_one_thread_and_two(partial(getattr(kernels, name), x, dim))
                np.testing.assert_allclose(found, exact, eps, np.finfo(dtype).tiny)
            exact = np.flip(np.cumsum(np.flip(x, dim), dim, np.float64), dim)
            np.testing.assert_allclose(kernels.cumsum_backward(x, dim), exact, rtol=eps)
        whole = (a * 1e18).astype(np.int64)
        np.testing.assert_array_equal(kernels.cumsum(whole, dim), np.cumsum(whole, dim))


def test_the_gradient_of_products_with_zeros():
    x = np.array([[2.0, 0, 3, 0, 5], [0, 0, 1, 2, 3], [1, 2, 3, 4, 5], [1e200, 1e-200, 0, 1, 2]])
    g = np.arange(1.0, 21).reshape(4, 5)
    expected = np.zeros(x.shape)
    for i in range(5):
        for j in range(i, 5):
            expected[:, i] += g[:, j] * np.delete(x[:, : j + 1], i, 1).prod(1)
    np.testing.assert_allclose(kernels.cumprod_backward(g, x, 1), expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.uint64, np.float16, np.float64])
def test_extremes_so_far(dtype):
    for length in (1, 15, 16, 17, 200):
        a = rows(dtype, length)
        for name, ufunc in (("cummax", np.maximum), ("cummin", np.minimum)):
            best = ufunc.accumulate(a, 1)
            latest = np.where((a == best) | np.isnan(a), np.arange(length), 0)
            for values, places in (
                getattr(kernels, name)(a, 1),
                [t.T for t in getattr(kernels, name)(a.T, 0)],
            ):
                np.testing.assert_array_equal(values, best)
                np.testing.assert_array_equal(places, np.maximum.accumulate(latest, 1))


def test_logarithms_of_sums_so_far():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((8, 600)) * np.array([1, 1e-3, 50, 1e3, 1, 1, 1, 1])[:, None]
    a[4, :300] = -np.inf
    a[5, 400] = np.inf
    a[6, 500] = np.nan
    a[7] += 1e5
    with np.errstate(all="ignore"):
        exact = np.logaddexp.accumulate(a.astype(np.longdouble), 1)
        found = kernels.logcumsumexp(a, 1)
        np.testing.assert_allclose(found, exact.astype(np.float64), rtol=1e-14, atol=1e-14)
        np.testing.assert_array_equal(kernels.logcumsumexp(a.T.copy(), 0).T, found)
    g = rng.standard_normal(a.shape)
    x, out = a[:3], found[:3]
    terms = g[:3, None, :] * np.exp(x[:, :, None] - out[:, None, :])
    expected = np.triu(terms).sum(2)
    np.testing.assert_allclose(
        kernels.logcumsumexp_backward(g[:3], x, out, 1), expected, rtol=1e-12, atol=1e-12
    )
    infinite = kernels.logcumsumexp_backward(g, a, found, 1)
    assert (infinite[4, :300] == 0).all() and np.isfinite(infinite[4]).all()
    assert np.isnan(infinite[5, 400]) and (infinite[5, 401:] == 0).all()


@pytest.mark.parametrize("density", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("shape", [(0, 3), (7,), (300,), (20, 31), (3, 4, 5, 6)], ids=str)
def test_masks(shape, density):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(np.float32)
    mask = rng.random(shape) < density
    np.testing.assert_array_equal(kernels.nonzero(mask), np.argwhere(mask))
    for own, theirs in zip(kernels.nonzero_columns(x * mask), np.nonzero(x * mask), strict=True):
        np.testing.assert_array_equal(own, theirs)
    assert kernels.count_nonzero(mask) == mask.sum()
    taken = kernels.masked_select(x, mask)
    np.testing.assert_array_equal(taken, x[mask])
    spread = kernels.masked_select_backward(taken, mask, shape)
    np.testing.assert_array_equal(spread, np.where(mask, x, 0))
