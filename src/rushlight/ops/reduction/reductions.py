"""Reductions: many elements to one, over all dimensions or some.

`dim` is None (all), an int or several; where a reduction takes several, `()` means all too.
`keepdim` keeps each reduced dimension with size 1. Sums of integers and bools are int64, as
torch's. The gradient of a reduction comes back through `spread_dims`, which shows the gradient in
the reduced shape without copying; the transpose of `spread_dims` is `sum`.
"""

from __future__ import annotations

import math
from builtins import max as _largest
from builtins import min as _smallest
from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._base.errors import warn
from ..._base.outside import np, ufuncs
from ..._core import Op, Tensor
from ..elementwise.selection import unless, where
from ..layout.joining import cat
from ..making.creation import ones_like
from ..table.arrays import (
    Array,
    anywhere,
    axes_of,
    by_axis,
    check_tensor,
    default_float,
    is_half,
    refuse,
    rounded,
    scalar_name,
    widened,
)
from ..table.kinds import composed, composite, constant, general, linear, variant
from ..table.reference import alias
from ..table.signature import Ints, dtype

_kernels = _core.kernels

# ---- what they share


def _count(shape: Sequence[int], dim: int | tuple[int, ...] | None) -> int:
    """How many elements each result of a reduction has."""
    n = 1
    for d in axes_of(dim, len(shape)):
        n *= shape[d]
    return n


spread_dims: Op = linear(
    "_spread(input: Tensor, shape: Any, dim: Ints, keepdim: bool)",
    _kernels.spread,
    transpose={"input": lambda g, dim, keepdim: _sum_dims(g, dim, keepdim)},
    node="ExpandBackward0",
    view=True,
    method=False,
    out=False,
    samples=lambda make: [
        (make(2), (2, 3), 1, False),
        (make(2, 1), (2, 3), 1, True),
        (make(), (2, 3), None, False),
    ],
    doc="A reduced tensor seen in the shape that was reduced.",
    written="{input}",
)

# ---- sums and means


def _sum(a: Array, dim: int | tuple[int, ...] | None, keepdim: bool, dtype: object) -> Array:
    like = np.empty(0, np.int64) if dtype is None and a.dtype.kind in "bui" else a
    axes = axes_of(dim, a.ndim)
    with np.errstate(all="ignore"):
        if is_half(like):
            return rounded(a.sum(axes, dtype=np.float32, keepdims=bool(keepdim)), like)
        total: Array = a.sum(axes, dtype=like.dtype, keepdims=bool(keepdim))
        return total


def _summing(name: str, node: str, **more: Any) -> Op:
    return linear(
        f"{name}(input: Tensor, dim: Ints | None = None, keepdim: bool = False, *, "
        "dtype: dtype | None = None)",
        _sum,
        typed="inside",
        kernel_name="sum_cpu",
        batch="reduced",
        native=_kernels.sum,
        transpose={
            "input": lambda g, input_shape, dim, keepdim: spread_dims(g, input_shape, dim, keepdim)
        },
        backward=(_kernels.spread, "g input_shape dim keepdim"),
        node=node,
        out="dtype",
        overloads=("(input, *, dtype)", "(input, dim: Ints | None, keepdim, *, dtype, out)"),
        formula={"input": "1 (expanded to input's shape)"},
        doc="The sum of all elements, or along dimensions.",
        **more,
    )


def reduced_samples(make: Callable[..., Any]) -> list[Any]:
    return [(make(2, 3), 0), (make(2, 3), (0, 1), True), (make(2, 3, 4), (-1, 0)), (make(), 0)]


sum: Any = _summing(
    "sum",
    "SumBackward0",
    samples=lambda make: [(make(2, 3),), (make(),), *reduced_samples(make)],
    autocast="float32 there",
)
_sum_dims: Any = _summing("_sum_dims", "SumBackward1", method=False, samples=reduced_samples)
variant(sum, "dim", "given", _sum_dims)


