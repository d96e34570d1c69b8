"""Reductions: many elements to one, over all dimensions or some.

`dim` is None (all), an int or several; where a reduction takes several, `()` means all too. `keepdim` keeps each reduced
dimension with size 1. Sums of integers and bools are int64, as torch's. The gradient of a reduction comes back through
`_spread`, which shows it in the shape that was reduced without copying; its transpose is `sum`.
"""

from __future__ import annotations

import warnings
from builtins import all as _all
from builtins import max as _largest
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..return_types import named
from ._arrays import default_float, is_half, rounded, scalar_name, widened
from ._kinds import composite, constant, general, linear, variant
from ._op import OPS, namespace
from .joining import cat
from .shape import sum_to

_kernels = _core.kernels
_NAMESPACE = namespace("torch")
Tensor = _core.Tensor
Array = np.ndarray[Any, Any]


def _call(name: str, *args: Any) -> Any:
    """An op of a family that comes after this one."""
    return OPS[name].function(*args)


# ---- what they share


def _axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions meant, non-negative; all for None and ()."""
    if dim is None:
        return tuple(range(ndim))
    n = ndim or 1
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    result = []
    for given in dims:
        d = given.__index__()
        if not -n <= d < n:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
            )
        d %= n
        if d in result:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        result.append(d)
    if not result or ndim == 0:
        return tuple(range(ndim))
    return tuple(result)


def _count(shape: Sequence[int], dim: Any) -> int:
    """How many elements each result of a reduction has."""
    n = 1
    for d in _axes(dim, len(shape)):
        n *= shape[d]
    return n


_spread = linear(
    "_spread(input, shape: shape, dim: dims, keepdim: bool)",
    _kernels.spread,
    transpose={"input": lambda g, dim, keepdim: sum(g, dim, keepdim)},
    node="ExpandBackward0",
    view=True,
    method=False,
    out=False,
    samples=lambda make: [(make(2), (2, 3), 1, False), (make(2, 1), (2, 3), 1, True), (make(), (2, 3), None, False)],
    doc="A reduced tensor seen in the shape that was reduced.",
)

# ---- sums and means


def _sum(a: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    if dtype is not None:
        with np.errstate(all="ignore"):
            a = a.astype(dtype.numpy, copy=False)
        like = a
    elif a.dtype.kind in "bui":
        like = np.empty(0, np.int64)
    else:
        like = a
    axes = _axes(dim, a.ndim)
    with np.errstate(all="ignore"):
        if is_half(like):
            return rounded(a.sum(axes, dtype=np.float32, keepdims=bool(keepdim)), like)
        return a.sum(axes, dtype=like.dtype, keepdims=bool(keepdim))


def _summing(name: str, node: str, **more: Any) -> Any:
    return linear(
        f"{name}(input, dim=None, keepdim=False, *, dtype=None)",
        _sum,
        native=_kernels.sum,
        transpose={
            "input": lambda g, input_shape, dim, keepdim: _spread(g, input_shape, dim, keepdim)
        },
        backward=(_kernels.spread, "g input_shape dim keepdim"),
        node=node,
        doc="The sum of all elements, or along dimensions.",
        **more,
    )


def _reduced(make: Any) -> list[Any]:
    return [(make(2, 3), 0), (make(2, 3), (0, 1), True), (make(2, 3, 4), (-1, 0)), (make(), 0)]


sum = _summing(
    "sum", "SumBackward0", samples=lambda make: [(make(2, 3),), (make(),), *_reduced(make)]
)
_sum_dims = _summing("_sum_dims", "SumBackward1", method=False, samples=_reduced)
variant(sum, "dim", "given", _sum_dims)


def _mean(a: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    if dtype is not None:
        if dtype.category < 2:
            raise RuntimeError(_no_mean("Optional dtype", dtype.scalar_name))
        with np.errstate(all="ignore"):
            a = a.astype(dtype.numpy, copy=False)
    elif a.dtype.kind in "bui":
        raise RuntimeError(_no_mean("Input dtype", scalar_name(a)))
    with np.errstate(all="ignore"):
        total = widened(a).sum(_axes(dim, a.ndim), keepdims=bool(keepdim))
        return rounded(np.true_divide(total, _count(a.shape, dim), dtype=total.dtype), a)


def _no_mean(what: str, got: str) -> str:
    return (
        f"mean(): could not infer output dtype. {what} must be either a floating point or complex "
        f"dtype. Got: {got}. Convert first, for instance with .float()."
    )


def _averaging(name: str, node: str, **more: Any) -> Any:
    return linear(
        f"{name}(input, dim=None, keepdim=False, *, dtype=None)",
        _mean,
        native=_kernels.mean,
        transpose={
            "input": lambda g, input_shape, dim, keepdim: _spread(
                g / _count(input_shape, dim), input_shape, dim, keepdim
            )
        },
        backward=(_kernels.mean_backward, "g input_shape dim keepdim"),
        node=node,
        doc="The mean of all elements, or along dimensions.",
        **more,
    )


mean = _averaging(
    "mean", "MeanBackward0", samples=lambda make: [(make(2, 3),), (make(),), *_reduced(make)]
)
_mean_dims = _averaging("_mean_dims", "MeanBackward1", method=False, samples=_reduced)
variant(mean, "dim", "given", _mean_dims)


def _prod(a: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    if dtype is not None:
        a = a.astype(dtype.numpy, copy=False)
    like = np.empty(0, np.int64) if dtype is None and a.dtype.kind in "bui" else a
    axes = _axes(dim, a.ndim)
    with np.errstate(all="ignore"):
        wide = widened(a).astype(np.float32 if is_half(like) else like.dtype, copy=False)
        return rounded(np.multiply.reduce(wide, axes, keepdims=bool(keepdim)), like)


def _others(input: Any, dim: int) -> Any:
    """For each element the product of all others along dim: the products before it times those after."""
    size = input.shape[dim]
    one = _call("ones_like", input.narrow(dim, 0, 1))
    before = cat([one, input.narrow(dim, 0, size - 1)], dim).cumprod(dim)
    turned = input.narrow(dim, 1, size - 1).flip(dim)
    return before * cat([one, turned], dim).cumprod(dim).flip(dim)


def _prod_grad(g: Any, input: Any, out: Any, dim: Any, keepdim: bool) -> Any:
    if input.numel() == 0:
        return _call("zeros_like", input)
    g = _spread(g, input.shape, dim, keepdim)
    if not (input == 0).any():
        return g * (_spread(out, input.shape, dim, keepdim) / input).conj()
    if dim is None:
        return g * _others(input.reshape(-1), 0).reshape(input.shape).conj()
    return g * (_others(input, dim) if input.ndim else _call("ones_like", input)).conj()


def _multiplying(name: str, node: str, **more: Any) -> Any:
    return general(
        f"{name}(input, dim=None, keepdim=False, *, dtype=None)",
        _prod,
        native=_kernels.prod,
        vjp={
            "input": lambda g, input, out, dim, keepdim: _prod_grad(
                g, _cast_to(input, out), out, dim, keepdim
            )
        },
        node=node,
        doc="The product of all elements, or along a dimension.",
        **more,
    )


def _cast_to(input: Any, out: Any) -> Any:
    return input if input.dtype is out.dtype else input.to(out.dtype)


prod = _multiplying(
    "prod", "ProdBackward0", samples=lambda make: [(make(2, 3),), (make(),), (make(2, 3), 1)]
)
_prod_dim = _multiplying(
    "_prod_dim",
    "ProdBackward1",
    method=False,
    samples=lambda make: [(make(2, 3), 0), (make(2, 3), -1, True)],
)
variant(prod, "dim", "given", _prod_dim)


def _nansum(a: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    if a.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if a.dtype.kind not in "bui":
        a = np.where(np.isnan(widened(a)), a.dtype.type(0), a)
    return _sum(a, dim, keepdim, dtype)


nansum = general(
    "nansum(input, dim=None, keepdim=False, *, dtype=None)",
    _nansum,
    vjp={
        "input": lambda g, input, input_shape, dim, keepdim: _call("where", 
            input.isnan(), 0, _spread(g, input_shape, dim, keepdim)
        )
    },
    samples=_reduced,
    doc="`sum` with NaN counted as zero.",
)


@composite(samples=_reduced)
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`mean` of what is not NaN."""
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{input.dtype.scalar_name}"
        )
    count = sum(~input.detach().isnan(), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


# ---- spread


def _var(a: Array, dim: Any, correction: float, keepdim: bool) -> Array:
    axes = _axes(dim, a.ndim)
    n = _count(a.shape, axes)
    wide = widened(a)
    with np.errstate(all="ignore"):
        away = wide - wide.mean(axes, keepdims=True)
        squares = (away * away.conj()).real if a.dtype.kind == "c" else away * away
        total = squares.sum(axes, keepdims=bool(keepdim))
        result = np.true_divide(total, _largest(n - correction, 0), dtype=total.dtype)
    return result if a.dtype.kind == "c" else rounded(result, a)


def _checked_var(name: str, input: Any, dim: Any, correction: float) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    if input.dtype.category < 2:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if _count(input.shape, dim) - correction <= 0 and 0 not in _kept(input.shape, dim):
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel).",
            UserWarning,
            stacklevel=3,
        )


