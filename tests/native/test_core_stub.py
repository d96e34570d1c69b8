"""`_core.pyi` is written by hand: every name of the core is in it, as what it is, and no other.

The kernels have a stub of their own, which tools/public_stub.py writes.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as torch
import rushlight._core as core

STUB = Path(core.__file__).parent / "_core.pyi"
# The core alone: the package puts more on its types.
ALONE = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("rushlight._core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)

def kind(value):
    if isinstance(value, type):
        return "class"
    described = hasattr(type(value), "__get__") and not hasattr(type(value), "__set__")
    return "function" if described or type(value).__name__.startswith("builtin_") else "value"

def members(of):
    return {n: kind(v) for n, v in vars(of).items() if n[:2] != "__"}

found = {"": members(core), "Kernels": members(core.kernels)}
found |= {n: members(v) for n, v in vars(core).items() if isinstance(v, type)}
print(json.dumps(found))
"""
NATIVE: dict[str, dict[str, str]] = json.loads(
    subprocess.run(
        [sys.executable, "-c", ALONE, core.__file__], capture_output=True, text=True, check=True
    ).stdout
)


def declared(body: list[ast.stmt]) -> dict[str, str]:
    """The names of a stub's block, and what each is."""
    found = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = "class"
        elif isinstance(node, ast.FunctionDef):
            words = {ast.unparse(d) for d in node.decorator_list}
            found[node.name] = "value" if "property" in words else "function"
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            kinds = {"_Function": "function", "TypeAlias": ""}
            found[node.target.id] = kinds.get(ast.unparse(node.annotation), "value")
    return {name: kind for name, kind in found.items() if kind and name[:2] != "__"}


BODY, KERNELS = (
    ast.parse(path.read_text(encoding="utf-8")).body
    for path in (STUB, STUB.parent / "_typed" / "kernels.pyi")
)
CLASSES = {node.name: node.body for node in BODY + KERNELS if isinstance(node, ast.ClassDef)}
ONLY_TYPES = {"_Open", "Kernels"}  # classes that say how something is typed


def test_the_module() -> None:
    stub = declared(BODY)
    assert {n: k for n, k in stub.items() if n not in ONLY_TYPES} == NATIVE[""]


@pytest.mark.parametrize("name", sorted(NATIVE.keys() - {""}))
def test_a_type(name: str) -> None:
    assert declared(CLASSES[name]) == NATIVE[name]


@pytest.mark.parametrize("name", sorted(set(CLASSES) - ONLY_TYPES))
def test_special_methods_exist(name: str) -> None:
    put_on = {"__getattr__", "__setattr__", "__init__"}  # by Python, or of `object`
    named = {n.name for n in CLASSES[name] if isinstance(n, ast.FunctionDef)}
    special = {n for n in named if n.startswith("__")} - put_on
    assert not {n for n in special if not hasattr(getattr(core, name), n)}


@pytest.mark.parametrize("name", sorted(NATIVE["Kernels"].keys() - {"isa"}))
def test_a_kernel_counts_its_arguments(name: str) -> None:
    stub = next(n for n in CLASSES["Kernels"] if isinstance(n, ast.FunctionDef) and n.name == name)
    if stub.args.vararg:  # takes calls as programs write them, and leaves the others to Python
        return
    most = len(stub.args.posonlyargs or stub.args.args) - 1  # without self
    least = most - len(stub.args.defaults)
    kernel = getattr(core.kernels, name)
    for count in {least - 1, most + 1} - {-1}:
        with pytest.raises(TypeError, match=rf"^{name}\(\) takes .*, got {count}$"):
            kernel(*[None] * count)


def test_a_kernel_says_which_dimensions_and_values_are_wrong() -> None:
    x, index = torch.zeros(3, 4), torch.tensor([0])
    for dims, error in (((2,), "Dimension out of range"), ((0, 1, 0), "more dims than")):
        with pytest.raises(IndexError, match=error):
            core.kernels.index_get(x, index, dims, 0)
    with pytest.raises(ValueError, match="dims must differ"):
        core.kernels.index_get(x, index, (1, 1), 0)
    for call in (
        lambda: core.kernels.index_put(x, index, (0,), 0, torch.zeros(5), False),
        lambda: core.kernels.index_backward(torch.zeros(5), index, (0,), 0, (3, 4)),
    ):
        with pytest.raises(RuntimeError, match="shape mismatch"):
            call()
