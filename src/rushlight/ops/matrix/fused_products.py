"""Products with something added, over chosen dimensions, of chains of matrices, of vectors."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import _core
from ..._base.errors import not_implemented_for
from ..._base.outside import np
from ..._base.size import Size
from ..._core import Category, Op
from ..layout.joining import stack
from ..layout.shape import unsafe_view
from ..layout.slices import diagonal_backward
from ..table.arrays import (
    Array,
    c_name,
    check_64_bits,
    common_type,
    dim_in,
    fitted_number,
    is_stored,
    listed,
    refuse,
    rounded,
    scalar_name,
    times,
    warn_once,
    widened,
)
from ..table.graph_steps import in_steps
from ..table.kinds import bilinear, composite, general
from ..table.kinds import linear as linear_kind
from ..table.reference import alias, wide
from ..table.signature import Tensor
from .products import (
    check_expand,
    check_float8,
    check_sizes,
    check_two_stacks,
    matmul,
    mm,
    multiply,
    product_of,
    viewed_product,
)

_kernels = _core.kernels

# ---- products with something added


def _scaled(a: Array, by: float) -> Array:
    return a if by == 1 else a * a.dtype.type(fitted_number(by, a.dtype))


def _combine(added: Array, product: Array, beta: float, alpha: float) -> Array:
    """beta * added + alpha * product; a beta of 0 ignores even NaN."""
    check_expand(added, product.shape)
    wide, like = widened(np.asarray(product)), product
    result = _scaled(wide, alpha)
    if beta != 0:
        result = result + _scaled(widened(added), beta)
    return rounded(np.asarray(result), like)


def _addmm(input: Array, mat1: Array, mat2: Array, beta: float, alpha: float) -> Array:
    refuse("addmm_impl_cpu_", mat1, "b")
    for name, m in (("mat1", mat1), ("mat2", mat2)):
        if m.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {m.ndim}-D tensor")
    if input.dtype != mat2.dtype or mat1.dtype != mat2.dtype:
        name, other = ("self", input) if input.dtype != mat2.dtype else ("mat1", mat1)
        raise RuntimeError(
            f"{name} and mat2 must have the same dtype, but got {scalar_name(other)} and "
            f"{scalar_name(mat2)}"
        )
    check_sizes(mat1, mat2)
    check_expand(input, (mat1.shape[0], mat2.shape[1]))
    if is_stored(mat1.dtype):  # rounded once
        check_float8(mat1, mat2)
        return rounded(_combine(widened(input), widened(mat1) @ widened(mat2), beta, alpha), mat1)
    return _combine(input, product_of(mat1, mat2), beta, alpha)


def _through(g: Tensor, number: float) -> Tensor:
    """A gradient back through a multiplication by a number."""
    if number == 1:
        return g
    return g * (number.conjugate() if isinstance(number, complex) else number)


def _times(t: Tensor, number: Any) -> Any:
    return t if number == 1 else t * number


def _sum_with_product(
    signature: str,
    forward: Any,
    native: Any,
    vjp: dict[str, Any],
    jvp: dict[str, Any],
    **more: Any,
) -> Op:
    """beta * input + alpha * some product; `vjp` and `jvp` have the rules of the factors."""
    return general(
        signature,
        forward,
        native=native,
        vjp={"input": lambda g, beta: _through(g, beta), **vjp},
        jvp={"input": lambda t, beta: _times(t, beta), **jvp},
        in_place=True,
        overlap="arguments",
        **more,
    )


addmm = _sum_with_product(
    "addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1)",
    _addmm,
    _kernels.addmm,
    vjp={
        "mat1": lambda g, mat2, alpha: _through(matmul(g, mat2.mH), alpha),
        "mat2": lambda g, mat1, alpha: _through(matmul(mat1.mH, g), alpha),
    },
    jvp={
        "mat1": lambda t, mat2, alpha: _times(matmul(t, mat2), alpha),
        "mat2": lambda t, mat1, alpha: _times(matmul(mat1, t), alpha),
    },
    samples=lambda make: [
        (make(2, 4), make(2, 3), make(3, 4)),
        (make(4), make(2, 3), make(3, 4), {"beta": 0.5, "alpha": 2.0}),
    ],
    overloads=(
        "(input, mat1, mat2, *, beta, alpha, out)",
        "(input, mat1, mat2, out_dtype: dtype, *, beta, alpha, out)",
    ),
    earlier="beta input alpha mat1 mat2 | beta input mat1 mat2",
    stored="float8",
    kernel_name="addmm_impl_cpu_",
    autocast="low",
    doc="beta * input + alpha * (mat1 @ mat2).",
)


def _addmv(input: Array, mat: Array, vec: Array, beta: float, alpha: float) -> Array:
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}"
        )
    if mat.shape[1] != vec.shape[0] or (input.size != 1 and input.shape != mat.shape[:1]):
        raise RuntimeError(
            f"size mismatch, got input ({input.size}), mat ({times(mat.shape)}), vec ({vec.size})"
        )
    if not input.dtype == mat.dtype == vec.dtype:
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{scalar_name(input)}, {scalar_name(mat)}, and {scalar_name(vec)}"
        )
    return _combine(input, np.asarray(multiply(mat, vec)), beta, alpha)


addmv = _sum_with_product(
    "addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1)",
    _addmv,
    _kernels.addmv,
    vjp={
        "mat": lambda g, vec, alpha: _through(g.unsqueeze(-1) * vec.conj(), alpha),
        "vec": lambda g, mat, alpha: _through(matmul(mat.mH, g), alpha),
    },
    jvp={
        "mat": lambda t, vec, alpha: _times(matmul(t, vec), alpha),
        "vec": lambda t, mat, alpha: _times(matmul(mat, t), alpha),
    },
    samples=lambda make: [
        (make(2), make(2, 3), make(3)),
        (make(2), make(2, 3), make(3), {"beta": 0.5, "alpha": 2.0}),
    ],
    earlier="beta input alpha mat vec | beta input mat vec",
    kernel_name="addmv_impl_cpu",
    doc="beta * input + alpha * (mat @ vec).",
)


def _addr(input: Array, vec1: Array, vec2: Array, beta: int, alpha: int) -> Array:
    for name, v in (("vec1", vec1), ("vec2", vec2)):
        if v.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {v.ndim}-D")
    result = np.asarray(np.multiply.outer(widened(vec1), widened(vec2)))
    like = common_type(input, vec1, vec2)
    for name, number in (("beta", beta), ("alpha", alpha)):
        if isinstance(number, bool) and like.kind != "b":
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(number, (float, complex)) and like.kind in "biu":
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
    input = input.astype(like, copy=False)
    return _combine(input, result.astype(like), beta, alpha).astype(like, copy=False)


addr = _sum_with_product(
    "addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1)",
    _addr,
    _kernels.addr,
    vjp={
        "vec1": lambda g, vec2, alpha: _through(matmul(g, vec2.conj()), alpha),
        "vec2": lambda g, vec1, alpha: _through(matmul(g.mT, vec1.conj()), alpha),
    },
    jvp={
        "vec1": lambda t, vec2, alpha: _times(t.unsqueeze(1) * vec2, alpha),
        "vec2": lambda t, vec1, alpha: _times(vec1.unsqueeze(1) * t, alpha),
    },
    out="cast",
    samples=lambda make: [(make(2, 3), make(2), make(3))],
    earlier="beta input alpha vec1 vec2 | beta input vec1 vec2",
    doc="beta * input + alpha * outer(vec1, vec2).",
)


def _batched(batch1: Array, batch2: Array) -> Array:
    if batch1.ndim != 3 or batch2.ndim != 3:
        dim_in(2, min(batch1.ndim, batch2.ndim))
    check_two_stacks(batch1, batch2)
    return np.asarray(multiply(batch1, batch2))


_OF_BATCHES = {
    "batch1": lambda g, batch2, alpha: _through(matmul(g, batch2.mH), alpha),
    "batch2": lambda g, batch1, alpha: _through(matmul(batch1.mH, g), alpha),
}


def _baddbmm(input: Array, batch1: Array, batch2: Array, beta: float, alpha: float) -> Array:
    if batch1.ndim == 3 and batch2.ndim == 3:
        check_expand(input, (batch1.shape[0], batch1.shape[1], batch2.shape[2]))
    if not input.dtype == batch1.dtype == batch2.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {c_name(input)}, batch1: "
            f"{c_name(batch1)}, batch2: {c_name(batch2)}"
        )
    return _combine(input, _batched(batch1, batch2), beta, alpha)


baddbmm = _sum_with_product(
    "baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, "
    "alpha: Number = 1)",
    _baddbmm,
    _kernels.baddbmm,
    vjp=_OF_BATCHES,
    jvp={
        "batch1": lambda t, batch2, alpha: _times(matmul(t, batch2), alpha),
        "batch2": lambda t, batch1, alpha: _times(matmul(batch1, t), alpha),
    },
    samples=lambda make: [
        (make(2, 3, 2), make(2, 3, 4), make(2, 4, 2), {"beta": 0.5, "alpha": 2.0})
    ],
    overloads=(
        "(input, batch1, batch2, *, beta, alpha, out)",
        "(input, batch1, batch2, out_dtype: dtype, *, beta, alpha, out)",
    ),
    earlier="beta input alpha batch1 batch2 | beta input batch1 batch2",
    kernel_name="baddbmm",
    autocast="low",
    doc="beta * input + alpha * bmm(batch1, batch2).",
)


def _addbmm(input: Array, batch1: Array, batch2: Array, beta: float, alpha: float) -> Array:
    if batch1.ndim == 3 and batch2.ndim == 3:
        check_expand(input, (batch1.shape[1], batch2.shape[2]))
    if input.dtype != batch2.dtype:
        raise RuntimeError(
            "self and mat2 must have the same dtype, but got "
            f"{scalar_name(input)} and {scalar_name(batch2)}"
        )
    product = _batched(batch1, batch2)
    return _combine(input, rounded(widened(product).sum(0), product), beta, alpha)


addbmm = _sum_with_product(
    "addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1)",
    _addbmm,
    _kernels.addbmm,
    vjp=_OF_BATCHES,
    jvp={
        "batch1": lambda t, batch2, alpha: _times(matmul(t, batch2).sum(0), alpha),
        "batch2": lambda t, batch1, alpha: _times(matmul(batch1, t).sum(0), alpha),
    },
    samples=lambda make: [(make(3, 2), make(2, 3, 4), make(2, 4, 2), {"beta": 0.5, "alpha": 2.0})],
    earlier="beta input alpha batch1 batch2 | beta input batch1 batch2",
    autocast="low",
    doc="beta * input + alpha * the sum of the products of a stack.",
)


# ---- products of several tensors


def _check_one_type(a: Tensor, b: Tensor) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"both inputs should have same dtype\nThey have {a.dtype} and {b.dtype}: convert one."
        )


@composite(
    out="tensordot: Expected the output tensor to have dtype {want.scalar_name}, but got an output "
    "tensor with dtype {got.scalar_name}"
)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sums of products over the last dimensions of both tensors."""
    if input.device.type != other.device.type:
        raise RuntimeError(
            f"Expected tensor to have {input.device.type} DeviceType, but got tensor with "
            f"{other.device.type} DeviceType (while checking arguments for inner())"
        )
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{listed(input.shape)} and {listed(other.shape)}"
        )
    _check_one_type(input, other)
    if other.ndim <= 2:
        return viewed_product(input, other.mT if other.ndim == 2 else other)
    product = viewed_product(input, other.flatten(0, -2).mT)
    return product.reshape(*input.shape[:-1], *other.shape[:-1])


