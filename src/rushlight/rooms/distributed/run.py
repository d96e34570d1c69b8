"""`torch.distributed.run`: the command torchrun, whose processes mpirun starts.

    python -m torch.distributed.run --nproc-per-node 4 train.py ARGS
    rushlight torchrun --nproc-per-node 4 train.py ARGS

Options are torchrun's. Options without a use for mpirun, or for a machine without GPUs, are taken
and do nothing.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._base.missing import missing_name as _missing_name

if TYPE_CHECKING:
    from . import _joined, _launch

__all__ = ["get_args_parser", "main", "parse_args", "run"]

__getattr__ = _missing_name(__name__)

_UNUSED = (  # each with its default
    ("--monitor-interval", 0.1),
    ("--start-method", "spawn"),
    ("--event-log-handler", "null"),
    ("--local-addr", None),
    ("--logs-specs", None),
    ("--numa-binding", None),
    ("--duplicate-stdout-filters", ""),
    ("--duplicate-stderr-filters", ""),
    ("--rdzv-backend", "static"),
    ("--rdzv-conf", ""),
)


def _both(option: str) -> list[str]:
    """An option in its two spellings."""
    underlined = "--" + option.removeprefix("--").replace("-", "_")
    return [option] if underlined == option else [option, underlined]


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of the command's options. Each can be given as a variable PET_NAME, too."""
    parser = argparse.ArgumentParser(
        prog="torchrun", description="Starts the processes of a distributed program."
    )

    def add(option: str, default: object, help: str, *short: str, **more: object) -> None:
        variable = "PET_" + option.removeprefix("--").replace("-", "_").upper()
        default = os.environ.get(variable, default)
        parser.add_argument(*short, *_both(option), default=default, help=help, **more)  # type: ignore[arg-type]

    def flag(option: str, help: str, *short: str) -> None:
        variable = "PET_" + option.removeprefix("--").replace("-", "_").upper()
        given = os.environ.get(variable, "0") not in ("", "0")
        parser.add_argument(*short, *_both(option), action="store_true", default=given, help=help)

    add("--nnodes", "1:1", "1: mpirun or srun starts the processes of several machines")
    add("--nproc-per-node", "1", "processes on each machine: a number, auto or cpu")
    add("--node-rank", 0, "0: the number of this machine", type=int)
    add("--master-addr", None, "address of machine 0")
    add("--master-port", 0, "port on machine 0; a free one where none is given", type=int)
    add("--rdzv-endpoint", "", "HOST[:PORT], for --master-addr and --master-port")
    add("--rdzv-id", "none", "name of the job")
    flag("--standalone", "one machine, and a free port")
    add("--max-restarts", 0, "how often all processes are started again after one failed", type=int)
    add("--role", "default", "name of the processes in copied output")
    flag("--module", "the program is a module, as in python -m", "-m")
    flag("--no-python", "the program is a command, not a Python script")
    flag("--run-path", "as without it: each process runs the script itself")
    add("--log-dir", None, "folder for the files of --redirects, --tee and errors")
    std = "0 none, 1 stdout, 2 stderr, 3 both; or RANK:NUMBER,..."
    add("--redirects", "0", f"output that goes to files: {std}", "-r")
    add("--tee", "0", f"output that goes to files and is shown: {std}", "-t")
    add("--local-ranks-filter", "", "numbers of the processes whose output is shown")
    add("--signals-to-handle", "SIGTERM,SIGINT,SIGHUP,SIGQUIT", "signals that end the job")
    add("--shutdown-timeout", 5, "seconds that processes have to end in", type=int)
    flag("--virtual-local-rank", "of no use without GPUs")
    for option, default in _UNUSED:
        add(option, default, "taken, and without effect")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Sequence[str] | None = None) -> argparse.Namespace:
    """The command's options; SystemExit with code 2 where they are wrong."""
    return get_args_parser().parse_args(args)


def run(args: argparse.Namespace) -> None:
    """Start the processes that options ask for, and wait for their end.

    Raises ChildFailedError where one fails; ValueError for options that do not fit each other.
    """
    from .elastic.multiprocessing import errors

    name = args.training_script
    outcome = supervised(job(args))
    if outcome.failures:
        failures = {
            failure.rank: errors.ProcessFailure(
                failure.rank, failure.pid, failure.code, failure.error_file
            )
            for failure in outcome.failures
        }
        raise errors.ChildFailedError(name, failures)
    if outcome.code:
        raise SystemExit(outcome.code)


def main(args: Sequence[str] | None = None) -> None:
    """The command torchrun. It ends with the exit code of the process that failed first."""
    given = list(sys.argv[1:] if args is None else args)
    options = parse_args(given)
    try:
        if place(*counts(options)) is not None:
            # `rushlight torchrun` runs a program in its own process.
            os.execv(sys.executable, [sys.executable, "-m", "rushlight", "torchrun", *given])
        found = job(options)
        outcome = supervised(found)
    except (RuntimeError, ValueError) as error:
        sys.stderr.write(f"torchrun: {error}\n")
        raise SystemExit(1) from None
    if outcome.code:
        raise SystemExit(outcome.code)


