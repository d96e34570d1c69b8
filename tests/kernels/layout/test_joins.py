"""Tensors of several types joined, and the pieces of a joined tensor's gradient."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight._core import kernels

SHAPES = ((2, 3), (1, 3))


def test_pieces_are_views_of_the_gradient() -> None:
    g = torch.arange(9.0).reshape(3, 3)
    first, second = kernels.cat_backward(g, 0, SHAPES)
    np.testing.assert_array_equal(first.numpy(), np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(second.numpy(), [[6, 7, 8]])
    assert first.data_ptr() == g.data_ptr()


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_a_gradient_that_is_too_small_is_not_read(rows: int) -> None:
    assert kernels.cat_backward(torch.ones(rows, 3), 0, SHAPES) is NotImplemented


def test_a_hook_that_empties_the_gradient_is_told() -> None:
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(1, 3, requires_grad=True)
    joined = torch.cat([x, y])
    joined.register_hook(lambda g: setattr(g, "data", torch.ones(0, 3)))
    with pytest.raises(RuntimeError, match="CatBackward0 returned an invalid gradient"):
        joined.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("count", [2, 3, 20])
def test_tensors_of_several_types_are_joined_in_their_common_one(count: int) -> None:
    kinds = [torch.uint8, torch.int32, torch.float16, torch.bool, torch.bfloat16][:count] * 4
    rows = [torch.arange(6).reshape(3, 2).T.to(kind) for kind in kinds[:count]]
    common = {2: torch.int32, 3: torch.float16}.get(count, torch.float32)
    expected = [row.tolist() for row in rows]
    for joined in (kernels.stack(rows, 1), kernels.cat([r.unsqueeze(1) for r in rows], 1)):
        assert joined.dtype is common and joined.shape == (2, count, 3)
        assert joined.transpose(0, 1).tolist() == expected
    empty = torch.cat([torch.ones(0), torch.tensor([[1, 2]])])
    assert empty.dtype is torch.float32 and empty.tolist() == [[1, 2]]
    assert (
        torch.cat([torch.ones(1).to("meta"), torch.ones(1).double().to("meta")]).dtype
        is torch.float64
    )
