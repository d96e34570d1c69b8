"""What softmax.cpp computes, in plain NumPy (float64), along an axis."""

import numpy as np


def logsumexp(x, axis):
    top = x.max(axis, keepdims=True)
    return top + np.log(np.exp(x - top).sum(axis, keepdims=True))


def log_softmax(x, axis):
    return x - logsumexp(x, axis)


def softmax(x, axis):
    return np.exp(log_softmax(x, axis))


def softmax_backward(g, y, axis):
    return y * (g - (g * y).sum(axis, keepdims=True))


def log_softmax_backward(g, y, axis):
    return g - np.exp(y) * g.sum(axis, keepdims=True)
