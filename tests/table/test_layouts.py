"""Every op gives the same result for any memory layout of its arguments, empty and 0-d included."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from cases import (
    LAYOUTS,
    NO_DERIVATIVE,
    OPS,
    RANDOM,
    READ_STRIDES,
    SAMPLED,
    Call,
    calls,
    each,
    refused_strides,
    tensor_of,
    tensors_in,
)

import rushlight as torch

NAMES = [name for name in SAMPLED if name not in READ_STRIDES | RANDOM]
CASES = [(name, layout) for name in NAMES for layout in LAYOUTS]
# masked_fill takes a 0-dimensional value only, so its arguments cannot all be given one shape.
POINTWISE = [n for n in SAMPLED if OPS[n].kind == "pointwise" and n != "masked_fill"]


def assert_same(found: list[torch.Tensor], expected: list[torch.Tensor], what: str) -> None:
    assert len(found) == len(expected), what
    for f, e in zip(found, expected, strict=True):
        assert f.dtype == e.dtype and f.shape == e.shape, what
        # The order in which a kernel adds may follow the layout.
        kind = e._array.dtype.kind
        rtol = 1e-12 if kind in "fc" else 0
        np.testing.assert_allclose(f._array, e._array, rtol=rtol, atol=rtol, err_msg=what)


@each(CASES)
def test_result(name: str, layout: str) -> None:
    for call in calls(name):
        laid = call.mapped(LAYOUTS[layout])
        try:
            expected = laid.copied().outputs()
        except RuntimeError as error:
            # A matrix with equal rows is singular.
            assert layout == "expanded" and "inalg" in str(error)
            continue
        try:
            found = laid.outputs()
        except RuntimeError as error:
            assert refused_strides(name, error), f"{call!r}, {layout}: {error}"
            continue
        assert_same(found, expected, f"{call!r}, {layout}")


@pytest.mark.parametrize("name", NAMES)
def test_mixed_layouts(name: str) -> None:
    """One argument at a time in another layout."""
    for call in calls(name):
        n = len(call.tensors)
        for i in range(n if n > 1 else 0):
            tensors = call.copied().tensors
            tensors[i] = LAYOUTS["transposed" if tensors[i].ndim > 1 else "sliced"](tensors[i])
            laid = call.having(tensors)
            what = f"{call!r}, tensor {i}"
            try:
                found = laid.outputs()
            except RuntimeError as error:
                assert refused_strides(name, error), f"{what}: {error}"
                continue
            assert_same(found, laid.copied().outputs(), what)


def reshaped(call: Call, shape: tuple[int, ...]) -> Call:
    def one(t: torch.Tensor) -> torch.Tensor:
        flat = t._array.reshape(-1)
        size = int(np.prod(shape))
        return tensor_of(np.resize(flat, shape) if size else np.zeros(shape, flat.dtype))

    return call.mapped(one)


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_of_empty_and_scalar(name: str) -> None:
    """Elementwise functions keep an empty or 0-d shape, and their gradients do."""
    for call, shape in product(calls(name), [(0,), (2, 0, 3), ()]):
        small = reshaped(call, shape)
        for out in small.outputs():
            assert out.shape == shape, f"{small!r}"
        leaves = [t.detach().requires_grad_() for t in (small.tensors[i] for i in small.leaves)]
        outputs = [o for o in small.replaced(leaves).outputs() if o.requires_grad]
        if not outputs or name in NO_DERIVATIVE:
            continue
        weights = [torch.ones_like(o) for o in outputs]
        for g in torch.autograd.grad(outputs, leaves, weights, allow_unused=True):
            assert g is None or g.shape == shape, f"{small!r}"


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_large_equals_small(name: str) -> None:
    """A tensor beyond a kernel's block and vector length has the numbers of its parts."""
    for call in calls(name)[:1]:
        n = 2 * 4096 + 5
        large = reshaped(call, (n,))
        whole = large.outputs()
        last = large.mapped(lambda t: tensor_of(t._array[-7:].copy())).outputs()
        for w, part in zip(whole, last, strict=True):
            np.testing.assert_allclose(w._array[-7:], part._array, rtol=1e-13, atol=1e-15)


def test_layouts_are_what_they_say() -> None:
    t = tensor_of(np.arange(6.0).reshape(2, 3))
    assert LAYOUTS["transposed"](t).stride() == (1, 2)
    assert LAYOUTS["sliced"](t).stride() == (14, 2)
    assert LAYOUTS["expanded"](t).stride() == (0, 1)
    assert len(tensors_in(([t, t], {"a": t}))) == 3
