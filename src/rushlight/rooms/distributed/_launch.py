"""The supervisor of a job: starts its processes through mpirun, watches them, ends them.

Each process (_rank.py) calls the supervisor at a socket in the job's private folder and is handed
its environment, the program, and the supervisor's own output streams: what ranks print passes
through nobody. The output of mpirun itself is put aside, and shown last if a failure is not
understood without it. Read `supervise`, then `_Attempt.run`.
"""

from __future__ import annotations

import contextlib
import itertools
import marshal
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .._base import FOLDER
from . import _board, _mpirun, _told
from ._streams import Call, Calls, Copied, Kept, Source

# How often the supervisor looks at the board and at mpirun, in seconds.
_TICK = 0.05
# Variables by which another launcher speaks to its processes: our processes must not read them.
_FOREIGN = "OMPI_COMM_", "OMPI_APP", "PMIX_", "PMI_", "PRTE_", "HYDI_"
# How mpirun names the rank that made it end a job.
_BY_SIGNAL = re.compile(r"process rank (\d+) with PID (\d+) on node \S+ exited on signal (\d+)")
_BY_ABORT = re.compile(r'process rank (\d+) with PID (\d+) on node \S+ calling "abort"')
_BY_CODE = re.compile(r"Process name: \[[^]]*,(\d+)\] Exit code: (\d+)")
_BANNER = re.compile(r"^-{60,}\n.*?^-{60,}\n?", re.DOTALL | re.MULTILINE)
# A warning of mpirun's where a child was quicker than mpirun: it means nothing.
_QUICKER = re.compile(r"^.*plm:ssh: Warning: setpgid\(.*\n*", re.MULTILINE)


@dataclass
class Job:
    """The program to run, and how. `arguments` are those of `rushlight`, or a command's own."""

    processes: int
    arguments: list[str]
    name: str
    python: bool = True
    input: bytes | None = None  # for the standard input of each process
    master_addr: str = "localhost"
    master_port: int = 0  # 0: a free one for each start
    run_id: str = "none"
    role: str = "default"
    max_restarts: int = 0
    log_dir: str | None = None
    # For each rank: 1 for standard output, 2 for standard error, 3 for both.
    redirects: dict[int, int] = field(default_factory=dict)
    tee: dict[int, int] = field(default_factory=dict)
    shown: set[int] | None = None  # the ranks whose output is shown; None for all
    shutdown: float = 5.0  # seconds that processes have to end in, when asked by SIGTERM
    signals: tuple[str, ...] = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")


@dataclass
class Outcome:
    """How a job ended: the exit code, what failed, and the signal that the supervisor got."""

    code: int = 0
    failures: list[_told.Failure] = field(default_factory=list)
    signal: int = 0


