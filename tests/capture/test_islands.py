"""Where a whole function cannot be captured, its modules and its optimizers' steps are. The
expectation is the same program without torch.compile, bit for bit."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn

from .worlds import same


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4), nn.Tanh())


class Reads(nn.Module):
    """Reads a value between two parts."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = network(), network()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x)
        return self.b(y * 2 if y.abs().max().item() > 0.1 else y)


def trained(net: nn.Module, opt: Any) -> Any:
    """A step that reads its loss."""

    def step(x: torch.Tensor) -> float:
        opt.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        value: float = loss.item() * 2
        return value

    return step


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "RMSprop", "Adagrad"])
@pytest.mark.parametrize("make", [network, Reads, lambda: nn.Sequential(Reads(), Reads())])
def test_a_step_that_reads_its_loss(make: Any, optimizer: str) -> None:
    def world() -> Any:
        net = make()
        opt = getattr(torch.optim, optimizer)(net.parameters(), lr=0.01)
        return trained(net, opt), [net, opt]

    compiled = same(world, lambda number: (torch.randn(3, 4),), calls=30, replayed=False)
    said = compiled.explain()
    assert "reads a value" in said
    parts = [part for part in compiled._islands.parts if part.variants]
    # The optimizer's step; a network is one part, in `Reads` there are two.
    assert len(parts) == 1 + {network: 1, Reads: 2}.get(make, 4), said


def test_a_module_with_a_part_that_is_not_captured() -> None:
    def world() -> Any:
        net = Reads()
        return net, [net]

    def after(number: int, result: torch.Tensor, held: list[Any]) -> None:
        held[0].zero_grad()
        result.sin().sum().backward()

    compiled = same(
        world, lambda number: (torch.randn(3, 4),), calls=12, after=after, replayed=None
    )
    assert compiled.explain().count("in it: Sequential, captured run 1") == 2


def stopped() -> tuple[Any, nn.Module, Any]:
    torch.manual_seed(0)
    net = network()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    step = torch.compile(trained(net, opt))
    with pytest.warns(UserWarning, match="reads a value"):
        for _ in range(12):
            step(torch.randn(3, 4))
    assert step.explain().count("captured run") == 2
    return step, net, opt


def test_outside_the_function_its_parts_are_plain() -> None:
    _, net, _ = stopped()
    assert net(torch.randn(3, 4)).grad_fn.name() == "TanhBackward0"


def test_parts_are_left_as_they_were() -> None:
    step, net, opt = stopped()
    plain = copy.deepcopy(net), pickle.loads(pickle.dumps(net)), copy.deepcopy(opt)
    assert not any({"_compiled_call_impl", "step"} & vars(o).keys() for o in plain)
    step.reset()
    assert vars(net).keys() == vars(network()).keys()
    assert "step" not in vars(opt)


def test_an_exception_leaves_the_parts_plain() -> None:
    step, net, _ = stopped()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        step(torch.randn(3, 5))
    assert net(torch.randn(3, 4)).grad_fn.name() == "TanhBackward0"
    assert isinstance(step(torch.randn(3, 4)), float)


def test_what_is_disabled_has_no_parts() -> None:
    net = network()

    @torch.compiler.disable
    def called(x: torch.Tensor) -> torch.Tensor:
        return net(x)

    step = torch.compile(lambda x: called(x).sum())
    with pytest.warns(UserWarning, match="keeps out"):
        for _ in range(6):
            step(torch.randn(3, 4))
    assert "_compiled_call_impl" not in vars(net)


def test_state_that_is_loaded_between_calls() -> None:
    kept: list[Any] = []

    def world() -> Any:
        kept.clear()
        net = network()
        opt = torch.optim.Adam(net.parameters(), lr=0.01)
        return trained(net, opt), [net, opt]

    def after(number: int, result: float, held: list[Any]) -> None:
        net, opt = held
        if number == 3:
            kept.extend(copy.deepcopy([net.state_dict(), opt.state_dict()]))
        if number == 8:
            net.load_state_dict(kept[0])
            opt.load_state_dict(kept[1])
        if number == 12:
            opt.param_groups[0]["lr"] = 0.1

    same(world, lambda n: (torch.randn(3, 4),), calls=16, after=after, replayed=False)


def test_an_error_says_where_the_history_of_an_island_ended() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    seen: list[int] = []

    def step(x: Any) -> None:
        seen.append(len(seen))
        net(x).sum().backward()

    compiled, said = torch.compile(step), set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            compiled(torch.ones(2, 2))
        for _ in range(5):
            with torch.no_grad(), pytest.raises(RuntimeError) as raised:
                compiled(torch.ones(2, 2))
            said.add(str(raised.value))
    assert compiled._islands.parts, compiled.explain()
    assert len(said) == 1 and "with gradients switched off" in said.pop()
