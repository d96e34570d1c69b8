"""Factors of all kinds of matrices, with the BLAS library and without it.

What is promised is multiplied out in float64. NumPy's own factors, to which an op turns where the
kernels decline, are shut off.
"""

from pathlib import Path

import numpy as np
import pytest

import rushlight as torch
from _alone import run_alone
from rushlight._base import outside

L = torch.linalg
TYPES = [np.float32, np.float64, np.complex64, np.complex128]
SIZES = [(1, 1), (2, 3), (3, 2), (9, 9), (33, 33), (40, 70), (70, 40)]
TINY = {4: 1e-30, 8: 1e-200}
HERE = Path(__file__).resolve()


def random(dtype, m, n, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((m, n))
    return (a + 1j * rng.standard_normal((m, n)) if np.dtype(dtype).kind == "c" else a).astype(
        dtype
    )


def low_rank(dtype, m, n, k):
    return random(dtype, m, k, 1) @ random(dtype, k, n, 2)


KINDS = {
    "random": random,
    "one": lambda t, m, n: low_rank(t, m, n, 1),
    "half": lambda t, m, n: low_rank(t, m, n, max(min(m, n) // 2, 1)),
    "zeros": lambda t, m, n: np.zeros((m, n)),
    "ones": lambda t, m, n: np.ones((m, n)),
    "unit": lambda t, m, n: np.eye(m, n),
    "lower": lambda t, m, n: np.tril(np.ones((m, n))),
    "defective": lambda t, m, n: np.eye(m, n) + np.eye(m, n, 1),
    "cycle": lambda t, m, n: np.roll(np.eye(m, n), 1, 0),
    "graded": lambda t, m, n: random(t, m, n) * 10.0 ** -np.linspace(0, 12, m)[:, None],
    "tiny": lambda t, m, n: random(t, m, n) * TINY[np.finfo(t).dtype.itemsize],
    "huge": lambda t, m, n: random(t, m, n) / TINY[np.finfo(t).dtype.itemsize],
}


class _Nothing:
    def __getattr__(self, name):
        raise AssertionError(f"the kernels declined, and NumPy's {name} was asked")


@pytest.fixture(autouse=True)
def kernels_alone(monkeypatch):
    assert outside.np.ndarray  # NumPy is there
    monkeypatch.setattr(outside.np, "linalg", _Nothing())


def wide(x):
    a = np.asarray(x.resolve_conj().numpy()) if isinstance(x, torch.Tensor) else x
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def adjoint(a):
    return a.conj().swapaxes(-1, -2)


def matrices(dtype, kind, square=False):
    """Tensors in several layouts, and their values."""
    for m, n in SIZES:
        if square and m != n:
            continue
        a = np.asarray(KINDS[kind](dtype, m, n)).astype(dtype)
        yield torch.from_numpy(a), wide(a)
        yield torch.from_numpy(np.repeat(np.repeat(a, 2, -1), 3, -2))[..., ::3, ::2], wide(a)
        yield torch.from_numpy(np.stack([a, a / 2])), wide(np.stack([a, a / 2]))


def near(got, wanted, scale, dtype, factor=60):
    """Whether the error is that of rounding numbers of some size."""
    bound = factor * np.finfo(dtype).eps * max(wanted.shape[-2:], default=1) * scale
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max(initial=0) <= bound


def unitary(q, dtype):
    near(
        adjoint(q) @ q,
        np.broadcast_to(np.eye(q.shape[-1]), adjoint(q).shape[:-1] + q.shape[-1:]),
        1,
        dtype,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TYPES)
def test_orthogonal_and_triangular_factors(dtype, kind):
    for t, a in matrices(dtype, kind):
        size = np.abs(a).max()
        for mode in ("reduced", "complete"):
            q, r = map(wide, L.qr(t, mode=mode))
            unitary(q, dtype)
            near(q @ r, a, size * a.shape[-1], dtype)
            assert np.array_equal(np.triu(r), r)
        if a[
            ..., 1:, 0
        ].any():  # LAPACK's sign: the diagonal is real, and has not that of what it replaces
            assert (
                not r[..., 0, 0].imag.any() and (r[..., 0, 0].real * a[..., 0, 0].real <= 0).all()
            )
        p, low, up = map(wide, L.lu(t))
        near(p @ low @ up, a, size * a.shape[-1], dtype)
        # Pivots are the largest by |re| + |im|, which is at most sqrt(2) times the absolute value.
        most = 1 if np.dtype(dtype).kind == "f" else 2**0.5
        assert np.abs(low).max() <= most * (1 + 9 * np.finfo(dtype).eps)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TYPES)
def test_singular_values(dtype, kind):
    for t, a in matrices(dtype, kind):
        size, k = np.abs(a).max(), min(a.shape[-2:])
        for full in (False, True):
            u, s, vh = map(wide, L.svd(t, full_matrices=full))
            unitary(u, dtype)
            unitary(adjoint(vh), dtype)
            near(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a, size * k, dtype)
            assert (s >= 0).all() and (np.diff(s) <= 0).all()
        near(wide(L.svdvals(t)), np.linalg.svd(a, compute_uv=False), size * k, dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TYPES)
def test_eigenvalues(dtype, kind):
    for t, a in matrices(dtype, kind, square=True):
        size, n = np.abs(a).max(), a.shape[-1]
        values, vectors = map(wide, L.eig(t))
        near(a @ vectors, vectors * values[..., None, :], size * n, dtype)
        near(np.linalg.norm(vectors, axis=-2), np.ones(values.shape), 1, dtype)
        near(wide(L.eigvals(t)).sum(-1), a.trace(axis1=-2, axis2=-1) + 0j, size * n**2, dtype)
        if np.dtype(dtype).kind == "f":
            pairs = values[values.imag != 0]
            assert np.array_equal(pairs[::2], pairs[1::2].conj()) and (pairs[::2].imag > 0).all()
            assert not vectors.swapaxes(-1, -2)[values.imag == 0].imag.any()
        half = (t + t.mH) / 2
        h = wide(half)
        for part in "LU":
            values, vectors = map(wide, L.eigh(half, UPLO=part))
            unitary(vectors, dtype)
            near(h @ vectors, vectors * values[..., None, :], size * n, dtype)
            assert (np.diff(values) >= 0).all()
            near(wide(L.eigvalsh(half, UPLO=part)), np.linalg.eigvalsh(h), size * n, dtype)


@pytest.mark.parametrize("kind", ("random", "cycle", "graded"))
@pytest.mark.parametrize("dtype", TYPES)
def test_systems(dtype, kind):
    for t, a in matrices(dtype, kind, square=True):
        b = torch.from_numpy(np.resize(random(dtype, a.shape[-1], 3, 5), (*a.shape[:-1], 3)))

        def solves(x, a=a, b=b):
            near(a @ wide(x), wide(b), np.abs(a).max() * np.abs(wide(x)).max() * 9, dtype, 300)

        solves(L.solve(t, b))
        lu, pivots = L.lu_factor(t)
        solves(L.lu_solve(lu, pivots, b))
        solves(L.lu_solve(lu, pivots, b, adjoint=True), adjoint(a))
        for hermitian in (False, True):
            half = t + (t.mH if hermitian else t.mT)
            factors, pivots, info = L.ldl_factor_ex(half, hermitian=hermitian)
            if not info.any():
                solves(L.ldl_solve(factors, pivots, b, hermitian=hermitian), wide(half))
        positive = t @ t.mH + torch.eye(a.shape[-1], dtype=t.dtype)
        for upper in (False, True):
            root = L.cholesky(positive, upper=upper)
            c = adjoint(wide(root)) if upper else wide(root)
            near(c @ adjoint(c), wide(positive), np.abs(wide(positive)).max(), dtype)
            assert np.array_equal(np.tril(c), c)
            solves(torch.cholesky_solve(b, root, upper=upper), wide(positive))
            solves(L.solve_triangular(root, b, upper=upper), wide(root))
            solves(
                L.solve_triangular(root, b.mT, upper=upper, left=False).mT,
                wide(root).swapaxes(-1, -2),
            )
            inverse = torch.cholesky_inverse(root, upper=upper)
            solves(inverse, wide(positive), torch.eye(a.shape[-1], dtype=t.dtype).expand(t.shape))


@pytest.mark.parametrize("kind", ("random", "one", "half", "zeros", "ones", "unit"))
@pytest.mark.parametrize("dtype", TYPES)
def test_least_squares(dtype, kind):
    for t, a in matrices(dtype, kind):
        b = np.resize(random(dtype, a.shape[-2], 2, 7), (*a.shape[:-1], 2))
        inverse = np.linalg.pinv(a, rcond=np.finfo(dtype).eps * max(a.shape[-2:]))
        spread = (np.abs(a).max() * np.abs(inverse).max() * a.shape[-1] + 1) ** 2
        for driver in ("gelsy", "gelsd", "gelss", "gels")[: 4 if kind == "random" else 3]:
            x, left, rank, _ = L.lstsq(t, torch.from_numpy(b), driver=driver)
            near(wide(x), inverse @ wide(b), spread * (1 + np.abs(inverse).max()), dtype)
            if driver != "gels":
                tolerance = np.finfo(dtype).eps * max(a.shape[-2:])
                assert np.array_equal(rank.numpy(), np.linalg.matrix_rank(a, rtol=tolerance))
            if left.numel():
                near(
                    wide(left),
                    (np.abs(a @ inverse @ wide(b) - wide(b)) ** 2).sum(-2),
                    spread,
                    dtype,
                )


def test_what_no_number_is_ends():
    """NaN and inf in the factors that look at no element first."""
    for value in (float("nan"), float("inf")):
        for n in (5, 40):
            for dtype in (torch.float32, torch.complex128):
                a = torch.full((n, n), value, dtype=dtype)
                one = torch.eye(n, dtype=dtype)
                one[n // 2, n // 3] = value
                for x in (a, one):
                    L.lu_factor_ex(x), L.cholesky_ex(x), L.qr(x)


def test_the_same_without_the_library():
    program = f"""
    import pytest
    import rushlight.ops.matrix.products  # names the library
    from rushlight._core import kernels

    kernels.set_blas_library("")
    files = [{str(HERE)!r}, {str(HERE.with_name("test_lapack.py"))!r}]
    found = pytest.main(["-q", "-p", "no:cacheprovider", "-k", "not without_the_library", *files])
    assert not kernels.blas_available()
    sys.exit(found)
    """
    run_alone(program)
