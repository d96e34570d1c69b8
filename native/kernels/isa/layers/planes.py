"""The reference of planes.cpp in plain NumPy: the elements of an image that are a step apart."""

import numpy as np


def lay(image, first, step, size):
    """A plane: element i is element first + i * step of the image, 0 where that is outside.

    first, step and size have a number for each of the image's dimensions.
    """
    plane = np.zeros(size, image.dtype)
    for at in np.ndindex(*size):
        from_ = tuple(f + i * s for f, i, s in zip(first, at, step, strict=True))
        if all(0 <= i < n for i, n in zip(from_, image.shape, strict=True)):
            plane[at] = image[from_]
    return plane


def put(plane, first, step, shape):
    """The transpose: an image of that shape, 0 where no element of the plane belongs."""
    image = np.zeros(shape, plane.dtype)
    for at in np.ndindex(*plane.shape):
        to = tuple(f + i * s for f, i, s in zip(first, at, step, strict=True))
        if all(0 <= i < n for i, n in zip(to, shape, strict=True)):
            image[to] = plane[at]
    return image
