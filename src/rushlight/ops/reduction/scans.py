"""Cumulative ops along a dimension, differences and integrals, and counts of values."""

from __future__ import annotations

import math
from builtins import max as _largest
from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.outside import np, ufuncs
from ..._core import Op, Tensor
from ..elementwise.selection import unless, where
from ..layout.joining import cat
from ..layout.slices import slice_op
from ..making.creation import arange, ones_like, zeros
from ..table.arrays import Array, as_type, check_room, dim_in, rounded, scalar_name, widened
from ..table.kinds import composed, composite, constant, general, linear
from ..table.signature import Number
from .extremes import selecting
from .reductions import divisible, sum

_kernels = _core.kernels
_wrap = _core.wrap


def _cumulated(name: str, ufunc: Any) -> Any:
    def forward(a: Array, dim: int, dtype: Any) -> Array:
        if dtype is dtypes.bool and a.ndim:
            raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
        d = dim_in(dim, a.ndim)
        if a.ndim == 0:
            return a.copy()
        with np.errstate(all="ignore"):
            wide = widened(a)
            return rounded(ufunc.accumulate(wide, d, dtype=wide.dtype), a)

    return forward


def _from_the_end(g: Tensor, dim: int) -> Tensor:
    """The cumulative sum from the other end."""
    return cumsum(g.flip(dim), dim).flip(dim)


def _some(make: Callable[..., Any]) -> list[Any]:
    return [(make(3, 4), 0), (make(3, 4), -1), (make(), 0), (make(0, 3), 1)]


cumsum: Op = linear(
    "cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None)",
    _cumulated("cumsum", ufuncs.add),
    native=_kernels.cumsum,
    typed="inside",
    transpose={"input": lambda g, dim: _from_the_end(g, dim)},
    backward=(_kernels.cumsum_backward, "g dim"),
    in_place=True,
    out="dtype",
    samples=_some,
    kernel_name="cumsum_out_cpu",
    autocast="float32 there",
    doc="The sum of all entries so far, along a dimension.",
)


def _cumprod_grad(g: Tensor, input: Tensor, out: Tensor, dim: int) -> Any:
    if input.ndim == 0:
        return g
    if input.dtype is not out.dtype:
        input = input.to(out.dtype)
    if divisible(input, out):
        return _from_the_end(g * out.conj(), dim) / input.conj()
    if not out.numel():
        return g
    # The sum of g_i times the product of what follows up to i: of 1, 2, 4, ... terms.
    sums, x, before = g.movedim(dim, -1), input.conj().movedim(dim, -1), out.movedim(dim, -1)
    size, step = x.shape[-1], 1
    following = x.narrow(-1, 1, size - 1)
    while step < size:
        near, far = sums.narrow(-1, 0, size - step), sums.narrow(-1, step, size - step)
        rest = sums.narrow(-1, size - step, step)
        sums = cat([near + _finite_at_zero(following, far), rest], -1)
        left = _largest(size - 2 * step, 0)
        later = following.narrow(-1, size - step - left, left)
        following, step = following.narrow(-1, 0, left) * later, 2 * step
    before = cat([ones_like(x.narrow(-1, 0, 1)), before.narrow(-1, 0, size - 1)], -1)
    return _finite_at_zero(before.conj(), sums).movedim(-1, dim)


def _finite_at_zero(factor: Tensor, x: Tensor) -> Tensor:
    """factor * x, where an infinite factor leaves 0 as it is."""
    size = factor.detach().abs()
    return unless((size == math.inf) & (x.detach() == 0), factor, 0) * x


cumprod: Op = general(
    "cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None)",
    _cumulated("cumprod", ufuncs.multiply),
    native=_kernels.cumprod,
    typed="inside",
    vjp={"input": lambda g, input, out, dim: _cumprod_grad(g, input, out, dim)},
    backward=(_kernels.cumprod_backward, "g input dim"),
    in_place=True,
    out="dtype",
    samples=_some,
    formula={"input": "flip(cumsum(flip(g ⊙ out))) / input"},
    kernel_name="cumprod_out_cpu",
    autocast="float32 there",
    doc="The product of all entries so far, along a dimension.",
)


_SCALAR_TYPE = "expected scalar_type {want.scalar_name} but found {got.scalar_name}"


