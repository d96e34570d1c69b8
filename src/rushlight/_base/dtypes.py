"""Element types: the `dtype` singletons, how they promote, and their numeric limits.

Everything about an element type that the rest of the library asks for is an attribute of its
`dtype`: its NumPy dtype, its number in the native kernels, and the three names in the texts of
errors. Read `_TABLE` first; the classes only give it a face.

The `numpy` of a type imports NumPy when first asked, that of bfloat16 and of the floats of 8 bits
`ml_dtypes`. NumPy has no complex32: it is two halves.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from .. import _core
from .outside import ml_dtypes, np

__all__ = [
    "bfloat16",
    "bit",
    "bits1x8",
    "bits2x4",
    "bits4x2",
    "bits8",
    "bits16",
    "bool",
    "can_cast",
    "cdouble",
    "cfloat",
    "chalf",
    "complex32",
    "complex64",
    "complex128",
    "double",
    "dtype",
    "finfo",
    "float",
    "float4_e2m1fn_x2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "get_default_dtype",
    "half",
    "iinfo",
    "int",
    "int1",
    "int2",
    "int3",
    "int4",
    "int5",
    "int6",
    "int7",
    "int8",
    "int16",
    "int32",
    "int64",
    "long",
    "promote_types",
    "qint8",
    "qint32",
    "quint2x4",
    "quint4x2",
    "quint8",
    "set_default_dtype",
    "short",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint5",
    "uint6",
    "uint7",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

# The module's own `bool`, `int` and `float` are dtypes (that is the public vocabulary); annotations
# and conversions below mean Python's.
_bool = builtins.bool
_int = builtins.int
_float = builtins.float

# Columns: name, abbreviation, scalar name, C++ name, bytes, category. Categories rank promotion.
_BOOL, _INTEGER = _core.Category.BOOL, _core.Category.INTEGER
_FLOATING, _COMPLEX = _core.Category.FLOATING, _core.Category.COMPLEX
_LETTERS = {_BOOL: "b", _INTEGER: "i", _FLOATING: "f", _COMPLEX: "c"}
_TABLE = (
    ("bool", "b8", "Bool", "bool", 1, _BOOL),
    ("uint8", "u8", "Byte", "unsigned char", 1, _INTEGER),
    ("int8", "i8", "Char", "signed char", 1, _INTEGER),
    ("int16", "i16", "Short", "short int", 2, _INTEGER),
    ("int32", "i32", "Int", "int", 4, _INTEGER),
    ("int64", "i64", "Long", "long int", 8, _INTEGER),
    ("float16", "f16", "Half", "c10::Half", 2, _FLOATING),
    ("bfloat16", "bf16", "BFloat16", "c10::BFloat16", 2, _FLOATING),
    ("float32", "f32", "Float", "float", 4, _FLOATING),
    ("float64", "f64", "Double", "double", 8, _FLOATING),
    ("complex64", "c64", "ComplexFloat", "c10::complex<float>", 8, _COMPLEX),
    ("complex128", "c128", "ComplexDouble", "c10::complex<double>", 16, _COMPLEX),
    ("uint16", "u16", "UInt16", "short unsigned int", 2, _INTEGER),
    ("uint32", "u32", "UInt32", "unsigned int", 4, _INTEGER),
    ("uint64", "u64", "UInt64", "long unsigned int", 8, _INTEGER),
    # From here on: stored and converted; few functions compute with them.
    ("float8_e4m3fn", "f8e4m3fn", "Float8_e4m3fn", "c10::Float8_e4m3fn", 1, _FLOATING),
    ("float8_e4m3fnuz", "f8e4m3fnuz", "Float8_e4m3fnuz", "c10::Float8_e4m3fnuz", 1, _FLOATING),
    ("float8_e5m2", "f8e5m2", "Float8_e5m2", "c10::Float8_e5m2", 1, _FLOATING),
    ("float8_e5m2fnuz", "f8e5m2fnuz", "Float8_e5m2fnuz", "c10::Float8_e5m2fnuz", 1, _FLOATING),
    ("float8_e8m0fnu", "f8e8m0fnu", "Float8_e8m0fnu", "c10::Float8_e8m0fnu", 1, _FLOATING),
    ("complex32", "c32", "ComplexHalf", "c10::complex<c10::Half>", 4, _COMPLEX),
)
# Types that programs name and compare with, and that no tensor here has: they have no `code` and no
# `numpy`, and what asks for one raises.
_SEVEN = range(1, 8)
_PACKED = ("1x8", "2x4", "4x2", "8")
_NAMED_ONLY = (
    *((f"int{n}", f"i{n}", f"Int{n}", f"c10::dummy_int1_7_t<{n}u>", 1, _INTEGER) for n in _SEVEN),
    *(
        (f"uint{n}", f"u{n}", f"UInt{n}", f"c10::dummy_uint1_7_t<{n}u>", 1, _INTEGER)
        for n in _SEVEN
    ),
    *((f"bits{n}", f"bits{n}", f"Bits{n}", f"c10::bits{n}", 1, _INTEGER) for n in _PACKED),
    ("bits16", "bits16", "Bits16", "c10::bits16", 2, _INTEGER),
    ("quint8", "qu8", "QUInt8", "c10::quint8", 1, _INTEGER),
    ("quint4x2", "qu4x2", "QUInt4x2", "c10::quint4x2", 1, _INTEGER),
    ("quint2x4", "qu2x4", "QUInt2x4", "c10::quint2x4", 1, _INTEGER),
    ("qint8", "qi8", "QInt8", "c10::qint8", 1, _INTEGER),
    ("qint32", "qi32", "QInt32", "c10::qint32", 4, _INTEGER),
    ("float4_e2m1fn_x2", "f4e2m1fnx2", "Float4_e2m1fn_x2", "c10::Float4_e2m1fn_x2", 1, _FLOATING),
)
_WITHOUT_SIGN = ("bits", "qint", "quint")  # which refuse to be asked for it


class dtype:
    """An element type. There is one object for each; compare with `is` or `==`.

    `name`         'float32'
    `numpy`        the `numpy.dtype` of its arrays
    `code`         the number in the native kernels
    `itemsize`     bytes an element
    `category`     bool, integer, floating point or complex: a `_core.Category`
    `kind`         the same as a letter, b i f c, and u for integers without a sign
    `scalar_name`  'Float', as in "result type Float can't be cast to ..."
    `c_name`       'float', as in "but got: float != double"
    `abbr`         'f32'

    >>> torch.float16.itemsize, torch.float16.is_floating_point
    (2, True)
    >>> torch.tensor([1, 2]).dtype
    torch.int64
    """

    __slots__ = (
        "abbr",
        "c_name",
        "category",
        "code",
        "is_complex",
        "is_differentiable",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "kind",
        "name",
        "numpy",
        "scalar_name",
    )
    __module__ = "rushlight"

    name: str
    numpy: np.dtype[Any]
    code: _int
    itemsize: _int
    category: _int
    kind: str
    scalar_name: str
    c_name: str
    abbr: str
    is_floating_point: _bool
    is_complex: _bool
    is_differentiable: _bool
    is_signed: _bool

    def __new__(cls, *args: object, **kwargs: object) -> dtype:
        raise TypeError("cannot create 'torch.dtype' instances")

    def __init_subclass__(cls) -> None:
        raise TypeError("type 'torch.dtype' is not an acceptable base type")

    def to_real(self) -> dtype:
        """The dtype of the real part: itself where it is not complex."""
        return {"complex32": float16, "complex64": float32, "complex128": float64}.get(
            self.name, self
        )

    def to_complex(self) -> dtype:
        """The complex dtype whose parts hold this one."""
        if self.is_complex:
            return self
        found = {float64: complex128, float32: complex64, bfloat16: complex64, float16: complex32}
        if self in found:
            return found[self]
        raise RuntimeError(f"Unknown Complex ScalarType for {self.scalar_name}")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: object) -> dtype:
        return self

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> NoReturn:
            if name in dtype.__slots__:
                raise AttributeError(f"attribute '{name}' of 'torch.dtype' objects is not writable")
            raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")

        __delattr__ = __setattr__

        # Reached only while a slot is empty: `numpy` until it is asked for, or one of a type
        # without tensors.
        def __getattr__(self, name: str) -> Any:
            if name == "numpy" and self in ALL:
                return _numpy_type(self)
            if name in ("numpy", "code"):
                raise TypeError(
                    f"{self} is known by name only: rushlight has no tensors of it. Use "
                    f"torch.{'bfloat16' if self.is_floating_point else 'uint8'} instead."
                )
            if name == "is_signed":
                of = "Bits types are undefined"
                if not self.name.startswith("bits"):
                    of = "isSignedType not supported for quantized types"
                raise RuntimeError(of)
            raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")


_IMPORTED = ("bfloat16", *(row[0] for row in _TABLE if row[0].startswith("float8")))


def _make(row: tuple[str, str, str, str, _int, _int]) -> dtype:
    name, abbr, scalar_name, c_name, itemsize, category = row
    self: dtype = object.__new__(dtype)
    values: dict[str, object] = {
        "name": name,
        "abbr": abbr,
        "scalar_name": scalar_name,
        "c_name": c_name,
        "itemsize": itemsize,
        "category": category,
        "kind": "u" if name.startswith("uint") else _LETTERS[category],
        "is_floating_point": category == _FLOATING,
        "is_complex": category == _COMPLEX,
        "is_differentiable": category in (_FLOATING, _COMPLEX),
        "is_signed": category != _BOOL and not name.startswith("u") and name != "float8_e8m0fnu",
    }
    if name.startswith(_WITHOUT_SIGN):
        del values["is_signed"]
    if row in _TABLE:
        values["code"] = getattr(_core.DType, name)
    for key, value in values.items():
        object.__setattr__(self, key, value)
    return self


ALL: tuple[dtype, ...] = tuple(sorted(map(_make, _TABLE), key=lambda t: t.code))
"""Every dtype; `ALL[code]` is the one the native kernels call `code`."""

_BY_NAME = {each.name: each for each in (*ALL, *map(_make, _NAMED_ONLY))}
_BY_NUMPY: dict[np.dtype[Any], dtype] = {}  # those whose `numpy` was asked for

bool = _BY_NAME["bool"]
uint8 = _BY_NAME["uint8"]
int8 = _BY_NAME["int8"]
int16 = short = _BY_NAME["int16"]
int32 = int = _BY_NAME["int32"]
int64 = long = _BY_NAME["int64"]
float16 = half = _BY_NAME["float16"]
bfloat16 = _BY_NAME["bfloat16"]
float32 = float = _BY_NAME["float32"]
float64 = double = _BY_NAME["float64"]
complex64 = cfloat = _BY_NAME["complex64"]
complex128 = cdouble = _BY_NAME["complex128"]
complex32 = chalf = _BY_NAME["complex32"]
float8_e4m3fn = _BY_NAME["float8_e4m3fn"]
float8_e4m3fnuz = _BY_NAME["float8_e4m3fnuz"]
float8_e5m2 = _BY_NAME["float8_e5m2"]
float8_e5m2fnuz = _BY_NAME["float8_e5m2fnuz"]
float8_e8m0fnu = _BY_NAME["float8_e8m0fnu"]
float4_e2m1fn_x2 = _BY_NAME["float4_e2m1fn_x2"]
int1, int2, int3, int4, int5, int6, int7 = (_BY_NAME[f"int{n}"] for n in range(1, 8))
uint1, uint2, uint3, uint4, uint5, uint6, uint7 = (_BY_NAME[f"uint{n}"] for n in range(1, 8))
bits1x8, bits2x4, bits4x2, bits8, bits16 = (
    _BY_NAME[f"bits{n}"] for n in ("1x8", "2x4", "4x2", "8", "16")
)
bit = uint1
quint8, quint4x2, quint2x4 = (_BY_NAME[f"quint{n}"] for n in ("8", "4x2", "2x4"))
qint8, qint32 = _BY_NAME["qint8"], _BY_NAME["qint32"]
uint16 = _BY_NAME["uint16"]
uint32 = _BY_NAME["uint32"]
uint64 = _BY_NAME["uint64"]


# Types without a class of storages (torch.FloatStorage) in PyTorch.
WITHOUT_STORAGE_CLASS = frozenset(
    (
        uint16,
        uint32,
        uint64,
        complex32,
        *(d for d in ALL if d.name in _IMPORTED and d.itemsize == 1),
    )
)


def _by_name(name: str) -> dtype:
    """The singleton of a name; a pickled dtype calls this."""
    return _BY_NAME[name]


def _numpy_type(self: dtype) -> np.dtype[Any]:
    held: np.dtype[Any]
    if self is complex32:
        held = np.dtype([("real", np.float16), ("imag", np.float16)])
    else:
        held = np.dtype(getattr(ml_dtypes, self.name) if self.name in _IMPORTED else self.name)
    _BY_NUMPY[held] = self
    object.__setattr__(self, "numpy", held)
    return held


def from_numpy_dtype(numpy_dtype: object) -> dtype:
    """The dtype of arrays of this `numpy.dtype` (or of what `numpy.dtype()` takes); itself of one
    of ours.

    TypeError where tensors cannot have such elements (objects, strings, dates, long double, ...);
    ValueError where only the byte order is foreign.
    """
    if isinstance(numpy_dtype, dtype):
        return numpy_dtype
    if isinstance(shown := getattr(numpy_dtype, "torch", None), dtype):
        return shown  # of a stand-in (refusing.py)
    given = numpy_dtype if isinstance(numpy_dtype, np.dtype) else np.dtype(numpy_dtype)  # type: ignore[call-overload]
    found = _BY_NUMPY.get(given)
    if found is not None:
        return found
    named = complex32 if given.kind == "V" else _BY_NAME.get(given.name)
    if named in ALL and given == named.numpy:
        return named
    if named in ALL and not given.isnative and given.newbyteorder("=") == named.numpy:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported. "
            f"Its dtype is {given.str!r}; convert it with "
            f"array.astype({named.name!r})."
        )
    scalar = given.type
    raise TypeError(
        f"can't convert np.ndarray of type {scalar.__module__}.{scalar.__name__}. "
        "The only supported types are: float64, float32, float16, complex64, complex128, int64, "
        "int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
    )


# --- the default dtype --------------------------------------------------------------------------

_default: dtype = float32


def get_default_dtype() -> dtype:
    """The floating-point dtype of tensors made without naming one: float32 unless changed.

    >>> torch.get_default_dtype()
    torch.float32
    """
    return _default


def set_default_dtype(d: dtype, /) -> None:
    """Makes `d`, a floating-point dtype, the one that `get_default_dtype` returns."""
    global _default
    if not isinstance(d, dtype):
        raise TypeError(
            "invalid dtype object: only floating-point types are supported as the default type, "
            f"but got {d!r} of type {type(d).__name__}"
        )
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, but got {d}")
    if d.name in _FLOAT8:
        raise TypeError(
            f"couldn't find storage object {d.scalar_name}Storage. A float of 8 bits is no default."
        )
    _default = d


# --- promotion ----------------------------------------------------------------------------------

# Unsigned types wider than a byte: they meet floating-point types and themselves, nothing else.
_WIDE_UNSIGNED = frozenset((uint16, uint32, uint64))
_promoted: dict[tuple[dtype, dtype], dtype] = {}


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The dtype of an operation on tensors of these two dtypes (both with dimensions).

    >>> torch.promote_types(torch.uint8, torch.int8)
    torch.int16
    """
    result = _promoted.get((type1, type2))
    if result is None:
        _require_dtype("promote_types", "type1", 1, type1)
        _require_dtype("promote_types", "type2", 2, type2)
        result = _promoted[type1, type2] = _promote(type1, type2)
    return result


