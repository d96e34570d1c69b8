"""The language of signatures: what the functions of the table take, and in which words.

    "softmax(input: Tensor, dim: int, dtype: dtype | None = None) -> Tensor"

is Python's own form. A parameter's type is one of TYPES, several of them joined by `|`, or one of
them `| None`; `*dims: int` takes the rest. The result is a Tensor unless told otherwise.
`...` at the end stands for the keywords of the functions that make tensors. The same words annotate
the Python functions of the table.

PyTorch has several signatures of some functions. They are listed as `overloads=`; a parameter that
stands there without a type has the type of the function's own signature, and `out` the usual type.

From a signature come the binding of arguments and the checks of their types (arguments.py), the
words of errors, `help()`, `inspect.signature`, the stubs and the page of all ops.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ... import _core
from ..._base.device import contiguous_format, device, layout, memory_format
from ..._base.dtypes import dtype
from ..._core import OpKind, ParamKind, Takes
from ..._devices.generator import Generator

__all__ = [
    "TYPES",
    "Flag",
    "Generator",
    "Ints",
    "Keywords",
    "Number",
    "Parameter",
    "Signature",
    "Sizes",
    "Tensor",
    "device",
    "dtype",
    "layout",
    "memory_format",
    "of_function",
    "overloaded",
    "parse",
    "python_signature",
    "read",
    "value_of",
]

# The types as Python knows them, for annotations.
Tensor = _core.Tensor
Number: TypeAlias = int | float | complex
Ints: TypeAlias = int | Sequence[int]
Sizes: TypeAlias = Sequence[int]
Flag: TypeAlias = bool  # whatever is true or false
Keywords: TypeAlias = Any  # `**how: Keywords` takes those of the functions that make tensors

# The types of an argument: the bits that the core looks at (0: anything), and PyTorch's word.
TYPES: dict[str, tuple[int, str]] = {
    "Tensor": (Takes.TENSOR, "Tensor"),
    "Sequence[Tensor]": (Takes.TENSORS, "tuple of Tensors"),
    "Number": (Takes.NUMBER, "Number"),
    "float": (Takes.FLOAT, "float"),
    "int": (Takes.INT, "int"),
    "Sizes": (Takes.INTS, "tuple of ints"),
    "Ints": (Takes.INT | Takes.INTS, "tuple of ints"),  # or one alone
    "bool": (Takes.BOOL, "bool"),
    "Flag": (0, "bool"),
    "str": (Takes.TEXT, "str"),
    "dtype": (Takes.TYPE, "torch.dtype"),
    "Generator": (Takes.GENERATOR, "torch.Generator"),
    "layout": (Takes.LAYOUT, "torch.layout"),
    "device": (Takes.DEVICE, "torch.device"),
    "memory_format": (Takes.MEMORY_FORMAT, "torch.memory_format"),
    "Storage": (0, "torch.Storage"),
    "Any": (0, "object"),
}

_FACTORY = (
    "dtype: dtype | None = None, layout: layout | None = None, device: device | None = None, "
    "pin_memory: bool | None = False, requires_grad: bool = False"
)


class Parameter(NamedTuple):
    """One parameter of a signature."""

    name: str
    type: str  # a key of TYPES, or several joined by " | "; never None
    default: str | None  # as text; None: it must be given
    keyword_only: bool = False
    variable: bool = False  # takes the rest: `*dims`
    none: bool = False  # None may stand for it

    def in_python(self) -> inspect.Parameter:
        """The parameter as `inspect` has it."""
        kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
        if self.keyword_only or self.variable:
            kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY
            kind = kinds[self.keyword_only]
        annotation = self.type + (" | None" if self.none and self.type != "Any" else "")
        default = inspect.Parameter.empty if self.default is None else value_of(self.default)
        return inspect.Parameter(self.name, kind, default=default, annotation=annotation)

    @property
    def optional(self) -> bool:
        """Whether it may be left out."""
        return self.default is not None

    @property
    def types(self) -> list[str]:
        """Each type that it takes."""
        return self.type.split(" | ")

    @property
    def bits(self) -> int:
        """The bits of the types that the core lets pass: 0 where anything goes."""
        found = 0
        for t in self.types:
            if not TYPES[t][0]:
                return 0
            found |= TYPES[t][0]
        return found | (Takes.NONE if self.none else 0)

    @property
    def sizes(self) -> bool:
        """Whether it takes ints one by one."""
        return self.variable and bool(self.bits & Takes.INT)

    @property
    def word(self) -> str:
        """PyTorch's word for what it takes."""
        return TYPES[self.types[0]][1]

    def __str__(self) -> str:
        text = f"{self.word} {self.name}"
        if self.default is None:
            return text
        braces = str.maketrans({"(": "{", ")": "}", " ": None})  # of several, as C++ has them
        default = self.default.translate(braces) if self.default[:1] == "(" else self.default
        return f"{text} = {'None' if default == '{}' else default}"


class Signature(NamedTuple):
    """The parameters and the result of a function; as text in the words of PyTorch's errors."""

    params: tuple[Parameter, ...]
    result: str = "Tensor"  # "" where nothing is said

    @property
    def positional(self) -> int:
        """How many arguments may stand without a name."""
        return sum(not p.keyword_only for p in self.params)

    @property
    def required(self) -> int:
        """How many must be given."""
        return sum(not p.optional for p in self.params)

    def __str__(self) -> str:
        parts = [str(p) for p in self.params]
        if self.positional < len(parts):
            parts.insert(self.positional, "*")
        return f"({', '.join(parts)})"

    def without_first(self) -> Signature:
        """The signature of the method."""
        return Signature(self.params[1:], self.result)


