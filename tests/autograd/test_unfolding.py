"""Products that are one node until somebody looks at the graph (docs/design/0011).

What is derived: the gradients of a graph that was walked, against those of one that was not; and
what hooks on the inner nodes see, against what the mathematics says.
"""

import itertools

import pytest

from _subject import torch

F = torch.nn.functional


def leaf(*shape, wants=True):
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_(wants)


PRODUCTS = {
    "mm": (lambda a, b: a @ b, (3, 4), (4, 5)),
    "mv": (lambda a, b: a @ b, (3, 4), (4,)),
    "vm": (lambda a, b: a @ b, (4,), (4, 5)),
    "stack @ vector": (lambda a, b: a @ b, (2, 3, 4), (4,)),
    "stack @ matrix": (lambda a, b: a @ b, (2, 3, 4), (4, 5)),
    "vector @ stack": (lambda a, b: a @ b, (4,), (2, 4, 5)),
    "matrix @ stack": (lambda a, b: a @ b, (3, 4), (2, 4, 5)),
    "stack @ stack": (lambda a, b: a @ b, (2, 3, 4), (2, 4, 5)),
    "broadcast stacks": (lambda a, b: a @ b, (2, 1, 3, 4), (7, 4, 5)),
    "layer": (lambda a, b: F.linear(a, b), (3, 4), (5, 4)),
    "layer of one row": (lambda a, b: F.linear(a, b), (4,), (5, 4)),
    "layer of a stack": (lambda a, b: F.linear(a, b), (2, 3, 4), (5, 4)),
    "turned layer": (lambda a, b: F.linear(a.transpose(0, 1), b), (2, 3, 4), (5, 4)),
    "layer to one number": (lambda a, b: F.linear(a, b), (3, 4), (4,)),
}


def walk(node):
    """Every node that `next_functions` leads to."""
    seen, todo = set(), [node]
    while todo:
        n = todo.pop()
        if n is None or n in seen:
            continue
        seen.add(n)
        todo += [m for m, _ in n.next_functions]
    return seen


def names(node):
    return sorted(type(n).__name__ for n in walk(node))


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("wants", [(True, True), (True, False), (False, True)], ids=str)
def test_a_walked_graph_has_the_same_gradients(name, wants):
    f, shape_a, shape_b = PRODUCTS[name]
    a, b = leaf(*shape_a, wants=wants[0]), leaf(*shape_b, wants=wants[1])
    inputs = [t for t in (a, b) if t.requires_grad]
    expected = torch.autograd.grad(f(a, b).sin().sum(), inputs)
    y = f(a, b)
    walk(y.grad_fn)
    found = torch.autograd.grad(y.sin().sum(), inputs)
    for g, e in zip(found, expected, strict=True):
        assert torch.allclose(g, e, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PRODUCTS)
