"""Ops in Pyodide give what they give in CPython: ops_sweep.py, run in both, line by line.

Calls that ask for NumPy there are left out: tests/test_late_numpy.py lists them. Skipped without
the wheel (`make wasm`).
"""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import wasm  # noqa: E402

# How far numbers may be apart, in parts of them or of 1; of other types they are equal.
NEAR = {
    "torch.float64": 1e-11,
    "torch.complex128": 1e-11,
    "torch.float32": 2e-5,
    "torch.complex64": 2e-5,
    "torch.float16": 3e-3,
    "torch.bfloat16": 2e-2,
}

# Ops that differ there, and why. The list only shrinks.
PHASE = "LAPACK leaves the sign of a vector open, and the BLAS library's differs from ours"
ORDER = "LAPACK leaves the order of eigenvalues open, and the BLAS library's differs from ours"
DIFFERENT = {"_eigh": PHASE, "_svd": PHASE, "svd": PHASE, "_eigvals": ORDER, "eigvals": ORDER}


def near(a, b, within):
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    return abs(a - b) <= within * max(1, abs(a), abs(b)) < math.inf


def alike(a, b):
    """Whether two results of a call are the same: of one type and layout, and of near numbers."""
    if not (isinstance(a, list) and isinstance(b, list)):
        return a == b
    within = NEAR.get(a[0], 0)
    return a[:3] == b[:3] and all(map(near, a[3], b[3], [within] * len(a[3])))


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    wheel = next((wasm.BUILD / "dist").glob("*.whl"), None)
    if not (wheel and (wasm.PYODIDE / "pyodide.mjs").exists() and shutil.which("node")):
        pytest.skip("no wheel for Pyodide, or no Node: make wasm")
    here, made = Path(__file__).parent, tmp_path_factory.mktemp("ops")
    program, results = "website/ops_sweep.py", made / "native"
    set_ = {**os.environ, "RUSHLIGHT_ISA": "v2"}  # as few lanes as there
    subprocess.run([sys.executable, here / "ops_sweep.py", results], env=set_, check=True)
    node = ["node", here / "run_program.mjs", wasm.PYODIDE, wheel, here.parent, program, made]
    done = subprocess.run(node, capture_output=True, text=True)
    assert done.returncode == 0, (done.stderr or done.stdout)[-3000:]
    return [p.read_text(encoding="utf-8").splitlines() for p in (results, made / "in_pyodide")]


def test_each_op_gives_the_same(lines):
    native, there = ({k: v for k, v in map(json.loads, each)} for each in lines)
    assert len(native) > 5000
    asking = {call for call, said in there.items() if said[:1] == ["ModuleNotFoundError"]}
    wrong = {
        call: f"{call}: {native.get(call)} natively, {there.get(call)} in Pyodide"[:600]
        for call in {**native, **there}
        if asking.isdisjoint((call, call.rpartition(" ")[0]))  # or all samples of an op and type
        if len(native.get(call, ())) != len(there.get(call, ()))
        or not all(map(alike, native[call], there[call]))
    }
    ops = {call.partition(" ")[0] for call in wrong}
    assert ops == set(DIFFERENT), "\n".join(text for call, text in sorted(wrong.items()))
