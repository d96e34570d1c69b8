"""The reference of optimizers.cpp in plain NumPy and float64: a step of one parameter."""

import numpy as np


def sgd(p, g, buffer, lr, momentum, dampening, weight_decay, nesterov, maximize):
    """The parameter and the momentum buffer afterwards; `buffer` is None at the first step."""
    p, g = np.asarray(p, np.float64), np.asarray(g, np.float64) * (-1 if maximize else 1)
    g = g + weight_decay * p
    if momentum:
        buffer = g if buffer is None else momentum * buffer + (1 - dampening) * g
        g = g + momentum * buffer if nesterov else buffer
    return p - lr * g, buffer


def adam(p, g, m, v, top, t, lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, decoupled):
    """The parameter, both moments and the highest second one after step t, which counts from 1."""
    p, g = np.asarray(p, np.float64), np.asarray(g, np.float64) * (-1 if maximize else 1)
    if decoupled:
        p = p - lr * weight_decay * p
    else:
        g = g + weight_decay * p
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    top = np.maximum(top, v)
    second = (top if amsgrad else v) / (1 - beta2**t)
    return p - lr * m / (1 - beta1**t) / (np.sqrt(second) + eps), m, v, top
