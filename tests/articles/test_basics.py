"""Tensors that require gradients, leaves, backward: the basics as an introduction tells them."""

import numpy as np
import pytest

from _subject import torch

IMPLICIT = r"^grad can be implicitly created only for scalar outputs"


# Making tensors that require gradients


def test_factory_with_requires_grad():
    x = torch.randn(2, 2, requires_grad=True)
    assert x.requires_grad and x.shape == (2, 2) and x.dtype == torch.float32


def test_from_numpy_then_requires_grad_in_place():
    x = torch.from_numpy(np.array([1.0, 2.0, 3.0]))
    assert not x.requires_grad
    assert x.requires_grad_(True) is x
    assert x.requires_grad
    assert repr(x) == "tensor([1., 2., 3.], dtype=torch.float64, requires_grad=True)"


def test_from_numpy_shares_memory():
    array = np.array([1.0, 2.0, 3.0])
    x = torch.from_numpy(array)
    array[0] = 10.0
    assert x[0].item() == 10.0
    x[1] = 20.0
    assert array[1] == 20.0
    x.mul_(2)
    assert array.tolist() == [20.0, 40.0, 6.0]


def test_tensor_copies():
    array = np.array([1.0, 2.0])
    x = torch.tensor(array)
    array[0] = 5.0
    assert x.tolist() == [1.0, 2.0]


def test_only_floating_point_can_require_gradients():
    x = torch.from_numpy(np.array([1, 2, 3]))
    with pytest.raises(RuntimeError, match=r"^only Tensors of floating point dtype can require"):
        x.requires_grad_(True)
    with pytest.raises(RuntimeError, match=r"^Only Tensors of floating point and complex dtype"):
        torch.tensor([1, 2], requires_grad=True)
    assert not x.requires_grad


def test_variable_is_a_tensor():
    x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    assert isinstance(x, torch.Tensor) and x.requires_grad


def test_uninitialised_tensor_has_the_shape():
    assert torch.Tensor(3, 5).shape == (3, 5)
    assert torch.Tensor(3, 5).dtype == torch.float32


def test_float_tensor_and_the_attribute():
    t2 = torch.FloatTensor(3, 3)
    assert not t2.requires_grad and t2.shape == (3, 3)
    t2.requires_grad = True
    assert t2.requires_grad and t2.is_leaf


# The attributes of a tensor


def test_attributes_of_a_small_graph():
    x = torch.tensor(1.0, requires_grad=True)
    y = torch.tensor(2.0)
    z = x * y
    assert [t.data.item() for t in (x, y, z)] == [1.0, 2.0, 2.0]
    assert [t.requires_grad for t in (x, y, z)] == [True, False, True]
    assert [t.grad for t in (x, y)] == [None, None]
    assert [t.is_leaf for t in (x, y, z)] == [True, True, False]
    assert x.grad_fn is None and y.grad_fn is None
    assert type(z.grad_fn).__name__ == "MulBackward0"
    text = f"{z.data} {z.requires_grad} {z.is_leaf}"
    assert text == "2.0 True False"


def test_data_does_not_require_grad():
    x = torch.ones(2, requires_grad=True)
    assert not x.data.requires_grad
    x.data[0] = 5.0
    assert x.tolist() == [5.0, 1.0]


def test_grad_is_none_until_backward():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    assert x.grad is None
    y.backward()
    assert x.grad.item() == 6.0


def test_leaf_rules():
    created = torch.tensor(1.0)
    from_constants = created * 2 + torch.ones(1)
    w = torch.randn(1, 1, requires_grad=True)
    made = w * 2
    assert created.is_leaf and from_constants.is_leaf and w.is_leaf
    assert not made.is_leaf
    assert made.detach().is_leaf and not made.detach().requires_grad
    assert w.is_leaf and w.detach().is_leaf


def test_gradients_only_for_leaves_that_require_them():
    x = torch.tensor(2.0, requires_grad=True)
    constant = torch.tensor(5.0)
    y = x * constant
    z = y * y
    z.backward()
    assert x.grad.item() == 2 * 10 * 5
    assert constant.grad is None
    with pytest.warns(UserWarning, match=r"The \.grad attribute of a Tensor that is not a leaf"):
        assert y.grad is None


