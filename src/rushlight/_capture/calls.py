"""A run of a function under observation: which Python code ran, and which C functions it called.

A profile function sees every Python function as it begins, and every C function that is a builtin
or a method. Calls of C classes, of ufuncs and of callables of other extensions are not seen, nor
those that C makes (`map(time.sleep, ...)`): `state.py` finds such objects by the names in the code.
Whatever is not listed here as a function of its arguments ends capture.
"""

from __future__ import annotations

import collections
import dis
import functools
import inspect
import itertools
import operator
import os
import re
import sys
import types
import warnings
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .. import _core
from .._base import switches
from .._base.sources import short_name
from .._core import Tensor

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_IMPORTS = "<frozen importlib"
# Python's own library. In a browser most of it is in an archive, and os beside that.
_STANDARD = tuple(
    os.path.dirname(os.path.abspath(file)) + os.sep for file in (os.__file__, functools.__file__)
)

# Files of the library whose functions compute. Code of all others ends capture.
_COMPUTES = (
    *("ops/", "nn/", "optim/", "autograd/", "func/", "linalg.py", "fft.py", "special.py"),
    *("distributions/", "rooms/distributions/"),  # installed, and in the source
    *("_levels/", "amp/", "_tensor/", "_root.py", "_torch/functional.py"),
    *("_devices/__init__.py", "_devices/cpu.py", "_devices/meta.py", "_devices/generator.py"),
    *("_base/device.py", "_base/dtypes.py", "_base/size.py", "_base/pytree.py", "_base/handles.py"),
    *("_base/errors.py", "_base/late.py", "_base/missing.py", "_base/determinism.py"),
    *("overrides.py", "return_types.py", "_alias/spelling.py"),
    "_capture/",
)
# Functions of other files that compute. A checkpoint does not recompute in a run under observation.
_COMPUTE = frozenset(
    {
        ("utils/checkpoint.py", "checkpoint"),
        ("_torch/compiler.py", "OptimizedModule.forward"),
        ("_torch/compiler.py", "OptimizedModule.__getattr__"),
        ("_base/outside.py", "_Type.__instancecheck__"),
        ("_base/outside.py", "_Types.__getattr__"),
        ("_callbacks.py", "_find"),
        ("storage.py", "never.<locals>.<lambda>"),
    }
)
# Functions in these files that set what outlives the run, read the random state, or warn.
_SETS = frozenset(
    "set_default_dtype set_default_tensor_type set_default_device set_warn_always use_as_cuda "
    "set_flush_denormal set_float32_matmul_precision use_deterministic_algorithms "
    "set_deterministic_debug_mode set_offset set_state get_state clone_state set_states states "
    "manual_seed seed seed_all initial_seed set_thread_state set_autocast_enabled "
    "set_autocast_dtype set_autocast_cpu_enabled set_autocast_cpu_dtype set_autocast_gpu_dtype "
    "set_autocast_cache_enabled set_anomaly_enabled set_default_validate_args register_kl "
    "set_warn_on_accumulate_grad_stream_mismatch set_override_stale_capture_stream "
    "set_num_threads warn warn_once random_seed random_set_state "
    "random_get_state random_initial_seed random_new set_alerts watch_writes observe memory_stats "
    "default_is_cpu set_winograd set_blas_library".split()
)

# Modules whose C functions are functions of their arguments, and the exceptions.
_PURE_MODULES = frozenset(
    "builtins math cmath operator _operator functools _functools itertools collections "
    "_collections _abc _bisect bisect _heapq heapq _struct binascii _string".split()
)
_IMPURE = frozenset(
    "print open input eval exec compile __import__ globals locals vars dir breakpoint id "
    "__build_class__".split()
)
# Classes whose methods in C are functions of the object and the arguments. What objects there are
# from before the run, `state.py` finds out.
_ITERABLES: tuple[Any, ...] = ([], (), {}, set(), "", b"", range(0))
PURE_CLASSES: frozenset[type] = frozenset(
    {
        *(object, type, int, float, complex, bool, str, bytes, bytearray, tuple, list, dict, set),
        *(frozenset, range, slice, property, classmethod, staticmethod, super, type(None)),
        *(
            collections.OrderedDict,
            collections.defaultdict,
            collections.deque,
            re.Pattern,
            re.Match,
        ),
        *(type({}.keys()), type({}.values()), type({}.items()), types.MappingProxyType),
        *(types.GeneratorType, types.CoroutineType, types.MethodType, types.FunctionType),
        *(functools.partial, BaseException, types.SimpleNamespace, types.CellType, types.CodeType),
        *(type(iter(o)) for o in _ITERABLES),
        *(type(reversed([])), type(reversed({}))),
        *(map, filter, zip, enumerate, reversed, operator.itemgetter),
        *(c for c in vars(itertools).values() if isinstance(c, type)),
    }
)
# C functions that read attributes whose names do not stand in the code.
READ_BY_NAME = frozenset(
    "getattr hasattr setattr delattr format format_map __reduce_ex__ __getattribute__".split()
)
# In a library's own code a few more are harmless; these are not.
_OUTSIDE = frozenset("time posix nt _random random _io _thread _socket select _signal".split())


