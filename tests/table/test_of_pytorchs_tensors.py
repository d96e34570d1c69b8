"""Every op with tensors of PyTorch in the place of its samples: the same result."""

import warnings

import pytest
from cases import SAMPLED, calls, plain

import rushlight as rl

torch = pytest.importorskip("torch")


def public(name):
    places = (rl, rl.nn.functional, rl.linalg, rl.fft, rl.special)
    return next((getattr(p, name) for p in places if name in vars(p) and name[0] != "_"), None)


def result(call, function):
    """As text; the error's type where the samples are those of another op of this name."""
    try:
        return repr(plain(call.run(function)))
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("name", [n for n in SAMPLED if callable(public(n))])
def test_taken(name):
    for call in calls(name):
        with warnings.catch_warnings(action="ignore"):
            want = result(call, public(name))
            found = result(call.mapped(torch.from_dlpack), public(name))
        assert found == want
