"""`rushlight explain SCRIPT`: real processes, and the page that they leave."""

import json
import os
import re
import subprocess
import sys

import pytest

from _alone import PATIENCE
from rushlight import _cli

TRAIN = """
    import sys
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.ones(5, 3)
    for step in range(3):
        loss = (net(x) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("step", step, sys.argv[1:])
"""


@pytest.fixture
def explain(command):
    return command("explain", TRAIN)


def data_of(path):
    """What the page holds for its script."""
    found = re.search(
        r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', path.read_text("utf-8"), re.S
    )
    return json.loads(found[1])


def test_the_first_backward_is_drawn_and_the_program_ends(explain):
    done = explain("train.py")
    assert (done.returncode, done.stdout) == (0, "")
    assert "backward number 1, called at train.py:12, is drawn in" in done.stderr
    data = data_of(explain.folder / "train.html")
    assert (data["title"], data["program"], data["step"]) == ("loss", "train.py", 1)
    labels = {row["label"] for row in data["nodes"] if row["kind"] == "leaf"}
    assert labels == {"0.weight", "0.bias", "2.weight", "2.bias"}
    titles = {box["title"] for box in data["boxes"]}
    assert {"net · Sequential", "0 · Linear", "2 · Linear"} <= titles


def test_a_later_backward_and_going_on(explain):
    done = explain("--step", "2", "--continue", "-o", "second.html", "train.py", "a", "-b")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [f"step {n} ['a', '-b']" for n in range(3)]
    assert "backward number 2" in done.stderr
    assert data_of(explain.folder / "second.html")["step"] == 2


@pytest.mark.parametrize("step", [2, 38])
def test_modules_that_ran_before_another_backward_have_boxes(explain, step):
    script = """
        import torch
        from torch import nn

        make, judge = nn.Sequential(nn.Linear(4, 2), nn.ReLU()), nn.Linear(2, 1)
        for _ in range(20):
            fake = make(torch.ones(1, 4))
            judge(fake.detach()).sum().backward()
            judge(fake).sum().backward()
    """
    explain("--step", str(step), "train.py", script=script)
    data = data_of(explain.folder / "train.html")
    calls = {n.get("title"): n.get("scope") for n in data["nodes"] if n.get("kind") != "leaf"}
    assert calls["relu"] == ["make", "1"]


