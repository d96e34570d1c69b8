"""Sums of the rows that a bag names."""

import numpy as np
import pytest

import rushlight as torch
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


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("columns", [3, 77])
@pytest.mark.parametrize("scaled", [False, True])
def test_bags_of_halves_are_rounded_once(columns, scaled, half):
    torch.manual_seed(0)
    starts = torch.tensor([0, 5, 5, 70])
    for rows in (2, 20, 900):  # fewer than there are row numbers, and more
        index = torch.randint(rows, (201,))
        table = torch.randn(rows, columns).to(half)
        scale = torch.rand(201).to(half) if scaled else None
        g = torch.randn(4, columns).to(half)
        wide = [None if t is None else t.float() for t in (table, scale, g)]
        found = kernels.embedding_bag(table, index, starts, scale, False, 1)
        want = kernels.embedding_bag(wide[0], index, starts, wide[1], False, 1)
        assert torch.equal(found, want.to(half))
        needs = (3, 2 if scaled else 0)
        found = kernels.embedding_bag_backward(g, table, index, starts, scale, False, 1, needs)
        want = kernels.embedding_bag_backward(
            wide[2], wide[0], index, starts, wide[1], False, 1, needs
        )
        assert torch.equal(found[0], want[0].to(half))
        assert not scaled or torch.equal(found[1], want[1].to(half))
