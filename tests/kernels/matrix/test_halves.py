"""Halves: converted, and computed with in float, rounded once."""

import numpy as np
import pytest
from plain import definition

import rushlight as torch
from rushlight.nn import functional as F

convert, softmax = definition("convert"), definition("softmax")
HALVES = ["float16", "bfloat16"]
BUFFER = 4096  # elements that bindings/layers/softmax.cpp takes at once


def halves(x, name):
    return torch.tensor(x).to(getattr(torch, name))


def floats(tensor):
    return tensor.detach().float().numpy()


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("n", [1, 7, 8, 9, 15, 16, 17, 31, 33, 1000])
def test_conversions_of_any_length(name, n):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32) * 100
    np.testing.assert_array_equal(floats(halves(x, name) + 0), convert.rounded(x, name))


@pytest.mark.parametrize("name", HALVES)
def test_every_half_comes_back(name):
    every = convert.every(name)
    found = floats(halves(every, name) * 1)
    np.testing.assert_array_equal(found, every)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(every))


@pytest.mark.parametrize("name", HALVES)
def test_rounding_to_halves(name):
    """In between neighbours, at the ends of the range, below the normal one."""
    every = convert.every(name)
    x = np.sort(every[np.isfinite(every)])
    middle = x[:-1] + (x[1:] - x[:-1]) / 2
    x = np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])
    x = np.concatenate([x, np.array([65519, 65520, 3.4e38, 1e-45, np.inf, -np.inf], np.float32)])
    one = torch.ones(len(x), dtype=getattr(torch, name))
    found = torch.empty(len(x), dtype=getattr(torch, name))
    torch.mul(torch.tensor(x.astype(np.float32)), one, out=found)
    np.testing.assert_array_equal(floats(found), convert.rounded(x.astype(np.float32), name))


def along(dim, definition, *arrays):
    """A definition over the last axis, over another one."""
    return np.moveaxis(definition(*(np.moveaxis(a, dim, -1) for a in arrays)), -1, dim)


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("function", ["softmax", "log_softmax"])
@pytest.mark.parametrize(
    "shape, dim",
    [
        ((5, 7), 1),
        ((3, BUFFER), 1),
        ((3, BUFFER + 1), 1),
        ((300, 33), 0),
        ((4, 5, 6), 1),
        ((0, 4), 1),
    ],
    ids=str,
)
def test_softmax_of_halves(name, function, shape, dim):
    rng = np.random.default_rng(0)
    x = convert.rounded(rng.standard_normal(shape).astype(np.float32) * 3, name)
    g = convert.rounded(rng.standard_normal(shape).astype(np.float32), name)
    input = halves(x, name).requires_grad_()
    out = getattr(F, function)(input, dim)
    (slope,) = torch.autograd.grad(out, input, halves(g, name))
    assert out.dtype is slope.dtype is input.dtype
    if not x.size:
        return
    # one rounding to a half, and float32's own errors, which are far below it
    unit = {"float16": 2**-11, "bfloat16": 2**-8}[name] * 1.01
    tiny = {"float16": 2**-24, "bfloat16": 1e-7}[name]
    expected = along(dim, getattr(softmax, function), x)
    np.testing.assert_allclose(floats(out), expected, rtol=unit, atol=tiny)
    backward = getattr(softmax, f"{function}_backward")
    expected = along(dim, backward, g, floats(out))
    scale = 1e-5 * np.abs(g).sum(dim, keepdims=True)  # what cancels
    assert (np.abs(floats(slope) - expected) <= unit * np.abs(expected) + scale + tiny).all()


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_reductions_of_halves_round_once(name, dim):
    x = convert.rounded(
        np.random.default_rng(1).standard_normal((700, 90)).astype(np.float32), name
    )
    wide, narrow = torch.tensor(x), halves(x, name)
    dims = () if dim is None else (dim,)
    for op in ("sum", "mean", "var", "argmax", "argmin"):
        found = getattr(narrow, op)(*dims)
        expected = getattr(wide, op)(*dims)
        assert found.dtype is (expected.dtype if op.startswith("arg") else narrow.dtype)
        np.testing.assert_array_equal(floats(found), floats(expected.to(found.dtype)))
    np.testing.assert_array_equal(floats(narrow.amax(dims)), x.max(dims or None))
    np.testing.assert_array_equal(floats(narrow.amin(dims)), x.min(dims or None))


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("affine", ["none", "same", "float32"])
def test_layer_norm_of_halves_rounds_once(name, affine):
    rng = np.random.default_rng(2)
    x, g = (halves(rng.standard_normal((9, 33)).astype(np.float32), name) for _ in range(2))
    parts = [torch.tensor(rng.standard_normal(33).astype(np.float32)) for _ in range(2)]
    parts = [p if affine == "float32" else p.to(x.dtype) for p in parts]
    found = [t.requires_grad_() for t in [x, *(parts if affine != "none" else [])]]
    wide = [t.detach().float().requires_grad_() for t in found]
    out, expected = (F.layer_norm(t[0], (33,), *t[1:]) for t in (found, wide))
    np.testing.assert_array_equal(floats(out), floats(expected.to(x.dtype)))
    out.backward(g)
    expected.backward(g.float())
    for t, w in zip(found, wide, strict=True):
        np.testing.assert_array_equal(floats(t.grad), floats(w.grad.to(t.dtype)))
