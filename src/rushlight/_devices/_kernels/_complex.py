"""Complex numbers: views of their parts, functions of single elements, and real kernels by parts.

A function that is linear over real numbers is called for the real and the imaginary parts, one that
is bilinear for the four pairs of them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ... import _core
from ... import _dtypes as dtypes
from ..._core import Tensor
from ..opencl import FOLDER
from . import kernel, table
from ._launch import code, empty, layout, start, takes

__all__ = ["as_complex", "as_pairs", "is_complex", "mapped", "there"]

_FILE = "complex.cl"
_COMPLEX = {
    dtypes.float16: dtypes.complex32,
    dtypes.float32: dtypes.complex64,
    dtypes.float64: dtypes.complex128,
}
_REAL = {c: r for r, c in _COMPLEX.items()}
_WIDE = {dtypes.float64, dtypes.complex128}  # computed in double
_NUMBER = -1  # as in complex.cl


def _numbers() -> dict[str, int]:
    """The numbers of the functions in complex.cl, by name."""
    found = re.search(r"enum \{([^}]*)\}", (FOLDER / _FILE).read_text())
    assert found
    names = found[1].replace(",", " ").lower().split()
    return {name: i for i, name in enumerate(names)}


_FUNCTIONS = _numbers()

# ---- what is a complex tensor here, and views of it


def there(*tensors: Any) -> bool:
    """Whether all are real or complex tensors on one accelerator, with nothing put off."""
    device = tensors[0]._accelerator if isinstance(tensors[0], Tensor) else None
    return device is not None and all(
        isinstance(t, Tensor)
        and t._accelerator == device
        and (t.dtype in _REAL or takes(t))
        and not (t.is_conj() or t.is_neg())
        for t in tensors
    )


def is_complex(*tensors: Any) -> bool:
    """Whether all are complex64 or complex128 tensors on one accelerator, with nothing put off."""
    return there(*tensors) and all(t.dtype in _REAL and t.element_size() > 4 for t in tensors)


def as_pairs(z: Tensor) -> Tensor:
    """The view as real and imaginary parts, in a last dimension of 2."""
    strides = [2 * s for s in z.stride()]
    shape, first = (*z.shape, 2), 2 * z._offset
    return _core.place(_core.storage_of(z), _REAL[z.dtype], shape, (*strides, 1), first)


def as_complex(x: Tensor) -> Tensor:
    """The view of such pairs as complex numbers."""
    strides, first = tuple(s // 2 for s in x.stride()[:-1]), x._offset // 2
    return _core.place(_core.storage_of(x), _COMPLEX[x.dtype], x.shape[:-1], strides, first)


def _part(z: Tensor, which: int) -> Tensor:
    """The view of the real or imaginary parts."""
    return _core.kernels.select(as_pairs(z), z.dim(), which)


@kernel("view_as_real")
def view_as_real(z: Any) -> Any:
    return as_pairs(z) if isinstance(z, Tensor) and z.dtype in _REAL else NotImplemented


@kernel("view_as_complex")
def view_as_complex(x: Any) -> Any:
    if not isinstance(x, Tensor) or x.dtype not in _COMPLEX or not x.dim() or x.shape[-1] != 2:
        return NotImplemented
    if not x.numel():
        return empty(x.shape[:-1], x, _COMPLEX[x.dtype])
    odd = [s % 2 for s in x.stride()[:-1]]
    if x.stride(-1) != 1 or any(odd):
        return NotImplemented
    if x._offset % 2:  # which a copy on the host has not
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return as_complex(x)


@kernel("_conj", "_neg_view")
def _same(z: Any) -> Any:
    """The view of everything; the op turns its bit."""
    return z


# ---- functions of elements


def _operand(value: Any, shape: Sequence[int], like: Tensor, letter: str) -> Any:
    """(the tensor or None, where its elements are and what they are); None in the place of the
    second where kernels do not take its layout."""
    if isinstance(value, Tensor) and value.dim() == 0 and value._accelerator is None:
        value = value.item()
    if not isinstance(value, Tensor):
        number = complex(value)
        parts = struct.pack(f"2{letter}", *_held(number.real, letter), *_held(number.imag, letter))
        return None, struct.pack("14q", *(0,) * 13, _NUMBER) + parts
    more = len(shape) - value.dim()
    own = zip(value.stride(), value.shape, strict=True)
    laid = layout(value, shape, [0] * more + [0 if n == 1 else s for s, n in own])
    whole = None if laid is None else laid + struct.pack(f"q2{letter}", code(value), 0, 0)
    return value, whole


def _held(value: float, letter: str) -> tuple[float]:
    """A number as T holds it: beyond the range of float it is infinite."""
    with np.errstate(over="ignore"):
        return (float(np.float32(value) if letter == "f" else value),)


def mapped(name: str, *operands: Any, out: Tensor) -> Any:
    """A function of elements of tensors and numbers, written to `out`; NotImplemented where kernels
    do not take the layouts."""
    if not out.numel():
        return out
    given = [t for t in operands if isinstance(t, Tensor) and t._accelerator is not None]
    letter = "d" if any(t.dtype in _WIDE for t in (out, *given)) else "f"
    parts = [_operand(value, out.shape, out, letter) for value in operands]
    parts += [_operand(0, (), out, letter)] * (4 - len(parts))
    laid = layout(out)
    if laid is None or any(where is None for _, where in parts):
        return NotImplemented
    memory, places = zip(*parts, strict=True)
    numbers = code(out), _FUNCTIONS[name], out.numel()
    wide = "float64" if letter == "d" else "float32"
    start(
        _FILE, "elementwise", out.numel(), out, *memory, out, *places, laid, *numbers, computes=wide
    )
    return out


def _new(shape: Sequence[int], dtype: Any, operands: Sequence[Any]) -> Tensor:
    """A new tensor, laid out as the first of the operands that has the shape."""
    for t in operands:
        if isinstance(t, Tensor) and tuple(t.shape) == tuple(shape):
            device: Any = t._accelerator
            if device is not None:
                strides = _core.like_strides(t)
                return _core.empty_accelerated(device, tuple(shape), dtype.code, strides)
    like = next(t for t in operands if isinstance(t, Tensor) and t._accelerator is not None)
    return empty(shape, like, dtype)


def _is_operand(value: Any) -> bool:
    if isinstance(value, Tensor):
        return there(value) if value._accelerator is not None else value.dim() == 0
    return isinstance(value, (bool, int, float, complex))


def _elementwise(function: str, order: Sequence[int], result: str) -> Callable[..., Any]:
    """An op whose operands are those arguments in an order; result: "same", "real" or "bool"."""

    def call(*args: Any) -> Any:
        if len(args) <= max(order):
            return NotImplemented
        operands = [args[i] for i in order]
        if not all(map(_is_operand, operands)):
            return NotImplemented
        tensors = [t for t in operands if isinstance(t, Tensor) and t._accelerator is not None]
        complexes = [t.dtype for t in tensors if t.dtype in _REAL]
        if not there(*tensors) or not complexes or dtypes.complex32 in complexes:
            return NotImplemented
        try:
            shape = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
        except ValueError:
            return NotImplemented  # the CPU's error
        widest = max(complexes, key=lambda d: int(d.itemsize))
        dtype = {"same": widest, "real": _REAL[widest], "bool": dtypes.bool}[result]
        return mapped(function, *operands, out=_new(shape, dtype, operands))

    return call


# By the name of the op: the function, where that has another name, and the order of its operands.
_SAME: dict[str, tuple[str, Sequence[int]]] = {
    "add": ("add", (0, 1)),
    "_add_scaled": ("add_scaled", (0, 1, 2)),
    "sub": ("sub", (0, 1)),
    "_sub_scaled": ("sub_scaled", (0, 1, 2)),
    "rsub": ("sub", (1, 0)),
    "_rsub_number": ("sub", (1, 0)),
    "_rsub_scaled": ("sub_scaled", (1, 0, 2)),
    "mul": ("mul", (0, 1)),
    "div": ("div", (0, 1)),
    "addcmul": ("add_product", (0, 1, 2, 3)),
    "_addcmul_scaled": ("add_product", (0, 1, 2, 3)),
    "addcdiv": ("add_quotient", (0, 1, 2, 3)),
    "_addcdiv_scaled": ("add_quotient", (0, 1, 2, 3)),
    "lerp": ("lerp", (0, 1, 2)),
    "_lerp_number": ("lerp", (0, 1, 2)),
    "ldexp": ("ldexp", (0, 1)),
    "logaddexp": ("log_add_exp", (0, 1)),
    "pow": ("pow", (0, 1)),
    "_pow_number": ("pow", (0, 1)),
    "_pow_base": ("pow", (0, 1)),
    "_pow_two": ("square", (0,)),
    "_pow_three": ("cube", (0,)),
    "_pow_half": ("sqrt", (0,)),
    "_pow_minus_half": ("rsqrt", (0,)),
    "_pow_minus_one": ("reciprocal", (0,)),
    "where": ("where", (0, 1, 2)),
    "masked_fill": ("where", (1, 2, 0)),
    "_masked_fill_number": ("where", (1, 2, 0)),
    "conj_physical": ("conj", (0,)),
}
_OF_ONE = (
    "neg sgn reciprocal square sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sigmoid silu sinc "
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"
)
for _name in _OF_ONE.split():
    _SAME[_name] = _name, (0,)
for _name, (_function, _order) in _SAME.items():
    kernel(_name, complex=True)(_elementwise(_function, _order, "same"))
for _name in ("abs", "angle"):
    kernel(_name, complex=True)(_elementwise(_name, (0,), "real"))
for _name in ("isnan", "isinf", "isfinite", "isreal"):
    kernel(_name, complex=True)(_elementwise(_name, (0,), "bool"))
kernel("logical_not", complex=True)(_elementwise("not", (0,), "bool"))
for _name, _function in (
    *((name, op) for op in ("eq", "ne") for name in (op, f"_{op}_number")),
    *((f"logical_{op}", op) for op in ("and", "or", "xor")),
):
    kernel(_name, complex=True)(_elementwise(_function, (0, 1), "bool"))


# ---- of two real numbers


def _joined(name: str, a: Any, b: Any) -> Any:
    """A complex tensor of two real ones."""
    if not takes(a, b) or a.dtype is not b.dtype or a.dtype not in _COMPLEX:
        return NotImplemented
    try:
        shape = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))
    except ValueError:
        return NotImplemented
    return mapped(name, a, b, out=empty(shape, a, _COMPLEX[a.dtype]))


@kernel("complex")
def complex_(a: Any, b: Any) -> Any:
    return _joined("join", a, b)


@kernel("polar")
def polar(a: Any, b: Any) -> Any:
    return NotImplemented if a.element_size() == 2 else _joined("polar", a, b)


# ---- copies


def _cast(x: Tensor, dtype: Any) -> Any:
    """The values as another type, laid out as they are."""
    out = _new(x.shape, dtype, [x])
    if x.dtype.is_complex or dtype.is_complex:
        return mapped("copy", x, out=out)
    _core.copy_values(out, x)
    return out


@kernel("_to_copy", complex=True)
def _to_copy(x: Any, dtype: Any) -> Any:
    if not there(x) or not (x.dtype.is_complex or dtype.is_complex):
        return NotImplemented
    if dtype not in _REAL and dtype.code > dtypes.float64.code:
        return NotImplemented
    return _cast(x, dtype)


@kernel("_to_format")
def _to_format(x: Any, dtype: Any, memory_format: Any) -> Any:
    from ...ops.making.copies import like_strides

    if not there(x) or (dtype not in _REAL and dtype.code > dtypes.float64.code):
        return NotImplemented
    device: Any = x._accelerator
    strides = like_strides(x, memory_format)
    out = _core.empty_accelerated(device, tuple(x.shape), dtype.code, strides)
    if not (x.dtype.is_complex or dtype.is_complex):
        _core.copy_values(out, x)
        return out
    return mapped("copy", x, out=out)


@kernel("_copy_across")
def _copy_across(to: Any, x: Any) -> Any:
    """Values into a tensor's memory, spread to its shape, where one of both is complex."""
    if not (to.dtype.is_complex or x.dtype.is_complex) or not there(to):
        return NotImplemented
    if not there(x) and (x._accelerator is not None or x.dim() or x._meta):
        return NotImplemented
    return mapped("copy", x, out=to)


