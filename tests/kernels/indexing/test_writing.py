"""Values written, added and reduced at places, and parts replaced."""

import itertools
import re

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core

kernels = _core.kernels
FLOATS = [np.float32, np.float64]


def drawn(*shape, dtype=np.float64):
    return np.random.default_rng(0).integers(1, 9, shape).astype(dtype)


def turned(a):
    """The same values, the last dimension of which is the first in memory."""
    return np.asfortranarray(a.copy())


@pytest.mark.parametrize("dtype", [np.int16, np.float16, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("layout", [np.copy, turned])
def test_put(layout, dtype):
    index, values = np.array([[1, -1], [0, 1]], np.int64), drawn(2, 2, dtype=dtype)
    for add in (False, True):
        x = layout(drawn(3, 4, dtype=dtype))
        want = x.copy()
        for i, v in zip(index.ravel(), values.ravel(), strict=True):
            want.flat[i] = want.flat[i] + v if add else v
        assert kernels.put(x, index, values, add) is None
        np.testing.assert_array_equal(x, want)
        for bad in (12, -13, 2**63 - 1, -(2**63)):
            wrong = np.array([0, 0, 0, bad], np.int64)
            assert kernels.put(x, wrong, values, add) is NotImplemented
        assert kernels.put(x, index, values[0], add) is NotImplemented
        np.testing.assert_array_equal(x, want)


def test_put_says_that_it_is_not_deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        x, index = torch.zeros(3), torch.tensor([1])
        with pytest.raises(RuntimeError, match="put_ does not have a deterministic"):
            x.put_(index, torch.ones(1))
        assert x.put_(index, torch.ones(1), accumulate=True).tolist() == [0, 1, 0]
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("dtype", FLOATS)
def test_take_backward(dtype):
    g = drawn(2, 3, dtype=dtype)
    index = np.array([[0, 5, -1], [0, 5, 2]], np.int64)
    want = np.zeros(6, dtype)
    np.add.at(want, index, g)
    np.testing.assert_array_equal(kernels.take_backward(g, index, (3, 2)), want.reshape(3, 2))
    one = kernels.take_backward(g, index * 0, ())
    assert one.shape == () and one == g.sum()
    assert kernels.take_backward(g, index + 4, (3, 2)) is NotImplemented


@pytest.mark.parametrize("dtype", [*FLOATS, np.int64, np.float16])
def test_scatter_of_numbers(dtype):
    x, index = drawn(3, 4, dtype=dtype), np.array([[0, 3], [1, 1]], np.int64)
    want = x.copy()
    np.put_along_axis(want[:2], index, 7, 1)
    assert kernels.scatter_value(x, 1, index, 7) is None
    np.testing.assert_array_equal(x, want)
    np.put_along_axis(want[:2], index, 0, 1)
    assert kernels.scatter_zero(x, -1, index) is None
    np.testing.assert_array_equal(x, want)
    for bad in (4, -1, 2**63 - 1):
        assert kernels.scatter_value(x, 1, np.array([[0, bad]], np.int64), 7) is NotImplemented
    assert kernels.scatter_value(x, 1, index, 2**70 if dtype == np.int64 else 1j) is NotImplemented
    np.testing.assert_array_equal(x, want)


def test_scatter_of_a_copy():
    x, index, src = drawn(3, 4), np.array([[0, 3], [1, 1]], np.int64), drawn(2, 2)
    before = x.copy()
    for add, kernel in enumerate((kernels.scatter_set_copy, kernels.scatter_add_copy)):
        want = x.copy()
        for i, j in itertools.product(range(2), range(2)):
            want[i, index[i, j]] = src[i, j] + add * want[i, index[i, j]]
        np.testing.assert_array_equal(kernel(x, 1, index, src), want)
        for bad in (4, -1, 2**63 - 1):
            assert kernel(x, 1, np.array([[0, bad]], np.int64), src) is NotImplemented
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", FLOATS)
def test_without_dimensions(dtype):
    def number(value):
        return np.array(value, dtype)

    none, row = np.array(0, np.int64), np.array([0], np.int64)
    for index in (none, row):
        x = number(3)
        assert kernels.index_add(x, 0, index, number(2), 2) is None and x == 7
        assert kernels.index_copy(x, -1, index, number(5)) is None and x == 5
        assert kernels.index_fill(x, 0, index, 4) is None and x == 4
        assert kernels.index_reduce(x, 0, index, number(3), "prod", True) is None and x == 12
        assert kernels.scatter_add(x, 0, index, number(2)) is None and x == 14
        assert kernels.scatter_reduce(x, 0, index, number(2), "mean", True) is None and x == 8
        assert kernels.gather(x, 0, index).shape == index.shape
        assert kernels.put(x, index, number(1).reshape(index.shape), False) is None and x == 1
    assert kernels.index_add(x, 0, row + 1, number(2), 1) is NotImplemented
    assert kernels.scatter_add(x, 0, none + 1, number(2)) is NotImplemented
    assert kernels.gather(x, 0, none - 1) is NotImplemented


def reduced(values, how):
    if how == "mean":
        return np.mean(values, 0)
    return {"prod": np.prod, "amax": np.max, "amin": np.min}[how](values, 0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("how", ["prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("layout", [np.copy, turned])
def test_index_reduce(layout, how, dtype):
    index = np.array([2, 0, 2, 2], np.int64)
    for dim, own in itertools.product(range(3), (True, False)):
        x = layout(drawn(3, 3, 3, dtype=dtype))
        rows = np.moveaxis(x.copy(), dim, 0)
        source = np.random.default_rng(1).normal(size=(4, 3, 3)).astype(dtype)
        want = rows.copy()
        for k in (0, 2):
            found = [source[i] for i in range(4) if index[i] == k]
            want[k] = reduced(np.array([rows[k]] * own + found), how)
        given = np.moveaxis(source, 0, dim)
        assert kernels.index_reduce(x, dim, index, given, how, own) is None
        np.testing.assert_allclose(np.moveaxis(x, dim, 0), want, rtol=1e-6)
        assert kernels.index_reduce(x, dim, index + 1, given, how, own) is NotImplemented
        assert kernels.index_reduce(x, dim, index, given, "sum", own) is NotImplemented
        assert kernels.index_reduce(x, dim, index[:3], given, how, own) is NotImplemented


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize("how", ["sum", "prod", "mean", "amax", "amin"])
def test_reductions_of_integers(how, dtype):
    """They wrap, means are rounded down, and every number is between the ends."""
    if dtype is np.bool_ and how == "mean":
        x = np.ones((2, 1), dtype)
        assert (
            kernels.index_reduce(x, 0, np.array([1], np.int64), x[:1], how, True) is NotImplemented
        )
        return
    rng = np.random.default_rng(5)
    ends = (0, 2) if dtype is np.bool_ else (np.iinfo(dtype).min, int(np.iinfo(dtype).max) + 1)
    index = np.array([2, 0, 2, 2, 3], np.int64)
    combine = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}.get(how, np.add)
    for own in (True, False):
        x = rng.integers(*ends, (5, 4), dtype).T
        source = rng.integers(*ends, (5, 5), dtype)
        want = x.copy()
        for k in (0, 2, 3):
            found = [x[k]] * own + [source[i] for i in range(5) if index[i] == k]
            want[k] = combine.reduce(np.array(found), axis=0, dtype=dtype)
            if how == "mean":
                want[k] = [int(v) // len(found) for v in want[k]]
        picks = np.repeat(index[:, None], 5, 1)
        made = x.copy()
        assert kernels.scatter_reduce(made, 0, picks, source, how, own) is None
        np.testing.assert_array_equal(made, want)
        if how != "sum" and (own or dtype is not np.bool_):
            assert kernels.index_reduce(x, 0, index, source, how, own) is None
            np.testing.assert_array_equal(x, want)
    if how == "mean" and dtype is np.int8:  # counted in int8, as torch does
        x = np.zeros(1, dtype)
        many = np.zeros(257, np.int64)
        assert kernels.index_reduce(x, 0, many, np.ones(257, dtype), how, False) is None
        assert x == 1


def test_reductions_of_nothing():
    x = np.full((2, 0), 1.0)
    assert (
        kernels.index_reduce(x, 0, np.array([0, 1, 1], np.int64), np.ones((3, 0)), "mean", True)
        is None
    )
    x = drawn(2, 3)
    want = x.copy()
    nothing = np.zeros(0, np.int64)
    assert kernels.index_reduce(x, 0, nothing, np.ones((0, 3)), "mean", False) is None
    assert kernels.scatter_reduce(x, 0, nothing.reshape(0, 3), x, "mean", False) is None
    np.testing.assert_array_equal(x, want)


def test_nans_win_extremes():
    x = np.array([1.0, np.nan, 3.0])
    kernels.index_reduce(
        x, 0, np.array([0, 1, 2], np.int64), np.array([np.nan, 1.0, 4.0]), "amax", True
    )
    np.testing.assert_array_equal(x, [np.nan, np.nan, 4])


@pytest.mark.parametrize("dtype", FLOATS)
def test_index_add_of_a_multiple(dtype):
    x, index, source = (
        drawn(3, 4, dtype=dtype),
        np.array([2, 2], np.int64),
        drawn(2, 4, dtype=dtype),
    )
    want = x.copy()
    want[2] += source[0] * dtype(0.25) + source[1] * dtype(0.25)
    assert kernels.index_add(x, 0, index, source, 0.25) is None
    np.testing.assert_array_equal(x, want)
    assert kernels.index_add(x, 0, index, source, 1j) is NotImplemented


def test_parts_replaced():
    x, row = drawn(3, 4), np.full(4, 9.0)
    want = x.copy()
    want[-1] = row
    np.testing.assert_array_equal(kernels.select_scatter(x, row, 0, -1), want)
    want = x.copy()
    want[:, 1:4:2] = 9
    np.testing.assert_array_equal(
        kernels.slice_scatter(x, np.full((3, 2), 9.0), 1, 1, 2**80, 2), want
    )
    want = x.copy()
    want[range(3), range(1, 4)] = 9
    np.testing.assert_array_equal(kernels.diagonal_scatter(x, row[:3], 1, 0, 1), want)
    assert kernels.select_scatter(x, row[:1], 0, 0) is NotImplemented
    assert kernels.select_scatter(x, row.astype(np.float32), 0, 0) is NotImplemented
    assert kernels.slice_scatter(x[0, 0], row, 0, 0, 1, 1) is NotImplemented
    with pytest.raises(IndexError, match="out of range"):
        kernels.select_scatter(x, row, 0, 3)


def test_nonzero_static():
    a = np.array([[0, 1.5, 0], [np.nan, 0, -1]])
    places = np.argwhere(a)
    for size in range(5):
        want = np.concatenate([places, np.full((2, 2), -7)])[:size]
        np.testing.assert_array_equal(kernels.nonzero_static(a, size, -7), want)
    assert kernels.nonzero_static(np.array(1.0), 2, -1).shape == (2, 0)
    assert kernels.nonzero_static(a, -1, 0) is NotImplemented


SCATTERS = {
    "scatter_": {},
    "scatter_add_": {},
    "scatter_reduce_": {"reduce": "sum"},
}


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize(
    ("to", "places", "said"),
    [
        ((3,), (2,), "to be no larger size than src []"),
        ((1, 1), (1, 1), "same number of dimensions as src tensor"),
    ],
)
def test_a_tensor_without_dimensions_is_one_element(name, to, places, said):
    index = torch.zeros(places, dtype=torch.int64)
    with pytest.raises(RuntimeError, match=re.escape(said)):
        getattr(torch.zeros(to), name)(0, index, torch.tensor(1.0), **SCATTERS[name])


@pytest.mark.parametrize(
    ("name", "more", "to", "dim", "said"),
    [
        ("index_add_", (), (3,), 0, "source tensor shape must match self tensor shape"),
        ("index_add_", (), (1, 1), 1, "Indexing dim 1 is out of bounds of the source tensor"),
        ("index_reduce_", ("prod",), (3,), 0, "source tensor shape must match self tensor shape"),
        ("index_copy_", (), (1, 1), 0, "must have same slice shapes"),
    ],
)
def test_a_source_without_dimensions_is_no_slice(name, more, to, dim, said):
    with pytest.raises(RuntimeError, match=said):
        getattr(torch.zeros(to), name)(dim, torch.tensor([0]), torch.tensor(1.0), *more)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.int64, torch.bfloat16])
def test_index_fill_with_a_tensor(kind):
    x, index = torch.zeros(2, 4, dtype=kind), torch.tensor([3, 1])
    for value in (torch.tensor(2), torch.tensor(2.5), torch.tensor(True)):
        expected = [0, value.to(kind).item(), 0, value.to(kind).item()]
        assert x.index_fill(1, index, value).tolist() == 2 * [expected]
    with pytest.raises(RuntimeError, match="index_fill_"):
        x.index_fill(1, index, torch.tensor(1j))
