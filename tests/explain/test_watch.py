"""`rushlight run --watch` and `explain.watch`: what is observed, and what is shown where.

Programs run in processes of their own, on a pipe or on a pseudo-terminal. What a terminal shows is
read by a small model of one (`Screen`), so that a test sees what a person would.
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
import zlib

import numpy as np
import pytest

import rushlight
from rushlight.autograd import _engine
from rushlight.explain import _watch, watch

torch, nn = rushlight, rushlight.nn

TRAIN = """
import torch
x = torch.tensor([3.0, 4.0], requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.25)
for i in range(3):
    optimizer.zero_grad()
    (x * x).sum().backward()
    optimizer.step()
    print("step", i)
"""
# x is halved by each step, so the losses are 25, 25/4, 25/16 and the norms 10, 5, 2.5.


@pytest.fixture
def program(tmp_path):
    """Runs a program by the command with the options given, on pipes."""

    def run(text, *options, arguments=(), name="prog.py", **environment):
        (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")
        return subprocess.run(
            [sys.executable, "-m", "rushlight", "run", *options, name, *arguments],
            cwd=tmp_path,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def is_picture(path):
    """Whether a file is a whole PNG of some size, by its own checksums."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds = 8, []
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 4 : at + 8 + length]
        assert zlib.crc32(body) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        kinds.append(kind)
        at += 12 + length
    assert kinds[-1] == b"IEND"
    return min(struct.unpack(">II", data[16:24])) > 300


def table(stderr):
    """The rows of the table by their name, as lists of words."""
    rows = re.findall(r"^  (\S.*?)  +(.*)$", stderr, re.M)
    return {name: words.split() for name, words in rows}


# ---- what is observed


def train(steps=3, optimizer=None, x=None):
    x = torch.tensor([3.0, 4.0], requires_grad=True) if x is None else x
    optimizer = optimizer or torch.optim.SGD([x], lr=0.25)
    for _ in range(steps):
        optimizer.zero_grad()
        (x * x).sum().backward()
        optimizer.step()


def test_losses_and_norms():
    with watch(show=False) as seen:
        train()
    (loss,), (group,) = seen.losses, seen.groups
    assert list(loss.values.last) == [25.0, 6.25, 1.5625]
    assert (loss.best, loss.best_at) == (1.5625, 3)
    assert list(group.norms.last) == [10.0, 5.0, 2.5]
    assert (group.name, group.rate, group.tensors, group.elements) == ("SGD", 0.25, 1, 2)
    assert (seen.steps, seen.clock) == (3, 3)
    assert loss.file == __file__
    assert loss.notes() == group.notes() == []


def test_the_smoothed_loss_is_a_mean_of_the_last():
    with watch(show=False) as seen:
        x = torch.ones(1, requires_grad=True)
        for i in range(1000):
            (x * (0.0 if i < 500 else 1.0)).sum().backward()
    assert 0.99 < seen.losses[0].smooth < 1
    with watch(show=False) as seen:
        (3 * x).sum().backward()
    assert seen.losses[0].smooth == pytest.approx(3.0)


@pytest.mark.parametrize(
    "backward",
    [
        lambda loss, x: loss.backward(),
        lambda loss, x: torch.autograd.backward(loss),
        lambda loss, x: torch.autograd.backward([loss / 2, loss / 2]),
        lambda loss, x: loss.backward(inputs=[x]),
        lambda loss, x: loss.backward(torch.tensor(2.0)),
        lambda loss, x: loss.reshape(1, 1).backward(),
        lambda loss, x: _engine.tensor_backward(loss),
    ],
)
def test_every_spelling_of_backward(backward):
    x = torch.tensor([2.0], requires_grad=True)
    with watch(show=False) as seen:
        backward((x * x).sum(), x)
    assert list(seen.losses[0].values.last) == [4.0]


def test_a_gradient_that_is_asked_for_is_no_loss():
    x = torch.tensor([2.0], requires_grad=True)
    with watch(show=False) as seen:
        torch.autograd.grad((x * x).sum(), x)
        torch.func.grad(lambda x: (x * x).sum())(x.detach())
    assert seen.losses == []