def _mean(a: Array, dim: int | tuple[int, ...] | None, keepdim: bool, dtype: object) -> Array:
    if a.dtype.kind in "bui":
        raise RuntimeError(_no_mean("Input dtype", scalar_name(a)))
    with np.errstate(all="ignore"):
        total = widened(a).sum(axes_of(dim, a.ndim), keepdims=bool(keepdim))
        return rounded(np.true_divide(total, _count(a.shape, dim), dtype=total.dtype), a)


def _check_type(input: Tensor, dtype: dtype) -> None:
    if not dtype.is_differentiable:
        raise RuntimeError(_no_mean("Optional dtype", dtype.scalar_name))


def _no_mean(what: str, got: str) -> str:
    return (
        f"mean(): could not infer output dtype. {what} must be either a floating point or complex "
        f"dtype. Got: {got}. Convert first, for instance with .float()."
    )


_FLOAT_DTYPE = (
    "float dtype",
    RuntimeError,
    "mean.dtype_out(): input types can't be cast to the desired output type {got.scalar_name}",
)


def _averaging(name: str, node: str, out: Any, **more: Any) -> Op:
    return linear(
        f"{name}(input: Tensor, dim: Ints | None = None, keepdim: bool = False, *, "
        "dtype: dtype | None = None)",
        _mean,
        typed="inside",
        kernel_name="sum_cpu",
        type_check=_check_type,
        batch="reduced",
        native=_kernels.mean,
        transpose={
            "input": lambda g, input_shape, dim, keepdim: spread_dims(
                g / (_count(input_shape, dim) or 1), input_shape, dim, keepdim
            )
        },
        backward=(_kernels.mean_backward, "g input_shape dim keepdim"),
        node=node,
        out=out,
        overloads=("(input, *, dtype, out)", "(input, dim: Ints | None, keepdim, *, dtype, out)"),
        formula={"input": "1 / n"},
        doc="The mean of all elements, or along dimensions.",
        **more,
    )


mean = _averaging(
    "mean",
    "MeanBackward0",
    _FLOAT_DTYPE,
    samples=lambda make: [(make(2, 3),), (make(),), *reduced_samples(make)],
)
_mean_dims = _averaging(
    "_mean_dims", "MeanBackward1", "float dtype", method=False, samples=reduced_samples
)
variant(mean, "dim", "given", _mean_dims)


_multiply: Any = ufuncs.multiply.reduce


def _prod(a: Array, dim: int | None, keepdim: bool, dtype: dtype | None) -> Array:
    if isinstance(dim, (tuple, list)):
        raise TypeError(
            f"prod() received an invalid combination of arguments - got ({type(dim).__name__}), "
            "but expected one dim. Call it once for each."
        )
    like = np.empty(0, np.int64) if dtype is None and a.dtype.kind in "bui" else a
    axes = axes_of(dim, a.ndim)
    with np.errstate(all="ignore"):
        wide = widened(a).astype(np.float32 if is_half(like) else like.dtype, copy=False)
        return rounded(_multiply(wide, axes, keepdims=bool(keepdim)), like)


def divisible(input: Tensor, out: Tensor) -> bool:
    """Whether factors may be divided out of their products: these are not 0, no factor infinite.

    And where the quotient may be differentiated, in whose derivative large numbers would cancel, no
    factor is small or infinite.
    """
    total = out.detach().abs()
    if anywhere(total == 0):
        return False
    if anywhere(~(total < math.inf)) and anywhere(input.detach().abs() == math.inf):
        return False
    if not _core.is_grad_enabled():
        return True
    size = input.detach().abs()
    return not anywhere(~((size > 1e-2) & (size < 1e12)))


def products_of_others(input: Tensor, groups: Tensor, most: int) -> Tensor:
    """For each element the product of all others of its group.

    The groups lie side by side along the last dimension, and have at most so many elements.
    """
    size = input.shape[-1]

    def before(x: Tensor, ids: Tensor) -> Tensor:
        def moved(x: Tensor, away: int) -> Tensor:
            other = ids.narrow(-1, away, size - away) != ids.narrow(-1, 0, size - away)
            start, rest = ones_like(x.narrow(-1, 0, away)), x.narrow(-1, 0, size - away)
            return cat([start, unless(other, rest, 1)], -1)

        x, reach = moved(x, 1), 1
        while reach < most - 1:
            x, reach = x * moved(x, reach), 2 * reach
        return x

    if not size:
        return input
    most = _smallest(most, size)
    return before(input, groups) * before(input.flip(-1), groups.flip(-1)).flip(-1)


