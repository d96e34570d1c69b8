"""Copies between layouts, at the sizes where squares and narrow pieces begin and end."""

import itertools

import numpy as np
import pytest
from plain import on_one_thread_and_two

import rushlight as torch
from rushlight import _core

kernels = _core.kernels
DTYPES = [np.bool_, np.int8, np.int16, np.float32, np.float64, np.complex128]


def filled(shape, dtype):
    return (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 9), (64, 64), (65, 130), (3, 700), (700, 3), (9, 8)])
def test_a_transposed_copy(shape, dtype):
    a = filled(shape, dtype)
    np.testing.assert_array_equal(torch.from_numpy(a).t().contiguous().numpy(), a.T)


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_copies_in_every_order_of_dimensions(order, dtype):
    a = filled((3, 17, 5, 66), dtype)
    found = on_one_thread_and_two(lambda: torch.from_numpy(a).permute(*order).contiguous().numpy())
    np.testing.assert_array_equal(found, a.transpose(order))


@pytest.mark.parametrize("dtype", [*DTYPES, np.complex64])
@pytest.mark.parametrize("n", [1, 15, 16, 63, 64, 65, 513, 5000])
def test_one_element_spread_over_a_row(n, dtype):
    a = filled((3, 1), dtype)
    found = torch.from_numpy(a).expand(3, n).contiguous().numpy()
    np.testing.assert_array_equal(found, np.broadcast_to(a, (3, n)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_flipped(dtype):
    a = filled((3, 5, 67), dtype)
    for dims in [(), (0,), (2,), (0, 2), (0, 1, 2), (-1,)]:
        expected = np.flip(a, dims) if dims else a
        np.testing.assert_array_equal(kernels.flip(a, dims), expected)
    turned = torch.from_numpy(a).transpose(0, 2).flip(1)
    assert turned.stride() == torch.from_numpy(a).transpose(0, 2).stride()
    np.testing.assert_array_equal(turned.numpy(), a.transpose(2, 1, 0)[:, ::-1])


def test_rolled():
    a = filled((4, 5, 6), np.float32)
    for shifts, dims in [
        (3, 1),
        (-7, 2),
        ((1, 2), (0, 2)),
        ((4, -5), (1, 1)),
        (0, 0),
        ((1, 1, 1), (0, 1, 2)),
    ]:
        np.testing.assert_array_equal(kernels.roll(a, shifts, dims), np.roll(a, shifts, dims))
    np.testing.assert_array_equal(kernels.roll(a, 7, None), np.roll(a, 7))
    np.testing.assert_array_equal(
        torch.from_numpy(a).mT.roll(7).numpy(), np.roll(a.swapaxes(1, 2), 7)
    )
    assert kernels.roll(np.empty((0, 3), np.float32), 2, 1).shape == (0, 3)
    assert kernels.roll(a, (1, 2), (0,)) is NotImplemented


def test_repeated():
    a = filled((3, 1, 5), np.int16)
    for counts in [(1, 1, 1), (2, 3, 4), (2, 1, 1, 3), (1, 7, 0)]:
        np.testing.assert_array_equal(kernels.repeat(a, counts), np.tile(a, counts))
    for refused in [(2,), (1, 1, -1), (1, 1, 2**62)]:
        assert kernels.repeat(a, refused) is NotImplemented
    with pytest.raises(RuntimeError):
        kernels.repeat(a, (2**40, 2**40, 1))


@pytest.mark.parametrize("shape", [(1, 1), (4, 7), (7, 4), (2, 3, 5), (0, 3), (3, 0)])
def test_triangles(shape):
    a = filled(shape, np.float32)
    a.flat[:1] = np.nan
    for k in (-(2**62), -3, -1, 0, 1, 3, 2**62):
        near = max(min(k, 10), -10)
        for order in (a, np.asfortranarray(a)):
            np.testing.assert_array_equal(kernels.tril(order, k), np.tril(a, near))
            np.testing.assert_array_equal(kernels.triu(order, k), np.triu(a, near))
    assert kernels.tril(filled((3,), np.float32), 0) is NotImplemented


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize(
    "to", ["bool", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"]
)
def test_conversions(source, to):
    a = np.random.default_rng(0).integers(0, 100, 1001).astype(source)
    a = a.real.astype(source) if np.dtype(source).kind != "c" else a
    for t in (torch.from_numpy(a), torch.from_numpy(a)[::3], torch.from_numpy(a[:1]).expand(70)):
        expected = t.numpy().real if to != "complex64" and to != "bool" else t.numpy()
        np.testing.assert_array_equal(t.to(getattr(torch, to)).numpy(), expected.astype(to))


def test_channels_dealt_from_groups():
    a = filled((2, 6, 3, 5), np.float32)
    expected = a.reshape(2, 3, 2, 3, 5).swapaxes(1, 2).reshape(a.shape)
    np.testing.assert_array_equal(kernels.channel_shuffle(a, 3), expected)
    assert kernels.channel_shuffle(a, 4) is NotImplemented
    assert kernels.channel_shuffle(a, 0) is NotImplemented


def test_a_diagonal_of_new_dimensions():
    a = filled((2, 3), np.float32)
    for offset in (-2, 0, 1):
        expected = np.stack([np.diag(row, offset) for row in a])
        np.testing.assert_array_equal(kernels.diag_embed(a, offset, -2, -1), expected)
        np.testing.assert_array_equal(
            kernels.diag_embed(a, offset, 0, 2), np.moveaxis(expected, 0, 1)
        )
    assert kernels.diag_embed(a, 0, 1, 1) is NotImplemented
    assert kernels.diag_embed(a, 2**63 - 1, 0, 1) is NotImplemented


def test_blocks():
    found = kernels.block_diag([np.ones((2, 3)), np.full(2, 2.0), np.array(3.0), np.ones((0, 1))])
    expected = np.zeros((4, 7))
    expected[:2, :3], expected[2, 3:5], expected[3, 5] = 1, 2, 3
    np.testing.assert_array_equal(found, expected)
    assert kernels.block_diag([np.ones(2), np.ones(2, np.float32)]) is NotImplemented


def test_complex_numbers_of_parts():
    a, b = filled((3, 4), np.float32), filled((4,), np.float32)
    for real, imag in [(a, a + 1), (a, b), (b, a), (np.asfortranarray(a), a), (a[0, 0], a)]:
        np.testing.assert_array_equal(
            kernels.complex_parts(np.asarray(real), np.asarray(imag)), real + 1j * imag
        )
    assert kernels.complex_parts(a, b.astype(np.float64)) is NotImplemented