def test_what_is_no_number_has_no_curve():
    x = torch.ones(2, requires_grad=True)
    with watch(show=False) as seen:
        (x * x).backward(torch.ones(2))
        torch.autograd.backward(torch.autograd.graph.get_gradient_edge((x * x).sum()))
    assert [(len(loss.values.at), loss.without_value) for loss in seen.losses] == [(0, 1), (0, 1)]


def test_a_backward_inside_a_backward_is_part_of_it():
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    y = x * x
    inner = w.exp().sum()
    y.register_hook(lambda g: inner.backward())
    with watch(show=False) as seen:
        y.sum().backward()
    assert w.grad is not None
    assert [list(loss.values.last) for loss in seen.losses] == [[2.0]]


def test_one_curve_for_each_line():
    """A GAN: two losses, two optimizers of one class."""
    torch.manual_seed(0)
    g, d = nn.Linear(1, 1), nn.Linear(1, 1)
    og, od = (torch.optim.Adam(net.parameters(), lr=0.1) for net in (g, d))
    ours, theirs = [], []
    with watch(show=False) as seen:
        for _ in range(4):
            fake = g(torch.randn(8, 1))
            od.zero_grad()
            loss = (d(fake.detach()) ** 2).mean()
            loss.backward()
            ours.append(loss.item())
            od.step()
            og.zero_grad()
            loss = ((d(fake) - 1) ** 2).mean()
            loss.backward()
            theirs.append(loss.item())
            og.step()
    first, second = seen.losses
    assert second.line - first.line == 5
    assert (list(first.values.last), list(second.values.last)) == (ours, theirs)
    assert (list(first.values.at), list(second.values.at)) == ([1, 3, 5, 7], [2, 4, 6, 8])
    assert [group.name for group in seen.groups] == ["Adam #1", "Adam #2"]
    assert [list(group.norms.at) for group in seen.groups] == [[1, 3, 5, 7], [2, 4, 6, 8]]
    assert (seen.steps, seen.clock) == (4, 8)


def test_accumulated_gradients():
    x = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.0)
    with watch(show=False) as seen:
        for i in range(6):
            (x * (i + 1)).sum().backward()
            if i % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
    assert list(seen.losses[0].values.last) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert list(seen.groups[0].norms.last) == [6.0, 15.0]
    assert list(seen.groups[0].norms.at) == [3, 6]
    assert (seen.steps, seen.clock) == (2, 6)


def test_a_closure():
    """The gradients are those that the step itself computed last."""
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([x], lr=0.25, max_iter=2)
    norms = []

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        norms.append(float(x.grad.norm()))
        return loss

    with watch(show=False) as seen:
        optimizer.step(closure)
        optimizer.step(closure=closure)
    assert seen.losses[0].values.count == len(norms) > 2
    assert list(seen.groups[0].norms.last) == [pytest.approx(norms[i]) for i in (1, -1)]
    assert seen.steps == 2


def test_gradients_that_come_from_elsewhere():
    """Without a backward, the steps are the clock."""
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)
    with watch(show=False) as seen:
        for _ in range(3):
            x.grad = torch.tensor([3.0, 4.0])
            optimizer.step()
    assert (list(seen.groups[0].norms.at), list(seen.groups[0].norms.last)) == (
        [1, 2, 3],
        [5.0] * 3,
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.complex64])
def test_types_of_gradients(dtype):
    x = torch.ones(4, dtype=dtype, requires_grad=True)
    with watch(show=False) as seen:
        (x * x.conj()).sum().real.backward()
        norm = float(x.grad.abs().to(torch.float64).norm())
        torch.optim.SGD([x], lr=0.1).step()
    assert seen._trouble == set()
    assert list(seen.groups[0].norms.last) == [norm]


def test_a_sparse_gradient():
    table = nn.Embedding(5, 2, sparse=True)
    with watch(show=False) as seen:
        table(torch.tensor([1, 1, 3])).sum().backward()
        torch.optim.SGD(table.parameters(), lr=0.1).step()
    assert list(seen.groups[0].norms.last) == [pytest.approx(10**0.5)]  # 2, 2 and 1, 1


