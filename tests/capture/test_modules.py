"""torch.compile of modules in training: a call is a node whose backward is captured, too. The
expectation is the same program with the module as it is, bit for bit."""

from __future__ import annotations

import contextlib
import warnings

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._capture import run
from rushlight._core import capturing

from .worlds import bits, same, state_of, variants

F = nn.functional


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 5, num_layers=2), nn.Linear(5, 1)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return self.head(out), h, c


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), (3, 4)),
    "BatchNorm": (lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()), (3, 4)),
    "Dropout": (lambda: nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)), (3, 4)),
    "LayerNorm": (lambda: nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 2), nn.GELU()), (3, 4)),
    "conv": (
        lambda: nn.Sequential(
            *(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(16, 3), nn.LogSoftmax(-1)),
        ),
        (2, 2, 4, 4),
    ),
    "LSTM": (Recurrent, (5, 2, 4)),
    "encoder": (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.1), (5, 2, 4)),
    "attention": (lambda: _Attention(), (5, 2, 4)),
    "shared": (lambda: _Shared(), (3, 4)),
}


class _Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2)

    def forward(self, x):
        return self.attention(x, x, x)


class _Shared(nn.Module):
    """A parameter with two names, one that is not used, one that is frozen."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.unused = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(2, 2)
        self.b.weight = self.a.weight
        self.b.bias.requires_grad_(False)

    def forward(self, x):
        return self.b(self.a(x).tanh())


def flat(result):
    return [t for t in (result if isinstance(result, tuple) else (result,)) if t.requires_grad]


def training(make, shape, **options):
    """Compare training with the model compiled; the optimizer is outside."""

    def world():
        net = make()
        opt = torch.optim.Adam(net.parameters(), lr=0.01)
        return net, [net, opt]

    def after(number, result, held):
        loss = sum((t * t).mean() for t in flat(result))
        held[1].zero_grad()
        loss.backward()
        held[1].step()
        return loss.detach()

    inputs = lambda number: (torch.randn(*shape),)
    return same(world, inputs, after=options.pop("after", after), **options)


@pytest.mark.parametrize("name", MODELS)
def test_training(name):
    assert len(variants(training(*MODELS[name]))) == 1


@pytest.mark.parametrize("name", MODELS)
def test_evaluation_without_gradients(name):
    make, shape = MODELS[name]

    def world():
        net = make().eval()
        return net, [net]

    with torch.no_grad():
        compiled = same(world, lambda number: (torch.randn(*shape),))
    assert len(variants(compiled)) == 1


@pytest.mark.parametrize("name", ["BatchNorm", "Dropout", "encoder"])
def test_training_and_evaluation_in_turn(name):
    """Epochs of both: each has captured runs of its own."""
    make, shape = MODELS[name]

    def world():
        net = make()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        return net, [net, opt]

    def after(number, result, held):
        net, opt = held
        if net.training:
            opt.zero_grad()
            sum(t.square().mean() for t in flat(result)).backward()
            opt.step()
        net.train(number % 8 >= 4)

    same(world, lambda number: (torch.randn(*shape),), calls=20, after=after)


def test_gradients_of_inputs():
    def world():
        net = MODELS["mlp"][0]()
        return net, [net]

    def inputs(number):
        return (torch.randn(3, 4, requires_grad=number % 4 != 3),)

    same(world, inputs, calls=12, after=lambda number, result, held: result.sin().sum().backward())


def test_an_input_with_a_graph():
    """The module stands in the middle: the gradient goes on to what made its input."""
    w = torch.randn(4, requires_grad=True)

    def world():
        w.grad = None
        net = MODELS["mlp"][0]()
        return net, [net, w]

    same(
        world,
        lambda number: (torch.randn(3, 4) * w,),
        after=lambda number, result, held: result.square().sum().backward(),
    )


class _Scales(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return x * self.w, x + self.w


@pytest.mark.parametrize("results", [1, 2])
@pytest.mark.parametrize("before", [lambda w: 3 + w, lambda w: 3 * w.exp()], ids=["add", "exp"])
def test_an_input_whose_history_has_a_parameter_of_the_module(before, results):
    """Its gradient is the sum of two ways, each of which is walked once."""

    def seen(compiled):
        net = _Scales()
        model = torch.compile(net) if compiled else net
        for _ in range(6):
            net.w.grad = None
            sum(model(before(net.w))[:results]).backward()
            yield net.w.grad.item()

    assert list(seen(True)) == list(seen(False))


def test_a_compiled_cell_in_a_loop():
    def seen(compiled):
        torch.manual_seed(0)
        cell = nn.GRUCell(4, 3)
        model = torch.compile(cell) if compiled else cell
        for _ in range(4):
            cell.zero_grad()
            h = torch.zeros(2, 3)
            for _ in range(4):
                h = model(torch.randn(2, 4), h)
            h.sum().backward()
            yield state_of([cell])

    assert list(seen(True)) == list(seen(False))


def test_an_input_with_a_history_that_is_written_and_given_back():
    def seen(compile):
        torch.manual_seed(0)
        w, model = torch.randn(3, requires_grad=True), compile(nn.ReLU(inplace=True))
        for _ in range(6):
            w.grad = None
            x = w * 2
            y = model(x)
            (y * 3).sum().backward()
            yield y is x, w.grad.tolist()

    assert list(seen(torch.compile)) == list(seen(lambda m: m))


class _Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.policy, self.value = nn.Linear(4, 3), nn.Linear(3, 2), nn.Linear(3, 1)

    def forward(self, x):
        y = self.body(x).tanh()
        return self.policy(y), self.value(y)


@pytest.mark.xfail(strict=True, reason="one node saves what the backward of any result reads")
def test_a_step_between_the_backwards_of_two_results():
    def after(number, result, held):
        net = held[0]
        net.zero_grad()
        result[1].square().mean().backward(retain_graph=True)
        with torch.no_grad():
            net.value.weight.add_(1)
        result[0].square().mean().backward()

    training(_Heads, (5, 4), after=after)


def test_an_input_whose_history_is_spent():
    """A call asks nothing of it, and leaves no recorder on."""
    net = nn.Linear(4, 1)
    model = torch.compile(net)
    x = torch.ones(4, requires_grad=True) * net.weight.exp()
    x.sum().backward()
    for _ in range(4):
        with contextlib.suppress(RuntimeError):
            model(x)
        assert not capturing()
    assert model(x).requires_grad


def test_one_of_two_results():
    def after(number, result, held):
        held[1].zero_grad()
        result[number % 2].square().mean().backward()
        held[1].step()

    training(_Heads, (5, 4), after=after, calls=10)


def test_adversarial_training():
    """Two compiled modules, one of which is called thrice a step, under two optimizers."""

    def seen(compile):
        torch.manual_seed(0)
        maker, judge = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        g, d = compile(maker), compile(judge)
        opt_g = torch.optim.Adam(maker.parameters(), 0.1)
        opt_d = torch.optim.Adam(judge.parameters(), 0.1)
        for _ in range(8):
            fake = g(torch.randn(4, 2))
            opt_d.zero_grad()
            (d(fake.detach()).sum() - d(torch.randn(4, 2)).sum()).backward()
            opt_d.step()
            opt_g.zero_grad()
            d(fake).sum().backward()
            opt_g.step()
            yield state_of([maker, judge])

    assert list(seen(torch.compile)) == list(seen(lambda m: m))


def test_compiled_modules_in_a_chain():
    def seen(compile):
        torch.manual_seed(0)
        parts = [nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)]
        first, second, third = map(compile, parts)
        opt = torch.optim.SGD([p for part in parts for p in part.parameters()], lr=0.1)
        for _ in range(7):
            opt.zero_grad()
            third(second(first(torch.randn(3, 4)).tanh()).relu()).square().mean().backward()
            opt.step()
            yield state_of(parts)

    assert list(seen(torch.compile)) == list(seen(lambda m: m))


def test_one_module_called_twice_in_a_step():
    """Two calls are in flight: the second does not overwrite what the first saved."""

    def run(compiled):
        torch.manual_seed(0)
        net = MODELS["mlp"][0]()
        model = torch.compile(net) if compiled else net
        found = []
        for _ in range(6):
            net.zero_grad()
            a, b = model(torch.randn(3, 4)), model(torch.randn(3, 4))
            (a * b).sum().backward()
            found.append(state_of([net]))
            c = model(torch.randn(3, 4))
            for _ in range(2):
                c = c + model(torch.randn(3, 4))
            c.sin().sum().backward()
            found.append(state_of([net]))
        return found

    assert run(False) == run(True)


def test_backward_in_another_order_than_forward():
    def run(compiled):
        torch.manual_seed(0)
        net = MODELS["Dropout"][0]()
        model = torch.compile(net) if compiled else net
        found = []
        for _ in range(6):
            made = [model(torch.randn(3, 4)) for _ in range(3)]
            for out in (made[1], made[2], made[0]):
                out.square().sum().backward()
                found.append(state_of([net]))
        return found

    assert run(False) == run(True)


def test_outputs_that_are_not_used():
    def after(number, result, held):
        out, h, c = result
        held[0].zero_grad()
        [out.sum, h.sum, (h * c).sum, c.sum][number % 4]().backward()

    training(*MODELS["LSTM"], after=after, calls=10)


def test_hooks_on_parameters():
    """They run when the gradient arrives, and are no part of what is captured."""

    def world():
        net = MODELS["mlp"][0]()
        net.seen = torch.zeros(3)
        first, second = net[0].weight, net[2].weight
        first.register_hook(lambda g: g * 2)

        def noted(g):
            net.seen[1] += g.sum()

        second.register_hook(noted)

        def accumulated(p):
            net.seen[2] += p.grad.sum()
            p.grad = None

        second.register_post_accumulate_grad_hook(accumulated)
        return net, [net, net.seen]

    same(
        world,
        lambda number: (torch.randn(3, 4),),
        after=lambda number, result, held: result.square().sum().backward(),
    )


def test_a_hook_that_keeps_gradients_in_a_list():
    """State that hooks alone use is none of the call's."""

    def world():
        net = MODELS["mlp"][0]()
        net[0].weight.register_hook(lambda g: kept.append(g.sum().item()))
        return net, [net]

    kept: list[float] = []
    after = lambda number, result, held: result.square().sum().backward() or kept[-1]
    compiled = same(world, lambda number: (torch.randn(3, 4),), calls=12, after=after)
    assert len(kept) == 24 and len(variants(compiled)) == 1


