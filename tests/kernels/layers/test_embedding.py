"""Rows by number, their sums, and the largest of bags, where blocks of columns end."""

import numpy as np
import pytest
from plain import on_one_thread_and_two

import rushlight
from rushlight import _core

kernels = _core.kernels

FLOATS = [np.float32, np.float64]
COLUMNS = [0, 1, 7, 31, 32, 33, 64, 65, 500]
ROWS = 9


def sample(shape, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def numbers(shape, seed=1):
    return np.random.default_rng(seed).integers(0, ROWS, shape)


@pytest.mark.parametrize("dtype", [*FLOATS, np.float16, np.int64, np.complex128])
@pytest.mark.parametrize("columns", COLUMNS)
def test_rows(columns, dtype):
    weight = sample((ROWS, columns)).astype(dtype)
    for shape in ((), (0,), (5,), (2, 3), (200, 20)):
        index = numbers(shape)
        for kind in (np.int64, np.int32):
            given = index.astype(kind)
            made = on_one_thread_and_two(lambda i=given: kernels.embedding(weight, i, -1))
            np.testing.assert_array_equal(made, weight[index])


def test_rows_of_a_part_of_a_table():
    table, index = sample((2 * ROWS, 40)), numbers((6,))
    np.testing.assert_array_equal(
        kernels.embedding(table[::2, 3:20], index, -1), table[::2, 3:20][index]
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("columns", COLUMNS)
def test_sums_of_rows(columns, dtype):
    for shape in ((0,), (5,), (3, 4), (700,)):
        g, index = sample((*shape, columns), dtype), numbers(shape)
        for padding in (-1, 3):
            made = on_one_thread_and_two(
                lambda g=g, i=index, p=padding: kernels.embedding_backward(g, i, p, ROWS)
            )
            wide = g.reshape(index.size, columns).astype(np.float64)
            expected, size = np.zeros((2, ROWS, columns))
            np.add.at(expected, index.ravel(), wide)
            np.add.at(size, index.ravel(), np.abs(wide))
            if padding >= 0:
                expected[padding] = size[padding] = 0
            bound = np.bincount(index.ravel(), minlength=ROWS)[:, None] * np.finfo(dtype).eps * size
            assert (np.abs(made - expected) <= bound).all()


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_sums_of_halves_are_rounded_once(half):
    # 256 ones and a half: one addition after the other in bfloat16 would stay at 256.
    kind = getattr(rushlight, half)
    g = rushlight.ones(300, 1).to(kind)
    made = kernels.embedding_backward(g, rushlight.zeros(300, dtype=rushlight.int64), -1, 2)
    assert made.dtype is kind
    assert made[0].item() == rushlight.tensor(300.0).to(kind).item()


@pytest.mark.parametrize("wrong", [-1, ROWS, 2**40])
def test_a_number_out_of_range_is_left_to_the_caller(wrong):
    index = np.array([0, wrong, 1])
    g = np.ones((3, 2))
    assert kernels.embedding(np.ones((ROWS, 2)), index, -1) is NotImplemented
    assert kernels.embedding_backward(g, index, -1, ROWS) is NotImplemented
    assert kernels.gather(np.ones((3, ROWS)), 1, index[:, None], False) is NotImplemented


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("columns", [1, 7, 8, 33])
def test_largest_in_bags(columns, dtype):
    rows = np.random.default_rng(2).integers(-3, 3, (60, columns)).astype(dtype)
    bags, kept = np.sort(numbers((60,), 3)), np.random.default_rng(4).random(60) < 0.7
    bags[bags == 5] = 4  # one is empty
    made = kernels.largest_in_bags(rows, bags, kept, ROWS)
    for bag in range(ROWS):
        places = np.flatnonzero((bags == bag) & kept)
        expected = places[rows[places].argmax(0)] if places.size else np.full(columns, -1)
        np.testing.assert_array_equal(made[bag], expected)


@pytest.mark.parametrize("shape", [(1, 5), (300, 70), (4, 3, 200), (2, 9, 5)], ids=str)
def test_gather_and_scatter_on_threads(shape):
    x = sample(shape, np.float32)
    for dim in range(len(shape)):
        index = np.random.default_rng(5).integers(0, shape[dim], shape)
        made = on_one_thread_and_two(lambda d=dim, i=index: kernels.gather(x, d, i, False))
        np.testing.assert_array_equal(made, np.take_along_axis(x, index, dim))

        def added(d=dim, i=index):
            out = np.zeros(shape, np.float32)
            kernels.scatter_add(out, d, i, x)
            return out

        expected, size = np.zeros((2, *shape))
        places = list(np.indices(shape))
        places[dim] = index
        np.add.at(expected, tuple(places), x)
        np.add.at(size, tuple(places), np.abs(x))
        bound = shape[dim] * np.finfo(np.float32).eps * size
        assert (np.abs(on_one_thread_and_two(added) - expected) <= bound).all()
