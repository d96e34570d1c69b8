"""Views with the dimensions in another order: transpose, permute, movedim and their kin."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base.errors import warn
from ..._core import Op, Tensor
from ..table.kinds import composed, composite, linear
from ..table.names import publish

_kernels = _core.kernels

transpose: Op = linear(
    "transpose(input: Tensor, dim0: int, dim1: int)",
    _kernels.transpose,
    transpose={"input": lambda g, dim0, dim1: transpose(g, dim0, dim1)},
    backward=(_kernels.transpose, "g dim0 dim1"),
    view=True,
    out=False,
    samples=lambda make: [(make(2, 3, 4), 0, 2), (make(2, 3), -1, 0)],
    doc="Two dimensions changed over.",
)

t: Op = linear(
    "t(input: Tensor)",
    _kernels.t,
    transpose={"input": lambda g: t(g)},
    backward=(_kernels.t, "g"),
    view=True,
    out=False,
    samples=lambda make: [(make(2, 3),), (make(3),), (make(),)],
    doc="A matrix's transpose; a vector or a number as it is.",
)

permute: Op = linear(
    "permute(input: Tensor, *dims: int)",
    _kernels.permute,
    transpose={"input": lambda g, dims: _permute_back(g, dims)},
    backward=(_kernels.permute_back, "g dims"),
    view=True,
    out=False,
    samples=lambda make: [(make(2, 3, 4), 2, 0, 1), (make(2, 3), (-1, 0))],
    doc="The dimensions in the order given.",
)

_permute_back: Op = linear(
    "_permute_back(input: Tensor, *dims: int)",
    _kernels.permute_back,
    transpose={"input": lambda g, dims: permute(g, dims)},
    backward=(_kernels.permute, "g dims"),
    node="PermuteBackward0",
    view=True,
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3, 4), 2, 0, 1)],
    doc="Undoes `permute`.",
    written="permute({input}, {dims}⁻¹)",
)


@composite
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """`transpose` under NumPy's name."""
    return transpose(input, axis0, axis1)


@composite
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose` under another name."""
    return transpose(input, dim0, dim1)


_MOVING: Any = {
    "overloads": (
        "(input, source: int, destination: int)",
        "(input, source: Sizes, destination: Sizes)",
    )
}
movedim = composed(
    "movedim(input: Tensor, source: Ints, destination: Ints)",
    _kernels.movedim,
    samples=lambda make: [(make(2, 3, 4), 0, 2), (make(2, 3, 4), (0, 1), (2, 0))],
    doc="Dimensions moved to other places, the rest in their order.",
    **_MOVING,
)
moveaxis = composed(
    "moveaxis(input: Tensor, source: Ints, destination: Ints)",
    _kernels.movedim,
    doc="`movedim` under NumPy's name.",
    **_MOVING,
)


def _check_matrices(name: str, x: Tensor) -> None:
    if x.ndim == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. "
            f"Got {x.ndim}-D tensor."
        )


def _conj(input: Tensor) -> Tensor:
    return input.conj() if input.dtype.is_complex else input


@composite(samples=lambda make: [(make(2, 3),), (make(2, 3, 4),)])
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
    _check_matrices("adjoint()", input)
    return _conj(transpose(input, -2, -1)) if input.ndim else _conj(input)


def _reversed_dims(self: Any) -> Tensor:
    """The dimensions in reverse order."""
    ndim = self.ndim
    if ndim == 2:
        return permute(self, (1, 0))
    if ndim == 0:
        message = (
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
        )
    else:
        message = (
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated "
            "and it will throw an error in a future release. Consider `x.mT` to transpose "
            "batches of "
            "matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the "
            "dimensions of a "
            "tensor."
        )
    warn(message)
    return permute(self, tuple(range(ndim - 1, -1, -1)))


def _matrix_transpose(self: Any) -> Tensor:
    """The last two dimensions changed over."""
    _check_matrices("mT", self)
    return transpose(self, -2, -1) if self.ndim else self


def _matrix_adjoint(self: Any) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
    _check_matrices("mH", self)
    return _conj(transpose(self, -2, -1)) if self.ndim else _conj(self)


def _hermitian(self: Any) -> Tensor:
    """A matrix's conjugate transpose."""
    if self.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
        )
    return _conj(transpose(self, 0, 1)) if self.ndim else _conj(self)


for _name, _property in {
    "T": _reversed_dims,
    "mT": _matrix_transpose,
    "mH": _matrix_adjoint,
    "H": _hermitian,
}.items():
    publish("Tensor", _name, property(_property))
