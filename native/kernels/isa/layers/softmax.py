"""The reference of softmax.cpp, over the last axis, in plain NumPy and float64."""

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
