"""Convolutions and their gradients against the plain definitions of planes, conv_product,
conv_weight and conv_direct: sizes around the edges of their blocks, on one thread and on two."""

import numpy as np
import pytest
from plain import definition, on_threads

import rushlight
from rushlight import _core

kernels = _core.kernels
planes, product = definition("planes"), definition("conv_product")
weight, direct = definition("conv_weight"), definition("conv_direct")
EPS = {"float32": 2.0**-24, "float64": 2.0**-53}


def numbers(dtype, *shape, seed=0):
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(dtype)


def agree(result, exact, magnitude, n, dtype):
    """`magnitude` is the same sum over absolute values; a sum of n products, each rounded once or
    twice, is at most (n + 1) roundings of that away."""
    assert result.shape == exact.shape
    assert result.dtype.name == dtype
    bound = (n + 2) * EPS[dtype] * magnitude
    assert np.all(np.abs(result.numpy() - exact) <= bound)


def check(dtype, x_shape, w_shape, stride=1, padding=0, dilation=1, bias=False):
    """One group: the result and both gradients, each against its definition."""
    n = len(x_shape) - 2
    stride, padding, dilation = (
        v if isinstance(v, tuple) else (v,) * n for v in (stride, padding, dilation)
    )
    how = (stride, padding, dilation)
    x, w = numbers(dtype, *x_shape), numbers(dtype, *w_shape, seed=1)
    b = numbers(dtype, w_shape[0], seed=2) if bias else None
    tx, tw = rushlight.tensor(x), rushlight.tensor(w)
    tb = rushlight.tensor(b) if bias else None
    patch = int(np.prod(w_shape[1:]))
    out = kernels.convolution(tx, tw, tb, *how, 1)
    size = None if b is None else np.abs(b)
    exact = product.convolution(x, w, b, *how)
    agree(out, exact, product.convolution(np.abs(x), np.abs(w), size, *how), patch + bias, dtype)
    g = numbers(dtype, *out.shape, seed=3)
    tg = rushlight.tensor(g)
    gx = kernels.convolution_input(tg, tw, None, x_shape, *how, 1)
    exact = product.input_gradient(g, w, x_shape, *how)
    taps = w_shape[0] * int(np.prod(w_shape[2:]))
    agree(gx, exact, product.input_gradient(np.abs(g), np.abs(w), x_shape, *how), taps, dtype)
    gw = kernels.convolution_weight(tg, tx, w_shape, *how, 1)
    exact = weight.weight_gradient(g, x, w_shape, *how)
    # Sums in lanes and parts are sums in another order.
    places = g.size // w_shape[0]
    size = weight.weight_gradient(np.abs(g), np.abs(x), w_shape, *how)
    agree(gw, exact, size, places + 16, dtype)


both = pytest.mark.parametrize("dtype", ["float32", "float64"])


@both
@pytest.mark.parametrize("rows", [1, 2, 4, 5, 13, 14, 15, 32, 33, 43])
def test_filters_around_strips(dtype, rows, threads):
    check(dtype, (2, 7, 6, 9), (rows, 7, 3, 3), padding=1, bias=True)


@both
@pytest.mark.parametrize("width", [1, 7, 8, 15, 16, 17, 31, 32, 33, 65, 127, 128, 129])
def test_places_around_panels(dtype, width, threads):
    check(dtype, (2, 3, width), (34, 3, 1), bias=True)  # product, image read where it lies
    check(dtype, (1, 3, width), (3, 3, 3), padding=1)  # sums in registers
    check(dtype, (3, 3, 2, width), (35, 3, 2, 1), padding=(1, 0))  # product, image laid out


@both
@pytest.mark.parametrize("channels", [63, 64, 127, 128, 255, 256, 257, 513])
def test_patches_around_slices(dtype, channels, threads):
    check(dtype, (1, channels, 5), (36, channels, 1), bias=True)
    check(dtype, (2, channels, 3), (5, channels, 2), padding=1)


@both
@pytest.mark.parametrize("places", [255, 256, 257])
def test_places_around_chunks_of_the_weights_gradient(dtype, places, threads):
    check(dtype, (3, 12, places), (6, 12, 3), padding=1)


