"""The argument types of a function, and torch's words for a call that fails because of its
arguments.

`takes` is asked once of each function, at its first call: the types of its parameters, which the
core (native/core/arguments.cpp) then looks at in every call before anything runs. They come from
the function's signature and its `overloads=` (signature.py).

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
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

from ... import _core
from ..._base import device as _device
from ..._base import dtypes
from ..._base.errors import is_pytorchs, warn
from ..._base.outside import np_types
from ..._base.size import Size
from ..._core import Op, Takes
from ..._devices.generator import Generator
from . import arrays
from .signature import Parameter, Signature, of_function, read
from .statement import OPS

__all__ = ["explain", "takes", "typed", "wrong"]

# Names of parameters that are understood as others.
_ALIASES = {
    "self": "input",
    "axis": "dim",
    "axes": "dims",
    "keepdims": "keepdim",
    "x": "input",
    "from_": "from",
    "indices": "sections",  # of tensor_split and its kin
    "tensor_indices_or_sections": "sections",
}
# The documentation of torch.linalg calls matrices A and B; torch's functions take other names.
_MATRICES = {"input": "A", "other": "B", "b": "B", "input2": "L"}


def _entry(function: Any) -> Any:
    """The row of the table that a function belongs to; None of one that is no op."""
    entry = getattr(function, "entry", None)
    if entry is not None:
        return entry
    if isinstance(function, _core.Op):
        return function.base.entry
    name = function.__name__  # a method, or an in-place variant, that is a function of its own
    return OPS.get(name) or OPS.get(name.removesuffix("_"))


@cache
def _own(function: object) -> Signature:
    """The signature of a function itself."""
    if isinstance(function, _core.Op):
        return read(_entry(function).signature)
    entry = _entry(function)
    told = str(entry.signature) if entry is not None and entry.kind == "composite" else ""
    return read(told) if "(" in told else of_function(function)


@cache
def _listed(function: object) -> tuple[Signature, ...]:
    """torch's signatures of a function, where it has several."""
    own, entry = _own(function), _entry(function)
    texts = getattr(function, "overloads", ()) or getattr(entry, "overloads", ())
    if not texts and entry is not None and entry.name[-1] == "_":
        texts = getattr(OPS.get(entry.name[:-1]), "overloads", ())
    if not texts and getattr(entry, "earlier", None):
        return (Signature((*own.params, *read("(*, out)").params)),)  # it hides its earlier orders
    return tuple(read(text, own) for text in texts)


def _numbers_too(function: object) -> frozenset[str]:
    """The parameters for which a number may stand, though none of torch's signatures says so."""
    own = _own(function)
    told = {
        _ALIASES.get(p.name, p.name)
        for s in _listed(function)
        for p in s.params
        if p.type == "Number" and s.required <= own.required
    }
    return frozenset(p.name for p in own.params if p.type == "Tensor | Number") - told


def _said_there(signatures: tuple[Signature, ...], i: int, own: Signature) -> list[Parameter]:
    """The parameters of torch's signatures for a parameter of ours: by name, and by position."""
    names = [_ALIASES.get(p.name, p.name) for p in own.params]
    found = [p for s in signatures for p in s.params if _ALIASES.get(p.name, p.name) == names[i]]
    if not own.params[i].keyword_only:
        found += [s.params[i] for s in signatures if i < s.positional]
    return found or [own.params[i]]


def takes(function: Any) -> tuple[tuple[tuple[str, int, int], ...], int, int]:
    """The checks of the core in every call: the parameters as (name, index, bits of their types),
    how many may stand without a name, and which takes sizes that may stand one by one (or -1). Of
    an op only parameters that need a check: tensors need none."""
    is_op = isinstance(function, _core.Op)
    if is_op and _entry(function).signature.startswith("_"):
        return (), 0, -1  # called by the library itself
    plain = function if is_op else inspect.unwrap(function)
    binds = _own(plain) if is_op else of_function(plain)
    signatures = _listed(function) or (_own(plain),)
    rows: list[tuple[str, int, int]] = []
    positional, rest = 0, -1
    for i, p in enumerate(binds.params):
        if p.variable and not is_op:
            if p.sizes:
                rest = len(rows)
                rows.append((p.name, i, Takes.INTS))
            continue
        positional += not p.keyword_only
        there = _said_there(signatures, i, binds)
        bits = 0
        if all(q.bits for q in there):
            for q in there:
                bits |= Takes.INTS if q.variable else q.bits
            if p.name in ("input", "other"):
                bits |= p.bits & Takes.NUMBER
        if is_op and (not bits or bits & (Takes.TENSOR | Takes.TENSORS)):
            continue
        if p.variable and bits != Takes.INTS:
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


