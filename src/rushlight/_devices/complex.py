"""Complex numbers: views of their parts, functions of single elements, copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import _core
from .._base import dtypes
from .._base.outside import np
from .._core import Tensor
from ..ops.elementwise import arithmetic, comparison, complex_numbers, powers, selection, special
from ..ops.making import casts
from ..ops.table.formulas import BOOLEAN
from ..ops.table.statement import OPS
from .launch import Ints, code, empty, layout, start, takes
from .there import named, numbers_of, struct_of, there

__all__ = [
    "COMPLEX",
    "REAL",
    "all_there",
    "as_complex",
    "as_pairs",
    "cast",
    "is_complex",
    "mapped",
    "new",
    "part_of",
]

_FILE = "complex.cl"
COMPLEX = {
    dtypes.float16: dtypes.complex32,
    dtypes.float32: dtypes.complex64,
    dtypes.float64: dtypes.complex128,
}
REAL = {c: r for r, c in COMPLEX.items()}
_WIDE = {dtypes.float64, dtypes.complex128}  # computed in double


_N = numbers_of(_FILE)
_OPERANDS = {computed: struct_of(_FILE, "Operand", computed) for computed in ("float32", "float64")}
_NOWHERE = bytes(struct_of(_FILE, "Layout").size)

# The functions by name: instructions, and those of the text's own enum.
_FUNCTIONS = {name: i for i, (name, of_complex) in enumerate(_core.instructions()) if of_complex}
_FUNCTIONS |= {name.lower(): number for name, number in vars(_N).items()}
_TRUTHS = {*BOOLEAN, "isreal"}

# ---- what is a complex tensor here, and views of it


def all_there(*tensors: object) -> bool:
    """Whether all are real or complex tensors on one accelerator, with nothing put off."""
    device = tensors[0]._accelerator if isinstance(tensors[0], Tensor) else None
    return device is not None and all(
        isinstance(t, Tensor)
        and t._accelerator == device
        and (t.dtype in REAL or takes(t))
        and not (t.is_conj() or t.is_neg())
        for t in tensors
    )


def is_complex(*tensors: Any) -> bool:
    """Whether all are complex64 or complex128 tensors on one accelerator, with nothing put off."""
    return all_there(*tensors) and all(t.dtype in REAL and t.element_size() > 4 for t in tensors)


def as_pairs(z: Tensor) -> Tensor:
    """The view as real and imaginary parts, in a last dimension of 2."""
    strides = [2 * s for s in z.stride()]
    shape, first = (*z.shape, 2), 2 * z._offset
    return _core.place(_core.storage_of(z), REAL[z.dtype], shape, (*strides, 1), first)


def as_complex(x: Tensor) -> Tensor:
    """The view of such pairs as complex numbers."""
    strides, first = tuple(s // 2 for s in x.stride()[:-1]), x._offset // 2
    return _core.place(_core.storage_of(x), COMPLEX[x.dtype], x.shape[:-1], strides, first)


def part_of(z: Tensor, which: int) -> Tensor:
    """The view of the real or imaginary parts."""
    return _core.kernels.select(as_pairs(z), z.dim(), which)


@there(complex_numbers.view_as_real)
def view_as_real(z: Tensor) -> Tensor:
    return as_pairs(z) if isinstance(z, Tensor) and z.dtype in REAL else NotImplemented


@there(complex_numbers.view_as_complex)
def view_as_complex(x: Tensor) -> Tensor:
    if not isinstance(x, Tensor) or x.dtype not in COMPLEX or not x.dim() or x.shape[-1] != 2:
        return NotImplemented
    if not x.numel():
        return empty(x.shape[:-1], x, COMPLEX[x.dtype])
    odd = [s % 2 for s in x.stride()[:-1]]
    if x.stride(-1) != 1 or any(odd):
        return NotImplemented
    if x._offset % 2:  # which a copy on the host has not
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return as_complex(x)


@there(complex_numbers._conj, complex_numbers.neg_view)
def _same(z: Tensor) -> Tensor:
    """The view of everything; the op turns its bit."""
    return z


# ---- functions of elements


def _operand(value: Any, shape: Ints, computed: str) -> Any:
    """(the tensor or None, where its elements are and what they are); None in the place of the
    second where kernels do not take its layout."""
    if isinstance(value, Tensor) and value.dim() == 0 and value._accelerator is None:
        value = value.item()
    if not isinstance(value, Tensor):
        with np.errstate(over="ignore"):  # beyond the range of T a number is infinite
            z = np.complex64(complex(value)) if computed == "float32" else complex(value)
        number = {"places": _NOWHERE, "type": _N.IS_NUMBER, "re": z.real, "im": z.imag}
        return None, _OPERANDS[computed].pack(**number)
    more = len(shape) - value.dim()
    own = zip(value.stride(), value.shape, strict=True)
    laid = layout(value, shape, [0] * more + [0 if n == 1 else s for s, n in own])
    if laid is None:
        return value, None
    return value, _OPERANDS[computed].pack(places=laid, type=code(value), re=0, im=0)


def mapped(name: str, *operands: object, out: Tensor) -> Tensor:
    """A function of elements of tensors and numbers, written to `out`; NotImplemented where kernels
    do not take the layouts."""
    if not out.numel():
        return out
    given = [t for t in operands if isinstance(t, Tensor) and t._accelerator is not None]
    computed = "float64" if any(t.dtype in _WIDE for t in (out, *given)) else "float32"
    parts = [_operand(value, out.shape, computed) for value in operands]
    parts += [_operand(0, (), computed)] * (4 - len(parts))
    laid = layout(out)
    if laid is None or any(where is None for _, where in parts):
        return NotImplemented
    memory, places = zip(*parts, strict=True)
    numbers = code(out), _FUNCTIONS[name], out.numel()
    whole = *memory, out, *places, laid, *numbers
    start(_FILE, "elementwise", out.numel(), out, *whole, computes=computed)
    return out


def new(shape: Ints, dtype: dtypes.dtype, operands: Sequence[Any]) -> Tensor:
    """A new tensor, laid out as the first of the operands that has the shape."""
    for t in operands:
        if isinstance(t, Tensor) and tuple(t.shape) == tuple(shape):
            device: Any = t._accelerator
            if device is not None:
                strides = _core.like_strides(t)
                return _core.empty_accelerated(device, tuple(shape), dtype.code, strides)
    like = next(t for t in operands if isinstance(t, Tensor) and t._accelerator is not None)
    return empty(shape, like, dtype)


def _is_operand(value: object) -> bool:
    if isinstance(value, Tensor):
        return all_there(value) if value._accelerator is not None else value.dim() == 0
    return isinstance(value, (bool, int, float, complex))


def _elementwise(function: str, order: Ints) -> Callable[..., Any]:
    """An op whose operands are those arguments in an order."""
    is_truth, is_real = function in _TRUTHS, function in ("abs", "angle")

    def call(*args: object) -> Tensor:
        if len(args) <= max(order):
            return NotImplemented
        operands = [args[i] for i in order]
        if not all(map(_is_operand, operands)):
            return NotImplemented
        tensors = [t for t in operands if isinstance(t, Tensor) and t._accelerator is not None]
        complexes = [t.dtype for t in tensors if t.dtype in REAL]
        if not all_there(*tensors) or not complexes or dtypes.complex32 in complexes:
            return NotImplemented
        try:
            shape = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
        except ValueError:
            return NotImplemented  # the CPU's error
        widest = max(complexes, key=lambda d: int(d.itemsize))
        dtype = dtypes.bool if is_truth else REAL[widest] if is_real else widest
        return mapped(function, *operands, out=new(shape, dtype, operands))

    return call


# Pointwise ops of one instruction; then those that are made of several, or of none.
for _entry in OPS.values():
    if _entry.kind == "pointwise" and _entry.kernel in _FUNCTIONS:
        _first = range(_core.kernel_arity(_entry.kernel))
        there(_entry.op, complex=True)(_elementwise(_entry.kernel, _first))
_SEVERAL: Sequence[tuple[str, Ints, Sequence[Any]]] = (
    ("muladd", (1, 2, 0), [arithmetic._add_scaled]),
    ("sub", (1, 0), [arithmetic.rsub, arithmetic._rsub_number]),
    ("sub_scaled", (0, 1, 2), [arithmetic._sub_scaled]),
    ("sub_scaled", (1, 0, 2), [arithmetic._rsub_scaled]),
    ("add_product", (0, 1, 2, 3), [arithmetic.addcmul, arithmetic._addcmul_scaled]),
    ("add_quotient", (0, 1, 2, 3), [arithmetic.addcdiv, arithmetic._addcdiv_scaled]),
    ("ldexp", (0, 1), [powers.ldexp]),
    ("square", (0,), [powers._pow_two]),
    ("cube", (0,), [powers._pow_three]),
    ("sqrt", (0,), [powers._pow_half]),
    ("rsqrt", (0,), [powers._pow_minus_half]),
    ("reciprocal", (0,), [powers._pow_minus_one]),
    ("where", (1, 2, 0), [selection.masked_fill, selection._masked_fill_number]),
    ("conj", (0,), [complex_numbers.conj_physical]),
    ("sinc", (0,), [special.sinc]),
    ("isreal", (0,), [comparison.isreal]),
)
for _function, _order, _ops in _SEVERAL:
    there(*_ops, complex=True)(_elementwise(_function, _order))


# ---- of two real numbers


def _joined(name: str, a: Tensor, b: Tensor) -> Tensor:
    """A complex tensor of two real ones."""
    if not takes(a, b) or a.dtype is not b.dtype or a.dtype not in COMPLEX:
        return NotImplemented
    try:
        shape = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))
    except ValueError:
        return NotImplemented
    return mapped(name, a, b, out=empty(shape, a, COMPLEX[a.dtype]))


there(complex_numbers.complex)(partial(_joined, "join"))


@there(complex_numbers.polar)
def polar(a: Tensor, b: Tensor) -> Tensor:
    return NotImplemented if a.element_size() == 2 else _joined("polar", a, b)


# ---- copies


def cast(x: Tensor, dtype: dtypes.dtype) -> Tensor:
    """The values as another type, laid out as they are."""
    out = new(x.shape, dtype, [x])
    if x.dtype.is_complex or dtype.is_complex:
        return mapped("copy", x, out=out)
    _core.copy_values(out, x)
    return out


@there(casts.to_copy, complex=True)
def _to_copy(x: Tensor, dtype: dtypes.dtype) -> Tensor:
    if not all_there(x) or not (x.dtype.is_complex or dtype.is_complex):
        return NotImplemented
    if dtype not in REAL and dtype.code > dtypes.float64.code:
        return NotImplemented
    return cast(x, dtype)


@there(casts._to_format)
def _to_format(x: Tensor, dtype: dtypes.dtype, memory_format: object) -> Tensor:
    from ..ops.making.copies import like_strides

    if not all_there(x) or (dtype not in REAL and dtype.code > dtypes.float64.code):
        return NotImplemented
    device: Any = x._accelerator
    strides = like_strides(x, memory_format)
    out = _core.empty_accelerated(device, tuple(x.shape), dtype.code, strides)
    if not (x.dtype.is_complex or dtype.is_complex):
        _core.copy_values(out, x)
        return out
    return mapped("copy", x, out=out)


def copy_across(to: Tensor, x: Tensor) -> Tensor:
    """Values into a tensor's memory, spread to its shape, where one of both is complex."""
    if not (to.dtype.is_complex or x.dtype.is_complex) or not all_there(to):
        return NotImplemented
    if not all_there(x) and (x._accelerator is not None or x.dim() or x._on_meta):
        return NotImplemented
    return mapped("copy", x, out=to)


