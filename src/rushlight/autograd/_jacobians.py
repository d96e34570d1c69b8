"""Jacobians for gradcheck: by differences, by backward and by forward mode.

They have one row per input element and one column per output element. For a complex input the
numerical entry is d/dx + i d/dy, which is what the convention for gradients gives for a real
output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _core
from .._base.outside import np
from .._core import Tensor
from ..ops.making.creation import zeros_like as _zeros_like
from ..ops.table.arrays import Array
from . import forward_ad
from ._engine import grad as _grad

__all__ = [
    "Duals",
    "GradcheckError",
    "Matrix",
    "as_jacobians",
    "by_backward",
    "by_differences",
    "by_forward_mode",
    "combined",
    "direction",
    "quotients",
    "replaced",
    "steps",
    "tangents_of",
    "there",
    "values",
    "write",
]

if TYPE_CHECKING:
    Matrix: TypeAlias = np.ndarray[Any, Any]
else:
    Matrix = Any  # annotations alone name it


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` when gradients are wrong."""

    __module__ = "rushlight.autograd.gradcheck"


def values(tensors: Sequence[Tensor]) -> list[Matrix]:
    return [np.array(t.detach()._host_array, copy=True).reshape(-1) for t in tensors]


def there(array: object, like: Tensor) -> Tensor:
    """A tensor of an array, of the type of another and where that is."""
    return _core.wrap(np.array(array, like.dtype.numpy)).to(like.device)


def write(x: Any, array: Any, index: object, value: object) -> None:
    """Write into what `to_write` gave for x, and so into x."""
    array[index] = value
    _core.write_values(x, array)


def quotients(above: Sequence[Any], below: Sequence[Any], eps: float, where: str) -> list[Matrix]:
    """Differences of results on both sides, which must be of one shape and type."""
    for a, b in zip(above, below, strict=True):
        for what in ("shape", "dtype"):
            if getattr(a, what) != getattr(b, what):
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are "
                    f"perturbed {where}by {eps}, but got: {what}s {getattr(b, what)} and "
                    f"{getattr(a, what)}."
                )
    with np.errstate(all="ignore"):
        return [(a - b) / (2 * eps) for a, b in zip(values(above), values(below), strict=True)]


def combined(rows: list[list[Matrix]]) -> list[Matrix]:
    """Joins the derivatives along 1 and i of an element: d/dx + i d/dy; of a real element d/dx."""
    if len(rows) == 1:
        return rows[0]
    return [a + 1j * b for a, b in zip(*rows, strict=True)]


def as_jacobians(columns: list[list[list[Matrix]]], results: Sequence[Tensor]) -> list[list[Array]]:
    """[input][element][output] as [output][input] matrices of one row for each element."""
    return [
        [
            np.stack([row[o] for row in rows]) if rows else np.zeros((0, result.numel()))
            for rows in columns
        ]
        for o, result in enumerate(results)
    ]


def steps(x: Tensor) -> tuple[complex, ...]:
    return (1, 1j) if x.dtype.is_complex else (1,)


def by_differences(
    function: Callable[..., tuple[Any, ...]],
    inputs: Sequence[object],
    wanted: list[Any],
    eps: float,
) -> list[list[Matrix]]:
    """[output][input] Jacobians by central differences; inputs are changed and put back."""
    columns: list[list[list[Matrix]]] = []
    for x in wanted:
        array, rows = _core.to_write(x), []
        for index in np.ndindex(*array.shape):
            original = array[index].item()
            parts = []
            for step in steps(x):
                write(x, array, index, original - eps * step)
                below = [r.clone() for r in function(*inputs)]
                write(x, array, index, original + eps * step)
                above = function(*inputs)
                parts.append(quotients(above, below, eps, f"on index {index} "))
                write(x, array, index, original)
            rows.append(combined(parts))
        columns.append(rows)
    return as_jacobians(columns, function(*inputs))


def by_backward(output: Any, wanted: list[Any], check_dtypes: bool = False) -> list[Matrix]:
    """One backward for each output element."""
    rows: list[list[Matrix]] = [[] for _ in wanted]
    for k in range(output.numel()):
        unit = np.zeros(output.numel())
        unit[k] = 1
        seed = there(unit.reshape(output.shape), output)
        found = _grad((output,), tuple(wanted), (seed,), retain_graph=True, allow_unused=True)
        for row, g, x in zip(rows, found, wanted, strict=True):
            if g is not None and g.shape != x.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            if g is not None and check_dtypes and g.dtype is not x.dtype:
                raise GradcheckError("Analytical gradient has dtype mismatch")
            row.append(
                np.zeros(x.numel(), x.dtype.numpy)
                if g is None
                else np.array(g.detach()._host_array, copy=True).reshape(-1)
            )
    return [
        np.stack(row, axis=1) if row else np.zeros((x.numel(), 0))
        for row, x in zip(rows, wanted, strict=True)
    ]


class Duals:
    """The inputs as duals of detached tensors, with tangents of zeros that may be written."""

    def __init__(self, inputs: Sequence[Tensor], wanted: list[Tensor]) -> None:
        plain = [x.detach() for x in wanted]
        self.duals = [forward_ad.make_dual(x, _zeros_like(x)) for x in plain]
        self.tangents = [forward_ad.unpack_dual(d).tangent for d in self.duals]
        self.inputs, self.wanted = inputs, wanted

    def arguments(self, instead: dict[int, Any] | None = None) -> list[Tensor]:
        """The arguments for a call; `instead` has other tensors for some of the wanted inputs."""
        given = {
            id(x): instead[i] if instead and i in instead else d
            for i, (x, d) in enumerate(zip(self.wanted, self.duals, strict=True))
        }
        return [replaced(a, given) for a in self.inputs]


def replaced(value: object, given: dict[int, Any]) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(replaced(v, given) for v in value)
    return given.get(id(value), value)


def tangents_of(results: Sequence[Any]) -> list[Any]:
    """The tangents of results, zeros for None."""
    found = []
    for r in results:
        value, tangent = forward_ad.unpack_dual(r)
        found.append(_zeros_like(value) if tangent is None else tangent)
    return found


def by_forward_mode(
    function: Callable[..., tuple[Any, ...]], inputs: Sequence[Any], wanted: list[Any]
) -> list[list[Matrix]]:
    """[output][input] Jacobians by forward mode: one pass for each input element."""
    columns: list[list[list[Matrix]]] = []
    with forward_ad.dual_level():
        duals = Duals(inputs, wanted)
        for x, tangent in zip(wanted, duals.tangents, strict=True):
            array, rows = _core.to_write(tangent), []
            for index in np.ndindex(*array.shape):
                parts = []
                for step in steps(x):
                    write(tangent, array, index, step)
                    parts.append(values(tangents_of(function(*duals.arguments()))))
                write(tangent, array, index, 0)
                rows.append(combined(parts))
            columns.append(rows)
    return as_jacobians(columns, function(*inputs))


def direction(random: Any, x: Tensor) -> Matrix:
    """A random direction of length 1."""
    u = np.asarray(random.rand(*x.shape))  # a float for no dimensions
    return np.asarray(u / np.linalg.norm(u) if u.size else u)
