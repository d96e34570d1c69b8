"""Decorators of pipes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .datapipe import IterDataPipe, MapDataPipe

_C = TypeVar("_C")
_F = TypeVar("_F", bound=Callable[..., Any])

_determinism = False
_validates = True


class functional_datapipe:
    """Decorator: pipes get a method of that name, which makes a pipe of the class.

    >>> @torch.utils.data.functional_datapipe("doubled_in_example")
    ... class Doubled(torch.utils.data.IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         for x in self.source:
    ...             yield 2 * x
    >>> list(torch.utils.data.datapipes.iter.IterableWrapper([1, 2]).doubled_in_example())
    [2, 4]
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: _C) -> _C:
        kind: Any = cls
        if not issubclass(kind, (IterDataPipe, MapDataPipe)):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        base: Any = IterDataPipe if issubclass(kind, IterDataPipe) else MapDataPipe
        base.register_datapipe_as_function(self.name, cls)
        return cls


class guaranteed_datapipes_determinism:
    """Context: pipes that are not deterministic cannot be made in it."""

    def __init__(self) -> None:
        global _determinism
        self.prev, _determinism = _determinism, True

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        global _determinism
        _determinism = self.prev


class non_deterministic:
    """Decorator: the class's pipes are not deterministic, or those for which a function says so."""

    def __init__(self, arg: Any) -> None:
        self.cls: type | None = arg if isinstance(arg, type) else None
        self.says: Any | None = None if isinstance(arg, type) else arg
        if self.cls is not None and not issubclass(self.cls, IterDataPipe):
            raise TypeError(
                "Only `IterDataPipe` can be decorated with `non_deterministic`, but "
                f"{arg.__name__} is found"
            )
        if self.cls is None and not callable(arg):
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is not None:
            if _determinism:
                raise TypeError(
                    f"{self.cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_"
                    "determinism'. You can turn off determinism for this DataPipe if that is "
                    "acceptable for your application"
                )
            return self.cls(*args, **kwargs)
        kind, says = args[0], self.says
        if not (isinstance(kind, type) and issubclass(kind, IterDataPipe)):
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {kind.__name__} is found")

        def make(*args: object, **kwargs: object) -> object:
            if _determinism and says is not None and says(*args, **kwargs):
                raise TypeError(
                    f"{kind.__name__} is non-deterministic with the inputs, but you set "
                    "'guaranteed_datapipes_determinism'. You can turn off determinism for this "
                    "DataPipe if that is acceptable for your application"
                )
            return kind(*args, **kwargs)

        return make


def argument_validation(f: _F) -> _F:
    """Decorator: a function as it is; PyTorch checks the types of pipes, and of what they yield."""
    return f


runtime_validation = argument_validation


class runtime_validation_disabled:
    """Context in which PyTorch does not check what pipes yield."""

    def __init__(self) -> None:
        global _validates
        self.prev, _validates = _validates, False

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        global _validates
        _validates = self.prev
