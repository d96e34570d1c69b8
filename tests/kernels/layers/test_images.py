"""Resizing, borders, sampling at places, patches and random windows, element by element."""

import itertools

import numpy as np
import pytest
from plain import definition, on_one_thread_and_two

import rushlight
from rushlight import _core
from rushlight.ops.layers.padding import tap

F = rushlight.nn.functional
kernels = _core.kernels
sampling = definition("sampling")
FLOATS = [np.float32, np.float64]


def sample(shape, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def table(seed, count, out, size, weighted):
    rng = np.random.default_rng(seed)
    places = rng.integers(0, size, (count, out))
    return places, rng.standard_normal((count, out)) if weighted else None


def matrix(places, weights, size):
    """The weights as a matrix from inputs to outputs."""
    made = np.zeros((places.shape[1], size))
    for k, j in itertools.product(*map(range, places.shape)):
        made[j, places[k, j]] += 1 if weights is None else weights[k, j]
    return made


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("out", [1, 5, 40, 90])
def test_taps_are_matrices(out, count, dtype):
    x = sample((3, 4, 6, 7, 2), dtype)
    for weighted in (True, False)[: 2 if count == 1 else 1]:
        tables = {d: table(d, count, out, x.shape[d], weighted) for d in (3, 2)}
        taps = tuple(
            (d, tap(*(None if a is None else rushlight.from_numpy(a) for a in t)))
            for d, t in tables.items()
        )
        expected = x.astype(np.float64)
        for d, (places, weights) in tables.items():
            m = matrix(places, weights, x.shape[d])
            expected = np.moveaxis(np.moveaxis(expected, d, -1) @ m.T, -1, d)
        given = rushlight.from_numpy(x)
        made = on_one_thread_and_two(lambda g=given, t=taps: kernels.resample(g, t).numpy())
        tolerance = 50 * np.finfo(dtype).eps * count**2
        np.testing.assert_allclose(made, expected, tolerance, tolerance)
        g = sample(expected.shape, dtype, 1)
        back = kernels.resample_backward(rushlight.from_numpy(g), taps, x.shape).numpy()
        inner = (g.astype(np.float64) * expected).sum(), (back.astype(np.float64) * x).sum()
        np.testing.assert_allclose(*inner, 1e-3 if dtype == np.float32 else 1e-10)


def test_places_outside_of_the_input_are_refused():
    taps = ((0, tap(rushlight.tensor([[0, 5]]))),)
    assert kernels.resample(rushlight.ones(3), taps) is NotImplemented


@pytest.mark.parametrize("dtype", [*FLOATS, np.int64, np.bool_, np.complex64])
def test_a_border_of_one_value(dtype):
    x = (sample((2, 5, 6)) * 3).astype(dtype)
    for pad in ((1, 2), (0, 3, 2, 0), (-1, 2, 1, -2), (-3, -3, 0, 0, 1, 1)):
        widths = [(0, 0)] * (3 - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))[::-1]
        cut = x[
            tuple(
                slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, widths, strict=True)
            )
        ]
        expected = np.pad(cut, [(max(a, 0), max(b, 0)) for a, b in widths])
        np.testing.assert_array_equal(kernels.constant_pad(x, pad, 0), expected)
    assert kernels.constant_pad(x, (-4, -4), 0) is NotImplemented


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [3, 9])
@pytest.mark.parametrize("sizes", [(4, 5), (3, 4, 2), (1, 3)])
def test_samples(sizes, channels, dtype):
    n = len(sizes)
    x = sample((3, channels, *sizes), dtype)
    grid = sample((3, 5, *(2, 6)[: n - 1], n), dtype, 1) * 1.7
    modes = itertools.product(range(3 if n == 2 else 2), range(3), (True, False))
    for how in modes:
        made = on_one_thread_and_two(lambda how=how: kernels.grid_sample(x, grid, *how))
        for b, *at in np.ndindex(grid.shape[:-1]):
            total = sampling.sampled(x[b], grid[(b, *at)], *how)
            np.testing.assert_allclose(made[(b, slice(None), *at)], total, 2e-4, 2e-4)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("channels", [5, 9])
