"""Norms of vectors and matrices, and the distances made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._base.dtypes import promote_types
from ..._base.outside import np
from ..._base.size import Size
from ..._core import Op
from ..._devices import of
from ..elementwise.selection import unless, where
from ..layout.shape import common_shape
from ..table.arrays import (
    Array,
    axes_of,
    dim_in,
    is_half,
    listed,
    refuse,
    rounded,
    scalar_name,
    widened,
)
from ..table.kinds import composite, general, pointwise
from ..table.outputs import written
from ..table.reference import alias, wide
from ..table.signature import Ints, Tensor, dtype
from .decompositions import svdvals

_kernels = _core.kernels
_INF = math.inf

# ---- vectors


def _check_floating(name: str, a: Array) -> None:
    if a.dtype.kind in "biu":
        raise RuntimeError(
            f"linalg.{name}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_name(a)}\n"
            "Convert first: `x.float()`."
        )


def _check_type(name: str, given: dtype, wanted: dtype) -> None:
    """Whether a norm may be computed in another type than its input's."""
    if not wanted.is_differentiable:
        why = f"dtype should be floating point or complex, but got {wanted.scalar_name}"
    elif wanted.is_complex != given.is_complex:
        kind = "complex" if given.is_complex else "real"
        why = f"dtype should be {kind} for {kind} inputs, but got {wanted.scalar_name}"
    elif promote_types(given, wanted) is not wanted:
        why = (
            f"the dtype of the input ({given.scalar_name}) should be convertible without narrowing "
            f"to the specified dtype ({wanted.scalar_name})"
        )
    else:
        return
    raise RuntimeError(f"linalg.{name}: {why}")


def _check_norm_type(input: Tensor, dtype: dtype) -> None:
    _check_floating("vector_norm", input._form)
    _check_type("vector_norm", input.dtype, dtype)


def _vector_norm(
    a: Array, ord: float, dim: Sequence[int] | int | None, keepdim: bool, dtype: object
) -> Array:
    _check_floating("vector_norm", a)
    dims = axes_of(dim, a.ndim)
    if ord == 2 and not is_half(a):
        result = _kernels.norm2(a, None if dim is None else dims, keepdim)
        if result is not NotImplemented:
            return result
    if ord < 0 or ord == _INF:
        count = math.prod(a.shape[d] for d in dims)
        if not count and (ord == -_INF or ord == _INF or ord < 0):
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {_order(ord)} norm on an empty tensor "
                "because the operation "
                "does not have an identity"
            )
    x = np.abs(widened(a))
    with np.errstate(all="ignore"):
        if ord == _INF:
            result = x.max(dims, keepdims=keepdim)
        elif ord == -_INF:
            result = x.min(dims, keepdims=keepdim)
        elif ord == 0:
            result = (x != 0).sum(dims, keepdims=keepdim).astype(x.dtype)
        elif ord == 1:
            result = x.sum(dims, keepdims=keepdim)
        elif ord == 2:
            top = x.max(dims, keepdims=True, initial=0)
            top = np.where((top > 1) & np.isfinite(top), top, 1).astype(x.dtype)
            result = np.sqrt(((x / top) ** 2).sum(dims, keepdims=keepdim))
            result = result * top.reshape(result.shape)
        else:
            power = x.dtype.type(ord)
            result = (x**power).sum(dims, keepdims=keepdim) ** x.dtype.type(1 / ord)
    result = np.asarray(result)
    return result.astype(a.dtype) if is_half(a) else result


def _vector_norm_shape(
    x: Tensor, ord: float, dim: int | tuple[int, ...] | None, keepdim: bool, dtype: object
) -> Tensor:
    if not x.dtype.is_floating_point or not x.numel():
        return NotImplemented  # what is wrong with them is said by the definition
    return x.sum(dim, keepdim)


def _order(ord: object) -> str:
    return f"{ord:g}" if isinstance(ord, (int, float)) else str(ord)


def _kept(t: Tensor, dims: tuple[int, ...], keepdim: bool, shape: Size) -> Tensor:
    """A reduced tensor with the reduced dimensions back, of size 1."""
    if keepdim or not shape:
        return t
    return t.reshape([1 if i in dims else s for i, s in enumerate(shape)])