def _kept(shape: Sequence[int], dim: Any) -> list[int]:
    axes = _axes(dim, len(shape))
    return [n for i, n in enumerate(shape) if i not in axes]


def _var_grad(g: Any, input: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    free = _count(input.shape, dim) - correction
    scale = 2.0 / free if free > 0 else float("inf")
    return _spread(g, input.shape, dim, keepdim) * (input - mean(input, dim, True)) * scale


def _std_grad(g: Any, input: Any, out: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    return _var_grad(_call("where", out == 0, 0, g / (out * 2)), input, dim, correction, keepdim)


_var_op = general(
    "_var(input, dim: dims, correction: number, keepdim: bool)",
    _var,
    native=_kernels.var,
    vjp={"input": lambda g, input, dim, correction, keepdim: _var_grad(g, input, dim, correction, keepdim)},
    method=False,
    samples=lambda make: [(make(3, 4), None, 1, False), (make(3, 4), (1,), 0, True)],
    doc="The variance with a correction to the number of elements.",
)
_std_op = general(
    "_std(input, dim: dims, correction: number, keepdim: bool)",
    lambda a, dim, correction, keepdim: _root(_variance(a, dim, correction, keepdim)),
    vjp={
        "input": lambda g, input, out, dim, correction, keepdim: _std_grad(
            g, input, out, dim, correction, keepdim
        )
    },
    method=False,
    samples=lambda make: [(make(3, 4), None, 1, False), (make(3, 4), (1,), 0, True)],
    doc="The standard deviation with a correction to the number of elements.",
)


def _variance(a: Array, dim: Any, correction: float, keepdim: bool) -> Array:
    result = _kernels.var(a, dim, correction, keepdim)
    return _var(a, dim, correction, keepdim) if result is NotImplemented else result


def _root(a: Array) -> Array:
    with np.errstate(all="ignore"):
        return rounded(np.sqrt(widened(a)), a)


def _with_mean(spread: Any) -> Any:
    def forward(a: Array, dim: Any, correction: float, keepdim: bool) -> tuple[Array, Array]:
        return spread(_variance(a, dim, correction, keepdim)), _mean(a, dim, keepdim, None)

    return forward


def _sum_of(*gradients: Any) -> Any:
    """The sum of what is not None."""
    given = [g for g in gradients if g is not None]
    return given[0] if len(given) == 1 else given[0] + given[1]


def _mean_grad(g: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    return _spread(g / _count(input.shape, dim), input.shape, dim, keepdim)


_var_mean_op = general(
    "_var_mean(input, dim: dims, correction: number, keepdim: bool)",
    _with_mean(lambda v: v),
    vjp={
        "input": lambda g, g1, input, dim, correction, keepdim: _sum_of(
            None if g is None else _var_grad(g, input, dim, correction, keepdim),
            None if g1 is None else _mean_grad(g1, input, dim, keepdim),
        )
    },
    method=False,
    out=False,
    samples=lambda make: [(make(3, 4), None, 1, False), (make(3, 4), (1,), 0, True)],
    doc="Variance and mean.",
)
_std_mean_op = general(
    "_std_mean(input, dim: dims, correction: number, keepdim: bool)",
    _with_mean(_root),
    vjp={
        "input": lambda g, g1, input, out, dim, correction, keepdim: _sum_of(
            None if g is None else _std_grad(g, input, out, dim, correction, keepdim),
            None if g1 is None else _mean_grad(g1, input, dim, keepdim),
        )
    },
    method=False,
    out=False,
    samples=lambda make: [(make(3, 4), None, 1, False), (make(3, 4), (1,), 0, True)],
    doc="Standard deviation and mean.",
)


def _spread_function(name: str, op: Any, doc: str, method: bool) -> Any:
    def function(
        input: Any,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
        out: Any = None,
        **axis: Any,
    ) -> Any:
        if axis:
            dim, keepdim = axis.pop("axis", dim), axis.pop("keepdims", keepdim)
            if axis:
                raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(axis))}'")
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 0 if unbiased is False else 1
        if isinstance(dim, (tuple, list)) and not dim:
            dim = None
        _checked_var(name, input, dim, correction)
        if out is not None:
            return op(input, dim, correction, keepdim, out=out)
        return op(input, dim, correction, keepdim)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return composite(function, method=method, samples=lambda make: [(make(3, 4),), (make(3, 4), 0)])


var = _spread_function("var", _var_op, "The variance, of all elements or along dimensions.", True)
std = _spread_function("std", _std_op, "The standard deviation, of all elements or along dimensions.", True)
var_mean = _spread_function("var_mean", _var_mean_op, "(variance, mean).", False)
std_mean = _spread_function("std_mean", _std_mean_op, "(standard deviation, mean).", False)

# ---- extremes


def _shares(a: Array, value: Array, dim: Any, keepdim: bool, nan: bool) -> Array:
    """1 / (how many elements have the reduced value) where an element has it, else 0."""
    axes = _axes(dim, a.ndim)
    wide = widened(a)
    value = widened(value)
    if not keepdim:
        value = np.expand_dims(value, axes) if a.ndim else value
    with np.errstate(all="ignore"):
        has = wide == value
        if nan and a.dtype.kind not in "bui":
            has |= np.isnan(wide) & np.isnan(value)
        return rounded(has / has.sum(axes, keepdims=True), a)


_share = constant(
    "_share(input, value: Tensor, dim: dims, keepdim: bool, nan: bool)",
    _shares,
    method=False,
    out=False,
    doc="How a reduction's gradient is shared among the elements that have the reduced value.",
)


def _shared(g: Any, input: Any, out: Any, dim: Any, keepdim: bool, nan: bool) -> Any:
    return _spread(g, input.shape, dim, keepdim) * _share(input, out, dim, keepdim, nan)


def _no_complex(a: Array, kernel: str) -> None:
    if a.dtype.kind == "c":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(a)}'")


