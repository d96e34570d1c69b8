"""Element by element: sums, products, and functions that keep zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .. import _root as rl
from .._base.device import cpu, sparse_coo
from .._base.outside import np
from .._core import Tensor
from ..nn import functional
from ..ops.layout.shape import common_shape
from ..ops.table.arrays import dim_in
from ._convert import cast, coalesce, to_dense
from ._form import (
    BLOCKED,
    HANDLERS,
    NAMES,
    Parts,
    answers,
    become,
    build,
    columns_of,
    integers,
    is_masked,
    linear,
    named,
    parts,
    placed,
    record,
    refuse,
    sparse,
    values_at,
    values_of,
    wants,
    wrap,
)

__all__: list[str] = []


def _pattern(t: object) -> tuple[object, Parts]:
    """A tensor without repeated indices, and its parts."""
    p = parts(t)
    if p.layout is sparse_coo and not p.coalesced:
        t = coalesce(t)
        p = parts(t)
    return t, p


def _in_layout(t: object, p: Parts) -> Any:
    """A tensor in coordinates in the layout of `p`."""
    if p.layout is sparse_coo:
        return t
    return HANDLERS["to_sparse"](t, layout=p.layout)


# ---- in place


def _refuse_type(found: rl.dtype, wanted: rl.dtype) -> None:
    if not rl.can_cast(found, wanted):
        raise RuntimeError(
            f"result type {found.scalar_name} can't be cast to the desired output type "
            f"{wanted.scalar_name}"
        )


def _kept(input: Any, result: Any) -> Tensor:
    """The result of an in-place function, which keeps the element type."""
    p = parts(result)
    if p is not None:
        _refuse_type(p.value.dtype, input.dtype)
        p = parts(result.to(input.dtype))
    return become(input, p)


def _check_kept(input: Any, other: Any, operation: str) -> None:
    """Refuses a sum or a product that the type of its first operand cannot hold, in place."""
    kind = rl.promote_types(input.dtype, other.dtype)
    if not rl.can_cast(kind, input.dtype):
        raise RuntimeError(
            f"Can't convert result type {kind.scalar_name} to output {input.dtype.scalar_name} in "
            f"{operation} operation"
        )


# ---- sums


def _alpha_checked(alpha: object, kind: rl.dtype) -> None:
    if isinstance(alpha, (float, complex)) and not kind.is_floating_point and not kind.is_complex:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if isinstance(alpha, bool) and kind is not rl.bool:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")


@answers("add", "__add__", "__radd__")
def add(input: Any, other: Any, *old: object, alpha: Any = 1, _node: str = "AddBackward0") -> Any:
    if old:
        (alpha,) = old
    p, q = parts(input), parts(other)
    if p is None and q is None:
        raise TypeError("add(): neither of the two operands is a sparse tensor")
    if p is None:
        if not isinstance(input, Tensor) or (input.dim() == 0 and other.dim() > 0):
            return add(other, input)  # raises
        return _add_to_dense(input, other, q, alpha, _node)
    if q is None:
        if p.layout is not sparse_coo and isinstance(other, Tensor) and other.shape == p.shape:
            dense = to_dense(input)
            return dense.add(other, alpha=alpha)
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if p.shape != q.shape:
        raise RuntimeError(
            "add: expected sizes of 'self' and 'other' to match, but "
            f"{list(p.shape)} != {list(q.shape)}"
        )
    kind = rl.promote_types(p.value.dtype, q.value.dtype)
    _alpha_checked(alpha, kind)
    if p.layout is not q.layout:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have the same layout, but got "
            f"{NAMES[p.layout]} and {NAMES[q.layout]}"
        )
    if p.n_dense != q.n_dense:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse dimensions, but "
            f"{p.n_sparse} != {q.n_sparse}"
        )
    made = _sum_of(p, q, kind, alpha)
    changed = (lambda g: g) if _is_one(alpha) else (lambda g: mul(g, alpha))

    def rule(dtype: rl.dtype, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda g: _typed(change(g), dtype)

    rules = rule(p.value.dtype, lambda g: g), rule(q.value.dtype, changed)
    return record(_node, wrap(made), (input, other), rules)


def _is_one(alpha: object) -> bool:
    return isinstance(alpha, (int, float)) and alpha == 1


def _typed(g: Tensor, dtype: rl.dtype) -> Tensor:
    return cast(g, dtype) if parts(g) is not None else g.to(dtype)


def _sum_of(p: Parts, q: Parts, kind: object, alpha: object) -> Parts:
    with rl.no_grad():
        a, b = p.value.to(kind), q.value.to(kind)
        if not _is_one(alpha):
            b = b * alpha
        same = p.layout is q.layout and all(
            x is y or (x.shape == y.shape and np.array_equal(x._array, y._array))
            for x, y in zip(p.indices, q.indices, strict=True)
        )
        # Values that lie apart are joined in PyTorch, where they may occur several times.
        summed = (p.coalesced and q.coalesced) or (a.is_contiguous() and b.is_contiguous())
        if same and (p.layout is not sparse_coo or summed):
            return p.like(a + b)
        if p.layout in BLOCKED:
            if p.block != q.block:
                raise RuntimeError("add: expected blocks of the same size")
            total = HANDLERS["to_dense"](wrap(p)) + HANDLERS["to_dense"](wrap(q)) * alpha
            return parts(HANDLERS["to_sparse"](total, layout=p.layout, blocksize=p.block))
        if p.layout is not sparse_coo:
            first, second = (parts(HANDLERS["to_sparse"](wrap(x))) for x in (p, q))
            return parts(_in_layout(wrap(_sum_of(first, second, kind, alpha)), p))
        if not q.nnz:
            return p.like(a)
        if not p.nnz:
            return q.like(b)
        joined = np.concatenate([p.places(), q.places()], 1)
        made = Parts(sparse_coo, p.shape, (integers(joined),), rl.cat([a, b]))
        both = p.coalesced and q.coalesced
        if both or (summed and _in_order(p) and _in_order(q)):
            made = parts(coalesce(wrap(made)))
            made.coalesced = both
        return made


def _in_order(p: Parts) -> bool:
    """Whether the places rise, known as coalesced or not."""
    return p.coalesced or bool((np.diff(p.linear()) > 0).all())


def _add_to_dense(
    dense: Any, t: object, q: Parts, alpha: object, node: str = "AddBackward0"
) -> Tensor:
    if tuple(dense.shape) != tuple(q.shape):
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but self has size "
            f"{list(dense.shape)} while other has size {list(q.shape)} (FYI: op2-sparse addition "
            "does not currently support broadcasting)"
        )
    kind = rl.promote_types(dense.dtype, q.value.dtype)
    _alpha_checked(alpha, kind)
    made = _written(dense.detach().to(kind, copy=True).contiguous(), q, alpha)
    rules = (
        lambda g: _typed(g, dense.dtype),
        lambda g: _typed(g if _is_one(alpha) else g * alpha, q.value.dtype),
    )
    return record(node, made, (dense, t), rules)


def _written(dense: Tensor, q: Parts, alpha: Any) -> Tensor:
    """A contiguous dense tensor with alpha times a sparse one added, in place."""
    with rl.no_grad():
        v = q.value if _is_one(alpha) else q.value * alpha
        if q.layout in BLOCKED or dense.dtype is rl.bool:
            return dense.copy_(dense.add(HANDLERS["to_dense"](wrap(q)), alpha=alpha))
        n = int(np.prod(q.outer))
        flat = dense.view(n, *dense.shape[len(q.outer) :])
        flat.index_add_(0, integers(q.linear()), q.flat(v).to(dense.dtype))
        return dense


@answers("add_", "__iadd__")
def add_(input: Any, other: object, *old: object, alpha: object = 1) -> Tensor:
    if old:
        (alpha,) = old
    p, q = parts(input), parts(other)
    if q is not None:
        _check_kept(input, other, "add")
    if p is not None:
        return _kept(input, add(input, other, alpha=alpha))
    if _core.is_grad_enabled() and (wants(input) or wants(other)):
        return input.copy_(add(input, other, alpha=alpha))
    if tuple(input.shape) != tuple(q.shape):
        return _add_to_dense(input, other, q, alpha)  # raises
    if input.is_contiguous() and rl.promote_types(input.dtype, q.value.dtype) is input.dtype:
        with rl.no_grad():
            return _written(input, q, alpha)
    return input.copy_(_add_to_dense(input.detach(), other, q, alpha))


@answers("sub", "subtract", "__sub__")
def sub(input: object, other: object, *old: object, alpha: Any = 1) -> Tensor:
    if old:
        (alpha,) = old
    if rl.bool in (getattr(input, "dtype", None), getattr(other, "dtype", None)):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    return add(input, other, alpha=-alpha, _node="SubBackward0")


@answers("__rsub__", "rsub")
def rsub(input: object, other: Tensor | complex, alpha: object = 1) -> Tensor:
    return sub(other, input, alpha=alpha)


@answers("sub_", "subtract_", "__isub__")
def sub_(input: Any, other: Tensor | complex, *old: object, alpha: Any = 1) -> Tensor:
    if old:
        (alpha,) = old
    return add_(input, other, alpha=-alpha)


@answers("sum_to")
def _sum_to(input: object, shape: Any, *_: object) -> object:
    if tuple(shape) == tuple(parts(input).shape):
        return input
    return to_dense(input).sum_to_size(tuple(shape))


# ---- products


def _is_number(x: object) -> bool:
    return not isinstance(x, Tensor) or (parts(x) is None and x.dim() == 0)


def scaled(t: object, factor: Any, op: Any, name: str) -> Tensor:
    """op(values, factor): a product or a quotient with a number."""
    p = parts(t)
    return build(p, op(values_of(t), factor), name)


@answers("mul", "multiply", "__mul__", "__rmul__")
def mul(input: object, other: Any) -> Tensor:
    if parts(input) is None:
        return input * other if parts(other) is None else mul(other, input)
    p, q = parts(input), parts(other)
    if _is_number(other):
        return scaled(input, other, rl.mul, "MulBackward0")
    if q is None:
        return _mul_dense(input, other)
    if p.layout is not sparse_coo or q.layout is not sparse_coo:
        if p.layout is not q.layout:
            raise RuntimeError(
                "mul(sparse_csr, sparse_csr) expects both operands of the same layout, but got "
                f"{NAMES[p.layout]} and {NAMES[q.layout]}"
            )
        if p.layout in BLOCKED:
            refuse("mul", (input, other))
        return _in_layout(mul(HANDLERS["to_sparse"](input), HANDLERS["to_sparse"](other)), p)
    if p.shape != q.shape or p.n_sparse != q.n_sparse:
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, "
            "number of sparse dimensions, and shape of sparse dimensions"
        )
    coalesced = p.coalesced and q.coalesced
    (input, p), (other, q) = _pattern(input), _pattern(other)
    _, at, to = np.intersect1d(p.linear(), q.linear(), assume_unique=True, return_indices=True)
    a = values_of(input).index_select(0, integers(at))
    b = values_of(other).index_select(0, integers(to))
    return placed(a * b, p.shape, columns_of(p.places(), at), "MulBackward0", coalesced)


def _mul_dense(t: object, dense: Any) -> Tensor:
    p = parts(t)
    shape = common_shape([dense.shape, p.shape])
    if shape != tuple(p.shape):
        raise RuntimeError(
            f"mul: the dense tensor of size {list(dense.shape)} does not broadcast to the sparse "
            f"one's {list(p.shape)}"
        )
    if p.layout in BLOCKED:
        factor = values_at(dense.expand(shape).contiguous(), p)
    else:
        places = p.places()
        wide = dense.expand(shape)
        factor = wide[tuple(integers(row) for row in places)] if len(places) else wide
        if p.n_batch:
            factor = factor.reshape(p.value.shape)
    return build(p, values_of(t) * factor, "MulBackward0")


@answers("mul_", "multiply_", "__imul__")
def mul_(input: Any, other: object) -> Tensor:
    if parts(other) is not None:
        _check_kept(input, other, "mul")
    if parts(input) is not None:
        return _kept(input, mul(input, other))
    return input.mul_(to_dense(other))


@answers("div", "divide", "true_divide", "__truediv__")
def div(input: object, other: Any, rounding_mode: str | None = None) -> Tensor:
    p = parts(input)
    if p is None:
        refuse("div", (other,))
    if not _is_number(other):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(other.shape)} for divisor)"
        )
    if rounding_mode is not None:
        input, p = _pattern(input)
    return scaled(
        input, other, lambda v, n: rl.div(v, n, rounding_mode=rounding_mode), "DivBackward0"
    )


@answers("div_", "divide_", "true_divide_", "__itruediv__")
def div_(input: object, other: object, rounding_mode: str | None = None) -> Tensor:
    return _kept(input, div(input, other, rounding_mode))


@answers("floor_divide", "__floordiv__")
def floor_divide(input: object, other: Any) -> Tensor:
    return div(input, other, "floor")


@answers("floor_divide_", "__ifloordiv__")
def floor_divide_(input: object, other: Any) -> Tensor:
    return _kept(input, floor_divide(input, other))


@answers("pow", "__pow__")
def power(input: Any, exponent: Any) -> Tensor:
    if parts(input) is None or isinstance(exponent, Tensor):
        refuse("pow", (input, exponent))
    if exponent == 0:
        raise RuntimeError("pow: exponent 0 of a sparse tensor would give ones in place of zeros")
    input, p = _pattern(input)
    powers = values_of(input) ** exponent
    if input.dtype is rl.bool:
        _refuse_type(powers.dtype, rl.bool)
    return build(p, powers, "PowBackward0")


@answers("pow_")
def power_(input: object, exponent: object) -> Tensor:
    return _kept(input, power(input, exponent))


# ---- functions that give 0 for 0

_LINEAR = "neg negative conj_physical"  # indices may occur several times
_ZERO_KEEPING = """abs absolute asin arcsin asinh arcsinh atan arctan atanh arctanh ceil deg2rad
erf erfinv expm1 floor frac isinf isnan isneginf isposinf log1p nan_to_num rad2deg relu round sgn
sign signbit sin sinh sqrt square tan tanh trunc fix positive angle threshold""".split()
_NODES = {
    "absolute": "Abs",
    "negative": "Neg",
    "arcsin": "Asin",
    "arctan": "Atan",
    "arcsinh": "Asinh",
    "arctanh": "Atanh",
    "fix": "Trunc",
    "square": "Pow",
    "log1p": "Log1P",
}


def _elementwise(name: str) -> None:
    function: Any = getattr(rl.Tensor, name, None) or getattr(functional, name)
    node = _NODES.get(name, "".join(word.capitalize() for word in name.split("_")))
    as_it_is = name in _LINEAR.split()

    @answers(name)
    def of_values(input: object, *args: Any, **kwargs: object) -> Any:
        if kwargs.get("inplace") or (name == "relu" and args and args[0]):
            return in_place(input)
        if name in ("relu",):
            args, kwargs = (), {}
        if not as_it_is:
            input, p = _pattern(input)
        p = parts(input)
        return build(p, function(values_of(input), *args, **kwargs), f"{node}Backward0")

    def in_place(input: object, *args: object, **kwargs: object) -> Tensor:
        return _kept(input, of_values(input, *args, **kwargs))

    if hasattr(rl.Tensor, f"{name}_"):
        answers(f"{name}_")(in_place)


for _name in [*_LINEAR.split(), *_ZERO_KEEPING]:
    if _name != "threshold":
        _elementwise(_name)
answers("__neg__")(HANDLERS["neg"])
answers("__abs__")(HANDLERS["abs"])
answers("conj")(HANDLERS["conj_physical"])


# ---- whole tensors


@answers("is_same_size")
def is_same_size(input: Any, other: Any) -> bool:
    return tuple(input.shape) == tuple(other.shape)


@answers("sum")
def total(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    dtype: rl.dtype | None = None,
    axis: object = None,
    node: str = "",
) -> Tensor:
    dim = axis if dim is None else dim
    p = parts(input)
    v = values_of(input)
    # torch.sparse.sum keeps the type where equal places are joined.
    if not node and dtype is None and not v.dtype.is_floating_point and not v.dtype.is_complex:
        dtype = rl.int64
    if dtype is not None:
        v = v.to(dtype)
    ndim = len(p.shape)
    dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [dim_in(d, ndim) for d in dims]
    if len(set(dims)) < len(dims):
        raise RuntimeError("dim appears multiple times in the list of dims")
    if not dims:
        return v.sum() if node or is_masked(input) else _sum_of_all(input, p, v)
    if p.layout is not sparse_coo:
        if not keepdim:
            raise RuntimeError(
                "reduction operations on CSR tensors with keepdim=False is unsupported"
            )
        whole = total(HANDLERS["to_sparse"](input), dim, True, dtype)
        return named("SumBackward1", _in_layout(whole, p))
    n = p.n_sparse
    dense = [d - n + 1 for d in dims if d >= n]
    if dense:
        v = v.sum(dense, keepdim)
    outer = [d for d in range(n) if d not in dims]
    shape = [1 if d in dims else size for d, size in enumerate(p.shape) if keepdim or d not in dims]
    if not outer and not keepdim:
        return named(node or "SumBackward1", v.sum(0))
    places = p.places()
    if keepdim:
        places = places.copy()
        places[[d for d in dims if d < n]] = 0
    else:
        places = places[outer]
    made = placed(v, shape, places, coalesced=p.coalesced and len(outer) == n)
    return named(node or "SumBackward1", coalesce(made))


def _sum_of_all(input: object, p: Parts, v: Tensor) -> Tensor:
    shape, kind = tuple(p.shape), p.value.dtype
    return record(
        "SumBackward0",
        v.detach().sum(),
        (input,),
        (lambda g: g.to(kind).expand(shape),),
    )


@answers("any")
def any_of(input: object, dim: object = None, keepdim: bool = False) -> Tensor:
    if dim is not None:
        refuse("any.dim", (input,))
    return (
        coalesce(input)._values().any()
        if parts(input).layout is sparse_coo
        else parts(input).value.any()
    )


@answers("norm")
def norm(
    input: object, p: object = "fro", dim: object = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    if dim not in (None, (), []) or keepdim:
        refuse("norm", (input,))
    input, _ = _pattern(input)
    return values_of(input).reshape(-1).norm(2 if p in ("fro", None) else p, dtype=dtype)


@answers("softmax", "log_softmax")
def _dense_softmax(input: object, *args: object, **kwargs: object) -> Tensor:
    refuse("_softmax", (input,))


def softmax(input: object, dim: int, dtype: object, log: bool) -> Tensor:
    """softmax, or its logarithm, of the values alone: what is not there counts as -inf."""
    name = "_sparse_log_softmax" if log else "_sparse_softmax"
    p = sparse(input, name)
    if p.layout is not sparse_coo:
        refuse(name, (input,))
    if dtype is not None:
        input = cast(input, dtype)
    dim = dim_in(dim, len(p.shape))
    input, p = _pattern(input)
    v = values_of(input)
    node = "SparseLogSoftmaxBackward0" if log else "SparseSoftmaxBackward0"
    if dim >= p.n_sparse:
        function = functional.log_softmax if log else functional.softmax
        return build(p, function(v, dim - p.n_sparse + 1), node)
    others = [d for d in range(p.n_sparse) if d != dim]
    numbers = linear(p.places()[others], [p.shape[d] for d in others])
    found, group = np.unique(numbers, return_inverse=True)
    which, n = integers(group.ravel()), len(found)
    index = which.reshape(-1, *[1] * (v.ndim - 1)).expand(v.shape)
    top = rl.full((n, *v.shape[1:]), float("-inf"), dtype=v.dtype, device=cpu)
    top = top.scatter_reduce(0, index, v.detach(), "amax")
    shifted = v - top.index_select(0, which)
    e = shifted.exp()
    whole = rl.zeros((n, *v.shape[1:]), dtype=v.dtype, device=cpu).index_add(0, which, e)
    whole = whole.index_select(0, which)
    return build(p, shifted - whole.log() if log else e / whole, node)
