"""One job on several machines: a supervisor on each, and no mpirun, srun or ssh to start them.

Most tests have both supervisors on this machine. One has a machine of its own for each, as far as
Linux makes one of a name and a network; it is skipped where that is not permitted.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from _jobs import Done, alive, children, environment, wait_until

from _alone import PATIENCE
from rushlight.distributed import _nodes
from rushlight.distributed import run as torchrun

pytest.importorskip("mpi4py", reason="processes are connected by MPI")

PROGRAM = """
import json, os, socket, sys, time
import rushlight as torch, rushlight.distributed as dist
dist.init_process_group()
rank, what = dist.get_rank(), sys.argv[1]
total = torch.ones(3) * (rank + 1)
dist.all_reduce(total)
names = "LOCAL_RANK LOCAL_WORLD_SIZE WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE".split()
told = [int(os.environ[name]) for name in names]
print(json.dumps([rank, told, total.tolist(), socket.gethostname(), os.getcwd(), os.getpid()]))
if what == "raise" and rank == 3:
    raise ValueError("three is too many")
if what != "end":
    time.sleep(3600)
dist.barrier()
dist.destroy_process_group()
"""


def free_port():
    with socket.socket() as free:
        free.bind(("", 0))
        return free.getsockname()[1]


class Pair:
    """The supervisors of node 0 and node 1, each in a folder of its own with the same program."""

    def __init__(self, folder, what, *more, address="127.0.0.1", inside=((), ()), options=None):
        self.processes, port = [], free_port()
        for node in (1, 0):  # the one that has to wait comes first
            own = folder / f"node{node}"
            own.mkdir()
            (own / "train.py").write_text(PROGRAM)
            given = ["--nnodes=2", "--nproc-per-node=2", f"--node-rank={node}", *more]
            given += [f"--master-addr={address}", f"--master-port={port}"]
            given += [f"--rdzv-conf=join_timeout={PATIENCE}", *(options or {}).get(node, [])]
            command = [*inside[node], sys.executable, "-m", "rushlight", "torchrun", *given]
            process = subprocess.Popen(
                [*command, "train.py", what],
                cwd=own,
                env=environment(OMPI_MCA_pml="ob1"),
                stdin=subprocess.DEVNULL,
                stdout=open(own / "out", "w"),  # noqa: SIM115
                stderr=open(own / "err", "w"),  # noqa: SIM115
                start_new_session=True,
            )
            self.processes.insert(0, process)
        self.folder = folder

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.processes:
            process.kill()
            process.wait()

    def text(self, node, name):
        return (self.folder / f"node{node}" / name).read_text()

    def shown(self, node):
        return sorted(json.loads(line) for line in self.text(node, "out").splitlines())

    def ranks_run(self):
        """The ranks' processes, once all four have printed."""
        wait_until(lambda: all(self.text(n, "out").count("\n") == 2 for n in (0, 1)))
        found = [line[-1] for node in (0, 1) for line in self.shown(node)]
        assert len(found) == 4, self.text(0, "err") + self.text(1, "err")
        return found

    def ended(self):
        """How both have ended."""
        codes = [process.wait(timeout=PATIENCE) for process in self.processes]
        return [
            Done(code, self.text(n, "out"), self.text(n, "err")) for n, code in enumerate(codes)
        ]


def check_complete(pair):
    """Both have ended well, and each has shown its own two ranks; the names of their machines."""
    assert [(done.code, done.err) for done in pair.ended()] == [(0, "")] * 2
    hosts = []
    for node in (0, 1):
        lines = pair.shown(node)
        assert [line[0] for line in lines] == [2 * node, 2 * node + 1]
        assert [line[1] for line in lines] == [[0, 2, 4, node, 2], [1, 2, 4, node, 2]]
        assert all(line[2] == [10.0] * 3 for line in lines)
        assert all(line[4] == str(pair.folder / f"node{node}") for line in lines)
        hosts.append({line[3] for line in lines})
    return hosts


def test_two_supervisors_make_one_job_with_torchruns_ranks(tmp_path):
    with Pair(tmp_path, "end") as pair:
        assert check_complete(pair) == [{socket.gethostname()}] * 2


def test_machines_may_have_one_process_each(tmp_path):
    one = ["--nproc-per-node=1"]
    with Pair(tmp_path, "end", options={0: one, 1: one}) as pair:
        assert [(done.code, done.err) for done in pair.ended()] == [(0, "")] * 2
        shown = [pair.shown(node) for node in (0, 1)]
    assert [[line[:3] for line in lines] for lines in shown] == [
        [[rank, [0, 1, 2, rank, 2], [3.0] * 3]] for rank in (0, 1)
    ]