def _vector_norm_vjp(
    g: Tensor,
    input: Tensor,
    out: Tensor,
    ord: float,
    dim: int | tuple[int, ...] | None,
    keepdim: bool,
    input_shape: Size,
) -> Any:
    if ord == 0:
        return None  # a count: no input of it has a gradient
    dims = axes_of(dim, len(input_shape))
    g, out = _kept(g, dims, keepdim, input_shape), _kept(out, dims, keepdim, input_shape)
    if input.dtype is not out.dtype and not input.dtype.is_complex:
        input = input.to(out.dtype)
    if ord == 1:
        return input.sgn() * g
    zero = out == 0
    if ord == 2:
        return g * (input / unless(zero, out, _INF))
    size = input.abs()
    if ord in (_INF, -_INF):
        if input.dtype.is_complex:  # whose sizes may be rounded otherwise in the kernel
            out = (size.amax if ord > 0 else size.amin)(dims, True)
        # The gradient is shared by all elements of that size.
        best = size == out
        share = g / best.sum(dims, keepdim=True)
        return input.sgn() * best * share
    # Of the power of a size the derivative may be infinite at 0; that of a sign is 0.
    small = input == 0 if ord < 2 else zero
    ratio = unless(small, size / unless(zero, out, 1), 1)
    return unless(zero, g, 0) * input.sgn() * ratio.pow(ord - 1)


def _norm_op(name: str, node: str) -> Op:
    return general(
        f"{name}(input: Tensor, ord: Any = 2, dim: int | None = None, keepdim: bool = False, *, "
        "dtype: dtype | None = None)",
        _vector_norm,
        native=_kernels.vector_norm,
        typed="inside",
        kernel_name="norm_cpu",
        type_check=_check_norm_type,
        shape=_vector_norm_shape,
        vjp={"input": _vector_norm_vjp},
        batch="reduced",
        node=node,
        method=False,
        samples=_normed,
        formula={"input": "input · |input|^(ord − 2) / out^(ord − 1)"},
        doc="(the sum of |input| ** ord) ** (1 / ord) along dim.",
    )


def _normed(make: Callable[..., Any]) -> Any:
    return [
        (make(2, 3),),
        (make(2, 3), 1, 0),
        (make(2, 3), 3, -1, True),
        (make(2, 3), float("inf"), 1),
        (make(3), 0.5),
    ]


vector_norm = _norm_op("_vector_norm", "LinalgVectorNormBackward0")
_distance_norm = _norm_op("_distance_norm", "NormBackward1")
alias("vector_norm", vector_norm, method=False, where="linalg")

# ---- matrices


def _two_dims(dim: Any, ndim: int, name: str) -> tuple[int, int]:
    if ndim < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) != 2:
        raise RuntimeError(
            f"linalg.{name}: dim must be a 2-tuple. Got {' '.join(str(d) for d in dims)}"
        )
    first, second = dim_in(dims[0], ndim), dim_in(dims[1], ndim)
    if first == second:
        raise RuntimeError(f"linalg.{name}: dims must be different. Got ({dims[0]}, {dims[1]})")
    return first, second


@composite(
    where="linalg",
    overloads=(
        "(input: Tensor, ord: Number, dim: Sizes = (-2, -1), keepdim, *, dtype, out)",
        '(input: Tensor, ord: str = "fro", dim: Sizes = (-2, -1), keepdim, *, dtype, out)',
    ),
    out="linalg.matrix_norm expected out tensor dtype {want.scalar_name} but got: "
    "{got.scalar_name}",
)
def matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Ints = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
) -> Tensor:
    """A norm of matrices: 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2."""
    rows, columns = _two_dims(dim, A.ndim, "matrix_norm")
    _check_floating("matrix_norm", A._form)
    if ord not in ("fro", "nuc", 2, -2, 1, -1, _INF, -_INF):
        raise RuntimeError(f"linalg.matrix_norm: Order {_order(ord)} not supported.")
    if dtype is not None:
        _check_type("matrix_norm", A.dtype, dtype)
        A = A.to(dtype)
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        values = svdvals(A.movedim((rows, columns), (-2, -1)))
        last = values.ndim - 1
        result = values.sum(last) if ord == "nuc" else _extreme(values, ord, last, False)
        if not keepdim:
            return result
        for d in sorted((rows, columns)):
            result = result.unsqueeze(d)
        return result
    summed, kept = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = vector_norm(A, 1, summed, keepdim)
    if not keepdim and kept > summed:
        kept -= 1
    return _extreme(sums, ord, kept, keepdim)


