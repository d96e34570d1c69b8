"""Factorisations of matrices and solutions by them, on the accelerator: against NumPy, against what
defines them, and against the CPU in float64."""

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core, linalg

FLOATS = ["float32", "float64"]
LEADS = [(), (3,), (2, 3)]
NEAR = {"float32": 2e-5, "float64": 1e-11}


@pytest.fixture(autouse=True)
def _alone(refuse):
    """No call may go by way of the host."""


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def regular(*shape, seed=0):
    """Matrices far from singular ones, whose pivots are not on the diagonal."""
    n = shape[-1]
    return numbers(*shape, seed=seed) + 3 * np.eye(n)[np.arange(n) - 1]


def positive(*shape, seed=0):
    m = numbers(*shape, seed=seed)
    return m @ m.swapaxes(-1, -2) + np.eye(shape[-1])


def there(values, dtype="float64"):
    return torch.tensor(values).to(getattr(torch, dtype)).to("opencl")


def array(t):
    assert t.device.type == "opencl"
    return t.detach().cpu().double().numpy()


def near(have, want, dtype="float64", more=1):
    want = np.asarray(want, np.float64)
    bound = more * NEAR[dtype] * max(1, np.abs(want).max(initial=0))
    np.testing.assert_allclose(array(have), want, rtol=more * NEAR[dtype], atol=bound)


def columns_first(t):
    """Whether each matrix lies column after column, as LAPACK leaves it."""
    return t.mT.is_contiguous()


# ---- factorisations


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(lead, dtype, upper):
    a = positive(*lead, 6, 6)
    factor = linalg.cholesky(there(a, dtype), upper=upper)
    lower = np.linalg.cholesky(a)
    near(factor, lower.swapaxes(-1, -2) if upper else lower, dtype)
    assert columns_first(factor)


def test_cholesky_reads_one_triangle():
    a = positive(5, 5)
    near(linalg.cholesky(there(np.tril(a))), np.linalg.cholesky(a))
    near(linalg.cholesky(there(np.triu(a)), upper=True), np.linalg.cholesky(a).T)


def test_cholesky_that_fails():
    bad = positive(2, 4, 4)
    bad[1, 2, 2] = -1
    with pytest.raises(linalg.LinAlgError) as found:
        linalg.cholesky(there(bad))
    assert str(found.value).startswith(
        "linalg.cholesky: (Batch element 1): The factorization could not be completed because the "
        "input is not positive-definite (the leading minor of order 3 is not positive-definite)."
    )
    factor, info = linalg.cholesky_ex(there(bad))
    assert info.tolist() == [0, 3]
    near(factor[0], np.linalg.cholesky(bad[0]))
    two = np.linalg.cholesky(bad[1, :2, :2])
    near(factor[1, :2, :2], two)
    near(factor[1, 3:, 2:], np.tril(bad[1])[3:, 2:])  # as it was
    near(factor[1, 2, 2], bad[1, 2, 2] - (np.linalg.solve(two, bad[1, :2, 2]) ** 2).sum())


@pytest.mark.parametrize("order, value", [(1, np.nan), (3, np.inf)])
def test_cholesky_of_no_numbers(order, value):
    bad = np.eye(3)
    bad[order - 2 if order > 1 else 0, order - 2 if order > 1 else 0] = value
    assert linalg.cholesky_ex(there(bad))[1].item() == order


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("m, n", [(6, 6), (9, 4), (4, 7), (20, 20)])
def test_lu(lead, m, n, dtype):
    a = numbers(*lead, m, n)
    x = there(a, dtype)
    P, L, U = linalg.lu(x)
    near(P @ L @ U, a, dtype)
    assert np.abs(np.triu(array(L), 1)).max(initial=0) == 0 == np.abs(np.tril(array(U), -1)).max()
    assert np.abs(array(L)).max() == 1  # the pivot is the largest
    LU, pivots = linalg.lu_factor(x)
    assert columns_first(LU) and pivots.dtype is torch.int32
    k = min(m, n)
    near(LU[..., :k].tril(-1) + torch.eye(m, k, dtype=x.dtype, device="opencl"), array(L), dtype)
    cpu = linalg.lu_factor(torch.tensor(a))[1]
    assert pivots.tolist() == cpu.tolist()


