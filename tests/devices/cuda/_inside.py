"""Tests in a process of their own, where CUDA's driver is the stand-in and OpenCL is PoCL: a
process looks for devices once.

A file such as _answers.py has the tests as functions `test_...`; test_answers.py runs all of them
in one process, and tells of each what it raised.
"""

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import _standin
import pytest

HERE = Path(__file__).parent
ALONE = pytest.mark.skipif(not _standin.compiler(), reason="no compiler (c++, CXX) is here")


def environment(**variables):
    """The variables of a process that finds the stand-in."""
    library = str(_standin.library())
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent), *filter(None, sys.path)]),
        "RUSHLIGHT_CUDA_LIBRARY": library,
        "RUSHLIGHT_NVRTC_LIBRARY": library,
        "RUSHLIGHT_KERNEL_CACHE": "",
        "RUSHLIGHT_CUDA": "",
        **variables,
    }


def ran(*words, **how):
    """What a process of Python prints; the test fails where the process does."""
    done = subprocess.run(
        [sys.executable, *map(str, words)], env=environment(), capture_output=True, text=True, **how
    )
    assert not done.returncode, f"exit {done.returncode}\n{done.stdout}\n{done.stderr[-3000:]}"
    return done.stdout


def names(file):
    """The names of the tests in a file of this folder."""
    lines = (HERE / file).read_text().splitlines()
    return [line[4 : line.index("(")] for line in lines if line.startswith("def test_")]


def results(file):
    """Of each test of a file what it raised, or an empty text."""
    return json.loads(ran(HERE / "_inside.py", file).splitlines()[-1])


def _one(test):
    try:
        test()
        assert _standin.opened().standin_violations() == 0, _standin.said()
    except BaseException:
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    import _pocl

    _pocl.prepare()
    tests = __import__(sys.argv[1].removesuffix(".py"))
    print(json.dumps({name: _one(getattr(tests, name)) for name in names(sys.argv[1])}))
