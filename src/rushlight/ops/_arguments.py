"""What a program is told when a call fails because of its arguments: torch's words.

`explain` runs after a call has raised, so a call that works pays nothing for it. It goes through
the arguments as the program gave them, by the function's signature (or, where torch has several for
one name, by the list in `_overloads.py`), and words the first that does not fit. Where all of them
fit, the error that was raised stands.
"""

from __future__ import annotations

import inspect
import numbers
import operator
import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .. import _core, dtypes
from . import _op
from ._overloads import OVERLOADS

__all__ = ["explain"]

_WORDS = {
    "T": "Tensor",
    "O": "Tensor",
    "L": "tuple of Tensors",
    "N": "Number",
    "f": "float",
    "i": "int",
    "I": "tuple of ints",
    "J": "tuple of ints",  # or one alone
    "b": "bool",
    "s": "str",
    "d": "torch.dtype",
    "g": "torch.Generator",
    "l": "torch.layout",
    "v": "torch.device",
    "m": "torch.memory_format",
}
# What goes without saying where a parameter's name tells its type.
_BY_NAME = {
    **dict.fromkeys("num_classes bins steps num_samples n offset groups".split(), "i"),
    **dict.fromkeys("kernel_size dilation shifts".split(), "J"),
    **dict.fromkeys("normalized_shape pad".split(), "I"),
    **dict.fromkeys("fill_value maxnorm".split(), "N"),
    **dict.fromkeys("equation reduction mode".split(), "s"),
}
_FACTORY = "d dtype=, l layout=, v device=, b pin_memory=, b requires_grad="
_KINDS = {
    _op._TENSOR: "T",
    _op._OPERAND: "O",
    _op._OPTIONAL: "T",
    _op._TENSORS: "L",
    _op._NUMBER: "N",
}
_BY_CHECK = {_op.INT: "i", _op.INTS: "I", _op.BOOL: "b", _op.TYPE: "d", _op.TEXT: "s"}
# What a signature shows for an argument that may be left out.
_DEFAULTS = dict.fromkeys("alpha beta value step".split(), "1") | {"dim": "None"}
_DEFAULTS_BY_TYPE = {"b": "False", "i": "0"}
# Where `dim` may be several dimensions.
_SEVERAL_DIMS = frozenset(
    "sum nansum mean nanmean std var std_mean var_mean amax amin aminmax logsumexp norm all any "
    "count_nonzero flip roll squeeze vector_norm matrix_norm".split()
)
# torch takes a number for `other` of these, though their signature says Tensor.
_NUMBERS_TOO = frozenset(
    "add sub subtract mul multiply div divide true_divide floor_divide".split()
)
# Several ints, never one alone (a method takes them one by one).
_ALL_INTS = frozenset("size sizes shape dims repeats".split())
# Functions whose Python signature is not the one that programs know.
_SINGLE = {"reshape": "T input, I shape"}
# Functions that name themselves otherwise in torch's messages.
_SAID = {"nn.cross_entropy": "cross_entropy_loss", "nn.nll_loss": "nll_loss_nd"}
_ALIASES = {"self": "input", "axis": "dim", "axes": "dims", "keepdims": "keepdim", "x": "input"}


class _Param(NamedTuple):
    name: str
    type: str  # a key of _WORDS; "" where anything goes
    optional: bool
    keyword_only: bool
    variable: bool


class _Signature(NamedTuple):
    params: tuple[_Param, ...]

    @property
    def positional(self) -> int:
        return sum(not p.keyword_only for p in self.params)

    @property
    def required(self) -> int:
        return sum(not p.optional for p in self.params)

    def __str__(self) -> str:
        parts = []
        starred = False
        for p in self.params:
            if p.keyword_only and not starred:
                parts.append("*")
                starred = True
            text = f"{_WORDS.get(p.type, 'object')} {p.name}"
            if p.optional:
                text += f" = {_DEFAULTS.get(p.name) or _DEFAULTS_BY_TYPE.get(p.type, 'None')}"
            parts.append(text)
        return "(" + ", ".join(parts) + ")"

    def without_first(self) -> _Signature:
        return _Signature(self.params[1:])


def _read(text: str) -> _Signature:
    params, keyword_only = [], False
    for part in text.replace("...", _FACTORY).split(","):
        part = part.strip()
        if part == "*":
            keyword_only = True
            continue
        kind, _, name = part.partition(" ")
        optional = name.endswith("=")
        params.append(_Param(name.removesuffix("="), kind, optional, keyword_only, False))
    return _Signature(tuple(params))


@cache
def _overloads() -> dict[str, list[_Signature]]:
    table = {}
    for line in OVERLOADS.strip().replace("\n  |", " |").split("\n"):
        name, _, rest = line.partition(": ")
        table[name] = [_read(text) for text in rest.split(" | ")]
    return table


def _plain_type(op: str, name: str) -> str:
    """What a plain parameter of that name takes, "" where its name does not tell."""
    if name in ("dim", "axis"):
        return "I" if op in _SEVERAL_DIMS else "i"
    if name == "dims" and op in ("roll", "tensordot"):
        return "J" if op == "roll" else ""
    return _BY_CHECK.get(_op.CHECKS.get(name, 0), "") or _BY_NAME.get(name, "")


