"""Write what type checkers and editors read of the public functions: the .pyi files below src/.

    python tools/public_stub.py            (in an environment where rushlight is installed)
    python tools/public_stub.py --check    says which files are out of date, and writes nothing

The functions come from the op table, so no checker can see them in the sources. Names, order and
defaults of their parameters are the table's; a parameter's type is its annotation where there is
one, else what the table's signature says, else what its name means everywhere (`_BY_NAME`). What a
function gives is found by calling it with the samples of its entry, or with small tensors; where
several signatures give different things, each is listed (`ops/table/overloads.py` has them).
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rushlight as torch
from rushlight import _core, return_types
from rushlight import _dtypes as dtypes
from rushlight import _root as base
from rushlight.ops import OPS, namespace
from rushlight.ops.table import arguments as _arguments
from rushlight.ops.table import statement as _op

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
        n: f"from typing import {n}" for n in ("Any", "NamedTuple", "Self", "TypeAlias", "overload")
    },
    "return_types": "from {up} import return_types",
    "Tensor": "from {up}_core import Tensor",
    "_device": "from {up}_device import device as _device",
    "_layout": "from {up}_device import layout as _layout",
    "_memory_format": "from {up}_device import memory_format as _memory_format",
    "_dtype": "from {up}_dtypes import dtype as _dtype",
    "_Generator": "from {up}_generator import Generator as _Generator",
    "_Size": "from {up}_size import Size as _Size",
}
ALIASES = {
    "_Number": "_int | _float | _bool | _complex",
    "_Ints": "_int | Sequence[_int]",
    "_Device": "_device | _str | _int",
}

# What a parameter of that name takes, where neither annotation nor table says it.
_BY_NAME = {
    **dict.fromkeys(
        "input self tensor src source index target condition elements test_elements boundaries "
        "sorted_sequence input1 input2 x1 x2 vec2 anchor positive negative grid theta weight query "
        "LU LU_data LU_pivots pivots A B L a b v x y tensor1 tensor2 mask key logits".split(),
        "Tensor",
    ),
    **dict.fromkeys(
        "bias running_mean running_var pos_weight per_sample_weights offsets sorter attn_mask "
        "prepend append".split(),
        "Tensor | None",
    ),
    **dict.fromkeys("tensors matrices".split(), "Sequence[Tensor]"),
    **dict.fromkeys("other exponent end start high low min max q".split(), "Tensor | _Number"),
    **dict.fromkeys(
        "fill_value nan posinf neginf step dx correction alpha beta value".split(), "_Number"
    ),
    **dict.fromkeys("atol rtol tol rcond".split(), "Tensor | _float"),
    **dict.fromkeys(
        "kernel_size stride padding dilation output_padding output_size pad size shape "
        "normalized_shape dims".split(),
        "_Ints",
    ),
    **dict.fromkeys("mean std var".split(), "Tensor | _float"),
    **dict.fromkeys("dim axis k".split(), "_int"),
    **dict.fromkeys("shifts split_size split_sizes split_size_or_sections".split(), "_Ints"),
    **dict.fromkeys("repeats indices_or_sections".split(), "Tensor | _Ints"),
    **dict.fromkeys("from_ to".split(), "_Number"),
    **dict.fromkeys("rounding_mode side driver".split(), "_str"),
    "scale_factor": "_float | Sequence[_float]",
    "ord": "_float | _str",
    "moveaxis.source": "_Ints",
    "movedim.source": "_Ints",
    "destination": "_Ints",
    "keepdim": "_bool",
    "stable": "_bool",
    "unbiased": "_bool",
    "out": "Tensor",
    "dtype": "_dtype",
    "device": "_Device",
    "layout": "_layout",
    "memory_format": "_memory_format",
    "generator": "_Generator",
}
_LETTERS = {
    "T": "Tensor",
    "O": "Tensor | _Number",
    "L": "Sequence[Tensor]",
    "N": "_Number",
    "f": "_float",
    "i": "_int",
    "I": "_Ints",
    "J": "_Ints",
    "S": "Any",
    "b": "_bool",
    "s": "_str",
    "d": "_dtype",
    "g": "_Generator",
    "l": "_layout",
    "v": "_Device",
    "m": "_memory_format",
}
_MARKS = {"int": "_int", "ints": "_Ints", "bool": "_bool", "flag": "_bool", "dtype": "_dtype"}
_MARKS |= {"number": "_Number", "str": "_str"}
_WORDS = {"int": "_int", "float": "_float", "bool": "_bool", "str": "_str", "complex": "_complex"}
_WORDS |= {"Number": "_Number"}
_WORDS |= {w: w for w in ("None", "Any", "Sequence", "Callable", "Tensor", "tuple", "list", "dict")}
_WORDS |= {"dtype": "_dtype", "device": "_device", "Generator": "_Generator", "Size": "_Size"}
# What cannot be seen from one call: as many tensors as asked for, or a form that a flag decides.
_RETURNS = {
    **dict.fromkeys(
        "split chunk unbind tensor_split hsplit vsplit dsplit split_with_sizes unsafe_split "
        "unsafe_chunk meshgrid broadcast_tensors".split(),
        "tuple[Tensor, ...]",
    ),
    **dict.fromkeys("nonzero unique unique_consecutive".split(), "Any"),
    **dict.fromkeys("register_hook register_post_accumulate_grad_hook".split(), "Any"),
    "type": "Any",
    "native_layer_norm": "tuple[Tensor, Tensor, Tensor]",
    **dict.fromkeys("atleast_1d atleast_2d atleast_3d".split(), "Any"),
}
# Further typed names of the root, where they are.
_TYPED = "autograd func _device _dtypes _generator random serialization _torch_alias".split()
_TYPED += "_size _errors _core".split()
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
    if annotation in ("", "Any"):
        return None
    words = re.findall(r"[A-Za-z_]\w*", annotation)
    if any(w not in _WORDS for w in words):
        return None
    return re.sub(r"[A-Za-z_]\w*", lambda m: _WORDS[m.group()], annotation)


def named_type(op: str, name: str, default: Any) -> str:
    """What a parameter takes by its name."""
    if name in ("dim", "dims") and op.removeprefix("linalg.") in _arguments._SEVERAL_DIMS:
        found = "_Ints"
    elif isinstance(default, (bool, int, str)) and name not in _BY_NAME:
        found = f"_{type(default).__name__}"
    elif isinstance(default, float) and name not in _BY_NAME:
        found = "_float"
    else:
        found = _BY_NAME.get(f"{op}.{name}") or _BY_NAME.get(name, "Any")
    if default is None and found != "Any" and not found.endswith("None"):
        found += " | None"
    return found


_NO_DEFAULT = inspect.Parameter.empty
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


def of_op(op: Any) -> list[Parameter]:
    """The parameters of a native op, from the signature of its entry."""
    entry = op.entry
    name, rows, positional = _op.parse(entry.signature, _op.KINDS.index(entry.kind))
    found = []
    for i, row in enumerate(rows):
        default = row[2] if len(row) > 2 else _NO_DEFAULT
        kind = _KEYWORD if i >= positional else _EITHER
        if row[1] == _core.ParamKind.VARARGS:
            found.append(Parameter(row[0], "_Ints", "", inspect.Parameter.VAR_POSITIONAL))
            continue
        letter = _arguments._KINDS.get(row[1], "")
        mark = re.search(rf"\b{row[0]}: (int|ints|bool|flag|dtype|number|str)\b", entry.signature)
        known = _LETTERS.get(letter) or (_MARKS[mark[1]] if mark else "")
        known = known or named_type(name, row[0], default)
        if (letter or mark) and default is None:
            known += " | None"
        if letter == "N" and isinstance(default, bool):
            known = "_bool"
        text = "" if default is _NO_DEFAULT else default_text(default)
        found.append(Parameter(row[0], known, text, kind))
    if takes_out(entry, op):
        found.append(Parameter("out", "Tensor | None", "None", _KEYWORD))
    return found


def takes_out(entry: Any, op: Any) -> bool:
    """Whether the op has `out=`: it says so when asked."""
    for args, named in sample_calls(entry):
        try:
            op(*args, **named, out=None)
        except TypeError as error:
            return "out" not in str(error)
        except Exception:
            continue
        return True
    return False


def of_function(function: Any, name: str) -> list[Parameter]:
    """The parameters of a Python function of the table."""
    found = []
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_KEYWORD and p.name in ("axis", "named"):
            continue  # NumPy's names of parameters: taken, but not what new programs write
        if p.name.startswith("_"):
            continue
        annotation = p.annotation if isinstance(p.annotation, str) else ""
        known = translated(annotation) or named_type(name, p.name, p.default)
        if p.kind is p.VAR_POSITIONAL and known.startswith("Sequence["):
            known = f"{known[9:-1]} | {known}"
        text = "" if p.default is p.empty else default_text(p.default)
        if text == "None" and known not in ("", "Any") and not known.endswith("None"):
            known += " | None"
        found.append(Parameter(p.name, known, text, p.kind))
    return found


def parameters(function: Any, name: str) -> list[Parameter]:
    """The parameters of any public function."""
    if isinstance(function, torch._core.Op):
        return of_op(function)
    return of_function(function, name)


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
        return f"tuple[{', '.join(['Tensor'] * len(value)) or 'Tensor, ...'}]"
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


def result_type(function: Any, entry: Any, required: list[Parameter], declared: str) -> str:
    """What a call gives: as declared, or as its samples or small tensors show."""
    known = translated(declared)
    if known:
        return known
    for calls, enough in ((sample_calls(entry), 12), (guessed_calls(required), 1)):
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
        if kinds:
            return kinds[0] if len(kinds) == 1 else "Any"
    return ""


# ---- stubs


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
    tail = " ..." if body == "..." else ""
    one = f"{indent}def {name}({', '.join(parts)}{end}{tail}"
    two = f"{indent}    {', '.join(parts)}"
    if len(one) <= WIDTH:
        lines.append(one)
    elif len(two) <= WIDTH:
        lines += [f"{indent}def {name}(", two, f"{indent}{end}{tail}"]
    else:
        lines += [
            f"{indent}def {name}(",
            *(f"{indent}    {p}," for p in parts),
            f"{indent}{end}{tail}",
        ]
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
    return [p for p in params if not p.default or p.kind is inspect.Parameter.VAR_POSITIONAL]


def of_overload(signature: Any, name: str) -> list[Parameter]:
    """The parameters of one signature of ops/table/overloads.py."""
    found = []
    for p in signature.params:
        known = "Tensor | _Number" if name in _arguments._NUMBERS_TOO and p.name == "other" else ""
        kind = _KEYWORD if p.keyword_only else _EITHER
        default = "..." if p.optional else ""
        known = known or _LETTERS[p.type]
        if p.optional and p.name in ("out", "min", "max", "dim", "correction", "generator"):
            known, default = f"{known} | None", "None"
        found.append(Parameter(p.name, known, default, kind))
    return found


def function_stub(
    name: str, function: Any, entry: Any, where: str, *, method: bool = False
) -> list[str]:
    """A function of the table, or a method,
    with all its signatures that differ in what they give."""
    indent = "    " if method else ""
    doc = summary(entry, function)
    declared = ""
    if not isinstance(function, torch._core.Op):
        declared = inspect.signature(function).return_annotation
        declared = declared if isinstance(declared, str) else ""
    params = valid(parameters(function, name))
    in_place = name.endswith("_") and not name.startswith("_")
    if in_place:
        params = [p for p in params if p.name not in ("out", "inplace")]
    result = _RETURNS.get(name, "Tensor" if in_place else "")
    result = result or result_type(function, entry, required_of(params), declared)
    if not result:
        result = "Tensor"

    def written(params: list[Parameter], result: str, decorators: list[str]) -> list[str]:
        if method:
            params = [Parameter("self", "", "", _EITHER), *params[1:]]
        return definition(name, params, result, "" if decorators else doc, decorators, indent)

    key = f"{where}.{name}".removeprefix("torch.")
    signatures = _arguments._overloads().get(key, [])
    for other in _arguments._overloads().get(key.removesuffix("_"), []):
        for p in of_overload(other, name):
            for q in params:
                if q.name == p.name and q.type == "Tensor" and p.type == "_Number":
                    q.type = "Tensor | _Number"
    if len(signatures) > 1 and name not in _RETURNS and not in_place:
        rows = []
        for signature in signatures:
            of_this = of_overload(signature, name)
            if method and of_this[0].type == "_Number":
                continue
            rows.append((of_this, result_type(function, None, required_of(of_this), "") or "Any"))
        if len({r for _, r in rows} - {"Any"}) > 1:
            return [x for p, r in rows for x in written(p, r, ["@overload"])]
    return written(params, result, [])


def module_text(doc: str, body: list[str], up: str) -> str:
    """A whole stub: what it imports, the short names of types, and the body."""
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
    return "\n".join([*lines, "", *body]).rstrip("\n") + "\n"


def _line_order(line: str) -> tuple[str, tuple[int, str], str]:
    module, _, what = line.partition(" import ")
    return module, _import_order(what), what.rpartition(" as ")[2]


def _import_order(name: str) -> tuple[int, str]:
    """isort's: constants, then classes, then the rest."""
    first = name.split(" as ")[0].split(",")[0]
    return (
        0 if first.isupper() and len(first) > 1 else 1 if first[:1].isupper() else 2,
        first.lower(),
    )


