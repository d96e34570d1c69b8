"""Captured training steps with each optimizer and each schedule of the library. The expectation is
the same program run eagerly, bit for bit."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn

from .worlds import explained, same, variants

schedules = torch.optim.lr_scheduler


def batch(number: int) -> tuple[Any, ...]:
    return (torch.randn(4, 3),)


def trained(make: Any, plan: Any = None, *, order: str = "zero back step plan") -> Any:
    """A world of `same`: a training step, with the optimizer and the schedule that it uses."""

    def world():
        net = nn.Sequential(nn.Linear(3, 5, bias=False), nn.Tanh(), nn.Linear(5, 2, bias=False))
        opt = make(net.parameters())
        schedule = plan(opt) if plan else None

        def step(x):
            opt.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            opt.step()
            if schedule is not None:
                schedule.step()
            return loss.detach()

        opt.schedule = schedule
        return step, [net, opt]

    return world


def told(number: int, result: Any, held: list[Any]) -> Any:
    """What a program sees of an optimizer and of a schedule after a step."""
    opt = held[1]
    groups = [{k: v for k, v in g.items() if k != "params"} for g in opt.param_groups]
    plan = opt.schedule
    return [repr(groups), plan and plan.get_last_lr(), plan and repr(plan.state_dict())]


# --- optimizers ---

OPTIMIZERS = {
    name: cls
    for name, cls in vars(torch.optim).items()
    if name in torch.optim.__all__ and isinstance(cls, type) and name != "Optimizer"
}
REFUSED = {"LBFGS", "SparseAdam"}  # each has a test of its own
# Of the options, other values than the default; None: made of the default by `another`.
OTHERS: dict[str, list[Any]] = {
    "params": [],
    "lr": [None, lambda: torch.tensor(0.01)],
    "d": [1.5],
    "foreach": [True, False],
    "fused": [True],
    "adjust_lr_fn": ["original", "match_rms_adamw"],
    "differentiable": [],  # is for parameters that are no leaves
    "capturable": [],  # an error on the CPU
}
WITH = {"nesterov": {"momentum": 0.9, "dampening": 0}, "dampening": {"momentum": 0.9}}


def another(value: Any) -> Any:
    """Another value of an option than its default."""
    if isinstance(value, tuple):
        return tuple(map(another, value))
    if value is None or isinstance(value, bool):
        return value if value is None else not value
    return value * 0.9 if isinstance(value, float) else value + (1 if value else 0.1)


def cases() -> list[Any]:
    found = []
    for name, cls in OPTIMIZERS.items():
        found.append(pytest.param(name, {}, id=name))
        for option, parameter in list(inspect.signature(cls).parameters.items()):
            for value in OTHERS.get(option, [None]):
                more = WITH.get(option, {}) if name == "SGD" else {}
                chosen = another(parameter.default) if value is None else value
                said = "tensor" if callable(value) else value
                found.append(
                    pytest.param(name, more | {option: chosen}, id=f"{name}-{option}-{said}")
                )
    return [case for case in found if case.values[0] not in REFUSED]


@pytest.mark.parametrize(("name", "options"), cases())
def test_an_optimizer_with_its_options(name, options):
    def make(params):
        return OPTIMIZERS[name](
            params, **{k: v() if callable(v) else v for k, v in options.items()}
        )

    compiled = same(trained(make), batch, calls=16, after=told)
    replays = sum(run.program.replays() for run in variants(compiled))
    assert replays >= 10, explained(compiled)


def numbers() -> list[tuple[str, str]]:
    """The numbers in the groups of each optimizer."""
    found = []
    for name in OPTIMIZERS.keys() - REFUSED:
        group = OPTIMIZERS[name]([torch.zeros(1, 1)]).param_groups[0]
        found += [(name, key) for key, value in group.items() if is_number(value)]
    return sorted(found)


def is_number(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(is_number, value))
    return type(value) is float or (type(value) is int and not value)


@pytest.mark.parametrize(("name", "key"), numbers())
def test_a_number_that_changes(name, key):
    """A program sets a number of a group after each step. Where replays read it anew, there is one
    captured run; where it has to be the same, calls are captured anew, or eager."""

    def after(number, result, held):
        group = held[1].param_groups[0]
        by = 0.97 if number % 2 else 1.02
        value = group[key]
        group[key] = tuple(v * by for v in value) if type(value) is tuple else value * by
        return told(number, result, held)

    options = {"SGD": {"momentum": 0.9, "weight_decay": 0.1, "dampening": 0.1}}
    options |= {"RMSprop": {"momentum": 0.9, "weight_decay": 0.1, "centered": True}}
    options |= {name: {"weight_decay": 0.1} for name in ("Adam", "NAdam", "RAdam", "ASGD")}
    made = trained(lambda p: OPTIMIZERS[name](p, **options.get(name, {})))
    compiled = same(made, batch, calls=12, after=after, replayed=None)
    whole = (name, key) in {("Rprop", "lr")}  # read in the first step alone
    start = OPTIMIZERS[name]([torch.zeros(1, 1)], **options.get(name, {})).param_groups[0][key]
    if not whole and start:
        assert 0 < len(variants(compiled)) <= 3, explained(compiled)


def test_a_line_search_is_eager():
    def make():
        net = nn.Linear(3, 1)
        opt = torch.optim.LBFGS(net.parameters(), max_iter=3)

        def step(x):
            def closure():
                opt.zero_grad()
                loss = (net(x) - 1).square().mean()
                loss.backward()
                return loss

            return opt.step(closure).detach()

        opt.schedule = None
        return step, [net, opt]

    compiled = same(make, batch, calls=6, replayed=False)
    assert "func_evals" in explained(compiled)


def test_sparse_gradients_are_eager():
    def make():
        net = nn.Embedding(5, 2, sparse=True)
        opt = torch.optim.SparseAdam(net.parameters())

        def step(x):
            opt.zero_grad()
            net(x).square().sum().backward()
            opt.step()

        return step, [net.weight.detach()]

    same(make, lambda number: (torch.tensor([number % 5, 2]),), calls=6, replayed=False)


def test_a_step_from_loaded_state():
    """State of a checkpoint of another element type, and counts that are numbers."""

    def make():
        step, held = trained(lambda p: torch.optim.ASGD(p, lr=0.1))()
        step(torch.ones(4, 3))
        saved = held[1].state_dict()
        for own in saved["state"].values():
            own["eta"] = own["eta"].double()
            own["step"] = float(own["step"])
        held[1].load_state_dict(saved)
        return step, held

    same(make, batch, calls=8, after=told, replayed=None)


@pytest.mark.parametrize("clips", [False, True])
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_scaler_of_gradients(name, clips):
    """Its factor grows, and falls after gradients that are infinite."""

    def make():
        net = nn.Linear(3, 2)
        opt = OPTIMIZERS[name](net.parameters(), lr=0.01)
        opt.schedule, opt.scaler = None, torch.amp.GradScaler("cpu", 2.0**10, growth_interval=5)

        def step(x):
            opt.zero_grad()
            loss = net(x).square().mean()
            opt.scaler.scale(loss).backward()
            if clips:
                opt.scaler.unscale_(opt)
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.scaler.step(opt)
            opt.scaler.update()
            return loss.detach()

        return step, [net, opt]

    def inputs(number):
        return (torch.randn(4, 3) * (float("inf") if number in (9, 10, 21) else 1),)

    def after(number, result, held):
        return repr(held[1].scaler.state_dict()), told(number, result, held)

    compiled = same(make, inputs, calls=30, after=after)
    assert len(variants(compiled)) == 2  # with a step of the optimizer, and without


# --- schedules ---

PLANS = [
    name
    for name in schedules.__all__
    if name != "LRScheduler"
    and "metrics" not in inspect.signature(getattr(schedules, name).step).parameters
]
NEEDED = {
    "step_size": 3,
    "milestones": [3, 7, 20],
    "gamma": 0.7,
    "T_max": 8,
    "T_0": 5,
    "lr_lambda": lambda n: 0.9 ** (n % 7),
    "base_lr": 0.01,
    "max_lr": 0.2,
}


def planned(name: str, opt: Any) -> Any:
    """A schedule by its name, with what its constructor asks for."""
    cls = getattr(schedules, name)
    parts = [schedules.LinearLR(opt), schedules.ExponentialLR(opt, 0.9)]
    if name == "SequentialLR":
        return cls(opt, parts, [5])
    if name == "ChainedScheduler":
        return cls(parts, opt)
    options = {"total_steps": 60} if name == "OneCycleLR" else {}
    asked = inspect.signature(cls.__init__).parameters.items()
    needed = [k for k, p in asked if p.default is p.empty and k not in ("self", "optimizer")]
    return cls(opt, *[NEEDED[k] for k in needed], **options)


@pytest.mark.parametrize("name", PLANS)
def test_a_schedule_steps_inside(name):
    make = trained(lambda p: torch.optim.Adam(p, lr=0.05), lambda opt: planned(name, opt))
    compiled = same(make, batch, calls=50, after=told)
    assert len(variants(compiled)) <= 2  # a rate of zero is captured by itself


def test_two_optimizers_with_schedules():
    def make():
        nets = [nn.Linear(3, 3), nn.Linear(3, 3)]
        opts = [torch.optim.Adam(net.parameters(), lr=0.1) for net in nets]
        plans = [schedules.ExponentialLR(opts[0], 0.8), schedules.StepLR(opts[1], 2, 0.5)]

        def step(x):
            for net, opt, plan in zip(nets, opts, plans, strict=True):
                opt.zero_grad()
                net(x).square().sum().backward()
                opt.step()
                plan.step()

        return step, [*nets, *opts]

    def rates(number, result, held):
        return [opt.param_groups[0]["lr"] for opt in held[2:]]

    compiled = same(make, batch, calls=12, after=rates)
    assert len(variants(compiled)) == 1


class Own(schedules.LRScheduler):
    """A schedule of a program, with state of its own."""

    def __init__(self, opt):
        self.seen = []
        super().__init__(opt)

    def get_lr(self):
        self.seen.append(self.last_epoch)
        return [base / (1 + len(self.seen)) for base in self.base_lrs]


def test_a_schedule_of_the_program():
    same(trained(lambda p: torch.optim.SGD(p, lr=0.1), Own), batch, calls=12, after=told)


def test_a_schedule_that_steps_twice():
    def make():
        step, held = trained(
            lambda p: torch.optim.SGD(p, lr=0.1), lambda opt: schedules.ExponentialLR(opt, 0.9)
        )()
        plan = held[1].schedule

        def twice(x):
            loss = step(x)
            plan.step()
            return loss

        return twice, held

    same(make, batch, calls=12, after=told)


def test_a_schedule_past_its_end():
    raised = []
    for compile in (lambda f: f, torch.compile):
        torch.manual_seed(0)
        function, held = trained(
            lambda p: torch.optim.Adam(p), lambda opt: schedules.OneCycleLR(opt, 0.1, total_steps=8)
        )()
        function = compile(function)
        with pytest.raises(ValueError, match="total") as error:
            while True:
                function(torch.randn(4, 3))
        raised.append([str(error.value), told(0, None, held)])
        raised[-1] += [t.tolist() for p in held[0].parameters() for t in (p, p.grad)]
    assert variants(function)
    assert raised[0] == raised[1]


def refused(make: Any, words: str) -> None:
    compiled = same(make, batch, calls=8, after=told, replayed=False)
    assert words in explained(compiled)


def test_a_schedule_before_its_optimizer():
    def make():
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        opt.schedule = plan = schedules.ExponentialLR(opt, 0.9)

        def step(x):
            opt.zero_grad()
            net(x).sum().backward()
            plan.step()
            opt.step()

        return step, [net, opt]

    refused(make, "steps an optimizer after its schedule")


def test_a_rate_that_is_read():
    def make():
        step, held = trained(
            lambda p: torch.optim.SGD(p, lr=0.1), lambda opt: schedules.ExponentialLR(opt, 0.9)
        )()
        plan = held[1].schedule
        return lambda x: (step(x), plan.get_last_lr()[0]), held

    refused(make, "_last_lr")


def test_a_rate_that_the_program_sets():
    def make():
        step, held = trained(lambda p: torch.optim.SGD(p, lr=0.1))()
        opt = held[1]

        def falling(x):
            loss = step(x)
            opt.param_groups[0]["lr"] *= 0.9
            return loss

        return falling, held

    refused(make, "lr")


def test_a_schedule_that_draws():
    class Random(schedules.LRScheduler):
        def get_lr(self):
            return [0.1 * float(torch.rand(()) > 2) + 0.05 for _ in self.base_lrs]

    refused(trained(lambda p: torch.optim.SGD(p, lr=0.1), Random), "computes tensors in ")
