"""Long arrays are cut into parts, which threads share: the results are those of one thread, of
NumPy."""

import numpy as np
import pytest

import rushlight

ROWS, COLUMNS = 1000, 1300
DRAW = np.random.default_rng(0)
X = DRAW.standard_normal((ROWS, COLUMNS)).astype(np.float32)
INDEX = DRAW.integers(0, 1000, 700)


@pytest.fixture(autouse=True, params=[1, 2, 3])
def threads(request):
    before = rushlight.get_num_threads()
    rushlight.set_num_threads(request.param)
    yield
    rushlight.set_num_threads(before)


@pytest.mark.parametrize("dim", [0, 1])
def test_running_sums_and_extremes(dim: int) -> None:
    x = rushlight.from_numpy(X)
    np.testing.assert_allclose(x.cumsum(dim), X.astype(float).cumsum(dim), rtol=1e-4, atol=1e-4)
    values, places = x.cummax(dim)
    np.testing.assert_array_equal(values, np.maximum.accumulate(X, dim))
    np.testing.assert_array_equal(np.take_along_axis(X, places.numpy(), dim), values)


def test_running_products_of_complex_numbers() -> None:
    turns = np.exp(1j * X[:, :200].astype(float))
    found = rushlight.from_numpy(turns).cumprod(0)
    np.testing.assert_allclose(found, np.cumprod(turns, 0), rtol=1e-9)


@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
def test_one_of_many_in_order(kind: str) -> None:
    line = (X.ravel() * 5 if kind == "int64" else X.ravel()).astype(kind)
    x, ordered = rushlight.from_numpy(line), np.sort(line)
    assert x.median() == ordered[(len(line) - 1) // 2]
    assert x.kthvalue(1234).values == ordered[1233]
    np.testing.assert_array_equal(x.sort().values, ordered)


def test_a_nan_among_many() -> None:
    line = X.ravel().copy()
    line[[70_000, 900_000]] = np.nan
    x = rushlight.from_numpy(line)
    value, place = x.median(0)
    assert value.isnan() and place == 70_000
    assert x.nanmedian() == np.sort(line)[(len(line) - 3) // 2]


@pytest.mark.parametrize("dim", [0, 1])
def test_joined(dim: int) -> None:
    one = X[:1] if dim == 0 else X[:, :1]
    found = rushlight.cat([rushlight.from_numpy(np.ascontiguousarray(a)) for a in (X, one, X)], dim)
    np.testing.assert_array_equal(found, np.concatenate([X, one, X], dim))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_sums_at_an_index(dim: int) -> None:
    shape = [60, 70, 100]
    source = DRAW.standard_normal([*shape[:dim], len(INDEX), *shape[dim + 1 :]])
    index = INDEX % shape[dim]
    expected = np.zeros(shape)
    np.add.at(expected, (*[slice(None)] * dim, index), source)
    at, values = rushlight.from_numpy(index), rushlight.from_numpy(source)
    found = rushlight.zeros(shape, dtype=rushlight.float64).index_add_(dim, at, values)
    np.testing.assert_allclose(found, expected)
    turned = rushlight.zeros(shape[::-1], dtype=rushlight.float64).transpose(0, 2)
    np.testing.assert_allclose(turned.index_add_(dim, at, values), expected)
    x = rushlight.zeros(shape, dtype=rushlight.float64, requires_grad=True)
    x.index_select(dim, at).backward(values)
    np.testing.assert_allclose(x.grad, expected)
