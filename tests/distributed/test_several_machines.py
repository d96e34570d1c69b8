"""One job on several machines, which mpirun starts as docs/how-to/processes.md says.

Each machine has a name and a network of its own, as far as Linux makes one of these. What enters it
stands in for ssh. Skipped where that is not permitted.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest
from _jobs import environment
from rushlight.distributed import _mpirun

pytest.importorskip("mpi4py", reason="processes are connected by MPI")

PROGRAM = """
import json, socket
import rushlight as torch, rushlight.distributed as dist
dist.init_process_group()
total = torch.ones(3) * (dist.get_rank() + 1)
dist.all_reduce(total)
print(json.dumps([dist.get_rank(), dist.get_world_size(), total.tolist(), socket.gethostname()]))
dist.destroy_process_group()
"""
# Two machines: a cable of two ends between them.
MACHINES = """
hostname nodea && ip link set lo up && ip link add va type veth peer name vb || exit 1
unshare --net --uts sleep 3600 & OTHER=$!
trap 'kill $OTHER' EXIT
while [ $(readlink /proc/$OTHER/ns/net) = $(readlink /proc/$$/ns/net) ]; do sleep 0.02; done
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


def test_mpirun_starts_the_ranks_of_two_machines(tmp_path, machines):
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "ssh").write_text(f'shift\nexec {" ".join(machines[1])} sh -c "$*"\n')
    words = [*machines[0], _mpirun.mpirun(), "-n", "4", "--host", "10.99.0.1:2,10.99.0.2:2"]
    done = subprocess.run(
        [*words, sys.executable, "-m", "rushlight", "run", "train.py"],
        cwd=tmp_path,
        env=environment(PRTE_MCA_plm_ssh_agent=f"sh {tmp_path}/ssh", **_mpirun.settings(False)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    shown = sorted(json.loads(line) for line in done.stdout.splitlines())
    hosts = ["nodea", "nodea", "nodeb", "nodeb"]
    assert shown == [[rank, 4, [10.0] * 3, host] for rank, host in enumerate(hosts)]
