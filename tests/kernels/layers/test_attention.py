"""Attention at the sizes where its rows, keys and features are cut differently."""

import numpy as np
import pytest
from plain import definition, on_threads

import rushlight as torch
from rushlight import _core

plain = definition("attention")
kernels = _core.kernels
F = torch.nn.functional

# Edges of isa/layers/attention.cpp: few rows; strips of 6, 8 or 14 rows, 8 of them at a time;
# registers and panels of 2 to 32 columns; 1024 and 2048 bytes of keys; and of
# bindings/layers/attention.cpp: pieces of 112 and 336 rows, units of 128.
ROWS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14, 15, 28, 29, 48, 49, 64, 65, 69, 70, 71]
MANY_ROWS = [111, 112, 113, 127, 128, 129, 257, 335, 337, 673]
KEYS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 23, 25, 31, 32, 33, 63, 65]
MANY_KEYS = [127, 128, 129, 255, 257, 504, 511, 512, 513, 769, 1025]
FEATURES = [0, 1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 47, 49, 64, 80, 100]


def sizes():
    """(queries, keys, depth, width)"""
    yield from [(rows, 19, 5, 6) for rows in ROWS]
    yield from [(rows, 9, 3, 2) for rows in MANY_ROWS]
    yield from [(rows, keys, 5, 6) for keys in KEYS for rows in (3, 17)]
    yield from [(rows, keys, 3, 5) for keys in MANY_KEYS for rows in (2, 30)]
    yield from [(rows, 21, n, 11) for n in FEATURES for rows in (2, 16)]
    yield from [(rows, 21, 11, n) for n in FEATURES for rows in (2, 16)]
    yield from [(600, 600, 4, 4), (120, 40, 33, 33)]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def bounds(eps, g, q, k, v, scale, causal, mask=None, noise=1.0):
    """How far the result, lse and the gradients may be off: as many roundings as there are
    additions, of sums of absolute values."""
    n, (keys, depth), width = len(q), k.shape, v.shape[-1]
    weights, lse = plain.shares(q, k, scale, causal, mask)
    weights = np.abs(weights * noise) + weights
    g, q, k, v = map(np.abs, (g, q, k, v))
    scores = abs(scale) * (q @ k.T).max(initial=0)
    if mask is not None and mask.dtype != bool:
        scores += np.abs(mask[np.isfinite(mask)]).max(initial=0)
    of_weights = eps * (
        2 * (depth + 4) * scores + keys + 16
    )  # relative: twice that of a score, of the sum and the exponential
    out = weights @ v * (of_weights + eps * (keys + 2))
    slopes = g @ v.T
    slopes = weights * (slopes + (weights * slopes).sum(-1, keepdims=True)) * abs(scale) * 2
    of_slopes = 2 * of_weights + eps * (2 * width + keys + n + depth + 8)
    gradients = slopes @ k, slopes.T @ q, weights.T @ g
    return out, np.full_like(lse, of_weights), *(m * of_slopes for m in gradients)


def compare(dtype, arrays, scale, causal, mask=None, noise=None, lay=lambda a: a):
    """The kernels' results, for arrays of one head laid out by `lay`, against the definition."""
    g, q, k, v = (lay(a.astype(dtype)[None]) for a in arrays)
    given_noise = None if noise is None else noise.astype(dtype)
    given_mask = mask if mask is None or mask.dtype == bool else mask.astype(dtype)

    def run():
        call = (q, k, v, given_mask, given_noise, causal, scale)
        out, lse = kernels.attention(*call)
        found = kernels.attention_backward(g, *call, out, lse, (1, 1, 1, 0))
        return out, lse, *found[:3]

    g64, q64, k64, v64 = (a[0].astype(np.float64) for a in (g, q, k, v))
    how = (
        scale,
        causal,
        None if given_mask is None or mask.dtype == bool else given_mask.astype(np.float64),
    )
    how = (*how[:2], mask if mask is not None and mask.dtype == bool else how[2])
    how = (*how, 1.0 if noise is None else given_noise.astype(np.float64))
    expected = (*plain.forward(q64, k64, v64, *how), *plain.backward(g64, q64, k64, v64, *how))
    one, two = on_threads(run)
    off = bounds(np.finfo(dtype).eps, g64, q64, k64, v64, *how)
    for name, a, b, e, bound in zip(
        ("out", "lse", "query", "key", "value"), one, two, expected, off, strict=True
    ):
        assert a.dtype == dtype and a.shape[1:] == e.shape, name
        np.testing.assert_array_equal(a, b, name)
        same = a[0] == e  # infinities
        with np.errstate(invalid="ignore"):
            assert (same | (np.abs(a[0] - e) <= bound + np.finfo(dtype).tiny)).all(), name