def test_names_of_groups():
    a, b, c = (torch.ones(n, 2, requires_grad=True) for n in (1, 2, 3))
    groups = [{"params": [a]}, {"params": [b], "name": "head"}, {"params": [c], "name": 7}]
    optimizer = torch.optim.AdamW(groups, lr=0.5)
    with watch(show=False) as seen:
        (a.sum() + b.sum() + c.sum()).backward()
        optimizer.step()
    assert [group.name for group in seen.groups] == ["AdamW[0]", "head", "AdamW[2]"]
    assert [group.elements for group in seen.groups] == [2, 4, 6]
    assert [group.parts for group in seen.groups] == [["1×2"], ["2×2"], ["3×2"]]


def test_named_parameters():
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.named_parameters(), lr=0.5)
    with watch(show=False) as seen:
        net(torch.ones(1, 3)).sum().backward()
        optimizer.step()
    assert seen.groups[0].parts == ["weight 2×3", "bias 2"]


def test_a_group_that_comes_later():
    a, b = torch.ones(1, requires_grad=True), torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([a], lr=0.5)
    with watch(show=False) as seen:
        (a * 2).sum().backward()
        optimizer.step()
        optimizer.add_param_group({"params": [b], "lr": 0.1})
        (b * 3).sum().backward()
        optimizer.step()
    assert [(list(g.norms.at), g.rate) for g in seen.groups] == [([1, 2], 0.5), ([2], 0.1)]


def test_what_is_wrong_is_said():
    x = torch.ones(2, requires_grad=True)
    unused = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([x, unused], lr=0.0)

    def notes(*gradients):
        with watch(show=False) as seen:
            for gradient in gradients:
                x.grad = torch.full((2,), float(gradient))
                optimizer.step()
        return [note for note in seen.groups[0].notes() if "without" not in note.text]

    with watch(show=False) as seen:
        (x * 2).sum().backward()
        optimizer.step()
    assert seen.groups[0].notes() == [("1 of 2 without gradient", False)]
    assert notes(*[1] * 20) == []
    assert notes(1, 0) == [("zero", True)]
    assert notes(1, "nan") == [("NaN", True)]
    assert notes("inf", "inf") == [("inf", True), ("2 not finite, first at 1", False)]
    assert notes("nan", 1) == [("1 not finite, first at 1", False)]
    assert notes(*[1] * 20, 101) == [("exploding: 101× its median", True)]
    assert notes(*[1] * 20, 101, 1) == [("101× the median before it at 21", False)]
    assert notes(*[10.0 ** (6 - i) for i in range(13)]) == [], "it falls, as it does"
    assert notes(*[1000] * 11, *[1] * 50, 150, *[1] * 50)[0].text.startswith("150×")
    assert notes(*[1] * 20, 99) == []
    assert notes(*[0] * 20, 5) == []
    x.grad = None
    with watch(show=False) as seen:
        optimizer.step()
    assert seen.groups[0].notes() == [("no gradient", True)]


def test_no_code_of_the_program_is_asked():
    """A mode of the program sees the same calls as ever, and so do classes."""

    class Calls(rushlight.overrides.TorchFunctionMode):
        def __init__(self):
            self.seen = []

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.seen.append(function)
            return function(*args, **(kwargs or {}))

    class Mine(torch.Tensor):
        seen = 0

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            cls.seen += 1
            return super().__torch_function__(function, types, args, kwargs)

    def run():
        Mine.seen = 0
        x = torch.tensor([3.0, 4.0]).as_subclass(Mine).requires_grad_()
        optimizer = torch.optim.SGD([x], lr=0.25)
        with Calls() as calls:
            (x * x).sum().backward()
            optimizer.step()
        return calls.seen, Mine.seen

    plain = run()
    with watch(show=False) as seen:
        assert run() == plain
    assert list(seen.losses[0].values.last) == [25.0]
    assert list(seen.groups[0].norms.last) == [10.0]


