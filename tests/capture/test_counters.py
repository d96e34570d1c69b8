"""Numbers that a captured call counts up. The expectation is the same program run eagerly."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn

from .worlds import explained, same, variants

EVERY = 3
total = 0


def inputs(number: int) -> tuple[Any, ...]:
    return (torch.randn(2 + (number >= 20), 3),)


class Agent:
    """Whose methods count in many ways."""

    every = 4

    def __init__(self, start: int = 0) -> None:
        self.steps, self.samples, self.other, self.period = start, 0, 5, 6
        self.weight = torch.ones(3)
        self.log: list[int] = []

    # Counted, and replayed.

    def plain(self, x):
        self.steps += 1
        return (x * self.weight).exp()

    def by_samples(self, x):
        self.samples += x.shape[0]
        return x.exp()

    def down(self, x):
        self.steps = self.steps - 1
        return x.exp()

    def target(self, x):
        self.steps += 1
        if self.steps % 5 == 0:
            self.weight.add_(1)
        return x * self.weight

    def before(self, x):
        if self.steps % 5 == 0:
            self.weight.add_(1)
        self.steps += 1
        return x * self.weight

    def warm(self, x):
        self.steps += 1
        return x.exp() if self.steps < 9 else x.sin()

    def of_class(self, x):
        self.steps += 1
        return x.exp() if self.steps % self.every else x.sin()

    def of_object(self, x):
        self.steps += 1
        return x.exp() if not self.steps % self.period else x.sin()

    def of_global(self, x):
        self.steps += 1
        return x.exp() if self.steps // EVERY > 2 else x.sin()

    def twice(self, x):
        return self.target(self.target(x))

    def caught(self, x):
        try:
            if self.steps % 4 == 1:
                raise ValueError
            self.steps += 1
        except ValueError:
            self.steps += 2
        return x.exp() if self.steps % 4 == 0 else x.sin()

    def maybe(self, x):
        if self.steps % 3 != 2:
            self.steps += 1
        else:
            self.steps += 2
        return x.exp() if self.steps % 4 == 0 else x.sin()

    # Eager, with a reason.

    def given(self, x):
        self.steps += 1
        return x * self.steps

    def returned(self, x):
        self.steps += 1
        return x.exp(), self.steps

    def reset(self, x):
        self.steps += 1
        if self.steps == 7:
            self.steps = 0
        return x.exp()

    def copied(self, x):
        self.steps += 1
        self.other = self.steps
        return x.exp()

    def by_name(self, x):
        self.steps += 1
        return x * getattr(self, "st" + "eps")

    def by_another(self, x):
        self.other += 1
        self.steps += self.other
        return x.exp()

    def doubled(self, x):
        self.steps += self.steps + 1
        return x.exp()

    def logged(self, x):
        self.steps += 1
        self.log.append(self.steps)
        return x.exp()

    def chained(self, x):
        self.other = self.steps = self.steps + 1
        return x.exp()

    def compared_with_a_counter(self, x):
        self.steps += 1
        self.other += 2
        return x.exp() if self.steps < self.other else x.sin()


CAPTURED = list(vars(Agent))[list(vars(Agent)).index("plain") : list(vars(Agent)).index("given")]
EAGER = [name for name in list(vars(Agent))[list(vars(Agent)).index("given") :] if name[0] != "_"]


def after(number: int, result: Any, held: list[Any]) -> Any:
    """The program's numbers after a call; it sets one between calls."""
    agent = held[-1]
    told = repr({k: v for k, v in vars(agent).items() if not isinstance(v, torch.Tensor)})
    if number == 13:
        agent.steps = 40
    if number == 24:
        agent.steps = -3
    return [told, total]


def agents(name: str) -> Any:
    def make():
        agent = Agent()
        return getattr(agent, name), [agent.weight, agent]

    return make


def compared(make: Any, *, replayed: bool, calls: int = 40) -> Any:
    """`worlds.same`, of programs that hold tensors and one other object, the last."""

    def tensors():
        function, held = make()
        objects.append(held[-1])
        return function, held[:-1]

    objects: list[Any] = []
    return same(
        tensors,
        inputs,
        calls=calls,
        after=lambda number, result, held: after(number, result, [objects[-1]]),
        replayed=replayed,
    )


