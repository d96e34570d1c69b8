"""Pointwise kernels over the ranges of their arguments, against the plain definitions."""

import math

import numpy as np
import pytest
from plain import definition

import rushlight as torch
from rushlight.nn import functional as F

plain = definition("ops")


def units(found, expected):
    """The error in units in the last place of the float32 nearest to what is expected."""
    with np.errstate(over="ignore", under="ignore"):
        spacing = np.spacing(np.abs(expected.astype(np.float32))).astype(np.float64)
    return np.abs(found.astype(np.float64) - expected) / spacing


def floats(low, high, count=200_003):
    """float32 numbers of both signs, spread over the exponents and over the line."""
    rng = np.random.default_rng(0)
    spread = np.exp(rng.uniform(np.log(1e-30), np.log(high), count))
    x = [spread, -spread[spread <= -low], rng.uniform(low, high, count), [0.0, -0.0]]
    return np.concatenate(x).astype(np.float32)


def run(f, x):
    return f(torch.tensor(x)).numpy()


def slope(f, x):
    input = torch.tensor(x, requires_grad=True)
    f(input).backward(torch.ones_like(input))
    return input.grad.numpy()


@pytest.mark.parametrize(
    "name, low, high, bound",
    [
        ("sin", -65536, 65536, 1.2),
        ("cos", -65536, 65536, 1.2),
        ("exp", -87, 88, 1.1),
        ("sigmoid", -87, 87, 1.7),
        ("tanh", -20, 20, 1.5),
        ("erf", -4, 4, 1.6),
    ],
)
def test_units_in_the_last_place(name, low, high, bound):
    x = floats(low, high)
    expected = getattr(plain, name)(x.astype(np.float64))
    assert units(run(getattr(torch, name), x), expected).max() <= bound


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_trigonometry_of_large_arguments(name):
    """Beyond the near range in double, beyond that the library's; a few among small ones too."""
    x = np.array([65537, 70001.5, 1e6, 1048577, 1.7e7, 1e10, 1e22, 3.4e38], np.float32)
    x = np.concatenate([x, -x])
    expected = np.array([getattr(math, name)(float(v)) for v in x])
    assert units(run(getattr(torch, name), x), expected).max() <= 1.2
    mixed = np.linspace(-3, 3, 1025, dtype=np.float32)
    mixed[::100] = np.resize(x, len(mixed[::100]))
    found = run(getattr(torch, name), mixed)
    np.testing.assert_array_equal(found[::100], run(getattr(torch, name), mixed[::100]))
    np.testing.assert_array_equal(found[1:100], run(getattr(torch, name), mixed[1:100]))
    within = torch.tensor(mixed)
    getattr(torch, f"{name}_")(within)
    np.testing.assert_array_equal(within.numpy(), found)


def test_near_multiples_of_half_pi():
    """Where the argument's last digits are all there is."""
    multiples = np.arange(1, 41_000) * (np.pi / 2)
    x = np.concatenate([np.nextafter(multiples.astype(np.float32), s) for s in (0, np.inf)])
    x = np.concatenate([x, multiples.astype(np.float32)])
    x = x[x <= 65536].astype(np.float32)
    for name in ("sin", "cos"):
        expected = getattr(np, name)(x.astype(np.longdouble)).astype(np.float64)
        assert units(run(getattr(torch, name), x), expected).max() <= 1.2


def test_special_values():
    inf, nan = np.inf, np.nan
    x = np.array([0.0, -0.0, inf, -inf, nan], np.float32)
    expected = {
        "sin": [0.0, -0.0, nan, nan, nan],
        "cos": [1, 1, nan, nan, nan],
        "exp": [1, 1, inf, 0, nan],
        "sigmoid": [0.5, 0.5, 1, 0, nan],
        "tanh": [0.0, -0.0, 1, -1, nan],
        "erf": [0.0, -0.0, 1, -1, nan],
    }
    for name, values in expected.items():
        found = run(getattr(torch, name), x)
        np.testing.assert_array_equal(found, np.array(values, np.float32))
        np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(values[:2]))
    activations = {
        F.gelu: [0, 0, inf, nan, nan],
        F.silu: [0, 0, inf, nan, nan],
        F.mish: [0, 0, inf, nan, nan],
        F.softplus: [np.log(2), np.log(2), inf, 0, nan],
        F.logsigmoid: [-np.log(2), -np.log(2), 0, -inf, nan],
    }
    for f, values in activations.items():
        np.testing.assert_allclose(run(f, x), np.array(values), rtol=1e-7)


