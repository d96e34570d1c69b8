"""Nodes as a program sees them: saved values by name, calling one, what hooks return, edges."""

import re

import pytest

from _subject import submodule, torch

graph = submodule("autograd.graph")


def starts(text: str) -> str:
    """A pattern for a message that begins with `text`."""
    return "^" + re.escape(text)


def leaf(*values: float):
    return torch.tensor(list(values), requires_grad=True)


def test_saved_values_have_the_formulas_names():
    x = leaf(1.0, 2.0)
    assert (x.sum().grad_fn._saved_self_sym_sizes, x[1:].grad_fn._saved_start) == ((2,), 1)
    assert x.select(0, 1).grad_fn._saved_index == 1
    product = (x * 3).grad_fn
    assert product._saved_self is None  # the side that wants no gradient
    assert product._saved_other.item() == 3
    assert product._saved_other.shape == ()
    assert (x**2).grad_fn._saved_exponent == 2
    names = dir((x * x).grad_fn)
    assert {"_saved_self", "_saved_other", "_raw_saved_self", "_raw_saved_other"} <= set(names)
    assert not hasattr((x * x).grad_fn, "_saved_index")


def test_raw_saved_shows_what_hooks_packed():
    x = leaf(1.0, 2.0)
    raw = (x * x).grad_fn._raw_saved_self
    assert raw.data is x
    assert raw.unpack_hook is None
    unpack = lambda pair: pair[1]
    raw.register_hooks(lambda t: ("packed", t), unpack)
    assert raw.data[0] == "packed"
    assert raw.unpack_hook is unpack
    with graph.saved_tensors_hooks(lambda t: ("outer", t), unpack):
        node = x.exp().grad_fn
    assert node._raw_saved_result.data[0] == "outer"
    assert node._raw_saved_result.unpack_hook is unpack


def test_hooks_on_a_freed_value_are_refused():
    x = leaf(1.0)
    y = x.exp()
    raw = y.grad_fn._raw_saved_result
    y.backward()
    with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor after it has"):
        raw.register_hooks(lambda t: t, lambda t: t)


def test_calling_a_node():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    node = (x * y).grad_fn
    ones = torch.ones(2)
    to_x, to_y = node(ones)
    assert (to_x.tolist(), to_y.tolist()) == ([3, 4], [1, 2])
    assert node(None) == (None, None)
    for wrong, why in (((ones, ones), "expected 1 arguments, got 2"), ((3,), "argument 0 is not")):
        with pytest.raises(TypeError, match=why):
            node(*wrong)
    with pytest.raises(TypeError, match="keyword arguments are not supported"):
        node(grad=ones)
    accumulate = node.next_functions[0][0]
    assert accumulate(ones) == ()
    assert x.grad.tolist() == [1, 1]


@pytest.mark.parametrize("kind", ["register_hook", "register_prehook"])
def test_what_a_node_hook_returns_is_a_tuple(kind):
    x = leaf(1.0, 2.0)
    for wrong in ("list", "Tensor"):
        y = x.exp()

        def hook(*grads, wrong=wrong):
            return [grads[0][0]] if wrong == "list" else grads[0][0]

        getattr(y.grad_fn, kind)(hook)
        with pytest.raises(TypeError, match=f"expected tuple, but hook returned '{wrong}'"):
            y.sum().backward()


def test_hooks_see_that_no_gradient_came():
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a.clone()

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(1.0, 2.0)
    seen = []
    z = x * x
    z.register_hook(lambda g: seen.append(("tensor", g)))
    z.grad_fn.register_prehook(lambda g: seen.append(("before", g)))
    z.grad_fn.register_hook(lambda to, of: seen.append(("after", to, of)))
    x.register_hook(lambda g: seen.append(("leaf", g)))
    Nothing.apply(z).sum().backward()
    assert seen == [
        ("tensor", None),
        ("before", (None,)),
        ("after", (None, None), (None,)),
        ("leaf", None),
    ]
    assert x.grad is None


def test_handles_are_those_of_utils_hooks():
    handle_type = submodule("utils.hooks").RemovableHandle
    x = leaf(1.0)
    for register in (x.register_hook, (x * 2).grad_fn.register_hook):
        assert isinstance(register(lambda *g: None), handle_type)


def test_an_edge_as_root_and_as_input():
    x = leaf(1.0, 2.0)
    z = x * x
    total = z.sum()
    root, inner = graph.get_gradient_edge(total), graph.get_gradient_edge(z)
    assert torch.autograd.grad(root, x, retain_graph=True)[0].tolist() == [2, 4]
    assert torch.autograd.grad(total, inner, retain_graph=True)[0].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        torch.autograd.grad(inner, x, retain_graph=True)
    torch.autograd.backward(root, inputs=[graph.get_gradient_edge(x)])
    assert x.grad.tolist() == [2, 4]


def test_edges_of_functions_own_their_node():
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 7

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf(1.0)
    assert graph.get_gradient_edge(Own.apply(x)).ownership_token is not None
    assert graph.get_gradient_edge(x).ownership_token is None


def test_numbers_of_nodes_follow_creation():
    x, y = leaf(1.0), leaf(1.0)
    first, second = x * y, x * y
    assert second.grad_fn._sequence_nr() - first.grad_fn._sequence_nr() == 1
    assert first.grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1