def _of_op(op: Any) -> _Signature:
    entry = op.entry
    name, params, positional = _op.parse(entry.signature, _op.KINDS.index(entry.kind))
    rows = []
    for i, row in enumerate(params):
        variable = row[1] == _op._VARARGS
        kind = "I" if variable else _KINDS.get(row[1]) or _plain_type(name, row[0])
        optional = len(row) > 2 and not variable
        rows.append(_Param(row[0], kind, optional, i >= positional, variable))
    return _Signature(tuple(rows))


# Parameters of Python functions that are tensors, by their names.
_TENSORS = frozenset(
    "input self other target x1 x2 vec1 vec2 mat mat1 mat2 batch1 batch2 tensor1 tensor2 A "
    "B".split()
)

_ANNOTATED = {"int": "i", "bool": "b", "str": "s", "int | None": "i"}


def _of_function(function: Any) -> _Signature:
    rows = []
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_KEYWORD:
            continue
        kind = _ANNOTATED.get(str(p.annotation)) or _plain_type(function.__name__, p.name)
        if p.name in _TENSORS:
            kind = "T"
        elif p.name == "tensors":
            kind = "L"
        variable = p.kind is p.VAR_POSITIONAL
        if variable:
            kind = "I" if p.name in _ALL_INTS else ""
        optional = p.default is not p.empty
        rows.append(_Param(p.name, kind, optional, p.kind is p.KEYWORD_ONLY, variable))
    return _Signature(tuple(rows))


def _type_name(value: Any) -> str:
    cls = type(value)
    built_in = not cls.__flags__ & 1 << 9  # such types say where they come from: numpy.ndarray
    return (
        f"{cls.__module__}.{cls.__name__}"
        if built_in and cls.__module__ != "builtins"
        else cls.__name__
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (numbers.Number, np.generic))


