"""Rows, columns and single elements beside whole arrays, short and long, adjacent and sliced."""

import itertools

import numpy as np
import pytest

import rushlight as torch

OPS = {"sub": np.subtract, "div": np.true_divide, "maximum": np.maximum, "atan2": np.arctan2}


def whole(shape, dtype, slices):
    """Numbers from 1 on, so that no quotient is NaN; with `slices`, part of a larger array."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(1, 9, [n + 3 * slices for n in shape]).astype(dtype)
    return numbers[tuple(slice(3 * slices, None) for _ in shape)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("row", [2, 3, 17, 63, 64, 65, 150, 1100])
@pytest.mark.parametrize("slices", [False, True])
def test_every_pair_of_shapes(row, dtype, slices):
    sizes = (3, 45, row)
    shapes = list(itertools.product(*((1, n) for n in sizes)))
    for first in shapes:
        for second in shapes:
            a, b = whole(first, dtype, slices), whole(second, dtype, slices)
            for name, expected in OPS.items():
                found = getattr(torch, name)(torch.from_numpy(a), torch.from_numpy(b)).numpy()
                said = f"{name} {first} {second}"
                np.testing.assert_allclose(found, expected(a, b), rtol=1e-6, err_msg=said)
            out = torch.from_numpy(whole(np.broadcast_shapes(first, second), dtype, True))
            torch.sub(torch.from_numpy(a), torch.from_numpy(b), out=out)
            np.testing.assert_array_equal(out.numpy(), a - b)


@pytest.mark.parametrize("row", [2, 40, 70])
def test_programs_of_several_steps_and_conversions(row):
    a, b, c = (torch.from_numpy(whole(s, "float32", True)) for s in [(300, row), (300, 1), (row,)])
    for x, y, z in [(a, b, c), (b, c, a), (c, a, b), (b, b, c)]:
        found = torch.addcmul(x, y.bfloat16(), z.long(), value=0.5).numpy()
        np.testing.assert_allclose(found, x.numpy() + 0.5 * y.numpy() * z.numpy(), rtol=1e-6)
        np.testing.assert_array_equal(x.int().numpy(), x.numpy().astype(np.int32))
        last = x.expand(9, 300, row).double().numpy()[8]
        np.testing.assert_array_equal(last, np.broadcast_to(x.numpy(), (300, row)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_arithmetic_of_few_complex_numbers(dtype):
    """By their parts, or as NumPy, with infinities and zeros among them."""
    parts = np.array([0.0, -0.0, 1.5, -2.0, np.inf, np.nan, 1e30])
    numbers = (parts[:, None] + 1j * parts).astype(dtype).ravel()
    a, b = np.repeat(numbers, 49), np.tile(numbers, 49)
    x, y, few = (torch.from_numpy(array) for array in (a, b, numbers))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((x + y).numpy(), a + b)
        np.testing.assert_array_equal((x - y).numpy(), a - b)
        np.testing.assert_array_equal((x / y).numpy(), a / b)
        product = (x * y).numpy()
        np.testing.assert_array_equal(product.real, a.real * b.real - a.imag * b.imag)
        np.testing.assert_array_equal(product.imag, a.real * b.imag + a.imag * b.real)
        np.testing.assert_array_equal((few - 2j).numpy(), numbers - numbers.dtype.type(2j))
        np.testing.assert_array_equal((few + 2.5).numpy(), numbers + numbers.dtype.type(2.5))
        np.testing.assert_array_equal((-few).numpy(), -numbers)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_second_element(dtype):
    for n in (1, 7, 8, 9, 15, 16, 17, 31, 33, 70, 300):
        x = np.random.default_rng(n).standard_normal((3, 2 * n)).astype(dtype)
        for part in (x[:, ::2], x[:, 1::2]):
            found = torch.from_numpy(part) + torch.from_numpy(part)
            np.testing.assert_array_equal(found.numpy(), part + part)
            np.testing.assert_array_equal(torch.from_numpy(part).contiguous().numpy(), part)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "bool", "int8"])
def test_operands_that_lie_alike(name):
    x = torch.arange(-30, 30).reshape(3, 4, 5).to(getattr(torch, name))
    for order in ((2, 0, 1), (0, 2, 1), (2, 1, 0)):
        y = x.permute(order)
        for op in (torch.abs, torch.neg) if name != "bool" else (torch.logical_not,):
            found = op(y)
            assert torch.equal(found, op(y.contiguous())) and found.stride() == y.stride()
        assert torch.equal(
            y & y if name in ("bool", "int8") else y + y,
            (x + x).permute(order) if name not in ("bool", "int8") else y,
        )
