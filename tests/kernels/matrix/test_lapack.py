"""Factorisations of stacks of matrices: small ones in the lanes of registers, and those of LAPACK.

What a factorisation promises is multiplied out in float64, or computed by NumPy.
"""

import numpy as np
import pytest
from plain import definition, on_threads

import rushlight as torch
from rushlight import _core

plain = definition("small")
kernels = _core.kernels

TYPES = [np.float32, np.float64, np.complex64, np.complex128]
# Around the sizes of registers, the largest small matrix, and stacks that end within a register.
SIZES = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 32, 33)
STACKS = ((), (1,), (3,), (4,), (17,), (2, 33), (0,))


def made(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else a).astype(dtype)


def array(x):
    return np.asarray(x.resolve_conj().numpy()) if isinstance(x, torch.Tensor) else np.asarray(x)


def turned(a):
    return a.conj().swapaxes(-1, -2)


def near(got, wanted, dtype, factor=100):
    got, wanted = array(got), array(wanted)
    assert got.shape == wanted.shape
    if wanted.size:
        bound = (
            factor
            * np.finfo(dtype).eps
            * (1 + np.abs(wanted).max())
            * (1 + max(wanted.shape, default=0))
        )
        assert np.abs(got - wanted).max() <= bound


def laid_out(a):
    """The same matrices by rows, by columns, and with steps between the elements."""
    t = torch.from_numpy
    yield t(np.ascontiguousarray(a))
    yield t(np.ascontiguousarray(a.swapaxes(-1, -2))).mT
    yield t(np.ascontiguousarray(np.repeat(np.repeat(a, 2, -1), 3, -2)))[..., ::3, ::2]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", TYPES)
def test_systems(dtype, n):
    for stack in STACKS:
        a = made(dtype, *stack, n, n) / n + 2 * np.eye(n, dtype=dtype)
        a = a.astype(dtype)
        b = made(dtype, *stack, n, 3, seed=1)
        spd = (a @ turned(a)).astype(dtype)
        factor = np.linalg.cholesky(spd)
        for x, y in zip(laid_out(a), laid_out(b), strict=True):
            near(torch.linalg.solve(x, y), np.linalg.solve(a, b), dtype)
            near(torch.linalg.inv(x), np.linalg.inv(a), dtype)
            near(torch.linalg.det(x) / 2**n, np.linalg.det(a) / 2**n, dtype)
            for upper in (False, True):
                part = np.triu(a) if upper else np.tril(a)
                near(
                    torch.linalg.solve_triangular(x, y, upper=upper),
                    np.linalg.solve(part, b),
                    dtype,
                )
        for s, c in zip(laid_out(spd), laid_out(factor), strict=True):
            near(torch.linalg.cholesky(s), factor, dtype)
            near(torch.linalg.cholesky(s, upper=True), turned(factor), dtype)
            near(torch.cholesky_solve(torch.from_numpy(b), c), np.linalg.solve(spd, b), dtype)
            near(torch.cholesky_inverse(c), np.linalg.inv(spd), dtype)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", TYPES)
def test_factors(dtype, n):
    for stack in STACKS:
        for m, k in ((n, n), (n + 2, n), (n, n + 3)):
            a = made(dtype, *stack, m, k)
            for x in laid_out(a):
                p, low, up = torch.linalg.lu(x)
                near(array(p) @ array(low) @ array(up), a, dtype)
                q, r = (array(t) for t in torch.linalg.qr(x))
                near(q @ r, a, dtype)
                near(
                    turned(q) @ q,
                    np.broadcast_to(np.eye(min(m, k)), (*stack, *[min(m, k)] * 2)),
                    dtype,
                )
                u, s, vh = (array(t) for t in torch.linalg.svd(x, full_matrices=False))
                near((u * s[..., None, :]) @ vh, a, dtype)
                near(turned(u) @ u, turned(q) @ q, dtype)
                assert (np.diff(s) <= 0).all()
                near(torch.linalg.svdvals(x), s, dtype)
        h = made(dtype, *stack, n, n)
        h = h + turned(h)
        for x in laid_out(h):
            values, vectors = (array(t) for t in torch.linalg.eigh(x))
            near((vectors * values[..., None, :]) @ turned(vectors), h, dtype)
            assert (np.diff(values) >= 0).all()
            near(torch.linalg.eigvalsh(x), values, dtype)


@pytest.mark.parametrize("dtype", TYPES[:2])
def test_against_the_plain_definitions(dtype):
    for m, n in ((1, 1), (5, 5), (16, 16), (7, 4), (3, 9)):
        a = made(dtype, 19, m, n)
        a[3] = 0
        a[5, :, 0] = 0
        found, pivots, info = (
            array(t) for t in kernels.lu_factor_ex(torch.from_numpy(a), True, False)
        )
        packed, tau = (array(t) for t in kernels.geqrf(torch.from_numpy(a)))
        for i in range(19):
            wanted, rows, zero = plain.lu(a[i])
            assert (info[i], list(pivots[i])) == (zero, rows)
            near(found[i], wanted, dtype)
            q = plain.reflected(packed[i], tau[i])
            near(q @ np.triu(packed[i]), a[i], dtype)


