"""Losses, bags, distances and places of an index, each against a plain loop."""

import itertools
import math

import numpy as np
import pytest
from plain import on_one_thread_and_two

import rushlight
from rushlight import _core

kernels = _core.kernels
FLOATS = [np.float32, np.float64]


def sample(shape, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def slope_of(f, x, along, step=1e-6):
    return (f(x + step * along) - f(x - step * along)) / (2 * step)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [0, 1, 7, 16, 65, 1500])
def test_huber(n, dtype):
    x, y = sample(n, dtype), sample(n, dtype, 1)
    for limit in (0.3, 1.0, 5.0):
        d = np.abs(x.astype(np.float64) - y)
        each = np.where(d <= limit, d * d / 2, limit * (d - limit / 2))
        found = kernels.huber_loss(x, y, "sum", limit)
        np.testing.assert_allclose(found, each.sum(), 1e-5 if dtype == np.float32 else 1e-13)
        found = kernels.smooth_l1_loss(x, y, "sum", limit)
        np.testing.assert_allclose(
            found, each.sum() / limit, 1e-5 if dtype == np.float32 else 1e-13
        )
        g = np.asarray(2, dtype)
        to_x, to_y = kernels.huber_loss_backward(g, x, y, "sum", limit, (2, 2))
        np.testing.assert_allclose(to_x, 2 * np.clip(x - y, -limit, limit), 1e-6)
        np.testing.assert_array_equal(to_x, -to_y)
    assert kernels.huber_loss(x, y, "none", 1.0) is NotImplemented


@pytest.mark.parametrize("half", [rushlight.float16, rushlight.bfloat16])
@pytest.mark.parametrize("name", ["mse_loss", "huber_loss", "smooth_l1_loss"])
def test_losses_of_halves_are_rounded_once(name, half):
    x, y = (rushlight.randn(1500).to(half) for _ in range(2))
    limits = () if name == "mse_loss" else (0.5,)
    forward, backward = getattr(kernels, name), getattr(kernels, f"{name}_backward")
    found, want = forward(x, y, "mean", *limits), forward(x.float(), y.float(), "mean", *limits)
    assert found.dtype is half and found.item() == want.to(half).item()
    g = rushlight.tensor(300.0).to(half)
    found = backward(g, x, y, "mean", *limits, (2, 2))
    want = backward(g.float(), x.float(), y.float(), "mean", *limits, (2, 2))
    for one, wide in zip(found, want, strict=True):
        assert rushlight.equal(one, wide.to(half))


def alignments(labels, time, blank):
    """All rows of symbols of that length that mean the labels."""
    for row in itertools.product(range(3), repeat=time):
        seen = [
            s for s, before in zip(row, (None, *row), strict=False) if s != before and s != blank
        ]
        if seen == list(labels):
            yield row


@pytest.mark.parametrize("labels", [(), (1,), (1, 2), (2, 2), (1, 2, 1)])
@pytest.mark.parametrize("blank", [0, 2])
def test_ctc_is_the_sum_over_all_alignments(labels, blank):
    if blank in labels:
        labels = tuple(0 if c == blank else c for c in labels)
    time, batch = 5, 2
    scores = sample((time, batch, 3))
    log_probs = scores - np.log(np.exp(scores).sum(2, keepdims=True))
    rows = np.zeros((batch, 3), np.int64)
    rows[:, : len(labels)] = labels
    steps = np.array([5, 4], np.int64)
    parts = rows, steps, np.full(batch, len(labels), np.int64), blank, False
    found = kernels.ctc_losses(log_probs, *parts)
    for i in range(batch):
        ways = [
            math.exp(sum(log_probs[t, i, c] for t, c in enumerate(row)))
            for row in alignments(labels, int(steps[i]), blank)
        ]
        np.testing.assert_allclose(found[i], -math.log(sum(ways)), 1e-12)
    # The gradient counts what log_softmax adds: it is that of the scores.
    g = np.array([1.0, -2.0])
    found = kernels.ctc_backward(g, log_probs, *parts)

    def loss(s):
        each = s - np.log(np.exp(s).sum(2, keepdims=True))
        return (kernels.ctc_losses(each, *parts) * g).sum()

    along = sample(scores.shape, seed=1)
    np.testing.assert_allclose((found * along).sum(), slope_of(loss, scores, along), 1e-6)


