"""CUDA's tests run in processes of their own (cuda/_inside.py), beside others' in pytest's."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE / "cuda"))
import _inside  # noqa: E402
import _standin  # noqa: E402

pytestmark = pytest.mark.skipif(not _standin.compiler(), reason="no compiler (c++, CXX) is here")


def test_neither_sees_the_others_devices():
    others = "test_accelerator_there.py", "test_as_cuda.py", "../elsewhere/test_devices.py"
    ours = HERE / "cuda" / "test_steps.py"
    first, last = f"{ours}::test_norm", f"{ours}::test_norm_of_strided_and_of_halves"
    files = [first, *(HERE / name for name in others), last]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


CASES = """
import os
import pytest

seen = []

@pytest.fixture(scope="module")
def shared():
    seen.append(1)

def test_first(shared): print("some words")
def test_second(shared): assert seen == [1, 1]
def test_third(): os._exit(3)
"""


def test_what_a_child_tells(tmp_path, request):
    file = tmp_path / "test_cases.py"
    file.write_text(CASES)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")  # names of tests begin here

    def item(name):
        named = f"test_cases.py::test_{name}"
        return SimpleNamespace(nodeid=named, location=(file.name, 0, name), keywords={})

    child = _inside.Child(request.config, file)
    first, second = (child.reports(item(n), item("third")) for n in ("first", "second"))
    assert [(r.when, r.outcome) for r in first] == [
        ("setup", "passed"),
        ("call", "passed"),
        ("teardown", "passed"),
    ]
    assert first[1].capstdout == "some words\n"
    assert second[1].failed and "assert [1] == [1, 1]" in second[1].longreprtext
    (lost,) = child.reports(item("third"), None)
    assert lost.failed and "the process ended with 3" in lost.longreprtext
    child.end()
