"""Kernels that are not pointwise, against NumPy, SciPy and (where installed) PyTorch."""

import itertools

import numpy as np
import pytest

import rushlight
from rushlight import _core

kernels = _core.kernels

FLOATS = [np.float32, np.float64]
TOLERANCE = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-13}


def close(actual, expected, scale=1.0):
    assert actual.shape == np.shape(expected)
    tolerance = TOLERANCE[actual.dtype] * scale
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def layouts(rng, shape, dtype):
    """The same shape in memory orders that a tensor can have."""
    base = rng.standard_normal(shape).astype(dtype)
    yield base
    if base.ndim >= 2:
        yield np.ascontiguousarray(base.T).T
        yield np.ascontiguousarray(base.swapaxes(0, -1)).swapaxes(0, -1)
    if base.ndim:
        yield base[::-1]
        wide = rng.standard_normal((*shape[:-1], shape[-1] * 2 + 1)).astype(dtype)
        yield wide[..., 1::2]
        yield np.broadcast_to(base[..., :1], shape) if shape[-1] else base
    buffer = bytearray(base.nbytes + 1)
    unaligned = np.frombuffer(buffer, np.uint8)[1:].view(dtype).reshape(shape)
    unaligned[...] = base
    yield unaligned


SHAPES = [
    (),
    (1,),
    (7,),
    (16,),
    (67,),
    (5000,),
    (3, 5),
    (32, 64),
    (1, 9),
    (200, 3),
    (4, 1, 6),
    (2, 3, 4, 5),
    (3, 70, 2),
]


def dims_of(ndim):
    yield None
    for n in range(1, ndim + 1):
        yield from itertools.combinations(range(ndim), n)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "prod", "norm2"])
def test_reductions(name, dtype):
    rng = np.random.default_rng(0)
    reference = {
        "sum": np.sum,
        "mean": np.mean,
        "amax": np.max,
        "amin": np.min,
        "prod": np.prod,
        "norm2": lambda a, axis, keepdims: np.sqrt(np.sum(a * a, axis=axis, keepdims=keepdims)),
    }[name]
    for shape in SHAPES:
        for a in layouts(rng, shape, dtype):
            if name == "prod":
                a = np.asarray(np.clip(a, 0.9, 1.1))
            for dims in dims_of(a.ndim):
                for keepdim in (False, True):
                    result = getattr(kernels, name)(a, dims, keepdim)
                    expected = reference(a.astype(np.float64), axis=dims, keepdims=keepdim)
                    assert result.dtype == dtype and result.flags.c_contiguous
                    close(result, expected, scale=max(1, a.size) ** 0.5 * 2)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64])
def test_integer_reductions(dtype):
    rng = np.random.default_rng(1)
    for shape in [(), (5,), (3, 4), (40, 3), (2, 3, 4)]:
        a = rng.integers(0, 2 if dtype is np.bool_ else 100, shape).astype(dtype)
        for dims in dims_of(a.ndim):
            total = kernels.sum(a, dims)
            assert total.dtype == np.int64
            np.testing.assert_array_equal(total, a.sum(axis=dims, dtype=np.int64))
            product = kernels.prod(a, dims)
            assert product.dtype == np.int64
            np.testing.assert_array_equal(product, a.prod(axis=dims, dtype=np.int64))
            for name, reference in [
                ("amax", np.max),
                ("amin", np.min),
                ("any", np.any),
                ("all", np.all),
            ]:
                result = getattr(kernels, name)(a, dims)
                truth = name in ("any", "all") and dtype is not np.uint8
                assert result.dtype == (np.bool_ if truth else dtype)
                np.testing.assert_array_equal(result, reference(a, axis=dims).astype(result.dtype))


def test_any_all_of_floats():
    a = np.array([[0.0, -0.0, 0.0], [1.0, np.nan, 2.0]], np.float32)
    np.testing.assert_array_equal(kernels.any(a, 1), [False, True])
    np.testing.assert_array_equal(kernels.all(a, 1), [False, True])


def test_long_sums_round_like_pairwise_ones():
    rng = np.random.default_rng(2)
    a = (rng.random(3_000_001) + 1).astype(np.float32)
    exact = a.astype(np.float64).sum()
    assert abs(float(kernels.sum(a)) - exact) / exact < 1e-6
    tall = (rng.random((400_000, 3)) + 1).astype(np.float32)
    np.testing.assert_allclose(kernels.sum(tall, 0), tall.astype(np.float64).sum(0), rtol=1e-6)


def test_results_do_not_depend_on_threads():
    rng = np.random.default_rng(3)
    a = rng.standard_normal((1000, 700)).astype(np.float32)
    before = _core.get_num_threads()
    results = []
    for n in (1, 2):
        _core.set_num_threads(n)
        results.append(
            [kernels.sum(a), kernels.sum(a, 0), kernels.sum(a, 1), kernels.softmax(a, 1)]
        )
    _core.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("dtype", FLOATS)