def test_the_gradients_of_samples(channels, corners, padding, mode):
    x, grid = sample((2, channels, 4, 6)), sample((2, 3, 4, 2), seed=1) * 0.9
    how = mode, padding, corners
    g = sample((2, channels, 3, 4), seed=2)
    to_x, to_grid = kernels.grid_sample_backward(g, x, grid, *how, (5, 5))
    step = 1e-6
    for seed in range(3):
        dx, dgrid = sample(x.shape, seed=3 + seed), sample(grid.shape, seed=6 + seed)
        for moved, along, found in ((0, dx, to_x), (1, dgrid, to_grid)):
            ends = []
            for sign in (1, -1):
                args = [x, grid]
                args[moved] = args[moved] + sign * step * along
                ends.append((kernels.grid_sample(*args, *how) * g).sum())
            slope = (ends[0] - ends[1]) / (2 * step)
            np.testing.assert_allclose((found * along).sum(), slope, 1e-5, 1e-5)


def test_samples_at_no_place():
    x = rushlight.ones(1, 1, 3, 3)
    places = rushlight.tensor([[[[float("nan"), 0.0], [float("inf"), 0.0], [1e30, -1e30]]]])
    for mode in ("bilinear", "nearest", "bicubic"):
        made = F.grid_sample(x, places, mode, align_corners=False).flatten()
        assert made[2] == 0


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("how", list(itertools.product((1, 3), (1, 2), (0, 2), (1, 3))))
def test_columns_and_back(how, dtype):
    k, d, p, s = how
    x = sample((2, 3, 9, 8), dtype)
    two = tuple((v, v) for v in how)
    made = on_one_thread_and_two(lambda: kernels.im2col(x, *two))
    wide = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
    starts = [range(0, n + 2 * p - d * (k - 1), s) for n in (9, 8)]
    columns = [
        wide[:, :, y : y + d * (k - 1) + 1 : d, z : z + d * (k - 1) + 1 : d].reshape(2, -1)
        for y, z in itertools.product(*starts)
    ]
    np.testing.assert_array_equal(made, np.stack(columns, -1))
    g = sample(made.shape, dtype, 1)
    back = on_one_thread_and_two(lambda: kernels.col2im(g, (9, 8), *two))
    inner = (g.astype(np.float64) * made).sum(), (back.astype(np.float64) * x).sum()
    np.testing.assert_allclose(*inner, 1e-4 if dtype == np.float32 else 1e-10)


def test_random_windows():
    x, u = sample((2, 3, 9, 8)), np.random.default_rng(0).uniform(size=(2, 3, 2))
    out, places = kernels.fractional_max_pool(x, u, (2, 3), (4, 3))
    for b, c in np.ndindex(2, 3):
        starts = []
        for size, count, k, r in ((9, 4, 2, u[b, c, 1]), (8, 3, 3, u[b, c, 0])):
            a = (size - k) / (count - 1)
            starts.append([int((i + r) * a) - int(r * a) for i in range(count - 1)] + [size - k])
        for i, j in np.ndindex(4, 3):
            y, z = starts[0][i], starts[1][j]
            assert out[b, c, i, j] == x[b, c, y : y + 2, z : z + 3].max()
            assert x[b, c].flat[places[b, c, i, j]] == out[b, c, i, j]
    assert kernels.fractional_max_pool(x, u + 2, (2, 3), (4, 3)) is NotImplemented


@pytest.mark.parametrize("half", [rushlight.float16, rushlight.bfloat16])
def test_random_windows_of_halves_begin_where_each_step_is_rounded(half):
    given = sample((1, 3, 300, 5), np.float32), sample((1, 3, 2), np.float32)
    x, u = (rushlight.from_numpy(t).to(half) for t in given)
    u = u.abs().clamp(max=1)
    one = u._array.dtype.type
    out, places = kernels.fractional_max_pool(x, u, (1, 5), (97, 1))
    assert out.dtype is half
    for c in range(3):
        r, a = u._array[0, c, 1], one(299 / 96)
        starts = [int((one(i) + r) * a) - int(r * a) for i in range(96)] + [299]
        wide = x.float().numpy()[0, c, starts]
        np.testing.assert_array_equal(out.float().numpy()[0, c, :, 0], wide.max(1))
        np.testing.assert_array_equal(
            places.numpy()[0, c, :, 0], wide.argmax(1) + 5 * np.array(starts)
        )
