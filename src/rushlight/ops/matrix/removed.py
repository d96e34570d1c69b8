"""Names that PyTorch has removed, and two old names that still work.

A call of a removed name raises RuntimeError and says what to call instead.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..table.arrays import warn_once
from ..table.kinds import composite
from ..table.reference import alias
from ..table.signature import Ints, Tensor
from .norms import matrix_norm, vector_norm

_REMOVED = {
    "solve": "`torch.solve` is deprecated in favor of `torch.linalg.solve`. Swap the arguments: "
    "X = torch.linalg.solve(A, B); torch.linalg.lu_factor has the factors.",
    "symeig": "The default behavior has changed from using the upper triangular portion of the "
    "matrix by default to using the lower triangular portion. Call torch.linalg.eigvalsh(A, "
    "UPLO='U') for the eigenvalues, torch.linalg.eigh(A, UPLO='U') for the vectors as well.",
    "eig": "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than "
    "real tensors mimicking complex tensors. Call torch.linalg.eigvals(A) for the eigenvalues, "
    "torch.linalg.eig(A) for the vectors as well.",
    "lstsq": "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`. Swap the arguments: "
    "X = torch.linalg.lstsq(A, B).solution; the residuals have a field of their own.",
    "matrix_rank": "\nPlease use the `torch.linalg.matrix_rank` function instead. Its parameter "
    "'hermitian' was named 'symmetric'.",
}


def _removed(name: str, instead: str) -> None:
    def refuse(input: Any, A: Any = None, upper: Any = None, **named: object) -> NoReturn:
        space = "" if instead[0] == "\n" else " "
        raise RuntimeError(
            f"This function was deprecated since version 1.9 and is now removed.{space}{instead}"
        )

    composite(
        name=f"_removed_{name}",
        method=False,
        asks="nobody",
        doc=f"Removed: `torch.linalg.{'eigh' if name == 'symeig' else name}` takes its place.",
    )(refuse)
    alias(name, refuse, method=name != "matrix_rank")


for _name, _instead in _REMOVED.items():
    _removed(_name, _instead)


def _kept(name: str, instead: str) -> None:
    warn_once(
        f"at::{name} is deprecated and it is just left for JIT compatibility. It will be removed "
        f"in a future PyTorch release. Please use `{instead}` instead",
    )


@composite(
    method=False, out="exact", samples=lambda make: [(make(3, 4), (0, 1))], autocast="float32 there"
)
def frobenius_norm(input: Tensor, dim: Ints, keepdim: bool = False) -> Tensor:
    """The 2-norm over one or two dimensions; over all, where none is named."""
    _kept("frobenius_norm", "linalg.vector_norm(A, 2., dim, keepdim)")
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(
            f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead."
        )
    return vector_norm(input, 2.0, dims or None, keepdim)


@composite(
    method=False,
    out="exact",
    samples=lambda make: [(make(3, 4),)],
    overloads=(
        "(input, dim: Sizes, keepdim: bool = False, *, out)",
        "(input, keepdim: bool = False, *, out)",
    ),
    autocast="float32 there",
)
def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices."""
    _kept("nuclear_norm", "linalg.matrix_norm(A, 'nuc', dim, keepdim)")
    if isinstance(dim, bool):  # nuclear_norm(input, keepdim)
        dim, keepdim = (-2, -1), dim
    dims = (dim, dim) if isinstance(dim, int) else dim
    return matrix_norm(input, "nuc", dims, keepdim)
