"""Complex numbers and Fourier transforms on the accelerator: against NumPy, and against the CPU."""

import cmath

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core
from rushlight._devices import complex as _complex

pytestmark = pytest.mark.usefixtures("refuse")

COMPLEX = ["complex64", "complex128"]
NEAR = {"complex64": 5e-6, "complex128": 1e-12}
REAL = {"complex64": "float32", "complex128": "float64"}


def numbers(*shape, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))


def there(values, dtype="complex128", grad=False):
    """A tensor on the accelerator, and the numbers that it holds, in double."""
    cpu = torch.tensor(values).to(getattr(torch, dtype))
    held = cpu.to(torch.complex128 if cpu.dtype.is_complex else torch.float64).numpy()
    moved = cpu.to("opencl")
    return (moved.requires_grad_() if grad else moved), held


def near(have, want, dtype="complex128", times=1):
    """Whether a result on the accelerator is NumPy's, to the largest element."""
    assert have.device.type == "opencl"
    back = have.detach().cpu()
    assert tuple(back.shape) == want.shape
    back = back.to(torch.complex128 if back.dtype.is_complex else torch.float64).numpy()
    within = times * NEAR[dtype] * max(np.abs(want).max(initial=0), 1e-30)
    np.testing.assert_allclose(back, want, rtol=0, atol=within)


# ---- functions of elements

FUNCTIONS = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "log", "log2", "log10", "log1p")},
    **{name: getattr(np, name) for name in ("sqrt", "square", "reciprocal", "abs", "angle")},
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: getattr(np, name) for name in ("exp2", "conj", "isnan", "isfinite", "isreal")},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("asin", "acos", "atan")},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("asinh", "acosh", "atanh")},
    "rsqrt": lambda z: 1 / np.sqrt(z),
    "sgn": lambda z: z / np.abs(z),
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "sinc": np.sinc,
}


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, dtype):
    for scale in (0.3, 1, 4):
        z, held = there(numbers(5, 7, seed=3, scale=scale), dtype)
        for x, of in ((z, held), (z.t()[1:, ::2], held.T[1:, ::2])):
            want = FUNCTIONS[name](of)
            have = getattr(torch, name)(x).resolve_conj()
            near(have, want, dtype, 20)
            if want.dtype.kind == "f":
                assert have.dtype is getattr(torch, REAL[dtype])


# The sides of the branch cuts, and sizes that a float has no square of.
CUTS = [2, -2, complex(2, -0.0), complex(-2, -0.0), 2j, -2j, complex(-0.0, 2), 0.5, -0.5j, -1, 1]
WIDE = [3e30 + 1e30j, -1e30 + 2e29j, 1e-30j, 2e-30 + 1e-30j]


@pytest.mark.parametrize("name", ["sqrt", "log", "asin", "acos", "atan", "asinh", "acosh", "atanh"])
def test_branch_cuts(name):
    points = [z for z in CUTS if not (name == "atanh" and abs(z) == 1)]
    z, held = there(np.array(points, np.complex128))
    near(getattr(torch, name)(z), np.array([getattr(cmath, name)(p) for p in held.tolist()]))


@pytest.mark.parametrize("name", ["abs", "sqrt", "log", "reciprocal", "sgn"])
def test_sizes_beyond_the_squares(name):
    z, held = there(np.array(WIDE), "complex64")
    want, have = FUNCTIONS[name](held), getattr(torch, name)(z).cpu().numpy()
    np.testing.assert_allclose(have, want, rtol=1e-5)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_arithmetic(dtype):
    a, x = there(numbers(3, 4), dtype)
    b, y = there(numbers(4, seed=1), dtype)
    r, real = there(numbers(3, 1, seed=2).real, REAL[dtype])
    n = 0.5 - 2j
    pairs = [
        (a + b, x + y),
        (a - b, x - y),
        (a * b, x * y),
        (a / b, x / y),
        (a * r, x * real),
        (a * n, x * n),
        (n - a, n - x),
        (2 / a, 2 / x),
        (a**b, x**y),
        (a**3, x**3),
        (a**n, x**n),
        (-a, -x),
        (torch.add(a, b, alpha=n), x + n * y),
        (torch.addcmul(a, b, b, value=2), x + 2 * y * y),
        (torch.addcdiv(a, b, a), x + y / x),
        (torch.lerp(a, b.expand(3, 4), 0.25), x + 0.25 * (y - x)),
        (torch.where(r > 0, a, b), np.where(real > 0, x, y)),
        (a.masked_fill(r > 0, n), np.where(real > 0, n, x)),
        ((a == a) & (a != b), np.full((3, 4), True)),
        (torch.logaddexp(a, b), np.log(np.exp(x) + np.exp(y))),
        (a.real + b.imag, x.real + y.imag),
    ]
    for have, want in pairs[:-2]:
        near(have, want, dtype, 20)
    near(pairs[-1][0], pairs[-1][1], dtype)
    near(torch.exp(pairs[-2][0]), np.exp(pairs[-2][1]), dtype, 20)


