"""Writes in place and the graph: refusals (leaf, view of leaf), version checks, rebased history."""

import math
import re

import pytest

from _subject import NAME, torch


def starts(text: str) -> str:
    """A pattern for a message that begins with `text`."""
    return "^" + re.escape(text)


LEAF = starts("a leaf Variable that requires grad is being used in an in-place operation.")
VIEW = starts(
    "a view of a leaf Variable that requires grad is being used in an in-place operation."
)
CHANGED = starts(
    "one of the variables needed for gradient computation has been modified by an inplace operation"
)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.mul_(2.0),
        lambda x: x.zero_(),
        lambda x: x.copy_(torch.zeros(3)),
        lambda x: x.fill_(2),
        lambda x: x.clamp_(0, 1),
        lambda x: x.relu_(),
        lambda x: x.normal_(),
        lambda x: x.__iadd__(1),
        lambda x: x.masked_fill_(torch.ones(3).bool(), 0),
        lambda x: x.index_fill_(0, torch.tensor([0]), 1),
    ],
)
def test_leaf_cannot_be_written(write):
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=LEAF):
        write(x)
    assert x.tolist() == [1.0, 1.0, 1.0] and x._version == 0


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[0].add_(1),
        lambda x: x.view(3).mul_(2),
        lambda x: x[:2].zero_(),
        lambda x: x.unsqueeze(0).fill_(1),
    ],
)
def test_view_of_a_leaf_cannot_be_written(write):
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=VIEW):
        write(x)
    assert x.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(0, 5.0),
        lambda x: x.__setitem__(torch.tensor([0]), 5.0),
        lambda x: x.__setitem__(x > 0, 5.0),
    ],
)
def test_assignment_to_a_leaf(write):
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=f"{LEAF}|{VIEW}"):
        write(x)
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_saved_result_was_changed():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=CHANGED) as caught:
        y.sum().backward()
    assert (
        "operation: [torch.FloatTensor [3]], which is output 0 of Exp, is at version 1; expected "
        "version 0 instead." in str(caught.value)
    )


def test_saved_input_was_changed():
    w = torch.ones(3, requires_grad=True)
    c = torch.ones(3)
    y = w * c
    c.mul_(2)
    with pytest.raises(RuntimeError, match=CHANGED) as caught:
        y.sum().backward()
    # A leaf was made by no operation, so none is named.
    assert "[torch.FloatTensor [3]] is at version 1; expected version 0" in str(caught.value)
    assert w.grad is None


def test_saved_input_was_changed_through_a_view():
    w = torch.ones(3, requires_grad=True)
    c = torch.ones(3)
    y = w * c
    c[0] = 5.0
    with pytest.raises(RuntimeError, match=CHANGED):
        y.sum().backward()


def test_saved_leaf_was_changed_under_no_grad():
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    with torch.no_grad():
        w.sub_(0.1)
    with pytest.raises(RuntimeError, match=CHANGED):
        loss.backward()


def test_change_through_data_is_not_seen():
    w = torch.ones(2, requires_grad=True)
    loss = (w * w).sum()
    w.data.mul_(3)
    loss.backward()
    assert w.grad.tolist() == [6.0, 6.0]


def test_changing_what_is_not_saved_is_fine():
    w = torch.ones(3, requires_grad=True)
    y = w * 2
    y.add_(1)
    y.sum().backward()
    assert w.grad.tolist() == [2.0, 2.0, 2.0]


def test_change_after_backward_is_fine():
    w = torch.ones(3, requires_grad=True)
    y = w.exp()
    y.sum().backward()
    y.detach().zero_()
    assert torch.allclose(w.grad, torch.full((3,), 2.7182817))


def test_in_place_chain():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    first = y.grad_fn
    y.add_(1).mul_(3)
    assert type(y.grad_fn).__name__ == "MulBackward0" and y.grad_fn is not first
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_relu_in_place():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    y = (x * 3).relu_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]


def test_assignment_into_a_plain_tensor_makes_it_part_of_the_graph():
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.zeros(3)
    y[1] = x
    assert y.requires_grad and type(y.grad_fn).__name__ == "CopySlices"
    (y * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.item() == 10.0


def test_write_through_a_view_reaches_the_base():
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    y[:2].mul_(10)
    assert type(y.grad_fn).__name__ == "CopySlices"
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 20.0, 2.0, 2.0]


