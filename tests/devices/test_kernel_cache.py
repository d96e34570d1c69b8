"""Compiled kernels are kept on disk: used by the next process, and never trusted where damaged."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from _alone import PATIENCE

HERE = Path(__file__).resolve().parent
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import _pocl
_pocl.prepare()
import rushlight as torch
x = torch.arange(6.0, device="opencl")
print(torch.softmax(x, 0).argmax().item(), (x + x).tolist())
"""
SAID = "5 [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]"


def run(cache):
    environment = os.environ | {"RUSHLIGHT_KERNEL_CACHE": str(cache)}
    command = [sys.executable, "-c", PROGRAM, str(HERE)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout.strip() == SAID, done.stderr


def kept(folder):
    return {path: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_kept_and_used_again(tmp_path):
    folder = tmp_path / "new" / "kernels"
    run(folder)
    first = kept(folder)
    assert len(first) >= 3
    run(folder)
    assert kept(folder) == first


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b[:40] + b"x" + b[41:]])
def test_damaged_files_are_made_anew(tmp_path, damage):
    run(tmp_path)
    whole = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for path, content in whole.items():
        path.write_bytes(damage(content))
    run(tmp_path)
    for path in whole:
        assert path.read_bytes() != damage(whole[path])


def test_works_without_a_place_to_keep_them(tmp_path):
    file = tmp_path / "a file"
    file.write_text("not a folder")
    run(file)
    assert file.read_text() == "not a folder"
    run("")
