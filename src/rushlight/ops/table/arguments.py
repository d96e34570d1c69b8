"""What a function takes for its arguments, and what a program is told when a call fails because of
them: torch's words.

`takes` is asked once of each function, at its first call: the types of its parameters, which the
core (native/core/arguments.cpp) then looks at in every call before anything runs. They come from
torch's signatures of that name: where it has several, from the list in `overloads.py`; else from
the function's own, by the marks of a statement (`dim: int`), the annotations of a Python function,
or what a name means everywhere (`_BY_NAME`).

`explain` runs after a call has raised, so a call that works pays nothing for it. It goes through
the arguments as the program gave them, by the same signatures, and words the first that does not
fit. Where all of them fit, the error that was raised stands. A call in an order of arguments that
torch had before is put into today's.
"""

from __future__ import annotations

import inspect
import numbers
import operator
import re
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from ... import _device as _device
from ... import _dtypes as dtypes
from ..._core import ParamKind, Takes
from ..._generator import Generator
from ..._size import Size
from . import statement as _op
from .overloads import BEFORE, OVERLOADS

__all__ = ["explain", "takes"]

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
    "S": "torch.Storage",
    "g": "torch.Generator",
    "l": "torch.layout",
    "v": "torch.device",
    "m": "torch.memory_format",
}
_BITS = {
    "T": Takes.TENSOR,
    "N": Takes.NUMBER,
    "O": Takes.TENSOR | Takes.NUMBER,
    "f": Takes.FLOAT,
    "i": Takes.INT,
    "I": Takes.INTS,
    "J": Takes.INT | Takes.INTS,
    "b": Takes.BOOL,
    "s": Takes.TEXT,
    "d": Takes.TYPE,
    "L": Takes.TENSORS,
    "g": Takes.GENERATOR,
    "l": Takes.LAYOUT,
    "v": Takes.DEVICE,
    "m": Takes.MEMORY_FORMAT,
}

# What goes without saying where a parameter's name tells its type.
_BY_NAME = {
    **dict.fromkeys(
        "dim dim0 dim1 dim2 start_dim end_dim k diagonal offset chunks num_classes bins steps "
        "num_samples minlength n groups".split(),
        "i",
    ),
    **dict.fromkeys(
        "kernel_size stride padding dilation output_padding output_size shifts".split(), "J"
    ),
    **dict.fromkeys("dims normalized_shape pad".split(), "I"),
    **dict.fromkeys("fill_value maxnorm alpha beta value lambd".split(), "N"),
    **dict.fromkeys(
        "keepdim descending largest sorted unbiased upper left adjoint unitriangular full_matrices "
        "pivot hermitian include_self accumulate sparse_grad requires_grad".split(),
        "b",
    ),
    **dict.fromkeys("equation reduction mode driver".split(), "s"),
    **dict.fromkeys(
        "input self other target x1 x2 vec1 vec2 mat mat1 mat2 batch1 batch2 tensor1 tensor2 A "
        "B LU pivots LU_data LU_pivots a b x y src indices weight bias running_mean running_var "
        "input1 input2 anchor positive negative per_sample_weights offsets pos_weight attn_mask "
        "prepend append grid theta out".split(),
        "T",
    ),
    "tensors": "L",
    "dtype": "d",
    "generator": "g",
    "layout": "l",
    "device": "v",
    "memory_format": "m",
}
# Where `dim` may be several dimensions; of roll `dims` may be one.
_SEVERAL_DIMS = frozenset(
    "sum nansum mean nanmean std var std_mean var_mean amax amin aminmax logsumexp norm all any "
    "count_nonzero flip roll squeeze vector_norm matrix_norm".split()
)
_MARKS = {
    "int": "i",
    "ints": "J",
    "dims": "J",
    "bool": "b",
    "flag": "b",
    "dtype": "d",
    "number": "N",
    "float": "f",
    "sizes": "I",
    "str": "s",
}
_KINDS = {
    ParamKind.TENSOR: "T",
    ParamKind.OPERAND: "O",
    ParamKind.OPTIONAL: "T",
    ParamKind.TENSORS: "L",
    ParamKind.VARARGS: "I",
    ParamKind.NUMBER: "N",
}
_FACTORY = "d? dtype=, l? layout=, v? device=, b? pin_memory=, b requires_grad="
# What a signature shows for an argument that may be left out.
_DEFAULTS = dict.fromkeys("alpha beta value step".split(), "1") | {"dim": "None"}
_DEFAULTS_BY_TYPE = {"b": "False", "i": "0"}
# torch takes a number for `other` of these, though their signature says Tensor.
_NUMBERS_TOO = frozenset(
    "add sub subtract mul multiply div divide true_divide floor_divide".split()
)
# Several ints, never one alone (a method takes them one by one).
_ALL_INTS = frozenset("size sizes shape dims repeats".split())
# Functions whose Python signature is not the one that programs know.
_SINGLE = {
    "reshape": "T input, I shape",
    "tile": "T input, I dims",
    "broadcast_to": "T input, I size",
}
# Functions that name themselves otherwise in torch's messages.
_SAID = {"nn.cross_entropy": "cross_entropy_loss", "nn.nll_loss": "nll_loss_nd"}
_ALIASES = {
    "self": "input",
    "axis": "dim",
    "axes": "dims",
    "keepdims": "keepdim",
    "x": "input",
    "from_": "from",
}