def test_view_follows_a_write_to_its_base():
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    view = y[1:3]
    y.mul_(5)
    assert view.tolist() == [10.0, 10.0]
    view.sum().backward()
    assert x.grad.tolist() == [0.0, 10.0, 10.0, 0.0]


def test_overwritten_elements_get_no_gradient():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y[1] = 7.0
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 2.0]


def test_filling_cuts_the_graph():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_outputs_of_split_cannot_be_written():
    x = torch.ones(4, requires_grad=True)
    first, _ = (x * 2).split(2)
    with pytest.raises(
        RuntimeError,
        match=r"^Output 0 of \w+ is a view and is being modified inplace. This view is the output "
        r"of a function that returns multiple views",
    ):
        first.add_(1)


def test_outputs_of_split_can_be_written_without_grad():
    x = torch.ones(4)
    first, _ = x.split(2)
    first.add_(1)
    assert x.tolist() == [2.0, 2.0, 1.0, 1.0]


def test_expanded_memory_cannot_be_written():
    with pytest.raises(
        RuntimeError,
        match=starts(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location."
        ),
    ):
        torch.ones(1).expand(3).add_(1)


def test_version_counter():
    x = torch.ones(4)
    assert x._version == 0
    x.add_(1)
    x[0] = 2
    x.zero_()
    assert x._version == 3
    view = x[1:]
    view.fill_(3)
    assert x._version == view._version == 4
    assert x.detach()._version == 4 and x.clone()._version == 0


def test_views_know_their_base():
    x = torch.ones(4)
    view = x[1:][0:2]
    assert view._is_view() and view._base is x
    assert not x._is_view() and x._base is None
    assert not x.clone()._is_view()


def test_refused_write_changes_nothing():
    x = torch.arange(3.0)
    for write in (
        lambda: x.add_(torch.ones(4)),
        lambda: x.copy_(torch.ones(2)),
        lambda: x.__setitem__(5, 1.0),
        lambda: x.add_("a"),
        lambda: x.mul_(torch.ones(3, dtype=torch.complex64)),
        lambda: torch.add(x, 1, out=torch.ones(3, dtype=torch.int64)),
    ):
        with pytest.raises((RuntimeError, IndexError, TypeError)):
            write()
        assert x.tolist() == [0.0, 1.0, 2.0]


def test_out_with_grad():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError,
        match=starts(
            "add(): functions with out=... arguments don't support automatic differentiation, but "
            "one of the arguments requires grad."
        ),
    ):
        torch.add(x, 1, out=torch.ones(2))


def stale_part():
    """A part of a split whose whole was written since: its history cannot be known."""
    x = torch.ones(4, requires_grad=True)
    whole = x * 1
    first, _ = whole.split(2)
    whole.mul_(2)
    return first


STALE_PART = starts(
    "Output 0 of Split is a view and its base or another view of its base has been modified "
    "inplace. This view is the output of a function that returns multiple views."
)


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t.grad_fn,
        lambda t: t.is_leaf,
        lambda t: t * 2,
        lambda t: t.retain_grad(),
        lambda t: t.register_hook(print),
        lambda t: torch.autograd.graph.get_gradient_edge(t),
    ],
)
def test_history_of_a_stale_part_is_refused(use):
    with pytest.raises(RuntimeError, match=STALE_PART):
        use(stale_part())


def test_history_of_a_stale_part_is_refused_under_no_grad_too():
    part = stale_part()
    with torch.no_grad(), pytest.raises(RuntimeError, match=STALE_PART):
        part.grad_fn  # noqa: B018


def test_what_needs_no_history_can_be_asked_of_a_stale_part():
    part = stale_part()
    assert part.requires_grad_() is part and part.requires_grad
    assert part.tolist() == [2.0, 2.0] and not part.detach().requires_grad
    assert repr(part) == "tensor([2., 2.], grad_fn=<Invalid>)"
    with torch.no_grad():
        assert (part * 2).tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match=r"^you can only change requires_grad flags of leaf"):
        part.requires_grad = False


def test_leaf_that_became_a_result_after_its_use():
    x = torch.ones(3, requires_grad=True)
    leaf = torch.zeros(3, requires_grad=True)
    called = []
    leaf.register_hook(called.append)
    loss = (leaf * 2 + x).sum()
    leaf.detach_()
    leaf.mul_(x)
    with pytest.raises(
        RuntimeError, match=starts("leaf variable has been moved into the graph interior")
    ):
        loss.backward()
    # Its hooks went with the leaf that it was.
    assert leaf.grad is None and not called


