"""Views of sizes and strides: what they show of a buffer, and what is written there."""

import itertools

import numpy as np
import pytest

import rushlight
from rushlight import _core

kernels = _core.kernels
FLOATS = [np.float16, np.float32, np.float64]
# sizes, strides, offset
PARTS = [
    ((2, 2), (4, 1), 1),
    ((2, 3), (1, 1), 2),  # elements seen twice
    ((2, 2), (0, 1), 0),
    ((3,), (5,), -2),
    ((2, 2), (9, 7), 3),  # beyond the tensor
    ((), (), 4),
    ((0, 2), (1, 1), 3),
]
LAYOUTS = [None, (4, 1), (1, 3), (0, 1), (2, 5)]
SHAPE = (3, 4)


def places(sizes, strides, offset=0):
    """Where in memory each element is, in order."""
    return [
        offset + sum(i * s for i, s in zip(at, strides, strict=True))
        for at in itertools.product(*map(range, sizes))
    ]


def whole(layout):
    return places(SHAPE, layout or (4, 1))


def drawn(*shape, dtype):
    return np.random.default_rng(0).integers(1, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("part", PARTS)
def test_gradient_and_its_transpose(part, layout, dtype):
    sizes, strides, offset = part
    g, x = drawn(*sizes, dtype=dtype), drawn(*SHAPE, dtype=dtype)
    shown, seen = whole(layout), places(sizes, strides, offset)
    sums = {}
    for at, value in zip(seen, g.ravel(), strict=True):
        sums[at] = sums.get(at, 0) + float(value)
    want = [sums.get(at, 0) / shown.count(at) for at in shown]
    found = kernels.strided_backward(g, SHAPE, sizes, strides, offset, layout)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.array(want).reshape(SHAPE).astype(dtype))

    held = {}
    for at, value in zip(shown, x.ravel(), strict=True):
        held[at] = held.get(at, 0) + float(value) / shown.count(at)
    want = np.array([held.get(at, 0) for at in seen]).reshape(sizes)
    found = kernels.strided_gather(x, sizes, strides, offset, layout)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, want, rtol=2e-3 if dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("dtype", [*FLOATS, np.int64, np.complex64, bool])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("part", PARTS)
def test_written(part, layout, dtype):
    sizes, strides, offset = part
    x, src = drawn(*SHAPE, dtype=dtype), drawn(*sizes, dtype=dtype)
    shown, seen = whole(layout), places(sizes, strides, offset)
    place = sizes, strides, offset, layout
    if layout is None and not set(seen) <= set(shown):
        assert kernels.strided_scatter(x, src, *place) is NotImplemented
        return
    held = dict(zip(shown, x.ravel(), strict=True))
    for values, kernel in (
        (src, lambda: kernels.strided_scatter(x, src, *place)),
        (src * 0, lambda: kernels.strided_zeroed(x, *place)),
    ):
        after = held | dict(zip(seen, values.ravel(), strict=True))
        if layout != (0, 1):  # that shows elements twice: which value is there is open
            want = np.array([after[at] for at in shown], dtype).reshape(SHAPE)
            np.testing.assert_array_equal(kernel(), want)
    if dtype in (np.float32, np.float64):
        zeroed, gathered = kernels.strided_scatter_backward(x, *place)
        np.testing.assert_array_equal(zeroed, kernels.strided_zeroed(x, *place))
        np.testing.assert_array_equal(gathered, kernels.strided_gather(x, *place))


@pytest.mark.parametrize(
    "place",
    [
        ((2, 2), (2**62, 1), 0, None),
        ((2**40, 2**40), (2**30, 1), 0, None),
        ((2, 2), (1, 1), 2**62, None),
        ((2, 2), (1, 1), -(2**62), None),
        ((2, 2), (-1, 1), 4, None),
        ((-2, 2), (1, 1), 0, None),
        ((2, 2), (1,), 0, None),
        ((2, 2), (1, 1), 0, (2**62, 2**62)),
        ((2, 2), (1, 1), 0, (4,)),
        ((2, 2), (1, 1), 0, (-4, 1)),
    ],
)
def test_places_that_there_are_not(place):
    x = np.ones(SHAPE)
    assert kernels.strided_gather(x, *place) is NotImplemented
    assert kernels.strided_zeroed(x, *place) is NotImplemented
    assert kernels.strided_backward(x[:2, :2], SHAPE, *place) is NotImplemented
    assert kernels.strided_backward(x[:2, :1], SHAPE, (2, 2), (1, 1), 0) is NotImplemented


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 47, 64, 65])
def test_rows_of_any_width_are_copied(width, dtype):
    rows = drawn(20, 70, dtype=dtype)
    part = rushlight.from_numpy(rows)[:, 3 : 3 + width]
    assert part.contiguous().numpy().tobytes() == rows[:, 3 : 3 + width].tobytes()
    windows = rushlight.from_numpy(rows[0]).unfold(0, min(width, 60), 2).contiguous()
    for i, window in enumerate(windows.numpy()):
        assert window.tobytes() == rows[0, 2 * i : 2 * i + min(width, 60)].tobytes()
