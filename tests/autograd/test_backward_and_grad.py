"""`backward()` and `autograd.grad()`: arguments, what they refuse, and what is freed when."""

import re
import weakref

import numpy as np
import pytest

from _subject import torch


def starts(text: str) -> str:
    """A pattern for a message that begins with `text`."""
    return "^" + re.escape(text)


SECOND = starts(
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed)."
)


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_element_without_a_graph():
    with pytest.raises(
        RuntimeError,
        match=starts("element 0 of tensors does not require grad and does not have a grad_fn"),
    ):
        torch.ones(()).backward()


def test_complex_scalar_needs_a_gradient():
    z = torch.ones(1, dtype=torch.complex64, requires_grad=True)
    with pytest.raises(
        RuntimeError,
        match=starts("grad can be implicitly created only for real scalar outputs but got"),
    ):
        z.sum().backward()


def test_wrong_gradient_types():
    x = leaf(1.0, 2.0, 3.0)
    with pytest.raises(TypeError):
        (x * 2).backward(gradient="a")
    with pytest.raises(RuntimeError, match=starts("Mismatch in shape: grad_output[0] has a shape")):
        (x * 2).backward(torch.ones(4))
    assert x.grad is None


def test_several_roots():
    x = leaf(2.0)
    torch.autograd.backward([x * 3, x * x])
    assert x.grad.item() == 7.0


def test_several_roots_with_gradients():
    x = leaf(1.0, 2.0)
    torch.autograd.backward([x * 3, (x * x).sum()], [torch.tensor([1.0, 10.0]), None])
    assert x.grad.tolist() == [5.0, 34.0]


def test_the_same_root_twice():
    x = leaf(2.0)
    y = x * x
    torch.autograd.backward([y, y])
    assert x.grad.item() == 8.0


def test_inputs_restrict_what_accumulates():
    a, b = leaf(2.0), leaf(3.0)
    (a * b).backward(inputs=[a])
    assert a.grad.item() == 3.0 and b.grad is None
    (a * b).backward(inputs=b)
    assert b.grad.item() == 2.0 and a.grad.item() == 3.0


def test_inputs_may_be_results():
    a = leaf(2.0)
    hidden = a * 3
    (hidden * hidden).backward(inputs=[hidden])
    assert hidden.grad.item() == 12.0 and a.grad is None


def test_empty_inputs():
    a = leaf(2.0)
    with pytest.raises(
        RuntimeError, match=starts("`inputs` argument to `backward()` cannot be empty.")
    ):
        (a * 2).backward(inputs=[])


