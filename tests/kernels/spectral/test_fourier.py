"""Fourier transforms: every way a length is done, against sums in higher precision."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from rushlight import _core

_kernels = _core.kernels
# Steps of all factors, halves of odd lengths, convolutions; lengths that are cut in two are below.
LENGTHS = [
    *range(1, 40),
    45,
    61,
    64,
    66,
    77,
    81,
    89,
    97,
    101,
    121,
    127,
    128,
    194,
    210,
    243,
    257,
    360,
]
CUT = [256, 1000, 1155, 2187, 4096, 5000, 8192, 10007, 20014, 65536]
LINES = [1, 3, 16, 37]
TYPES = [("float32", "complex64", 2.0**-23), ("float64", "complex128", 2.0**-52)]
# Of the root mean square of the results, in units of the last place: most by convolutions.
LOST = 4.0


@cache
def _matrix(n: int) -> Any:
    k = np.arange(n)
    angle = np.longdouble(-2) * np.arccos(np.longdouble(-1)) / n * (np.outer(k, k) % n)
    return np.cos(angle) + 1j * np.sin(angle)


def _expected(a: Any, forward: bool) -> Any:
    """The transform of the last dimension."""
    n = a.shape[-1]
    if n > 400:
        wide = a.astype(np.clongdouble)
        return np.fft.fft(wide) if forward else np.fft.ifft(wide, norm="forward")
    return a @ (_matrix(n) if forward else _matrix(n).conj())


def _near(found: Any, expected: Any, unit: float) -> None:
    scale = np.sqrt(np.mean(np.abs(expected) ** 2)) or 1.0
    assert found.shape == expected.shape
    lost = np.sqrt(np.mean(np.abs(found - expected) ** 2)) / scale / unit
    assert lost < LOST, f"{lost} units"


def _numbers(lines: int, n: int, dtype: str) -> Any:
    rng = np.random.default_rng(n)
    a = rng.standard_normal((lines, n))
    return (a + 1j * rng.standard_normal((lines, n)) if dtype[0] == "c" else a).astype(dtype)


def _layouts(a: Any) -> Any:
    """The same lines: along rows, along columns, and with gaps."""
    gaps = np.zeros((a.shape[0], 2 * a.shape[1]), a.dtype)
    gaps[:, ::2] = a
    return [
        (a, -1),
        (np.ascontiguousarray(a.T).T, -1),
        (gaps[:, ::2], -1),
        (np.ascontiguousarray(a.T), 0),
    ]


def _rows(found: Any, dim: int) -> Any:
    return found.T if dim == 0 else found


@pytest.mark.parametrize("lines", LINES)
@pytest.mark.parametrize("real, pair, unit", TYPES, ids=["float32", "float64"])
def test_complex(real: str, pair: str, unit: float, lines: int, threads: int) -> None:
    for n in LENGTHS + (CUT if lines < 16 else []):
        a = _numbers(lines, n, pair)
        for forward in (True, False):
            expected = _expected(a, forward) / 4
            for given, dim in _layouts(a):
                found = _kernels.fft_c2c(given, (dim,), 0.25, forward)
                assert found.dtype == a.dtype
                _near(_rows(found, dim), expected, unit)


@pytest.mark.parametrize("lines", LINES)
@pytest.mark.parametrize("real, pair, unit", TYPES, ids=["float32", "float64"])
def test_from_real(real: str, pair: str, unit: float, lines: int, threads: int) -> None:
    for n in LENGTHS + (CUT if lines < 16 else []):
        a = _numbers(lines, n, real)
        whole = _expected(a, True)
        half = whole[:, : n // 2 + 1]
        for given, dim in _layouts(a):
            _near(_rows(_kernels.fft_r2c(given, (dim,), 1.0, True, 1.0), dim), half, unit)
            _near(_rows(_kernels.fft_r2c(given, (dim,), 1.0, False, 1.0), dim), whole, unit)
        ends = half.copy()
        ends[:, :: n // 2 if n % 2 == 0 else n] *= 3
        _near(_kernels.fft_r2c(a, (-1,), 1.0, True, 3.0), ends, unit)


@pytest.mark.parametrize("lines", LINES)
@pytest.mark.parametrize("real, pair, unit", TYPES, ids=["float32", "float64"])
def test_to_real(real: str, pair: str, unit: float, lines: int, threads: int) -> None:
    for n in LENGTHS + (CUT if lines < 16 else []):
        half = _numbers(lines, n // 2 + 1, pair)
        for edges in (1.0, 0.5):
            whole = np.zeros((lines, n), np.clongdouble)
            whole[:, : n // 2 + 1] = half
            whole[:, n // 2 + 1 :] = half[:, 1 : (n + 1) // 2][:, ::-1].conj()
            # The ends have no imaginary part.
            own = np.s_[:, :: n // 2 if n % 2 == 0 else n]
            whole[own] = whole[own].real * edges
            expected = _expected(whole, False).real
            for given, dim in _layouts(half):
                found = _kernels.fft_c2r(given, dim, 1.0, n, edges)
                assert found.dtype == real
                _near(_rows(found, dim), expected, unit)
        a = _numbers(lines, n, pair)
        for given, dim in _layouts(a) if n > 2 else []:
            found = _rows(_kernels.fft_c2r(given, dim, 1.0, n, 1.0), dim)
            _near(found, _expected(a, False).real, 2 * unit)


def test_several_dimensions() -> None:
    a = _numbers(60, 77, "complex128").reshape(5, 12, 7, 11)
    found = _kernels.fft_c2c(a, (3, 0, 1), 1.0, True)
    np.testing.assert_allclose(found, np.fft.fftn(a, axes=(3, 0, 1)), atol=1e-11)
    found = _kernels.fft_r2c(a.real, (1, 3, 2), 0.5, True, 1.0)
    np.testing.assert_allclose(found, np.fft.rfftn(a.real, axes=(1, 3, 2)) / 2, atol=1e-11)
    found = _kernels.fft_c2c(np.broadcast_to(a[:1], a.shape), (1,), 1.0, True)
    np.testing.assert_allclose(found[4], np.fft.fft(a[0], axis=0), atol=1e-11)


@pytest.mark.parametrize("n", [6, 15, 97, 512])
def test_a_line_knows_nothing_of_others(n: int) -> None:
    a = _numbers(33, n, "float32")
    alone = _kernels.fft_r2c(a, (-1,), 1.0, True, 1.0)
    a[::2] = [np.nan] * n
    a[1::4, 0] = np.inf
    found = _kernels.fft_r2c(a, (-1,), 1.0, True, 1.0)
    np.testing.assert_array_equal(found[3::4], alone[3::4])
    assert np.isnan(found[::2]).all() and not np.isfinite(found[1::4]).any()


def test_nothing_and_refusals() -> None:
    assert _kernels.fft_c2c(np.zeros((0, 5), np.complex64), (-1,), 1.0, True).shape == (0, 5)
    assert _kernels.fft_r2c(np.zeros((3, 0, 4)), (-1,), 1.0, True, 1.0).shape == (3, 0, 3)
    with pytest.raises(RuntimeError, match=r"Invalid number of data points \(0\)"):
        _kernels.fft_r2c(np.zeros((3, 0)), (-1,), 1.0, True, 1.0)
    with pytest.raises(RuntimeError, match=r"8 numbers have a half of 5, not of 4"):
        _kernels.fft_c2r(np.zeros(4, np.complex64), 0, 1.0, 8, 1.0)
    with pytest.raises(RuntimeError, match=r"Invalid number of data points \(-3\)"):
        _kernels.fft_c2r(np.zeros(4, np.complex64), 0, 1.0, -3, 1.0)
    with pytest.raises(IndexError):
        _kernels.fft_c2c(np.zeros(4, np.complex64), (1,), 1.0, True)
    with pytest.raises(RuntimeError, match="Unsupported dtype Half"):
        _kernels.fft_r2c(np.zeros(4, np.float16), (0,), 1.0, True, 1.0)
