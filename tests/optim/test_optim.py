"""Optimizers: their rules in NumPy, groups, state, closures and errors."""

import copy

import numpy as np
import pytest

from _subject import NAME, torch

optim = torch.optim
nn = torch.nn


def gradients(steps=6, size=3):
    return np.random.default_rng(0).standard_normal((steps, size))


def run(make, dtype=torch.float64, **options):
    """The parameter after each of a few steps with given gradients; and the optimizer."""
    p = nn.Parameter(torch.tensor([1.0, -2.0, 3.0], dtype=dtype))
    optimizer = make([p], **options)
    path = []
    for g in gradients():
        p.grad = torch.tensor(g, dtype=dtype)
        optimizer.step()
        path.append(p.detach().numpy().copy())
    return np.array(path), optimizer


START = np.array([1.0, -2.0, 3.0])


def sgd(lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False):
    p, buffer, path = START.copy(), None, []
    for g in gradients():
        g = (-g if maximize else g) + weight_decay * p
        if momentum:
            buffer = g if buffer is None else momentum * buffer + (1 - dampening) * g
            g = g + momentum * buffer if nesterov else buffer
        p = p - lr * g
        path.append(p)
    return np.array(path)


@pytest.mark.parametrize(
    "options",
    [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        {"lr": 0.1, "weight_decay": 0.2, "maximize": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_sgd(options, dtype):
    path, _ = run(optim.SGD, dtype, **options)
    np.testing.assert_allclose(path, sgd(**options), rtol=1e-5 if dtype == torch.float32 else 1e-12)


def adam(
    lr=1e-3,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.0,
    amsgrad=False,
    maximize=False,
    decoupled=False,
):
    p, m, v, top, path = START.copy(), 0.0, 0.0, 0.0, []
    for t, g in enumerate(gradients(), 1):
        g = -g if maximize else g
        if decoupled:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        top = np.maximum(top, v)
        spread = np.sqrt(top if amsgrad else v) / np.sqrt(1 - betas[1] ** t) + eps
        p = p - lr / (1 - betas[0] ** t) * m / spread
        path.append(p)
    return np.array(path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lr": 0.1, "betas": (0.5, 0.7), "eps": 1e-3},
        {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True},
        {"lr": 0.1, "maximize": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_adam(options, dtype):
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    np.testing.assert_allclose(run(optim.Adam, dtype, **options)[0], adam(**options), tolerance)
    decay = {"weight_decay": 1e-2, **options}
    expected = adam(decoupled=True, **decay)
    np.testing.assert_allclose(run(optim.AdamW, dtype, **options)[0], expected, tolerance)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("centered", [False, True])
def test_rmsprop(momentum, centered):
    p, v, mean, buffer, expected = START.copy(), 0.0, 0.0, 0.0, []
    for g in gradients():
        g = g + 0.1 * p
        v = 0.8 * v + 0.2 * g * g
        mean = 0.8 * mean + 0.2 * g
        scaled = g / (np.sqrt(v - mean**2 if centered else v) + 1e-8)
        buffer = momentum * buffer + scaled
        p = p - 0.05 * (buffer if momentum else scaled)
        expected.append(p)
    options = {"lr": 0.05, "alpha": 0.8, "weight_decay": 0.1}
    path, _ = run(optim.RMSprop, momentum=momentum, centered=centered, **options)
    np.testing.assert_allclose(path, np.array(expected), 1e-10)


def test_adagrad():
    p, total, expected = START.copy(), 0.5, []
    for t, g in enumerate(gradients()):
        total = total + g * g
        p = p - 0.1 / (1 + t * 0.2) * g / (np.sqrt(total) + 1e-10)
        expected.append(p)
    options = {"lr": 0.1, "lr_decay": 0.2, "initial_accumulator_value": 0.5}
    np.testing.assert_allclose(run(optim.Adagrad, **options)[0], np.array(expected), 1e-12)


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam], ids=lambda k: k.__name__)
def test_many_parameters_of_every_layout(kind):
    """All parameters of a group in one step, contiguous or not, with and without a gradient."""
    base = torch.arange(12.0).reshape(3, 4)
    params = [
        nn.Parameter(torch.ones(3)),
        nn.Parameter(base.t()),
        nn.Parameter(torch.ones(2, 2, dtype=torch.float64)),
        nn.Parameter(torch.tensor(2.0)),
        nn.Parameter(torch.empty(0)),
        nn.Parameter(torch.ones(1)),
    ]
    before = [p.detach().clone() for p in params]
    optimizer = kind(params, lr=0.5)
    for p in params[:-1]:
        p.grad = torch.ones_like(p)
    params[1].grad = torch.ones(3, 4).t()
    versions = [p._version for p in params]
    optimizer.step()
    for p, old in zip(params[:-1], before, strict=False):
        assert torch.allclose(p, old - 0.5)
    assert torch.equal(params[-1], before[-1])
    assert torch.equal(base.t(), params[1])  # in place, through the view
    changed = [p._version > v for p, v in zip(params, versions, strict=True)]
    assert changed == [True] * 5 + [False]
    assert all(p.is_leaf and p.requires_grad for p in params)


def test_a_step_after_the_forward_is_noticed_by_backward():
    w = nn.Parameter(torch.ones(2))
    optimizer = optim.SGD([w], lr=0.1)
    x = torch.ones(2, requires_grad=True)
    loss = (w * x).sum()
    w.grad = torch.ones(2)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_groups_and_defaults():
    a, b = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 1.0}], lr=0.1, momentum=0.5)
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 1.0]
    assert [g["momentum"] for g in optimizer.param_groups] == [0.5, 0.5]
    a.grad = b.grad = torch.ones(1)
    optimizer.step()
    assert abs(a.item() - 0.9) < 1e-6 and b.item() == 0.0
    c = nn.Parameter(torch.ones(1))
    optimizer.add_param_group({"params": [c], "lr": 2.0})
    optimizer.param_groups[0]["lr"] = 0.0
    c.grad = torch.ones(1)
    optimizer.step()
    assert abs(a.item() - 0.9) < 1e-6 and c.item() == -1.0
    assert optim.Adam([a]).defaults["betas"] == (0.9, 0.999)