class _Param(NamedTuple):
    name: str
    type: str  # a key of _WORDS; "" where anything goes
    optional: bool
    keyword_only: bool
    variable: bool
    none: bool  # whether None may stand for it


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
        none = kind.endswith("?")
        params.append(_Param(name.removesuffix("="), kind[0], optional, keyword_only, False, none))
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
        return "J" if op in _SEVERAL_DIMS else "i"
    if name == "dims" and op in ("roll", "tensordot"):
        return "J" if op == "roll" else ""
    return _BY_NAME.get(name, "")


def _entry(op: Any) -> Any:
    return getattr(op, "entry", None) or op.base.entry


def _of_op(op: Any) -> _Signature:
    entry = _entry(op)
    name, params, positional = _op.parse(entry.signature, op.kind)
    marks = _op.marks(entry.signature)
    rows = []
    for i, row in enumerate(params):
        variable = row[1] == ParamKind.VARARGS
        optional = len(row) > 2 and not variable
        none = optional and row[2] in (None, ())
        if row[1] != ParamKind.PLAIN:
            kind = _KINDS[row[1]]
        elif marks[row[0]]:
            kind = _MARKS.get(marks[row[0]], "")
        else:
            kind = _plain_type(name, row[0])
        rows.append(_Param(row[0], kind, optional, i >= positional, variable, none))
    return _Signature(tuple(rows))


# Flag: anything that is true or false.
_ANNOTATED = {
    "Tensor": "T",
    "Number": "N",
    "int": "i",
    "Ints": "J",
    "Sizes": "I",
    "Sequence[Any]": "L",
    "bool": "b",
    "Flag": "",
    "str": "s",
    "float": "f",
}


def _of_function(function: Any) -> _Signature:
    rows = []
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_KEYWORD:
            continue
        annotation = str(p.annotation)
        kind = _ANNOTATED.get(annotation.removesuffix(" | None"))
        if kind is None:
            unsaid = annotation in ("Any", str(p.empty))
            kind = _plain_type(function.__name__, p.name) if unsaid else ""
        variable = p.kind is p.VAR_POSITIONAL
        if variable:
            kind = "I" if p.name in _ALL_INTS else ""
        optional = p.default is not p.empty
        none = annotation.endswith(" | None") or (optional and p.default in (None, ()))
        rows.append(_Param(p.name, kind, optional, p.kind is p.KEYWORD_ONLY, variable, none))
    return _Signature(tuple(rows))


def _own_signature(function: Any) -> _Signature:
    return _of_op(function) if isinstance(function, _core.Op) else _of_function(function)


def _key(function: Any) -> tuple[str, str]:
    """Under which name torch has a function: "norm", "linalg.norm"; and the name alone."""
    name = function.__name__
    entry = getattr(function, "entry", None)
    if entry is None or entry.namespace == "torch":
        return name, name
    return f"{entry.namespace}.{name}", name


def _listed(function: Any) -> list[_Signature] | None:
    """torch's signatures of a function, where it has several."""
    full = _key(function)[0].removeprefix("nn.")
    return _overloads().get(full) or _overloads().get(full.removesuffix("_"))


def _single(function: Any) -> _Signature:
    name = _key(function)[1]
    return _read(_SINGLE[name]) if name in _SINGLE else _own_signature(function)


def _said_there(signatures: list[_Signature], i: int, own: _Signature) -> list[_Param]:
    """What torch's signatures have in the place of a parameter: by its name, and by position."""
    names = [_ALIASES.get(p.name, p.name) for p in own.params]
    found = [p for s in signatures for p in s.params if _ALIASES.get(p.name, p.name) == names[i]]
    if not own.params[i].keyword_only:
        found += [s.params[i] for s in signatures if i < s.positional]
    return found or [own.params[i]]


