"""Attention for one head, in plain NumPy (float64): the reference of attention.cpp."""

import numpy as np


def shares(q, k, scale, causal, mask=None):
    """The weights of the keys for each query, and the logarithms of the sums they were divided by.
    A query that sees nothing has weights of 0, and +inf for the logarithm."""
    scores = q @ k.T * scale
    if causal:
        scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    with np.errstate(divide="ignore"):
        lse = np.log(np.exp(scores).sum(-1))
    lse[lse == -np.inf] = np.inf
    return np.exp(scores - lse[:, None]), lse


def forward(q, k, v, scale, causal, mask=None, noise=1.0):
    weights, lse = shares(q, k, scale, causal, mask)
    return weights * noise @ v, lse


def backward(g, q, k, v, scale, causal, mask=None, noise=1.0):
    """The gradients of q, k and v."""
    weights, _ = shares(q, k, scale, causal, mask)
    slopes = g @ v.T * noise
    slopes = weights * (slopes - (weights * slopes).sum(-1, keepdims=True)) * scale
    return slopes @ k, slopes.T @ q, (weights * noise).T @ g
