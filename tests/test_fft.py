"""torch.fft: values against NumPy's transforms, gradients by finite differences, errors."""

from typing import Any

import numpy as np
import pytest

import rushlight as torch

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
REAL = ("rfft", "ihfft")


def _input(name: str, dtype: Any = np.float64) -> Any:
    rng = np.random.RandomState(0)
    a = rng.randn(4, 5)
    if not name.startswith(REAL):
        return (a + 1j * rng.randn(4, 5)).astype(np.result_type(dtype, np.complex64))
    return a.astype(dtype)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 3, 8])
@pytest.mark.parametrize("name", ONE)
def test_values_over_one_dimension(name: str, n: int | None, norm: Any) -> None:
    a = _input(name)
    found = getattr(torch.fft, name)(torch.tensor(a).t(), n, 0, norm).resolve_conj()
    np.testing.assert_allclose(found, getattr(np.fft, name)(a.T, n, 0, norm), atol=1e-12)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "irfft2"])
def test_values_over_two_dimensions(name: str) -> None:
    a = _input(name)
    found = getattr(torch.fft, name)(torch.tensor(a), s=(3, 6))
    np.testing.assert_allclose(found, getattr(np.fft, name)(a, (3, 6), (-2, -1)), atol=1e-12)


def test_hfftn_undoes_ihfftn() -> None:
    a = torch.tensor(_input("rfft"))
    np.testing.assert_allclose(torch.fft.hfftn(torch.fft.ihfftn(a), s=a.shape), a, atol=1e-12)


@pytest.mark.parametrize("name", [n + end for n in ONE for end in ("", "2", "n")])
def test_gradients(name: str) -> None:
    a = torch.tensor(_input(name)[:2, :3], requires_grad=True)
    f = getattr(torch.fft, name)
    assert torch.autograd.gradcheck(f, (a,))
    assert torch.autograd.gradgradcheck(f, (a,))


@pytest.mark.parametrize("name", ONE)
def test_vmap_and_jvp(name: str) -> None:
    a = torch.tensor(_input(name))
    f = getattr(torch.fft, name)
    np.testing.assert_allclose(torch.vmap(f)(a).resolve_conj(), f(a).resolve_conj(), atol=1e-12)
    value, tangent = torch.func.jvp(f, (a,), (2 * a,))
    np.testing.assert_allclose(tangent.resolve_conj(), 2 * value, atol=1e-12)


def test_single_precision_stays_single_and_halves_are_refused() -> None:
    assert torch.fft.fft(torch.zeros(4)).dtype == torch.complex64
    assert torch.fft.irfft(torch.zeros(4)).dtype == torch.float32
    assert torch.fft.rfft(torch.arange(4)).dtype == torch.complex64
    with pytest.raises(RuntimeError, match="Unsupported dtype Half"):
        torch.fft.fft(torch.zeros(4, dtype=torch.float16))


def test_errors() -> None:
    a = torch.zeros(3, 4)
    with pytest.raises(RuntimeError, match=r"Invalid number of data points \(0\)"):
        torch.fft.fft(a, 0)
    with pytest.raises(RuntimeError, match='Invalid normalization mode: "bad"'):
        torch.fft.fft(a, norm="bad")
    with pytest.raises(RuntimeError, match="FFT dims must be unique"):
        torch.fft.fftn(a, dim=(0, 0))
    with pytest.raises(RuntimeError, match="rfft expects a real input tensor"):
        torch.fft.rfft(a.to(torch.complex64))
    with pytest.raises(IndexError, match="tensor has no dimensions"):
        torch.fft.fft(torch.tensor(1.0))
    assert torch.fft.fft(torch.zeros(0, 3)).shape == (0, 3)


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies_and_shifts(n: int) -> None:
    np.testing.assert_allclose(torch.fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5), rtol=1e-6)
    np.testing.assert_allclose(torch.fft.rfftfreq(n, 0.5), np.fft.rfftfreq(n, 0.5), rtol=1e-6)
    a = torch.arange(n * 3).reshape(n, 3)
    np.testing.assert_array_equal(torch.fft.fftshift(a), np.fft.fftshift(a.numpy()))
    np.testing.assert_array_equal(torch.fft.ifftshift(a, 0), np.fft.ifftshift(a.numpy(), 0))
