"""Bessel functions, the modified ones, Airy's: torch.special. None of these is differentiable in
PyTorch.
"""

from __future__ import annotations

from ..table.kinds import pointwise
from ..table.samples import Make, Samples


def _samples(make: Make) -> Samples:
    return [(make(2, 3),), (make(),), (make(3, 2),)]


def _statement(
    name: str, param: str, doc: str, low: float, high: float, kernel: str | None = None
) -> None:
    pointwise(
        f"{name}({param}: Tensor)",
        kernel=kernel,
        dtype="float",
        refuses={"half complex": f"{name}_cpu"},
        where="special",
        method=False,
        in_place=False,
        said=f"special_{name}",
        samples=_samples,
        domain=(low, high),
        traits="unrecorded",
        doc=doc,
    )


for _n in (0, 1):
    _of = f"of order {_n}."
    _statement(
        f"bessel_j{_n}", "input", f"The Bessel function of the first kind {_of}", -30.0, 30.0
    )
    _statement(f"bessel_y{_n}", "input", f"The Bessel function of the second kind {_of}", 0.1, 40.0)
    _statement(
        f"modified_bessel_i{_n}",
        "input",
        f"The modified Bessel function of the first kind {_of}",
        *(-20.0, 20.0),
        kernel=f"i{_n}",
    )
    _statement(
        f"modified_bessel_k{_n}",
        "input",
        f"The modified Bessel function of the second kind {_of}",
        *(0.01, 20.0),
    )
    _statement(
        f"scaled_modified_bessel_k{_n}",
        "x",
        f"modified_bessel_k{_n} times exp(x).",
        *(0.01, 40.0),
    )
_statement("airy_ai", "x", "The Airy function Ai.", -30.0, 10.0)
_statement("spherical_bessel_j0", "x", "sin(x) / x, the spherical Bessel function.", -9.0, 9.0)