def test_pivots_are_the_first_of_the_largest():
    x = there([[1.0, 2, 3], [-4, 1, 1], [4, 5, 6]])
    assert linalg.lu_factor(x)[1].tolist() == [2, 3, 3]
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\): U\[2,2\] is zero"):
        linalg.lu_factor(there([np.eye(3), [[1.0, 2, 3], [2, 4, 1], [0, 0, 1]]]))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("m, n", [(5, 5), (9, 4), (4, 7), (1, 3), (3, 1)])
def test_qr(lead, m, n, dtype):
    a = numbers(*lead, m, n)
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(there(a, dtype), mode)
        want = np.linalg.qr(a, mode)
        near(q, want[0], dtype)
        near(r, want[1], dtype)
        assert columns_first(q) and columns_first(r)
    none, r = linalg.qr(there(a, dtype), "r")
    near(r, np.linalg.qr(a, "r"), dtype)
    assert none.shape == (0,)


def test_reflections():
    a, other = numbers(2, 6, 3), numbers(2, 6, 4, seed=1)
    turned, tau = torch.geqrf(there(a))
    raw = [np.linalg.qr(m, "raw") for m in a]
    near(turned, [h.T for h, _ in raw])
    near(tau, [t for _, t in raw])
    near(linalg.householder_product(turned, tau), np.linalg.qr(a)[0])
    q = np.linalg.qr(a, "complete")[0]
    for transpose in (False, True):
        by = q.swapaxes(-1, -2) if transpose else q
        x, x_mt = there(other), there(other).mT
        near(torch.ormqr(turned, tau, x, True, transpose), by @ other)
        near(torch.ormqr(turned, tau, x_mt, False, transpose), other.swapaxes(-1, -2) @ by)


def test_reflections_of_zero_and_large_columns():
    a = numbers(4, 3)
    a[1:, 0] = 0
    near(linalg.qr(there(a))[1], np.linalg.qr(a)[1])
    near(torch.geqrf(there(a))[1][:1], [0])
    large = linalg.qr(there(a * 1e25, "float32"))[1]  # its squares are beyond float32
    near(large / 1e25, np.linalg.qr(a)[1], "float32")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_ldl(n, dtype):
    a = numbers(4, n, n, seed=n)
    a = a + a.swapaxes(-1, -2) - 2 * np.eye(n) * np.diagonal(a, 0, -2, -1)[:, None]
    a[1] += 3 * np.eye(n)  # blocks of one, the others of two
    b = numbers(4, n, 3, seed=1)
    if n > 1:
        cpu = linalg.ldl_factor(torch.tensor(a))
        LD, pivots = linalg.ldl_factor(there(np.tril(a), dtype))
        near(LD, cpu[0].numpy(), dtype, 10)
        assert pivots.tolist() == cpu[1].tolist() and columns_first(LD)
        assert n < 3 or {p < 0 for p in pivots.flatten().tolist()} == {True, False}
        x = linalg.ldl_solve(LD, pivots, there(b, dtype))
        near(x, np.linalg.solve(a, b), dtype, 100)
    else:
        LD, pivots, info = linalg.ldl_factor_ex(there(a, dtype))
        assert info.tolist() == [1, 0, 1, 1] and pivots.tolist() == [[1]] * 4


def test_ldl_that_fails():
    with pytest.raises(RuntimeError, match=r"ldl_factor: \(Batch element 1\): D\[2,2\] is zero"):
        linalg.ldl_factor(there([np.eye(2), np.diag([1.0, 0])]))


