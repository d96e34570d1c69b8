"""Orthogonal polynomials of degree n (torch.special): by their recurrences in n, Chebyshev's
between -1 and 1 by the cosine of an angle times n.

As in PyTorch a degree is cut to an integer, the polynomial of one below 0 is 0, and none is
differentiable. What would take more than 100,000 steps is not a number.
"""

from __future__ import annotations

from ..table.kinds import pointwise
from ..table.samples import Make, Samples

_KINDS = {
    "chebyshev_polynomial_t": "Chebyshev polynomial of the first kind",
    "chebyshev_polynomial_u": "Chebyshev polynomial of the second kind",
    "chebyshev_polynomial_v": "Chebyshev polynomial of the third kind",
    "chebyshev_polynomial_w": "Chebyshev polynomial of the fourth kind",
    "hermite_polynomial_h": "physicists' Hermite polynomial",
    "hermite_polynomial_he": "probabilists' Hermite polynomial",
    "laguerre_polynomial_l": "Laguerre polynomial",
    "legendre_polynomial_p": "Legendre polynomial",
}


def _samples(make: Make) -> Samples:
    degrees = make(3, low=0, high=12, kind="int")
    return [(make(2, 3), degrees), (make(4), 5), (0.5, make(3, low=0.0, high=12.0))]


def _statement(name: str, doc: str) -> None:
    pointwise(
        f"{name}(x: Tensor | Number, n: Tensor | Number)",
        dtype="float",
        refuses={"half complex": f"{name}_cpu"},
        where="special",
        method=False,
        in_place=False,
        said=f"special_{name}",
        overloads=(
            "(x: Tensor, n: Tensor, *, out)",
            "(x: Number, n: Tensor, *, out)",
            "(x: Tensor, n: Number, *, out)",
        ),
        samples=_samples,
        traits="unrecorded",
        doc=doc,
    )


for _name, _of in _KINDS.items():
    _statement(_name, f"The {_of} of degree n.")
    if _name.startswith("chebyshev"):
        _statement(f"shifted_{_name}", f"The {_of} of degree n, of 2 x - 1: for x from 0 to 1.")
