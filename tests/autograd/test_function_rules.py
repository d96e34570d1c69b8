"""Custom Functions: what ctx offers, what forward and backward may give,
inputs changed or returned."""

import gc
import re
import warnings
import weakref

import pytest

from _subject import NAME, torch


def make(forward, backward=None, name="F", **members):
    members["forward"] = staticmethod(forward)
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type(name, (torch.autograd.Function,), members)


def leaf(*values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def grads(y, x, **options):
    (g,) = torch.autograd.grad(y.sum(), x, **options)
    return None if g is None else g.tolist()


def test_the_node_is_ctx_and_keeps_its_attributes():
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.kept = "anything"
        return x * factor

    x = leaf()
    y = make(forward, lambda ctx, g: (g * ctx.factor, None)).apply(x, 5)
    node = y.grad_fn
    assert node.kept == "anything" and node.factor == 5
    assert type(node).__name__ == "FBackward" and node.name() == "FBackward"
    assert node is y.grad_fn and node.next_functions[0][0].variable is x
    assert re.match(r"<torch\.autograd\.function\.FBackward object at", repr(node))
    assert grads(y, x) == [5, 5, 5]


def test_next_functions_and_needs_input_grad():
    y = make(lambda ctx, a, b, c: a * b, lambda ctx, g: (g, None, None)).apply(
        leaf(), 2, torch.ones(3)
    )
    assert y.grad_fn.needs_input_grad == (True, False, False)
    assert [n is None for n, _ in y.grad_fn.next_functions] == [False, True]


def test_needs_input_grad_is_readable_in_forward():
    seen = []

    def forward(ctx, a, b):
        seen.append(ctx.needs_input_grad)
        return a * b

    f = make(forward, lambda ctx, g: (g, None))
    f.apply(leaf(), torch.ones(3))
    with torch.no_grad():
        f.apply(leaf(), 3)
    assert seen == [(True, False), (True, False)]


def test_forward_runs_without_recording():
    modes = []
    make(lambda ctx, x: (modes.append(torch.is_grad_enabled()), x * 1)[1]).apply(leaf())
    assert modes == [False] and torch.is_grad_enabled()


def test_setup_context():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(a, b):
            return a * b

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    x, y = leaf(), torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
    gx, gy = torch.autograd.grad(Product.apply(x, y).sum(), (x, y))
    assert gx.tolist() == y.tolist() and gy.tolist() == x.tolist()


def test_vjp_is_another_name_of_backward():
    x = leaf()
    y = make(lambda ctx, a: a * 2, vjp=staticmethod(lambda ctx, g: g * 2)).apply(x)
    assert grads(y, x) == [2, 2, 2]


def test_classmethods():
    class Twice(torch.autograd.Function):
        @classmethod
        def forward(cls, ctx, x):
            return x * 2

        @classmethod
        def backward(cls, ctx, g):
            return g * 2

    x = leaf()
    assert grads(Twice.apply(x), x) == [2, 2, 2]


def test_keyword_arguments_go_by_the_signature():
    def forward(ctx, a, k=2):
        return a * k

    x = leaf()
    f = make(forward, lambda ctx, g: (g, g * 7))
    assert f.apply(torch.ones(3), k=5).tolist() == [5, 5, 5]
    assert grads(f.apply(a=torch.ones(3), k=x), x) == [7, 7, 7]
    with pytest.raises(TypeError, match=r"^forward\(\) got an unexpected keyword argument 'z'"):
        f.apply(x, z=5)


def test_outputs_that_are_no_tensors_pass():
    y, n, s, none = make(lambda ctx, x: (x * 2, 3, "s", None)).apply(leaf())
    assert y.requires_grad and (n, s, none) == (3, "s", None)
    out = make(lambda ctx, x: [x * 2]).apply(leaf())
    assert isinstance(out, list) and not out[0].requires_grad
    assert make(lambda ctx, x: None).apply(leaf()) is None


def test_integer_outputs_are_not_differentiable():
    y, index = make(lambda ctx, x: (x * 2, torch.ones(2, dtype=torch.int64))).apply(leaf())
    assert y.requires_grad and not index.requires_grad


def test_extra_nones_are_fine_and_lists_are_not_gradients():
    x = leaf()
    assert grads(make(lambda c, a: a * 1, lambda c, g: (g, None, None)).apply(x), x) == [1, 1, 1]
    none = make(lambda c, a: a * 1, lambda c, g: None).apply(x)
    assert grads(none, x, allow_unused=True) is None


def test_gradients_are_fitted_to_the_input():
    x = leaf()
    y = make(lambda c, a: a * 1, lambda c, g: torch.ones(2, 3)).apply(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert grads(y, x) == [2, 2, 2]
    if NAME != "torch":
        assert "it is summed to the input's shape" in str(caught[0].message)
    y = make(lambda c, a: a * 1, lambda c, g: g.double()).apply(x)
    (g,) = torch.autograd.grad(y.sum(), x)
    assert g.dtype is torch.float32


def test_materialized_gradients():
    seen = []

    def backward(ctx, g, h):
        seen.append(h)
        return g

    x = leaf()
    grads(make(lambda c, a: (a * 1, a * 2), backward).apply(x)[0], x)
    assert seen.pop().tolist() == [0, 0, 0]

    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 1, a * 2

    grads(make(forward, backward).apply(x)[0], x)
    assert seen.pop() is None


def test_non_differentiable_outputs_get_zeros():
    seen = []

    def forward(ctx, a):
        b = a * 2
        ctx.mark_non_differentiable(b)
        return a * 1, b

    x = leaf()
    y, z = make(forward, lambda ctx, g, h: (seen.append(h.tolist()), g)[1]).apply(x)
    assert y.requires_grad and not z.requires_grad
    assert grads(y, x) == [1, 1, 1] and seen == [[0, 0, 0]]


def test_zeros_for_non_differentiable_outputs_can_be_left_out():
    seen = []

    def forward(ctx, a):
        ctx._materialize_non_diff_grads = False
        b = a * 2
        ctx.mark_non_differentiable(b)
        return a * 1, b, a.long(), a * 3

    y = make(forward, lambda ctx, *g: (seen.extend(g), g[0])[1]).apply(leaf())[0]
    y.sum().backward()
    assert [None if g is None else g.tolist() for g in seen] == [[1, 1, 1], None, None, [0, 0, 0]]


def test_an_input_marked_non_differentiable_comes_back_detached():
    def forward(ctx, a):
        ctx.mark_non_differentiable(a)
        return a

    y = make(forward, lambda ctx, g: g).apply(leaf())
    assert not y.requires_grad and y.grad_fn is None


def test_a_returned_input_becomes_a_view():
    x = leaf()
    y = make(lambda c, a: a, lambda c, g: g * 2).apply(x)
    assert y is not x and y._is_view() and y._base is x
    assert type(y.grad_fn).__name__ == "FBackward" and grads(y, x) == [2, 2, 2]
    with torch.no_grad():
        z = make(lambda c, a: a, lambda c, g: g).apply(x)
    assert z is not x and not z.requires_grad
    a, b = make(lambda c, a: (a, a), lambda c, g, h: g + 10 * h).apply(x)
    assert a is not b and (a.output_nr, b.output_nr) == (0, 1)
    assert grads(a * 3 + b * 5, x) == [53, 53, 53]


def test_views_from_a_function_may_not_be_written():
    x = leaf() * 1
    y = make(lambda c, a: a[:2], lambda c, g: torch.cat([g, torch.zeros(1)])).apply(x)
    assert y._is_view() and y._base is x
    x.mul_(2)
    with pytest.raises(
        RuntimeError, match=r"^Output 0 of F is a view and its base or another view"
    ):
        y.grad_fn  # noqa: B018
    a, _ = make(lambda c, a: (a[:1], a[1:]), lambda c, *g: torch.cat(g)).apply(leaf() * 1)
    with pytest.raises(RuntimeError, match="output of a function that returns multiple views"):
        a.mul_(2)


def add_one(backward=lambda ctx, g: g * 2):
    def forward(ctx, a, *rest):
        a.add_(1)
        ctx.mark_dirty(a)
        return a

    return make(forward, backward)


def test_mark_dirty_gives_the_same_object_a_new_history():
    x = leaf()
    z = x * 1
    y = add_one().apply(z)
    assert y is z and z._version == 2 and type(z.grad_fn).__name__ == "FBackward"
    assert grads(z, x) == [2, 2, 2]


def test_mark_dirty_of_a_view_rewrites_its_base():
    x = leaf()
    z = x * 1
    v = z[:2]
    assert add_one().apply(v) is v
    assert type(z.grad_fn).__name__ == "CopySlices"
    assert z.tolist() == [2, 3, 3] and grads(z, x) == [2, 2, 1]


def test_a_written_input_without_gradient_comes_back_detached():
    def forward(ctx, a):
        ctx.mark_dirty(a)
        ctx.mark_non_differentiable(a)
        return a.mul_(2)

    for a in (leaf() * 1, leaf(), (leaf() * 1)[:1]):
        history = a.grad_fn and a.grad_fn.name()
        y = make(forward, lambda ctx, g: g).apply(a)
        assert y is not a and y.data_ptr() == a.data_ptr() and y._version == 2
        assert not y.requires_grad and y.is_leaf and a.requires_grad
        assert (a.grad_fn is None) is (history is None)


def test_mark_dirty_where_the_changed_tensor_wanted_no_gradient():
    x, z = leaf(), torch.ones(3)
    y = add_one(lambda ctx, g: (g, g * 3)).apply(z, x)
    assert y is z and z.requires_grad and grads(z, x) == [3, 3, 3]
    plain = torch.ones(3)
    assert add_one().apply(plain) is plain and plain._version == 2
    with torch.no_grad():
        assert add_one().apply(plain) is plain


def test_saved_tensors_are_the_inputs_themselves():
    def forward(ctx, a, b):
        ctx.save_for_backward(b)
        ctx.save_for_backward(a, None)  # the last call counts
        return a * b

    x = leaf()
    y = make(forward, lambda ctx, g: (g, None)).apply(x, leaf())
    assert y.grad_fn.saved_tensors[0] is x and y.grad_fn.saved_tensors[1] is None
    assert len(y.grad_fn.saved_tensors) == 2


def test_a_saved_output_is_differentiable_and_version_checked():
    def forward(ctx, a):
        b = a.exp()
        ctx.save_for_backward(b)
        return b

    f = make(forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(0.0)
    y = f.apply(x)
    assert y.grad_fn.saved_tensors[0].grad_fn is y.grad_fn
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert grads(g, x) == [1]
    y = f.apply(x)
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(
        RuntimeError, match=r"output 0 of FBackward, is at version 1|modified by an inplace"
    ):
        y.sum().backward()


def test_double_backward_through_a_function():
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a**3

    f = make(forward, lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2)
    x = leaf(2.0)
    (g,) = torch.autograd.grad(f.apply(x), x, create_graph=True)
    assert g.item() == 12 and grads(g, x) == [12]


def test_errors_in_backward_keep_type_and_traceback():
    y = make(lambda c, a: a * 1, lambda c, g: 1 / 0).apply(leaf())
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()


def test_nothing_leaks():
    class Big:
        pass

    def run():
        def forward(ctx, a):
            ctx.thing = big
            y = a * 2
            ctx.save_for_backward(a, y)
            return y

        big = Big()
        x = leaf()
        y = make(forward, lambda ctx, g: g * 2).apply(x)
        y.sum().backward(retain_graph=True)
        return weakref.ref(big), weakref.ref(y.grad_fn)

    gc.collect()
    gc.disable()
    try:
        big, node = run()
        if NAME != "torch":
            gc.collect(0)  # the class made in run() is a cycle of its own
        gc.collect()
        assert big() is None and node() is None
    finally:
        gc.enable()


def test_hooks_on_a_functions_node():
    seen = []
    x = leaf()
    y = make(lambda c, a: a * 1, lambda c, g: g * 2).apply(x)
    y.grad_fn.register_prehook(lambda g: (seen.append("pre"), (g[0] * 10,))[1])
    y.grad_fn.register_hook(lambda i, o: seen.append((i[0].tolist(), o[0].tolist())))
    assert grads(y, x) == [20, 20, 20]
    assert seen == ["pre", ([20, 20, 20], [10, 10, 10])]


def test_keywords_that_are_no_parameters_are_refused():
    def keyword_only(ctx, a, *, factor=2):
        return a * factor

    def any_keyword(ctx, a, **options):
        return a * 2

    x = leaf(1.0)
    for forward, given in ((keyword_only, {"factor": 5}), (any_keyword, {"factor": 5})):
        scale = make(forward, lambda ctx, g: g * 2)
        with pytest.raises(
            TypeError, match=re.escape("forward() got an unexpected keyword argument 'factor'")
        ):
            scale.apply(x, **given)
        assert scale.apply(x).item() == 2
    with pytest.raises(TypeError, match="got multiple values for argument 'a'"):
        scale.apply(x, a=x)


def test_setup_context_sees_defaults():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(a, factor=3):
            return a * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    x = leaf(1.0)
    Scale.apply(x).backward()
    assert x.grad.item() == 3
    with pytest.raises(TypeError):
        Scale.apply()


def test_outputs_that_are_no_tensors_get_no_zeros():
    seen = []

    def backward(ctx, *grads):
        seen.extend(grads)
        return grads[0]

    split = make(lambda ctx, a: (a * 1, "text", None, a * 2), backward)
    split.apply(leaf(1.0))[0].backward()
    assert [g if g is None else g.item() for g in seen] == [1, None, None, 0]


def test_a_summed_gradient_warns_and_an_added_dimension_does_not():
    x = leaf(1.0, 2.0)
    for shape, warned in (((3, 2), True), ((1, 2), False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function = make(lambda ctx, a: a * 1, lambda ctx, g, s=shape: torch.ones(s))
            function.apply(x).sum().backward()
        assert bool(caught) is warned
    assert x.grad.tolist() == [4, 4]  # 3 summed, and 1


def test_backward_by_hand():
    double = make(lambda ctx, a: a * 2, lambda ctx, g: g * 2)
    assert double.apply(leaf(1.0)).grad_fn.apply(torch.ones(1)).item() == 2


def test_backward_runs_where_no_gradient_arrives():
    ran = []

    def backward(ctx, g):
        ran.append(g if g is None else g.tolist())
        return g

    x = torch.ones(2, requires_grad=True)
    nothing = make(lambda ctx, t: t.clone(), lambda ctx, g: None, name="Nothing")
    for materialize, want in ((True, [0, 0]), (False, None)):

        def forward(ctx, t, materialize=materialize):
            ctx.set_materialize_grads(materialize)
            return t * 2

        nothing.apply(make(forward, backward).apply(x)).sum().backward()
        assert ran.pop() == want


def test_a_complex_gradient_is_refused_for_a_real_input():
    x, z = leaf(1.0), torch.ones(1, dtype=torch.complex64, requires_grad=True)
    rotate = make(lambda ctx, a, b: a * 1j, lambda ctx, g: (g * -1j, None))
    with pytest.raises(RuntimeError, match=r"^Expected isFloatingType\(grad.scalar_type\(\)\)"):
        rotate.apply(x, None).abs().sum().backward()
    assert x.grad is None
    rotate.apply(z, None).abs().sum().backward()
    assert z.grad.tolist() == [1 + 0j]
    # Of an input that wants none it does not matter.
    make(lambda ctx, a, b: a * 1j, lambda ctx, g: (g * -1j, g)).apply(
        z, x.detach()
    ).abs().backward()
