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


def down(a, b):
    """What torch computes of halves: a NumPy array of them rounds each step."""
    rest = np.fmod(a, b)
    whole = (a - rest) / b
    whole = np.where((rest != 0) & ((b < 0) != (rest < 0)), whole - a.dtype.type(1), whole)
    floor = np.floor(whole)
    floor = np.where(whole - floor > a.dtype.type(0.5), floor + a.dtype.type(1), floor)
    floor = np.where(whole != 0, floor, np.copysign(a.dtype.type(0), a / b))
    return np.where(b == 0, a / b, floor)


def towards_zero(a, b):
    return np.trunc(a / b)


def times_log(a, b):
    return np.where(np.isnan(b), b, np.where(a == 0, a.dtype.type(0), a * np.log(b)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "expected, function",
    [
        (down, torch.floor_divide),
        (down, lambda a, b, **out: torch.div(a, b, rounding_mode="floor", **out)),
        (towards_zero, lambda a, b, **out: torch.div(a, b, rounding_mode="trunc", **out)),
        (times_log, torch.xlogy),
    ],
    ids=["floor_divide", "down", "towards zero", "xlogy"],
)
def test_halves_are_rounded_at_each_step(expected, function, dtype):
    a, b = (torch.from_numpy(x).to(dtype) for x in numbers(np.float32))

    def check(found, a, b):
        with np.errstate(all="ignore"):
            want = expected(a._array, b._array).astype(np.float32)
        np.testing.assert_array_equal(found.float().numpy(), want)
        number = ~np.isnan(want)
        signs = np.signbit(found.float().numpy()), np.signbit(want)
        np.testing.assert_array_equal(signs[0][number], signs[1][number])

    check(function(a, b), a, b)
    x, y = (t[:2100].reshape(30, 70) for t in (a, b))
    check(function(x.T, y.T), x.T, y.T)
    check(function(x[:, ::2], y[0, :35]), x[:, ::2], y[:1, :35].expand(30, 35))
    whole = torch.arange(1, 1 + len(a))
    check(function(a, whole), a, whole.to(dtype))
    out = torch.empty(len(a))
    function(a, b, out=out)
    check(out, a, b)
    assert function(a[:0], b[:0]).shape == (0,)
