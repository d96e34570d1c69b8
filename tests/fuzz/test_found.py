"""Every program that the fuzzer once found: it may raise, it may not crash."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from _alone import PATIENCE

HERE = Path(__file__).resolve().parent
PROGRAMS = sorted((HERE / "found").glob("*.txt"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_found(path, tmp_path):
    done = subprocess.run(
        [sys.executable, str(HERE / "child.py"), "program", str(path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=tmp_path,
        env=os.environ | {"PYTHONHASHSEED": "0"},
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr[-3000:]}"


def test_the_fuzzer_finds_a_crash(tmp_path):
    """A program that ends its process is seen as such, with the statement that did it."""
    (tmp_path / "program").write_text("import os\nos.abort()\n")
    sys.path.insert(0, str(HERE))
    try:
        main = __import__("runpy").run_path(str(HERE / "__main__.py"))
    finally:
        sys.path.remove(str(HERE))
    assert main["fails"](["import os", "x = 1", "os.abort()"], PATIENCE)
    assert not main["fails"](["x = 1", "y = 1 / 0"], PATIENCE)
    assert main["minimal"](["x = 1", "import os", "y = 2", "os.abort()"], PATIENCE, 20) == [
        "import os",
        "os.abort()",
    ]