def _extreme(values: Tensor, ord: int, dim: int, keepdim: bool) -> Tensor:
    """The largest along dim for a positive ord, of none 0; else the smallest, of none an error."""
    shape = list(values.shape)
    if shape[dim]:
        return values.amax(dim, keepdim) if ord > 0 else values.amin(dim, keepdim)
    if ord < 0:
        raise IndexError(
            f"amin(): Expected reduction dim {dim - len(shape)} to have non-zero size. "
            f"A matrix of shape {listed(shape)} has no smallest norm."
        )
    shape[dim : dim + 1] = [1] if keepdim else []
    return of(values).made(tuple(shape), values._form.dtype, 0)


_NORM_OUT = "linalg.norm expected out tensor dtype {want.scalar_name} but got: {got.scalar_name}"


@composite(
    where="linalg",
    method=False,
    overloads=(
        "(input: Tensor, ord: Number | None = None, dim, keepdim, *, dtype, out)",
        "(input: Tensor, ord: str, dim, keepdim, *, dtype, out)",
    ),
    autocast="float32 there",
)
def _linalg_norm(
    A: Tensor,
    ord: object = None,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
) -> Tensor:
    """A norm of vectors or matrices, by ord and dim as torch.linalg.norm reads them."""
    if dim is not None:
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        if len(dims) not in (1, 2) and ord is not None:
            raise RuntimeError(
                f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {listed(dims)}"
            )
    elif ord is not None and A.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A.ndim}D."
        )
    if ord is not None and (
        (dim is not None and not isinstance(dim, int) and len(dim) == 2)
        or (dim is None and A.ndim == 2)
    ):
        result = matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    else:
        if isinstance(ord, str):
            raise RuntimeError(
                f"linalg.norm: Order {ord} only applies to matrices\nGive two dimensions."
            )
        result = vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    return result if out is None else written(out, result, "linalg_norm", _NORM_OUT)


alias("norm", _linalg_norm, method=False, where="linalg")


@composite(autocast="float32 there")
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Ints | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: dtype | None = None,
) -> Tensor:
    """The p-norm along dim ('fro', the default, is the 2-norm; 'nuc' is of matrices)."""
    if p is None or p == "fro":
        if dim is None or isinstance(dim, int) or len(dim) <= 2:
            result = vector_norm(input, 2, dim, keepdim, dtype=dtype)
        else:
            result = matrix_norm(input, "fro", dim, keepdim, dtype=dtype)
    elif isinstance(p, str):
        if p != "nuc" or dim is None:
            dims = tuple(range(input.ndim)) if dim is None else dim
            result = matrix_norm(input, p, dims, keepdim, dtype=dtype)
        else:
            result = matrix_norm(input, "nuc", dim, keepdim, dtype=dtype)
    else:
        result = vector_norm(input, p, dim, keepdim, dtype=dtype)
    return result if out is None else written(out, result, "linalg_vector_norm")


_renorm_factor = pointwise(
    "_renorm_factor(sizes: Tensor, maxnorm: Number)",
    forward=lambda sizes, maxnorm: where(sizes > maxnorm, maxnorm / (sizes + 1e-7), 1),
    reference=lambda a, maxnorm: np.where(a > maxnorm, maxnorm / (a + 1e-7), 1).astype(a.dtype),
    by_ops=lambda sizes, maxnorm: where(sizes > maxnorm, maxnorm / (sizes + 1e-7), 1).to(
        sizes.dtype
    ),
    partials={
        "sizes": lambda out, sizes, maxnorm: where(sizes > maxnorm, -out / (sizes + 1e-7), 0)
    },
    refuses={"complex": "gt_cpu"},
    method=False,
    in_place=False,
    samples=lambda make: [(make(3, 1), 0.5)],
    doc="What `renorm` multiplies slices of these sizes by.",
)


def _renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    if isinstance(p, complex) or p <= 0:
        raise RuntimeError(
            "renorm: p must be real-valued"
            if isinstance(p, complex)
            else f"renorm: non-positive-norm not supported. p is {p}"
        )
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    sizes = wide(vector_norm(input, p, _other_dims(input.ndim, dim), True))
    factor = _renorm_factor(sizes, maxnorm)
    return (wide(input) * factor).to(input.dtype) if input.dtype.itemsize == 2 else input * factor


