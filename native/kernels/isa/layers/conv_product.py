"""The reference of conv_product.cpp in plain NumPy: filters times the patch of each place."""

import numpy as np


def places_of(padded, at, stride, dilation, out):
    """The elements under one position of the kernel, for all places: a view of the padded image."""
    slices = [
        slice(k * d, k * d + s * (n - 1) + 1, s)
        for k, d, s, n in zip(at, dilation, stride, out, strict=True)
    ]
    return padded[(..., *slices)]


def convolution(x, w, bias, stride, padding, dilation):
    """out[b, o, place] = bias[o] + sum of w[o, c, k] * x[b, c, place * stride + k * dilation]."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    out = [(n - span) // s + 1 for n, span, s in zip(padded.shape[2:], spans, stride, strict=True)]
    result = np.zeros((len(x), len(w), *out))
    for at in np.ndindex(*w.shape[2:]):
        seen = places_of(padded, at, stride, dilation, out)
        result += np.einsum("oc,bc...->bo...", w[(..., *at)], seen)
    return result if bias is None else result + bias.reshape(-1, *[1] * len(out))


def input_gradient(g, w, shape, stride, padding, dilation):
    """Each gradient, times its weight, added to where the patch's element came from."""
    g, w = g.astype(np.float64), w.astype(np.float64)
    padded = np.zeros((*shape[:2], *(n + 2 * p for n, p in zip(shape[2:], padding, strict=True))))
    for at in np.ndindex(*w.shape[2:]):
        seen = places_of(padded, at, stride, dilation, g.shape[2:])
        seen += np.einsum("oc,bo...->bc...", w[(..., *at)], g)
    return padded[(..., *(slice(p, p + n) for n, p in zip(shape[2:], padding, strict=True)))]