def _others(input: Tensor, dim: int) -> Any:
    """For each element the product of all others along dim: of those before and those after."""
    size = input.shape[dim]
    one = ones_like(input.narrow(dim, 0, 1))
    before = cat([one, input.narrow(dim, 0, size - 1)], dim).cumprod(dim)
    turned = input.narrow(dim, 1, size - 1).flip(dim)
    return before * cat([one, turned], dim).cumprod(dim).flip(dim)


def _prod_grad(g: Tensor, input: Tensor, out: Tensor, dim: int | None, keepdim: bool) -> Any:
    g = spread_dims(g, input.shape, dim, keepdim)
    if divisible(input, out):
        return g * (spread_dims(out, input.shape, dim, keepdim) / input).conj()
    if dim is None:
        return g * _others(input.reshape(-1), 0).reshape(input.shape).conj()
    return g * (_others(input, dim) if input.ndim else ones_like(input)).conj()


def _multiplying(name: str, node: str, **more: Any) -> Op:
    return general(
        f"{name}(input: Tensor, dim: int | None = None, keepdim: bool = False, *, "
        "dtype: dtype | None = None)",
        _prod,
        native=_kernels.prod,
        typed="inside",
        kernel_name="prod_out_cpu",
        vjp={
            "input": lambda g, input, out, dim, keepdim: _prod_grad(
                g, _cast_to(input, out), out, dim, keepdim
            )
        },
        backward=(_kernels.prod_backward, "input g out dim keepdim"),
        batch="picked",
        node=node,
        out="dtype",
        overloads=("(input, *, dtype)", "(input, dim: int, keepdim, *, dtype, out)"),
        formula={"input": "out / input"},
        doc="The product of all elements, or along a dimension.",
        **more,
    )


def _cast_to(input: Tensor, out: Tensor) -> Tensor:
    return input if input.dtype is out.dtype else input.to(out.dtype)


prod = _multiplying(
    "prod",
    "ProdBackward0",
    samples=lambda make: [(make(2, 3),), (make(),), (make(2, 3), 1)],
    autocast="float32",
)
_prod_dim = _multiplying(
    "_prod_dim",
    "ProdBackward1",
    method=False,
    samples=lambda make: [(make(2, 3), 0), (make(2, 3), -1, True)],
)
variant(prod, "dim", "given", _prod_dim)


def _nansum(
    input: Tensor, dim: int | tuple[int, ...] | None, keepdim: bool, dtype: dtype | None
) -> Tensor:
    _no_complex_nansum(input.dtype.is_complex)
    kept = where(input.isnan(), 0, input) if input.dtype.is_floating_point else input
    return _sum_dims(kept, dim, keepdim, dtype=dtype)


def _check_nansum_type(input: Tensor, dtype: dtype) -> None:
    if dtype.is_complex:
        raise NotImplementedError(f"\"nansum_cpu\" not implemented for '{dtype.scalar_name}'")
    _no_complex_nansum(input.dtype.is_complex)


def _no_complex_nansum(is_complex: bool) -> None:
    if is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs")


_NANSUM_OUT = (
    "nansum: provided dtype must match dtype of result. Got {got.scalar_name} and "
    "{want.scalar_name}."
)
nansum: Op = general(
    "nansum(input: Tensor, dim: Ints | None = None, keepdim: bool = False, *, "
    "dtype: dtype | None = None)",
    native=_kernels.nansum,
    is_=_nansum,
    typed="inside",
    type_check=_check_nansum_type,
    vjp={
        "input": lambda g, input, input_shape, dim, keepdim: where(
            input.isnan(), 0, spread_dims(g, input_shape, dim, keepdim)
        )
    },
    out=("dtype", RuntimeError, _NANSUM_OUT),
    samples=reduced_samples,
    doc="`sum` with NaN counted as zero.",
    batch="reduced",
)