@composite(
    method=False,
    out="tensordot: Expected the output tensor to have dtype {want.scalar_name}, but got an output "
    "tensor with dtype {got.scalar_name}",
    autocast="low",
)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sums of products over several dimensions: the last `dims` of a with the first of b, or
    pairs of lists."""
    if isinstance(dims, _core.Tensor):
        dims = dims.tolist() if dims.ndim else int(dims)
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = dims
        dims_a = [dims_a] if isinstance(dims_a, int) else list(dims_a)
        dims_b = [dims_b] if isinstance(dims_b, int) else list(dims_b)
        check_64_bits("tensordot", "dims_self", dims_a)
        check_64_bits("tensordot", "dims_other", dims_b)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length")
    _check_one_type(a, b)
    for i, (p, q) in enumerate(zip(dims_a, dims_b, strict=True)):
        size_a, size_b = a.shape[p], b.shape[q]
        if size_a == size_b:
            continue
        if size_b == 1:
            a = a.sum(p, keepdim=True, dtype=a.dtype)
        elif size_a == 1:
            b = b.sum(q, keepdim=True, dtype=b.dtype)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {size_a} in dim "
                f"{dims_a[i]} "
                f"and second has size {size_b} in dim {dims_b[i]}"
            )
    plan = _contraction(a.shape, b.shape, tuple(dims_a), tuple(dims_b))
    left = a.permute(plan.of_a).reshape(plan.left) if plan.of_a else a.reshape(plan.left)
    right = b.permute(plan.of_b).reshape(plan.right) if plan.of_b else b.reshape(plan.right)
    return mm(left, right).reshape(plan.shape)


class _Contraction(NamedTuple):
    """How tensordot is a product of matrices: in which order the dimensions of both go, or () where
    that is how they are; the two matrices; the result."""

    of_a: tuple[int, ...]
    of_b: tuple[int, ...]
    left: tuple[int, int]
    right: tuple[int, int]
    shape: tuple[int, ...]


@functools.lru_cache(maxsize=512)
def _contraction(
    a: tuple[int, ...], b: tuple[int, ...], dims_a: tuple[int, ...], dims_b: tuple[int, ...]
) -> _Contraction:
    gone_a = [dim_in(d, len(a)) for d in dims_a]
    gone_b = [dim_in(d, len(b)) for d in dims_b]
    kept_a = [d for d in range(len(a)) if d not in gone_a]
    kept_b = [d for d in range(len(b)) if d not in gone_b]
    size = math.prod(a[d] for d in gone_a)
    shape = [a[d] for d in kept_a], [b[d] for d in kept_b]
    orders = [*kept_a, *gone_a], [*gone_b, *kept_b]
    of_a, of_b = (() if order == sorted(order) else tuple(order) for order in orders)
    left, right = (math.prod(shape[0]), size), (size, math.prod(shape[1]))
    return _Contraction(of_a, of_b, left, right, tuple(shape[0] + shape[1]))


def _kron(input: Tensor, other: Tensor) -> Tensor:
    n = max(input.ndim, other.ndim)
    p = (1,) * (n - input.ndim) + tuple(input.shape)
    q = (1,) * (n - other.ndim) + tuple(other.shape)
    left = input.reshape([s for size in p for s in (size, 1)])
    right = other.reshape([s for size in q for s in (1, size)])
    return unsafe_view(left * right, [s * t for s, t in zip(p, q, strict=True)])


def _kron_gradient(g: Tensor, other: Tensor, shape: Size, first: bool) -> Tensor:
    """Of a factor: the sum over the places of the other one."""
    n = g.ndim
    if not n:
        return g * other.conj()
    own = (1,) * (n - len(shape)) + tuple(shape)
    rest = (1,) * (n - other.ndim) + tuple(other.shape)
    pairs = zip(own, rest, strict=True) if first else zip(rest, own, strict=True)
    parts = g.reshape([size for pair in pairs for size in pair])
    ones = [(1, size) if first else (size, 1) for size in rest]
    weights = other.conj().reshape([size for pair in ones for size in pair])
    return (parts * weights).sum(list(range(first, 2 * n, 2))).reshape(shape)


def _kron_shapes(out: Size, a: Any, b: Any) -> tuple[Any, ...]:
    def rest(known: Size) -> tuple[int, ...]:
        """The shape of a factor whose value a backward has freed."""
        padded = (1,) * (len(out) - len(known)) + tuple(known)
        return tuple(size // part if part else 0 for size, part in zip(out, padded, strict=True))

    return rest(b) if a is None else a, rest(a) if b is None else b


kron: Op = bilinear(
    "kron(input: Tensor, other: Tensor)",
    is_=_kron,
    native=_kernels.kron,
    transpose={
        "input": lambda g, other, input_shape: _kron_gradient(g, other, input_shape, True),
        "other": lambda g, input, other_shape: _kron_gradient(g, input, other_shape, False),
    },
    formula={
        "input": "blocks of g ⊙ other, each summed",
        "other": "sum of input ⊙ the blocks of g",
    },
    node="UnsafeViewBackward0",
    unfold=in_steps(_kron, _kron_shapes),
    out="cast",
    samples=lambda make: [
        (make(2, 3), make(3, 2)),
        (make(3), make(2, 2)),
        (make(2, 1, 3), make(2)),
        (make(), make(3)),
    ],
    doc="The Kronecker product: every element of input times all of other.",
)


def _cross(input: Tensor, other: Tensor, dim: int) -> Tensor:
    if input.ndim != other.ndim:
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions.\n"
            f"They are {input.ndim} and {other.ndim}."
        )
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    sizes = [t.shape[dim_in(dim, input.ndim)] for t in (input, other)]
    if sizes != [3, 3]:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim % input.ndim} must have length 3. Got {sizes[0]} "
            f"and {sizes[1]}"
        )
    kind = input.dtype
    if kind is not other.dtype:
        raise RuntimeError(
            f"expected scalar type {kind.scalar_name} but found {other.dtype.scalar_name}"
        )
    if kind.category == Category.BOOL:
        not_implemented_for("cross", kind.scalar_name)
    x, y = wide(input).unbind(dim), wide(other).unbind(dim)
    parts = stack([x[i - 2] * y[i - 1] - x[i - 1] * y[i - 2] for i in range(3)])
    return parts.movedim(0, dim).to(kind).contiguous()


linalg_cross: Op = bilinear(
    "_linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1)",
    native=_kernels.cross,
    is_=_cross,
    transpose={
        "input": lambda g, other, dim: linalg_cross(other.conj(), g, dim=dim),
        "other": lambda g, input, dim: linalg_cross(g, input.conj(), dim=dim),
    },
    node="LinalgCrossBackward0",
    method=False,
    samples=lambda make: [(make(2, 3), make(2, 3)), (make(3, 2), make(3, 1), {"dim": 0})],
    autocast="widest there",
    doc="The vector product along a dimension of size 3.",
)
alias("cross", linalg_cross, method=False, where="linalg")


@composite(autocast="widest there")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along `dim`; without it, along the first dimension of size 3."""
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\n"
            "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
            "The default value of dim will change to agree with that of linalg.cross in a future "
            "release."
        )
        dim = next((i for i, n in enumerate(input.shape) if n == 3), -1)
        if dim < 0:
            raise RuntimeError(
                f"no dimension of size 3 in input\nIts shape is {listed(input.shape)}."
            )
    return linalg_cross(input, other, dim=dim)


