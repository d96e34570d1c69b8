"""Commands on a script, as real processes."""

import os
import subprocess
import sys
import textwrap
from functools import partial

import pytest

from _alone import PATIENCE


@pytest.fixture
def command(tmp_path):
    """`command(verb, script)` gives what runs that command of rushlight in a folder of its own."""

    def call(verb, text, *arguments, script=None, name="train.py"):
        given = textwrap.dedent(text if script is None else script)
        (tmp_path / name).write_text(given, encoding="utf-8")
        return subprocess.run(
            [sys.executable, "-m", "rushlight", verb, *arguments],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def of(verb, text):
        run = partial(call, verb, text)
        run.folder = tmp_path
        return run

    return of