def _extreme(name: str, largest: bool) -> Any:
    kernel = _kernels.amax if largest else _kernels.amin
    reduce = np.maximum.reduce if largest else np.minimum.reduce

    def forward(a: Array, dim: Any, keepdim: bool) -> Array:
        _no_complex(a, "max_values_cpu" if largest else "min_values_cpu")
        axes = _axes(dim, a.ndim)
        _no_empty(name, a.shape, axes, dim)
        return rounded(reduce(widened(a), axes, keepdims=bool(keepdim)), a)

    return general(
        f"{name}(input, dim=(), keepdim=False)",
        forward,
        native=kernel,
        vjp={
            "input": lambda g, input, out, dim, keepdim: _shared(g, input, out, dim, keepdim, False)
        },
        samples=_reduced,
        doc=f"The {'largest' if largest else 'smallest'} element, of all or along dimensions; ties share the gradient.",
    )


def _no_empty(name: str, shape: Sequence[int], axes: tuple[int, ...], dim: Any) -> None:
    """torch's errors where there is nothing to choose from."""
    if 0 not in shape:
        return
    if len(axes) == len(shape) and (dim is None or dim == ()):
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    for d in axes:
        if shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


amax = _extreme("amax", True)
amin = _extreme("amin", False)


def _aminmax(a: Array, dim: Any, keepdim: bool) -> tuple[Array, Array]:
    _no_complex(a, "aminmax_cpu")
    axes = _axes(dim, a.ndim)
    if 0 in a.shape:
        if dim is None:
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
            )
        _no_empty("aminmax", a.shape, axes, dim)
    wide = widened(a)
    keep = bool(keepdim)
    return (
        rounded(np.minimum.reduce(wide, axes, keepdims=keep), a),
        rounded(np.maximum.reduce(wide, axes, keepdims=keep), a),
    )


