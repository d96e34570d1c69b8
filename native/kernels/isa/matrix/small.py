"""The reference of small.cpp in plain NumPy and float64: a matrix at a time."""

import numpy as np


def lu(a):
    """L and U in one matrix, the row exchanged at each step, and the first zero pivot, from 1."""
    a, pivots, info = np.array(a, np.float64), [], 0
    for k in range(min(a.shape)):
        p = k + int(np.abs(a[k:, k]).argmax())
        pivots.append(p + 1)
        a[[k, p]] = a[[p, k]]
        if a[k, k] == 0:
            info = info or k + 1
            continue
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, pivots, info


def factors(lu, pivots):
    """P, L and U of which A is the product."""
    m, k = len(lu), min(lu.shape)
    order = list(range(m))
    for i, p in enumerate(pivots):
        order[i], order[p - 1] = order[p - 1], order[i]
    lower = np.tril(np.asarray(lu, np.float64)[:, :k], -1) + np.eye(m, k)
    return np.eye(m)[order].T, lower, np.triu(np.asarray(lu, np.float64)[:k])


def reflected(a, tau):
    """The product of the reflections I - tau v v.T, with v below the diagonal, where it is 1."""
    out = np.eye(len(a))
    for i, t in enumerate(tau):
        v = np.concatenate([np.zeros(i), [1], np.asarray(a, np.float64)[i + 1 :, i]])
        out = out @ (np.eye(len(a)) - t * np.outer(v, v))
    return out
