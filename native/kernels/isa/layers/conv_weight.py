"""The reference of conv_weight.cpp in plain NumPy: sums over places of gradient times patch."""

import numpy as np


def weight_gradient(g, x, shape, stride, padding, dilation):
    """gw[o, c, k] = sum of g[b, o, place] * x[b, c, place * stride + k * dilation]."""
    g, x = g.astype(np.float64), x.astype(np.float64)
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    result = np.zeros(shape)
    for at in np.ndindex(*shape[2:]):
        slices = [
            slice(k * d, k * d + s * (n - 1) + 1, s)
            for k, d, s, n in zip(at, dilation, stride, g.shape[2:], strict=True)
        ]
        seen = padded[(..., *slices)]
        result[(..., *at)] = np.tensordot(g, seen, [(0, *range(2, g.ndim))] * 2)
    return result
