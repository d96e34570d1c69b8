"""The less common optimizers: their rules in NumPy, the minima they find; and common hooks."""

import copy
import importlib
import math
import sys

import numpy as np
import pytest

from _subject import NAME, torch

optim = torch.optim
nn = torch.nn
START = np.array([1.0, -2.0, 3.0])


def gradients(steps=8):
    return np.random.default_rng(0).standard_normal((steps, 3))


def run(make, **options):
    """The parameter after each of a few steps with given gradients."""
    p = nn.Parameter(torch.tensor(START))
    optimizer = make([p], **options)
    path = []
    for g in gradients():
        p.grad = torch.tensor(g)
        optimizer.step()
        path.append(p.detach().numpy().copy())
    return np.array(path)


def adadelta(p, g, t, s):
    v = s["v"] = 0.8 * s.get("v", 0.0) + 0.2 * g * g
    d = np.sqrt(s.get("u", 0.0) + 1e-3) / np.sqrt(v + 1e-3) * g
    s["u"] = 0.8 * s.get("u", 0.0) + 0.2 * d * d
    return p - 0.5 * d


def adamax(p, g, t, s):
    m = s["m"] = 0.7 * s.get("m", 0.0) + 0.3 * g
    u = s["u"] = np.maximum(0.8 * s.get("u", 0.0), np.abs(g) + 1e-8)
    return p - 0.1 / (1 - 0.7**t) * m / u


def nadam(p, g, t, s):
    momenta = [0.7 * (1 - 0.5 * 0.96 ** (n * 0.1)) for n in (t, t + 1)]
    product = s["p"] = s.get("p", 1.0) * momenta[0]
    m = s["m"] = 0.7 * s.get("m", 0.0) + 0.3 * g
    v = s["v"] = 0.8 * s.get("v", 0.0) + 0.2 * g * g
    spread = np.sqrt(v / (1 - 0.8**t)) + 1e-8
    ahead = (1 - momenta[0]) / (1 - product) * g + momenta[1] / (1 - product * momenta[1]) * m
    return p - 0.1 * ahead / spread


def radam(p, g, t, s):
    m = s["m"] = 0.7 * s.get("m", 0.0) + 0.3 * g
    v = s["v"] = 0.9 * s.get("v", 0.0) + 0.1 * g * g
    unbiased = m / (1 - 0.7**t)
    longest = 2 / (1 - 0.9) - 1
    length = longest - 2 * t * 0.9**t / (1 - 0.9**t)
    if length <= 5:
        return p - 0.1 * unbiased
    r = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return p - 0.1 * unbiased * math.sqrt(r * (1 - 0.9**t)) / (np.sqrt(v) + 1e-8)


def rprop(p, g, t, s):
    size = s.get("size", np.full(3, 0.1))
    product = g * s.get("g", 0.0)
    size = np.clip(np.where(product > 0, 1.2, np.where(product < 0, 0.5, 1.0)) * size, 1e-6, 50)
    s["g"] = g = np.where(product < 0, 0.0, g)
    s["size"] = size
    return p - np.sign(g) * size


def adafactor(p, g, t, s):
    rate = max(1e-3, np.sqrt(np.mean(p * p))) * min(0.1, 1 / math.sqrt(t))
    v = s["v"] = (1 - t**-0.8) * s.get("v", 0.0) + t**-0.8 * g * g
    along = g / np.sqrt(v)
    return p - rate * along / max(1.0, np.sqrt(np.mean(along * along)))