@pytest.mark.parametrize("name", CAPTURED)
def test_a_counter(name):
    compiled = compared(agents(name), replayed=True)
    replays = sum(run.program.replays() for run in variants(compiled))
    assert replays >= 10, explained(compiled)


@pytest.mark.parametrize("name", EAGER)
def test_a_number_that_is_more_than_a_counter(name):
    compiled = compared(agents(name), replayed=False)
    assert "went from" in explained(compiled) or "items" in explained(compiled)


def test_a_target_network():
    """One run without the update, and one with it; so of the other shape, and one for zero."""
    compiled = compared(agents("target"), replayed=True)
    assert len(variants(compiled)) <= 5


def test_a_global():
    def make():
        global total
        total = 0

        def count(x):
            global total
            total += 1
            return x.exp() if total % EVERY else x.sin()

        return count, [torch.ones(1), Agent()]

    assert len(variants(compared(make, replayed=True))) <= 6


def test_a_variable_of_a_closure():
    def make():
        n = 0
        told = Agent()

        def count(x):
            nonlocal n
            n += 2
            told.shown = shown
            return x.exp() if n % 8 else x.sin()

        def shown():
            return n

        class Shown:
            @property
            def __dict__(self):
                return {"n": shown()}

        return count, [torch.ones(1), Shown()]

    compared(make, replayed=True)


def test_a_module_that_counts():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls, self.linear = 0, nn.Linear(3, 2)

        def forward(self, x):
            self.calls += 1
            return self.linear(x)

    def make():
        net = Counting()

        def step(x):
            with torch.no_grad():
                return net(x)

        return step, [*net.parameters(), net]

    compared(make, replayed=True)


def test_two_objects_with_one_name():
    def make():
        one, other = Agent(), Agent(2)

        def both(x):
            one.plain(x)
            return other.target(x)

        return both, [one.weight, other.weight, other]

    compared(make, replayed=True)


def test_a_number_of_another_object():
    """`one.steps = other.steps + 1` is no counter."""

    def make():
        one, other = Agent(), Agent(1)

        def follow(x):
            other.steps += 1
            one.steps = other.steps + 1
            return x.exp()

        return follow, [one.weight, one]

    compared(make, replayed=False)


def test_a_property_that_writes():
    class Odd(Agent):
        @property
        def steps(self):
            return self.__dict__["steps"]

        @steps.setter
        def steps(self, value):
            self.__dict__["steps"] = value + 1

    def make():
        agent = Odd()
        return agent.plain, [agent.weight, agent]

    compared(make, replayed=False)


def test_an_item_of_a_dict():
    def make():
        numbers = {"steps": 0}
        agent = Agent()
        agent.numbers = numbers

        def count(x):
            numbers["steps"] += 1
            return x.exp()

        return count, [agent.weight, agent]

    compared(make, replayed=False)


@pytest.mark.filterwarnings("ignore:torch.compile")
def test_a_number_that_is_counted_no_more():
    agent = Agent()
    agent.counts = True

    def count(x):
        if agent.counts:
            agent.steps += 1
        return x.exp() if agent.steps % EVERY else x.sin()

    compiled, x = torch.compile(count), torch.ones(3)
    for _ in range(3):
        compiled(x)  # finds the counter
    agent.counts = False
    for agent.steps in range(3, 12):
        assert compiled(x).tolist() == count(x).tolist()


def test_an_argument_that_counts():
    @dataclasses.dataclass
    class Numbers:
        steps: int = 0

    def make():
        numbers = Numbers()

        def count(x):
            return inner(numbers, x)

        def inner(counts, x):
            counts.steps += 1
            return x.exp()

        inner = torch.compile(inner)
        make.inner = inner
        return count, [torch.ones(1), numbers]

    same(lambda: (make()[0], []), inputs, calls=12, replayed=None)
    assert not variants(make.inner)
