"""The texts of kernels, and the numbers and structs that Python reads of them.

The `.cl` files beside the functions that start them, and those that kernels share with the core:
ops.def, arithmetic.h, special.h, series.h and accelerator_call.h.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from functools import cache
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from .. import _core
from .._base import FOLDER
from .._base.dtypes import ALL

__all__ = ["Struct", "files", "numbers_of", "struct_of", "text_of"]

_SHARED = _core.accelerator_texts()
_COMPUTED = {"float32": "float", "float64": "double", "int64": "i64"}
_LETTERS = {"i64": "q", "int": "i", "float": "f", "double": "d"}
"""The module `struct`'s names of types."""
_TYPES = {f"TYPE_{dtype.name.upper()}": dtype.code for dtype in ALL}


@cache
def files() -> dict[str, Path]:
    """The files of kernels, by their names."""
    found = [*Path(FOLDER, "_devices").glob("*.cl"), *Path(FOLDER).glob("**/*there/*.cl")]
    return {path.name: path for path in sorted(found)}


@cache
def _source(file: str) -> str:
    return _SHARED[file] if file in _SHARED else files()[file].read_text()


def _whole(file: str) -> str:
    """A text with the files that it includes."""
    return re.sub(r'^#include "(.+)"\n', lambda found: _whole(found[1]), _source(file), flags=re.M)


@cache
def text_of(file: str, computed: str, wide: bool, more: str = "") -> str:
    """The text to compile for a file of kernels; computed: the dtype of T; wide: double exists;
    more: options such as "-DWIDTH=4", in any order: a text is the same for the same options."""
    known = [f"T {_COMPUTED[computed]}", *(["REAL"] if computed != "int64" else [])]
    known += ["WIDE"] if wide else []
    known += [f"{name} {code}" for name, code in _TYPES.items()]
    more = re.sub(r"TYPE_\w+", lambda found: str(_TYPES[found[0]]), more)
    known += sorted(word.removeprefix("-D").replace("=", " ") for word in more.split())
    defined = "".join(f"#define {words}\n" for words in known)
    return defined + _whole("prelude.cl") + _whole(file)


@cache
def numbers_of(file: str) -> SimpleNamespace:
    """The whole numbers that a text defines, by their names there."""
    text = re.sub("//.*", "", _source(file))
    found = {name: int(n) for name, n in re.findall(r"^#define (\w+) (-?\d+)\b", text, re.M)}
    for names in re.findall(r"^enum \{([^}]*)\}", text, re.M):
        number = -1
        for name, given in re.findall(r"(\w+)(?: = (\d+))?", names):
            found[name] = number = int(given or number + 1)
    return SimpleNamespace(**found)


class Struct(NamedTuple):
    """A struct of a text."""

    pack: Callable[..., bytes]
    """The bytes, from the fields by name: a number, an array's items, a struct's bytes."""
    size: int


def _fields(text: str, name: str, computed: str) -> Iterator[tuple[str, str, bool]]:
    """Of each field the name, the type as the module `struct` names it, whether it is an array."""
    found = re.search(rf"typedef struct {{([^}}]*)}} {name};", text)
    if found is None:
        raise KeyError(f"no struct {name}")
    sizes = vars(numbers_of("accelerator_call.h"))
    for kind, declared in re.findall(r"(\w+) ([^;]+);", found[1]):
        letter = _LETTERS.get(_COMPUTED[computed] if kind == "T" else kind)
        if letter is None:
            inner = "".join(letters for _, letters, _ in _fields(text, kind, computed))
            letter = f"{struct.calcsize(inner)}s"
        for field, dims in re.findall(r"(\w+)((?:\[\w+\])*)", declared):
            count = prod(int(sizes.get(n, n)) for n in re.findall(r"\w+", dims))
            yield field, letter * count, bool(dims)


@cache
def struct_of(file: str, name: str, computed: str = "float32") -> Struct:
    """A struct of a text; computed: the dtype of T. KeyError where the text has none."""
    text = re.sub("//.*", "", _whole("prelude.cl") + _whole(file))
    fields = list(_fields(text, name, computed))
    packed = struct.Struct("".join(letters for _, letters, _ in fields))
    names = ", ".join(field for field, _, _ in fields)
    items = ", ".join(f"*{field}" if array else field for field, _, array in fields)
    # Made once, as the members of a named tuple are, so that a call costs what `struct` costs.
    return Struct(eval(f"lambda *, {names}: pack({items})", {"pack": packed.pack}), packed.size)
