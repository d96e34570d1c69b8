"""The start of each process of a job: `python _rank.py SOCKET`, under mpirun.

The process calls its supervisor (_launch.py), which answers with the environment, the output
streams and the program; then it runs the program. Until then nothing of rushlight is imported.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import marshal
import os
import signal
import socket
import sys

# The variables by which MPIs and PMI give a process its number.
_RANKS = "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"


def _hello() -> tuple[socket.socket, int, dict[str, object]]:
    """Call the supervisor: the connection, this rank, and what it says."""
    rank = int(next((os.environ[name] for name in _RANKS if name in os.environ), 0))
    for stream in (sys.stdout, sys.stderr):
        # Lines of several processes meet in one place: each arrives whole, and at once.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(sys.argv[1])
    connection.sendall(b"hello %d %d\n" % (rank, os.getpid()))
    data, streams, _, _ = socket.recv_fds(connection, 65536, 2)
    size, _, answer = data.partition(b"\n")
    while data and len(answer) < int(size):
        data = connection.recv(65536)
        answer += data
    if not data:
        raise SystemExit(1)  # the supervisor has ended
    _keep_open([1, 2])
    for number, stream in enumerate(streams, 1):
        os.dup2(stream, number)
        os.close(stream)
    return connection, rank, marshal.loads(answer)


def _keep_open(descriptors: list[int]) -> None:
    """Keep mpirun's pipes until this process ends, in this process alone.

    Where they close before, and the process calls MPI_Abort, mpirun prints "[warn] Epoll MOD(1)".
    """
    kept = [os.dup(number) for number in descriptors]

    def close() -> None:
        for number in kept:
            with contextlib.suppress(OSError):
                os.close(number)

    os.register_at_fork(after_in_child=close)


def _end_with(supervisor: socket.socket) -> None:
    """Let the kernel end this process and its children when the supervisor is no more."""
    if hasattr(fcntl, "F_SETSIG"):
        own_group = os.getpgid(0) == os.getpid()  # mpirun sees to that; others may not
        fcntl.fcntl(supervisor, fcntl.F_SETOWN, -os.getpid() if own_group else os.getpid())
        fcntl.fcntl(supervisor, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(supervisor, fcntl.F_GETFL)
        fcntl.fcntl(supervisor, fcntl.F_SETFL, flags | os.O_ASYNC)


def main() -> None:
    """Call the supervisor, and run the program."""
    supervisor, rank, answer = _hello()
    _end_with(supervisor)
    environment, arguments = answer["environment"], answer["arguments"]
    assert isinstance(environment, dict) and isinstance(arguments, list)
    os.environ.update(environment)
    if isinstance(answer["input"], str):
        os.dup2(os.open(answer["input"], os.O_RDONLY), 0)
    if not sys.flags.safe_path:
        sys.path[0] = str(answer["library"])  # in place of this file's folder
    if not answer["python"]:
        from rushlight import _alias as _torch_alias

        _torch_alias.inherit_in_children()
        supervisor.set_inheritable(True)
        try:
            os.execvp(arguments[0], arguments)
        except OSError as error:
            raise SystemExit(f"rushlight torchrun: {arguments[0]}: {error.strerror}") from None
    from rushlight.distributed import _process

    from rushlight import _cli

    _process.watch(str(answer["asked"]))
    sys.argv[:] = ["rushlight", *arguments]

    def failed(code: int) -> None:
        with contextlib.suppress(OSError):  # it has ended, and this process is about to
            supervisor.sendall(b"end %d %d\n" % (rank, code))

    _process.run(_cli.main, failed)


if __name__ == "__main__":
    main()
