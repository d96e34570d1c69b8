"""Functions of tensors whose sizes differ in two dimensions: the error is about the last one."""

import re

import pytest

import rushlight as torch

FUNCTIONS = [
    f"{place}{name}"
    for place, space in (("", "torch"), ("nn.functional.", "nn"), ("special.", "special"))
    for name in torch.ops.namespace(space).known()
    if name[0] != "_" and name[-1] != "_"
]
TOLD = re.compile(
    r"The size of tensor a \(\d\) must match the size of tensor b \(\d\) "
    r"at non-singleton dimension (\d)"
)


@pytest.mark.filterwarnings("ignore")
def test_the_last_dimension_that_differs_is_told():
    a, b = torch.ones(2, 3), torch.ones(4, 5)
    told = {}
    for name in FUNCTIONS:
        function = torch
        for part in name.split("."):
            function = getattr(function, part)
        for given in ((a, b), (a, b, a)):
            try:
                function(*given)
            except Exception as error:
                if found := TOLD.match(str(error)):
                    told[name, len(given)] = found[1]
    assert len(told) > 90
    assert {call: dimension for call, dimension in told.items() if dimension != "1"} == {}
