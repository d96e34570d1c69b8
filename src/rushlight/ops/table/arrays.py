"""Helpers of several families for ndarrays (element types by torch's names, half precision) and for
arguments.

NumPy has no loops for bfloat16 and slow ones for float16; torch computes both in float32 and rounds
the result. `widened` gives the array to compute with, `rounded` brings a result back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, wraps
from operator import attrgetter
from operator import index as as_int
from typing import TYPE_CHECKING, Any, TypeAlias

from ... import _core
from ..._base.dtypes import complex128, dtype, float64, from_numpy_dtype
from ..._base.errors import dim_out_of_range, warn
from ..._base.outside import np, np_types
from ..._core import Tensor

__all__ = [
    "Array",
    "anywhere",
    "as_type",
    "axes_of",
    "by_axis",
    "c_name",
    "cell",
    "check_room",
    "check_tensor",
    "check_tensors",
    "common_type",
    "default_float",
    "dim_in",
    "dims_in",
    "distinct",
    "elements",
    "fitted_number",
    "held_number",
    "is_half",
    "is_stored",
    "joined_sizes",
    "listed",
    "none_left",
    "refuse",
    "rounded",
    "scalar_name",
    "times",
    "unshared",
    "unwarned",
    "warn_once",
    "widened",
]

if TYPE_CHECKING:
    Array: TypeAlias = np.ndarray[Any, Any]
else:
    Array = Any  # annotations alone name it


def unwarned(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with nothing said of infinities and NaN."""

    @wraps(function)
    def quiet(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return quiet


def anywhere(condition: Tensor) -> bool:
    """Whether a tensor of booleans holds in any place, in any element of a batch under vmap.

    A rule may then take another way, which must be right for all elements: under vmap `bool()` of
    such a tensor cannot be asked.
    """
    while condition._wrapped is not None:
        condition = condition._wrapped.value
    if condition._on_meta:
        return False  # nobody knows, and both ways give one shape
    if condition._accelerator is not None:
        return bool(elements(condition).any())
    return bool(_core.kernels.any(condition))


def elements(t: Tensor) -> Array:
    """The array of a tensor whose elements are looked at: on meta there are none."""
    if t._on_meta:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    array: Array = t._host_array
    return array


def is_half(a: Array) -> bool:
    """Whether a is float16 or bfloat16."""
    return a.dtype.itemsize == 2 and a.dtype.kind in "fV"


def widened(a: Array) -> Array:
    """The array itself, or as float32 when it is of half precision or float8."""
    return a.astype(np.float32) if a.dtype.itemsize <= 2 and a.dtype.kind in "fV" else a


def rounded(result: Array, like: Array) -> Array:
    """The result in the element type of `like`."""
    if result.dtype == like.dtype:
        return result
    return as_type(result, like.dtype) if is_stored(like.dtype) else result.astype(like.dtype)


def distinct(a: Array) -> Array:
    """The array without the dimensions that only repeat its elements, for questions about the
    elements: a repeated dimension may be longer than memory."""
    if 0 not in a.strides:
        return a
    seen: Array = a[tuple([slice(None, 1) if s == 0 else slice(None) for s in a.strides])]
    return seen


def unshared(index: Array) -> Array:
    """A copy of an index for NumPy's fancy indexing and `ufunc.at`. NumPy checks an index and reads
    the index again without the GIL: another thread may have written to it meanwhile."""
    return index.copy()


def scalar_name(a: Array) -> str:
    """'Float', 'Long', ... as torch's messages have it."""
    return from_numpy_dtype(a.dtype).scalar_name


def c_name(a: Array) -> str:
    """'float', 'long int', ... as torch's messages have it."""
    return from_numpy_dtype(a.dtype).c_name


def default_float() -> np.dtype[Any]:
    """The element type that integers become where a float is wanted."""
    from ..._base.dtypes import get_default_dtype

    return get_default_dtype().numpy


def common_type(*arrays: Array) -> np.dtype[Any]:
    """torch's promotion of the arrays' types; arrays without dimensions count less, as there."""
    first: np.dtype[Any] = arrays[0].dtype
    if all(a.dtype == first for a in arrays):
        return first
    promoted: np.dtype[Any] = _core.result_type([_core.wrap(a) for a in arrays]).numpy
    return promoted


_C_NAMES = {
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int",
    "int64": "int64_t",
    "complex32": "c10::complex<c10::Half>",
}
_LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "complex64": 3.4028234663852886e38,
}


