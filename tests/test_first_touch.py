"""What an import costs, and when the files of the op table are read.

Costs are counted, not timed: modules, and instructions of Python's that run.
"""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Runs imports and counts: modules of ours, all modules, instructions of our files.
COUNTED = """
import json, sys
instructions = 0
def count(frame, event, _):
    global instructions
    if "rushlight" not in frame.f_code.co_filename:
        return None
    frame.f_trace_opcodes, frame.f_trace_lines = True, False
    instructions += event == "opcode"
    return count
before = set(sys.modules)
sys.settrace(count)
IMPORTS
sys.settrace(None)
new = set(sys.modules) - before
print(json.dumps([sum(n.startswith("rushlight") for n in new), len(new), instructions]))
"""


def output(program, *options):
    ran = subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize(
    ("imports", "most"),
    [
        ("import rushlight", (60, 100, 130_000)),
        ("import rushlight; rushlight.install_as_torch(); import torch", (65, 160, 430_000)),
    ],
)
def test_what_an_import_costs(imports, most):
    """Modules of ours, all modules, and instructions."""
    counted = json.loads(output(COUNTED.replace("IMPORTS", imports)))
    assert [n <= limit for n, limit in zip(counted, most, strict=True)] == [True] * 3, counted


def test_the_index_is_current():
    command = [sys.executable, ROOT / "tools" / "ops_index.py", "--check"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


def test_a_file_is_read_when_one_of_its_names_is_asked_for():
    program = """
        import sys
        import rushlight as torch

        def read():
            return {n[14:] for n in sys.modules if n.startswith("rushlight.ops.")}

        assert not {"layers.softmax", "matrix.norms", "elementwise.bessel"} & read()
        assert "grid_sample" in dir(torch.nn.functional) and "softmax" in dir(torch)
        assert "bessel_j0" in torch.special.__all__ and "cholesky" in dir(torch.Tensor)
        assert not {"layers.softmax", "matrix.norms", "elementwise.bessel"} & read()
        torch.softmax(torch.ones(2), 0)
        torch.ones(2).norm()
        torch.special.bessel_j0(torch.ones(2))
        assert {"layers.softmax", "matrix.norms", "elementwise.bessel"} <= read()
        assert torch.return_types.topk._fields == ("values", "indices")
        assert "spectral.fourier" not in read()
        assert "rfft" in vars(torch.fft) and "spectral.fourier" in read()
    """
    output(program)


def test_each_file_can_be_the_first_that_is_read():
    """A file that asks, while it is read, for a name of a file further right is in a circle."""
    program = """
        import importlib, os
        import rushlight as torch
        from rushlight.ops.table import names

        assert len(names._ORDER) > 50
        for file in names._ORDER:
            if not (child := os.fork()):
                wrong = 1
                try:
                    importlib.import_module(file)
                    x = torch.ones(2, requires_grad=True)
                    (x * 3).sum().backward()
                    wrong = x.grad.tolist() != [3, 3]
                finally:
                    os._exit(wrong)
            assert os.waitpid(child, 0)[1] == 0, file
    """
    output(program)


def test_an_import_that_is_interrupted_can_be_repeated():
    """Ctrl-C while one statement, of each twentieth, is read; then the same is asked for again."""
    program = """
        import os, sys
        import rushlight as torch
        from rushlight.ops.table import kinds, statement

        def step():
            x = torch.tensor([[1.0, 2.0], [3.0, 4.5]], requires_grad=True)
            y = torch.softmax(x.sigmoid() + x[0], 0).cumsum(1).sum() + torch.linalg.det(x)
            y.backward()
            return [round(n, 4) for n in x.grad.flatten().tolist()]

        def interrupted(at):
            made = 0
            def make(*args):
                nonlocal made
                made += 1
                if made == at:
                    raise KeyboardInterrupt
                return make_op(*args)
            statement._core.make_op, make_op = make, statement._core.make_op
            try:
                step()
            except KeyboardInterrupt:
                made = -1
            finally:
                statement._core.make_op = make_op
            return made

        for at in range(1, 10_000, 20):
            if not (child := os.fork()):
                wrong = 1
                try:
                    made = interrupted(at)
                    found = step()
                    wrong = 2 if made >= 0 else found != [4.5, -3.0, -2.0, 1.0]
                    wrong = wrong and (print(at, made, found) or wrong)
                finally:
                    sys.stdout.flush()
                    os._exit(wrong)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code == 2:
                break
            assert not code, at
        assert at > 100
    """
    output(program)


def test_what_a_program_puts_in_the_place_of_a_member_stays():
    program = """
        import rushlight as torch

        torch.Tensor.relu = lambda self: "mine"
        torch.sigmoid = "mine, too"
        assert len(torch.ops.OPS) > 900
        assert torch.ones(1).relu() == "mine" and torch.sigmoid == "mine, too"
        assert torch.ones(1).sigmoid().shape == (1,)
    """
    output(program)


def test_the_package_can_be_loaded_anew():
    program = """
        import importlib
        import rushlight as torch

        importlib.reload(torch)
        assert "backends" in vars(torch)
        w = torch.ones(2, requires_grad=True)
        assert len(torch.explain.graph(w * w).nodes) == 2
        importlib.reload(torch)
    """
    output(program)


def test_nothing_is_left_unread():
    program = """
        import rushlight as torch
        from rushlight.ops.table import names

        assert len(torch.ops.OPS) > 900
        assert not names._UNREAD, names._UNREAD
        for space in ("torch", "nn", "linalg", "fft", "special"):
            assert sorted(torch.ops.namespace(space).known()) == sorted(torch.ops.namespace(space))
    """
    output(program)


def test_threads_that_ask_first_at_the_same_time():
    program = """
        import random, sys, threading
        import rushlight as torch

        sys.setswitchinterval(1e-5)
        names = [n for n in torch.ops.namespace("torch").known() if n[0] != "_"]
        members = [n for n in dir(torch.Tensor) if n[0] != "_"]
        start, wrong = threading.Barrier(8), []

        def ask(seed):
            own, shown = random.Random(seed), random.Random(seed)
            start.wait()
            try:
                for name in own.sample(names, len(names)):
                    getattr(torch, name)
                for name in shown.sample(members, len(members)):
                    getattr(torch.Tensor, name)
                x = torch.ones(2, requires_grad=True)
                (x.exp() * 2 - x[0]).sum().backward()
                assert x.grad.tolist() == [2 * x[0].exp().item() - 2, 2 * x[0].exp().item()]
            except BaseException as error:
                wrong.append(repr(error))

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong
    """
    output(program)