def test_second_derivatives_of_a_walked_graph(name):
    f, shape_a, shape_b = PRODUCTS[name]

    def second(look):
        a, b = leaf(*shape_a), leaf(*shape_b)
        y = f(a, b)
        if look:
            walk(y.grad_fn)
        first = torch.autograd.grad(y.exp().sum(), (a, b), create_graph=True)
        if look:
            walk(first[0].grad_fn)
        return torch.autograd.grad(sum(g.sin().sum() for g in first), (a, b))

    for g, e in zip(second(True), second(False), strict=True):
        assert torch.allclose(g, e, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("bias", [(5,), (1,), (3, 5)])
@pytest.mark.parametrize("wants", list(itertools.product((True, False), repeat=3)), ids=str)
def test_layers_with_every_kind_of_bias(bias, wants):
    if not any(wants):
        return
    shapes = ((3, 4), (5, 4), bias)
    arguments = [leaf(*s, wants=w) for s, w in zip(shapes, wants, strict=True)]
    inputs = [t for t in arguments if t.requires_grad]
    expected = torch.autograd.grad(F.linear(*arguments).sin().sum(), inputs)
    y = F.linear(*arguments)
    assert ("TBackward0" in names(y.grad_fn)) == wants[1]
    found = torch.autograd.grad(y.sin().sum(), inputs)
    for g, e in zip(found, expected, strict=True):
        assert g.shape == e.shape and torch.allclose(g, e, rtol=1e-12, atol=1e-12)


def test_a_layer_looks_as_in_pytorch():
    x, w, b = leaf(3, 4), leaf(5, 4), leaf(5)
    node = F.linear(x, w, b).grad_fn
    assert type(node).__name__ == "AddmmBackward0"
    following = [n for n, _ in node.next_functions]
    kinds = ["AccumulateGrad", "AccumulateGrad", "TBackward0"]
    assert [type(n).__name__ for n in following] == kinds
    assert following[0].variable is b and following[1].variable is x
    assert following[2].next_functions[0][0].variable is w
    assert node.next_functions[2][0] is following[2]
    assert torch.equal(node._saved_mat1, x) and torch.equal(node._saved_mat2, w.t())


def test_hooks_on_the_transpose_are_run():
    x, w = leaf(3, 4), leaf(5, 4)
    y = F.linear(x, w)
    turn = y.grad_fn.next_functions[1][0]
    seen = []
    turn.register_prehook(lambda gradients: seen.append(gradients[0]))
    turn.register_hook(lambda to, come: (to[0] * 2,))
    y.sum().backward()
    rows = x.detach().sum(0)  # d sum(x @ w.T) / d w.T: every column is the sum of the rows
    assert torch.allclose(seen[0], rows.unsqueeze(1).expand(4, 5))
    assert torch.allclose(w.grad, 2 * rows.expand(5, 4))


def test_a_gradient_can_be_asked_at_the_transpose():
    x, w = leaf(3, 4), leaf(5, 4)
    y = F.linear(x, w)
    edge = torch.autograd.graph.GradientEdge(y.grad_fn.next_functions[1][0], 0)
    (g,) = torch.autograd.grad(y.sum(), edge)
    assert g.shape == (4, 5) and torch.allclose(g[:, 0], x.detach().sum(0))


def test_what_leads_to_the_asked_gradients_is_known_after_unfolding():
    x, w, v = leaf(2, 3, 4), leaf(5, 4), leaf(5)
    h = F.linear(x * 2, w)
    y = (h @ v).sum()
    walk(y.grad_fn)
    (g,) = torch.autograd.grad(y, w, retain_graph=True)
    assert torch.allclose(g, torch.outer(v, (x * 2).sum((0, 1))).detach())
    (g,) = torch.autograd.grad(y, x)
    assert torch.allclose(g, (2 * (w.t() @ v)).expand(2, 3, 4).detach())


def test_looking_after_backward():
    x, w, b = leaf(3, 4), leaf(5, 4), leaf(5)
    y = F.linear(x, w, b)
    y.sum().backward()
    assert "TBackward0" in names(y.grad_fn)
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_looking_after_a_saved_value_changed():
    x, w = leaf(3, 4), leaf(5, 4)
    h = w * 1
    y = F.linear(x, h)
    h.add_(1)
    walk(y.grad_fn)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = F.linear(x, h)
    walk(y.grad_fn)
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_looking_while_a_backward_runs():
    x, w = leaf(3, 4), leaf(5, 4)
    y = F.linear(x, w)
    z = y * 1
    z.register_hook(lambda g: walk(z.grad_fn) and None)
    z.sum().backward()
    assert torch.allclose(w.grad, x.detach().sum(0).expand(5, 4))


def test_saved_tensor_hooks_do_not_run_for_a_look():
    x, w = leaf(3, 4), leaf(5, 4)
    unpacked = []
    pair = (lambda t: t, lambda t: unpacked.append(t) or t)
    with torch.autograd.graph.saved_tensors_hooks(*pair):
        y = F.linear(x, w)
    walk(y.grad_fn)
    assert not unpacked
    y.sum().backward()
    assert unpacked and torch.allclose(w.grad, x.detach().sum(0).expand(5, 4))


def test_the_order_of_creation_holds():
    """The engine takes younger nodes first: what a call unfolds into is as old as the call."""
    x, w = leaf(2, 3, 4), leaf(5, 4)
    before = (x * 1).grad_fn._sequence_nr()
    y = F.linear(x, w, leaf(5))
    after = (x * 1).grad_fn._sequence_nr()
    inner = [n for n in walk(y.grad_fn) if type(n).__name__ != "AccumulateGrad"]
    assert len(inner) == 4
    assert all(before < n._sequence_nr() < after for n in inner)
    assert max(n._sequence_nr() for n in inner) == y.grad_fn._sequence_nr()


def test_unfolded_graphs_die():
    import gc
    import weakref

    x, w = leaf(3, 4), leaf(5, 4)
    y = F.linear(x * 1, w)
    walk(y.grad_fn)
    gone = weakref.ref(x), weakref.ref(w)
    del x, w, y
    gc.collect()
    assert [r() for r in gone] == [None, None]