@kernel("_put_off")
def put_off(x: Any, conjugate: bool, negative: bool) -> Any:
    """The conjugates, negatives or both of elements."""
    if not there(x) or (negative and x.dtype is dtypes.bool):
        return NotImplemented
    function = {(1, 0): "conj", (0, 1): "neg", (1, 1): "conj_neg"}[int(conjugate), int(negative)]
    if not x.dtype.is_complex:
        if not x.dtype.is_floating_point:
            return NotImplemented
        function = "neg" if negative else "copy"
    return mapped(function, x, out=_new(x.shape, x.dtype, [x]))


@kernel("_copied", "_overwrite", complex=True)
def _copied(tensor: Any, source: Any, *_: Any) -> Any:
    """What `copy_` and `fill_` with a tensor put in the place of a tensor."""
    if not there(tensor) or not isinstance(source, Tensor) or source.dim() > tensor.dim():
        return NotImplemented
    if source._accelerator is None:
        if source.dim() or source._meta:
            return NotImplemented
        return mapped("copy", source.item(), out=empty(tensor.shape, tensor))
    sizes = zip(reversed(source.shape), reversed(tensor.shape), strict=False)
    if not there(tensor, source) or not all(n in (1, m) for n, m in sizes):
        return NotImplemented
    return mapped("copy", source, out=empty(tensor.shape, tensor))