def _other_dims(ndim: int, dim: int) -> tuple[int, ...]:
    kept = dim_in(dim, ndim)
    return tuple(i for i in range(ndim) if i != kept)


def _renorm_vjp(g: Tensor, input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    others = _other_dims(input.ndim, dim)
    if input.dtype.itemsize == 2:
        input, g = input.float(), g.float()
    sizes = vector_norm(input, p, others, True)
    over = sizes > maxnorm
    factor = _renorm_factor(sizes, maxnorm)
    along = g * input.conj() if input.dtype.is_complex else g * input
    along = (along.real if along.dtype.is_complex else along).sum(others, keepdim=True)
    slope = (-maxnorm / (sizes + 1e-7) ** 2).masked_fill(~over, 0.0)
    through = _vector_norm_vjp(along * slope, input, sizes, p, others, True, input.shape)
    return g * factor + through


renorm = general(
    "renorm(input: Tensor, p: Number, dim: int, maxnorm: Number)",
    is_=_renorm,
    vjp={"input": _renorm_vjp},
    in_place=True,
    samples=lambda make: [
        (make(3, 4), 2, 0, 1.0),
        (make(3, 4), 1, 1, 2.0),
        (make(2, 3, 2), 3.0, 1, 0.5),
        (make(3, 4), 2, -1, 100.0),
    ],
    keeps="rows",
    autocast="float32 there",
    doc="input with the p-norm of each slice along dim brought down to maxnorm.",
)


# ---- distances


def _dist_vjp(
    g: Tensor, input: Tensor, other: Tensor, out: Tensor, p: float, needs: tuple[int, ...]
) -> tuple[Tensor | None, ...]:
    d = input - other
    grad = _vector_norm_vjp(g, d, out, p, None, False, d.shape)
    return (grad if needs[0] else None), (-grad if needs[1] and grad is not None else None)


dist: Op = general(
    "dist(input: Tensor, other: Tensor, p: Number = 2)",
    is_=lambda input, other, p: vector_norm(input - other, p),
    vjp={"input, other": _dist_vjp},
    samples=lambda make: [(make(2, 3), make(2, 3)), (make(2, 3), make(3), 3.0)],
    formula={
        "input": "d · |d|^(p − 2) / out^(p − 1), d = input − other",
        "other": "d · |d|^(p − 2) / out^(p − 1), d = other − input",
    },
    autocast="float32 there",
    doc="The p-norm of input - other.",
)


@composite(where="nn torch", method=False)
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norms of x1 - x2 + eps along the last dimension."""
    return _distance_norm(x1 - x2 + eps, p, -1, keepdim)


@composite(where="nn torch", method=False, autocast="float32 there")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along dim; norms are not below eps."""
    dtype = _core.result_type([x1, x2])
    if dtype.kind in "biuc":
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {dtype.scalar_name}"
        )
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    if x1.shape != x2.shape:
        shape = common_shape([x1.shape, x2.shape])
        x1, x2 = x1.expand(shape), x2.expand(shape)
    common = dtype
    x1, x2 = (x.to(common) if not x.dtype.is_differentiable else x for x in (x1, x2))
    n1 = vector_norm(x1, 2, dim, True)
    n2 = vector_norm(x2, 2, dim, True)
    # A norm below eps counts as eps, with a gradient of its own all the same.
    n1 = n1 + (n1.detach().clamp_min(eps) - n1.detach())
    n2 = n2 + (n2.detach().clamp_min(eps) - n2.detach())
    return ((x1 / n1) * (x2 / n2)).sum(dim)


def _cdist(a: Array, b: Array, p: float, by_products: bool = False) -> Array:
    if a.dtype.kind not in "f":
        refuse("cdist", a, "", halves=True)
        raise RuntimeError(f"cdist only supports floating-point dtypes, X1 got: {scalar_name(a)}")
    refuse("cdist", a, "", halves=True)
    x, y = widened(a), widened(b)
    if p == 2:
        # From differences, not from products: exact for close points.
        d = x[..., :, None, :] - y[..., None, :, :]
        return rounded(np.sqrt((d * d).sum(-1)), a)
    d = np.abs(x[..., :, None, :] - y[..., None, :, :])
    if p == 0:
        return rounded((d != 0).sum(-1).astype(x.dtype), a)
    if p == 1:
        return rounded(d.sum(-1), a)
    if p == _INF:
        return rounded(d.max(-1) if d.shape[-1] else np.zeros(d.shape[:-1], x.dtype), a)
    return rounded((d ** x.dtype.type(p)).sum(-1) ** x.dtype.type(1 / p), a)


