"""How a case of the catalogue is written down, and how it is checked.

A case is a program in plain torch API, a function of the library. It is run on the library under
test and, where PyTorch is installed, on PyTorch too; the texts written out are PyTorch's own.
"""

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One program and what it raises: which text of the catalogue, and how that begins."""

    name: str
    way: str
    kind: Any  # the class, or the name of one that only the library under test can give
    text: str
    run: Callable[[Any], Any]
    better: str = ""  # why PyTorch raises here and this library gives a value
    gives: Any = None  # that value, as a number or nested lists
    stricter: str = ""  # why this library raises here and PyTorch does not


CASES: list[Case] = []


def _adder(way: str, name: str, kind: Any, text: str, **more: Any) -> Any:
    def add(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        CASES.append(Case(name, way, kind, text, function, **more))
        return function

    return add


def error(name: str, kind: Any, text: str, **more: Any) -> Any:
    """A case: the function raises `kind` with a message that starts with `text`.

    better=, gives=: on PyTorch; here it gives that value, for the reason said. stricter=: here;
    PyTorch says nothing.
    """
    return _adder("error", name, kind, text, **more)


def warning(name: str, kind: Any, text: str, **more: Any) -> Any:
    """A case: the function warns with `kind` and a message that starts with `text`."""
    return _adder("warning", name, kind, text, **more)


# What many programs begin with


def leaf(t: Any, *shape: int, **options: Any) -> Any:
    """Ones that require grad, of 3 elements where no shape is given."""
    return t.ones(*(shape or (3,)), requires_grad=True, **options)


def sub(t: Any, path: str) -> Any:
    """The library's submodule."""
    return importlib.import_module(f"{t.__name__}.{path}")


def function(t: Any, forward: Any, backward: Any = None, name: str = "F", **more: Any) -> Any:
    """A custom Function of the library `t`."""
    members = {"forward": staticmethod(forward), **more}
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type(name, (t.autograd.Function,), members)


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad()."
)


# Checking


def _outcome(t: Any, case: Case) -> tuple[Any, str | list[str]]:
    """(type, text) of the error that the case raises, or (type, texts) of the wanted warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if t.__name__ == "torch":
            t.set_warn_always(True)  # PyTorch gives some warnings once per process
        try:
            case.run(t)
        except Exception as e:
            if case.way == "error":
                return type(e), str(e)
            raise
    assert case.way == "warning", "nothing was raised"
    return case.kind, [str(w.message) for w in caught if w.category is case.kind]


def _says_it(t: Any, case: Case) -> None:
    got, said = _outcome(t, case)
    if case.way == "warning":
        found = any(s.startswith(case.text) for s in said)
        assert found, f"{said} has nothing that starts with {case.text!r}"
        assert t.__name__ == "torch" or not any("Triggered internally" in s for s in said)
        return
    if isinstance(case.kind, str):
        assert got.__name__ == case.kind, f"{got}: {said}"
        assert issubclass(got, RuntimeError)
    else:
        assert got is case.kind, f"{got}: {said}"
    assert said.startswith(case.text), f"{said!r} does not start with {case.text!r}"


def _says_nothing(t: Any, case: Case) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = case.run(t)
    assert not [w for w in caught if str(w.message).startswith(case.text)]
    return value


def check_here(t: Any, case: Case) -> None:
    """The library under test: PyTorch's words, or the value it gives instead."""
    if not case.better:
        _says_it(t, case)
        return
    value = _says_nothing(t, case)
    value = value.tolist() if isinstance(value, t.Tensor) else value
    np.testing.assert_allclose(value, case.gives, rtol=1e-6)


def check_there(t: Any, case: Case) -> None:
    """PyTorch itself."""
    (_says_nothing if case.stricter else _says_it)(t, case)
