"""Discrete Fourier transforms, of any length: one dimension after another.

A transform is a step for each factor of the length; where a prime factor is large, it is written as
a convolution, whose length is a power of two. Tables are computed in double on the host and kept on
the device.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

from .... import _core
from ...._base.outside import np
from ...._core import Tensor
from ...._devices.complex import as_complex, as_pairs, is_complex
from ...._devices.launch import Ints, computed, empty, number, rows, start
from ...._devices.there import numbers_of, there

_N = numbers_of("spectral.cl")
_FILE = "spectral.cl"
_KEPT, _LONGEST = 64, 1 << 18  # tables that are kept, and numbers of one at most
_tables: dict[tuple[Any, ...], Tensor] = {}


@lru_cache(256)
def _factors(n: int) -> tuple[int, ...]:
    """The factors of a length, one a step, fours first; the last may be larger than steps take."""
    found, factor = [], 4
    while n > 1:
        if n % factor == 0:
            found.append(factor)
            n //= factor
        elif factor * factor > n and factor > 4:
            factor = n
        else:
            factor = {4: 2, 2: 3}.get(factor, factor + 2)
    return tuple(found)


def _power_above(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _values(kind: str, n: int) -> Any:
    """The numbers of a table."""
    if kind == "roots":
        return np.exp(-2j * np.pi * np.arange(n) / n)
    if (
        kind == "ends"
    ):  # a half of a transform, its first number and, of an even n, its last by halves
        weights = np.ones(n // 2 + 1, np.complex128)
        weights[:: n // 2 if n % 2 == 0 else n] = 0.5
        return weights
    # exp(-i pi k^2 / n): k^2 by whole numbers, so that the angle is right.
    k = np.arange(n)
    chirp = np.exp(-1j * np.pi * (k * k % (2 * n)) / n)
    if kind == "chirp":
        return chirp
    whole = np.zeros(_power_above(2 * n - 1), np.complex128)
    whole[:n] = chirp.conj()
    whole[-n + 1 :] = chirp[:0:-1].conj()
    return np.fft.fft(whole)


def _table(kind: str, n: int, like: Tensor) -> Tensor:
    """A table of complex numbers on the device of `like`, as pairs of its type."""
    name = computed(like.dtype).name
    key = kind, n, name, like._accelerator
    found = _tables.get(key)
    if found is None:
        pairs = np.ascontiguousarray(_values(kind, n)).view(np.float64).astype(name)
        device: Any = like._accelerator
        found = _core.copy_to(_core.wrap(pairs), device)
        if n <= _LONGEST:
            while len(_tables) >= _KEPT:
                _tables.pop(list(_tables)[0], None)  # noqa: RUF015  (other threads may add one)
            _tables[key] = found
    return found


class _Data:
    """Pairs of a real type that lie as (outer, length, inner), or real numbers that do."""

    def __init__(self, memory: Tensor, outer: int, length: int, inner: int, real: bool) -> None:
        self.memory, self.outer, self.length, self.inner = memory, outer, length, inner
        self.real = real

    def room(self, length: int, real: bool = False) -> _Data:
        """For results of another length."""
        shape = (self.outer, length, self.inner) + (() if real else (2,))
        return _Data(empty(shape, self.memory), self.outer, length, self.inner, real)

    def multiplied(self, length: int, table: Tensor | None, scale: float, **how: Any) -> _Data:
        """Times a table, cut or filled up to a length."""
        real, forward = how.get("real", False), how.get("forward", True)
        out = self.room(length, real)
        items = self.outer * length * self.inner
        sizes = items, self.length, length, self.inner, int(forward), int(self.real), int(real)
        given = self.memory, out.memory, table, *sizes, number(scale, self.memory)
        start(_FILE, "multiply", items, self.memory, *given)
        return out

    def transformed(self, forward: bool, scale: float = 1, real: bool = False) -> _Data:
        """The transform; its real parts alone where `real`."""
        n, like = self.length, self.memory
        factors = _factors(n)
        if not factors:
            return self.multiplied(n, None, scale, real=real)
        if factors[-1] > _N.LARGEST:
            size, chirp = _power_above(2 * n - 1), _table("chirp", n, like)
            spectrum = self.multiplied(size, chirp, 1, forward=forward).transformed(True)
            response = _table("spectrum", n, like)
            spectrum = spectrum.multiplied(size, response, 1 / size, forward=forward)
            found = spectrum.transformed(False)
            return found.multiplied(n, chirp, scale, forward=forward, real=real)
        roots, done, data, spare = _table("roots", n, like), 1, self, None
        for factor in factors:
            last = done * factor == n
            out = spare if spare is not None and not last else data.room(n, real and last)
            spare = None if data is self else data
            items = self.outer * (n // factor) * self.inner
            sizes = items, n, self.inner, done, factor, int(forward), int(data.real), int(out.real)
            given = data.memory, out.memory, roots, *sizes, number(scale if last else 1, like)
            start(_FILE, "butterfly", items, like, *given)
            data, done = out, done * factor
        return data


def _data(x: Tensor, dim: int) -> _Data:
    """A tensor as the transforms along a dimension read it."""
    x = rows(x)
    memory = as_pairs(x) if x.dtype.is_complex else x
    outer, inner = prod(x.shape[:dim]), prod(x.shape[dim + 1 :])
    return _Data(memory, outer, x.shape[dim], inner, not x.dtype.is_complex)


def _shown(data: _Data, shape: Ints) -> Tensor:
    """The results as a tensor of a shape."""
    if data.real:
        return _core.kernels.view(data.memory, tuple(shape))
    return as_complex(_core.kernels.view(data.memory, (*shape, 2)))


def _along(x: Tensor, dims: Ints, scale: float, forward: bool) -> Tensor:
    """The transforms of complex numbers along dimensions."""
    for i, dim in enumerate(dims):
        factor = scale if i == len(dims) - 1 else 1
        x = _shown(_data(x, dim).transformed(forward, factor), x.shape)
    return x


def _dims(dim: Ints, x: Tensor) -> list[int] | None:
    found = [d % x.dim() for d in dim if type(d) is int and -x.dim() <= d < x.dim()]
    return found if len(found) == len(dim) == len(set(found)) else None


@there(_core.kernels.fft_c2c)
def _fft_c2c(x: Tensor, dim: Ints, scale: float, forward: bool) -> Tensor:
    dims = _dims(dim, x) if is_complex(x) else None
    if not dims or not x.numel():
        return NotImplemented
    return _along(x, dims, scale, forward)


@there(_core.kernels.fft_r2c, takes="float32 float64")
def _fft_r2c(x: Tensor, dim: Ints, scale: float, onesided: bool, edges: float) -> Tensor:
    dims = _dims(dim, x)
    if not dims or not x.numel() or edges not in (0.5, 1):
        return NotImplemented
    last, rest = dims[-1], dims[:-1]
    found = _data(x, last).transformed(True, 1 if rest else scale)
    shape = list(x.shape)
    if onesided:
        ends = _table("ends", shape[last], x) if edges != 1 else None
        shape[last] = shape[last] // 2 + 1
        found = found.multiplied(shape[last], ends, 1)
    return _along(_shown(found, shape), rest, scale, True)


@there(_core.kernels.fft_c2r)
def _fft_c2r(x: Tensor, dim: int, scale: float, n: int, edges: float) -> Tensor:
    dims = _dims((dim,), x) if is_complex(x) else None
    if not dims or not x.numel() or x.shape[dims[0]] not in (n, n // 2 + 1):
        return NotImplemented
    data, shape = _data(x, dims[0]), list(x.shape)
    whole = data
    if data.length == n // 2 + 1:
        whole = data.room(n)
        items = data.outer * n * data.inner
        sizes = items, n, data.inner, number(edges, data.memory)
        start(_FILE, "mirror", items, data.memory, data.memory, whole.memory, *sizes)
    shape[dims[0]] = n
    return _shown(whole.transformed(False, scale, real=True), shape)
