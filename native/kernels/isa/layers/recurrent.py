"""The reference of recurrent.cpp and bindings/layers/recurrent.cpp in plain NumPy and float64."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(a, b, h, c):
    """The next (h, c) from the input's and the state's part of the gates."""
    i, f, g, o = np.split(a + b, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(a, b, h, c):
    (reset, update), new, part = (
        np.split((a + b)[: 2 * len(h)], 2),
        a[2 * len(h) :],
        b[2 * len(h) :],
    )
    new = np.tanh(new + sigmoid(reset) * part)
    return new + sigmoid(update) * (h - new), c


def rnn_tanh(a, b, h, c):
    return np.tanh(a + b), c


def rnn_relu(a, b, h, c):
    return np.where((a + b).real <= 0, 0, a + b), c


def layer(cell, x, sizes, h0, c0, w_ih, w_hh, b_ih, b_hh, reverse):
    """Outputs, last h and last c: each sequence for itself, step after step.

    The rows of step t, sizes[t], lie behind those of the step before in x and in the outputs;
    sequence n has one of them where n < sizes[t].
    """
    out = np.zeros((len(x), h0.shape[1]), np.result_type(x, h0, c0, w_ih, w_hh, b_ih, b_hh))
    last_h, last_c = np.zeros((2, *h0.shape), out.dtype)
    begins = np.cumsum([0, *sizes])
    for n in range(len(h0)):
        h, c = h0[n], c0[n]
        rows = [begins[t] + n for t in range(len(sizes)) if n < sizes[t]]
        for row in reversed(rows) if reverse else rows:
            h, c = cell(w_ih @ x[row] + b_ih, w_hh @ h + b_hh, h, c)
            out[row] = h
        last_h[n], last_c[n] = h, c
    return out, last_h, last_c