def _trace(input: Tensor) -> Tensor:
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype.category == Category.BOOL:
        not_implemented_for("trace", input.dtype.scalar_name)
    return input.diagonal().sum()


trace = linear_kind(
    "trace(input: Tensor)",
    native=_kernels.trace,
    is_=_trace,
    transpose={"input": lambda g, input_shape: _trace_transpose(g, input_shape)},
    samples=lambda make: [(make(3, 3),), (make(2, 4),)],
    kernel_name="trace",
    autocast="float32 here",
    doc="The sum of a matrix's diagonal.",
)
_trace_transpose: Op = linear_kind(
    "_trace_transpose(input: Tensor, shape: Any)",
    is_=lambda input, shape: diagonal_backward(input.expand(min(shape)), shape, 0, 0, 1),
    transpose={"input": lambda g: trace(g)},
    method=False,
    samples=lambda make: [(make(), (2, 3))],
    doc="The identity matrix of a shape, times a number.",
    written="{input} on the diagonal, 0 elsewhere",
)


def _best_order(sizes: Sequence[int]) -> Array:
    """Where to split each run of a product of matrices so that it takes the fewest
    multiplications: split[i, j] ends the left part of the run from i to j."""
    n, size = len(sizes) - 1, np.array(sizes, float)
    split = np.zeros((n, n), np.int64)
    # The costs of runs, by their first matrix or by their last, and by their length less 1.
    starting, ending = np.zeros((n, n)), np.zeros((n, n))
    for length in range(2, n + 1):
        first = np.arange(n - length + 1)
        last = first + length - 1
        # A row for each run, a column for each place where it may be split.
        each = starting[: n - length + 1, : length - 1] + ending[length - 1 :, length - 2 :: -1]
        middle = np.lib.stride_tricks.sliding_window_view(size, length - 1)[1 : n - length + 2]
        each += (size[first] * size[last + 1])[:, None] * middle
        best = each.argmin(1)
        split[first, last] = first + best
        starting[first, length - 1] = ending[last, length - 1] = each[first, best]
    return split