def test_hooks_on_results():
    def after(number, result, held):
        held[0].zero_grad()
        result.register_hook(lambda g: g * 3)
        result.retain_grad()
        result.sin().sum().backward()
        return result.grad

    training(*MODELS["mlp"], after=after)


def test_hooks_added_and_removed_between_calls():
    def world():
        net = MODELS["mlp"][0]()
        return net, [net]

    def after(number, result, held):
        result.sum().backward()
        if number == 4:
            held.append(torch.zeros(2))
            held[0].handle = held[0][0].weight.register_hook(lambda g: g * 5)
        if number == 8:
            held[0].handle.remove()

    same(world, lambda number: (torch.randn(3, 4),), calls=12, after=after)


def test_module_hooks():
    def world():
        net = MODELS["mlp"][0]()
        net.count = torch.zeros(())
        net[0].register_forward_hook(lambda m, i, out: out * 2)
        net[2].register_forward_pre_hook(lambda m, i: (i[0] + 1,))
        return net, [net]

    same(
        world,
        lambda number: (torch.randn(3, 4),),
        after=lambda number, result, held: result.sum().backward(),
    )


def test_a_module_hook_added_later():
    def after(number, result, held):
        result.sum().backward()
        if number == 5:
            held[0][0].register_forward_hook(lambda m, i, out: out * 2)

    training(*MODELS["mlp"], after=after, calls=10)