def test_exponentials_below_the_normal_range_and_above():
    x = np.array([-88, -95, -100, -103.9, -104.5, 88.7, 88.8], np.float32)
    with np.errstate(over="ignore", under="ignore"):
        expected = np.exp(x.astype(np.float64)).astype(np.float32)
        np.testing.assert_allclose(run(torch.exp, x), expected, rtol=2e-7, atol=1.5e-45)
        np.testing.assert_allclose(run(torch.sigmoid, x[:5]), expected[:5], rtol=2e-7, atol=1.5e-45)


ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "softplus": lambda x: F.softplus(x, threshold=1e3),
    "logsigmoid": F.logsigmoid,
    "hardswish": F.hardswish,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_activations_and_their_slopes(name, dtype):
    """To a dozen roundings, of the result or of parts that cancel, which are not above 1."""
    x = floats(-80, 80, 50_001).astype(dtype)
    wide = x.astype(np.float64)
    eps = np.finfo(dtype).eps
    for run_it, definition_name in ((run, name), (slope, f"{name}_slope")):
        expected = getattr(plain, definition_name)(wide)
        bound = 12 * eps * (np.abs(expected) + np.minimum(np.abs(wide), 1))
        error = np.abs(run_it(ACTIVATIONS[name], x) - expected)
        assert (error <= bound + np.finfo(dtype).tiny).all(), x[np.argmax(error - bound)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [(1, 1), (1, 7), (60, 90)])
def test_the_slope_of_tanh_in_one_pass_has_the_bits_of_its_steps(size, dtype):
    x, g = torch.randn(size, dtype=dtype), torch.randn(size, dtype=dtype)
    for turned, slopes in ((x, g), (x, g[:, :1].expand(size)), (x.mT, g.mT)):
        input = turned.clone().requires_grad_()
        out = input.tanh()
        out.backward(slopes)
        out = out.detach()
        assert torch.equal(input.grad, slopes * (1 - out * out))


def test_softplus_beyond_its_threshold_is_its_argument():
    x = np.array([9.9, 10.1, -3.0, 500.0], np.float64)
    found = run(lambda x: F.softplus(x, 2.0, 20.0), x)
    np.testing.assert_allclose(found, plain.softplus(x, 2.0, 20.0), rtol=1e-14)
    np.testing.assert_allclose(
        slope(lambda x: F.softplus(x, 2.0, 20.0), x), plain.softplus_slope(x, 2.0, 20.0), rtol=1e-14
    )


def test_powers():
    rng = np.random.default_rng(1)
    x = np.exp(rng.uniform(-80, 80, 100_001)).astype(np.float32)
    y = (rng.uniform(-80, 80, x.size) / np.log(x)).astype(np.float32)
    expected = np.power(x.astype(np.float64), y.astype(np.float64))
    found = torch.pow(torch.tensor(x), torch.tensor(y)).numpy()
    assert units(found, expected).max() <= 0.6
    inf, nan = np.inf, np.nan
    bases = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, inf, -inf, nan, 1e-45, -8], np.float32)
    exponents = np.array([0, 1, -1, 2, 3, -3, 0.5, 1e-3, inf, -inf, nan, 200], np.float32)
    a, b = (v.ravel() for v in np.meshgrid(bases, exponents))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            torch.pow(torch.tensor(a), torch.tensor(b)).numpy(),
            np.power(a.astype(np.float64), b.astype(np.float64)).astype(np.float32),
            rtol=2e-7,
        )


@pytest.mark.parametrize("exponent", [3, 2, -1, 0.5, -0.5, 2.5])
def test_slopes_of_powers(exponent):
    x = np.exp(np.linspace(-20, 20, 1001)).astype(np.float32)
    expected = exponent * x.astype(np.float64) ** (exponent - 1)
    np.testing.assert_allclose(slope(lambda x: x**exponent, x), expected, rtol=5e-7)


@pytest.mark.parametrize("power", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.complex64])
def test_a_whole_power_may_be_a_float(power, dtype):
    """The same product; of integers it is a float."""
    x = torch.tensor([1.5, -3.0, 0.0, 7.25]).to(dtype)
    wanted = x.to(torch.float32) if dtype is torch.int32 else x
    for _ in range(power - 1):
        wanted = wanted * (x if dtype.is_complex else x.to(wanted.dtype))
    found = x ** float(power)
    assert found.dtype is wanted.dtype
    assert found.tolist() == wanted.tolist()


