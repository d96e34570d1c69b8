"""Reductions of rows and columns, at the sizes where they are cut differently."""

import numpy as np
import pytest
from plain import definition, on_threads

from rushlight import _core

plain = definition("reductions")
kernels = _core.kernels

PART_ROWS, PART_COLUMNS, LARGE = 64, 4096, 1 << 17  # those of bindings/reduction/reductions.cpp


def shapes():
    """(rows, columns): around the edges of parts, of what is large, and of what is narrow."""
    yield from [(1, 1), (1, 7), (3, 1), (5, 33)]
    for rows in (PART_ROWS - 1, PART_ROWS, PART_ROWS + 1, 4 * PART_ROWS - 1, 4 * PART_ROWS + 1):
        yield from [(rows, columns) for columns in (1, 10, 31, 32, 33, 64, 2049)]
    yield from [(LARGE // 512 + d, 512) for d in (-1, 0, 1)]
    yield from [(2 * PART_ROWS + 1, PART_COLUMNS + d) for d in (-1, 0, 1)]
    yield from [(LARGE // 10 * 2, 10), (30_011, 13), (PART_ROWS, 4000), (2, 70_001)]


def additions(rows):
    """At most as many roundings in a row as a part has rows, and one for each halving after."""
    return min(rows, PART_ROWS) + np.log2(rows) + 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", list(shapes()), ids=str)
def test_sums_of_columns_and_rows(shape, dtype):
    a = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    sums = {0: plain.columns("sum", a), 1: plain.rows("sum", a)}
    for dim, expected in sums.items():
        bound = additions(shape[dim]) * np.finfo(dtype).eps * np.abs(a, dtype=np.float64).sum(dim)
        one, two = on_threads(lambda dim=dim: kernels.sum(a, dim))
        assert one.dtype == dtype
        assert (np.abs(one - expected) <= bound + np.finfo(dtype).tiny).all()
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("op", ["amax", "amin", "any", "all"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("shape", [(5, 3), (257, 10), (1001, 33), (300, 512), (40_001, 5)], ids=str)
def test_extremes_of_columns(op, dtype, shape):
    if dtype == np.bool_ and op in ("amax", "amin"):
        op = {"amax": "any", "amin": "all"}[op]
    a = (np.random.default_rng(1).integers(0, 4 * shape[0], shape) // 3).astype(dtype)
    one, two = on_threads(lambda: getattr(kernels, op)(a, 0))
    np.testing.assert_array_equal(one, plain.columns(op, a))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("shape", [(257, 10), (300, 512), (40_001, 5)], ids=str)
def test_sums_of_integers_wrap_nothing_in_between(shape):
    a = np.random.default_rng(2).integers(-128, 128, shape).astype(np.int8)
    one, two = on_threads(lambda: kernels.sum(a, 0))
    np.testing.assert_array_equal(one, plain.columns("sum", a))
    np.testing.assert_array_equal(one, two)


def test_a_nan_reaches_its_own_column_only():
    a = np.zeros((5000, 10), np.float32)
    a[4999, 3] = np.nan
    for op in ("sum", "amax", "amin", "norm2"):
        assert np.isnan(getattr(kernels, op)(a, 0)).tolist() == [j == 3 for j in range(10)]


def test_columns_of_views():
    rng = np.random.default_rng(3)
    wide = rng.standard_normal((700, 420)).astype(np.float64)
    for view in (wide[::2, :300], wide[:, 7:20], wide[::-1], np.broadcast_to(wide[:1], (700, 420))):
        close = additions(700) * np.finfo(np.float64).eps * np.abs(view).sum(0)
        assert (np.abs(kernels.sum(view, 0) - plain.columns("sum", view)) <= close).all()


def test_several_large_planes():
    a = np.random.default_rng(4).standard_normal((3, 600, 300)).astype(np.float32)
    bound = additions(600) * np.finfo(np.float32).eps * np.abs(a).sum(1)
    expected = np.stack([plain.columns("sum", plane) for plane in a])
    one, two = on_threads(lambda: kernels.sum(a, 1))
    assert (np.abs(one - expected) <= bound).all()
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("n", [1, 4095, 4096, 4097, 200_001])
def test_rows_of_halves_are_widened_piece_by_piece(n):
    a = (np.random.default_rng(4).integers(-8, 9, (2, n)) / 4).astype(np.float16)
    for dim in (None, 1):
        one, two = on_threads(lambda dim=dim: kernels.sum(a, dim))
        np.testing.assert_array_equal(one, a.astype(np.float64).sum(dim).astype(np.float16))
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(kernels.amax(a, dim), a.max(dim))


@pytest.mark.parametrize("shape", [(1, 1), (5, 33), (300, 512), (40_001, 5), (2, 70_001)], ids=str)
def test_nan_counts_for_nothing(shape):
    a = np.random.default_rng(5).integers(-9, 9, shape).astype(np.float32)
    a[a == 3] = np.nan
    for dim in (None, 0, 1):
        np.testing.assert_array_equal(kernels.nansum(a, dim), np.nansum(a, dim))
        np.testing.assert_array_equal(kernels.count_nonzero(a, dim), np.count_nonzero(a, dim))
    least, most = kernels.aminmax(np.nan_to_num(a), 1)
    np.testing.assert_array_equal(least, np.nan_to_num(a).min(1))
    np.testing.assert_array_equal(most, np.nan_to_num(a).max(1))


def test_norms_of_all_orders():
    a = np.random.default_rng(6).standard_normal((7, 300))
    for order in (1, 2, 3, 0.5, -1.5, np.inf, -np.inf):
        for dim in (0, 1):
            expected = np.linalg.norm(a, order, dim)
            np.testing.assert_allclose(
                kernels.vector_norm(a, order, dim, False), expected, rtol=1e-12
            )
    assert kernels.vector_norm(a[:0], 2, None, False) == 0
    assert kernels.vector_norm(a[:0], -1, None, False) is NotImplemented
    np.testing.assert_allclose(kernels.trace(a[:, :9]), np.trace(a[:, :9]), rtol=1e-14)


def test_sums_of_complex_numbers():
    a = np.random.default_rng(7).integers(-9, 9, (5, 6, 7)) * (1 + 2j)
    for dtype in (np.complex64, np.complex128):
        for dim in (None, 0, 1, 2, (0, 2)):
            found = kernels.sum(a.astype(dtype), dim)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, a.sum(dim))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_of_complex_numbers(dtype):
    """Of short and long rows; factors on the unit circle, of which the product's size is 1."""
    rng = np.random.default_rng(8)
    for shape in ((3, 5), (2, 63), (2, 64), (3, 1300), (600, 4), (2, 0), (0, 3)):
        a = np.exp(1j * rng.uniform(-4, 4, shape))
        for dim in (None, 0, 1):
            found = kernels.prod(a.astype(dtype), dim)
            assert found.dtype == dtype
            bound = np.finfo(dtype).eps * (4 + a.size)
            np.testing.assert_allclose(found, a.prod(dim), bound, bound)
    a = np.ones((2, 3, 70), dtype)
    a[1, 2, 3], a[0, 1, 5] = 0, 2j
    np.testing.assert_array_equal(kernels.prod(a.transpose(2, 0, 1), 0), a.prod(2))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_spread_and_truth_of_complex_numbers(dtype):
    rng = np.random.default_rng(9)
    a = (rng.standard_normal((4, 6, 50)) + 1j * rng.standard_normal((4, 6, 50))).astype(dtype)
    a[1] = 0
    a[1, 2, 3], a[2, 0, 0] = 1j, 0
    bound = 20 * np.finfo(dtype).eps
    for view in (a, a.transpose(2, 0, 1), a[:, ::2, ::-3]):
        for dim in (None, 0, 1, 2, (0, 2)):
            for free in (0, 1):
                found = kernels.var(view, dim, free, True)
                assert found.dtype == a.real.dtype
                expected = view.astype(np.complex128).var(dim, ddof=free, keepdims=True)
                np.testing.assert_allclose(found, expected, bound, bound)
            np.testing.assert_array_equal(kernels.any(view, dim), view.any(dim))
            np.testing.assert_array_equal(kernels.all(view, dim), view.all(dim))


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int32, np.int64])
def test_broadcasting_of_integers_is_undone_in_their_type(dtype):
    a = np.random.default_rng(10).integers(0, 2, (3, 4, 5)).astype(dtype)
    for shape in ((5,), (4, 1), (1, 1, 5), (3, 1, 1), (), (4, 5), (3, 4, 5)):
        lead = tuple(range(3 - len(shape)))
        kept = tuple(
            i + len(lead) for i, n in enumerate(shape) if n == 1 and a.shape[i + len(lead)] != 1
        )
        found = kernels.sum_to(a, shape)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, a.sum(lead + kept, dtype=dtype).reshape(shape))
