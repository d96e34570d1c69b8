"""Element-wise functions: each element of a result comes from those at its place."""

from . import (  # noqa: F401  importing a module enters its ops
    arithmetic,
    bessel,
    comparison,
    complex_numbers,
    elementary,
    incomplete_gamma,
    polynomials,
    powers,
    selection,
    special,
)
