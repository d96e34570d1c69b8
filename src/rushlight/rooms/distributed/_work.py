"""A collective that was started: `Work`, and how a process waits.

A communicator's methods give requests: objects whose `Test()` goes on with the transfer and says
whether the transfer is done. All waiting is one loop of `Test()`. So signals arrive, timeouts end
the wait, and processes that share a core yield it to each other. Transfers of several steps go on
in every wait, whatever the wait is for: the other processes may be waiting for them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Protocol

from .._torch.futures import Future
from ._errors import DistBackendError

_SPINS = 20  # tests in a row before the core is offered to others: a few microseconds
_YIELDS = 20_000  # ... before the process sleeps between tests
_NAP = 2e-4  # seconds
_LOOKS = 2_000  # ... before it looks whether the others live: about half a second

_yield = getattr(os, "sched_yield", lambda: time.sleep(0))


class Request(Protocol):
    """A transfer under way; mpi4py's requests are such."""

    def Test(self) -> bool:
        """Go on with it; whether it is done."""


# The steps that go on in every wait, each until it answers that nothing is left.
_driven: dict[Callable[[], bool], None] = {}


def drive(step: Callable[[], bool]) -> None:
    """Call `step` in every wait until it is True."""
    _driven[step] = None


class Done:
    """The request of what was done at once."""

    def Test(self) -> bool:
        """True."""
        return True


def seconds(timeout: timedelta | float | None) -> float | None:
    """A timeout in seconds; None is no limit, as are timedelta(0) and timedelta.max."""
    if timeout is None:
        return None
    value = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
    return value if value > 0 else None


def finished(
    requests: Sequence[Request], limit: float | None, lost: Callable[[], str] | None = None
) -> bool:
    """Wait for all requests; False where `limit` seconds were not enough.

    lost: which of the others have died, asked after long waiting; DistBackendError says it. It has
    to say so twice: what a process sent before it ended may still be on its way.
    """
    tries, end, last = 0, None, ""
    for request in requests:
        while not request.Test():
            tries += 1
            for step in tuple(_driven):
                if step():
                    _driven.pop(step, None)
            if tries < _SPINS:
                continue
            if tries < _YIELDS:
                _yield()
            else:
                time.sleep(_NAP)
                if lost is not None and not tries % _LOOKS:
                    before, last = last, lost()
                    if last and before:
                        raise DistBackendError(before)  # others may have given up since, and ended
            if limit is None:
                continue
            if end is None:
                end = time.monotonic() + limit
            elif time.monotonic() > end:
                return False
    return True


# The works under way that nobody waits for: their memory must stay. (A set by identity.)
_in_flight: dict[int, Work] = {}
_MANY = 64


class Work:
    """A collective that was started; `wait()` gives its results to the program."""

    def __init__(
        self,
        name: str,
        requests: Sequence[Request],
        *,
        kept: Any = None,
        after: Callable[[], None] | None = None,
        result: Any = None,
        limit: float | None = None,
        late: Callable[[], str] | None = None,
        left: Callable[[], None] | None = None,
        lost: Callable[[], str] | None = None,
    ) -> None:
        """kept: what the transfer reads and writes; after: runs once, when it is done; limit: in
        seconds; late: who has not come, when the limit was not enough; left: runs at the end;
        lost: who of them has died, "" for nobody."""
        self._name, self._requests, self._kept = name, requests, kept
        self._after, self._result, self._limit, self._late = after, result, limit, late
        self._left, self._lost = left, lost
        self._error: BaseException | None = None
        self._done = False
        self._future: Future[object] | None = None

    def _start(self) -> Work:
        """Keep the memory until the transfer is done, whether or not anyone waits."""
        if len(_in_flight) >= _MANY:
            for work in list(_in_flight.values()):
                # A future's callbacks may start collectives, which have an order: they run where
                # the program waits, not here.
                if work._future is None:
                    work.is_completed()
        _in_flight[id(self)] = self
        return self

    def _complete(self) -> None:
        after, self._after = self._after, None
        self._requests = ()
        self._kept = None
        _in_flight.pop(id(self), None)
        if self._left is not None:
            self._left()
        if after is not None:
            try:
                after()
            except Exception as error:
                self._error = error
        self._done = True
        if self._future is not None and not self._future._done:
            self._tell(self._future)

    def _tell(self, future: Future[object]) -> None:
        """Give a future the result, or what went wrong."""
        if self._error is not None:
            future.set_exception(self._error)
        else:
            future.set_result(self._result)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done; True.

        Raises DistBackendError where the timeout, or the group's, was not enough, and soon where
        another process has died that no launcher started.
        """
        if not self._done:
            own = seconds(timeout)
            limit = self._limit if own is None else own
            try:
                done = finished(self._requests, limit, self._lost)
            except BaseException:
                _in_flight[id(self)] = self
                raise
            if not done:
                _in_flight[id(self)] = self
                assert limit is not None
                text = f"Timed out waiting {limit * 1000:.0f}ms for {self._name} to complete."
                if self._late is not None:
                    text += self._late()
                raise DistBackendError(text)
            self._complete()
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        """Whether it is done; a question goes on with the transfer."""
        if not self._done and all(request.Test() for request in self._requests):
            self._complete()
        return self._done

    def is_success(self) -> bool:
        """Whether it is done and nothing went wrong."""
        return self._done and self._error is None

    def exception(self) -> BaseException | None:
        """The error of the collective."""
        return self._error

    def result(self) -> Any:
        """The tensors that the collective wrote."""
        return self._result

    def source_rank(self) -> int:
        """The rank a message came from; -1 for what is no message."""
        return -1

    def synchronize(self) -> None:
        """Wait: on a CPU there are no streams."""
        self.wait()

    def get_future(self) -> Future[Any]:
        """A future of the results. It is done when this work was waited for, by it or by `wait`."""
        if self._future is None:
            future = _WorkFuture(self)
            self._future = future
            if self._done:
                self._tell(future)
        return self._future


class _WorkFuture(Future[Any]):
    """The future of a work: who waits for it waits for the work."""

    __module__ = "rushlight.futures"

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def done(self) -> bool:
        return self._done or self._work.is_completed()

    def _go_on(self) -> None:
        # An error of the work is this future's exception; a timeout leaves it without a value.
        if not self._done:
            try:
                self._work.wait()
            except Exception:
                if not self._done:
                    raise

    def value(self) -> Any:
        self._work.is_completed()
        return super().value()


def pending() -> list[Work]:
    """The works under way."""
    return list(_in_flight.values())
