"""Tensor hooks, node hooks and post-accumulate hooks: order, replacement, removal, refusals."""

import re

import pytest

from _subject import torch


def starts(text: str) -> str:
    """A pattern for a message that begins with `text`."""
    return "^" + re.escape(text)


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_hook_sees_the_gradient():
    x = leaf(1.0, 2.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 3).sum().backward()
    assert seen == [[3.0, 3.0]] and x.grad.tolist() == [3.0, 3.0]


def test_hooks_run_in_order_of_registration_and_may_replace():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: (seen.append(("a", g.item())), g * 10)[1])
    y.register_hook(lambda g: (seen.append(("b", g.item())), None)[1])
    y.register_hook(lambda g: (seen.append(("c", g.item())), g + 1)[1])
    y.backward()
    assert seen == [("a", 1.0), ("b", 10.0), ("c", 10.0)]
    assert x.grad.item() == 22.0


def test_removal():
    x = leaf(1.0)
    seen = []
    handle = x.register_hook(lambda g: seen.append(1))
    (x * 2).backward()
    handle.remove()
    (x * 2).backward()
    assert seen == [1]


def test_what_a_hook_may_not_return():
    for value, error, text in (
        (3, TypeError, "expected Variable, but hook returned 'int'"),
        (torch.ones(2), RuntimeError, "hook '<lambda>' has changed the size of value"),
        (
            torch.ones(1, dtype=torch.float64),
            RuntimeError,
            "hook '<lambda>' has changed the type of value",
        ),
    ):
        x = leaf(1.0)
        x.register_hook(lambda g, value=value: value)
        with pytest.raises(error, match=starts(text)):
            (x * 2).sum().backward()


def test_no_hook_without_grad():
    with pytest.raises(
        RuntimeError,
        match=starts("cannot register a hook on a tensor that doesn't require gradient"),
    ):
        torch.ones(1).register_hook(print)


def test_hook_before_and_after_a_write_in_place():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("before", g.item())))
    y.mul_(5)
    y.register_hook(lambda g: seen.append(("after", g.item())))
    y.backward()
    assert seen == [("after", 1.0), ("before", 5.0)]


def test_post_accumulate_hook():
    x = leaf(1.0)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.item())))
    (x * 2).backward()
    (x * 2).backward()
    handle.remove()
    (x * 2).backward()
    assert seen == [(True, 2.0), (True, 4.0)]


def test_post_accumulate_hook_refusals():
    x = leaf(1.0)
    with pytest.raises(
        RuntimeError,
        match=starts("post accumulate grad hooks cannot be registered on non-leaf tensors"),
    ):
        (x * 2).register_post_accumulate_grad_hook(print)
    x.register_post_accumulate_grad_hook(lambda t: torch.ones(1))
    with pytest.raises(
        RuntimeError, match=starts("Tensor post accumulate grad hooks should return None.")
    ):
        (x * 2).backward()


def test_node_hooks():
    x = leaf(1.0, 2.0)
    y = x * 3
    seen = []
    y.grad_fn.register_prehook(lambda outs: seen.append(("pre", outs[0].tolist())))
    y.grad_fn.register_hook(
        lambda ins, outs: seen.append(("post", ins[0].tolist(), outs[0].tolist()))
    )
    y.sum().backward()
    assert seen == [("pre", [1.0, 1.0]), ("post", [3.0, 3.0], [1.0, 1.0])]


def test_node_hooks_may_replace():
    x = leaf(1.0)
    y = x * 3
    y.grad_fn.register_prehook(lambda outs: (outs[0] * 10,))
    y.grad_fn.register_hook(lambda ins, outs: (ins[0] + 1, None))
    y.backward()
    assert x.grad.item() == 31.0


def test_order_of_all_kinds():
    x = leaf(1.0)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    seen = []
    y.register_hook(lambda g: seen.append("tensor"))
    y.grad_fn.register_prehook(lambda outs: seen.append("node pre"))
    y.grad_fn.register_hook(lambda ins, outs: seen.append("node post"))
    x.register_hook(lambda g: seen.append("leaf tensor"))
    accumulator.register_prehook(lambda outs: seen.append("leaf pre"))
    accumulator.register_hook(lambda ins, outs: seen.append("leaf post"))
    x.register_post_accumulate_grad_hook(lambda t: seen.append("accumulated"))
    y.backward()
    assert seen == [
        "tensor", "node pre", "node post", "leaf tensor", "leaf pre", "accumulated", "leaf post",
    ]  # fmt: skip


def test_leaves_run_as_soon_as_they_are_ready():
    a, b = leaf(1.0), leaf(1.0)
    seen = []
    c = a * 2
    d = b * 3
    for name, tensor in (("a", a), ("b", b), ("c", c), ("d", d)):
        tensor.register_hook(lambda g, name=name: seen.append(name))
    (c + d).backward()
    assert seen == ["d", "b", "c", "a"]


def test_hooks_under_grad():
    x = leaf(1.0)
    seen = []
    x.register_hook(lambda g: (seen.append(1), g * 2)[1])
    (g,) = torch.autograd.grad(x * 3, x)
    assert seen == [1] and g.item() == 6.0 and x.grad is None


def test_hook_errors_keep_type_and_traceback():
    x = leaf(1.0)

    def broken(g):
        raise LookupError("in the hook")

    x.register_hook(broken)
    with pytest.raises(LookupError, match="in the hook") as caught:
        (x * 2).backward()
    assert any(entry.name == "broken" for entry in caught.traceback)