def test_ctc_without_an_alignment():
    log_probs = np.log(np.full((2, 1, 3), 1 / 3))
    parts = np.array([[1, 1, 2]], np.int64), np.array([2], np.int64), np.array([3], np.int64), 0
    assert kernels.ctc_losses(log_probs, *parts, False)[0] == np.inf
    assert kernels.ctc_losses(log_probs, *parts, True)[0] == 0
    assert np.isnan(kernels.ctc_backward(np.ones(1), log_probs, *parts, False)).all()
    assert (kernels.ctc_backward(np.ones(1), log_probs, *parts, True) == 0).all()
    beyond = np.array([[1, 3, 2]], np.int64), np.array([2], np.int64), np.array([3], np.int64), 0
    assert kernels.ctc_losses(log_probs, *beyond, False) is NotImplemented


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("weighted", [True, False])
def test_multi_margin(weighted, p):
    x, t = sample((4, 9)), np.array([0, 8, 3, 3], np.int64)
    w = np.abs(sample(9, seed=2)) if weighted else None

    def loss(x):
        total = 0
        for row, label in zip(x, t, strict=True):
            others = [max(0, 0.5 - row[label] + row[c]) ** p for c in range(9) if c != label]
            total += sum(others) / 9 * (w[label] if weighted else 1)
        return total / 4

    found = kernels.multi_margin_loss(x, t, w, p, 0.5, "mean")
    np.testing.assert_allclose(found, loss(x), 1e-12)
    back = kernels.multi_margin_loss_backward(np.asarray(1.0), x, t, w, p, 0.5, "mean")
    along = sample(x.shape, seed=1)
    np.testing.assert_allclose((back * along).sum(), slope_of(loss, x, along), 1e-6)
    assert kernels.multi_margin_loss(x, t + 1, w, p, 0.5, "mean") is NotImplemented


def test_multilabel_margin():
    x, t = sample((3, 11)), np.full((3, 11), -1, np.int64)
    t[0, :3], t[1, :1], t[2, 1] = (4, 0, 4), 10, 5  # a label twice; none, where the first is -1

    def loss(x):
        total = 0
        for row, labels in zip(x, t, strict=True):
            own = list(itertools.takewhile(lambda c: c >= 0, labels))
            others = [c for c in range(11) if c not in own]
            total += sum(max(0, 1 - row[a] + row[b]) for a in own for b in others) / 11
        return total

    np.testing.assert_allclose(kernels.multilabel_margin_loss(x, t, "sum"), loss(x), 1e-12)
    back = kernels.multilabel_margin_loss_backward(np.asarray(1.0), x, t, "sum")
    along = sample(x.shape, seed=1)
    np.testing.assert_allclose((back * along).sum(), slope_of(loss, x, along), 1e-6)
    assert kernels.multilabel_margin_loss(x, t + 9, "sum") is NotImplemented


@pytest.mark.parametrize("columns", [1, 3, 33, 64])
@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("padding", [-1, 2])
def test_bags(padding, mean, columns):
    table, scale = sample((6, columns)), sample(13, seed=1)
    index = np.random.default_rng(0).integers(0, 6, 13)
    offsets = np.array([0, 4, 4, 5], np.int64)
    for by in (None, scale):
        made = on_one_thread_and_two(
            lambda by=by: kernels.embedding_bag(table, index, offsets, by, mean, padding)
        )
        weights = np.zeros((4, 6))  # from rows to bags
        for bag, (begin, end) in enumerate(zip(offsets, (*offsets[1:], 13), strict=True)):
            some = [i for i in range(begin, end) if index[i] != padding]
            for i in some:
                weights[bag, index[i]] += (1 if by is None else by[i]) / (len(some) if mean else 1)
        np.testing.assert_allclose(made, weights @ table, 1e-12, 1e-13)
        g = sample((4, columns), seed=2)
        to_table, to_scale = kernels.embedding_bag_backward(
            g, table, index, offsets, by, mean, padding, (3, 2 if by is not None else 0)
        )
        np.testing.assert_allclose(to_table, weights.T @ g, 1e-12, 1e-13)
        if by is not None:
            np.testing.assert_allclose((to_scale * by).sum(), (g * made).sum(), 1e-10)
    for wrong in ([0, 5, 4], [1, 2], [0, 14]):
        assert (
            kernels.embedding_bag(table, index, np.array(wrong), None, mean, -1) is NotImplemented
        )
    assert kernels.embedding_bag(table, index + 1, offsets, None, mean, -1) is NotImplemented


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, math.inf])
@pytest.mark.parametrize("n", [1, 5, 70, 130])
def test_distances(n, p, dtype):
    x, y = sample((2, 1, 4, n), dtype), sample((1, 3, 30, n), dtype, 1)
    y[0, 0, 0] = x[0, 0, 1]
    d = np.abs(x.astype(np.float64)[..., :, None, :] - y[..., None, :, :])
    ends = {0: lambda: (d != 0).sum(-1), math.inf: lambda: d.max(-1)}
    expected = ends.get(p, lambda: (d**p).sum(-1) ** (1 / p))()
    tolerance = 2e-4 if dtype == np.float32 else 1e-11
    for products in (False, True):
        made = on_one_thread_and_two(lambda products=products: kernels.cdist(x, y, p, products))
        np.testing.assert_allclose(made, expected, tolerance, tolerance)
        assert made[0, 0, 1, 0] == 0
    rows = np.concatenate([x[0, 0], y[0, 1]])
    apart = np.array(
        [kernels.cdist(rows[i : i + 1], rows[i + 1 :], p, False)[0] for i in range(33)], object
    )
    np.testing.assert_allclose(kernels.pdist(rows, p), np.concatenate(list(apart)), tolerance)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, math.inf])