def namespace_body(where: str, skip: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
    """The stubs of a namespace of the table."""
    body = []
    for name, function in sorted(namespace(where).items()):
        if name in skip or name.startswith("_"):
            continue
        if isinstance(function, type):
            body += [f"class {name}({function.__bases__[0].__name__}): ...", ""]
            continue
        entry = getattr(function, "entry", None) or OPS.get(name)
        body += function_stub(name, function, entry, where)
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
        elif type(value).__name__ == "_TensorType":
            constants.append(f"{name}: Any")
        else:
            homes = (m for m in _TYPED if vars(sys.modules[f"rushlight.{m}"]).get(name) is value)
            home = next(homes, None)
            if home:
                typed.append(f"from .{home} import {name} as {name}")
            elif isinstance(value, types.FunctionType):
                functions += function_stub(name, value, None, "base")
    dynamic = ["_nn: Any", "", "def __getattr__(name: _str) -> Any: ..."]
    return [*typed, *constants, *dynamic, *functions, *namespace_body("torch")]


def root_body() -> list[str]:
    """The root: all of base, and the rooms."""
    lines = ["from ._version import __version__ as __version__"]
    for name in sorted({*vars(torch), *torch.__all__}):  # some are imported when asked for
        if name.startswith("_") or name in vars(base) or name in namespace("torch"):
            continue
        value = getattr(torch, name)
        if isinstance(value, types.ModuleType):
            if value.__name__ == f"rushlight.{name}":
                lines.append(f"from . import {name} as {name}")
            continue
        homes = (m for m in _TYPED if vars(sys.modules[f"rushlight.{m}"]).get(name) is value)
        lines += [f"from .{home} import {name} as {name}" for home in homes][:1]
    return [*lines, "from ._root import *  # noqa: F403"]


def tensor_body() -> list[str]:
    """Tensor's methods that come from the table or from Python."""
    body = ["class TensorMethods:"]
    sample = make(2, 2)
    for name in sorted(dir(torch.Tensor)):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(torch.Tensor, name)
        if isinstance(value, (types.GetSetDescriptorType, types.MethodDescriptorType)):
            continue  # in _core.pyi
        if isinstance(value, _core.Attribute):
            kind = type_of(getattr(sample if name != "imag" else sample + 1j, name))
            body += ["    @property", f"    def {name}(self) -> {kind}: ..."]
        elif isinstance(value, (type, classmethod, staticmethod)) or not callable(value):
            body.append(f"    {name}: Any")
        else:
            entry = getattr(value, "entry", None) or OPS.get(name)
            plain = getattr(value, "__wrapped__", value)
            # What is not the form of the table.
            own = entry is None or (
                isinstance(plain, types.FunctionType) and plain is not entry.function
            )
            function = plain if own else entry.function
            where = "Tensor" if own else "torch"
            body += function_stub(name, function, entry, where, method=True)
    return body


def return_types_body() -> list[str]:
    """The named tuples."""
    body = []
    for name in sorted(return_types.__all__):
        body += [f"class {name}(NamedTuple):"]
        body += [f"    {field}: Tensor" for field in getattr(return_types, name)._fields]
        body += [""]
    return [
        *body,
        "class _Named(tuple[Any, ...]):",
        "    _fields: tuple[_str, ...]",
        "    def __new__(cls, items: Any) -> Self: ...",
        "",
        "def named(name: _str, *fields: _str) -> type[_Named]: ...",
    ]


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
            SOURCE / "_tensor_methods.pyi": module_text(
                "What the table and _tensor.py give Tensor.", tensor_body(), "."
            ),
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
