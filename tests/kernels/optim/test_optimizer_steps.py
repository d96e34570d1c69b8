"""Optimizer steps, in every setting, at the sizes where registers and the parts of threads end."""

import itertools

import numpy as np
import pytest
from plain import definition, within

from rushlight import _core

plain = definition("optimizers")
kernels = _core.kernels

FLOATS = [np.float32, np.float64]
SIZES = (0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 1000, (1 << 13) - 1, (1 << 13) + 1, (1 << 15) + 65)


def parameters(dtype, seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(n).astype(dtype) for n in SIZES]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("maximize", [False, True])
def test_sgd(maximize, decay, momentum, dtype, threads):
    eps = np.finfo(dtype).eps
    for nesterov in (False, True) if momentum else (False,):
        dampening = 0.0 if nesterov else 0.25
        params, buffers = parameters(dtype, 0), [None] * len(SIZES)
        options = (0.1, momentum, dampening, decay, nesterov, maximize)
        for step in range(3):
            grads = parameters(dtype, step + 1)
            before = [p.copy() for p in params], [None if b is None else b.copy() for b in buffers]
            kernels.sgd_step(params, grads, buffers, *options)
            buffers = [None if b is None else np.asarray(b) for b in buffers]  # those it has made
            for p, b, old, g, was in zip(params, buffers, before[0], grads, before[1], strict=True):
                expected, buffer = plain.sgd(old, g, was, *options)
                # The gradient, the decay, and twice the momentum: at most eight roundings.
                size = np.abs(g) + np.abs(old) + (0 if was is None else np.abs(was))
                within(p, expected, eps * (np.abs(old) + 8 * 0.1 * size))
                if momentum:
                    within(b, buffer, 4 * eps * size)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("decoupled", [False, True])
def test_adam(decoupled, decay, amsgrad, dtype, threads):
    info = np.finfo(dtype)
    for maximize, betas in itertools.product((False, True), ((0.9, 0.999), (0.3, 0.5))):
        params = parameters(dtype, 0)
        state = [[np.zeros_like(p) for p in params] for _ in range(3)]
        steps = [np.zeros((), np.float32) for _ in params]
        options = (0.01, *betas, 1e-8, decay, amsgrad, maximize, decoupled)
        for step in range(1, 4):
            grads = parameters(dtype, step)
            old = [[x.copy() for x in some] for some in (params, *state)]
            kernels.adam_step(params, grads, state[0], state[1], state[2], steps, *options)
            for i, g in enumerate(grads):
                p, m, v, top = (some[i] for some in old)
                expected, mean, square, highest = plain.adam(p, g, m, v, top, step, *options)
                # The gradient with its decay has 2 roundings, either moment 4 more, the quotient 8.
                moved = np.abs(m) + np.abs(g) + decay * np.abs(p)
                within(state[0][i], mean, 4 * info.eps * moved)
                within(state[1][i], square, 8 * info.eps * (square + moved**2) + info.tiny)
                if amsgrad:
                    within(state[2][i], highest, 8 * info.eps * (highest + moved**2) + info.tiny)
                # How far the parameter moves: its mean over its root, and that at 1 - beta2 of g^2.
                root = np.sqrt((highest if amsgrad else square) / (1 - betas[1] ** step)) + 1e-8
                travel = 0.01 / (1 - betas[0] ** step) * moved / root
                relative = 16 * info.eps * (1 + moved**2 / (square + info.tiny))
                within(params[i], expected, info.eps * 2 * np.abs(p) + relative * travel)
            assert [float(s) for s in steps] == [step] * len(SIZES)


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_norm_and_the_scaling_of_all_tensors(dtype):
    tensors = parameters(dtype, 0)
    wide = np.concatenate(tensors).astype(np.float64)
    expected = np.sqrt((wide * wide).sum())
    # Half of what the sum of the squares may have: one rounding for each of its terms.
    within(kernels.total_norm2(tensors), expected, wide.size / 2 * np.finfo(dtype).eps * expected)
    scaled = [t.copy() for t in tensors]
    kernels.scale_(scaled, 0.5)
    np.testing.assert_array_equal(np.concatenate(scaled), np.concatenate(tensors) / 2)
