"""What conv_direct.cpp computes, in plain NumPy: one filter at a time, place by place."""

import numpy as np


def patch_of(x, place, k, stride, padding, dilation):
    """What a place sees of the channels x: 0 outside of them."""
    patch = np.zeros((len(x), *k))
    for at in np.ndindex(*k):
        i = tuple(
            o * s - p + t * d
            for o, s, p, t, d in zip(place, stride, padding, at, dilation, strict=True)
        )
        if all(0 <= j < n for j, n in zip(i, x.shape[1:], strict=True)):
            patch[(slice(None), *at)] = x[(slice(None), *i)]
    return patch


def grouped(x, w, out, stride, padding, dilation, groups):
    """The convolution: `out` are the sizes of the result."""
    channels, filters = w.shape[1], len(w) // groups
    result = np.zeros((len(x), len(w), *out))
    for b, o, *place in np.ndindex(*result.shape):
        first = o // filters * channels
        own = x[b, first : first + channels].astype(np.float64)
        result[(b, o, *place)] = np.sum(
            w[o] * patch_of(own, place, w.shape[2:], stride, padding, dilation)
        )
    return result


def grouped_weight_gradient(g, x, shape, stride, padding, dilation, groups):
    """The gradient of the weight, of that shape."""
    channels, filters = shape[1], shape[0] // groups
    result = np.zeros(shape)
    for b, o, *place in np.ndindex(*g.shape):
        first = o // filters * channels
        own = x[b, first : first + channels].astype(np.float64)
        result[o] += g[(b, o, *place)] * patch_of(own, place, shape[2:], stride, padding, dilation)
    return result