def put_off(x: Tensor, conjugate: bool, negative: bool) -> Tensor:
    """The conjugates, negatives or both of elements."""
    if not all_there(x) or (negative and x.dtype is dtypes.bool):
        return NotImplemented
    function = {(1, 0): "conj", (0, 1): "neg", (1, 1): "conj_neg"}[int(conjugate), int(negative)]
    if not x.dtype.is_complex:
        if not x.dtype.is_floating_point:
            return NotImplemented
        function = "neg" if negative else "copy"
    return mapped(function, x, out=new(x.shape, x.dtype, [x]))


@there(selection._copied, selection._overwrite, complex=True)
def _copied(tensor: Tensor, source: Tensor, *_: object) -> Tensor:
    """The tensor that `copy_`, or `fill_` with a tensor, puts in the place of a tensor."""
    if not all_there(tensor) or not isinstance(source, Tensor) or source.dim() > tensor.dim():
        return NotImplemented
    if source._accelerator is None:
        if source.dim() or source._on_meta:
            return NotImplemented
        return mapped("copy", source.item(), out=empty(tensor.shape, tensor))
    sizes = zip(reversed(source.shape), reversed(tensor.shape), strict=False)
    if not all_there(tensor, source) or not all(n in (1, m) for n, m in sizes):
        return NotImplemented
    return mapped("copy", source, out=empty(tensor.shape, tensor))


@there(*named("_overwrite_number"), *named("_fill_number"), complex=True)
def _overwrite_number(tensor: Tensor, value: object) -> Tensor:
    """The tensor that `fill_` with a number puts in the place of a tensor."""
    if not all_there(tensor) or not isinstance(value, (bool, int, float, complex)):
        return NotImplemented
    return mapped("copy", value, out=empty(tensor.shape, tensor))


@there(selection._zeroed, complex=True)
def _zeroed(tensor: Tensor) -> Tensor:
    return _overwrite_number(tensor, 0)
