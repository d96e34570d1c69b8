"""torch._higher_order_ops, torch._dynamo.eval_frame and names of torch._C that libraries use."""

import subprocess
import sys

import numpy as np
import pytest
from rushlight._higher_order_ops.associative_scan import associative_scan

import rushlight as torch
from rushlight import _C


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_is_the_cumulative_sum(count, reverse):
    x = torch.arange(float(3 * count)).reshape(3, count).t()  # not contiguous
    found = associative_scan(lambda a, b: a + b, x, 0, reverse=reverse, combine_mode="generic")
    step = -1 if reverse else 1
    wanted = np.cumsum(x.numpy()[::step], 0)[::step]
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_associative_scan_of_a_recurrence_and_its_gradient():
    """h = a h + b as pairs, along the last dimension, against the loop."""
    a = torch.rand(2, 7, requires_grad=True)
    b = torch.rand(2, 7, requires_grad=True)

    def after(p, q):
        return {"a": p["a"] * q["a"], "b": p["b"] * q["a"] + q["b"]}

    h, steps = torch.zeros(2), []
    for i in range(7):
        h = a[:, i] * h + b[:, i]
        steps.append(h)
    wanted = torch.stack(steps, 1)
    found = associative_scan(after, {"a": a, "b": b}, -1)["b"]
    torch.testing.assert_close(found, wanted)
    for f, w in zip(
        torch.autograd.grad(found.sin().sum(), (a, b)),
        torch.autograd.grad(wanted.sin().sum(), (a, b)),
        strict=True,
    ):
        torch.testing.assert_close(f, w)


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ((3, torch.ones(2), 0), ValueError, "Combine_fn must be a callable, but got 3"),
        ((max, torch.ones(2), 0, False, "x"), ValueError, "Combine_mode must either"),
        ((max, torch.ones(2), 3), IndexError, "Dimension out of range"),
        ((max, torch.ones(()), 0), ValueError, "All xs leaves must at least have 'dim'"),
        ((max, torch.ones(0), 0), ValueError, "All xs leaves must at least have 'dim'"),
    ],
)
def test_associative_scan_refuses(arguments, error, text):
    with pytest.raises(error, match=text):
        associative_scan(*arguments)


def test_names_of_the_compiler_are_found_without_an_import():
    program = "import rushlight as t; print(t._dynamo.eval_frame.OptimizedModule.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "OptimizedModule", done.stderr


def test_a_tensor_has_a_number_of_its_own():
    a, b = torch.ones(2), torch.ones(2)
    assert a._cdata == a._cdata and a._cdata != b._cdata
    p = torch.nn.Parameter(a)
    assert p._cdata == p._cdata != a._cdata


def test_the_tracer_s_classes_are_names_only():
    for kind in (_C.Graph, _C.Value):
        with pytest.raises(NotImplementedError):
            kind()