@pytest.mark.parametrize("n", (8, 32))
def test_matrices_that_lanes_leave_alone(n):
    a = made(np.float32, 20, n, n)
    a[1] *= np.float32(1e-30)
    a[2] *= np.float32(1e25)
    a[3] = 0
    a[4, :, 1] = a[4, :, 0]  # of rank n - 1
    a[5] = np.eye(n)
    a[6, 2:] = 0
    x = torch.from_numpy(a)
    u, s, vh = (array(t).astype(np.float64) for t in torch.linalg.svd(x))
    q, r = (array(t).astype(np.float64) for t in torch.linalg.qr(x))
    h = torch.from_numpy(a + a.swapaxes(-1, -2))
    values, vectors = (array(t).astype(np.float64) for t in torch.linalg.eigh(h))
    for i in range(20):
        scale = max(float(np.abs(a[i]).max()), 1e-40)
        near((u[i] * s[i]) @ vh[i] / scale, a[i] / scale, np.float32)
        near(q[i] @ r[i] / scale, a[i] / scale, np.float32)
        near((vectors[i] * values[i]) @ vectors[i].T / scale, array(h)[i] / scale, np.float32)
        for square in (u[i].T @ u[i], vh[i] @ vh[i].T, q[i].T @ q[i], vectors[i].T @ vectors[i]):
            near(square, np.eye(n), np.float32)


@pytest.mark.parametrize("n", (4, 20))
def test_refusals(n):
    eye = torch.eye(n)
    wrong = torch.zeros(n, dtype=torch.int32)
    assert kernels.lu_solve(eye, wrong, eye, True, False) is NotImplemented
    assert kernels.lu_solve(eye, wrong + n + 1, eye, True, False) is NotImplemented
    for pivots in ([-1] * (n - 1) + [1], [1] * (n - 1) + [-1], [0] * n, [n + 1] * n):
        given = torch.tensor(pivots, dtype=torch.int32)
        assert kernels.ldl_solve(eye, given, eye, False) is NotImplemented
    assert kernels.pivot_matrix(wrong, n) is NotImplemented
    bad = eye.clone()
    bad[1, 1] = 0
    assert kernels.inverse(bad) is NotImplemented
    assert kernels.solve(bad, eye, True) is NotImplemented
    assert kernels.cholesky(bad, False) is NotImplemented
    bad[1, 1] = float("nan")
    for kernel in (kernels.eig, kernels.svdvals, kernels.cholesky_inverse):
        if kernel is not kernels.cholesky_inverse:
            assert kernel(bad) is NotImplemented
    assert kernels.eigh(bad, "L") is NotImplemented
    factor, info = kernels.cholesky_ex(bad, False, False)
    assert info == 2
    assert factor[0, 0] == 1


def test_threads_find_the_same():
    a = torch.from_numpy(made(np.float64, 500, 12, 12))
    found = on_threads(lambda: [array(torch.linalg.inv(a)), *map(array, torch.linalg.svd(a))])
    for other in found[1:]:
        assert all(np.array_equal(x, y) for x, y in zip(found[0], other, strict=True))


# Around the blocks of reflections.
BLOCKS = [(33, 33), (40, 65), (64, 64), (65, 40), (96, 96), (97, 33), (150, 130), (1, 40), (40, 1)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("m", "n"), BLOCKS)
def test_reflections_go_in_blocks(dtype, m, n):
    a = made(dtype, 2, m, n)
    for mode in ("reduced", "complete"):
        q, r = map(array, torch.linalg.qr(torch.from_numpy(a), mode=mode))
        near(q @ r, a, dtype)
        near(
            turned(q) @ q,
            np.broadcast_to(np.eye(q.shape[-1], dtype=dtype), (2, *q.shape[-1:] * 2)),
            dtype,
        )
        assert not np.tril(r, -1).any()
    h, tau = torch.geqrf(torch.from_numpy(a))
    for k in {1, min(m, n) // 2 or 1} if m >= n else ():
        wanted = np.broadcast_to(np.eye(m, dtype=dtype), (2, m, m))
        for i in reversed(range(k)):
            v = array(h)[:, :, i : i + 1].copy()
            v[:, :i], v[:, i] = 0, 1
            wanted = wanted - array(tau)[:, i, None, None] * v @ (turned(v) @ wanted)
        found = torch.linalg.householder_product(h, tau[:, :k].contiguous())
        near(found, wanted[:, :, :n], dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("m", "n"), [(1, 1), (5, 3), (33, 33), (65, 40), (150, 70)])
def test_least_squares(dtype, m, n):
    a, b = made(dtype, m, n), made(dtype, m, 3, seed=1)
    found = torch.linalg.lstsq(torch.from_numpy(a), torch.from_numpy(b))
    near(turned(a) @ (a @ array(found.solution) - b), np.zeros((n, 3), dtype), dtype, 1e4)
    assert found.rank == n
    a[:, -1] = a[:, 0] if n > 1 else 0  # no longer of full rank: the shortest solution
    found = torch.linalg.lstsq(torch.from_numpy(a), torch.from_numpy(b))
    assert found.rank == n - 1
    near(found.solution, np.linalg.pinv(a.astype("D"), rcond=1e-5) @ b, dtype, 1e5)
