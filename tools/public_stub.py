"""Write what type checkers and editors read of the public functions: the .pyi files below src/.

    python tools/public_stub.py            (in an environment where rushlight is installed)
    python tools/public_stub.py --check    says which files are out of date, and writes nothing

The functions come from the op table, so no checker can see them in the sources. Their parameters
are those of their signatures (ops/table/signature.py). What a function gives is what its signature
says, or is found by calling it with the samples of its entry, or with small tensors; where several
signatures give different things, each is listed. A room of the table has two files in _typed/, its
functions in torch and its methods of Tensor; the other stubs take from there.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import re
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rushlight as torch
from rushlight import _core, _torch, return_types
from rushlight import _root as base
from rushlight._base import dtypes
from rushlight.ops import OPS, namespace
from rushlight.ops.table.documentation import bound_signature, own_signature, signatures
from rushlight.ops.table.signature import Signature, read

len(OPS)  # every file of the table is read

SOURCE = Path(__file__).resolve().parent.parent / "src" / "rushlight"
WIDTH = 100

# Where the names that the stubs use come from; the built-in types have other names there, because
# torch.int, torch.float and torch.bool are dtypes. {up} is the package, seen from the stub.
IMPORTS = {
    **{
        f"_{n}": f"from builtins import {n} as _{n}"
        for n in ("bool", "complex", "float", "int", "str")
    },
    "Callable": "from collections.abc import Callable",
    "Sequence": "from collections.abc import Sequence",
    **{
        n: f"from typing import {n}"
        for n in ("Any", "NamedTuple", "Protocol", "Self", "TypeAlias", "TypeVar", "overload")
    },
    "NotImplementedType": "from types import NotImplementedType",
    "PathLike": "from os import PathLike",
    "_Array": "from {up}_core import _Array",
    "return_types": "from {up} import return_types",
    "Tensor": "from {up}_core import Tensor",
    "_device": "from {up}_base.device import device as _device",
    "_layout": "from {up}_base.device import layout as _layout",
    "_memory_format": "from {up}_base.device import memory_format as _memory_format",
    "_dtype": "from {up}_base.dtypes import dtype as _dtype",
    "_Generator": "from {up}_devices.generator import Generator as _Generator",
    "_Size": "from {up}_base.size import Size as _Size",
    "_UntypedStorage": "from {up}_core import UntypedStorage as _UntypedStorage",
    "_RemovableHandle": "from {up}_base.handles import RemovableHandle as _RemovableHandle",
}
ALIASES = {
    "_Number": "_int | _float | _bool | _complex",
    "_Ints": "_int | Sequence[_int]",
    "_Device": "_device | _str | _int",
}

# The types of signatures in a stub's words.
TYPES = {
    "Tensor": "Tensor",
    "Sequence[Tensor]": "Sequence[Tensor]",
    "Number": "_Number",
    "Ints": "_Ints",
    "Sizes": "Sequence[_int]",
    "Flag": "_bool",
    "device": "_Device",
    "Storage": "Any",
    "Any": "Any",
    **{n: f"_{n}" for n in "int float bool str dtype Generator layout memory_format".split()},
}
# The types of signatures that mean the same as an annotation in a source.
AS_THEY_STAND = "Tensor int float bool str Flag Ints Sizes Number dtype Generator Any".split()
AS_THEY_STAND += ["Sequence[Tensor]"]
# Words of other annotations.
_WORDS = TYPES | {"Size": "_Size", "complex": "_complex"}
_WORDS |= {n: f"_{n}" for n in "UntypedStorage RemovableHandle".split()}
_WORDS |= {w: w for w in "None Sequence Callable tuple list dict return_types".split()}
# Further typed names of the root, where they are.
_TYPED = "_core autograd func _base.device _base.dtypes _devices.generator random".split()
_TYPED += "serialization _alias _base.size _base.errors".split()
for _room in _TYPED:  # some are imported late: it must not matter who asked first
    importlib.import_module(f"rushlight.{_room}")
# What to call a function with, by a parameter's name or type, to see what it gives.
_VALUES: dict[str, list[Any]] = {
    "_int": [1, 0, 2],
    "_Ints": [(1,), 1, (2, 2)],
    "_float": [0.5],
    "_Number": [1.0, 1],
    "_bool": [False],
    "_str": ["mean"],
    "_dtype": [dtypes.float32],
    "Sequence[Tensor]": [],
}


class Parameter:
    """One parameter of a stub: its name, type, default as text ("" for none) and kind."""

    def __init__(self, name: str, type: str, default: str, kind: Any) -> None:
        self.name, self.type, self.default, self.kind = name, type, default, kind

    def __str__(self) -> str:
        stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
        text = f"{stars.get(self.kind, '')}{self.name}" + (f": {self.type}" if self.type else "")
        return f"{text} = {self.default}" if self.default else text


def default_text(value: Any) -> str:
    """A default as the stub writes it; `...` where it is no plain value."""
    if value is None or isinstance(value, (bool, int, str, tuple)):
        return repr(value).replace("'", '"')
    return repr(value) if isinstance(value, float) and abs(value) < 1e300 else "..."


def translated(annotation: str) -> str | None:
    """An annotation in the stub's words; None where it says nothing."""
    if annotation == "":
        return None
    words = re.findall(r"(?<![.\w])[A-Za-z_]\w*", annotation)
    if any(w not in _WORDS for w in words):
        return "Any"
    return re.sub(r"(?<![.\w])[A-Za-z_]\w*", lambda m: _WORDS[m.group()], annotation)