def test_empty_reductions(dtype):
    a = np.zeros((0, 3), dtype)
    np.testing.assert_array_equal(kernels.sum(a), 0)
    np.testing.assert_array_equal(kernels.sum(a, 0), np.zeros(3))
    np.testing.assert_array_equal(kernels.prod(a, 0), np.ones(3))
    assert kernels.sum(a, 1).shape == (0,)
    assert kernels.amax(a, 1).shape == (0,)
    assert np.isnan(kernels.mean(a))
    with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
        kernels.amax(a, 0)
    with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
        kernels.amax(a, ())
    assert kernels.amax(a) is NotImplemented  # max() of nothing has an error of its own
    with pytest.raises(IndexError):
        kernels.argmax(a)
    assert kernels.logsumexp(a, 0).tolist() == [-np.inf] * 3
    assert kernels.cumsum(a, 0).shape == (0, 3)
    assert kernels.softmax(a, 1).shape == (0, 3)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_wins(dtype):
    for n in (2, 5, 33, 200, 5000):
        for at in (0, n // 2, n - 1):
            a = np.arange(n, dtype=dtype)
            a[at] = np.nan
            assert np.isnan(kernels.amax(a)) and np.isnan(kernels.amin(a))
            assert kernels.argmax(a) == at and kernels.argmin(a) == at
            columns = np.stack([a, np.arange(n, dtype=dtype)], 1)
            np.testing.assert_array_equal(kernels.amax(columns, 0), [np.nan, n - 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.uint8])
def test_arg_reductions(dtype):
    rng = np.random.default_rng(4)
    for shape in [(1,), (9,), (100,), (3, 50), (4, 5, 6)]:
        a = rng.integers(0, 20, shape).astype(dtype)  # with ties
        for dim in (None, *range(-len(shape), len(shape))):
            np.testing.assert_array_equal(kernels.argmax(a, dim), a.argmax(dim))
            np.testing.assert_array_equal(kernels.argmin(a, dim), a.argmin(dim))
        assert kernels.argmax(a, 0, True).shape == (1, *shape[1:])


@pytest.mark.parametrize("dtype", FLOATS)
def test_variance(dtype):
    rng = np.random.default_rng(5)
    for shape in [(7,), (300,), (20, 30), (4, 5, 6)]:
        a = rng.standard_normal(shape).astype(dtype) + 100
        for dims in dims_of(a.ndim):
            for correction in (0, 1):
                expected = a.astype(np.float64).var(axis=dims, ddof=correction)
                close(kernels.var(a, dims, correction), expected, scale=20)
    assert np.isnan(kernels.var(np.ones(1, dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_logsumexp(dtype):
    special = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(6)
    for shape in [(5,), (5000,), (3, 40), (2, 3, 4)]:
        a = rng.standard_normal(shape).astype(dtype) * 30
        for dims in dims_of(a.ndim):
            close(
                kernels.logsumexp(a, dims),
                special.logsumexp(a.astype(np.float64), axis=dims),
                scale=4,
            )
    infinite = np.array([[-np.inf, -np.inf], [np.inf, 1], [np.nan, 0]], dtype)
    np.testing.assert_array_equal(kernels.logsumexp(infinite, 1), [-np.inf, np.inf, np.nan])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.bool_])
def test_running(dtype):
    rng = np.random.default_rng(7)
    for shape in [(), (5,), (3, 4), (2, 70, 80)]:
        a = (rng.integers(0, 2, shape) if dtype is np.bool_ else rng.integers(-3, 4, shape)).astype(
            dtype
        )
        for dim in range(-max(1, a.ndim), max(1, a.ndim)):
            wide = np.float64 if np.issubdtype(dtype, np.floating) else np.int64
            result = kernels.cumsum(a, dim)
            expected = np.cumsum(np.atleast_1d(a), axis=dim, dtype=wide).reshape(a.shape)
            np.testing.assert_array_equal(result, expected.astype(result.dtype))
            result = kernels.cumprod(a, dim)
            expected = np.cumprod(np.atleast_1d(a), axis=dim, dtype=wide).reshape(a.shape)
            np.testing.assert_array_equal(result, expected.astype(result.dtype))


def test_sum_to():
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for shape in [(), (4,), (1,), (3, 1), (1, 1, 1), (2, 1, 4), (1, 3, 4), (3, 4), (2, 3, 4)]:
        lead = a.ndim - len(shape)
        expected = a.sum(axis=tuple(range(lead)))
        axes = tuple(i for i, n in enumerate(shape) if n == 1 and expected.shape[i] != 1)
        np.testing.assert_array_equal(
            kernels.sum_to(a, shape), expected.sum(axis=axes, keepdims=True)
        )
    with pytest.raises(RuntimeError):
        kernels.sum_to(a, (2, 4))
    with pytest.raises(RuntimeError):
        kernels.sum_to(a, (1, 2, 3, 4))


def test_reduction_arguments():
    a = np.ones((2, 3), np.float32)
    with pytest.raises(
        IndexError,
        match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)",
    ):
        kernels.sum(a, 2)
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times in the list of dims"):
        kernels.sum(a, (1, -1))
    with pytest.raises(TypeError):
        kernels.sum(a, "x")
    with pytest.raises(TypeError):
        kernels.sum()
    assert kernels.sum([1.0]) is NotImplemented
    assert kernels.mean(np.ones(3, np.int64)) is NotImplemented
    assert kernels.sum(np.ones(3, ">f4")) is NotImplemented
    assert kernels.amax(np.ones(3, np.complex64)) is NotImplemented


# --- softmax ---


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(dtype):
    special = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(8)
    for shape in [
        (),
        (1,),
        (5,),
        (2048,),
        (2049,),
        (10000,),
        (3, 17),
        (30, 3),
        (2, 5, 70),
        (4, 1, 3),
    ]:
        for a in layouts(rng, shape, dtype):
            a = np.asarray(a * 10)
            for dim in range(a.ndim or 1):
                wide = np.atleast_1d(a.astype(np.float64))
                y = special.softmax(wide, axis=dim).reshape(a.shape)
                log_y = special.log_softmax(wide, axis=dim).reshape(a.shape)
                close(kernels.softmax(a, dim), y, scale=4)
                close(kernels.log_softmax(a, dim), log_y, scale=10)
                g = np.asarray(rng.standard_normal(shape)).astype(dtype)
                axis = dim if a.ndim else None
                y, log_y = y.astype(dtype), log_y.astype(dtype)
                expected = y * (g - (g * y).sum(axis=axis, keepdims=bool(a.ndim)))
                close(kernels.softmax_backward(g, y, dim), expected, scale=4)
                expected = g - np.exp(log_y) * g.sum(axis=axis, keepdims=bool(a.ndim))
                close(kernels.log_softmax_backward(g, log_y, dim), expected, scale=40)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [3, 40, 5000])