def test_repr_and_named_parameters():
    layer = nn.Linear(1, 1)
    text = repr(optim.SGD(layer.parameters(), lr=0.5))
    assert text.startswith(
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n"
    )
    named = optim.SGD(layer.named_parameters(), lr=0.5)
    assert named.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]


def test_zero_grad():
    p = nn.Parameter(torch.ones(2))
    optimizer = optim.SGD([p], lr=0.1)
    grad = p.grad = torch.ones(2)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad and not grad.any()
    optimizer.zero_grad()
    assert p.grad is None
    optimizer.step()
    assert p.tolist() == [1.0, 1.0]


def test_closure():
    p = nn.Parameter(torch.tensor([3.0]))
    optimizer = optim.SGD([p], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert p.item() == 1.5


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (optim.Adam, {"lr": 0.1, "amsgrad": True}),
        (optim.AdamW, {}),
        (optim.RMSprop, {"momentum": 0.9}),
        (optim.Adagrad, {}),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_state_dict_goes_on_where_it_was(kind, options):
    def train(p, optimizer, batches):
        for g in batches:
            p.grad = torch.tensor(g)
            optimizer.step()

    batches = gradients()
    p = nn.Parameter(torch.ones(3, dtype=torch.float64))
    optimizer = kind([p], **options)
    train(p, optimizer, batches[:3])
    saved = copy.deepcopy(optimizer.state_dict())
    q = nn.Parameter(p.detach().clone())
    other = kind([q], lr=77.0)
    other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]
    train(p, optimizer, batches[3:])
    train(q, other, batches[3:])
    assert torch.equal(p, q)


