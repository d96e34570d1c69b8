"""Kernels that make a tensor of a shape that was given to them refuse sizes below 0."""

import pytest

import rushlight as torch
from rushlight import _core

GIVEN = {
    "select_backward": ((-3,), 0, 0),
    "slice_backward": ((-3,), 0, None, None, 1),
    "diagonal_backward": ((-3, -3), 0, 0, 1),
    "spread": ((-3, 3), (0,), False),
    "mean_backward": ((-3, 3), (0,), False),
}


@pytest.mark.parametrize("name", GIVEN)
def test_sizes_below_0_are_refused(name):
    with pytest.raises(RuntimeError, match="Trying to create tensor with negative dimension -3"):
        getattr(_core.kernels, name)(torch.ones(3), *GIVEN[name])