def run_plainly(folder):
    """What train.py in that folder does without the command."""
    return subprocess.run(
        [sys.executable, "-m", "rushlight", "run", "train.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_going_on_changes_no_number(explain):
    script = TRAIN + "    print(net[0].weight.tolist())\n"
    with_page = explain("--continue", "train.py", script=script)
    plain = run_plainly(explain.folder)
    assert with_page.stdout == plain.stdout and plain.returncode == 0


def test_numbers_are_those_of_that_step(explain):
    script = """
        import torch

        w = torch.tensor(2.0, requires_grad=True)
        for step in range(3):
            loss = w * w
            loss.backward()
    """
    explain("--step=3", "train.py", script=script)
    (leaf,) = (s["into"] for s in data_of(explain.folder / "train.html")["steps"] if "into" in s)
    assert [leaf[when]["values"] for when in ("before", "added", "after")] == [8.0, 4.0, 12.0]


def test_a_program_without_so_many_backwards(explain):
    done = explain("--step", "9", "train.py")
    assert done.returncode == 1
    assert "ended after 3 calls of backward, and number 9 was wanted" in done.stderr
    assert not (explain.folder / "train.html").exists()


@pytest.mark.parametrize(("code", "ends_with"), [("", 1), ("0", 1), ("3", 3)])
def test_a_program_that_leaves_before_it(explain, code, ends_with):
    done = explain("train.py", script=f"import sys\nsys.exit({code})\n")
    assert done.returncode == ends_with
    assert "ended after 0 calls of backward" in done.stderr


def test_a_program_that_fails_before_it_shows_its_traceback(explain):
    done = explain("train.py", script="import torch\n1 / 0\n")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback") and "ZeroDivisionError" in done.stderr
    assert "_command.py" not in done.stderr and "no page was written" not in done.stderr


def test_an_exception_inside_backward_is_the_programs_own(explain):
    """The traceback is the one that the program has without the command."""
    script = """
        import torch

        def lose(x):
            y = x * x
            y.register_hook(lambda g: 1 / 0)
            return y.sum()

        try:
            lose(torch.ones(2, requires_grad=True)).backward()
        except ZeroDivisionError as error:
            raise ValueError("second") from error
    """
    done = explain("--continue", "--step", "99", "train.py", script=script)
    plain = run_plainly(explain.folder)
    assert done.returncode == plain.returncode == 1
    assert "ZeroDivisionError" in plain.stderr and "ValueError: second" in plain.stderr
    assert done.stderr == plain.stderr


def test_code_modules_and_standard_input(explain):
    code = "import torch; w = torch.ones((), requires_grad=True); (w * 2).backward()"
    assert explain("-c", code).returncode == 0
    assert (explain.folder / "command.html").exists()
    assert explain("-m", "train").returncode == 0
    assert (explain.folder / "train.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "rushlight explain: the program is missing: SCRIPT, "),
        (("--step", "0", "train.py"), "--step takes the number of a backward"),
        (("--step", "x", "train.py"), "argument --step: invalid int value: 'x'"),
        (("--step",), "argument --step: expected one argument"),
        (("--fast", "train.py"), "unknown option --fast"),
        (("-o", "nowhere/x.html", "train.py"), "-o nowhere/x.html: there is no such folder"),
        (("missing.py",), "can't open file"),
    ],
)
def test_wrong_options(explain, arguments, said):
    done = explain(*arguments)
    assert done.returncode == 2 and said in done.stderr and done.stdout == ""


def test_a_page_that_cannot_be_written_is_one_line(explain):
    done = explain("-o", "/proc/page.html", "train.py")
    assert done.returncode == 1
    (said,) = done.stderr.splitlines()
    assert said.startswith("rushlight explain: /proc/page.html cannot be written: ")


def test_a_folder_that_cannot_be_written_to_is_said_before_the_program_runs(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("open('ran', 'w')", encoding="utf-8")
    monkeypatch.setattr(os, "access", lambda path, mode: path != ".")
    with pytest.raises(SystemExit) as end:
        _cli.main(["explain", "train.py"])
    assert end.value.code == 1 and not (tmp_path / "ran").exists()
    (said,) = capsys.readouterr().err.splitlines()
    page = tmp_path / "train.html"
    assert said == f"rushlight explain: {page} cannot be written. -o FILE says where to write."


def test_a_page_that_the_program_has_is_kept(explain):
    page = explain.folder / "train.html"
    page.write_text("<h1>mine</h1>", encoding="utf-8")
    done = explain("train.py", script="open('ran', 'w')")
    assert done.returncode == 1 and page.read_text("utf-8") == "<h1>mine</h1>"
    said = "rushlight explain: %s is another page. -o FILE says where to write.\n"
    assert done.stderr == said % page and not (explain.folder / "ran").exists()
    for arguments in (("-o", "train.html"), ()):  # meant, then one of rushlight's own
        assert explain(*arguments, "train.py").returncode == 0
    assert data_of(page)["title"] == "loss"


COMPILED = """
    import sys
    import torch

    def local():
        return torch.compile(lambda x: x.exp())(torch.ones(2))

    @torch.compile
    def energy(x):
        return (x * 2).sum()

    @torch.compile
    def noisy(x):
        print(end="")
        return x

    net = torch.compile(torch.nn.Linear(2, 1))
    local()
    for _ in range(4):
        energy(torch.ones(2)), noisy(torch.ones(2))
        with torch.no_grad():
            net(torch.ones(1, 2))
    print(sys.argv[1:])
"""


def test_what_was_captured(explain):
    done = explain("--capture", "train.py", "a", "-b", script=COMPILED)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "['a', '-b']"
    told = [line for line in lines[1:] if line[0] not in " )"]
    assert told[0].startswith("energy, captured run 1: ")
    assert lines[2].startswith("  guarded: ")
    times = r"  captured in [\d.]+ ms, replayed 1 times, [\d.]+ us a call"
    assert re.fullmatch(times, lines[3]) and "train.py:10" in lines[4]
    assert told[1].startswith("noisy runs eagerly: it calls print() at train.py:14")
    assert told[2].startswith("Linear") and "captured run 1" in told[2]
    assert told[3] == "local.<locals>.<lambda> is not captured yet (1 calls)"
    assert not (explain.folder / "train.html").exists()


def test_what_was_captured_before_an_exception(explain):
    done = explain("--capture", "train.py", script=COMPILED + "    raise SystemExit(7)\n")
    assert done.returncode == 7 and "energy, captured run 1" in done.stdout
    done = explain("--capture", "train.py", script=COMPILED + "    1 / 0\n")
    assert done.returncode == 1 and "energy, captured run 1" in done.stdout
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "_command.py" not in done.stderr


def test_a_program_that_compiles_nothing(explain):
    done = explain("--capture", "train.py", script="import torch\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("rushlight explain: the program compiled nothing")


@pytest.mark.parametrize("words", [("--step", "2"), ("--continue",), ("-o", "x.html")])
def test_captures_have_no_page(explain, words):
    done = explain("--capture", *words, "train.py")
    assert done.returncode == 2 and "--capture writes no page" in done.stderr
