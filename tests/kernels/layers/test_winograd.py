"""3x3 convolutions by Winograd's transforms, at the sizes where registers, panels, strips, groups
and pieces of tiles end."""

from collections.abc import Iterator

import numpy as np
import pytest
from plain import definition, on_threads, within

import rushlight
from rushlight import _core

plain = definition("winograd")
kernels = _core.kernels

FLOATS = [np.float32, np.float64]
ONE = (1, 1)


@pytest.fixture(autouse=True)
def _everywhere() -> Iterator[None]:
    """Also where another way is faster; and one thread unless a test says how many."""
    before = rushlight.get_num_threads()
    kernels.set_winograd(2, True)
    rushlight.set_num_threads(1)
    yield
    rushlight.set_num_threads(before)
    kernels.set_winograd(2)


def sample(shape, dtype, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def whole(x, out, tile):
    """With zeros where the last tiles of `out` go beyond it."""
    more = [-n % tile for n in out]
    return np.pad(x, ((0, 0), (0, 0), (0, more[0]), (0, more[1])))


def convolution_error(x, w, bias, padding, out, tile):
    """Each output is A' m A. Every number in it is a sum whose terms are rounded at most so often:
    for tiles of 2 by 2 additions for v, 4 for u, one for each channel, 4 for y and one for the
    bias; of 4 by 6, 8 and 6. To first order the error is as many halves of epsilon of the sum of
    the absolute values; the second is far below one more."""
    roundings = x.shape[1] + (12 if tile == 2 else 22)
    image = whole(np.abs(x.astype(np.float64)), out, tile)
    sizes = np.abs(w.astype(np.float64)), np.abs(bias)
    terms = plain.convolution_by_tiles(image, *sizes, padding, tile, np.abs)
    return roundings * np.finfo(x.dtype).eps / 2 * terms[:, :, : out[0], : out[1]]


def weight_error(g, x, padding, tile):
    """As above: 2 additions for v, 2 for z, one for each tile, 4 for the kernel's gradient; or 6, 6
    and 10."""
    out = g.shape[2:]
    image, g = (whole(np.abs(a.astype(np.float64)), out, tile) for a in (x, g))
    roundings = g.shape[0] * g.shape[2] * g.shape[3] // tile**2 + (9 if tile == 2 else 23)
    terms = plain.weight_gradient_by_tiles(g, image, padding, tile, np.abs)
    return roundings * np.finfo(x.dtype).eps / 2 * terms


def check(shape, outputs, padding, dtype, tile=2):
    """The convolution and both gradients."""
    kernels.set_winograd(tile, True)
    x = sample(shape, dtype, 0)
    w = sample((outputs, shape[1], 3, 3), dtype, 1)
    bias = sample((outputs,), dtype, 2)
    wide = [a.astype(np.float64) for a in (x, w, bias)]
    y = plain.convolution(*wide, padding)
    g = sample(y.shape, dtype, 3)
    wide_g = g.astype(np.float64)
    within(
        kernels.convolution(x, w, bias, ONE, padding, ONE, 1),
        y,
        convolution_error(x, w, bias, padding, y.shape[2:], tile),
    )
    turned = w[:, :, ::-1, ::-1].swapaxes(0, 1)
    back = tuple(2 - p for p in padding)
    outer = tuple(max(p, 0) for p in back)  # of a larger padding the border is cut off
    cut = tuple(outer[i] - back[i] for i in range(2))
    inner = g[:, :, cut[0] : g.shape[2] - cut[0], cut[1] : g.shape[3] - cut[1]]
    within(
        kernels.convolution_input(g, w, None, shape, ONE, padding, ONE, 1),
        plain.input_gradient(wide_g, wide[1], padding),
        convolution_error(inner, turned, np.zeros(shape[1]), outer, shape[2:], tile),
    )
    within(
        kernels.convolution_weight(g, x, w.shape, ONE, padding, ONE, 1),
        plain.weight_gradient(wide_g, wide[0], padding),
        weight_error(g, x, padding, tile),
    )


@pytest.mark.parametrize("tile", [2, 4])
def test_tiles_make_the_convolution(tile):
    x, w, bias = sample((2, 3, 6, 8), float, 0), sample((4, 3, 3, 3), float, 1), np.arange(4.0)
    y = plain.convolution(x, w, bias, (0, 1))
    assert np.allclose(plain.convolution_by_tiles(x, w, bias, (0, 1), tile), y, 1e-13, 1e-13)
    g = sample(y.shape, float, 2)
    expected = plain.weight_gradient(g, x, (0, 1))
    actual = plain.weight_gradient_by_tiles(g, x, (0, 1), tile)
    assert np.allclose(actual, expected, 1e-13, 1e-13)
    terms = (y * g).sum() - (bias * g.sum((0, 2, 3))).sum()
    assert np.isclose((plain.input_gradient(g, w, (0, 1)) * x).sum(), terms)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33])
