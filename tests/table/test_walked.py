"""Graphs that are walked after a backward: every op, all leaves wanting a gradient or one alone.

A backward frees what a graph has saved; a look at the graph must not need any of that.
"""

import pytest
from cases import DIFFERENTIABLE, calls

import rushlight as torch


def walk(*nodes):
    """The names of all nodes that `next_functions` leads to."""
    seen, todo = {}, list(nodes)
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen[node] = type(node).__name__
            todo += [following for following, _ in node.next_functions]
    return sorted(seen.values())


def runs(name):
    """The results with a history, and the leaves, of an op's calls: all leaves want a gradient, or
    one of them alone."""
    for call in calls(name):
        for wanted in [call.leaves, *([n] for n in call.leaves if len(call.leaves) > 1)]:
            results, leaves = differentiated(call, wanted)
            if results:
                yield results, leaves


def differentiated(call, wanted):
    """The results of a call that have a history, and the leaves."""
    tensors = call.tensors
    for n in wanted:
        tensors[n] = tensors[n].detach().requires_grad_()
    results = call.having(tensors).run()
    results = results if isinstance(results, (tuple, list)) else (results,)
    found = [t for t in results if isinstance(t, torch.Tensor) and t.grad_fn is not None]
    return found, [tensors[n] for n in wanted]


def size(tensors):
    return sum((t * t.conj()).real.sum() for t in tensors)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_graph_is_walked_after_its_backward(name):
    for results, leaves in runs(name):
        loss = size(results)
        loss.backward(inputs=leaves)
        assert walk(loss.grad_fn)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_graph_of_gradients_is_walked_after_its_backward(name):
    for results, leaves in runs(name):
        gradients = torch.autograd.grad(size(results), leaves, create_graph=True, allow_unused=True)
        penalty = size(g for g in gradients if g is not None and g.requires_grad)
        if isinstance(penalty, torch.Tensor) and penalty.requires_grad:
            penalty.backward(inputs=leaves)
            assert walk(penalty.grad_fn, *(t.grad_fn for t in results))
