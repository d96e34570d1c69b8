"""Optimizers, lists of tensors, factories and autocast on the accelerator: the CPU's numbers."""

import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn, optim

THERE = "opencl"
SHAPES = [(3, 4), (5,), (), (2, 300), (0, 2)]
CLOSE = {torch.float32: 1e-6, torch.float64: 1e-14, torch.float16: 1e-2}


def numbers(seed, dtype, where):
    chance = np.random.RandomState(seed)
    return [torch.tensor(chance.randn(*s)).to(dtype).to(where) for s in SHAPES]


def trained(where, kind, dtype, steps=4, transposed=False, **options):
    parameters = [nn.Parameter(t) for t in numbers(0, dtype, where)]
    if transposed:
        parameters = [nn.Parameter(p.detach().t()) if p.dim() == 2 else p for p in parameters]
    optimizer = kind(parameters, **options)
    for step in range(steps):
        for p, grad in zip(parameters, numbers(1 + step, dtype, where), strict=True):
            p.grad = grad.t() if transposed and grad.dim() == 2 else grad
        optimizer.step()
    return parameters, optimizer


def check(kind, dtype, **more):
    a, of_a = trained("cpu", kind, dtype, **more)
    b, of_b = trained(THERE, kind, dtype, **more)
    compare(a, b, CLOSE[dtype])
    for p, q in zip(a, b, strict=True):
        assert q.device.type == THERE
        for name, value in of_a.state[p].items():
            compare([value], [of_b.state[q][name]], CLOSE[dtype])


def compare(these, those, close):
    for a, b in zip(these, those, strict=True):
        a, b = (np.asarray(t.detach().cpu().double()) if hasattr(t, "cpu") else t for t in (a, b))
        assert np.allclose(a, b, rtol=close, atol=close), abs(a - b).max()