@composite(samples=reduced_samples, out="cast")
def nanmean(
    input: Tensor, dim: Ints | None = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """`mean` of what is not NaN."""
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{input.dtype.scalar_name}"
        )
    count = sum(~input.detach().isnan(), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


# ---- spread


def _var(a: Array, dim: int | tuple[int, ...] | None, correction: float, keepdim: bool) -> Array:
    axes = axes_of(dim, a.ndim)
    n = _count(a.shape, axes)
    wide = widened(a)
    with np.errstate(all="ignore"):
        away = wide - wide.mean(axes, keepdims=True)
        squares = (away * away.conj()).real if a.dtype.kind == "c" else away * away
        total = squares.sum(axes, keepdims=bool(keepdim))
        result = np.true_divide(total, _largest(n - correction, 0), dtype=total.dtype)
    return result if a.dtype.kind == "c" else rounded(result, a)


def _checked_var(name: str, input: Tensor, dim: Any, correction: float) -> None:
    check_tensor(name, input)
    array = input._form
    if array.dtype.kind in "bui":
        what = name if name.endswith("_mean") else "std and var"
        raise RuntimeError(
            f"{what} only support floating point and complex dtypes, not {input.dtype.scalar_name}"
        )
    count = array.size if dim is None else _count(array.shape, dim)
    if count - correction <= 0 and (dim is None or 0 not in _kept(array.shape, dim)):
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel)."
        )


def _kept(shape: Sequence[int], dim: tuple[int, ...]) -> list[int]:
    axes = axes_of(dim, len(shape))
    return [n for i, n in enumerate(shape) if i not in axes]


def _var_grad(
    g: Any, input: Any, dim: int | tuple[int, ...] | None, correction: float, keepdim: bool
) -> Any:
    free = _count(input.shape, dim) - correction
    scale = 2.0 / free if free > 0 else float("inf")
    return spread_dims(g, input.shape, dim, keepdim) * (input - mean(input, dim, True)) * scale


def _std_grad(
    g: object,
    input: object,
    out: object,
    dim: int | tuple[int, ...] | None,
    correction: float,
    keepdim: bool,
) -> Any:
    of_var = where(out == 0, 0, g / (2 * unless(out == 0, out, math.inf)))
    return _var_grad(of_var, input, dim, correction, keepdim)


_var_op: Op = general(
    "_var(input: Tensor, dim: Ints, correction: Number, keepdim: bool)",
    _var,
    native=_kernels.var,
    vjp={
        "input": lambda g, input, dim, correction, keepdim: _var_grad(
            g, input, dim, correction, keepdim
        )
    },
    method=False,
    out="cast",
    samples=lambda make: [(make(3, 4), None, 1, False), (make(3, 4), (1,), 0, True)],
    formula={"input": "2 · (input − mean(input)) / (n − correction)"},
    kernel_name="std_cpu",
    doc="The variance with a correction to the number of elements.",
    batch="reduced",
)
_std_op: Op = general(
    "_std(input: Tensor, dim: Ints, correction: Number, keepdim: bool)",
    lambda a, dim, correction, keepdim: _root(_var(a, dim, correction, keepdim)),
    native=_kernels.std,
    vjp={
        "input": lambda g, input, out, dim, correction, keepdim: _std_grad(
            g, input, out, dim, correction, keepdim
        )
    },
    method=False,
    out="cast",
    samples=lambda make: [(make(3, 4), None, 1, False), (make(3, 4), (1,), 0, True)],
    formula={"input": "(input − mean(input)) / ((n − correction) · out)"},
    doc="The standard deviation with a correction to the number of elements.",
    batch="reduced",
)


def _root(a: Array) -> Array:
    return rounded(np.sqrt(widened(a)), a)  # of no negative number: nothing to warn of


def _with_mean(spread: Callable[..., Any]) -> Any:
    def forward(
        a: Array, dim: int | tuple[int, ...] | None, correction: float, keepdim: bool
    ) -> tuple[Array, Array]:
        return spread(_var(a, dim, correction, keepdim)), _mean(a, dim, keepdim, None)

    return forward


def sum_given(*gradients: Any) -> Any:
    """The sum of what is not None."""
    given = [g for g in gradients if g is not None]
    return given[0] if len(given) == 1 else given[0] + given[1]


