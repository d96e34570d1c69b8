"""Pipes: datasets that are built of one another, with a method for each step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from rushlight._base.missing import missing_name as _missing_name

from ..dataset import Dataset, IterableDataset
from ._hook_iterator import _SnapshotState, hook_iterator

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

Source = Iterable[Any]
Samples = Iterator[Any]
_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class DataChunk(list[_T]):
    """A batch that a pipe makes.

    >>> torch.utils.data.DataChunk([1, 2])
    [1, 2]
    """

    def __init__(self, items: Any) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The items as text."""
        return indent + "[" + ", ".join(map(str, self)) + "]"

    def raw_iterator(self) -> Iterator[_T]:
        """An iterator over the items."""
        return iter(self.items)


def length(pipe: object, source: Any) -> int:
    """How many samples the source of a pipe has; TypeError where nothing says so."""
    if not hasattr(type(source), "__len__"):
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")
    return len(source)


class _Functions:
    """The methods of pipes: names that decorators register."""

    functions: dict[str, Callable[..., Any]]
    reduce_ex_hook: Callable[..., Any] | None = None
    getstate_hook: Callable[..., Any] | None = None
    str_hook: Callable[..., str] | None = None
    repr_hook: Callable[..., str] | None = None

    def __getattr__(self, name: str) -> Any:
        functions = type(self).functions
        if name not in functions:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")
        return functools.partial(functions[name], self)

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Add a method to all pipes."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False
    ) -> None:
        """Add a method that makes a pipe of a class."""
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )

        def make(source: Any, *args: Any, **kwargs: Any) -> Any:
            return cls_to_register(source, *args, **kwargs)

        make.__doc__ = cls_to_register.__doc__
        cls.functions[function_name] = make

    def __getstate__(self) -> Any:
        hook = type(self).getstate_hook
        return self.__dict__ if hook is None else hook(self.__dict__)

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)

    def __reduce_ex__(self, *args: Any, **kwargs: Any) -> Any:
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """Let a function give what is pickled of a pipe."""
        if cls.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls.getstate_hook = staticmethod(hook_fn) if hook_fn else None

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """Let a function say how a pipe is pickled."""
        if cls.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls.reduce_ex_hook = staticmethod(hook_fn) if hook_fn else None

    def __repr__(self) -> str:
        return self.repr_hook(self) if self.repr_hook else type(self).__qualname__

    def __str__(self) -> str:
        return self.str_hook(self) if self.str_hook else type(self).__qualname__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]


class IterDataPipe(_Functions, IterableDataset[_T_co]):
    """A pipe that is walked: derive from it and define `__iter__`.

    One iterator is valid at a time. `reset` is called when one begins.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(6))
    >>> list(pipe.map(lambda x: 2 * x).batch(4))
    [[0, 2, 4, 6], [8, 10]]
    """

    functions: dict[str, Callable[..., Any]] = {}  # noqa: RUF012
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0
    _snapshot_state = _SnapshotState.NotStarted

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "__iter__" in vars(cls):
            hook_iterator(cls)

    def __iter__(self) -> Iterator[_T_co]:
        return self

    def reset(self) -> None:
        """Begin anew: called when an iterator begins."""


class DFIterDataPipe(IterDataPipe[Any]):
    """A pipe of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Functions, Dataset[_T_co]):
    """A pipe with a sample for each index: derive from it and define `__getitem__`.

    >>> pipe = torch.utils.data.datapipes.map.SequenceWrapper([3, 4])
    >>> pipe.map(lambda x: x + 1)[0]
    4
    """

    functions: dict[str, Callable[..., Any]] = {}  # noqa: RUF012


class _DataPipeSerializationWrapper:
    """A pipe as PyTorch sends it to workers."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe[Any]):
    def __iter__(self) -> Samples:
        yield from self._datapipe


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe[Any]):
    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]


__getattr__ = _missing_name(__name__)
