"""The reference of gemm.cpp in plain NumPy and float64."""

import numpy as np


def product(a, b, bias=0.0, alpha=1.0, beta=1.0):
    """c[i][j] = beta * bias[j] + alpha * the sum over k of a[i][k] * b[k][j]."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return beta * np.asarray(bias, np.float64) + alpha * (a @ b)


def additions_of(a, b, bias=0.0, alpha=1.0, beta=1.0):
    """The same of the magnitudes: what the roundings of c[i][j] are relative to."""
    return product(*map(np.abs, (a, b, bias, alpha, beta)))
