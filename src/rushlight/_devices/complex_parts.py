"""Functions of complex numbers by the real kernels.

A function that is linear over real numbers is called for the real and the imaginary parts, a
bilinear function for the four pairs of parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from .. import _core
from .._base import dtypes
from .._base.outside import np
from .._core import Tensor, kernels
from ..ops.elementwise import elementary
from ..ops.indexing import index_select, scatter
from ..ops.layers import padding
from ..ops.matrix import fused_products, norms, products
from ..ops.reduction import reductions
from ..ops.table.statement import OPS
from .complex import (
    COMPLEX,
    REAL,
    all_there,
    as_complex,
    as_pairs,
    cast,
    is_complex,
    mapped,
    new,
    part_of,
)
from .launch import Dims, Ints, empty
from .there import of_complex, own, there

# ---- real kernels by parts


def _parts_of(value: object, which: int) -> Any:
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
    if len(found) != 1 or found == {dtypes.complex32} or not all_there(*tensors):
        return False
    return not any(isinstance(value, dtypes.dtype) and value not in found for value in args)


def _linear(real: Callable[..., Any], number: int = -1) -> Callable[..., Any]:
    """A function that is linear in all complex arguments together; number: the place of one that
    may be no tensor."""

    def call(*args: Any) -> Tensor:
        if not _complexes(args):
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


@there(kernels.mean_backward, complex=True)
def mean_backward(g: Tensor, shape: Ints, dim: Dims, keepdim: bool) -> Tensor:
    from ..ops.reduction.there.reductions import axes_of

    axes = axes_of(dim, len(shape)) if is_complex(g) and type(keepdim) is bool else None
    if axes is None:
        return NotImplemented
    count = prod(shape[d] for d in axes)
    part = mapped("mul", g, 1 / count if count else np.nan, out=new(g.shape, g.dtype, [g]))
    return part if part is NotImplemented else _core.kernels.spread(part, shape, dim, keepdim)


def _multiplied(a: Tensor, b: Tensor, out: Tensor) -> bool:
    return mapped("mul", a, b, out=out) is not NotImplemented


@there(kernels.prod, reductions.prod, reductions._prod_dim, complex=True)
def prod_(z: Tensor, dim: int | None = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
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


@there(kernels.cumprod, complex=True)
def cumprod(z: Tensor, dim: int, dtype: Any = None) -> Tensor:
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


def _products(real: Callable[[Any, Any], Any], x: Tensor, y: Tensor, conj: bool = False) -> Any:
    """A function that is bilinear over real numbers, of x and y or the conjugate of y."""
    if not is_complex(x, y) or x.dtype is not y.dtype:
        return NotImplemented
    found = []
    for i, k in ((0, 0), (1, 1), (0, 1), (1, 0)):
        found.append(real(part_of(x, i), part_of(y, k)))
        if found[-1] is NotImplemented:
            return NotImplemented
    return _together("join_conj" if conj else "join_sums", *found)


def _bilinear(real: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is linear in each of its first two arguments, the only complex ones."""

    def call(x: Tensor, y: Tensor, *rest: object) -> Tensor:
        if _tensors(rest):
            return NotImplemented
        return _products(lambda a, b: real(a, b, *rest), x, y)

    return call


@there(products.vdot, complex=True)
def vdot(a: Tensor, b: Tensor) -> Tensor:
    return _products(own[kernels.matmul], b, a, conj=True)


def _biased(target: object, channels_last: bool = False) -> None:
    """A bilinear function of the first two arguments with a bias for each channel."""
    product = _bilinear(own[target])

    @there(target, complex=True)
    def call(x: Tensor, y: Tensor, bias: Tensor | None = None, *rest: object) -> Tensor:
        found = product(x, y, None, *rest)
        if found is NotImplemented or bias is None:
            return found
        if not is_complex(bias) or bias.dtype is not found.dtype or bias.dim() != 1:
            return NotImplemented
        inner = 0 if channels_last else y.dim() - 2
        added = _core.kernels.view(bias, (bias.shape[0], *(1,) * inner))
        return mapped("add", found, added, out=found)


_biased(kernels.convolution)
_biased(kernels.convolution_input)
_biased(kernels.linear, channels_last=True)


def _added(*targets: object) -> None:
    """A product with something added."""
    real = own[targets[0]]

    @there(*targets, complex=True)
    def call(input: Tensor, a: Tensor, b: Tensor, beta: Any = 1, alpha: float = 1) -> Tensor:
        numbers = all(isinstance(n, (bool, int, float, complex)) for n in (beta, alpha))
        if not numbers or not is_complex(input, a, b) or input.dtype is not a.dtype:
            return NotImplemented
        part = part_of(input, 0)
        found = _products(lambda x, y: real(part, x, y, 0, 1), a, b)
        if found is NotImplemented:
            return found
        if beta == 0:
            return mapped("mul", found, alpha, out=found)
        return mapped("add_products", found, alpha, input, beta, out=found)


