"""Numerical namespaces against NumPy and SciPy, and what their results promise: without PyTorch."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import scipy.special

import rushlight as torch

RNG = np.random.RandomState(5)
POSITIVE = np.concatenate([np.logspace(-12, 2.3, 400), np.linspace(0.05, 60, 600)])
SIGNED = np.linspace(-60, 60, 1201)
BESSEL = {
    "bessel_y0": (scipy.special.y0, POSITIVE),
    "bessel_y1": (scipy.special.y1, POSITIVE),
    "modified_bessel_i0": (scipy.special.i0, SIGNED),
    "modified_bessel_i1": (scipy.special.i1, SIGNED),
    "modified_bessel_k0": (scipy.special.k0, POSITIVE),
    "modified_bessel_k1": (scipy.special.k1, POSITIVE),
    "scaled_modified_bessel_k0": (scipy.special.k0e, POSITIVE),
    "scaled_modified_bessel_k1": (scipy.special.k1e, POSITIVE),
    "airy_ai": (lambda x: scipy.special.airy(x)[0], np.linspace(-60, 20, 1601)),
    "spherical_bessel_j0": (lambda x: np.sinc(x / np.pi), SIGNED),
}


@pytest.mark.parametrize("name", BESSEL)
def test_values_from_near_0_to_far_out(name: str) -> None:
    reference, x = BESSEL[name]
    found = getattr(torch.special, name)(torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, reference(x), rtol=1e-11, atol=2e-14)
    single = getattr(torch.special, name)(torch.tensor(x, dtype=torch.float32))
    assert single.dtype is torch.float32


INF, NAN = float("inf"), float("nan")
# By name: arguments and what is exact there.
EDGES = {
    "gammaln": (
        [0.0, -0.0, -1, -7, 1, 2, INF, -INF, NAN],
        [INF, INF, INF, INF, 0, 0, INF, INF, NAN],
    ),
    "digamma": ([0.0, -0.0, -1, -7, INF, -INF, NAN], [-INF, INF, NAN, NAN, INF, NAN, NAN]),
    "erf": ([0.0, 7, -7, INF, -INF, NAN], [0, 1, -1, 1, -1, NAN]),
    "erfc": ([0.0, 40, -7, INF, -INF, NAN], [1, 0, 2, 0, 2, NAN]),
    "erfcx": ([0.0, -30, INF, -INF, NAN], [1, INF, 0, INF, NAN]),
    "erfinv": ([0.0, 1, -1, 1.5, -2, NAN], [0, INF, -INF, NAN, NAN, NAN]),
    "ndtri": ([0.5, 0, 1, -0.1, 1.1, NAN], [0, -INF, INF, NAN, NAN, NAN]),
    "log_ndtr": ([INF, -INF, 50, NAN], [0, -INF, 0, NAN]),
    "i0": ([0.0, 800, -800, NAN], [1, INF, INF, NAN]),
    "i1": ([0.0, 800, -800, NAN], [0, INF, -INF, NAN]),
    "i0e": ([0.0, INF, -INF, NAN], [1, 0, 0, NAN]),
    "i1e": ([0.0, INF, NAN], [0, 0, NAN]),
    "bessel_j0": ([0.0, INF, NAN], [1, NAN, NAN]),
    "bessel_j1": ([0.0, INF, NAN], [0, NAN, NAN]),
    "bessel_y0": ([0.0, -1, NAN], [-INF, NAN, NAN]),
    "bessel_y1": ([0.0, -1, NAN], [-INF, NAN, NAN]),
    "modified_bessel_k0": ([0.0, -1, INF, NAN], [INF, NAN, 0, NAN]),
    "modified_bessel_k1": ([0.0, -1, INF, NAN], [INF, NAN, 0, NAN]),
    "airy_ai": ([200.0, INF, -INF, NAN], [0, NAN, NAN, NAN]),
    "spherical_bessel_j0": ([0.0, INF, -INF, NAN], [1, 0, 0, NAN]),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_edges_of_special_functions(name: str, dtype: Any) -> None:
    x, expected = EDGES[name]
    found = getattr(torch.special, name)(torch.tensor(x, dtype=dtype))
    np.testing.assert_array_equal(found.numpy(), np.array(expected, found.numpy().dtype))


def _spread(low: float, high: float) -> Any:
    return np.concatenate([np.linspace(low, high, 997), RNG.uniform(low, high, 300)])


# By name: SciPy's function, arguments, and how large the function is about its zeros.
CLOSE = {
    "gammaln": (scipy.special.gammaln, np.concatenate([POSITIVE, _spread(-9, 9)]), 1),
    "digamma": (scipy.special.digamma, np.concatenate([POSITIVE, _spread(0, 30)]), 1),
    "erf": (scipy.special.erf, _spread(-7, 7), 0),
    "erfc": (scipy.special.erfc, _spread(-7, 20), 0),
    "erfcx": (scipy.special.erfcx, _spread(-20, 60), 0),
    "erfinv": (scipy.special.erfinv, _spread(-0.999, 0.999), 0),
    "ndtri": (scipy.special.ndtri, np.concatenate([np.logspace(-300, -1), _spread(0.01, 0.99)]), 0),
    "log_ndtr": (scipy.special.log_ndtr, _spread(-60, 8), 0),
    "i0": (scipy.special.i0, _spread(-30, 700), 0),
    "i1e": (scipy.special.i1e, _spread(-300, 300), 0),
    "bessel_j0": (scipy.special.j0, _spread(-40, 40), 1),
    "bessel_j1": (scipy.special.j1, _spread(-40, 40), 1),
}


@pytest.mark.parametrize("name", CLOSE)
def test_special_functions_are_right_to_rounding(name: str) -> None:
    reference, x, size = CLOSE[name]
    expected = reference(x)
    found = getattr(torch.special, name)(torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, expected, rtol=5e-14, atol=5e-15 * size)
    single = x.astype(np.float32)
    expected = reference(single.astype(np.float64)).astype(np.float32)
    found = getattr(torch.special, name)(torch.tensor(single)).numpy()
    np.testing.assert_allclose(found, expected, rtol=2.5e-7, atol=1e-15)


def test_functions_of_two_arguments() -> None:
    a, x = RNG.uniform(0.01, 300, (2, 4000))
    x[:2000] = a[:2000] * RNG.uniform(0.6, 1.4, 2000)  # about the place where both are large
    for name, reference in (
        ("gammainc", scipy.special.gammainc),
        ("gammaincc", scipy.special.gammaincc),
    ):
        found = getattr(torch.special, name)(torch.tensor(a), torch.tensor(x)).numpy()
        np.testing.assert_allclose(found, reference(a, x), rtol=1e-11, atol=1e-14)
    s, q = RNG.uniform(1.05, 12, 500), RNG.uniform(0.01, 40, 500)
    found = torch.special.zeta(torch.tensor(s), torch.tensor(q)).numpy()
    np.testing.assert_allclose(found, scipy.special.zeta(s, q), rtol=1e-12)
    for n in (1, 2, 5):
        found = torch.special.polygamma(n, torch.tensor(q)).numpy()
        np.testing.assert_allclose(found, scipy.special.polygamma(n, q), rtol=1e-12)


@pytest.mark.parametrize("n", range(12))
def test_polynomials_of_low_degree(n: int) -> None:
    x = RNG.uniform(-1.5, 1.5, 200)
    for name, reference in (
        ("chebyshev_polynomial_t", scipy.special.eval_chebyt),
        ("chebyshev_polynomial_u", scipy.special.eval_chebyu),
        ("shifted_chebyshev_polynomial_t", scipy.special.eval_sh_chebyt),
        ("hermite_polynomial_h", scipy.special.eval_hermite),
        ("hermite_polynomial_he", scipy.special.eval_hermitenorm),
        ("laguerre_polynomial_l", scipy.special.eval_laguerre),
        ("legendre_polynomial_p", scipy.special.eval_legendre),
    ):
        found = getattr(torch.special, name)(torch.tensor(x), n).numpy()
        np.testing.assert_allclose(found, reference(n, x), rtol=1e-11, atol=1e-11)
        mixed = torch.tensor([n, 3] * 100)  # no degree that neighbours share
        found = getattr(torch.special, name)(torch.tensor(x), mixed).numpy()
        np.testing.assert_allclose(found, reference(mixed.numpy(), x), rtol=1e-11, atol=1e-11)


def test_polynomials_of_high_degree_end() -> None:
    x = torch.tensor([-0.9, 0.0, 0.3, 1.0], dtype=torch.float64)
    found = torch.special.chebyshev_polynomial_t(x, 1e12).numpy()
    assert (np.abs(found) <= 1).all() and found[3] == 1
    beyond = torch.special.legendre_polynomial_p(x, 10**9)  # it would take too many steps
    assert beyond[:3].isnan().all() and beyond[3] == 1
    assert torch.special.hermite_polynomial_h(x, 10**9).isnan().all()
    assert torch.special.laguerre_polynomial_l(x, float("nan")).tolist() == [0] * 4


def test_matrices_are_what_their_factors_say() -> None:
    a = RNG.randn(2, 70, 70)
    a = a + a.swapaxes(-1, -2)
    A, b = torch.tensor(a), torch.tensor(RNG.randn(70, 3))
    LD, pivots = torch.linalg.ldl_factor(A)
    assert (pivots < 0).any()  # an indefinite matrix needs blocks of two
    x = torch.linalg.ldl_solve(LD, pivots, b)
    np.testing.assert_allclose(a @ x.numpy(), np.broadcast_to(b, x.shape), atol=1e-9)
    P, L, U = torch.lu_unpack(*torch.linalg.lu_factor(A))
    np.testing.assert_allclose(P @ L @ U, a, atol=1e-12)
    h, tau = torch.geqrf(A)
    np.testing.assert_allclose(torch.orgqr(h, tau) @ h.triu(), a, atol=1e-12)
    np.testing.assert_allclose(torch.ormqr(h, tau, h.triu()), a, atol=1e-12)


@pytest.mark.parametrize("hermitian", [False, True])
def test_complex_ldl(hermitian: bool) -> None:
    a = RNG.randn(9, 9) + 1j * RNG.randn(9, 9)
    a = a + (a.conj() if hermitian else a).T
    b = RNG.randn(9, 2) + 0j
    LD, pivots, info = torch.linalg.ldl_factor_ex(torch.tensor(a), hermitian=hermitian)
    x = torch.linalg.ldl_solve(LD, pivots, torch.tensor(b), hermitian=hermitian)
    np.testing.assert_allclose(a @ x.numpy(), b, atol=1e-12)
    assert info.item() == 0


def test_failures_are_numbers_or_errors() -> None:
    bad = torch.stack([torch.eye(3), torch.tensor([[1.0, 2, 0], [2, 4, 0], [0, 0, 1]])])
    assert torch.linalg.inv_ex(bad).info.tolist() == [0, 2]
    assert torch.linalg.solve_ex(bad, torch.ones(2, 3)).info.tolist() == [0, 2]
    assert torch.linalg.lu_factor_ex(bad).info.tolist() == [0, 2]
    assert torch.linalg.cholesky_ex(-bad).info.tolist() == [1, 1]
    np.testing.assert_array_equal(torch.linalg.inv_ex(bad).inverse[0], np.eye(3))
    with pytest.raises(RuntimeError, match=r"lu_factor: \(Batch element 1\): U\[2,2\] is zero"):
        torch.linalg.lu_factor(bad)
    with pytest.raises(RuntimeError, match="pivots must be between 1 and 3"):
        torch.linalg.ldl_solve(bad[0], torch.tensor([1, 9, 1]), torch.ones(3, 1))


OUT = {
    "max": lambda a, out: torch.max(a, 0, out=out),
    "sort": lambda a, out: torch.sort(a, 0, out=out),
    "linalg_qr": lambda a, out: torch.linalg.qr(a, out=out),
    "linalg_lu_factor": lambda a, out: torch.linalg.lu_factor(a, out=out),
    "linalg_inv_ex": lambda a, out: torch.linalg.inv_ex(a, out=out),
    "geqrf": lambda a, out: torch.geqrf(a, out=out),
}


@pytest.mark.parametrize("name", OUT)
def test_out_gives_a_class_of_its_own(name: str) -> None:
    a = torch.tensor(RNG.randn(3, 3))
    plain = OUT[name](a, None)
    outs = tuple(torch.empty(0, dtype=t.dtype) for t in plain)
    found = OUT[name](a, outs)
    kind = getattr(torch.return_types, f"{name}_out")
    assert type(found) is kind and kind._fields == type(plain)._fields
    assert kind in torch.return_types.all_return_types
    assert all(f is o for f, o in zip(found, outs, strict=True))
    for f, p in zip(found, plain, strict=True):
        np.testing.assert_array_equal(f, p)


def test_out_of_functions_over_ops_is_refused_before_it_is_written() -> None:
    a, out = torch.eye(3), torch.zeros(2)
    with pytest.raises(RuntimeError, match="to be safely castable from Float dtype"):
        torch.linalg.cond(a, out=out.int())
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.linalg.eigvalsh(a.requires_grad_(), out=out)
    with pytest.raises(TypeError, match="must be tuple of Tensors, not Tensor"):
        torch.linalg.lu_factor(a.detach(), out=out)
    assert out.tolist() == [0, 0]
    with pytest.raises(TypeError):
        a.inner(a, out=out)  # methods have none


WINDOWS = {
    **{name: {} for name in "bartlett blackman cosine hamming hann nuttall".split()},
    "kaiser": {"beta": 5.0},
    "gaussian": {"std": 2.0},
    "exponential": {"tau": 3.0},
    "general_cosine": {"a": [0.5, 0.3, 0.2]},
    "general_hamming": {"alpha": 0.6},
}


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str, sym: bool) -> None:
    how: dict[str, Any] = WINDOWS[name]
    for M in (0, 1, 2, 7, 8):
        found = getattr(torch.signal.windows, name)(M, sym=sym, dtype=torch.float64, **how)
        expected = getattr(scipy.signal.windows, name)(M, sym=sym, **how)
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=f"{name} {M}")


def test_old_windows_are_those_of_scipy() -> None:
    for name, args in (("bartlett", ()), ("blackman", ()), ("kaiser", (4.0,))):
        for periodic in (True, False):
            f = getattr(torch, f"{name}_window")
            found = f(9, periodic, *args, dtype=torch.float64)
            expected = getattr(scipy.signal.windows, name)(9, *args, sym=not periodic)
            np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize("how", [{}, {"normalized": True}, {"onesided": False}])
def test_istft_undoes_stft(how: dict[str, bool]) -> None:
    x = torch.tensor(RNG.randn(2, 100), requires_grad=True)
    window = torch.hann_window(16, dtype=torch.float64)
    spectra = torch.stft(x, 16, 4, window=window, return_complex=True, **how)
    back = torch.istft(spectra, 16, 4, window=window, **how)
    np.testing.assert_allclose(back.detach(), x.detach(), atol=1e-12)
    (gradient,) = torch.autograd.grad(back.square().sum(), x)
    np.testing.assert_allclose(gradient, 2 * x.detach(), atol=1e-12)
    with pytest.raises(RuntimeError, match="window overlap add min"):
        torch.istft(spectra, 16, 4, window=window, center=False, **how)


def test_stft_under_vmap() -> None:
    x = torch.tensor(RNG.randn(3, 40))
    window = torch.ones(8, dtype=torch.float64)

    def f(row: torch.Tensor) -> torch.Tensor:
        return torch.stft(row, 8, window=window, return_complex=True)

    np.testing.assert_allclose(torch.vmap(f)(x), f(x))


@pytest.mark.parametrize("largest", [True, False])
def test_lobpcg(largest: bool) -> None:
    a, b = RNG.randn(20, 20), RNG.randn(20, 20)
    a, b = a + a.T, b @ b.T + 20 * np.eye(20)
    for B in (None, b):
        torch.manual_seed(0)
        A = torch.tensor(a, requires_grad=True)
        E, X = torch.lobpcg(
            A, 3, None if B is None else torch.tensor(B), largest=largest, tol=1e-12
        )
        values = scipy.linalg.eigh(a, B, eigvals_only=True)
        np.testing.assert_allclose(E.detach(), values[::-1][:3] if largest else values[:3])
        x = X.detach().numpy()
        left = a @ x - (x if B is None else b @ x) * E.detach().numpy()
        np.testing.assert_allclose(left, 0, atol=1e-9)
        E[0].backward()  # the value's slope is the outer product of its vector
        np.testing.assert_allclose(A.grad, np.outer(x[:, 0], x[:, 0]), atol=1e-9)
    seen = []
    torch.lobpcg(torch.tensor(a), 2, tracker=lambda worker: seen.append(worker.ivars["istep"]))
    assert seen == list(range(len(seen)))


def test_lowrank() -> None:
    a = RNG.randn(2, 9, 3) @ RNG.randn(2, 3, 12)
    torch.manual_seed(0)
    U, S, V = torch.svd_lowrank(torch.tensor(a), q=4)
    np.testing.assert_allclose(U @ S.diag_embed() @ V.mT, a, atol=1e-12)
    np.testing.assert_allclose(S[..., :3], np.linalg.svd(a)[1][..., :3])
    centred = a[0] - a[0].mean(0)
    U, S, V = torch.pca_lowrank(torch.tensor(a[0]), q=3)
    np.testing.assert_allclose(U @ torch.diag(S) @ V.mT, centred, atol=1e-12)


def test_statistics_of_nothing_much() -> None:
    assert torch.cov(torch.tensor(3.0)).isnan()
    assert torch.gradient(torch.tensor(1.0)) == ()
    hist, edges = torch.histogram(torch.tensor([]), 2)
    assert hist.tolist() == [0, 0] and edges.tolist() == [0, 0.5, 1]
    x = torch.arange(12.0).reshape(3, 4).T  # not contiguous
    np.testing.assert_allclose(torch.cov(x), np.cov(x))
    np.testing.assert_array_equal(torch.histogram(x, 4).hist, np.histogram(x, 4)[0])
    found = torch.unravel_index(torch.tensor([3, 7]), (3, 4))
    np.testing.assert_array_equal(found, np.unravel_index([3, 7], (3, 4)))


def test_segments_against_a_loop() -> None:
    a = RNG.randn(7, 2)
    lengths = [2, 0, 5]
    for how, f in (("sum", np.sum), ("max", np.max), ("prod", np.prod)):
        found = torch.segment_reduce(torch.tensor(a), how, lengths=torch.tensor(lengths), initial=2)
        parts = np.split(a, np.cumsum(lengths)[:-1])
        expected = [f(np.concatenate([np.full((1, 2), 2.0), part]), axis=0) for part in parts]
        np.testing.assert_allclose(found, expected)
