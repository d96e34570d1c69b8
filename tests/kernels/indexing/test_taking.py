"""Elements by place and under a mask, places as rows of a unit matrix, and the vector product."""

import numpy as np
import pytest

from rushlight import _core

kernels = _core.kernels


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
def test_take(dtype):
    a = np.arange(60).reshape(5, 12).astype(dtype)
    index = np.array([[0, 59, -1], [-60, 7, 30]])
    np.testing.assert_array_equal(kernels.take(a, index), a.take(index))
    np.testing.assert_array_equal(kernels.take(np.asfortranarray(a), index), a.take(index))
    for bad in (60, -61, 2**63 - 1, -(2**63)):
        assert kernels.take(a, np.array([0, bad])) is NotImplemented
    assert kernels.take(a, index.astype(np.int32)) is NotImplemented


def test_masked_scatter():
    a, mask = np.zeros((4, 5), np.float32), np.arange(20).reshape(4, 5) % 3 == 0
    expected = a.copy()
    expected[mask] = np.arange(7)
    np.testing.assert_array_equal(
        kernels.masked_scatter(a, mask, np.arange(9, dtype=np.float32)), expected
    )
    assert not a.any()
    assert kernels.masked_scatter(a, mask, np.arange(6, dtype=np.float32)) is NotImplemented


def test_one_hot():
    places = np.array([[0, 3], [1, 1]])
    np.testing.assert_array_equal(kernels.one_hot(places, -1), np.eye(4, dtype=int)[places])
    np.testing.assert_array_equal(kernels.one_hot(places, 6), np.eye(6, dtype=int)[places])
    for bad, n in [(places - 1, 5), (places, 3), (places, -2), (np.array([2**63 - 1]), -1)]:
        assert kernels.one_hot(bad, n) is NotImplemented


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cross(dim, dtype):
    a, b = np.random.default_rng(0).integers(-9, 9, (2, 3, 3, 3)).astype(dtype)
    np.testing.assert_array_equal(kernels.cross(a, b, dim), np.cross(a, b, axis=dim))
    assert kernels.cross(a, b, 3) is NotImplemented
