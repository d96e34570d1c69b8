"""`rushlight run --watch`: programs in processes of their own, on a pipe or on a pseudo-terminal.

Half the time of such a process is matplotlib's: a test that is not of the picture does without.
"""

import errno
import os
import re
import select
import signal
import struct
import subprocess
import sys
import textwrap
import time

import pytest
from watched import HOSTILE, TRAIN, Screen, is_picture, table

from _alone import PATIENCE


@pytest.fixture
def surroundings(tmp_path):
    """The environment of a process; one without a picture finds no matplotlib."""

    def made(picture, **given):
        folders = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
        if not picture:
            folders.insert(0, str(tmp_path / "without"))
            (tmp_path / "without").mkdir(exist_ok=True)
            (tmp_path / "without" / "matplotlib.py").write_text("raise ImportError('none here')")
        return os.environ | {"PYTHONPATH": os.pathsep.join(folders)} | given

    return made


@pytest.fixture
def command(tmp_path, surroundings):
    """Runs the command with what is given, on pipes."""

    def run(*arguments, picture=False, **options):
        return subprocess.run(
            [sys.executable, "-m", "rushlight", "run", *arguments],
            cwd=tmp_path,
            env=surroundings(picture),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            **options,
        )

    return run


@pytest.fixture
def program(tmp_path, command):
    """Runs a program's text by the command with the options given, on pipes."""

    def run(text, *options, picture=False):
        (tmp_path / "prog.py").write_text(textwrap.dedent(text), encoding="utf-8")
        return command(*options, "prog.py", picture=picture, stdin=subprocess.DEVNULL)

    return run


