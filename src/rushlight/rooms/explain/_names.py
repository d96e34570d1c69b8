"""The program's names for tensors: variables of the calling code, and parameters of its modules."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from types import FrameType
from typing import Any, TypeVar

from .. import _core
from .._base import FOLDER
from .._base.sources import locals_of
from .._core import Tensor

__all__ = [
    "Names",
    "as_far",
    "escaped",
    "inside",
    "is_container",
    "is_module",
    "names_for",
    "quiet",
    "script_modules",
    "shown_name",
    "variables_of",
]

_T = TypeVar("_T")
_MOST = 100
"""How many items of a container of the program are looked at."""


@contextmanager
def quiet() -> Iterator[None]:
    """Inside the block nobody is told what is asked of a tensor: no class of its own, no mode."""
    before = _core.get_overrides()
    _core.set_overrides(max(before, _core.Overrides.NONE))
    try:
        yield
    finally:
        _core.set_overrides(before)


def shown_name(name: str, most: int = 60) -> str:
    r"""A name as text and pictures show it: what no terminal should get is escaped, and of a long
    one the middle is left out.

    >>> from rushlight.explain import shown_name
    >>> shown_name("fc1.weight"), shown_name("two\nlines"), shown_name("long" * 30, most=11)
    ('fc1.weight', 'two\\nlines', 'longl…glong')
    """
    # Twice cut: escaping makes text longer, and nobody waits for that of a megabyte.
    name = _middle_out(name, 8 * most)
    return _middle_out(escaped(name), most)


def escaped(text: str) -> str:
    """A program's text without what a terminal would obey."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _middle_out(text: str, most: int) -> str:
    left = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - left]}…{text[len(text) - left :]}"


class Names:
    """Names for tensors, the first that is given to each; and the modules that were met."""

    def __init__(self) -> None:
        self._named: dict[int, tuple[str, Tensor]] = {}
        self.modules: dict[str, Any] = {}
        self._by_memory: dict[tuple[int, int, tuple[int, ...]], str] = {}

    def of(self, tensor: Tensor) -> str:
        """The name of a tensor, or of its alias; "" without a name."""
        name = self.given(tensor)
        if name:
            return name
        memory = _core.memory_of(tensor)
        return "" if memory is None else self._by_memory.get(memory, "")

    def given(self, tensor: Tensor) -> str:
        """The name of this very tensor; "" where it has none."""
        found = self._named.get(id(tensor))
        return found[0] if found is not None and found[1] is tensor else ""

    def tensors(self) -> list[tuple[str, Tensor]]:
        """All names with their tensors."""
        return list(self._named.values())

    def results(self) -> dict[tuple[object, int], tuple[str, Tensor]]:
        """By (node, output number): the names of those that were computed."""
        found: dict[tuple[object, int], tuple[str, Tensor]] = {}
        for label, tensor in self._named.values():
            edge = _core.maker_of(tensor)
            if edge is not None:
                found.setdefault(edge, (label, tensor))
        return found

    def add(self, label: str, value: Any, depth: int = 2) -> None:
        """Take in a variable: a tensor, a module, or something that holds them."""
        kind = type(value)  # not isinstance(): a proxy may do anything when it is asked
        if issubclass(kind, Tensor):
            self._take(label, value)
        elif is_module(value):
            self.add_module(label, value)
        elif depth and issubclass(kind, (list, tuple)):
            items = list.__iter__(value) if issubclass(kind, list) else tuple.__iter__(value)
            for at, item in enumerate(islice(items, _MOST)):
                self.add(f"{label}[{at}]", item, depth - 1)
        elif depth and kind is dict:
            for key, item in islice(value.items(), _MOST):
                if type(key) in (str, int):
                    self.add(f"{label}[{key!r}]", item, depth - 1)
        elif depth == 2 and label == "self":
            for name, item in _attributes(value).items():
                self.add(f"self.{name}", item, 1)

    def add_module(self, label: str, module: Any, prefix: str = "") -> None:
        """Take in a module's parameters and buffers under their own names: `fc1.weight`."""
        if any(module is known for known in self.modules.values()):
            return
        self.modules.setdefault(label, module)
        for members in (module.named_parameters, module.named_buffers):
            for name, tensor in as_far(members):
                self._take(prefix + name, tensor)

    def add_modules(self, variables: list[tuple[str, Any]]) -> None:
        """Take in the modules among variables, but for those inside of others: where several of
        them have parameters, these go by the variable too, as `encoder.fc1.weight`, and those of a
        container always, as `blocks.0.weight`."""
        found = [(label, m) for label, m in variables if is_module(m)]
        found.sort(key=lambda named: named[0] == "self")  # a caller's name says more
        inside = {id(c) for _, m in found for c in as_far(m.modules) if c is not m}
        inside |= {id(c) for m in self.modules.values() for c in as_far(m.modules)}
        outer = {id(m): (label, m) for label, m in reversed(found) if id(m) not in inside}
        several = sum(any(True for _ in as_far(m.parameters)) for _, m in outer.values()) > 1
        for label, m in reversed(outer.values()):
            long = several or self.modules or is_container(m)
            self.add_module(label, m, f"{label}." if long else "")

    def _take(self, label: str, tensor: Tensor) -> None:
        if id(tensor) not in self._named:
            self._named[id(tensor)] = (label, tensor)
            memory = _core.memory_of(tensor)
            if memory is not None:
                self._by_memory.setdefault(memory, label)
            if inside(tensor) is not tensor:
                self._take(label, inside(tensor))


