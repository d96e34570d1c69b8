"""What the core calls back into is declared in native/core/callbacks.h."""

import subprocess
import sys

import pytest

import rushlight._core as core


def test_all_are_registered() -> None:
    core.check_registered()


def test_unknown_names_are_refused() -> None:
    with pytest.raises(TypeError, match="does not know the callback 'sum_too'"):
        core.register(callbacks={"sum_too": print})


def test_what_is_registered_stays() -> None:
    with pytest.raises(RuntimeError, match="callback 'sum_to' is registered already"):
        core.register(callbacks={"sum_to": print})


def test_missing_ones_are_named() -> None:
    """In a core of its own, with one callback only."""
    code = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("rushlight._core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
core.register(callbacks={"sum_to": print})
try:
    core.check_registered()
except RuntimeError as e:
    print(e)
"""
    call = [sys.executable, "-c", code, core.__file__]
    told = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    assert "not registered: add, alias" in told and "sum_to" not in told
