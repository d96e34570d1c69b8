"""What the live view of a terminal shows.

A terminal here is a stream that says so; what it gets is read by a small model of one (`Screen`),
so that a test sees what a person would. Real ones are in test_watch_processes.py.
"""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from rushlight.explain import _watch, _watch_terminal, watch
from rushlight.explain._watch_data import Group, Loss, Optimizer
from rushlight.explain._watch_figure import png
from rushlight.explain._watch_frame import frame
from rushlight.explain._watch_table import table
from watched import HOSTILE, TRAIN, Screen, Tty, run_here


@pytest.fixture
def terminal(monkeypatch):
    """Runs a program's text on a terminal; gives what was written."""

    def run(text, columns=80, rows=24, encoding="utf-8", **given):
        tty = Tty(encoding)
        for name, value in (("TERM", "xterm-256color"), ("COLUMNS", columns), ("LINES", rows)):
            monkeypatch.setenv(name, str(value))
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setattr(sys, "stdout", tty)
        monkeypatch.setattr(sys, "stderr", tty)
        with watch(title="prog.py"):
            run_here(text, **given)
        assert sys.stdout is sys.stderr is tty
        return tty.text

    return run


def test_the_view_is_drawn_anew_as_the_program_goes(terminal, monkeypatch):
    """By a clock on which a second goes by before each backward, each is shown."""
    now = 0.0

    def second():
        nonlocal now
        now += 1

    for module in (_watch, _watch_terminal):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now))
    text = terminal(TRAIN.replace("optimizer.zero_grad()", "second()"), second=second)
    heads = re.findall(r" (\w+ \d) · [\d.]+/s · (\S+)", text)
    assert list(dict.fromkeys(heads)) == [
        ("pass 1", "0:00:01"),
        ("step 1", "0:00:02"),
        ("step 2", "0:00:03"),
        ("step 3", "0:00:03"),
    ]


def test_a_progress_bar_is_one_line(terminal):
    text = terminal(
        """
        import sys
        import torch
        x = torch.ones(2, requires_grad=True)
        for i in range(50):
            (x * x).sum().backward()
            sys.stderr.write(f"\\r\\x1b[K{2 * (i + 1)} %")
            sys.stderr.flush()
        sys.stderr.write("\\n")
        print("no end", end="")
        """
    )
    shown = Screen(80, 24).feed(text).text.splitlines()
    assert shown[:2] == ["100 %", "no end"]
    assert shown[2].startswith("── prog.py ─")
    assert "50 %" in text


def test_colours_of_the_program_are_kept(terminal):
    text = terminal(TRAIN + "print('\\x1b[35mviolet\\x1b[0m')")
    assert "\x1b[35mviolet\x1b[0m" in text


def test_a_program_that_draws_on_the_terminal_itself(terminal):
    """It has the terminal to itself from there on, and the view is back at the end."""
    drawing = "\\x1b[2J\\x1b[Hhere\\n"
    text = terminal(TRAIN + f"print('{drawing}')\nfor _ in range(50): print('own')")
    _, _, after = text.partition("\x1b[2J\x1b[Hhere")
    own, _, view = re.sub(r"\x1b\[[\d;]*m", "", after).partition("── prog.py ─")
    assert own.split() == ["own"] * 50
    assert "gradient norm" in view
    assert "the program draws on the terminal itself" in view


def test_a_program_that_does_not_train_in_a_terminal(terminal):
    text = terminal("print('hello')", columns=120)
    assert Screen(120, 24).feed(text).text.splitlines() == [
        "hello",
        "rushlight watch: the program called no backward and no optimizer's step: nothing to show",
    ]


@pytest.mark.parametrize("columns, rows", [(80, 24), (40, 12), (30, 6), (200, 60), (10, 3)])
def test_it_fits_any_terminal(terminal, columns, rows):
    text = terminal(HOSTILE, columns=max(columns, 21), rows=rows)
    view, _, _ = text.partition("rushlight watch: the curves")  # a sentence is as long as it is
    screen = Screen(max(columns, 21), rows).feed(view)
    assert not screen.wrapped
    assert len(screen.lines) <= rows
    assert screen.text.count("step 3") == 1


def test_a_terminal_of_ascii(terminal):
    text = terminal(TRAIN, encoding="ascii")
    assert text.isascii()
    assert "gradient norm" in text
    assert "internal" not in text and "Error" not in text


KINDS = {
    "falling": lambda rng, n: np.exp(-np.arange(n) / 20),
    "noise": lambda rng, n: rng.standard_normal(n),
    "huge": lambda rng, n: rng.choice([-1e300, 1e300, 0.0], n),
    "tiny": lambda rng, n: np.full(n, 5e-324),
    "zero": lambda rng, n: np.zeros(n),
    "bad": lambda rng, n: rng.choice([np.nan, np.inf, -np.inf, 1.0, 1e-30, 1e30], n),
    "nan": lambda rng, n: np.full(n, np.nan),
}


def full(kind, n):
    """A `watch` that has seen `n` passes of three losses and groups."""
    rng = np.random.default_rng(0)
    seen = watch(show=False)
    known = Optimizer("SGD", [1], [])
    for i in range(3):
        loss = seen._losses["prog.py", i] = Loss("prog.py", i)
        known.groups.append(Group(known, i))
        for at, value in enumerate(KINDS[kind](rng, n).tolist(), 1):
            loss.add(at, value)
            known.groups[i].norms.add(at, abs(value))
    seen._optimizers.append(known)
    seen.clock = n
    return seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("plain", [False, True])
def test_a_frame_fits_whatever_is_in_it(kind, plain):
    for n in (1, 2, 11, 300):
        seen = full(kind, n)
        for width, height in ((79, 22), (20, 1), (21, 5), (47, 9), (200, 50)):
            lines = frame(seen, width, height, plain)
            bare = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
            assert len(bare) <= height
            assert max(map(len, bare)) <= width
            assert not plain or "".join(bare).isascii()


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_and_the_picture_take_whatever_there_is(kind):
    for n in (1, 2, 11, 300):
        assert len(table(full(kind, n)).splitlines()) == 9
    assert png(full(kind, 300), dpi=20).startswith(b"\x89PNG")