def _is_int(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except (TypeError, ValueError, RuntimeError):
        return False
    return True


def _fits(value: Any, p: _Param, number_too: bool) -> bool:
    kind = p.type
    if value is None:
        return p.optional or kind == ""
    if kind in ("T", "O"):
        return isinstance(value, _core.Tensor) or (
            (kind == "O" or number_too) and _is_number(value)
        )
    if kind == "L":
        return isinstance(value, (tuple, list))
    if kind in ("N", "f"):
        return _is_number(value) or (isinstance(value, _core.Tensor) and value.dim() == 0)
    if kind == "i":
        return _is_int(value)
    if kind == "I":
        if isinstance(value, (tuple, list)):
            return all(isinstance(n, bool) or _is_int(n) for n in value)
        return p.name not in _ALL_INTS and (_is_int(value) or isinstance(value, bool))
    if kind == "J":
        several = isinstance(value, (tuple, list))
        return all(map(_is_int, value)) if several else _is_int(value)
    if kind == "b":
        return isinstance(value, (bool, np.bool_))
    if kind == "s":
        return isinstance(value, str)
    if kind == "d":
        return isinstance(value, (dtypes.dtype, type))
    return True


def _misfit(
    name: str, signature: _Signature, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool
) -> str | None:
    """The first thing wrong with a call by one signature; None where nothing is."""
    params = signature.params
    most = signature.positional
    variable = next((i for i, p in enumerate(params) if p.variable), None)
    sizes = most == 1 and params[0].type == "I"
    if sizes and args and not isinstance(args[0], (tuple, list)) and all(map(_is_int, args)):
        args = (args,)  # x.view(2, 3)
    if variable is None and len(args) > most and not sizes:
        least = sum(not p.optional and not p.keyword_only for p in params)
        plural = "" if most == 1 else "s"
        count = most if least == most else f"from {least} to {most}"
        return f"{name}() takes {count} positional argument{plural} but {len(args)} were given"
    given = {_ALIASES.get(k, k): v for k, v in kwargs.items()}
    names = {p.name for p in params}
    missing: list[str] = []
    for i, p in enumerate(params):
        where = f" (position {i + 1})"
        if p.variable:
            if p.type and not args[i:] and p.name not in given and not missing:
                missing.append(p.name)
            rest = args[i:]
            if len(rest) == 1 and isinstance(rest[0], (tuple, list)):
                rest = tuple(rest[0])
            elif rest and p.type == "I" and not method and i:
                kind = _type_name(rest[0])
                return f"{name}(): argument '{p.name}'{where} must be tuple of ints, not {kind}"
            bad = [
                k
                for k, v in enumerate(rest)
                if p.type == "I" and not _is_int(v) and not isinstance(v, bool)
            ]
            if bad:
                kind = _type_name(rest[bad[0]])
                if not bad[0] and len(args) == i + 1:
                    return f"{name}(): argument '{p.name}'{where} must be tuple of ints, not {kind}"
                if not bad[0] and not isinstance(args[i], (tuple, list)):
                    return f"{name}() takes 1 positional argument but {len(rest)} were given"
                return (
                    f"{name}(): argument '{p.name}' failed to unpack the object at pos "
                    f'{bad[0] + 1} with error "type must be tuple of ints,but got {kind}"'
                )
            args = args[:i]
            continue
        if i < len(args) and not p.keyword_only:
            value = args[i]
        elif p.name in given:
            value, where = given[p.name], ""
        elif p.name in kwargs:
            value, where = kwargs[p.name], ""
        else:
            if not p.optional:
                missing.append(p.name)
            continue
        if missing:
            break
        number_too = p.name in ("input", "other") and name.rstrip("_") in _NUMBERS_TOO
        if not _fits(value, p, number_too):
            kind = _type_name(value)
            return f"{name}(): argument '{p.name}'{where} must be {_WORDS[p.type]}, not {kind}"
    if missing:
        listed = ", ".join(f'"{n}"' for n in missing)
        return f"{name}() missing {len(missing)} required positional arguments: {listed}"
    for k in kwargs:
        if k not in names and _ALIASES.get(k, k) not in names and k != "out":
            return f"{name}() got an unexpected keyword argument '{k}'"
    return None


def _got(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    parts = [_type_name(a) for a in args]
    parts += [f"{k}={_type_name(v)}" for k, v in kwargs.items()]
    return "(" + ", ".join(parts) + (", )" if kwargs and not args else ")")


def _combination(
    name: str, signatures: list[_Signature], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str:
    text = (
        f"{name}() received an invalid combination of arguments - got "
        f"{_got(args, kwargs)}, but expected "
    )
    if len(signatures) == 1:
        return text + str(signatures[0])
    return text + "one of:" + "".join(f"\n * {s}" for s in signatures)


# Methods whose sizes or dimensions may stand as arguments of their own.
_SIZES_LAST = frozenset("view reshape permute expand repeat tile flip resize_ unflatten".split())


def explain(
    function: Any, method: bool, args: tuple[Any, ...], kwargs: dict[str, Any], error: str
) -> str | None:
    """torch's sentence about the arguments of a call that raised `error`, or None: it stands."""
    name = function.__name__
    where = "torch"
    entry = getattr(function, "entry", None)
    if entry is not None:
        where = entry.namespace
    public = name if not name.startswith("_") else None
    if public is None:
        return None
    if method and args:
        if not isinstance(args[0], _core.Tensor):
            return None  # Tensor.add(3, 4): what it says as a function will do
        args = args[1:]
    if "failed to unpack" in error or "modified inplace" in error:
        return None
    if name in _SIZES_LAST:
        first = 0 if method else 1
        sizes = args[first:]
        if len(sizes) > 1 and all(isinstance(n, int) for n in sizes):
            args = (*args[:first], sizes)  # x.view(2, 3) is x.view((2, 3))
    text = _explained(name, where, function, method, args, kwargs)
    if text is None:
        return _renamed(public, method, error)
    return text


def _explained(
    name: str,
    where: str,
    function: Any,
    method: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> str | None:
    table = _overloads()
    full = name if where == "torch" else f"{where}.{name}"
    said = _SAID.get(full) or (f"linalg_{name}" if where == "linalg" else name)
    signatures = table.get(full) or table.get(full.removesuffix("_"))
    if not signatures:
        if name in _SINGLE:
            signature = _read(_SINGLE[name])
        else:
            is_op = isinstance(function, _core.Op)
            signature = _of_op(function) if is_op else _of_function(function)
        if method:
            signature = signature.without_first()
        return _misfit(said, signature, args, kwargs, method)
    if method:
        wanted = [s for s in signatures if s.params and s.params[0].type == "T"]
        signatures = [
            _Signature(tuple(p for p in s.params[1:] if p.name != "out"))
            for s in wanted
            if s.params[0].name in ("input", "self")
        ] or [s.without_first() for s in wanted]
    problems = [_misfit(said, s, args, kwargs, method) for s in signatures]
    if None in problems:
        return None
    # Where the number of arguments leaves one signature only, its own complaint says more.
    n = len(args) + len(kwargs)
    plausible = [i for i, s in enumerate(signatures) if s.required <= n <= len(s.params)]
    if len(plausible) == 1:
        return problems[plausible[0]]
    return _combination(said, signatures, args, kwargs)


_SAYS_WHO = re.compile(
    r"_?(\w+?)(?:_numbers?|_tensor|_portable)?\(\): argument '(\w+)'( \(position (\d+)\))?"
)


def _renamed(name: str, method: bool, error: str) -> str | None:
    """The error with the public name and the position as the program counts,
    where a private variant raised it."""
    match = _SAYS_WHO.match(error)
    if match is None or not (error.startswith("_") or match[1] == name.rstrip("_")):
        return None
    position = match[4]
    place = ""
    if position is not None:
        place = f" (position {int(position) - 1 if method and int(position) > 1 else position})"
    text = f"{name}(): argument '{match[2]}'{place}{error[match.end() :]}"
    return text if text != error else None


_core.register(callbacks={"explain": explain})