def test_what_a_state_dict_holds():
    p = nn.Parameter(torch.ones(2))
    optimizer = optim.Adam([p], lr=0.1)
    assert optimizer.state_dict()["state"] == {}
    p.grad = torch.ones(2)
    optimizer.step()
    optimizer.step()
    state = optimizer.state_dict()
    assert list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    assert state["state"][0]["step"].item() == 2.0
    assert state["state"][0]["step"].dtype == torch.float32
    assert state["param_groups"][0]["params"] == [0]
    half = nn.Parameter(torch.ones(2, dtype=torch.float64))
    other = optim.Adam([half])
    other.load_state_dict(state)
    assert other.state[half]["exp_avg"].dtype == torch.float64
    assert other.state[half]["step"].dtype == torch.float32


def test_step_hooks():
    p = nn.Parameter(torch.ones(1))
    optimizer = optim.SGD([p], lr=0.1)
    calls = []
    handle = optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append("pre"))
    optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append("post"))
    optimizer.step()
    handle.remove()
    optimizer.step(lambda: calls.append("closure"))
    assert calls == ["pre", "post", "closure", "post"]


def test_an_optimizer_of_the_users_own():
    class Sign(optim.Optimizer):
        def __init__(self, params, lr=0.5):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["seen"] = self.state[p].get("seen", 0) + 1
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    p = nn.Parameter(torch.ones(2))
    optimizer = Sign([p])
    p.grad = torch.tensor([3.0, -4.0])
    optimizer.step()
    assert p.tolist() == [0.5, 1.5] and optimizer.state[p]["seen"] == 1


def parameter():
    return nn.Parameter(torch.ones(2))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
        (lambda: optim.SGD(parameter()), TypeError, "should be an iterable of Tensors or dicts"),
        (lambda: optim.SGD([3]), TypeError, "optimizer can only optimize Tensors"),
        (lambda: optim.SGD([parameter() * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda: optim.SGD([{"params": {parameter()}}]), TypeError, "in ordered collections"),
        (lambda: optim.SGD([parameter()], -1), ValueError, "Invalid learning rate: -1"),
        (lambda: optim.SGD([parameter()], 1, -1), ValueError, "Invalid momentum value: -1"),
        (lambda: optim.SGD([parameter()], nesterov=True), ValueError, "Nesterov momentum requires"),
        (lambda: optim.Adam([parameter()], eps=-1), ValueError, "Invalid epsilon value: -1"),
        (
            lambda: optim.Adam([parameter()], betas=(1.0, 0.9)),
            ValueError,
            "parameter at index 0: 1.0",
        ),
        (
            lambda: optim.Adam([parameter()], betas=(0.9, 5.0)),
            ValueError,
            "parameter at index 1: 5.0",
        ),
        (lambda: optim.RMSprop([parameter()], alpha=-1), ValueError, "Invalid alpha value: -1"),
        (
            lambda: optim.Adagrad([parameter()], lr_decay=-1),
            ValueError,
            "Invalid lr_decay value: -1",
        ),
    ],
)
def test_errors(make, error, text):
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)


def test_groups_that_do_not_fit():
    p = parameter()
    optimizer = optim.SGD([p])
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        optimizer.add_param_group({"params": [p]})
    with pytest.raises(TypeError, match="param_group must be a dict, but got <class 'list'>"):
        optimizer.add_param_group([p])
    two = optim.SGD([parameter(), parameter()]).state_dict()
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optimizer.load_state_dict(two)
    groups = optim.SGD([{"params": [parameter()]}, {"params": [parameter()]}]).state_dict()
    with pytest.raises(ValueError, match="has a different number of parameter groups"):
        optimizer.load_state_dict(groups)


RULES = [
    (optim.SGD, {"weight_decay": 0.1}),
    (optim.SGD, {"momentum": 0.5, "dampening": 0.1}),
    (optim.SGD, {"momentum": 0.5, "nesterov": True, "maximize": True}),
    (optim.Adam, {"weight_decay": 0.1}),
    (optim.Adam, {"amsgrad": True, "maximize": True}),
    (optim.AdamW, {"amsgrad": True}),
    (optim.RMSprop, {"weight_decay": 0.1}),
    (optim.RMSprop, {"momentum": 0.5, "centered": True}),
    (optim.Adagrad, {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2}),
]


