"""The reference of reductions.cpp in plain NumPy."""

import numpy as np


def columns(op, a):
    """The reduction of each column of a matrix. Floating-point results are those of float64."""
    if op == "any":
        return a.astype(bool).any(0)
    if op == "all":
        return a.astype(bool).all(0)
    if op == "amax":
        return a.max(0)
    if op == "amin":
        return a.min(0)
    wide = a.astype(np.float64 if a.dtype.kind == "f" else np.int64)
    return np.sqrt((wide * wide).sum(0)) if op == "norm2" else getattr(wide, op)(0)


def rows(op, a):
    """The reduction of each row."""
    return columns(op, a.T)


def add_rows(rows, scales, sums):
    """The sums with the rows added, each times its scale."""
    rows = rows.astype(np.float64)
    return sums + (rows if scales is None else rows * scales[:, None]).sum(0)