# The marks that programs give their functions (torch.compiler): the code, or the function in C.
PURE: set[object] = set()
KEPT_OUT: set[object] = set()


def told_of(function: Any) -> object:
    """The member of these sets for a function."""
    function = getattr(function, "__func__", function)
    return getattr(function, "__code__", function)


def _is_within_pure(frame: FrameType | None) -> bool:
    while frame is not None and PURE:
        if frame.f_code in PURE:
            return True
        frame = frame.f_back
    return False


_WEAK = ("_weakrefset.py", "weakref.py")
_OF_LOCKS = ("__enter__", "__exit__", "acquire", "release")
Scope = tuple[CodeType, dict[str, Any]]  # code, and the globals that it ran with


class Ran:
    """The code that ran, and how.

    `codes`: the program's code objects and their globals. `library`: the library's own. `result`.
    `dynamic`: whether attributes were read by names that do not stand in the code. `trouble`: the
    first thing that ends capture.
    """

    def __init__(self) -> None:
        self.result: Any = None
        # By identity: equal code may run with the globals of several files.
        self.scopes: dict[tuple[int, int], Scope] = {}
        self.library_scopes: dict[tuple[int, int], Scope] = {}
        self.dynamic = False
        self.trouble: str | None = None
        self.imports = False  # whether that is a module, which is there the next time
        # Copies of tensors whose `item()` the run only gives back, and these numbers.
        self.values: list[tuple[Tensor, Any]] = []
        # Schedules of learning rates whose `step()` was called: replays call them, too.
        self.schedules: list[Any] = []

    @property
    def codes(self) -> dict[CodeType, dict[str, Any]]:
        return dict(self.scopes.values())

    @property
    def library(self) -> set[CodeType]:
        return {code for code, _ in self.library_scopes.values()}


class Names:
    """The names that a code object reads or writes.

    `globals`: each with the attributes that are read of it right away, `np.random.rand` as
    ("random", "rand"). `passed`: those of these paths, the global first, whose value is not just
    called. `attributes`: of any object. `imports`: the line of an import. `dynamic`: whether
    attributes are read by names that do not stand there.
    """

    def __init__(self, code: CodeType) -> None:
        self.globals: dict[str, set[tuple[str, ...]]] = {}
        self.passed: set[tuple[str, ...]] = set()
        self.attributes: set[str] = set()
        self.imports: int | None = None
        self.dynamic = False
        line: int | None = code.co_firstlineno
        chain: list[str] = []  # a global, and the attributes read of it so far
        called = False  # whether the last of these is read to be called
        for i in dis.get_instructions(code):
            line = (i.positions.lineno if i.positions else None) or line
            if i.opname in ("CACHE", "PUSH_NULL", "EXTENDED_ARG", "NOT_TAKEN"):
                called |= i.opname == "PUSH_NULL"
                continue
            named = i.opcode in dis.hasname
            reads = (named and "ATTR" in i.opname) or i.opname == "LOAD_METHOD"
            if chain and not reads:
                self._note(chain, called)
                chain = []
            if i.opname.startswith("IMPORT_"):
                self.imports = self.imports or line
            elif i.opname == "MATCH_CLASS":
                self.dynamic = True
            elif reads:
                name = str(i.argval)
                self.attributes.add(name)
                if chain:
                    chain.append(name)
                    called |= "NULL" in i.argrepr or i.opname == "LOAD_METHOD"
            elif named and ("GLOBAL" in i.opname or "NAME" in i.opname):
                chain = [str(i.argval)]
                called = "NULL" in i.argrepr
            else:
                continue
            if not i.opname.startswith("LOAD"):
                self._note(chain, called)
                chain = []
        self._note(chain, called)
        self.dynamic |= not self.attributes.isdisjoint(_DYNAMIC)
        self.dynamic |= not self.globals.keys().isdisjoint(_DYNAMIC)

    def _note(self, chain: list[str], called: bool) -> None:
        if chain:
            self.globals.setdefault(chain[0], set()).add(tuple(chain[1:]))
            if not called:
                self.passed.add(tuple(chain))


