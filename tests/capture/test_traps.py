"""The traps of capture elsewhere, one by one: what changes is noticed, what cannot be replayed runs
eagerly and is named. The expectation is the program run eagerly, bit for bit."""

from __future__ import annotations

import itertools
import random
import re
import time
import types
import warnings

import pytest

import rushlight as torch
from rushlight import nn

from .worlds import captured, explained, same, variants

F = nn.functional

number = table = factor = settings = None  # the fixture `world` sets them


def helper(x):
    return x * 2


class Agent:
    gain = 2.0
    shifts = [1.0, 2.0]  # noqa: RUF012

    def __init__(self):
        self.rate, self.table, self.weight = 0.5, {"a": [1.0]}, torch.ones(2)
        self.net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.BatchNorm1d(2))
        self.leaf = torch.ones(2, requires_grad=True)

    def __call__(self, x):
        return x * self.rate

    def step(self, x):
        return self.act(x)

    def act(self, x):
        return x + 1


def setting(name):
    """Changes a global of this file."""

    def change(agent, value):
        globals()[name] = value

    return change


def closure():
    scale = 2.0

    def f(x):
        return x * scale

    def change(value):
        nonlocal scale
        scale = value

    return f, change


class Replaced(Agent):
    gain = 7.0

    def act(self, x):
        return x - 1


# name: (of an agent, the function; what changes between calls)
NOTICED = {
    "a global number": (lambda a: lambda x: x * number, lambda a: setting("number")(a, 5.0)),
    "a global tensor": (
        lambda a: lambda x: x * factor,
        lambda a: setting("factor")(a, torch.ones(2)),
    ),
    "a global function": (lambda a: lambda x: helper(x), lambda a: setting("helper")(a, torch.sin)),
    "a global dict": (lambda a: lambda x: x * table["rate"], lambda a: table.update(rate=5.0)),
    "deep in a dict": (
        lambda a: lambda x: x * table["deep"][1]["x"],
        lambda a: table["deep"][1].update(x=7.0),
    ),
    "a global namespace": (
        lambda a: lambda x: x * settings.scale,
        lambda a: setattr(settings, "scale", 5.0),
    ),
    "an attribute": (lambda a: lambda x: x * a.rate, lambda a: setattr(a, "rate", 3.0)),
    "a nested list": (
        lambda a: lambda x: x * a.table["a"][0],
        lambda a: a.table["a"].insert(0, 4.0),
    ),
    "a class attribute": (lambda a: lambda x: x * a.gain, lambda a: setattr(Agent, "gain", 9.0)),
    "a list of a class": (
        lambda a: lambda x: x * len(a.shifts),
        lambda a: Agent.shifts.append(1.0),
    ),
    "an attribute that hides": (lambda a: lambda x: x * a.gain, lambda a: vars(a).update(gain=4.0)),
    "a method of the class": (
        lambda a: a.step,
        lambda a: setattr(Agent, "act", Replaced.act),
    ),
    "a method of the object": (lambda a: a.step, lambda a: setattr(a, "act", torch.cos)),
    "the class": (lambda a: a.step, lambda a: setattr(a, "__class__", Replaced)),
    "a default": (
        lambda a: lambda x, k=2.0: x * k,
        None,
    ),
    "the code": (lambda a: lambda x: x * 2, None),
    "a tensor replaced": (
        lambda a: lambda x: x * a.weight,
        lambda a: setattr(a, "weight", torch.full((2,), 4.0)),
    ),
    "a tensor written": (lambda a: lambda x: x * a.weight, lambda a: a.weight.fill_(4.0)),
    "its data": (
        lambda a: lambda x: x * a.weight,
        lambda a: setattr(a.weight, "data", torch.full((2,), 4.0)),
    ),
    "its shape": (lambda a: lambda x: x * a.weight, lambda a: a.weight.resize_(1)),
    "its strides": (
        lambda a: lambda x: x[0] * a.weight,
        lambda a: a.weight.set_(torch.arange(4.0)[::2]),
    ),
    "requires_grad": (lambda a: lambda x: x * a.weight, lambda a: a.weight.requires_grad_()),
    "a leaf's gradient": (
        lambda a: lambda x: (a.leaf * x).sum().backward(),
        lambda a: setattr(a.leaf, "grad", torch.full((2,), 9.0)),
    ),
    "a hook": (
        lambda a: lambda x: (a.leaf * x).sum().backward(),
        lambda a: a.leaf.register_hook(lambda g: g * 2),
    ),
    "a hook after accumulation": (
        lambda a: lambda x: (a.leaf * x).sum().backward(),
        lambda a: a.leaf.register_post_accumulate_grad_hook(
            lambda p: setattr(p, "grad", p.grad * 2)
        ),
    ),
    "train and eval": (lambda a: lambda x: a.net(x), lambda a: a.net.eval()),
    "a layer": (lambda a: lambda x: a.net(x), lambda a: a.net.__setitem__(1, nn.Tanh())),
    "a layer's setting": (lambda a: lambda x: a.net(x), lambda a: setattr(a.net[1], "p", 0.1)),
    "a parameter": (
        lambda a: lambda x: a.net(x),
        lambda a: setattr(a.net[0], "weight", nn.Parameter(torch.ones(2, 2))),
    ),
    "a parameter's data": (
        lambda a: lambda x: a.net(x),
        lambda a: setattr(a.net[0].weight, "data", torch.ones(2, 2)),
    ),
    "a state_dict": (
        lambda a: lambda x: a.net(x),
        lambda a: a.net.load_state_dict({k: v * 2 for k, v in a.net.state_dict().items()}),
    ),
    "a buffer": (
        lambda a: lambda x: a.net(x),
        lambda a: setattr(a.net[2], "running_mean", torch.ones(2)),
    ),
    "a module's hook": (
        lambda a: lambda x: a.net(x),
        lambda a: a.net[0].register_forward_hook(lambda m, i, o: o * 2),
    ),
    "a frozen layer": (lambda a: lambda x: a.net(x), lambda a: a.net[0].requires_grad_(False)),
    "the seed": (lambda a: lambda x: a.net(x) + torch.rand(2), lambda a: torch.manual_seed(5)),
    "default type": (
        lambda a: lambda x: torch.zeros(2) + x.to(torch.get_default_dtype()),
        lambda a: torch.set_default_dtype(torch.float64),
    ),
    "determinism": (
        lambda a: lambda x: x * 2 if torch.are_deterministic_algorithms_enabled() else x,
        lambda a: torch.use_deterministic_algorithms(True),
    ),
}