def is_stored(dtype: Any) -> bool:
    """Whether NumPy does not convert such elements as torch does: float8 and complex32."""
    kind, size = dtype.kind, dtype.itemsize
    if kind == "V":
        return bool(dtype.name != "bfloat16")
    return (kind == "f" and size == 1) or (kind == "c" and size == 4)


def as_type(a: Array, wanted: np.dtype[Any], copy: bool = True) -> Array:
    """The values as another type, in the same memory order; real parts for real types."""
    if is_stored(a.dtype) or is_stored(wanted):
        with_type: Array = _core.cast(_core.wrap(a), from_numpy_dtype(wanted).code)._array
        return with_type
    with np.errstate(all="ignore"):
        if a.dtype.kind == "c" and wanted.kind not in "cb":
            if a.size:
                warn_once("Casting complex values to real discards the imaginary part")
            a = a.real
        return a.astype(wanted, copy=copy)


_name_of = cache(attrgetter("name"))  # NumPy makes it anew each time


def fitted_number(value: Any, dtype: Any) -> Any:
    """A Python number as an element of the type holds it; torch's errors where it cannot.

    Integers go into unsigned types by their bits, as long as their size fits; floats lose their
    fraction. A number beyond the type's range, nan and inf for integers, and an imaginary part for
    real types are refused.
    """
    if isinstance(value, _core.Tensor):
        value = value.item()
    elif isinstance(value, (np_types.generic, np_types.ndarray)):
        value = float(value) if value.dtype.kind == "V" else value.item()
    if isinstance(value, int):  # so wide numbers never reach an op
        if value >= 2**64:
            raise OverflowError(f"int too big to convert: {value}")
        if value < -(2**63):
            raise OverflowError(f"can't convert negative int to unsigned: {value}")
    kind = dtype.kind
    if type(value) is float and kind == "f" and -65504.0 <= value <= 65504.0:  # in every type
        return value
    name = _name_of(dtype)
    if kind == "b":
        return value != 0
    real = value
    if isinstance(value, complex):
        if kind != "c" and value.imag != 0:
            raise _no_room(value, name)
        real = value.real
        if name == "complex64" and _too_large(value.imag, name):
            raise _no_room(value, name)
    if kind in "iu":
        bits = 8 * dtype.itemsize
        top = 1 << (bits if kind == "u" else bits - 1)
        if isinstance(real, float):
            # torch compares with the largest value as a double: 2**63 itself passes.
            if not (0 if kind == "u" else -top) <= real <= (top - 1 if bits < 64 else top):
                raise _no_room(value, name)
            real = int(real)
            return real if real < top else (-top if kind == "i" else 0)
        if not (-top if kind == "i" else 1 - top) <= real < top:
            raise _no_room(value, name)
        return real + top if real < 0 and kind == "u" else real
    if _too_large(real, name):
        raise _no_room(value, name)
    return value if kind == "c" else float(real)


def _too_large(value: float, name: str) -> bool:
    return name in _LARGEST and math.isfinite(value) and abs(value) > _LARGEST[name]


def _no_room(value: complex, name: str) -> RuntimeError:
    return RuntimeError(
        f"value cannot be converted to type {_C_NAMES.get(name, name)} without overflow: {value}"
    )


def held_number(value: Any, kind: dtype) -> Any:
    """The same for any dtype, also of those that are stored only."""
    if not is_stored(kind):
        return fitted_number(value, kind)
    number = fitted_number(value, complex128 if kind.is_complex else float64)
    if kind.is_complex and any(_too_large(n, "float16") for n in (number.real, number.imag)):
        raise _no_room(value, "complex32")
    return number


def cell(value: complex, dtype: np.dtype[Any]) -> Array:
    """A Python number as a 0-d array of the type; one that does not fit is refused."""
    number = held_number(value, from_numpy_dtype(dtype))
    return as_type(np.array(number), dtype) if is_stored(dtype) else np.array(number, dtype)