def supervised(wanted: _launch.Job) -> _launch.Outcome:
    """Run a job; where a signal ended it, end this process by the same."""
    from . import _launch

    if wanted.processes > 1 and "OMP_NUM_THREADS" not in os.environ:
        sys.stderr.write(
            f"OMP_NUM_THREADS is set to 1 for each of the {wanted.processes} processes, so that "
            "they do not take each other's cores; set it yourself for another number.\n"
        )
        sys.stderr.flush()
    outcome = _launch.supervise(wanted)
    if outcome.signal:
        sys.stdout.flush()
        signal.signal(outcome.signal, signal.SIG_DFL)
        os.kill(os.getpid(), outcome.signal)
    return outcome


def job(args: argparse.Namespace) -> _launch.Job:
    """The job that the options ask for; ValueError for options that do not fit each other."""
    from . import _launch

    processes, nodes = counts(args)
    arguments = [args.training_script, *args.training_script_args]
    if not args.no_python:
        arguments = ["run", *(["-m"] if args.module else []), *arguments]
    if nodes > 1:
        program = shlex.join(arguments if args.no_python else ["rushlight", *arguments])
        hosts = f"HOST0:{processes},HOST1:{processes}{',...' if nodes > 2 else ''}"
        raise ValueError(
            f"--nnodes={args.nnodes}: torchrun starts the processes of one machine. Those of "
            "several are started from one place: "
            f"`mpirun -n {processes * nodes} --host {hosts} {program}`, or with Slurm "
            f"`srun --nodes={nodes} --ntasks-per-node={processes} {program}`"
        )
    if args.node_rank:
        raise ValueError(f"--node-rank={args.node_rank}: 0 is expected, for one machine")
    address, port = endpoint(args)
    shown = {int(rank) for rank in str(args.local_ranks_filter).split(",") if rank.strip()}
    return _launch.Job(
        processes,
        arguments,
        args.training_script,
        python=not args.no_python,
        master_addr=address or "localhost",
        master_port=port,
        run_id=str(uuid.uuid4()) if args.rdzv_id == "none" else args.rdzv_id,
        role=args.role,
        max_restarts=args.max_restarts,
        log_dir=args.log_dir,
        redirects=_streams("--redirects", args.redirects, processes),
        tee=_streams("--tee", args.tee, processes),
        shown=shown or None,
        shutdown=float(args.shutdown_timeout),
        signals=tuple(_signals(args.signals_to_handle)),
    )


def counts(args: argparse.Namespace) -> tuple[int, int]:
    """How many processes a machine gets, and how many machines there are."""
    nodes = 1 if args.standalone else _nodes(args.nnodes)
    return local_processes(args.nproc_per_node), nodes


def place(processes: int, nodes: int) -> _joined.Place | None:
    """This process's place, where mpirun or srun has started all of them; None where this one is
    to start them.

    Raises ValueError where the launcher has started another number.
    """
    from . import _joined

    found = None if "TORCHELASTIC_RUN_ID" in os.environ else _joined.place(os.environ)
    if found is None or found.size == 1:
        return None
    if processes * nodes not in (1, found.size):
        raise ValueError(
            f"the launcher (mpirun or srun) has started {found.size} processes, and "
            f"{processes * nodes} are asked for: leave that number out, or give the launcher's"
        )
    return found


def endpoint(args: argparse.Namespace) -> tuple[str | None, int]:
    """The address and the port that options give; None and 0 where they give none."""
    host, _, port = str(args.rdzv_endpoint or "").rpartition(":")
    if not host or "]" in port:  # there is no port: the last colon is of an IPv6 address
        host, port = str(args.rdzv_endpoint or ""), "0"
    if args.standalone or not host:
        host, port = "", "0"
    if not port.isdecimal():
        raise ValueError(f"--rdzv-endpoint={args.rdzv_endpoint}: HOST or HOST:PORT is expected")
    address = None if args.standalone else args.master_addr
    return address or host.strip("[]") or None, (not args.standalone and args.master_port) or int(
        port
    )


def local_processes(text: str, option: str = "--nproc-per-node") -> int:
    """How many processes `--nproc-per-node` asks for: a number, or one for each core."""
    if str(text) in ("auto", "cpu"):
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if str(text) in ("gpu", "xpu"):
        raise ValueError(f"{option}={text}: rushlight computes on the CPU; auto, cpu or a number")
    if not str(text).isdecimal() or int(text) < 1:
        raise ValueError(f"{option}={text}: a number from 1, auto or cpu is expected")
    return int(text)


def _nodes(text: str) -> int:
    least, _, most = str(text).partition(":")
    if not least.isdecimal() or (most and not most.isdecimal()) or int(most or least) < 1:
        raise ValueError(f"--nnodes={text}: a number, or LEAST:MOST, is expected")
    return int(most or least)


def _streams(option: str, text: str, processes: int) -> dict[int, int]:
    """The streams of each process that `--redirects` or `--tee` names."""
    text = str(text)
    try:
        if ":" not in text:
            found = dict.fromkeys(range(processes), int(text))
        else:
            found = {int(k): int(v) for k, v in (item.split(":") for item in text.split(","))}
    except ValueError:
        found = {0: -1}
    if not all(0 <= value <= 3 for value in found.values()):
        raise ValueError(f"{option}={text}: 0, 1, 2 or 3 is expected, or RANK:NUMBER,...")
    return found


def _signals(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if (
            not name.startswith("SIG")
            or not hasattr(signal, name)
            or name in ("SIGKILL", "SIGSTOP")
        ):
            raise ValueError(f"--signals-to-handle={text}: {name} is no signal to handle")
    return names


if __name__ == "__main__":
    main()