def test_a_rank_that_raises_ends_all_nodes_and_all_start_again(tmp_path):
    with Pair(tmp_path, "raise", "--max-restarts=1") as pair:
        pair.ranks_run()
        zero, one = pair.ended()
    assert (zero.code, one.code) == (1, 1)
    assert one.err.count("ValueError: three is too many") == 2
    for done in (zero, one):
        assert done.err.count("train.py failed: rank 3 ended with exit code 1") == 2
        assert done.err.count("rank      : 3 (local_rank: 1)") == 2
        assert done.err.count("restart 1 of 1") == 1
        assert "MPI_ERRORS_ARE_FATAL" not in done.err


@pytest.mark.parametrize(
    ("node", "number"), [(1, signal.SIGINT), (0, signal.SIGKILL), (1, signal.SIGKILL)]
)
def test_a_supervisor_that_gets_a_signal_or_dies_ends_the_job_on_both(tmp_path, node, number):
    with Pair(tmp_path, "sleep") as pair:
        started = pair.ranks_run()
        for process in pair.processes:
            started += children(process.pid)  # mpirun, and prted
        pair.processes[node].send_signal(number)
        both = pair.ended()
    assert both[node].code == -number
    assert both[1 - node].code == 1
    name = f"node {node} has gone" if number == signal.SIGKILL else number.name
    assert name in both[1 - node].err
    assert wait_until(lambda: not any(map(alive, started)))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (["--nproc-per-node=3"], "it has --nproc-per-node=3, and node 0 has 2"),
        (["--rdzv-id=another"], "its --rdzv-id or its variable RUSHLIGHT_SECRET is not that of"),
    ],
)
def test_a_node_that_does_not_fit_is_told_so_on_both_sides(tmp_path, given, text):
    with Pair(tmp_path, "end", options={1: given}) as pair:
        assert pair.processes[1].wait(timeout=PATIENCE) == 1
        assert text in pair.text(1, "err")
        assert wait_until(lambda: text in pair.text(0, "err"))


def test_a_node_that_finds_nobody_names_the_place(tmp_path):
    port = free_port()
    given = ["--nnodes=2", "--node-rank=1", "--master-addr=127.0.0.1", f"--master-port={port}"]
    job = torchrun.job(torchrun.parse_args([*given, "--rdzv-conf=join_timeout=0.1", "train.py"]))
    with pytest.raises(RuntimeError, match=rf"node 1 could not reach node 0 at 127.0.0.1:{port}"):
        _nodes.meet(job)


def test_node_zero_names_those_that_have_not_come():
    given = ["--nnodes=3", "--node-rank=0", f"--master-port={free_port()}"]
    job = torchrun.job(torchrun.parse_args([*given, "--rdzv-conf=join_timeout=0.1", "train.py"]))
    with pytest.raises(RuntimeError, match=r"of 3 nodes these have not called .*: 1, 2"):
        _nodes.meet(job)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--nnodes=1:4"], "--nnodes=1:4: the number of machines does not change"),
        (["--nnodes=2", "--node-rank=2"], "--node-rank=2: 0 to 1 is expected"),
        (["--nnodes=2", "--rdzv-conf=join_timeout=x"], "join_timeout=SECONDS is expected"),
    ],
)
def test_options_that_cannot_be_are_refused(options, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        torchrun.job(torchrun.parse_args([*options, "train.py"]))


# Two machines, as far as a name and a network make one: a cable of two ends between them.
MACHINES = """
hostname nodea && ip link set lo up && ip link add va type veth peer name vb || exit 1
unshare --net --uts sleep 3600 & OTHER=$!
trap 'kill $OTHER' EXIT
until [ "$(readlink /proc/$OTHER/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.02; done
ip link set vb netns $OTHER && ip addr add 10.99.0.1/24 dev va && ip link set va up || exit 1
nsenter -t $OTHER --net --uts sh -c 'hostname nodeb && ip link set lo up &&
    ip addr add 10.99.0.2/24 dev vb && ip link set vb up' || exit 1
echo $$ $OTHER
read line
"""


@pytest.fixture
def machines():
    """For each of two machines, the command in front of one that is to run there."""
    if missing := [
        name for name in ("unshare", "nsenter", "ip", "hostname") if not shutil.which(name)
    ]:
        pytest.skip(f"not here: {', '.join(missing)}")
    own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    with subprocess.Popen(
        ["unshare", *own, "--net", "--uts", "sh", "-c", MACHINES],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as holder:
        pids = holder.stdout.readline().split()
        if not pids:
            pytest.skip(f"no networks of one's own here: {holder.communicate()[1].strip()}")
        user = ["--user", "--preserve-credentials"] if own else []
        yield [["nsenter", "-t", pid, *user, "--net", "--uts"] for pid in pids]
        holder.communicate("")


def test_machines_with_names_and_networks_of_their_own(tmp_path, machines):
    with Pair(tmp_path, "end", address="10.99.0.1", inside=machines) as pair:
        assert check_complete(pair) == [{"nodea"}, {"nodeb"}]
