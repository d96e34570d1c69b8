"""Functions of arrays at zeros, equal numbers, tiny and large ones and infinity, in all
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
from edges import Array, Function, Sweep
from edges_of_arrays import straight, sweep
from test_edges import NAMES as OF_ELEMENTS

import rushlight as torch

EXCEPTIONS = {
    "corrcoef": "of numbers that are all equal NaN, as in PyTorch",
}
# Of singular matrices their results are not defined or not unique.
FACTORS = ("qr", "eig", "svd", "lu", "chol", "solve", "least_squares", "inv", "nuc", "matrix_norm")
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


class Matrices(Sweep):
    """A function of symmetric matrices on a line through `base`."""

    def __init__(self, f: Function, base: Array) -> None:
        self.n = 1
        along = np.array([[1.0, 0.2, 0.5], [0.2, -1.0, 0.3], [0.5, 0.3, 0.4]])
        weights = torch.from_numpy(np.cos(np.arange(9) * 1.7))

        def one(t: Any) -> Any:
            flat = f(torch.from_numpy(base) + t * torch.from_numpy(along)).reshape(-1)
            return (flat * weights[: len(flat)]).sum()

        at = np.array([0, 1e-10, -1e-10, 1e-4, -1e-4, 2.2250738585072014e-308, 0.1, -0.1, 1])
        self._run(torch.func.vmap(one), [at], "float64")


def _exponential(a: Any) -> Any:
    values, vectors = torch.linalg.eigh(a)
    return vectors @ torch.diag_embed(values.exp()) @ vectors.mT


_FAR, _MEETING = (4.0, 6.0, 9.0), (4.0, 4.0, 9.0)
OF_SYMMETRIC = {
    "cholesky": (torch.linalg.cholesky, _FAR, _MEETING),
    "cholesky_ex": (lambda a: torch.linalg.cholesky_ex(a).L, _FAR, _MEETING),
    "cholesky_inverse": (lambda a: torch.cholesky_inverse(torch.linalg.cholesky(a)), _MEETING),
    "cholesky_solve": (lambda a: torch.cholesky_solve(a @ a, torch.linalg.cholesky(a)), _MEETING),
    "eigvalsh": (torch.linalg.eigvalsh, _FAR, _MEETING),
    "eigh": (_exponential, _FAR),
}


@pytest.mark.parametrize("name", OF_SYMMETRIC)
def test_edges_of_symmetric_matrices(name: str) -> None:
    f, *bases = OF_SYMMETRIC[name]
    for base in bases:
        sweep = Matrices(f, np.diag(base))
        found = [f"{way} at {sweep.at[0, 0, p]}: {why}" for way, p, why in sweep.refused()]
        if name == "eigvalsh" and base is _MEETING:
            # How the slopes of values that meet go apart is 0 / 0, in PyTorch too.
            found = [text for text in found if "," not in text.partition(" at ")[0]]
        assert not found, f"{len(found)} numbers are refused:\n" + "\n".join(found[:12])


def test_what_is_swept() -> None:
    """The filters above leave norms, products, losses, extremes and layers in."""
    swept = {"_vector_norm", "cdist", "prod", "cumprod", "scatter_reduce", "logsumexp", "std"}
    swept |= {"cross_entropy", "poisson_nll_loss", "binary_cross_entropy_with_logits", "glu"}
    swept |= {"amax", "median", "sort", "max_pool2d", "layer_norm", "cosine_similarity", "det"}
    assert swept <= set(NAMES)