# ---- solutions


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular(dtype, upper, left, unit):
    a, b = regular(3, 1, 6, 6), numbers(2, 6, 6, seed=1)
    a += 4 * np.eye(6)
    triangle = np.triu(a) if upper else np.tril(a)
    if unit:
        triangle[..., np.arange(6), np.arange(6)] = 1
    x = linalg.solve_triangular(
        there(a, dtype), there(b, dtype), upper=upper, left=left, unitriangular=unit
    )
    back = triangle @ array(x) if left else array(x) @ triangle
    bound = NEAR[dtype] * np.abs(array(x)).max() * 10
    np.testing.assert_allclose(back, np.broadcast_to(b, back.shape), rtol=0, atol=bound)
    assert x.mT.is_contiguous() and x.shape == (3, 2, 6, 6)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("lead", LEADS)
def test_solve(lead, dtype):
    a, b = regular(*lead, 7, 7), numbers(*lead, 7, 3, seed=1)
    x = there(a, dtype)
    near(linalg.solve(x, there(b, dtype)), np.linalg.solve(a, b), dtype)
    near(linalg.solve(x.mT, there(b, dtype)), np.linalg.solve(a.swapaxes(-1, -2), b), dtype)
    turned = linalg.solve(x, there(b, dtype).mT, left=False)
    near(turned, np.linalg.solve(a.swapaxes(-1, -2), b).swapaxes(-1, -2), dtype)
    vector = linalg.solve(x, there(b[..., 0], dtype))
    near(vector, np.linalg.solve(a, b[..., :1])[..., 0], dtype)
    assert columns_first(linalg.solve(x, there(b, dtype)))
    near(linalg.inv(x), np.linalg.inv(a), dtype)
    LU, pivots = linalg.lu_factor(x)
    near(linalg.lu_solve(LU, pivots, there(b, dtype)), np.linalg.solve(a, b), dtype)


def test_solve_spreads_stacks():
    a, b = regular(2, 1, 4, 4), numbers(3, 4, 2, seed=1)
    near(linalg.solve(there(a), there(b)), np.linalg.solve(a, b))
    near(linalg.solve(there(a[0, 0]), there(b)), np.linalg.solve(a[0, 0], b))
    # stacks whose matrices do not lie one after another
    wide = there(np.repeat(a, 4, 1))[:, ::2, :, :]
    near(linalg.inv(wide), np.linalg.inv(np.repeat(a, 2, 1)))


def test_singular_matrices():
    bad = np.stack([np.eye(3), [[1.0, 2, 3], [2, 4, 6], [1, 1, 1]]])
    with pytest.raises(linalg.LinAlgError, match=r"linalg.inv: \(Batch element 1\): .*element 3 "):
        linalg.inv(there(bad))
    with pytest.raises(linalg.LinAlgError, match=r"linalg.solve: The solver failed"):
        linalg.solve(there(bad[1]), there(np.ones(3)))
    assert linalg.inv_ex(there(bad))[1].tolist() == [0, 3]
    assert linalg.solve_ex(there(bad), there(np.ones((3, 1))))[1].tolist() == [0, 3]
    with pytest.raises(linalg.LinAlgError, match="inv_ex"):
        linalg.inv_ex(there(bad), check_errors=True)
    assert linalg.det(there(bad)).tolist() == [1, 0]
    sign, size = torch.slogdet(there(bad))
    assert sign.tolist() == [1, 0] and size.tolist() == [0, -np.inf]


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_solve(upper):
    a, b = positive(2, 5, 5), numbers(3, 1, 5, 2, seed=1)
    factor = linalg.cholesky(there(a), upper=upper)
    near(torch.cholesky_solve(there(b), factor, upper), np.linalg.solve(a, b))
    near(torch.cholesky_inverse(factor, upper), np.linalg.inv(a))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("lead", LEADS)
def test_determinants(lead, dtype):
    a = numbers(*lead, 6, 6)
    near(linalg.det(there(a, dtype)), np.linalg.det(a), dtype, 10)
    for have, want in zip(linalg.slogdet(there(a, dtype)), np.linalg.slogdet(a), strict=True):
        near(have, want, dtype, 10)


