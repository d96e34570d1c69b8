"""Functions of complex numbers by the real kernels.

A function that is linear over real numbers is called for the real and the imaginary parts, one that
is bilinear for the four pairs of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ... import _core
from ... import _dtypes as dtypes
from ..._core import Tensor
from . import kernel, table
from ._complex import (
    COMPLEX,
    REAL,
    as_complex,
    as_pairs,
    cast,
    is_complex,
    mapped,
    new,
    part_of,
    there,
)
from ._launch import empty

# ---- real kernels by parts


def _parts_of(value: Any, which: int) -> Any:
    """An argument as a call for the real or imaginary parts gets it."""
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        return type(value)(_parts_of(v, which) for v in value)
    if isinstance(value, dtypes.dtype):
        return REAL.get(value, value)
    return part_of(value, which) if isinstance(value, Tensor) and value.dtype.is_complex else value


def _tensors(args: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for value in args:
        if isinstance(value, (list, tuple)):
            found += _tensors(value)
        elif isinstance(value, Tensor):
            found.append(value)
    return found


def _together(function: str, *parts: Any) -> Any:
    """The complex results of a function of real ones, which may be tuples of them."""
    if any(part is NotImplemented for part in parts):
        return NotImplemented
    if isinstance(parts[0], tuple):
        found = tuple(_together(function, *each) for each in zip(*parts, strict=True))
        return NotImplemented if any(f is NotImplemented for f in found) else found
    if parts[0] is None:
        return None
    return mapped(function, *parts, out=new(parts[0].shape, COMPLEX[parts[0].dtype], parts))


def _complexes(args: Sequence[Any]) -> bool:
    """Whether the tensors among them are on a device, and the complex ones of one type."""
    tensors = _tensors(args)
    found = {t.dtype for t in tensors if t.dtype.is_complex}
    if len(found) != 1 or found == {dtypes.complex32} or not there(*tensors):
        return False
    return not any(isinstance(value, dtypes.dtype) and value not in found for value in args)


def _linear(name: str, number: int = -1) -> Callable[..., Any]:
    """A function that is linear in all complex arguments together; number: the place of one that
    may be no tensor."""

    def call(*args: Any) -> Any:
        real = table.get(name)
        if real is None or not _complexes(args):
            return NotImplemented
        found = []
        for which in (0, 1):
            given = [_parts_of(a, which) for a in args]
            if 0 <= number < len(args) and isinstance(args[number], (bool, int, float, complex)):
                value = complex(args[number])
                given[number] = value.imag if which else value.real
            if any(isinstance(value, complex) for value in given):
                return NotImplemented
            found.append(real(*given))
        return _together("join", *found)

    return call


_LINEAR = (
    "sum _sum_dims sum_to mean _mean_dims cumsum trace _trace_transpose "
    "_strided_backward _strided_gather _strided_scatter _strided_zeroed _unfold_backward "
    "_col2im _im2col embedding_backward _embedding_transpose gather_backward index_backward "
    "_take_backward max_pool_backward index_add scatter_add index_put put _scatter_zero "
    "_index_fill_tensor slice_scatter select_scatter diagonal_scatter "
    "avg_pool avg_pool_backward adaptive_avg_pool adaptive_avg_pool_backward"
).split()
_LINEAR += [
    f"_{kind}{n}d{end}"
    for kind in ("reflect_pad", "replicate_pad", "circular_pad", "avg_pool", "adaptive_avg_pool")
    for n in (1, 2, 3)
    for end in ("", "_transpose")
]
for _name in _LINEAR:
    kernel(_name, complex=True)(_linear(_name))
for _name, _place in (("_scatter_value", 3), ("_index_fill_number", 3), ("constant_pad_nd", 2)):
    kernel(_name, complex=True)(_linear(_name, _place))


@kernel("mean_backward", complex=True)
def mean_backward(g: Any, shape: Any, dim: Any, keepdim: Any) -> Any:
    from ._reductions import axes_of

    axes = axes_of(dim, len(shape)) if is_complex(g) and type(keepdim) is bool else None
    if axes is None:
        return NotImplemented
    count = prod(shape[d] for d in axes)
    part = mapped("mul", g, 1 / count if count else np.nan, out=new(g.shape, g.dtype, [g]))
    return part if part is NotImplemented else _core.kernels.spread(part, shape, dim, keepdim)


def _multiplied(a: Tensor, b: Tensor, out: Tensor) -> bool:
    return mapped("mul", a, b, out=out) is not NotImplemented


@kernel("prod", "_prod_dim", complex=True)
def prod_(z: Any, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
    """The products of pairs, until one is left."""
    if not is_complex(z) or dtype not in (None, z.dtype) or type(keepdim) is not bool:
        return NotImplemented
    if dim is None:
        z, dim, keepdim = _core.kernels.reshape(z, (z.numel(),)), 0, False
    if type(dim) is not int or not -z.dim() <= dim < z.dim():
        return NotImplemented
    dim %= z.dim()
    if not z.shape[dim]:
        return NotImplemented
    cut = _core.kernels.slice
    while (n := z.shape[dim]) > 1:
        half = n // 2
        out = empty([n - half if d == dim else size for d, size in enumerate(z.shape)], z)
        parts = (cut(z, dim, 0, half, 1), cut(z, dim, n - half, n, 1))
        if not _multiplied(*parts, cut(out, dim, 0, half, 1)):
            return NotImplemented
        if n % 2:
            mapped("copy", cut(z, dim, half, half + 1, 1), out=cut(out, dim, half, half + 1, 1))
        z = out
    found = cast(z, z.dtype)
    return found if keepdim or found is NotImplemented else _core.kernels.select(found, dim, 0)


@kernel("cumprod", complex=True)
def cumprod(z: Any, dim: Any, dtype: Any = None) -> Any:
    """The products of 2, 4, 8, ... entries that end at each."""
    if not is_complex(z) or dtype not in (None, z.dtype) or type(dim) is not int:
        return NotImplemented
    if not -max(z.dim(), 1) <= dim < max(z.dim(), 1):
        return NotImplemented
    if not z.dim():
        return cast(z, z.dtype)
    cut, dim, apart, n = _core.kernels.slice, dim % z.dim(), 1, z.shape[dim]
    found = cast(z, z.dtype)
    while apart < n and found is not NotImplemented:
        before, found = found, cast(found, z.dtype)
        parts = cut(before, dim, 0, n - apart, 1), cut(before, dim, apart, n, 1)
        if not _multiplied(*parts, cut(found, dim, apart, n, 1)):
            return NotImplemented
        apart *= 2
    return found


def _products(real: Callable[[Any, Any], Any], x: Any, y: Any, conj: bool = False) -> Any:
    """A function that is bilinear over real numbers, of x and y or the conjugate of y."""
    if not is_complex(x, y) or x.dtype is not y.dtype:
        return NotImplemented
    found = []
    for i, k in ((0, 0), (1, 1), (0, 1), (1, 0)):
        found.append(real(part_of(x, i), part_of(y, k)))
        if found[-1] is NotImplemented:
            return NotImplemented
    return _together("join_conj" if conj else "join_sums", *found)


def _bilinear(name: str) -> Callable[..., Any]:
    """A function that is linear in each of its first two arguments, the only complex ones."""

    def call(x: Any, y: Any, *rest: Any) -> Any:
        real = table.get(name)
        if real is None or _tensors(rest):
            return NotImplemented
        return _products(lambda a, b: real(a, b, *rest), x, y)

    return call


for _name in ("matmul", "mm", "bmm", "mv", "dot", "_linalg_cross", "convolution_weight"):
    kernel(_name, complex=True)(_bilinear(_name))


@kernel("vdot", complex=True)
def vdot(a: Any, b: Any) -> Any:
    return _products(table["dot"], b, a, conj=True)


def _biased(name: str, channels_last: bool = False) -> Callable[..., Any]:
    """A bilinear function of the first two arguments with a bias for each channel."""
    product = _bilinear(name)

    def call(x: Any, y: Any, bias: Any = None, *rest: Any) -> Any:
        found = product(x, y, None, *rest)
        if found is NotImplemented or bias is None:
            return found
        if not is_complex(bias) or bias.dtype is not found.dtype or bias.dim() != 1:
            return NotImplemented
        inner = 0 if channels_last else y.dim() - 2
        added = _core.kernels.view(bias, (bias.shape[0], *(1,) * inner))
        return mapped("add", found, added, out=found)

    return call


for _name in ("convolution", "_convolution", "convolution_input", "_convolution_input"):
    kernel(_name, complex=True)(_biased(_name))
kernel("linear", "_linear_bias", complex=True)(_biased("linear", channels_last=True))


def _added(name: str) -> Callable[..., Any]:
    """A product with something added."""

    def call(input: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Any:
        numbers = all(isinstance(n, (bool, int, float, complex)) for n in (beta, alpha))
        if not numbers or not is_complex(input, a, b) or input.dtype is not a.dtype:
            return NotImplemented
        part = part_of(input, 0)
        found = _products(lambda x, y: table[name](part, x, y, 0, 1), a, b)
        if found is NotImplemented:
            return found
        if beta == 0:
            return mapped("mul", found, alpha, out=found)
        return mapped("add_products", found, alpha, input, beta, out=found)

    return call


for _name in ("addmm", "addmv", "baddbmm", "addbmm", "addr"):
    kernel(_name, complex=True)(_added(_name))


def _gradient(name: str, g: Any, a: Any, b: Any, needs: Any, i: int) -> Any:
    """The gradient of a bias, of a or of b alone: of g and the conjugate of the other factor."""
    alone = tuple(need if k == i else 0 for k, need in enumerate(needs))
    of_a, of_bias = i == len(needs) - 2, i == len(needs) - 3

    def of_parts(*factors: Any) -> Any:
        found = table[name](*factors, alone)
        return found if found is NotImplemented else found[i]

    if of_bias:
        return _together("join", *(of_parts(part_of(g, which), None, None) for which in (0, 1)))
    own, other = (a, b) if of_a else (b, a)
    if other is None:
        return NotImplemented
    like = None if own is None else part_of(own, 0)
    if of_a:
        return _products(lambda x, y: of_parts(x, like, y), g, other, conj=True)
    return _products(lambda x, y: of_parts(x, y, like), g, other, conj=True)


def _gradients(name: str) -> Callable[..., Any]:
    """The gradients of a product by its factors."""

    def call(g: Any, a: Any, b: Any, needs: Any) -> Any:
        if not is_complex(*(t for t in (g, a, b) if t is not None)):
            return NotImplemented
        found = [
            _gradient(name, g, a, b, needs, i) if need else None for i, need in enumerate(needs)
        ]
        return NotImplemented if any(f is NotImplemented for f in found) else tuple(found)

    return call


for _name in ("matmul_backward", "linear_backward"):
    kernel(_name, complex=True)(_gradients(_name))

# ---- what depends on sizes or truth alone


def _of_sizes(name: str) -> Callable[..., Any]:
    """A function of the absolute values."""

    def call(z: Any, *rest: Any) -> Any:
        if not _complexes((z, *rest)):
            return NotImplemented
        sizes = mapped("abs", z, out=new(z.shape, REAL[z.dtype], [z]))
        given = [_parts_of(value, 0) for value in rest]
        return sizes if sizes is NotImplemented else table[name](sizes, *given)

    return call


for _name in ("_vector_norm", "_distance_norm"):
    kernel(_name, complex=True)(_of_sizes(_name))


def _of_truth(name: str) -> Callable[..., Any]:
    """A function of which elements are not 0."""

    def call(z: Any, *rest: Any) -> Any:
        real = table.get(name)
        truth = cast(z, dtypes.bool) if real is not None and is_complex(z) else NotImplemented
        return truth if real is None or truth is NotImplemented else real(truth, *rest)

    return call


for _name in ("any", "all", "count_nonzero", "nonzero"):
    kernel(_name, complex=True)(_of_truth(_name))


def _spread_of(name: str, root: bool, mean: bool) -> Callable[..., Any]:
    """The variance, which is that of the real parts and that of the imaginary ones."""

    def call(z: Any, *rest: Any) -> Any:
        if not is_complex(z):
            return NotImplemented
        found = [table["_var_mean"](part_of(z, which), *rest) for which in (0, 1)]
        if any(part is NotImplemented for part in found):
            return NotImplemented
        (of_re, re), (of_im, im) = found
        variance = mapped("add", of_re, of_im, out=of_re)
        if root and variance is not NotImplemented:
            variance = mapped("sqrt", variance, out=variance)
        return (variance, _together("join", re, im)) if mean else variance

    return call


for _name in ("var", "_var", "_std", "_var_mean", "_std_mean"):
    kernel(_name, complex=True)(_spread_of(_name, "std" in _name, "mean" in _name))


@kernel("_nan_to_num", complex=True)
def _nan_to_num(z: Any, *numbers: Any) -> Any:
    from ...ops.elementwise.elementary import nan_to_num

    if not is_complex(z):
        return NotImplemented
    return as_complex(nan_to_num(as_pairs(z).contiguous(), *numbers))
