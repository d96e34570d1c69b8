"""Products of matrices and vectors.

`matmul` is the product of everything: the others check their arguments and call its forward.
Products of float32 and float64 go to the native kernels (`_core.kernels`), which find BLAS. Calls
that the kernels decline come to `product_of` below, the definition on NumPy; there alone stand the
errors for shapes that do not fit. `linear` is the op of nn.Linear: one op with a fused gradient.
"""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base.outside import np
from ..._base.size import Size
from ..._core import Op
from ..layout.shape import unsafe_view
from ..table.arrays import Array, c_name, is_stored, listed, rounded, scalar_name, times, widened
from ..table.graph_steps import in_steps
from ..table.kinds import bilinear, composite, general, variant
from ..table.samples import matrices
from ..table.signature import Tensor

_kernels = _core.kernels


def _offer_blas() -> None:
    """Tell the kernels where scipy-openblas32 keeps its library, without importing that package."""
    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        return
    folder = os.path.join(os.path.dirname(spec.origin), "lib")
    for name in ("libscipy_openblas.so", "libscipy_openblas.dylib", "libscipy_openblas.dll"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            _kernels.set_blas_library(path)
            return


_offer_blas()

# ---- what does not fit


def _hint(a: Array, b: Array) -> str:
    text = f"\nThe inner sizes are {a.shape[-1]} and {b.shape[-2] if b.ndim > 1 else b.shape[0]}."
    if b.ndim > 1 and a.shape[-1] == b.shape[-1]:
        text += " Did you mean `input @ other.mT`?"
    elif a.ndim > 1 and b.ndim > 1 and a.shape[-2] == b.shape[-2]:
        text += " Did you mean `input.mT @ other`?"
    return text


def check_sizes(a: Array, b: Array) -> None:
    """torch's errors for arrays that matmul cannot multiply."""
    if a.ndim == 0 or b.ndim == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D"
        )
    if a.ndim > 2 and b.ndim > 2:
        _check_stacks(a.shape[:-2], b.shape[:-2])
    if a.shape[-1] == b.shape[-2 if b.ndim > 1 else 0]:
        return
    if a.ndim == 1 and b.ndim == 1:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {listed(a.shape)} and src "
            f"{listed(b.shape)} to have the same number of elements, but got {a.size} and "
            f"{b.size} elements respectively"
        )
    rows = math.prod(a.shape[:-1])
    if b.ndim == 1:
        raise RuntimeError(
            f"size mismatch, got input ({rows}), mat ({rows}x{a.shape[-1]}), vec ({b.shape[0]})"
            + _hint(a, b)
        )
    if b.ndim > 2:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{math.prod(b.shape[:-2])}, {a.shape[-1]}] but got: "
            f"[{math.prod(b.shape[:-2])}, {b.shape[-2]}]." + _hint(a, b)
        )
    raise RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a.shape[-1]} and {times(b.shape)})"
        + _hint(a, b)
    )


def _check_stacks(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """torch's error for leading dimensions that do not broadcast."""
    n = max(len(a), len(b))
    padded = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    for i, (p, q) in enumerate(zip(*padded, strict=True)):
        if p != q and 1 not in (p, q):
            raise RuntimeError(
                f"The size of tensor a ({p}) must match the size of tensor b ({q}) at "
                f"non-singleton dimension {i}"
            )


def check_float8(a: Array, b: Array) -> None:
    """torch's error for types that are stored only: of float8 it multiplies two matrices."""
    if not is_stored(a.dtype) or (b.ndim == 2 and a.dtype.name != "float8_e8m0fnu"):
        return
    names = {1: "dot" if a.ndim == 1 else "addmv_impl_cpu", 2: "addmm_impl_cpu_"}
    kernel = names.get(b.ndim, "bmm")
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(a)}'")


