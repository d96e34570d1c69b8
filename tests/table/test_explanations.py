"""What a failed call is told about its arguments: nothing, where they are what the op takes.

A call that fails for another reason (shapes, values) keeps its error; only arguments of a wrong
type are explained. So the explanation of every op's samples must be None.
"""

import pytest
from cases import OPS, SAMPLED, calls

import rushlight as torch
from rushlight.ops.table import arguments as _arguments

# In torch these are methods whose sizes may stand alone, or functions that take them in a tuple.
SIZES_APART = {"expand", "sum_to_size", "flip", "repeat"}


def explained(name, call, method):
    function = getattr(torch.Tensor, f"{name}_") if method == "in place" else OPS[name].function
    return _arguments.explain(function, bool(method), call.args, call.kwargs, "")


@pytest.mark.parametrize("name", [name for name in SAMPLED if not name.startswith("_")])
def test_samples_need_none(name):
    forms = OPS[name].forms
    for call in calls(name):
        if name not in SIZES_APART:
            assert explained(name, call, "") is None
        if "method" in forms:
            assert explained(name, call, "method") is None
        if "in_place" in forms:
            assert explained(name, call, "in place") is None


def test_a_wrong_type_is_explained():
    x = torch.ones(2, 3)
    function = OPS["softmax"].function
    assert _arguments.explain(function, False, (x, "a"), {}, "") == (
        "softmax(): argument 'dim' (position 2) must be int, not str"
    )
