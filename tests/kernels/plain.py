"""Tests of the kernels against the plain definitions beside them (native/kernels/isa/)."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rushlight import _core

FOLDER = Path(__file__).resolve().parents[2] / "native" / "kernels" / "isa"


def definition(name: str) -> ModuleType:
    """The module {name}.py, in a subject's folder of native/kernels/isa/."""
    path = next(FOLDER.rglob(f"{name}.py"))
    spec = importlib.util.spec_from_file_location(f"plain_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_threads(run: Callable[[], Any], counts: tuple[int, ...] = (1, 2)) -> list[Any]:
    """What `run` gives on each number of threads."""
    before = _core.get_num_threads()
    results = []
    try:
        for n in counts:
            _core.set_num_threads(n)
            results.append(run())
    finally:
        _core.set_num_threads(before)
    return results


def on_one_thread_and_two(run: Callable[[], Any]) -> Any:
    """What `run` gives, an array or several: the same bits on one thread and on two."""
    results = on_threads(run)
    one, two = (r if isinstance(r, (tuple, list)) else (r,) for r in results)
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)
    return results[0]


def within(actual: Any, expected: Any, bound: Any) -> None:
    """The shape of what is expected, and no element further from it than the bound."""
    assert actual.shape == np.shape(expected)
    assert (np.abs(np.asarray(actual, np.float64) - expected) <= bound).all()
