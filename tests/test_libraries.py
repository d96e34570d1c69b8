"""The quick starts in libraries/: each has numbers of PyTorch's and a pinned library, none names
rushlight, and what compares them tells a difference. `make libraries` runs them."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "libraries"
PROGRAMS = sorted((FOLDER / "quick_starts").glob("use_*.py"))
NAMES = [p.stem.removeprefix("use_") for p in PROGRAMS]
IN_PIP = {"pyro": "pyro-ppl"}


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("libraries_run", FOLDER / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_has_numbers_of_pytorch():
    recorded = json.loads((FOLDER / "pytorch.json").read_text(encoding="utf-8"))
    assert sorted(recorded) == NAMES
    for name, found in recorded.items():
        assert found["torch"].startswith("2.13.0") and "rushlight" not in found["torch"], name
        assert len(found["numbers"]) > 1, name


@pytest.mark.parametrize("name", NAMES)
def test_each_library_is_pinned(name: str):
    pinned = re.findall(r"^([\w-]+)==", (FOLDER / "requirements.txt").read_text(), re.MULTILINE)
    assert IN_PIP.get(name, name.replace("_", "-")) in pinned


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_programs_and_sources_know_nothing_of_each_other(program: Path):
    assert "rushlight" not in program.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("found", "wanted", "differ"),
    [
        ([1.0, 2.0], [1.0, 2.0], False),
        ([1.0], [1.0, 2.0], True),
        ([1.0, 2.001], [1.0, 2.0], True),
        ([1.0, 2.00001], [1.0, 2.0], False),
        ([0.0], [1e-7], False),
        ([float("nan")], [1.0], True),
        ([float("inf")], [float("inf")], False),
    ],
)
def test_a_difference_is_told(
    runner: ModuleType, found: list[float], wanted: list[float], differ: bool
):
    assert bool(runner.differing(found, wanted)) is differ


def test_numbers_are_read_from_text(runner: ModuleType):
    assert [float(n) for n in runner.NUMBER.findall("a 1 -2.5e-07\n[3.0, inf]")] == [
        *(1.0, -2.5e-07, 3.0, float("inf"))
    ]
