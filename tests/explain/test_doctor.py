"""`rushlight doctor`: programs with planted bugs, sound programs, and the command itself.

The programs of a file run in one process, each under a doctor of its own; those that are to be run
twice, and those of the command, in processes as a person starts them.
"""

import json
import os
import subprocess
import sys
import weakref
from collections import Counter
from pathlib import Path

import pytest
from doctor_programs import programs
from rushlight.explain._doctor_holders import holder

import rushlight as torch
from _alone import PATIENCE

PLANTED = programs("doctor_planted.txt")
SOUND = programs("doctor_sound.txt")
ONCE = [p for p in PLANTED if p.kind != "twice"]


def told_of(file, folder):
    """By program: the findings and the error."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("doctor_programs.py"), file, folder],
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return told_of("doctor_planted.txt", tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return told_of("doctor_sound.txt", tmp_path_factory.mktemp("sound"))


@pytest.fixture
def doctor(tmp_path):
    """Runs the command on a program in a folder of its own."""

    def call(*arguments, text, words=(), given=""):
        (tmp_path / "train.py").write_text(text, encoding="utf-8")
        return subprocess.run(
            [sys.executable, "-m", "rushlight", "doctor", *arguments, "train.py", *words],
            cwd=tmp_path,
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

    return call


def text_of(name):
    return next(p.text for p in PLANTED + SOUND if p.name == name)


def test_there_are_as_many_programs_as_are_wanted():
    assert len(PLANTED) >= 40
    assert len(SOUND) >= 40
    assert {p.name for p in PLANTED}.isdisjoint(()) and len({p.name for p in PLANTED}) == len(
        PLANTED
    )
    kinds = Counter(p.kind for p in PLANTED)
    assert set(kinds) == {
        *("zero_grad", "kept", "no_gradient", "no_optimizer", "softmax", "broadcast", "mode"),
        *("dead", "vanishing", "exploding", "nan", "rate", "data", "cut", "savings", "twice"),
    }


@pytest.mark.parametrize("program", ONCE, ids=[p.name for p in ONCE])
def test_a_planted_bug_is_named_with_its_line(planted, program):
    told = planted[program.name]
    assert not told["error"]
    assert [program.kind, program.line] in [row[:2] for row in told["found"]], told["found"]


@pytest.mark.parametrize(
    "name, words",
    [
        ("nan_in_the_data", "NaN or infinity is in the data that come in here."),
        ("softmax_before_nll", "nll_loss takes logarithms: log_softmax instead."),
        ("nan_written", "NaN or infinity is in the data that come in here."),
    ],
)
def test_a_planted_bug_is_said_in_these_words(planted, name, words):
    assert words in "".join(text for _, _, text in planted[name]["found"])


def test_gradients_that_are_emptied_are_the_one_finding(planted):
    assert len(planted["emptied_before_the_step"]["found"]) == 1


def test_units_behind_a_nan_are_not_called_dead(planted):
    assert [kind for kind, *_ in planted["nan_behind_a_relu"]["found"]] == ["nan"]


@pytest.mark.parametrize("program", SOUND, ids=[p.name for p in SOUND])
def test_nothing_is_said_of_a_sound_program(sound, program):
    assert sound[program.name] == {"found": [], "error": ""}


TWICE = [p for p in PLANTED if p.kind == "twice"]


@pytest.mark.parametrize("program", TWICE, ids=[p.name for p in TWICE])
def test_two_runs_that_differ(doctor, program):
    done = doctor("--twice", text=program.text)
    assert done.returncode == 0, done.stderr
    assert f"train.py:{program.line}: twice: two runs differ from here on" in done.stdout


def test_two_runs_that_are_equal(doctor):
    done = doctor("--twice", text=text_of("classifier"))
    assert done.stdout.splitlines()[-1] == "rushlight doctor: 40 backwards, nothing found"


def test_the_command_says_the_line_its_text_and_the_growth(doctor):
    done = doctor(text=text_of("total"))
    head, finding, code = done.stdout.splitlines()[-3:]
    assert head == "rushlight doctor: 20 backwards, 1 finding"
    assert finding.startswith("train.py:19: kept: ")
    assert "more nodes each pass" in finding
    assert code.strip() == "total = total + loss"
    assert (done.returncode, done.stderr) == (0, "")


def test_modules_of_a_script_have_its_names(doctor):
    done = doctor(text=text_of("two_encoders"))
    assert "no_optimizer: dec.bias, dec.weight, enc.bias and 1 more get gradients" in done.stdout


def test_the_program_ends_after_the_steps(doctor):
    done = doctor("--steps", "5", text=text_of("regression"))
    assert (done.returncode, done.stdout) == (0, "rushlight doctor: 5 backwards, nothing found\n")


def test_a_program_that_fails_is_reported_as_it_would_be(doctor):
    text = text_of("plain") + "raise KeyError('lost')\n"
    done = doctor(text=text)
    assert done.returncode == 1
    assert "train.py:15: zero_grad: " in done.stdout
    assert done.stderr.endswith("KeyError: 'lost'\n")
    assert "_doctor" not in done.stderr
    failing = doctor(text="import torch\ntorch.nn.Linear('a', 2)\n")
    assert failing.returncode == 1
    assert "_doctor" not in failing.stderr


def test_an_error_in_the_third_step(doctor):
    text = text_of("plain").replace(
        "    opt.step()", "    opt.step()\n    if _ == 2: net(X[0, :3])"
    )
    done = doctor(text=text)
    assert done.returncode == 1
    assert done.stdout.startswith("rushlight doctor: 3 backwards, 1 finding\ntrain.py:15: zero_g")
    assert 'train.py", line 17, in <module>' in done.stderr and "_doctor" not in done.stderr


ENDLESS = """
while True:
    try:
        opt.zero_grad()
        F.mse_loss(net(X), Y).backward()
        opt.step()
    except BaseException:
        pass
