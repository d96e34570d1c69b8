"""Paths from a result to a leaf: all of them, with products that add up to the gradient."""

import pytest
from random_graphs import SMOOTH, WHOLE, scalar_graph
from rushlight.explain import _numbers, _paths

from _subject import torch

SEEDS = range(60)
FREE = 10**9


def listed(y, leaf):
    """(graph, count, the paths to a leaf); count 0 where the leaf is no part of the graph."""
    graph = torch.explain.graph(y)
    node = graph.node_of(leaf)
    if node is None:
        return graph, 0, []
    gradients = _numbers.starting_gradients(graph, None)
    budget = _paths.Budget(edges=FREE, seconds=FREE)
    found = list(_paths.paths(graph, node, gradients, FREE, budget))
    return graph, _paths.count_paths(graph)[node], found


def all_paths(node, leaf):
    """The paths by what a program sees of the graph, each as places among next_functions."""
    if getattr(node, "variable", None) is leaf:
        return [()]
    return [
        (at, *rest)
        for at, (inner, _) in enumerate(node.next_functions)
        if inner is not None
        for rest in all_paths(inner, leaf)
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_products_of_whole_numbers_add_up_exactly(seed):
    y, leaves = scalar_graph(seed, WHOLE, calls=8)
    if not y.requires_grad:
        return
    found = [sum(float(p.product) for p in listed(y, leaf)[2]) for leaf in leaves]
    y.backward()
    assert found == [0.0 if leaf.grad is None else float(leaf.grad) for leaf in leaves]


@pytest.mark.parametrize("seed", SEEDS)
def test_products_of_smooth_functions_add_up(seed):
    y, leaves = scalar_graph(seed, SMOOTH | WHOLE, calls=8)
    products = [[float(p.product) for p in listed(y, leaf)[2]] for leaf in leaves]
    y.backward()
    for leaf, each in zip(leaves, products, strict=True):
        wanted = 0.0 if leaf.grad is None else float(leaf.grad)
        # A few roundings on each path, and one for each sum.
        scale = sum(map(abs, each))
        assert abs(sum(each) - wanted) <= 50 * 2.0**-52 * max(scale, 1e-300)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_path_is_there_once(seed):
    y, leaves = scalar_graph(seed, SMOOTH | WHOLE, calls=7)
    for leaf in leaves:
        _, count, found = listed(y, leaf)
        wanted = [()] if y is leaf else [] if y.is_leaf else all_paths(y.grad_fn, leaf)
        assert count == len(found) == len(wanted)
        assert sorted(tuple(e.index for e in p.edges) for p in found) == sorted(wanted)


def test_two_paths_of_the_five_neurons():
    a, w1, w2, w3, w4 = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0, -1.0, 0.5, 4.0))
    b = w1 * a
    c = w2 * a
    d = w3 * b + w4 * c
    loss = 10 - d
    _, count, found = listed(loss, a)
    assert count == 2
    # -1 * w3 * w1 and -1 * w4 * w2
    assert sorted(float(p.product) for p in found) == [-1.5, 4.0]


def test_tensors_give_products_of_their_shape():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * x).sum() + x.sum()
    _, _, found = listed(y, x)
    products = sorted(p.product.tolist() for p in found)
    assert products == [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]


def test_a_broadcast_argument_gets_the_sum():
    b = torch.tensor([2.0], requires_grad=True)
    _, _, found = listed((torch.ones(4, 3) * b).sum(), b)
    assert [p.product.tolist() for p in found] == [[12.0]]


def test_the_number_of_paths_is_exact_where_no_list_could_be():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(200):
        y = y + y
    graph = torch.explain.graph(y)
    assert _paths.count_paths(graph)[graph.node_of(x)] == 2**200


def test_listing_ends_with_the_budget():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(40):
        y = y + y
    graph = torch.explain.graph(y)
    gradients = _numbers.starting_gradients(graph, None)
    found = list(_paths.paths(graph, graph.node_of(x), gradients, FREE, _paths.Budget(edges=500)))
    assert 1 <= len(found) <= 500


def test_several_results():
    x = torch.tensor(3.0, requires_grad=True)
    u, v = x * 2, x * 5
    graph = torch.explain.graph([u, v])
    gradients = _numbers.starting_gradients(graph, None)
    budget = _paths.Budget()
    found = list(_paths.paths(graph, graph.node_of(x), gradients, FREE, budget))
    assert sorted(float(p.product) for p in found) == [2.0, 5.0]
