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


COMPLEX = [np.complex64, np.complex128]
INTEGERS = [np.int64, np.int32, np.int16, np.int8, np.uint8]


def numbers(rng, dtype, *shape):
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    real = rng.standard_normal(shape)
    imaginary = 1j * rng.standard_normal(shape) if dtype in COMPLEX else 0
    return (real + imaginary).astype(dtype)


def as_defined(c, a, b):
    """Integers are multiplied modulo what they hold; a complex product is two of real numbers, each
    twice as deep."""
    if np.issubdtype(a.dtype, np.integer):
        np.testing.assert_array_equal(c, a @ b)
        return
    a, b = a.astype(np.complex128), b.astype(np.complex128)
    bound = (2 * a.shape[-1] + 3) * np.finfo(c.dtype).eps * (np.abs(a) @ np.abs(b)) * 2
    assert (np.abs(c - a @ b) <= bound).all()


@pytest.mark.parametrize("dtype", COMPLEX + INTEGERS)
def test_complex_numbers_and_integers(dtype):
    rng = np.random.default_rng(3)
    sizes = [
        *itertools.product((1, 2, 4, 5, 7), (0, 1, 3, 257), (1, 2, 8, 17, 33)),
        *((100, 300, 70), (1, 40, 9000), (9000, 40, 1), (300, 20, 600)),
        *((1, 5000, 1), (3, 5000, 1), (1, 5000, 3)),
    ]
    for m, k, n in sizes:
        a, b = numbers(rng, dtype, m, k), numbers(rng, dtype, k, n)
        turned_a, turned_b = stored(a, "columns"), stored(b, "columns")
        for x, y in itertools.product((a, turned_a), (b, turned_b)):
            c = kernels.matmul(x, y)
            assert c.dtype == dtype
            as_defined(c, a, b)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_dots_of_complex_numbers(dtype):
    rng = np.random.default_rng(8)
    for n in (0, 1, 7, 8, 9, 33, 4096, 4097, 9001):
        a, b = numbers(rng, dtype, n), numbers(rng, dtype, n)
        bound = 4 * np.finfo(dtype).eps * (np.abs(a) @ np.abs(b))
        twice = torch.from_numpy(np.repeat(b, 2))[::2]
        for y in (torch.from_numpy(b), twice):
            x = torch.from_numpy(a)
            for found in (x.dot(y), x @ y, x.conj().vdot(y)):
                assert abs(complex(found) - np.dot(a.astype(complex), b.astype(complex))) <= bound
            assert abs(complex(x.vdot(y)) - np.vdot(a.astype(complex), b.astype(complex))) <= bound
    assert kernels.vdot(torch.from_numpy(a), torch.from_numpy(b[1:])) is NotImplemented


def layouts_of(a):
    wide = np.zeros((a.shape[0] + 1, 2 * a.shape[1]), a.dtype)
    wide[1:, ::2] = a
    return wide[1:, ::2], stored(a, "backwards"), stored(a, "columns")


@pytest.mark.parametrize("dtype", COMPLEX + INTEGERS)
def test_stacks_and_memory_orders_of_other_numbers(dtype):
    rng = np.random.default_rng(4)
    a, b = numbers(rng, dtype, 3, 1, 5, 9), numbers(rng, dtype, 2, 9, 6)
    as_defined(kernels.matmul(a, b), a, b)
    as_defined(kernels.matmul(a, b[0]), a, b[0])
    for x, y in itertools.product(layouts_of(a[0, 0]), layouts_of(b[0])):
        as_defined(kernels.matmul(x, y), a[0, 0], b[0])
    as_defined(kernels.matmul(a[0, 0], b[0, :, 0]), a[0, 0], b[0, :, 0])


@pytest.mark.parametrize("kind", ["matrix", "row", "column"])
def test_long_sums_are_sums_of_short_ones(kind):
    """The roundings of one long sum grow with its length: at 16,384 terms by 30 in these units."""
    rng = np.random.default_rng(5)
    for k in (128, 1024, 16384):
        a, b = (rng.standard_normal(s).astype(np.float32) for s in ((40, k), (k, 40)))
        a, b = (a[:1] if kind == "row" else a), (b[:, :1] if kind == "column" else b)
        expected = a.astype(np.float64) @ b
        error = np.sqrt(np.mean((kernels.matmul(a, b) - expected) ** 2))
        assert error <= 5 * np.finfo(np.float32).eps * np.sqrt(k)