# Names of what reads attributes by names that stand nowhere in the code.
_DYNAMIC = frozenset(
    "__dict__ __getattribute__ __getattr__ __setattr__ __delattr__ __reduce_ex__ __reduce__ "
    "__getstate__ attrgetter methodcaller format format_map".split()
)


@functools.lru_cache(maxsize=4096)
def names_of(code: CodeType) -> Names:
    """The names in a code object; equal ones have the same."""
    return Names(code)


def is_librarys(code: CodeType) -> bool:
    """Whether code is of this package."""
    return code.co_filename.startswith(_PACKAGE)


def is_pythons(code: CodeType) -> bool:
    """Whether code is of Python's own library."""
    return code.co_filename.startswith(("<frozen ", *_STANDARD))


def place(frame: FrameType | None) -> str:
    """The file and line of the program that a frame works for."""
    fallback = frame
    while frame is not None:
        name = frame.f_code.co_filename
        if not is_librarys(frame.f_code) and not name.startswith((*_STANDARD, "<frozen")):
            break
        frame = frame.f_back
    frame = frame or fallback
    if frame is None:
        return "an unknown place"
    return f"{short_name(frame.f_code.co_filename)}:{frame.f_lineno}"


def observe(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    put_back: Callable[[Any], None] = lambda groups: None,
) -> Ran:
    """Calls the function, and says what ran. Its exceptions come out unchanged. `put_back`: is
    called with the groups of an optimizer before a schedule takes a step."""
    watch = _Watch(put_back)
    ran = watch.run(function, args, kwargs)
    for code, _ in ran.scopes.values():
        line = names_of(code).imports
        if line is not None and ran.trouble is None:
            where = f"{short_name(code.co_filename)}:{line}"
            ran.trouble = f"imports inside a function at {where}: import at the top of the file"
        ran.dynamic |= names_of(code).dynamic
    return ran