@dataclass
class _Started:
    """A process that has called."""

    rank: int
    pid: int
    handle: int | None  # the kernel's: it never means another process with the same number

    def send(self, number: int) -> bool:
        """Send a signal; False where the process has ended."""
        try:
            if self.handle is None:
                os.kill(self.pid, number)
            else:
                signal.pidfd_send_signal(self.handle, number)
        except ProcessLookupError:
            return False
        return True

    def alive(self) -> bool:
        """Whether it runs still: one that nobody has waited for does not."""
        return self.send(0) and _told.state(self.pid) not in ("Z", "X")

    def kill(self) -> None:
        """End the process, and the children in its process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.alive() and os.getpgid(self.pid) == self.pid:
                os.killpg(self.pid, signal.SIGKILL)
        self.send(signal.SIGKILL)


def supervise(job: Job) -> Outcome:
    """Run a job to its end, with its restarts; what fails is told on standard error.

    Raises RuntimeError where mpirun is missing and there are several processes.
    """
    try:
        return _supervise(job)
    except KeyboardInterrupt:  # while no process runs
        return Outcome(128 + signal.SIGINT, [], signal.SIGINT)


def _supervise(job: Job) -> Outcome:
    folder = _folder()
    log_dir = folder if job.log_dir is None else _log_dir(job)
    keep = False
    outcome = Outcome()
    try:
        for count in itertools.count():
            attempt = _Attempt(job, folder, log_dir, count)
            with _handled(attempt, job.signals):
                outcome = attempt.run()
            keep = keep or any(failure.error_file for failure in outcome.failures)
            if outcome.signal or not outcome.code:
                break
            _told.tell_failures(job.name, outcome.failures, count, job.max_restarts)
            if count == job.max_restarts:
                break
    finally:
        _clear(folder, keep and log_dir == folder)
    if outcome.failures:
        _told.hand_on(outcome.failures[0])
    return outcome


def _rank_command(job: Job, socket: str) -> list[str]:
    """The command line of a process.

    Its program is handed to it later: a word of it could mean something to mpirun.
    """
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    program = os.path.join(os.path.dirname(__file__), "_rank.py")
    python = [sys.executable, *flags, program, socket]
    if re.fullmatch(r"[\w./-]+", job.name):
        python.append(job.name)  # for those who look at the list of processes
    return python


def _command(job: Job, python: list[str]) -> list[str]:
    """The command line that starts the processes."""
    try:
        start = [_mpirun.mpirun(), "-n", str(job.processes)]
    except RuntimeError:
        if job.processes > 1:
            raise
        return python
    return [*start, "--host", f"localhost:{job.processes}", "--bind-to", "none", *python]


def _folder() -> str:
    """A new private folder, in /tmp where the usual place has too long a name for a socket."""
    folder = tempfile.mkdtemp(prefix="rushlight_")
    if len(folder) > 70:
        os.rmdir(folder)
        folder = tempfile.mkdtemp(prefix="rushlight_", dir="/tmp")
    return folder


def _log_dir(job: Job) -> str:
    assert job.log_dir is not None
    os.makedirs(job.log_dir, exist_ok=True)
    return tempfile.mkdtemp(prefix=re.sub(r"[^\w.-]", "_", job.run_id) + "_", dir=job.log_dir)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("", 0))
        return int(free.getsockname()[1])


def _clear(folder: str, keep: bool) -> None:
    """Remove the job's folder; with `keep`, all but the error files, which have been named."""
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
        return
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            if name != _told.ERROR_FILE:
                os.unlink(os.path.join(parent, name))
        with contextlib.suppress(OSError):
            os.rmdir(parent)  # where it is empty