def test_what_numpy_makes_a_number_of():
    """0 to a power, a division by 0, and infinities."""
    z, held = there(np.array([0, 1j, complex("inf"), complex("nan")]))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((z / 0).isnan().cpu().numpy(), np.isnan(held / 0))
    assert torch.isinf(z).tolist() == [False, False, True, False]
    assert torch.isfinite(z).tolist() == [True, True, False, False]
    assert (z[:1] ** 2).tolist() == [0]
    assert (z[:1] ** 0).tolist() == [1]
    whole = torch.tensor([3 + 0j, -2 + 0j, 30 + 0j], device="opencl")
    assert torch.exp2(whole).tolist() == [8, 0.25, 2**30]
    assert torch.ldexp(whole, whole).tolist() == [24, -0.5, 30 * 2**30]


@pytest.mark.parametrize("dtype", COMPLEX)
def test_conjugates(dtype):
    z, held = there(numbers(4, 3), dtype)
    size = z * z.conj()
    assert not size.imag.cpu().numpy().any()
    near(size.real, np.abs(held) ** 2, dtype, 10)
    near(z.conj().t() @ z, held.conj().T @ held, dtype, 10)
    near(z.conj().imag, -held.imag, dtype)
    near(torch.conj_physical(z.t()), held.conj().T, dtype)


# ---- views


def test_views_share_the_memory():
    z, held = there(numbers(3, 4))
    pairs = torch.view_as_real(z[1:, 2:])
    assert pairs.stride() == (8, 2, 1)
    pairs.mul_(2)
    held[1:, 2:] *= 2
    near(z, held)
    z.imag.zero_()
    near(z, held.real + 0j)
    x, numbers_of = there(numbers(4, 6).real, "float64")
    seen = torch.view_as_complex(x.view(4, 3, 2)[1:])
    seen += 1j
    numbers_of[1:, 1::2] += 1
    near(x, numbers_of)


REFUSED = [
    lambda x: x.t().contiguous(),
    lambda x: x.to(torch.int64),
    lambda x: x.reshape(6)[1:5].view(2, 2),
    lambda x: x.reshape(6)[0],
    lambda x: x.reshape(3, 2).t()[:, :2],
]


@pytest.mark.parametrize("of", REFUSED)
def test_a_view_that_there_is_not(of):
    _core.accelerator_refuse_fallbacks(False)  # the host says what is wrong
    said = []
    for x in (torch.zeros(3, 2), torch.zeros(3, 2).to("opencl")):
        with pytest.raises(RuntimeError) as error:
            torch.view_as_complex(of(x))
        said.append(str(error.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("dtype", COMPLEX)
def test_parts_together(dtype):
    real = REAL[dtype]
    (a, x), (b, y) = there(numbers(3, 1).real, real), there(numbers(1, 4, seed=1).real, real)
    near(torch.complex(a, b), x + 1j * y, dtype)
    near(torch.polar(a.abs(), b), np.abs(x) * np.exp(1j * y), dtype, 5)
    assert torch.complex(a, b).dtype is getattr(torch, dtype)


# ---- copies

TYPES = ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("name", [*TYPES, "complex32", *COMPLEX])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_types(name):
    dtype = getattr(torch, name)
    cpu = torch.tensor(np.round(numbers(4, 3, scale=3) * 8) / 8).abs() * (1 + 0.5j)
    for t in (cpu, cpu.t(), cpu.to(torch.complex64)):
        have = t.to("opencl").to(dtype)
        assert have.dtype is dtype
        assert torch.equal(have.cpu(), t.to(dtype))
        assert have.stride() == t.to(dtype).stride()
        back = have.to(torch.complex64).cpu()
        assert torch.equal(back, t.to(dtype).to(torch.complex64))


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "complex64"])
def test_memory_formats(name):
    cpu = torch.tensor(numbers(2, 3, 4, 5).real).to(torch.float32)
    dtype = getattr(torch, name)
    have = cpu.to("opencl").to(dtype, memory_format=torch.channels_last)
    want = cpu.to(dtype, memory_format=torch.channels_last)
    assert have.stride() == want.stride()
    assert torch.equal(have.cpu(), want)
    again = have.to(torch.float32, memory_format=torch.contiguous_format)
    assert again.is_contiguous()
    assert torch.equal(again.cpu(), want.to(torch.float32))


