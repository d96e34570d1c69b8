"""The reference of sampling.cpp, place by place."""

import itertools

import numpy as np

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)


def moved(x, size, beyond, corners):
    """The place x of an axis, brought inside where that is asked for."""
    if beyond == REFLECTION:
        low, high = (0, size - 1) if corners else (-0.5, size - 0.5)
        if high <= low:
            return 0.0
        turn = (x - low) % (2 * (high - low))
        x = low + min(turn, 2 * (high - low) - turn)
    return x if beyond == ZEROS else min(max(x, 0.0), size - 1.0)


def cubic(d, a=-0.75):
    """The weight of a pixel at a distance."""
    d = abs(d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a


def reads(number, size, mode, beyond, corners):
    """(pixel, weight) of what a number from -1 to 1 reads along an axis."""
    x = (number + 1) / 2 * (size - 1) if corners else ((number + 1) * size - 1) / 2
    if mode != BICUBIC:
        x = moved(x, size, beyond, corners)
    if mode == NEAREST:
        return [(int(np.rint(x)), 1.0)]
    low = int(np.floor(x))
    if mode == BILINEAR:
        return [(low, 1 - (x - low)), (low + 1, x - low)]
    around = range(low - 1, low + 3)
    return [(int(np.rint(moved(i, size, beyond, corners))), cubic(x - i)) for i in around]


def sampled(image, place, mode, beyond, corners):
    """The channels of an image (channels, sizes...) at a place, whose numbers begin with the last
    axis."""
    sizes = image.shape[1:]
    axes = [
        reads(float(v), n, mode, beyond, corners) for v, n in zip(place[::-1], sizes, strict=True)
    ]
    total = np.zeros(image.shape[0])
    for corner in itertools.product(*axes):
        at = tuple(i for i, _ in corner)
        if all(0 <= i < n for i, n in zip(at, sizes, strict=True)):
            total += image[(slice(None), *at)] * np.prod([w for _, w in corner])
    return total
