"""Covariance and correlation, differences along dimensions, histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._base.errors import warn
from ..._levels.running import answered
from ...return_types import named
from ..elementwise.complex_numbers import complex, imag, real
from ..layout.joining import cat
from ..making.creation import linspace
from ..making.factory import room_for
from ..matrix.products import matmul
from ..table.arrays import anywhere, dims_in, elements, listed
from ..table.kinds import composite
from ..table.signature import Tensor

# ---- covariance


def _check_weights(what: str, weights: Tensor, kind: str, right: bool, count: int) -> None:
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {what} to have one or fewer dimensions but got {what} with "
            f"{weights.ndim} dimensions"
        )
    if not right:
        raise RuntimeError(
            f"cov(): expected {what} to have {kind} dtype but got {what} with "
            f"{weights.dtype.scalar_name} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {what} to have the same numel as there are observations in the input "
            f"but got {weights.numel()} != {count}"
        )
    if anywhere(weights < 0):
        raise RuntimeError(f"cov(): {what} cannot be negative")


@composite(samples=lambda make: [(make(2, 5),), (make(4),), (make(3, 5), {"correction": 0})])
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of the rows: variables, each column an observation of all.

    fweights: how often each observation was made; aweights: how much it counts. correction: taken
    off the number of observations that the sum is divided by.
    """
    if input.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    if input.dtype.name == "bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape(1, -1) if input.ndim < 2 else input
    count = x.shape[1]
    w: Any = None
    if fweights is not None:
        whole = not (fweights.dtype.is_floating_point or fweights.dtype.is_complex)
        right = whole and fweights.dtype.name != "bool"
        _check_weights("fweights", fweights, "integral", right, count)
        w = fweights
    if aweights is not None:
        right = aweights.dtype.is_floating_point
        _check_weights("aweights", aweights, "floating point", right, count)
        w = aweights if w is None else w * aweights
    total: Any = count if w is None else w.sum()
    if w is not None and anywhere(total == 0):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (x if w is None else x * w).sum(1) / total
    if aweights is None or correction == 0:
        left = total - correction
    else:
        left = total - correction * (w * aweights).sum() / total
    if anywhere(left <= 0) if isinstance(left, _core.Tensor) else left <= 0:
        warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
            "of observations."
        )
        left = 0
    x = x - mean.unsqueeze(1)
    return (matmul(x, (x if w is None else x * w).mH) / left).squeeze()


@composite(samples=lambda make: [(make(2, 5),), (make(3, 4),)])
def corrcoef(input: Tensor) -> Tensor:
    """The correlations of the rows: `cov` divided by the standard deviations, from -1 to 1."""
    if input.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    c = cov(input)
    if not c.ndim:
        return c / c
    d = c.diagonal()
    deviation = (real(d) if d.dtype.is_complex else d).sqrt()
    c = c / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if c.dtype.is_complex:
        return complex(real(c).clamp(-1, 1), imag(c).clamp(-1, 1))
    return c.clamp(-1, 1)


# ---- differences


def _uneven(x: Tensor, at: Tensor, dim: int, edge_order: int) -> Tensor:
    """The parabola through each value and its neighbours, at coordinates."""
    n = x.shape[dim]
    if at.shape != (n,):
        raise RuntimeError(
            f"torch.gradient expected the coordinates of dimension {dim} to be of the shape [{n}], "
            f"but they are of {listed(at.shape)}"
        )
    tail = (1,) * (x.ndim - dim - 1)
    h = at.diff().reshape(-1, *tail)
    x = x.to(_core.result_type((x, h)))  # before the differences
    rise = x.diff(dim=dim) / h
    if n > 2:
        low, high = h.narrow(0, 0, n - 2), h.narrow(0, 1, n - 2)
        before, after = rise.narrow(dim, 0, n - 2), rise.narrow(dim, 1, n - 2)
        middle = (before * high + after * low) / (low + high)
    first, last = rise.narrow(dim, 0, 1), rise.narrow(dim, n - 2, 1)
    if edge_order == 2:
        one, two = h.narrow(0, 0, 1), h.narrow(0, 1, 1)
        first = first + (first - rise.narrow(dim, 1, 1)) * one / (one + two)
        one, two = h.narrow(0, n - 2, 1), h.narrow(0, n - 3, 1)
        last = last + (last - rise.narrow(dim, n - 3, 1)) * one / (one + two)
    return cat([first, middle, last] if n > 2 else [first, last], dim)


def _even(x: Tensor, step: float, dim: int, edge_order: int) -> Tensor:
    n = x.shape[dim]

    def at(i: int, count: int = 1) -> Tensor:
        return x.narrow(dim, i, count)

    if edge_order == 1:
        first, last = at(1) - at(0), at(n - 1) - at(n - 2)
    else:
        first = at(1) * 2 - at(0) * 1.5 - at(2) * 0.5
        last = at(n - 1) * 1.5 - at(n - 2) * 2 + at(n - 3) * 0.5
    middle = (at(2, n - 2) - at(0, n - 2)) / (2 * step)
    return cat([first / step, middle, last / step], dim)