@kernel("_overwrite_number", complex=True)
def _overwrite_number(tensor: Any, value: Any) -> Any:
    """What `fill_` with a number puts in the place of a tensor."""
    if not there(tensor) or not isinstance(value, (bool, int, float, complex)):
        return NotImplemented
    return mapped("copy", value, out=empty(tensor.shape, tensor))


@kernel("_zeroed", complex=True)
def _zeroed(tensor: Any) -> Any:
    return _overwrite_number(tensor, 0)


# ---- real kernels by parts


def _parts_of(value: Any, which: int) -> Any:
    """An argument as a call for the real or imaginary parts gets it."""
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        return type(value)(_parts_of(v, which) for v in value)
    if isinstance(value, dtypes.dtype):
        return _REAL.get(value, value)
    return _part(value, which) if isinstance(value, Tensor) and value.dtype.is_complex else value


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
    return mapped(function, *parts, out=_new(parts[0].shape, _COMPLEX[parts[0].dtype], parts))


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
    "_fill_tensor slice_scatter select_scatter diagonal_scatter "
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
for _name, _place in (("_scatter_value", 3), ("_fill_number", 3), ("constant_pad_nd", 2)):
    kernel(_name, complex=True)(_linear(_name, _place))


@kernel("mean_backward", complex=True)
def mean_backward(g: Any, shape: Any, dim: Any, keepdim: Any) -> Any:
    from ._reductions import axes_of

    axes = axes_of(dim, len(shape)) if is_complex(g) and type(keepdim) is bool else None
    if axes is None:
        return NotImplemented
    count = prod(shape[d] for d in axes)
    part = mapped("mul", g, 1 / count if count else np.nan, out=_new(g.shape, g.dtype, [g]))
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
    found = _cast(z, z.dtype)
    return found if keepdim or found is NotImplemented else _core.kernels.select(found, dim, 0)


