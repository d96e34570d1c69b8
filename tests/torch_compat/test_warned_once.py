"""Warnings given once in a process: each call in a process of its own, on both libraries."""

import subprocess
import sys

import pytest

pytest.importorskip("torch")

CALLS = [
    "t.searchsorted(t.ones(2, 4)[:, ::2], t.ones(2, 1))",
    "t.searchsorted(t.ones(2, 2), t.ones(2, 2).t())",
    "t.searchsorted(t.ones(2, 2), t.ones(2, 2), sorter=t.zeros(2, 2, dtype=t.int64).t())",
    "t.bucketize(t.ones(2), t.ones(4)[::2])",
    "t.searchsorted(t.ones(2), t.ones(3))",
    "t.set_default_tensor_type(t.FloatTensor)",
]
PROGRAM = """
import warnings
import {library} as t
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        {call}
for w in caught:
    print(w.category.__name__, str(w.message).partition(" (Triggered")[0])
"""


def _said(library: str, call: str) -> str:
    program = PROGRAM.format(library=library, call=call)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("call", CALLS)
def test_warns_as_torch(call):
    assert _said("rushlight", call) == _said("torch", call)