def _cdist_vjp(
    g: Tensor, x1: Tensor, x2: Tensor, out: Tensor, p: float, needs: tuple[int, ...]
) -> tuple[Tensor | None, ...]:
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    each = _vector_norm_vjp(
        g.unsqueeze(-1), difference, out.unsqueeze(-1), p, (-1,), True, difference.shape
    )
    if each is None:
        each = difference * 0
    return (each.sum(-2) if needs[0] else None), (-each.sum(-3) if needs[1] else None)


_cdist_op = general(
    "_cdist(x1: Tensor, x2: Tensor, p: Any, by_products: Any = False)",
    _cdist,
    native=_core.kernels.cdist,
    vjp={"x1, x2": _cdist_vjp},
    backward=(_core.kernels.cdist_backward, "g x1 x2 out p by_products needs"),
    node="CdistBackward0",
    method=False,
    samples=lambda make: [(make(3, 2), make(4, 2), 2.0), (make(2, 3, 2), make(2, 4, 2), 1.5)],
    formula={
        "x1": "sum of g ⊙ d ⊙ |d|^(p − 2) / out^(p − 1), d = x1 − x2",
        "x2": "sum of g ⊙ d ⊙ |d|^(p − 2) / out^(p − 1), d = x2 − x1",
    },
    kernel_name="cdist",
    doc="The p-norms of all differences of two sets of points.",
)


@composite(method=False, autocast="float32")
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The distance of each point (row) of x1 from each of x2."""
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {x.dtype.scalar_name}"
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(
            f"expected scalar type {x1.dtype.scalar_name} but found {x2.dtype.scalar_name}"
        )
    if compute_mode not in _BY_PRODUCTS:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    least = _BY_PRODUCTS[compute_mode]
    return _cdist_op(x1, x2, p, p == 2 and max(x1.shape[-2], x2.shape[-2]) > least)


# The points from which on their distances are made of a product of matrices.
_BY_PRODUCTS = {
    "use_mm_for_euclid_dist_if_necessary": 25,
    "use_mm_for_euclid_dist": -1,
    "donot_use_mm_for_euclid_dist": _INF,
}


def _pairs(input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The rows of all pairs, and their differences."""
    rows, columns = (of(input).tensor(i) for i in np.triu_indices(input.shape[0], 1))
    return rows, columns, input[rows] - input[columns]


def _pdist_vjp(g: Tensor, input: Tensor, out: Tensor, p: float) -> Tensor:
    rows, columns, apart = _pairs(input)
    each = _vector_norm_vjp(g.unsqueeze(-1), apart, out.unsqueeze(-1), p, (-1,), True, apart.shape)
    if each is None:
        return input * 0
    return (input.detach() * 0).index_add(0, rows, each).index_add(0, columns, -each)


_pdist_op = general(
    "_pdist(input: Tensor, p: Any)",
    is_=lambda input, p: vector_norm(_pairs(input)[2], p, -1),
    native=_core.kernels.pdist,
    vjp={"input": _pdist_vjp},
    backward=(_core.kernels.pdist_backward, "g input out p"),
    node="PdistBackward0",
    method=False,
    samples=lambda make: [(make(4, 2), 2.0), (make(3, 2), 1.5), (make(3, 2), 1.0)],
    formula={"input": "sum of g ⊙ d ⊙ |d|^(p − 2) / out^(p − 1), d: differences"},
    doc="The p-norms of the differences of all pairs of rows.",
)


@composite(where="nn torch", method=False, autocast="float32 there")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances of all pairs of rows."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    refuse("pdist", input._form, "", halves=True)
    return _pdist_op(input, p)


def _norm_except_dim(v: Any, pow: float = 2, dim: int = 0) -> Tensor:
    """The p-norm over all dimensions but one, kept as 1; over all of them where dim is -1."""
    if dim == -1:
        return vector_norm(v, pow)
    kept = dim_in(dim, v.ndim)
    return vector_norm(v, pow, [i for i in range(v.ndim) if i != kept], True)


alias("norm_except_dim", _norm_except_dim, method=False)

__all__ = [
    "cdist",
    "cosine_similarity",
    "dist",
    "matrix_norm",
    "norm",
    "pairwise_distance",
    "pdist",
    "renorm",
]
