"""`rushlight profile SCRIPT`: real processes, the table that they print, and the files."""

import json
import os
import re
import subprocess
import sys
import textwrap

import pytest

from _alone import PATIENCE

TRAIN = """
    import time
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    begun = time.perf_counter()
    torch.manual_seed(0)
    x, y = torch.randn(320, 32), torch.randint(10, (320,))
    loader = DataLoader(TensorDataset(x, y), batch_size=32)
    net = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(net.parameters())
    for a, b in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(a), b)
        loss.backward()
        optimizer.step()
    time.sleep(0.2)
    print("seconds", time.perf_counter() - begun)
"""


@pytest.fixture
def profile(command):
    return command("profile", TRAIN)


UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def seconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def rows(report, title):
    """The rows of one table: name, seconds, calls and the rest of the line."""
    block = next(b for b in report.split("\n\n") if b.startswith(title))
    pattern = r"(\S.*?) {2,}(-?[\d.]+ (?:us|ms|s)) +(-?[\d.]+)((?: {2,}\S.*)?)$"
    return {m[1]: (seconds(m[2]), m[4]) for m in re.finditer(pattern, block, re.M)}


def test_the_parts_add_up_to_the_wall_clock_of_the_program(profile):
    ran = profile("train.py")
    assert ran.returncode == 0, ran.stderr
    took = float(ran.stdout.split()[-1])
    parts = rows(ran.stderr, "part of the step")
    assert list(parts) == ["data", "forward", "backward", "optimizer", "rest"]
    whole = seconds(re.search(r"train\.py: ([\d.]+ \w+) in all", ran.stderr)[1])
    assert sum(time for time, _ in parts.values()) == pytest.approx(whole, rel=0.03)
    assert whole >= took  # of the program, the imports too
    assert parts["rest"][0] >= 0.2  # the sleep
    assert all(time > 0 for time, _ in parts.values())


def test_modules_lines_and_ops_have_their_calls(profile):
    report = profile("train.py").stderr
    parts, modules = rows(report, "part of the step"), rows(report, "module")
    assert parts["data"][1].split()[-1] == "11"  # the last one ends the loop
    assert [parts[p][1].split()[-1] for p in ("forward", "backward", "optimizer")] == ["10"] * 3
    assert {"net", "net.0", "net.1", "net.2"} <= modules.keys()
    lines = rows(report, "line")
    text = textwrap.dedent(TRAIN).splitlines()
    call = next(n for n, line in enumerate(text, 1) if "cross_entropy" in line)
    assert f"train.py:{call}" in lines
    ops = rows(report, "op")
    assert ops["ReluBackward0"][1].split()[-1] == "10"
    assert ops["relu"][1].split()[-1] == "10"


def test_the_trace_has_names_arguments_and_arrows(profile):
    ran = profile("--trace", "trace.json", "train.py")
    assert ran.returncode == 0, ran.stderr
    found = json.loads((profile.folder / "trace.json").read_text("utf-8"))["traceEvents"]
    named = {e["name"]: e["args"]["name"] for e in found if e["ph"] == "M"}
    assert named["thread_name"] == "MainThread"
    runs = [e for e in found if e["ph"] == "X"]
    relu = next(e for e in runs if e["name"] == "aten::relu")
    assert relu["args"]["Input Dims"] == "[32, 256]"
    assert relu["args"]["Module"] == "net.1"
    starts = {e["id"]: e for e in found if e["ph"] == "s"}
    ends = {e["id"]: e for e in found if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    for name, node in (("aten::relu", "ReluBackward0"),):
        nodes = [e for e in runs if e["name"] == node]
        assert len(nodes) == 10
        for e in nodes:
            number = e["args"]["Sequence number"]
            call = next(c for c in runs if c["ts"] == starts[number]["ts"] and c["name"] == name)
            assert call["ts"] + call["dur"] < e["ts"] == ends[number]["ts"]
    assert sum(e["name"] == "Optimizer.step#Adam.step" for e in runs) == 10
    assert sum(e["name"] == "Optimizer.zero_grad#Adam.zero_grad" for e in runs) == 10


def test_an_op_without_a_kernel_is_named(profile):
    script = """
        import torch
        x = torch.ones(4, dtype=torch.bfloat16)
        for _ in range(3):
            x.nextafter(x)
            x.sin()
    """
    report = profile("train.py", script=script).stderr
    ops = rows(report, "op")
    assert ops["nextafter"][1].endswith("3  NumPy fallback"), report
    assert "NumPy" not in ops["sin"][1]


def test_a_program_that_fails_has_its_traceback_and_the_table(profile):
    script = """
        import torch
        net = torch.nn.Linear(3, 4)
        net(torch.ones(2, 3)).sum().backward()
        net(torch.ones(2, 5))
    """
    ran = profile("train.py", script=script)
    assert ran.returncode == 1
    assert "_records.py" not in ran.stderr
    assert "mat1 and mat2 shapes" in ran.stderr
    assert rows(ran.stderr, "part of the step")["backward"][0] > 0
    assert (profile.folder / "train.profile.html").exists()


def test_the_programs_exit_code_stays_and_wrong_words_are_told(profile):
    assert profile("train.py", script="import sys; sys.exit(7)").returncode == 7
    ran = profile("-o", "nowhere/page.html", "train.py")
    assert (ran.returncode, "there is no such folder" in ran.stderr) == (2, True)
    ran = profile("--trase", "x", "train.py")
    assert (ran.returncode, "did you mean --trace" in ran.stderr) == (2, True)


def test_the_trace_of_calls_has_steps_and_their_sums(tmp_path):
    script = """
        import rushlight as torch
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.Adam([w])
        for _ in range(2):
            optimizer.zero_grad()
            w.exp().sum().backward()
            optimizer.step()
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(script), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "RUSHLIGHT_TRACE": "1"},
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stderr.splitlines()
    steps = [line.split() for line in lines if line.startswith("step")]
    assert [(s[1], s[2], s[-1]) for s in steps] == [
        ("Adam.zero_grad", "optimizer", "train.py:6"),
        ("Adam.step", "optimizer", "train.py:8"),
    ] * 2
    sums = [line for line in lines if line.startswith("sums")]
    assert len(sums) == 2
    own = [seconds(" ".join(s[3:5])) for s in steps[2:]]
    said = re.search(r"step ([\d.]+ \w+) of 2", sums[1])
    assert seconds(said[1]) == pytest.approx(sum(own), abs=3e-7)  # each is rounded