def test_softmax_of_special_values(dtype, n):
    for special in (np.nan, np.inf):
        a = np.zeros((2, n), dtype)
        a[0, 1] = special
        for array, dim in ((a, 1), (np.ascontiguousarray(a.T), 0)):
            for function in (kernels.softmax, kernels.log_softmax):
                result = function(array, dim)
                result = result if dim == 1 else result.T
                assert np.isnan(result[0, 0]) and not np.isnan(result[1]).any()
    low = np.full((1, n), -np.inf, dtype)
    assert np.isnan(kernels.softmax(low, 1)).all() and np.isnan(kernels.log_softmax(low, 1)).all()
    low[0, -1] = -1e30
    np.testing.assert_array_equal(kernels.softmax(low, 1)[0], (np.arange(n) == n - 1).astype(dtype))
    rising = np.linspace(-300, 300, n, dtype=dtype)[None]
    close(kernels.softmax(rising, 1).sum(1), [1.0], scale=10)


# --- products ---


def operands(rng, shape, dtype):
    yield from layouts(rng, shape, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul_layouts(dtype):
    rng = np.random.default_rng(9)
    sizes = [
        (1, 1, 1),
        (4, 4, 4),
        (1, 64, 64),
        (32, 64, 2),
        (7, 33, 19),
        (2, 50, 1),
        (5, 300, 40),
        (70, 65, 66),
        (3, 0, 4),
    ]
    for m, k, n in sizes:
        for a in operands(rng, (m, k), dtype):
            for b in operands(rng, (k, n), dtype):
                close(
                    kernels.matmul(a, b),
                    a.astype(np.float64) @ b.astype(np.float64),
                    scale=10 * max(1, k) ** 0.5,
                )


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul_broadcasting(dtype):
    rng = np.random.default_rng(10)
    cases = [
        ((5,), (5,)),
        ((5,), (5, 3)),
        ((4, 5), (5,)),
        ((2, 4, 5), (5,)),
        ((5,), (2, 5, 3)),
        ((2, 4, 5), (5, 3)),
        ((4, 5), (2, 5, 3)),
        ((2, 4, 5), (2, 5, 3)),
        ((2, 1, 4, 5), (3, 5, 2)),
        ((1, 4, 5), (6, 5, 2)),
        ((0, 4, 5), (5, 3)),
        ((2, 3, 0), (0, 4)),
        ((2, 0, 3), (3, 4)),
        ((8, 64, 70), (8, 70, 65)),
    ]
    for left, right in cases:
        a, b = rng.standard_normal(left).astype(dtype), rng.standard_normal(right).astype(dtype)
        result = kernels.matmul(a, b)
        assert result.flags.c_contiguous
        close(result, a.astype(np.float64) @ b.astype(np.float64), scale=50)
        if len(right) > 2:
            turned = np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)
            close(kernels.matmul(a, turned), a.astype(np.float64) @ b.astype(np.float64), scale=50)