@composite(
    where="linalg",
    out="multi_dot(): expected out tensor to have dtype {want.c_name} but got {got.c_name}",
    autocast="low",
)
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices in the cheapest order; the first and the last may be
    vectors."""
    tensors = list(tensors)
    plain = _kernels.chain_sizes(tensors)
    if plain is not NotImplemented:
        return _chain_product(tensors, plain)
    sizes = _chain_sizes(tensors)
    first, last = tensors[0], tensors[-1]
    if first.ndim == 1:
        tensors[0] = first.unsqueeze(0)
    if last.ndim == 1:
        tensors[-1] = last.unsqueeze(-1)
    result = _chain_product(tensors, sizes)
    if last.ndim == 1:
        result = result.squeeze(-1)
    return result.squeeze(0) if first.ndim == 1 else result


def _chain_sizes(tensors: list[Tensor]) -> tuple[int, ...]:
    """The rows of each matrix, and the columns of the last; torch's errors for what is no chain."""
    end = len(tensors) - 1
    if end < 1:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {end + 1}")
    first = tensors[0]
    for i, t in enumerate(tensors):
        if t.ndim != 2 and (t.ndim != 1 or 0 < i < end):
            where = f"tensor {i} must be 2D" if 0 < i < end else f"tensor {i} must be 1D or 2D"
            raise RuntimeError(f"multi_dot(): {where} but got {t.ndim}D")
    shapes: list[tuple[int, ...]] = [t.shape for t in tensors]
    if len(shapes[0]) == 1:
        shapes[0] = (1, *shapes[0])
    if len(shapes[end]) == 1:
        shapes[end] = (*shapes[end], 1)
    dtype, device = first.dtype, first.device
    for i, t in enumerate(tensors[1:]):
        if t.dtype is not dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{dtype.c_name} and tensor {i + 1} {t.dtype.c_name}"
            )
        if t.device != device:
            raise RuntimeError(
                "multi_dot(): all tensors must be on the same device but tensor 0 is on "
                f"{device} and tensor {i + 1} on {t.device}"
            )
        if shapes[i][1] != shapes[i + 1][0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {listed(shapes[i])} and "
                f"{listed(shapes[i + 1])} cannot be multiplied"
            )
    return (*(s[0] for s in shapes), shapes[end][1])


