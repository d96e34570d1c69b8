"""Many replays and many captures keep no memory.

python -m capture.test_endurance     a million replays and ten thousand captures; in tests/
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._capture.run import Compiled

F = nn.functional


def rss_now() -> int:
    """Bytes of memory that the process holds."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def training() -> tuple[Any, Callable[[], tuple[Any, ...]]]:
    net = nn.Sequential(
        nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Dropout(0.1), nn.Linear(4, 2)
    )
    opt = torch.optim.Adam(net.parameters())

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        return {"loss": loss.detach(), "hits": (net[4].bias > 0).sum()}

    return step, lambda: (torch.randn(4, 3), torch.randint(0, 2, (4,)))


def accumulating() -> tuple[Any, Callable[[], tuple[Any, ...]]]:
    w = torch.randn(3, 3, requires_grad=True)

    def step(x: Any) -> Any:
        (x @ w).sin().sum().backward()
        return x.mul_(2), x.sum().item()

    return step, lambda: (torch.randn(2, 3),)


def graph() -> tuple[Any, Callable[[], tuple[Any, ...]]]:
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.1), nn.Tanh(), nn.Linear(4, 2))

    def called(x: Any) -> Any:
        return net(x)

    return called, lambda: (torch.randn(2, 3),)


def branching() -> tuple[Any, Callable[[], tuple[Any, ...]]]:
    count = torch.zeros(())

    def step(x: Any) -> Any:
        count.add_(1)
        return x.exp() if x.sum() > 0 else torch.linalg.cholesky(x.expand(3, 3) + torch.eye(3))

    return step, lambda: (torch.randn(3),)


def transforms() -> tuple[Any, Callable[[], tuple[Any, ...]]]:
    w = torch.randn(3)

    def step(x: Any) -> Any:
        return torch.func.vmap(torch.func.grad(lambda v: (v * w).sin().sum()))(x)

    return step, lambda: (torch.randn(2, 3),)


PROGRAMS = [training, accumulating, graph, branching, transforms]


def call(step: Any, given: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = step(*given())
        except torch.linalg.LinAlgError:
            return
    if isinstance(result, torch.Tensor) and result.requires_grad:
        result.sum().backward()


def replays(make: Any) -> Iterator[None]:
    """One more replay at each turn."""
    step, given = make()
    compiled = Compiled(step)
    for _ in range(20):
        call(compiled, given)
    assert compiled.variants, compiled.explain()
    while True:
        call(compiled, given)
        yield


def captures(make: Any) -> Iterator[None]:
    """One more captured function at each turn, of one program and of copies of its objects."""
    step, given = make()
    while True:
        compiled = Compiled(step)
        for _ in range(5):
            call(compiled, given)
        assert compiled.variants or make is branching, compiled.explain()
        del compiled
        yield


def kept(turns: Iterator[None], count: int, warm: int) -> tuple[int, int, int]:
    """Objects and bytes more after so many turns than before."""
    for _ in range(warm):
        next(turns)
    gc.collect()
    objects, memory = len(gc.get_objects()), rss_now()
    for _ in range(count):
        next(turns)
    gc.collect()
    return len(gc.get_objects()) - objects, rss_now() - memory, memory


@pytest.fixture(autouse=True)
def _needs_proc() -> None:
    try:
        rss_now()
    except OSError:
        pytest.skip("there is no /proc here")


def keeps(turns: Iterator[None], count: int, warm: int) -> bool:
    """Whether each of three spans keeps something: once, that may be anybody's."""
    spans = (kept(turns, count, warm) for _ in range(3))
    return all(objects >= 30 or memory >= 500_000 for objects, memory, _ in spans)


@pytest.mark.parametrize("make", PROGRAMS)
def test_replays_keep_no_memory(make: Any) -> None:
    assert not keeps(replays(make), 3000, 500)


@pytest.mark.parametrize("make", PROGRAMS)
def test_captures_keep_no_memory(make: Any) -> None:
    assert not keeps(captures(make), 60, 60)


def main() -> None:
    from rushlight._capture import run

    run.LEAST = 0
    for what, turns, count in ((replays, 1_000_000, 2000), (captures, 10_000, 500)):
        for make in PROGRAMS:
            begin = time.perf_counter()
            objects, more, before = kept(what(make), turns // len(PROGRAMS), count)
            print(
                f"{turns // len(PROGRAMS):,} {what.__name__} of {make.__name__}: {objects:+} "
                f"objects, {before / 2**20:.1f} MiB {more / 2**20:+.2f}, "
                f"{time.perf_counter() - begin:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
