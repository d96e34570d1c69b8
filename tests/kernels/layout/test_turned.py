"""Rows from the last element to the first, at the lengths of registers and around them."""

import numpy as np
import pytest

import rushlight as torch


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32", "float64", "complex128"])
def test_flip_of_rows(dtype):
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 1000):
        a = rng.integers(0, 2 if dtype == "bool" else 100, (3, n + 2)).astype(dtype)
        part = torch.from_numpy(a)[:, 1 : n + 1]
        np.testing.assert_array_equal(part.flip(1).numpy(), a[:, 1 : n + 1][:, ::-1])
        np.testing.assert_array_equal(part.flip((0, 1)).numpy(), a[::-1, 1 : n + 1][:, ::-1])
