"""torch.compile of functions. The expectation is the same program run eagerly, bit for bit."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import pickle
import signal
import threading
import warnings
import weakref

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._core import capturing

from .worlds import bits, captured, same, variants

F = nn.functional


def batch(*shape, **options):
    """Inputs of a call: another batch in each."""
    return lambda number: (torch.randn(*shape, **options),)


def mlp(*sizes, act=nn.Tanh):
    layers = [part for a, b in itertools.pairwise(sizes) for part in (nn.Linear(a, b), act())]
    return nn.Sequential(*layers[:-1])


# --- training steps ---

OPTIMIZERS = {
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01),
}
SCHEDULERS = {
    "constant": lambda o: None,
    "StepLR": lambda o: torch.optim.lr_scheduler.StepLR(o, 1, 0.7),
    "OneCycleLR": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=20),
    "CosineAnnealingLR": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 9),
}


# The numbers of these are read anew in each replay; of the others, Python computes with them.
CAPTURED_ONCE = {
    *((optimizer, "constant") for optimizer in OPTIMIZERS),
    *((o, s) for o in ("momentum", "Adam", "AdamW") for s in ("StepLR", "CosineAnnealingLR")),
    *((o, "OneCycleLR") for o in ("Adam", "AdamW")),
}


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_steps_with_schedules(optimizer, scheduler):
    if (optimizer, scheduler) == ("Adagrad", "OneCycleLR"):
        pytest.skip("OneCycleLR asks for momentum or betas")

    def make():
        net = mlp(3, 8, 2)
        opt = OPTIMIZERS[optimizer](net.parameters())
        plan = SCHEDULERS[scheduler](opt)
        opt.plan = plan

        def step(x):
            opt.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            opt.step()
            return loss.detach()

        return step, [net, opt]

    def after(number, result, held):
        if held[1].plan is not None:
            held[1].plan.step()

    compiled = same(make, batch(5, 3), calls=8, after=after)
    if (optimizer, scheduler) in CAPTURED_ONCE:
        assert len(variants(compiled)) == 1


def test_a_loss_of_second_derivatives():
    def make():
        net = mlp(1, 8, 8, 1)
        opt = torch.optim.Adam(net.parameters())

        def step(x):
            x = x.detach().requires_grad_()
            u = net(x)
            (ux,) = torch.autograd.grad(u.sum(), x, create_graph=True)
            (uxx,) = torch.autograd.grad(ux.sum(), x, create_graph=True)
            loss = (uxx + u.sin()).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss.detach()

        return step, [net, opt]

    same(make, batch(6, 1))


def test_a_recurrent_loop():
    def make():
        cell, head = nn.GRUCell(3, 5), nn.Linear(5, 1)
        opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)

        def step(x):
            h = torch.zeros(x.shape[1], 5)
            for t in range(x.shape[0]):
                h = cell(x[t], h)
            loss = head(h).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss.detach(), h.detach()

        return step, [cell, head, opt]

    same(make, batch(7, 2, 3))


def test_a_runge_kutta_solver():
    def make():
        rates = torch.tensor([1.5, 1.0, 3.0, 1.0], requires_grad=True)

        def slope(y):
            a, b, c, d = rates
            return torch.stack([a * y[0] - b * y[0] * y[1], d * y[0] * y[1] - c * y[1]])

        def step(y, h=0.05):
            rates.grad = None
            for _ in range(12):
                k1 = slope(y)
                k2 = slope(y + h / 2 * k1)
                k3 = slope(y + h / 2 * k2)
                k4 = slope(y + h * k3)
                y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            y.sum().backward()
            return y.detach()

        return step, [rates]

    same(make, lambda number: (torch.rand(2) + 1,))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x):
        b, s, w = x.shape
        q, k, v = (
            t.view(b, s, 2, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, w))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(11, 8), nn.Embedding(6, 8)
        self.blocks = nn.ModuleList(Block(8) for _ in range(2))
        self.head = nn.Linear(8, 11)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def test_a_small_gpt():
    def make():
        net = GPT()
        opt = torch.optim.AdamW(net.parameters(), lr=0.01)

        def step(ids):
            loss = F.cross_entropy(net(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            return loss.detach()

        return step, [net, opt]

    same(make, lambda number: (torch.randint(0, 11, (2, 7)),))


def test_updates_of_a_target_network():
    def make():
        net = mlp(3, 4, 1)
        target = copy.deepcopy(net)
        opt = torch.optim.Adam(net.parameters())

        def step(x):
            with torch.no_grad():
                wanted = 0.9 * target(x)
            opt.zero_grad()
            F.smooth_l1_loss(net(x), wanted).backward()
            opt.step()
            with torch.no_grad():
                for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
                    slow.lerp_(fast, 0.05)

        return step, [net, target, opt]

    same(make, batch(4, 3))


@pytest.mark.parametrize("clip", ["norm", "value"])
def test_gradients_are_clipped(clip):
    def make():
        net = mlp(3, 4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=1.0)

        def step(x):
            opt.zero_grad()
            (100 * net(x)).square().mean().backward()
            if clip == "norm":
                norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            else:
                norm = nn.utils.clip_grad_value_(net.parameters(), 0.1)
            opt.step()
            return norm

        return step, [net, opt]

    same(make, batch(4, 3))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_gradients_of_other_types_are_clipped(dtype):
    def make():
        weights = [torch.randn(3).to(t).requires_grad_() for t in (dtype, torch.float32, dtype)]

        def step(x):
            for w in weights:
                w.grad = x.to(w.dtype) * 2
            return nn.utils.clip_grad_norm_(weights, 0.3)

        return step, weights

    same(make, batch(3), replayed=None)


def test_gradients_add_up_over_calls():
    def make():
        net = mlp(3, 4, 1)

        def step(x):
            net(x).square().mean().backward()

        return step, [net]

    def after(number, result, held):
        if number % 3 == 2:
            held[0].zero_grad()

    same(make, batch(4, 3), calls=10, after=after)


def test_stored_gradients_are_not_written_again():
    w = torch.ones(2, requires_grad=True)

    def step(x):
        w.grad = None
        (w * x).sum().backward()

    step = captured(step, torch.ones(2))
    step(torch.full((2,), 3.0))
    kept = w.grad
    step(torch.full((2,), 5.0))
    assert kept.tolist() == [3.0, 3.0] and w.grad.tolist() == [5.0, 5.0]


# --- transforms and draws ---

TRANSFORMED = {
    "vmap": lambda f, x: torch.func.vmap(f)(x),
    "grad": lambda f, x: torch.func.vmap(torch.func.grad(lambda y: f(y).sum()))(x),
    "jvp": lambda f, x: torch.func.jvp(f, (x,), (x.cos(),)),
    "vjp": lambda f, x: torch.func.vjp(f, x)[1](x.cos()),
    "jacrev": lambda f, x: torch.func.jacrev(f)(x[0]),
    "jacfwd": lambda f, x: torch.func.jacfwd(f)(x[0]),
    "hessian": lambda f, x: torch.func.hessian(lambda y: f(y).sum())(x[0]),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_inside(name):
    def make():
        w = torch.randn(3, 3)
        return lambda x: TRANSFORMED[name](lambda y: (y @ w).tanh() * y, x), [w]

    same(make, batch(4, 3))


DRAWS = {
    "dropout": lambda x: F.dropout(x, 0.5),
    "dropout2d": lambda x: F.dropout2d(x[None, :, :, None], 0.5),
    "randn": lambda x: x + torch.randn(4, 3),
    "rand_like": lambda x: x + torch.rand_like(x),
    "normal_": lambda x: x + torch.empty(4, 3).normal_(1, 2),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "Normal": lambda x: torch.distributions.Normal(x, 1.0).rsample(),
    "two draws": lambda x: torch.rand(2).sum() * F.dropout(x, 0.3) + torch.randn(3),
    "randint": lambda x: x + torch.randint(0, 9, (3,)),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_random_numbers(name):
    same(lambda: (DRAWS[name], []), batch(4, 3))


def test_replays_draw_new_numbers():
    drop = captured(lambda x: F.dropout(x, 0.5), torch.ones(64))
    assert not torch.equal(drop(torch.ones(64)), drop(torch.ones(64)))


# --- arguments and results ---


def test_keyword_arguments():
    def make():
        def f(x, *, scale=1.0, extra=None):
            return x * scale if extra is None else x * scale + extra

        return lambda x, y: (f(x, scale=2.0), f(x, extra=y)), []

    same(make, lambda number: (torch.randn(3), torch.randn(3)))
    f = captured(lambda x, scale=None: x * scale, torch.ones(2), scale=torch.ones(2))
    assert f(scale=torch.full((2,), 3.0), x=torch.ones(2)).tolist() == [3.0, 3.0]


def test_trees_of_arguments_and_results():
    def make():
        def f(tree):
            a, (b, c) = tree["a"], tree["rest"]
            return {"sum": a + b, "list": [a * c, 3, "x", None], "same": a, "view": b[0]}

        return f, []

    def inputs(number):
        return ({"a": torch.randn(3), "rest": [torch.randn(3), torch.randn(3)]},)

    compiled = same(make, inputs)
    tree = inputs(0)[0]
    made = compiled(tree)
    assert made["same"] is tree["a"]


def test_one_tensor_given_twice():
    def f(a, b):
        a.add_(1)
        return a * b

    f = captured(f, torch.ones(2), torch.ones(2))
    x = torch.ones(2)
    assert f(x, x).tolist() == [4.0, 4.0]
    assert f(torch.ones(2), torch.ones(2)).tolist() == [2.0, 2.0]


def test_overlapping_views_given():
    def make():
        def f(a, b):
            a.mul_(2)
            return a + b

        return f, []

    def inputs(number):
        base = torch.arange(6.0)
        return (base[:4], base[2:]) if number % 2 else (base[:4], torch.ones(4))

    same(make, inputs, calls=8)


def test_several_shapes_are_several_runs():
    compiled = same(
        lambda: (lambda x: x.exp().sum(0), []), lambda n: (torch.randn(2 + n // 4, 3),), calls=12
    )
    assert len(variants(compiled)) == 3


def test_beyond_eight_runs_calls_are_eager():
    compiled = same(
        lambda: (lambda x: x.exp().sum(0), []), lambda n: (torch.randn(1 + n // 2, 3),), calls=24
    )
    assert len(variants(compiled)) == 8


def test_types_and_layouts_are_told_apart():
    def inputs(number):
        x = torch.randn(3, 3)
        return ([x, x.double(), x.t(), x[:, :2], x.expand(2, 3, 3)][number % 5],)

    same(lambda: (lambda x: (x * 2).cumsum(0), []), inputs, calls=20)


def test_numbers_are_told_apart():
    compiled = same(
        lambda: (lambda x, k: x * k, []),
        lambda n: (torch.ones(2), [2, 3, 2.0, True][n % 4]),
        calls=16,
    )
    assert 2 <= len(variants(compiled)) <= 4


def test_results_are_not_overwritten():
    f = captured(lambda x: (x * 2, (x + 1).view(-1)[:1]), torch.ones(2))
    first = f(torch.ones(2))
    kept = bits(first)
    first[0].add_(0)
    f(torch.full((2,), 7.0))
    assert bits(first) == kept


def test_writing_to_results_does_not_reach_replays():
    f = captured(lambda x: (torch.zeros(2) + x, torch.ones(3)), torch.ones(2))
    for t in f(torch.ones(2)):
        t.fill_(9)
    assert [t.tolist() for t in f(torch.ones(2))] == [[1.0, 1.0], [1.0, 1.0, 1.0]]


def test_a_result_that_is_state_is_that_state():
    buffer = torch.zeros(2)
    f = captured(lambda x: buffer.add_(x), torch.ones(2))
    assert f(torch.ones(2)) is buffer and buffer.tolist() == [4.0, 4.0]


def test_gradients_through_results_and_arguments():
    def make():
        w = torch.randn(3, requires_grad=True)

        def f(x, y):
            return (x * w).sin(), (y * x).sum(), x + 1

        return f, [w]

    def inputs(number):
        return torch.randn(3, requires_grad=True), torch.randn(3)

    def after(number, result, held):
        (result[0].sum() * result[1] + result[2].sum()).backward()

    same(make, inputs, after=after)


# --- forms ---


def test_as_a_decorator():
    @torch.compile
    def plain(x):
        """Doubles."""
        return x * 2

    @torch.compile(fullgraph=True, mode="reduce-overhead")
    def options(x):
        return x * 2

    assert (plain.__name__, plain.__doc__) == ("plain", "Doubles.")
    for f in (plain, options):
        for _ in range(4):
            assert f(torch.ones(2)).tolist() == [2.0, 2.0]
        assert variants(f)


class Scaled:
    def __init__(self, scale):
        self.scale, self.count = scale, torch.zeros(())

    @torch.compile
    def times(self, x):
        self.count += 1
        return x * self.scale


def test_methods_of_several_objects():
    objects = [Scaled(2.0), Scaled(torch.tensor(5.0))]
    for number in range(6):
        for o, scale in zip(objects, (2.0, 5.0), strict=True):
            assert o.times(torch.ones(2)).tolist() == [scale, scale]
            assert o.count.item() == number + 1
    assert len(variants(Scaled.times)) == 2
    bound = torch.compile(Scaled(3.0).times)
    assert [bound(torch.ones(1)).item() for _ in range(5)] == [3.0] * 5


def test_what_is_left_as_it_is():
    def f(x):
        return x

    assert torch.compile(f, backend="eager") is f and torch.compile(f, disable=True) is f
    assert torch.compile(backend="eager")(f) is f and torch.compiler.disable(f) is f


def test_force_eager_and_eager_then_replays():
    ran = []
    f = captured(lambda x: x * 2, torch.ones(2))
    f.variants[0].function = None
    f.function = lambda x: ran.append(1) or x * 2
    f(torch.ones(2))
    with torch.compiler.set_stance("force_eager"):
        f(torch.ones(2))
    f(torch.ones(2))
    assert ran == [1]


def test_no_new_runs_where_only_replays_are_allowed():
    f = captured(lambda x: x * 2, torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        for _ in range(4):
            assert f(torch.ones(3)).tolist() == [2.0] * 3
    assert len(variants(f)) == 1


def test_reset():
    f = captured(lambda x: x * 2, torch.ones(2))
    torch.compiler.reset()
    assert not variants(f) and "not captured yet (0 calls)" in f.explain()
    for _ in range(3):
        f(torch.ones(2))
    assert variants(f)


def test_is_compiling_in_the_captured_call_alone():
    seen = []

    def f(x):
        told = torch.compiler.is_compiling()
        return x * 2 if told else x * 2 + 0

    f = torch.compile(f)
    for _ in range(4):
        seen.append(f(torch.ones(1)).item())
    assert seen == [2.0] * 4 and not torch.compiler.is_compiling()


def test_explain():
    def f(x):
        return (x * 2).exp().sum()

    said = torch._dynamo.explain(f)(torch.ones(3))
    assert (said.graph_count, said.graph_break_count) == (1, 0) and said.op_count >= 2
    assert "captured run 1" in str(said) and os.path.basename(__file__) in str(said)
    said = torch._dynamo.explain(lambda x: x.tolist())(torch.ones(3))
    assert (said.graph_count, said.graph_break_count) == (0, 1)
    assert "tolist" in said.break_reasons[0] or "value" in said.break_reasons[0]


def test_one_warning_with_reason_and_line():
    def f(x):
        return x * x.sum().item()

    line = f"{os.path.basename(__file__)}:{f.__code__.co_firstlineno + 1}"
    f = torch.compile(f)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(6):
            f(torch.ones(2))
    assert len(told) == 1 and told[0].category is UserWarning
    assert "f runs eagerly" in str(told[0].message) and line in str(told[0].message)
    assert told[0].filename == __file__


def test_fullgraph_raises_what_else_is_warned_of():
    f = torch.compile(lambda x: x * x.sum().item(), fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="runs eagerly"):
        for _ in range(6):
            f(torch.ones(2))
    assert not capturing()
    assert f(torch.ones(2)).tolist() == [2.0, 2.0]


# --- exceptions ---


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
def test_an_exception_half_way(at):
    """The call number `at` fails, after it wrote: by a matrix that has no factor."""

    def make():
        w = torch.zeros(2)

        def f(x):
            w.add_(1)
            made = torch.linalg.cholesky(x)
            w.add_(1)
            return made

        return f, [w]

    def seen(compile):
        f, (w,) = make()
        f = compile(f)
        found = []
        for number in range(1, 8):
            x = torch.eye(2) * (-1 if number == at else number)
            try:
                found.append(bits(f(x)))
            except RuntimeError as error:
                found.append((type(error), str(error).partition("\n")[0]))
            found.append(bits(w))
            assert not capturing()
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager, other = seen(lambda f: f), seen(torch.compile)
    assert eager == other


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_exception_of_the_program(at):
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return x * 2

    f = torch.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(1, 6):
            if number == at:
                with pytest.raises(KeyboardInterrupt):
                    f(torch.ones(2))
            else:
                assert f(torch.ones(2)).tolist() == [2.0, 2.0]
            assert not capturing()


@pytest.mark.skipif(not hasattr(signal, "raise_signal") or os.name == "nt", reason="signals")
def test_a_signal_in_the_captured_call():
    armed = []

    def f(x):
        y = x * 2
        for hook in armed:
            hook()
        return y + 1

    compiled = torch.compile(f)
    compiled(torch.ones(2)), compiled(torch.ones(2))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    armed.append(lambda: signal.raise_signal(signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled(torch.ones(2))
    finally:
        signal.signal(signal.SIGINT, before)
    assert not capturing()
    armed.clear()
    other = captured(lambda x: x + 1, torch.ones(2))
    assert other(torch.ones(2)).tolist() == [2.0, 2.0]


# --- calls within calls, threads, processes ---


def test_a_compiled_function_within_another():
    inner = torch.compile(lambda x: x.sin() * 2)

    def make():
        return lambda x: inner(x) + inner(x.cos()), []

    same(make, batch(3))


def test_a_function_that_calls_itself():
    def f(x, depth):
        return x * 2 if depth == 0 else f(x + depth, depth - 1)

    plain, f = f, torch.compile(f)
    for _ in range(6):
        x = torch.randn(3)
        expected = x
        for depth in (3, 2, 1):
            expected = expected + depth
        assert torch.equal(f(x, 3), expected * 2)
    assert plain is f.__wrapped__


def test_a_replay_within_the_hook_of_a_replay():
    """The captured function is called again while its own backward runs."""
    w = torch.ones(2, requires_grad=True)
    f = torch.compile(lambda x: (x * w).sin())
    seen = []
    for _ in range(6):
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda g: seen.append(f(torch.full((2,), 2.0)).tolist()))
        f(x).sum().backward()
    expected = (torch.full((2,), 2.0) * w).sin().tolist()
    assert seen == [expected] * 6


def test_threads_that_call_one_function():
    w = torch.randn(16, 16)

    def f(x):
        for _ in range(5):
            x = (x @ w).tanh()
        return x

    inputs = [torch.randn(4, 16) for _ in range(8)]
    expected = [bits(f(x)) for x in inputs]
    compiled = torch.compile(f)
    wrong = []
    start = threading.Barrier(4)

    def work():
        start.wait()
        for _ in range(40):
            for x, wanted in zip(inputs, expected, strict=True):
                if bits(compiled(x)) != wanted:
                    wrong.append(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and variants(compiled)


def test_threads_of_modules_with_a_graph():
    net = mlp(8, 8, 1)
    plain = {n: [] for n in range(4)}
    compiled = torch.compile(net)
    inputs = [torch.randn(4, 8) for _ in range(4)]
    wrong = []

    def gradients(model, x):
        made = torch.autograd.grad(model(x).square().sum(), list(net.parameters()))
        return bits(list(made))

    for n, x in enumerate(inputs):
        plain[n] = gradients(net, x)

    def work(n):
        for _ in range(50):
            if gradients(compiled, inputs[n]) != plain[n]:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_replays_and_captures_after_a_fork():
    f = captured(lambda x: x * 2 + 1, torch.ones(2))
    child = os.fork()
    if not child:
        code = 1
        try:
            good = f(torch.full((2,), 4.0)).tolist() == [9.0, 9.0]
            other = captured(lambda x: x - 1, torch.ones(3))
            good &= other(torch.ones(3)).tolist() == [0.0] * 3
            code = 0 if good else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert f(torch.ones(2)).tolist() == [3.0, 3.0]


# --- copies ---


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_a_compiled_module_are_of_their_own(copied):
    net = nn.Linear(2, 2)
    compiled = torch.compile(net)
    x = torch.ones(1, 2)
    for _ in range(4):
        compiled(x)
    other = copied(compiled)
    with torch.no_grad():
        net.weight.zero_()
    assert other.weight is not net.weight
    for _ in range(5):
        assert bits(other(x)) == bits(other._orig_mod(x))
    assert bits(compiled(x)) == bits(net(x))


def test_a_module_that_is_not_called_any_more_is_freed():
    net = nn.Linear(2, 2)
    compiled = torch.compile(net)
    for _ in range(4):
        compiled(torch.ones(1, 2))
    gone = weakref.ref(net)
    del net, compiled
    gc.collect()
    assert gone() is None


def test_a_gradient_that_is_given_back_is_the_leafs():
    w = torch.ones(3, requires_grad=True)

    @torch.compile
    def step(x):
        w.grad = None
        (w * x).sum().backward()
        return w.grad

    for number in range(6):
        assert step(torch.full((3,), float(number))) is w.grad
        assert w.grad.tolist() == [number] * 3
    assert len(step.variants) == 1