@both
@pytest.mark.parametrize("batch", [1, 2, 9, 30])
def test_small_images_together(dtype, batch, threads):
    check(dtype, (batch, 4, 7, 7), (40, 4, 3, 3), padding=1)
    check(dtype, (batch, 5, 7, 7), (34, 5, 3, 3), stride=2, padding=1, bias=True)
    check(dtype, (batch, 33, 3, 5), (34, 33, 1, 1))


@both
@pytest.mark.parametrize("stride", [1, 2, 3, (2, 1), (1, 3)])
@pytest.mark.parametrize("dilation", [1, 2, 3, (3, 1)])
def test_strides_and_dilations(dtype, stride, dilation, threads):
    check(dtype, (2, 3, 17, 21), (6, 3, 3, 2), stride, 2, dilation)
    check(dtype, (2, 34, 12, 11), (35, 34, 2, 3), stride, (1, 3), dilation)


@both
def test_three_dimensions(dtype, threads):
    check(dtype, (2, 3, 5, 6, 7), (4, 3, 3, 2, 3), (1, 2, 1), (1, 0, 1), (1, 1, 2), bias=True)
    check(dtype, (1, 8, 3, 16, 33), (35, 8, 2, 3, 3), 1, 1)
    check(dtype, (1, 3, 4, 9, 30), (3, 3, 3, 3, 3), 1, 1)


@both
def test_kernels_as_large_as_their_strides(dtype, threads):
    check(dtype, (2, 3, 12, 12), (9, 3, 4, 4), 4)
    check(dtype, (2, 3, 11, 13), (9, 3, 2, 2), 5)  # some positions of the image are seen by none


@both
def test_padding_wider_than_the_image(dtype, threads):
    check(dtype, (2, 3, 3, 1), (2, 3, 3, 5), 1, (2, 4))
    check(dtype, (1, 2, 1, 2), (40, 2, 2, 3), (2, 1), (3, 5), (2, 1))


@both
@pytest.mark.parametrize("empty", [(0, 3, 5), (2, 0, 5)])
def test_empty(dtype, empty, threads):
    x = rushlight.tensor(numbers(dtype, *empty))
    w = rushlight.tensor(numbers(dtype, 4, empty[1], 3))
    b = rushlight.tensor(numbers(dtype, 4))
    out = kernels.convolution(x, w, b, (1,), (0,), (1,), 1)
    assert out.shape == (empty[0], 4, 3)
    expected = np.broadcast_to(b.numpy()[:, None], out.shape)
    np.testing.assert_array_equal(out.numpy(), expected)
    gw = kernels.convolution_weight(out, x, (4, empty[1], 3), (1,), (0,), (1,), 1)
    np.testing.assert_array_equal(gw.numpy(), np.zeros((4, empty[1], 3)))
    gx = kernels.convolution_input(out, w, None, empty, (1,), (0,), (1,), 1)
    assert gx.shape == empty


@both
@pytest.mark.parametrize(
    ("groups", "channels", "filters"), [(3, 1, 1), (2, 2, 5), (70, 1, 1), (5, 3, 4), (2, 9, 33)]
)
@pytest.mark.parametrize("stride", [1, 2])
def test_groups(dtype, groups, channels, filters, stride, threads):
    x = numbers(dtype, 2, groups * channels, 5, 6)
    w = numbers(dtype, groups * filters, channels, 3, 3, seed=1)
    how = ((stride,) * 2, (1, 1), (1, 1))
    out = kernels.convolution(rushlight.tensor(x), rushlight.tensor(w), None, *how, groups)
    sizes = tuple(out.shape[2:])
    exact = direct.grouped(x, w, sizes, *how, groups)
    magnitude = direct.grouped(np.abs(x), np.abs(w), sizes, *how, groups)
    agree(out, exact, magnitude, 9 * channels, dtype)
    g = numbers(dtype, *out.shape, seed=3)
    args = (rushlight.tensor(g), rushlight.tensor(x), w.shape, *how, groups)
    exact = direct.grouped_weight_gradient(g, x, w.shape, *how, groups)
    magnitude = direct.grouped_weight_gradient(np.abs(g), np.abs(x), w.shape, *how, groups)
    agree(kernels.convolution_weight(*args), exact, magnitude, 2 * sizes[0] * sizes[1] + 16, dtype)
    # The gradient to the input, group by group.
    gx = kernels.convolution_input(
        rushlight.tensor(g), rushlight.tensor(w), None, x.shape, *how, groups
    )
    for i in range(groups):
        own = slice(i * channels, (i + 1) * channels)
        rows = slice(i * filters, (i + 1) * filters)
        shape = (2, channels, 5, 6)
        exact = product.input_gradient(g[:, rows], w[rows], shape, *how)
        magnitude = product.input_gradient(np.abs(g[:, rows]), np.abs(w[rows]), shape, *how)
        agree(gx[:, own], exact, magnitude, 9 * filters, dtype)