def test_channels_around_registers(channels, dtype):
    check((1, channels, 5, 6), 3, ONE, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("outputs", [1, 2, 4, 5, 8, 9, 12, 13, 16, 17, 31, 32, 33, 47, 49, 64, 65])
def test_outputs_around_panels(outputs, dtype):
    check((1, 3, 6, 5), outputs, ONE, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "size",
    [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (4, 4), (7, 7), (8, 3), (3, 16), (5, 17), (14, 15)],
)
def test_small_images(size, dtype):
    check((2, 5, *size), 4, ONE, dtype)


@pytest.mark.parametrize("padding", [(0, 0), (0, 1), (2, 0), (2, 2), (3, 1), (1, 4), (5, 5)])
def test_any_padding(padding):
    check((2, 3, 4, 5), 4, padding, np.float32)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("tiles", range(1, 18))
def test_tiles_around_strips(tiles, dtype):
    check((1, 2, 2, 2 * tiles), 2, ONE, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "shape",
    [
        (3, 64, 18, 20),  # several groups, which begin and end within images
        (7, 33, 9, 7),
        (1, 64, 3, 350),  # rows in pieces
        (2, 17, 4, 1501),
    ],
)
def test_groups_and_pieces(shape, dtype, threads):
    check(shape, 6, ONE, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("shape", "padding"),
    [
        ((1, 1, 1, 1), (1, 1)),
        ((2, 5, 4, 9), (0, 1)),
        ((1, 17, 7, 6), (3, 2)),
        ((3, 33, 18, 21), (1, 1)),
        ((1, 64, 3, 350), (1, 1)),
    ],
)
def test_large_tiles(shape, padding, dtype):
    check(shape, 35, padding, dtype, tile=4)


def test_kernels_larger_than_the_cache():
    check((2, 330, 5, 5), 321, ONE, np.float32)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2),  # channels last
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: np.repeat(x, 2, axis=2)[:, :, ::2],
        lambda x: np.repeat(x, 2, axis=3)[:, :, :, ::2],
        lambda x: np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 2)))[:, :, 1:-1, 2:-2],
        lambda x: np.pad(x.transpose(0, 2, 3, 1), ((0, 0), (1, 0), (0, 1), (2, 3)))[
            :, 1:, :-1, 2:-3
        ].transpose(0, 3, 1, 2),
        lambda x: x.swapaxes(2, 3).copy().swapaxes(2, 3),
        lambda x: x.swapaxes(0, 1).copy().swapaxes(0, 1),
    ],
    ids=[
        "channels last",
        "channels",
        "rows",
        "columns",
        "crop",
        "crop, channels last",
        "turned",
        "batch",
    ],
)
def test_views(view):
    x, w, g = (sample(s, np.float32, 0) for s in ((2, 20, 7, 9), (18, 20, 3, 3), (2, 18, 7, 9)))
    for kernel, args, rest in (
        (kernels.convolution, (x, w), (None,)),
        (kernels.convolution_input, (g, w), (None, x.shape)),
        (kernels.convolution_weight, (g, x), (w.shape,)),
    ):
        expected = kernel(*args, *rest, ONE, ONE, ONE, 1)
        actual = kernel(*(view(a) for a in args), *rest, ONE, ONE, ONE, 1)
        assert np.array_equal(actual, expected)


def test_repeated_images():
    x, w = sample((1, 1, 6, 6), np.float32, 0), sample((4, 3, 3, 3), np.float32, 1)
    wide = np.broadcast_to(x, (5, 3, 6, 6))
    expected = kernels.convolution(wide.copy(), w, None, ONE, ONE, ONE, 1)
    assert np.array_equal(kernels.convolution(wide, w, None, ONE, ONE, ONE, 1), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_same_bits_for_any_number_of_threads(dtype):
    x, w, g = (sample(s, dtype, 0) for s in ((6, 40, 15, 13), (35, 40, 3, 3), (6, 35, 15, 13)))

    def all_three():
        return (
            kernels.convolution(x, w, None, ONE, ONE, ONE, 1).tobytes(),
            kernels.convolution_input(g, w, None, x.shape, ONE, ONE, ONE, 1).tobytes(),
            kernels.convolution_weight(g, x, w.shape, ONE, ONE, ONE, 1).tobytes(),
        )

    expected, *others = on_threads(all_three, (1, 2, 3, 7))
    assert all(made == expected for made in others)


def test_not_a_number_stays_in_the_tiles_that_see_it():
    x, w = sample((1, 2, 12, 12), np.float32, 0), sample((3, 2, 3, 3), np.float32, 1)
    x[0, 0, 6, 6] = np.nan
    lost = np.isnan(kernels.convolution(x, w, None, ONE, ONE, ONE, 1))
    assert lost[:, :, 5:8, 5:8].all()
    lost[:, :, 4:8, 4:8] = False
    assert not lost.any()


def test_no_images():
    x, w = sample((0, 3, 4, 4), np.float32, 0), sample((2, 3, 3, 3), np.float32, 1)
    y = kernels.convolution(x, w, np.ones(2, np.float32), ONE, ONE, ONE, 1)
    assert y.shape == (0, 2, 4, 4)
    assert kernels.convolution_input(y, w, None, x.shape, ONE, ONE, ONE, 1).shape == x.shape
    weight = kernels.convolution_weight(y, x, w.shape, ONE, ONE, ONE, 1)
    assert np.array_equal(weight, np.zeros(w.shape, np.float32))


def test_switch():
    """Of each way the rounding is different."""
    kernels.set_winograd(2)
    x, w = sample((2, 32, 16, 16), np.float32, 0), sample((32, 32, 3, 3), np.float32, 1)
    results = []
    for tile in (0, 2, 4):
        rushlight.backends.rushlight.winograd = tile
        assert rushlight.backends.rushlight.winograd == tile
        results.append(kernels.convolution(x, w, None, ONE, ONE, ONE, 1))
    close, far = (np.abs(results[0] - result).max() for result in results[1:])
    assert 0 < close < far < 1e-2


@pytest.mark.parametrize("tile", [1, 3, -2, True, "2", None, 2.0])
def test_refused_tiles(tile):
    with pytest.raises(ValueError, match="winograd is 0, 2 or 4"):
        rushlight.backends.rushlight.winograd = tile
    assert rushlight.backends.rushlight.winograd == 2