@pytest.fixture
def world(monkeypatch):
    """Sets what the functions read as it was."""

    def set_back():
        values = {"number": 2.0, "factor": torch.tensor([2.0, 3.0]), "helper": HELPER}
        values |= {"table": {"rate": 2.0, "deep": [1, {"x": 3.0}]}}
        for name, value in {**values, "settings": types.SimpleNamespace(scale=2.0)}.items():
            monkeypatch.setitem(globals(), name, value)
        for name, value in {"gain": 2.0, "shifts": [1.0, 2.0], "act": ACT}.items():
            monkeypatch.setattr(Agent, name, value)
        torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(False)

    set_back()
    yield set_back
    set_back()


ACT, HELPER = Agent.act, helper


def run(name, compile):
    """What six calls give before a change, and six after."""
    make, change = NOTICED[name]
    torch.manual_seed(0)
    agent = Agent()
    function = make(agent)
    if name == "a default":
        change = lambda a: setattr(function, "__defaults__", (5.0,))
    if name == "the code":
        change = lambda a: setattr(function, "__code__", (lambda x: x * 3).__code__)
    called = compile(function)
    found = []
    for i in range(12):
        if i == 6:
            change(agent)
        made = called(torch.randn(3, 2))
        if made is not None:
            found.append((made.dtype, made.requires_grad, made.detach().tolist()))
        found.append(
            [None if t.grad is None else t.grad.tolist() for t in (agent.leaf, agent.weight)]
        )
        found.append([b.tolist() for b in agent.net.buffers()])
        if made is not None and made.requires_grad and made.grad_fn is not None:
            made.sin().sum().backward()
            found.append(
                [None if p.grad is None else p.grad.tolist() for p in agent.net.parameters()]
            )
    return found, called


@pytest.mark.parametrize("name", NOTICED)
def test_what_changes_is_noticed(name, world):
    expected, _ = run(name, lambda f: f)
    world()
    found, compiled = run(name, torch.compile)
    assert found == expected
    assert variants(compiled), explained(compiled)


