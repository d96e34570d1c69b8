"""tools/gpu_check.py on PoCL: all parts, small; and what it makes of parts that crash, hang, raise
or find something wrong."""

import importlib.metadata
import importlib.util
import json
import math
import os
import subprocess
import sys
import threading
import zipfile
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import _pocl
import pytest

import rushlight
from _alone import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
LONG = 5.5 * PATIENCE / 60  # minutes: limits so long that only a defect meets them


def module(path):
    """A file of Python as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


check, bundle = (module(ROOT / "tools" / f"{name}.py") for name in ("gpu_check", "gpu_bundle"))
standin = module(ROOT / "tests" / "devices" / "cuda" / "_standin.py")

TROUBLES = """
import ctypes, os, time

def does(here):
    print("noise")
    return {"said": "done"}

def exits(here):
    os._exit(7)

def crashes(here):
    ctypes.string_at(0)

def hangs(here):
    time.sleep(3600)

def raises(here):
    raise ValueError("this one")

def loses_the_device(here):
    here.torch.ones(1, device=here.device)
    child = os.fork()  # has no device
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return {}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of stages that are given, whose tasks are those of TROUBLES; the rows in its file."""
    (tmp_path / "troubles.py").write_text(TROUBLES)
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))

    def made(*stages, minutes=5.5, device="cpu"):
        names = [name for stage in stages for name, _, _ in stage]
        options = SimpleNamespace(
            device=device, minutes=minutes, only=names, quick=True, out=tmp_path / "out"
        )
        check.run(options, list(stages))
        return json.loads((tmp_path / "out" / "results.json").read_text())

    made.folder = tmp_path / "out"
    return made


def tasks(*names, **how):
    return partial(check.pooled, tasks=[(f"troubles.{n}",) for n in names], processes=1, **how)


def brief(rows):
    return [(row["name"].removeprefix("troubles."), row["state"]) for row in rows]


class TestTrouble:
    def test_a_task_that_ends_its_process_is_told_and_the_next_are_done(self, run):
        names = "does", "exits", "does", "crashes", "does", "raises", "does"
        found = run([("bad", 300, tasks(*names))], [("after", 300, tasks("does"))])
        assert brief(found["rows"]) == [
            *(("does", "ok"), ("exits", "failed"), ("does", "ok"), ("crashes", "failed")),
            *(("does", "ok"), ("raises", "failed"), ("does", "ok"), ("does", "ok")),
        ]
        said = [row["said"] for row in found["rows"]]
        assert said[1].startswith("the process ended with code 7")
        assert said[3].startswith("the process ended by SIGSEGV")
        assert said[5] == "ValueError: this one (troubles.py:18)"
        assert found["rows"][-1]["part"] == "after"

    def test_a_task_that_hangs_is_ended(self, run):
        found = run([("bad", 300, tasks("does", "hangs", "does", seconds=1))])
        assert brief(found["rows"]) == [("does", "ok"), ("hangs", "failed"), ("does", "ok")]
        assert found["rows"][1]["said"].startswith("no end after 1 s")

    def test_what_a_parts_time_does_not_suffice_for_is_left_out(self, run):
        found = run([("bad", 4, tasks("hangs", "does", "does"))], [("good", 300, tasks("does"))])
        assert brief(found["rows"]) == [
            ("hangs", "left out"),
            ("2 tasks", "left out"),
            ("does", "ok"),
        ]

    def test_all_parts_end_with_the_check(self, run):
        found = run([("long", 300, tasks("hangs"))], [("late", 300, tasks("does"))], minutes=0.05)
        assert brief(found["rows"]) == [("hangs", "left out"), ("late", "left out")]
        assert found["about"]["seconds"] < PATIENCE

    def test_a_defect_of_a_part_is_told(self, run):
        def part(under):
            raise LookupError("of the check's own")

        found = run([("bad", 300, part)], [("good", 300, tasks("does"))])
        assert brief(found["rows"]) == [("bad", "failed"), ("does", "ok")]
        assert "LookupError: of the check's own" in found["rows"][0]["said"]

    def test_parts_of_a_stage_are_done_side_by_side(self, run):
        both = threading.Barrier(2)

        def part(under):
            both.wait(PATIENCE)
            under.row(name="met", state="ok")

        found = run([("one", PATIENCE, part), ("other", PATIENCE, part)])
        assert brief(found["rows"]) == [("met", "ok")] * 2

    def test_a_device_that_computes_no_more_is_told(self, run):
        part = tasks("does", "loses_the_device", "does")
        found = run([("bad", 300, part)], device="opencl")
        assert brief(found["rows"])[1:] == [("loses_the_device", "failed"), ("does", "ok")]
        assert "the device computed no more" in found["rows"][1]["said"]

    def test_without_a_device_parts_are_not_here(self, run):
        found = run([("any", 300, tasks("does"))], device="")
        assert brief(found["rows"]) == [("any", "not here")]

    def test_the_file_is_whole_after_each_part(self, run):
        seen = []

        def look(under):
            seen.append(json.loads((run.folder / "results.json").read_text()))

        run([("bad", 300, tasks("does", "exits"))], [("look", 300, look)])
        assert brief(seen[0]["rows"]) == [("does", "ok"), ("exits", "failed")]
        assert seen[0]["parts"]["bad"]["seconds"] > 0

    def test_the_file_is_whole_at_any_time(self, tmp_path):
        results, file = check.Results(tmp_path), tmp_path / "results.json"
        results.save()
        running = threading.Thread(target=lambda: [results.save() for _ in range(300)])
        results.rows += [{"part": "x", "state": "ok", "said": "long" * 99}] * 99
        running.start()
        while running.is_alive():
            json.loads(file.read_text())
        running.join()


MEMORY = """#!{python}
import os, pathlib
total = {more}
for file in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        if {mark!r} in file.read_text(errors="replace"):
            total += int((file.parent / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        pass
print(total >> 20)
"""  # of the processes of a test: PoCL's memory is the host's


class TestKilled:
    def found(self, run, tmp_path, monkeypatch, more):
        program = tmp_path / "nvidia-smi"
        program.write_text(MEMORY.format(python=sys.executable, more=more, mark=str(tmp_path)))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), os.environ["PATH"]]))
        rows = run([("trouble", 300, check.killed)], device="opencl")["rows"]
        return [(row["state"], row["said"]) for row in rows]

    def test_memory_is_free_again(self, run, tmp_path, monkeypatch):
        ((state, said),) = self.found(run, tmp_path, monkeypatch, "0")
        assert state == "ok", said

    def test_memory_that_is_not_free_again_is_seen(self, run, tmp_path, monkeypatch):
        seen = tmp_path / "seen"
        more = f"(64 << 20) * pathlib.Path({str(seen)!r}).exists()"
        more += f"; pathlib.Path({str(seen)!r}).touch()"
        ((state, said),) = self.found(run, tmp_path, monkeypatch, more)
        assert state == "wrong" and "after the process was killed" in said


class TestPage:
    def test_worst_rows_first(self, tmp_path):
        results = check.Results(tmp_path)
        results.parts["x"] = {"seconds": 1.0}
        results.add("x", name="fine", state="ok", ours=1e-6, ratio=3.0)
        results.add("x", name="rather slow", state="slow", said="1.0 times", reached=0.9, ours=1e-6)
        results.add("x", name="other", state="wrong", said="values, by 3")
        results.add("x", name="very slow", state="slow", said="1.0 times", reached=0.1, ours=1e-6)
        results.add("x", name="gone", state="failed", said="the process ended by SIGSEGV")
        page = results.page()
        worst = page[page.index("Worst first") : page.index("Not here")]
        found = [worst.index(n) for n in ("gone", "other", "very slow", "rather slow")]
        assert found == sorted(found)
        assert "SIGSEGV" in worst and "fine" not in worst
        assert "0.10 of the figure to reach: 1.0 times" in worst

    def test_numbers_that_json_has_not(self, tmp_path):
        results = check.Results(tmp_path)
        results.add("x", name="a", state="wrong", error=math.inf, said="")
        results.save()
        text = (tmp_path / "results.json").read_text()
        assert json.loads(text, parse_constant=pytest.fail)["rows"][0]["error"] == "inf"
        assert "inf" not in results.page() or results.page()


def values(*numbers):
    return {"mean": 1.0, "size": len(numbers), "samples": list(numbers)}


class TestRows:
    @pytest.mark.parametrize(
        ("ours", "theirs", "apart"),
        [
            (values(1.0, 4.0), values(1.0, 4.0), 0.0),
            (values(1.0, 3.0), values(1.0, 4.0), 0.25),
            (values(1.0, math.nan), values(1.0, math.nan), 0.0),
            (values(1.0, math.nan), values(1.0, 2.0), math.inf),
            (values(1.0, 2.0), values(1.0, math.nan), math.inf),
            (values(math.inf, 2.0), values(math.inf, 2.0), 0.0),
            (values(math.inf, 2.0), values(5.0, 2.0), math.inf),
            (values(1.0), values(1.0, 1.0), math.inf),
            ({**values(1.0), "mean": 1.5}, values(1.0), 0.5),
        ],
    )
    def test_difference(self, ours, theirs, apart):
        assert check.difference(ours, theirs) == apart

    def row(self, ours, theirs, alone=(), part="memory", name="exp", judged=True, error=0.0):
        theirs_is = {"capability": [9, 0]} if judged else {}
        whole = check.Check(SimpleNamespace(device="cuda"), None, 0, theirs=theirs_is)
        whole.copy_rate = 100.0
        under = check.Under(part, whole, 0)
        times = {"ours": ours, "theirs": theirs} | ({"alone": alone} if alone else {})
        about = {"state": "ok", "bytes": 1e9, "operations": 0, "bound": 1e-4, "by host": []}
        made = {c: {**about, "values": values(1.0)} for c in times}
        made["ours"]["values"]["samples"] = [1.0 + error]
        found = {c: [{"state": "ok", "done": [t], "queued": []} for t in times[c]] for c in times}
        return check.compared(under, name, made, found)

    def test_medians_rate_and_share(self):
        row = self.row([0.01, 9.0, 0.0125], [0.025])
        assert (row["ours"], row["ratio"], row["rate"]) == (0.0125, 2.0, 80.0)
        assert row["share"] == 0.8
        assert (row["state"], row["said"]) == ("slow", "85 % of a copy's bandwidth")
        assert row["reached"] == pytest.approx(0.8 / 0.85)

    def test_the_figure_that_is_missed_most(self):
        assert self.row([0.0125], [0.01])["said"] == "1.0 times PyTorch's speed"
        assert self.row([0.01], [0.011])["state"] == "ok"

    def test_small_steps_are_to_be_twice_as_fast(self):
        row = self.row([0.01], [0.015], part="steps", name="PINN, Burgers")
        assert (row["state"], row["reached"]) == ("slow", 0.75)

    def test_products_without_libraries(self):
        row = self.row([0.01], [0.01], [0.02], "products", "8 x 8 x 8 in float32")
        assert (row["state"], row["reached"]) == ("slow", 0.5 / 0.8)

    def test_nothing_is_judged_where_pytorch_has_another_device(self):
        assert self.row([0.0125], [0.01], judged=False)["state"] == "ok"

    def test_a_result_that_differs_is_wrong(self):
        row = self.row([0.01], [0.011], error=0.01)
        assert (row["state"], row["error"]) == ("wrong", pytest.approx(0.01))


def started(folder, *words, program=ROOT / "tools" / "gpu_check.py", python=sys.executable, **env):
    """A quick run by the command; the results."""
    command = [python, str(program), "--quick", "--minutes", str(LONG), "--out", str(folder)]
    kept = {k: v for k, v in os.environ.items() if k not in env}
    env = {k: v for k, v in env.items() if v is not None}
    done = subprocess.run([*command, *words], capture_output=True, text=True, env=kept | env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "page.txt").read_text() in done.stdout
    return json.loads((folder / "results.json").read_text())


def parts(found, *states):
    return {row["part"] for row in found["rows"] if row["state"] in states}


def well(found):
    """Nothing failed, is wrong or was left out, and all programs were timed."""
    assert [row for row in found["rows"] if row["state"] not in ("ok", "not here")] == []
    timed = [row for row in found["rows"] if "ours" in row]
    assert all(row["ours"] > 0 for row in timed)
    if found["about"]["libraries"][-1] != "not here":
        assert all("ratio" in row for row in timed if row["name"] != "an empty kernel")
    return len(timed)


def test_texts_that_take_long_are_compiled_first():
    sys.path.insert(0, str(ROOT / "tools"))
    tasks, texts = import_module("gpu_tasks"), import_module("cuda_check").texts()
    numbers = tasks._longest_first()
    first = [texts[number][0].partition(".")[0] for number in numbers]
    long = {"pointwise", "complex", "fused_attention"}
    count = sum(name in long for name in first)
    assert set(first[:count]) == long and sorted(numbers) == list(range(len(texts)))


def test_all_parts_on_pocl(tmp_path):
    found = started(tmp_path, "--device", "opencl")
    assert well(found) > 50
    pytorch = importlib.util.find_spec("torch") is not None
    assert (found["about"]["libraries"][-1] != "not here") is pytorch
    assert set(found["parts"]) == set(check.PARTS)
    assert parts(found, "ok") >= set(check.PARTS) - {"op_db", "choices", "sweep on OpenCL"}
    lacking = {"op_db", "choices", "sweep on OpenCL", "there", "trouble"}
    assert parts(found, "not here") <= lacking


def test_a_run_that_is_ended_leaves_its_results(tmp_path):
    words = [sys.executable, str(ROOT / "tools" / "gpu_check.py"), "--device", "opencl", "--quick"]
    running = subprocess.Popen([*words, "--out", str(tmp_path)], stdout=subprocess.PIPE, text=True)
    for line in running.stdout:
        if line.startswith("tensor"):
            break
    running.terminate()
    running.stdout.read()
    assert running.wait(PATIENCE) == 1
    found = json.loads((tmp_path / "results.json").read_text())
    assert "ok" in {row["state"] for row in found["rows"] if row["part"] == "tensor"}
    assert "choices" not in found["parts"]
    assert "tensor" in (tmp_path / "page.txt").read_text()


@pytest.mark.skipif(standin.compiler() is None, reason="the stand-in for CUDA needs a compiler")
def test_parts_on_the_stand_in_for_cuda(tmp_path):
    library = str(standin.library())
    where = {"RUSHLIGHT_CUDA_LIBRARY": library, "RUSHLIGHT_NVRTC_LIBRARY": library}
    words = "tensor calls products trouble".split()
    found = started(tmp_path, "--device", "cuda", "--only", *words, **where)
    assert well(found) > 12  # those of two parts
    assert parts(found, "ok") == {"there", *words}
    assert found["about"]["checked"] == "cuda" and "Stand-in" in found["about"]["card"]
    products = [row for row in found["rows"] if row["part"] == "products"]
    assert all(row["alone"] > 0 for row in products)


def wheel(folder, name):
    """A wheel of an installed package."""
    version = importlib.metadata.version(name) if name != "rushlight" else "0"
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    path = folder / f"{name.replace('-', '_')}-{version}-{tag}-{tag}-any.whl"
    if name == "rushlight":
        root = Path(rushlight.__file__).parent
        files = [(file, file.relative_to(root.parent)) for file in root.rglob("*")]
    else:
        files = [(Path(f.locate()), f) for f in importlib.metadata.files(name) or ()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file, inside in files:
            if file.is_file() and not str(inside).startswith("..") and file.suffix != ".pyc":
                archive.write(file, str(inside))
    return path


def test_the_bundle_is_small_and_runs_with_nothing_else(tmp_path):
    packages = (
        "rushlight numpy ml_dtypes scipy-openblas32 pytest pluggy iniconfig packaging pygments"
    )
    wheels = [wheel(tmp_path, name) for name in packages.split()]
    folder = tmp_path / "bundle"
    assert bundle.collect(folder, wheels) < bundle.MEGABYTES * 1e6
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "fresh"], check=True)
    python = str(tmp_path / "fresh" / "bin" / "python")
    assert subprocess.run([python, "-Ic", "import numpy"], capture_output=True).returncode
    words = "tensor compile sweep networks op_db calls products trouble".split()
    only = ["--device", "opencl", "--only", *words]
    env = {"RUSHLIGHT_OPENCL_LIBRARY": _pocl.library(), "PYTHONPATH": None}
    program = folder / "gpu_check.py"
    found = started(tmp_path / "out", *only, program=program, python=python, **env)
    well(found)
    assert parts(found, "ok") == {"there", *words} - {"op_db"}
    assert "op_db" in parts(found, "not here")