def test_the_gradients_of_distances(p):
    x, y = sample((30, 5)), sample((28, 5), seed=1)
    y[:5] = x[:5] + 1e-2 * sample((5, 5), seed=2)  # near each other
    g = sample((30, 28), seed=3)
    for products in (False, True):
        out = kernels.cdist(x, y, p, products)
        to_x, to_y = kernels.cdist_backward(g, x, y, out, p, products, (3, 3))
        along = sample(x.shape, seed=4)
        f = lambda x: (kernels.cdist(x, y, p, False) * g).sum()
        np.testing.assert_allclose((to_x * along).sum(), slope_of(f, x, along, 1e-7), 1e-5)
        along = sample(y.shape, seed=5)
        f = lambda y: (kernels.cdist(x, y, p, False) * g).sum()
        np.testing.assert_allclose((to_y * along).sum(), slope_of(f, y, along, 1e-7), 1e-5)
    g = sample(30 * 29 // 2, seed=3)
    along = sample(x.shape, seed=4)
    found = (kernels.pdist_backward(g, x, kernels.pdist(x, p), p) * along).sum()
    slope = slope_of(lambda x: (kernels.pdist(x, p) * g).sum(), x, along, 1e-7)
    np.testing.assert_allclose(found, slope, 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.bool_, np.complex128])
def test_places_of_an_index(dtype):
    x = (sample((4, 5, 6)) * 3).astype(dtype)
    for part in (x, x[1:, ::2], x.transpose(2, 0, 1)):
        for dim in range(3):
            index = np.array([1, 0, 1], np.int64)
            np.testing.assert_array_equal(
                kernels.index_select(part, dim, index), part.take(index, dim)
            )
        index = np.array([[0, -1], [5, part.size - 1]], np.int64)
        np.testing.assert_array_equal(kernels.take(part, index), part.ravel()[index])
        mask = sample(part.shape, seed=1) > 0
        expected = part.copy()
        expected[mask] = part.ravel()[: mask.sum()]
        np.testing.assert_array_equal(kernels.masked_scatter(part, mask, part), expected)
        few = part.ravel()[: mask.sum() - 1]
        assert kernels.masked_scatter(part, mask, few) is NotImplemented
    assert kernels.take(x, np.array([x.size], np.int64)) is NotImplemented


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(include_self, reduce):
    x, src = sample((3, 5)), sample((3, 4), seed=1)
    index = np.random.default_rng(0).integers(0, 5, (3, 4))
    made = x.copy()
    assert kernels.scatter_reduce(made, 1, index, src, reduce, include_self) is None
    how = {"sum": sum, "mean": np.mean, "prod": np.prod, "amax": max, "amin": min}[reduce]
    for i, j in np.ndindex(3, 5):
        landed = [src[i, k] for k in range(4) if index[i, k] == j]
        values = landed + [x[i, j]] * (include_self or not landed)
        np.testing.assert_allclose(made[i, j], how(values), 1e-13)


def test_one_hot():
    index = np.array([[2, 0], [1, 2]], np.int64)
    np.testing.assert_array_equal(kernels.one_hot(index, -1), np.eye(3, dtype=np.int64)[index])
    np.testing.assert_array_equal(kernels.one_hot(index, 5), np.eye(5, dtype=np.int64)[index])
    for wrong, n in ((index, 2), (-index, 5), (index[:0], 3)):
        assert kernels.one_hot(wrong, n) is NotImplemented


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
def test_segments(reduce):
    x = sample((2, 6, 3))
    lengths = rushlight.tensor([[3, 0, 2], [1, 1, 4]]).numpy()
    made = kernels.segment_reduce(x, lengths, reduce, 1, None)
    how = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}[reduce]
    empty = {"sum": 0, "mean": np.nan, "prod": 1, "max": -np.inf, "min": np.inf}[reduce]
    for i in range(2):
        ends = np.cumsum(lengths[i])
        for s, (end, length) in enumerate(zip(ends, lengths[i], strict=True)):
            part = x[i, end - length : end]
            np.testing.assert_allclose(made[i, s], how(part, 0) if length else empty, 1e-13)
    assert kernels.segment_reduce(x, lengths + 3, reduce, 1, None) is NotImplemented
    assert kernels.segment_reduce(x, lengths - 1, reduce, 1, None) is NotImplemented