def test_what_cannot_be_looked_at_does_not_end_the_program():
    class Odd(torch.optim.SGD):
        @property
        def param_groups(self):
            if self.asked:
                raise LookupError("no groups")
            return self.__dict__["param_groups"]

        @param_groups.setter
        def param_groups(self, value):
            self.__dict__["param_groups"] = value

        asked = False

        def step(self, closure=None):
            self.stepped = True

    x = torch.ones(1, requires_grad=True)
    optimizer = Odd([x], lr=0.1)
    optimizer.asked = True
    with watch(show=False) as seen:
        (x * x).sum().backward()
        optimizer.step()
    assert optimizer.stepped
    assert seen._trouble == {"LookupError: no groups"}


def test_everything_is_put_back():
    engine = _engine._run
    x = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)
    with watch(show=False) as outer:
        assert _engine._run is not engine
        with watch(show=False) as inner:
            (x * x).sum().backward()
        (x * x).sum().backward()
        optimizer.step()
    assert _engine._run is engine is rushlight._core.run_backward
    (x * x).sum().backward()
    optimizer.step()
    assert (inner.clock, outer.clock, outer.steps) == (1, 2, 1)
    assert _watch._watching == []


def test_an_exception_keeps_its_traceback():
    x = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)

    def bad(g):
        raise KeyError("no")

    def closure():
        y = x * x
        y.register_hook(bad)
        y.sum().backward()

    def trace():
        try:
            optimizer.step(closure)
        except KeyError as error:
            raise ValueError("second") from error

    def frames(error):
        found, trace = [], error.__traceback__.tb_next
        while trace is not None:
            found.append(trace.tb_frame.f_code.co_qualname)
            trace = trace.tb_next
        return found

    with pytest.raises(ValueError) as plain:
        trace()
    with pytest.raises(ValueError) as watched, watch(show=False):
        trace()
    assert frames(watched.value) == frames(plain.value)
    assert frames(watched.value.__cause__) == frames(plain.value.__cause__) != []
    assert _engine._run is rushlight._core.run_backward


def test_optimizers_made_in_a_loop_go_on_where_the_last_ended():
    import gc

    with watch(show=False) as seen:
        for _ in range(100):
            train(2)
            gc.collect()
    assert len(seen.groups) <= 2
    assert sum(group.norms.count for group in seen.groups) == 200


def test_threads():
    import threading

    def work():
        train(50)

    with watch(show=False) as seen:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen._trouble == set()
    assert seen.clock == 200
    assert sum(group.norms.count for group in seen.groups) == 200


def test_without_a_view(capsys, tmp_path):
    with watch(show=False, png=tmp_path / "a.png", title="mine") as seen:
        train()
    assert capsys.readouterr() == ("", "")
    assert is_picture(tmp_path / "a.png")
    assert str(seen).startswith("mine, step 3 · ")
    assert table(str(seen))["SGD"] == ["2", "2.5", "5", "10", "1", "0.25"]
    with watch(show=False, png=tmp_path / "none" / "a.png"):
        train()
    said = f"rushlight watch: {tmp_path}/none/a.png was not written: No such file or directory\n"
    assert capsys.readouterr() == ("", said)


# ---- a series


def test_a_series_keeps_every_value_while_there_is_room():
    series = _watch.Series()
    values = np.random.default_rng(0).standard_normal(4096)
    for i, value in enumerate(values):
        series.add(i, value)
    assert np.array_equal(series.last, values)
    assert series.width == 1


