"""A program found, and run as the main program: as `python SCRIPT` would. Read `run`."""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import NoReturn

from rushlight import _alias as torch_alias
from rushlight._base import missing as _missing

# A program found: its code, what `__main__` says of itself, sys.argv[0] and sys.path[0].
Program = tuple[CodeType, dict[str, object], str, str]


def refuse(message: str, code: int = 2) -> NoReturn:
    """End the command with a message on standard error."""
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
        refuse(f"rushlight: can't open file {path!r}: {reason}\n")
    code = compile(source, path, "exec", dont_inherit=True)
    description = _main_description(path, loader=SourceFileLoader("__main__", path))
    return code, description, script, os.path.dirname(os.path.realpath(path))


def _from_container(script: str) -> Program:
    spec = PathFinder.find_spec("__main__", [script])
    if spec is None or spec.loader is None:
        refuse(f"rushlight: can't find '__main__' module in {script!r}\n")
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
        refuse(f"rushlight: No module named {name}\n", code=1)
    origin = spec.origin or name
    return _code_of(spec), _main_description(spec.origin, spec), origin, folder


def _code_of(spec: ModuleSpec) -> CodeType:
    code: CodeType | None = spec.loader.get_code(spec.name)  # type: ignore[union-attr]
    if code is None:
        refuse(f"rushlight: no code object available for {spec.name}\n", code=1)
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
