"""What winograd.cpp computes: 3x3 convolutions of stride 1, their gradients, and both by tiles."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

# F(2x2, 3x3): a tile of outputs is A' ((G w G') * (B' d B)) A, of the patch d of 4x4 that it sees.
B = np.array([[1, 0, 0, 0], [0, 1, -1, 1], [-1, 1, 1, 0], [0, 0, 0, -1]], np.float64)
G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float64)
A = np.array([[1, 0], [1, 1], [1, -1], [0, -1]], np.float64)


def patches(x, size, step, padding):  # -> (batch, channels, rows, columns, size, size)
    padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    return sliding_window_view(padded, (size, size), (2, 3))[:, :, ::step, ::step]


def convolution(x, w, bias, padding):
    sums = np.einsum("bcpqij,ocij->bopq", patches(x, 3, 1, padding), w, optimize=True)
    return sums + bias[:, None, None]


def input_gradient(g, w, padding):
    (ph, pw), (h, w_) = padding, g.shape[2:]
    padded = np.zeros((g.shape[0], w.shape[1], h + 2, w_ + 2))
    for i, j in np.ndindex(3, 3):
        padded[:, :, i : i + h, j : j + w_] += np.einsum("bopq,oc->bcpq", g, w[:, :, i, j])
    return padded[:, :, ph : h + 2 - ph, pw : w_ + 2 - pw]


def weight_gradient(g, x, padding):
    return np.einsum("bopq,bcpqij->ocij", g, patches(x, 3, 1, padding), optimize=True)


def convolution_by_tiles(x, w, bias, padding, B=B, G=G, A=A):
    """The same as convolution, for outputs of even sizes."""
    u = np.einsum("ri,ocij,sj->ocrs", G, w, G)
    v = np.einsum("ir,bcpqij,js->bcpqrs", B, patches(x, 4, 2, padding), B)
    m = np.einsum("bcpqrs,ocrs->bopqrs", v, u, optimize=True)
    y = np.einsum("ri,bopqrs,sj->bopiqj", A, m, A)
    b, o, p, i, q, j = y.shape
    return y.reshape(b, o, p * i, q * j) + bias[:, None, None]


def weight_gradient_by_tiles(g, x, padding, B=B, G=G, A=A):
    """The same as weight_gradient, for outputs of even sizes."""
    v = np.einsum("ir,bcpqij,js->bcpqrs", B, patches(x, 4, 2, padding), B)
    z = np.einsum("ri,bopqij,sj->bopqrs", A, patches(g, 2, 2, (0, 0)), A)
    return np.einsum("ri,bcpqrs,bopqrs,sj->ocij", G, v, z, G, optimize=True)
