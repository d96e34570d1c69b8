"""Programs that run in an interpreter of their own, since a defect would take the tests with it."""

import contextlib
import io
import os
import subprocess
import sys
import textwrap

from _subject import NAME

# Seconds after which a test takes a process or a thread for hung. Other work may slow the machine
# down manyfold, so tests wait for what happens, and only a defect waits so long. What a test starts
# and expects to be ended sleeps longer than that.
PATIENCE = 900


def run_alone(program: str, stack: int | None = None, debug: bool = False) -> str:
    """Run a program in a fresh interpreter and give its output; anything but exit code 0 fails.

    `stack` bounds the C stack in bytes. `debug` fills freed Python memory with a pattern, so that
    its use after that is a crash.
    """
    source = f"import {NAME} as torch, gc, sys, threading\n" + textwrap.dedent(program)
    if sys.platform == "emscripten":  # no processes: there a defect takes the tests with it
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(source, {"__name__": "__main__"})
        return said.getvalue()

    def bounded():
        import resource

        resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))

    environment = dict(os.environ)
    if debug and environment.get("PYTHONMALLOC") != "malloc":  # as under the sanitizers
        environment["PYTHONMALLOC"] = "debug"
    done = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        preexec_fn=bounded if stack else None,
        env=environment,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr[-2000:]}"
    return done.stdout