# ---- functions of matrices


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("scale", [0.1, 1, 20])
def test_exponential(scale, dtype):
    a = numbers(3, 4, 4)
    a = scale * (a - a.swapaxes(-1, -2))  # the exponential is a rotation: of any scale
    values, vectors = np.linalg.eig(a)
    want = (vectors * np.exp(values)[:, None]) @ np.linalg.inv(vectors)
    have = linalg.matrix_exp(there(a, dtype))
    near(have, want.real, dtype, 20)
    assert have.is_contiguous()


def test_exponential_of_halves():
    a = numbers(3, 3) / 2
    for dtype, bound in (("float16", 2e-3), ("bfloat16", 2e-2)):
        x = there(a, dtype)
        want = linalg.matrix_exp(x.cpu().double()).numpy()
        have = linalg.matrix_exp(x)
        assert have.dtype is x.dtype
        np.testing.assert_allclose(array(have), want, atol=bound * np.abs(want).max())


def test_exponential_of_no_numbers():
    assert linalg.matrix_exp(there([[np.inf, 0], [0, 1]])).isnan().all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("m, n", [(6, 4), (4, 6), (5, 5)])
def test_singular_values(m, n, dtype):
    a = numbers(2, m, 3) @ numbers(3, n, seed=1)  # of rank 3
    x = there(a, dtype)
    near(linalg.pinv(x, rtol=1e-4), np.linalg.pinv(a, 1e-4), dtype, 20)
    assert linalg.matrix_rank(x, rtol=1e-4).tolist() == [3, 3]
    size = np.linalg.svd(a, compute_uv=False)[:, 1:2]
    bounds = there(size[:, 0] * 1.01, dtype)  # the second does not count
    assert linalg.matrix_rank(x, atol=bounds, rtol=0.0).tolist() == [1, 1]
    if m == n:
        both = a + a.swapaxes(-1, -2)
        lower = there(np.tril(both), dtype)
        want = np.linalg.pinv(both, 1e-4)
        near(linalg.pinv(lower, rtol=1e-4, hermitian=True), want, dtype, 100)
        rank = linalg.matrix_rank(lower, rtol=1e-4, hermitian=True).tolist()
        assert rank == [np.linalg.matrix_rank(b) for b in both]


def test_least_squares():
    a, b = numbers(7, 4), numbers(7, 2, seed=1)
    want = np.linalg.lstsq(a, b, rcond=None)
    have = linalg.lstsq(there(a), there(b), driver="gels")
    near(have.solution, want[0])
    near(have.residuals, want[1])
    have = linalg.lstsq(there(a), there(b), driver="gelsy")
    near(have.solution, want[0])
    assert have.rank.item() == 4 and have.singular_values.device.type == "opencl"


# ---- gradients, and what is empty or has many dimensions