def _split(body: str) -> list[str]:
    """The parameters; commas inside brackets belong to a type or a default."""
    if not body:
        return []
    if "(" not in body and "[" not in body:
        return body.split(", ")
    parts, depth = [""], 0
    for c in body:
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


@functools.cache  # the same few hundred parameters come again and again
def _parameter(part: str) -> Parameter:
    head, _, default = part.partition(" = ")
    name, typed, kind = head.partition(": ")
    variable = name[0] == "*"
    types = kind.split(" | ") if typed else []
    none = "None" in types
    if none:
        types.remove("None")
    for t in types:
        if t not in TYPES:
            raise TypeError(f"'{part}': '{t}' is no type of a signature, which are {list(TYPES)}")
    if not types:
        raise TypeError(f"'{part}': a parameter says its type, '{name}: Tensor' for one")
    return Parameter(name.lstrip("*"), " | ".join(types), default or None, False, variable, none)


_OUT = "out: Tensor | None = None"


def read(text: str, own: Signature | None = None) -> Signature:
    """A signature as it is written, with or without the function's name before the bracket; `own`
    has the parameters that it names without a type."""
    head, _, result = text.partition(" -> ")
    body = head[head.index("(") + 1 : head.rindex(")")].replace("...", _FACTORY)
    known = {p.name: p for p in own.params} if own is not None else {}
    if "self" in known:
        known["input"] = known["self"]
    params, keyword_only = [], False
    for part in _split(body):
        if part == "*":
            keyword_only = True
            continue
        bare = ":" not in part
        p = known[part] if bare and part != "out" else _parameter(_OUT if bare else part)
        params.append(p._replace(keyword_only=keyword_only))
        keyword_only = keyword_only or p.variable
    return Signature(tuple(params), result or "Tensor")


_CONSTANTS = {
    "None": None,
    "True": True,
    "False": False,
    "torch.contiguous_format": contiguous_format,
}


def value_of(text: str) -> Any:
    """The default that a signature writes."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] in "'\"":
        return sys.intern(text[1:-1])  # a literal in a program is then the same object
    if text[0] == "(":
        return tuple(value_of(t) for t in text[1:-1].replace(",", " ").split())
    try:
        return int(text)
    except ValueError:
        return float(text)


# How the core binds a parameter of that type; PLAIN where it is not listed.
_KINDS = {
    "Tensor": ParamKind.TENSOR,
    "Tensor | Number": ParamKind.OPERAND,
    "Sequence[Tensor]": ParamKind.TENSORS,
}


@functools.cache
def _row(part: str, pointwise: bool) -> tuple[Any, ...]:
    p = _parameter(part)
    if p.variable:
        return p.name, ParamKind.VARARGS
    kind = _KINDS.get(p.type, ParamKind.PLAIN)
    if p.none and kind == ParamKind.TENSOR:
        kind = ParamKind.OPTIONAL
    elif pointwise and p.type == "Number":
        kind = ParamKind.NUMBER  # which the loop reads
    return (p.name, kind) if p.default is None else (p.name, kind, value_of(p.default))


@functools.lru_cache(maxsize=1)  # a kind of op asks first, then `define`
def parse(signature: str, kind: int) -> tuple[str, list[tuple[Any, ...]], int]:
    """The core's part of a signature: the name, (name, kind, default) of each parameter, and how
    many may stand without a name."""
    head = signature.partition(" -> ")[0]
    name, _, rest = head.partition("(")
    rows: list[tuple[Any, ...]] = []
    positional = -1
    for part in _split(rest[:-1]):
        if part == "*":
            positional = len(rows)
            continue
        rows.append(_row(part, kind == OpKind.POINTWISE))
        if part[0] == "*" and positional < 0:
            positional = len(rows)
    return name, rows, positional if positional >= 0 else len(rows)


def python_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a Python function, with the keywords that `**how: Keywords` takes."""
    found, shown = inspect.signature(getattr(function, "plain", function)), []
    for p in found.parameters.values():
        if p.kind is not p.VAR_KEYWORD:
            shown.append(p)
        elif p.annotation == "Keywords":
            shown += [keyword.in_python() for keyword in read("(*, ...)").params]
    out = getattr(function, "out", None)
    if out is not None:
        shown += [p.in_python() for p in read(out).params]
    return found.replace(parameters=shown)


@functools.cache
def of_function(function: Callable[..., Any]) -> Signature:
    """The signature of a Python function, by its annotations. An annotation that is no type of the
    language says nothing of the parameter."""
    rows = []
    found = python_signature(function)
    for p in found.parameters.values():
        annotation = p.annotation if isinstance(p.annotation, str) else "Any"
        if p.name == "self" and p.annotation is p.empty:
            annotation = "Tensor"  # of a method that is one line
        types = annotation.split(" | ")
        none = "None" in types
        types = [t for t in types if t != "None"]
        default = None if p.default is p.empty else repr(p.default).replace("'", '"')
        rows.append(
            Parameter(
                p.name,
                " | ".join(types) if all(t in TYPES for t in types) else "Any",
                default,
                p.kind is p.KEYWORD_ONLY,
                p.kind is p.VAR_POSITIONAL,
                none or (default is not None and p.default in (None, ())),
            )
        )
    result = found.return_annotation
    return Signature(tuple(rows), result if isinstance(result, str) and result != "Any" else "")


_Function = TypeVar("_Function", bound=Callable[..., Any])


def overloaded(*signatures: str) -> Callable[[_Function], _Function]:
    """Decorator of a Python function that is no op: PyTorch's signatures of it."""

    def decorate(function: _Function) -> _Function:
        function.overloads = signatures  # type: ignore[attr-defined]
        return function

    return decorate
