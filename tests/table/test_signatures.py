"""What the signatures of the table say to programs: PyTorch's overloads, in errors and help()."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import rushlight
from rushlight.ops import OPS, namespace
from rushlight.ops.table.kinds import constant
from rushlight.ops.table.signature import read

SPACES = {"torch": "", "nn": "nn.functional.", "linalg": "linalg.", "special": "special."}
METHODS = SPACES | {"Tensor": "Tensor."}
PUBLIC = [
    (where, name)
    for where in SPACES
    for name, function in namespace(where).items()
    if not name.startswith("_") and not isinstance(function, type)
]


def found(module: Any, where: str, name: str) -> Any:
    for part in (METHODS[where] + name).split("."):
        module = getattr(module, part, None)
    return module


def names(where_and_name: tuple[str, str]) -> str:
    return ".".join(where_and_name)


@pytest.mark.parametrize("key", PUBLIC, ids=names)
def test_inspect_shows_pythons_own_form(key: tuple[str, str]) -> None:
    """Types are those of annotations."""
    signature = inspect.signature(found(rushlight, *key))
    for p in signature.parameters.values():
        text = str(p.annotation)
        assert not re.search(r"\b(plain|Operand|flag|dims:)", text), str(signature)


OVERLOADED = [
    (entry.namespace, name)
    for name, entry in OPS.items()
    if entry.overloads and name in namespace(entry.namespace) and entry.namespace in SPACES
]


def listed(function: Any) -> list[str]:
    """The overloads that an error names."""
    with pytest.raises(TypeError) as caught:
        function(*[1] * 12, zz=3)
    text = str(caught.value)
    return [line.strip() for line in text.split("\n") if line.strip().startswith("* (")]


@pytest.mark.parametrize("key", OVERLOADED, ids=names)
def test_errors_list_pytorchs_overloads(key: tuple[str, str]) -> None:
    torch = pytest.importorskip("torch")
    theirs = found(torch, *key)
    if not inspect.isbuiltin(theirs):
        pytest.skip("a Python function in PyTorch: its error is Python's")
    if key == ("torch", "nonzero"):
        pytest.skip("PyTorch counts its positional arguments first")
    assert listed(found(rushlight, *key)) == listed(theirs)


def test_a_bare_parameter_is_that_of_the_functions_own_signature() -> None:
    own = read("f(input: Tensor, dim: int | None = None, *, value: Number = 2)")
    there = read("(input, dim: Ints, *, value, out)", own)
    assert str(there) == "(Tensor input, tuple of ints dim, *, Number value = 2, Tensor out = None)"


@pytest.mark.parametrize(
    ("signature", "text"),
    [
        ("_unknown(input: Tensr)", "'Tensr' is no type of a signature"),
        ("_untyped(input)", "a parameter says its type, 'input: Tensor' for one"),
    ],
)
def test_what_a_signature_cannot_say_is_refused(signature: str, text: str) -> None:
    with pytest.raises(TypeError, match=re.escape(text)):
        constant(signature, lambda a: a, method=False, doc="Not made.")
    assert signature.partition("(")[0] not in OPS