@pytest.fixture
def terminal(tmp_path, surroundings):
    """Runs a program by the command on a terminal; gives what was written, and the exit code."""

    def run(text, columns=80, rows=24, interrupt=None, picture=False, **environment):
        import fcntl
        import pty
        import termios

        (tmp_path / "prog.py").write_text(textwrap.dedent(text), encoding="utf-8")
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        settings = {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
        found = surroundings(picture, **settings | environment)
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            found.pop(name, None)
        process = subprocess.Popen(
            [sys.executable, "-m", "rushlight", "run", "--watch", "prog.py"],
            cwd=tmp_path,
            env=found,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            # Ignored in what a shell runs in the background, and by what that starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(theirs)
        out, ends = b"", time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            if interrupt is not None and interrupt.encode() in out:
                process.send_signal(signal.SIGINT)
                interrupt = None
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(ours, 65536)
            except OSError as error:  # how Linux says that the other end is closed
                assert error.errno == errno.EIO
                break
            if not data:
                break
            out += data
        os.close(ours)
        return out.decode(), process.wait(PATIENCE)

    return run


def test_the_output_is_the_programs_own(program, tmp_path):
    plain, done = program(TRAIN), program(TRAIN, "--watch", picture=True)
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    rows = table(done.stderr)
    assert rows["prog.py:7"] == ["1.562", "10.78", "1.562", "3", "3"]
    assert rows["SGD"] == ["2", "2.5", "5", "10", "1", "0.25"]
    assert done.stderr.startswith("rushlight watch: prog.py, step 3 · ")
    assert done.stderr.endswith("rushlight watch: the curves are in prog.watch.png\n")
    assert is_picture(tmp_path / "prog.watch.png")


def test_the_file_is_named(program, tmp_path):
    (tmp_path / "sub").mkdir()
    done = program("import os; os.chdir('/')\n" + TRAIN, "--watch=sub/mine.png", picture=True)
    assert "the curves are in sub/mine.png" in done.stderr
    assert is_picture(tmp_path / "sub" / "mine.png")


def test_with_the_trace(program):
    """Nothing of the watching is in the trace."""
    plain = program(TRAIN, "--trace")
    for options in (("--trace", "--watch"), ("--watch", "--trace")):
        done = program(TRAIN, *options)
        lines = [[line.split()[:2] for line in d.stderr.splitlines()] for d in (plain, done)]
        assert lines[1][: len(lines[0])] == lines[0] != []
        assert lines[1][len(lines[0])] == ["rushlight", "watch:"]


def test_a_module_a_line_and_standard_input(command, tmp_path):
    (tmp_path / "mod.py").write_text(TRAIN)
    for arguments, given, name, picture in (
        (["-m", "mod", "a"], None, "mod", False),
        (["-c", TRAIN, "a"], None, "command", False),
        (["-", "a"], TRAIN, "stdin", True),
    ):
        done = command("--watch", *arguments, input=given, picture=picture)
        assert (done.returncode, done.stdout) == (0, "step 0\nstep 1\nstep 2\n"), done.stderr
        file = f"{name}.watch.png"
        said = f"the curves are in {file}" if picture else f"{file} was not written: matplotlib"
        assert f"rushlight watch: {said}" in done.stderr
        assert not picture or is_picture(tmp_path / file)


@pytest.mark.parametrize(
    "end, code, said", [("raise SystemExit(7)", 7, ""), ("import sys; sys.exit('why')", 1, "why\n")]
)
def test_the_end_is_the_programs_own(program, end, code, said):
    done = program(TRAIN + end, "--watch")
    assert (done.returncode, done.stdout) == (code, "step 0\nstep 1\nstep 2\n")
    assert done.stderr.endswith("(pip install rushlight[watch])\n" + said)
    assert table(done.stderr)["SGD"][:2] == ["2", "2.5"]


def test_an_exception_is_the_programs_own(program, tmp_path):
    plain, done = program(TRAIN + "1 / 0"), program(TRAIN + "1 / 0", "--watch", picture=True)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert done.returncode == 1
    assert "ZeroDivisionError" in plain.stderr
    assert done.stderr.endswith("prog.watch.png\n" + plain.stderr)
    assert table(done.stderr)["SGD"][:2] == ["2", "2.5"]
    assert is_picture(tmp_path / "prog.watch.png")


def test_an_exception_inside_backward(program):
    text = """
        import torch
        x = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([x], lr=.1)
        def closure():
            y = x * x
            y.register_hook(lambda g: 1 / 0)
            y.sum().backward()
        optimizer.step(closure)
    """
    plain, done = program(text), program(text, "--watch")
    assert done.returncode == plain.returncode == 1
    assert done.stderr.endswith(plain.stderr)
    assert "ZeroDivisionError" in plain.stderr


def test_what_is_not_imported(program):
    """pyplot, which has figures of the program's; and IPython, without a notebook."""
    done = program(
        "import sys, rushlight\n" + TRAIN + "import atexit\n"
        "print('IPython' in sys.modules)\n"
        "atexit.register(lambda: print(*(n in sys.modules for n in "
        "('matplotlib', 'matplotlib.pyplot', 'IPython'))))",
        "--watch",
        picture=True,
    )
    assert done.stdout.endswith("False\nTrue False False\n")


def test_nobody_who_does_not_watch_pays(program):
    done = program(
        TRAIN + "import sys\n"
        "print(any('explain' in name or name == 'rich' for name in sys.modules))\n"
        "print('step' in vars(optimizer))"
    )
    assert done.stdout.endswith("False\nFalse\n")


def test_processes_that_the_program_starts_are_not_watched(program):
    done = program(
        """
        import os, subprocess, sys, torch
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
        if os.fork() == 0:
            (x * x).sum().backward()
            print("child", flush=True)
            sys.exit()
        os.wait()
        code = "import torch; x = torch.ones(1, requires_grad=True); (x * x).sum().backward()"
        subprocess.run([sys.executable, "-c", code], check=True)
        """,
        "--watch",
    )
    assert done.stdout == "child\n"
    assert table(done.stderr)["prog.py:4"][-1] == "1"
    assert done.stderr.count("rushlight watch: prog.py") == 1


def test_workers_of_a_data_loader(program):
    done = program(
        """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        x = torch.ones(2, requires_grad=True)
        for _ in range(2):
            for (batch,) in DataLoader(TensorDataset(torch.ones(4, 2)), num_workers=2):
                (x * batch).sum().backward()
        """,
        "--watch",
    )
    assert done.returncode == 0, done.stderr
    assert table(done.stderr)["prog.py:7"][-1] == "8"


def test_the_live_view(terminal, tmp_path):
    text, code = terminal(
        TRAIN.replace("range(3)", "range(40)").replace('"step"', '"at", x.tolist()')
        + "import sys; print('last words', file=sys.stderr)\n",
        picture=True,
    )
    assert code == 0
    shown = Screen(80, 24).feed(text).text
    printed, _, view = shown.partition("── prog.py ─")
    lines = printed.splitlines()
    assert len(lines) == 41
    assert lines[0] == "at [1.5, 2.0] 0"
    assert lines[-1] == "last words"
    # How fast it was is the machine's; the other figures are the program's.
    assert re.search(r"step 40 · [\d,.]+/s · \d:\d\d:\d\d ──\n", view)
    assert re.search(r"^prog\.py:7 +\S+ +\S+ +\S+ +40$", view, re.M)
    assert re.search(r"^SGD +2 +\S+ +\S+ +0\.25 +█▇*", view, re.M)
    assert "log scale" in view
    assert shown.rstrip().endswith("rushlight watch: the curves are in prog.watch.png")
    assert shown.count("gradient norm") == 1
    assert text.count("── prog.py") > 3, "it was drawn anew as it went"
    assert is_picture(tmp_path / "prog.watch.png")


def test_the_size_is_the_terminals(terminal):
    text, code = terminal(HOSTILE, columns=40, rows=12)
    assert code == 0
    view, _, _ = text.partition("rushlight watch: prog.watch.png")  # a sentence is as long as it is
    screen = Screen(40, 12).feed(view)
    assert not screen.wrapped
    assert max(map(len, screen.lines)) == 39
    assert len(screen.lines) <= 12


def test_an_exception_in_a_terminal(terminal):
    bad = TRAIN + "1 / 0"
    text, code = terminal(bad, picture=True)
    shown = Screen(80, 24).feed(text).text
    assert code == 1
    assert shown.rstrip().endswith("\nZeroDivisionError: division by zero")
    order = [shown.index(word) for word in ("step 2", "── prog", "the curves are", "Traceback")]
    assert order == sorted(order)


def test_an_interrupt(terminal, tmp_path):
    text, code = terminal(
        TRAIN + "print('waiting', flush=True)\nimport time; time.sleep(3600)",
        interrupt="waiting",
        picture=True,
    )
    assert code == -signal.SIGINT
    shown = Screen(80, 24).feed(text).text
    assert shown.rstrip().endswith("KeyboardInterrupt")
    assert shown.count("gradient norm") == 1
    assert is_picture(tmp_path / "prog.watch.png")


def test_standard_output_elsewhere(terminal):
    """No view then, even where standard error is a terminal."""
    text, code = terminal("import sys; sys.stdout = open('out', 'w')\n" + TRAIN, TERM="dumb")
    assert code == 0
    assert "\x1b" not in text
    assert table(text.replace("\r", ""))["SGD"][:2] == ["2", "2.5"]


def test_no_rich_in_a_terminal(terminal, tmp_path):
    (tmp_path / "rich.py").write_text("raise ImportError('none here')")
    folders = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    text, code = terminal("print('started')\n" + TRAIN, PYTHONPATH=folders)
    assert code == 1
    assert (
        text.split()
        == (
            "rushlight run: --watch: the live view needs the package rich, which is not installed "
            "here: pip install rushlight[watch]"
        ).split()
    )


def test_streams_are_given_back(terminal):
    text, _ = terminal(
        """
        import atexit, logging, sys, torch
        logging.basicConfig(level="INFO", format="%(message)s")  # keeps the stream of now
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
        assert sys.stdout.isatty() and sys.stdout.encoding == "utf-8" and sys.stdout.fileno() == 1
        def check():
            assert sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__
            logging.info("logged late")
        logging.info("logged early")
        atexit.register(check)
        """
    )
    shown = Screen(80, 24).feed(text).text.splitlines()
    assert shown[0] == "logged early"
    assert shown[-2:] == ["logged late", ""] or shown[-1] == "logged late"


def test_a_fork_writes_as_it_would(terminal):
    text, code = terminal(
        """
        import os, sys, torch
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
        if os.fork() == 0:
            assert sys.stdout is sys.__stdout__
            (x * x).sum().backward()
            sys.exit(3)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 3
        """
    )
    assert code == 0
    assert "pass 1 ·" in Screen(80, 24).feed(text).text