def test_leaf_that_stopped_to_want_a_gradient_gets_none():
    x = torch.ones(3, requires_grad=True)
    leaf = torch.zeros(3, requires_grad=True)
    loss = (leaf * 2 + x).sum()
    leaf.requires_grad_(False)
    loss.backward()
    assert leaf.grad is None and x.grad.tolist() == [1.0, 1.0, 1.0]


CUT = starts("Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().")


def test_saved_tensor_that_was_cut_and_changed():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    loss = (y * y).sum()
    y.detach_()
    y.zero_()
    with pytest.raises(RuntimeError, match=CUT):
        loss.backward()


def test_saved_view_made_under_no_grad_and_changed():
    x = torch.ones(4, requires_grad=True)
    whole = torch.zeros(4)
    with torch.no_grad():
        part = whole[:2]
    loss = (part * x[:2]).sum()
    whole.copy_(x)  # now the part would need a history
    with pytest.raises(
        RuntimeError,
        match=starts(
            "A view was created in no_grad mode and its base or another view of its base has been "
            "modified inplace with grad mode enabled."
        ),
    ):
        loss.backward()


SHARED = starts(
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location."
)
OVERLAPPING = starts(
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location."
)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[:4].add_(x[1:5]),  # two blocks that share some elements
        lambda x: x[:4].view(2, 2).mul_(x[:4].view(2, 2).t()),  # one block, another order
        lambda x: x[:4].view(1, 4).add_(x[:4]),  # one block, another shape
        lambda x: x[:4].copy_(x[1:5]),
        lambda x: torch.add(x[1:5], 1, out=x[:4]),
        lambda x: x.index_add_(0, torch.arange(8), x),
        lambda x: x.scatter_(0, torch.arange(8), x.detach()),
        lambda x: x.__setitem__(torch.arange(8), x),
        lambda x: torch.cat([x[:4]], out=x[:4]),
    ],
)
def test_argument_in_the_written_memory_is_refused(write):
    x = torch.arange(8.0)
    with pytest.raises(RuntimeError, match=SHARED):
        write(x)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0] and x._version == 0


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda x: x.add_(x.detach()), [0.0, 2.0, 4.0, 6.0]),
        (lambda x: x.copy_(x.view(4)), [0.0, 1.0, 2.0, 3.0]),
        (lambda x: x.fill_(x[2]), [2.0, 2.0, 2.0, 2.0]),
        (lambda x: x.__setitem__(slice(None), x[3]), [3.0, 3.0, 3.0, 3.0]),
        (lambda x: x.__setitem__(slice(0, 2), x[1]), [1.0, 1.0, 2.0, 3.0]),
        (lambda x: x.__setitem__(slice(0, 2), x[1:2]), [1.0, 1.0, 2.0, 3.0]),
        (lambda x: x.masked_fill_(x > 1, x[1]), [0.0, 1.0, 1.0, 1.0]),
        (lambda x: x.__setitem__(x > 1, x[1]), [0.0, 1.0, 1.0, 1.0]),
    ],
)
def test_argument_in_the_written_memory_is_read_first(write, expected):
    x = torch.arange(4.0)
    write(x)
    assert x.tolist() == expected and x._version == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.zero_(),
        lambda x: x.fill_(0),
        lambda x: x.masked_fill_(torch.ones(3).bool(), 0.0),
        lambda x: x.index_fill_(0, torch.tensor([1]), 0.0),
        lambda x: x.__setitem__(torch.tensor([1]), 0.0),
    ],
)
@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors is deprecated")
def test_one_value_can_be_written_to_expanded_memory(write):
    x = torch.ones(1)
    write(x.expand(3))
    assert x.tolist() == [0.0]


def test_copying_expanded_memory_to_itself_is_nothing():
    x = torch.ones(1)
    x.expand(3).copy_(x.expand(3))
    assert x.tolist() == [1.0] and x._version == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.fill_(torch.tensor(0.0)),
        lambda x: x.__setitem__(slice(None), 0.0),
        lambda x: x.copy_(torch.zeros(3)),
        lambda x: x.normal_(),
    ],
)
def test_expanded_memory_is_refused(write):
    x = torch.ones(1)
    with pytest.raises(RuntimeError, match=OVERLAPPING):
        write(x.expand(3))
    assert x.tolist() == [1.0] and x._version == 0