"""


def test_a_program_that_never_ends(doctor):
    """One that catches what ends it, too."""
    text = text_of("plain").partition("for _")[0]
    done = doctor("--steps", "7", text=text + ENDLESS)
    assert (done.returncode, done.stdout) == (0, "rushlight doctor: 7 backwards, nothing found\n")
    for wait in ("pass", "import time; time.sleep(3600)"):
        done = doctor("--seconds", "1", text=text + f"while True: {wait}")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "rushlight doctor: 0 backwards, nothing found\n"


def test_no_warning_of_the_doctors_own(doctor):
    done = doctor(text=text_of("complex_weights"))
    assert (done.returncode, done.stderr) == (0, "")


def test_arguments_standard_input_and_the_exit_code_are_the_programs(doctor):
    text = text_of("command_line").replace("main()\n", "").replace(
        "    return 0\n", "    print(input())\n    sys.exit(3)\n"
    ) + "main(sys.argv[1:])\n"  # fmt: skip
    done = doctor(text=text, words=("--epochs", "2"), given="a line\n")
    assert done.returncode == 3
    assert done.stdout == "a line\nrushlight doctor: 16 backwards, nothing found\n"
    refused = doctor(text=text, words=("--epoch", "x"))
    assert refused.returncode == 2 and "invalid int value" in refused.stderr


def test_other_processes_are_not_seen(doctor):
    text = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {text_of("plain")!r}], check=True)
"""
    done = doctor(text=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "rushlight doctor: 0 backwards, nothing found\n"


def test_wrong_words_are_refused(doctor):
    done = doctor("--steps", "0", text="")
    assert done.returncode == 2
    assert "--steps takes a number of backward calls, 1 or more, got 0" in done.stderr


def test_nothing_stays_of_a_doctor():
    from rushlight.explain._doctor import Doctor

    import rushlight

    kinds = (rushlight.nn.Module, rushlight.optim.Optimizer, rushlight.Generator)
    before = [dict(vars(kind)) for kind in kinds]
    with Doctor():
        assert dict(vars(rushlight.nn.Module)) != before[0]
    assert [dict(vars(kind)) for kind in kinds] == before


def test_a_look_for_a_holder_keeps_nothing_alive():
    big = torch.ones(3)
    gone = weakref.ref(big)
    holder(torch.ones(1))
    del big
    assert gone() is None