def _promote(a: dtype, b: dtype) -> dtype:
    if a is b:
        return a
    if a.name in _FLOAT8 or b.name in _FLOAT8:
        raise RuntimeError(
            "Promotion for Float8 Types is not supported, attempted to promote "
            f"{a.scalar_name} and {b.scalar_name}"
        )
    if (a in _WIDE_UNSIGNED or b in _WIDE_UNSIGNED) and 2 not in (a.category, b.category):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, "
            f"attempted to promote {a.scalar_name} and {b.scalar_name}. "
            "Convert one of them first, for instance with .to(torch.int64)."
        )
    low, high = sorted((a, b), key=lambda each: (each.category, each.itemsize))
    if high.is_complex:
        if low.is_differentiable and low.to_real() is float64:
            return complex128
        return complex64 if high is complex32 and low in (float32, bfloat16) else high
    if low.category < high.category:
        return high
    if high.is_floating_point:  # float16 and bfloat16: neither holds the other
        return float32 if low.itemsize == high.itemsize else high
    return int16 if {a, b} == {uint8, int8} else high


def can_cast(from_: dtype, to: dtype) -> _bool:
    """Whether results of dtype `from_` may be written to a tensor of dtype `to`.

    Only the kind of number counts: complex to real, floating point to integer and anything to
    bool lose it; int64 to int8 does not.

    >>> torch.can_cast(torch.int64, torch.int8), torch.can_cast(torch.float32, torch.int64)
    (True, False)
    """
    _require_dtype("can_cast", "from_", 1, from_)
    _require_dtype("can_cast", "to", 2, to)
    return from_.category <= to.category


