"""References of factorisations, by SciPy's LAPACK; see `references.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

Array = np.ndarray


def each(f: Callable[..., Any], dims: tuple[int, ...] = (2,)) -> Callable[..., Any]:
    """f of single matrices, over stacks; dims: of each array that is one element's."""

    def run(*args: Array, **how: Any) -> Any:
        count = len(dims)
        arrays, rest = args[:count], args[count:]
        lead = arrays[0].shape[: arrays[0].ndim - dims[0]]
        if not lead:
            return f(*arrays, *rest, **how)
        found = [
            f(*[a[i] if a.ndim > n else a for a, n in zip(arrays, dims, strict=True)], *rest, **how)
            for i in range(lead[0])
        ]
        if isinstance(found[0], tuple):
            return tuple(np.stack(part) for part in zip(*found, strict=True))
        return np.stack(found)

    return run


def routine(name: str, a: Array) -> Callable[..., Any]:
    return getattr(lapack, ("z" if a.dtype.kind == "c" else "d") + name)


def ldl(a: Array, *, hermitian: bool = False) -> tuple[Array, Array, Array]:
    name = "hetrf" if hermitian and a.dtype.kind == "c" else "sytrf"
    found, pivots, info = routine(name, a)(a, lower=1)
    return np.tril(found), pivots, np.array(info)


def reflections(a: Array, tau: Array) -> Array:
    """The product of all, as one square matrix."""
    out = np.eye(len(a), dtype=a.dtype)
    for i, t in enumerate(tau):
        v = np.concatenate([np.zeros(i), [1], a[i + 1 :, i]])
        out = out @ (np.eye(len(a)) - t * np.outer(v, v.conj()))
    return out


def ormqr(a: Array, tau: Array, c: Array, left: bool = True, transpose: bool = False) -> Array:
    q = reflections(a, tau)
    q = q.conj().T if transpose else q
    return q @ c if left else c @ q


def solve_ex(a: Array, b: Array, *, left: bool = True) -> tuple[Array, Array]:
    vector = b.ndim == a.ndim - 1
    x = b[..., None] if vector else b
    found = np.linalg.solve(a, x) if left else x @ np.linalg.inv(a)
    return (found[..., 0] if vector else found), np.zeros(a.shape[:-2])


def unpacked(lu: Array, pivots: Array) -> tuple[Array, Array, Array]:
    m, k = len(lu), min(lu.shape)
    rows = list(range(m))
    for i, p in enumerate(pivots):
        rows[i], rows[p - 1] = rows[p - 1], rows[i]
    lower = np.tril(lu[:, :k], -1) + np.eye(m, k)
    return np.eye(m)[rows].T, lower, np.triu(lu[:k])


def lu_factor(a: Array) -> tuple[Array, Array, Array]:
    found, pivots, info = routine("getrf", a)(a)
    return found, pivots + 1, np.array(info)


def lu_solve(
    lu: Array, pivots: Array, b: Array, *, left: bool = True, adjoint: bool = False
) -> Array:
    p, lower, upper = unpacked(lu, pivots)
    a = p @ lower @ upper
    a = a.conj().T if adjoint else a
    return np.linalg.solve(a, b) if left else b @ np.linalg.inv(a)


def cholesky_inverse(factor: Array, upper: bool = False) -> Array:
    t = factor.conj().swapaxes(-1, -2)
    return np.linalg.inv(t @ factor if upper else factor @ t)


def ldl_solve(ld: Array, pivots: Array, b: Array) -> Array:
    """For pivots that exchange each row with the last of three."""
    a = np.tril(ld, -1) + np.eye(3)
    p = np.eye(3)
    for k, pivot in enumerate(pivots):
        step = np.eye(3)
        step[[k, pivot - 1]] = step[[pivot - 1, k]]
        column = np.eye(3, dtype=ld.dtype)
        column[k + 1 :, k] = a[k + 1 :, k]
        p = p @ step @ column
    return np.linalg.solve(p @ np.diag(np.diag(ld)) @ p.T, b)


LINALG: dict[str, Callable[..., Any]] = {
    "inv_ex": lambda a: (np.linalg.inv(a), np.zeros(a.shape[:-2])),
    "solve_ex": solve_ex,
    "cholesky_ex": lambda a: (np.linalg.cholesky(a), np.zeros(a.shape[:-2])),
    "lu": each(scipy.linalg.lu),
    "lu_factor": each(lambda a: lu_factor(a)[:2]),
    "lu_factor_ex": each(lu_factor),
    "lu_solve": lu_solve,
    "cholesky_inverse": cholesky_inverse,
    "lu_unpack": each(unpacked, (2, 1)),
    "ldl_factor_ex": each(ldl),
    "ldl_factor": each(lambda a: ldl(a)[:2]),
    "ldl_solve": ldl_solve,
    "geqrf": each(lambda a: routine("geqrf", a)(a)[:2]),
    "householder_product": each(lambda a, tau: reflections(a, tau)[:, : a.shape[1]], (2, 1)),
    "ormqr": each(ormqr, (2, 1, 2)),
    "frobenius_norm": lambda a, dim: np.linalg.norm(a, axis=dim),
    "nuclear_norm": lambda a: np.linalg.norm(a, "nuc"),
}