def test_assigned_value_is_spread_by_two_views():
    y = torch.ones(3, requires_grad=True)
    x = torch.zeros(2, 3)
    x[:] = y
    node, names = x.grad_fn, []
    while node is not None:
        names.append(type(node).__name__)
        node = next((n for n, _ in node.next_functions if n is not None), None)
    assert names[-3:] == ["ExpandBackward0", "ViewBackward0", "AccumulateGrad"]
    x.sum().backward()
    assert y.grad.tolist() == [2.0, 2.0, 2.0]


def test_assigning_a_stale_view_is_refused_before_its_shape():
    x = torch.ones(4, requires_grad=True)
    whole = torch.zeros(4)
    with torch.no_grad():
        part = whole[:2]
    whole.copy_(x)
    with pytest.raises(RuntimeError, match=r"^A view was created in no_grad mode and its base"):
        torch.zeros(3)[0] = part


def node_names(node):
    return [None if n is None else type(n).__name__ for n, _ in node.next_functions]


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda v, w: v.mul_(w), ["MulBackward0", "AccumulateGrad"]),
        (lambda v, w: v.mul_(2), ["MulBackward0", None]),
        (lambda v, w: v.exp_(), ["MulBackward0"]),
        (lambda v, w: v.copy_(w), ["MulBackward0", "AccumulateGrad"]),
        (lambda v, w: v.__setitem__(0, 2.0), ["MulBackward0", None]),
        (lambda v, w: v.zero_(), ["MulBackward0"]),
    ],
)
def test_copy_slices_has_the_edges_of_the_write(write, expected):
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    write(y[:2], torch.ones(2, requires_grad=True))
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    assert node_names(y.grad_fn) == expected


class Doubled(torch.autograd.Function):
    """Doubles its last argument in place."""

    @staticmethod
    def forward(ctx, *args):
        args[-1].mul_(2)
        ctx.mark_dirty(args[-1])
        return args[-1]

    @staticmethod
    def backward(ctx, g):
        return (*[None] * (len(ctx.needs_input_grad) - 1), g * 2)


def test_function_that_writes_a_view_adds_no_edge():
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    Doubled.apply(y[1:3])
    assert node_names(y.grad_fn) == ["MulBackward0"]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 2.0, 1.0]


@pytest.mark.skipif(NAME == "torch", reason="PyTorch sends these gradients to the wrong places")
def test_function_that_writes_its_second_argument_a_view():
    x = torch.ones(4, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    y = x * 1
    Doubled.apply(w, y[1:3])
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 2.0, 1.0] and w.grad is None


def test_copy_slices_cannot_be_run_again():
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    y[:2].mul_(3)  # saves nothing
    loss = y.sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.tolist() == [6.0, 6.0, 2.0, 2.0]
    with pytest.raises(
        RuntimeError, match=starts("Trying to backward through the graph a second time")
    ):
        loss.backward()


def test_second_derivative_through_writes_to_views():
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    y = x * 1
    y[:2].pow_(3)
    y[2].exp_()
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(g, torch.tensor([3.0, 12.0, math.exp(3)], dtype=torch.float64))
    assert torch.allclose(h, torch.tensor([6.0, 12.0, math.exp(3)], dtype=torch.float64))


def test_call_of_copy_slices():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    y[:2].mul_(3)
    first, second = y.grad_fn(torch.ones(3))
    assert first.tolist() == [3.0, 3.0, 1.0] and second is None


def test_root_and_view_retain_the_gradient_of_their_new_values():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    y.retain_grad()
    view = y[:2]
    view.retain_grad()
    view.mul_(3)  # the root gets a new history
    y.mul_(5)  # the view gets a new history
    (view * 2).sum().backward()
    assert view.grad.tolist() == [2.0, 2.0]
    assert y.grad.tolist() == [2.0, 2.0, 0.0]
    assert x.grad.tolist() == [30.0, 30.0, 0.0]


def test_hooks_of_the_value_before_a_write():
    seen = []
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    view = y[:2]
    y.register_hook(lambda g: seen.append(("root before", g.tolist())))
    view.register_hook(lambda g: seen.append(("view before", g.tolist())))
    view.mul_(3)
    y.register_hook(lambda g: seen.append(("root after", g.tolist())))
    view.register_hook(lambda g: seen.append(("view after", g.tolist())))
    (y.sum() + view.sum()).backward()
    # The view as it was is no node of the graph: the root as it was gets its gradient.
    assert seen == [
        ("view after", [1.0, 1.0]),
        ("root after", [2.0, 2.0, 1.0]),
        ("root before", [6.0, 6.0, 1.0]),
    ]


