"""What programs say with torch.compiler, and modules that are compiled in place."""

from __future__ import annotations

import copy
import pickle
import re
import time
import warnings
from typing import Any

import pytest
from rushlight.explain._command import captures

import rushlight as torch
from rushlight import nn
from rushlight._capture import calls
from rushlight._capture import run as runs
from rushlight._capture.run import Compiled


@pytest.fixture(autouse=True)
def forget() -> Any:
    before = set(calls.PURE), set(calls.KEPT_OUT)
    yield
    calls.PURE.clear(), calls.KEPT_OUT.clear()
    calls.PURE.update(before[0]), calls.KEPT_OUT.update(before[1])


def called(function: Any, *args: Any, times: int = 5) -> Compiled:
    compiled = Compiled(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(times):
            compiled(*args)
    return compiled


def stamp() -> float:
    return time.time() * 0


def test_a_function_that_is_allowed_is_not_looked_into() -> None:
    def step(x: torch.Tensor) -> torch.Tensor:
        return x + stamp()

    assert "time.time()" in (called(step, torch.ones(2)).trouble or "")
    torch.compiler.allow_in_graph(stamp)
    assert called(step, torch.ones(2)).variants


def test_a_function_in_c_is_allowed() -> None:
    def step(x: torch.Tensor) -> torch.Tensor:
        time.monotonic()
        return x + 1

    assert called(step, torch.ones(2)).trouble
    torch.compiler.allow_in_graph(time.monotonic)
    assert called(step, torch.ones(2)).variants


def test_a_function_that_is_disabled_keeps_its_callers_eager() -> None:
    @torch.compiler.disable
    def seen(x: torch.Tensor) -> None:
        found.append(x.shape)

    found: list[Any] = []

    def step(x: torch.Tensor) -> torch.Tensor:
        seen(x)
        return x + 1

    compiled = called(step, torch.ones(2))
    assert "torch.compiler.disable keeps out" in (compiled.trouble or "")
    assert len(found) == 5


def test_a_module_is_compiled_in_place() -> None:
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    plain = copy.deepcopy(net)
    net.compile()
    x = torch.randn(5, 3)
    for _ in range(5):
        for n in (net, plain):
            n.zero_grad()
            n(x).sum().backward()
        assert all(
            torch.equal(a.grad, b.grad)
            for a, b in zip(net.parameters(), plain.parameters(), strict=True)
        )
    assert net._compiled_call_impl.variants
    assert net.state_dict().keys() == plain.state_dict().keys()


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, copy.copy, lambda net: pickle.loads(pickle.dumps(net))]
)
def test_a_copy_of_it_is_not_compiled(copied: Any) -> None:
    net = nn.Linear(3, 2)
    net.compile()
    for _ in range(4):
        net(torch.ones(1, 3))
    other = copied(net)
    assert other.__dict__.get("_compiled_call_impl") is None
    assert torch.equal(other(torch.ones(1, 3)), net(torch.ones(1, 3)))


def test_a_compiled_module_inside_a_compiled_function_is_a_part_of_it() -> None:
    net = nn.Linear(3, 2)
    net.compile()
    x = torch.ones(1, 3)
    for _ in range(5):
        net(x)

    def step(x: torch.Tensor) -> torch.Tensor:
        return net(x).sum().detach()

    assert called(step, x).variants


def test_hooks_of_a_compiled_module_run() -> None:
    net = nn.Linear(3, 2)
    net.compile()
    x, seen = torch.ones(1, 3), []
    for _ in range(5):
        net(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net.register_forward_hook(lambda module, args, out: seen.append(1))
        net(x)
        net(x)
    assert seen == [1, 1]


def test_times_are_told_of_what_ran_under_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a call with a graph each part is a replay, and the time is that of the calls."""
    before = runs._all
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1), nn.Tanh())
    with captures():
        compiled = Compiled(net)
        for _ in range(8):
            compiled(torch.ones(3, 2)).sum().backward()
        calls = compiled.variants[0].timed
    said = capsys.readouterr().out
    assert re.search(rf"ms, {2 * calls} replays of its parts, [\d.]+ us a call\n", said), said
    assert calls == 5 and runs._all is before
    compiled = called(lambda x: x.exp(), torch.ones(2))
    assert compiled.variants[0].timed == 0 and "us a call" not in compiled.explain()
