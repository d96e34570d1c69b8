"""One valid iterator for each pipe, and errors that say whose iterator raised them."""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any


class _SnapshotState(enum.Enum):
    """Whether iteration has begun."""

    NotStarted = 0
    Restored = 1
    Iterating = 2


def _shown(value: object) -> str:
    return value.__name__ if inspect.isfunction(value) else repr(value)


def _generate_iterdatapipe_msg(pipe: object, simplify_dp_name: bool = False) -> str:
    """A pipe with the arguments that it keeps: "MapperIterDataPipe(fn=..., input_col=None)"."""
    names = sorted(inspect.signature(type(pipe).__init__).parameters)
    shown = [f"{n}={_shown(vars(pipe)[n])}" for n in names if n in vars(pipe)]
    return f"{type(pipe).__qualname__}({', '.join(shown)})"


def _check(pipe: Any, number: int) -> None:
    if pipe._valid_iterator_id != number:
        raise RuntimeError(
            "This iterator has been invalidated because another iterator has been created from "
            f"the same IterDataPipe: {_generate_iterdatapipe_msg(pipe)}\n"
            "This may be caused by multiple references to the same IterDataPipe. We recommend "
            "using `.fork()` if that is necessary.\n"
            "For feedback regarding this single iterator per IterDataPipe constraint, feel free "
            "to comment on this issue: https://github.com/pytorch/data/issues/45."
        )


def _valid(pipe: Any) -> int:
    """A new number for a pipe's iterator: those with others are valid no more."""
    pipe._valid_iterator_id = (pipe._valid_iterator_id or 0) + 1
    pipe._number_of_samples_yielded = 0
    pipe._snapshot_state = _SnapshotState.Iterating
    pipe.reset()
    number: int = pipe._valid_iterator_id
    return number


def _walk(pipe: Any, method: Callable[..., Any], number: int) -> Iterator[object]:
    inner = None
    while True:
        _check(pipe, number)
        try:
            if inner is None:
                inner = method(pipe)
                inner = inner if inner is not pipe else _Next(pipe)
            value = next(inner)
        except StopIteration:
            return
        except Exception as error:
            quiet = ("is thrown by __iter__", "single iterator per IterDataPipe constraint")
            known = error.args and any(q in str(error.args[0]) for q in quiet)
            if known or hasattr(type(pipe), "_is_child_datapipe"):
                raise
            said = f"This exception is thrown by __iter__ of {_generate_iterdatapipe_msg(pipe)}"
            if not error.args:
                error.args = (f"\n{said}",)
            elif isinstance(error.args[0], str):
                error.args = (f"{error.args[0]}\n{said}", *error.args[1:])
            raise
        pipe._number_of_samples_yielded += 1
        yield value


class _Next:
    """Iterates by the `__next__` of a pipe that is its own iterator."""

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe

    def __next__(self) -> object:
        return type(self.pipe).__next__(self.pipe)


def hook_iterator(cls: type) -> None:
    """Let a class's `__iter__` reset the pipe, and give iterators of which the last is valid."""
    method = vars(cls)["__iter__"]

    @functools.wraps(method)
    def __iter__(self: object) -> Iterator[object]:
        return _walk(self, method, _valid(self))

    cls.__iter__ = __iter__  # type: ignore[attr-defined]