def test_what_the_core_asks_for():
    """Copies into given memory, and conjugates and negatives worked out."""
    z, held = there(numbers(3, 4))
    out = torch.zeros(4, 3, 2, dtype=torch.complex64).to("opencl")
    assert _complex.copy_across(out[..., 1], z.t()) is not NotImplemented
    near(out, np.stack([0 * held.T, held.T], -1), "complex64")
    assert _complex.copy_across(out[..., 0], torch.tensor(2 - 1j)) is not NotImplemented
    near(out, np.stack([0 * held.T + 2 - 1j, held.T], -1), "complex64")
    assert _complex.copy_across(out.real, out.imag) is NotImplemented  # the core's own
    near(_complex.put_off(z, True, False), held.conj())
    near(_complex.put_off(z.t(), True, True), -held.conj().T)
    near(_complex.put_off(z.real, False, True), -held.real)


def test_filled_and_copied():
    z, held = there(numbers(3, 4))
    z[1] = 2 - 1j
    z[:, 0].copy_(z[:, 1])
    held[1] = 2 - 1j
    held[:, 0] = held[:, 1]
    near(z, held)
    near(z.fill_(1j), np.full((3, 4), 1j))
    padded = np.full((3, 5), 1j)
    padded[:, 0] = 2
    near(torch.nn.functional.pad(z, (1, 0), value=2), padded)


def test_empty_and_single():
    none = torch.zeros(0, 3, dtype=torch.complex64).to("opencl")
    assert (none * 2j).shape == (0, 3)
    assert torch.abs(none).dtype is torch.float32
    assert none.sum(0).tolist() == [0, 0, 0]
    one, _ = there(np.array(3 - 4j))
    assert torch.abs(one).item() == 5
    near(one * one.conj(), np.array(25 + 0j))
    near(torch.view_as_real(one), np.array([3.0, -4.0]))


def test_more_dimensions_than_kernels_take():
    z, held = there(numbers(*[2] * 9))
    odd = z[::1].permute(8, 0, 7, 1, 6, 2, 5, 3, 4)
    other = z.permute(0, 8, 1, 7, 2, 6, 3, 5, 4)
    _core.accelerator_refuse_fallbacks(False)
    want = held.transpose(8, 0, 7, 1, 6, 2, 5, 3, 4) * held.transpose(0, 8, 1, 7, 2, 6, 3, 5, 4)
    near(odd * other, want)


# ---- sums and products


@pytest.mark.parametrize("dtype", COMPLEX)
def test_reductions(dtype):
    z, held = there(numbers(5, 6, 4), dtype)
    near(z.sum(), held.sum(), dtype, 5)
    near(z.sum((0, 2), keepdim=True), held.sum((0, 2), keepdims=True), dtype, 5)
    near(z.mean(1), held.mean(1), dtype, 5)
    near(z.cumsum(1), held.cumsum(1), dtype, 5)
    near(z.prod(1), held.prod(1), dtype, 20)
    near(z[..., 0].prod(), held[..., 0].prod(), dtype, 40)
    near(z.cumprod(0), held.cumprod(0), dtype, 20)
    near(z.var(0), held.var(0, ddof=1), dtype, 5)
    near(z.std(1), held.std(1, ddof=1), dtype, 5)
    near(torch.linalg.vector_norm(z, 3, -1), (np.abs(held) ** 3).sum(-1) ** (1 / 3), dtype, 5)
    near(z.norm(), np.array(np.linalg.norm(held.ravel())), dtype, 5)
    assert bool((z == z).all())
    assert torch.count_nonzero(z).item() == held.size
    near(torch.diagonal(z[:, :5]).sum(-1), np.einsum("iij->j", held[:, :5]), dtype, 5)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_matrices(dtype):
    (a, x), (b, y) = there(numbers(3, 4, 5), dtype), there(numbers(5, 2, seed=1), dtype)
    c, w = there(numbers(4, 2, seed=2), dtype)
    v, u = there(numbers(5, seed=4), dtype)
    near(a @ b, x @ y, dtype, 5)
    near(a @ v, x @ u, dtype, 5)
    near(a[0] @ v, x[0] @ u, dtype, 5)
    near(torch.bmm(a, a.mH), x @ x.conj().swapaxes(1, 2), dtype, 5)
    near(torch.dot(v, v), np.dot(u, u), dtype, 5)
    near(torch.vdot(v, v + 1j), np.vdot(u, u + 1j), dtype, 5)
    near(torch.addmm(c, a[0], b, beta=2j, alpha=0.5), 2j * w + 0.5 * (x[0] @ y), dtype, 5)
    near(torch.addmm(c * float("nan"), a[0], b, beta=0), x[0] @ y, dtype, 5)
    near(torch.nn.functional.linear(a, b.t(), c[0]), x @ y + w[0], dtype, 5)
    near(torch.einsum("bij,jk->bk", a, b), np.einsum("bij,jk->bk", x, y), dtype, 5)


