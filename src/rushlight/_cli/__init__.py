"""The command `rushlight`: runs a PyTorch program with rushlight in torch's place.

    rushlight run train.py --epochs 3
    rushlight explain train.py

A script sees sys.argv, sys.path and a real `__main__` as under `python SCRIPT`, and ends with the
same tracebacks and exit code. Read `main`, then `_run_command`, then `run` of _program.py.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import signal
import sys
from argparse import REMAINDER, SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import NoReturn, TypeVar

from rushlight._base.version import __version__

from ._program import Program, from_file, from_module, from_stdin, from_text, refuse, run


def main(arguments: list[str] | None = None) -> None:
    """The command's entry point. It ends as the program ends: by returning, or by an exception."""
    commands = {
        "run": (_run_command, "run a PyTorch program, with rushlight as its torch"),
        "torchrun": (_torchrun, "run a program in several processes, with torchrun's options"),
        "explain": (_explain, "draw the graph of a program's first backward to a page"),
        "profile": (_profile, "say where a program's time goes, as a table and a page"),
        "doctor": (_doctor, "look for the mistakes in how a program trains"),
        "as-torch": (_as_torch, "a package torch in this environment that is rushlight"),
    }
    parser = ArgumentParser(
        "rushlight",
        usage="%(prog)s COMMAND ...",
        description="Runs PyTorch programs with rushlight in torch's place.",
        epilog="commands, each with a --help of its own:\n"
        + "".join(f"  {name:10} {what}\n" for name, (_, what) in commands.items())
        + _CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument("command", nargs="?", help=SUPPRESS)
    parser.add_argument("rest", nargs=REMAINDER, help=SUPPRESS)
    options = _parsed(parser, list(sys.argv[1:] if arguments is None else arguments))
    _chosen(parser, "command", options.command, commands)[0](options.rest)


_CODES = """
exit codes:
  0       it is done; of a program: the program ended well
  1       the command could not do its work; an exception ended the program
  2       the command's words are wrong, or there is no such script
  others  the program's own; of several processes that of the first that failed
"""


def _parsed(parser: ArgumentParser, given: list[str]) -> Namespace:
    """The options that `given` has; SystemExit with code 2 where they are wrong."""
    parser.error = partial(_wrong, parser.prog)  # type: ignore[method-assign]
    options, unknown = parser.parse_known_args(given)
    if unknown:
        known = re.findall(r"(?<!\w)--?\w[\w-]*", parser.format_help())
        parser.error(f"unknown option {unknown[0]}{_nearest(unknown[0].partition('=')[0], known)}")
    return options


def _nearest(word: str, known: Iterable[str]) -> str:
    import difflib  # here alone: a command that is right does not need it

    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def _wrong(name: str, what: str) -> NoReturn:
    """End a command whose words are wrong: what is wrong comes first, and no list before it."""
    refuse(f"{name}: {what}\n{name} --help says more.\n")


_Choice = TypeVar("_Choice")


def _chosen(
    parser: ArgumentParser, what: str, word: str | None, known: Mapping[str, _Choice]
) -> _Choice:
    """What a word stands for; the command ends where the word is missing, or not known."""
    if word is None:
        parser.error(f"the {what} is missing: {', '.join(known)}")
    if word not in known:
        near = _nearest(word, known) or f"; there are {', '.join(known)}"
        parser.error(f"there is no {what} {word}{near}")
    return known[word]


# These take a value after "=" alone: the next word is the program's. No argument has a NUL.
_BARE, _MARK = ("--watch", "--serve"), "=\0"


def _programs(command: str, description: str) -> ArgumentParser:
    """The parser of a command that runs a program, which comes behind the options."""
    parser = ArgumentParser(
        f"rushlight {command}",
        usage="%(prog)s [OPTIONS] (SCRIPT | -m MODULE | -c CODE | -) [ARGS ...]",
        description=description,
        allow_abbrev=False,
    )
    for letter, what in (("-m", "a module"), ("-c", "a line of code")):
        help = f"the program: {what}, as in python {letter}"
        parser.add_argument(letter, nargs=REMAINDER, default=[], help=help)
    help = "the program: a script, or - for standard input; its arguments follow"
    parser.add_argument("script", nargs=REMAINDER, metavar="SCRIPT", help=help)
    return parser


def _program(parser: ArgumentParser, options: Namespace) -> list[str]:
    """The words that name the program, and its arguments."""
    named = ["-m", *options.m] if options.m else ["-c", *options.c] if options.c else []
    words = [word.removesuffix(_MARK) for word in named + options.script]
    if not words:
        parser.error("the program is missing: SCRIPT, -m MODULE, -c CODE or -")
    return words


def _found(words: list[str]) -> tuple[Callable[[str], Program], str, list[str]]:
    """The finder of the program that words name, the program's name, and its arguments."""
    if words[0] in ("-m", "-c"):
        return from_module if words[0] == "-m" else from_text, words[1], words[2:]
    return from_stdin if words[0] == "-" else from_file, words[0], words[1:]


def _named(find: Callable[[str], Program], target: str) -> tuple[str, str]:
    """The title of a program's pictures, and their file's name without an ending."""
    name = {from_text: "command", from_stdin: "stdin"}.get(find, target)
    title = os.path.basename(os.path.abspath(name))
    return title, title.removesuffix(".py") if find is from_file else title


# --- the commands
# ------------------------------------------------------------------------


def _run_command(given: list[str]) -> None:
    """`rushlight run ...`."""
    parser = _programs("run", "Runs a PyTorch program, with rushlight as its torch.")
    parser.add_argument(
        "--trace",
        action="store_true",
        help="print a line for each call of an operation, and for each node that a backward runs: "
        "shapes, types, how it was computed, time, the program's line. RUSHLIGHT_TRACE=1 does so "
        "without the command; RUSHLIGHT_TRACE=PATH appends the lines to a file",
    )
    parser.add_argument(
        "--watch",
        nargs="?",
        type=partial(_written, ".png"),
        metavar="FILE.png",
        help="show losses and gradient norms while the program trains: a live view in a terminal "
        "(pip install rushlight[watch]), elsewhere a table on standard error at the end. Curves "
        "are drawn to the file after the =, or to SCRIPT's name with .watch.png in this folder",
    )
    parser.add_argument(
        "--serve",
        nargs="?",
        type=partial(_written, ".html"),
        metavar="FILE.html",
        help="with --watch: a live page for a browser on this machine, with the layers and the "
        "graphs of steps; its address is on standard error. The page is kept in the file after the "
        "=, or in SCRIPT's name with .watch.html",
    )
    parser.add_argument(
        "--device-as-cuda",
        action="store_true",
        help="compute on the OpenCL device what the program asks of CUDA. RUSHLIGHT_CUDA=opencl "
        "does so without the command",
    )
    parser.add_argument(
        "--nproc", metavar="N", help="run N processes, or auto (pip install rushlight[mpi])"
    )
    options = _parsed(parser, [w + _MARK if w in _BARE else w for w in given])
    program = _program(parser, options)
    several = options.nproc is not None or _LAUNCHERS & os.environ.keys()
    if options.serve is not None and several:
        parser.error("--serve shows one process: not for a run of several")
    if options.nproc is not None:
        _run_several(options, program)
    elif _LAUNCHERS & os.environ.keys() and "TORCHELASTIC_RUN_ID" not in os.environ:
        _run_joined(options, program, 1)
    else:
        _run(options, program)


def _written(ending: str, file: str) -> str:
    """A file of --watch or --serve, checked; "" for the default."""
    if file == _MARK[1:]:
        return ""
    if not file.endswith(ending):
        raise ArgumentTypeError(f"{file}: the name of a {ending} file is expected")
    if not os.path.isdir(os.path.dirname(file) or "."):
        raise ArgumentTypeError(f"{file}: there is no such folder")
    return file


def _run(options: Namespace, program: list[str]) -> None:
    """`rushlight run` in this process."""
    if options.device_as_cuda:
        _device_as_cuda()
    if options.trace:
        from rushlight import _trace_calls  # here alone: not part of what every program imports

        _trace_calls.follow_option()
    find, target, arguments = _found(program)
    watched = options.watch is not None or options.serve is not None
    around = _watch(options, *_named(find, target)) if watched else nullcontext()
    run(find, target, arguments, around)


def _device_as_cuda() -> None:
    """The OpenCL device stands for CUDA's, in processes that this one starts too."""
    from rushlight._base import device as _device

    os.environ["RUSHLIGHT_CUDA"] = "opencl"
    _device.use_as_cuda()
    made = sys.modules.get("rushlight.cuda")
    if made is not None:  # the module was made without a device
        importlib.reload(made)


def _watch(options: Namespace, title: str, stem: str) -> AbstractContextManager[object]:
    """The context of --watch and --serve around the program. The page has the curves too, so that
    with it a picture is drawn only to a file that was named."""
    from rushlight import explain  # here alone: not part of what every program imports

    page = None if options.serve is None else options.serve or f"{stem}.watch.html"
    picture = options.watch or (None if page else f"{stem}.watch.png")
    try:
        return explain.watch(png=picture, serve=page, title=title)
    except ImportError as error:
        refuse(f"rushlight run: --watch: {error}\n", code=1)


def _explain(given: list[str]) -> None:
    """`rushlight explain ...`."""
    parser = _programs(
        "explain",
        "Runs a program up to a backward, and writes a page that shows its graph; or says what "
        "torch.compile has captured.",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the page (default: SCRIPT's name with .html, here)"
    )
    parser.add_argument(
        "--step", type=int, default=1, metavar="N", help="draw the N-th backward (default: 1)"
    )
    parser.add_argument(
        "--continue", dest="goes_on", action="store_true", help="let the program go on after that"
    )
    parser.add_argument(
        "--capture",
        action="store_true",
        help="no page: print at the program's end what torch.compile has captured",
    )
    options = _parsed(parser, given)
    if options.capture and (options.output or options.step != 1 or options.goes_on):
        parser.error("--capture writes no page: -o, --step and --continue are not for it")
    if options.step < 1:
        parser.error(f"--step takes the number of a backward, 1 or more, got {options.step}")
    find, target, arguments = _found(_program(parser, options))
    if options.capture:
        from rushlight.explain import _command  # here alone: not part of what every program imports

        run(find, target, arguments, _command.captures())
        return
    title, stem = _named(find, target)
    file = options.output or f"{stem}.html"
    folder = _folder(parser, "-o", file)
    if not os.access(file if os.path.exists(file) else folder, os.W_OK):
        path = os.path.abspath(file)
        refuse(f"{parser.prog}: {path} cannot be written. -o FILE says where to write.\n", 1)
    if not options.output and os.path.isfile(file):
        with open(file, "rb") as page:
            ours = b'generator" content="rushlight' in page.read(1000)
        if not ours:
            path = os.path.abspath(file)
            refuse(f"{parser.prog}: {path} is another page. -o FILE says where to write.\n", 1)
    from rushlight.explain import _command  # here alone: not part of what every program imports

    around = _command.take(file, options.step, options.goes_on, title)
    run(find, target, arguments, around)


def _folder(parser: ArgumentParser, option: str, path: str) -> str:
    """The folder of a file that is to be written."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        parser.error(f"{option} {path}: there is no such folder")
    return folder


def _profile(given: list[str]) -> None:
    """`rushlight profile ...`."""
    parser = _programs(
        "profile",
        "Runs a program, and says where its time went: a table on standard error by part of the "
        "step, by module, by line and by op, and a page with a flame graph.",
    )
    help = "the page (default: SCRIPT's name with .profile.html, here)"
    parser.add_argument("-o", "--output", metavar="FILE", help=help)
    help = "write a trace for Perfetto and chrome://tracing too; compressed with the ending .gz"
    parser.add_argument("--trace", metavar="FILE.json", help=help)
    options = _parsed(parser, given)
    find, target, arguments = _found(_program(parser, options))
    title, stem = _named(find, target)
    file = options.output or f"{stem}.profile.html"
    for option, path in (("-o", file), ("--trace", options.trace)):
        if path:
            _folder(parser, option, path)
    from rushlight.explain import _profile_command  # here alone, as in _explain

    run(find, target, arguments, _profile_command.report(file, options.trace, title))


def _doctor(given: list[str]) -> None:
    """`rushlight doctor ...`."""
    parser = _programs(
        "doctor",
        "Runs a program for some passes of backward, and says what is wrong with its training, in "
        "sentences with lines.",
    )
    help = "end the program after N calls of backward (default: 100)"
    parser.add_argument("--steps", type=int, default=100, metavar="N", help=help)
    help = "end the program after N seconds, too (default: never)"
    parser.add_argument("--seconds", type=float, default=0.0, metavar="N", help=help)
    help = "run the program a second time, unseen, and say from which line the runs differ"
    parser.add_argument("--twice", action="store_true", help=help)
    parser.add_argument("--stream", help=SUPPRESS)
    options = _parsed(parser, given)
    if options.steps < 1:
        parser.error(f"--steps takes a number of backward calls, 1 or more, got {options.steps}")
    if options.seconds and not (options.seconds > 0 and hasattr(signal, "setitimer")):
        parser.error("--seconds takes a positive number, and a system with SIGALRM")
    words = _program(parser, options)
    find, target, arguments = _found(words)
    if options.twice and find is from_stdin:
        parser.error("--twice runs the program again: standard input can be read once")
    from rushlight.explain import _doctor_command  # here alone: not part of what programs import

    again = words if options.twice else None
    around = _doctor_command.examine(options.steps, options.seconds, again, options.stream)
    run(find, target, arguments, around)


def _as_torch(given: list[str]) -> None:
    """`rushlight as-torch on | off | status`."""
    from rushlight._alias import as_torch as _as_torch  # here alone: slow to import

    actions = {"on": _as_torch.turn_on, "off": _as_torch.turn_off, "status": _as_torch.status}
    parser = ArgumentParser(
        "rushlight as-torch",
        description="A small package torch in this environment that is rushlight.",
    )
    help = "write the package, remove it, or say which torch is there"
    parser.add_argument("action", metavar="on|off|status", nargs="?", help=help)
    action = _chosen(parser, "action", _parsed(parser, given).action, actions)
    try:
        said = action()
    except (RuntimeError, OSError) as error:
        refuse(f"rushlight as-torch: {error}\n", code=1)
    encoding = sys.stdout.encoding or "utf-8"
    print(said.encode(encoding, "backslashreplace").decode(encoding))  # a path, in any terminal


# --- in several processes
# ------------------------------------------------------------------------

# Variables that mpirun and srun give to a process that they start.
_LAUNCHERS = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_STEP_ID"}


def _run_several(options: Namespace, program: list[str]) -> None:
    """`rushlight run --nproc N ...`: N processes that run the rest."""
    find, target, _ = _found(program)
    if find is from_file and not os.path.exists(target):
        find(target)  # says so once
    from rushlight.distributed import _launch  # here alone, as all of distributed
    from rushlight.distributed import run as torchrun

    try:
        processes = torchrun.local_processes(options.nproc, "--nproc")
        if torchrun.place(processes, 1) is not None:
            _run_joined(options, program, processes)
            return
        words = ["--trace"] * options.trace + ["--device-as-cuda"] * options.device_as_cuda
        if options.watch is not None:  # in front, where the supervisor finds it
            words.insert(0, f"--watch={options.watch}".removesuffix("="))
        job = _launch.Job(processes, ["run", *words, *program], _named(find, target)[0])
        if find is from_stdin:
            job.input = sys.stdin.buffer.read()
        code = torchrun.supervised(job).code
    except (RuntimeError, ValueError) as error:
        refuse(f"rushlight run: {error}\n", code=1)
    if code:
        raise SystemExit(code)


def _run_joined(options: Namespace, program: list[str], processes: int) -> None:
    """Run in this process, which mpirun or srun has started as one of several."""
    from rushlight.distributed import _process  # here alone
    from rushlight.distributed import run as torchrun

    try:
        here = torchrun.place(processes, 1)
    except ValueError as error:
        refuse(f"rushlight run: {error}\n", code=1)
    if here is None:
        _run(options, program)
        return
    os.environ.update(here.environment(None, 0))
    _process.watch()
    _process.run(lambda: _run(options, program), _process.abort)


def _torchrun(given: list[str]) -> None:
    """`rushlight torchrun ...`: start the processes, or join those that a launcher started."""
    from rushlight.distributed import _process  # here alone
    from rushlight.distributed import run as torchrun

    parser = torchrun.get_args_parser()
    parser.prog = "rushlight torchrun"
    options = _parsed(parser, given)
    try:
        processes, nodes = torchrun.counts(options)
        here = torchrun.place(processes, nodes)
        if here is None:
            torchrun.main(given)
            return
        address, port = torchrun.endpoint(options)
    except ValueError as error:
        refuse(f"torchrun: {error}\n", code=1)
    os.environ.update(here.environment(address, port))
    arguments = [options.training_script, *options.training_script_args]
    if options.no_python:
        from rushlight import _alias as _torch_alias

        _torch_alias.inherit_in_children()
        os.execvp(arguments[0], arguments)
    module = ["-m"] if options.module else []
    _process.watch()
    _process.run(lambda: _run_command([*module, *arguments]), _process.abort)
