"""What newcomers meet first: errors of a layer whose input does not fit, and python -O."""

import subprocess
import sys

import pytest

from _subject import torch


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (2, 2, 3)])
def test_a_layer_gives_no_advice_about_products(shape, bias):
    with pytest.raises(RuntimeError) as caught:
        torch.nn.Linear(2, 3, bias=bias)(torch.ones(shape))
    text = str(caught.value)
    assert text.startswith("mat1 and mat2 shapes cannot be multiplied (4x3 and 2x3)")
    assert "Did you mean" not in text


def test_the_dtype_error_names_the_matrices():
    said = "mat1 and mat2 must have the same dtype, but got Double and Float"
    with pytest.raises(RuntimeError, match=said):
        torch.nn.Linear(2, 3)(torch.ones(4, 2, dtype=torch.float64))
    with pytest.raises(RuntimeError, match=said):
        torch.addmm(torch.ones(2), torch.ones(2, 2).double(), torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="self and mat2 must have the same dtype"):
        torch.addmm(torch.ones(2).double(), torch.ones(2, 2), torch.ones(2, 2))


@pytest.mark.parametrize("level", ["-O", "-OO"])
def test_without_docstrings(level):
    program = (
        "import rushlight as t; x = t.ones(2, requires_grad=True); (x * x).sum().backward();"
        "print(x.grad.tolist(), x.is_distributed(), x.dim_order())"
    )
    done = subprocess.run([sys.executable, level, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[2.0, 2.0] False (0,)\n", done.stderr
