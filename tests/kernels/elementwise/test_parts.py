"""Mantissas and exponents, divisors of integers, and numbers written over tensors."""

import math

import numpy as np
import pytest

import rushlight as torch

SPECIAL = [0.0, -0.0, 1.0, -1.5, 3e-320, 5e-45, 1e308, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_frexp(dtype):
    x = torch.tensor(SPECIAL + [v * 0.37 for v in range(-40, 40)]).to(getattr(torch, dtype))
    for t in (x, x.reshape(9, 10).t(), x[::3], x[:0]):
        mantissa, exponent = torch.frexp(t)
        assert mantissa.dtype is t.dtype and exponent.dtype is torch.int32
        for m, e, v in zip(*(u.flatten().tolist() for u in (mantissa, exponent, t)), strict=True):
            if math.isfinite(v):
                assert (m, e) == math.frexp(v)
            else:
                assert m == v or (math.isnan(m) and math.isnan(v))


def test_divisors_of_all_integers():
    least = -(2**63)
    numbers = [0, 1, -1, 6, -8, 12, 2**40, 3**30, -(7**20), 2**63 - 1, least]
    a = torch.tensor(numbers).repeat_interleave(len(numbers))
    b = torch.tensor(numbers * len(numbers))
    for x, y, g, m in zip(*(t.tolist() for t in (a, b, a.gcd(b), a.lcm(b))), strict=True):
        assert (g - math.gcd(x, y)) % 2**64 == 0
        assert (m - math.lcm(x, y)) % 2**64 == 0
    small = torch.tensor([12, 200, 0], dtype=torch.uint8)
    assert small.gcd(torch.tensor([18, 60, 5], dtype=torch.uint8)).tolist() == [6, 20, 5]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "bfloat16", "complex64"])
def test_fill_writes_what_is_shown(dtype):
    kind = getattr(torch, dtype)
    for value in (1, torch.tensor(1), torch.tensor(1.0)):
        whole = torch.zeros(6, 10).to(kind)
        part = whole.t()[1:8:3]
        assert part.fill_(value) is part
        want = [[float(c in (1, 4, 7)) for c in range(10)]] * 6
        assert (whole.real if kind.is_complex else whole).double().tolist() == want
        whole.zero_()
        assert not whole.any()
        assert torch.fill(whole.t(), value).stride() == (1, 10)


def test_fill_with_an_element_of_its_own_and_of_one_seen_often():
    x = torch.arange(200_000.0).reshape(200, 1000)
    x.fill_(x[100, 3])
    assert bool((x == 100_003).all())
    one = torch.zeros(1)
    one.expand(2**40).fill_(3)
    assert one.item() == 3
    for number in (math.inf, -math.inf):
        assert torch.ones(2).fill_(number).tolist() == [number, number]
    assert torch.ones(2).fill_(math.nan).isnan().all()
    assert torch.ones(0, 3).fill_(2).shape == (0, 3)
    with pytest.raises(RuntimeError, match="cannot be converted to type float without overflow"):
        torch.ones(2).fill_(1e300)
    with pytest.raises(RuntimeError, match="0-dimension value tensor"):
        torch.ones(2).fill_(torch.ones(1))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_numbers_in_the_place_of_what_is_not_finite(kind):
    x = np.array([1.5, -0.0, np.nan, np.inf, -np.inf, 3.0] * 7, kind)
    for nan, above, below in (
        (0.0, None, None),
        (2.0, 7.0, -7.0),
        (2.0, 7.0, -8.0),
        (np.inf, 7.0, -7.0),
        (1.0, np.nan, -7.0),
    ):
        largest = np.finfo(kind).max
        want = x.copy()
        want[x == np.inf] = largest if above is None else above
        want[x == -np.inf] = -largest if below is None else below
        want[np.isnan(x)] = nan
        found = torch.nan_to_num(torch.from_numpy(x), nan, above, below).numpy()
        assert found.tobytes() == want.tobytes()
