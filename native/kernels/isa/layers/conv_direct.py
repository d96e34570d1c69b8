"""The reference of conv_direct.cpp in plain NumPy: place by place, all filters at once."""

import numpy as np


def patch_of(x, place, k, stride, padding, dilation, groups):
    """The patch of x at a place, (groups, 1, channels of a group, *k): 0 outside of x."""
    patch = np.zeros((len(x), *k))
    for at in np.ndindex(*k):
        i = tuple(
            o * s - p + t * d
            for o, s, p, t, d in zip(place, stride, padding, at, dilation, strict=True)
        )
        if all(0 <= j < n for j, n in zip(i, x.shape[1:], strict=True)):
            patch[(slice(None), *at)] = x[(slice(None), *i)]
    return patch.reshape(groups, 1, -1, *k)


def grouped(x, w, out, stride, padding, dilation, groups):
    """The convolution: `out` are the sizes of the result."""
    filters = w.reshape(groups, -1, *w.shape[1:])
    result = np.zeros((len(x), len(w), *out))
    for b, *place in np.ndindex(len(x), *out):
        seen = patch_of(x[b], place, w.shape[2:], stride, padding, dilation, groups)
        result[(b, slice(None), *place)] = (filters * seen).reshape(len(w), -1).sum(1)
    return result


def grouped_weight_gradient(g, x, shape, stride, padding, dilation, groups):
    """The gradient of the weight, of that shape."""
    result = np.zeros((groups, shape[0] // groups, *shape[1:]))
    for b, *place in np.ndindex(len(g), *g.shape[2:]):
        seen = patch_of(x[b], place, shape[2:], stride, padding, dilation, groups)
        own = g[(b, slice(None), *place)].astype(np.float64)
        result += own.reshape(*result.shape[:2], *[1] * (len(shape) - 1)) * seen
    return result.reshape(shape)