@composite(method=False, samples=lambda make: [(make(4, 5),), (make(4), {"spacing": 2.0})])
def gradient(
    input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The slopes along each dimension: central differences, one-sided ones at the edges.

    spacing: the distance of values, one for each dimension, or their coordinates as tensors.
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    given = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    several = isinstance(spacing, (tuple, list))
    if several and len(spacing) != len(given):
        if dim is None:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                f"equal to 'self.dim() = {input.ndim}', since dim argument was not given, but got "
                f"a list of length {len(spacing)}"
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
            f"arguments to have the same length, but got a spacing argument of length "
            f"{len(spacing)} and a dim argument of length {len(given)}."
        )
    if isinstance(spacing, _core.Tensor):
        raise TypeError(
            "gradient(): argument 'spacing' must be Number, tuple of Scalars or tuple of Tensors, "
            "not Tensor"
        )
    dims = dims_in(given, input.ndim)
    for d in dims:
        if input.shape[d] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    if input.dtype.name == "uint8":
        raise RuntimeError("torch.gradient does not support uint8 input.")
    steps = spacing if several else [1.0 if spacing is None else spacing] * len(dims)
    return tuple(
        _uneven(input, step, d, edge_order)
        if isinstance(step, _core.Tensor)
        else _even(input, step, d, edge_order)
        for d, step in zip(dims, steps, strict=True)
    )


# ---- histograms

_histogram_result = named("histogram", "hist", "bin_edges")
_histogramdd_result = named("histogramdd", "hist", "bin_edges", out=False)


def _edges(x: Tensor, column: Tensor, bins: Any, low_high: Any, dim: int) -> Tensor:
    """The edges of the bins of one dimension: as given, or at equal distances."""
    if isinstance(bins, _core.Tensor):
        if bins.dtype is not x.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
                f"got input with dtype {x.dtype.c_name} and bins for dimension {dim} with dtype "
                f"{bins.dtype.c_name}"
            )
        if bins.ndim != 1:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have one dimension, but got {bins.ndim} "
                f"dimensions in the bins tensor for dimension {dim}"
            )
        if not bins.numel():
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements "
                f"in the bins tensor for dimension {dim}"
            )
    count = bins.numel() - 1 if isinstance(bins, _core.Tensor) else bins
    if count < 1:
        raise RuntimeError(
            f"torch.histogram(): bins must be > 0, but got {count} for dimension {dim}"
        )
    if isinstance(bins, _core.Tensor):
        return bins
    if low_high is not None:
        low, high = low_high
    else:
        found = column.aminmax() if column.numel() else (0.0, 1.0)
        low, high = (float(end) for end in found)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite"
        )
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} "
            f"for dimension {dim}"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, count + 1, dtype=x.dtype, device=x.device)


def _counted(
    x: Tensor, bins: Sequence[Any], limits: Any, weight: Tensor | None, density: bool
) -> tuple[Tensor, list[Tensor]]:
    """Of each row of x, the bin that it falls into, counted."""
    if x.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{x.dtype.scalar_name}'")
    if weight is not None:
        if weight.dtype is not x.dtype:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
                f"should have the same dtype, but got input({x.dtype.c_name}), and "
                f"weight({weight.dtype.c_name})"
            )
        if tuple(weight.shape) != tuple(x.shape[:-1]):
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as "
                "the input tensor excluding its innermost dimension, but got input with shape "
                f"{listed(x.shape)} and weight with shape {listed(weight.shape)}"
            )
    n = x.shape[-1]
    if limits is not None and len(limits) != 2 * n:
        raise RuntimeError(
            f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} "
            f"elements, but got {len(limits)}"
        )
    rows = x.reshape(math.prod(x.shape[:-1]), n)
    pairs = [None] * n if limits is None else [limits[2 * i : 2 * i + 2] for i in range(n)]
    edges = [_edges(x, rows[:, i], bins[i], pairs[i], i) for i in range(n)]
    shape = tuple(e.numel() - 1 for e in edges)
    room_for(math.prod(shape))
    for each in (rows, *edges, *([] if weight is None else [weight])):
        bool(elements(each[:0]).any())  # a batch says here that it cannot be read
    counts = _core.kernels.bin_counts(rows, edges, weight) if n else rows.new_zeros(())
    if density:
        counts = counts / counts.sum()
        for i, edge in enumerate(edges):
            counts = counts / edge.diff()[(...,) + (None,) * (n - 1 - i)]
    return counts, edges


@composite(
    out=[
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
        "{want.c_name} and hist {got.c_name}"
    ],
)
@answered("by_element")
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many values fall into each bin, and the edges of the bins; the last has its right edge.

    bins: their number, over the range of the values unless told, or the edges. It is not
    differentiable.
    """
    x = input.detach().reshape(-1, 1)
    if weight is not None:
        if weight.shape != input.shape:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as "
                f"the input tensor excluding its innermost dimension, but got input with shape "
                f"{listed(x.shape)} and weight with shape {listed(weight.shape)}"
            )
        weight = weight.detach().reshape(-1)
    hist, edges = _counted(x, [bins], range, weight, density)
    return _histogram_result((hist, edges[0].clone()))


@composite(method=False)
@answered("by_element")
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many rows fall into each bin of a grid, and the edges of each dimension."""
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    n = input.shape[-1]
    each = [bins] * n if isinstance(bins, int) else list(bins)
    if len(each) != n:
        if isinstance(each[0], Tensor):
            raise RuntimeError(
                f"torch.histogramdd: expected {n} sequences of bin edges for a {n}-dimensional "
                f"histogram but got {len(each)}"
            )
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    hist, edges = _counted(input.detach(), each, range, weight, density)
    return _histogramdd_result((hist, tuple(e.clone() for e in edges)))