_added(fused_products.addmm, kernels.addmm)
for _op in (
    fused_products.addmv,
    fused_products.baddbmm,
    fused_products.addbmm,
    fused_products.addr,
):
    _added(_op)


def _gradient(
    real: Callable[..., Any], g: Tensor, a: Tensor, b: Tensor, needs: Ints, i: int
) -> Any:
    """The gradient of a factor, the product of g and the other's conjugate, or of the bias."""
    alone = tuple(need if k == i else 0 for k, need in enumerate(needs))
    of_a, of_bias = i == len(needs) - 2, i == len(needs) - 3

    def of_parts(*factors: object) -> Tensor:
        found = real(*factors, alone)
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


def _gradients(kernel: object) -> None:
    """The gradients of a product by its factors."""
    real = own[kernel]

    @there(kernel, complex=True)
    def call(g: Tensor, a: Tensor, b: Tensor, needs: Ints) -> tuple[Tensor | None, ...]:
        if not is_complex(*(t for t in (g, a, b) if t is not None)):
            return NotImplemented
        found = [
            _gradient(real, g, a, b, needs, i) if need else None for i, need in enumerate(needs)
        ]
        return NotImplemented if any(f is NotImplemented for f in found) else tuple(found)


_gradients(kernels.matmul_backward)
_gradients(kernels.linear_backward)

# ---- what depends on sizes or truth alone


@there(norms.vector_norm, norms._distance_norm, complex=True)
def _of_sizes(z: Tensor, *rest: object) -> Tensor:
    """The norm of the absolute values."""
    if not _complexes((z, *rest)):
        return NotImplemented
    sizes = mapped("abs", z, out=new(z.shape, REAL[z.dtype], [z]))
    given = [_parts_of(value, 0) for value in rest]
    return sizes if sizes is NotImplemented else own[norms.vector_norm](sizes, *given)


def _of_truth(*targets: object) -> None:
    """A function of which elements are not 0."""
    real = own[targets[0]]

    @there(*targets, complex=True)
    def call(z: Tensor, *rest: object) -> Tensor:
        truth = cast(z, dtypes.bool) if is_complex(z) else NotImplemented
        return truth if truth is NotImplemented else real(truth, *rest)


_of_truth(reductions.any, kernels.any)
_of_truth(reductions.all, kernels.all)
_of_truth(kernels.count_nonzero)
_of_truth(kernels.nonzero)


def _spread_of(target: object, root: bool, mean: bool) -> None:
    """The variance: the sum of the real parts' and the imaginary parts' variances."""
    real = own[reductions._var_mean_op]

    @there(target, complex=True)
    def call(z: Tensor, *rest: object) -> Any:
        if not is_complex(z):
            return NotImplemented
        found = [real(part_of(z, which), *rest) for which in (0, 1)]
        if any(part is NotImplemented for part in found):
            return NotImplemented
        (of_re, re), (of_im, im) = found
        variance = mapped("add", of_re, of_im, out=of_re)
        if root and variance is not NotImplemented:
            variance = mapped("sqrt", variance, out=variance)
        return (variance, _together("join", re, im)) if mean else variance


_spread_of(kernels.var, root=False, mean=False)
_spread_of(reductions._std_op, root=True, mean=False)
_spread_of(reductions._var_mean_op, root=False, mean=True)
_spread_of(reductions._std_mean_op, root=True, mean=True)


@there(elementary._finite_only, complex=True)
def _nan_to_num(z: Tensor, *numbers: Any) -> Tensor:
    if not is_complex(z):
        return NotImplemented
    return as_complex(elementary.nan_to_num(as_pairs(z).contiguous(), *numbers))


# ---- what is linear in an argument that may be a number, or refuses complex numbers; then what
# follows from the kind

for _target, _number in (
    (scatter._scatter_value, 3),
    (index_select._index_fill_number, 3),
    (padding.constant_pad_nd, 2),
    (kernels.index_put, -1),
):
    there(_target, complex=True)(_linear(own[_target], _number))
there(kernels.nll_loss, complex=True)(lambda *_: NotImplemented)


def _by_kind() -> None:
    """The functions of linear and bilinear ops, and of the kernels that compute these."""
    ways = {"linear": _linear, "bilinear": _bilinear}
    made = {}
    for entry in OPS.values():
        if entry.kind in ways:
            for target in (entry.op, entry.op.forward):
                if target in own:
                    made[own[target]] = ways[entry.kind](own[target])
    for target, real in own.items():
        if real in made and target not in of_complex:
            there(target, complex=True)(made[real])


_by_kind()
