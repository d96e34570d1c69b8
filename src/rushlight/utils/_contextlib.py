"""Contexts that are decorators too."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from .._base.missing import missing_name as _missing_name


def context_decorator(ctx: Any, func: Any) -> Any:
    """A function that runs inside a context: ctx is one, or gives a new one for each call."""
    if not callable(ctx) and not hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), "
            "making it ambiguous which interface to use."
        )
    make: Callable[[], Any] = ctx if not hasattr(ctx, "__enter__") else lambda: ctx
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all "
            "methods should have the context manager applied; additionally, decorating a class at "
            "definition-site will prevent use of the identifier as a conventional type. To specify "
            "which methods to decorate, decorate each of them individually."
        )
    if inspect.isgeneratorfunction(func):
        return _wrap_generator(make, func)

    @functools.wraps(func)
    def inside(*args: object, **kwargs: object) -> object:
        with make():
            return func(*args, **kwargs)

    return inside


def _wrap_generator(ctx_factory: Callable[[], Any], func: Any) -> object:
    """A generator each of whose steps runs inside a context of its own."""

    @functools.wraps(func)
    def inside(*args: object, **kwargs: object) -> Iterator[object]:
        generator = func(*args, **kwargs)
        step: Callable[[], object] = functools.partial(next, generator)
        while True:
            try:
                with ctx_factory():
                    value = step()
            except StopIteration as end:
                return end.value
            try:
                sent = yield value
            except GeneratorExit:
                with ctx_factory():
                    generator.close()
                raise
            except BaseException as error:
                step = functools.partial(generator.throw, error)
            else:
                step = functools.partial(generator.send, sent)

    return inside


class _DecoratorContextManager:
    """A context whose instances decorate functions."""

    def __call__(self, orig_func: object) -> Any:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        raise NotImplementedError

    def clone(self) -> object:
        """A new context like this one."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context without settings: the class itself decorates functions."""

    def __new__(cls, orig_func: object = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


__getattr__ = _missing_name(__name__)
