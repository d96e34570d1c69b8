"""Every public function, method and class takes the parameters that PyTorch's takes.

tests/data/signatures.txt (tools/signatures.py) has PyTorch's parameters. Functions that are Python
there are compared parameter by parameter: name, order, default, positional or not. Functions of
PyTorch's core are called with every parameter of an overload by name, with an argument of its type;
whatever the call says, it must not be that a parameter is unknown or missing.
"""

import importlib
import importlib.util
import inspect
import re
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from _subject import NAME, torch

ROOT = Path(__file__).resolve().parent.parent
LINES = (ROOT / "tests" / "data" / "signatures.txt").read_text(encoding="utf-8").splitlines()


class Parameter(NamedTuple):
    name: str
    kind: str  # "both", "keyword", "*", "**"
    default: str | None
    type: str


def split(text: str) -> list[str]:
    """The parts of a text between commas that stand in no bracket and no quotes."""
    return [
        p.strip() for p in re.split(r",(?![^(\[{]*[)\]}])(?=(?:[^']*'[^']*')*[^']*$)", text) if p
    ]


def read(text: str) -> list[Parameter]:
    """The parameters that a line lists."""
    found, kind = [], "both"
    for word in split(text):
        if word == "*":
            kind = "keyword"
        elif word == "/":
            found = [p._replace(kind="position") for p in found]
        elif word.startswith("*"):
            stars = "**" if word.startswith("**") else "*"
            found.append(Parameter(word.lstrip("*"), stars, None, ""))
            kind = "keyword"
        else:
            left, equals, default = word.partition("=")
            type_, _, name = left.rpartition(" ")
            found.append(Parameter(name, kind, default if equals else None, type_))
    return found


@cache
def lines() -> dict[str, list[list[Parameter]]]:
    """By name: the parameters of each of its overloads."""
    found: dict[str, list[list[Parameter]]] = {}
    for line in LINES:
        name, _, rest = line.partition("(")
        found.setdefault(name, []).append(read(rest[:-1]))
    return found


def place(name: str) -> tuple[object, object]:
    """What a name stands for, and where it stands."""
    owner, value = None, torch
    done = NAME
    for part in name.split(".")[1:]:
        done = f"{done}.{part}"
        owner = value
        value = getattr(owner, part, None)
        if value is None:
            value = importlib.import_module(done)
    return owner, value


@cache
def writer():
    """tools/signatures.py, which words the parameters of functions here as it words PyTorch's."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("signatures")
    finally:
        sys.path.remove(str(ROOT / "tools"))


def same(ours: str | None, theirs: str | None) -> bool:
    """Two defaults are the same, however written."""
    empty = ("()", "[]", "{}", "torch.Size([])", "Size([])")
    return ours == theirs or (ours in empty and theirs in empty)


def difference(ours: list[Parameter], theirs: list[Parameter]) -> str:
    """What of PyTorch's parameters is not so here; empty where nothing is."""
    if [p.kind for p in theirs] == ["*", "**"]:  # PyTorch's own says nothing
        return ""
    here = {p.name: (n, p) for n, p in enumerate(ours)}
    for n, p in enumerate(theirs):
        if p.kind in ("*", "**"):
            if all(q.kind != p.kind for q in ours):
                return f"no {p.kind}{p.name}"
            continue
        if p.kind == "position":
            continue
        if p.name not in here:
            return f"no {p.name}"
        m, q = here[p.name]
        if p.kind == "both" and (q.kind != "both" or m != n):
            return f"{p.name} stands elsewhere"
        if not same(q.default, p.default):
            return f"the default of {p.name} is {q.default}"
    more = [p.name for p in ours[len(theirs) :] if p.kind == "both" and p.default is None]
    return f"{more[0]} is wanted" if more else ""


BY_TYPE = {
    "Tensor": lambda: torch.ones(2, 2),
    "int": lambda: 1,
    "Number": lambda: 1,
    "float": lambda: 1.0,
    "bool": lambda: True,
    "str": lambda: "sum",
    "tuple of ints": lambda: (1, 1),
    "tuple of floats": lambda: (1.0, 1.0),
    "tuple of Tensors": lambda: (torch.ones(2, 2), torch.ones(2, 2)),
    "tuple of Scalars": lambda: (1.0, 1.0),
    "torch.dtype": lambda: torch.float32,
    "torch.layout": lambda: torch.strided,
    "torch.device": lambda: "cpu",
    "torch.memory_format": lambda: torch.contiguous_format,
    "torch.Generator": lambda: torch.Generator(),
    "object": lambda: (torch.tensor([0, 0]), torch.tensor([0, 1])),
}
UNBOUND = re.compile(
    r"unexpected keyword|unrecognized keyword|missing \d+ required|keywords were incorrect"
    r"|invalid combination|missing a required|got multiple values|positional argument"
)


def refused(call, parameters: list[Parameter]) -> str:
    """What a call says of its parameters; empty where they were taken."""
    named = {p.name: BY_TYPE.get(p.type, lambda: None)() for p in parameters if p.name != "out"}
    if [p for p in parameters if p.name == "out"]:
        named["out"] = None
    try:
        call(**named)
    except TypeError as error:
        first = str(error).splitlines()[0]
        return first if UNBOUND.search(first) else ""
    except Exception:
        return ""
    return ""


