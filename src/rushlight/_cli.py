"""The command `rushlight`: runs a PyTorch program with rushlight in torch's place.

    rushlight run [--trace] [--watch] SCRIPT [ARGS...]
    rushlight run --device-as-cuda SCRIPT [ARGS...]
    rushlight run --nproc N SCRIPT [ARGS...]
    rushlight torchrun --nproc-per-node N SCRIPT [ARGS...]
    rushlight explain [-o FILE] [--step N] [--continue] SCRIPT [ARGS...]

A script run so sees what `python SCRIPT` would show it: sys.argv, sys.path, a real `__main__`, its
own tracebacks and exit code. Read `main`, then `run`.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import NoReturn

from rushlight import _missing
from rushlight import _torch_alias as torch_alias
from rushlight._version import __version__

USAGE = """\
usage: rushlight run SCRIPT [ARGS...]     run a PyTorch script, with rushlight as its torch
       rushlight run -m MODULE [ARGS...]  the same for a module
       rushlight run -c CODE [ARGS...]    ... for a line of code
       rushlight run - [ARGS...]          ... for standard input
       rushlight run --nproc N ...        ... in N processes (pip install rushlight[mpi])
       rushlight torchrun ... SCRIPT [ARGS...]  the same with torchrun's options
       rushlight explain [-o FILE] [--step N] [--continue] SCRIPT [ARGS...]
                                          run it up to its first backward, and write a page that
                                          shows the graph of it; -m, -c and - as above
       rushlight as-torch on | off | status  a package torch in this environment that is rushlight
       rushlight --version | --help

`rushlight run --trace ...` prints a line for each call of an operation, and for each node that a
backward runs: shapes, types, how it was computed, time, the program's line. So does
RUSHLIGHT_TRACE=1 without the command; RUSHLIGHT_TRACE=PATH appends the lines to a file.

`rushlight run --watch ...` shows losses and gradient norms while the program trains: a live view
in a terminal (pip install rushlight[watch]), elsewhere a table on standard error at the end. The
curves are drawn to a picture in the current folder, SCRIPT's name with .watch.png, or to the file
that --watch=FILE.png names.

`rushlight run --device-as-cuda ...` computes on the OpenCL device what the program asks of CUDA:
torch.cuda.is_available() is True, and device="cuda" and .cuda() mean it. So does
RUSHLIGHT_CUDA=opencl without the command.

`rushlight explain` ends the program at its first `backward`, or with --step N at the N-th, and
writes SCRIPT's name with .html to the current folder, or FILE; with --continue the program goes on.
"""

# A program found: its code, what `__main__` says of itself, sys.argv[0] and sys.path[0].
Program = tuple[CodeType, dict[str, object], str, str]


def main(arguments: list[str] | None = None) -> None:
    """The command's entry point. It ends as the program ends: by returning, or by an exception."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] in (["-h"], ["--help"]) or given[:2] in (["run", "-h"], ["run", "--help"]):
        print(USAGE, end="")
        return
    if given[:1] in (["-V"], ["--version"]):
        print(f"rushlight {__version__}")
        return
    if given[:1] == ["as-torch"]:
        from rushlight import _as_torch  # here alone: it is slow to import

        raise SystemExit(_as_torch.main(given[1:]))
    if given[:1] == ["explain"]:
        from rushlight.explain import _command  # here alone: not part of what every program imports

        try:
            options, rest = _command.options(given[1:])
        except ValueError as error:
            _refuse(f"rushlight explain: {error}\n{USAGE}")
        find, target, arguments = _program("explain", rest)
        run(find, target, arguments, _command.take(options, *_named(find, target)))
        return
    if given[:1] == ["torchrun"]:
        _torchrun(given[1:])
        return
    if given[:1] != ["run"] or len(given) < 2:
        _refuse(USAGE)
    if given[1].partition("=")[0] == "--nproc":
        _run_several(given[1:])
    elif _LAUNCHERS & os.environ.keys() and "TORCHELASTIC_RUN_ID" not in os.environ:
        _run_joined(given, 1)
    else:
        _run(given)


def _run(given: list[str]) -> None:
    """`rushlight run` in this process."""
    picture = _options(given)
    find, target, arguments = _program("run", given[1:])
    around = nullcontext() if picture is None else _watch(picture, *_named(find, target))
    run(find, target, arguments, around)


# --- in several processes
# ------------------------------------------------------------------------

# Variables that mpirun and srun give to a process that they start.
_LAUNCHERS = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_STEP_ID"}


def _run_several(given: list[str]) -> None:
    """`rushlight run --nproc N ...`: N processes that run the rest."""
    _, equals, number = given.pop(0).partition("=")
    if not equals:
        number = given.pop(0) if given else ""
    rest = list(given)
    while rest[:1] and rest[0].partition("=")[0] in _OPTIONS:
        del rest[0]
    find, target, _ = _program("run", rest)
    if find is from_file and not os.path.exists(target):
        find(target)  # says so once
    from rushlight.distributed import _launch  # here alone, as all of distributed
    from rushlight.distributed import run as torchrun

    try:
        processes = torchrun.local_processes(number, "--nproc")
        if torchrun.place(processes, 1) is not None:
            _run_joined(["run", *given], processes)
            return
        job = _launch.Job(processes, ["run", *given], _named(find, target)[0])
        if find is from_stdin:
            job.input = sys.stdin.buffer.read()
        code = torchrun.supervised(job).code
    except (RuntimeError, ValueError) as error:
        _refuse(f"rushlight run: {error}\n", code=1)
    if code:
        raise SystemExit(code)


