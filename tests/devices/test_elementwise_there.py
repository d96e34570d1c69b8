"""Special functions and other elementwise ops on the accelerator: against SciPy, NumPy, the CPU."""

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core

pytestmark = [
    pytest.mark.usefixtures("refuse"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
scipy_special = pytest.importorskip("scipy.special")
special, nn = torch.special, torch.nn.functional
NAN, INF = float("nan"), float("inf")


def numbers(low, high, *shape, seed=0):
    return np.random.default_rng(seed).uniform(low, high, shape)


def there(values, dtype=torch.float64, grad=False):
    return torch.tensor(np.asarray(values)).to(dtype).to("opencl").requires_grad_(grad)


def near(found, expected, rtol=1e-12, atol=1e-300):
    """A tensor on the accelerator has these numbers."""
    assert found.device.type == "opencl"
    have = found.detach().cpu().double().numpy()
    np.testing.assert_allclose(have, expected, rtol=rtol, atol=atol)


def like_the_cpu(f, *tensors, rtol=1e-12, atol=1e-14):
    """What f gives on the accelerator is what it gives on the CPU: numbers, type, layout."""
    want, have = (f(*of) for of in (tensors, [t.to("opencl") for t in tensors]))
    pairs = [(want, have)] if isinstance(want, torch.Tensor) else zip(want, have, strict=True)
    for w, h in pairs:
        assert (h.device.type, h.dtype, h.shape) == ("opencl", w.dtype, w.shape)
        assert h.stride() == w.stride()
        if w.dtype.is_floating_point:
            near(h, w.detach().double().numpy(), rtol, atol)
        else:
            np.testing.assert_array_equal(h.cpu().numpy(), w.numpy())


# ---- special functions, against SciPy

WIDE = np.concatenate([numbers(-30, 30, 200), numbers(-2, 2, 100), [0.0, 1.0, -1.0, 25.0, 26.0]])
ABOVE = np.concatenate([numbers(0, 40, 200), 10.0 ** numbers(-8, 0, 50), [1e-3, 2.0, 25.0]])
# By name: SciPy's, the arguments, and how near the results are to be, to the largest of them.
OF_ONE = {
    "i0": (scipy_special.i0, WIDE, 1e-13),
    "i0e": (scipy_special.i0e, WIDE, 1e-13),
    "i1": (scipy_special.i1, WIDE, 1e-13),
    "i1e": (scipy_special.i1e, WIDE, 1e-13),
    "modified_bessel_i0": (scipy_special.i0, WIDE, 1e-13),
    "modified_bessel_i1": (scipy_special.i1, WIDE, 1e-13),
    "bessel_j0": (scipy_special.j0, WIDE, 1e-13),
    "bessel_j1": (scipy_special.j1, WIDE, 1e-13),
    "bessel_y0": (scipy_special.y0, ABOVE, 1e-13),
    "bessel_y1": (scipy_special.y1, ABOVE, 1e-12),
    "modified_bessel_k0": (scipy_special.k0, ABOVE, 1e-12),
    "modified_bessel_k1": (scipy_special.k1, ABOVE, 1e-12),
    "scaled_modified_bessel_k0": (scipy_special.k0e, ABOVE, 1e-12),
    "scaled_modified_bessel_k1": (scipy_special.k1e, ABOVE, 1e-12),
    "airy_ai": (lambda x: scipy_special.airy(x)[0], numbers(-40, 20, 200), 1e-12),
    "spherical_bessel_j0": (lambda x: scipy_special.spherical_jn(0, x), WIDE, 1e-13),
    "erfcx": (scipy_special.erfcx, numbers(-20, 60, 200), 1e-12),
    "log_ndtr": (scipy_special.log_ndtr, WIDE, 1e-12),
    "ndtri": (scipy_special.ndtri, np.concatenate([numbers(0, 1, 99), [1e-300, 0, 1]]), 1e-12),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_one(name):
    of_scipy, x, rtol = OF_ONE[name]
    expected = of_scipy(x)
    # Where it crosses 0 the result is as near as the type of its largest values allows.
    f, scale = getattr(special, name), np.abs(expected[np.isfinite(expected)]).max()
    near(f(there(x)), expected, rtol, 2e-14 * min(scale, 1))
    # In float32 all but the last rounding is done in float64.
    single = x.astype(np.float32)
    expected = of_scipy(single.astype(float)).astype(np.float32)
    near(f(there(single, torch.float32)), expected, 2e-7, 1e-7)


@pytest.mark.parametrize("name", OF_ONE)
def test_ends(name):
    ends = torch.tensor([0.0, -0.0, NAN, INF, -INF, -1.0, 1e300, -1e300, 1.0, 2.0, 1e-300])
    like_the_cpu(getattr(special, name), ends.double())


@pytest.mark.parametrize("order", [1, 2, 3, 7])
def test_polygamma(order):
    x = np.concatenate([numbers(-9, 9, 100), numbers(9, 1000, 20)])
    below = x < 0
    expected = np.empty_like(x)
    expected[~below] = scipy_special.polygamma(order, x[~below])
    # Upwards by the recurrence until above 0.
    steps, up = np.zeros(below.sum()), x[below]
    factor = (-1.0) ** order * scipy_special.factorial(order)
    while (up < 0).any():
        steps += np.where(up < 0, factor / up ** (order + 1), 0)
        up = np.where(up < 0, up + 1, up)
    expected[below] = scipy_special.polygamma(order, up) - steps
    near(torch.polygamma(order, there(x)), expected, 1e-10)
    near(torch.polygamma(order, there(x[~below], torch.float32)), expected[~below], 1e-4)


def test_gradients_of_lgamma():
    x = numbers(0.2, 9, 30)
    leaf = there(x, grad=True)
    (first,) = torch.autograd.grad(torch.lgamma(leaf).sum(), leaf, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), leaf, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), leaf)
    near(first, scipy_special.digamma(x), 1e-10)
    near(second, scipy_special.polygamma(1, x), 1e-12)
    near(third, scipy_special.polygamma(2, x), 1e-12)


def test_zeta():
    s, q = numbers(1.1, 30, 20, 1), numbers(0.01, 50, 30)
    near(special.zeta(there(s), there(q)), scipy_special.zeta(s, q), 1e-12)
    near(special.zeta(2.5, there(q)), scipy_special.zeta(2.5, q), 1e-12)
    near(special.zeta(there(s), 3), scipy_special.zeta(s, 3), 1e-12)
    # Below 0: zeta(s, q) is q ** -s and zeta(s, q + 1).
    q = there([-0.5, -3.25, -7.75])
    near(special.zeta(4, q) - special.zeta(4, q + 1), q.cpu().numpy() ** -4.0, 1e-12, 1e-12)
    near(special.zeta(there([1.0, 2.0, 0.5, 3.0]), there([2, -1, 1, INF])), [INF, INF, NAN, 0])
    like_the_cpu(special.zeta, torch.tensor([[1.0], [2.5], [0.5], [NAN]]), torch.tensor([-1.5, 0]))


def test_incomplete_gamma():
    a = np.concatenate([numbers(0.01, 30, 30), [1e-10, 1000.0, 1e5]])[:, None]
    x = np.concatenate([numbers(0.01, 50, 30), [1e-3, 990.0, 1e5]])
    near(torch.igamma(there(a), there(x)), scipy_special.gammainc(a, x), 1e-9, 1e-14)
    near(torch.igammac(there(a), there(x)), scipy_special.gammaincc(a, x), 1e-9, 1e-14)
    # Small a and x, where 1 minus the lower function would have no digits.
    near(torch.igammac(there([1e-12]), there([0.5])), scipy_special.exp1(0.5) * 1e-12, 1e-10)
    ends = torch.tensor([0.0, 1.0, NAN, INF, -1.0])
    like_the_cpu(torch.igamma, ends[:, None], ends)
    like_the_cpu(torch.igammac, ends[:, None], ends)


def test_mvlgamma():
    x = numbers(2, 9, 4, 5)
    near(torch.mvlgamma(there(x), 3), scipy_special.multigammaln(x.ravel(), 3).reshape(4, 5))
    leaf = there(x, grad=True)
    torch.mvlgamma(leaf, 2).sum().backward()
    near(leaf.grad, scipy_special.digamma(x) + scipy_special.digamma(x - 0.5), 1e-10)
    like_the_cpu(lambda t: torch.mvlgamma(t, 2), torch.tensor([3, 4]), rtol=1e-6)


def test_derivatives_of_random_numbers():
    alpha, x = numbers(0.3, 9, 6, 1), numbers(0.1, 9, 5)

    # The share of numbers below x stays the same: minus its derivative by alpha, over the density.
    def by_differences(share, density, alpha, step=1e-5):
        return -(share(alpha + step) - share(alpha - step)) / (2 * step) / density

    density = x ** (alpha - 1) * np.exp(-x) / scipy_special.gamma(alpha)
    expected = by_differences(lambda a: scipy_special.gammainc(a, x), density, alpha)
    near(torch._standard_gamma_grad(there(alpha), there(x)), expected, 1e-6)
    alpha, beta, x = numbers(0.5, 4, 6, 1), 2.5, numbers(0.1, 0.9, 5)
    density = x ** (alpha - 1) * (1 - x) ** (beta - 1) / scipy_special.beta(alpha, beta)
    expected = by_differences(lambda a: scipy_special.betainc(a, beta, x), density, alpha) / (1 - x)
    found = torch._dirichlet_grad(there(x), there(alpha), there(alpha + beta))
    near(found, expected, 1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves(dtype):
    x = torch.tensor(numbers(0.1, 9, 40)).to(dtype)
    wide = x.double().numpy()
    step = 2.0**-11 if dtype is torch.float16 else 2.0**-8
    near(special.i1e(x.to("opencl")), scipy_special.i1e(wide), step, 2.0**-24)
    near(torch.polygamma(1, x.to("opencl")), scipy_special.polygamma(1, wide), step, 2.0**-24)
    like_the_cpu(lambda t: torch.round(t, decimals=1), x)
    like_the_cpu(torch.frexp, x)


LAYOUTS = {
    "turned": lambda t: t.transpose(0, 2),
    "steps": lambda t: t[::2, 1:, ::3],
    "spread": lambda t: t[:, :1].expand(-1, 5, -1),
    "one": lambda t: t[1, 2, 3],
    "none": lambda t: t[:0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    x, laid = torch.tensor(numbers(0.1, 0.9, 4, 5, 6)), LAYOUTS[layout]
    functions = [special.i0e, special.ndtri, torch.isreal, torch.angle, torch.frexp, torch.digamma]
    functions += [
        lambda t: special.zeta(t + 1, t),
        lambda t: special.laguerre_polynomial_l(t, 3),
        lambda t: torch.softmax(t, -1, dtype=torch.float32),
        lambda t: torch.mvlgamma(t + 2, 3),
        lambda t: torch.polygamma(2, t),
        lambda t: torch.round(t, decimals=2),
        lambda t: torch.igamma(t, t * 2),
    ]
    if laid(x).dim() and laid(x).numel():
        functions += [
            lambda t: torch.hash_tensor(t, 1),
            lambda t: torch.cdist(t, t + 1, 1.5),
            lambda t: torch.cdist(t, t[:1] + 1),
            lambda t: torch.cdist(t[0], t),
            lambda t: torch.renorm(t, 2, 1, 1),
            lambda t: torch.dist(t, t + 1, 3),
        ]
    for f in functions:
        like_the_cpu(lambda t, f=f: f(laid(t)), x, rtol=1e-6)


# ---- polynomials

POLYNOMIALS = {
    "chebyshev_polynomial_t": np.polynomial.chebyshev.chebval,
    "hermite_polynomial_h": np.polynomial.hermite.hermval,
    "hermite_polynomial_he": np.polynomial.hermite_e.hermeval,
    "laguerre_polynomial_l": np.polynomial.laguerre.lagval,
    "legendre_polynomial_p": np.polynomial.legendre.legval,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    f = getattr(special, name)
    x = np.concatenate([numbers(-1, 1, 20), numbers(-3, 3, 10), [1.0, -1.0, 0.0]])
    for degree in (0, 1, 2, 5, 9, 14):
        expected = POLYNOMIALS[name](x, [0] * degree + [1])
        near(f(there(x), degree), expected, 1e-9, 1e-9 * np.abs(expected).max())
        single = np.abs(expected).max()
        near(f(there(x, torch.float32), degree), expected, 1e-4, 1e-5 * single)
    degrees = torch.tensor([[0.0], [3.7], [-2.0], [NAN], [40.0]])
    like_the_cpu(f, torch.tensor(x), degrees.double(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", "tuvw")
def test_kinds_of_chebyshev(kind):
    f = getattr(special, f"chebyshev_polynomial_{kind}")
    angle = numbers(0.1, 3, 12)
    x, n = np.cos(angle), np.arange(12.0)[:, None]
    expected = {
        "t": np.cos(n * angle),
        "u": np.sin((n + 1) * angle) / np.sin(angle),
        "v": np.cos((n + 0.5) * angle) / np.cos(angle / 2),
        "w": np.sin((n + 0.5) * angle) / np.sin(angle / 2),
    }[kind]
    near(f(there(x), there(n)), expected, 1e-9, 1e-10)
    shifted = getattr(special, f"shifted_chebyshev_polynomial_{kind}")
    near(shifted(there((x + 1) / 2), there(n)), expected, 1e-9, 1e-10)
    near(shifted(0.25, there([3])), f(there([-0.5]), 3).cpu().numpy())


def test_too_many_steps():
    found = special.hermite_polynomial_he(there([0.0, 0.5]), there([200_000.0, 3.0]))
    assert found.isnan().tolist() == [True, False]


# ---- other elementwise ops


def test_numbers_taken_apart():
    x = np.array([8.0, -0.75, 0.0, 1e-310, 1e300, INF, -INF, NAN])
    mantissa, exponent = torch.frexp(there(x))
    expected = np.frexp(x)
    near(mantissa, expected[0])
    assert exponent.dtype is torch.int32
    np.testing.assert_array_equal(exponent.cpu().numpy()[:5], expected[1][:5])


def test_decimals():
    x = numbers(-500, 500, 50)
    for decimals in (-2, -1, 0, 1, 3):
        near(torch.round(there(x), decimals=decimals), np.round(x, decimals), 1e-15, 1e-15)


def test_angles_and_conjugates():
    x = np.array([-2.0, -0.0, 0.0, 3.0, NAN, -INF])
    near(torch.angle(there(x)), [np.pi, 0, 0, 0, NAN, np.pi])
    near(torch.angle(there([-1, 1], torch.int64)), [np.pi, 0], 1e-7)
    assert torch.isreal(there(x)).tolist() == [True] * 6
    near(torch.conj_physical(there(x)), x)
    numbers_there = there([1.5, 2.5])
    assert torch.conj_physical(numbers_there) is numbers_there


def test_closeness():
    a = np.array([1.0, 1.0, NAN, INF, INF, 0.0])
    b = np.array([1.0 + 1e-6, 1.1, NAN, INF, 1.0, 1e-9])
    for equal_nan in (False, True):
        found = torch.isclose(there(a), there(b), equal_nan=equal_nan)
        assert found.tolist() == np.isclose(a, b, equal_nan=equal_nan).tolist()
    large = there([2**62 + 1, 5], torch.int64)  # float64 does not tell them apart
    assert torch.isclose(large, large - 1, rtol=0, atol=0).tolist() == [False, False]
    assert torch.isclose(there([[1.0], [2.0]]), there([1.0, 2.0])).tolist() == [
        [True, False],
        [False, True],
    ]


def test_gates():
    x = numbers(-3, 3, 3, 8)
    near(nn.glu(there(x)), x[:, :4] / (1 + np.exp(-x[:, 4:])), 1e-12)
    near(nn.gelu(there(x), approximate="none"), x * scipy_special.ndtr(x), 1e-12)
    leaf = there(x, grad=True)
    nn.glu(leaf, 1).sum().backward()
    gate = 1 / (1 + np.exp(-x[:, 4:]))
    near(leaf.grad, np.concatenate([gate, x[:, :4] * gate * (1 - gate)], 1), 1e-12)


def test_softmax_in_another_type():
    x = numbers(-3, 3, 3, 8).astype(np.float32)
    e = np.exp(x.astype(float))
    found = torch.softmax(there(x, torch.float32), 1, dtype=torch.float64)
    near(found, e / e.sum(1, keepdims=True), 1e-13)
    logs = torch.log_softmax(there(np.arange(5), torch.int64), 0, dtype=torch.float32)
    near(logs, np.arange(5) - np.log(np.exp(np.arange(5.0)).sum()), 1e-6, 1e-6)
    leaf = there(x, torch.float32, grad=True)
    torch.softmax(leaf, 1, dtype=torch.float64)[:, 0].sum().backward()
    assert leaf.grad.dtype is torch.float32
    p = e / e.sum(1, keepdims=True)
    near(leaf.grad, p[:, :1] * ((np.arange(8) == 0) - p), 1e-5, 1e-7)


def test_fake_quantization():
    x = np.array([[1.3, -1.0, NAN], [200.0, 0.25, 2.6]])
    levels = np.clip(np.nan_to_num(np.rint(x / 0.5), nan=-99) + 3, 0, 15)
    leaf = there(x, torch.float32, grad=True)
    found = torch.fake_quantize_per_tensor_affine(leaf, 0.5, 3, 0, 15)
    near(found, (levels - 3) * 0.5, 1e-7)
    found.sum().backward()
    near(leaf.grad, [[1, 1, 0], [0, 1, 1]])
    scale, zero = torch.tensor([0.5, 0.25]), torch.tensor([0, 3], dtype=torch.int32)
    for dtype in (torch.float32, torch.float16):
        like_the_cpu(
            lambda t, s, z: torch.fake_quantize_per_channel_affine(t, s, z, 0, 0, 15),
            *(torch.tensor(x).to(dtype), scale, zero),
        )


def test_places_of_grids():
    image, grid = torch.tensor(numbers(0, 1, 1, 2, 5, 6)), torch.tensor(numbers(-1, 1, 1, 3, 4, 2))
    leaf, places = image.to("opencl").requires_grad_(), grid.to("opencl").requires_grad_()
    nn.grid_sample(leaf, places, mode="nearest", align_corners=True).sum().backward()
    assert places.grad.count_nonzero() == 0
    assert leaf.grad.sum().item() == 2 * 12


# ---- distances, products, histograms, hashes


@pytest.mark.parametrize("p", [0, 1, 1.5, 2, 3, INF])
def test_distances(p):
    x, y = numbers(-1, 1, 2, 4, 130), numbers(-1, 1, 3, 130, seed=1)
    d = np.abs(x[:, :, None] - y[None, None])
    expected = np.linalg.norm(d, p, -1)
    near(torch.cdist(there(x), there(y), p), expected, 1e-12)
    near(torch.cdist(there(x, torch.float32), there(y, torch.float32), p), expected, 1e-5)
    near(torch.dist(there(x[0, :3]), there(y), p), np.linalg.norm((x[0, :3] - y).ravel(), p), 1e-12)
    assert torch.cdist(there(x[..., :0]), there(y[..., :0]), p).count_nonzero() == 0


def test_gradient_of_distances():
    x, y = numbers(-1, 1, 4, 3), numbers(-1, 1, 5, 3, seed=1)
    a, b = there(x, grad=True), there(y, grad=True)
    torch.cdist(a, b).sum().backward()
    d = x[:, None] - y[None]
    each = d / np.sqrt((d * d).sum(-1, keepdims=True))
    near(a.grad, each.sum(1), 1e-10)
    near(b.grad, -each.sum(0), 1e-10)


def test_slices_brought_down():
    x = numbers(-1, 1, 3, 4, 2)
    sizes = np.sqrt((x * x).sum((0, 2), keepdims=True))
    expected = x * np.where(sizes > 1, 1 / (sizes + 1e-7), 1)
    near(torch.renorm(there(x), 2, 1, 1.0), expected, 1e-12)
    like_the_cpu(lambda t: torch.renorm(t, 1.5, -1, 0.5), torch.tensor(x).half(), rtol=1e-3)


def test_vector_products():
    a, b = numbers(-1, 1, 4, 3), numbers(-1, 1, 4, 3, seed=1)
    near(torch.linalg.cross(there(a), there(b)), np.cross(a, b), 1e-12, 1e-15)
    near(torch.cross(there(a.T), there(b.T[:, :1]), dim=0), np.cross(a, b[:1]).T, 1e-12, 1e-15)
    whole = np.array([[1, 2, 3], [4, 5, 6]])
    found = torch.linalg.cross(there(whole, torch.int32), there(whole[::-1].copy(), torch.int32))
    assert found.tolist() == np.cross(whole, whole[::-1]).tolist()


def test_histograms():
    x = np.concatenate([numbers(-3, 3, 5000), [-3.0, 3.0, 4.0, NAN]])
    expected = np.histogram(x[np.abs(x) <= 3], 12, (-3, 3))[0]
    near(torch.histc(there(x), 12, -3, 3), expected)
    # Without ends: from the least to the largest.
    near(torch.histc(there([1.0, 2.0, 2.5, 5.0]), 4), [1, 2, 0, 1])
    near(torch.histc(there([2.0, 2.0]), 2), [0, 2])
    near(torch.histc(there(np.zeros(0)), 3), [0, 0, 0])
    like_the_cpu(lambda t: torch.histc(t, 300, -1, 1), torch.tensor(numbers(-1, 1, 999)).half())


def test_hashes():
    x = numbers(-3, 3, 7, 20_000)
    bits = x.view(np.uint64)
    assert torch.hash_tensor(there(x)).item() == np.bitwise_xor.reduce(bits, None)
    found = torch.hash_tensor(there(x), 1, keepdim=True)
    assert found.dtype is torch.uint64
    np.testing.assert_array_equal(found.cpu().numpy(), np.bitwise_xor.reduce(bits, 1)[:, None])
    whole = there([[1, -2], [300, 4]], torch.int16)
    words = np.array([[1, -2], [300, 4]]).view(np.uint64)
    np.testing.assert_array_equal(
        torch.hash_tensor(whole, 0).cpu().numpy(), np.bitwise_xor.reduce(words, 0)
    )


@pytest.mark.parametrize("shapes", [((4,), ()), ((4,), (1,)), ((1, 4), ()), ((3, 4), (3,))])
def test_margins_of_classes(shapes):
    x = numbers(-1, 1, *shapes[0])
    target = np.random.default_rng(1).integers(0, 4, shapes[1])
    rows, picked = np.atleast_2d(x), np.atleast_1d(target)
    own = rows[np.arange(len(rows)), picked][:, None]
    excess = np.maximum(0.5 - own + rows, 0) ** 2
    excess[np.arange(len(rows)), picked] = 0
    expected = excess.sum(1).reshape(shapes[1]) / 4
    given = there(x), there(target, torch.int64)
    near(nn.multi_margin_loss(*given, p=2, margin=0.5, reduction="none"), expected)
    near(nn.multi_margin_loss(*given, p=2, margin=0.5), expected.mean())


# ---- what kernels do not take

WRONG = {
    "half": lambda t: special.erfcx(t.half()),
    "degree": lambda t: special.legendre_polynomial_p(t.half(), 2),
    "gate": lambda t: nn.glu(t[:3]),
    "approximation": lambda t: nn.gelu(t, approximate="fast"),
    "dimension": lambda t: torch.mvlgamma(t, 0),
    "shapes": lambda t: torch.igamma(t[:2], t[:3]),
    "integers": lambda t: torch.frexp(t.long()),
    "length": lambda t: torch.linalg.cross(t, t),
    "bins": lambda t: torch.histc(t, 0),
    "range": lambda t: torch.histc(t, 3, 2, 1),
    "no range": lambda t: torch.histc(t / 0, 3),
    "power": lambda t: torch.renorm(t[None], -1, 0, 1),
    "mode": lambda t: torch.hash_tensor(t, mode=1),
    "halves": lambda t: torch.cdist(t[None].half(), t[None].half()),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_the_cpus(name):
    x = torch.tensor([0.5, 1.0, 2.0, 3.0])
    with pytest.raises(Exception) as here:
        WRONG[name](x)
    before = _core.accelerator_refuse_fallbacks(False)
    try:
        with pytest.raises(here.type) as over_there:
            WRONG[name](x.to("opencl"))
    finally:
        _core.accelerator_refuse_fallbacks(before)
    assert str(over_there.value) == str(here.value)


def test_many_dimensions():
    x = torch.tensor(numbers(0.1, 0.9, *[2] * 8)).permute(*reversed(range(8)))
    before = _core.accelerator_refuse_fallbacks(False)
    try:
        near(special.i0(x.to("opencl")), scipy_special.i0(x.numpy()), 1e-12)
    finally:
        _core.accelerator_refuse_fallbacks(before)