aminmax = general(
    "aminmax(input, *, dim=None, keepdim=False)",
    _aminmax,
    vjp={
        "input": lambda g, g1, input, out, out1, dim, keepdim: _sum_of(
            None if g is None else _shared(g, input, out, dim, keepdim, False),
            None if g1 is None else _shared(g1, input, out1, dim, keepdim, False),
        )
    },
    outputs=named("aminmax", "min", "max"),
    samples=lambda make: [(make(2, 3),), (make(2, 3), {"dim": 1})],
    doc="The smallest and the largest element.",
)

# The values at chosen places along a dimension, and the way back: a linear pair.


def _placed(index: Array, dim: int, keepdim: bool) -> Array:
    return index if keepdim or index.ndim == 0 else np.expand_dims(index, dim)


def _taken(a: Array, index: Array, dim: int, keepdim: bool) -> Array:
    if a.ndim == 0:
        return a.copy()
    found = np.take_along_axis(a, index if keepdim else np.expand_dims(index, dim), dim)
    return found if keepdim else found.squeeze(dim)


def _put(g: Array, index: Array, shape: Sequence[int], dim: int, keepdim: bool, add: bool) -> Array:
    if not shape:
        return g.copy()
    if not keepdim:
        g, index = np.expand_dims(g, dim), np.expand_dims(index, dim)
    if not add:
        result = np.zeros(shape, g.dtype)
        np.put_along_axis(result, index, g, dim)
        return result
    wide = widened(g)
    total = np.zeros(shape, wide.dtype)
    where = list(np.indices(index.shape, sparse=True))
    where[dim] = index
    np.add.at(total, tuple(where), wide)
    return rounded(total, g)