def _require_dtype(function: str, argument: str, position: _int, value: object) -> None:
    if not isinstance(value, dtype):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be torch.dtype, "
            f"not {type(value).__name__}"
        )


# --- numeric limits -----------------------------------------------------------------------------

# Explicit mantissa bits, exponent bits, decimal digits that survive a round trip.
_FLOAT_SHAPE = {
    float16: (10, 5, 3),
    bfloat16: (7, 8, 2),
    float32: (23, 8, 6),
    float64: (52, 11, 15),
}


# Types of 8 bits: the largest number, the step after 1, the smallest normal number.
_FLOAT8: dict[str, tuple[_float, _float, _float]] = {
    "float8_e4m3fn": (448.0, 2.0**-3, 2.0**-6),
    "float8_e4m3fnuz": (240.0, 2.0**-3, 2.0**-7),
    "float8_e5m2": (57344.0, 2.0**-2, 2.0**-14),
    "float8_e5m2fnuz": (57344.0, 2.0**-3, 2.0**-15),
    "float8_e8m0fnu": (2.0**127, 1.0, 2.0**-127),
}


class finfo:
    """Limits of a floating-point dtype; of its real part where it is complex.

    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    >>> torch.finfo(torch.bfloat16).max
    3.3895313892515355e+38
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")
    __module__ = "rushlight"
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, type: dtype | None = None) -> None:
        given = _default if type is None else type
        _require_dtype("finfo", "type", 1, given)
        if not given.is_differentiable:
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                "Use torch.iinfo to handle 'torch.finfo'. "
                f"The type given is {given}."
            )
        real = given.to_real()
        if real not in ALL:
            raise TypeError(f"torch.finfo() has no limits of {given}")
        if real.name in _FLOAT8:
            self._set_float8(real)
            return
        mantissa, exponent, digits = _FLOAT_SHAPE[real]
        top = 2 ** (exponent - 1)  # the first power of two that no longer fits has this exponent
        self.bits: _int = real.itemsize * 8
        self.dtype: str = real.name
        self.eps: _float = 2.0**-mantissa
        self.max: _float = (2.0 - self.eps) * 2.0 ** (top - 1)
        self.min: _float = -self.max
        self.smallest_normal: _float = 2.0 ** (2 - top)
        self.tiny: _float = self.smallest_normal
        self.resolution: _float = _float(f"1e-{digits}")

    def _set_float8(self, given: dtype) -> None:
        self.bits, self.dtype, self.resolution = 8, given.name, 1.0
        self.max, self.eps, self.smallest_normal = _FLOAT8[given.name]
        self.tiny = self.smallest_normal
        self.min = -self.max if given.is_signed else self.smallest_normal

    def __eq__(self, other: object) -> _bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype.

    >>> torch.iinfo(torch.int8).min, torch.iinfo(torch.int8).max
    (-128, 127)
    """

    __slots__ = ("bits", "dtype", "max", "min")
    __module__ = "rushlight"
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, type: dtype) -> None:
        _require_dtype("iinfo", "type", 1, type)
        if type is bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.name.startswith("q"):
            raise NotImplementedError(f"\"dtype\" not implemented for '{type.scalar_name}'")
        if type.category != _INTEGER or type not in ALL:
            raise TypeError(
                "torch.iinfo() requires an integer input type. "
                "Use torch.finfo to handle 'torch.iinfo'. "
                f"The type given is {type}."
            )
        self.bits: _int = type.itemsize * 8
        self.dtype: str = type.name
        self.max: _int = 2 ** (self.bits - type.is_signed) - 1
        self.min: _int = -self.max - 1 if type.is_signed else 0

    def __eq__(self, other: object) -> _bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
