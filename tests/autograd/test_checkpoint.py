"""Checkpointing: values, gradients, what is kept, nesting, early stop, random
numbers, sequences."""

import pytest

from _subject import submodule, torch

lib = submodule("utils.checkpoint")
both = pytest.mark.parametrize("reentrant", [False, True])


def leaf(*values):
    return torch.tensor(values or (0.5, 1.0), dtype=torch.float64, requires_grad=True)


@both
def test_gradients_are_those_of_the_plain_call(reentrant):
    x, y = leaf(), leaf()

    def run(a):
        return (a.sin() * a).exp() + a

    lib.checkpoint(run, x, use_reentrant=reentrant).sum().backward()
    run(y).sum().backward()
    assert torch.allclose(x.grad, y.grad)


@both
def test_the_region_runs_twice(reentrant):
    calls = []

    def run(a):
        calls.append(torch.is_grad_enabled())
        return a.sin().exp()

    lib.checkpoint(run, leaf(), use_reentrant=reentrant).sum().backward()
    assert calls == [not reentrant, True]


@both
def test_the_same_random_numbers(reentrant):
    x = leaf()
    seen = []

    def run(a):
        noise = torch.rand(2, dtype=torch.float64)
        seen.append(noise)
        return (a * noise).sin()

    lib.checkpoint(run, x, use_reentrant=reentrant).sum().backward()
    assert torch.equal(seen[0], seen[1])
    assert torch.allclose(x.grad, (x * seen[0]).cos() * seen[0])
    before = torch.rand(1)
    assert not torch.equal(before, torch.rand(1))


@both
def test_several_outputs_and_other_arguments(reentrant):
    x = leaf()
    a, n, b = lib.checkpoint(lambda t, k: (t * k, k, t.exp()), x, 3, use_reentrant=reentrant)
    assert n == 3
    (a + b).sum().backward()
    assert torch.allclose(x.grad, 3 + x.exp())


def test_keyword_arguments_and_nested_structures():
    x = leaf()
    lib.checkpoint(
        lambda d, *, k: (d["x"] * k).sin(), {"x": x}, k=x, use_reentrant=False
    ).sum().backward()
    assert torch.allclose(x.grad, (x * x).cos() * 2 * x)


def test_grad_and_higher_derivatives():
    x = leaf()
    y = lib.checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    z = leaf()
    (g2,) = torch.autograd.grad(z.sin().exp().sum(), z, create_graph=True)
    (h2,) = torch.autograd.grad(g2.sum(), z)
    assert torch.allclose(g, g2) and torch.allclose(h, h2)


def test_retained_graphs_are_computed_again():
    calls = []
    x = leaf()

    def run(t):
        calls.append(0)
        return t.sin().exp()

    y = lib.checkpoint(run, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(calls) == 3
    z = leaf()
    z.sin().exp().sum().backward()
    assert torch.allclose(x.grad, 2 * z.grad)


@pytest.mark.parametrize("depth", [2, 3])
def test_nested_regions(depth):
    def run(t, level):
        if level == 0:
            return t.sin().exp()
        inner = lib.checkpoint(lambda u: run(u, level - 1), t.cos(), use_reentrant=False)
        return inner.tanh()

    def plain(t, level):
        return t.sin().exp() if level == 0 else plain(t.cos(), level - 1).tanh()

    x, y = leaf(), leaf()
    run(x, depth).sum().backward()
    plain(y, depth).sum().backward()
    assert torch.allclose(x.grad, y.grad)


def test_early_stop():
    calls = []

    def run(t):
        calls.append("start")
        y = t.sin()
        calls.append("sin")
        z = y.exp()
        calls.append("exp")
        w = z + 1
        calls.append("end")
        return w

    lib.checkpoint(run, leaf(), use_reentrant=False).sum().backward()
    assert calls[4:] == ["start", "sin"]
    calls.clear()
    with lib.set_checkpoint_early_stop(False):
        y = lib.checkpoint(run, leaf(), use_reentrant=False)
    y.sum().backward()
    assert calls[4:] == ["start", "sin", "exp", "end"]


def test_nothing_is_kept():
    kept = []
    x = leaf()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t), t)[1], lambda t: t):
        lib.checkpoint(lambda t: t.sin().exp().cos(), x, use_reentrant=False)
    assert len(kept) == 1  # the argument


def test_context_fn():
    entered = []

    class Block:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *exc):
            pass

    y = lib.checkpoint(
        lambda t: t.sin().exp(),
        leaf(),
        use_reentrant=False,
        context_fn=lambda: (Block("forward"), Block("again")),
    )
    y.sum().backward()
    assert entered == ["forward", "again"]


