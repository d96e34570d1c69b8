"""Sums of the rows that a bag names."""

import numpy as np
import pytest

from rushlight import _core

kernels = _core.kernels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [0, 1, 15, 64, 77])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("padding", [-1, 3])
def test_embedding_bag(columns, dtype, scaled, padding):
    rng = np.random.default_rng(0)
    lengths = np.array([0, 5, 1, 64, 0, 131])
    starts = np.cumsum(lengths) - lengths
    table = rng.integers(-9, 9, (20, columns)).astype(dtype)
    index = rng.integers(0, 20, lengths.sum())
    scale = rng.integers(1, 5, len(index)).astype(dtype) if scaled else None
    for mean in (False,) if scaled else (False, True):
        want = np.zeros((len(lengths), columns))
        for bag, (start, n) in enumerate(zip(starts, lengths, strict=True)):
            counted = [i for i in range(start, start + n) if index[i] != padding]
            for i in counted:
                want[bag] += table[index[i]] * (scale[i] if scaled else 1)
            want[bag] /= max(len(counted), 1) if mean else 1
        found = kernels.embedding_bag(table, index, starts, scale, mean, padding)
        np.testing.assert_array_equal(found, want.astype(dtype))
    wrong = index.copy()
    wrong[-1] = 20
    assert kernels.embedding_bag(table, wrong, starts, scale, False, padding) is NotImplemented