_NO_DEFAULT = inspect.Parameter.empty
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD
_REST = inspect.Parameter.VAR_POSITIONAL


def parameters(signature: Signature, others: Sequence[Signature] = ()) -> list[Parameter]:
    """The parameters of a signature; `others` tell of those that it says nothing about."""
    found = []
    for p in signature.params:
        types = dict.fromkeys(TYPES[t] for t in p.types)
        if p.type == "Any":
            there = [q for s in others for q in s.params if q.name == p.name]
            types = dict.fromkeys(TYPES[t] for q in there for t in q.types) or types
        elif others:
            for s in others:
                types |= dict.fromkeys(
                    TYPES[t] for q in s.params if q.name == p.name for t in q.types
                )
        if "_Ints" in types:
            types = {n: None for n in types if n not in ("_int", "Sequence[_int]")}
        known = "Any" if "Any" in types else " | ".join(types)
        if (p.none or p.default == "None") and known != "Any":
            known += " | None"
        kind = _KEYWORD if p.keyword_only else _EITHER
        if p.variable:
            kind = inspect.Parameter.VAR_POSITIONAL
            known = known.replace("_int", "_Ints") if known == "_int" else known
        plain = p.default is None or re.fullmatch(r"[\w\"-]+|[\d.e-]+|\([\d, -]*\)", p.default)
        text = (p.default or "") if plain and p.default not in ("inf", "nan", "Ellipsis") else "..."
        found.append(Parameter(p.name, known, text, kind))
    return found


# ---- what functions give


def make(*shape: Any, low: float = -1.0, high: float = 1.0, kind: str = "") -> Any:
    """The tensors of samples, as tests/table/cases.py draws them."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    rng = np.random.default_rng(0)
    if kind == "int":
        return torch.from_numpy(np.asarray(rng.integers(int(max(low, 0)), int(high) + 1, shape)))
    if kind == "bool":
        return torch.from_numpy(np.asarray(rng.random(shape) < 0.5))
    made = np.asarray(rng.uniform(low, high, shape)).astype(np.float32)
    tensor = torch.from_numpy(made)
    known = getattr(torch, kind, None)
    return tensor.to(known) if isinstance(known, dtypes.dtype) else tensor


def sample_calls(entry: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The calls that an entry's samples stand for."""
    if entry is None or not callable(entry.samples):
        return
    low, high = entry.domain
    try:
        samples = entry.samples(
            lambda *shape, low=low, high=high, kind="": make(*shape, low=low, high=high, kind=kind)
        )
    except Exception:
        return
    for sample in samples:
        named = sample[-1] if isinstance(sample[-1], dict) else {}
        yield (sample[:-1] if named else sample), named


