"""Discrete Fourier transforms: torch.fft.

Three ops do the work: complex to complex, real to its spectrum, and a half spectrum back to real
numbers, over one dimension. The spectrum may be a half: the other half follows. The kernels compute
in the precision of the argument. The ops get dimensions counted from the end, so a batch in front
changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._base.dtypes import complex64, complex128, float32, float64, get_default_dtype
from ..._core import Op, Tensor
from ..layout.joining import cat
from ..layout.rearrange import roll
from ..making.creation import arange
from ..table.arrays import dim_in
from ..table.kinds import composite, linear
from ..table.signature import Ints, Keywords

# ---- the three ops

c2c: Op = linear(
    "_fft_c2c(input: Tensor, dim: Sizes, scale: float, forward: bool)",
    _core.kernels.fft_c2c,
    transpose={"input": lambda g, dim, scale, forward: c2c(g, dim, scale, not forward)},
    node="FftC2CBackward0",
    where="",
    out=False,
    batch="trailing",
    formula={"input": "the adjoint transform of g"},
    doc="The sums over dimensions with weights exp(-2 pi i j k / n), or +, times a scale.",
)


def _r2c_back(
    g: Tensor, dim: Sequence[int], scale: float, onesided: bool, edges: float, size: int
) -> Tensor:
    """Real parts. Of a half an entry stands for itself, where it stood for its mirror image too."""
    if dim[1:]:
        g = c2c(g, dim[:-1], 1.0, False)
    return c2r(g, dim[-1], scale / 2, size, 2 * edges) if onesided else c2r(g, dim[-1], scale, size)


r2c: Op = linear(
    "_fft_r2c(input: Tensor, dim: Sizes, scale: float, onesided: bool, edges: float = 1.0)",
    _core.kernels.fft_r2c,
    transpose={
        "input": lambda g, dim, scale, onesided, edges, input_shape: _r2c_back(
            g, dim, scale, onesided, edges, input_shape[dim[-1]]
        )
    },
    node="FftR2CBackward0",
    where="",
    out=False,
    batch="trailing",
    formula={"input": "the adjoint transform of g"},
    doc="The transform of real numbers over dimensions, of the last one the half, times a scale.",
)


def _c2r_back(g: Tensor, dim: int, scale: float, n: int, edges: float, size: int) -> Tensor:
    """An entry stands for its mirror image too, but for the first and the middle one."""
    if size == n // 2 + 1:
        return r2c(g, (dim,), 2 * scale, True, edges / 2)
    return r2c(g, (dim,), scale, False)


c2r: Op = linear(
    "_fft_c2r(input: Tensor, dim: int, scale: float, n: int, edges: float = 1.0)",
    _core.kernels.fft_c2r,
    transpose={
        "input": lambda g, dim, scale, n, edges, input_shape: _c2r_back(
            g, dim, scale, n, edges, input_shape[dim]
        )
    },
    node="FftC2RBackward0",
    where="",
    out=False,
    batch="trailing",
    formula={"input": "the adjoint transform of g"},
    doc="Real numbers from their transform, or the first half of it, times a scale.",
)

# ---- arguments


def _resized(input: Tensor, dim: int, size: int) -> Tensor:
    """Cut, or with zeros at the end."""
    has = input.shape[dim]
    if size <= has:
        return input if size == has else input.narrow(dim, 0, size)
    shape = list(input.shape)
    shape[dim] = size - has
    return cat([input, input.new_zeros(shape)], dim)


def _scale(norm: str | None, count: int, forward: bool) -> float:
    if norm is None or norm == "backward":
        return 1.0 if forward else 1 / count
    if norm == "forward":
        return 1 / count if forward else 1.0
    if norm != "ortho":
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return 1 / math.sqrt(count)


def _floating(input: Tensor) -> Tensor:
    dtype = input.dtype
    if dtype is float32 or dtype.is_complex:
        return input
    if not dtype.is_floating_point:
        return input.to(get_default_dtype())
    if dtype.itemsize == 2:
        raise RuntimeError(f"Unsupported dtype {dtype.scalar_name}")
    return input


def _as_complex(input: Tensor) -> Tensor:
    input = _floating(input)
    if input.dtype.is_complex:
        return input
    return input.to(complex128 if input.dtype is float64 else complex64)


def _from_end(dim: int, ndim: int) -> int:
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return dim if -ndim <= dim < 0 else dim_in(dim, ndim) - ndim


def _dims_and_sizes(
    input: Tensor, s: Ints | None, dim: Ints | None
) -> tuple[list[int], list[int] | None]:
    """The dimensions, counted from the end, and the size of each, -1 for one not given."""
    sizes = [s] if isinstance(s, int) else None if s is None else list(s)
    ndim = input.ndim
    if dim is not None:
        dims = [_from_end(d, ndim) for d in ([dim] if isinstance(dim, int) else dim)]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if sizes is not None and len(sizes) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        return dims, sizes
    count = ndim if sizes is None else len(sizes)
    if count > ndim:
        raise RuntimeError(
            f"Got shape with {count} values but input tensor only has {ndim} dimensions."
        )
    return list(range(-count, 0)), sizes


def _positive(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _all_resized(value: Tensor, dims: list[int], sizes: list[int] | None) -> tuple[Tensor, int]:
    """And how many numbers a transform then has."""
    shape, count = value.shape, 1
    if sizes is None:
        for d in dims:
            count *= shape[d]
        if count:
            return value, count
    for i, d in enumerate(dims):
        has = shape[d]
        n = _positive(has if sizes is None or sizes[i] == -1 else sizes[i])
        if n != has:
            value = _resized(value, d, n)
        count *= n
    return value, count


# ---- the transforms, over any dimensions


def _whole(
    input: Tensor, dims: list[int], sizes: list[int] | None, norm: str | None, forward: bool
) -> Tensor:
    value = _floating(input) if forward and dims else _as_complex(input)
    value, count = _all_resized(value, dims, sizes)
    scale = _scale(norm, count, forward)
    if not value.dtype.is_complex:
        return r2c(value, dims, scale, False)
    return c2c(value, dims, scale, forward) if dims else value.clone()


def _to_half(
    input: Tensor, dims: list[int], sizes: list[int] | None, norm: str | None, forward: bool
) -> Tensor:
    value, count = _all_resized(_floating(input), dims, sizes)
    scale = _scale(norm, count, forward)
    if forward:
        return r2c(value, dims, scale, True)
    half = r2c(value, dims[-1:], scale, True).conj()  # of several dimensions, as PyTorch has it
    return c2c(half.resolve_conj(), dims[:-1], 1.0, False) if dims[1:] else half


def _from_half(
    input: Tensor, dims: list[int], sizes: list[int] | None, norm: str | None, forward: bool
) -> Tensor:
    value = _as_complex(input)
    last, others = dims[-1], dims[:-1]
    has = value.shape[last]
    n = _positive(2 * (has - 1) if sizes is None or sizes[-1] == -1 else sizes[-1])
    value, count = _all_resized(value, others, sizes) if others else (value, 1)
    if has != n // 2 + 1:
        value = _resized(value, last, n // 2 + 1)
    scale = _scale(norm, n * count, forward)
    value = value.conj().resolve_conj() if forward else value
    return c2r(c2c(value, others, 1.0, False) if others else value, last, scale, n)


# ---- the public functions: three forms of each


def _family(name: str, run: Callable[..., Tensor], forward: bool, doc: str) -> None:
    wants_real = run is _to_half

    def one(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        if wants_real and input.dtype.is_complex:
            raise RuntimeError(
                f"{name} expects a real input tensor, but got {input.dtype.scalar_name}"
            )
        sizes = None if n is None else [_positive(n)]
        return run(input, [_from_end(dim, input.ndim)], sizes, norm, forward)

    def several(
        input: Tensor, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None
    ) -> Tensor:
        if wants_real and input.dtype.is_complex:
            kind = input.dtype.scalar_name
            raise RuntimeError(
                f"rfftn expects a real-valued input tensor, but got {kind}"
                if forward
                else f"Only supports floating-point dtypes, but found: {kind}"
            )
        dims, sizes = _dims_and_sizes(input, s, dim)
        if run is not _whole and not dims:
            raise RuntimeError(f"{name}n must transform at least one axis")
        input = _as_complex(input) if run is _whole else input  # PyTorch's way for several
        return run(input, dims, sizes, norm, forward)

    def two(
        input: Tensor, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None
    ) -> Tensor:
        return several(input, s, dim, norm)

    def samples(make: Any) -> Any:
        return [(make(4, 3),)]

    def out_of(end: str) -> tuple[str, type, str]:
        what = "floating point" if run is _from_half else "complex"
        said = "fftn" if run is _whole and end else name + end  # of the inverse, too
        text = f"{said} expects a {what} output tensor, but got {{got.scalar_name}}"
        return "kind", RuntimeError, text

    over = {"": "one dimension", "2": "two dimensions", "n": "several dimensions (all)"}
    for end, function in (("", one), ("2", two), ("n", several)):
        composite(
            where="fft",
            method=False,
            name=name + end,
            said=f"fft_{name}{end}",
            samples=samples,
            autocast="float32 here" if name not in ("hfft", "ihfft") or not end else "",
            doc=f"{doc} over {over[end]}.",
            out=out_of("n" if end == "2" else end),
        )(function)


_family("fft", _whole, True, "The discrete Fourier transform")
_family("ifft", _whole, False, "The inverse of the discrete Fourier transform")
_family("rfft", _to_half, True, "The first half of the Fourier transform of real numbers")
_family("irfft", _from_half, False, "Real numbers from the first half of their transform")
_family("hfft", _from_half, True, "The real transform of a signal given by its first half")
_family("ihfft", _to_half, False, "The first half of the inverse transform of real numbers")

# ---- frequencies, and their order


def _frequencies(name: str, n: int, d: float, half: bool, how: dict[str, Any]) -> Tensor:
    dtype = how.setdefault("dtype", None) or get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    how["dtype"] = dtype
    requires_grad = how.pop("requires_grad", False)
    count = n // 2 + 1 if half else n
    steps = _core.kernels.arange(count, **how)
    if steps is NotImplemented:
        steps = arange(count, **how)
    if n and not half:
        steps.narrow(0, (n + 1) // 2, n // 2).sub_(n)
    steps.mul_(1.0 / (n * d) if n else 1.0)
    return steps.requires_grad_() if requires_grad else steps


@composite(where="fft", method=False, said="fft_fftfreq")
def fftfreq(n: int, d: float = 1.0, **how: Keywords) -> Tensor:
    """The frequencies of `fft` over n samples at distance d: from 0 up, then the negative ones."""
    return _frequencies("fftfreq", n, d, False, how)


@composite(where="fft", method=False, said="fft_rfftfreq")
def rfftfreq(n: int, d: float = 1.0, **how: Keywords) -> Tensor:
    """The frequencies of `rfft` over n samples at distance d: from 0 up."""
    return _frequencies("rfftfreq", n, d, True, how)


def _half_turned(input: Tensor, dim: Ints | None, up: int) -> Tensor:
    given = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = [dim_in(d, input.ndim) for d in given]
    return roll(input, [(input.shape[d] + up) // 2 for d in dims], dims) if dims else input.clone()


@composite(where="fft", method=False, said="fft_fftshift", samples=lambda make: [(make(4, 3),)])
def fftshift(input: Tensor, dim: Ints | None = None) -> Tensor:
    """Frequency 0 moved to the middle, along the dimensions (all)."""
    return _half_turned(input, dim, 0)


@composite(where="fft", method=False, said="fft_ifftshift", samples=lambda make: [(make(4, 3),)])
def ifftshift(input: Tensor, dim: Ints | None = None) -> Tensor:
    """Frequency 0 moved from the middle to the front: the inverse of `fftshift`."""
    return _half_turned(input, dim, 1)
