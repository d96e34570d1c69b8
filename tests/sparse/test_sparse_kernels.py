"""The kernels of sparse tensors, against NumPy's dense arrays."""

import numpy as np
import pytest

import rushlight as torch
from rushlight._core import kernels

SHAPES = [(7, 5, 40), (1, 1, 3), (50, 60, 2000), (4, 6, 0), (3, 0, 0)]  # rows, columns, values


def dense_of(places, values, shape):
    found = np.zeros(shape, np.float64)
    np.add.at(found, tuple(places), values.astype(np.float64))
    return found


def matrix(rows, columns, count, dtype, seed=0):
    draw = np.random.default_rng(seed)
    places = np.stack([draw.integers(0, max(n, 1), count) for n in (rows, columns)])
    return places, draw.standard_normal(count).astype(dtype)


def compressed(places, values, rows, dtype=np.int64):
    order = np.lexsort(places[::-1])
    starts = np.concatenate([[0], np.cumsum(np.bincount(places[0], minlength=rows))])
    return starts.astype(dtype), places[1][order].astype(dtype), values[order]


def tensors(*arrays):
    return [torch.from_numpy(np.ascontiguousarray(a)) for a in arrays]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_with_dense_matrices_and_vectors(shape, dtype):
    rows, columns, count = shape
    places, values = matrix(rows, columns, count, dtype)
    whole = dense_of(places, values, (rows, columns))
    i, v = tensors(places, values)
    for transposed in (False, True):
        left = whole.T if transposed else whole
        for wide in ((), (1,), (9,), (200,), (0,)):
            x = np.random.default_rng(1).standard_normal((left.shape[1], *wide)).astype(dtype)
            calls = [(i, None, v)]
            for kind in (np.int32, np.int64):
                starts, plain, ordered = compressed(places, values, rows, kind)
                calls.append(tuple(tensors(starts, plain, ordered)))
            for first, second, numbers in calls:
                args = (*tensors(x), rows, columns, transposed)
                got = kernels.sparse_product(first, second, numbers, *args)
                assert got.shape == (left.shape[0], *wide)
                np.testing.assert_allclose(got.numpy(), left @ x, rtol=1e-4, atol=1e-4)


def test_a_dense_matrix_may_have_any_strides():
    places, values = matrix(6, 5, 20, "float32")
    x = torch.from_numpy(np.arange(60, dtype=np.float32).reshape(12, 5)).t()[:, ::2]
    got = kernels.sparse_product(*tensors(places), None, *tensors(values), x, 6, 5, False)
    expected = dense_of(places, values, (6, 5)) @ x.numpy()
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elements_of_a_dense_product(dtype):
    places, values = matrix(6, 5, 20, dtype)
    draw = np.random.default_rng(2)
    starts, plain, _ = compressed(places, values, 6)
    for k in (0, 1, 7, 8, 19):
        x, y = (draw.standard_normal((n, k)).astype(dtype) for n in (6, 5))
        whole = x.astype(np.float64) @ y.astype(np.float64).T
        got = kernels.sparse_dots(*tensors(places), None, *tensors(x, y))
        np.testing.assert_allclose(got.numpy(), whole[tuple(places)], rtol=1e-4, atol=1e-5)
        got = kernels.sparse_dots(*tensors(starts, plain, x, y))
        at = np.repeat(np.arange(6), np.diff(starts)), plain
        np.testing.assert_allclose(got.numpy(), whole[at], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ((9,), 30),
        ((5, 4), 0),
        ((5, 4), 1),
        ((300, 400), 3000),
        ((3, 4, 5), 500),
        ((1 << 40, 7), 60),
    ],
)
@pytest.mark.parametrize("dense", [(), (3,), (0,)])
def test_coalescing(sizes, count, dense, dtype):
    draw = np.random.default_rng(3)
    places = np.stack([draw.integers(0, n, count) for n in sizes])
    values = draw.standard_normal((count, *dense)).astype(dtype)
    indices, sums = kernels.sparse_coalesce(*tensors(places, values), sizes)
    expected = {}
    for column, value in zip(places.T.tolist(), values, strict=True):
        expected[tuple(column)] = expected.get(tuple(column), 0) + value
    assert list(map(tuple, indices.numpy().T.tolist())) == sorted(expected)
    for at, value in zip(sorted(expected), sums.numpy(), strict=True):
        np.testing.assert_array_equal(value, expected[at])  # added in the order of the values


@pytest.mark.parametrize("dense", [(), (3,)])
def test_to_dense(dense):
    places, values = matrix(6, 5, 40, "float32")
    values = np.random.default_rng(4).standard_normal((40, *dense))
    expected = dense_of(places, values, (6, 5, *dense))
    got = kernels.sparse_to_dense(*tensors(places), None, *tensors(values), (6, 5))
    np.testing.assert_allclose(got.numpy(), expected)
    starts, plain, ordered = compressed(places, values, 6)
    got = kernels.sparse_to_dense(*tensors(starts, plain, ordered), (6, 5))
    np.testing.assert_allclose(got.numpy(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(7, 5, 6, 12), (1, 1, 1, 1), (40, 30, 50, 300), (4, 3, 2, 0)])
