"""Remainders, which are exact; the next number; bools and small integers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from plain import on_one_thread_and_two

import rushlight as torch


def numbers(dtype):
    """Pairs: every two of the special ones, and of very different sizes."""
    info = np.finfo(dtype)
    ends = [info.smallest_subnormal, info.tiny, info.max, info.max / 3]
    plain = [0.0, -0.0, 1, -1, 3, -7.5, np.inf, -np.inf, np.nan, 2.0**22 + 1, -(2.0**51), 1e-30]
    special = np.array([*ends, *plain], dtype)
    random = np.random.default_rng(0)
    wide = (
        random.standard_normal((2, 2000)) * np.exp(random.standard_normal((2, 2000)) * 8)
    ).astype(dtype)
    a = np.concatenate([np.repeat(special, len(special)), wide[0]])
    return a, np.concatenate([np.tile(special, len(special)), wide[1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fmod_is_exact(dtype):
    a, b = numbers(dtype)
    found = torch.from_numpy(a).fmod(torch.from_numpy(b)).numpy()
    for x, y, r in zip(a, b, found, strict=True):
        if not math.isfinite(x) or math.isnan(y) or y == 0:
            assert math.isnan(r)
        elif math.isinf(y):
            assert r == x
        else:
            x, y = Fraction(float(x)), Fraction(float(y))
            assert Fraction(float(r)) == x - y * math.trunc(x / y)
            assert math.copysign(1, r) == math.copysign(1, x) or x == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remainder_and_floor_divide(dtype):
    a, b = numbers(dtype)
    with np.errstate(all="ignore"):
        expected = np.fmod(a, b)
        expected = np.where((expected != 0) & ((expected < 0) != (b < 0)), expected + b, expected)
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    np.testing.assert_array_equal(x.remainder(y).numpy(), expected)
    with np.errstate(all="ignore"):
        near = np.isfinite(a) & np.isfinite(b) & (b != 0) & (np.abs(a / 1e6) < np.abs(b))
    floors = [
        math.floor(Fraction(float(p)) / Fraction(float(q)))
        for p, q in zip(a[near], b[near], strict=True)
    ]
    np.testing.assert_array_equal(x.floor_divide(y).numpy()[near], np.array(floors, dtype))


def test_remainders_of_integers():
    random = np.random.default_rng(1)
    a = np.concatenate(
        [
            random.integers(-1000, 1000, 600),
            random.integers(-(2**62), 2**62, 600),
            [-(2**63), 2**63 - 1],
        ]
    )
    b = np.concatenate(
        [random.integers(1, 40, 600), random.integers(1, 2**62, 600), [-1, 2**63 - 1]]
    )
    b[::3] *= -1
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    pairs = [(int(p), int(q)) for p, q in zip(a, b, strict=True)]
    assert x.remainder(y).tolist() == [p % q for p, q in pairs]
    assert x.fmod(y).tolist() == [int(math.copysign(1, p)) * (abs(p) % abs(q)) for p, q in pairs]
    wrapped = [(p // q + 2**63) % 2**64 - 2**63 for p, q in pairs]
    assert x.floor_divide(y).tolist() == wrapped


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nextafter(dtype):
    a, b = numbers(dtype)
    found = torch.from_numpy(a).nextafter(torch.from_numpy(b)).numpy()
    with np.errstate(all="ignore"):
        expected = np.nextafter(a, b)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        np.signbit(found), np.signbit(expected) | (np.isnan(found) & np.signbit(found))
    )


@pytest.mark.parametrize("n", [0, 1, 63, 1000, 3_000_000])
def test_bools(n):
    random = np.random.default_rng(2)
    a, b = random.integers(0, 2, (2, n)).astype(bool)
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    for found, expected in [
        (lambda: ~x, ~a),
        (lambda: x & y, a & b),
        (lambda: x | y, a | b),
        (lambda: x ^ y, a ^ b),
        (lambda: x == y, a == b),
        (lambda: x != y, a != b),
        (lambda: x * y, a & b),
        (lambda: x + y, a | b),
        (lambda: x[::2] & y[::2], a[::2] & b[::2]),
    ]:
        np.testing.assert_array_equal(on_one_thread_and_two(lambda f=found: f().numpy()), expected)


def test_bytes_that_are_not_0_or_1_are_true():
    t = torch.from_numpy(np.array([0, 1, 2, 255], np.uint8)).view(torch.bool)
    assert (~t).tolist() == [True, False, False, False]
    assert (t ^ torch.ones(4, dtype=torch.bool)).tolist() == [True, False, False, False]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.int32])
def test_small_integers_wrap(dtype):
    info = np.iinfo(dtype)
    a, b = np.random.default_rng(3).integers(info.min, info.max, (2, 1001), dtype=dtype)
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    with np.errstate(over="ignore"):
        for found, expected in [
            (x + y, a + b),
            (x - y, a - b),
            (x * y, a * b),
            (x & y, a & b),
            (x ^ y, a ^ b),
            (x + 3, (a.astype(int) + 3).astype(dtype)),
            (3 - x, (3 - a.astype(int)).astype(dtype)),
            (x * y[:1], (a * b[:1])),
            (y[0] - x, b[0] - a),
        ]:
            np.testing.assert_array_equal(found.numpy(), expected)
    first, expected = int(a[0]), a[0] - a
    np.testing.assert_array_equal(x.neg_().add_(first).numpy(), expected)
