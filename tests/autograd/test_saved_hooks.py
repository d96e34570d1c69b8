"""Saved-tensor hooks, save_on_cpu, mutation of saved tensors, hooks on several gradients,
gradient edges."""

import pytest

from _subject import NAME, torch

graph = torch.autograd.graph


def leaf(*values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def test_pack_and_unpack_see_each_saved_tensor():
    packed, unpacked = [], []

    def pack(t):
        packed.append(t.tolist())
        return len(packed) - 1

    def unpack(i):
        unpacked.append(i)
        return torch.tensor(packed[i])

    x = leaf()
    with graph.saved_tensors_hooks(pack, unpack):
        y = (x * x).exp()
    assert packed[:2] == [[1.0, 2.0], [1.0, 2.0]] and len(packed) == 3
    y.sum().backward()
    assert set(unpacked) == {0, 1, 2}
    expected = 2 * torch.tensor([1.0, 2.0]) * torch.tensor([1.0, 4.0]).exp()
    assert torch.allclose(x.grad, expected)


def test_the_inner_pair_wins():
    seen = []
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: (seen.append("outer"), t)[1], lambda t: t):
        with graph.saved_tensors_hooks(lambda t: (seen.append("inner"), t)[1], lambda t: t):
            x.sin()
        x.sin()
    x.sin()
    assert seen == ["inner", "outer"]


def test_numbers_are_not_packed():
    seen = []
    with graph.saved_tensors_hooks(lambda t: (seen.append(t), t)[1], lambda t: t):
        leaf() * 2
    assert not seen


def test_hooks_on_one_saved_value():
    x = leaf(3.0)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 10, lambda t: t)
    assert y.grad_fn._saved_self.tolist() == [30.0] and y.grad_fn._saved_other is x
    y.backward()
    assert x.grad.item() == 33


def test_unpacked_values_keep_their_place_in_the_graph():
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x * x
    assert y.grad_fn._saved_self.requires_grad
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert g.item() == 4 and torch.autograd.grad(g, x)[0].item() == 2


