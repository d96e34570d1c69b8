"""All tests of the kernels again, on the instruction sets that are not the one in use.

A process chooses its set as it loads the core; so each set has a process of its own, which runs the
other files of this folder.
"""

import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from rushlight import _core

SETS = ("baseline", "v2", "v3", "v4")  # from the plainest to the best
X86 = platform.machine().lower() in ("x86_64", "amd64")


def environment(wanted: str) -> dict[str, str]:
    """This process's, without what pytest put there for itself."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return kept | {"RUSHLIGHT_ISA": wanted}


@cache
def chosen(wanted: str) -> str:
    """The set of a process that is asked for one."""
    return subprocess.run(
        [sys.executable, "-c", "from rushlight import _core; print(_core.isa())"],
        env=environment(wanted),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


# Those that this build has and this processor runs, but for the one that the other files ran on.
OTHERS = [name for name in SETS if name != _core.isa() and chosen(name) == name]


@pytest.mark.parametrize("wanted", OTHERS)
def test_the_kernels_on_another_instruction_set(wanted: str):
    here = Path(__file__)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--ignore={here}"]
    done = subprocess.run(
        [*command, str(here.parent)],
        env=environment(wanted),
        cwd=here.parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]


def test_a_processor_of_several_sets_runs_the_one_asked_for():
    """Else the test above could run on none, and nobody would know."""
    assert chosen("v2") == ("v2" if X86 else "baseline")


@pytest.mark.parametrize("wanted", ["", "v9", "V2", "avx2", "v2 "])
def test_a_set_that_does_not_exist_is_as_none_asked_for(wanted: str):
    best = max((*OTHERS, _core.isa()), key=SETS.index)
    assert chosen(wanted) == best


def test_the_set_in_use_is_said_everywhere_alike():
    assert _core.isa() == _core.kernels.isa