def _type_name(value: object) -> str:
    cls = type(value)
    if cls in _TYPE_NAMES:
        return _TYPE_NAMES[cls]
    if is_pytorchs(value):
        return f"{cls.__name__} of PyTorch"
    built_in = not cls.__flags__ & 1 << 9  # such types say where they come from: numpy.ndarray
    if not built_in or cls.__module__ == "builtins":
        return cls.__name__
    of_torch = " of PyTorch" if cls.__module__ == "torch" else ""  # its dtypes and devices
    return f"{cls.__module__}.{cls.__name__}{of_torch}"


def _is_number(value: object) -> bool:
    return isinstance(value, (numbers.Number, np_types.generic))


def _is_int(value: Any) -> bool:
    if isinstance(value, (bool, np_types.ndarray)):
        return False
    try:
        operator.index(value)
    except (TypeError, ValueError, RuntimeError):
        return False
    return True


def _is_element(value: object) -> bool:
    return isinstance(value, _core.Tensor) and value.dim() == 0 and not value.requires_grad


def _is_type(value: object, kind: str) -> bool:
    """Whether a value is of a type of the language (signature.py)."""
    if kind == "Any":
        return True
    if kind == "Tensor":
        return isinstance(value, _core.Tensor)
    if kind == "Sequence[Tensor]":
        return isinstance(value, (tuple, list))
    if kind in ("Number", "float"):
        if _is_element(value):
            return True
        imaginary = isinstance(value, (complex, np_types.complexfloating))
        return _is_number(value) and not (kind == "float" and imaginary)
    if kind == "int":
        return _is_int(value) and (not isinstance(value, _core.Tensor) or _is_element(value))
    if kind in ("Sizes", "Ints"):
        if isinstance(value, (tuple, list)):
            return not value or _is_int(value[0])
        return kind == "Ints" and (
            _is_int(value) or (isinstance(value, _core.Tensor) and value.dtype is dtypes.bool)
        )
    if kind == "dtype":
        return isinstance(value, dtypes.dtype) or value in (int, float, bool, complex)
    if kind == "device":
        return isinstance(value, (_device.device, str)) or type(value) is int
    if kind == "Storage":
        return hasattr(value, "_untyped_storage") or isinstance(value, _core.UntypedStorage)
    return isinstance(value, _CLASSES[kind])


_CLASSES: dict[str, type] = {
    "bool": bool,
    "Flag": object,
    "str": str,
    "layout": _device.layout,
    "Generator": Generator,
    "memory_format": _device.memory_format,
}


def _fits(value: object, p: Parameter) -> bool:
    if value is None:
        return p.none or p.type == "Any"
    if p.types[0] == "Tensor" and len(p.types) > 1 and isinstance(value, (bool, np_types.generic)):
        return True  # a number of any kind
    return any(_is_type(value, kind) for kind in p.types)


