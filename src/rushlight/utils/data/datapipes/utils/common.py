"""Files, streams and checks for pipes."""

from __future__ import annotations

import fnmatch
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ....._base.errors import warn

__all__ = [
    "StreamWrapper",
    "get_file_binaries_from_pathnames",
    "get_file_pathnames_from_root",
    "match_masks",
    "validate_input_col",
    "validate_pathname_binary_tuple",
]


def validate_input_col(fn: Callable[..., object], input_col: object) -> None:
    """ValueError where a function does not take as many values as there are columns."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return
    count = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    try:
        signature.bind(*([None] * count))
    except TypeError as error:
        raise ValueError(
            f"The function {getattr(fn, '__name__', fn)} takes {len(signature.parameters)} "
            f"parameters, but {count} are required."
        ) from error


def _check_unpickable_fn(fn: object) -> None:
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    code = getattr(fn, "__code__", None)
    if code is not None and getattr(fn, "__name__", "") == "<lambda>":
        warn(
            "Lambda function is not supported by pickle, please use regular python function or "
            "functools.partial instead."
        )
    elif code is not None and "<locals>" in getattr(fn, "__qualname__", ""):
        warn(
            "Local function is not supported by pickle, please use regular python function or "
            "functools.partial instead."
        )


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name fits one of the patterns; any name without patterns."""
    if not masks:
        return True
    return any(fnmatch.fnmatch(name, m) for m in ([masks] if isinstance(masks, str) else masks))


def get_file_pathnames_from_root(
    root: str,
    masks: str | list[str],
    recursive: bool = False,
    abspath: bool = False,
    non_deterministic: bool = False,
) -> Iterator[str]:
    """The files in a folder whose names fit."""

    def unreadable(error: OSError) -> None:
        warn(f"{error.filename} : {error.strerror}")
        raise error

    if os.path.isfile(root):
        name = os.path.basename(root)
        if match_masks(name, masks):
            yield os.path.abspath(root) if abspath else root
        return
    for path, folders, files in os.walk(root, onerror=unreadable):
        where = os.path.abspath(path) if abspath else path
        if not non_deterministic:
            files.sort()
        for name in files:
            if match_masks(name, masks):
                yield os.path.join(where, name)
        if not recursive:
            break
        if not non_deterministic:
            folders.sort()


def get_file_binaries_from_pathnames(
    pathnames: Iterable[str], mode: str, encoding: str | None = None
) -> Iterator[tuple[str, StreamWrapper]]:
    """Each file's name, and the file, open."""
    if not isinstance(pathnames, Iterable):
        pathnames = [pathnames]
    mode = f"r{mode}" if mode in ("b", "t") else mode
    for name in pathnames:
        if not isinstance(name, str):
            raise TypeError(f"Expected string type for pathname, but got {type(name)}")
        yield name, StreamWrapper(open(name, mode, encoding=encoding))  # noqa: SIM115


def validate_pathname_binary_tuple(data: object) -> None:
    """TypeError unless it is a name and a stream."""
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(
            f"pathname within the tuple should have string type pathname, but it is type "
            f"{type(data[0])}"
        )


class StreamWrapper:
    """A stream that is closed when nothing refers to it any more."""

    file_obj: Any
    name: str | None

    def __init__(
        self, file_obj: Any, parent_stream: object = None, name: str | None = None
    ) -> None:
        self.file_obj, self.name, self.closed = file_obj, name, False

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["file_obj"], name)

    def close(self, *args: object, **kwargs: object) -> None:
        """Close the stream."""
        self.closed = True
        self.file_obj.close(*args, **kwargs)

    def autoclose(self) -> None:
        """Close the stream."""
        self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        return (
            f"StreamWrapper<{self.file_obj!r}>"
            if self.name is None
            else (f"StreamWrapper<{self.name},{self.file_obj!r}>")
        )

    def __enter__(self) -> StreamWrapper:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not vars(self).get("closed", True):
            self.close()