def _run_joined(given: list[str], processes: int) -> None:
    """Run in this process, which mpirun or srun has started as one of several."""
    from rushlight.distributed import _process  # here alone
    from rushlight.distributed import run as torchrun

    try:
        here = torchrun.place(processes, 1)
    except ValueError as error:
        _refuse(f"rushlight run: {error}\n", code=1)
    if here is None:
        _run(given)
        return
    os.environ.update(here.environment(None, 0))
    _process.watch()
    _process.run(lambda: _run(given), _process.abort)


def _torchrun(given: list[str]) -> None:
    """`rushlight torchrun ...`: torchrun's processes, or this one of those that are there."""
    from rushlight.distributed import _process  # here alone
    from rushlight.distributed import run as torchrun

    options = torchrun.parse_args(given)
    try:
        processes, nodes = torchrun.counts(options)
        here = torchrun.place(processes, nodes)
        if here is None:
            torchrun.main(given)
            return
        address, port = torchrun.endpoint(options)
    except ValueError as error:
        _refuse(f"torchrun: {error}\n", code=1)
    os.environ.update(here.environment(address, port))
    arguments = [options.training_script, *options.training_script_args]
    if options.no_python:
        torch_alias.inherit_in_children()
        os.execvp(arguments[0], arguments)
    module = ["-m"] if options.module else []
    _process.watch()
    _process.run(lambda: _run(["run", *module, *arguments]), _process.abort)


def _program(command: str, given: list[str]) -> tuple[Callable[[str], Program], str, list[str]]:
    """How the program that a command names is found, its name, and its arguments."""
    if not given:
        _refuse(USAGE)
    first, rest = given[0], given[1:]
    if first in ("-m", "-c"):
        if not rest:
            _refuse(f"rushlight {command}: argument expected for the {first} option\n{USAGE}")
        return from_module if first == "-m" else from_text, rest[0], rest[1:]
    if first == "-":
        return from_stdin, first, rest
    if first.startswith("-"):
        _refuse(f"rushlight {command}: unknown option {first}\n{USAGE}")
    return from_file, first, rest


def _named(find: Callable[[str], Program], target: str) -> tuple[str, str]:
    """What pictures of a program are entitled, and their file's name without an ending."""
    name = {from_text: "command", from_stdin: "stdin"}.get(find, target)
    title = os.path.basename(os.path.abspath(name))
    return title, title.removesuffix(".py") if find is from_file else title


_OPTIONS = ("--device-as-cuda", "--trace", "--watch")


def _device_as_cuda() -> None:
    """The OpenCL device stands for CUDA's, in processes that this one starts too."""
    from rushlight import _device

    os.environ["RUSHLIGHT_CUDA"] = "opencl"
    _device.use_as_cuda()
    made = sys.modules.get("rushlight.cuda")
    if made is not None:  # it was made without
        importlib.reload(made)


def _options(given: list[str]) -> str | None:
    """Take the options of `run` off, and follow them; of --watch, the file given ("" for none)."""
    picture: str | None = None
    while given[1:] and given[1].partition("=")[0] in _OPTIONS:
        option, equals, value = given.pop(1).partition("=")
        if option == "--watch":
            picture = value
            if equals and not value.endswith(".png"):
                _refuse(f"rushlight run: --watch={value}: the name of a .png file is expected\n")
            if not os.path.isdir(os.path.dirname(value) or "."):
                _refuse(f"rushlight run: --watch={value}: there is no such folder\n")
        elif equals:
            _refuse(f"rushlight run: unknown option {option}={value}\n{USAGE}")
        elif option == "--device-as-cuda":
            _device_as_cuda()
        else:
            from rushlight import _trace_calls  # here alone: not part of what every program imports

            _trace_calls.follow_option()
    return picture


def _watch(picture: str, title: str, stem: str) -> AbstractContextManager[object]:
    """What --watch puts around the program."""
    from rushlight import explain  # here alone: not part of what every program imports

    try:
        return explain.watch(png=picture or f"{stem}.watch.png", title=title)
    except ImportError as error:
        _refuse(f"rushlight run: --watch: {error}\n", code=1)


def _refuse(message: str, code: int = 2) -> NoReturn:
    sys.stderr.write(message)
    raise SystemExit(code)


