"""The reference of batch_norm.cpp and its binding. Channels are the second dimension."""

import numpy as np


def per_channel(values, x):
    return np.asarray(values, np.float64).reshape(-1, *[1] * (x.ndim - 2))


def statistics(x, eps):
    """Mean, variance and one over the deviation of each channel."""
    dims = (0, *range(2, x.ndim))
    mean, variance = x.mean(dims), x.var(dims)
    return mean, variance, 1 / np.sqrt(variance + eps)


def batch_norm(x, mean, rstd, weight, bias):
    hat = (x - per_channel(mean, x)) * per_channel(rstd, x)
    return hat * per_channel(weight, x) + per_channel(bias, x)


def batch_norm_backward(g, x, mean, rstd, weight, training):
    """The gradients of x, weight and bias; in training mean and rstd are functions of x."""
    dims = (0, *range(2, x.ndim))
    hat = (x - per_channel(mean, x)) * per_channel(rstd, x)
    along, total = (g * hat).sum(dims), g.sum(dims)
    inner = g
    if training:
        n = x.size / x.shape[1]
        inner = g - per_channel(total / n, x) - hat * per_channel(along / n, x)
    return inner * per_channel(rstd * weight, x), along, total


def group_norm(x, groups, weight, bias, eps):
    rows = x.reshape(x.shape[0] * groups, -1)
    rstd = 1 / np.sqrt(rows.var(1) + eps)
    hat = (rows - rows.mean(1)[:, None]) * rstd[:, None]
    y = hat.reshape(x.shape) * per_channel(weight, x) + per_channel(bias, x)
    return y, rows.mean(1).reshape(-1, groups), rstd.reshape(-1, groups)


def group_norm_backward(g, x, groups, weight, eps):
    dims = (0, *range(2, x.ndim))
    _, mean, rstd = group_norm(x, groups, np.ones(x.shape[1]), np.zeros(x.shape[1]), eps)
    rows = (x.shape[0] * groups, -1)
    hat = (x.reshape(rows) - mean.reshape(-1, 1)) * rstd.reshape(-1, 1)
    u = (g * per_channel(weight, x)).reshape(rows)
    inner = u - u.mean(1)[:, None] - hat * (u * hat).mean(1)[:, None]
    gx = (inner * rstd.reshape(-1, 1)).reshape(x.shape)
    return gx, (g * hat.reshape(x.shape)).sum(dims), g.sum(dims)