RULES = [
    (adadelta, "Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-3}),
    (adamax, "Adamax", {"lr": 0.1, "betas": (0.7, 0.8)}),
    (nadam, "NAdam", {"lr": 0.1, "betas": (0.7, 0.8), "momentum_decay": 0.1}),
    (radam, "RAdam", {"lr": 0.1, "betas": (0.7, 0.9)}),
    (rprop, "Rprop", {"lr": 0.1}),
    (adafactor, "Adafactor", {"lr": 0.1}),
]


@pytest.mark.parametrize(("rule", "name", "options"), RULES, ids=[r[1] for r in RULES])
def test_the_rule(rule, name, options):
    p, state, expected = START, {}, []
    for t, g in enumerate(gradients(), 1):
        p = rule(p, g, t, state)
        expected.append(p)
    # The product of NAdam's momenta is kept in float32.
    np.testing.assert_allclose(run(getattr(optim, name), **options), np.array(expected), 1e-6)


def test_asgd_averages():
    p = nn.Parameter(torch.tensor(START))
    optimizer = optim.ASGD([p], lr=0.1, lambd=0.0, t0=1)
    path = []
    for g in gradients():
        p.grad = torch.tensor(g)
        optimizer.step()
        path.append(p.detach().numpy().copy())
    expected = START - 0.1 * np.cumsum(gradients(), 0)  # without lambd the rate stays
    np.testing.assert_allclose(np.array(path), expected, 1e-6)
    np.testing.assert_allclose(optimizer.state[p]["ax"].numpy(), expected[2:].mean(0), 1e-5)


def test_muon_makes_singular_values_alike():
    p = nn.Parameter(torch.zeros(6, 4, dtype=torch.float64))
    optimizer = optim.Muon([p], lr=1.0, weight_decay=0.0, momentum=0.0, nesterov=False)
    p.grad = torch.tensor(np.random.default_rng(0).standard_normal((6, 4)))
    optimizer.step()
    values = np.linalg.svd(p.detach().numpy(), compute_uv=False) / math.sqrt(6 / 4)
    assert values.min() > 0.5 and values.max() < 1.4
    u, _, vh = np.linalg.svd(p.grad.numpy(), full_matrices=False)
    cosine = np.sum(-p.detach().numpy() * (u @ vh)) / np.linalg.norm(p.detach().numpy()) / 2
    assert cosine > 0.95


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_lbfgs_finds_the_minimum(dtype):
    x = nn.Parameter(torch.tensor([-1.2, 1.0], dtype=dtype))
    optimizer = optim.LBFGS([x], max_iter=60, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        return loss

    first = optimizer.step(closure)
    assert math.isclose(first.item(), 24.2, rel_tol=1e-5)
    assert torch.allclose(x, torch.ones(2, dtype=dtype), atol=1e-3)


def test_lbfgs_takes_a_quadratic_in_few_steps():
    """Also of complex parameters and of those without a gradient."""
    z = nn.Parameter(torch.tensor([1 + 2j, -3j], dtype=torch.complex128))
    idle = nn.Parameter(torch.ones(2, dtype=torch.float64))
    optimizer = optim.LBFGS([idle, z], line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = ((z - (1 + 1j)).abs() ** 2 * torch.tensor([1.0, 5.0])).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert torch.allclose(z, torch.full_like(z, 1 + 1j), atol=1e-6)
    assert torch.equal(idle, torch.ones_like(idle))


@pytest.mark.skipif(NAME == "torch", reason="its copies cannot step")
def test_a_copy_of_lbfgs_steps():
    optimizer = copy.deepcopy(optim.LBFGS([nn.Parameter(torch.ones(1))]))
    (x,) = optimizer.param_groups[0]["params"]

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert abs(x.item()) < 1e-6


@pytest.mark.parametrize("rule", [r[1] for r in RULES if r[1] != "Adafactor"] + ["ASGD"])
def test_layouts_and_empty_parameters(rule):
    base = torch.arange(12.0).reshape(3, 4)
    params = [nn.Parameter(base.t()), nn.Parameter(torch.tensor(2.0)), nn.Parameter(torch.ones(0))]
    plain = nn.Parameter(base.t().contiguous().clone())
    for parameters in (params, [plain]):
        for p in parameters:
            p.grad = torch.ones_like(p)
        optimizer = getattr(optim, rule)(parameters, lr=0.1)
        optimizer.step()
        optimizer.step()
    assert torch.equal(params[0], plain)
    assert torch.equal(base.t(), params[0])  # in place, through the view


def test_hooks_of_all_optimizers():
    module = sys.modules[optim.Optimizer.__module__]
    assert repr(module.required) == "<required parameter>"
    calls = []
    before = optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    first = module.register_optimizer_step_pre_hook(lambda *_: calls.append("all, before"))
    last = module.register_optimizer_step_post_hook(lambda *_: calls.append("all, after"))
    later = optim.Adam([nn.Parameter(torch.ones(1))])
    later.register_step_pre_hook(lambda *_: calls.append("own, before"))
    later.register_step_post_hook(lambda *_: calls.append("own, after"))
    before.step()
    assert calls == ["all, before", "all, after"]
    calls.clear()
    later.step()
    assert calls == ["all, before", "own, before", "own, after", "all, after"]
    first.remove()
    last.remove()
    calls.clear()
    before.step()
    assert not calls


@pytest.mark.parametrize(
    ("module", "name"),
    [
        *[(n.lower(), n) for n in ("Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD")],
        *[(n.lower(), n) for n in ("LBFGS", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD")],
        ("sparse_adam", "SparseAdam"),
        ("optimizer", "Optimizer"),
    ],
)
def test_modules_that_programs_import_from(module, name):
    found = importlib.import_module(f"{torch.__name__}.optim.{module}")
    assert getattr(found, name) is getattr(optim, name)


def test_an_old_state_counts_in_numbers():
    p = nn.Parameter(torch.ones(2))
    optimizer = optim.NAdam([p])
    p.grad = torch.ones(2)
    optimizer.step()
    state = optimizer.state_dict()
    state["state"][0]["step"] = 1
    optimizer.load_state_dict(state)
    optimizer.step()
    assert optimizer.state[p]["step"].item() == 2.0
