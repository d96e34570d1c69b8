"""The pointwise kernels of ops.def that take more than a line, in plain NumPy."""

import numpy as np
from scipy import special


def normal(x):
    """The normal distribution function."""
    return special.ndtr(x)


def density(x):
    return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


sin, cos, exp, tanh, power = np.sin, np.cos, np.exp, np.tanh, np.power
sigmoid, erf = special.expit, special.erf


def gelu(x):
    return x * normal(x)


def gelu_slope(x):
    return normal(x) + x * density(x)


def gelu_tanh(x):
    """x (1 + tanh(u)) / 2, by the sigmoid of 2 u, which keeps the digits of small values."""
    return x * sigmoid(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


def gelu_tanh_slope(x):
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return sigmoid(2 * u) + 2 * x * inner * sigmoid(2 * u) * sigmoid(-2 * u)


def silu(x):
    return x * sigmoid(x)


def silu_slope(x):
    return sigmoid(x) * (1 + x * sigmoid(-x))


def mish(x):
    return x * np.tanh(softplus(x))


def mish_slope(x):
    return np.tanh(softplus(x)) + x * sigmoid(x) * (1 - np.tanh(softplus(x)) ** 2)


def softplus(x, beta=1.0, threshold=np.inf):
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


def softplus_slope(x, beta=1.0, threshold=np.inf):
    return np.where(x * beta > threshold, 1.0, sigmoid(x * beta))


def logsigmoid(x):
    return -np.logaddexp(0, -x)


def logsigmoid_slope(x):
    return sigmoid(-x)


def hardswish(x):
    return x * np.clip(x + 3, 0, 6) / 6


def hardswish_slope(x):
    return np.select([x <= -3, x < 3], [0.0, x / 3 + 0.5], 1.0)


def prelu(x, weight):
    return np.where(x > 0, x, weight * x)


def hardshrink(x, lambd):
    return np.where(np.abs(x) <= lambd, 0, x)


def softshrink(x, lambd):
    return np.select([x > lambd, x < -lambd], [x - lambd, x + lambd], 0 * x)