def test_read_only_attributes_name_the_nodes_class():
    node = (leaf(1.0) * 2).grad_fn
    with pytest.raises(AttributeError, match="'metadata' of 'MulBackward0' objects is not writ"):
        node.metadata = {}
    with pytest.raises(TypeError):
        graph.Node()


def test_input_metadata():
    (meta,) = leaf(1.0, 2.0).exp().grad_fn._input_metadata
    assert (list(meta.shape), meta.dtype, meta.device.type) == ([2], torch.float32, "cpu")
    assert meta.is_nested_tensor is False


def test_calling_the_node_of_a_leaf():
    x = leaf(1.0)
    node = graph.get_gradient_edge(x).node
    assert node(torch.full((1,), 2.0)) == node(None) == ()
    assert x.grad.tolist() == [2.0]


def test_node_is_a_virtual_base():
    x = leaf(1.0)
    y = x.exp()

    class Pass(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    nodes = [y.grad_fn, y.grad_fn.next_functions[0][0], Pass.apply(x).grad_fn]
    for node in nodes:
        assert isinstance(node, graph.Node) and issubclass(type(node), graph.Node)
        assert graph.Node not in type(node).mro()
        assert node.requires_grad
    assert nodes[2].__class__.__mro__[1].__name__ == "BackwardCFunction"
    assert issubclass(torch._C._functions.AccumulateGrad, graph.Node)
    for other in (None, 1, graph.Node, torch._C._functions.AccumulateGrad):
        assert not isinstance(other, graph.Node)

    class Mine(graph.Node):
        pass

    assert issubclass(Mine, graph.Node) and not isinstance(y.grad_fn, Mine)


def test_hooks_of_a_saved_value_are_two_functions():
    node = leaf(1.0).sin().grad_fn
    text = starts("register_hooks(): incompatible function arguments.")
    for wrong in ((), (lambda t: t,), (lambda t: t, 3), (3, lambda t: t), (1, 2, 3)):
        with pytest.raises(TypeError, match=text):
            node._raw_saved_self.register_hooks(*wrong)


def test_the_node_of_once_differentiable():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2 + y * 3

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2, g * 3

    x, y, g = leaf(1.0), leaf(1.0), leaf(1.0)
    first, second = torch.autograd.grad(Twice.apply(x, y), (x, y), g, create_graph=True)
    node = first.grad_fn
    assert node is second.grad_fn and (first.output_nr, second.output_nr) == (0, 1)
    assert node.name() == "torch::autograd::Error" and type(node).__name__ == "Error"
    assert [n.name() for n, _ in node.next_functions] == ["torch::autograd::AccumulateGrad"] * 2
    with pytest.raises(RuntimeError, match=starts("trying to differentiate twice a function")):
        first.sum().backward(retain_graph=True)
    assert torch.autograd.grad(first.sum(), g, allow_unused=True) == (None,)


def test_a_delayed_error():
    x = leaf(1.0)
    refuse = torch._C._functions.DelayedError(b"not this way", 2)
    a, b = refuse(x, x * 2)
    assert a.grad_fn is b.grad_fn and a.tolist() == [1.0] and b.tolist() == [2.0]
    with pytest.raises(RuntimeError, match=starts("not this way")):
        (a + b).sum().backward()
    assert not refuse(torch.ones(1), torch.ones(1))[0].requires_grad


def test_names_of_raw_saved_values():
    """Tensors have one, and the number that torch takes for a tensor; other numbers do not."""
    x = leaf(1.0, 2.0)
    for y, raw in (
        (x**3, ["_raw_saved_self"]),
        (2**x, ["_raw_saved_exponent", "_raw_saved_result"]),
        (x.clamp(0, 1), ["_raw_saved_self"]),
        (x * 2, ["_raw_saved_other", "_raw_saved_self"]),
    ):
        node = y.grad_fn
        assert sorted(n for n in dir(node) if n.startswith("_raw_saved")) == raw
        for name in dir(node):
            if name.startswith(("_saved", "_raw_saved")):
                getattr(node, name)
        for name in ("_raw_saved_max", "_raw_saved_nothing"):
            assert not hasattr(node, name)


def test_what_a_node_lists_it_has():
    x, w = leaf(1.0, 2.0), torch.ones(1, 2)
    for y in (torch.nn.functional.linear(x, w), torch.nn.functional.linear(x, w, torch.ones(1))):
        node = y.grad_fn
        for name in [n for n in dir(node) if n.startswith(("_saved", "_raw_saved"))]:
            getattr(node, name)


def test_dir_shows_what_pytorch_shows():
    x = torch.ones(2, requires_grad=True)
    every = {"name", "next_functions", "metadata", "requires_grad", "register_hook"}
    every |= {"register_prehook", "_input_metadata", "_sequence_nr", "_set_sequence_nr"}
    for node, more in (
        (x.sin().grad_fn, {"_saved_self", "_raw_saved_self"}),
        (x.sin().grad_fn.next_functions[0][0], {"variable"}),
    ):
        seen = {n for n in dir(node) if not n.startswith("__")} - {"_register_hook_dict"}
        assert seen == every | more