def name_of(value):
    return value.__name__ if isinstance(value, type) else str(value)


@pytest.mark.parametrize(("kind", "options"), RULES, ids=name_of)
def test_several_differentiable_steps_by_finite_differences(kind, options):
    """The derivative by the start, by the gradients and, what PyTorch has in part, by the rate."""
    torch.manual_seed(0)
    start = torch.randn(3, dtype=torch.float64, requires_grad=True)
    grads = [torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    rate = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    if "momentum" in options and kind is optim.SGD:  # the first buffer is a detached gradient
        grads[0].requires_grad_(False)

    def end(start, rate, *grads):
        p = start.clone()
        optimizer = kind([p], lr=rate.clone(), differentiable=True, **options)
        for grad in grads:
            p.grad = grad.clone()
            optimizer.step()
        return p

    def end_at_a_fixed_rate(start, *grads):
        return end(start, torch.tensor(0.1, dtype=torch.float64), *grads)

    # Adam's corrections are computed in the precision of the step count, which is float32.
    tolerances = {"eps": 1e-4, "atol": 1e-4} if kind in (optim.Adam, optim.AdamW) else {}
    if NAME == "torch":
        grads = grads[:1]  # its rules overwrite what later steps need
        assert torch.autograd.gradcheck(end_at_a_fixed_rate, (start, *grads), **tolerances)
    else:
        assert torch.autograd.gradcheck(end, (start, rate, *grads), **tolerances)


@pytest.mark.parametrize("name", ["weight_decay", "betas"])
def test_adam_is_differentiable_in_its_other_options(name):
    start = torch.tensor([1.0, -2.0], dtype=torch.float64)
    leaf = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)

    def end(leaf):
        p = start.clone().requires_grad_().clone()
        value = leaf.clone()
        options = {name: (value, value * 0.9) if name == "betas" else value}
        optimizer = optim.Adam([p], lr=0.1, differentiable=True, **options)
        for sign in (1, -2):
            p.grad = sign * torch.tensor([0.5, 1.5], dtype=torch.float64)
            optimizer.step()
        return p

    assert torch.autograd.gradcheck(end, (leaf,), eps=1e-4, atol=1e-4)


@pytest.mark.parametrize(("kind", "options"), RULES, ids=name_of)
@pytest.mark.parametrize("differentiable", [False, True], ids=["plain", "differentiable"])
def test_complex_parameters_step_as_their_real_and_imaginary_parts(kind, options, differentiable):
    torch.manual_seed(0)
    start = torch.randn(3, dtype=torch.complex128)
    grads = [torch.randn(3, dtype=torch.complex128) for _ in range(3)]

    def end(start, grads):
        p = start.clone().requires_grad_()
        if differentiable:
            p = p.clone()
        optimizer = kind([p], lr=0.1, differentiable=differentiable, **options)
        for grad in grads:
            p.grad = grad.clone()
            optimizer.step()
        return p.detach()

    parts = end(torch.view_as_real(start), [torch.view_as_real(grad) for grad in grads])
    assert torch.allclose(torch.view_as_real(end(start, grads)), parts, rtol=1e-6)


def test_the_count_of_steps_has_the_default_dtype():
    for default in (torch.float32, torch.float64):
        torch.set_default_dtype(default)
        try:
            p = nn.Parameter(torch.ones(2, dtype=torch.float32))
            optimizer = optim.Adam([p], lr=0.5)
            for n in (1, 2):
                p.grad = torch.ones_like(p)
                optimizer.step()
                assert optimizer.state[p]["step"].dtype == default
                assert optimizer.state[p]["step"].item() == n
            assert torch.allclose(p, torch.zeros_like(p), atol=1e-6)
        finally:
            torch.set_default_dtype(torch.float32)