def arrays_of(size):
    queries, keys, depth, width = size
    return (
        numbers(queries, width, seed=1),
        numbers(queries, depth, seed=2),
        numbers(keys, depth, seed=3),
        numbers(keys, width, seed=4),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("causal", [False, True])
def test_sizes_around_the_edges(dtype, causal):
    for size in sizes():
        compare(dtype, arrays_of(size), 0.4, causal)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.0, -0.7, 3.0])
@pytest.mark.parametrize("rows", [3, 40])
def test_scales(dtype, scale, rows):
    compare(dtype, arrays_of((rows, 37, 6, 7)), scale, True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 0), (0, 1), (0, 0)])  # 0: as long as the scores
@pytest.mark.parametrize("rows", [2, 40])
def test_masks(dtype, kind, shape, rows):
    keys = 600
    mask = numbers(*(n or m for n, m in zip(shape, (rows, keys), strict=True)), seed=5)
    mask = mask > -0.5 if kind == "bool" else np.where(mask > 1.0, -np.inf, mask)
    for causal in (False, True):
        compare(dtype, arrays_of((rows, keys, 4, 5)), 0.4, causal, mask)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [2, 40])
def test_noise(dtype, rows):
    noise = (numbers(rows, 70, seed=6) > 0) * 2.0
    compare(dtype, arrays_of((rows, 70, 4, 5)), 0.4, False, None, noise)


LAYOUTS = {
    "columns first": lambda a: np.asfortranarray(a),
    "every other": lambda a: np.repeat(np.repeat(a, 2, -1), 3, -2)[:, ::3, ::2],
    "backwards": lambda a: np.ascontiguousarray(a[:, ::-1, ::-1])[:, ::-1, ::-1],
    "unaligned": lambda a: (
        np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape)
    ),
    "broadcast": lambda a: np.broadcast_to(a[:, :1], a.shape),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [3, 20])
def test_layouts(dtype, layout, rows):
    lay = LAYOUTS[layout]
    compare(dtype, arrays_of((rows, 34, 18, 19)), 0.4, False, lay=lay)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 20, 300])