def test_gradients_of_products():
    """Of the sum of w |A B|^2 by A: 2 w (A B) B^H; and of what that is by B."""
    (a, x), (b, y) = there(numbers(3, 4), grad=True), there(numbers(4, 2, seed=1), grad=True)
    weights, w = there(numbers(3, 2, seed=2).real, "float64")
    product = a @ b
    loss = (weights * (product * product.conj()).real).sum()
    of_a, of_b = torch.autograd.grad(loss, [a, b], create_graph=True)
    near(of_a, 2 * (w * (x @ y)) @ y.conj().T)
    near(of_b, x.conj().T @ (2 * w * (x @ y)))
    (second,) = torch.autograd.grad((of_a * of_a.conj()).real.sum(), b)
    # by differences along one direction
    d, h = numbers(4, 2, seed=5), 1e-6

    def size(y):
        g = 2 * (w * (x @ y)) @ y.conj().T
        return (np.abs(g) ** 2).sum()

    slope = (size(y + h * d) - size(y - h * d)) / (2 * h)
    found = (second.cpu().numpy().conj() * d).real.sum()
    assert abs(found - slope) < 1e-6 * abs(slope)


def test_gradients_of_elements():
    z, held = there(numbers(4, 5), grad=True)
    (g,) = torch.autograd.grad(torch.abs(z).sum(), z, create_graph=True)
    near(g, held / np.abs(held))
    (second,) = torch.autograd.grad((g.real * 2).sum(), z)
    size = np.abs(held)
    near(second, 2 / size - 2 * held.real * held / size**3)  # of 2 re(z) / |z|
    (g,) = torch.autograd.grad(torch.angle(z).sum(), z)
    near(g, 1j * held / np.abs(held) ** 2)
    (g,) = torch.autograd.grad(torch.exp(z).real.sum(), z)
    near(g, np.exp(held).conj())
    r, _ = there(numbers(4, 5, seed=1).real, "float64", grad=True)
    (g,) = torch.autograd.grad((z.detach() * r).imag.sum(), r)
    near(g, held.imag)


def test_convolutions():
    """By the sums that they are."""
    x, a = there(numbers(2, 3, 9))
    w, b = there(numbers(4, 3, 2, seed=1))
    bias, c = there(numbers(4, seed=2))
    want = sum(np.einsum("nci,oc->noi", a[..., k : k + 8], b[..., k]) for k in range(2))
    x.requires_grad_()
    found = torch.nn.functional.conv1d(x, w, bias)
    near(found, want + c[:, None])
    (g,) = torch.autograd.grad(found.real.sum(), x)
    each = b.conj().sum(0)
    want = np.zeros((3, 9), complex)
    want[:, :8] += each[:, :1]
    want[:, 1:] += each[:, 1:]
    near(g, np.stack([want, want]))


# ---- Fourier transforms

LENGTHS = [1, 2, 3, 4, 7, 8, 12, 30, 31, 32, 37, 97, 121, 128, 360, 1009, 2048]


