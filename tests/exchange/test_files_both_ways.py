"""Files both ways: what PyTorch writes is opened here, and what is written here PyTorch opens.

The corpus is in `corpus.py`, who writes and who opens in `program.py`; `symbols.py` compares two
files. tests/data/exchange.xz holds PyTorch's files of some writers, what PyTorch says of each once
PyTorch itself has opened the file, and what the object then gives: so the first half needs no
PyTorch. `python tests/exchange/test_files_both_ways.py` makes that file anew, with PyTorch.
"""

from __future__ import annotations

import lzma
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import corpus  # noqa: E402
import symbols  # noqa: E402

KEPT = HERE.parent / "data" / "exchange.xz"
WRITERS = ("save", "stream", "pickle 2", "pickle 4", "joblib")

# What the files of rushlight say otherwise, and why that is as right.
OTHERWISE = {
    "torch.eye(2).to_sparse_csr()": "PyTorch's indices of both kinds share a storage",
    "torch.eye(2).to_sparse_csc()": "the same",
    "torch.eye(2).to_sparse_bsr((1, 1))": "the same",
    "torch.eye(2).to_sparse_bsc((1, 1))": "the same",
}


def run(*arguments: str) -> None:
    """The program in a process of its own."""
    command = [sys.executable, str(HERE / "program.py"), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "WRITERS": ",".join(WRITERS)}
    )
    assert done.returncode == 0, done.stderr


def loaded(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


def alike(ours: list[Any], theirs: list[Any]) -> bool:
    """Whether two lists of numbers are the same but for rounding."""
    return len(ours) == len(theirs) and all(
        math.isclose(abs(a - b), 0, abs_tol=1e-4 * (1 + abs(b))) or (a != a and b != b)
        if isinstance(b, (int, float, complex))
        else repr(a) == repr(b)
        for a, b in zip(ours, theirs, strict=True)
    )


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    found: dict[str, Any] = pickle.loads(lzma.decompress(KEPT.read_bytes()))
    return found


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What rushlight writes where it runs as torch."""
    path = tmp_path_factory.mktemp("exchange") / "written"
    run("write", "alias", str(path))
    return path


def compare(found: dict[Any, Any], kept: dict[str, Any], case: str, results: Any) -> list[str]:
    """What differs between files of a case as they were opened, and as PyTorch opens its own."""
    wrong = []
    for writer in WRITERS:
        theirs = kept["opened"].get((case, writer))
        mine = found.get((case, writer))
        if theirs is None or isinstance(theirs, str) or mine is None:
            continue  # PyTorch does not open its own
        if isinstance(mine, str):
            wrong.append(f"{writer}: {mine}")
        elif not alike(mine[1], results):
            wrong.append(f"{writer}: gives {mine[1]}, and in PyTorch {results}")
        elif mine[0] != theirs[0] and case not in OTHERWISE:
            wrong.append(f"{writer}: says\n{mine[0]}\nand in PyTorch\n{theirs[0]}")
    return wrong


def test_the_kept_files_are_the_corpus(kept: dict[str, Any]) -> None:
    assert list(kept["written"]) == list(corpus.CASES)


@pytest.mark.parametrize("name", ["alias", "own"])
def test_pytorchs_files_are_opened(name: str, kept: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(pickle.dumps(kept["written"]))
    run("open", name, str(tmp_path / "in"), str(tmp_path / "out"))
    found = loaded(tmp_path / "out")
    wrong = {
        case: problems
        for case, (_, results) in kept["written"].items()
        if (problems := compare(found, kept, case, results))
    }
    assert not wrong, "\n".join(f"{case}: {each}" for case, each in wrong.items())
    assert len(found) > len(corpus.CASES) * (3 if name == "alias" else 1)


def test_files_say_what_pytorchs_say(ours: Path, kept: dict[str, Any]) -> None:
    wrong = []
    for case, (files, _) in loaded(ours).items():
        for writer, content in files.items():
            theirs = kept["written"][case][0].get(writer)
            if isinstance(theirs, bytes) and case not in OTHERWISE:
                assert isinstance(content, bytes), (case, writer, content)
                if symbols.said(content) != symbols.said(theirs):
                    wrong.append((case, writer))
    assert not wrong


def test_pytorch_opens_the_files_without_rushlight(
    ours: Path, kept: dict[str, Any], tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="PyTorch opens the files")
    run("open", "torch", str(ours), str(tmp_path / "out"))
    found = loaded(tmp_path / "out")
    wrong = {
        case: problems
        for case, (_, results) in kept["written"].items()
        if (problems := compare(found, kept, case, results))
    }
    assert not wrong, "\n".join(f"{case}: {each}" for case, each in wrong.items())


def make() -> None:
    """Makes the kept file anew."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        written, again = Path(folder, "written"), Path(folder, "opened")
        run("write", "torch", str(written))
        run("open", "torch", str(written), str(again))
        content = {"written": loaded(written), "opened": loaded(again)}
    for case, (files, _) in content["written"].items():
        for writer, made in list(files.items()):
            if isinstance(made, bytes) and b"site-packages" in made:
                del files[writer]  # PyTorch puts the sources of modules into these
                content["opened"].pop((case, writer), None)
    KEPT.write_bytes(lzma.compress(pickle.dumps(content, 5), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    make()
