"""The stand-in that mpirun starts for a process that runs already, to give it the environment.

`python -I -S _adopted_proxy.py FOLDER SECONDS`: writes FOLDER/RANK.json, waits for FOLDER/RANK.pid,
then for that process's end. The last one removes the folder. Only the standard library is used.
"""

import json
import os
import select
import shutil
import sys
import time

BEGINNINGS = ("PMIX_", "PMI_", "OMPI_", "OPAL_", "PRTE_")


def main(folder: str, seconds: float) -> None:
    """Stand in for one process, until it ends or, within so many seconds, does not come."""
    rank = os.environ.get("PMIX_RANK") or os.environ["OMPI_COMM_WORLD_RANK"]
    own, parent = os.path.join(folder, rank), os.getppid()
    found = {name: value for name, value in os.environ.items() if name.startswith(BEGINNINGS)}
    try:
        with open(own + ".part", "w", encoding="utf-8") as file:
            json.dump(found, file)
        os.rename(own + ".part", own + ".json")
        until = time.monotonic() + seconds
        while not os.path.exists(own + ".pid"):
            if time.monotonic() > until or os.getppid() != parent:
                return
            time.sleep(0.005)
        with open(own + ".pid", encoding="utf-8") as file:
            _wait_for_end(int(file.read()), parent)
    finally:
        for end in (".part", ".json", ".pid"):
            if os.path.exists(own + end):
                os.unlink(own + end)
        if os.path.isdir(folder) and os.listdir(folder) == ["log"]:
            shutil.rmtree(folder, ignore_errors=True)


def _wait_for_end(process: int, parent: int) -> None:
    """Return when a process has ended, or mpirun has."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        while os.path.exists(f"/proc/{process}") and os.getppid() == parent:
            time.sleep(0.1)
        return
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    while not poll.poll(1000) and os.getppid() == parent:
        pass


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