def test_backward_inside_a_hook():
    x, w = leaf(2.0), leaf(3.0)

    def nested(g):
        with torch.enable_grad():
            (w * w).backward()

    y = x * x
    y.register_hook(nested)
    y.backward()
    assert x.grad.item() == 4.0 and w.grad.item() == 6.0


def test_metadata_stays_with_the_node():
    y = leaf(1.0) * 2
    y.grad_fn.metadata["key"] = 5
    assert y.grad_fn.metadata == {"key": 5}


def test_the_hook_after_accumulation_is_shown_the_gradients_own_memory():
    x = leaf(1.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: (t.grad.neg_(), None)[1])
    accumulate = x.view_as(x).grad_fn.next_functions[0][0]
    accumulate.register_hook(lambda _, outputs: seen.append(outputs[0].item()))
    (x * 2).sum().backward()
    assert seen == [-2.0] and x.grad.item() == -2.0
    (x * 3).sum().backward()  # added to what is there: the incoming gradient stays as it came
    assert seen == [-2.0, 3.0] and x.grad.item() == -1.0


def test_the_table_of_a_tensors_hooks():
    from collections import OrderedDict

    x = leaf(1.0)
    assert x._backward_hooks is None and x._post_accumulate_grad_hooks is None
    handle = x.register_hook(lambda g: g * 2)
    assert type(x._backward_hooks) is OrderedDict and len(x._backward_hooks) == 1
    handle.remove()
    assert x._backward_hooks == OrderedDict()
    x._backward_hooks = OrderedDict({0: lambda g: g * 5})
    x.sum().backward()
    assert x.grad.item() == 5.0
    x._backward_hooks = None
    assert x._backward_hooks is None
    x.sum().backward()
    assert x.grad.item() == 6.0
    for name in ("_backward_hooks", "_post_accumulate_grad_hooks"):
        with pytest.raises(RuntimeError, match=r"^Deletion of _"):
            delattr(x, name)


def test_hooks_set_before_the_tensor_wants_a_gradient():
    x = torch.ones(1)
    x._backward_hooks = {0: lambda g: g * 2}
    x.requires_grad_().sum().backward()
    assert x.grad.item() == 2.0


def test_the_table_of_a_result_goes_with_its_value():
    x = leaf(1.0)
    y = x * 2
    assert y._backward_hooks is None
    y.register_hook(lambda g: seen.append(("before", g.item())))
    assert len(y._backward_hooks) == 1
    seen = []
    y.mul_(3)
    assert y._backward_hooks is None
    y.register_hook(lambda g: seen.append(("after", g.item())))
    assert len(y._backward_hooks) == 1
    y.sum().backward()
    assert seen == [("after", 1.0), ("before", 3.0)]


def test_the_table_of_hooks_after_accumulation():
    x = leaf(1.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(1))
    assert len(x._post_accumulate_grad_hooks) == 1
    x.sum().backward()
    x._post_accumulate_grad_hooks = {0: lambda t: seen.append(2)}
    x.sum().backward()
    assert seen == [1, 2]


class Stop(torch.autograd.Function):
    """Passes its second argument's gradient on and gives the first none."""

    @staticmethod
    def forward(ctx, x, y):
        return x * 2 + y

    @staticmethod
    def backward(ctx, g):
        return None, g


@pytest.mark.parametrize("kind", ["leaf", "result", "pre", "post"])
def test_no_hook_may_make_a_gradient_of_none(kind):
    x = leaf(1.0)
    y = x * 3
    if kind == "pre":
        y.grad_fn.register_prehook(lambda g: (torch.ones(1),))
    elif kind == "post":
        y.grad_fn.register_hook(lambda i, o: (torch.ones(1), None))
    else:
        (x if kind == "leaf" else y).register_hook(lambda g: torch.ones(1))
    with pytest.raises(RuntimeError, match=r"^can't replace a None gradient with a non-None value"):
        Stop.apply(y, leaf(1.0)).sum().backward()


def test_hooks_of_a_leaf_that_gets_no_gradient():
    x, y, seen = leaf(1.0), leaf(1.0), []
    x.register_hook(lambda g: seen.append(("tensor", g)))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("accumulated", t.grad)))
    node = x.view_as(x).grad_fn.next_functions[0][0]
    node.register_prehook(lambda g: seen.append(("pre", g)))
    node.register_hook(lambda i, o: seen.append(("post", o)))
    Stop.apply(x, y).sum().backward()
    assert seen == [("tensor", None), ("pre", (None,)), ("accumulated", None), ("post", (None,))]
    assert x.grad is None and y.grad.item() == 1.0


def test_hooks_of_several_outputs_run_in_order_of_registration():
    a, b = leaf(1.0, 2.0).unbind()
    seen = []
    b.register_hook(lambda g: seen.append("b"))
    a.register_hook(lambda g: seen.append("a"))
    (a * b).backward()
    assert seen == ["b", "a"]


def test_a_refused_multi_grad_hook_leaves_nothing_behind():
    a, plain, seen = leaf(1.0), torch.ones(1), []
    register = torch.autograd.graph.register_multi_grad_hook
    with pytest.raises(AssertionError, match=r"^Expected gradient function to be set"):
        register((a, plain), seen.append)
    register((plain, a), lambda g: seen.append(g.item()), mode="any")
    (a * 2).sum().backward()
    assert seen == [2.0]