@contextlib.contextmanager
def _handled(attempt: _Attempt, names: tuple[str, ...]) -> Iterator[None]:
    """Give signals to the attempt. In another thread than the main one, none come."""
    before: dict[int, Any] = {}
    with contextlib.suppress(ValueError):
        for name in names:
            number = getattr(signal, name)
            before[number] = signal.signal(number, attempt.signalled)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Attempt:
    """One start of all the processes."""

    def __init__(self, job: Job, folder: str, log_dir: str, count: int) -> None:
        self.job, self.count = job, count
        self.folder = os.path.join(folder, f"attempt_{count}")
        self.socket = os.path.join(self.folder, "socket")
        self.log_dir = os.path.join(log_dir, f"attempt_{count}")
        for rank in range(job.processes):
            os.makedirs(self._own(rank))
            os.makedirs(os.path.dirname(self._error_file(rank)), exist_ok=True)
        self.command = _command(job, _rank_command(job, self.socket))
        _board.create(self._board(), job.processes)
        self.board = _board.Board(self._board(), 0)
        self.port = job.master_port or _free_port()
        if job.input is not None:
            with open(self._input(), "wb") as file:
                file.write(job.input)
        self.started: dict[int, _Started] = {}
        self.failures: list[_told.Failure] = []
        self.signal = 0
        self.deadline: float | None = None  # when those that still run are killed
        self.selector = selectors.DefaultSelector()

    def _own(self, rank: int, *names: str) -> str:
        """The folder of a process, or a file in it."""
        return os.path.join(self.folder, str(rank), *names)

    def _board(self) -> str:
        return os.path.join(self.folder, "board")

    def _input(self) -> str:
        return os.path.join(self.folder, "input")

    # --- the loop

    def run(self) -> Outcome:
        """Start the processes, watch them until all have ended, and say how that went."""
        self._add(Calls(self.socket, lambda c: self._add(Call(c, self._hear))))
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)
        }
        environment |= _mpirun.settings(one_machine=True)
        # What a killed mpirun leaves goes with the job's folder.
        environment.setdefault("PRTE_MCA_prte_tmpdir_base", self.folder)
        try:
            for _ in range(2):  # mpirun's listener fails to start now and then
                out, err = self._start(environment)
                self._watch()
                if self.started or self.signal or not self.mpirun.returncode:
                    break
        finally:
            self._leave_none()
        return self._outcome(out.text.decode(errors="replace"), err.text.decode(errors="replace"))

    def _start(self, environment: dict[str, str]) -> tuple[Kept, Kept]:
        """Start mpirun; what it is going to write."""
        self.mpirun = subprocess.Popen(
            self.command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.mpirun.stdout is not None and self.mpirun.stderr is not None
        written = Kept(self.mpirun.stdout), Kept(self.mpirun.stderr)
        for source in written:
            self._add(source)
        return written

    def _add(self, source: Source) -> None:
        self.selector.register(source, selectors.EVENT_READ)

    def _read(self, seconds: float) -> bool:
        """Wait for something to be read, and read it; whether there was something."""
        found = self.selector.select(seconds)
        for key, _ in found:
            source: Any = key.fileobj
            if not source.ready():
                self.selector.unregister(source)
                source.close()
        return bool(found)

    def _watch(self) -> None:
        while self.mpirun.poll() is None:
            self._read(_TICK)
            self._look_at_board()
            if self.deadline is not None and time.monotonic() > self.deadline:
                return

    def _look_at_board(self) -> None:
        """Show where the late ranks are, once a rank has given up waiting for them."""
        if self.failures or self.signal:
            return
        entries = self.board.entries()
        if all(entry.state != _board.TIMED_OUT for entry in entries):
            return
        self.failures.append(_told.tell_late(entries, self.started, self._own))
        self.board.tell()
        self._set_deadline()

    def signalled(self, number: int, frame: object) -> None:
        """A signal came for the whole job: the processes are asked to end; twice, it is meant."""
        if self.signal:
            self.deadline = time.monotonic()
            return
        self.signal = number
        for process in list(self.started.values()):
            process.send(signal.SIGTERM)
        if len(self.started) < self.job.processes:
            self.mpirun.terminate()
        self._set_deadline()

    def _set_deadline(self) -> None:
        if self.deadline is None:
            self.deadline = time.monotonic() + self.job.shutdown

    def _leave_none(self) -> None:
        """End whatever still runs: first the processes, then mpirun."""
        if self.mpirun.poll() is None:
            self.mpirun.terminate()
        for process in self.started.values():
            process.kill()
        try:
            self.mpirun.wait(1)
        except subprocess.TimeoutExpired:
            self.mpirun.kill()
            self.mpirun.wait()
        end = time.monotonic() + 1
        while self._read(0) and time.monotonic() < end:
            pass  # what was said last
        for key in list(self.selector.get_map().values()):
            source: Any = key.fileobj
            source.close()  # a process that was just starting ends by this
        self.selector.close()
        self.board.close()
        for process in self.started.values():
            while process.alive():
                time.sleep(0.005)
            if process.handle is not None:
                os.close(process.handle)

    # --- what processes say

    def _hear(self, call: Call, words: list[bytes]) -> None:
        """A process tells its rank and number, or the exit code with which it is about to end."""
        rank, number = int(words[1]), int(words[2])
        assert 0 <= rank < self.job.processes
        if words[0] == b"end":
            if not any(failure.rank == rank for failure in self.failures):
                self._failed(rank, self.started[rank].pid, number)
            self._set_deadline()
            return
        handle = os.pidfd_open(number) if hasattr(os, "pidfd_open") else None
        self.started[rank] = _Started(rank, number, handle)
        answer = marshal.dumps(
            {
                "environment": self._environment(rank),
                "arguments": self._arguments(rank),
                "python": self.job.python,
                "library": os.path.dirname(os.path.dirname(FOLDER)),
                "asked": self._own(rank, _told.ASKED),
                "input": None if self.job.input is None else self._input(),
            }
        )
        streams = [self._stream(rank, descriptor) for descriptor in (1, 2)]
        socket.send_fds(call.connection, [b"%d\n" % len(answer)], streams)
        call.connection.sendall(answer)
        for stream in streams:
            if stream > 2:
                os.close(stream)

    def _failed(self, rank: int, pid: int, code: int, what: str = "") -> None:
        error_file = self._error_file(rank)
        found = error_file if os.path.exists(error_file) else ""
        self.failures.append(_told.Failure(rank, pid, code, found, time.time(), what))

    def _error_file(self, rank: int) -> str:
        return os.path.join(self.log_dir, str(rank), _told.ERROR_FILE)

    def _arguments(self, rank: int) -> list[str]:
        """The program's arguments; one process alone draws curves."""
        words = list(self.job.arguments)
        while self.job.python and rank and words[1].partition("=")[0] == "--watch":
            del words[1]
        return words

    def _environment(self, rank: int) -> dict[str, str]:
        job, size = self.job, str(self.job.processes)
        found = {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "ROLE_RANK": str(rank),
            "WORLD_SIZE": size,
            "LOCAL_WORLD_SIZE": size,
            "ROLE_WORLD_SIZE": size,
            "ROLE_NAME": job.role,
            "GROUP_RANK": "0",
            "GROUP_WORLD_SIZE": "1",
            "MASTER_ADDR": job.master_addr,
            "MASTER_PORT": str(self.port),
            "TORCHELASTIC_RUN_ID": job.run_id,
            "TORCHELASTIC_RESTART_COUNT": str(self.count),
            "TORCHELASTIC_MAX_RESTARTS": str(job.max_restarts),
            # True would say that the supervisor has a store at MASTER_PORT: rank 0 has.
            "TORCHELASTIC_USE_AGENT_STORE": "False",
            "TORCHELASTIC_SIGNALS_TO_HANDLE": ",".join(job.signals),
            "TORCHELASTIC_ERROR_FILE": self._error_file(rank),
            "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
            _board.VARIABLE: self._board(),
        }
        if job.processes > 1 and "OMP_NUM_THREADS" not in os.environ:
            found["OMP_NUM_THREADS"] = "1"
        return found

    def _stream(self, rank: int, descriptor: int) -> int:
        """Where a process's standard output or error goes: a descriptor to hand on."""
        job = self.job
        silent = job.shown is not None and rank not in job.shown
        path = os.path.join(self.log_dir, str(rank), ("stdout.log", "stderr.log")[descriptor - 1])
        if job.tee.get(rank, 0) & descriptor:
            copied = Copied(path, None if silent else descriptor, f"[{job.role}{rank}]:")
            self._add(copied)
            return copied.writing
        if job.redirects.get(rank, 0) & descriptor:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        return os.open(os.devnull, os.O_WRONLY) if silent else descriptor

    # --- how it went

    def _outcome(self, out: str, err: str) -> Outcome:
        """The exit code and the failures, those that mpirun alone knows of too."""
        code = self.mpirun.returncode
        code = 128 - code if code < 0 else code
        err = _QUICKER.sub("", err)
        if self.signal:
            return Outcome(128 + self.signal, [], self.signal)
        if code and not self.failures:
            self._ask_mpirun(" ".join(err.split()), code)
        if self.failures:
            err = _BANNER.sub("", err).strip(" \0\r\n")
            err += "\n" if err else ""
            code = self.failures[0].exit_code()
        _told.write(1, out)
        _told.write(2, err)
        if code and not self.failures:
            ended = f"exit code {code}" if code < 128 else f"exit code {code} (128 and a signal)"
            _told.write(2, f"mpirun (pid: {self.mpirun.pid}) ended with {ended}, and all ranks.\n")
        return Outcome(code, self.failures)

    def _ask_mpirun(self, text: str, code: int) -> None:
        """Find the rank that failed in what mpirun printed."""
        if self.command[0] == sys.executable and 0 in self.started:
            ended = -(code - 128) if code > 128 else code  # the only process, without mpirun
            self._failed(0, self.started[0].pid, ended)
        elif by_signal := _BY_SIGNAL.search(text):
            rank, pid, number = map(int, by_signal.groups())
            self._failed(rank, pid, -number)
        elif by_abort := _BY_ABORT.search(text):
            rank, pid = map(int, by_abort.groups())
            self._failed(rank, pid, code, f"called MPI_Abort with the code {code}")
        elif by_code := _BY_CODE.search(text):
            rank, number = map(int, by_code.groups())
            pid = self.started[rank].pid if rank in self.started else 0
            self._failed(rank, pid, number)
