"""Products of matrices, at the sizes where tiles, panels and blocks end."""

import itertools

import numpy as np
import pytest
from plain import definition, on_threads

import rushlight as torch
from rushlight import _core

plain = definition("gemm")
kernels = _core.kernels

FLOATS = [np.float32, np.float64]
# Around the rows of a tile (6, 8, 14), the columns of one and two registers (8 to 32), the depth
# of a block (256, 384), and the sizes from which a product is large.
ROWS = (1, 2, 5, 6, 7, 8, 9, 13, 14, 15, 29, 43)
COLUMNS = (1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 65)
DEPTHS = (0, 1, 2, 17, 255, 256, 257, 383, 384, 385)
LARGE = [
    *((97, 513, 130), (256, 300, 511), (128, 512, 512), (129, 513, 513), (14, 385, 1025)),
    *((1030, 40, 20), (3, 2000, 700), (1, 3000, 300), (300, 3000, 1), (120, 100, 1111)),
]


def bounded(c, a, b, *rest):
    """Each of the k products and additions, and what is added at the end, is rounded once, in the
    kernel and (in float64) in the definition: no more than k + 3 roundings, half an eps each."""
    expected = plain.product(a, b, *rest)
    assert c.shape == expected.shape
    bound = (a.shape[-1] + 3) * np.finfo(c.dtype).eps * plain.additions_of(a, b, *rest)
    assert (np.abs(c - expected) <= bound).all()


def stored(a, order):
    """The same matrix in another memory order: by rows, by columns, every second column, from the
    last row, between others."""
    if order == "columns":
        return np.ascontiguousarray(a.T).T
    if order == "stepped":
        wide = np.full((a.shape[0], 2 * a.shape[1] + 1), np.nan, a.dtype)
        wide[:, 1::2] = a
        return wide[:, 1::2]
    if order == "backwards":
        return np.ascontiguousarray(a[::-1])[::-1]
    if order == "inside":
        wide = np.full((a.shape[0] + 2, a.shape[1] + 5), np.nan, a.dtype)
        wide[1:-1, 2:-3] = a
        return wide[1:-1, 2:-3]
    return a


def matrices(dtype, m, k, n, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    return a.astype(dtype), b.astype(dtype), rng.standard_normal(n).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("m", ROWS)
def test_sizes_around_every_edge(m, dtype):
    a, b, _ = matrices(dtype, m, max(DEPTHS), max(COLUMNS))
    transposed = {"a": stored(a, "columns"), "b": stored(b, "columns")}
    for k, n in itertools.product(DEPTHS, COLUMNS):
        for x, y in itertools.product((a, transposed["a"]), (b, transposed["b"])):
            bounded(kernels.matmul(x[:, :k], y[:k, :n]), x[:, :k], y[:k, :n])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", LARGE, ids=str)
def test_large_products_on_one_thread_and_two(size, dtype, threads):
    a, b, _ = matrices(dtype, *size)
    for x, y in itertools.product((a, stored(a, "columns")), (b, stored(b, "columns"))):
        bounded(kernels.matmul(x, y), x, y)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [(1, 1, 1), (7, 20, 33), (15, 257, 31), (130, 140, 150)], ids=str)
def test_operands_in_any_memory_order(size, dtype):
    a, b, _ = matrices(dtype, *size)
    for first, second in itertools.product(("columns", "stepped", "backwards", "inside"), repeat=2):
        bounded(kernels.matmul(stored(a, first), stored(b, second)), a, b)
    same_rows, same_columns = np.broadcast_to(a[:1], a.shape), np.broadcast_to(b[:, :1], b.shape)
    bounded(kernels.matmul(same_rows, same_columns), same_rows, same_columns)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [(5, 9, 17), (64, 100, 48), (200, 150, 130)], ids=str)