@pytest.mark.parametrize("dtype", COMPLEX)
def test_lengths(dtype):
    for n in LENGTHS:
        z, held = there(numbers(2, n, 3, seed=n), dtype)
        x, real = there(numbers(2, n, 3, seed=n).real, REAL[dtype])
        near(torch.fft.fft(z, dim=1), np.fft.fft(held, axis=1), dtype)
        near(torch.fft.ifft(z, dim=1), np.fft.ifft(held, axis=1), dtype)
        near(torch.fft.rfft(x, dim=1), np.fft.rfft(real, axis=1), dtype)
        for size in (2 * n - 1, max(2 * n - 2, 1)):
            near(torch.fft.irfft(z, size, 1), np.fft.irfft(held, size, 1), dtype)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_several_dimensions(norm, dtype):
    z, held = there(numbers(6, 5, 8), dtype)
    x, real = there(numbers(6, 5, 8, seed=1).real, REAL[dtype])
    z, held, x, real = z.transpose(0, 2), held.swapaxes(0, 2), x[::2], real[::2]
    for name in ("fftn", "ifftn"):
        ours, theirs = getattr(torch.fft, name), getattr(np.fft, name)
        for s, dim in ((None, (0, 1, 2)), ((4, 9), (2, 0)), (None, (1,))):
            near(ours(z, s, dim, norm), theirs(held, s, dim, norm), dtype)
            near(ours(x, s, dim, norm), theirs(real, s, dim, norm), dtype)
    near(torch.fft.rfftn(x, None, (0, 2), norm), np.fft.rfftn(real, None, (0, 2), norm), dtype)
    near(
        torch.fft.irfftn(z, (7, 6), (0, 1), norm), np.fft.irfftn(held, (7, 6), (0, 1), norm), dtype
    )
    near(torch.fft.hfft(z, 9, 0, norm), np.fft.hfft(held, 9, 0, norm), dtype)
    near(torch.fft.ihfft(x, None, 2, norm), np.fft.ihfft(real, None, 2, norm), dtype)


def test_gradients_of_transforms():
    """Of the sum of w |F x|^2 by x: 2 F^H (w F x)."""
    for n in (12, 37):
        weights, w = there(numbers(2, n, seed=1).real, "float64")
        z, held = there(numbers(2, n), grad=True)
        spectrum = torch.fft.fft(z)
        loss = (weights * spectrum.abs() ** 2).sum()
        (g,) = torch.autograd.grad(loss, z)
        near(g, 2 * n * np.fft.ifft(w * np.fft.fft(held)), times=5)
        x, real = there(numbers(2, n, seed=2).real, "float64", grad=True)
        half = torch.fft.rfft(x)
        m = n // 2 + 1
        (g,) = torch.autograd.grad((weights[:, :m] * half.abs() ** 2).sum(), x)
        want = np.zeros((2, n), complex)
        want[:, :m] = w[:, :m] * np.fft.rfft(real)
        near(g, 2 * n * np.fft.ifft(want).real, times=5)
        h, _ = there(numbers(2, m, seed=3), grad=True)
        (g,) = torch.autograd.grad((weights * torch.fft.irfft(h, n)).sum(), h)
        want = np.fft.rfft(w) / n
        want[:, 1 : (n + 1) // 2] *= 2
        near(g, want, times=5)


def test_frames():
    signal, held = there(numbers(2, 400).real, "float64")
    window = torch.hann_window(64, dtype=torch.float64)
    found = torch.stft(signal, 64, 16, window=window.to("opencl"), return_complex=True)
    padded = np.pad(held, ((0, 0), (32, 32)), "reflect")
    frames = np.stack([padded[:, 16 * t : 16 * t + 64] for t in range(26)], 1)
    near(found, np.fft.rfft(frames * window.numpy()).swapaxes(1, 2))
    _core.accelerator_refuse_fallbacks(False)  # how it adds up frames is not asked here
    back = torch.istft(found, 64, 16, window=window.to("opencl"))
    near(back, held, times=10)


def test_transforms_that_are_refused():
    for bad in (torch.zeros(4, dtype=torch.float16), torch.zeros(4, dtype=torch.bfloat16)):
        with pytest.raises(RuntimeError) as said:
            torch.fft.fft(bad)
        with pytest.raises(RuntimeError) as again:
            torch.fft.fft(bad.to("opencl"))
        assert str(said.value) == str(again.value)
    assert torch.fft.fft(torch.zeros(0, 4).to("opencl")[:, :3].new_zeros(2, 3)).shape == (2, 3)
