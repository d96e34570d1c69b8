"""Rows from the last element to the first, and by every second one, at the lengths of registers."""

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


@pytest.mark.parametrize(
    "dtype", ["bool", "int16", "float32", "float64", "complex64", "complex128"]
)
def test_every_second_element(dtype):
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 129, 1000):
        a = rng.integers(0, 2 if dtype == "bool" else 100, (3, 2 * n)).astype(dtype)
        for first in (0, 1):  # the last element of memory is among the odd ones
            part = torch.from_numpy(a)[:, first::2]
            want = a[:, first::2]
            np.testing.assert_array_equal(part.contiguous().numpy(), want)
            np.testing.assert_array_equal((part == part[:, :1]).numpy(), want == want[:, :1])
            if dtype != "bool":
                np.testing.assert_array_equal((part + part).numpy(), want + want)
            flat = torch.from_numpy(a[0])[first::2]
            if dtype.startswith("float"):
                assert flat.dot(flat) == (a[0, first::2] ** 2).sum()


def test_writing_keeps_the_order_of_a_transposed_tensor():
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    x, one = torch.from_numpy(a).t(), torch.tensor([5.0, 6.0])
    made = {
        "put": torch.put(x, torch.tensor([1, 11]), one),
        "index_put": x.index_put((torch.tensor([0, 3]), torch.tensor([1, 2])), one),
        "select": torch.select_scatter(x, torch.full((3,), 9.0), 0, 1),
        "slice": torch.slice_scatter(x, torch.full((2, 3), 9.0), 0, 1, 3),
        "diagonal": torch.diagonal_scatter(x, torch.full((3,), 9.0)),
        "strided": torch.as_strided_scatter(x, torch.full((2,), 9.0), (2,), (4,), 1),
    }
    want = {name: a.T.copy() for name in made}
    want["put"][0, 1], want["put"][3, 2] = 5, 6
    want["index_put"][0, 1], want["index_put"][3, 2] = 5, 6
    want["select"][1] = want["slice"][1:3] = 9
    want["diagonal"][range(3), range(3)] = 9
    want["strided"][1, :2] = 9
    for name, found in made.items():
        np.testing.assert_array_equal(found.numpy(), want[name], err_msg=name)
        assert found.stride() == (1, 4), name
    assert torch.complex(x, x).stride() == (1, 4)
    np.testing.assert_array_equal(torch.complex(x, -x).numpy(), a.T - 1j * a.T)
    assert torch.kron(x, x).stride() == (1, 16)
    np.testing.assert_array_equal(torch.kron(x, x).numpy(), np.kron(a.T, a.T))
    sliced = torch.from_numpy(a)[:, ::2]
    np.testing.assert_array_equal(torch.complex(sliced, sliced).numpy(), (1 + 1j) * a[:, ::2])
