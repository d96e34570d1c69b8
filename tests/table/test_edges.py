"""Every function of elements at 0, beside 0, at 1, far out and at infinity, in all compositions of
derivatives: see `edges.py` for what is refused, `test_reported_edges.py` for cases of these kinds.

The functions are found by calling the samples of the table: those whose results have one element
for each of the arguments' elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cases import COMPLEX_ONLY, DIFFERENTIABLE, RANDOM, REFUSALS, Call, calls, tensors_in
from edges import sweep

import rushlight as torch
from rushlight.ops import OPS

_GATE = (
    "a kernel multiplies infinity by a gate of 0, as PyTorch's does: a guard costs every element"
)
_JUMP = "it jumps there, and PyTorch's derivative is that of one side"

# Of the functions of the table with all their overloads.
EXCEPTIONS = {
    "gelu": _GATE,
    "silu": _GATE,
    "mish": _GATE,
    "hardswish": _GATE,
    "softsign": "inf / inf: it is a quotient of ops that a program sees",
    "tanhshrink": "the difference of two ops that a program sees",
    "kl_div": "with log_target a sum whose terms cancel, of ops that a program sees",
    "clamp": "between equal bounds the gradient goes to the input, as in PyTorch",
    "remainder": _JUMP + ", with a tiny divisor everywhere",
    "fmod": _JUMP + ", with a tiny divisor everywhere",
    "kept_and_scaled": "infinity times 0, which is NaN, as in PyTorch",
    "nextafter": "steps, with PyTorch's derivative 1",
    "nan_to_num": "infinity is replaced by a constant",
    "nan_to_within": "the same",
    "frexp": _JUMP + ": infinity has an exponent of its own",
    "frac": "of infinity NaN, as in PyTorch",
    "lgamma": "near a pole the logarithm is nowhere near infinity",
    "mvlgamma": "a sum of lgamma",
    "sinc": "the sine of infinity",
    "soft_margin_loss": "an infinite target is no class",
}


def elementwise(call: Call) -> tuple[Callable[..., Any], int] | None:
    """(the function of the leaves alone, their number) if the result has an element for each."""
    leaves = call.leaves
    if not 1 <= len(leaves) <= 3:
        return None

    def function(*given: Any) -> Any:
        tensors, n = list(call.tensors), len(given[0])
        for i, t in enumerate(tensors):
            first = np.resize(t._array, 1)[0]
            tensors[i] = torch.from_numpy(np.full(n, first)) if i not in leaves else None
        for i, t in zip(leaves, given, strict=True):
            tensors[i] = t
        result = call.having(tensors).run()
        return result[0] if isinstance(result, tuple) else result

    def values(arrays: list[np.ndarray]) -> np.ndarray:
        return function(*[torch.from_numpy(a.copy()) for a in arrays])._array

    spread = np.linspace(0.9, 1.1, 7)
    arrays = [np.resize(call.tensors[i]._array.reshape(-1), 7) * spread for i in leaves]
    turned = np.array([3, 5, 1, 0, 6, 2, 4])
    try:
        found = values(arrays)
        if found.shape != (7,) or found.dtype != np.float64:
            return None
        for places in (turned, turned[:4]):
            if not np.allclose(values([a[places] for a in arrays]), found[places], 1e-12):
                return None
        values([np.array([-1.0, 0, np.inf])] * len(leaves))  # probabilities only are refused
        given = [torch.from_numpy(a) for a in arrays]
        for i in range(len(given)):  # what only lends its shape is no argument of the function
            leaf = given[i].detach().requires_grad_()
            if not function(*given[:i], leaf, *given[i + 1 :]).requires_grad:
                return None
    except (*REFUSALS, IndexError):
        return None
    return function, len(leaves)


def cases(name: str) -> Iterator[tuple[Callable[..., Any], int]]:
    """The functions of elements among the samples: one for each way to call it."""
    seen = set()
    for call in calls(name):
        found = elementwise(call)
        rest = [a for a in call.args if not tensors_in(a)]
        named = {k: v for k, v in call.kwargs.items() if not tensors_in(v)}
        key = (found and found[1], repr(rest), repr(named))
        if found and key not in seen:
            seen.add(key)
            yield found


def _public(name: str) -> str:
    entry = OPS[name]
    return (entry.variant_of or name).lstrip("_")


NAMES = [
    n for n in DIFFERENTIABLE if n not in COMPLEX_ONLY | RANDOM and any(True for _ in cases(n))
]


@pytest.mark.parametrize("name", NAMES)
def test_edges(name: str) -> None:
    found = [text for f, n in cases(name) for text in sweep(f, n)]
    excepted = next((e for e in EXCEPTIONS if e == _public(name)), None)
    if excepted is None:
        assert not found, f"{len(found)} numbers are refused:\n" + "\n".join(found[:12])
    elif name == excepted:
        assert found, f"{name} is no exception any more"