def test_determinism_check_can_be_left_out():
    calls = []

    def run(t):
        calls.append(0)
        y = t.sin()
        return y.exp() if len(calls) == 1 else y[:1].exp()

    with pytest.raises(lib.CheckpointError, match="different metadata"):
        lib.checkpoint(run, leaf(), use_reentrant=False).sum().backward()


def test_debug_says_where_each_tensor_was_saved():
    calls = []

    def run(t):
        calls.append(0)
        return t.sin().exp() if len(calls) == 1 else t + 1

    with lib.set_checkpoint_debug_enabled(True):
        y = lib.checkpoint(run, leaf(), use_reentrant=False)
    with pytest.raises(lib.CheckpointError) as error:
        y.sum().backward()
    assert str(error.value).startswith(" An error happened while unpacking tensors; dumping logs")
    assert "test_checkpoint.py" in str(error.value)


@both
@pytest.mark.parametrize("segments", [1, 2, 3])
def test_sequences(reentrant, segments):
    steps = [torch.sin, torch.exp, torch.cos]
    x, y = leaf(), leaf()
    lib.checkpoint_sequential(steps, segments, x, use_reentrant=reentrant).sum().backward()
    y.sin().exp().cos().sum().backward()
    assert torch.allclose(x.grad, y.grad)


def test_under_no_grad():
    with torch.no_grad():
        y = lib.checkpoint(torch.sin, leaf(), use_reentrant=False)
    assert not y.requires_grad


def test_modules():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Tanh())
    x = torch.rand(5, 3)
    state = torch.get_rng_state()
    net(x).sum().backward()
    want = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    torch.set_rng_state(state)
    lib.checkpoint(net, x, use_reentrant=False).sum().backward()
    assert all(torch.allclose(p.grad, w) for p, w in zip(net.parameters(), want, strict=True))


@pytest.mark.parametrize("early_stop", [True, False])
def test_a_backward_inside_the_region(early_stop):
    def run(t):
        y = (t * 2).exp()
        (g,) = torch.autograd.grad(y.sum(), t, create_graph=True)
        return (g * y).sum()  # 2 exp(2t) ** 2

    x = leaf()
    with lib.set_checkpoint_early_stop(early_stop):
        loss = lib.checkpoint(run, x, use_reentrant=False)
    loss.backward()
    assert torch.allclose(x.grad, 8 * (4 * x.detach()).exp())


def test_the_block_goes_before_the_argument_early_stop():
    calls = []

    def run(t):
        y = t.sin().exp()
        calls.append("end")
        return y

    for argument, block, ends in (
        (True, None, 1),
        (False, None, 2),
        (False, True, 1),
        (True, False, 2),
    ):
        calls.clear()
        x = leaf()
        if block is None:
            y = lib.checkpoint(run, x, use_reentrant=False, early_stop=argument)
        else:
            with lib.set_checkpoint_early_stop(block):
                y = lib.checkpoint(run, x, use_reentrant=False, early_stop=argument)
        y.sum().backward()
        assert len(calls) == ends


def test_contexts_are_for_regions_that_are_recorded():
    def refuse():
        raise AssertionError("entered")

    class Block:
        __enter__ = __exit__ = lambda *a: refuse()

    with torch.no_grad():
        y = lib.checkpoint(
            torch.sin, leaf(), use_reentrant=False, context_fn=lambda: (Block(), Block())
        )
    assert not y.requires_grad
    with pytest.raises(
        ValueError, match=r"^debug=True is incompatible with non-default context_fn"
    ):
        lib.checkpoint(torch.sin, leaf(), use_reentrant=False, context_fn=refuse, debug=True)


def test_a_saved_constant_is_the_same_tensor_in_backward():
    constant = torch.full((2,), 3.0, dtype=torch.float64)
    seen = []

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, c):
            ctx.save_for_backward(x, c)
            return x * c

        @staticmethod
        def backward(ctx, g):
            _, c = ctx.saved_tensors
            seen.append(c is constant)
            return g * c, None

    x = leaf()
    lib.checkpoint(Scale.apply, x, constant, use_reentrant=False).sum().backward()
    assert seen == [True] and x.grad.tolist() == [3.0, 3.0]


def test_backwards_in_one_group_may_not_overlap():
    x = leaf()
    a, b = lib.checkpoint(lambda t: (t.sin(), t.exp()), x, use_reentrant=False)
    with lib.GraphExecGroup():
        a.sum().backward(retain_graph=True)
        b.sum().backward(retain_graph=True)
        with pytest.raises(lib.CheckpointError, match="Performing two backward calls that overlap"):
            a.sum().backward()
    with lib.GraphExecGroup():
        a.sum().backward(retain_graph=True)
        with pytest.raises(lib.CheckpointError, match="Performing two backward calls that overlap"):
            a.sum().backward()
    assert torch.allclose(x.grad, 2 * x.detach().cos() + x.detach().exp())