def test_requires_grad_spreads():
    free = torch.ones(3)
    needing = torch.ones(3, requires_grad=True)
    assert not (free + free).requires_grad
    assert (free + needing).requires_grad
    assert (needing + free * 2).sum().requires_grad
    assert torch.cat([free, needing]).requires_grad
    assert not (needing > 0).requires_grad


def test_frozen_weights_get_nothing():
    w1 = torch.tensor(2.0, requires_grad=True)
    w2 = torch.tensor(3.0, requires_grad=True)
    w1.requires_grad = False
    loss = w1 * 5 * w2
    loss.backward()
    assert w1.grad is None
    assert w2.grad.item() == 10.0


# no_grad


def test_no_grad_stops_tracking():
    x = torch.tensor(1.0, requires_grad=True)
    assert (x * 2).requires_grad
    with torch.no_grad():
        y = x * 2
        assert not y.requires_grad and y.grad_fn is None
        assert x.requires_grad
    assert (x * 2).requires_grad


def test_no_grad_as_decorator():
    x = torch.ones(2, requires_grad=True)

    @torch.no_grad()
    def infer(v):
        return v * 3

    assert not infer(x).requires_grad
    assert torch.is_grad_enabled()


def test_no_grad_class_itself_is_a_context_manager_only_when_called():
    # The text writes `with torch.no_grad:`; the class itself is no context manager.
    with pytest.raises((TypeError, AttributeError)), torch.no_grad:
        pass


def test_no_graph_under_no_grad():
    w = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        loss = (w * 2).sum()
    with pytest.raises(RuntimeError, match=r"^element 0 of tensors does not require grad"):
        loss.backward()


# backward


def test_power():
    x = torch.tensor(1.0, requires_grad=True)
    z = x**3
    z.backward()
    assert x.grad.data.item() == 3.0
    assert repr(x.grad) == "tensor(3.)"


def test_the_implicit_gradient_is_one():
    first, second = (torch.tensor(1.0, requires_grad=True) for _ in range(2))
    (first**3).backward()
    (second**3).backward(torch.tensor(1.0))
    assert first.grad.item() == second.grad.item() == 3.0


def test_vector_backward_with_ones():
    x = torch.tensor([0.0, 2.0, 8.0], requires_grad=True)
    y = torch.tensor([5.0, 1.0, 7.0], requires_grad=True)
    z = x * y
    z.backward(torch.FloatTensor([1.0, 1.0, 1.0]))
    assert x.grad.tolist() == [5.0, 1.0, 7.0]
    assert y.grad.tolist() == [0.0, 2.0, 8.0]


def test_vector_backward_weights_the_gradient():
    x = torch.tensor([0.0, 2.0, 8.0], requires_grad=True)
    y = torch.tensor([5.0, 1.0, 7.0], requires_grad=True)
    (x * y).backward(torch.tensor([1.0, 10.0, 0.5]))
    assert x.grad.tolist() == [5.0, 10.0, 3.5]


def test_vector_without_gradient_is_refused():
    x = torch.tensor([0.0, 2.0, 8.0], requires_grad=True)
    z = x * torch.tensor([5.0, 1.0, 7.0])
    with pytest.raises(RuntimeError, match=IMPLICIT):
        z.backward()
    assert x.grad is None


def test_gradient_of_another_shape_is_refused():
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^Mismatch in shape: grad_output\[0\] has a shape of"):
        (x * 2).backward(torch.ones(4))


def test_vector_jacobian_product():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.stack([x[0] * x[1], x[1] * x[2]])
    jacobian = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]])
    v = np.array([0.5, -2.0])
    y.backward(torch.tensor(v, dtype=torch.float32))
    assert x.grad.tolist() == (v @ jacobian).tolist()


def test_loss_function_as_in_training():
    prediction = torch.tensor([[2.0, 0.5]], requires_grad=True)
    loss = torch.nn.functional.cross_entropy(prediction, torch.tensor([0]))
    loss.backward()
    weights = np.exp([2.0, 0.5]) / np.exp([2.0, 0.5]).sum()
    np.testing.assert_allclose(prediction.grad.numpy()[0], weights - [1.0, 0.0], rtol=1e-6)
