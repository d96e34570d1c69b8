"""Replays that are compared with eager calls: right ones pass, and a wrong bit is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._capture import check
from rushlight._capture.run import Compiled, set_checks


@pytest.fixture(autouse=True)
def checks() -> Iterator[None]:
    set_checks(True)
    yield
    set_checks(False)


class Wrong:
    """A program that alters something after each replay."""

    def __init__(self, program: Any, alter: Any) -> None:
        self.program, self.alter = program, alter

    def __getattr__(self, name: str) -> Any:
        return getattr(self.program, name)

    def replay(self, *inputs: torch.Tensor) -> Any:
        made = self.program.replay(*inputs)
        self.alter(made)
        return made

    def first(self, *inputs: torch.Tensor) -> Any:
        return self.program.first(*inputs)

    def second(self, *inputs: torch.Tensor) -> Any:
        made = self.program.second(*inputs)
        self.alter(made)
        return made


def flip(t: torch.Tensor) -> None:
    """Alter the lowest bit of a tensor's first element."""
    t.untyped_storage()[t.storage_offset()] ^= 1


def trained() -> tuple[Any, nn.Linear]:
    net = nn.Linear(3, 2)
    opt = torch.optim.Adam(net.parameters())

    def step(x: torch.Tensor) -> torch.Tensor:
        opt.zero_grad()
        loss = net(x + torch.rand(3)).pow(2).mean()
        loss.backward()
        opt.step()
        return loss.detach()

    return Compiled(step), net


def captured(step: Any, *args: Any) -> Any:
    for _ in range(5):
        step(*args)
    assert step.variants, step.explain()
    return step.variants[0]


def test_right_replays_pass_and_count_once() -> None:
    torch.manual_seed(1)
    step, net = trained()
    plain_step, plain = trained()
    plain.load_state_dict(net.state_dict())
    x = torch.randn(4, 3)
    torch.manual_seed(2)
    expected = [plain_step.function(x).item() for _ in range(8)]
    torch.manual_seed(2)
    assert [step(x).item() for _ in range(8)] == expected
    assert step.variants
    assert torch.equal(net.weight, plain.weight)


@pytest.mark.parametrize(
    "alter, named",
    [
        (lambda made, net: flip(made[0]), "result 1"),
        (lambda made, net: flip(net.weight.data), "['weight']"),
        (lambda made, net: flip(net.weight.grad), "the gradient of"),
        (lambda made, net: torch.rand(1), "the random state"),
    ],
)
def test_a_wrong_bit_is_noticed(alter: Any, named: str) -> None:
    step, net = trained()
    x = torch.randn(4, 3)
    variant = captured(step, x)
    variant.program = Wrong(variant.program, lambda made: alter(made, net))
    with pytest.raises(RuntimeError, match="differs from an eager call in") as told:
        step(x)
    assert named in str(told.value)
    assert "steps begin" in str(told.value)


def test_a_wrong_gradient_of_a_node_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    net = nn.Linear(3, 2)
    step = Compiled(net)
    x = torch.randn(4, 3)
    for _ in range(5):
        step(x).sum().backward()
    eager = check.gradients

    def flipped(*args: Any, **kwargs: Any) -> list[torch.Tensor]:
        found = eager(*args, **kwargs)
        flip(found[0])
        return found

    monkeypatch.setattr(check, "gradients", flipped)
    with pytest.raises(RuntimeError, match="differs from an eager call"):
        step(x).sum().backward()


def test_exceptions_are_those_of_eager() -> None:
    def step(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return x.index_select(0, i)

    compiled = Compiled(step)
    captured(compiled, torch.randn(3), torch.tensor([0, 2]))
    with pytest.raises(IndexError):
        compiled(torch.randn(3), torch.tensor([0, 5]))