@pytest.mark.parametrize("dtype", [*FLOATS, np.complex64, np.int64, np.int16])
def test_what_is_added_to_products(dtype):
    rng = np.random.default_rng(6)
    whole = np.issubdtype(dtype, np.integer)
    a, b = numbers(rng, dtype, 3, 5, 7), numbers(rng, dtype, 3, 7, 4)
    added = numbers(rng, dtype, 3, 5, 4)
    wide = a.dtype if whole else np.complex128
    product = a.astype(wide) @ b.astype(wide)
    for beta, alpha in ((1, 1), (0, 1), (1, 0), (0, 0)) if whole else ((1, 1), (0.5, 2.0), (2, 0)):
        rtol = 0 if whole else 1e-5
        for name, input, expected in (
            ("addmm", added[0], product[0]),
            ("addmm", added[0, :, :1], product[0]),
            ("baddbmm", added, product),
            ("baddbmm", added[0], product),
            ("addbmm", added[0, 0], product.sum(0, dtype=product.dtype)),
        ):
            x, y = (a[0], b[0]) if name == "addmm" else (a, b)
            found = getattr(kernels, name)(input, x, y, beta, alpha)
            scaled = (beta * input + alpha * expected).astype(wide)
            np.testing.assert_allclose(found, scaled, rtol, 1e-4 * (not whole))
        found = kernels.addmv(added[0, :, 0], a[0], b[0, :, 0], beta, alpha)
        scaled = (beta * added[0, :, 0] + alpha * product[0, :, 0]).astype(wide)
        np.testing.assert_allclose(found, scaled, rtol, 1e-4 * (not whole))
        found = kernels.addr(added[0], a[0, :, 0], b[0, 0], beta, alpha)
        scaled = (beta * added[0] + alpha * np.multiply.outer(a[0, :, 0], b[0, 0])).astype(wide)
        np.testing.assert_allclose(found, scaled, rtol, 1e-4 * (not whole))
    if whole:  # the definition says what such a factor does
        assert kernels.addmm(added[0], a[0], b[0], 2, 1) is NotImplemented
        assert kernels.addmm(added[0], a[0], b[0], 1.0, 1) is NotImplemented


def test_an_input_that_is_not_added_may_be_nan():
    a, nan = np.ones((2, 2), np.float32), np.full((2, 2), np.nan, np.float32)
    assert (kernels.addmm(nan, a, a, 0, 1) == 2).all()
    assert (kernels.addmm(a, nan, a, 1, 0) == 1).all()
    assert kernels.addmm(a, a, a, 1e39, 1) is NotImplemented
    assert kernels.addmm(a, a, a, 1j, 1) is NotImplemented
    assert kernels.addmm(a, a, a, 10**400, 1) is NotImplemented


@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients_of_stacks(dtype):
    rng = np.random.default_rng(7)
    a, g = (rng.standard_normal(s).astype(dtype) for s in ((2, 3, 5, 4), (2, 3, 5, 6)))
    for shape in ((2, 3, 4, 6), (4, 6)):
        b = rng.standard_normal(shape).astype(dtype)
        ga, gb = kernels.matmul_backward(g, a, b, (5, len(shape) + 1))
        expected = a.swapaxes(-1, -2) @ g
        np.testing.assert_allclose(ga, g @ b.swapaxes(-1, -2), 1e-4, 1e-5)
        np.testing.assert_allclose(gb, expected if b.ndim > 2 else expected.sum((0, 1)), 1e-4, 1e-5)
    assert kernels.matmul_backward(g, a[:1], b, (5, 3)) is NotImplemented


def test_gradients_lie_as_the_factors_do():
    x, w = torch.randn(5, 3, requires_grad=True), torch.randn(4, 3, requires_grad=True)
    a = torch.randn(3, 5).t().requires_grad_()
    (a @ w.t()).sum().backward()
    assert a.grad.stride() == (1, 5)
    assert torch.autograd.grad((x @ w.t()).sum(), w)[0].stride() == (3, 1)
    turned = w.detach().t().contiguous().t().requires_grad_()
    assert torch.autograd.grad(torch.nn.functional.linear(x, turned).sum(), turned)[0].stride() == (
        1,
        4,
    )


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX, np.int64, np.int32])
def test_kron(dtype):
    rng = np.random.default_rng(8)
    for left, right in (((2, 3), (3, 2)), ((4,), (5,)), ((2, 1, 3), (1, 4, 2)), ((2, 0), (3, 3))):
        a, b = numbers(rng, dtype, *left), numbers(rng, dtype, *right)
        np.testing.assert_allclose(kernels.kron(a, b), np.kron(a, b), 1e-6)
    assert kernels.kron(np.ones((2, 2), dtype), np.ones(2, dtype)) is NotImplemented
    huge = np.broadcast_to(np.ones(1, np.float32), (1 << 40,))
    assert kernels.kron(huge, huge) is NotImplemented


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 1000])
def test_vectors_whose_elements_lie_apart(n, dtype):
    x, y = np.random.default_rng(n).standard_normal((2, 3 * n)).astype(dtype)
    wide = x[::3].astype(np.float64), y[:n].astype(np.float64)
    bound = (n + 1) * np.finfo(dtype).eps * np.abs(wide[0] * wide[1]).sum()
    for a, b in ((x[::3], y[:n]), (y[:n], x[::3])):
        assert abs(float(kernels.dot(a, b)) - wide[0] @ wide[1]) <= bound
    expanded = np.broadcast_to(dtype(2), n)
    assert abs(float(kernels.dot(expanded, y[:n])) - 2 * wide[1].sum()) <= 2 * bound + n * 1e-5