def fault(name: str) -> str:
    """What is not as in PyTorch of the parameters of a name; empty where all is."""
    owner, value = place(name)
    overloads = lines()[name]
    in_class = isinstance(owner, type) and not isinstance(value, type)
    of_tensor = owner is torch.Tensor
    if any(p.type for one in overloads for p in one):
        call = getattr(torch.ones(2, 2), name.rpartition(".")[2]) if in_class else value
        for one in overloads:
            if said := refused(call, one):
                return f"({', '.join(p.name for p in one)}): {said}"
        return ""
    try:
        found = inspect.signature(value)
    except ValueError:
        return ""  # a function of the core without parameters by name
    static = inspect.getattr_static(owner, name.rpartition(".")[2], None)
    skip = in_class and not isinstance(static, (staticmethod, classmethod)) and not of_tensor
    ours = read(writer().parameters(found, skip)[1:-1])
    if of_tensor and ours and ours[0].name in ("self", "input"):
        ours = ours[1:]
    if [p.kind for p in ours] == ["*", "**"] and refuses(value):
        return ""
    return difference(ours, overloads[0])


def refuses(call) -> bool:
    """A name that only says that there is no such thing here."""
    try:
        call()
    except (NotImplementedError, RuntimeError):
        return True
    except Exception:
        return False
    return False


# What is not as in PyTorch, by the reason; each pattern is a whole name.
EXCEPTIONS = {
    "a function that PyTorch has removed: every call raises": (
        "torch(.Tensor)?.(eig|lstsq|solve|symeig|matrix_rank)"
    ),
    "PyTorch's documentation has the other name, which is taken": "torch(.Tensor)?.orgqr",
    "one function for both of PyTorch's names": (
        "torch(.Tensor)?.split|torch.Tensor.(norm|where|index|resize_)"
    ),
    "one form of several, and the argument of this test is of no use to it": (
        "torch.bitwise_.*|torch.Tensor.(view|new|set_)|torch.nn.functional.elu_"
    ),
    "the type of the result of a product is a choice of CUDA's alone": "torch.(mm|bmm)",
    "draws come from the default generator": "torch(.nn.functional)?.rrelu_?",
    "legacy storages take what their elements are made of": (
        r"torch.\w*Storage|torch(.storage)?.TypedStorage.*"
    ),
    "methods of scripts, symbolic numbers and graphs of shapes: there are none": (
        "torch.(Script|Sym|sym_).*|torch.fx.Graph.(create|materialize)_.*|torch.accelerator.Graph.*"
    ),
    "parts of a machine with several cards": (
        r"torch.nn(.parallel)?.(DataParallel|DistributedDataParallel)\..*"
    ),
    "older names of sparse products take no out": "torch.(spmm|dsmm)",
    "the core's own flag": "torch.sparse.(log_)?softmax|torch.group_norm",
    "the function that gives both results has its own default": (
        r"torch.nn.functional.\w+_with_indices"
    ),
    "kernels of other machines": (
        "torch.sparse.SparseSemiStructured.*|torch.library.Library.register_symm_mem_args"
    ),
    "registers what no backend here reads": "torch.library.Library.fallback",
    "a recorder of what PyTorch's own kernels did": (
        "torch.profiler.ExecutionTraceObserver.*|torch.autograd.profiler.MemRecordsAcc.in_interval"
        r"|torch.autograd.profiler.FunctionEvent(\.\w+)?"
    ),
    "stacks of calls, and numbers and filters of traces, which the profiler does not keep": (
        r"torch.autograd.profiler.(EventList|profile)\.\w*export_stacks\w*"
        r"|torch.(autograd.)?profiler.profile\.(\w*trace_id\w*|config|toggle_collection_dynamic)"
    ),
    "of a Function written before 2018, which is refused": "torch.autograd.NestedIOFunction.*",
    "a module, which programs do not call": "torch.autograd.variable",
    "no default generator by name: the one that torch.manual_seed sets": (
        "torch.utils.data.random_split"
    ),
    "a function made for one use in PyTorch's own file": (
        "torch.nn.functional.boolean_dispatch"
        "|torch.utils.data.non_deterministic.deterministic_wrapper_fn"
    ),
    "the device that is there": "torch.utils.checkpoint.DefaultDeviceType.set_device_type",
    "a picture in letters": "torch.nn.attention.flex_attention.BlockMask.to_string",
    "`out` is by keyword, as of every op": "torch.tensordot",
    "older helpers that only PyTorch's own classes call": (
        "torch.optim.Optimizer.profile_hook_step|torch.optim.lr_scheduler.SequentialLR.recursive_undo"
        "|torch.masked.MaskedTensor.unary|torch.cpu.Stream"
    ),
}


def excused(name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in EXCEPTIONS.values())


@pytest.mark.parametrize("module", sorted({n.rpartition(".")[0] for n in lines()}))
def test_parameters_are_pytorchs(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # from_file makes its file
    wrong = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in lines():
            if name.rpartition(".")[0] == module and not excused(name):
                try:
                    said = fault(name)
                except (AttributeError, ImportError):
                    said = "is not here"
                if said:
                    wrong[name] = said
    assert not wrong, "\n".join(f"{n}: {s}" for n, s in wrong.items())


def test_every_exception_is_one(tmp_path, monkeypatch):
    """A pattern that excuses nothing goes."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for reason, pattern in EXCEPTIONS.items():
            names = [n for n in lines() if re.fullmatch(pattern, n)]
            assert any(differs(n) for n in names), (reason, pattern)


def differs(name: str) -> bool:
    try:
        return bool(fault(name))
    except (AttributeError, ImportError, TypeError):
        return True
