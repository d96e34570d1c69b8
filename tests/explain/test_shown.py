"""`explain.show` and `explain.live` where there is no page; and the playground's examples, which
use both, as programs of this machine. tests/website/test_playground.py runs them on the page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as torch
from rushlight import explain

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "docs" / "assets" / "run" / "examples").glob("*.py"))
LAST = {
    "five_neurons": r"dL/da over both ways, by hand: 0\.5\na picture: shown\.svg\s*$",
    "xor": r"0 xor 1 = 0\.9\d+\n1 xor 0 = 0\.9\d+\n1 xor 1 = 0\.0\d+\na picture: shown\.svg\s*$",
    "spiral": r"right (9\d|100)%\s*$",
    "pinn": r"largest error 0\.00\d+\na picture: shown\.svg\s*$",
    "rnn": r"odd\?  ([01 ]+)\nsaid  \1\s*$",
    "char_gpt": r"step 200  loss 0\.\d+  A rush.*$",
}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_picture_goes_into_a_file_of_its_id(capsys):
    for radius in (1, 2):
        explain.show(f'<svg id="ring-a"><circle r="{radius}"/></svg>')
    assert capsys.readouterr().out == "a picture: ring-a.svg\n"  # said once
    assert Path("ring-a.svg").read_text() == '<svg id="ring-a"><circle r="2"/></svg>'


def test_graphs_and_pages_go_into_files():
    w = torch.tensor(3.0, requires_grad=True)
    explain.show(explain.graph(w * w))
    assert "<title>The graph of mul</title>" in Path("shown.svg").read_text(encoding="utf-8")
    explain.show(explain.page(w * w))
    assert Path("shown.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_other_values_are_printed(capsys):
    explain.show(torch.ones(2))
    assert capsys.readouterr().out == "tensor([1., 1.])\n"


def test_without_a_value_the_last_variable_with_a_history(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import rushlight as torch\nfrom rushlight import explain\n"
        "explain.show()\nw = torch.ones((), requires_grad=True)\nfirst = w * 2\nlast = w * 3\n"
        "plain = torch.ones(2)\nexplain.show()\n",
        encoding="utf-8",
    )
    assert run(program, tmp_path) == "a picture: shown.svg\n"
    assert "<title>The graph of last</title>" in Path("shown.svg").read_text(encoding="utf-8")


def test_live_is_quiet_without_a_page(capsys):
    explain.live(step=1, loss=torch.ones((), requires_grad=True))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_run_on_this_machine(path, tmp_path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) < 60
    assert re.search(LAST[path.stem], run(path, tmp_path))


def run(program, folder):
    """Run a program with rushlight; what it prints, warnings being errors."""
    command = [sys.executable, "-W", "error", "-m", "rushlight", "run", str(program)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    return done.stdout
