"""torch.testing: what assert_close says, against PyTorch where it is installed; make_tensor."""

import numpy as np
import pytest
from rushlight.testing import assert_close, make_tensor

import rushlight as torch

T = "torch.tensor"
CASES = f"""{T}([1.0, 2.0]), {T}([1.0, 2.1])
{T}([1, 2]), {T}([1, 3])
{T}(1.0), {T}(1.1)
{T}([1.0]), {T}([1.0], dtype=torch.float64)
{T}([1.0, 2.0]), {T}([1.0, 2.0, 3.0])
[{T}(1.0), {T}(2.0)], [{T}(1.0), {T}(3.0)]
dict(a={T}(1.0)), dict(b={T}(1.0))
dict(a=[1, 2]), dict(a=[1, 3])
1, 2
1.0, 1.1
'a', 'b'
True, False
{T}([1.0, float('nan')]), {T}([1.0, float('nan')])
{T}([1.0, float('nan')]), {T}([1.0, float('nan')]), equal_nan=True
{T}([1.0]), {T}([1.1]), rtol=1
{T}([1.0]), {T}([1.1]), rtol=1, atol=0
{T}([1.0]), {T}([1.1]), msg='hello'
{T}([1.0]), {T}([1.1]), msg=lambda m: 'X ' + m
[{T}(1.0)], [{T}(1.0), {T}(2.0)]
{T}([[1.0, 2.0], [3, 4]]), {T}([[1.0, 2.0], [5, 6]]), rtol=0, atol=0.5
1.0, {T}(1.0)
{T}([True, False]), {T}([True, True])
None, None
None, {T}(1.0)
{T}([1.0]).expand(2), {T}([1.0, 1.0]), check_stride=True
{T}([1.0, 2.0]), {T}([1.0, 2.0]) + 1e-6
{T}([1.0]), {T}([1.0], dtype=torch.float64), check_dtype=False
{T}([]), {T}([])
{T}([1.0, 2.0], dtype=torch.float16), {T}([1.0, 2.002], dtype=torch.float16)
1, 1.0
1, 1.0, check_dtype=False"""


def said(library, case):
    try:
        eval(f"torch.testing.assert_close({case})", {"torch": library})
    except Exception as error:
        return type(error).__name__, str(error)
    return None


@pytest.mark.parametrize("case", CASES.splitlines())
def test_says_what_pytorch_says(case):
    pytorch = pytest.importorskip("torch")
    ours, theirs = said(torch, case), said(pytorch, case)
    if theirs is not None and theirs[0] == "TypeError":  # a type's name is in it
        ours, theirs = (s and (s[0], s[1].replace("rushlight", "torch")) for s in (ours, theirs))
    assert ours == theirs


def test_close_and_not_close():
    assert_close(torch.ones(3) / 3 * 3, torch.ones(3))
    assert_close(np.ones(2), np.ones(2) + 1e-9)
    with pytest.raises(AssertionError, match=r"Mismatched elements: 1 / 3 \(33.3%\)"):
        assert_close(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.5, 3.0]))


def test_make_tensor_draws_what_pytorch_draws():
    pytorch = pytest.importorskip("torch")
    for settings in (
        {"dtype": "float32"},
        {"dtype": "float64", "low": 0, "high": 1, "noncontiguous": True},
        {"dtype": "int64", "low": -3, "high": 3},
        {"dtype": "uint8"},
        {"dtype": "bool"},
        {"dtype": "complex64"},
        {"dtype": "int64", "low": 0, "high": 2, "exclude_zero": True},
    ):
        made = []
        for library in (torch, pytorch):
            library.manual_seed(0)
            named = {**settings, "dtype": getattr(library, settings["dtype"]), "device": "cpu"}
            made.append(library.testing.make_tensor((3, 4), **named))
        ours, theirs = made
        assert ours.tolist() == theirs.tolist() and ours.stride() == theirs.stride(), settings


def test_make_tensor_of_no_range():
    with pytest.raises(ValueError, match="low"):
        make_tensor(2, dtype=torch.float32, device="cpu", low=2, high=1)
    assert make_tensor(0, 3, dtype=torch.float32, device="cpu").shape == (0, 3)
    assert make_tensor(2, dtype=torch.float32, device="cpu", requires_grad=True).requires_grad
