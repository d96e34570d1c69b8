"""The five-neuron network: gradients by hand, both errors word for word, and repeated backward."""

import weakref

import numpy as np
import pytest

from _subject import torch

IMPLICIT = "grad can be implicitly created only for scalar outputs"
SECOND = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)


def network(shape=(3, 3), seed=0):
    """Inputs a, w1..w4 and all that follows from them."""
    rng = np.random.default_rng(seed)
    a, w1, w2, w3, w4 = (torch.tensor(rng.normal(size=shape), requires_grad=True) for _ in range(5))
    b = w1 * a
    c = w2 * a
    d = w3 * b + w4 * c
    return (a, w1, w2, w3, w4), (b, c, d), 10 - d


def by_hand(leaves):
    """dL/da and dL/dw1..dw4 for L = sum(10 - d), from the chain rule written out."""
    a, w1, w2, w3, w4 = (leaf.detach().numpy() for leaf in leaves)
    dL_dd = -1.0
    return [
        dL_dd * (w3 * w1 + w4 * w2),  # two paths meet in a
        dL_dd * w3 * a,
        dL_dd * w4 * a,
        dL_dd * (w1 * a),
        dL_dd * (w2 * a),
    ]


def test_scalar_network_by_hand():
    leaves, _, loss = network(shape=())
    loss.backward()
    for leaf, expected in zip(leaves, by_hand(leaves), strict=True):
        np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-14)


def test_sum_of_errors_by_hand():
    leaves, _, loss = network()
    loss.sum().backward()
    for leaf, expected in zip(leaves, by_hand(leaves), strict=True):
        np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-14)


def test_ones_as_the_incoming_gradient_do_the_same():
    summed, _, loss = network()
    loss.sum().backward()
    weighted, _, other = network()
    other.backward(torch.ones(other.shape, dtype=other.dtype))
    for first, second in zip(summed, weighted, strict=True):
        assert torch.equal(first.grad, second.grad)


def test_float32_ones_of_the_shape():
    a = torch.randn((3, 3), requires_grad=True)
    w = torch.randn((3, 3), requires_grad=True)
    L = 10 - w * a
    L.backward(torch.ones(L.shape))
    assert torch.equal(w.grad, -a.detach())


def test_grad_fn_of_leaf_and_sum():
    (a, *_), (b, _, d), loss = network()
    assert a.grad_fn is None
    assert str(d.grad_fn).startswith("<AddBackward0 object at 0x")
    assert type(b.grad_fn).__name__ == "MulBackward0"
    assert type(loss.grad_fn).__name__ == "RsubBackward1"
    assert a.is_leaf and not d.is_leaf


def test_not_a_scalar_word_for_word():
    leaves, _, loss = network()
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    assert str(caught.value).startswith(IMPLICIT)
    assert all(leaf.grad is None for leaf in leaves)


def test_second_backward_word_for_word():
    _, _, loss = network()
    total = loss.sum()
    total.backward()
    with pytest.raises(RuntimeError) as caught:
        total.backward()
    assert str(caught.value).startswith(SECOND)


def test_retain_graph_accumulates():
    leaves, _, loss = network()
    total = loss.sum()
    total.backward(retain_graph=True)
    once = [leaf.grad.clone() for leaf in leaves]
    total.backward(retain_graph=True)
    for leaf, first in zip(leaves, once, strict=True):
        assert torch.equal(leaf.grad, 2 * first)
    total.backward()
    for leaf, first in zip(leaves, once, strict=True):
        np.testing.assert_allclose(leaf.grad.numpy(), 3 * first.numpy(), rtol=1e-14)
    with pytest.raises(RuntimeError, match="a second time"):
        total.backward()


def test_a_new_forward_makes_a_new_graph():
    w = torch.tensor(2.0, requires_grad=True)
    for step in range(1, 4):
        loss = (w * w).exp()
        loss.backward()
        assert w.grad is not None
        w.grad = None
        assert step


def test_a_graph_that_saved_nothing_can_be_walked_again():
    x = torch.tensor(1.0, requires_grad=True)
    y = x + 1
    y.backward()
    y.backward()
    assert x.grad.item() == 2.0


def test_buffers_are_freed_by_backward():
    x = torch.ones(4, requires_grad=True)
    hidden = x.exp()
    loss = (hidden * hidden).sum()
    product = loss.grad_fn.next_functions[0][0]
    assert product._saved_self is not None
    loss.backward()
    with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second time"):
        _ = product._saved_self


def test_intermediate_results_die_with_the_graph():
    x = torch.ones(4, requires_grad=True)
    hidden = x * 2
    gone = weakref.ref(hidden)
    loss = hidden.exp().sum()
    del hidden
    loss.backward()
    assert gone() is None


def test_training_by_hand_replacing_the_weight():
    """`w = w - lr * w.grad`: the new weight is a result, so it must be made a leaf again."""
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    for _ in range(50):
        loss = ((w - torch.tensor([3.0, 0.5])) ** 2).sum()
        loss.backward()
        w = (w - 0.1 * w.grad).detach().requires_grad_()
    np.testing.assert_allclose(w.detach().numpy(), [3.0, 0.5], atol=1e-3)


def test_the_replaced_weight_is_no_leaf():
    w = torch.tensor(1.0, requires_grad=True)
    (w * 3).backward()
    w = w - 0.1 * w.grad
    assert not w.is_leaf and w.requires_grad
    np.testing.assert_allclose(w.item(), 0.7, rtol=1e-6)
    (w * 3).backward()
    with pytest.warns(UserWarning, match="not a leaf"):
        assert w.grad is None


def test_training_in_place_under_no_grad():
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    target = torch.tensor([3.0, 0.5])
    for _ in range(50):
        ((w - target) ** 2).sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    assert w.is_leaf and w.requires_grad
    np.testing.assert_allclose(w.detach().numpy(), [3.0, 0.5], atol=1e-3)


def test_training_through_data():
    w = torch.tensor(5.0, requires_grad=True)
    for _ in range(60):
        (w * w).backward()
        w.data = w.data - 0.1 * w.grad.data
        w.grad.data.zero_()
    assert abs(w.item()) < 1e-3


def test_gradients_add_up_unless_zeroed():
    w = torch.tensor(1.0, requires_grad=True)
    for expected in (2.0, 4.0, 6.0):
        (2 * w).backward()
        assert w.grad.item() == expected


def test_two_paths_are_added():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x + x * 2
    y.backward()
    assert x.grad.item() == 8.0


def test_control_flow_decides_the_graph():
    def run(x):
        y = x
        steps = 0
        while y.item() < 100:
            y = y * 2 if steps % 2 == 0 else y + 10
            steps += 1
        return y, steps

    x = torch.tensor(3.0, requires_grad=True)
    y, _ = run(x)
    y.backward()
    doubled = 1.0
    value, step = 3.0, 0
    while value < 100:
        doubled, value = (doubled * 2, value * 2) if step % 2 == 0 else (doubled, value + 10)
        step += 1
    assert y.item() == value and x.grad.item() == doubled
