"""What a walk through the graph of `e = (a + b) * d` shows, from the result back to its inputs."""

import re

import pytest

from _subject import torch


@pytest.fixture
def graph():
    """The toy model: three scalar inputs, a sum, a product."""
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    c = a + b
    d = torch.tensor(4.0, requires_grad=True)
    return a, b, c, d, c * d


def kind(node) -> str:
    return type(node).__name__


def test_result_prints_its_value_and_the_multiplication_that_made_it(graph):
    assert repr(graph[-1]) == "tensor(20., grad_fn=<MulBackward0>)"


def test_nodes_print_as_plain_objects(graph):
    node = graph[-1].grad_fn
    assert re.fullmatch(r"<MulBackward0 object at 0x[0-9a-f]+>", repr(node))
    assert node.name() == "MulBackward0"
    assert type(node).__module__ == "builtins"


def test_product_has_the_sum_and_the_input_d_behind_it(graph):
    following = graph[-1].grad_fn.next_functions
    assert isinstance(following, tuple)
    assert all(isinstance(edge, tuple) and len(edge) == 2 for edge in following)
    assert [(kind(node), number) for node, number in following] == [
        ("AddBackward0", 0),
        ("AccumulateGrad", 0),
    ]


def test_sum_has_both_inputs_behind_it(graph):
    addition = graph[-1].grad_fn.next_functions[0][0]
    assert [(kind(node), number) for node, number in addition.next_functions] == [
        ("AccumulateGrad", 0),
        ("AccumulateGrad", 0),
    ]


def test_the_sum_is_reached_as_the_same_object_from_both_ends(graph):
    _, _, c, _, e = graph
    assert e.grad_fn.next_functions[0][0] is c.grad_fn
    assert c.grad_fn is c.grad_fn


def test_an_operation_has_no_variable(graph):
    addition = graph[-1].grad_fn.next_functions[0][0]
    with pytest.raises(AttributeError, match=r"^'AddBackward0' object has no attribute 'variable'"):
        _ = addition.variable


def test_walking_on_ends_at_the_inputs_themselves(graph):
    a, b, _, d, e = graph
    product = e.grad_fn
    addition = product.next_functions[0][0]
    assert product.next_functions[1][0].variable is d
    assert addition.next_functions[0][0].variable is a
    assert addition.next_functions[1][0].variable is b
    assert repr(product.next_functions[1][0].variable) == "tensor(4., requires_grad=True)"


def test_behind_an_input_is_nothing(graph):
    leaf = graph[-1].grad_fn.next_functions[1][0]
    assert leaf.next_functions == ()
    assert leaf.name() == "torch::autograd::AccumulateGrad"


def test_gradients_by_the_chain_rule(graph):
    a, b, c, d, e = graph
    e.backward()
    # de/dc = d, dc/da = dc/db = 1, de/dd = c.
    assert (a.grad.item(), b.grad.item(), d.grad.item()) == (4.0, 4.0, 5.0)
    assert c.grad_fn is not None and not c.is_leaf


def test_method_and_function_do_the_same():
    first, second = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    (first * 3).sum().backward()
    torch.autograd.backward((second * 3).sum())
    assert first.grad.tolist() == second.grad.tolist() == [3.0, 3.0]


def test_multiplication_keeps_its_operands_for_the_derivative(graph):
    _, _, c, d, e = graph
    assert e.grad_fn._saved_self.item() == c.item()
    assert e.grad_fn._saved_other is d


def test_derivative_of_sin_is_cos_of_the_same_input():
    x = torch.tensor([0.0, 0.5, 1.0], requires_grad=True)
    y = torch.sin(x)
    assert kind(y.grad_fn) == "SinBackward0"
    y.backward(torch.ones(3))
    assert torch.equal(x.grad, torch.cos(x.detach()))


def test_every_reachable_node_once():
    x = torch.tensor(1.5, requires_grad=True)
    y = (x * x + x).exp()
    seen, todo = [], [y.grad_fn]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.append(node)
            todo += [n for n, _ in node.next_functions if n is not None]
    names = sorted(kind(node) for node in seen)
    assert names == ["AccumulateGrad", "AddBackward0", "ExpBackward0", "MulBackward0"]
