"""Orthogonal polynomials: a work item takes the steps of the recurrence that its degree asks for.

Where they are more than the CPU takes the result is no number: to raise the CPU's error the host
would have to wait for the device.
"""

from __future__ import annotations

from ...._core import Tensor
from ...._devices.launch import code, empty, start, takes
from ...._devices.there import named, there
from .special import brought, common_shape, spread_layout

# In the order of the numbers in polynomials.cl.
_FAMILIES = (
    *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he"),
    *("laguerre_polynomial_l", "legendre_polynomial_p"),
)


def _enter(name: str, family: int, shifted: int) -> None:
    @there(*named(name))
    def polynomial(x: Tensor, degree: Tensor) -> Tensor:
        x, degree = brought(x, degree)
        if not takes(x, degree) or x.dtype.itemsize < 4 or not x.dtype.is_floating_point:
            return NotImplemented
        if degree.dtype is not x.dtype:
            return NotImplemented
        shape = common_shape(x, degree)
        laid = [None if shape is None else spread_layout(t, shape) for t in (x, degree)]
        if shape is None or None in laid:
            return NotImplemented
        out = empty(shape, x)
        given = x, degree, out, *laid, code(x), out.numel(), family, shifted
        start("polynomials.cl", "polynomial", out.numel(), x, *given)
        return out


for _family, _name in enumerate(_FAMILIES):
    _enter(_name, _family, 0)
    if _name.startswith("chebyshev"):
        _enter(f"shifted_{_name}", _family, 1)