def test_save_on_cpu():
    x = leaf()
    with graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_mutation_of_saved_tensors():
    x = leaf()
    with graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y.square()
        y.mul_(10)
        z.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_disabled_hooks_say_why():
    with (
        graph.disable_saved_tensors_hooks("no hooks in here"),
        pytest.raises(RuntimeError, match=r"^no hooks in here"),
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass


def test_multi_grad_hook_all():
    seen = []
    x, y, z = leaf(1.0), leaf(2.0), leaf(3.0)
    handle = graph.register_multi_grad_hook((x, y, z), lambda g: seen.append(g))
    (x * y).backward()
    assert [None if g is None else g.item() for g in seen[0]] == [2.0, 1.0, None]
    handle.remove()
    (x * y).backward()
    assert len(seen) == 1


def test_multi_grad_hook_any():
    seen = []
    x, y = leaf(1.0), leaf(2.0)
    graph.register_multi_grad_hook((x, y), lambda g: seen.append(g.item()), mode="any")
    (x * y).backward()
    (x * y).backward()
    assert len(seen) == 2


def test_gradient_edges_as_inputs_and_roots():
    x = leaf(3.0)
    y = x * 2
    edge = graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn and edge.output_nr == 0
    z = y * y
    assert torch.autograd.grad(z, edge, retain_graph=True)[0].item() == 12
    del y
    (g,) = torch.autograd.grad(edge, x, torch.ones(1))
    assert g.item() == 2
    assert graph.get_gradient_edge(x).node.variable is x


def test_hooks_of_an_accumulate_node():
    x = leaf(3.0)
    order = []
    node = graph.get_gradient_edge(x).node
    node.register_prehook(lambda g: order.append("pre"))
    node.register_hook(lambda i, o: order.append("post"))
    x.register_hook(lambda g: order.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda t: order.append(("accumulated", t.grad.item())))
    (x * 2).backward()
    assert order == ["tensor", "pre", ("accumulated", 2.0), "post"]


def test_a_node_can_be_called():
    y = leaf(3.0) * 5
    assert _tuple(y.grad_fn(torch.ones(1)))[0].item() == 5


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


def test_what_a_node_says_of_itself():
    x = leaf(1.0, 2.0, 3.0)
    y = x.exp()
    (meta,) = y.grad_fn._input_metadata
    assert tuple(meta.shape) == (3,) and meta.dtype is torch.float32
    assert str(meta.device) == "cpu"
    assert isinstance(y.grad_fn, graph.Node) and issubclass(type(y.grad_fn), graph.Node)
    y.grad_fn.metadata["a"] = 1
    assert y.grad_fn.metadata == {"a": 1}
    n = y.grad_fn._sequence_nr()
    assert y.sin().grad_fn._sequence_nr() > n
    leaf_node = y.grad_fn.next_functions[0][0]
    assert leaf_node.name() == "torch::autograd::AccumulateGrad" and leaf_node.variable is x
    assert leaf_node._sequence_nr() == 2**64 - 1 and leaf_node.next_functions == ()


def test_version_counts():
    x = torch.ones(3)
    graph.increment_version(x)
    assert x._version == 1
    with torch.autograd._unsafe_preserve_version_counter(x):
        x.add_(1)
    assert x._version == 1


def test_a_storm_of_final_callbacks():
    seen = []
    x = leaf(1.0)
    x.register_hook(
        lambda g: torch.autograd.Variable._execution_engine.queue_callback(
            lambda: seen.append(x.grad is None)
        )
    )
    (x * 2).backward()
    assert seen == [False]


def test_pack_sees_the_place_in_the_graph_and_records_nothing():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []

    def pack(t):
        seen.append((t.is_leaf, t.requires_grad, t.grad_fn and t.grad_fn.name()))
        assert not torch.is_grad_enabled()
        return t

    with graph.saved_tensors_hooks(pack, lambda t: t):
        y = (x * 1).sin()
        z = x.exp()
        w = torch.ones(2) * x
    assert seen == [
        (False, True, "MulBackward0"),  # an argument that is a result
        (False, True, "ExpBackward0"),  # the result itself
        (True, False, None),
    ]
    (y + z + w).sum().backward()
    assert x.grad.tolist() == pytest.approx([0.5403023 + 2.7182818 + 1, -0.4161468 + 7.389056 + 1])


def test_an_unpacked_leaf_is_a_leaf():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        node = (x * x).grad_fn
    given = node._saved_self
    assert (given.is_leaf, given.requires_grad, given.grad_fn) == (True, True, None)
    (given * 2).sum().backward()  # its gradient is the leaf's own
    assert x.grad.tolist() == [2, 2]


def test_packed_results_do_not_keep_their_node():
    import gc
    import weakref

    refs = []
    gc.disable()
    try:
        with graph.saved_tensors_hooks(lambda t: refs.append(weakref.ref(t)) or t, lambda t: t):
            y = torch.ones(2, requires_grad=True).exp()
        del y
        assert refs[0]() is None
    finally:
        gc.enable()


def test_cleared_copies_are_gone():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with graph.allow_mutation_on_saved_tensors() as context:
        z = x * 1
        y = z.sin()
        z.add_(1)
        context.clear()
        with pytest.raises(AssertionError, match="Trying to backward outside of the"):
            y.sum().backward()


def test_a_pack_hook_may_look_at_the_node_that_is_being_made():
    def pack(t):
        if t.grad_fn is not None:
            node = t.grad_fn
            assert [n for n, _ in node.next_functions]
            assert all(hasattr(m, "shape") for m in node._input_metadata)
            for name in dir(node):
                if name.startswith("_saved"):
                    getattr(node, name)
        return t

    x = torch.ones(3, requires_grad=True)
    with graph.saved_tensors_hooks(pack, lambda t: t):
        y = (x * 1).sigmoid_() + torch.nn.functional.layer_norm(x * 1, (3,)) + (x * 2).exp()
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([0.1966119 + 2 * 7.389056] * 3, rel=1e-5)


def test_hooks_entered_during_a_backward_end_with_their_node():
    x = torch.ones(2, requires_grad=True)
    entered, packed = [], []

    def enter(g):
        block = torch.autograd.graph.saved_tensors_hooks(
            lambda t: (packed.append(t), t)[1], lambda t: t
        )
        block.__enter__()
        entered.append(block)

    y = x * x
    y.register_hook(enter)
    torch.autograd.grad(y.sin().sum(), x, create_graph=True)
    assert len(entered) == 1
    packed.clear()
    z = x * x
    assert not packed
    with pytest.raises(RuntimeError):
        entered[0].__exit__()
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_leaving_hooks_once_too_often():
    block = torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError):
        block.__exit__(None, None, None)
    with block:
        pass
    with pytest.raises(RuntimeError):
        block.__exit__(None, None, None)
    refuse = torch.autograd.graph.disable_saved_tensors_hooks("why")
    with pytest.raises(RuntimeError, match=r"^why$"), block, refuse:
        raise AssertionError("hooks are in force")


