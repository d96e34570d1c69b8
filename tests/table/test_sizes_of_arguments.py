"""No size that a program gives ends or hangs the interpreter, or gives a result of a wrong shape.

The sizes and the calls are those of size_sweep.py. Where PyTorch answers, the shapes are the same;
where it refuses, so does this library, with an exception of a kind that PyTorch has and a text.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
from functools import cache

import pytest
from size_sweep import CALLS, DATA, UNKNOWN
from size_sweep import __file__ as PROGRAM

from _alone import PATIENCE

# AssertionError and ZeroDivisionError are what PyTorch's layers in Python raise.
KINDS = frozenset(
    """RuntimeError ValueError TypeError IndexError NotImplementedError AssertionError
    ZeroDivisionError""".split()
)

# A refusal where PyTorch's numbers overflow, or where its answer means nothing: windows without a
# place, indices outside of their volume, numbers cut to 64 bits.
REFUSED = frozenset(
    """bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift bitwise
    max_pool1d max_unpool1d max_unpool2d softmin conv1d conv2d conv3d Conv1d conv_tbc hash_tensor
    fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d
    fractional_max_pool3d_with_indices rfftfreq pack2 unfold""".split()
)
# An answer, the right one, where PyTorch's own numbers overflow or need 64 bits.
ANSWERED = frozenset(
    """chunk unsafe_chunk vsplit concat roll as_strided_scatter slice_copy affine_grid
    tril_indices triu_indices arange""".split()
)


def read(text: str) -> dict[str, str]:
    return dict(line.split("\t", 1) for line in text.splitlines())


@cache
def found() -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, PROGRAM], capture_output=True, text=True, timeout=PATIENCE
    )
    last = done.stdout.rpartition("\n")[2]
    assert done.returncode == 0, f"exit {done.returncode} at {last}\n{done.stderr[-2000:]}"
    return read(done.stdout)


def is_error(outcome: str) -> bool:
    return outcome.partition(":")[0].endswith("Error")


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return read(gzip.decompress(DATA.read_bytes()).decode())


def test_every_refusal_has_a_kind_and_a_text() -> None:
    refusals = {key: said for key, said in found().items() if is_error(said)}
    assert len(refusals) > 4000
    wrong = {
        key: said
        for key, said in refusals.items()
        if said.partition(":")[0] not in KINDS or not said.partition(": ")[2]
    }
    assert not wrong


def test_no_list_grows_until_memory_ends() -> None:
    """What has no room says how much was asked for, at once: nobody waits while a list fills it."""
    grown = {key: said for key, said in found().items() if "more than memory has room" in said}
    assert not grown


def test_shapes_are_pytorchs(expected: dict[str, str]) -> None:
    assert len(expected) > 1000 and len(CALLS) > 100
    wrong = {}
    for key, said in found().items():
        theirs = expected.get(key, "refused")
        if theirs == UNKNOWN or key.split(" ")[0] in (REFUSED if is_error(said) else ANSWERED):
            continue
        if ("refused" if is_error(said) else said) != theirs:
            wrong[key] = said, theirs
    assert not wrong


def test_what_is_kept_is_called(expected: dict[str, str]) -> None:
    assert expected.keys() <= found().keys()