def _chain_product(tensors: list[Tensor], sizes: Sequence[int]) -> Tensor:
    end = len(tensors) - 1
    if end == 1:
        return viewed_product(*tensors)
    if end == 2:
        a, b, c, d = sizes
        x, y, z = tensors
        if a * b * c + a * c * d < b * c * d + a * b * d:
            return viewed_product(mm(x, y), z)
        return viewed_product(x, mm(y, z))
    split = _best_order(sizes)

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return tensors[i]
        k = int(split[i, j])
        return mm(product(i, k), product(k + 1, j))

    k = int(split[0, end])
    return viewed_product(product(0, k), product(k + 1, end))


@composite(
    method=False,
    out="multi_dot(): expected out tensor to have dtype {want.c_name} but got {got.c_name}",
    autocast="low",
)
def chain_matmul(*matrices: Any) -> Tensor:
    """The product of several matrices in the cheapest order."""
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    if len(matrices) == 1 and isinstance(matrices[0], (tuple, list)):
        matrices = tuple(matrices[0])
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices)


@composite(
    where="linalg",
    out="linalg.vecdot: Expected out of dtype{want.scalar_name} but found {got.scalar_name}",
    autocast="low",
)
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The inner products of vectors along a dimension; x is conjugated."""
    if x._form.dtype.kind in "biu":
        raise RuntimeError(
            "linalg.vecdot: Expected a floating point or complex tensor as input. "
            f"Got {x.dtype.scalar_name}"
        )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{x.dtype.scalar_name} and y of type {y.dtype.scalar_name} instead"
        )
    return (x.conj() * y).sum(dim)