def test_matmul_large_and_half():
    rng = np.random.default_rng(11)
    a, b = (
        rng.standard_normal((300, 310)).astype(np.float32),
        rng.standard_normal((310, 290)).astype(np.float32),
    )
    expected = a.astype(np.float64) @ b
    close(kernels.matmul(a, b), expected, scale=100)
    close(kernels.matmul(np.asfortranarray(a), np.asfortranarray(b)), expected, scale=100)
    half = kernels.matmul(a[:4, :5].astype(np.float16), b[:5, :3].astype(np.float16))
    assert half.dtype == np.float16
    assert kernels.matmul(np.ones((2, 2), bool), np.ones((2, 2), bool)) is NotImplemented


def test_matmul_declines_what_does_not_fit():
    # The reference definition says what is wrong.
    a = np.ones((2, 3), np.float32)
    assert kernels.matmul(a, a) is NotImplemented
    assert kernels.matmul(a, a.T.astype(np.float64)) is NotImplemented
    assert kernels.matmul(np.ones((), np.float32), a) is NotImplemented
    assert (
        kernels.matmul(np.ones((2, 3, 4), np.float32), np.ones((3, 4, 5), np.float32))
        is NotImplemented
    )
    assert kernels.addmm(a, a, a) is NotImplemented
    assert kernels.addmm(np.ones(4, np.float32), a, a.T) is NotImplemented


@pytest.mark.parametrize("dtype", FLOATS)
def test_linear(dtype):
    rng = np.random.default_rng(12)
    for lead, k, n in [
        ((32,), 4, 64),
        ((32,), 64, 64),
        ((32,), 64, 2),
        ((), 64, 64),
        ((1,), 2, 50),
        ((128,), 32, 32),
        ((2, 3), 5, 7),
        ((0,), 4, 3),
        ((200,), 150, 160),
    ]:
        for x in layouts(rng, (*lead, k), dtype):
            for w in layouts(rng, (n, k), dtype):
                bias = rng.standard_normal(n).astype(dtype)
                close(kernels.linear(x, w, bias), x.astype(np.float64) @ w.T + bias, scale=50)
                close(kernels.linear(x, w, None), x.astype(np.float64) @ w.T, scale=50)
            g = rng.standard_normal((*lead, n)).astype(dtype)
            gb, gx, gw = kernels.linear_backward(g, x, w, (2, 1, 1))
            flat_g, flat_x = (
                g.reshape(-1, n).astype(np.float64),
                x.reshape(-1, k).astype(np.float64),
            )
            close(gx, g.astype(np.float64) @ w, scale=50)
            close(gw, flat_g.T @ flat_x, scale=50)
            close(gb, flat_g.sum(0), scale=50)
    assert kernels.linear_backward(g, x, w, (0, 0, 0)) == (None, None, None)
    assert kernels.linear(np.ones((2, 3), dtype), np.ones((5, 4), dtype), None) is NotImplemented


@pytest.mark.parametrize("dtype", FLOATS)
def test_addmm(dtype):
    rng = np.random.default_rng(13)
    for m, k, n in [(2, 3, 4), (32, 64, 64), (100, 90, 80), (3, 0, 4)]:
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        product = a.astype(np.float64) @ b
        for bias in (np.ones(n), np.ones((m, n)), np.ones((m, 1)), np.ones(())):
            bias = np.asarray(bias * rng.standard_normal(bias.shape)).astype(dtype)
            for alpha, beta in ((1, 1), (2, 1), (1, 0.5), (0.5, 0), (0, 1)):
                close(
                    kernels.addmm(bias, a, b, beta, alpha), beta * bias + alpha * product, scale=100
                )
        close(kernels.addmm(np.full((), np.nan, dtype), a, b, 0), product, scale=100)


