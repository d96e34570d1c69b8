"""Functions of arrays at zeros, equal numbers, tiny and large ones and minus infinity, in all
compositions of derivatives: see `edges_of_arrays.py` for what is refused.

The functions are the samples of the table that `test_edges.py` does not take.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cases import (
    COMPLEX_ONLY,
    DIFFERENTIABLE,
    OF_FACTOR,
    RANDOM,
    SYMMETRIC,
    Call,
    calls,
    tensors_in,
)
from edges import Function, Sweep
from edges_of_arrays import straight, sweep
from test_edges import NAMES as OF_ELEMENTS

import rushlight as torch

EXCEPTIONS = {
    "corrcoef": "of numbers that are all equal NaN, as in PyTorch",
}
# Of singular matrices their results are not defined or not unique.
FACTORS = ("qr", "eig", "svd", "lu", "chol", "solve", "least_squares", "inv", "nuc", "matrix_norm")
# A batch of them is computed one by one, or slowly; of `_attention` the public function is here.
SLOW = {"_segment_reduce", "embedding_bag", "_attention", "polar"}
SLOW |= {"_least_squares", "ormqr", "householder_product"}
ELSEWHERE = {"grid_sample"}  # below


def _calls(name: str) -> Iterator[Call]:
    """The samples, one for each way to call the op."""
    seen = set()
    for call in calls(name):
        rest = [a for a in call.args if not tensors_in(a)]
        key = repr((rest, {k: v for k, v in call.kwargs.items() if not tensors_in(v)}))
        sizes = [call.tensors[i].numel() for i in call.leaves]
        if key in seen or not sizes or not all(sizes):
            continue
        seen.add(key)
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            real = [t for t in _result(call) if t.dtype.is_floating_point]
            if any(t.requires_grad for t in real) and not straight(call):
                yield call


def _result(call: Call) -> list[Any]:
    return call.replaced([call.tensors[i].detach().requires_grad_() for i in call.leaves]).outputs()


_REST = (
    set(DIFFERENTIABLE)
    - set(OF_ELEMENTS)
    - (COMPLEX_ONLY | RANDOM | SYMMETRIC | OF_FACTOR)
    - SLOW
    - ELSEWHERE
)
NAMES = [
    n
    for n in DIFFERENTIABLE
    if n in _REST and not (n[0] == "_" and n[1:] in _REST) and any(_calls(n))
]


@pytest.mark.parametrize("name", NAMES)
def test_edges_of_arrays(name: str) -> None:
    few = any(word in name for word in FACTORS)
    found = [text for call in _calls(name) for text in sweep(call, few)]
    if name in EXCEPTIONS:
        assert found, f"{name} is no exception any more"
    else:
        assert not found, f"{len(found)} numbers are refused:\n" + "\n".join(found[:12])


class Ties(Sweep):
    """A function of x and y where a grid's points lie on its pixels' middles and borders."""

    def __init__(self, f: Function, n: int) -> None:
        self.n = n
        x = [0.1, -1.0, 1.0, -0.8, 0.8, -0.4, 0.4, 0.5, 0.0, 0.2, 1.2, -1.6, 2.0, -9.0]
        y = [0.3, -1.0, 0.8, 0.0, 1.2] if n == 2 else [0.3, -1.0]
        base = [np.array(a) for a in zip(*itertools.product(x, *[y] * (n - 1)), strict=True)]
        self._run(f, base, "float64")


@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    "mode, n", [("bilinear", 2), ("nearest", 2), ("bicubic", 2), ("bilinear", 3)]
)
def test_edges_of_grids(mode: str, n: int, padding: str, corners: bool) -> None:
    image = torch.from_numpy(np.random.default_rng(n).normal(size=(1, 1, *[5] * n)))

    def sample(*at: Any) -> Any:
        grid = torch.stack(at, -1).reshape(1, -1, *[1] * (n - 1), n)
        how = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        return torch.nn.functional.grid_sample(image, grid, **how).reshape(-1)

    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        ties = Ties(sample, n)
        found = [
            f"{name} at {[float(a[p]) for a in ties.base]}: {why}"
            for name, p, why in ties.refused()
        ]
    assert not found, f"{len(found)} numbers are refused:\n" + "\n".join(found[:12])


def test_what_is_swept() -> None:
    """The filters above leave norms, products, losses, extremes and layers in."""
    swept = {"_vector_norm", "cdist", "prod", "cumprod", "scatter_reduce", "logsumexp", "std"}
    swept |= {"cross_entropy", "poisson_nll_loss", "binary_cross_entropy_with_logits", "glu"}
    swept |= {"amax", "median", "sort", "max_pool2d", "layer_norm", "cosine_similarity", "det"}
    assert swept <= set(NAMES)
