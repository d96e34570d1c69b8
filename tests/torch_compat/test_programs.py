"""Short programs that print the same on both libraries, or raise and warn alike.

A program is a few lines, and the value of the last is what it gives; what stands before the first
colon of a warning's or an error's text, and its class, is compared too, but for PyTorch's warning
that complex32 is new. Programs in `programs.txt`
are separated by blank lines.
"""

import ast
import importlib
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rushlight

pytorch = pytest.importorskip("torch")
importlib.import_module("torch.nn.utils.prune")  # PyTorch does not on its own
PROGRAMS = (Path(__file__).parent / "programs.txt").read_text().strip().split("\n\n")


def _text(value: Any) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", str(value)).replace("rushlight", "torch")


def _sentence(error: Any) -> tuple[str, str]:
    return type(error).__name__, re.split(r"\n|\. |: \[", _text(error))[0].rstrip(".")


def _run(torch: Any, program: str) -> tuple[Any, Any]:
    names: dict[str, Any] = {
        "torch": torch,
        "F": torch.nn.functional,
        "__name__": "program",
        "importlib": importlib,
    }
    tree = ast.parse(program)
    last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            exec(compile(tree, "program", "exec"), names)
            result: Any = _text(repr(eval(compile(last, "program", "eval"), names)))
        except Exception as error:
            result = _sentence(error)
        finally:
            torch.use_deterministic_algorithms(False)
    return result, [
        s for s in map(_sentence, [w.message for w in warned]) if "ComplexHalf" not in s[1]
    ]


@pytest.fixture(autouse=True)
def _warn_each_time() -> Iterator[None]:
    for torch in (pytorch, rushlight):
        torch.set_warn_always(True)
    yield
    for torch in (pytorch, rushlight):
        torch.set_warn_always(False)


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program: str) -> None:
    assert _run(rushlight, program) == _run(pytorch, program)
