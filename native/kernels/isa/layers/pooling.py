"""The reference of pooling.cpp, window by window.

`x` is (volumes, sizes...); an axis is a list of windows, a window the list of its places there.
"""

import itertools

import numpy as np


def windows(size, kernel, stride, padding, dilation, count):
    """The places inside the input under each window of one dimension."""
    starts = [i * stride - padding for i in range(count)]
    return [[p for k in range(kernel) if 0 <= (p := s + k * dilation) < size] for s in starts]


def even_cuts(size, count):
    """The windows that cut a dimension into `count` parts."""
    return [range(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def each(axes):
    """Each position, and its places in the flat volume."""
    for position in itertools.product(*(range(len(a)) for a in axes)):
        window = (a[i] for a, i in zip(axes, position, strict=True))
        yield position, list(itertools.product(*window))


def maxima(x, axes):
    """The largest element of each window and its place: the first of several, of NaN the last."""
    shape = (x.shape[0], *map(len, axes))
    out, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    for volume, (position, places) in itertools.product(range(len(x)), each(axes)):
        values = [x[(volume, *place)] for place in places]
        nan = [i for i, v in enumerate(values) if v != v]
        best = nan[-1] if nan else max(range(len(values)), key=lambda i: values[i])
        out[(volume, *position)] = values[best]
        indices[(volume, *position)] = np.ravel_multi_index(places[best], x.shape[1:])
    return out, indices


def means(x, axes, divisors):
    """The sum of each window over its divisor."""
    out = np.zeros((x.shape[0], *map(len, axes)))
    for position, places in each(axes):
        for place in places:
            out[(slice(None), *position)] += x[(slice(None), *place)]
    return out / divisors


def means_backward(g, shape, axes, divisors):
    """The gradient of x of that shape through `means`."""
    out, shares = np.zeros(shape), g / divisors
    for position, places in each(axes):
        for place in places:
            out[(slice(None), *place)] += shares[(slice(None), *position)]
    return out


def maxima_backward(g, indices, shape):
    """Each element of g added at its place."""
    out = np.zeros((shape[0], int(np.prod(shape[1:]))))
    for volume in range(shape[0]):
        np.add.at(out[volume], indices[volume].ravel(), g[volume].ravel())
    return out.reshape(shape)
