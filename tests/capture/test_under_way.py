"""Interrupts, threads and forks in the middle of captures and replays: afterwards all is as after
eager calls, and the next call is right."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from _alone import PATIENCE
from rushlight import _core, nn
from rushlight._base import switches
from rushlight._capture import run as runs
from rushlight._capture.run import Compiled

from .worlds import bits, captured, state_of

F = nn.functional


class World:
    """A model that is trained."""

    def __init__(self, compile: Callable[[Any], Any] = lambda f: f) -> None:
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=0.01)
        self.dice = torch.Generator()
        self.step = compile(self.train)

    def train(self, x: Any, y: Any) -> Any:
        self.opt.zero_grad()
        noise = torch.randn(4, 3, generator=self.dice)
        loss = F.cross_entropy(self.net(x + noise), y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.opt.step()
        return loss.detach()

    def call(self, number: int) -> list[Any]:
        dice = torch.Generator().manual_seed(number)
        x = torch.randn(4, 3, generator=dice)
        y = torch.randint(0, 2, (4,), generator=dice)
        return [bits(self.step(x, y)), state_of([self.net, self.opt])]

    def take_over(self, other: World) -> None:
        self.net.load_state_dict(other.net.state_dict())
        self.dice.set_state(other.dice.get_state())
        for p, q in zip(self.net.parameters(), other.net.parameters(), strict=True):
            p.grad = None if q.grad is None else q.grad.clone()
            self.opt.state.pop(p, None)
            if q in other.opt.state:
                self.opt.state[p] = {k: v.clone() for k, v in other.opt.state[q].items()}


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


# Seconds within which the interrupt of a call comes, by the number of the call: it is plain,
# watched, captured or a replay.
SPANS = (3e-4, 4e-3, 1.5e-2, 1e-4)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize("seed", range(3))
def test_interrupts_at_any_moment(seed: int) -> None:
    draw = random.Random(seed)
    ours, eager = World(), World()
    before = signal.signal(signal.SIGALRM, interrupted)
    came = 0
    try:
        for number in range(400):
            if number % 7 == 0:
                ours.step = Compiled(ours.train)
            span = SPANS[min(number % 7, 3)]
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-6, span))
                    made = ours.call(number)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                came += 1
                eager.take_over(ours)
            else:
                assert made == eager.call(number)
            assert not _core.capturing() and not switches.watching
            assert sys.getprofile() is None and runs._stance == "default"
            assert runs._turn.get("thread") in (None, threading.get_ident())
            assert torch.is_grad_enabled()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert came > 20
    assert captured(ours.train, torch.ones(4, 3), torch.tensor([0, 1, 0, 1])) and not runs._turn


def together(*works: Callable[[], None]) -> None:
    """Run functions on threads of their own, which begin at once."""
    start, raised = threading.Barrier(len(works)), []

    def run(work: Callable[[], None]) -> None:
        try:
            start.wait(PATIENCE)
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE)
    assert not raised, raised


def test_one_thread_captures_while_another_replays() -> None:
    eager, ours = World(), World(torch.compile)
    done = threading.Event()
    made = [ours.call(number) for number in range(6)]

    def replays() -> None:
        try:
            made.extend(ours.call(number) for number in range(6, 300))
        finally:
            done.set()

    def captures() -> None:
        while not done.is_set():
            other = World(torch.compile)
            plain = World()
            for number in range(6):
                assert other.call(number) == plain.call(number)

    together(replays, captures)
    assert made == [eager.call(number) for number in range(300)]
    assert ours.step.variants, ours.step.explain()


def test_writes_of_several_threads_are_all_done() -> None:
    count = torch.zeros(3)

    def step(x: Any) -> Any:
        count.add_(x)
        return x * 2

    step = torch.compile(step)

    def work() -> None:
        for _ in range(200):
            assert step(torch.ones(3)).tolist() == [2.0] * 3

    together(*[work] * 4)
    assert count.tolist() == [800.0] * 3 and step.variants


def test_modes_are_of_their_own_thread() -> None:
    w = torch.randn(3, 3, requires_grad=True)

    def step(x: Any) -> Any:
        return x @ w + torch.zeros(3)

    x = torch.randn(2, 3)
    compiled = torch.compile(step)
    modes: list[Any] = [
        torch.no_grad,
        torch.enable_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    ]

    def under(mode: Any) -> Callable[[], None]:
        with mode():
            expected = bits(step(x))

        def work() -> None:
            for _ in range(100):
                with mode():
                    assert bits(compiled(x)) == expected

        return work

    together(*map(under, modes))


def test_a_stance_of_another_thread_outlives_a_capture() -> None:
    entered, left = threading.Event(), threading.Event()

    def step(x: Any) -> Any:
        if _core.capturing():
            entered.set()
            left.wait(PATIENCE)
        return x * 2

    compiled = torch.compile(step)

    def captures() -> None:
        for _ in range(3):
            compiled(torch.ones(2))

    def forces() -> None:
        entered.wait(PATIENCE)
        before = runs.set_stance("force_eager")
        left.set()
        runs.set_stance(before)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        together(captures, forces)
    assert runs._stance == "default"


def _go_on(world: World, sent: Any) -> None:
    sent.send([world.call(number) for number in range(6, 14)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("calls", [1, 2, 3, 6])
def test_a_fork_in_the_middle_of_training(calls: int) -> None:
    eager, ours = World(), World(torch.compile)
    for number in range(calls):
        assert ours.call(number) == eager.call(number)
    context = multiprocessing.get_context("fork")
    held, going = threading.Event(), threading.Event()

    def holds(x: Any) -> Any:
        held.set()
        going.wait(PATIENCE)
        return x * 2

    thread = threading.Thread(target=torch.compile(holds), args=(torch.ones(2),))
    thread.start()  # which has the turn to capture
    held.wait(PATIENCE)
    got, sent = context.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = context.Process(target=_go_on, args=(ours, sent))
        child.start()
    going.set()
    thread.join(PATIENCE)
    expected = [eager.call(number) for number in range(6, 14)]
    assert got.poll(PATIENCE) and got.recv() == expected
    child.join(PATIENCE)
    child.close()  # else the garbage collector does, in the middle of what is watched
    assert [ours.call(number) for number in range(6, 14)] == expected
    assert ours.step.variants, ours.step.explain()