_take_along = linear(
    "_take_along(input, index: Tensor, dim: int, keepdim: bool, add: bool)",
    lambda a, index, dim, keepdim, add: _taken(a, index, dim, keepdim),
    transpose={
        "input": lambda g, index, input_shape, dim, keepdim, add: _put_along(
            g, index, input_shape, dim, keepdim, add
        )
    },
    method=False,
    out=False,
    doc="The elements at the places `index` along a dimension.",
)
_put_along = linear(
    "_put_along(input, index: Tensor, shape: shape, dim: int, keepdim: bool, add: bool)",
    _put,
    transpose={
        "input": lambda g, index, dim, keepdim, add: _take_along(g, index, dim, keepdim, add)
    },
    method=False,
    out=False,
    doc="Zeros of a shape, with the input at the places `index`; `add` where places may repeat.",
)


def selecting(
    signature: str, forward: Any, *, node: str | None = None, keepdim: bool | None = None, add: bool = False, **more: Any
) -> Any:
    """An op that gives (values, indices) of chosen elements along `dim`: the gradient goes to those places.

    keepdim: whether the results keep the dimension, where that is no argument of the op.
    """
    if keepdim is None:

        def rule(g: Any, out1: Any, input_shape: Any, dim: int, keepdim: bool) -> Any:
            return _put_along(g, out1, input_shape, dim, keepdim, add)

        chosen: Any = rule
    else:

        def fixed(g: Any, out1: Any, input_shape: Any, dim: int) -> Any:
            return _put_along(g, out1, input_shape, dim, keepdim, add)

        chosen = fixed
    name = signature.partition("(")[0].strip("_").removesuffix("_dim")
    return general(
        signature,
        forward,
        vjp={"input": chosen},
        node=node,
        outputs=named(name, "values", "indices"),
        first_only=True,
        **more,
    )