def _check_types(a: Array, b: Array) -> None:
    if a.dtype != b.dtype:
        if a.ndim == 1 and b.ndim == 1:
            raise RuntimeError(
                "dot : expected both vectors to have same dtype, "
                f"but found {scalar_name(a)} and {scalar_name(b)}"
            )
        if b.ndim == 1:
            vector, matrix = scalar_name(b), scalar_name(a)
            raise RuntimeError(
                "addmv input tensors must have the same dtype, "
                f"but got {vector}, {matrix}, and {vector}"
            )
        if max(a.ndim, b.ndim) > 2 and b.ndim > 2:
            raise RuntimeError(f"expected scalar type {scalar_name(a)} but found {scalar_name(b)}")
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {c_name(a)} != {c_name(b)}"
        )
    check_float8(a, b)
    if a.dtype == np.bool_ and ((a.size and b.size) or a.ndim + b.ndim == 2):
        name = "bmm"
        if max(a.ndim, b.ndim) <= 2:
            name = {2: "dot", 3: "addmv_impl_cpu"}.get(a.ndim + b.ndim, "addmm_impl_cpu_")
            if a.ndim == 1 and b.ndim == 2:
                name = "addmm_impl_cpu_"
        raise NotImplementedError(
            f"\"{name}\" not implemented for 'Bool'\n"
            "Convert to a number first: `a.float() @ b.float()`."
        )


def product_of(a: Array, b: Array) -> Array:
    """The matrix product as torch.matmul defines it, on NumPy."""
    check_sizes(a, b)
    _check_types(a, b)
    return rounded(np.asarray(np.matmul(widened(a), widened(b))), a)


def multiply(a: Array, b: Array) -> Array:
    """The product of two ndarrays, by a kernel where there is one; for other families' forwards."""
    result = _kernels.matmul(a, b)
    return product_of(a, b) if result is NotImplemented else result


# ---- matmul and its special cases


def _grad_left(g: Tensor, other: Tensor, input_shape: Size) -> Tensor:
    """The gradient of the left factor; the engine sums over what was broadcast."""
    if len(input_shape) > 1:
        if other.ndim == 1:
            return g.unsqueeze(-1) * other.conj()
        return matmul(g, other.mH)
    if other.ndim == 1:
        return g * other.conj()
    return matmul(g.unsqueeze(-2), other.mH).squeeze(-2)


def _grad_right(g: Tensor, input: Tensor, other_shape: Size) -> Tensor:
    if len(other_shape) == 1:
        if input.ndim == 1:
            return g * input.conj()
        return matmul(input.mH, g.unsqueeze(-1)).squeeze(-1)
    if input.ndim == 1:
        return input.conj().unsqueeze(-1) * g.unsqueeze(-2)
    if len(other_shape) == 2 and input.ndim > 2:
        # One tall product is faster than a stack of small products and their sum.
        k, n = other_shape
        rows = math.prod(input.shape[:-1])
        return matmul(input.reshape(rows, k).mH, g.reshape(rows, n))
    return matmul(input.mH, g)


def _matmul_in_steps(a: Tensor, b: Tensor) -> Tensor:
    """matmul as PyTorch records it: reshaped to a product of matrices, of a stack of them, or of a
    matrix and a vector, and back."""

    def shaped(x: Tensor, *size: int) -> Tensor:
        return unsafe_view(x, size)

    if b.ndim == 1:
        return shaped(mv(a.reshape(-1, a.shape[-1]), b), *a.shape[:-1])
    if a.ndim == 1 and b.ndim == 2:
        return mm(a.unsqueeze(0), b).squeeze(0)
    if b.ndim == 2:
        return shaped(mm(a.reshape(-1, a.shape[-1]), b), *a.shape[:-1], b.shape[1])
    if a.ndim <= 2:  # the stack's columns are the rows of one product
        columns = b.mT.reshape(-1, b.shape[-2])
        if a.ndim == 1:
            return shaped(mv(columns, a), *b.shape[:-2], b.shape[-1])
        product = shaped(mm(columns, a.t()), *b.shape[:-2], b.shape[-1], a.shape[0])
        return product.mT.clone()
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n = math.prod(lead)
    left, right = (x.expand(*lead, *x.shape[-2:]).reshape(n, *x.shape[-2:]) for x in (a, b))
    return shaped(bmm(left, right), *lead, a.shape[-2], b.shape[-1])


def _left_shape(out: Size, b: Size) -> tuple[int, ...]:
    if len(b) == 1:
        return *out, b[0]
    return (b[-2],) if len(out) < len(b) else (*out[:-1], b[-2])


def _right_shape(out: Size, a: Size) -> tuple[int, ...]:
    if out == a[:-1]:
        return (a[-1],)
    if len(a) == 1:
        return *out[:-1], a[0], out[-1]
    lead = () if out[:-1] == a[:-1] else out[:-2]
    return *lead, a[-1], out[-1]


