"""`torch.futures`: values that come later, and functions that wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar, cast

from .._base.missing import missing_name as _missing_name

__all__ = ["Future", "collect_all", "wait_all"]

_T = TypeVar("_T")
_S = TypeVar("_S")


class Future(Generic[_T]):
    """A value, or an exception, that some thread sets once; others wait for it or are called back.

    >>> future = torch.futures.Future()
    >>> later = future.then(lambda f: f.wait() + 1)
    >>> future.set_result(1)
    >>> later.wait()
    2
    """

    __module__ = "rushlight.futures"

    def __init__(self, *, devices: object = None) -> None:
        self._changed = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[_T]], object]] = []
        self._sources: Iterable[Future[Any]] = ()  # whose values this one is made from

    def done(self) -> bool:
        """Whether there is a value or an exception."""
        if not self._done:
            for source in self._sources:
                source.done()
        return self._done

    def wait(self) -> _T:
        """The value, once it is there; the exception is raised."""
        self._go_on()
        with self._changed:
            self._changed.wait_for(lambda: self._done)
        return self.value()

    def _go_on(self) -> None:
        """Do what has to be done in this thread before the value can come."""
        if not self._done:
            for source in self._sources:
                source._go_on()

    def value(self) -> _T:
        """The value that is there.

        Raises RuntimeError where there is none yet.
        """
        if not self._done:
            raise RuntimeError("value() can only be called on completed Futures")
        if self._error is not None:
            raise self._error
        return cast(_T, self._value)

    def set_result(self, result: _T) -> None:
        """Set the value, and call what waits for it.

        Raises RuntimeError where there is one already.
        """
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an exception instead of a value.

        Raises AssertionError for what is no exception.
        """
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: object, error: BaseException | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[_T]], object]) -> None:
        """Call a function with this future when the value is there; at once if it is."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[_T]], _S]) -> Future[_S]:
        """A future of what a function gives for this one, called when the value is there."""
        result: Future[_S] = Future()
        result._sources = (self,)

        def call(future: Future[_T]) -> None:
            try:
                found = callback(future)
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
                result.set_exception(
                    RuntimeError(f"Got the following error when running the callback: {text}")
                )
            else:
                result.set_result(found)

        self.add_done_callback(call)
        return result


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of all futures of a list, done when each of them is.

    >>> a, b = torch.futures.Future(), torch.futures.Future()
    >>> both = torch.futures.collect_all([a, b])
    >>> a.set_result(1)
    >>> b.set_result(2)
    >>> [f.wait() for f in both.wait()]
    [1, 2]
    """
    result: Future[list[Future[Any]]] = Future()
    result._sources = futures
    left, lock = [len(futures)], threading.Lock()
    if not futures:
        result.set_result([])

    def one_done(_: Future[Any]) -> None:
        with lock:
            left[0] -= 1
            last = not left[0]
        if last:
            result.set_result(futures)

    for future in futures:
        future.add_done_callback(one_done)
    return result


def wait_all(futures: Iterable[Future[object]]) -> list[Any]:
    """The values of futures, when all are there.

    >>> future = torch.futures.Future()
    >>> future.set_result(3)
    >>> torch.futures.wait_all([future])
    [3]
    """
    return [future.wait() for future in futures]


__getattr__ = _missing_name(__name__)