def _extreme_so_far(name: str, largest: bool) -> Op:
    def refused(a: Array, dim: int) -> Any:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{scalar_name(a)}'")

    return selecting(
        f"{name}(input: Tensor, dim: int)",
        refused,
        native=getattr(_kernels, name),
        keepdim=True,
        add=True,
        out=_SCALAR_TYPE,
        samples=lambda make: [(make(3, 4), 0), (make(3, 4), -1)],
        keeps="rows",
        doc=f"The {'largest' if largest else 'smallest'} entry so far along a dimension, and its "
        "index.",
    )


cummax = _extreme_so_far("cummax", True)
cummin = _extreme_so_far("cummin", False)


def _logcumsumexp(a: Array, dim: int) -> Array:
    raise NotImplementedError(f"\"logcumsumexp_out_cpu\" not implemented for '{scalar_name(a)}'")


def _logcumsumexp_grad(g: Tensor, input: Tensor, out: Tensor, dim: int) -> Any:
    if input.ndim == 0:
        return g

    def through(logs: Any) -> Any:
        return (logcumsumexp(logs.flip(dim), dim).flip(dim) + input).exp()

    if input.dtype.is_complex:
        return through(g.conj().log() - out).conj()

    def part(values: Any) -> Any:
        there = (values > 0) & (out != -np.inf)
        return through(where(there, where(there, values, 1).log() - where(there, out, 0), -np.inf))

    return part(g) - part(-g)


def _logcumsumexp_tangent(t: Tensor, input: Tensor, out: Tensor, dim: int) -> Any:
    if t.ndim == 0:
        return t
    # Weights exp(x_j - out_i) for j <= i: never above 1, where a quotient of sums could overflow.
    y = where(out == -np.inf, 0, out).movedim(dim, -1)
    x, t = input.movedim(dim, -1), t.movedim(dim, -1)
    row = arange(x.shape[-1], device=x.device)
    earlier = row <= row.unsqueeze(1)
    away = x.unsqueeze(-2) - y.unsqueeze(-1)
    weights = where(earlier, where(earlier, away, 0).exp(), 0)
    return (weights * t.unsqueeze(-2)).sum(-1).movedim(-1, dim)


logcumsumexp: Op = general(
    "logcumsumexp(input: Tensor, dim: int)",
    _logcumsumexp,
    native=_kernels.logcumsumexp,
    vjp={"input": lambda g, input, out, dim: _logcumsumexp_grad(g, input, out, dim)},
    backward=(_kernels.logcumsumexp_backward, "g input out dim"),
    jvp={"input": _logcumsumexp_tangent},
    out=_SCALAR_TYPE,
    samples=lambda make: [(make(3, 4), 0), (make(3, 4), -1)],
    keeps="rows",
    formula={"input": "exp(input) ⊙ flip(cumsum(flip(g ⊙ exp(−out))))"},
    kernel_name="logcumsumexp_out_cpu",
    doc="log(cumsum(exp(input))) along a dimension, without overflow.",
)

# ---- differences and integrals


diff = composed(
    "diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, "
    "append: Tensor | None = None)",
    _kernels.diff,
    samples=lambda make: [(make(3, 4),), (make(3, 4), 2, 0)],
    out="cast",
    doc="The differences of neighbours along a dimension, n times over.",
)