@pytest.mark.parametrize(
    "shapes", [((2, 6), (2, 2)), ((3, 4), (3, 4)), ((12,), (3,)), ((), ()), ((2, 1, 3), (2, 1, 3))]
)
def test_heads_and_groups_are_independent(shapes, rows, causal):
    lead, key_lead = shapes
    q, g = (numbers(*lead, rows, 5, seed=s).astype(np.float32) for s in (1, 2))
    k, v = (numbers(*key_lead, 9, 5, seed=s).astype(np.float32) for s in (3, 4))
    mask = numbers(*lead, rows, 9, seed=5) > -1
    call = (q, k, v, mask, None, causal, 0.4)
    out, lse = kernels.attention(*call)
    dq, dk, dv, _ = kernels.attention_backward(g, *call, out, lse, (1, 1, 1, 0))
    group = lead[-1] // key_lead[-1] if lead else 1
    expected_k, expected_v = np.zeros(k.shape), np.zeros(v.shape)
    for at in np.ndindex(*lead):
        key_at = (*at[:-1], at[-1] // group) if lead else ()
        how = (0.4, causal, mask[at])
        one = [a.astype(np.float64) for a in (q[at], k[key_at], v[key_at])]
        np.testing.assert_allclose(out[at], plain.forward(*one, *how)[0], rtol=2e-5, atol=2e-6)
        grads = plain.backward(g[at].astype(np.float64), *one, *how)
        np.testing.assert_allclose(dq[at], grads[0], rtol=2e-4, atol=2e-5)
        expected_k[key_at] += grads[1]
        expected_v[key_at] += grads[2]
    np.testing.assert_allclose(dk, expected_k, rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(dv, expected_v, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("rows", [2, 30])
def test_halves_are_rounded_once(kind, rows):
    dtype = getattr(torch, kind)
    halves = [torch.from_numpy(numbers(1, 1, n, 8, seed=n)).to(dtype) for n in (rows, 40, 41)]
    q, k, g = halves[0], halves[1], torch.from_numpy(numbers(1, 1, rows, 8)).to(dtype)
    given = [t.clone().requires_grad_() for t in (q, k, k)]
    wide = [t.float().requires_grad_() for t in (q, k, k)]
    out, expected = (F.scaled_dot_product_attention(*ts, is_causal=True) for ts in (given, wide))
    assert out.dtype is dtype and (out == expected.to(dtype)).all()
    out.backward(g)
    expected.backward(g.float())
    eps = torch.finfo(dtype).eps
    for a, b in zip(given, wide, strict=True):
        # The result that the gradient reads was rounded before.
        assert a.grad.dtype is dtype
        assert (
            (a.grad.float() - b.grad).abs() <= eps * (b.grad.abs() + 8 * b.grad.abs().max())
        ).all()


def test_who_sees_nothing_gets_zeros_and_gives_no_gradient():
    q, k, v = (torch.from_numpy(numbers(1, 20, 4, seed=s)).requires_grad_() for s in (1, 2, 3))
    mask = torch.ones(20, 20, dtype=torch.bool)
    mask[3] = False
    out = F.scaled_dot_product_attention(q, k, v, mask)
    out[0, 3].sum().backward()
    assert (out[0, 3] == 0).all()
    assert all((t.grad == 0).all() for t in (q, k, v))


def test_nan_stays_in_its_row():
    q, k, v = numbers(1, 40, 4), numbers(1, 40, 4, seed=1), numbers(1, 40, 4, seed=2)
    q[0, 7, 2] = np.nan
    out, lse = kernels.attention(q, k, v, None, None, False, 0.5)
    rows = np.arange(40) == 7
    assert (np.isnan(out[0]).all(-1) == rows).all() and (np.isnan(out[0]).any(-1) == rows).all()
    assert (np.isnan(lse[0]) == rows).all()


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0)])
def test_empty(shape):
    x = torch.ones(*shape, requires_grad=True)
    out = F.scaled_dot_product_attention(x, x, x)
    out.sum().backward()
    assert out.shape == shape and x.grad.shape == shape


def test_without_keys_the_result_is_zero():
    q, k = torch.ones(2, 3, 4, requires_grad=True), torch.ones(2, 0, 4, requires_grad=True)
    out = F.scaled_dot_product_attention(q, k, k)
    out.sum().backward()
    assert (out == 0).all() and (q.grad == 0).all() and k.grad.shape == k.shape


def test_more_keys_than_there_is_memory():
    k = torch.zeros(1, 1).expand(2**44, 1)
    with pytest.raises((MemoryError, RuntimeError)):
        F.scaled_dot_product_attention(torch.ones(8, 1), k, k)


@pytest.mark.parametrize("lies", [(0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3)])
def test_the_result_lies_as_the_query_does(lies):
    q = torch.randn(2, 3, 4, 6).permute(*lies)
    k = torch.randn(*q.shape)
    assert F.scaled_dot_product_attention(q, k, k).stride() == q.stride()


def test_gradients_lie_row_by_row():
    x = torch.randn(2, 3, 5, 8, requires_grad=True)
    out = F.scaled_dot_product_attention(x, x.detach(), x.detach())
    (found,) = torch.autograd.grad(out.sum(), x)
    assert found.stride() == (120, 8, 24, 1)