MODES = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "detect_anomaly": lambda: torch.autograd.detect_anomaly(check_nan=False),
    "saved_tensors_hooks": lambda: torch.autograd.graph.saved_tensors_hooks(
        lambda t: t * 2, lambda t: t
    ),
    "default device": lambda: torch.device("cpu"),
    "flags": lambda: torch.set_grad_enabled(False),
}


@pytest.mark.parametrize("name", MODES)
def test_modes_around_the_call(name):
    def f(x):
        return ((x @ x.t()).sin() * x.sum(), torch.zeros(2) + 1)

    def seen(call):
        found = []
        for i in range(12):
            torch.manual_seed(i)
            x = torch.randn(2, 2, requires_grad=True)
            if i % 3 == 2:
                with MODES[name]():
                    a, b = call(x)
            else:
                a, b = call(x)
            found.append((a.dtype, a.requires_grad, a.detach().float().tolist(), b.tolist()))
            if a.requires_grad:
                a.float().sum().backward()
                found.append(x.grad.tolist())
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(f)
        assert seen(compiled) == seen(f)


# --- what cannot be replayed: eager, with one warning that names the reason and the line ---

counter, memory, steps = itertools.count(), [], 0


def counts(x):
    global steps
    steps += 1
    return x * steps


def appends(x):
    memory.append(x)
    return x * 2


def generates(x):
    return x * next(counter)


class Counter:
    def __init__(self):
        self.steps = 0

    def __call__(self, x):
        self.steps += 1
        return x * self.steps


EAGER = {
    "item()": (lambda x: x * x.sum().item(), "value of a tensor"),
    "tolist()": (lambda x: x * x.tolist()[0], "value"),
    "float()": (lambda x: x * float(x.sum()), "value of a tensor"),
    "print()": (lambda x: print(end="") or x * 2, "print()"),
    "time": (lambda x: x * (time.time() > 0), "time.time()"),
    "random": (lambda x: x * random.random(), "random()"),
    "nonzero": (lambda x: x[x > 0], ""),
    "numpy()": (lambda x: x + torch.from_numpy(x.numpy()), "NumPy"),
    "repr": (lambda x: x if repr(x) else x * 2, ""),
    "a global counter": (counts, "steps"),
    "an attribute counter": (Counter(), "steps"),
    "a list that grows": (appends, "memory"),
    "an iterator": (generates, "counter"),
    "a result that is no tensor": (lambda x: (x, {1}), "gives back a set"),
    "an import": (lambda x: __import__("math") and x * 2, "import"),
    "manual_seed": (lambda x: torch.manual_seed(0) and x + torch.rand(2), "manual_seed"),
    "version": (lambda x: x * x._version, ""),
    "data_ptr": (lambda x: x * (x.data_ptr() > 0), ""),
    "id": (lambda x: x * (id(x) > 0), "id()"),
}


@pytest.mark.parametrize("name", EAGER)
def test_what_cannot_be_replayed_is_eager_and_named(name):
    function, named = EAGER[name]
    x = torch.tensor([0.5, 1.5])
    compiled = torch.compile(function)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(6):
            torch.manual_seed(0)
            random.seed(0)
            compiled(x)
    assert not variants(compiled)
    told = [str(w.message) for w in told]
    # A sentence: "it reads ...", or of a name that the program has.
    sentence = r"runs eagerly, as it is written: (it [a-z]+s |`|the global `|[a-z]\w* is )"
    assert len(told) == 1 and re.search(sentence, told[0]), told
    assert named in told[0], told[0]


