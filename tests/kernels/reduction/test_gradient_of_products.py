"""The gradient of a product along a dimension, and the numbers made of all elements' bits."""

import math
import struct
from functools import reduce

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core

kernels = _core.kernels


def others(a, dim):
    """For each element the product of all others, each by itself."""
    rows = a.reshape(1, -1) if dim is None else np.moveaxis(a, dim, -1)
    found = np.empty(rows.shape, np.result_type(a, np.float64))
    for at in np.ndindex(rows.shape):
        rest = [x for i, x in enumerate(rows[at[:-1]]) if i != at[-1]]
        found[at] = math.prod(rest, start=1.0)
    return found.reshape(a.shape) if dim is None else np.moveaxis(found, -1, dim)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(3, 4), (5, 1), (1, 7), (6, 19), (2, 5, 33)])
def test_zeros_stand_anywhere(dtype, shape):
    rng = np.random.default_rng(0)
    for zeros in (0.0, 0.05, 0.2, 1.0):
        a = rng.uniform(0.5, 2, shape)
        if np.issubdtype(dtype, np.complexfloating):
            a = a * np.exp(1j * rng.uniform(-4, 4, shape))
        a = a.astype(dtype)
        a[rng.random(shape) < zeros] = 0
        for dim in (None, *range(a.ndim)):
            x = torch.from_numpy(a.copy()).requires_grad_()
            out = x.prod() if dim is None else x.prod(dim)
            (g,) = torch.autograd.grad(out, x, torch.full_like(out, 2.0))
            np.testing.assert_allclose(g.numpy(), 2 * others(a, dim).conj(), rtol=1e-5)


def test_products_beyond_the_range():
    """What underflows or is large; an infinite factor leaves the others alone."""
    tiny, huge = 1e-200, 1e200
    rows = [
        [tiny, tiny, tiny, 3.0],
        [huge, tiny, 2.0, 3.0],
        [math.inf, 2.0, 3.0, 4.0],
        [math.inf, 0.0, 3.0, 4.0],
        [0.0, tiny, tiny, 5.0],
    ]
    want = [
        [0.0, 0.0, 0.0, 0.0],
        [6 * tiny, 6 * huge, 3.0, 2.0],
        [24.0, math.inf, math.inf, math.inf],
        [0.0, math.inf, math.nan, math.nan],
        [0.0, 0.0, 0.0, 0.0],
    ]
    for along in (1, 0):
        a = np.array(rows) if along else np.array(rows).T.copy()
        x = torch.from_numpy(a).requires_grad_()
        x.prod(along).sum().backward()
        np.testing.assert_allclose(x.grad.numpy() if along else x.grad.numpy().T, want)


def test_gradient_is_refused_where_sizes_differ():
    a, g = torch.ones(3, 4), torch.ones(5)
    assert kernels.prod_backward(a, g, g, 1, False) is NotImplemented
    assert kernels.prod_backward(a.long(), torch.ones(3), torch.ones(3), 1, False) is NotImplemented


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int16", "bool"])
def test_exclusive_or_of_bits(dtype):
    x = (torch.randn(7, 1500) * 4).to(getattr(torch, dtype))
    code = "<d" if x.is_floating_point() else "<q"

    def bits(values):
        words = (struct.unpack("<Q", struct.pack(code, v))[0] for v in values)
        return reduce(lambda a, b: a ^ b, words)

    want = [bits(row) for row in x.tolist()]
    assert [int(v) for v in torch.hash_tensor(x, 1).tolist()] == want
    assert int(torch.hash_tensor(x)) == reduce(lambda a, b: a ^ b, want)
    assert int(torch.hash_tensor(x.t())) == reduce(lambda a, b: a ^ b, want)
    columns = [bits(column) for column in x.t().tolist()]
    assert [int(v) for v in torch.hash_tensor(x, 0).tolist()] == columns