def test_a_long_series_loses_no_extreme():
    series = _watch.Series()
    values = np.random.default_rng(0).standard_normal(100_003)
    values[70_001], values[3] = 50.0, -50.0
    values[[5, 90_000]] = np.nan
    for i, value in enumerate(values.tolist()):
        series.add(i, value)
    n, width = len(series.at), series.width
    assert 2048 <= n <= 4096
    assert width == 32
    parts = [values[i : i + width] for i in range(0, len(values), width)]
    assert list(series.at) == list(range(0, len(values), width))
    assert list(series.low) == [np.nanmin(part) for part in parts]
    assert list(series.high) == [np.nanmax(part) for part in parts]
    assert list(series.last) == [part[~np.isnan(part)][-1] for part in parts]
    assert (series.not_finite, series.first_bad, series.count) == (2, 5, 100_003)
    assert series.largest == (50.0, 70_001 // 32 * 32)


def test_a_series_of_nothing_finite():
    series = _watch.Series()
    for i in range(5000):
        series.add(i, float("nan"))
    assert series.not_finite == 5000
    assert np.isnan(series.median)
    assert np.isnan(series.largest[0])


# ---- without a terminal


def test_the_output_is_the_programs_own(program, tmp_path):
    plain, done = program(TRAIN), program(TRAIN, "--watch")
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    rows = table(done.stderr)
    assert rows["prog.py:7"] == ["1.562", "10.78", "1.562", "3", "3"]
    assert rows["SGD"] == ["2", "2.5", "5", "10", "1", "0.25"]
    assert done.stderr.startswith("rushlight watch: prog.py, step 3 · ")
    assert done.stderr.endswith("rushlight watch: the curves are in prog.watch.png\n")
    assert is_picture(tmp_path / "prog.watch.png")


def test_the_file_is_named(program, tmp_path):
    (tmp_path / "sub").mkdir()
    done = program("import os; os.chdir('/')\n" + TRAIN, "--watch=sub/mine.png")
    assert "the curves are in sub/mine.png" in done.stderr
    assert is_picture(tmp_path / "sub" / "mine.png")


@pytest.mark.parametrize(
    "option, said",
    [
        ("--watch=mine.pdf", "--watch=mine.pdf: the name of a .png file is expected"),
        ("--watch=", "--watch=: the name of a .png file is expected"),
        ("--watch=none/mine.png", "--watch=none/mine.png: there is no such folder"),
        ("--watched", "unknown option --watched"),
    ],
)
def test_options_that_are_wrong(program, option, said):
    done = program(TRAIN, option)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"rushlight run: {said}\n")


def test_with_the_trace(program):
    """Nothing of the watching is in the trace."""
    plain = program(TRAIN, "--trace")
    for options in (("--trace", "--watch"), ("--watch", "--trace")):
        done = program(TRAIN, *options)
        lines = [[line.split()[:2] for line in d.stderr.splitlines()] for d in (plain, done)]
        assert lines[1][: len(lines[0])] == lines[0] != []
        assert lines[1][len(lines[0])] == ["rushlight", "watch:"]


