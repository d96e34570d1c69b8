"""`help()`, `__doc__` and `inspect.signature` of the table's functions, as PyTorch's users know
them.

A docstring is made when it is asked for: the signatures, what the statement says, and the example
from the examples.txt of the function's room, which tests/test_docstrings.py runs, on PyTorch too
where it is installed. Examples of members of Tensor that are written elsewhere stand in
ops/examples.txt.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, get_type_hints

from ... import _core
from ..._base.pickled import OURS, import_dotted_name
from ..._core import Op, OpKind
from .signature import Signature, of_function, python_signature, read

__all__ = ["bound_signature", "install", "own_signature", "public_signature", "signatures", "usage"]


def own_signature(function: Any) -> Signature:
    """The signature of an op or a function as programs know it, with `out=` where there is one."""
    entry = getattr(function, "entry", None)
    if isinstance(function, _core.Op):
        entry = entry or function.base.entry
        own = read(entry.signature)
        if entry.out and function.base is None:
            own = Signature(
                (*own.params, *read("(*, out: Tensor | None = None)").params), own.result
            )
        return own
    told = getattr(entry, "signature", "")
    return read(told) if "(" in told else of_function(function)


def bound_signature(function: Any) -> Signature:
    """The signature that a call is bound by: of a Python function its own."""
    return own_signature(function) if isinstance(function, _core.Op) else of_function(function)


def signatures(function: Any) -> list[Signature]:
    """The signatures of an op or a function: PyTorch's list, or its own without a list."""
    entry = getattr(function, "entry", None)
    texts = getattr(function, "overloads", ()) or getattr(entry, "overloads", ())
    own = own_signature(function)
    listed = [read(text, own) for text in texts]
    # What PyTorch takes for other devices only is in errors alone.
    if isinstance(function, _core.Op) and function.kind != OpKind.COMPOSITE:
        known = {p.name for p in own.params} | {"self", "out"}
        listed = [s for s in listed if all(p.name in known for p in s.params)]
    return listed or [own]


def public_signature(function: Any, method: bool = False) -> inspect.Signature:
    """The signature for `inspect.signature` of an op, or of a function whose own is not the public
    one."""
    entry = getattr(function, "entry", None)
    if not isinstance(function, _core.Op) and "(" not in getattr(entry, "signature", ""):
        plain = python_signature(function)
        return plain.replace(parameters=[*plain.parameters.values()][method:])
    own = own_signature(function)
    return inspect.Signature(
        [p.in_python() for p in own.params[method:]],
        return_annotation=own.result or inspect.Signature.empty,
    )


def usage(name: str, function: Any) -> list[str]:
    """How a function is called, a line for each signature that differs in more than types:
    `add(input, other, *, alpha=1, out=None) -> Tensor`."""
    lines = []
    for signature in signatures(function):
        parts = [
            f"{'*' * p.variable}{p.name}" + ("" if p.default is None else f"={p.default}")
            for p in signature.params
        ]
        if signature.positional < len(parts):
            parts.insert(signature.positional, "*")
        given = signature.result if signature.result not in ("", "Any") else "Tensor"
        lines.append(f"{name}({', '.join(parts)}) -> {given}")
    return list(dict.fromkeys(lines))


def _target(function: Any) -> Any:
    """The function behind what programs see."""
    found = inspect.unwrap(function) if isinstance(function, _core.Public) else function
    return inspect.unwrap(getattr(found, "plain", found))


@functools.cache
def _examples() -> dict[Any, str]:
    found: dict[Any, str] = {}
    here = os.path.dirname(os.path.dirname(__file__))
    for folder in (here, *(entry.path for entry in os.scandir(here) if entry.is_dir())):
        path = os.path.join(folder, "examples.txt")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            blocks = file.read().rstrip().split("\n\n")
        for block in blocks[1:]:  # the first says what the file is
            name, _, example = block.partition("\n")
            found[_target(import_dotted_name(name.replace("torch", OURS, 1)))] = example
    return found


def _text(function: object, said: str | None) -> str | None:
    """A docstring: the signatures, what is said, and the example."""
    parts = [said] if said else []
    example = _examples().get(function)
    if example:
        parts.append(example)
    return "\n\n".join(parts) or None


def _of_op(op: Op) -> str | None:
    said = op.__dict__.get("__doc__")
    if said is None and op.base is not None:
        said = f"In-place version of `{op.base.__name__}`."
    if said is None:
        said = "\n".join(usage(op.__name__, op)) + f"\n\n{op.entry.doc}"
    return _text(op, said)


def _of_public(public: object) -> str | None:
    target = _target(public)
    if isinstance(target, _core.Op):
        return _of_op(target)
    said = target.__doc__
    if getattr(getattr(target, "entry", None), "overloads", ()):
        said = "\n".join(usage(target.__name__, target)) + f"\n\n{said}"
    return _text(target, said)


def _annotations(public: object) -> dict[str, Any]:
    """The annotations of a function as objects: a program may have no module to read names in."""
    function: Any = _target(public)
    try:
        return get_type_hints(function) if isinstance(function, FunctionType) else {}
    except NameError:  # of what only type checkers import
        return dict(function.__annotations__)


def install() -> None:
    """Let ops and what stands for functions have docstrings and signatures that are made when they
    are asked for, and annotations that are objects."""

    def set_doc(op: Any, text: str) -> None:
        op.__dict__["__doc__"] = text

    plain: Callable[[Any], str | None] = vars(_core.Attribute)["__doc__"].__get__
    made: dict[type, dict[str, Any]] = {
        _core.Op: {
            "__doc__": property(_of_op, set_doc),
            "__signature__": property(public_signature),
        },
        _core.Public: {
            "__annotations__": property(_annotations),
            "__doc__": property(_of_public),
            "__signature__": property(lambda p: public_signature(inspect.unwrap(p), p._method)),
        },
        _core.Attribute: {"__doc__": property(lambda a: _text(a, plain(a)))},
    }
    for cls, members in made.items():
        for name, member in members.items():
            setattr(cls, name, member)
