"""The program's names for tensors: variables of the calling code, and parameters of its modules."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["Names", "is_module", "names_for", "shown_name"]

_LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST = 100
"""How many items of a container of the program are looked at."""


def shown_name(name: str, most: int = 60) -> str:
    r"""A name as text and pictures show it: what no terminal should get is escaped, and of a long
    one the middle is left out.

    >>> from rushlight.explain import shown_name
    >>> shown_name("fc1.weight"), shown_name("two\nlines"), shown_name("long" * 30, most=11)
    ('fc1.weight', 'two\\nlines', 'longl…glong')
    """
    # Twice cut: escaping makes text longer, and nobody waits for that of a megabyte.
    name = _middle_out(name, 8 * most)
    plain = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)
    return _middle_out(plain, most)


def _middle_out(text: str, most: int) -> str:
    left = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - left]}…{text[len(text) - left :]}"


class Names:
    """Names for tensors, the first that is given to each; and the modules that were met."""

    def __init__(self) -> None:
        self._named: dict[int, tuple[str, Tensor]] = {}
        self.modules: dict[str, Any] = {}
        self._by_memory: dict[tuple[int, tuple[int, ...]], str] = {}

    def of(self, tensor: Tensor) -> str:
        """The name of a tensor, or of the one that it is an alias of; "" where there is none."""
        name = self.given(tensor)
        if name:
            return name
        return self._by_memory.get(_memory(tensor), "") if tensor.numel() else ""

    def given(self, tensor: Tensor) -> str:
        """The name of this very tensor; "" where it has none."""
        found = self._named.get(id(tensor))
        return found[0] if found is not None and found[1] is tensor else ""

    def tensors(self) -> list[tuple[str, Tensor]]:
        """All names with their tensors."""
        return list(self._named.values())

    def results(self) -> dict[tuple[Any, int], tuple[str, Tensor]]:
        """By (node, output number): the names of those that were computed."""
        found: dict[tuple[Any, int], tuple[str, Tensor]] = {}
        for label, tensor in self._named.values():
            edge = _core.gradient_edge(tensor)
            if edge is not None:
                found.setdefault(edge, (label, tensor))
        return found

    def add(self, label: str, value: Any, depth: int = 2) -> None:
        """Take in a variable: a tensor, a module, or something that holds them."""
        if isinstance(value, Tensor):
            self._take(label, value)
        elif is_module(value):
            self.add_module(label, value)
        elif depth and isinstance(value, (list, tuple)):
            for at, item in enumerate(value[:_MOST]):
                self.add(f"{label}[{at}]", item, depth - 1)
        elif depth and type(value) is dict:
            for at, (key, item) in enumerate(value.items()):
                if at >= _MOST:
                    break
                if isinstance(key, (str, int)):
                    self.add(f"{label}[{key!r}]", item, depth - 1)
        elif depth == 2 and label == "self":
            for name, item in list(getattr(value, "__dict__", {}).items()):
                self.add(f"self.{name}", item, 1)

    def add_module(self, label: str, module: Any) -> None:
        """Take in a module's parameters and buffers under their own names: `fc1.weight`."""
        if any(module is known for known in self.modules.values()):
            return
        self.modules.setdefault(label, module)
        for members in (module.named_parameters, module.named_buffers):
            for name, tensor in members():
                self._take(name, tensor)

    def _take(self, label: str, tensor: Tensor) -> None:
        if id(tensor) not in self._named:
            self._named[id(tensor)] = (label, tensor)
            self._by_memory.setdefault(_memory(tensor), label)


def _memory(tensor: Tensor) -> tuple[int, tuple[int, ...]]:
    return 0 if tensor._meta else tensor.data_ptr(), tuple(tensor.shape)


def names_for(names: Any = None) -> Names:
    """Names as a caller gives them: a module, a mapping or pairs of names and tensors, or None for
    the variables of the program that calls."""
    if isinstance(names, Names):
        return names
    found = Names()
    if names is None:
        _from_frames(found)
    elif is_module(names):
        found.add_module("", names)
    else:
        pairs: Iterable[Any] = names.items() if isinstance(names, Mapping) else names
        for pair in pairs:
            if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
                raise TypeError(
                    "explain: names= takes a module, a dict of names to tensors, or pairs as "
                    f"named_parameters() gives them, got an item of type {type(pair).__name__}."
                )
            found.add(*pair)
        _from_frames(found)
    return found


def is_module(value: Any) -> bool:
    """Whether a value is an `nn.Module`."""
    nn = sys.modules.get("rushlight.nn")
    return nn is not None and isinstance(value, nn.Module)


def _from_frames(found: Names) -> None:
    """The variables of the program's frames, the innermost first: its modules, then its tensors."""
    variables: list[tuple[str, Any]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_LIBRARY):
            variables.extend(_of_frame(frame))
        frame = frame.f_back
    _in_order(variables, found.add, is_module)
    _in_order(variables, found.add, lambda value: isinstance(value, Tensor))
    _in_order(variables, found.add, lambda value: True)


def _in_order(
    variables: list[tuple[str, Any]],
    add: Callable[[str, Any], None],
    wanted: Callable[[Any], bool],
) -> None:
    for label, value in variables:
        if wanted(value):
            add(label, value)


def _of_frame(frame: FrameType) -> list[tuple[str, Any]]:
    known = dict(frame.f_globals)
    known.update(frame.f_locals)
    items = [(k, v) for k, v in known.items() if not k.startswith("__")]
    # What is assigned last stands first: `h = relu(h)` in a loop leaves the newest in h anyway, and
    # a short-lived `_` is no name.
    return [(k, v) for k, v in items if k.strip("_")]
