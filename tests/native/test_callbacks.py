"""What the core calls back into is declared in native/core/callbacks.h."""

import subprocess
import sys

import pytest

import rushlight._core as core
from rushlight._callbacks import _PLACES, _find


def test_all_are_registered_or_found() -> None:
    core.check_registered(list(_PLACES))
    assert all(_find(name) is not None for name in _PLACES)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(TypeError, match="does not know the callback 'sum_too'"):
        core.register(callbacks={"sum_too": print})


def test_what_is_registered_stays() -> None:
    with pytest.raises(RuntimeError, match="callback 'Generator' is registered already"):
        core.register(callbacks={"Generator": print})


def test_missing_ones_are_named() -> None:
    """In a core of its own, with one callback only."""
    code = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("rushlight._core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
core.register(callbacks={"sum_to": print})
try:
    core.check_registered(["sub"])
except RuntimeError as e:
    print(e)
"""
    call = [sys.executable, "-c", code, core.__file__]
    told = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    assert "not registered: find, add, alias" in told
    assert not {"sum_to", "sub"} & set(told.replace(",", " ").split())