class _Watch:
    """The profiler of a call."""

    def __init__(self, put_back: Callable[[Any], None]) -> None:
        self.ran, self.put_back = Ran(), put_back
        self.here: FrameType | None = None  # what calls the function
        self.within: FrameType | None = None  # the step of a schedule
        self.steps = 0  # recorded before that

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Ran:
        before, watching = sys.getprofile(), switches.watching
        self.here = sys._getframe()
        try:  # an interrupt comes after a call
            switches.watching = True
            sys.setprofile(self.profile)
            self.ran.result = function(*args, **kwargs)
        finally:
            switches.watching = watching
            sys.setprofile(before)
            self.here = None
        return self.ran

    def profile(self, frame: FrameType, event: str, arg: Any) -> None:
        """Python calls this at each call."""
        if self.within is not None:
            if frame is self.within and event == "return":
                self.within = None
                if _core.capture_steps() != self.steps:
                    self._fail(f"computes tensors in {frame.f_code.co_qualname}()")
        elif event == "call":
            self._called(frame)
        elif event == "c_call" and self.ran.trouble is None and frame is not self.here:
            self._called_c(frame, arg)

    def _fail(self, why: str) -> None:
        self.ran.trouble = self.ran.trouble or why

    def _called(self, frame: FrameType) -> None:
        """A function of Python's is called."""
        ran, code = self.ran, frame.f_code
        schedule = _schedule_of(frame)
        if schedule is not None:
            self.within, self.steps = frame, _core.capture_steps()
            ran.schedules.append(schedule)
            self.put_back(schedule.optimizer.param_groups)
            return
        if ran.schedules and _is_stepped(frame, ran.schedules):
            why = f"steps an optimizer after its schedule at {place(frame)}"
            self._fail(f"{why}: replays step schedules last")
        key = id(code), id(frame.f_globals)
        if key in ran.scopes or key in ran.library_scopes:
            return
        if code in KEPT_OUT:
            self._fail(f"calls {code.co_qualname}(), which torch.compiler.disable keeps out")
        if PURE and not is_librarys(code) and _is_within_pure(frame):
            return
        if not is_librarys(code):
            if code.co_filename.endswith(_WEAK) and code.co_name.endswith("remove"):
                return  # an object was freed, some time
            if not code.co_filename.startswith(_IMPORTS):
                ran.scopes[key] = code, frame.f_globals
            elif ran.trouble is None and code.co_name not in ("_handle_fromlist", "parent"):
                self._fail(f"imports a module at {place(frame)}, which it does not the next time")
                ran.imports = True
            return
        ran.library_scopes[key] = code, frame.f_globals
        file = code.co_filename[len(_PACKAGE) :].replace(os.sep, "/")
        computes = file.startswith(_COMPUTES) or (file, code.co_qualname) in _COMPUTE
        computes = computes and (code.co_name not in _SETS or warns_once(code.co_name))
        if ran.trouble is None and not computes and not _is_within_pure(frame):
            said = "warns" if code.co_name.startswith("warn") else f"calls {code.co_qualname}()"
            self._fail(f"{said} at {place(frame)}, which does more than compute tensors")

    def _called_c(self, frame: FrameType, function: Any) -> None:
        """A function in C is called."""
        if frame.f_code.co_filename.startswith(_IMPORTS):
            return  # of modules that are there, or the trouble is told
        if (
            function.__name__ == "item"
            and type(function.__self__) is Tensor
            and frame.f_back is self.here
            and _core.captures()
            and is_returned(frame.f_code, frame.f_lasti)
        ):
            kept = function.__self__.detach().clone()
            _core.capture_allow()
            self.ran.values.append((kept, kept.item()))
            _core.capture_allow()
        if is_librarys(frame.f_code):
            pure = not _leaves_library(function)
        else:
            pure = is_pure(function)
            self.ran.dynamic |= function.__name__ in READ_BY_NAME
        if not pure and function not in PURE and not _is_within_pure(frame):
            self._fail(
                f"calls {name_of(function)}() at {place(frame)}, whose result or effect may differ "
                "each time: call it outside, and pass what it gives in as an argument"
            )


def _schedule_of(frame: FrameType) -> Any:
    """The schedule of learning rates whose `step()`, without arguments, begins in a frame."""
    code, room = frame.f_code, sys.modules.get("rushlight.optim.lr_scheduler")
    if room is None or code.co_name != "step" or code.co_argcount not in (1, 2):
        return None
    given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
    schedule: Any = given[0]
    fits = isinstance(schedule, room.LRScheduler) and given[1:] in ([], [None])
    own = fits and getattr(type(schedule).step, "__code__", None) is code
    plain = not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return schedule if own and plain and hasattr(schedule, "optimizer") else None


def _is_stepped(frame: FrameType, schedules: list[Any]) -> bool:
    """Whether code of an optimizer begins that one of the schedules has changed."""
    code = frame.f_code
    if not code.co_argcount or code.co_name == "zero_grad":
        return False
    o = frame.f_locals.get(code.co_varnames[0])
    return any(schedule.optimizer is o for schedule in schedules)


_PUSHES = frozenset("LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_BORROW LOAD_CONST LOAD_DEREF".split())
_SKIPS = frozenset("CACHE RESUME NOP PRECALL KW_NAMES EXTENDED_ARG COPY_FREE_VARS".split())