@both
@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 30, 31, 33, 66])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_one_weight_shows_the_plane(dtype, width, stride):
    """A kernel that is 0 but at one position copies what that position sees."""
    x = numbers(dtype, 1, 1, 3, width)
    for at in range(3):
        w = np.zeros((1, 1, 1, 3), dtype)
        w[..., at] = 1
        how = ((1, stride), (1, 2), (1, 1))
        out = kernels.convolution(rushlight.tensor(x), rushlight.tensor(w), None, *how, 1)
        first, step = (-1, at - 2), (1, stride)
        expected = planes.lay(x[0, 0], first, step, tuple(out.shape[2:]))
        np.testing.assert_array_equal(out[0, 0].numpy(), expected)
        back = kernels.convolution_input(out, rushlight.tensor(w), None, x.shape, *how, 1)
        expected = planes.put(expected, first, step, x.shape[2:])
        np.testing.assert_array_equal(back[0, 0].numpy(), expected)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dtype", [np.int64, np.int8])
def test_integers(dtype, groups, threads):
    rng = np.random.default_rng(0)
    for sizes, kernel, stride, padding, dilation in (
        ((9,), (3,), (1,), (0,), (1,)),
        ((5, 40), (3, 3), (1, 1), (1, 1), (1, 1)),
        ((7, 6), (2, 3), (2, 3), (1, 4), (1, 2)),
        ((4, 5, 6), (2, 3, 1), (1, 2, 2), (1, 0, 0), (2, 1, 1)),
        ((3, 1), (1, 1), (1, 1), (0, 0), (1, 1)),
    ):
        x = rng.integers(-100, 100, (2, 2 * groups, *sizes)).astype(dtype)
        w = rng.integers(-100, 100, (3 * groups, 2, *kernel)).astype(dtype)
        how = stride, padding, dilation
        for bias in (None, rng.integers(-100, 100, 3 * groups).astype(dtype)):
            made = kernels.convolution(x, w, bias, *how, groups)
            assert made.dtype == dtype
            for part in range(groups):
                some = slice(3 * part, 3 * part + 3)
                b = None if bias is None else bias[some]
                exact = product.convolution(x[:, 2 * part : 2 * part + 2], w[some], b, *how)
                np.testing.assert_array_equal(made[:, some], exact.astype(np.int64).astype(dtype))
        for bias in (None, rng.integers(-100, 100, 2 * groups).astype(dtype)):
            back = kernels.convolution_input(made, w, bias, x.shape, *how, groups)
            for part in range(groups):
                some, shape = slice(3 * part, 3 * part + 3), (2, 2, *sizes)
                exact = product.input_gradient(made[:, some], w[some], shape, *how)
                read = slice(2 * part, 2 * part + 2)
                if bias is not None:
                    exact += bias[read].reshape(-1, *(1,) * len(sizes))
                np.testing.assert_array_equal(back[:, read], exact.astype(np.int64).astype(dtype))


