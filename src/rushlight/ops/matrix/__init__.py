"""Linear algebra: products, norms, factorisations, solutions and functions of matrices."""

from . import (  # noqa: F401  importing a module enters its ops
    decompositions,
    einsum,
    factors,
    fused_products,
    matrix_functions,
    norms,
    products,
    reflections,
    removed,
    solving,
)
