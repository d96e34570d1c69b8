"""The parameters of PyTorch's public functions, methods and classes: tests/data/signatures.txt.

    python tools/signatures.py           (in an environment with the PyTorch that rushlight follows)
    python tools/signatures.py --check   says whether the file is out of date, and writes nothing

A line is a name and its parameters, as `def` would have them: `torch.nn.Linear(in_features, ...)`.
Functions written in Python are asked by `inspect`. Functions of PyTorch's core have a line for each
overload, with the parameters' types; a parameter that may be left out has its default. Names are
those of the modules that tools/coverage.py counts; a class stands for its constructor and for the
public methods that the class defines itself.
"""

from __future__ import annotations

import contextlib
import enum
import inspect
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from coverage import MODULES, place, public_names

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "data" / "signatures.txt"
KINDS = inspect.Parameter
# The words of PyTorch's errors for the types of its core's declarations.
TYPES = {
    "Tensor": "Tensor", "int": "int", "number": "Number", "float": "float", "bool": "bool",
    "str": "str", "List[int": "tuple of ints", "List[int]": "tuple of ints",
    "List[Tensor]": "tuple of Tensors", "List[Tensor": "tuple of Tensors",
    "List[float]": "tuple of floats", "List[float": "tuple of floats",
}  # fmt: skip
OBJECTS = {n: n for n in ("dtype", "layout", "device", "memory_format")} | {
    "generator": "Generator"
}
# Kernels of other machines and of quantized numbers, which are here by name alone.
LEFT_OUT = re.compile(r"\.(cudnn|miopen|mkldnn|fbgemm|quantized|_)|quantize|fake_quant|qparams|_q_")


def shown(default: object) -> str:
    """A default as a word that is the same in every library and on every machine."""
    if isinstance(default, (bool, int, float, complex, str, type(None))):
        return repr(default)
    if isinstance(default, (tuple, list, dict)) and not default:
        return repr(default)
    if isinstance(default, (tuple, list)):
        return f"({', '.join(shown(d) for d in default)},)"
    text = re.sub(r"\b(torch|rushlight)\.", "", getattr(default, "__name__", None) or repr(default))
    return re.sub(r" at 0x[0-9a-f]+|<|>|\s", "", text)


def parameters(found: inspect.Signature, skip_self: bool = False) -> str:
    """The parameters of a function, as `def` would have them without annotations."""
    words, star = [], False
    every = list(found.parameters.values())[1 if skip_self else 0 :]
    for n, p in enumerate(every):
        if p.kind == KINDS.VAR_POSITIONAL:
            star = True
        elif p.kind == KINDS.KEYWORD_ONLY and not star:
            words.append("*")
            star = True
        mark = {KINDS.VAR_POSITIONAL: "*", KINDS.VAR_KEYWORD: "**"}.get(p.kind, "")
        ending = "" if p.default is p.empty else f"={shown(p.default)}"
        words.append(f"{mark}{p.name}{ending}")
        following = every[n + 1].kind if n + 1 < len(every) else None
        if p.kind == KINDS.POSITIONAL_ONLY and following != KINDS.POSITIONAL_ONLY:
            words.append("/")
    return f"({', '.join(words)})"


def told(call: Callable[..., object]) -> list[str]:
    """The parameters of each overload, from the error that PyTorch raises for a wrong call."""
    for wrong in ({"no": 1}, {"input": None, "no": 1}):
        try:
            call(**wrong)
        except Exception as error:
            found = re.findall(r"^ \* (\(.*\))", str(error), re.MULTILINE)
            if found:
                return [re.sub(r" = ", "=", f).replace("!", "") for f in found]
    return []


def overloads(name: str, call: Callable[..., object], method: bool) -> Iterator[str]:
    """The parameters of each overload that PyTorch's core has of a function of this name.

    Types stand before the names, in PyTorch's words.
    """
    import torch

    if found := told(call):
        yield from found
        return
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        arguments = [a for a in schema.arguments if not a.is_out]
        types = [str(a.type) for a in arguments]
        try:
            torch._C._dispatch_find_schema_or_throw(schema.name, schema.overload_name)
        except RuntimeError:  # an overload of TorchScript's, over plain numbers and lists
            continue
        if schema.overload_name.endswith("out") or "Dimname" in str(types) or "Stream" in types:
            continue
        if method:
            arguments = [a for a in arguments if a.name != "self"]
        words, star = [], False
        for a in arguments:
            if a.kwarg_only and not star:
                words.append("*")
                star = True
            ending = f"={shown(a.default_value)}" if a.has_default_value() else ""
            plain = TYPES.get(str(a.type).removeprefix("Optional[").removesuffix("]"), "object")
            kind = f"torch.{OBJECTS[a.name]}" if a.name in OBJECTS else plain
            words.append(f"{kind} {'input' if a.name == 'self' else a.name}{ending}")
        yield f"({', '.join(words)})"


def lines_of(name: str, value: object, owner: object) -> Iterator[str]:
    """The lines of one public name."""
    import torch

    if name.endswith(".Tensor") and owner is not torch:  # an import that shows
        return
    if isinstance(value, type(torch.FloatTensor)):  # a legacy type: its methods are Tensor's
        return
    if isinstance(value, type):
        # An enum takes what the enums of that Python take.
        if issubclass(value, (BaseException, enum.Enum)) or hasattr(value, "n_sequence_fields"):
            return
        with contextlib.suppress(ValueError, TypeError):
            yield name + parameters(inspect.signature(value))
        for key, member in sorted(vars(value).items()):
            plain = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
            if key.startswith("_") or not isinstance(plain, types.FunctionType):
                continue
            skip = not isinstance(member, staticmethod)
            yield f"{name}.{key}" + parameters(inspect.signature(plain), skip)
        return
    if not callable(value):
        return
    in_class = isinstance(owner, type)
    try:
        yield name + parameters(inspect.signature(value), in_class)
    except (ValueError, TypeError):
        if isinstance(value, property):
            return
        last = value.__name__ if hasattr(value, "__name__") else name.rpartition(".")[2]
        call = getattr(torch.ones(2), last, value) if in_class else value
        for text in dict.fromkeys(overloads(last, call, in_class)):
            yield name + text


def every_line() -> list[str]:
    """The lines of all public names."""
    found: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in MODULES:
            if module in ("torch.return_types", "torch.types", "torch.version"):
                continue
            owner = place(module)
            for name in sorted(public_names(owner)):
                value = inspect.getattr_static(owner, name, None)
                if not isinstance(value, property):
                    value = getattr(owner, name, None)
                    found += lines_of(f"{module}.{name}", value, owner)
    return [f for f in dict.fromkeys(found) if not LEFT_OUT.search(f.partition("(")[0])]


def main() -> int:
    """Write the file, or with --check say whether it differs."""
    text = "\n".join(every_line()) + "\n"
    if "--check" in sys.argv[1:]:
        stale = not FILE.exists() or FILE.read_text(encoding="utf-8") != text
        print(f"{FILE.relative_to(ROOT)} is {'out of date' if stale else 'current'}")
        return int(stale)
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
