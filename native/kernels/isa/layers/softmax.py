"""The reference of softmax.cpp, over the last axis, in plain NumPy and float64; and a loss."""

import numpy as np


def _from_highest(x):
    """Differences from the largest, so that no exponential overflows; and the largest."""
    x = np.asarray(x, np.float64)
    highest = x.max(-1, keepdims=True)
    return x - highest, highest


def softmax(x):
    e = np.exp(_from_highest(x)[0])
    return e / e.sum(-1, keepdims=True)


def log_softmax(x):
    below, _ = _from_highest(x)
    return below - np.log(np.exp(below).sum(-1, keepdims=True))


def logsumexp(x):
    below, highest = _from_highest(x)
    return highest[..., 0] + np.log(np.exp(below).sum(-1))


def softmax_backward(g, y):
    """The gradient of x, of which y is the softmax."""
    g, y = np.asarray(g, np.float64), np.asarray(y, np.float64)
    return y * (g - (g * y).sum(-1, keepdims=True))


def log_softmax_backward(g, y):
    """The gradient of x, of which y is the log_softmax."""
    g, y = np.asarray(g, np.float64), np.asarray(y, np.float64)
    return g - np.exp(y) * g.sum(-1, keepdims=True)


def cross_entropy(x, target, weight, ignored, smoothing):
    """The loss of every row, 0 where its target is `ignored`, and the weights that the mean divides
    by: of each class its log-probability times the part of the target that is spread over it."""
    wanted = np.full(x.shape, smoothing / x.shape[1])
    counted = target != ignored
    wanted[np.flatnonzero(counted), target[counted]] += 1 - smoothing
    loss = -(log_softmax(x) * wanted * weight).sum(1) * counted
    return loss, np.where(counted, weight[np.where(counted, target, 0)], 0.0)