def command(folder, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "rushlight", "run", "--watch", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


def test_a_module_a_line_and_standard_input(tmp_path):
    (tmp_path / "mod.py").write_text(TRAIN)
    for arguments, given, name in (
        (["-m", "mod", "a"], None, "mod"),
        (["-c", TRAIN, "a"], None, "command"),
        (["-", "a"], TRAIN, "stdin"),
    ):
        done = command(tmp_path, *arguments, input=given)
        assert (done.returncode, done.stdout) == (0, "step 0\nstep 1\nstep 2\n"), done.stderr
        assert f"the curves are in {name}.watch.png" in done.stderr
        assert is_picture(tmp_path / f"{name}.watch.png")


def test_a_program_that_does_not_train(program, tmp_path):
    done = program("print('hello')", "--watch")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert done.stderr == (
        "rushlight watch: the program called no backward and no optimizer's step: nothing to show\n"
    )
    assert not (tmp_path / "prog.watch.png").exists()


def test_a_backward_from_what_is_no_number(program):
    done = program(
        "import torch\nx = torch.ones(2, requires_grad=True)\n(x * x).backward(torch.ones(2))",
        "--watch",
    )
    assert "prog.py:3: 1 times backward began at what is no single number" in done.stderr


@pytest.mark.parametrize(
    "end, code",
    [("1 / 0", 1), ("raise SystemExit(7)", 7), ("import sys; sys.exit('why')", 1), ("", 0)],
)
def test_the_end_is_the_programs_own(program, tmp_path, end, code):
    plain, done = program(TRAIN + end), program(TRAIN + end, "--watch")
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert done.returncode == code
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


def test_no_matplotlib(program, tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('none here')")
    done = program(TRAIN, "--watch")
    assert done.returncode == 0
    assert done.stderr.endswith(
        "rushlight watch: prog.watch.png was not written: matplotlib is missing "
        "(pip install rushlight[watch])\n"
    )


def test_no_rich_and_no_terminal(program, tmp_path):
    (tmp_path / "rich.py").write_text("raise ImportError('none here')")
    assert "the curves are in" in program(TRAIN, "--watch").stderr


def test_a_picture_that_cannot_be_written(program, tmp_path):
    (tmp_path / "prog.watch.png").mkdir()
    done = program(TRAIN, "--watch")
    assert (done.returncode, done.stdout) == (0, "step 0\nstep 1\nstep 2\n")
    assert done.stderr.endswith("prog.watch.png was not written: Is a directory\n")


def test_the_figures_of_the_program_are_its_own(program):
    """Neither its current figure nor its style is touched, nor does its style show."""
    done = program(
        """
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        plt.rcParams["lines.linewidth"] = 7
        figure = plt.figure()
        """
        + textwrap.indent(TRAIN, " " * 8)
        + """
        import atexit
        def check():
            assert plt.gcf() is figure and plt.get_fignums() == [1]
            assert plt.rcParams["lines.linewidth"] == 7
            print("same")
        atexit.register(check)
        """,
        "--watch",
    )
    assert done.stdout.endswith("same\n")


def test_pyplot_is_not_imported(program):
    done = program(
        TRAIN
        + "import atexit, sys\natexit.register(lambda: print('matplotlib.pyplot' in sys.modules))",
        "--watch",
    )
    assert done.stdout.endswith("False\n")


HOSTILE = """
import torch
names = ["\\x1b[31m<b>[bold red]", "$\\\\frac{x", "_hidden", "a\\nb\\r"]
names += ["漢字", "x" * 10000, "", "%s{}"]
xs = [torch.ones(2, requires_grad=True) for _ in names]
optimizer = torch.optim.SGD([{"params": [x], "name": n} for x, n in zip(xs, names)], lr=0.1)
for _ in range(3):
    sum((x * x).sum() for x in xs).backward()
    optimizer.step()
"""


def test_hostile_names(program, tmp_path):
    done = program(HOSTILE, "--watch")
    assert done.returncode == 0
    assert "\x1b" not in done.stderr
    rows = table(done.stderr)
    assert {r"\x1b[31m<b>[bold red]", r"$\frac{x", "_hidden", r"a\nb\r", "SGD[6]", "%s{}"} <= {
        *rows
    }
    assert is_picture(tmp_path / "prog.watch.png")
    assert done.stderr.count("not written") == 0


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


def test_closed_streams(program):
    done = program(TRAIN + "import sys\nsys.stderr.close()", "--watch")
    assert (done.returncode, done.stdout) == (0, "step 0\nstep 1\nstep 2\n")


# ---- in a terminal


class Screen:
    """What a terminal shows of what is written to it: text, and the few controls that occur."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines = [""]  # of all time; the screen is the last `rows` of them
        self.row = self.column = 0
        self.wrapped = False

    def feed(self, text):
        for part in re.findall(r"\x1b\[[\d;?]*[A-Za-z]|\x1b.|[^\x1b]", text, re.S):
            self._one(part)
        return self

    def _one(self, part):
        if part == "\n":
            self.row += 1
            while len(self.lines) <= self.row:
                self.lines.append("")
        elif part == "\r":
            self.column = 0
        elif part.startswith("\x1b["):
            number = int(part[2:-1] or 1) if part[2:-1].isdigit() or not part[2:-1] else 0
            if part[-1] == "A":
                top = max(len(self.lines) - self.rows, 0)
                self.row = max(self.row - number, top)
            elif part[-1] == "J":
                del self.lines[self.row + 1 :]
                self.lines[self.row] = self.lines[self.row][: self.column]
            elif part[-1] == "K":
                self.lines[self.row] = self.lines[self.row][: self.column]
            elif part[-1] != "m":
                raise AssertionError(f"a control that this model does not have: {part!r}")
        else:
            if self.column == self.columns:
                self.wrapped = True
                self._one("\r")
                self._one("\n")
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + part + line[self.column + 1 :]
            self.column += 1

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.lines)


@pytest.fixture
def terminal(tmp_path):
    """Runs a program by the command on a terminal; gives what was written, and the exit code."""

    def run(text, *options, columns=80, rows=24, interrupt=None, typed="", **environment):
        import fcntl
        import pty
        import termios

        (tmp_path / "prog.py").write_text(textwrap.dedent(text), encoding="utf-8")
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        settings = {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
        kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
        process = subprocess.Popen(
            [sys.executable, "-m", "rushlight", "run", *(options or ("--watch",)), "prog.py"],
            cwd=tmp_path,
            env=kept | settings | environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            # Ignored in what a shell runs in the background, and by what that starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(theirs)
        os.write(ours, typed.encode())
        out, ends = b"", time.monotonic() + 120
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
        return out.decode(), process.wait(60)

    return run


def test_the_live_view(terminal, tmp_path):
    text, code = terminal(
        TRAIN.replace("range(3)", "range(40)").replace('"step"', '"at", x.tolist()')
        + "    import time; time.sleep(0.02)\nimport sys; print('last words', file=sys.stderr)\n"
    )
    assert code == 0
    shown = Screen(80, 24).feed(text).text
    printed, _, view = shown.partition("── prog.py ─")
    lines = printed.splitlines()
    assert len(lines) == 41
    assert lines[0] == "at [1.5, 2.0] 0"
    assert lines[-1] == "last words"
    assert re.search(r"step 40 · \d+/s · 0:00:\d\d ──\n", view)
    assert re.search(r"^prog\.py:7 +\S+ +\S+ +\S+ +40$", view, re.M)
    assert re.search(r"^SGD +2 +\S+ +\S+ +0\.25 +█▇*", view, re.M)
    assert "log scale" in view
    assert shown.rstrip().endswith("rushlight watch: the curves are in prog.watch.png")
    assert shown.count("gradient norm") == 1
    assert text.count("── prog.py") > 3, "it was drawn anew as it went"
    assert is_picture(tmp_path / "prog.watch.png")


def test_a_progress_bar_is_one_line(terminal):
    text, code = terminal(
        """
        import sys, torch
        x = torch.ones(2, requires_grad=True)
        for i in range(50):
            (x * x).sum().backward()
            sys.stderr.write(f"\\r\\x1b[K{2 * (i + 1)} %")
            sys.stderr.flush()
        sys.stderr.write("\\n")
        print("no end", end="")
        """
    )
    assert code == 0
    shown = Screen(80, 24).feed(text).text.splitlines()
    assert shown[:2] == ["100 %", "no end"]
    assert shown[2].startswith("── prog.py ─")
    assert "50 %" in text


def test_colours_of_the_program_are_kept(terminal):
    text, _ = terminal(TRAIN + "print('\\x1b[35mviolet\\x1b[0m')")
    assert "\x1b[35mviolet\x1b[0m" in text


def test_a_program_that_draws_on_the_terminal_itself(terminal):
    """It has the terminal to itself from there on, and the view is back at the end."""
    drawing = "\\x1b[2J\\x1b[Hhere\\n"
    text, code = terminal(TRAIN + f"print('{drawing}')\nfor _ in range(50): print('own')")
    assert code == 0
    _, _, after = text.partition("\x1b[2J\x1b[Hhere")
    own, _, view = re.sub(r"\x1b\[[\d;]*m", "", after).partition("── prog.py ─")
    assert own.split() == ["own"] * 50
    assert "gradient norm" in view
    assert "the program draws on the terminal itself" in view


def test_an_exception_in_a_terminal(terminal, program):
    bad = TRAIN + "1 / 0"
    plain = program(bad)
    text, code = terminal(bad)
    shown = Screen(80, 24).feed(text).text
    assert code == 1
    assert shown.rstrip().endswith(plain.stderr.rstrip().splitlines()[-1])
    order = [shown.index(word) for word in ("step 2", "── prog", "the curves are", "Traceback")]
    assert order == sorted(order)


def test_an_interrupt(terminal, tmp_path):
    text, code = terminal(
        TRAIN + "print('waiting', flush=True)\nimport time; time.sleep(100)", interrupt="waiting"
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


def test_a_program_that_does_not_train_in_a_terminal(terminal):
    text, code = terminal("print('hello')", columns=120)
    assert code == 0
    assert Screen(120, 24).feed(text).text.splitlines() == [
        "hello",
        "rushlight watch: the program called no backward and no optimizer's step: nothing to show",
    ]


def test_no_rich_in_a_terminal(terminal, tmp_path):
    (tmp_path / "rich.py").write_text("raise ImportError('none here')")
    text, code = terminal("print('started')\n" + TRAIN, PYTHONPATH=search_path(tmp_path))
    assert code == 1
    assert (
        text.split()
        == (
            "rushlight run: --watch: the live view needs the package rich, which is not installed "
            "here: pip install rushlight[watch]"
        ).split()
    )


def search_path(folder):
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


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


@pytest.mark.parametrize("columns, rows", [(80, 24), (40, 12), (30, 6), (200, 60), (10, 3)])
def test_it_fits_any_terminal(terminal, columns, rows):
    text, code = terminal(HOSTILE, columns=max(columns, 21), rows=rows)
    assert code == 0
    view, _, _ = text.partition("rushlight watch: the curves")  # a sentence is as long as it is
    screen = Screen(max(columns, 21), rows).feed(view)
    assert not screen.wrapped
    assert len(screen.lines) <= rows
    assert screen.text.count("step 3") == 1


def test_a_terminal_of_ascii(terminal):
    text, code = terminal(TRAIN, PYTHONIOENCODING="ascii:strict")
    assert code == 0
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("plain", [False, True])
def test_a_frame_fits_whatever_is_in_it(kind, plain):
    from rushlight.explain._watch_figure import png
    from rushlight.explain._watch_view import _frame, table

    rng = np.random.default_rng(0)
    for n in (1, 2, 11, 300):
        seen = watch(show=False)
        known = _watch._Optimizer("SGD", [1], [])
        for i in range(3):
            loss = seen._losses["prog.py", i] = _watch.Loss("prog.py", i)
            known.groups.append(_watch.Group(known, i))
            values = KINDS[kind](rng, n).tolist()
            for at, value in enumerate(values, 1):
                loss.add(at, value)
                known.groups[i].norms.add(at, abs(value))
        seen._optimizers.append(known)
        seen.clock = n
        for width, height in ((79, 22), (20, 1), (21, 5), (47, 9), (200, 50)):
            lines = _frame(seen, width, height, plain)
            bare = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
            assert len(bare) <= height
            assert max(map(len, bare)) <= width
            assert not plain or "".join(bare).isascii()
        assert len(table(seen).splitlines()) == 9
    assert png(seen, dpi=20).startswith(b"\x89PNG")


# ---- in a notebook


def test_a_notebook(monkeypatch):
    """IPython's display is used as it is documented: one, which is updated."""
    import types

    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append(("update", data, raw))

    def display(data, raw, display_id):
        shown.append(("display", data, raw))
        return Handle()

    def format_code_name(file):
        return ("Cell", "In[3]") if file == __file__ else None

    compiler = types.SimpleNamespace(format_code_name=format_code_name)
    shell = types.SimpleNamespace(kernel=object(), compile=compiler)
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    ipython.version_info = (9, 0, 0)  # matplotlib asks
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    with watch():
        train(2)
    assert [what for what, *_ in shown] == ["display", *["update"] * (len(shown) - 1)]
    assert len(shown) >= 2
    for _, data, raw in shown:
        assert raw is True
        assert data["image/png"].startswith(b"\x89PNG")
    rows = table("\n" + shown[-1][1]["text/plain"])
    assert rows["SGD"][1] == "5"
    assert any(re.fullmatch(r"In\[3\]:\d+", name) for name in rows)


def test_without_a_notebook_nothing_of_it_is_imported(program):
    done = program(
        "import sys, rushlight\n" + TRAIN + "print([m for m in sys.modules if 'IPython' in m])",
        "--watch",
    )
    assert done.stdout.endswith("[]\n")


def test_nobody_who_does_not_watch_pays(program):
    done = program(
        TRAIN + "import sys\n"
        "print(any('explain' in name or name == 'rich' for name in sys.modules))\n"
        "print('step' in vars(optimizer))"
    )
    assert done.stdout.endswith("False\nFalse\n")