def test_writing_the_parts_of_a_complex_tensor():
    x = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    y = x * 1
    y.real.mul_(2)
    y.imag.add_(3)
    y.imag[0].zero_()
    assert y.tolist() == [2 + 0j, 2 + 3j]
    (y.real * 5 + y.imag * 7).sum().backward()
    assert x.grad.tolist() == [10 + 0j, 10 + 7j]


def test_writing_pairs_of_numbers_as_complex():
    x = torch.ones(2, 2, requires_grad=True)
    y = x * 1
    pairs = torch.view_as_complex(y)
    pairs.mul_(1j)  # (a, b) becomes (-b, a)
    assert y.tolist() == [[-1.0, 1.0], [-1.0, 1.0]]
    (y * torch.tensor([[1.0, 10.0], [100.0, 1000.0]])).sum().backward()
    assert x.grad.tolist() == [[10.0, -1.0], [1000.0, -100.0]]


def test_stale_argument_is_refused_before_shared_memory():
    x = torch.ones(4, requires_grad=True)
    whole = torch.zeros(4)
    with torch.no_grad():
        part = whole[1:3]
    whole.copy_(x)
    with pytest.raises(RuntimeError, match=r"^A view was created in no_grad mode and its base"):
        whole[:2].mul_(part)
    assert whole.tolist() == [1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda y: y.fill_(2.0), "Fill2"),
        (lambda y: y[:1].exp_(), "torch::autograd::CopySlices"),
        (lambda y: y.exp_(), "Exp"),
        (lambda y: y.copy_(torch.ones(3)), "torch::autograd::CopyBackwards"),
        (lambda y: y.add_(1), "Add"),
    ],
)
def test_name_of_what_made_a_changed_value(write, name):
    w = torch.ones(3, requires_grad=True)
    y = w * 1
    write(y)
    loss = (w * y).sum()
    y.zero_()
    y.detach_()  # which is said first
    with pytest.raises(RuntimeError, match=CUT):
        loss.backward()
    y = w * 1
    write(y)
    loss = (w * y).sum()
    with torch.no_grad():
        y.zero_()
    with pytest.raises(RuntimeError, match=rf", which is output 0 of {name}, is at version"):
        loss.backward()


def test_result_that_leads_nowhere_is_looked_at():
    x = torch.ones(3, requires_grad=True) * 1
    with torch.no_grad():
        part = x[:2]  # says that it wants a gradient, but none flows to it
    y = part.sigmoid()
    y.zero_()
    with pytest.raises(RuntimeError, match=CHANGED):
        y.sum().backward()


class Parts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:1], x[1:]

    @staticmethod
    def backward(ctx, g, h):
        return torch.cat([g, h])


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


MANY = "This view is the output of a function that returns multiple views"


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: Parts.apply(x * 1)[0], rf"^Output 0 of Parts is a view and is being.*{MANY}"),
        (lambda x: Same.apply(x * 1), r"^Output 0 of Same is a view and is being.*custom Function"),
        (
            lambda x: Parts.apply(torch.zeros(3))[0],
            r"^A view was created in no_grad mode and is being modified inplace.*custom Function",
        ),
        (
            lambda x: Same.apply(torch.zeros(3)).view(3),
            r"^A view was created in no_grad mode and is being modified inplace.*custom Function",
        ),
    ],
)
def test_views_that_a_function_made_cannot_be_written(make, expected):
    x = torch.ones(3, requires_grad=True)
    view = make(x)
    with pytest.raises(RuntimeError, match=expected):
        view.mul_(x[: len(view)])
    assert view._version == 0


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: x, starts("a leaf Variable that requires grad has been used in an in-place")),
        (lambda x: x[:2], VIEW),
        (lambda x: (x * 1).split(2)[0], r"^Output 0 of Split is a view and is being modified"),
    ],
)
def test_what_a_function_may_not_write(make, expected):
    given = make(torch.ones(4, requires_grad=True))
    with pytest.raises(RuntimeError, match=expected):
        Doubled.apply(given)


def test_saved_input_of_a_function_may_be_cut_off():
    class Cubed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    x = torch.full((2,), 2.0, requires_grad=True)
    y = x * 1
    z = Cubed.apply(y)
    y.detach_()
    z.sum().backward()
    assert x.grad.tolist() == [12.0, 12.0]