@functools.lru_cache(maxsize=256)
def is_returned(code: CodeType, at: int) -> bool:
    """Whether what the call at an offset of the code gives is returned, alone or in a container,
    and nothing else is done with it. Code without branches is understood, where calls have none of
    it among their arguments."""
    stack: list[bool] = [True]  # whether a value holds it; what was below is not known
    names: set[str] = set()  # of local variables that hold it
    for i in dis.get_instructions(code):
        op, n = i.opname, i.arg or 0
        if i.offset <= at or op in _SKIPS:
            continue
        if op == "RETURN_VALUE":
            return stack[-1:] == [True]
        if op in _PUSHES:
            stack.append(i.argval in names if "FAST" in op else False)
        elif op == "PUSH_NULL":
            stack.append(False)
        elif op == "LOAD_GLOBAL":
            stack += [False] * (1 + (n & 1 if sys.version_info >= (3, 11) else 0))
        elif op in ("LOAD_ATTR", "LOAD_METHOD"):
            if not stack or stack.pop():
                return False
            is_method = op == "LOAD_METHOD" or (sys.version_info >= (3, 12) and n & 1)
            stack += [False] * (2 if is_method else 1)
        elif op == "STORE_FAST" and stack:
            (names.add if stack.pop() else names.discard)(i.argval)
        elif op == "POP_TOP" and stack:
            stack.pop()
        elif op in (
            "CALL",
            "BINARY_OP",
            "BINARY_SUBSCR",
            "BUILD_TUPLE",
            "BUILD_LIST",
            "BUILD_MAP",
            "BUILD_CONST_KEY_MAP",
        ):
            count = {"CALL": n + 2, "BINARY_OP": 2, "BINARY_SUBSCR": 2, "BUILD_MAP": 2 * n}.get(
                op, n
            )
            count += op == "BUILD_CONST_KEY_MAP"
            builds = op.startswith("BUILD")
            if count > len(stack) and not builds:
                return False  # of what was there before
            held = any(stack[max(len(stack) - count, 0) :])
            del stack[max(len(stack) - count, 0) :]
            if held and not builds:
                return False
            stack.append(held)
        else:
            return False
    return False


def title_of(function: Any) -> str:
    """The name of a function in messages; a module by its class."""
    if getattr(function, "__name__", "") == "call_uncompiled":
        function = function.__self__
    if isinstance(function, types.MethodType):  # which a class may have from another
        return f"{type(function.__self__).__qualname__}.{function.__name__}"
    return getattr(function, "__qualname__", type(function).__qualname__)


def warns_once(name: str) -> bool:
    """Whether a function of the library warns, and a warning is shown once: it was, in the first
    calls."""
    always = False
    for action, message, category, module, _ in warnings.filters:
        if action in ("always", "error", "all") and category.__module__ == "builtins":
            always = True
        if always or (category is Warning and message is None and module is None):
            break  # which all warnings meet
    return name in ("warn", "warn_once") and not always


def name_of(function: Any) -> str:
    owner = function.__self__
    if isinstance(owner, types.ModuleType):
        module = owner.__name__
        return function.__name__ if module == "builtins" else f"{module}.{function.__name__}"
    module = getattr(owner if isinstance(owner, type) else type(owner), "__module__", "")
    prefix = "" if module in ("builtins", None) else f"{module}."
    return f"{prefix}{function.__qualname__}"


def _module_of(function: Any) -> str:
    """The module of a C function, "" of a method."""
    owner = function.__self__
    if isinstance(owner, types.ModuleType):
        return owner.__name__
    return (function.__module__ or "") if owner is None else ""


def is_pure(function: Any) -> bool:
    """Whether a C function that the program calls is a function of its arguments."""
    module, name = _module_of(function), function.__name__
    if module:
        if module.startswith("rushlight"):
            return name not in _SETS
        return module in _PURE_MODULES and name not in _IMPURE
    owner = function.__self__
    classes = type.mro(owner) if isinstance(owner, type) else type(owner).__mro__
    for cls in (*classes, *type(owner).__mro__):
        if name in vars(cls):
            return cls in PURE_CLASSES or _is_cores(cls)
    return False


def _is_cores(cls: type) -> bool:
    return vars(_core).get(cls.__name__) is cls


def _leaves_library(function: Any) -> bool:
    """Whether a C function that the library's own code calls does more than compute."""
    if function.__name__ in _SETS:
        return not warns_once(function.__name__)
    module = _module_of(function)
    if module == "builtins":
        return function.__name__ in ("print", "open", "input", "breakpoint")
    if not module:
        owner = function.__self__
        cls = owner if isinstance(owner, type) else type(owner)
        module = (cls.__module__ or "") if cls.__flags__ & (1 << 8) else ""
    return module in _OUTSIDE and function.__name__ not in _OF_LOCKS