def test_second_backward_and_retain_graph():
    x = leaf(2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8.0
    with pytest.raises(RuntimeError, match=SECOND):
        y.backward()
    assert x.grad.item() == 8.0


def test_parts_of_a_freed_graph():
    x = leaf(2.0)
    shared = x.exp()
    first, second = shared * 2, shared * 3
    first.sum().backward()
    with pytest.raises(RuntimeError, match=SECOND):
        second.sum().backward()


def test_nothing_saved_nothing_freed():
    x = leaf(1.0)
    y = (x + 1).view(1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_grad_frees_too():
    x = leaf(2.0)
    y = x * x
    torch.autograd.grad(y, x)
    with pytest.raises(RuntimeError, match=SECOND):
        torch.autograd.grad(y, x)


def test_saved_values_on_the_node():
    x, y = leaf(2.0, 3.0), leaf(4.0, 5.0)
    node = (x * y).grad_fn
    assert node._saved_self is x and node._saved_other is y
    constant = (x * torch.ones(2)).grad_fn
    assert constant._saved_self is None and constant._saved_other.tolist() == [1.0, 1.0]
    assert (x**3).grad_fn._saved_exponent == 3
    result = x.exp()
    assert torch.equal(result.grad_fn._saved_result, result)
    with pytest.raises(
        AttributeError, match=starts("'MulBackward0' object has no attribute '_saved_nothing'")
    ):
        _ = node._saved_nothing


def test_grad_returns_a_tuple_and_leaves_grad_alone():
    x, y = leaf(2.0), leaf(3.0)
    grads = torch.autograd.grad(x * y, (x, y))
    assert isinstance(grads, tuple) and [g.item() for g in grads] == [3.0, 2.0]
    assert x.grad is None and y.grad is None
    assert not grads[0].requires_grad


def test_grad_of_a_result():
    x = leaf(2.0)
    hidden = x * 3
    (g,) = torch.autograd.grad(hidden * hidden, hidden)
    assert g.item() == 12.0


def test_grad_outputs():
    x = leaf(1.0, 2.0)
    (g,) = torch.autograd.grad(x * x, x, torch.tensor([1.0, 10.0]))
    assert g.tolist() == [2.0, 40.0]
    (g,) = torch.autograd.grad([x * 2], [x], grad_outputs=[torch.ones(2)])
    assert g.tolist() == [2.0, 2.0]
    with pytest.raises(
        RuntimeError, match=starts("grad can be implicitly created only for scalar")
    ):
        torch.autograd.grad(x * x, x)


def test_unused_inputs():
    x, y = leaf(1.0), leaf(2.0)
    with pytest.raises(
        RuntimeError,
        match=starts(
            "The differentiated Tensor at index 1 appears to not have been used in the graph."
        ),
    ):
        torch.autograd.grad(x * 2, (x, y))
    assert torch.autograd.grad(x * 2, (x, y), allow_unused=True)[1] is None
    zeros = torch.autograd.grad(x * 2, (x, y), materialize_grads=True)[1]
    assert zeros.tolist() == [0.0]
    with pytest.raises(ValueError, match=starts("Expected allow_unused to be True or not passed")):
        torch.autograd.grad(x * 2, (x, y), allow_unused=False, materialize_grads=True)


def test_inputs_that_need_no_grad():
    x = leaf(1.0)
    with pytest.raises(
        RuntimeError, match=starts("One of the differentiated Tensors does not require grad")
    ):
        torch.autograd.grad(x * 2, torch.ones(1))


def test_second_derivatives():
    x = leaf(0.5)
    y = x**3
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    assert first.requires_grad
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    assert (first.item(), second.item(), third.item()) == (0.75, 3.0, 6.0)


def test_hessian_vector_product():
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    f = (x[0] * x[1] ** 2 + x[1] * x[2] ** 3).sum()
    (g,) = torch.autograd.grad(f, x, create_graph=True)
    v = torch.tensor([1.0, -1.0, 0.5], dtype=torch.float64)
    (hv,) = torch.autograd.grad(g, x, v)
    # Hessian by hand: [[0, 2b, 0], [2b, 2a, 3c^2], [0, 3c^2, 6bc]] at a, b, c = 1, 2, 3.
    assert hv.tolist() == [-4.0, 4 - 2 + 13.5, -27 + 18.0]


def test_gradient_penalty():
    w = torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([1.5, 2.0], dtype=torch.float64, requires_grad=True)
    out = torch.tanh((w * x).sum())
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    (g.norm() - 1).pow(2).backward()
    eps, values = 1e-6, []
    for i in range(2):
        for sign in (1, -1):
            w2 = w.detach().clone()
            w2[i] += sign * eps
            x2 = x.detach().clone().requires_grad_()
            (g2,) = torch.autograd.grad(torch.tanh((w2 * x2).sum()), x2)
            values.append((g2.norm() - 1).pow(2).item())
    numeric = [(values[0] - values[1]) / (2 * eps), (values[2] - values[3]) / (2 * eps)]
    assert all(abs(a - b) < 1e-6 for a, b in zip(w.grad.tolist(), numeric, strict=True))


def test_second_backward_into_grad_of_grad():
    x = leaf(3.0)
    (x**2).backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.backward()
    assert x.grad.item() == 2.0
    x.grad = None


def test_shared_subgraph_is_walked_once():
    """A chain of doublings has 2^60 paths and 60 nodes."""
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60


def test_leaf_used_many_times():
    x = leaf(2.0)
    total = x * 0
    for i in range(100):
        total = total + x * i
    total.backward()
    assert x.grad.item() == sum(range(100))


def test_error_in_the_middle_leaves_no_half_gradients_in_the_roots():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (y * 3).backward()
    assert x.grad is None


def test_backward_under_no_grad():
    x = leaf(2.0)
    y = x * x
    with torch.no_grad():
        y.backward()
    assert x.grad.item() == 4.0 and not x.grad.requires_grad


def test_inputs_run_the_nodes_of_leaves():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=True)
    seen = []
    accumulate = (x * 1).grad_fn.next_functions[0][0]
    accumulate.register_prehook(lambda g: seen.append("before"))
    accumulate.register_hook(lambda *g: seen.append("after"))
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    (x * x * y).sum().backward(inputs=[x, x])
    assert seen == ["before", "accumulated", "after"]
    assert x.grad.tolist() == [6, 16]  # 2xy, once though x is given twice
    assert y.grad is None


def test_inputs_that_are_results_run_their_node():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x * x
    seen = []
    z.register_hook(lambda g: g * 3)
    z.grad_fn.register_hook(lambda *g: seen.append("ran"))
    (z * 1).sum().backward(inputs=[z])
    assert z.grad.tolist() == [3, 3]
    assert seen == ["ran"]
    assert x.grad is None


def test_a_gradient_with_a_graph_is_added_to_in_place_later():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    first = x.grad
    assert first.grad_fn.name() == "torch::autograd::CopyBackwards"
    (x * x).sum().backward()
    assert x.grad is first
    assert first.tolist() == [4, 8]
    x.grad = None


def test_batched_gradients_must_be_given():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        torch.autograd.grad(x * x, x, is_grads_batched=True)


def test_lists_and_arrays_as_gradients():
    x = torch.tensor([0.5, 0.75], requires_grad=True)
    for given in ([1.0, 2.0], (1, 2), np.array([1.0, 2.0])):
        assert torch.autograd.grad(x * 2, x, given)[0].tolist() == [2, 4]
        x.grad = None
        (x * 2).backward(given)
        assert x.grad.tolist() == [2, 4]
    (g,) = torch.autograd.grad([x * 2, x.sum()], x, [[1.0, 2.0], 1])
    assert g.tolist() == [3, 5]
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.grad([x * 2, x.sum()], x, [[1.0, 2.0]])


def test_saved_values_go_with_their_node():
    x = torch.ones(3, requires_grad=True)
    saved, alive = [], []
    z = x
    for _ in range(4):
        z = z.sin()  # keeps its argument
        saved.append(weakref.ref(z))
        z.register_hook(lambda g: alive.append(sum(r() is not None for r in saved)))
    total = z.sum()
    del z
    total.backward()
    # A hook runs before the rule of its own node: what the later nodes kept is gone by then.
    assert alive == [3, 2, 1, 0]
    assert not any(r() is not None for r in saved)


def test_zeros_in_the_place_of_missing_gradients_want_a_graph_like_the_others():
    x, y = leaf(1.0, 2.0), leaf(3.0)
    for create_graph in (True, False):
        _, zeros = torch.autograd.grad(
            (x**3).sum(), (x, y), create_graph=create_graph, materialize_grads=True
        )
        assert zeros.tolist() == [0.0] and zeros.requires_grad is create_graph


@pytest.mark.parametrize("of_a_leaf", [True, False])
def test_the_gradient_of_an_edge_is_checked_as_that_of_a_tensor(of_a_leaf):
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(x if of_a_leaf else y)
    for shape in ((4,), (1,), (), (2, 3)):
        text = f"Mismatch in shape: grad_output[0] has a shape of {torch.Size(shape)} and output[0]"
        with pytest.raises(RuntimeError, match=starts(text)):
            torch.autograd.grad(edge, x, torch.ones(shape))
        with pytest.raises(RuntimeError, match=starts(text)):
            torch.autograd.backward([edge], [torch.ones(shape)])
    with pytest.raises(RuntimeError, match="Mismatch in dtype: grad_output"):
        torch.autograd.grad(edge, x, torch.ones(3, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match=starts("Batched grads are not supported with Grad")):
        torch.autograd.grad(edge, x, torch.ones(2, 4), is_grads_batched=True)
    (rows,) = torch.autograd.grad(edge, x, torch.ones(2, 3), is_grads_batched=True)
    assert rows.tolist() == [[1.0 if of_a_leaf else 2.0] * 3] * 2


def test_what_inputs_may_be():
    import collections

    x = leaf(1.0)
    loss = (x * x).sum()
    ordered = collections.OrderedDict(x=x)
    with pytest.raises(TypeError, match=starts("`inputs` argument to `backward()` must be a dict")):
        loss.backward(inputs=ordered)
    with pytest.raises(TypeError, match=starts("`inputs` argument to `grad()` must be a dict")):
        torch.autograd.grad(loss, ordered)
    wrong = starts("all inputs have to be Tensors or GradientEdges, but got NoneType")
    with pytest.raises(RuntimeError, match=wrong):
        loss.backward(inputs=[x, None])
    with pytest.raises(RuntimeError, match=wrong):
        torch.autograd.grad(loss, [None])
    assert x.grad is None
    loss.backward(inputs={"x": x})
    assert x.grad.tolist() == [2.0]


def test_batched_gradients_have_one_number_of_rows():
    x = leaf(1.0, 2.0)
    with pytest.raises(
        ValueError,
        match=starts(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            "[2, 4] for the mapped dimension"
        ),
    ):
        torch.autograd.grad(
            (x * 2, x * 3), x, (torch.ones(2, 2), torch.ones(4, 2)), is_grads_batched=True
        )


@pytest.mark.parametrize("join", ["stack", "cat"])
def test_a_root_whose_data_got_another_shape(join):
    """The gradient has to fit the result that was recorded, not what the tensor shows now."""
    a = torch.ones(3, requires_grad=True)
    y = getattr(torch, join)([a, a])
    y.data = torch.ones(5, 3) if join == "stack" else torch.ones(9)
    with pytest.raises(RuntimeError, match="invalid gradient at index 0 - got"):
        y.backward(torch.ones_like(y))
    with pytest.raises(RuntimeError, match="invalid gradient at index 0 - got"):
        torch.autograd.grad(y, a, torch.ones_like(y))
    assert a.grad is None


def test_a_root_gradient_that_is_summed_to_the_recorded_shape():
    x = torch.zeros(3, requires_grad=True)
    y = x.exp()
    y.data = torch.ones(2, 3)
    y.backward(torch.ones(2, 3))
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "op",
    [
        pytest.param(torch.matmul, id="fused"),
        pytest.param(torch.mul, id="traced"),
        pytest.param(torch.kron, id="composite or rule"),
    ],
)
def test_gradients_that_are_not_asked_for_are_not_computed(op, create_graph):
    """What a hook of the node sees: None on the edges that lead to no input of `grad`."""
    x, w = torch.rand(3, 3, requires_grad=True), torch.rand(3, 3, requires_grad=True)
    y = op(x, w)
    node = y.grad_fn
    while len(node.next_functions) < 2:  # kron is a view of the product
        node = node.next_functions[0][0]
    seen = []
    node.register_hook(lambda gradients, _: seen.append([g is not None for g in gradients]))
    for wanted in (x, w, (x, w)):
        torch.autograd.grad(y.sum(), wanted, retain_graph=True, create_graph=create_graph)
    y.sum().backward(inputs=[w], retain_graph=True)
    assert seen == [[True, False], [False, True], [True, True], [False, True]]
