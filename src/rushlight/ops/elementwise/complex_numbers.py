"""Complex numbers: parts, conjugates, and the views between complex and pairs of real numbers."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base.dtypes import from_numpy_dtype
from ..._base.outside import np
from ..._core import Op
from ..making.creation import zeros_like
from ..table.arrays import Array, refuse, scalar_name
from ..table.formulas import Symbol
from ..table.kinds import composed, composite, general, linear, pointwise
from ..table.reference import add_method, alias
from ..table.signature import Tensor
from ..table.statement import LAZY
from .elementary import abs, atan2, hypot
from .selection import where

_kernels = _core.kernels

_PARTS = ("float16", "float32", "float64")


def _pairs(g: Tensor) -> Tensor:
    return view_as_real(resolve_conj(g))


def _joined(g: Tensor) -> Tensor:
    return complex(g.select(-1, 0), g.select(-1, 1))


def _complex_one(make: Callable[..., Any]) -> Any:
    return [(make(2, 3, kind="complex"),)]


def _refuse_conjugate(input: Tensor) -> None:
    if input.is_conj():
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
            "tensor so you can view it as real, use self.resolve_conj(); however, be warned that "
            "the resulting tensor will NOT alias the original."
        )


view_as_real = linear(
    "view_as_real(input: Tensor)",
    _kernels.view_as_real,
    transpose={"input": lambda g: _joined(g)},
    view=True,
    put_off=_refuse_conjugate,
    method=False,
    samples=_complex_one,
    traits="complex",
    doc="A complex tensor as a real one with a last dimension of size 2: real and imaginary parts.",
    batch="trailing",
)
view_as_complex = linear(
    "view_as_complex(input: Tensor)",
    _kernels.view_as_complex,
    transpose={"input": lambda g: _pairs(g)},
    view=True,
    method=False,
    samples=lambda make: [(make(3, 2),)],
    autocast="float32 here",
    doc="A real tensor whose last dimension has size 2 as a complex one.",
    batch="trailing",
)


real = composed(
    "real(input: Tensor)",
    _kernels.real,
    method=False,
    samples=_complex_one,
    doc="The real part, as a view; a real tensor itself.",
)
imag = composed(
    "imag(input: Tensor)",
    _kernels.imag,
    method=False,
    samples=_complex_one,
    traits="complex",
    doc="The imaginary part, as a view.",
)


def _set_part(part: Any) -> Any:
    def put(self: Tensor, value: Tensor | float | str) -> None:
        if isinstance(value, _core.Tensor):
            part(self).copy_(value)
        elif isinstance(value, numbers.Number):
            part(self).fill_(value)
        else:
            raise TypeError(f"can't assign a {type(value).__name__} to a {part(self).type()}")

    return put


add_method("real", property(real, _set_part(real), doc="The real part."))
add_method("imag", property(imag, _set_part(imag), doc="The imaginary part."))


@composite(samples=_complex_one, elementwise=True)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view; a real tensor itself."""
    return _conj(input) if input.dtype.is_complex else input


# Both change a bit of the view and nothing else (native/core/lazy.h).
_conj: Op = linear(
    "_conj(input: Tensor)",
    lambda a: a,
    native=_core.kernels.alias,
    transpose={"input": lambda g: conj(g)},
    view=True,
    toggles="conj",
    node="ConjBackward0",
    out=False,
    samples=_complex_one,
    doc="`conj` of complex numbers.",
    batch="trailing",
)
neg_view: Op = linear(
    "_neg_view(input: Tensor)",
    lambda a: a,
    native=_core.kernels.alias,
    transpose={"input": lambda g: -g},
    view=True,
    toggles="neg",
    out=False,
    samples=lambda make: [(make(2, 3),), *_complex_one(make)],
    doc="-input, as a view.",
    batch="trailing",
)
alias("_conj", _conj, method=False)  # torch has them under these names
alias("_neg_view", neg_view, method=False)
conj_physical: Op = pointwise(
    "conj_physical(input: Tensor)",
    in_place="function",
    reference=lambda a: np.conj(a) if a.dtype.kind != "b" else a.copy(),
    partials={"input": lambda g: conj(g)},
    reference_for="bool int float complex",
    by_ops=lambda input: _kernels.resolve_conj(conj(input)),
    in_place_node="ConjPhysicalBackward1",
    real_itself=True,
    out="found",
    samples=_complex_one,
    stored="complex32",
    doc="The complex conjugate; a real tensor itself.",
)


