"""The reference of norm.cpp in plain NumPy and float64."""

import numpy as np


def layer_norm(x, weight, bias, eps):
    """Of every row: the result, the mean, and 1 over the standard deviation."""
    x = np.asarray(x, np.float64)
    mean = x.mean(-1, keepdims=True)
    rstd = 1 / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + eps)
    return (x - mean) * rstd * weight + bias, mean, rstd


def layer_norm_backward(g, x, weight, eps):
    """The gradients of x, weight and bias."""
    h, _, rstd = layer_norm(x, 1.0, 0.0, eps)
    u = np.asarray(g, np.float64) * weight
    inner = u - u.mean(-1, keepdims=True) - h * (u * h).mean(-1, keepdims=True)
    return rstd * inner, (g * h).sum(0), np.asarray(g, np.float64).sum(0)


def mse_loss(x, y):
    return ((np.asarray(x, np.float64) - y) ** 2).mean()


def mse_loss_backward(g, x, y):
    """The gradient of x; that of y is the same with the other sign."""
    return 2 * g / x.size * (np.asarray(x, np.float64) - y)
