"""Integers and bools in orders other than by rows, and numbers that meet them."""

import numpy as np
import pytest

import rushlight as torch

ORDERS = {
    "turned": lambda a: a.T,
    "part of rows": lambda a: a[:, 1:-1],
    "every second": lambda a: a[:, ::2],
    "every second row": lambda a: a[1::2],
    "turned, every second": lambda a: a[:, ::2].T,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int32, np.int64])
def test_orders(dtype, order):
    rng = np.random.default_rng(0)
    for shape in ((3, 4), (3, 70), (64, 65), (130, 3)):
        a, b = (ORDERS[order](rng.integers(0, 2, shape).astype(dtype)) for _ in range(2))
        x, y = torch.from_numpy(a), torch.from_numpy(b)
        np.testing.assert_array_equal((x | y).numpy(), a | b)
        np.testing.assert_array_equal((x == y).numpy(), a == b)
        np.testing.assert_array_equal((x * y).numpy(), a * b)
        np.testing.assert_array_equal((x.t() != y.t()).numpy(), (a != b).T)
        np.testing.assert_array_equal((x / 2).numpy(), (a / 2).astype(np.float32))
        assert x.count_nonzero() == np.count_nonzero(a)


def test_numbers_lose_their_fraction():
    x = torch.arange(-3, 4)
    hardtanh, threshold = torch.nn.functional.hardtanh, torch.nn.functional.threshold
    assert hardtanh(x, -1.7, 1.9).tolist() == [-1, -1, -1, 0, 1, 1, 1]
    assert threshold(x, -0.5, 9.7).tolist() == [9, 9, 9, 9, 1, 2, 3]
    assert torch.addcmul(x, x, x, value=2.7).tolist() == [15, 6, 1, 0, 3, 10, 21]
    assert x.index_fill(0, torch.tensor([1]), -2.5).tolist() == [-3, -2, -1, 0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="unsigned type with negative limits"):
        hardtanh(x.to(torch.uint8), -1.0, 1.0)


def test_divisors_of_integers():
    x, none = torch.arange(3), torch.tensor([1, 0, 2])
    for function in (torch.floor_divide, torch.remainder, torch.fmod):
        for divisor in (0, none, none[1], none.to(torch.int8)):
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                function(x, divisor)
        assert function(x[:0], torch.tensor([0])).tolist() == []
    lowest = torch.tensor([-(2**63)])
    assert (lowest // -1).item() == -(2**63) and (lowest % -1).item() == 0