def _mean_grad(
    g: Tensor, input: Tensor, dim: int | tuple[int, ...] | None, keepdim: bool
) -> Tensor:
    return spread_dims(g / (_count(input.shape, dim) or 1), input.shape, dim, keepdim)


_var_mean_op: Op = general(
    "_var_mean(input: Tensor, dim: Ints, correction: Number, keepdim: bool)",
    _with_mean(lambda v: v),
    native=_kernels.var_mean,
    vjp={
        "input": lambda g, g1, input, dim, correction, keepdim: sum_given(
            None if g is None else _var_grad(g, input, dim, correction, keepdim),
            None if g1 is None else _mean_grad(g1, input, dim, keepdim),
        )
    },
    method=False,
    out=False,
    samples=lambda make: [(make(3, 4), None, 1, False), (make(3, 4), (1,), 0, True)],
    keeps="rows",
    formula={"input": "2 · (input − mean(input)) / (n − correction)"},
    kernel_name="std_cpu",
    doc="Variance and mean.",
    batch="reduced",
)
_std_mean_op: Op = general(
    "_std_mean(input: Tensor, dim: Ints, correction: Number, keepdim: bool)",
    _with_mean(_root),
    native=_kernels.std_mean,
    vjp={
        "input": lambda g, g1, input, out, dim, correction, keepdim: sum_given(
            None if g is None else _std_grad(g, input, out, dim, correction, keepdim),
            None if g1 is None else _mean_grad(g1, input, dim, keepdim),
        )
    },
    method=False,
    out=False,
    samples=lambda make: [(make(3, 4), None, 1, False), (make(3, 4), (1,), 0, True)],
    keeps="rows",
    formula={"input": "(input − mean(input)) / ((n − correction) · out)"},
    kernel_name="std_cpu",
    doc="Standard deviation and mean.",
    batch="reduced",
)


def _spread_function(name: str, op: Op, doc: str, method: bool) -> Any:
    wanted = ", out" if method else ""

    @composite(
        method=method,
        name=name,
        doc=doc,
        samples=lambda make: [(make(3, 4),), (make(3, 4), 0)],
        overloads=(
            "(input, dim: Ints | None, unbiased: bool = True, keepdim"
            + (", *, out)" if method else ")"),
            f"(input, dim, *, correction: Number | None = None, keepdim{wanted})",
            "(input, unbiased: bool = True)",
        ),
    )
    def function(
        input: Tensor,
        dim: Ints | None = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
        out: Tensor | None = None,
        **axis: Any,
    ) -> Tensor:
        if axis:
            dim, keepdim = by_axis(name, axis, dim, keepdim)
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is not None and unbiased is not None:
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got both unbiased and "
                "correction, but expected one of them"
            )
        if correction is None:
            correction = 0 if unbiased is False else 1
        if isinstance(dim, (tuple, list)) and not dim:
            dim = None
        _checked_var(name, input, dim, correction)
        if out is not None:
            return op(input, dim, correction, keepdim, out=out)
        return op(input, dim, correction, keepdim)

    return function


var = _spread_function("var", _var_op, "The variance, of all elements or along dimensions.", True)
std = _spread_function(
    "std", _std_op, "The standard deviation, of all elements or along dimensions.", True
)
var_mean = _spread_function("var_mean", _var_mean_op, "(variance, mean).", False)
std_mean = _spread_function("std_mean", _std_mean_op, "(standard deviation, mean).", False)

# ---- truth and counts


def _truth(name: str, doc: str) -> Op:
    reduce: Any = ufuncs.logical_or.reduce if name == "any" else ufuncs.logical_and.reduce

    def forward(a: Array, dim: int | tuple[int, ...] | None, keepdim: bool) -> Array:
        axes = axes_of(dim, a.ndim) if dim != () else ()
        found = reduce(widened(a), axes, keepdims=bool(keepdim))
        result: Array = found.astype(np.uint8) if a.dtype == np.uint8 else found
        return result

    return constant(
        f"{name}(input: Tensor, dim: Ints | None = None, keepdim: bool = False)",
        forward,
        native=getattr(_kernels, name),
        batch="reduced",
        out="truth",
        stored="float8",
        samples=lambda make: [(make(2, 3),), (make(2, 3), 1)],
        overloads=(
            "(input, *, out)",
            "(input, dim: Sizes | None = None, keepdim, *, out)",
            "(input, dim: int, keepdim, *, out)",
        ),
        doc=doc,
    )


