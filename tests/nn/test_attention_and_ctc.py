"""Attention and CTC loss against their definitions, written out in NumPy, and their gradients."""

import itertools

import numpy as np
import pytest

from _subject import submodule, torch

nn = torch.nn
F = submodule("nn.functional")
autograd = submodule("autograd")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_of_two_heads(masked):
    layer = nn.MultiheadAttention(4, 2, dtype=torch.float64)
    x = numbers(5, 3, 4)
    mask = np.tril(np.ones((5, 5))) == 0 if masked else np.zeros((5, 5), bool)
    given = torch.from_numpy(mask) if masked else None
    out, weights = layer(*[torch.from_numpy(x)] * 3, attn_mask=given)
    w, b = layer.in_proj_weight.detach().numpy(), layer.in_proj_bias.detach().numpy()
    expected, shares = np.empty_like(x), np.zeros((3, 5, 5))
    for n in range(3):
        q, k, v = np.split(x[:, n] @ w.T + b, 3, -1)
        for head in (slice(0, 2), slice(2, 4)):
            scores = q[:, head] @ k[:, head].T / np.sqrt(2) + np.where(mask, -np.inf, 0)
            shares[n] += softmax(scores) / 2
            expected[:, n, head] = softmax(scores) @ v[:, head]
    expected = expected @ layer.out_proj.weight.detach().numpy().T
    np.testing.assert_allclose(
        out.detach().numpy(), expected + layer.out_proj.bias.detach().numpy()
    )
    np.testing.assert_allclose(weights.detach().numpy(), shares)


@pytest.mark.parametrize("needs", [True, False])
def test_gradients_of_attention(needs):
    layer = nn.MultiheadAttention(4, 2, add_bias_kv=True, dtype=torch.float64)
    x = torch.from_numpy(numbers(3, 2, 4)).requires_grad_()
    y = torch.from_numpy(numbers(3, 4, 2, seed=1)).permute(0, 2, 1).requires_grad_()
    assert autograd.gradcheck(lambda q, k: layer(q, k, k, need_weights=needs)[0], (x, y))


def test_who_may_attend_to_nothing_gets_zeros_and_gives_no_gradient():
    x = torch.ones(1, 2, 4, requires_grad=True)
    mask = torch.tensor([[0.0, 0.0], [float("-inf"), float("-inf")]])
    for given in (mask, mask == 0):
        out = F.scaled_dot_product_attention(x, x, x, given)
        assert (out[0, 1] == 0).all() and (out[0, 0] == 1).all()
        (gradient,) = autograd.grad(out.sum(), x)
        assert gradient.isfinite().all()


def likelihood(p, target, blank):
    """The probability of a label sequence: the sum over all paths that become it."""
    total = 0.0
    for path in itertools.product(range(p.shape[1]), repeat=len(p)):
        labels = [k for k, _ in itertools.groupby(path) if k != blank]
        if labels == list(target):
            total += np.prod([p[t, k] for t, k in enumerate(path)])
    return total


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_ctc_sums_over_all_paths(blank, dtype):
    p = softmax(numbers(5, 3, 3))
    a = 1
    b = 2 - blank
    targets, steps, lengths = np.array([[a, b, 0], [a, a, 0], [b, 0, 0]]), (5, 4, 3), (2, 2, 1)
    expected = [
        -np.log(likelihood(p[:t, n], targets[n, :size], blank))
        for n, (t, size) in enumerate(zip(steps, lengths, strict=True))
    ]
    log_probs = torch.from_numpy(np.log(p)).to(dtype)
    loss = F.ctc_loss(log_probs, torch.from_numpy(targets), steps, lengths, blank, "none")
    assert loss.dtype == dtype
    np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-5)
    mean = F.ctc_loss(log_probs, torch.from_numpy(targets), steps, lengths, blank)
    assert mean.item() == pytest.approx(np.mean(np.array(expected) / lengths), rel=1e-5)


def test_gradient_of_ctc_behind_log_softmax():
    x = torch.from_numpy(numbers(3, 5, 3)).permute(1, 0, 2).requires_grad_()  # not contiguous
    targets = torch.tensor([1, 2, 2, 2])

    def loss(x):
        return F.ctc_loss(x.log_softmax(-1), targets, (5, 4, 5), (2, 2, 0))

    assert autograd.gradcheck(loss, (x,))


def test_a_sequence_that_does_not_fit():
    x = torch.zeros(2, 1, 3, requires_grad=True)
    target = torch.tensor([[1, 1]])  # needs a blank between
    assert F.ctc_loss(x, target, (2,), (2,)).item() == float("inf")
    loss = F.ctc_loss(x, target, (2,), (2,), zero_infinity=True)
    loss.backward()
    assert loss.item() == 0 and (x.grad == 0).all()


def test_fractional_pooling_takes_the_largest_of_its_windows():
    x = torch.from_numpy(numbers(1, 1, 7, 7))
    u = torch.zeros(1, 1, 2, dtype=torch.float64)
    pooled, places = F.fractional_max_pool2d(
        x, 2, output_size=3, return_indices=True, _random_samples=u
    )
    starts = [0, 2, 5]  # floor(i * 5 / 2), the last at the end
    image = x[0, 0].numpy()
    expected = [[image[i : i + 2, j : j + 2].max() for j in starts] for i in starts]
    np.testing.assert_array_equal(pooled[0, 0].numpy(), expected)
    np.testing.assert_array_equal(image.ravel()[places[0, 0].numpy()], expected)
