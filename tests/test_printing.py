"""Literal expectations of what tensors look like in print; PyTorch is not needed."""

import math

import numpy as np
import pytest

import rushlight as rl
from rushlight import _core
from rushlight._base import dtypes, printing
from rushlight._base.printing import tensor_text


@pytest.fixture(autouse=True)
def _restore():
    yield
    printing.set_printoptions(profile="default")


def text(values, name="float32", **given):
    dtype = getattr(dtypes, name)
    return tensor_text(_core.wrap(np.asarray(values, dtype.numpy)), **given)


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        ([1.5, 2], "float32", "tensor([1.5000, 2.0000])"),
        ([1, 2], "float32", "tensor([1., 2.])"),
        (3, "float32", "tensor(3.)"),
        (math.nan, "float32", "tensor(nan)"),
        ([math.inf, 1.5], "float32", "tensor([   inf, 1.5000])"),
        ([1e-5, 1], "float32", "tensor([1.0000e-05, 1.0000e+00])"),
        ([1e8], "float32", "tensor([100000000.])"),
        ([1e10], "float32", "tensor([1.0000e+10])"),
        ([1, -2], "int64", "tensor([ 1, -2])"),
        ([True, False], "bool", "tensor([ True, False])"),
        (0.1, "float64", "tensor(0.1000, dtype=torch.float64)"),
        (0.1, "bfloat16", "tensor(0.1001, dtype=torch.bfloat16)"),
        (3, "uint8", "tensor(3, dtype=torch.uint8)"),
        ([1 + 2j, math.nan], "complex64", "tensor([1.+2.j, nan+0.j])"),
        ([], "float32", "tensor([])"),
        ([], "int64", "tensor([], dtype=torch.int64)"),
        (np.zeros((0, 3)), "float32", "tensor([], size=(0, 3))"),
        (np.ones((2, 2)), "float32", "tensor([[1., 1.],\n        [1., 1.]])"),
        (np.arange(1001), "float32", "tensor([   0.,    1.,    2.,  ...,  998.,  999., 1000.])"),
    ],
)
def test_text(values, name, expected):
    assert text(values, name) == expected


def test_suffixes_follow_on_the_line_or_on_the_next():
    assert text([1.0], suffixes=["requires_grad=True"]) == "tensor([1.], requires_grad=True)"
    assert text(np.ones(16), suffixes=["grad_fn=<MulBackward0>"]) == (
        "tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.],\n"
        "       grad_fn=<MulBackward0>)"
    )


def test_options():
    printing.set_printoptions(precision=2, threshold=5, edgeitems=1)
    assert text(np.arange(6) / 4) == "tensor([0.00,  ..., 1.25])"
    with printing.printoptions(sci_mode=True):
        assert text([1.5]) == "tensor([1.50e+00])"
    assert text([1.5]) == "tensor([1.50])"


def test_bad_options_change_nothing():
    before = printing.get_printoptions()
    for bad, error in [
        ({"precision": "four"}, TypeError),
        ({"threshold": "all"}, TypeError),
        ({"precision": 2, "edgeitems": -1}, ValueError),
    ]:
        with pytest.raises(error):
            printing.set_printoptions(**bad)
        assert printing.get_printoptions() == before


def test_format_of_one_number():
    assert f"{rl.tensor(1.5):.2f}" == "1.50"
    assert f"{rl.tensor(0.1, dtype=rl.bfloat16):.3f}" == "0.100"
    with pytest.raises(TypeError, match="unsupported format string passed"):
        f"{rl.ones(2):.2f}"