def test_products_of_two_sparse_matrices(shape, dtype):
    rows, inner, columns, count = shape
    pairs = []
    for seed, sizes in enumerate([(rows, inner), (inner, columns)]):
        i, v = tensors(*matrix(*sizes, count, dtype, seed))
        pairs.append(kernels.sparse_coalesce(i, v, sizes))
    (a, b), (c, d) = pairs
    indices, values = kernels.sparse_multiply(a, b, c, d, rows, inner, columns)
    order = indices.numpy()[0] * columns + indices.numpy()[1]
    assert (np.diff(order) > 0).all()
    left, right = (
        dense_of(a.numpy(), b.numpy(), (rows, inner)),
        dense_of(c.numpy(), d.numpy(), (inner, columns)),
    )
    got = dense_of(indices.numpy(), values.numpy(), (rows, columns))
    np.testing.assert_allclose(got, left @ right, rtol=1e-4, atol=1e-5)


def test_starts_and_rows_are_each_others_inverse():
    rows = np.array([0, 0, 2, 5, 5, 5])
    starts = kernels.sparse_starts(*tensors(rows), 7)
    assert starts.tolist() == [0, 2, 2, 3, 3, 3, 6, 6]
    assert kernels.sparse_rows(starts, 6).tolist() == rows.tolist()
    assert kernels.sparse_starts(*tensors(rows[:0]), 2).tolist() == [0, 0, 0]
    for wrong in ([1, 0], [-1, 0], [0, 7]):
        assert kernels.sparse_starts(torch.tensor(wrong), 7) is NotImplemented
    for wrong in ([0, 2, 1], [1, 2, 3], [0, 1, 2], [-1, 0, 3]):
        assert kernels.sparse_rows(torch.tensor(wrong), 3) is NotImplemented


def test_places_outside_of_the_matrix_have_no_kernel():
    v, x = torch.ones(2), torch.ones(3, 4)
    for wrong in ([[0, 3], [0, 0]], [[0, -1], [0, 0]], [[0, 0], [0, 3]], [[0, 0], [-1, 0]]):
        i = torch.tensor(wrong)
        assert kernels.sparse_product(i, None, v, x, 3, 3, False) is NotImplemented
        assert kernels.sparse_product(i, None, v, x, 3, 3, True) is NotImplemented
        assert kernels.sparse_to_dense(i, None, v, (3, 3)) is NotImplemented
        assert kernels.sparse_coalesce(i, v, (3, 3)) is NotImplemented
        assert kernels.sparse_dots(i, None, x, x) is NotImplemented
        fine = torch.tensor([[0, 1], [0, 1]])
        assert kernels.sparse_multiply(fine, v, i, v, 3, 3, 3) is NotImplemented
    for starts in ([0, 1, 2, 3], [0, 2, 1, 2], [1, 1, 1, 2], [0, -5, 2, 2], [0, 1 << 40, 2, 2]):
        a, b = torch.tensor(starts), torch.tensor([0, 1])
        assert kernels.sparse_product(a, b, v, x, 3, 3, False) is NotImplemented
        assert kernels.sparse_product(a, b, v, torch.ones(3), 3, 3, False) is NotImplemented
        assert kernels.sparse_to_dense(a, b, v, (3, 3)) is NotImplemented


def test_sizes_that_do_not_fit_have_no_kernel():
    i, v = torch.tensor([[0, 1], [0, 1]]), torch.ones(2)
    assert kernels.sparse_product(i, None, v, torch.ones(4, 2), 3, 3, False) is NotImplemented
    assert kernels.sparse_product(i, None, torch.ones(3), torch.ones(3, 2), 3, 3, False) is (
        NotImplemented
    )
    assert kernels.sparse_product(i, None, v, torch.ones(3, 2).double(), 3, 3, False) is (
        NotImplemented
    )
    assert kernels.sparse_coalesce(i, v, (1 << 40, 1 << 40)) is NotImplemented
    assert kernels.sparse_coalesce(i, torch.ones(3), (3, 3)) is NotImplemented
    assert kernels.sparse_coalesce(i, torch.ones(2, dtype=torch.int64), (3, 3)) is NotImplemented


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.complex64])
def test_products_of_every_layout_and_type(layout, dtype):
    dense = (torch.arange(12).reshape(3, 4) % 5).to(dtype)
    x = (torch.arange(8).reshape(4, 2) - 3).to(dtype)
    s = getattr(dense, f"to_sparse_{layout}")()
    np.testing.assert_allclose((s @ x).numpy(), dense.numpy() @ x.numpy())
    np.testing.assert_allclose((s @ x[:, 0]).numpy(), dense.numpy() @ x[:, 0].numpy())
    np.testing.assert_allclose(s.to_dense().numpy(), dense.numpy())


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_gradients_and_second_gradients(layout):
    dense = torch.tensor([[1.0, 0, 2], [0, 3, 0]], dtype=torch.float64)
    s = getattr(dense, f"to_sparse_{layout}")()
    x = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: s @ x, (x,))
    assert torch.autograd.gradgradcheck(lambda x: (s @ x) ** 2, (x,))
    v = torch.arange(3.0, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda v: s @ v, (v,))