def _chosen(a: Array, index: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """(values, indices), `index` having size 1 in `dim`."""
    if a.ndim == 0:
        return a.copy(), np.zeros((), np.int64)
    values = np.take_along_axis(a, index, dim)
    if keepdim:
        return values, np.ascontiguousarray(index)
    return np.squeeze(values, dim).copy(), np.squeeze(index, dim).copy()


def _checked_dim(name: str, a: Array, dim: Any) -> int:
    (d,) = _axes(dim, a.ndim) if a.ndim else (0,)
    if not a.ndim:
        _axes(dim, 0)
    elif a.shape[d] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    return d


def _arg_extreme(a: Array, dim: int, largest: bool) -> Array:
    """The first place of the extreme along a dimension (a NaN counts as one), with size 1 there."""
    wide = widened(a)
    if 0 in a.shape:
        return np.zeros((*a.shape[:dim], 1, *a.shape[dim + 1 :]), np.int64)
    found = (_kernels.argmax if largest else _kernels.argmin)(wide, dim, True)
    if found is NotImplemented:
        found = (np.argmax if largest else np.argmin)(wide, dim, keepdims=True)
    return found  # type: ignore[no-any-return]


def _three_forms(name: str, largest: bool) -> Any:
    elementwise = "maximum" if largest else "minimum"
    kernel = _kernels.amax if largest else _kernels.amin
    reduce = np.maximum.reduce if largest else np.minimum.reduce

    def whole(a: Array) -> Array:
        _no_complex(a, f"{name}_all")
        _no_empty(name, a.shape, tuple(range(a.ndim)), None)
        found = kernel(a)
        return rounded(reduce(widened(a), None), a) if found is NotImplemented else found

    of_all = general(
        f"_{name}_all(input)",
        whole,
        vjp={"input": lambda g, input, out: _shared(g, input, out, None, False, True)},
        node=f"{name.capitalize()}Backward1",
        method=False,
        samples=lambda make: [(make(2, 3),), (make(),)],
        doc=f"The {name}imum of all elements; ties share the gradient.",
    )

    def along(a: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        _no_complex(a, f"{name}_cpu" if largest else "min_cpu")
        d = _checked_dim(name, a, dim)
        return _chosen(a, _arg_extreme(a, d, largest) if a.ndim else a, d, keepdim)

    of_dim = selecting(
        f"_{name}_dim(input, dim: int, keepdim=False)",
        along,
        node=f"{name.capitalize()}Backward0",
        method=False,
        samples=lambda make: [(make(2, 3), 0), (make(2, 3), -1, True), (make(), 0)],
        doc=f"The {name}ima along a dimension and their indices.",
    )

    def function(
        input: Any, dim: Any = None, keepdim: Any = False, *, other: Any = None, out: Any = None, **axis: Any
    ) -> Any:
        if axis:
            dim, keepdim = axis.pop("axis", dim), axis.pop("keepdims", keepdim)
            if axis:
                raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(axis))}'")
        more = {} if out is None else {"out": out}
        if dim is None and other is None:
            return of_all(input, **more)
        if other is not None or isinstance(dim, Tensor):
            return OPS[elementwise].function(
                input, dim if other is None else other, **more
            )
        return of_dim(input, dim, keepdim, **more)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The {name}imum of all elements, the {name}ima along a dimension with their indices, or of two "
        "tensors element by element."
    )
    return composite(function, samples=lambda make: [(make(2, 3),), (make(2, 3), 1), (make(2, 3), make(3))])


max = _three_forms("max", True)
min = _three_forms("min", False)


def _arg_function(name: str, largest: bool) -> Any:
    kernel = _kernels.argmax if largest else _kernels.argmin

    def forward(a: Array, dim: Any, keepdim: bool) -> Array:
        if a.dtype.kind in "bc":
            kind = "bool" if a.dtype.kind == "b" else "complex"
            raise RuntimeError(f"{name}(): does not support {kind} input")
        found = kernel(widened(a), dim, keepdim)
        if found is NotImplemented:
            found = (np.argmax if largest else np.argmin)(a, dim, keepdims=bool(keepdim))
        return found  # type: ignore[no-any-return]

    return constant(
        f"{name}(input, dim=None, keepdim=False)",
        forward,
        samples=lambda make: [(make(2, 3),), (make(2, 3), 1), (make(2, 3), 0, True)],
        doc=f"The index of the {'largest' if largest else 'smallest'} element; the first of several.",
    )


argmax = _arg_function("argmax", True)
argmin = _arg_function("argmin", False)

# ---- medians


