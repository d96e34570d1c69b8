"""`rushlight.explain.op`: the definitions of an op of the table, and where they stand."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

from .._base import FOLDER
from .._base.browser import IN_BROWSER
from .._levels.batching_rule import batching_of, by_definition, looped
from ..ops.table.statement import OPS, Entry
from ..ops.table.words import BATCH
from ._text import Text

_NONE = "none"


def op(name: object) -> Text:
    """The definitions of an op, a line for each with its file and line; "none" for a missing one.

    name: the op's name in the table, or the function. Raises KeyError with the nearest names where
    the table has no such op.

    >>> torch.explain.op("renorm").splitlines()[2].split()
    ['kernel', 'of', 'the', 'CPU', 'none']
    """
    entry = _entry(name)
    lines = [f"  {title:<18}  {said}" for title, said in _rows(entry)]
    return Text("\n".join([entry.signature, *lines]))


def _entry(name: Any) -> Entry:
    if not isinstance(name, str):
        name = name.__name__
    if name in OPS:
        return OPS[name]
    near = get_close_matches(name, OPS)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise KeyError(f"no op of the table is called {name!r}{hint}")


def _at(file: str, line: int) -> str:
    path = Path(file)
    return f"{path.relative_to(FOLDER) if path.is_relative_to(FOLDER) else path}:{line}"


def _of(function: Any) -> str:
    """The place of a function of Python, the name of a native one."""
    if function is None:
        return _NONE
    function = inspect.unwrap(function)
    function = inspect.unwrap(getattr(function, "func", function))  # of a partial, too
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType):
        return _at(code.co_filename, code.co_firstlineno)
    return f"native {getattr(function, '__name__', function)}"


def _rows(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.place is None:  # Python over other ops
        yield "statement", f"{entry.kind}, {_of(getattr(entry.function, 'plain', entry.function))}"
        return
    yield "statement", f"{entry.kind}, {_at(*entry.place)}"
    forward = entry.op.forward
    if entry.kind == "pointwise":
        traced = entry.traced_forward
        yield "kernel of the CPU", "one instruction" if traced is None else f"traced, {_of(traced)}"
    else:
        native = inspect.isbuiltin(forward)
        yield "kernel of the CPU", _of(forward) if native else _NONE
        forward = None if native else forward
    yield "in other ops", _of(entry.is_)
    with_numpy = entry.reference or forward
    yield "with NumPy", _of(None if with_numpy is entry.is_ else with_numpy)
    yield "on accelerators", _there(entry)
    yield from _gradients(entry)
    if entry.rules:
        yield "all gradients", _of(entry.fused)
        tangents = [_of(rule.function) for rule in entry.jvp.values()]
        yield "forward mode", ", ".join(tangents) or "from the gradients"
    yield "vmap", _batching(entry)
    yield "autocast", ", ".join(f"{k}: {v}" for k, v in entry.autocast.items()) or _NONE
    yield "in place", f"{entry.name}_" if "in_place" in entry.forms else _NONE
    yield "out=", str(entry.out) if entry.out else _NONE
    yield "samples", _of(entry.samples)


def _gradients(entry: Entry) -> Iterator[tuple[str, str]]:
    names = entry.op.params
    for rule, targets in zip(entry.rules, entry.targets, strict=True):
        of = ", ".join(names[i] for i in targets)
        partial = rule.function if rule.partial is None else rule.partial
        yield f"gradient of {of}", _of(partial) if callable(partial) else f"g · {partial}"


def _batching(entry: Entry) -> str:
    rule = batching_of(entry.op)
    if rule in (looped, by_definition):
        return "once for each element" if rule is looped else "in other ops"
    return f"{BATCH[entry.batch]}, {_of(rule)}" if isinstance(entry.batch, str) else _of(rule)


def _there(entry: Entry) -> str:
    if IN_BROWSER:  # its kernels are not in a browser's wheel
        return _NONE
    if entry.kind == "pointwise":
        return "the interpreter of pointwise programs"
    kernels = import_module("rushlight._devices.there")
    kernels.load()
    found = [t[key] for t in (kernels.own, kernels.of_complex) for key in _keys(entry) if key in t]
    return ", ".join(map(_of, found)) or ("in other ops" if entry.is_ else "by way of the host")


def _keys(entry: Entry) -> list[object]:
    """An op and the kernel of the CPU behind it: either may have kernels for accelerators."""
    return [entry.op, *([entry.op.forward] if inspect.isbuiltin(entry.op.forward) else [])]