def takes(function: Any) -> tuple[tuple[tuple[str, int, int], ...], int, int]:
    """What the core looks at in every call: the parameters as (name, index, bits of what they
    take), how many may stand without a name, and which are sizes that may stand one by one (or -1).
    Of an op those that need a look, which tensors do not."""
    is_op = isinstance(function, _core.Op)
    if is_op and _entry(function).signature.startswith("_"):
        return (), 0, -1  # called by the library itself
    own = _own_signature(inspect.unwrap(function) if not is_op else function)
    signatures = _listed(function) or [_single(function)]
    name = _key(function)[1].rstrip("_")
    rows: list[tuple[str, int, int]] = []
    positional, rest = 0, -1
    for i, p in enumerate(own.params):
        if p.variable and not is_op:
            if p.type == "I":
                rest = len(rows)
                rows.append((p.name, i, _BITS["I"]))
            continue
        positional += not p.keyword_only
        there = _said_there(signatures, i, own)
        bits = 0
        if all(q.type in _BITS for q in there):
            for q in there:
                bits |= _BITS[q.type]
            if any(q.none for q in there):
                bits |= Takes.NONE
            if name in _NUMBERS_TOO and p.name in ("input", "other"):
                bits |= _BITS["N"]
        if is_op and (not bits or bits & _BITS["T"] or p.type == "L"):
            continue
        if p.variable and bits != _BITS["I"]:
            continue  # x.view(dtype)
        rows.append((p.name, i, bits))
    return tuple(rows), positional, rest


_TYPE_NAMES = {
    dtypes.dtype: "torch.dtype",
    _device.device: "torch.device",
    _device.layout: "torch.layout",
    _device.memory_format: "torch.memory_format",
    Generator: "torch._C.Generator",
    Size: "torch.Size",
    _core.UntypedStorage: "torch.storage.UntypedStorage",
}


def _type_name(value: Any) -> str:
    cls = type(value)
    if cls in _TYPE_NAMES:
        return _TYPE_NAMES[cls]
    built_in = not cls.__flags__ & 1 << 9  # such types say where they come from: numpy.ndarray
    return (
        f"{cls.__module__}.{cls.__name__}"
        if built_in and cls.__module__ != "builtins"
        else cls.__name__
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (numbers.Number, np.generic))


def _is_int(value: Any) -> bool:
    if isinstance(value, (bool, np.ndarray)):
        return False
    try:
        operator.index(value)
    except (TypeError, ValueError, RuntimeError):
        return False
    return True


def _is_element(value: Any) -> bool:
    return isinstance(value, _core.Tensor) and value.dim() == 0 and not value.requires_grad


def _fits(value: Any, p: _Param, number_too: bool) -> bool:
    kind = p.type
    if value is None:
        return p.none or kind == ""
    if kind in ("T", "O"):
        return isinstance(value, _core.Tensor) or (
            (kind == "O" or number_too) and _is_number(value)
        )
    if kind == "L":
        return isinstance(value, (tuple, list))
    if kind in ("N", "f"):
        if _is_element(value):
            return True
        imaginary = isinstance(value, (complex, np.complexfloating))
        return _is_number(value) and not (kind == "f" and imaginary)
    if kind == "i":
        return _is_int(value) and (not isinstance(value, _core.Tensor) or _is_element(value))
    if kind in ("I", "J"):
        if isinstance(value, (tuple, list)):
            return not value or _is_int(value[0])
        return kind == "J" and (
            _is_int(value) or (isinstance(value, _core.Tensor) and value.dtype is dtypes.bool)
        )
    if kind == "b":
        return isinstance(value, bool)
    if kind == "s":
        return isinstance(value, str)
    if kind == "d":
        return isinstance(value, dtypes.dtype) or value in (int, float, bool, complex)
    if kind == "v":
        return isinstance(value, (_device.device, str)) or type(value) is int
    if kind == "l":
        return isinstance(value, _device.layout)
    if kind == "g":
        return isinstance(value, Generator)
    if kind == "m":
        return isinstance(value, _device.memory_format)
    if kind == "S":
        return hasattr(value, "_untyped_storage") or isinstance(value, _core.UntypedStorage)
    return True


