"""Bytes of files by what the files' names end with."""

from __future__ import annotations

import io
import json
import os
import pickle
from collections.abc import Callable
from typing import Any

from rushlight.serialization import load

__all__ = ["Decoder", "basichandlers", "extension_extract_fn", "handle_extension"]


def basichandlers(extension: str, data: bytes) -> Any:
    """Texts, JSON, pickles, numbers and tensors; None for any other ending."""
    if extension in "txt text transcript".split():
        return data.decode("utf-8")
    if extension in "cls cls2 class count index inx id".split():
        try:
            return int(data)
        except ValueError:
            return None
    if extension in "json jsn".split():
        return json.loads(data)
    if extension in "pyd pickle".split():
        return pickle.loads(data)
    if extension == "pt":
        return load(io.BytesIO(data))
    return None


def handle_extension(extensions: str, f: Callable[[bytes], object]) -> Callable[[str, bytes], Any]:
    """A handler that runs a function for names with one of these endings."""
    wanted = extensions.lower().split()

    def handle(key: str, data: bytes) -> object:
        parts = key.lower().split(".")
        for target in (w.split(".") for w in wanted):
            if len(target) <= len(parts) and parts[-len(target) :] == target:
                return f(data)
        return None

    return handle


def extension_extract_fn(pathname: str) -> str:
    """The ending of a name: "png"."""
    return os.path.splitext(pathname)[1][1:]


class Decoder:
    """Gives the bytes of a file to the first handler that knows the name's ending."""

    key_fn: Callable[..., str]

    def __init__(self, *handler: Any, key_fn: Callable[[str], str] = extension_extract_fn) -> None:
        self.handlers, self.key_fn = list(handler), key_fn

    def add_handler(self, *handler: object) -> None:
        """Add handlers, to be asked before all others."""
        self.handlers = [*handler, *self.handlers]

    def decode1(self, key: str, data: Any) -> Any:
        """One file's content."""
        if not data:
            return data
        if hasattr(data, "read"):
            data = data.read()
        for handler in self.handlers:
            found = handler(key, data)
            if found is not None:
                return found
        return data

    def decode(self, data: tuple[str, object]) -> dict[str, Any]:
        """The content by the name's ending, and the name under "__key__"."""
        name, value = data
        if not name or not isinstance(name, str):
            return {"__key__": name}
        return {name: self.decode1(self.key_fn(name), value)}

    def __call__(self, data: Any) -> Any:
        return self.decode(data)