def _steps(y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Any:
    """The widths between neighbours: a number, or a tensor that fits the differences of y."""
    if x is None:
        return dx
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        x = x.reshape([-1 if i == dim else 1 for i in range(y.ndim)])
        return diff(x, dim=dim)
    return diff(x, dim=dim - y.ndim)


def _refuse_bools(name: str, y: Tensor, x: Tensor | None) -> None:
    if dtypes.bool in (y.dtype, None if x is None else x.dtype):
        which = "`y`" if x is None else "`x` or `y`"
        raise RuntimeError(f"{name}: received a bool input for {which}, but bool is not supported")


def _both_ends(y: Tensor, dim: int) -> tuple[Any, Any]:
    size = y.shape[dim]
    return slice_op(y, dim, 1, size, 1), slice_op(y, dim, 0, size - 1, 1)


@composite(
    method=False,
    samples=lambda make: [(make(3, 4),), (make(3, 4), make(4))],
    overloads=(
        "(y, x: Tensor, *, dim)",
        "(y, *, dx: Number = 1, dim)",
    ),
)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number = 1.0, dim: int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule."""
    _refuse_bools("trapezoid", y, x)
    d = dim_in(dim, y.ndim)
    if y.shape[d] == 0:
        return zeros([n for i, n in enumerate(y.shape) if i != d], dtype=y.dtype)
    if x is None:
        first, last = y.select(d, 0), y.select(d, -1)
        return (sum(y, d) - (first + last) * 0.5) * dx
    high, low = _both_ends(y, d)
    return sum((high + low) * _steps(y, x, dx, d), d) / 2.0


@composite(
    method=False,
    overloads=(
        "(y, *, dx: float = 1, dim)",
        "(y, x: Tensor, *, dim)",
    ),
)
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Number = 1.0, dim: int = -1) -> Tensor:
    """`trapezoid` under its older name."""
    return trapezoid(y, x, dx=dx, dim=dim)


@composite(
    method=False,
    samples=lambda make: [(make(3, 4),), (make(3, 4), make(4))],
    overloads=(
        "(y, x: Tensor, *, dim)",
        "(y, *, dx: Number = 1, dim)",
    ),
)
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Number = 1.0, dim: int = -1
) -> Tensor:
    """The integral up to each entry of a dimension by the trapezoidal rule."""
    _refuse_bools("cumulative_trapezoid", y, x)
    d = dim_in(dim, y.ndim)
    high, low = _both_ends(y, d)
    if x is None:
        return cumsum((high + low) * (dx / 2.0), d)
    return cumsum((high + low) * _steps(y, x, dx, d), d) / 2.0


# ---- counts of values


def _histogram(a: Array, bins: int, low: float, high: float) -> Array:
    if a.dtype.kind in "bc":
        kernel = "linspace_cpu" if a.dtype.kind == "b" else "aminmax_cpu"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(a)}'")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    if a.dtype.kind not in "fV":
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{scalar_name(a)}'")
    if bins <= 0:
        raise RuntimeError(f"histc(): bins must be > 0, but got {bins}")
    check_room((bins,))
    wide = widened(a).ravel()
    if low == high and wide.size:
        low, high = float(wide.min()), float(wide.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    # Each step is rounded to the type of the input.
    edges = np.asarray([low, high, bins]).astype(a.dtype)
    first, last, many = widened(edges)
    inside = wide[(wide >= first) & (wide <= last)]
    with np.errstate(all="ignore"):
        way = widened(rounded(inside - first, a))
        way = widened(rounded(way * many, a))
        way = widened(rounded(way / widened(rounded(last - first, a)), a))
    place = np.minimum(way.astype(np.intp), bins - 1)
    return np.bincount(place, minlength=bins).astype(a.dtype)


histc: Op = constant(
    "histc(input: Tensor, bins: int = 100, min: Number = 0, max: Number = 0)",
    _histogram,
    native=_kernels.histc,
    samples=lambda make: [(make(20), 4), (make(3, 4), 5, -1, 1)],
    doc="How many elements fall in each of `bins` equal intervals from min to max.",
)


def _bincount(a: Array, weights: Array | None, minlength: int) -> Array:
    if a.dtype.kind in "fcVb":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{scalar_name(a)}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if a.ndim != 1 or (a.size and a.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if a.size and a.max() == np.iinfo(np.int64).max:
        raise RuntimeError(
            "maximum value of input overflowed, it should be < 9223372036854775807 but got "
            "9223372036854775807"
        )
    a = np.asarray(a, np.intp)
    if weights is not None:
        if weights.shape != a.shape:
            raise RuntimeError("weights should be 1-d and have the same length as input")
        counts = np.bincount(a, as_type(weights, np.dtype(np.float64), copy=False), minlength)
        return counts.astype(np.float32 if weights.dtype == np.float32 else np.float64)
    return np.bincount(a, minlength=minlength).astype(np.int64)


def _no_gradient(g: Tensor) -> Any:
    raise RuntimeError(
        "derivative for aten::bincount is not implemented. Detach the weights first, or use "
        "zeros.index_add(0, input, weights), which has one."
    )


bincount: Op = general(
    "bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0)",
    _bincount,
    native=_kernels.bincount,
    vjp={"weights": _no_gradient},
    node="NotImplemented",
    out=False,
    samples=lambda make: [
        (make(6, kind="int"),),
        (make(6, kind="int"), make(6, kind="float64"), 5),
    ],
    traits="underived",
    by_values="bincount",
    doc="How often each of 0, 1, 2, ... occurs; with weights, the sum of theirs.",
)