resolve_conj = composed(
    "resolve_conj(input: Tensor)",
    _kernels.resolve_conj,
    samples=_complex_one,
    doc="A copy in which a conjugate is worked out; where nothing was put off, the tensor itself.",
)
resolve_neg = composed(
    "resolve_neg(input: Tensor)",
    _kernels.resolve_neg,
    samples=_complex_one,
    doc="A copy in which a negative is worked out; where nothing was put off, the tensor itself.",
)


@composite
def is_conj(input: Tensor) -> bool:
    """Whether the tensor shows the conjugate of what its memory holds."""
    return bool(input._flags() & LAZY["conj"])


@composite
def is_neg(input: Tensor) -> bool:
    """Whether the tensor shows the negative of what its memory holds."""
    return bool(input._flags() & LAZY["neg"])


def _angle(a: Array) -> Array:
    if a.dtype.kind == "c":
        return np.angle(a)
    return np.where(np.isnan(a), a, np.where(a < 0, a.dtype.type(np.pi), a.dtype.type(0)))


def _angle_rule(g: Tensor | Symbol, input: Tensor | Symbol) -> Tensor:
    if not input.dtype.is_complex:
        return zeros_like(g)
    size = abs(input)
    return where(input == 0, 0, g * input / (size * size) * 1j)


angle = pointwise(
    "angle(input: Tensor)",
    dtype="float",
    reference=_angle,
    partials={"input": _angle_rule},
    reference_for="complex",
    by_ops=lambda input: atan2(input.imag, input.real),
    in_place=False,
    samples=lambda make: [(make(2, 3),), (make(2, 3, kind="complex"),)],
    doc="The angle in the complex plane; of negative numbers pi.",
)


def _both_real(a: Array, b: Array) -> None:
    if a.dtype.name not in _PARTS or b.dtype.name not in _PARTS:
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{scalar_name(a)} and {scalar_name(b)}"
        )
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {scalar_name(a)} but got scalar type {scalar_name(b)} "
            "for second argument"
        )


_COMPLEX_OUT = (
    "Expected object of scalar type {want.scalar_name} but got scalar type {got.scalar_name} for "
    "argument 'out'"
)


def _complex(a: Array, b: Array) -> Array:
    _both_real(a, b)
    pairs = np.empty((*np.broadcast_shapes(a.shape, b.shape), 2), a.dtype)
    pairs[..., 0], pairs[..., 1] = a, b
    return pairs.view(from_numpy_dtype(a.dtype).to_complex().numpy)[..., 0]


complex = general(
    "complex(real: Tensor, imag: Tensor)",
    _complex,
    native=_kernels.complex_parts,
    vjp={"real": lambda g: real(g), "imag": lambda g: imag(g)},
    method=False,
    out=_COMPLEX_OUT,
    samples=lambda make: [(make(2, 3), make(2, 3))],
    keeps="strides: real imag",
    formula={"real": "real(g)", "imag": "imag(g)"},
    doc="real + i * imag.",
    batch="trailing",
)


def _polar(size: Tensor, angle: Tensor) -> Tensor:
    _both_real(size._form, angle._form)
    refuse("polar_cpu", size._form, "", halves=True)
    return complex(size * angle.cos(), size * angle.sin())


def _polar_abs(g: Tensor, a: Tensor, b: Tensor) -> Tensor:
    size = hypot(a, b)
    return (real(g) * a + imag(g) * b) / where(size == 0, 1, size)


polar = general(
    "polar(abs: Tensor, angle: Tensor)",
    is_=_polar,
    vjp={
        "abs": lambda g, out: _polar_abs(g, real(out), imag(out)),
        "angle": lambda g, out: imag(g) * real(out) - real(g) * imag(out),
    },
    method=False,
    out=_COMPLEX_OUT,
    samples=lambda make: [(make(2, 3, low=0.5), make(2, 3))],
    formula={"abs": "real(conj(g) ⊙ out) / abs", "angle": "imag(conj(out) ⊙ g)"},
    autocast="float32 here",
    doc="The complex number of that absolute value and angle.",
    batch="trailing",
)