def test_inference_tensors_have_no_views():
    with torch.inference_mode():
        x = torch.ones(3)
        part = x[:2]
        part.add_(1)
    outside = x[1:]
    for view in (part, outside):
        assert view.is_inference() and not view._is_view() and view._base is None
        with pytest.raises(RuntimeError, match=starts("Inference tensors do not track version")):
            view._version  # noqa: B018
        with pytest.raises(RuntimeError, match=starts("Inplace update to inference tensor")):
            view.add_(1)
    if NAME != "torch":  # which says it after the write
        assert x.tolist() == [2.0, 2.0, 1.0]


def test_what_is_detached_from_an_inference_tensor_can_be_written():
    with torch.inference_mode():
        x = torch.ones(3)
        inside = x.detach()
    outside = x.detach()
    outside.add_(1)
    assert outside.is_inference() and outside._version == 1 and x.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match=starts("Inplace update to inference tensor")):
        inside.add_(1)


def test_view_of_a_view_made_in_inference_mode():
    x = torch.ones(4, requires_grad=True)
    whole = x * 1
    with torch.inference_mode():
        part = whole[:2]
    first, _ = part.split(1)
    with pytest.raises(
        RuntimeError,
        match=starts("Output 0 of Split is a view of a view which was created in inference mode"),
    ):
        first.add_(1)


def test_detach_in_place_does_nothing_in_inference_mode():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    with torch.inference_mode():
        assert y.detach_() is y and y[:2].detach_() is not None
    assert y.requires_grad and type(y.grad_fn).__name__ == "MulBackward0"


def test_out_that_is_an_argument_keeps_its_size():
    x = torch.ones(3)
    with pytest.raises(
        RuntimeError, match=starts("output with shape [3] doesn't match the broadcast shape [2, 3]")
    ):
        torch.mul(x, torch.ones(2, 3), out=x)
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_reshaping_a_view_in_place_leaves_its_root():
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 1
    view = y[:, 1:]
    view.t_()
    assert type(y.grad_fn).__name__ == "MulBackward0"
    assert type(view.grad_fn).__name__ == "TBackward1" and view._base is y
    assert view.shape == (2, 2) and view._version == y._version == 1
    y.mul_(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))  # the view is remade in its new shape
    (view * torch.tensor([[1.0, 10.0], [100.0, 1000.0]])).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 300.0], [0.0, 50.0, 6000.0]]


def test_what_t_in_place_says_of_three_dimensions():
    with pytest.raises(
        RuntimeError, match=r"^t_\(\) expects a tensor with <= 2 dimensions, but se"
    ):
        torch.ones(1, 1, 1).t_()


def test_zeros_like_expanded_memory_are_contiguous():
    assert torch.zeros_like(torch.ones(1, 3).expand(2, 3)).stride() == (3, 1)


def test_expanded_out_is_refused_before_its_shape():
    with pytest.raises(RuntimeError, match=OVERLAPPING):
        torch.add(torch.ones(4), torch.ones(4), out=torch.ones(1).expand(3))


def test_expanded_memory_can_be_reshaped_in_place():
    x = torch.ones(1).expand(3)
    assert x.unsqueeze_(0).shape == (1, 3)
    with torch.inference_mode():
        y = torch.ones(2, 1)
    with pytest.raises(RuntimeError, match=starts("Inplace update to inference tensor")):
        y.t_()


def test_leaf_that_lost_its_flag_and_its_shape_gets_no_gradient():
    x = torch.ones(2, requires_grad=True)
    leaf = torch.ones(2, requires_grad=True)
    loss = (leaf * 2 + x).sum()
    leaf.requires_grad_(False)
    leaf.unsqueeze_(0)
    loss.backward()
    assert leaf.grad is None and x.grad.tolist() == [1.0, 1.0]


def test_a_gradient_passes_views_whose_history_was_remade_late():
    """The second write asks for the view's history, which is newer than the write's own node."""

    def f(x):
        y = x * 1
        rest = y[1:]
        rest[0] = 0.7
        rest[0] = rest[0] * 1
        return y.sum()

    x = torch.tensor([0.3, -0.7, 0.9], requires_grad=True)
    assert torch.autograd.grad(f(x), x)[0].tolist() == [1, 0, 1]
    f(x).backward(inputs=[x])
    assert x.grad.tolist() == [1, 0, 1]
    assert torch.func.grad(f)(x.detach()).tolist() == [1, 0, 1]
    y = x * 1
    late = y[1:]
    y[0] = 1.0
    scaled = late * torch.tensor([2.0, 3.0])
    assert torch.autograd.grad(scaled.sum() + y.sum(), x)[0].tolist() == [0, 3, 4]


