"""Linear algebra: products, norms, factorisations, solutions and functions of matrices."""