def _misfit(
    called: str,
    name: str,
    signature: Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    method: bool,
    numbers_too: frozenset[str],
) -> str | None:
    """The first thing wrong with a call by one signature; None where nothing is. The function says
    `called` of the number and the keywords of arguments, `name` of their types."""
    params = signature.params
    most = signature.positional
    variable = next((i for i, p in enumerate(params) if p.variable), None)
    sizes = most == 1 and params[0].type == "Sizes"
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
            if p.sizes and not args[i:] and p.name not in named and not missing:
                missing.append(p.name)
            rest = args[i:]
            in_list = len(rest) == 1 and isinstance(rest[0], (tuple, list))
            if in_list:
                rest = tuple(rest[0])
            elif rest and p.sizes and not method and i:
                kind = _type_name(rest[0])
                return f"{name}(): argument '{p.name}'{where} must be tuple of ints, not {kind}"
            bad = [
                k
                for k, v in enumerate(rest)
                if p.sizes and not _is_int(v) and not (k and isinstance(v, bool))
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
        number_too = p.name in numbers_too and _is_number(value)
        if not number_too and not _fits(value, p):
            kind = _type_name(value)
            if p.type in ("Sizes", "Ints") and isinstance(value, (tuple, list)):
                found = f"but found element of type {_type_name(value[0])} at pos 0"
            else:
                found = f"not {kind}"
            return f"{name}(): argument '{p.name}'{where} must be {p.word}, {found}"
    if missing:
        listed = ", ".join(f'"{n}"' for n in missing)
        return f"{called}() missing {len(missing)} required positional arguments: {listed}"
    for k in kwargs:
        if k not in names and _ALIASES.get(k, k) not in names and k != "out":
            return f"{called}() got an unexpected keyword argument '{k}'"
    return None


def _got(args: tuple[Any, ...], kwargs: dict[str, int]) -> str:
    parts = [_type_name(a) for a in args]
    parts += [f"{k}={_type_name(v)}" for k, v in kwargs.items()]
    return "(" + ", ".join(parts) + (", )" if kwargs and not args else ")")


def _combination(
    name: str, signatures: tuple[Signature, ...], args: tuple[Any, ...], kwargs: dict[str, int]
) -> str:
    text = (
        f"{name}() received an invalid combination of arguments - got "
        f"{_got(args, kwargs)}, but expected "
    )
    if len(signatures) == 1:
        return text + str(signatures[0])
    return text + "one of:" + "".join(f"\n * {s}" for s in signatures)


def explain(
    function: Any, method: bool, args: tuple[Any, ...], kwargs: dict[str, Any], error: str
) -> str | tuple[tuple[Any, ...], dict[str, Any]] | None:
    """torch's sentence about the arguments of a call that raised `error`; the arguments in today's
    order, where they are in one that torch had before; or None: the error stands."""
    name = function.__name__
    if name == "view" and len(args) == 1 and set(kwargs) == {"dtype"}:
        return (args[0], kwargs["dtype"]), {}
    today = _by_own_names(function, method, args, kwargs)
    if today is not None:
        return today
    if name.startswith("_"):
        return None
    given = args
    if method and args:
        if not isinstance(args[0], _core.Tensor):
            return None  # Tensor.add(3, 4): what it says as a function will do
        args = args[1:]
    if "failed to unpack" in error or "modified inplace" in error:
        return None
    if getattr(_entry(function), "earlier", None):
        today = _today(function, name, method, args, kwargs)
        if today is not None:
            return (*given[: len(given) - len(args)], *today[0]), today[1]
    if isinstance(function, _core.Op) and not method:
        first = next((i for i, p in enumerate(_own(function).params) if p.sizes), len(args))
        sizes = args[first:]
        if len(sizes) > 1 and all(isinstance(n, int) for n in sizes):
            args = (*args[:first], sizes)  # the library itself says view(x, 2, 3)
    text = _explained(function, method, args, kwargs)
    if text is None and method and "out" in kwargs and kwargs["out"] is None:
        return _of_numpy(name, given, kwargs, error)
    if text is None:
        return _renamed(name, method, error)
    return text


def _by_own_names(
    function: object, method: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call, by the function's own names, where one of torch's signatures has
    other names in their places; None where the call is not of that kind."""
    if isinstance(function, _core.Op) and function.__name__[-1] == "_" and not args:
        first = next((k for k in kwargs if _ALIASES.get(k, k) == "input"), None)
        if first is not None:  # what is changed stands first
            return (kwargs[first],), {k: v for k, v in kwargs.items() if k != first}
    own = _own(function).params
    names = [None if p.variable else p.name for p in own]  # no keyword names what takes the rest
    unknown = {
        k for k in kwargs if k != "out" and k not in names and _ALIASES.get(k, k) not in names
    }
    for listed in _listed(function):
        there = {
            p.name: n
            for p, n in zip(listed.params, names, strict=False)
            if n and not p.keyword_only
        }
        here = {k: there.get(k, k) for k in kwargs}
        if unknown <= {*there} and any(n not in (k, _ALIASES.get(k)) for k, n in here.items()):
            signature = listed.without_first() if method else listed
            given = args[1:] if method else args
            if _misfit("", "", signature, given, kwargs, method, frozenset()) is None:
                return args, {here[k]: v for k, v in kwargs.items()}
    matrix = {k: _MATRICES.get(_ALIASES.get(k, k), "") for k in unknown}
    if matrix and all(m in names and m not in kwargs for m in matrix.values()):
        return args, {matrix.get(k, k): v for k, v in kwargs.items()}
    return None


def _of_numpy(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: str
) -> str | tuple[tuple[Any, ...], dict[str, Any]]:
    """`np.NAME(tensor)` calls the method with `out=None`, which no method of a tensor takes. A
    TypeError sends NumPy to the tensor's array; `np.mean` asks only here."""
    if name == "mean" and kwargs.get("dtype") is None and "infer output dtype" in error:
        rest = {k: v for k, v in kwargs.items() if k != "out"}
        return args, rest | {"dtype": dtypes.get_default_dtype()}
    return error


def wrong(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """torch's sentence about the arguments of a call of an op or a method of Tensor that the core
    did not look at, since another class answers it; None where they fit."""
    kinds = (function, *map(type, args))
    if kinds in _FITTING and not kwargs:
        return None
    name = function.__name__
    if name.startswith("_") or _entry(function) is None:
        return None
    method = getattr(_core.Tensor, name, None) is function
    plain = inspect.unwrap(function)  # of a method, the op
    text = _explained(plain, method, args[1:] if method else args, kwargs)
    if text is None and not kwargs and _is_by_types(args, _listed(plain) or (_own(plain),)):
        _FITTING.add(kinds)
    return text


# Functions, with the types of the arguments that they took.
_FITTING: set[tuple[Any, ...]] = set()


def _is_by_types(args: tuple[Any, ...], signatures: tuple[Signature, ...]) -> bool:
    """Whether by one of the signatures the types of a call's arguments say all of them: tensors, of
    any kind, and numbers."""
    return any(
        len(args) <= len(s.params)
        and all(
            ((isinstance(a, _core.Tensor) and p.types[0] == "Tensor") or type(a) in (int, float))
            and not p.variable
            for a, p in zip(args, s.params, strict=False)
        )
        for s in signatures
    )


_F = TypeVar("_F", bound=Callable[..., Any])


def typed(*signatures: str, said: str = "", method: bool = False) -> Callable[[_F], _F]:
    """Decorator of a function that is no op: its arguments are looked at first, by the signatures
    of PyTorch's function, or of the method. said: its name in errors, where that is another."""

    def decorate(function: _F) -> _F:
        name = said or function.__name__
        listed = tuple(read(text).without_first() if method else read(text) for text in signatures)

        @wraps(function)
        def call(*args: object, **kwargs: object) -> Any:
            kinds = (function, *map(type, args))
            if kinds in _FITTING and not kwargs:
                return function(*args)
            given = args[1:] if method else args
            text = (
                _misfit(name, name, listed[0], given, kwargs, method, frozenset())
                if len(listed) == 1
                else _by_all(name, name, listed, given, kwargs, method)
            )
            if text is not None:
                raise TypeError(text)
            if not kwargs and _is_by_types(given, listed):
                _FITTING.add(kinds)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


_before_warned = False


def _today(
    function: Op, name: str, method: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call in an order of before, in today's."""
    global _before_warned
    signature = _listed(function)[0]
    params = {p.name: p for p in signature.params}
    for order in _entry(function).earlier.split(" | "):
        names = [n for n in order.split() if not (method and n == "input")]
        if len(names) != len(args) or not all(
            _fits(v, params[n]) for n, v in zip(names, args, strict=True)
        ):
            continue
        if arrays.warn_always or not _before_warned:
            _before_warned = True  # torch says it once, whichever function it is of
            then = ", ".join(f"{params[n].word} {n}" for n in names)
            then += "" if method or "out" not in params else ", *, Tensor out = None"
            now = signature.without_first() if method else signature
            now = Signature(tuple(p for p in now.params if p.name != "out" or not method))
            warn(
                f"This overload of {name} is deprecated:\n\t{name}({then})\n"
                f"Consider using one of the following signatures instead:\n\t{name}{now}",
            )
        given = dict(zip(names, args, strict=True))
        moved = {n: v for n, v in given.items() if params[n].keyword_only}
        rest = [p.name for p in signature.params if p.name in given and p.name not in moved]
        return tuple(given[n] for n in rest), {**moved, **kwargs}
    return None


def _explained(
    function: Any, method: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str | None:
    name, entry = function.__name__, _entry(function)
    said = name
    where = getattr(entry, "namespace", "torch")
    if entry is not None and entry.said:
        said = entry.said
    elif where == "linalg":
        said = f"linalg_{name}"
    called = name if where == "nn" else said  # a Python function there
    numbers_too = _numbers_too(function)
    signatures = _listed(function)
    if not signatures:
        signature = _own(function)
        if method:
            signature = signature.without_first()
        return _misfit(called, said, signature, args, kwargs, method, numbers_too)
    if method:
        wanted = [s for s in signatures if s.params and "Tensor" in s.params[0].types]
        signatures = tuple(
            Signature(tuple(p for p in s.params[1:] if p.name != "out"))
            for s in wanted
            if s.params[0].name in ("input", "self")
        ) or tuple(s.without_first() for s in wanted)
    return _by_all(called, said, signatures, args, kwargs, method, numbers_too)


def _by_all(
    called: str,
    said: str,
    signatures: tuple[Signature, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    method: bool,
    numbers_too: frozenset[str] = frozenset(),
) -> str | None:
    """The error of a call that may be by any of several signatures."""
    problems = [_misfit(called, said, s, args, kwargs, method, numbers_too) for s in signatures]
    if None in problems:
        return None
    # Where the number of arguments leaves one signature only, its own complaint says more.
    n = len(args) + len(kwargs)
    plausible = [i for i, s in enumerate(signatures) if s.required <= n <= len(s.params)]
    if len(plausible) == 1:
        return problems[plausible[0]]
    return _combination(said, signatures, args, kwargs)


_SAYS_WHO = re.compile(
    r"_?(\w+?)(?:_numbers?|_tensor|_reference)?\(\): argument '(\w+)'( \(position (\d+)\))?"
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
