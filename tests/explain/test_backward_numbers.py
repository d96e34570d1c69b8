"""The numbers of a backward: what each node receives and sends is what the engine hands on."""

import math

import pytest
from random_graphs import SMOOTH, WHOLE, scalar_graph
from rushlight.explain import _numbers
from rushlight.explain._numbers import summary

from _subject import torch


def numbers_of(y, gradient=None):
    graph = torch.explain.graph(y)
    steps = _numbers.run(graph, _numbers.starting_gradients(graph, gradient))
    return graph, steps


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("seed", range(20))
def test_a_leaf_receives_its_grad_to_the_bit(seed, dtype):
    y, leaves = scalar_graph(seed, SMOOTH | WHOLE, 10, getattr(torch, dtype))
    graph, steps = numbers_of(y)
    received = {step.node: step.incoming[0].values for step in steps}
    y.backward()
    for leaf in leaves:
        node = graph.node_of(leaf)
        if leaf.grad is None:
            assert node not in received
        else:
            assert received[node] == leaf.grad.item() or math.isnan(received[node])


@pytest.mark.parametrize("seed", range(20))
def test_what_is_sent_is_incoming_times_local(seed):
    y, _ = scalar_graph(seed, SMOOTH | WHOLE, 10)
    graph, steps = numbers_of(y)
    local = _numbers.local_values(graph)
    for step in steps:
        for edge, sent in step.sent.items():
            product = step.incoming[0].values * float(local[edge])
            assert sent.values == pytest.approx(product, rel=1e-15, abs=0)


@pytest.mark.parametrize("seed", range(20))
def test_a_node_receives_the_sum_of_what_is_sent_to_it(seed):
    y, _ = scalar_graph(seed, WHOLE, 10)
    _, steps = numbers_of(y)
    received = {step.node: step.incoming[0].values for step in steps}
    sums = dict.fromkeys(received, 0.0)
    sums[steps[0].node] = 1.0
    for step in steps:
        for edge, sent in step.sent.items():
            sums[edge.target] += sent.values
    assert sums == received


def test_the_order_is_the_engines():
    x = torch.ones(3, requires_grad=True)
    w = torch.ones(3, requires_grad=True)
    u = (x * w).tanh()
    y = (u + x.exp() * w).sum()
    order = []

    class Observer:
        def starts(self, what, values, place):
            if isinstance(what, torch.autograd.graph.Node):
                order.append(what)

        def ran(self, began, values, error, took): ...

        def ends(self, began, path, ways): ...

    from rushlight._base import observers as _observers

    graph, steps = numbers_of(y)
    observer = Observer()
    _observers.follow(observer)
    try:
        y.backward()
    finally:
        _observers.unfollow(observer)
    assert [step.node.node for step in steps] == order
    assert [node.node for node in graph.nodes] == order


def test_grad_and_graph_stay_as_they_are():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    x.grad = torch.tensor(7.0)
    _, steps = numbers_of(y)
    leaf = steps[-1]
    assert x.grad.item() == 7.0
    assert (leaf.before.values, leaf.incoming[0].values, leaf.after.values) == (7.0, 6.0, 13.0)
    y.backward()
    assert x.grad.item() == 13.0


def test_hooks_run_as_in_a_backward():
    x = torch.tensor(3.0, requires_grad=True)
    h = x * 2
    h.register_hook(lambda g: g * 10)
    _, steps = numbers_of(h * h)
    assert steps[-1].incoming[0].values == 240.0


def test_a_gradient_is_sent_in_the_shape_of_the_argument():
    x = torch.ones(4, 3)
    b = torch.zeros(3, requires_grad=True)
    _, steps = numbers_of((x + b).sum())
    (edge,) = steps[1].node.edges
    assert steps[1].sent[edge].values == [4.0, 4.0, 4.0]


def test_no_scalar_has_no_starting_gradient():
    x = torch.ones(3, requires_grad=True)
    graph = torch.explain.graph(x * 2)
    assert _numbers.starting_gradients(graph, None) is None
    (given,) = _numbers.starting_gradients(graph, torch.tensor([1.0, 0.0, 2.0]))
    assert given.tolist() == [1.0, 0.0, 2.0]
    with pytest.raises(RuntimeError, match=r"has shape \[2\], and the result \[3\]"):
        _numbers.starting_gradients(graph, torch.ones(2))
    with pytest.raises(TypeError, match="takes a tensor for each result, got int"):
        _numbers.starting_gradients(graph, 3)


def test_local_gradients_of_small_tensors_are_by_element():
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    graph = torch.explain.graph((x * x).tanh().sum())
    local = {e.source.title: v.tolist() for e, v in _numbers.local_values(graph).items()}
    t = [math.tanh(0.25), math.tanh(1.0)]
    assert local["tanh"] == pytest.approx([1 - v * v for v in t], rel=1e-6)
    assert local["mul"] == [0.5, -1.0]


def test_summary_of_good_and_bad_elements():
    s = summary(torch.tensor([[3.0, -4.0], [0.0, 0.0]]))
    assert (s.shape, s.norm, s.least, s.greatest, s.zeros) == ((2, 2), 5.0, -4.0, 3.0, 2)
    s = summary(torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]))
    assert (s.nan, s.inf, s.least, s.greatest) == (1, 2, 1.0, 1.0) and math.isnan(s.norm)
    for infinite in ([1.0, -math.inf], [math.inf]):
        assert summary(torch.tensor(infinite)).norm == math.inf
    assert math.isnan(summary(torch.tensor([math.nan])).norm)
    s = summary(torch.tensor([3e307, 4e307], dtype=torch.float64))  # without a warning
    assert s.norm == pytest.approx(5e307) and not s.inf
    s = summary(torch.full((20,), 1e38))
    assert s.nan == s.inf == 0 and s.norm == pytest.approx(1e38 * math.sqrt(20), rel=1e-6)
    assert s.values is None
    s = summary(torch.zeros(0, 3))
    assert (s.size, s.norm, s.values) == (0, 0.0, [])
    s = summary(torch.tensor([3 + 4j]))
    assert s.norm == 5.0 and s.values == [3 + 4j]


def test_a_custom_function_has_a_local_gradient():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    x = torch.tensor(2.0, requires_grad=True)
    graph, steps = numbers_of(Cube.apply(x) * 5)
    local = {e.source.title: v.item() for e, v in _numbers.local_values(graph).items()}
    assert local == {"mul": 5.0, "Cube": 12.0}
    assert steps[-1].incoming[0].values == 60.0