any = _truth("any", "Whether any element is not zero.")
all = _truth("all", "Whether no element is zero.")

count_nonzero: Op = constant(
    "count_nonzero(input: Tensor, dim: Ints | None = None)",
    native=_kernels.count_nonzero,
    is_=lambda input, dim: (input if input.dtype.name == "bool" else input != 0).sum(dim),
    samples=lambda make: [(make(2, 3),), (make(2, 3), 1)],
    overloads=("(input, dim: int | None = None)", "(input, dim: Sizes)"),
    kernel_name="nonzero_count_cpu",
    doc="How many elements are not zero.",
    batch="reduced",
)

# ---- logarithms of sums


def _logsumexp(a: Array, dim: int | tuple[int, ...], keepdim: bool) -> Array:
    axes = axes_of(dim, a.ndim)
    wide = widened(a) if a.dtype.kind not in "bui" else a.astype(default_float())
    like = wide if a.dtype.kind in "bui" else a
    keep = bool(keepdim)
    with np.errstate(all="ignore"):
        if a.size == 0:
            return rounded(np.log(np.exp(wide).sum(axes, keepdims=keep)), like)
        top = wide.real.max(axes, keepdims=True)
        top = np.where(np.isfinite(top), top, 0)
        total = np.log(np.exp(wide - top).sum(axes, keepdims=keep))
        return rounded(total + (top if keep else top.reshape(total.shape)), like)


logsumexp: Op = general(
    "logsumexp(input: Tensor, dim: Ints, keepdim: bool = False)",
    _logsumexp,
    native=_kernels.logsumexp,
    vjp={
        "input": lambda g, input, out, dim, keepdim: (
            spread_dims(g, input.shape, dim, keepdim)
            * (input - spread_dims(out, input.shape, dim, keepdim)).exp().conj()
        )
    },
    out=(
        "cast",
        RuntimeError,
        "logsumexp(): Expected floating point type for result tensor, but got: {got.scalar_name}",
    ),
    samples=lambda make: [
        (make(2, 3), 0),
        (make(2, 3), (0, 1)),
        (make(2, 3), 1, True),
        (make(), 0),
    ],
    kernel_name="max_values_cpu",
    autocast="float32 there",
    doc="log(sum(exp(input))) along dimensions, without overflow.",
    batch="reduced",
)
alias("logsumexp", logsumexp, method=False, where="special")


sum_to_size = composed(
    "sum_to_size(input: Tensor, *size: Ints)",
    _kernels.sum_to_size,
    where="Tensor",
    doc="The sum that undoes broadcasting from `size`.",
)


# ---- a number for all elements


def _bits(a: Array) -> Array:
    """Each element as 64 bits: of the double, or of the integer, that has its value."""
    refuse("xor_sum_cpu", a, "c")
    wide = widened(a).astype(np.float64 if a.dtype.kind == "f" or is_half(a) else np.int64)
    return wide.view(np.uint64)


def _hash_tensor(a: Array, dim: object, keepdim: bool, mode: int) -> Array:
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if dim in ((), None) and not a.size:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument."
        )
    axes = axes_of(dim, a.ndim) if a.ndim else ()
    for d in axes:
        if not a.shape[d]:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    xor: Any = np.bitwise_xor.reduce
    found: Array = xor(_bits(a), axes, keepdims=keepdim) if axes else _bits(a)
    return np.asarray(found)


hash_tensor = constant(
    "hash_tensor(input: Tensor, dim: Ints | None = (), *, keepdim: bool = False, mode: int = 0)",
    _hash_tensor,
    native=_kernels.hash_tensor,
    samples=lambda make: [(make(2, 3),), (make(2, 3), 1), (make(2, 3), (0, 1), {"keepdim": True})],
    doc="The exclusive or of all elements' 64 bits, or of those along dimensions.",
    batch="reduced",
)