# --- optimizers ---


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01},
        {"momentum": 0.9, "nesterov": True, "maximize": True, "weight_decay": 0.1},
    ],
)
def test_sgd_equals_torch(dtype, options):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(14)
    values = [rng.standard_normal(shape).astype(dtype) for shape in [(3, 4), (70,), ()]]
    theirs = [torch.from_numpy(np.array(v)).requires_grad_() for v in values]
    optimizer = torch.optim.SGD(theirs, lr=0.1, **options)
    ours, buffers = [np.array(v) for v in values], [None] * 3
    full = {
        "momentum": 0.0,
        "dampening": 0.0,
        "weight_decay": 0.0,
        "nesterov": False,
        "maximize": False,
    } | options
    for _ in range(4):
        grads = [rng.standard_normal(v.shape).astype(dtype).reshape(v.shape) for v in values]
        for parameter, grad in zip(theirs, grads, strict=True):
            parameter.grad = torch.from_numpy(np.array(grad, dtype))
        optimizer.step()
        kernels.sgd_step(ours, [np.array(g, dtype) for g in grads], buffers, 0.1, *full.values())
    for mine, other in zip(ours, theirs, strict=True):
        close(mine, other.detach().numpy(), scale=0.5)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"weight_decay": 0.1}, {"amsgrad": True, "maximize": True, "betas": (0.4, 0.9)}]
)
def test_adam_equals_torch(dtype, decoupled, options):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(15)
    values = [rng.standard_normal(shape).astype(dtype) for shape in [(3, 4), (70,), (20000,)]]
    theirs = [torch.from_numpy(np.array(v)).requires_grad_() for v in values]
    full = {
        "lr": 0.01,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "weight_decay": 0.0,
        "amsgrad": False,
        "maximize": False,
    } | options
    optimizer = (torch.optim.AdamW if decoupled else torch.optim.Adam)(theirs, **full)
    ours = [np.array(v) for v in values]
    zeros = [[np.zeros_like(v) for v in values] for _ in range(3)]
    steps = [np.zeros((), np.float32) for _ in values]
    for _ in range(5):
        grads = [rng.standard_normal(v.shape).astype(dtype) for v in values]
        for parameter, grad in zip(theirs, grads, strict=True):
            parameter.grad = torch.from_numpy(grad.copy())
        optimizer.step()
        done = kernels.adam_step(
            ours,
            grads,
            zeros[0],
            zeros[1],
            zeros[2] if full["amsgrad"] else None,
            steps,
            full["lr"],
            *full["betas"],
            full["eps"],
            full["weight_decay"],
            full["amsgrad"],
            full["maximize"],
            decoupled,
        )
        assert done is None
    assert [float(s) for s in steps] == [5.0] * 3
    for mine, other in zip(ours, theirs, strict=True):
        close(mine, other.detach().numpy(), scale=0.5)


def test_optimizer_arguments():
    p, g = np.ones(3, np.float32), np.ones(3, np.float32)
    arguments = (0.1, 0.9, 0.0, 0.0, False, False)
    with pytest.raises(ValueError, match="grads has 0 entries"):
        kernels.sgd_step([p], [], [None], *arguments)
    with pytest.raises(TypeError):
        kernels.sgd_step(p, [g], [None], *arguments)
    assert kernels.sgd_step([p, p], [g, g[:2]], [None, None], *arguments) is NotImplemented
    assert kernels.sgd_step([p[::2]], [g[::2]], [None], *arguments) is NotImplemented
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    assert kernels.sgd_step([frozen], [g], [None], *arguments) is NotImplemented
    np.testing.assert_array_equal(p, 1)


def test_norm_and_scale_of_lists():
    rng = np.random.default_rng(16)
    arrays = [rng.standard_normal(s).astype(np.float32) for s in [(3,), (40, 50), ()]]
    arrays = [np.asarray(a, np.float32) for a in arrays]
    expected = np.sqrt(sum(float((a.astype(np.float64) ** 2).sum()) for a in arrays))
    np.testing.assert_allclose(kernels.total_norm2(arrays), expected, rtol=1e-6)
    copies = [a.copy() for a in arrays]
    assert kernels.scale_(copies, 0.5) is None
    for a, b in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(a * np.float32(0.5), b)


# --- convolution and pooling ---