def trained():
    """A module, and its compiled form, whose next call is a replay."""
    torch.manual_seed(0)
    net = MODELS["mlp"][0]()
    model = torch.compile(net)
    for _ in range(6):
        net.zero_grad()
        model(torch.randn(3, 4)).sum().backward()
    net.zero_grad()
    with torch.compiler.set_stance("fail_on_recompile"):
        assert type(model(torch.randn(3, 4)).grad_fn).__name__ == "CompiledFunctionBackward"
    return net, model


def test_retain_graph():
    net, model = trained()
    x = torch.randn(3, 4)
    out = model(x)
    out.sum().backward(retain_graph=True)
    first = [p.grad.clone() for p in net.parameters()]
    out.sum().backward()
    for p, once in zip(net.parameters(), first, strict=True):
        assert torch.equal(p.grad, once + once)


def test_backward_twice_is_an_error():
    _, model = trained()
    out = model(torch.randn(3, 4))
    out.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.sum().backward()


def test_a_parameter_changed_in_place_is_an_error():
    net, model = trained()
    for change in (lambda: net[2].weight.mul_(2), lambda: net[2].weight.add_(1)):
        out = model(torch.randn(3, 4))
        with torch.no_grad():
            change()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


@pytest.mark.parametrize("change", ["a parameter", "an input", "the graph"])
def test_errors_in_each_call(change):
    net = MODELS["mlp"][0]()
    model = torch.compile(net)
    for _ in range(5):
        x = torch.randn(3, 4)
        out = model(x)
        if change == "the graph":
            out.sum().backward()
        with torch.no_grad():
            if change == "a parameter":
                net[2].weight.mul_(2)
            elif change == "an input":
                x.mul_(2)
        with pytest.raises(RuntimeError, match=r"modified by an inplace|second time"):
            out.sum().backward()