def test_a_saved_value_that_was_cut_off_names_the_node_that_asks():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    x = torch.ones(2, requires_grad=True)
    y = x * 1
    z = Cube.apply(y)
    y.detach_()
    y.add_(1)
    with pytest.raises(RuntimeError, match="is output 0 of Cube, is at version 1; expected"):
        z.sum().backward()


# set_ and resize_


def test_set_parts_a_leaf_from_what_was_recorded_of_it():
    x = torch.ones(3, requires_grad=True)
    before = (x * 2).sum()
    with torch.no_grad():
        x.set_(torch.zeros(3))
    assert x.is_leaf and x.requires_grad and x._version == 1
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(before, x, retain_graph=True)
    after = (x * 3).sum()
    after.backward()
    assert x.grad.tolist() == [3.0] * 3


def test_data_of_another_type_parts_a_leaf_from_what_was_recorded_of_it():
    x = torch.ones(3, requires_grad=True)
    before = (x * 2).sum()
    x.data = torch.ones(3, dtype=torch.float64)
    assert torch.autograd.grad(before, x, allow_unused=True) == (None,)
    (g,) = torch.autograd.grad((x * 3).sum(), x)
    assert g.dtype is torch.float64


def test_set_under_a_graph():
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^a leaf Variable that requires grad"):
        x.set_(torch.zeros(3))
    y = x * 2
    z = torch.ones(3).set_(x)
    for t in (y.set_(torch.zeros(2)), z):
        assert t.requires_grad and t._version == 1
        with pytest.raises(RuntimeError, match=r"^derivative for set_ is not implemented"):
            t.sum().backward()
    assert x.grad is None and x.tolist() == [1.0] * 3


def test_what_set_takes():
    base = torch.arange(6.0)
    t = torch.ones(1)
    assert t.set_(base, 1, (2, 2)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert t.set_(base.untyped_storage() if NAME != "torch" else base, 0, (2,), (3,)).tolist() == [
        0.0,
        3.0,
    ]
    t[0] = 9.0
    assert base[0] == 9.0
    assert t.set_().shape == (0,) and t._version == 4
    with pytest.raises(RuntimeError, match=r"^Could not set tensor of type double to a tensor of"):
        t.set_(torch.ones(1, dtype=torch.float64))
    for wrong in ((3,), (base, 1), (base, 1, 2)):
        with pytest.raises(TypeError, match=r"^set_\(\) received an invalid combination"):
            t.set_(*wrong)


def test_resize_counts_as_a_write_where_the_size_changes():
    x = torch.ones(2, 3)
    versions = [x.resize_(*size)._version for size in ((3, 2), (3, 2), (4, 4), (4, 4), (2,))]
    assert versions == [1, 1, 2, 2, 3]
    assert x.resize_as_(torch.ones(5))._version == 4
    s = torch.ones(3)
    y = (torch.ones(3, requires_grad=True) * s).sum()
    s.resize_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_resize_in_inference_mode():
    x = torch.ones(3, requires_grad=True)
    for resize in (lambda t: t.resize_(2), lambda t: t.resize_as_(torch.ones(2))):
        with pytest.raises(RuntimeError, match=r"^cannot resize variables that require grad"):
            resize(x)
    with torch.inference_mode():
        made = torch.ones(3, requires_grad=True)
        assert made.resize_(2).shape == made.resize_as_(torch.ones(2)).shape == (2,)
        assert x.resize_(2).shape == (2,) and x._version == 1
    with pytest.raises(RuntimeError, match=r"^Inplace update to inference tensor outside"):
        made.resize_(3)


def test_what_resize_takes():
    x = torch.ones(3)
    for given, text in ((("a",), "str"), ((2.5,), "float")):
        text = f"resize_(): argument 'size' (position 1) must be tuple of ints, not {text}"
        with pytest.raises(TypeError, match="^" + re.escape(text)):
            x.resize_(*given)
    with pytest.raises(TypeError, match=r"^resize_\(\) missing 1 required positional arg"):
        x.resize_()