def _misfit(
    called: str,
    name: str,
    signature: _Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    method: bool,
) -> str | None:
    """The first thing wrong with a call by one signature; None where nothing is. The function says
    `called` of the number and the keywords of arguments, `name` of their types."""
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
        given = f"{len(args)} {'was' if len(args) == 1 else 'were'} given"
        return f"{called}() takes {count} positional argument{plural} but {given}"
    named = {_ALIASES.get(k, k): v for k, v in kwargs.items()}
    names = {p.name for p in params}
    missing: list[str] = []
    for i, p in enumerate(params):
        where = f" (position {i + 1})"
        if p.variable:
            if p.type and not args[i:] and p.name not in named and not missing:
                missing.append(p.name)
            rest = args[i:]
            in_list = len(rest) == 1 and isinstance(rest[0], (tuple, list))
            if in_list:
                rest = tuple(rest[0])
            elif rest and p.type == "I" and not method and i:
                kind = _type_name(rest[0])
                return f"{name}(): argument '{p.name}'{where} must be tuple of ints, not {kind}"
            bad = [
                k
                for k, v in enumerate(rest)
                if p.type == "I" and not _is_int(v) and not (k and isinstance(v, bool))
            ]
            if bad:
                kind = _type_name(rest[bad[0]])
                if not bad[0] and len(args) == i + 1:
                    return f"{name}(): argument '{p.name}'{where} must be tuple of ints, not {kind}"
                if not bad[0] and not in_list:
                    return f"{name}() takes 1 positional argument but {len(rest)} were given"
                return (
                    f"{name}(): argument '{p.name}' failed to unpack the object at pos "
                    f'{bad[0] + 1} with error "type must be tuple of ints,but got {kind}"'
                )
            args = args[:i]
            continue
        if i < len(args) and not p.keyword_only:
            value = args[i]
        elif p.name in named:
            value, where = named[p.name], ""
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
            if p.type in "IJ" and isinstance(value, (tuple, list)):
                found = f"but found element of type {_type_name(value[0])} at pos 0"
            else:
                found = f"not {kind}"
            return f"{name}(): argument '{p.name}'{where} must be {_WORDS[p.type]}, {found}"
    if missing:
        listed = ", ".join(f'"{n}"' for n in missing)
        return f"{called}() missing {len(missing)} required positional arguments: {listed}"
    for k in kwargs:
        if k not in names and _ALIASES.get(k, k) not in names and k != "out":
            return f"{called}() got an unexpected keyword argument '{k}'"
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
) -> str | tuple[tuple[Any, ...], dict[str, Any]] | None:
    """torch's sentence about the arguments of a call that raised `error`; the arguments in today's
    order, where they are in one that torch had before; or None: the error stands."""
    name = function.__name__
    if name.startswith("_"):
        return None
    given = args
    if method and args:
        if not isinstance(args[0], _core.Tensor):
            return None  # Tensor.add(3, 4): what it says as a function will do
        args = args[1:]
    if "failed to unpack" in error or "modified inplace" in error:
        return None
    if name == "view" and not args[not method :] and set(kwargs) == {"dtype"}:
        return (given[0], kwargs["dtype"]), {}
    if name.rstrip("_") in BEFORE:
        today = _today(function, name, method, args, kwargs)
        if today is not None:
            return (*given[: len(given) - len(args)], *today[0]), today[1]
    if name in _SIZES_LAST:
        first = 0 if method else 1
        sizes = args[first:]
        if len(sizes) > 1 and all(isinstance(n, int) for n in sizes):
            args = (*args[:first], sizes)  # x.view(2, 3) is x.view((2, 3))
    text = _explained(function, method, args, kwargs)
    if text is None:
        return _renamed(name, method, error)
    return text


_before_warned = False


def _today(
    function: Any, name: str, method: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call in an order of before, in today's."""
    global _before_warned
    signature = (_listed(function) or [_single(function)])[0]
    params = {p.name: p for p in signature.params}
    for order in BEFORE[name.rstrip("_")].split(" | "):
        names = [n for n in order.split() if not (method and n == "input")]
        if len(names) != len(args) or not all(
            _fits(v, params[n], False) for n, v in zip(names, args, strict=True)
        ):
            continue
        if not _before_warned:
            _before_warned = True  # torch says it once, whichever function it is of
            then = ", ".join(f"{_WORDS[params[n].type]} {n}" for n in names)
            now = signature.without_first() if method else signature
            now = _Signature(tuple(p for p in now.params if p.name != "out" or not method))
            warnings.warn(
                f"This overload of {name} is deprecated:\n\t{name}({then})\n"
                f"Consider using one of the following signatures instead:\n\t{name}{now}",
                UserWarning,
                stacklevel=3,
            )
        given = dict(zip(names, args, strict=True))
        moved = {n: v for n, v in given.items() if params[n].keyword_only}
        rest = [p.name for p in signature.params if p.name in given and p.name not in moved]
        return tuple(given[n] for n in rest), {**moved, **kwargs}
    return None


def _explained(
    function: Any, method: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str | None:
    full, name = _key(function)
    said = _SAID.get(full) or (f"linalg_{name}" if full.startswith("linalg.") else name)
    called = name if full.startswith("nn.") else said  # a Python function there
    signatures = _listed(function)
    if signatures is None:
        signature = _single(function)
        if method:
            signature = signature.without_first()
        return _misfit(called, said, signature, args, kwargs, method)
    if method:
        wanted = [s for s in signatures if s.params and s.params[0].type == "T"]
        signatures = [
            _Signature(tuple(p for p in s.params[1:] if p.name != "out"))
            for s in wanted
            if s.params[0].name in ("input", "self")
        ] or [s.without_first() for s in wanted]
    problems = [_misfit(called, said, s, args, kwargs, method) for s in signatures]
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