class _Two(nn.Module):
    """Two results, of which programs may use one."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        y = self.layer(x).tanh()
        return y * 2, y.sin()


@pytest.mark.parametrize("make", [_Two, lambda: nn.Sequential(nn.Linear(4, 2), nn.Tanh())])
def test_a_parameter_changed_that_the_backward_does_not_read(make):
    def after(number, result, held):
        net = held[0]
        bias = next(p for n, p in net.named_parameters() if n.endswith("bias"))
        with torch.no_grad():
            bias.add_(1)
        net.zero_grad()
        (result[0] if isinstance(result, tuple) else result).sum().backward()

    training(make, (3, 4), after=after, calls=8)


class _Counts(nn.Module):
    """Reads a buffer that each call writes."""

    def __init__(self, results):
        super().__init__()
        self.w, self.results = nn.Parameter(torch.ones(4)), results
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        y = x * self.w * self.calls.clone()
        return (y, y.sin())[: self.results]


@pytest.mark.parametrize("results", [1, 2])
def test_a_buffer_that_a_call_reads_and_writes(results):
    def after(number, result, held):
        held[0].zero_grad()
        result[0].sum().backward()

    training(lambda: _Counts(results), (4,), after=after, calls=8)


def test_an_input_changed_in_place_is_an_error():
    _, model = trained()
    x = torch.randn(3, 4)
    out = model(x)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_a_result_changed_in_place():
    """Where the backward reads the result it is an error, elsewhere it is none."""
    for last, error in ((nn.Tanh(), True), (nn.Linear(2, 2), False)):
        net = nn.Sequential(nn.Linear(4, 2), last)
        for model in (net, torch.compile(net)):
            for _ in range(5):
                net.zero_grad()
                out = model(torch.ones(3, 4))
                with torch.no_grad():
                    out.mul_(2)
                if error:
                    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                        out.sum().backward()
                else:
                    out.sum().backward()


def second(loss):
    """Gradients of the squares of gradients."""

    def after(number, result, held):
        net = held[0]
        net.zero_grad()
        grads = torch.autograd.grad(loss(result), list(net.parameters()), create_graph=True)
        sum(g.square().sum() for g in grads).backward()
        return [g.detach() for g in grads]

    return after


@pytest.mark.parametrize("name", ["mlp", "Dropout", "BatchNorm", "LayerNorm", "conv"])
def test_second_derivatives_through_a_call(name):
    """A call made once more draws the same dropout and leaves running statistics."""
    training(*MODELS[name], after=second(lambda result: result.sum()))


def test_second_derivatives_of_a_curved_loss():
    """Sums come in another order than in eager: the same to rounding."""

    def run(compiled):
        torch.manual_seed(0)
        net = MODELS["mlp"][0]().double()
        model = torch.compile(net) if compiled else net
        found = []
        for _ in range(6):
            second(lambda result: result.sin().sum())(0, model(torch.randn(3, 4).double()), [net])
            found += [p.grad.clone() for p in net.parameters()]
        return found

    for a, b in zip(run(False), run(True), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_gradients_of_other_layouts():
    def after(number, result, held):
        held[0].zero_grad()
        gradient = torch.randn(2, 3).t() if number % 2 else torch.ones(()).expand(3, 2)
        result.backward(gradient)

    training(*MODELS["mlp"], after=after)


def test_some_parameters_alone():
    def after(number, result, held):
        net = held[0]
        return torch.autograd.grad(result.sum(), [net[2].weight, net[0].bias])

    training(*MODELS["mlp"], after=after)


def test_state_dicts():
    net, model = trained()
    saved = {k: v.clone() for k, v in model.state_dict().items()}
    assert all(k.startswith("_orig_mod.") for k in saved)
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
    assert not model(torch.randn(3, 4)).any()
    model.load_state_dict(saved)
    other = MODELS["mlp"][0]()
    other.load_state_dict({k.removeprefix("_orig_mod."): v for k, v in saved.items()})
    x = torch.randn(3, 4)
    assert bits(model(x).detach()) == bits(other(x).detach())


REPLACED = {
    "parameter": lambda net: setattr(net[0], "weight", nn.Parameter(net[0].weight.detach() * 2)),
    "data": lambda net: setattr(net[0].weight, "data", net[0].weight.detach() * 2),
    "load_state_dict": lambda net: net.load_state_dict(
        {k: v * 2 for k, v in net.state_dict().items()}
    ),
    "assign": lambda net: net.load_state_dict(
        {k: v * 2 for k, v in net.state_dict().items()}, assign=True
    ),
    "layer": lambda net: net.__setitem__(1, nn.ReLU()),
    "append": lambda net: net.append(nn.Sigmoid()),
    "frozen": lambda net: net[0].weight.requires_grad_(False),
    "double": lambda net: net.double() and net.float(),
    "bias removed": lambda net: setattr(net[0], "bias", None),
    "forward": lambda net: setattr(net[1], "forward", torch.sin),
    "no bias": lambda net: net[2].register_parameter("bias", None),
    "parametrized": lambda net: nn.utils.parametrizations.weight_norm(net[0]),
    "spectral": lambda net: nn.utils.parametrizations.spectral_norm(net[0]),
    "zero_grad": lambda net: net.zero_grad(),
    "grads zero": lambda net: net.zero_grad(set_to_none=False),
    "to": lambda net: net.to(torch.float32),
}


@pytest.mark.parametrize(
    "name",
    REPLACED,
)
def test_what_is_replaced_between_calls(name):
    def after(number, result, held):
        result.square().sum().backward()
        if number == 4:
            REPLACED[name](held[0])

    training(*MODELS["mlp"], after=after, calls=10)


def test_no_grad_and_gradients_in_turn():
    def run(compiled):
        torch.manual_seed(0)
        net = MODELS["BatchNorm"][0]()
        model = torch.compile(net) if compiled else net
        found = []
        for number in range(16):
            x = torch.randn(3, 4)
            if number % 3 == 2:
                with torch.no_grad():
                    out = model(x)
            elif number % 5 == 4:
                with torch.inference_mode():
                    out = model(x)
            else:
                out = model(x)
                out.sum().backward()
            found.append((bits(out.requires_grad), bits(out.tolist()), state_of([net])))
        return found

    assert run(False) == run(True)


def test_gradients_that_accumulate():
    def after(number, result, held):
        result.square().sum().backward()
        if number % 4 == 3:
            held[1].step()
            held[1].zero_grad()

    training(*MODELS["mlp"], after=after, calls=12)


def test_under_autocast():
    def world():
        net = MODELS["mlp"][0]()

        def f(x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return net(x)

        return f, [net]

    same(
        world,
        lambda number: (torch.randn(3, 4),),
        after=lambda number, result, held: result.float().sum().backward(),
    )


def test_autocast_around_a_compiled_module():
    def run(compiled):
        torch.manual_seed(0)
        net = MODELS["mlp"][0]()
        model = torch.compile(net) if compiled else net
        found = []
        for number in range(12):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=number % 2 == 0):
                out = model(torch.randn(3, 4))
            out.float().sum().backward()
            found.append((bits(out.detach()), state_of([net])))
        return found

    assert run(False) == run(True)


def test_checkpoint_within():
    def world():
        net = MODELS["Dropout"][0]()

        def f(x):
            return torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False).tanh()

        return f, [net]

    same(
        world,
        lambda number: (torch.randn(3, 4, requires_grad=True),),
        after=lambda number, result, held: result.sum().backward(),
        replayed=None,
    )


def test_checkpoint_around_a_compiled_module():
    def run(compiled):
        torch.manual_seed(0)
        net = MODELS["Dropout"][0]()
        model = torch.compile(net) if compiled else net
        found = []
        for _ in range(6):
            x = torch.randn(3, 4, requires_grad=True)
            out = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
            out.square().sum().backward()
            found.append((bits(out.detach()), bits(x.grad), state_of([net])))
        return found

    assert run(False) == run(True)


def test_transforms_over_a_compiled_module():
    def run(compiled):
        torch.manual_seed(0)
        net = MODELS["mlp"][0]()
        model = torch.compile(net) if compiled else net
        for _ in range(4):
            model(torch.randn(3, 4)).sum().backward()
        x = torch.randn(5, 3, 4)
        found = [bits(torch.func.vmap(model)(x).detach())]
        found.append(bits(torch.func.jvp(model, (x[0],), (x[1],))))
        found.append(bits(torch.func.grad(lambda y: model(y).sum())(x[0])))
        parameters = {k: v.detach() * 2 for k, v in net.named_parameters()}
        prefix = "_orig_mod." if compiled else ""
        swapped = {prefix + k: v for k, v in parameters.items()}
        found.append(bits(torch.func.functional_call(model, swapped, (x[0],)).detach()))
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, compiled = run(False), run(True)
    for a, b in zip(plain, compiled, strict=True):
        assert a[:1] == b[:1] and [x[0] for x in a[1:]] == [x[0] for x in b[1:]]
        assert [x[-1] for x in a[1:]] == [x[-1] for x in b[1:]]


class Penalty(nn.Module):
    """Gives back a tree, with numbers and a tensor without a graph."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x, targets=None):
        out = self.layer(x)
        loss = None if targets is None else F.mse_loss(out, targets)
        return {"out": out, "loss": loss, "size": out.shape[0], "plain": out.detach() * 2}


def test_trees_of_results():
    def world():
        net = Penalty()
        return net, [net]

    def inputs(number):
        return (torch.randn(3, 4), torch.randn(3, 2) if number % 2 else None)

    def after(number, result, held):
        loss = result["loss"]
        (result["out"].sum() if loss is None else loss).backward()

    same(world, inputs, calls=10, after=after)


def test_views_of_inputs_and_of_parameters():
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4, 2))

        def forward(self, x):
            return x.t(), self.w[0], x @ self.w, self.w

    def world():
        net = Views()
        return net, [net]

    def after(number, result, held):
        held[0].zero_grad()
        sum(t.square().sum() for t in result).backward()

    same(world, lambda number: (torch.randn(3, 4),), after=after, replayed=None)


def test_a_small_graph_is_not_worth_a_node(monkeypatch):
    monkeypatch.setattr(run, "LEAST", 4)
    net = nn.Linear(4, 2)
    model = torch.compile(net)
    with pytest.warns(UserWarning, match=r"fewer than 4 steps.*calls backward\(\)"):
        for _ in range(3):
            model(torch.randn(3, 4)).sum().backward()
    assert not variants(model)
    with torch.no_grad():
        for _ in range(3):
            model(torch.randn(3, 4))