def guessed_calls(required: list[Parameter]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Calls with small tensors for the parameters that must be given."""
    shapes: list[tuple[int, ...]] = [(3, 3), (3,), (1, 2, 4), (1, 1, 4, 4), (1, 1, 4, 4, 4), ()]
    for kind in ("", "int", "bool", "complex64"):
        for shape in shapes:
            for choice in range(3):
                values: dict[str, Any] = {}
                positional = []
                for p in required:
                    first = p.type.split(" | ")[0]
                    if first == "Tensor":
                        value: Any = make(*shape, kind=kind)
                    elif p.type.startswith("Sequence[Tensor]"):
                        value = [make(*shape, kind=kind), make(*shape, kind=kind)]
                    else:
                        options = _VALUES.get(first, [1])
                        value = options[min(choice, len(options) - 1)]
                    if p.kind is _KEYWORD:
                        values[p.name] = value
                    else:
                        positional.append(value)
                yield tuple(positional), values


def type_of(value: Any) -> str:
    """The type of a result as the stub writes it."""
    if type(value) in (bool, int, float, str, complex):
        return f"_{type(value).__name__}"
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if isinstance(value, torch.Size):
        return "_Size"
    if isinstance(value, return_types._Named):
        return f"return_types.{type(value).__name__}"
    if isinstance(value, (tuple, list)) and all(isinstance(v, torch.Tensor) for v in value):
        if isinstance(value, list):
            return "list[Tensor]"
        several = ", ".join(["Tensor"] * len(value)) if len(value) > 1 else "Tensor, ..."
        return f"tuple[{several}]"
    if value is None:
        return "None"
    for kind, name in (
        (dtypes.dtype, "_dtype"),
        (torch.device, "_device"),
        (torch.layout, "_layout"),
    ):
        if isinstance(value, kind):
            return name
    return "Any"


def result_type(function: Any, entry: Any, required: list[Parameter], signature: Signature) -> str:
    """What a call gives: as declared, or as its samples or small tensors show."""
    known = translated(signature.result)
    if known not in (None, "Tensor"):
        return known
    for calls, enough in ((sample_calls(entry), 12), (guessed_calls(required), 6 if known else 1)):
        seen: list[str] = []
        for args, named in calls:
            try:
                seen.append(type_of(function(*args, **named)))
            except Exception:
                continue
            if len(seen) == enough:
                break
        kinds = sorted(set(seen))
        if len(kinds) > 1 and all(k.startswith("tuple[Tensor") for k in kinds):
            return "tuple[Tensor, ...]"
        if known and kinds:  # all that is said of most: a Tensor, or several
            several = [k for k in kinds if k.startswith(("tuple[", "return_types."))]
            return several[0] if len(several) == len(kinds) == 1 else known
        if kinds:
            return kinds[0] if len(kinds) == 1 else "Any"
    return known or ""


# ---- stubs


def wrapped_def(indent: str, name: str, parts: list[str], end: str) -> list[str]:
    """The head of a function as the formatter writes it."""
    one = f"{indent}def {name}({', '.join(parts)}{end}"
    two = f"{indent}    {', '.join(parts)}"
    if len(one) <= WIDTH:
        return [one]
    inner = [two] if len(two) <= WIDTH else [f"{indent}    {p}," for p in parts]
    return [f"{indent}def {name}(", *inner, f"{indent}{end}"]


def definition(
    name: str, params: list[Parameter], result: str, doc: str, decorators: list[str], indent: str
) -> list[str]:
    """The lines of one function of a stub."""
    parts: list[str] = []
    for p in params:
        if p.kind is _KEYWORD and not any(part == "*" or part.startswith("*") for part in parts):
            parts.append("*")
        parts.append(str(p))
    end = f") -> {result}:"
    lines = [f"{indent}{d}" for d in decorators]
    body = f'"""{doc}"""' if doc and len(f'{indent}    """{doc}"""') <= WIDTH else "..."
    lines += wrapped_def(indent, name, parts, f"{end} ..." if body == "..." else end)
    if body != "...":
        lines += [f"{indent}    {body}", ""]
    return lines


def summary(entry: Any, function: Any) -> str:
    """The first sentence of what the function says of itself, if it is on one line."""
    text = (entry.doc if entry is not None else function.__doc__) or ""
    line = text.strip().split("\n")[0].strip()
    return line if line.endswith(".") and "\\" not in line and '"' not in line else ""


def valid(params: list[Parameter]) -> list[Parameter]:
    """In an order that Python allows: without a default before those with one."""
    seen = False
    for p in params:
        if p.kind is _EITHER:
            seen = seen or bool(p.default)
            if seen and not p.default:
                p.default = "..."
    return params


def required_of(params: list[Parameter]) -> list[Parameter]:
    return [p for p in params if not (p.default or f"{p.kind} {p.type}" == f"{_REST} Any")]


def function_stub(name: str, function: Any, entry: Any, *, method: bool = False) -> list[str]:
    """A function of the table, or a method,
    with all its signatures that differ in what they give."""
    indent = "    " if method else ""
    in_place = name.endswith("_") and not name.startswith("_")
    doc = "" if method or in_place else summary(entry, function)
    own, listed = own_signature(function), signatures(function)
    if not (method or hasattr(function, "entry")) and getattr(entry, "overloads", ()):
        listed = [read(text, read(entry.signature)) for text in entry.overloads]
    params = valid([p for p in parameters(own, listed) if not p.name.startswith("_")])
    if method and params[0].type == "Any":
        params[0].type = "Tensor"
    if in_place:
        params = [p for p in params if p.name not in ("out", "inplace")]

    bound = bound_signature(inspect.unwrap(function)).params
    one_by_one = any(p.variable for p in (bound if method else bound[:1]))

    def written(
        params: list[Parameter], result: str, decorators: list[str], doc: str = doc
    ) -> list[str]:
        if method:
            given = [p for p in params[1:] if p.name != "out"]  # of functions alone
            params = [Parameter("self", "", "", _EITHER), *given]
        for p in params if result.startswith(("tuple[", "return_types.")) else []:
            if p.name == "out" and p.type == "Tensor | None":
                p.type = "Sequence[Tensor] | None"
        for p in params if one_by_one else []:
            if p.type == "Sequence[_int]" and p.kind is _EITHER and not p.default:
                p.kind, p.type = inspect.Parameter.VAR_POSITIONAL, "_Ints"
        return definition(name, params, result, doc, decorators, indent)

    star = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in params)
    if len(listed) > 1 and not in_place:
        rows = []
        for signature in listed:
            of_this = valid(parameters(signature))
            if not (method and of_this[0].type == "_Number"):
                rows.append((of_this, result_type(function, None, required_of(of_this), signature)))
        told = any(s.result == "Any" for s in listed)
        places = itertools.zip_longest(*([q.name for q in p if q.kind is _EITHER] for p, _ in rows))
        moved = any(len(set(names) - {None}) > 1 for names in places)
        if star or told or moved or len({r for _, r in rows} - {"Any", ""}) > 1:
            docs = [doc, *[""] * len(rows)]
            return [
                x
                for (p, r), doc in zip(rows, docs, strict=False)
                for x in written(p, r or "Any", ["@overload"], doc)
            ]
    result = "Tensor" if in_place else result_type(function, entry, required_of(params), own)
    return written(params, result or "Tensor", [])


def module_text(doc: str, body: list[str], up: str) -> str:
    """A whole stub: what it imports, the short names of types, and the body."""
    body = [line.format(up=up) if line.startswith("from {up}") else line for line in body]
    exports = {line for line in body if line.startswith("from ")}
    body = [line for line in body if line not in exports]
    words = set(re.findall(r"[A-Za-z_]\w*", re.sub(r'""".*?"""', "", "\n".join(body))))
    aliases = [a for a in ALIASES if a in words]
    for a in aliases:
        words |= {"TypeAlias", *re.findall(r"[A-Za-z_]\w*", ALIASES[a])}
    needed = {line.format(up=up) for word, line in IMPORTS.items() if word in words}
    exported = {line.rpartition(" as ")[2] for line in exports}
    needed = {line for line in needed if line.rpartition(" import ")[2] not in exported}
    lines = [f'"""{doc} Written by tools/public_stub.py."""']
    for ours in (False, True):
        plain: dict[str, list[str]] = {}
        found = []
        for line in needed | exports:
            module, _, what = line.partition(" import ")
            if module.startswith("from .") is ours:
                if " as " in what:
                    found.append(line)
                else:
                    plain.setdefault(module, []).append(what)
        for module, names in plain.items():
            found.append(f"{module} import {', '.join(sorted(names, key=_import_order))}")
        found.sort(key=_line_order)
        lines += ["", *found] if found else []
    if aliases:
        lines += ["", *(f"{a}: TypeAlias = {ALIASES[a]}" for a in aliases)]
    lines = [line if len(line) <= WIDTH else _wrapped(line) for line in lines]
    return "\n".join([*lines, "", *body]).rstrip("\n") + "\n"


def _wrapped(line: str) -> str:
    """A long import as the formatter writes it."""
    module, _, what = line.partition(" import ")
    return f"{module} import (\n    {what},\n)"


def _line_order(line: str) -> tuple[str, tuple[int, str], str]:
    module, _, what = line.partition(" import ")
    return module.lower(), _import_order(what), what.rpartition(" as ")[2]


def _import_order(name: str) -> tuple[int, str]:
    """isort's: constants, then classes, then the rest; numbers within names by their value."""
    first = name.split(" as ")[0].split(",")[0]
    return (
        0 if first.isupper() and len(first) > 1 else 1 if first[:1].isupper() else 2,
        re.sub(r"\d+", lambda number: number[0].zfill(9), first.lower()),
    )


PRIVATE_METHODS = "_indices _make_subclass _make_wrapper_subclass _nnz _values".split()
ROOMS = "making elementwise layout random matrix reduction indexing spectral layers".split()


def _modules(room: str) -> list[Any]:
    start = f"rushlight.ops.{room}."
    return [m for n, m in sorted(sys.modules.items()) if n.startswith(start)]


@functools.cache
def _stated() -> dict[int, str]:
    """The room of each op: the first that has it, as later ones import it from there."""
    return {
        id(value): room
        for room in reversed(ROOMS)
        for module in _modules(room)
        for value in vars(module).values()
        if isinstance(value, _core.Op)
    }


def room_of(function: Any) -> str:
    """The room of the table that a function stands in; "" of one that stands elsewhere."""
    target = inspect.unwrap(function)
    if isinstance(target, _core.Op):
        target = target.base or target
        if id(target) in _stated():
            return _stated()[id(target)]
        entry = target.entry
        made_by = [entry.samples, entry.reference, target.forward]
        made_by += [r.partial or r.function for r in entry.rules]
        modules = [getattr(f, "__module__", None) or "" for f in made_by]
    else:
        modules = [target.__module__]
    for module in modules:
        if module.startswith("rushlight.ops."):
            room = module.split(".")[2]
            if room in ROOMS:
                return room
    return ""


def functions_of(where: str) -> dict[str, Any]:
    """The public functions of a namespace, in the order of their names."""
    return {n: f for n, f in sorted(namespace(where).items()) if not n.startswith("_")}


def source_of(name: str, function: Any) -> str:
    """The module that a checker can take a Python function from as it stands there: one signature,
    all of it annotated; "" where the function has to be written out."""
    target = inspect.unwrap(function)
    if not isinstance(target, types.FunctionType) or not room_of(function):
        return ""
    told = getattr(getattr(target, "entry", None), "signature", "")
    kept = vars(sys.modules[target.__module__]).get(name) is target
    if not kept or "(" in told or len(signatures(function)) > 1:
        return ""
    own = own_signature(function)
    if any(p.variable or t not in AS_THEY_STAND for p in own.params for t in p.types):
        return ""
    if (translated(own.result) or "Any") == "Any":
        return ""
    return target.__module__.removeprefix("rushlight.")


def written_out(name: str, function: Any) -> list[str]:
    """A function in a stub: taken from its source, or written out."""
    source = source_of(name, function)
    if source:
        return [f"from {{up}}{source} import {name} as {name}"]
    return function_stub(name, function, getattr(function, "entry", None) or OPS.get(name))


def namespace_body(where: str) -> list[str]:
    """The stubs of a namespace of the table; what is in torch too is taken from there."""
    body = []
    shared = functions_of("torch")
    for name, function in functions_of(where).items():
        if isinstance(function, type):
            body += [f"class {name}({function.__bases__[0].__name__}): ...", ""]
        elif shared.get(name) is function:
            body.append(f"from {{up}}_typed.{room_of(function) or 'other'} import {name} as {name}")
        else:
            body += written_out(name, function)
    return body


def room_body(room: str) -> list[str]:
    """A room's functions in torch."""
    body = []
    for name, function in functions_of("torch").items():
        if room_of(function) == room:
            body += written_out(name, function)
    return body


def other_body() -> list[str]:
    """The functions in torch that stand in no room."""
    body = []
    for name, function in functions_of("torch").items():
        if isinstance(function, type):
            body += [f"class {name}({function.__bases__[0].__name__}): ...", ""]
        elif not room_of(function):
            body += written_out(name, function)
    return body


def base_body() -> list[str]:
    """The root without the rooms built on it: functions, dtypes, modes."""
    typed, constants, functions = [], [], []
    table = namespace("torch")
    for name, value in sorted(vars(base).items()):
        if name in table or name in ("builtins", "math", "TYPE_CHECKING", "Any", "annotations"):
            continue
        if name.startswith("_"):
            continue
        if isinstance(value, types.ModuleType):
            if value.__name__ == f"rushlight.{name}":
                typed.append(f"from . import {name} as {name}")
        elif isinstance(value, (dtypes.dtype, float, torch.Generator)):
            kind = {"float": "_float", "Generator": "_Generator"}.get(
                type(value).__name__, "_dtype"
            )
            constants.append(f"{name}: {kind}")
        elif type(value) in (torch.layout, torch.memory_format):
            constants.append(f"{name}: _{type(value).__name__}")
        elif value is None:
            constants.append(f"{name}: None")
        elif type(value).__name__ == "TensorType":
            constants.append(f"{name}: Any")
        else:
            homes = (m for m in _TYPED if vars(sys.modules[f"rushlight.{m}"]).get(name) is value)
            home = next(homes, None)
            if home:
                typed.append(f"from .{home} import {name} as {name}")
            elif isinstance(value, types.FunctionType):
                functions += function_stub(name, value, None)
    shared = [f"from ._typed.{room} import *  # noqa: F403" for room in (*ROOMS, "other")]
    dynamic = ["_nn: Any", "", "def __getattr__(name: _str) -> Any: ..."]
    return [*typed, *constants, *dynamic, *functions, *shared]


def rare(name: str) -> str:
    """A name that torch has by its row of names.txt, or by a file beside it."""
    word = _torch._table()["torch"].get(name, ("",))[0]
    beside = (f"{room}{name}{end}" for room in ("", "rooms/") for end in ("", ".py"))
    if any((SOURCE / path).exists() for path in beside):
        return ""
    if not word and is_beside(name):
        return f"from ._torch import {name} as {name}"
    _, place, own = f"{word}/{name}".split("/")[:3] if "/" in word else ("", "", "")
    if place in ("", ".", "._jit_types") or place[0] != "." or own != name:
        return f"{name}: Any"
    return f"from {'._torch' if is_beside(place[1:]) else ''}{place} import {own} as {name}"


def is_beside(module: str) -> bool:
    """Whether a module of torch has its file in _torch/."""
    path = SOURCE / "_torch" / module
    return path.is_dir() or path.with_suffix(".py").exists()


def root_body() -> list[str]:
    """The root: all of base, and the rooms."""
    lines = ["from ._base.version import __version__ as __version__"]
    for name, module in torch._LATE.items():
        lines.append(f"from .{'' if module == name else module} import {name} as {name}")
    lines += [line for name in sorted(_torch.listed("torch")) if (line := rare(name))]
    for name in sorted(vars(torch)):
        if name.startswith("_") or name in vars(base) or name in namespace("torch"):
            continue
        if name in torch._LATE:
            continue
        value = getattr(torch, name)
        if isinstance(value, types.ModuleType):
            if value.__name__ == f"rushlight.{name}":
                lines.append(f"from . import {name} as {name}")
            continue
        homes = (m for m in _TYPED if vars(sys.modules[f"rushlight.{m}"]).get(name) is value)
        lines += [f"from .{home} import {name} as {name}" for home in homes][:1]
    return [*lines, "from ._root import *  # noqa: F403"]


def methods_body(room: str) -> list[str]:
    """The methods of Tensor that come from a room; "": from elsewhere in Python."""
    body = []
    sample = make(2, 2)
    for name in sorted(dir(torch.Tensor)):
        value = inspect.getattr_static(torch.Tensor, name)
        if (name.startswith("_") and name not in PRIVATE_METHODS) or isinstance(
            value, (types.GetSetDescriptorType, types.MethodDescriptorType)
        ):
            continue  # in _core.pyi
        if isinstance(value, _core.Attribute):
            if not room:
                kind = type_of(getattr(sample if name != "imag" else sample + 1j, name))
                body += ["    @property", f"    def {name}(self) -> {kind}: ..."]
        elif isinstance(value, (type, classmethod, staticmethod)) or not callable(value):
            if not room:
                body.append(f"    {name}: Any")
        elif room_of(value) == room:
            entry = getattr(value, "entry", None) or OPS.get(name)
            body += function_stub(name, inspect.unwrap(value), entry, method=True)
    return body


def tensor_body() -> list[str]:
    """Tensor's methods: those of the rooms, and what stands elsewhere."""
    lines = [f"from .{room}_methods import {room.capitalize()}Methods" for room in ROOMS]
    bases = ",\n    ".join(f"{room.capitalize()}Methods" for room in ROOMS)
    return [*lines, "class TensorMethods(", f"    {bases},", "):", *methods_body("")]


def return_types_body() -> list[str]:
    """The named tuples."""
    body = []
    for name in sorted(c.__name__ for c in return_types.all_return_types):
        body += [f"class {name}(NamedTuple):"]
        body += [f"    {field}: Tensor" for field in getattr(return_types, name)._fields]
        body += [""]
    return [
        *body,
        "class _Named(tuple[Any, ...]):",
        "    _fields: tuple[_str, ...]",
        "    def __new__(cls, items: Any) -> Self: ...",
        "",
        "all_return_types: list[type[_Named]]",
        "",
        "def named(name: _str, *fields: _str, out: bool = True) -> type[_Named]: ...",
        "def named_out(made: type[tuple[Any, ...]]) -> type[tuple[Any, ...]]: ...",
        "def expect(files: dict[_str, _str]) -> None: ...",
        "def pytree_register_structseq(cls: type[tuple[Any, ...]]) -> None: ...",
    ]


def kernels_body() -> list[str]:
    """The compiled kernels: the first lines of their docstrings (native/bindings/kernel.h).

    Of ndarrays they make ndarrays, and where there is no kernel NotImplemented.
    """
    body = ['_T = TypeVar("_T", Tensor, _Array)', "", "class Kernels(Protocol):"]
    body += ["    isa: str"]
    for name, kernel in sorted(vars(_core.kernels).items()):
        row = re.fullmatch(r"(\w+)\((.*)\) -> (.*)", (kernel.__doc__ or "").split("\n")[0])
        if not isinstance(kernel, types.BuiltinFunctionType) or not row:
            continue
        given, result = row[2], row[3]
        if "Tensor" in given:
            given, result = (re.sub(r"\bTensor\b", "_T", text) for text in (given, result))
        result = "NotImplementedType | None" if result == "None" else result
        parts = ["self", *re.split(r", (?=/|\w+: )", given)] if given else ["self"]
        body += wrapped_def("    ", name, parts, f") -> {result}: ...")
    return body


def typed_files() -> Iterator[tuple[str, str, list[str]]]:
    """The files in _typed/: their names, what they are, and their bodies."""
    for room in ROOMS:
        yield room, f"ops/{room}/: functions in torch.", room_body(room)
        methods = methods_body(room)
        head = f"class {room.capitalize()}Methods:"
        methods = [head, *methods] if methods else [f"{head} ..."]
        yield f"{room}_methods", f"ops/{room}/: methods of Tensor.", methods
    yield "other", "The functions in torch that stand in no room of ops/.", other_body()
    yield "kernels", "The functions of the module `kernels`: native/bindings.", kernels_body()


def stubs() -> dict[Path, str]:
    """Every generated stub by its path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = torch.get_rng_state()
        found = {
            SOURCE / "__init__.pyi": module_text("torch's root namespace.", root_body(), "."),
            SOURCE / "_root.pyi": module_text(
                "torch's root namespace without the rooms built on it.", base_body(), "."
            ),
            SOURCE / "_typed" / "methods.pyi": module_text(
                "What the table and _tensor/ give Tensor.", tensor_body(), ".."
            ),
            **{
                SOURCE / "_typed" / f"{file}.pyi": module_text(doc, body, "..")
                for file, doc, body in typed_files()
            },
            SOURCE / "return_types.pyi": module_text(
                "The named tuples of ops with several results.", return_types_body(), "."
            ),
            SOURCE / "nn" / "functional.pyi": module_text(
                "`torch.nn.functional`.", namespace_body("nn"), ".."
            ),
        }
        for where in ("linalg", "fft", "special"):
            if (SOURCE / f"{where}.py").exists():
                text = module_text(f"`torch.{where}`.", namespace_body(where), ".")
                found[SOURCE / f"{where}.pyi"] = text
        torch.set_rng_state(state)
    return found


def main() -> int:
    """Write them, or with --check say which differ."""
    stale = []
    for path, text in stubs().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if "--check" not in sys.argv[1:]:
                path.write_text(text, encoding="utf-8")
    for path in stale:
        print(
            path.relative_to(SOURCE.parent.parent),
            "is out of date" if "--check" in sys.argv else "written",
        )
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