def _attributes(value: object) -> dict[str, object]:
    try:
        return dict(value.__dict__)
    except Exception:  # an object of the program may do anything when it is asked
        return {}


def as_far(walk: Callable[..., Iterator[_T]], *how: object) -> Iterator[_T]:
    """The parts of a module, up to one that fails to tell more: a class of the program may lack
    `super().__init__()`, or have an own method for that."""
    try:
        yield from walk(*how)
    except Exception:
        return


def names_for(names: object = None) -> Names:
    """Names as a caller gives them, a module, a mapping or pairs of names and tensors; then the
    variables of the program that calls."""
    if isinstance(names, Names):
        return names
    found = Names()
    if is_module(names):
        found.add_module("", names)
    elif names is not None:
        for pair in names.items() if isinstance(names, Mapping) else _items(names):
            if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
                raise _bad_names(f"an item of type {type(pair).__name__}")
            found.add(*pair)
    _from_frames(found)
    return found


def script_modules() -> dict[str, Any]:
    """The modules in the script's variables, by their names."""
    return names_for(vars(sys.modules["__main__"])).modules


def _items(names: object) -> Iterable[object]:
    if isinstance(names, (Tensor, str)) or not isinstance(names, Iterable):
        raise _bad_names(f"an object of type {type(names).__name__}")
    return names


def _bad_names(got: str) -> TypeError:
    return TypeError(
        "explain: names= takes a module, a dict of names to tensors, or pairs as "
        f"named_parameters() gives them, got {got}."
    )


def inside(tensor: Tensor) -> Tensor:
    """The tensor behind a transform's tensor (func.vmap, jvp): it has the graph."""
    wrapper = tensor._wrapped
    while wrapper is not None and wrapper.strided:
        tensor = wrapper.value
        wrapper = tensor._wrapped
    return tensor


def is_module(value: object) -> bool:
    """Whether a value is an `nn.Module`."""
    nn = sys.modules.get("rushlight.nn")
    return nn is not None and issubclass(type(value), nn.Module)


def is_container(module: object) -> bool:
    """Whether a module only holds others, and is never called: a ModuleList, a ModuleDict."""
    nn = sys.modules["rushlight.nn"]
    return isinstance(module, (nn.ModuleList, nn.ModuleDict))


def _from_frames(found: Names) -> None:
    """The variables of the program's frames, the innermost first: its modules, then its tensors."""
    variables: list[tuple[str, object]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(FOLDER):
            variables.extend(variables_of(frame))
        frame = frame.f_back
    found.add_modules(variables)
    _in_order(variables, found.add, lambda value: issubclass(type(value), Tensor))
    _in_order(variables, found.add, lambda value: not is_module(value))


def _in_order(
    variables: list[tuple[str, object]],
    add: Callable[[str, object], None],
    wanted: Callable[[object], bool],
) -> None:
    for label, value in variables:
        if wanted(value):
            add(label, value)


def variables_of(frame: FrameType) -> list[tuple[str, object]]:
    """A frame's own variables, then its module's. Left out are `_`, `__name__` and the like, a
    notebook's `_4`, names of tools that are no identifiers, and the values that a function gathered
    with `*args` and `**how`, which have better names outside."""
    code = frame.f_code
    known = locals_of(frame)
    named = code.co_argcount + code.co_kwonlyargcount
    several = bool(code.co_flags & inspect.CO_VARARGS) + bool(
        code.co_flags & inspect.CO_VARKEYWORDS
    )
    for name in code.co_varnames[named : named + several]:
        known.pop(name, None)
    for name, value in frame.f_globals.items():
        known.setdefault(name, value)
    return [(name, value) for name, value in known.items() if _is_name(name)]


def _is_name(variable: str) -> bool:
    known = variable.isidentifier() and not variable.startswith("__")
    return known and variable.strip("_0123456789") != ""