def _matmul_shapes(out: Any, a: Any, b: Any) -> tuple[tuple[int, ...], ...] | None:
    # Of what wants a gradient the shape is saved, of what the other needs the value, which goes
    # with a backward: the result then tells the shape. A stack times one matrix and times a stack
    # look the same, and are taken for the former.
    a = _left_shape(out, b) if a is None else a
    b = _right_shape(out, a) if b is None else b
    return None if len(a) + len(b) == 2 or (len(a) == 2 and len(b) <= 2) else (a, b)


def _matmul_op(name: str, node: str, **more: Any) -> Op:
    return bilinear(
        f"{name}(input: Tensor, other: Tensor)",
        product_of,
        native=_kernels.matmul,
        transpose={"input": _grad_left, "other": _grad_right},
        backward=(_kernels.matmul_backward, "g input other needs"),
        node=node,
        samples=matrices,
        formula={"input": "g · otherᵀ", "other": "inputᵀ · g"},
        doc="The matrix product; stacks of matrices broadcast over their leading dimensions, "
        "vectors count as rows or columns.",
        **more,
    )


matmul = _matmul_op(
    "matmul",
    "UnsafeViewBackward0",
    operator="matmul",
    nodes=[
        (2, 2, "MmBackward0"),
        (2, 1, "MvBackward0"),
        (1, 1, "DotBackward0"),
        (1, 2, "SqueezeBackward4"),
        (2, 3, "CloneBackward0"),
    ],
    unfold=in_steps(_matmul_in_steps, _matmul_shapes),
    stored="float8",
    kernel_name="addmm_impl_cpu_",
    autocast="low",
)
# The same under the name that torch's einsum, inner and multi_dot leave in the graph. Errors name
# einsum: the other two have looked at their arguments.
viewed_product = _matmul_op("_einsum", "ViewBackward0", method=False, kernel_name="bmm")


def _mm(a: Array, b: Array) -> Array:
    if a.ndim != 2:
        raise RuntimeError(f"self must be a matrix\nIt has the shape {listed(a.shape)}.")
    if b.ndim != 2:
        raise RuntimeError(f"mat2 must be a matrix\nIt has the shape {listed(b.shape)}.")
    return multiply(a, b)


mm = bilinear(
    "mm(input: Tensor, mat2: Tensor)",
    _mm,
    native=_kernels.mm,
    transpose={
        "input": lambda g, mat2: matmul(g, mat2.mH),
        "mat2": lambda g, input: matmul(input.mH, g),
    },
    backward=(_kernels.matmul_backward, "g input mat2 needs"),
    samples=lambda make: [(make(2, 3), make(3, 4)), (make(0, 3), make(3, 2))],
    overloads=(
        "(input, mat2, *, out)",
        "(input, mat2, out_dtype: dtype, *, out)",
    ),
    stored="float8",
    kernel_name="addmm_impl_cpu_",
    autocast="low",
    doc="The product of two matrices.",
)


def check_two_stacks(a: Any, b: Any) -> None:
    """torch's errors for what bmm cannot multiply."""
    if a.ndim != 3:
        raise RuntimeError(f"batch1 must be a 3D tensor\nIt has the shape {listed(a.shape)}.")
    if b.ndim != 3:
        raise RuntimeError(f"batch2 must be a 3D tensor\nIt has the shape {listed(b.shape)}.")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{a.shape[0]}, {a.shape[2]}] but got: [{b.shape[0]}, {b.shape[1]}]." + _hint(a, b)
        )


def _bmm(input: Tensor, mat2: Tensor) -> Tensor:
    check_two_stacks(input, mat2)
    return matmul(input, mat2)


bmm = bilinear(
    "bmm(input: Tensor, mat2: Tensor)",
    is_=_bmm,
    native=_kernels.bmm,
    transpose={
        "input": lambda g, mat2: matmul(g, mat2.mH),
        "mat2": lambda g, input: matmul(input.mH, g),
    },
    backward=(_kernels.matmul_backward, "g input mat2 needs"),
    samples=lambda make: [(make(2, 3, 4), make(2, 4, 2))],
    overloads=(
        "(input, mat2, *, out)",
        "(input, mat2, out_dtype: dtype, *, out)",
    ),
    kernel_name="bmm",
    autocast="low",
    doc="The products of two stacks of matrices.",
)


def _mv(a: Tensor, b: Tensor) -> Tensor:
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got 1, {a.ndim}, {b.ndim}\n"
            f"The shapes are {listed(a.shape)} and {listed(b.shape)}."
        )
    return matmul(a, b)


