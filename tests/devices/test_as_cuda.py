"""Scripts for a GPU on the OpenCL device: `rushlight run --device-as-cuda` and RUSHLIGHT_CUDA."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from _alone import PATIENCE

HERE = Path(__file__).resolve().parent
SCRIPT = HERE.parent / "data" / "gpu_script.txt"
SAID = """device cuda:0 True
learned True
memory True True
loaded cuda:0
loaded cpu
loaded cuda:0
loaded cpu
loaded cpu
tensor([1.5000], device='cuda:0') torch.cuda.FloatTensor
tensor([1, 2, 3], device='cuda:0')
Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu
CUDA out of memory
CUDA error: invalid device ordinal
"""
COMMAND = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import _pocl
_pocl.prepare()
from rushlight import _cli
sys.exit(_cli.main(sys.argv[1:]))
"""


def run(folder, *words, **variables):
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(HERE), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=folder,
        env={**os.environ, "RUSHLIGHT_CUDA": "", **variables},
    )
    return done.returncode, done.stdout, done.stderr


def test_an_unedited_script(tmp_path):
    code, out, error = run(tmp_path, "run", "--device-as-cuda", SCRIPT)
    assert code == 0, error[-2000:]
    assert out == SAID


def test_the_variable_does_the_same(tmp_path):
    code, out, error = run(tmp_path, "run", SCRIPT, RUSHLIGHT_CUDA="opencl")
    assert code == 0, error[-2000:]
    assert out == SAID


def test_off_by_default(tmp_path):
    script = tmp_path / "asks.py"
    script.write_text(
        "import torch\nprint(torch.cuda.is_available(), torch.cuda.device_count())\n"
        "try:\n    torch.ones(1).cuda()\n"
        "except AssertionError as error:\n    print(str(error).partition('.')[0])\n"
    )
    code, out, _ = run(tmp_path, "run", script)
    assert code == 0 and out == "False 0\nTorch not compiled with CUDA enabled\n"


@pytest.mark.parametrize("call", ["current_accelerator()", "device_count()", "is_available()"])
def test_torch_accelerator_knows_it_before_a_tensor_is_there(tmp_path, call):
    script = tmp_path / "asks.py"
    script.write_text(f"import torch\nprint(torch.accelerator.{call})\n")
    code, out, _ = run(tmp_path, "run", "--device-as-cuda", script)
    assert code == 0 and out.strip() in ("cuda", "1", "True")


def test_processes_that_the_script_starts_have_it_too(tmp_path):
    script = tmp_path / "starts.py"
    script.write_text(
        "import subprocess, sys\n"
        "code = 'import torch; print(torch.cuda.is_available())'\n"
        "print(subprocess.check_output([sys.executable, '-c', code], text=True))\n"
    )
    code, out, error = run(tmp_path, "run", "--device-as-cuda", script)
    assert code == 0 and out.strip() == "True", error