def test_float_power_wants_a_tensor():
    with pytest.raises(TypeError):
        torch.float_power(2.0, 3.0)


PARTS = [0.0, -0.0, 1.5, -2.25, 3e38, 1e-40, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_at_their_ends(dtype):
    z = np.array([complex(x, y) for x in PARTS for y in PARTS], dtype)
    t = torch.tensor(z)

    def parts(x, nan, above, below):
        return [
            nan if v != v else above if v == math.inf else below if v == -math.inf else v for v in x
        ]

    found = torch.nan_to_num(t, 5.0, math.nan, -7.0).numpy()
    np.testing.assert_array_equal(
        found.real, np.array(parts(z.real, 5, math.nan, -7), found.real.dtype)
    )
    np.testing.assert_array_equal(
        found.imag, np.array(parts(z.imag, 5, math.nan, -7), found.real.dtype)
    )
    near = z[np.isfinite(z) & (z != 0) & (np.abs(z) < 1e38)]
    found = torch.sgn(torch.tensor(near)).numpy()
    np.testing.assert_allclose(
        found, near.astype(np.complex128) / np.abs(near.astype(np.complex128)), 1e-6
    )
    assert torch.sgn(torch.zeros(3, dtype=t.dtype)).tolist() == [0, 0, 0]


ELEMENTARY = {
    "exp2": lambda z: np.exp(z * np.log(2)),
    "expm1": np.expm1,
    "log2": lambda z: np.log(z) / np.log(2),
    "log10": np.log10,
    "log1p": lambda z: np.where(np.abs(z) < 1e-4, z - z * z / 2 + z**3 / 3, np.log(1 + z)),
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "abs": np.abs,
    "angle": np.angle,
    "conj_physical": np.conj,
}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", ELEMENTARY)
def test_elementary_functions_of_complex_numbers(name, dtype):
    rng = np.random.default_rng(3)
    z = rng.standard_normal((2, 501)).T.copy().view(np.complex128)[:, 0].astype(dtype)
    z[:3] = [1e-9 + 1e-7j, -1e-9j, 3 - 40j]
    expected = ELEMENTARY[name](z.astype(np.complex128))
    for given, at in ((torch.tensor(z), slice(None)), (torch.tensor(z)[1::2], slice(1, None, 2))):
        found = getattr(torch, name)(given).numpy()
        assert found.dtype == (np.abs(z) if expected.dtype.kind == "f" else z).dtype
        np.testing.assert_allclose(found, expected[at], 8 * np.finfo(dtype).eps)
    assert getattr(torch, name)(torch.tensor(z[:0])).shape == (0,)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_powers_of_complex_numbers(dtype):
    rng = np.random.default_rng(4)
    z, w = rng.standard_normal((2, 501, 2)).view(np.complex128)[..., 0].astype(dtype)
    wide, bound = z.astype(np.complex128), 30 * np.finfo(dtype).eps
    np.testing.assert_allclose((torch.tensor(z) ** torch.tensor(w)).numpy(), wide**w, bound)
    for power in (2.5, -1.5, 5, -3, 0.5 + 1j):
        np.testing.assert_allclose((torch.tensor(z) ** power).numpy(), wide**power, bound)
        found = (power ** torch.tensor(z)).numpy()
        np.testing.assert_allclose(found, np.power(complex(power), wide), bound)
    nothing = torch.zeros(1, dtype=torch.tensor(z).dtype)
    assert (nothing**0).tolist() == [1] and (nothing ** (2 + 1j)).tolist() == [0]
    assert (nothing**-3).real.tolist() == [math.inf] and (nothing**1j).isnan().all()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_between_complex_numbers_and_sums_of_their_exponentials(dtype):
    rng = np.random.default_rng(9)
    a, b, w = (rng.standard_normal((2, 500)).view(np.complex128)[0] for _ in range(3))
    given = [torch.tensor(x.astype(dtype)) for x in (a, b, w)]
    bound = 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(torch.lerp(*given).numpy(), a + w * (b - a), bound, bound)
    expected = np.log(np.exp(a) + np.exp(b))
    found = torch.logaddexp(*given[:2]).numpy() - expected
    turns = np.round(found.imag / (2 * np.pi))  # the angle goes round
    np.testing.assert_allclose(found - 2j * np.pi * turns, 0, atol=bound)