mv = bilinear(
    "mv(input: Tensor, vec: Tensor)",
    is_=_mv,
    native=_kernels.mv,
    transpose={
        "input": lambda g, vec: g.unsqueeze(-1) * vec.conj(),
        "vec": lambda g, input: matmul(input.mH, g),
    },
    out="addmv input tensors must have the same dtype, but got {got.scalar_name}, "
    "{want.scalar_name}, and {want.scalar_name}",
    samples=lambda make: [(make(2, 3), make(3))],
    kernel_name="addmv_impl_cpu",
    doc="The product of a matrix and a vector.",
)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors\n"
            "For matrices use `matmul`."
        )
    return matmul(a, b)


dot = bilinear(
    "dot(input: Tensor, tensor: Tensor)",
    is_=_dot,
    native=_kernels.dot,
    transpose={
        "input": lambda g, tensor: g * tensor.conj(),
        "tensor": lambda g, input: g * input.conj(),
    },
    out="result dtype {got.scalar_name} does not match input dtype {want.scalar_name}",
    samples=lambda make: [(make(3), make(3))],
    kernel_name="dot",
    autocast="widest there",
    doc="The product of two vectors, without conjugation.",
)


vdot = bilinear(
    "vdot(input: Tensor, other: Tensor)",
    is_=lambda input, other: _dot(input.conj(), other),
    native=_kernels.vdot,
    transpose={
        "input": lambda g, other: g.conj() * other,
        "other": lambda g, input: g * input,
    },
    out="result dtype {got.scalar_name} does not match input dtype {want.scalar_name}",
    samples=lambda make: [(make(3), make(3))],
    doc="The inner product of two vectors; the first is conjugated.",
)