def test_stacks_of_matrices(size, dtype, threads):
    m, k, n = size
    rng = np.random.default_rng(1)
    a = rng.standard_normal((3, 1, m, k)).astype(dtype)
    b = rng.standard_normal((2, k, n)).astype(dtype)
    bounded(kernels.matmul(a, b), a, b)
    bounded(kernels.matmul(a, b[0]), a, b[0])
    turned = np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
    bounded(kernels.matmul(a[..., ::-1, :], turned), a[..., ::-1, :], turned)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "size", [(1, 1, 1), (6, 0, 9), (14, 256, 32), (15, 257, 33), (300, 200, 100)], ids=str
)
def test_a_bias_is_what_the_sums_start_from(size, dtype):
    a, b, bias = matrices(dtype, *size)
    bounded(kernels.linear(a, stored(b, "columns").T, bias), a, b, bias)
    bounded(kernels.linear(a, b.T, bias), a, b, bias)
    for alpha, beta in ((1, 1), (0.5, 1), (1, -2), (0, 1), (1, 0)):
        bounded(kernels.addmm(bias, a, b, beta, alpha), a, b, bias, alpha, beta)
        whole = np.tile(bias, (size[0], 1)) * np.arange(size[0], dtype=dtype)[:, None]
        bounded(kernels.addmm(whole, a, b, beta, alpha), a, b, whole, alpha, beta)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [(1, 1, 1), (14, 33, 9), (130, 257, 65), (600, 70, 300)], ids=str)
def test_gradients_of_a_linear_layer(size, dtype, threads):
    m, k, n = size
    x, w, _ = matrices(dtype, m, k, n)
    g = np.random.default_rng(2).standard_normal((m, n)).astype(dtype)
    # What a rule says of an edge: 1 more than the dimensions of what it leads to.
    for layout in ("rows", "columns"):
        gb, gx, gw = kernels.linear_backward(stored(g, layout), stored(x, layout), w.T, (2, 3, 3))
        bounded(gx, g, w.T)
        bounded(gw, g.T, x)
        bounded(gb[None], np.ones((1, m), dtype), g)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [(7, 5, 17), (15, 300, 33), (140, 150, 130)], ids=str)
def test_an_infinity_reaches_its_own_row_or_column_only(size, dtype):
    """What pads a panel to whole registers is never multiplied into a result."""
    a, b, _ = matrices(dtype, *size)
    a[-1, 0] = np.inf
    b[0, -1] = np.nan
    c = kernels.matmul(a, b)
    assert np.isfinite(c[:-1, :-1]).all()
    assert np.isinf(c[-1, :-1]).all()
    assert np.isnan(c[:, -1]).all()


@pytest.mark.skipif(_core.isa() not in ("v3", "v4"), reason="a BLAS library's sums, in its order")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "size",
    [(300, 200, 513), (101, 2000, 33), (90, 700, 1030), (1, 3000, 2050), (3000, 1500, 1)],
    ids=str,
)
def test_the_same_bits_on_any_number_of_threads(size, dtype):
    m, k, n = size
    a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    found = on_threads(lambda: [kernels.matmul(a, b), kernels.matmul(b.t(), a.t())], (1, 2, 3, 7))
    for pair in found[1:]:
        for c, first in zip(pair, found[0], strict=True):
            assert torch.equal(c, first)


HALVES = [(1, 1, 1), (15, 257, 33), (130, 40, 150), (13, 1, 31), (14, 255, 32), (29, 514, 65)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", HALVES, ids=str)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_halves_are_rounded_once(size, turned, dtype):
    """A sum in float32, then rounded to a half: half an eps of the type, or half its smallest
    number."""
    a, b, _ = (torch.from_numpy(x).to(dtype) for x in matrices(np.float32, *size))
    a, b = (x.t().contiguous().t() if t else x for x, t in zip((a, b), turned, strict=True))
    c = kernels.matmul(a, b)
    assert c.dtype == dtype
    x, y = a.double().numpy(), b.double().numpy()
    expected, magnitude = plain.product(x, y), plain.additions_of(x, y)
    summed = (size[1] + 3) * np.finfo(np.float32).eps * magnitude
    info = torch.finfo(dtype)
    rounded = info.eps / 2 * (np.abs(expected) + summed) + info.smallest_normal * info.eps / 2
    assert (np.abs(c.double().numpy() - expected) <= summed + rounded).all()