def joined_sizes(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The sizes that tensors of two sizes are broadcast to; torch's error where there are none."""
    ndim = max(len(a), len(b))
    left, right = ((1,) * (ndim - len(sizes)) + tuple(sizes) for sizes in (a, b))
    for at in reversed(range(ndim)):
        if left[at] != right[at] and 1 not in (left[at], right[at]):
            raise RuntimeError(
                f"The size of tensor a ({left[at]}) must match the size of tensor b ({right[at]}) "
                f"at non-singleton dimension {at}"
            )
    return tuple(n if m == 1 else m for m, n in zip(left, right, strict=True))


def check_tensors(values: Sequence[Any]) -> None:
    """torch's TypeError for the first of several arguments that is no tensor."""
    for i, value in enumerate(values):
        if not isinstance(value, _core.Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(value).__name__}"
            )


def dims_in(dims: Any, ndim: int) -> tuple[int, ...]:
    """Dimensions made non-negative; an error for one that is named twice."""
    result: list[int] = []
    for given in dims if isinstance(dims, (tuple, list, range)) else (dims,):
        d = dim_in(given, ndim)
        if d in result:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        result.append(d)
    return tuple(result)


def axes_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions meant, non-negative; all for None and ()."""
    named = () if dim is None else dims_in(dim, ndim)
    return named if named and ndim else tuple(range(ndim))


def dim_in(dim: int, ndim: int) -> int:
    """A dimension made non-negative; torch's IndexError where it does not exist."""
    d, n = as_int(dim), ndim or 1
    if not -n <= d < n:
        dim_out_of_range(d, ndim)
    return d + n if d < 0 else d


def listed(shape: Sequence[int]) -> str:
    """A shape as torch writes it in messages: [2, 3]."""
    return "[" + ", ".join(str(int(s)) for s in shape) + "]"


def check_room(shape: Sequence[int]) -> None:
    """torch's error for a result whose bytes 64 bits do not count, before anything is computed."""
    if math.prod(map(int, shape)) >= 2**60:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={listed(shape)}")


def check_64_bits(function: str, argument: str, numbers: Sequence[int]) -> None:
    """torch's error for a list of whole numbers of which 64 bits do not hold one."""
    for at, n in enumerate(numbers):
        if not -(2**63) <= n < 2**63:
            raise TypeError(
                f"{function}(): argument '{argument}' failed to unpack the object at pos {at + 1} "
                f'with error "Overflow when unpacking long long": {n} does not fit in 64 bits'
            )


def times(shape: Sequence[int]) -> str:
    """A shape as torch writes it for matrices: 2x3."""
    return "x".join(str(int(s)) for s in shape)


_warned: set[str] = set()


warn_always = False  # torch.set_warn_always


def warn_once(text: str) -> None:
    """A UserWarning, the first time only, as torch gives those about deprecated names."""
    if warn_always or text not in _warned:
        _warned.add(text)
        warn(text)


def refuse(op: str, a: Array, kinds: str, halves: bool = False) -> None:
    """NotImplementedError, in torch's words, for an element type of these NumPy kinds, or of half
    precision."""
    if a.dtype.kind in kinds or (halves and is_half(a)):
        raise NotImplementedError(f"\"{op}\" not implemented for '{scalar_name(a)}'")


def check_tensor(function: str, input: Tensor) -> None:
    """TypeError, in torch's words, where the first argument is no tensor."""
    if not isinstance(input, _core.Tensor):
        raise TypeError(
            f"{function}(): argument 'input' (position 1) must be Tensor, "
            f"not {type(input).__name__}"
        )


def none_left(function: str, named: dict[str, Any]) -> None:
    """TypeError for a keyword that a function with `**named` does not know."""
    if named:
        raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(named))}'")


def by_axis(function: str, named: dict[str, Any], dim: Any, keepdim: Any) -> tuple[Any, Any]:
    """dim and keepdim, which may have come under NumPy's names."""
    dim, keepdim = named.pop("axis", dim), named.pop("keepdims", keepdim)
    none_left(function, named)
    return dim, keepdim
