"""Every op on the device meta: the shape, type and strides of the result on the CPU, and its
gradients', without values."""

from __future__ import annotations

import pytest
from cases import DIFFERENTIABLE, SAMPLED, Call, calls

import rushlight as torch

# What the shape of the result is a question of the values of the arguments, and what is said then.
BY_VALUE = {
    "bincount": "aten::bincount",
    "combinations": "aten::masked_select",
    "_least_squares": "aten::linalg_lstsq",
    "nonzero": "register_meta",
    "masked_select": "aten::masked_select",
}
NAMES = [name for name in SAMPLED if name not in BY_VALUE and any(c.tensors for c in calls(name))]


def on_meta(call: Call) -> Call:
    # As `to` would, were the strides dense: of a view those of the view.
    return call.mapped(
        lambda t: torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
    )


@pytest.mark.parametrize("name", NAMES)
def test_layout_of_results(name: str) -> None:
    for call in calls(name):
        expected = call.outputs()
        found = on_meta(call).outputs()
        assert [t.is_meta for t in found] == [True] * len(expected), f"{call!r}"
        for f, e in zip(found, expected, strict=True):
            assert (tuple(f.shape), f.dtype) == (tuple(e.shape), e.dtype), f"{call!r}"
            if e.is_contiguous():
                assert f.stride() == e.stride(), f"{call!r}"


# masked_select is part of its rule.
WITH_GRADIENT = [n for n in DIFFERENTIABLE if n in NAMES and n != "masked_scatter"]


@pytest.mark.parametrize("name", WITH_GRADIENT)
def test_layout_of_gradients(name: str) -> None:
    for call in calls(name):
        made = []
        for version in (call, on_meta(call)):
            leaves = [version.tensors[i].detach().requires_grad_() for i in version.leaves]
            outputs = [o for o in version.replaced(leaves).outputs() if o.requires_grad]
            weights = [torch.ones_like(o) for o in outputs]
            made.append(
                torch.autograd.grad(outputs, leaves, weights, allow_unused=True) if outputs else ()
            )
        expected, found = made
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            assert (f is None) == (e is None), f"{call!r}"
            if f is not None:
                assert f.is_meta, f"{call!r}"
                assert (tuple(f.shape), f.dtype) == (tuple(e.shape), e.dtype), f"{call!r}"


@pytest.mark.parametrize("name", sorted(BY_VALUE))
def test_shapes_that_depend_on_values(name: str) -> None:
    for call in calls(name):
        with pytest.raises(NotImplementedError, match=BY_VALUE[name]):
            on_meta(call).run()