GRADIENTS = {
    "inv": linalg.inv,
    "det": linalg.det,
    "slogdet": lambda a: linalg.slogdet(a)[1],
    "solve": lambda a: linalg.solve(a, a[..., :2] * 2),
    "lu": lambda a: linalg.lu(a)[1:],
    "qr": linalg.qr,
    "cholesky": lambda a: linalg.cholesky(a @ a.mT),
    "cholesky_solve": lambda a: torch.cholesky_solve(a, a + 6 * torch.eye(4).to(a)),
    "solve_triangular": lambda a: linalg.solve_triangular(a, a, upper=True),
    "matrix_exp": linalg.matrix_exp,
    "pinv": lambda a: linalg.pinv(a[..., :2]),
    "matrix_power": lambda a: linalg.matrix_power(a, -3),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    """First and second gradients, against the CPU's."""
    found = []
    for device in ("cpu", "opencl"):
        a = torch.tensor(regular(2, 4, 4)).to(device).requires_grad_()
        out = GRADIENTS[name](a)
        outs = [out] if isinstance(out, torch.Tensor) else list(out)
        weights = [torch.tensor(numbers(*o.shape, seed=5)).to(device) for o in outs]
        (first,) = torch.autograd.grad(outs, [a], weights, create_graph=True)
        (second,) = torch.autograd.grad([first], [a], [first.detach().cos()])
        found.append((first, second))
    for want, have in zip(*found, strict=True):
        near(have, want.detach().numpy(), more=100)


def test_empty():
    for lead in ((), (2,), (0,)):
        a = there(np.zeros((*lead, 0, 0)))
        assert linalg.inv(a).shape == linalg.cholesky(a).shape == (*lead, 0, 0)
        assert linalg.det(a).tolist() == np.ones(lead).tolist()
        assert linalg.solve(a, there(np.zeros((*lead, 0, 2)))).shape == (*lead, 0, 2)
        wide = there(np.zeros((*lead, 0, 3)))
        assert linalg.pinv(wide).shape == (*lead, 3, 0)
        assert linalg.matrix_rank(wide).tolist() == np.zeros(lead).tolist()
        assert [t.shape[-2:] for t in linalg.qr(wide.mT, "complete")] == [(3, 3), (3, 0)]
        assert linalg.lu_factor(wide)[0].shape == (*lead, 0, 3)
        assert linalg.matrix_exp(a).shape == (*lead, 0, 0)
    assert linalg.inv(there(np.zeros((0, 3, 3)))).shape == (0, 3, 3)


def test_too_many_dimensions():
    """By way of the host then, where that is allowed."""
    a = regular(2, 2, 2, 2, 2, 2, 2, 3, 3)
    x = there(a).permute(6, 5, 4, 3, 2, 1, 0, 7, 8)
    assert _core.accelerator_refuse_fallbacks(False)
    try:
        near(linalg.inv(x), np.linalg.inv(a.transpose(6, 5, 4, 3, 2, 1, 0, 7, 8)))
        positive = x @ x.mT
        same = positive.cpu()
        for op in (
            linalg.cholesky,
            torch.cholesky,
            torch.cholesky_inverse,
            lambda s: linalg.cholesky_ex(s, check_errors=True),
            lambda s: linalg.inv_ex(s, check_errors=True),
            lambda s: linalg.ldl_factor_ex(s, check_errors=True),
            linalg.ldl_factor,
            lambda s: linalg.ldl_solve(*linalg.ldl_factor(s), s),
            lambda s: linalg.lu_factor_ex(s, check_errors=True),
            linalg.lu_factor,
            lambda s: linalg.solve_ex(s, s, check_errors=True),
            lambda s: linalg.solve(s, s),
            lambda s: torch.lu_unpack(*linalg.lu_factor(s)),
        ):
            found, expected = op(positive), op(same)
            tensors = (lambda t: [t]) if isinstance(found, torch.Tensor) else list
            for t, want in zip(tensors(found), tensors(expected), strict=True):
                near(t, want.numpy())
        with pytest.raises(linalg.LinAlgError, match="not positive-definite"):
            linalg.cholesky(-positive)
        with pytest.raises(linalg.LinAlgError, match="singular"):
            linalg.inv(positive * 0)
    finally:
        _core.accelerator_refuse_fallbacks(True)


def test_wrong_arguments():
    """The CPU's errors, without a word about the device."""
    assert _core.accelerator_refuse_fallbacks(False)
    try:
        with pytest.raises(RuntimeError, match="must be batches of square matrices"):
            linalg.inv(there(np.ones((2, 3))))
        with pytest.raises(RuntimeError, match="Incompatible shapes of A and B"):
            linalg.solve(there(np.eye(2)), there(np.ones((3, 1))))
        with pytest.raises(
            RuntimeError, match=r"Low precision dtypes not supported|not implemented"
        ):
            linalg.inv(there(np.eye(2), "float16"))
        with pytest.raises(RuntimeError, match="pivots"):
            torch.lu_unpack(there(np.eye(2)), there([3, 1]).int())
    finally:
        _core.accelerator_refuse_fallbacks(True)