def run(
    find: Callable[[str], Program],
    target: str,
    arguments: list[str],
    around: AbstractContextManager[object],
) -> None:
    """Run what `find(target)` finds as the main program, torch being rushlight."""
    torch_alias.install_as_torch()
    torch_alias.inherit_in_children()
    main_module = ModuleType("__main__")
    vars(main_module).update(__builtins__=builtins)
    if sys.version_info < (3, 14):
        vars(main_module).update(__annotations__={})
    # The module that started us, kept alive: its frames are still on the stack.
    _KEPT.append(sys.modules["__main__"])
    sys.modules["__main__"] = main_module
    sys.argv[:] = [target, *arguments]
    try:
        code, description, sys.argv[0], folder = find(target)
        vars(main_module).update(description)
        _set_first_path(folder)
        with around:
            exec(code, vars(main_module))
    except SystemExit:
        raise  # the interpreter makes the exit code of it, as ever
    except BaseException as error:
        _report(error)


_KEPT: list[ModuleType] = []


def _set_first_path(folder: str) -> None:
    """Put the program's folder where ours stands in sys.path; with -P or -I none stands there."""
    if not sys.flags.safe_path:
        if sys.path:
            sys.path[0] = folder
        else:
            sys.path.append(folder)


# --- finding the program: each answers what `python` would have run
# ----------------------------------


def _main_description(
    file: str | None, spec: ModuleSpec | None = None, loader: object = None
) -> dict[str, object]:
    described: dict[str, object] = {
        "__spec__": spec,
        "__package__": spec.parent if spec else None,
        "__loader__": spec.loader if spec else loader,
    }
    if file is not None:
        described |= {"__file__": file, "__cached__": spec.cached if spec else None}
    return described


def from_file(script: str) -> Program:
    """A script, or a folder or zip file with a __main__.py."""
    path = os.path.join(os.getcwd(), script)
    if os.path.isdir(path) or script.endswith((".zip", ".pyz")):
        return _from_container(script)
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        _refuse(f"rushlight run: can't open file {path!r}: {reason}\n")
    code = compile(source, path, "exec", dont_inherit=True)
    description = _main_description(path, loader=SourceFileLoader("__main__", path))
    return code, description, script, os.path.dirname(os.path.realpath(path))


def _from_container(script: str) -> Program:
    spec = PathFinder.find_spec("__main__", [script])
    if spec is None or spec.loader is None:
        _refuse(f"rushlight run: can't find '__main__' module in {script!r}\n")
    return _code_of(spec), _main_description(spec.origin, spec), script, script


def from_module(name: str) -> Program:
    """A module by name, a package by its __main__ (`-m`)."""
    folder = os.getcwd()
    _set_first_path(folder)
    sys.argv[0] = "-m"
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        spec = None
    if spec is None or spec.loader is None:
        _refuse(f"rushlight run: No module named {name}\n", code=1)
    origin = spec.origin or name
    return _code_of(spec), _main_description(spec.origin, spec), origin, folder


def _code_of(spec: ModuleSpec) -> CodeType:
    code: CodeType | None = spec.loader.get_code(spec.name)  # type: ignore[union-attr]
    if code is None:
        _refuse(f"rushlight run: no code object available for {spec.name}\n", code=1)
    return code


def from_text(text: str) -> Program:
    """A line of code (`-c`)."""
    return compile(text, "<string>", "exec", dont_inherit=True), _main_description(None), "-c", ""


def from_stdin(_: str) -> Program:
    """The program that standard input holds (`-`)."""
    source = sys.stdin.buffer.read()
    return compile(source, "<stdin>", "exec", dont_inherit=True), _main_description(None), "-", ""


# --- ending with an exception
# ------------------------------------------------------------------------


def _report(error: BaseException) -> NoReturn:
    """Show the traceback that `python SCRIPT` would, by sys.excepthook; end with its exit code."""
    error.__traceback__ = _users_frames(error.__traceback__)
    for hook in (sys.excepthook, sys.__excepthook__):
        try:
            hook(type(error), error, error.__traceback__)
            break
        except SystemExit:
            raise
        except BaseException as second:  # a program's own hook that fails: Python shows both
            if hook is sys.__excepthook__:
                break
            sys.stderr.write("Error in sys.excepthook:\n")
            sys.__excepthook__(type(second), second, second.__traceback__)
            sys.stderr.write("\nOriginal exception was:\n")
    if isinstance(error, KeyboardInterrupt):
        # Left to the interpreter, which after its clean-up ends by the signal (a shell's exit code
        # 130).
        sys.excepthook = lambda kind, value, trace: None
        raise KeyboardInterrupt
    raise SystemExit(1)


def _users_frames(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without this file's frames in front and the alias's machinery at its end."""
    machinery = {__file__, torch_alias.__file__, _missing.__file__}
    frames: list[TracebackType] = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    while frames and frames[0].tb_frame.f_code.co_filename == __file__:
        frames.pop(0)
    cut = len(frames)
    while cut and frames[cut - 1].tb_frame.f_code.co_filename in machinery:
        cut -= 1
    if cut < len(frames):  # importlib's frames between the user's and the finder's
        while cut and frames[cut - 1].tb_frame.f_code.co_filename.startswith("<frozen importlib"):
            cut -= 1
    kept: TracebackType | None = None
    for old in reversed(frames[:cut]):
        kept = TracebackType(kept, old.tb_frame, old.tb_lasti, old.tb_lineno)
    return kept
