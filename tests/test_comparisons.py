"""`pytest --comparisons` runs what asked for PyTorch in a run without it, and nothing else."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from _alone import PATIENCE

HERE = Path(__file__).parent
# Whatever is installed, `torch` is found in no folder but the one that is named.
ONLY = """
import importlib.machinery, os
found = importlib.machinery.PathFinder.find_spec
def find_spec(name, path=None, target=None):
    if name == "torch":
        path = [folder] if (folder := os.environ.get("TORCH_IN")) else []
    return found(name, path, target)
importlib.machinery.PathFinder.find_spec = find_spec
"""
FILES = {
    "test_whole.py": """
import pytest
torch = pytest.importorskip("torch")
def test_one(): assert torch.answer == 42
def test_two(): pass
""",
    "test_parts.py": """
import importlib.util, pytest
def test_compares(): assert pytest.importorskip("torch").answer == 42
@pytest.mark.parametrize("n", [1, 2])
def test_looks(n): n == 2 and importlib.util.find_spec("torch")
def test_alone(): pass
@pytest.fixture
def oracle(): return pytest.importorskip("torch")
def test_by_fixture(oracle): pass
""",
    "test_more.py": """
import importlib.util, pytest
COUNT = 3 if importlib.util.find_spec("torch") else 1
@pytest.mark.parametrize("n", range(COUNT))
def test_many(n): pass
""",
    "test_without.py": "def test_nothing(): pass\n",
    "torch_here/torch.py": "answer = 42\n",
}
ASK = {
    *("test_whole.py::test_one", "test_whole.py::test_two"),
    *("test_parts.py::test_compares", "test_parts.py::test_by_fixture"),
    "test_parts.py::test_looks[2]",
    *(f"test_more.py::test_many[{n}]" for n in range(3)),
}


@pytest.fixture
def suite(tmp_path):
    """Runs a small suite under our conftest: its exit code, what passed, and what is said."""
    shutil.copy(HERE / "conftest.py", tmp_path)
    (tmp_path / "only_torch_in.py").write_text(ONLY)
    (tmp_path / "torch_here").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ours["PYTHONPATH"] = ""

    def run(*options, torch=False):
        command = [sys.executable, "-m", "pytest", "-p", "only_torch_in", "-v", *options]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=ours | {"TORCH_IN": str(tmp_path / "torch_here") if torch else ""},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        passed = re.findall(r"(test_\S+::\S+) PASSED|PASSED \S* ?(test_\S+::\S+)", done.stdout)
        return done.returncode, {one or other for one, other in passed}, done.stdout + done.stderr

    return run


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_only_what_asked_for_it(suite, workers):
    code, passed, said = suite(*workers)
    assert code == 0 and "PyTorch: not installed" in said
    alone = {"test_parts.py::test_alone", "test_without.py::test_nothing"}
    assert passed == alone | {f"test_parts.py::test_looks[{n}]" for n in (1, 2)} | {
        "test_more.py::test_many[0]"
    }
    code, passed, said = suite("--comparisons", *workers, torch=True)
    assert (code, passed) == (0, ASK), said


def test_without_a_run_before_it_says_what_to_do(suite):
    code, passed, said = suite("--comparisons", torch=True)
    assert (code, passed) == (pytest.ExitCode.USAGE_ERROR, set())
    assert "first run the suite here without PyTorch" in said
