"""Element-wise functions: each element of a result comes from those at its place."""
