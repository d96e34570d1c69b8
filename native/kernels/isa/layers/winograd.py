"""The reference of winograd.cpp: 3x3 convolutions of stride 1, gradients, and both by tiles."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

# A tile of outputs is A' ((G w G') * (B' d B)) A, of the patch d that it sees. By the tile's
# size, 2 or 4: B', G and A'.
MATRICES = {
    2: (
        [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]],
        [[1, 0, 0], [1 / 2, 1 / 2, 1 / 2], [1 / 2, -1 / 2, 1 / 2], [0, 0, 1]],
        [[1, 1, 1, 0], [0, 1, -1, -1]],
    ),
    4: (
        [
            [4, 0, -5, 0, 1, 0],
            [0, -4, -4, 1, 1, 0],
            [0, 4, -4, -1, 1, 0],
            [0, -2, -1, 2, 1, 0],
            [0, 2, -1, -2, 1, 0],
            [0, 4, 0, -5, 0, 1],
        ],
        [
            [1 / 4, 0, 0],
            [-1 / 6, -1 / 6, -1 / 6],
            [-1 / 6, 1 / 6, -1 / 6],
            [1 / 24, 1 / 12, 1 / 6],
            [1 / 24, -1 / 12, 1 / 6],
            [0, 0, 1],
        ],
        [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]],
    ),
}


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


def convolution_by_tiles(x, w, bias, padding, tile, of=np.asarray):
    """The same as convolution, for outputs of whole tiles; of=np.abs: the sizes of its terms."""
    Bt, G, At = (of(m) for m in MATRICES[tile])
    u = np.einsum("ri,ocij,sj->ocrs", G, w, G)
    v = np.einsum("ri,bcpqij,sj->bcpqrs", Bt, patches(x, tile + 2, tile, padding), Bt)
    m = np.einsum("bcpqrs,ocrs->bopqrs", v, u, optimize=True)
    y = np.einsum("ir,bopqrs,js->bopiqj", At, m, At)
    b, o, p, i, q, j = y.shape
    return y.reshape(b, o, p * i, q * j) + bias[:, None, None]


def weight_gradient_by_tiles(g, x, padding, tile, of=np.asarray):
    """The same as weight_gradient, for outputs of whole tiles."""
    Bt, G, At = (of(m) for m in MATRICES[tile])
    v = np.einsum("ri,bcpqij,sj->bcpqrs", Bt, patches(x, tile + 2, tile, padding), Bt)
    z = np.einsum("ir,bopqij,js->bopqrs", At, patches(g, tile, tile, (0, 0)), At)
    sums = np.einsum("bopqrs,bcpqrs->ocrs", z, v, optimize=True)
    return np.einsum("ri,ocrs,sj->ocij", G, sums, G)