@composite(out="cast")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The matrix of all products of the elements of two vectors."""
    if input.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {input.ndim}-D")
    if vec2.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument vec2, but got {vec2.ndim}-D")
    return input.view(-1, 1) * vec2


@composite(out="cast")
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """Another name of `outer`."""
    return outer(input, vec2)


# ---- linear: what a layer does


def check_expand(a: Array, shape: tuple[int, ...]) -> None:
    if a.ndim > len(shape):
        raise RuntimeError(
            f"expand(torch.{scalar_name(a)}Tensor{{{listed(a.shape)}}}, size={listed(shape)}): the "
            "number of "
            f"sizes provided ({len(shape)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({a.ndim})"
        )
    for i in range(1, a.ndim + 1):
        if a.shape[-i] not in (1, shape[-i]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[-i]}) must match the existing size "
                f"({a.shape[-i]}) at "
                f"non-singleton dimension {len(shape) - i}.  Target sizes: {listed(shape)}.  "
                f"Tensor sizes: {listed(a.shape)}"
            )


def _rows(x: Tensor | Array) -> Any:
    """An array or tensor as one matrix, of all its rows."""
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _linear(x: Array, w: Array, bias: Array | None) -> Array:
    if x.ndim == 0 or w.ndim == 0:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {x.ndim}D and {w.ndim}D"
        )
    if bias is not None and w.ndim != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {w.ndim}-D tensor")
    if bias is not None and not x.dtype == w.dtype == bias.dtype:
        name, other = ("self", bias) if bias.dtype != w.dtype else ("mat1", x)
        raise RuntimeError(
            f"{name} and mat2 must have the same dtype, but got {scalar_name(other)} and "
            f"{scalar_name(w)}"
        )
    # The error speaks of the matrices that are multiplied: all rows of x, and w transposed.
    rows = _rows(x) if x.ndim != 2 and w.ndim == 2 else x
    if w.ndim == 2 and rows.shape[-1] != w.shape[1]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({times(rows.shape)} and "
            f"{times(w.shape[::-1])})\nThe input has {rows.shape[-1]} in its last dimension, the "
            f"weight takes {w.shape[1]}."
        )
    if bias is not None:
        check_expand(bias, (rows.shape[0], w.shape[0]))
    if bias is not None and is_stored(x.dtype):  # rounded once
        check_float8(rows, w)
        wide = widened(rows) @ widened(w.T) + widened(bias)
        return rounded(wide, x).reshape(*x.shape[:-1], w.shape[0])
    result = multiply(rows, w.T)
    if bias is not None:
        result = rounded(widened(result) + widened(bias), x)
    return result if w.ndim != 2 else result.reshape(*x.shape[:-1], w.shape[0])


def _weight_grad(g: Tensor, input: Tensor, weight_shape: Size) -> Tensor:
    if len(weight_shape) == 1:
        return g.unsqueeze(-1) * input.conj()
    return matmul(_rows(g).mT, _rows(input).conj())


def _input_grad(g: Tensor, weight: Tensor) -> Tensor:
    if weight.ndim == 1:
        return g.unsqueeze(-1) * weight.conj()
    return matmul(g, weight.conj())


def _layer_in_steps(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """A layer as PyTorch records it: the product of the rows with the transposed weight."""
    if bias is None or not (input.ndim == 2 or input.is_contiguous()):
        turned = weight.t()
        one_node = _matmul_shapes(None, input.shape, turned.shape) is None
        product = (matmul if one_node else _matmul_in_steps)(input, turned)
        return product if bias is None else product + bias
    rows = input if input.ndim == 2 else input.view(-1, input.shape[-1])
    result = bias.addmm(rows, weight.t())
    return result if input.ndim == 2 else result.view(*input.shape[:-1], weight.shape[0])


def _layer_shapes(
    out: Size, input: Any, weight: Any, bias: Any
) -> tuple[tuple[int, ...] | None, ...]:
    n = out[-1] if out else 1
    if weight is None:  # nor does the input want a gradient: any length of the rows will do
        weight = (n, 1) if input is None else (n, input[-1])
    if input is None:
        input = (*(out if len(weight) == 1 else out[:-1]), weight[-1])
    return input, weight, bias


def _layers(make: Callable[..., Any]) -> Any:
    return [(make(2, 3), make(4, 3)), (make(3), make(4, 3)), (make(2, 2, 3), make(4, 3))]


linear = bilinear(
    "linear(input: Tensor, weight: Tensor, bias: Tensor | None = None)",
    _linear,
    native=_kernels.linear,
    transpose={"input": _input_grad, "weight": _weight_grad},
    backward=(_kernels.linear_backward, "g input weight needs"),
    node="UnsafeViewBackward0",
    nodes=[(2, 2, "MmBackward0"), (1, 2, "SqueezeBackward4")],
    unfold=in_steps(_layer_in_steps, _layer_shapes),
    where="nn",
    samples=_layers,
    formula={"input": "g · weight", "weight": "gᵀ · input"},
    stored="float8",
    kernel_name="addmm_impl_cpu_",
    autocast="low",
    doc="input @ weight.T + bias, over any leading dimensions of input.",
)
_linear_bias = general(
    "_linear_bias(input: Tensor, weight: Tensor, bias: Tensor | None = None)",
    _linear,
    native=_kernels.linear,
    vjp={
        "input": _input_grad,
        "weight": _weight_grad,
        "bias": lambda g: g,  # the engine sums over what was broadcast
    },
    jvp={
        "input": lambda t, weight: linear(t, weight),
        "weight": lambda t, input: linear(input, t),
        "bias": lambda t: t,
    },
    backward=(_kernels.linear_backward, "g input weight needs"),
    edges="bias input weight",
    node="ViewBackward0",
    nodes=[(2, 2, "AddmmBackward0")],
    unfold=in_steps(
        _layer_in_steps, lambda out, *known: (*_layer_shapes(out, *known)[:2], out[-1:])
    ),
    where="nn",
    samples=lambda make: [(*a, make(4)) for a in _layers(make)],
    formula={"input": "g · weight", "weight": "gᵀ · input"},
    stored="float8",
    kernel_name="addmm_impl_cpu_",
    doc="`linear` with a bias.",
)
variant(linear, "bias", "given", _linear_bias)


@composite(where="nn torch", method=False, name="bilinear", autocast="none")
def _bilinear_form(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """y[..., k] = input1 @ weight[k] @ input2 + bias[k], over any leading dimensions."""
    lead = input1.shape[:-1]
    if input1.ndim != input2.ndim:
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}"
        )
    for i, (p, q) in enumerate(zip(lead, input2.shape[:-1], strict=True)):
        if p != q:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got {p} and {q}"
            )
    for i, x in ((1, input1), (2, input2)):
        if x.shape[-1] != weight.shape[i]:
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: "
                f"got {x.shape[-1]} but expected {weight.shape[i]}"
            )
    k, m, n = weight.shape
    x, y = _rows(input1), _rows(input2)
    rows = matmul(x, weight.permute(1, 0, 2).reshape(m, k * n)).reshape(x.shape[0], k, n)
    result = matmul(rows, y.unsqueeze(-1)).squeeze(-1)
    if bias is not None:
        result = result + bias
    return result.reshape(*lead, k)