FUSED = [
    (optim.SGD, {"lr": 0.1}),
    (optim.SGD, {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    (optim.Adam, {"lr": 0.1}),
    (optim.Adam, {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    (optim.Adam, {"lr": 0.1, "betas": (0.3, 0.9), "maximize": True}),
    (optim.AdamW, {"lr": 0.1, "amsgrad": True}),
]
OTHERS = [
    optim.Adadelta,
    optim.Adagrad,
    optim.NAdam,
    optim.RAdam,
    optim.RMSprop,
    optim.Adamax,
    optim.ASGD,
    optim.Rprop,
]


@pytest.mark.usefixtures("refuse")
class TestSteps:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize(("kind", "options"), FUSED)
    def test_one_launch_for_each_parameter(self, kind, options, dtype):
        check(kind, dtype, **options)

    @pytest.mark.parametrize(("kind", "options"), [FUSED[0], FUSED[2]])
    def test_halves(self, kind, options):
        check(kind, torch.float16, **options)

    def test_halves_of_adam_keep_small_numbers(self):
        a, _ = trained(THERE, optim.Adam, torch.float16, steps=2)
        b, _ = trained(THERE, optim.Adam, torch.float32, steps=2)
        compare(a, b, 1e-2)

    @pytest.mark.parametrize("at", [3, 5])
    def test_layouts(self, at):
        kind, options = FUSED[at]
        check(kind, torch.float32, transposed=True, **options)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("kind", OTHERS)
    def test_rules_in_tensor_operations(self, kind, dtype):
        check(kind, dtype)

    def test_versions_and_counts(self):
        (p, *_), optimizer = trained(THERE, optim.Adam, torch.float32)
        step = optimizer.state[p]["step"]
        assert (step.item(), step.device.type) == (4, "cpu")
        before = p._version
        p.grad = torch.ones(3, 4, device=THERE)
        optimizer.step()
        assert p._version > before

    def test_saved_and_loaded(self):
        _, one = trained(THERE, optim.Adam, torch.float32)
        q, two = trained(THERE, optim.Adam, torch.float32, steps=1)
        two.load_state_dict(one.state_dict())
        assert two.state[q[0]]["exp_avg"].device.type == THERE
        compare([two.state[q[0]]["exp_avg"]], [one.state_dict()["state"][0]["exp_avg"]], 0)


@pytest.mark.usefixtures("refuse")
class TestGradients:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
    def test_norms(self, dtype):
        a, b = (nn.utils.get_total_norm(numbers(0, dtype, d)) for d in ("cpu", THERE))
        assert (b.dtype, b.shape, b.device.type) == (dtype, (), THERE)
        compare([a], [b], CLOSE[dtype])

    def test_norm_of_many(self):
        x = torch.full((300_000,), 0.1, device=THERE)
        assert abs(nn.utils.get_total_norm([x, x[::2]]).item() - 4500**0.5) < 1e-4
        assert nn.utils.get_total_norm([x[:0]]).item() == 0

    @pytest.mark.parametrize("most", [0.5, 1e6])
    def test_clipping(self, most):
        def clipped(where):
            parameters = [nn.Parameter(t) for t in numbers(0, torch.float32, where)]
            for p, grad in zip(parameters, numbers(1, torch.float32, where), strict=True):
                p.grad = grad
            norm = nn.utils.clip_grad_norm_(parameters, most)
            return [norm, *(p.grad for p in parameters)]

        compare(clipped("cpu"), clipped(THERE), 1e-6)


@pytest.mark.usefixtures("refuse")
class TestLists:
    @pytest.mark.parametrize(
        "name", ["abs", "exp", "neg", "sqrt", "tanh", "sigmoid", "reciprocal", "round"]
    )
    def test_functions(self, name):
        a, b = (
            getattr(torch, "_foreach_" + name)(numbers(0, torch.float64, d)) for d in ("cpu", THERE)
        )
        for x, y in zip(a, b, strict=True):
            assert np.allclose(x.numpy(), y.cpu().numpy(), rtol=1e-14, equal_nan=True)

    @pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "clamp_max"])
    def test_of_two(self, name):
        def found(where):
            these, those = (numbers(seed, torch.float64, where) for seed in (0, 1))
            function = getattr(torch, "_foreach_" + name)
            made = [*function(these, those), *function(these, 2.0)]
            getattr(torch, f"_foreach_{name}_")(these, those)
            return made + these

        compare(found("cpu"), found(THERE), 1e-14)

    @pytest.mark.parametrize("name", ["addcmul", "addcdiv", "lerp"])
    def test_of_three(self, name):
        def found(where):
            lists = [numbers(seed, torch.float64, where) for seed in range(3)]
            if name == "lerp":
                return torch._foreach_lerp(lists[0], lists[1], 0.3)
            return getattr(torch, "_foreach_" + name)(*lists, value=0.5)

        compare(found("cpu"), found(THERE), 1e-13)


TYPES = [
    None,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int8,
    torch.bool,
    torch.complex64,
]
FILLED = [
    lambda **how: torch.zeros(3, 4, **how),
    lambda **how: torch.zeros((2, 0), **how),
    lambda **how: torch.ones((), **how),
    lambda **how: torch.full((5, 2), 1, **how),
    lambda **how: torch.eye(3, 5, **how),
    lambda **how: torch.zeros_like(torch.empty(2, 3).t(), **how),
    lambda **how: torch.ones_like(torch.empty(2, 3, 2).permute(2, 0, 1), **how),
    lambda **how: torch.full_like(torch.empty(2, 3).t(), 1, **how),
    lambda **how: torch.empty(3).new_ones(2, 2, **how),
]
EVEN = [
    lambda **how: torch.arange(7, **how),
    lambda **how: torch.arange(7, -5, -2, **how),
    lambda **how: torch.arange(4, 4, **how),
    lambda **how: torch.linspace(-3, 10, 13, **how),
    lambda **how: torch.linspace(-3, 10, 1, **how),
    lambda **how: torch.linspace(0, 1, 0, **how),
]


def check_same(make, dtype):
    a, b = (make(device=d, dtype=dtype) for d in ("cpu", THERE))
    assert (b.device.type, b.dtype, b.shape, b.stride()) == (THERE, a.dtype, a.shape, a.stride())
    assert torch.equal(a, b.cpu())


@pytest.mark.usefixtures("refuse")
class TestFactories:
    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize("make", FILLED)
    def test_filled(self, make, dtype):
        check_same(make, dtype)

    @pytest.mark.parametrize("dtype", TYPES[:-2])
    @pytest.mark.parametrize("make", EVEN)
    def test_even_steps(self, make, dtype):
        check_same(make, dtype)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_parts_of_steps(self, dtype):
        check_same(lambda **how: torch.arange(0, 10, 0.7, **how), dtype)
        check_same(lambda **how: torch.arange(-1e6, 1e6, 1234.5, **how), dtype)

    def test_uneven_ends(self):
        check_same(lambda **how: torch.linspace(-0.37, 10.11, 1013, **how), torch.float32)

    def test_keywords(self):
        a = torch.zeros(2, device=THERE, requires_grad=True)
        assert a.requires_grad
        assert a.is_leaf
        b = torch.arange(3.0, device=THERE, requires_grad=True)
        (b * b).backward(torch.ones(3, device=THERE))
        assert b.grad.tolist() == [0, 2, 4]
        c = torch.empty_strided((2, 3), (1, 4), device=THERE)
        assert (c.stride(), c.shape) == ((1, 4), (2, 3))
        d = torch.empty(1, 2, 3, 4, device=THERE, memory_format=torch.channels_last)
        assert d.stride() == (24, 1, 8, 2)
        with pytest.raises(RuntimeError, match="negative dimension"):
            torch.ones(-1, device=THERE)
        with torch.device(THERE):
            assert torch.ones(2).device.type == THERE


class TestAutocast:
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_products(self, dtype):
        layer, x = nn.Linear(3, 4, device=THERE), torch.randn(2, 3, device=THERE)
        with torch.autocast(THERE, dtype=dtype):
            assert torch.is_autocast_enabled(THERE)
            y = layer(x)
            assert y.dtype is dtype
            assert nn.functional.mse_loss(y, y).dtype is torch.float32
            assert nn.functional.linear(torch.ones(1, 3), torch.ones(2, 3)).dtype is torch.float32
        assert layer(x).dtype is torch.float32
        y.float().sum().backward()
        assert layer.weight.grad.dtype is torch.float32
        expected = x.sum(0).expand(4, 3).cpu()
        assert np.allclose(layer.weight.grad.cpu().numpy(), expected.numpy(), atol=0.05)

    def test_each_device_has_its_own(self):
        x = torch.ones(2, 2)
        there = x.to(THERE)
        with torch.autocast("cpu"):
            assert (there @ there).dtype is torch.float32
            with torch.autocast(THERE):
                assert (there @ there).dtype is torch.float16
                assert (x @ x).dtype is torch.bfloat16

    def test_types(self):
        assert torch.amp.is_autocast_available(THERE)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with torch.autocast(THERE, dtype=torch.float64):
                assert not torch.is_autocast_enabled(THERE)
        assert "In OPENCL autocast" in str(said[0].message)
