"""Whether this thread records a graph: no_grad, enable_grad, set_grad_enabled, inference_mode.

All four are context managers and decorators (of functions, generators and coroutines). The state is
the core's, one per thread; a generator's frames see the mode only while they run.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _core
from .._base.errors import warn
from .._core import Tensor

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

F = TypeVar("F", bound=Callable[..., Any])

_set = _core.set_grad_enabled
_set_inference = _core.set_inference


def is_grad_enabled() -> bool:
    """Whether ops on this thread are recorded.

    >>> with torch.no_grad():
    ...     torch.is_grad_enabled()
    False
    >>> torch.is_grad_enabled()
    True
    """
    return _core.is_grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode.

    >>> with torch.inference_mode():
    ...     torch.is_inference_mode_enabled()
    True
    """
    return _core.is_inference()


class _Mode:
    """A mode as context manager and decorator; `clone` gives a fresh one for each call."""

    def clone(self) -> _Mode:
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        if isinstance(function, type):
            warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method "
                "and nothing else.",
                FutureWarning,
            )
            function.__init__ = self(function.__init__)  # type: ignore[misc]
            return function
        if inspect.isgeneratorfunction(function):
            return _wrap_generator(self, function)  # type: ignore[return-value]
        if inspect.iscoroutinefunction(function):
            return _wrap_coroutine(self, function)  # type: ignore[return-value]
        if inspect.isasyncgenfunction(function):
            return _wrap_async_generator(self, function)  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapper(*args: object, **kwargs: object) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]


def _wrap_generator(mode: _Mode, function: Callable[..., Any]) -> Callable[..., object]:
    @functools.wraps(function)
    def wrapper(*args: object, **kwargs: object) -> Any:
        generator = function(*args, **kwargs)
        try:
            with mode.clone():
                response = generator.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with mode.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    with mode.clone():
                        response = generator.throw(error)
                else:
                    with mode.clone():
                        response = generator.send(request)
        except StopIteration as done:
            return done.value

    return wrapper


class _Steps:
    """Drives a coroutine so that the mode holds only while its own frames run."""

    def __init__(self, mode: _Mode, coroutine: Any) -> None:
        self.mode, self.coroutine = mode, coroutine

    def __await__(self) -> Any:
        coroutine = self.coroutine
        try:
            with self.mode.clone():
                response = coroutine.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with self.mode.clone():
                        coroutine.close()
                    raise
                except BaseException as error:
                    with self.mode.clone():
                        response = coroutine.throw(error)
                else:
                    with self.mode.clone():
                        response = coroutine.send(request)
        except StopIteration as done:
            return done.value


def _wrap_coroutine(mode: _Mode, function: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(function)
    async def wrapper(*args: object, **kwargs: object) -> Any:
        return await _Steps(mode, function(*args, **kwargs))

    return wrapper


def _wrap_async_generator(mode: _Mode, function: Callable[..., Any]) -> Callable[..., object]:
    @functools.wraps(function)
    async def wrapper(*args: object, **kwargs: object) -> object:
        generator = function(*args, **kwargs)
        try:
            response = await _Steps(mode, generator.asend(None))
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    await _Steps(mode, generator.aclose())
                    raise
                except BaseException as error:
                    response = await _Steps(mode, generator.athrow(error))
                else:
                    response = await _Steps(mode, generator.asend(request))
        except StopAsyncIteration:
            return

    return wrapper


class no_grad(_Mode):
    """Turn recording off: `with no_grad():`, `@no_grad()` or `@no_grad`.

    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _on = False

    def __new__(cls, orig_func: Any = None) -> Any:
        mode = super().__new__(cls)
        if orig_func is None:
            return mode
        return mode(orig_func)

    prev = False  # what it was before the block, as torch calls it

    __enter__: Callable[..., None] = _core.c_method(_core.begin_grad)
    __exit__: Callable[..., None] = _core.c_method(_core.end_grad)


class enable_grad(no_grad):
    """Turn recording on, inside `no_grad` too.

    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.no_grad():
    ...     with torch.enable_grad():
    ...         y = x * 2
    >>> y.requires_grad
    True
    """

    _on = True


def check_bool(function: str, name: str, value: object, position: int = 1) -> None:
    """Refuse what is no bool, in torch's words."""
    if not isinstance(value, bool):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be bool, not "
            + type(value).__name__
        )


class set_grad_enabled(_Mode):
    """Set recording on or off: as a function at once, as a context manager until its end.

    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> training = False
    >>> with torch.set_grad_enabled(training):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        check_bool("set_grad_enabled", "enabled", mode)
        self.mode = mode
        self.prev: bool = _set(mode)

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, function: F) -> F:
        _set(self.prev)  # decorating is not calling: the change must not leak
        return super().__call__(function)

    def __enter__(self) -> None:
        _set(self.mode)

    @_core.ending
    def __exit__(self, *exc: object) -> None:
        _set(self.prev)

    def __str__(self) -> str:
        return f"{type(self).__module__}.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__


class inference_mode(_Mode):
    """Like `no_grad`, and results track neither versions nor views (`t.is_inference()`).

    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    def __new__(cls, mode: bool = True) -> inference_mode:
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._before = _set(not self.mode), _set_inference(self.mode)

    def __exit__(self, *exc: object) -> None:
        grad, inference = self._before
        _set(grad)
        _set_inference(inference)

    __exit__ = _core.ending(__exit__)
    __enter__ = _core.beginning(__enter__, lambda self: None)


class _Switch(_Mode):
    """A setting that programs may turn on and off and that changes nothing here."""

    mode: bool
    prev: bool

    _value = True

    def __init__(self, mode: bool) -> None:
        self.mode, self.prev = mode, type(self)._value
        type(self)._value = mode

    def clone(self) -> _Switch:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        type(self)._value = self.prev


class set_multithreading_enabled(_Switch):
    """Accepted: a backward runs on the thread that calls it.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with torch.autograd.grad_mode.set_multithreading_enabled(False):
    ...     (x * x).backward()
    >>> x.grad
    tensor(6.)
    """


class enforce_grad_layout_policy(_Switch):
    """Accepted: a fresh gradient always has its leaf's layout.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.grad_mode.enforce_grad_layout_policy(True):
    ...     x.sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


def is_multithreading_enabled() -> bool:
    """The value that `set_multithreading_enabled` has set.

    >>> torch.autograd.is_multithreading_enabled()
    True
    """
    return set_multithreading_enabled._value


class _unsafe_preserve_version_counter:
    """Inside the block, in-place writes of the given tensors are not counted: saved values are not
    protected from them."""

    def __init__(self, tensors: Tensor) -> None:
        self.tensors = (tensors,) if isinstance(tensors, _core.Tensor) else tuple(tensors)
        self.versions = [t._version for t in self.tensors]

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        for tensor, version in zip(self.tensors, self.versions, strict=True):
            _core.set_version(tensor, version)