def test_infinities_stay_where_they_are():
    """The gradient of the weight adds up places alone: what is between rows counts for nothing."""
    x = numbers("float32", 1, 1, 4, 5)
    x[0, 0, 0, 0] = np.inf
    x[0, 0, 3, 4] = np.nan
    g = numbers("float32", 1, 1, 4, 5)
    how = ((1, 1), (1, 1), (1, 1), 1)
    gw = kernels.convolution_weight(rushlight.tensor(g), rushlight.tensor(x), (1, 1, 3, 3), *how)
    # The first element is seen by all positions but those of the last row and column; the last one
    # by all but those of the first.
    seen = np.zeros((3, 3), bool)
    seen[:2, :2] = seen[1:, 1:] = True
    np.testing.assert_array_equal(np.isfinite(gw[0, 0].numpy()), ~seen)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("groups", [1, 4])
def test_halves_are_computed_in_float32_and_rounded_once(dtype, groups):
    half = getattr(rushlight, dtype)
    x = rushlight.tensor(numbers("float32", 2, 8, 9, 10)).to(half)
    w = rushlight.tensor(numbers("float32", 12, 8 // groups, 3, 3)).to(half)
    b = rushlight.tensor(numbers("float32", 12)).to(half)
    how = ((1, 2), (1, 0), (1, 1), groups)
    wide = kernels.convolution(x.float(), w.float(), b.float(), *how)
    out = kernels.convolution(x, w, b, *how)
    assert out.dtype == half
    assert rushlight.equal(out, wide.to(half))
    gx = kernels.convolution_input(out, w, None, tuple(x.shape), *how)
    wide = kernels.convolution_input(out.float(), w.float(), None, tuple(x.shape), *how)
    assert rushlight.equal(gx, wide.to(half))
    gw = kernels.convolution_weight(out, x, tuple(w.shape), *how)
    wide = kernels.convolution_weight(out.float(), x.float(), tuple(w.shape), *how)
    assert rushlight.equal(gw, wide.to(half))


def test_views_are_read_by_their_strides():
    x = rushlight.tensor(numbers("float32", 5, 9, 2, 4)).permute(2, 3, 0, 1)
    w = rushlight.tensor(numbers("float32", 3, 6, 4, 3)).permute(1, 2, 0, 3)[:, :, :2]
    how = ((1, 1), (1, 1), (1, 1), 1)
    expected = kernels.convolution(x.contiguous(), w.contiguous(), None, *how)
    assert rushlight.equal(kernels.convolution(x, w, None, *how), expected)


@pytest.mark.parametrize("groups", [1, 2, 32])
def test_the_number_of_threads_changes_nothing(groups):
    x = rushlight.tensor(numbers("float32", 5, 32, 19, 18))
    w = rushlight.tensor(numbers("float32", 64, 32 // groups, 3, 3))
    how = ((1, 1), (1, 1), (1, 1), groups)

    def all_three():
        out = kernels.convolution(x, w, None, *how)
        return (
            out,
            kernels.convolution_input(out, w, None, tuple(x.shape), *how),
            kernels.convolution_weight(out, x, tuple(w.shape), *how),
        )

    results = on_threads(all_three, (1, 2, 3))
    for more in results[1:]:
        for a, b in zip(results[0], more, strict=True):
            assert rushlight.equal(a, b)


def test_sizes_that_fit_into_no_memory():
    x, w = rushlight.ones(1, 1, 1, 1), rushlight.ones(1, 1, 2, 2)
    huge = (1 << 30, 1 << 30)
    with pytest.raises((MemoryError, RuntimeError)):
        kernels.convolution(x, w, None, (1, 1), huge, (1, 1), 1)
    # Large steps alone need no memory.
    out = kernels.convolution(x, w, None, huge, (1, 1), (1, 1), 1)
    assert out.shape == (1, 1, 1, 1)


def test_meta_has_shapes_only():
    x = rushlight.empty(2, 4, 9, 9, device="meta")
    w = rushlight.empty(6, 2, 3, 3, device="meta")
    out = kernels.convolution(x, w, None, (2, 2), (1, 1), (1, 1), 2)
    assert out.shape == (2, 6, 5, 5)
    assert out.device.type == "meta"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "size", [(2, 5, 3, 4), (1, 8, 3, 1), (3, 2, 7, 1), (2, 3, 2, 3, 2)], ids=str
)
def test_images_whose_channels_are_adjacent(size, dtype):
    """With a kernel of one place: products of matrices, in the same layout."""
    x, w, b = numbers(dtype, *size), numbers(dtype, 6, size[1], seed=1), numbers(dtype, 6, seed=2)
    g = numbers(dtype, size[0], 6, *size[2:], seed=3)

    def last(a):  # the same, channels last
        return rushlight.tensor(np.moveaxis(a, 1, -1).copy()).movedim(-1, 1)

    kernel = w.reshape(*w.shape, *(1,) * (len(size) - 2))
    ones = (1,) * (len(size) - 2)
    how = (ones, (0,) * len(ones), ones, 1)
    tw = rushlight.tensor(kernel)
    out = kernels.convolution(last(x), tw, rushlight.tensor(b), *how)
    assert out.stride() == last(g).stride()
    shaped = b.reshape(-1, *ones)
    wide = np.einsum("oc,nc...->no...", w.astype(float), x)
    size_of = np.einsum("oc,nc...->no...", np.abs(w).astype(float), np.abs(x))
    agree(out, wide + shaped, size_of + np.abs(shaped), size[1], dtype)
    gx = kernels.convolution_input(last(g), tw, None, x.shape, *how)
    exact = np.einsum("oc,no...->nc...", w.astype(float), g)
    agree(gx, exact, np.einsum("oc,no...->nc...", np.abs(w).astype(float), np.abs(g)), 6, dtype)
    gw = kernels.convolution_weight(last(g), last(x), kernel.shape, *how)
    rows, columns = (np.moveaxis(a, 1, -1).reshape(-1, a.shape[1]).astype(float) for a in (g, x))
    exact = (rows.T @ columns).reshape(kernel.shape)
    bound = (np.abs(rows).T @ np.abs(columns)).reshape(kernel.shape)
    agree(gw, exact, bound, len(rows), dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    ("x_shape", "w_shape", "groups"),
    [
        ((2, 4, 9), (6, 2, 3), 2),
        ((2, 3, 7, 6), (5, 3, 3, 2), 1),
        ((1, 2, 4, 5, 4), (3, 2, 2, 3, 2), 1),
    ],
)
def test_complex_numbers_by_four_convolutions_of_their_parts(dtype, x_shape, w_shape, groups):
    n = len(x_shape) - 2
    how = ((2, *(1,) * (n - 1)), (1,) * n, (1,) * n, groups)
    real = {"complex64": "float32", "complex128": "float64"}[dtype]

    def parts(seed, *shape):
        return [numbers(real, *shape, seed=seed + i) for i in (0, 1)]

    def whole(f, a, b):
        """f is linear in both."""
        (p, q), (r, s) = a, b
        pr, qs, ps, qr = (
            f(rushlight.tensor(x), rushlight.tensor(y)).numpy()
            for x, y in ((p, r), (q, s), (p, s), (q, r))
        )
        return pr - qs + 1j * (ps + qr)

    def given(pair):
        return rushlight.tensor((pair[0] + 1j * pair[1]).astype(dtype))

    def agree(found, exact):
        assert str(found.dtype) == f"torch.{dtype}"
        assert found.is_contiguous()
        np.testing.assert_allclose(found.numpy(), exact, 200 * EPS[real], 200 * EPS[real])

    x, w, bias = parts(0, *x_shape), parts(2, *w_shape), parts(4, w_shape[0])
    exact = whole(lambda a, b: kernels.convolution(a, b, None, *how), x, w)
    agree(kernels.convolution(given(x), given(w), None, *how), exact)
    shift = given(bias).numpy().reshape(-1, *(1,) * n)
    agree(kernels.convolution(given(x), given(w), given(bias), *how), exact + shift)
    g = parts(6, *exact.shape)
    exact = whole(lambda a, b: kernels.convolution_input(a, b, None, x_shape, *how), g, w)
    agree(kernels.convolution_input(given(g), given(w), None, x_shape, *how), exact)
    exact = whole(lambda a, b: kernels.convolution_weight(a, b, w_shape, *how), g, x)
    agree(kernels.convolution_weight(given(g), given(x), w_shape, *how), exact)