CONVOLUTIONS = [
    # x, w, stride, padding, dilation, groups
    ((1, 1, 5, 5), (1, 1, 3, 3), 1, 0, 1, 1),
    ((2, 3, 8, 9), (4, 3, 3, 3), 1, 1, 1, 1),
    ((2, 3, 8, 9), (4, 3, 3, 2), (2, 3), (1, 2), 1, 1),
    ((2, 4, 9, 9), (6, 2, 3, 3), 1, 1, 2, 2),
    ((3, 4, 7, 7), (4, 1, 3, 3), 2, 1, 1, 4),
    ((2, 5, 6, 6), (7, 5, 1, 1), 1, 0, 1, 1),
    ((5, 8, 16, 16), (16, 8, 5, 5), 1, 2, 1, 1),
    ((0, 3, 8, 8), (4, 3, 3, 3), 1, 1, 1, 1),
    ((1, 2, 4, 4), (2, 2, 4, 4), 3, 3, 1, 1),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution_equals_torch(case, dtype):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(17)
    x_shape, w_shape, stride, padding, dilation, groups = case
    x, w = rng.standard_normal(x_shape).astype(dtype), rng.standard_normal(w_shape).astype(dtype)
    bias = rng.standard_normal(w_shape[0]).astype(dtype)
    tx, tw = torch.from_numpy(x).requires_grad_(), torch.from_numpy(w).requires_grad_()
    out = torch.nn.functional.conv2d(
        tx, tw, torch.from_numpy(bias), stride, padding, dilation, groups
    )
    close(
        kernels.convolution(x, w, bias, stride, padding, dilation, groups),
        out.detach().numpy(),
        scale=50,
    )
    g = rng.standard_normal(tuple(out.shape)).astype(dtype)
    out.backward(torch.from_numpy(g))
    turned = np.ascontiguousarray(g.swapaxes(0, 1)).swapaxes(0, 1)
    for grad in (g, turned):
        gx = kernels.convolution_input(grad, w, None, x_shape, stride, padding, dilation, groups)
        close(gx, tx.grad.numpy(), scale=50)
        gw = kernels.convolution_weight(grad, x, w_shape, stride, padding, dilation, groups)
        close(gw, tw.grad.numpy(), scale=200)


def test_convolution_by_definition():
    rng = np.random.default_rng(18)
    x, w = rng.standard_normal((2, 3, 6, 5)), rng.standard_normal((4, 3, 2, 3))
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(2, 3))
    expected = np.einsum("nchwij,ocij->nohw", windows, w)
    close(kernels.convolution(x, w, None, 1, 0, 1, 1), expected, scale=10)
    g = rng.standard_normal(expected.shape)
    gx = kernels.convolution_input(g, w, None, x.shape, 1, 0, 1, 1)
    gw = kernels.convolution_weight(g, x, w.shape, 1, 0, 1, 1)
    value = (g * expected).sum()
    np.testing.assert_allclose([(gx * x).sum(), (gw * w).sum()], [value, value])


