"""Convolutions of packed copies, and softmax of long rows, on the accelerator: against the CPU in
float64 and NumPy."""

import numpy as np
import pytest

import rushlight as torch
from rushlight._devices import choices
from rushlight.ops.layers.there import convolution as _convolution
from rushlight.ops.layers.there import softmax as _softmax
from rushlight.ops.matrix.there import products as _products

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("refuse")
CLOSE = {"float64": 1e-12, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}


def numbers(*shape, seed=0, dtype="float64"):
    """Numbers of a type, as float64 on the CPU."""
    values = torch.tensor(np.random.default_rng(seed).standard_normal(shape))
    return values.to(getattr(torch, dtype)).double()


def near(have, want, dtype):
    assert have.device.type == "opencl" and have.dtype is getattr(torch, dtype)
    assert have.shape == want.shape and have.stride() == want.stride()
    have, want = have.detach().cpu().double().numpy(), want.detach().numpy()
    close = CLOSE[dtype] * max(1, np.abs(want).max())
    np.testing.assert_allclose(have, want, rtol=0, atol=close)


def agree(function, inputs, dtype="float64"):
    """The result and both gradients, against those of the CPU in float64."""
    cpu = [t.detach().requires_grad_() for t in inputs]
    there = [t.to(getattr(torch, dtype)).to("opencl").requires_grad_() for t in inputs]
    want, have = function(*cpu), function(*there)
    near(have, want, dtype)
    seed = numbers(*want.shape, seed=9, dtype=dtype)
    wanted = torch.autograd.grad(want, cpu, seed)
    found = torch.autograd.grad(have, there, seed.to(have.dtype).to("opencl"))
    for h, w in zip(found, wanted, strict=True):
        near(h, w, dtype)


@pytest.fixture
def launched(monkeypatch):
    """The names of kernels that convolutions and softmax start; every convolution is packed."""
    names = []
    for module in (_convolution, _products, _softmax):

        def start(file, name, *args, _start=module.start, **more):
            names.append(name)
            _start(file, name, *args, **more)

        monkeypatch.setattr(module, "start", start)
    with choices.using(0, least_convolution=0):
        yield names


GEOMETRIES = [
    dict(stride=1, padding=1, dilation=1, groups=1),
    dict(stride=2, padding=1, dilation=1, groups=2),
    dict(stride=3, padding=2, dilation=2, groups=1),
    dict(stride=1, padding=0, dilation=2, groups=4),
]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["conv", "conv_transpose"])
def test_geometries(launched, kind, dims, geometry):
    function, groups = getattr(F, f"{kind}{dims}d"), geometry["groups"]
    size, taps = (19, 11, 9)[-dims:], (3, 2, 4)[:dims]
    x, bias = numbers(3, 4, *size), numbers(12, seed=2)
    shape = (12, 4 // groups) if kind == "conv" else (4, 12 // groups)
    w = numbers(*shape, *taps, seed=1)
    agree(lambda *given: function(*given, **geometry), [x, w, bias])
    assert launched.count("pack_columns") >= 3 and "convolve" not in launched


@pytest.mark.parametrize("dtype", CLOSE)
def test_types(launched, dtype):
    x, w = numbers(2, 5, 10, 17, dtype=dtype), numbers(9, 5, 3, 3, seed=1, dtype=dtype)
    agree(lambda x, w: F.conv2d(x, w, padding=1), [x, w], dtype)
    assert launched.count("product_packed") == 3


def test_other_strides(launched):
    x, w = numbers(2, 9, 14, 6).permute(0, 3, 1, 2), numbers(8, 3, 3, 5, seed=1).transpose(2, 3)
    agree(lambda x, w: F.conv2d(x[:, ::2, :, 1::2], w), [x, w])
    agree(lambda x, w: F.conv2d(x[1, :3], w), [x, w])
    assert "convolve" not in launched


@pytest.mark.parametrize("panels", [1, 3])
def test_patches_are_copied_in_chunks(launched, panels):
    x, w = numbers(3, 4, 9, 10), numbers(10, 2, 3, 3, seed=1)
    panel = 2 * 3 * 3 * 4 * 8  # bytes: terms times columns times those of a number
    with choices.using(0, packed_bytes=panels * panel):
        there = F.conv2d(x.to("opencl"), w.to("opencl"), groups=2)
        near(there, F.conv2d(x, w, groups=2), "float64")
        chunks = -(-3 * 2 * 14 // panels)  # of 56 places of each image and group
        assert launched.count("pack_columns") == launched.count("product_packed") == chunks
        agree(lambda x, w: F.conv2d(x, w, groups=2), [x, w])


def test_long_sums_are_cut(launched):
    x, w = numbers(5, 3, 30, 41), numbers(4, 3, 3, 3, seed=1)
    agree(F.conv2d, [x, w])  # the gradient of the weight: sums of 5460
    assert launched.count("sum_pieces") == 1
    a, b = numbers(4200, 24), numbers(4200, 33, seed=1)
    near(a.t().to("opencl") @ b.to("opencl"), a.t() @ b, "float64")
    assert launched.count("sum_pieces") == 2


def test_small_convolutions_are_summed_where_they_lie(launched):
    with choices.using(0, least_convolution=1 << 17):
        agree(F.conv2d, [numbers(1, 2, 5, 5), numbers(3, 2, 3, 3)])
    assert set(launched) == {"convolve"}


# ---- softmax


def on_rows(x, log):
    """By NumPy's functions."""
    x = x - x.max(-1, keepdims=True)
    total = np.exp(x).sum(-1, keepdims=True)
    return x - np.log(total) if log else np.exp(x) / total


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("processor", [True, False])
def test_softmax_of_long_rows(launched, monkeypatch, dtype, processor):
    monkeypatch.setattr(_softmax.numbered(0).facts, "is_cpu", processor)
    for function in (F.softmax, F.log_softmax):
        for length in (64, 67, 300):
            x = numbers(3, 2, length, dtype=dtype) * 16
            agree(lambda x: function(x, -1), [x], dtype)  # noqa: B023
        have = function(x.to("opencl"), -1).cpu().numpy()
        want = on_rows(x.numpy(), function is F.log_softmax)
        np.testing.assert_allclose(have, want, rtol=1e-12, atol=1e-14)
    way = "lines" if processor else "groups"
    assert set(launched) == {f"softmax_{way}", f"softmax_backward_{way}"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("processor", [True, False])
def test_softmax_of_what_is_no_number(monkeypatch, dtype, processor):
    monkeypatch.setattr(_softmax.numbered(0).facts, "is_cpu", processor)
    x = numbers(5, 70, dtype=dtype)
    inf = float("inf")
    x[0, 3], x[1, 69], x[2, 5], x[3], x[4, ::2] = float("nan"), float("nan"), inf, -inf, -inf
    x = x.to(getattr(torch, dtype))
    for function in (F.softmax, F.log_softmax):
        want, have = function(x, 1).numpy(), function(x.to("opencl"), 1).cpu().numpy()
        np.testing.assert_allclose(have, want, rtol=1e-5)
    assert np.isnan(want[:3]).all() and np.isnan(want[3]).all() and (want[4, ::2] == -inf).all()
