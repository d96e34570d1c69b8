"""On the accelerator too every op reads a bool as true where its byte is not 0."""

import numpy as np
import pytest
import sweep
from test_bytes_of_bools import FORMS, TRUE, bools, check, odd_calls, read

import rushlight as torch


def there(t):
    """The same bytes there: a bool that is moved itself may arrive as 0 or 1."""
    if t.dtype is not torch.bool:
        return sweep.there(t)
    return t.view(torch.uint8).to("opencl").view(torch.bool)


@pytest.mark.parametrize("name", sweep.cases.SAMPLED)
def test_op(name):
    for odd, even in odd_calls(name, "float32"):
        check(odd.mapped(there), even.mapped(there))


@pytest.mark.parametrize("form", FORMS)
def test_form(form):
    truth = np.random.default_rng(5).random((7, 131)) < 0.6
    found, expected = (there(bools(truth, true)) for true in (TRUE, np.ones(1, np.uint8)))
    assert found.view(torch.uint8).max() > 1
    with torch.device("opencl"):
        tensors = [sweep.tensors_in(sweep.plain(FORMS[form](b))) for b in (found, expected)]
    for f, e in zip(*tensors, strict=True):
        assert f.dtype is e.dtype
        np.testing.assert_array_equal(read(f), read(e), err_msg=form)