def test_pack_is_shown_the_saved_argument_itself():
    x, c = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    seen = []
    with graph.saved_tensors_hooks(lambda t: (seen.append(t), t)[1], lambda t: t):
        y = x * c
        y.sin()
    assert [t is a for t, a in zip(seen, (c, y), strict=True)] == [True, True]
    # Given back as it is, what has no history is itself again.
    assert y.grad_fn._saved_other is c or y.grad_fn._saved_self is c


def test_hooks_of_one_value_are_shown_it_without_its_history():
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sin()
    z = x.exp()
    seen = []
    for saved in (y.grad_fn._raw_saved_self, z.grad_fn._raw_saved_result):
        saved.register_hooks(lambda t: (seen.append(t.requires_grad), t)[1], lambda t: t)
    assert seen == [False, False]
    (y + z).sum().backward()
    assert x.grad.tolist() == pytest.approx([2 * -0.4161468 + 2.7182818] * 2)


def test_hooks_are_functions():
    for pair in ((1, 2), (lambda t: t, 2), (None, None)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            graph.saved_tensors_hooks(*pair).__enter__()


def test_a_pack_hook_may_use_hooks_of_its_own():
    x = torch.ones(2, requires_grad=True)
    inner = []

    def pack(t):
        own = graph.saved_tensors_hooks(lambda u: (inner.append(u.shape), u)[1], lambda u: u)
        with own, torch.enable_grad():
            torch.ones(3, requires_grad=True).sin()
        return t

    with graph.saved_tensors_hooks(pack, lambda t: t):
        y = x.sin()
        z = y.exp()
    assert inner == [(3,), (3,)]
    z.sum().backward()
    assert x.grad is not None


def test_what_a_block_of_mutation_keeps_goes_with_the_graph():
    with graph.allow_mutation_on_saved_tensors() as context:

        def cloned():
            return len(list(context.cloned.items()))

        a = torch.ones(2, requires_grad=True).clone()
        b, c = a**2, a**2  # one version, saved twice
        assert cloned() == 0 and len(list(context.tid_to_weakhandle.items())) == 1
        a.sin_()
        assert cloned() == 1
        d = a**2
        a.sin_()
        assert cloned() == 2
        del b, c
        assert cloned() == 1
        d.sum().backward()
        assert cloned() == 0
        a.sin_()
        assert cloned() == 0


def test_strided_parts_of_written_memory_are_cloned():
    if NAME == "torch":
        pytest.skip("PyTorch sees writes of the very same memory only")
    with graph.allow_mutation_on_saved_tensors():
        x = torch.arange(6.0).requires_grad_()
        a = x * 1
        y = a[::5].sin()
        a[5:6].mul_(2)
        y.sum().backward()
    assert x.grad.tolist() == pytest.approx([1, 0, 0, 0, 0, 0.2836622])


def test_a_block_of_mutation_that_is_over():
    text = "^Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    with graph.allow_mutation_on_saved_tensors() as context:
        x = torch.ones(2, requires_grad=True)
        y, z = x.sin(), x.cos()
        context.clear()
        with pytest.raises(AssertionError, match=text):
            y.sum().backward()
    with graph.allow_mutation_on_saved_tensors(), pytest.raises(AssertionError, match=text):
        z.sum().backward()


def test_what_increment_version_takes():
    x, y = torch.ones(1), torch.ones(1)
    graph.increment_version(t for t in (x, y))
    assert (x._version, y._version) == (1, 1)
    with pytest.raises(RuntimeError, match=r"^increment_version expect a Iterable"):
        graph.increment_version(3)
    with pytest.raises(RuntimeError, match=r"^increment_version expects each element of the itera"):
        graph.increment_version([x, 3])
    if NAME != "torch":  # which counts the first all the same
        assert x._version == 1