def _median_index(a: Array, dim: int, skip_nan: bool) -> Array:
    """The place of the lower median along a dimension, of size 1 there."""
    order = np.argsort(widened(a), dim, kind="stable")  # NaN last
    size = a.shape[dim]
    if a.dtype.kind in "bui":
        at = np.full([1 if i == dim else n for i, n in enumerate(a.shape)], (size - 1) // 2)
        return np.take_along_axis(order, at, dim)
    nan = np.isnan(widened(a))
    valid = size - nan.sum(dim, keepdims=True)
    if skip_nan:
        at = np.maximum(valid - 1, 0) // 2
        return np.take_along_axis(order, at, dim)
    found = np.take_along_axis(order, np.full_like(valid, (size - 1) // 2), dim)
    return np.where(valid < size, nan.argmax(dim, keepdims=True), found)


def _medians(name: str, skip_nan: bool) -> Any:
    def refuse(a: Array) -> None:
        if a.dtype.kind in "bc":
            raise NotImplementedError(f"\"median_cpu\" not implemented for '{scalar_name(a)}'")

    def whole(a: Array) -> Array:
        refuse(a)
        if a.size == 0:
            low = np.iinfo(a.dtype).min if a.dtype.kind in "iu" else np.nan
            return np.array(low, a.dtype)
        flat = a.reshape(-1)
        return flat[_median_index(flat, 0, skip_nan)[0]]  # type: ignore[no-any-return]

    of_all = general(
        f"_{name}_all(input)",
        whole,
        vjp={"input": lambda g, input, out: _shared(g, input, out, None, False, True)},
        node=f"{name.capitalize()}Backward0",
        method=False,
        samples=lambda make: [(make(2, 3),), (make(5),)],
        doc="The lower median of all elements.",
    )

    def along(a: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        refuse(a)
        d = _checked_dim(name, a, dim)
        index = _median_index(a, d, skip_nan) if a.ndim else a
        return _chosen(a, index, d, keepdim)

    of_dim = selecting(
        f"_{name}_dim(input, dim: int, keepdim=False)",
        along,
        node=f"{name.capitalize()}Backward1",
        method=False,
        samples=lambda make: [(make(3, 4), 0), (make(3, 4), 1, True)],
        doc="The lower medians along a dimension and their indices.",
    )

    def function(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
        more = {} if out is None else {"out": out}
        return of_all(input, **more) if dim is None else of_dim(input, dim, keepdim, **more)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The lower median of all elements, or along a dimension with its index" + (
        ", NaN left out." if skip_nan else "."
    )
    return composite(function, samples=lambda make: [(make(2, 3),), (make(3, 4), 1)])


median = _medians("median", False)
nanmedian = _medians("nanmedian", True)

# ---- truth and counts


def _truth(name: str) -> Any:
    kernel = getattr(_kernels, name)
    reduce = np.logical_or.reduce if name == "any" else np.logical_and.reduce

    def forward(a: Array, dim: Any, keepdim: bool) -> Array:
        found = kernel(widened(a), dim, keepdim)
        if found is NotImplemented:
            axes = _axes(dim, a.ndim) if dim != () else ()
            found = reduce(a, axes, keepdims=bool(keepdim))
        return found.astype(np.uint8) if a.dtype == np.uint8 else found  # type: ignore[no-any-return]

    return constant(
        f"{name}(input, dim=None, keepdim=False)",
        forward,
        samples=lambda make: [(make(2, 3),), (make(2, 3), 1)],
        doc=f"Whether {name} element is not zero.",
    )


any = _truth("any")
all = _truth("all")

count_nonzero = constant(
    "count_nonzero(input, dim=None)",
    lambda a, dim: np.asarray(np.count_nonzero(a, _axes(dim, a.ndim)), np.int64),
    samples=lambda make: [(make(2, 3),), (make(2, 3), 1)],
    doc="How many elements are not zero.",
)

# ---- logarithms of sums


def _logsumexp(a: Array, dim: Any, keepdim: bool) -> Array:
    axes = _axes(dim, a.ndim)
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


logsumexp = general(
    "logsumexp(input, dim: dims, keepdim=False)",
    _logsumexp,
    native=_kernels.logsumexp,
    vjp={
        "input": lambda g, input, out, dim, keepdim: _spread(g, input.shape, dim, keepdim)
        * (input - _spread(out, input.shape, dim, keepdim)).exp().conj()
    },
    samples=lambda make: [(make(2, 3), 0), (make(2, 3), (0, 1)), (make(2, 3), 1, True), (make(), 0)],
    doc="log(sum(exp(input))) along dimensions, without overflow.",
)


@composite
def sum_to_size(input: Any, *size: Any) -> Any:
    """The sum that undoes broadcasting from `size`."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    have = tuple(input.shape)
    lead = len(have) - len(shape)
    if lead < 0 or not _all([n in (1, h) for n, h in zip(shape, have[lead:], strict=True)]):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(have)}}}.")
    return input if shape == have else sum_to(input, shape)


_NAMESPACE.pop("sum_to_size", None)