def test_side_effects_are_not_lost():
    def world():
        counter = Counter()
        return counter, []

    same(world, lambda number: (torch.ones(2),), calls=8, replayed=False)
    seen = []
    f = torch.compile(lambda x: seen.append(1) or x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(7):
            f(torch.ones(2))
    assert len(seen) == 7


def test_a_branch_on_values():
    """A branch before anything is written is compared at each replay."""

    def world():
        return lambda x: x.exp() if x.sum() > 0 else x - 1, []

    same(world, lambda number: (torch.randn(3),), calls=20, replayed=None)


def test_a_branch_after_a_write():
    def world():
        total = torch.zeros(())

        def f(x):
            total.add_(x.sum())
            return x * 2 if total > 0 else x - 1

        return f, [total]

    same(world, lambda number: (torch.randn(3),), calls=20, replayed=None)


def test_state_that_the_first_call_makes():
    """Caches and optimizer state of the first call are no reason to stay eager."""

    class Lazy:
        def __init__(self):
            self.made = None

        def __call__(self, x):
            if self.made is None:
                self.made = torch.ones(2)
            return x * self.made

    f = torch.compile(Lazy())
    for _ in range(4):
        assert f(torch.ones(2)).tolist() == [1.0, 1.0]
    assert variants(f), explained(f)


def test_lazy_modules():
    f = torch.compile(nn.Sequential(nn.LazyLinear(3), nn.Tanh()))
    plain = f._orig_mod
    x = torch.randn(2, 5)
    for _ in range(6):
        assert torch.equal(f(x), plain(x))


def test_an_argument_that_holds_state():
    """Objects among the arguments are looked into, too."""

    def f(agent, x):
        return x * agent.rate + agent.weight

    compiled = torch.compile(f)
    agent = Agent()
    for i in range(12):
        agent.rate = 0.5 if i < 6 else 3.0
        x = torch.randn(2)
        assert torch.equal(compiled(agent, x), f(agent, x))
    assert len(variants(compiled)) == 2


def test_two_arguments_of_one_class():
    f = captured(lambda a, x: a(x), Agent(), torch.ones(2))
    other = Agent()
    other.rate = 9.0
    assert f(other, torch.ones(2)).tolist() == [9.0, 9.0]


def test_stored_results():
    """What a call stores in an attribute or a dict is stored in each call, or the call is eager."""

    class Stores:
        def __init__(self):
            self.last = None

        def __call__(self, x):
            self.last = x * 2
            return x

    o = Stores()
    f = torch.compile(o)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(6):
            f(torch.full((2,), float(i)))
            assert o.last.tolist() == [2.0 * i] * 2


def test_the_gradient_that_was_there_is_written_in_place():
    """An alias of `.grad` sees what eager shows: the same tensor, added to."""

    def seen(compile):
        w = torch.ones(2, requires_grad=True)
        f = compile(lambda x: (w * x).sum().backward())
        found, kept = [], None
        for i in range(8):
            f(torch.full((2,), float(i)))
            found.append((w.grad is kept, None if kept is None else kept.tolist(), w.grad.tolist()))
            kept = w.grad
        return found

    assert seen(torch.compile) == seen(lambda f: f)


def test_an_optimizer_that_is_replaced():
    def seen(compile):
        torch.manual_seed(0)
        net = nn.Linear(2, 1)
        opt = torch.optim.Adam(net.parameters(), lr=0.1)

        def step(x):
            opt.zero_grad()
            net(x).sum().backward()
            opt.step()

        step, found = compile(step), []
        for i in range(18):
            if i == 6:
                opt = torch.optim.SGD(net.parameters(), lr=0.1)
            if i == 12:
                opt.param_groups[0]["lr"] = 1
            step(torch.ones(1, 2))
            found.append([p.tolist() for p in net.parameters()])
        return found

    assert seen(torch.compile) == seen(lambda f: f)


def test_the_optimizers_numbers():
    """lr, betas, weight decay, also to and from zero."""

    def seen(compile):
        torch.manual_seed(0)
        net = nn.Linear(2, 1)
        opt = torch.optim.AdamW(net.parameters(), lr=0.1)
        group = opt.param_groups[0]

        def step(x):
            opt.zero_grad()
            net(x).sum().backward()
            opt.step()

        step, found = compile(step), []
        changes = [
            *({"lr": 0.01}, {"betas": (0.5, 0.9)}, {"weight_decay": 0.0}, {"weight_decay": 0.3}),
            *({"eps": 1e-3}, {"lr": 0.0}, {"lr": 0.2}, {"maximize": True}),
        ]
        for change in changes:
            for _ in range(4):
                step(torch.ones(1, 2))
                found.append([p.tolist() for p in net.parameters()])
            group.update(change)
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert seen(torch.compile) == seen(lambda f: f)


def test_parameters_added_to_an_optimizer():
    def seen(compile):
        torch.manual_seed(0)
        net, other = nn.Linear(2, 1), nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.5)

        def step(x):
            opt.zero_grad()
            (net(x) * other(x)).sum().backward()
            opt.step()

        step, found = compile(step), []
        for i in range(12):
            if i == 5:
                opt.add_param_group({"params": list(other.parameters())})
            step(torch.ones(1, 2))
            found.append([p.tolist() for m in (net, other) for p in m.parameters()])
        return found

    assert seen(torch.compile) == seen(lambda f: f)
