"""Gradients without a graph (fused kernels, traced programs) equal those with one (the rules).

`grad(create_graph=False)` takes the fast way of an op where it has one; `create_graph=True` always
runs the rule on tensors. Both must give the same numbers, whatever the memory layout and whichever
arguments want a gradient.
"""

from __future__ import annotations

import numpy as np
from cases import (
    DIFFERENTIABLE,
    LAYOUTS,
    Call,
    calls,
    each,
    noise,
    refused_strides,
    takes,
    tensor_of,
)

import rushlight as torch

TYPES = ("float32", "float64", "complex128")
CASES = [(n, d) for n in DIFFERENTIABLE for d in TYPES if takes(n, d)]

# Both ways round differently, and sums differ in their order.
RELATIVE = {"float32": 2e-5, "float64": 1e-12, "complex128": 1e-12}


def gradients(
    call: Call,
    needed: list[int],
    layout: str,
    weight_layout: str,
    create_graph: bool,
) -> list[torch.Tensor | None]:
    """Gradients by the tensors with the numbers `needed`, of outputs weighted at random."""
    tensors = call.tensors
    leaves = []
    for i in call.leaves:
        t = LAYOUTS[layout](tensors[i]) if layout else tensor_of(np.array(tensors[i]._array))
        tensors[i] = t.requires_grad_() if i in needed else t
        if i in needed:
            leaves.append(t)
    rng = np.random.default_rng(5)
    pairs = [(o, tensor_of(noise(o._array, rng))) for o in call.having(tensors).outputs()]
    outputs = [o for o, _ in pairs if o.requires_grad]
    if not outputs:
        return []
    weights = [w for o, w in pairs if o.requires_grad]
    if weight_layout:
        weights = [LAYOUTS[weight_layout](w) for w in weights]
    return list(
        torch.autograd.grad(outputs, leaves, weights, create_graph=create_graph, allow_unused=True)
    )


def assert_equal(found: list, expected: list, dtype: str, what: str) -> None:
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        if f is None or e is None:
            zero = e if f is None else f
            assert zero is None or not np.any(zero._array), f"{what}: one way gives no gradient"
            continue
        assert f._array.dtype == e._array.dtype, what
        scale = max(1.0, float(np.abs(e._array).max(initial=0.0)))
        np.testing.assert_allclose(
            f._array,
            e.detach()._array,
            rtol=RELATIVE[dtype],
            atol=RELATIVE[dtype] * scale,
            err_msg=what,
        )


@each(CASES)
def test_layouts(name: str, dtype: str) -> None:
    for call in calls(name, dtype):
        layouts = [("", ""), ("", "transposed"), ("", "expanded"), ("", "sliced")]
        for layout, weight in [*layouts, ("transposed", ""), ("sliced", "sliced")]:
            how = (call, call.leaves, layout, weight)
            what = (
                f"{call!r}, arguments {layout or 'contiguous'}, gradient {weight or 'contiguous'}"
            )
            try:
                found = gradients(*how, False)
            except RuntimeError as error:
                assert refused_strides(name, error), what
                continue
            assert_equal(found, gradients(*how, True), dtype, what)


@each(CASES)
def test_single_arguments(name: str, dtype: str) -> None:
    for call in calls(name, dtype):
        if len(call.leaves) < 2:
            continue
        every = gradients(call, call.leaves, "", "", True)
        for at, i in enumerate(call.leaves):
            what = f"{call!r}, only tensor {i} wanting a gradient"
            for create_graph in (False, True):
                alone = gradients(call, [i], "", "", create_graph)
                assert_equal(alone, every[at : at + 1] if alone else [], dtype, what)
