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