@kernel("cumprod", complex=True)
def cumprod(z: Any, dim: Any, dtype: Any = None) -> Any:
    """The products of 2, 4, 8, ... entries that end at each."""
    if not is_complex(z) or dtype not in (None, z.dtype) or type(dim) is not int:
        return NotImplemented
    if not -max(z.dim(), 1) <= dim < max(z.dim(), 1):
        return NotImplemented
    if not z.dim():
        return _cast(z, z.dtype)
    cut, dim, apart, n = _core.kernels.slice, dim % z.dim(), 1, z.shape[dim]
    found = _cast(z, z.dtype)
    while apart < n and found is not NotImplemented:
        before, found = found, _cast(found, z.dtype)
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
        found.append(real(_part(x, i), _part(y, k)))
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
        part = _part(input, 0)
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
        return _together("join", *(of_parts(_part(g, which), None, None) for which in (0, 1)))
    own, other = (a, b) if of_a else (b, a)
    if other is None:
        return NotImplemented
    like = None if own is None else _part(own, 0)
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
        sizes = mapped("abs", z, out=_new(z.shape, _REAL[z.dtype], [z]))
        given = [_parts_of(value, 0) for value in rest]
        return sizes if sizes is NotImplemented else table[name](sizes, *given)

    return call


for _name in ("_vector_norm", "_distance_norm"):
    kernel(_name, complex=True)(_of_sizes(_name))


def _of_truth(name: str) -> Callable[..., Any]:
    """A function of which elements are not 0."""

    def call(z: Any, *rest: Any) -> Any:
        real = table.get(name)
        truth = _cast(z, dtypes.bool) if real is not None and is_complex(z) else NotImplemented
        return truth if real is None or truth is NotImplemented else real(truth, *rest)

    return call


for _name in ("any", "all", "count_nonzero", "nonzero"):
    kernel(_name, complex=True)(_of_truth(_name))


def _spread_of(name: str, root: bool, mean: bool) -> Callable[..., Any]:
    """The variance, which is that of the real parts and that of the imaginary ones."""

    def call(z: Any, *rest: Any) -> Any:
        if not is_complex(z):
            return NotImplemented
        found = [table["_var_mean"](_part(z, which), *rest) for which in (0, 1)]
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