# Wide images: few outputs a group are summed in registers row by row, more are a product.
WIDE = [
    # x, w, stride, padding, dilation, groups
    ((1, 3, 40, 300), (3, 1, 1, 128), 1, 0, 1, 3),
    ((2, 2, 23, 70), (6, 1, 5, 7), (2, 1), (3, 2), (1, 3), 2),
    ((1, 4, 9, 33), (16, 2, 3, 2), 1, 1, 1, 2),
    ((1, 3, 260, 260), (24, 3, 9, 9), 1, 4, 1, 1),
    ((2, 3, 300, 200), (20, 3, 7, 7), 2, 3, 1, 1),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", WIDE)
def test_wide_convolution_by_definition(case, dtype):
    x_shape, w_shape, stride, padding, dilation, groups = case
    rng = np.random.default_rng(19)
    x, w = rng.standard_normal(x_shape).astype(dtype), rng.standard_normal(w_shape).astype(dtype)
    (sh, sw), (ph, pw), (dh, dw) = (np.broadcast_to(n, 2) for n in (stride, padding, dilation))
    kh, kw = w_shape[2:]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    span = ((kh - 1) * dh + 1, (kw - 1) * dw + 1)
    seen = np.lib.stride_tricks.sliding_window_view(padded, span, axis=(2, 3))
    seen = seen[:, :, ::sh, ::sw, ::dh, ::dw]
    seen = seen.reshape(x_shape[0], groups, -1, *seen.shape[2:])
    kernel = w.astype(np.float64).reshape(groups, -1, *w_shape[1:])
    expected = np.einsum("ngchwij,gocij->ngohw", seen, kernel, optimize=True)
    expected = expected.reshape(x_shape[0], w_shape[0], *expected.shape[3:])
    made = kernels.convolution(x, w, None, stride, padding, dilation, groups)
    close(made, expected.astype(dtype), scale=200)
    g = rng.standard_normal(expected.shape).astype(dtype)
    parts = g.astype(np.float64).reshape(x_shape[0], groups, -1, *g.shape[2:])
    gw = np.einsum("ngchwij,ngohw->gocij", seen, parts, optimize=True).reshape(w_shape)
    found = kernels.convolution_weight(g, x, w_shape, stride, padding, dilation, groups)
    close(found, gw.astype(dtype), scale=2000)
    gx = kernels.convolution_input(g, w, None, x_shape, stride, padding, dilation, groups)
    other = rng.standard_normal(
        x_shape
    )  # the gradient is the transpose: <gx, other> = <g, w * other>
    moved = kernels.convolution(
        other, w.astype(np.float64), None, stride, padding, dilation, groups
    )
    bound = 1e-9 if dtype == np.float64 else 1e-4
    size = np.abs(g.astype(np.float64) * moved).sum()
    assert abs((gx * other).sum() - (g * moved).sum()) <= bound * size


def test_convolution_errors():
    x, w = np.ones((1, 3, 4, 4), np.float32), np.ones((2, 3, 5, 5), np.float32)
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
        kernels.convolution(x, w, None, 1, 0, 1, 1)
    with pytest.raises(RuntimeError, match="to have 2 channels, but got 3 channels instead"):
        kernels.convolution(x, w[:, :2], None, 1, 1, 1, 1)
    with pytest.raises(RuntimeError, match="expected bias to be 1-dimensional with 2 elements"):
        kernels.convolution(x, w, np.ones(3, np.float32), 1, 1, 1, 1)
    for bad in ((0, 0, 1, 1), (1, -1, 1, 1), (1, 0, 0, 1), (1, 0, 1, 0)):
        with pytest.raises(RuntimeError):
            kernels.convolution(x, w, None, *bad)
    with pytest.raises(RuntimeError, match="expected a gradient of size"):
        kernels.convolution_input(x, w, None, (1, 3, 9, 9), 1, 0, 1, 1)


POOLS = [
    # shape, kernel, stride, padding, dilation, ceil_mode
    ((1, 2, 6, 6), 2, None, 0, 1, False),
    ((2, 3, 7, 8), 3, 2, 1, 1, False),
    ((2, 3, 7, 8), (3, 2), (2, 3), (1, 0), (2, 1), True),
    ((3, 5, 5), 2, 1, 0, 2, False),
    ((2, 1, 8, 8), 3, 3, 1, 1, True),
    ((0, 2, 4, 4), 2, 2, 0, 1, False),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", POOLS)
def test_pooling_equals_torch(case, dtype):
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    rng = np.random.default_rng(19)
    shape, kernel, stride, padding, dilation, ceil_mode = case
    x = rng.integers(-5, 5, shape).astype(dtype)  # ties
    if x.size:
        x[..., 1, 1] = np.nan
        x[..., 0, :] = -np.inf
    tx = torch.from_numpy(x).requires_grad_()
    out, indices = functional.max_pool2d(
        tx, kernel, stride, padding, dilation, ceil_mode, return_indices=True
    )
    kernel = kernel if isinstance(kernel, tuple) else (kernel,) * 2
    mine, places = kernels.max_pool(x, kernel, stride, padding, dilation, ceil_mode)
    np.testing.assert_array_equal(mine, out.detach().numpy())
    np.testing.assert_array_equal(places, indices.numpy())
    g = rng.standard_normal(tuple(out.shape)).astype(dtype)
    out.backward(torch.from_numpy(g))
    close(kernels.max_pool_backward(g, places, x.shape, 2), tx.grad.numpy())
    x = rng.standard_normal(shape).astype(dtype)
    for include, divisor in ((True, None), (False, None), (True, 3)):
        tx = torch.from_numpy(x).requires_grad_()
        out = functional.avg_pool2d(tx, kernel, stride, padding, ceil_mode, include, divisor)
        close(
            kernels.avg_pool(x, kernel, stride, padding, ceil_mode, include, divisor),
            out.detach().numpy(),
        )
        g = rng.standard_normal(tuple(out.shape)).astype(dtype)
        out.backward(torch.from_numpy(g))
        gx = kernels.avg_pool_backward(
            g, x.shape, kernel, stride, padding, ceil_mode, include, divisor
        )
        close(gx, tx.grad.numpy())


def test_pooling_errors():
    x = np.ones((1, 1, 3, 3), np.float32)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        kernels.max_pool(x, (4, 4), 1, 0, 1, False)
    with pytest.raises(RuntimeError, match="pad should be at most half of effective kernel size"):
        kernels.max_pool(x, (2, 2), 1, 2, 1, False)
    with pytest.raises(IndexError):
        kernels.max_pool_backward(x, np.full((1, 1, 3, 3), 99, np.int64), (1, 1, 3, 3), 2)
    with pytest.raises(ValueError):
        kernels.max_pool_backward(x, np.zeros((1, 1, 3, 3), np.int64), (2, 1, 3, 3), 2)


# --- normalisation and losses ---


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("affine", ["both", "weight", "bias", "none"])
def test_layer_norm_equals_torch(dtype, affine):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(20)
    for shape, n in [
        ((4, 7), 1),
        ((3, 64), 1),
        ((2, 3, 5), 2),
        ((6,), 1),
        ((0, 4), 1),
        ((5, 3000), 1),
    ]:
        x = (rng.standard_normal(shape) + 3).astype(dtype)
        tail = shape[len(shape) - n :]
        weight = rng.standard_normal(tail).astype(dtype) if affine in ("both", "weight") else None
        bias = rng.standard_normal(tail).astype(dtype) if affine in ("both", "bias") else None
        theirs = [
            None if a is None else torch.from_numpy(a).requires_grad_() for a in (x, weight, bias)
        ]
        out = torch.nn.functional.layer_norm(theirs[0], tail, theirs[1], theirs[2], 1e-5)
        y, mean, rstd = kernels.layer_norm(x, n, weight, bias, 1e-5)
        close(y, out.detach().numpy(), scale=10)
        assert mean.shape == rstd.shape == (*shape[: len(shape) - n], *[1] * n)
        g = rng.standard_normal(shape).astype(dtype)
        out.backward(torch.from_numpy(g))
        grads = kernels.layer_norm_backward(
            g, x, n, mean, rstd, weight, (1, weight is not None, bias is not None)
        )
        for mine, other in zip(grads, theirs, strict=True):
            if other is None:
                assert mine is None
            else:
                close(mine, other.grad.numpy(), scale=50)
    with pytest.raises(RuntimeError):
        kernels.layer_norm(np.ones((2, 3), dtype), 1, np.ones(2, dtype), None, 1e-5)
    with pytest.raises(RuntimeError):
        kernels.layer_norm(np.ones((2, 3), dtype), 3, None, None, 1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_losses_equal_torch(dtype, reduction, weighted):
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    rng = np.random.default_rng(21)
    name = ("none", "mean", "sum")[reduction]
    for batch, classes in [(1, 2), (8, 10), (33, 5), (4, 3000)]:
        logits = rng.standard_normal((batch, classes)).astype(dtype) * 3
        target = rng.integers(0, classes, batch)
        if batch > 2:
            target[1] = -100
        weight = rng.random(classes).astype(dtype) if weighted else None
        tw = torch.from_numpy(weight) if weighted else None
        g = np.asarray(rng.standard_normal(batch if reduction == 0 else ())).astype(dtype)
        x = torch.from_numpy(logits).requires_grad_()
        loss = functional.nll_loss(x, torch.from_numpy(target), tw, reduction=name)
        close(
            kernels.nll_loss(logits, target, weight, -100, reduction),
            loss.detach().numpy(),
            scale=10,
        )
        loss.backward(torch.from_numpy(g))
        close(
            kernels.nll_loss_backward(g, target, weight, -100, reduction, logits.shape),
            x.grad.numpy(),
            scale=4,
        )


def test_class_losses_of_other_arguments():
    x, t = np.zeros((2, 3), np.float32), np.array([0, 2], np.int64)
    assert kernels.nll_loss(x, t, None, -100, 1) is not NotImplemented
    assert kernels.nll_loss(x, t + 1, None, -100, 1) is NotImplemented  # 3 is no class
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):  # as its definition says
        rushlight.nn.functional.nll_loss(rushlight.tensor(x), rushlight.tensor(t + 1))
    for target, weight in ((t[:1], None), (t[:, None], None), (x, None), (t, np.ones(2, x.dtype))):
        assert kernels.nll_loss(x, target, weight, -100, 1) is NotImplemented
        found = kernels.nll_loss_backward(x[0, 0], target, weight, -100, 1, x.shape)
        assert found is NotImplemented
    assert (
        kernels.nll_loss_backward(x[0, 0], t, None, -100, 1, (2, 1 << 62, 1 << 62))
        is NotImplemented
    )
    assert np.isnan(kernels.nll_loss(x, np.array([-100, -100]), None, -100, 1))


@pytest.mark.parametrize("dtype", FLOATS)
def test_mse_loss(dtype):
    rng = np.random.default_rng(22)
    for shape in [(), (5,), (64, 10), (70_001,)]:
        x, y = (np.asarray(rng.standard_normal(shape)).astype(dtype) for _ in range(2))
        close(kernels.mse_loss(x, y, "mean"), np.mean((x.astype(np.float64) - y) ** 2), scale=4)
        g = np.asarray(1.5, dtype)
        gx, gy = kernels.mse_loss_backward(g, x, y, "mean", (1, 1))
        expected = 2 * 1.5 / max(1, x.size) * (x.astype(np.float64) - y)
        close(gx, expected, scale=4)
        close(gy, -expected, scale=4)
        assert kernels.mse_loss_backward(g, x, y, "mean", (0, 0)) == (None, None)
    assert np.isnan(kernels.mse_loss(np.ones(0, dtype), np.ones(0, dtype), "mean"))
    assert kernels.mse_loss(x, x[:3], "mean") is NotImplemented
    assert kernels.mse_loss(x, y, "sum") is NotImplemented


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul_backward(dtype):
    rng = np.random.default_rng(14)
    for m, k, n in [(2, 3, 4), (1, 64, 5), (100, 90, 80), (3, 0, 4)]:
        g = rng.standard_normal((m, n)).astype(dtype)
        for a in layouts(rng, (m, k), dtype):
            for b in layouts(rng, (k, n), dtype):
                ga, gb = kernels.matmul_backward(g, a, b, (3, 3))
                close(ga, g.astype(np.float64) @ b.T, scale=50)
                close(gb, a.astype(np.float64).T @ g, scale=50)
        ga, gb = kernels.matmul_backward(g, None, b, (3, 0))
        close(ga, g.astype(np.float64) @ b.T, scale=50)
        assert gb is None
    assert kernels.matmul_backward(g, a, None, (3, 3)) is NotImplemented
    assert kernels.matmul_backward(g, a, b[:, :1], (3, 3)) is NotImplemented
