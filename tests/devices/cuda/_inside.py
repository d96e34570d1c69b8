"""Each file of this folder runs in a pytest of its own, where CUDA's driver is the stand-in and
OpenCL is PoCL: a process looks for devices once, and the tests of other folders look for them too.

pytest's process has a `Child` for the file whose tests run; `serve` is the child.
"""

import contextlib
import os
import subprocess
import sys
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from tempfile import TemporaryFile

import _standin
import pytest

HERE = Path(__file__).parent


def environment():
    """The variables of a process that finds the stand-in."""
    library = str(_standin.library())
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent), *filter(None, sys.path)]),
        "PYTEST_ADDOPTS": "",
        "RUSHLIGHT_CUDA_LIBRARY": library,
        "RUSHLIGHT_NVRTC_LIBRARY": library,
        "RUSHLIGHT_CUBLAS_LIBRARY": "",  # not a card's
        "RUSHLIGHT_CUDNN_LIBRARY": "",
        "RUSHLIGHT_KERNEL_CACHE": "",
        "RUSHLIGHT_COMPILE_AFTER": str(1 << 26),  # the system's compiler takes a second for each
        "RUSHLIGHT_CUDA": "",
    }


def ran(*words, **how):
    """What a process of Python prints; the test fails where the process does."""
    done = subprocess.run(
        [sys.executable, *map(str, words)], env=environment(), capture_output=True, text=True, **how
    )
    assert not done.returncode, f"exit {done.returncode}\n{done.stdout}\n{done.stderr[-3000:]}"
    return done.stdout


class Child:
    """The process in which a file's tests run."""

    def __init__(self, config, path):
        self.config, self.path = config, path
        self.wire, there = Pipe()
        self.log = TemporaryFile("w+")  # noqa: SIM115
        program = f"import _inside; _inside.serve({there.fileno()}, {str(path)!r})"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=config.rootpath,
            env=environment(),
            pass_fds=[there.fileno()],
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        there.close()

    def reports(self, item, following):
        """Those of a test, which is followed by another or by None."""
        try:
            self.wire.send((item.nodeid, following and following.nodeid))
            found = self.wire.recv()
        except (EOFError, OSError):
            return [self.lost(item)]
        load = self.config.hook.pytest_report_from_serializable
        return [load(config=self.config, data=data) for data in found]

    def lost(self, item):
        """The report of a test whose process has ended."""
        code = self.process.wait()
        self.log.seek(0)
        words = f"the process ended with {code}\n{self.log.read()[-3000:]}"
        names = item.nodeid, item.location, dict.fromkeys(item.keywords, 1)
        return pytest.TestReport(*names, "failed", words, "call")

    def end(self):
        self.wire.close()
        self.process.wait()
        self.log.close()


class Server:
    """Runs the tests that are named, and answers by their reports."""

    def __init__(self, wire):
        self.wire, self.found = wire, []

    def pytest_runtestloop(self, session):
        self.config, items = session.config, {item.nodeid: item for item in session.items}
        with contextlib.suppress(EOFError):
            while True:
                name, following = self.wire.recv()
                item, following = items[name], items.get(following)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                self.wire.send(self.found)
                self.found = []
        return True

    def pytest_runtest_logreport(self, report):
        save = self.config.hook.pytest_report_to_serializable
        self.found.append(save(config=self.config, report=report))


serving = False


def serve(number, path):
    """Be the child that runs a file's tests; number: of the end of a pipe."""
    global serving
    serving = True
    pytest.main(["-p", "no:cacheprovider", path], plugins=[Server(Connection(number))])
