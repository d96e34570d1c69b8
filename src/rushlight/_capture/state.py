"""The Python state that a run could have read, and the guards that tell when it has changed.

A walk begins at the function, its arguments, and the globals that the code names which ran. It
follows containers whole, and objects by the attributes that some of the code names. Everything it
meets becomes a row of `_core.Guards`, which compares it before each replay. An object whose state
cannot be seen from Python ends capture.
"""

from __future__ import annotations

import builtins
import collections.abc
import dataclasses
import functools
import operator
import re
import sys
import types
import typing
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from .._base import device as _device
from .._base import dtypes
from .._base.missing import names_in
from .._base.size import Size
from .._base.sources import short_name
from .._core import Guards, Node, Op, Public, Tensor
from .._devices.generator import Generator
from ..autograd.grad_mode import no_grad
from . import calls
from .calls import Ran, is_librarys, names_of
from .counters import Counter, counted

ABSENT: Any = Guards  # in the place of a value that is not there
_MOST = 100_000  # objects
_HEAP, _IMMUTABLE = 1 << 9, 1 << 8  # of the flags of classes

# Without state that could change; compared by value or by identity.
_INERT: tuple[type, ...] = (
    *(int, float, complex, str, bytes, bool, type(None), type(...), type(NotImplemented), range),
    *(dtypes.dtype, _device.device, _device.layout, _device.memory_format, Size, Generator),
    *(Op, Public, re.Pattern, types.CodeType, types.MethodDescriptorType, types.GenericAlias),
    *(types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType),
    *(types.MemberDescriptorType, types.UnionType, operator.itemgetter),
    type(vars(collections.namedtuple("_", "x"))["x"]),
    type(vars(collections.abc.Hashable)["_abc_impl"]),
)
_INERT_SET = frozenset(_INERT)
# Classes in C, beside those of builtins, that code may name and call.
_CLASSES = calls.PURE_CLASSES | {operator.attrgetter, operator.methodcaller, weakref.ref, Tensor}
# Whose instances hold no more than a dict or what a container shows.
_BASES = frozenset(
    {object, dict, list, tuple, set, frozenset, types.SimpleNamespace, types.ModuleType}
)
_BASES |= {int, float, complex, str, bytes, BaseException, collections.OrderedDict, Tensor}
_BASES |= {collections.defaultdict, functools.partial, property, type}
_NOT_SPECIAL = "doc dict weakref weakrefoffset module annotations text_signature basicsize".split()
# Read by the interpreter or by the core, without a name in any code.
_SPECIAL = frozenset(
    name
    for cls in (object, type, int, float, list, dict, set, str, types.GeneratorType, property)
    for name in vars(cls)
    if name[:2] == "__" and name[2:-2] not in _NOT_SPECIAL
) | frozenset(
    "__call__ __enter__ __exit__ __get__ __set__ __delete__ __set_name__ __getattr__ __bool__ "
    "__missing__ __aenter__ __aexit__ __await__ __index__ __torch_function__ __array__ "
    "__length_hint__ __match_args__ __instancecheck__ __subclasscheck__ __slots__ __format__ "
    "__abstractmethods__ __matmul__ __rmatmul__ __imatmul__ __post_init__ "
    "forward backward setup_context vjp jvp vmap".split()
)
_READERS = frozenset("getattr hasattr setattr vars __dict__".split())
_MEMBERS = frozenset({"_parameters", "_buffers", "_modules"})  # members.cpp reads them
_ENDS = frozenset(
    "__globals__ f_globals f_locals f_back gi_frame __builtins__ __subclasses__ "
    "__annotations__".split()
)
_NEVER = ((), (), ((None, int, None),), *((),) * 6, (("", None),) * 2, False, False, False)
_FIELDS = "__code__ __defaults__ __kwdefaults__ __name__ __qualname__ __module__ __doc__".split()


class State:
    """The state that a run of `function` could have read; `ran`, an earlier run, has its code.

    loaded: the numbers in the groups of the library's own optimizers are compared by type and by
    whether they are zero, unless code of the program reads groups; `State.loaded` lists them.
    hooks: those of tensors may run, and read state, too.
    counters: numbers that the run may count up.
    """

    trouble: str | None

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        ran: Ran,
        *,
        loaded: bool = False,
        hooks: bool = True,
        counters: Iterable[Counter] = (),
    ) -> None:
        self.trouble = ran.trouble or Guards.obstacle()
        self._counters = {(id(c.place), c.key) for c in counters}
        self.tensors: dict[Tensor, str] = {}
        self.inputs: list[Tensor] = []
        self.loaded: list[tuple[dict[str, Any], str]] = []
        self._scopes = ran.scopes.keys()
        self._codes = {id(code): code for code, _ in ran.scopes.values()}
        self._library = {id(code) for code, _ in ran.library_scopes.values()}
        self._accounted: set[int] = set()  # code of functions that the walk met, and code in it
        self._passed: set[str] = set()  # globals that are more than called, as paths
        self._rows: list[list[Any]] = [[] for _ in range(8)]
        self._told: list[list[str]] = [[] for _ in range(8)]  # paths, of each row
        self._numbers: list[tuple[str, Any, str, int]] = []
        self._seen: dict[int, object] = {}
        self._waiting: collections.deque[tuple[object, str]] = collections.deque()
        self._classes: dict[int, type] = {}
        self._class_dicts: dict[int, tuple[type, dict[str, Any], frozenset[str] | None]] = {}
        # Of the arguments: path and items.
        self._containers: dict[int, tuple[Any, str, dict[Any, Any]]] = {}
        self._lookups: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._local = False  # whether state of this thread alone was read
        self._hooks = hooks
        self._dynamic = ran.dynamic
        self._program, self._names = _find_names(ran)
        self._of_classes = self._names | _SPECIAL
        ends = self._program & _ENDS
        if ends:
            self._fail(f"code that ran reads `{min(ends)}`, which shows what cannot be compared")
        self._reads_functions = self._dynamic or not self._program.isdisjoint(
            ("__closure__", "__defaults__", "__kwdefaults__", "__code__")
        )
        self._loads = loaded and not self._dynamic and "param_groups" not in self._program
        self.guards = Guards(_NEVER, ())
        try:
            rows = self._walk(function, args, kwargs, ran)
        except Exception as error:  # of a program's class, whose code ran here
            self._fail(f"its state cannot be read: {type(error).__name__} was raised")
        if self.trouble is None:
            self.guards = Guards(rows, tuple(self.inputs))

    def _walk(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], ran: Ran
    ) -> tuple[Any, ...]:
        """The rows of the guards: dicts, classes, instances, lists, cells, sets, functions and
        slots; then tensors, the trees of the arguments, and three questions."""
        if isinstance(function, types.MethodType):
            self._visit(function.__self__, "self")
        named = isinstance(function, (types.FunctionType, types.MethodType))
        self._visit(function, function.__name__ if named else "self")
        for code, names in ran.scopes.values():
            self._scope(code, names)
        for code, names in ran.library_scopes.values():
            self._library_scope(code, names)
        self._drain()
        trees = self._tree(args, self._parameters(function)), self._tree(kwargs, "kwargs")
        for t in self.inputs:
            self._class(type(t), f"the class {type(t).__name__}")
            self._of_tensor(t, "an argument", self._names)
        self._drain()
        # The class that `namedtuple` makes is a function of its arguments.
        made = {
            id(code)
            for code, names in ran.scopes.values()
            if str(names.get("__name__", "")).startswith("namedtuple_")
            or (code.co_qualname.startswith("namedtuple.<locals>.") and calls.is_pythons(code))
        }
        for code in self._codes.values():
            if id(code) not in self._accounted | made:
                where = f"{short_name(code.co_filename)}:{code.co_firstlineno}"
                self._fail(f"{code.co_qualname}() at {where} ran, held by what cannot be followed")
        for held, path, _ in self._containers.values():
            if id(held) in self._seen:
                self._fail(f"{path} is also reached otherwise: pass it in only, or not at all")
        for names, expected in self._lookups.values():
            self._number("globals", names, expected)
            kept = {k: v for k, v in expected.items() if not self._counts(names, k)}
            self._row(0, "", (names, kept, None, True, None))
        offsets = not self._program.isdisjoint(("storage_offset", "as_strided", "set_", "data_ptr"))
        gradients = not self._names.isdisjoint(("grad", "_grad", "backward"))
        asked = offsets, self._local, gradients
        return (*map(tuple, self._rows), tuple(self.tensors), trees, *asked)

    def matches(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, ...] | None:
        """The input tensors of a call like the captured one; None where anything differs."""
        return self.guards.match(args, kwargs)

    # --- the names ---

    def _scope(self, code: types.CodeType, names: dict[str, Any]) -> None:
        """The globals and builtins that code of the program names."""
        own = names.get("__builtins__", builtins)
        around: dict[str, Any] = names_in(own) if isinstance(own, types.ModuleType) else own
        self._passed = {".".join(path) for path in names_of(code).passed}
        for name, chains in names_of(code).globals.items():
            value = names.get(name, ABSENT)
            self._expect(names, name, value)
            if value is ABSENT:
                value = around.get(name, ABSENT)
                self._expect(around, name, value)
            if value is not ABSENT:
                self._used(value, name, chains)

    def _library_scope(self, code: types.CodeType, names: dict[str, Any]) -> None:
        """The same of the library's: settings that are replaced, and functions that are patched."""
        file = code.co_filename
        if file.endswith("_calling.py"):
            self._visit(sys.modules["rushlight.nn.modules._calling"].GLOBAL, "the global hooks")
        elif "_hook_step" in code.co_qualname:
            room = sys.modules["rushlight.optim.optimizer"]
            self._visit([room._pre_hooks, room._post_hooks], "the global hooks of optimizers")
        elif calls.warns_once(code.co_name):
            self._expect(vars(warnings), "filters", warnings.filters)
            self._visit(warnings.filters, "the filters of warnings")
        elif file.endswith(("_casting.py", "autocast_mode.py")):
            self._local = True
            settings = vars(sys.modules["rushlight.amp._casting"].state)
            for name in ("enabled", "types", "keeps", "nesting", "entered"):
                self._expect(settings, name, settings[name])
                self._visit(settings[name], f"autocast's {name}")
        for name in code.co_names:
            if name not in names:
                continue
            value = names[name]
            self._expect(names, name, value)
            self._foreign(value, name)
            if isinstance(value, types.ModuleType):
                around = names_in(value)
                for attribute in code.co_names:
                    if attribute in around:
                        self._expect(around, attribute, around[attribute])
                        self._foreign(around[attribute], attribute)

    def _foreign(self, value: object, path: str) -> None:
        """Functions and classes of others that the library's code names: Python's own."""
        if isinstance(value, types.FunctionType):
            if not is_librarys(value.__code__):
                self._visit(value, path)
        elif isinstance(value, type) and Guards.made_by_python(value) and _is_programs(value):
            self._visit(value, path)

    def _expect(self, names: dict[str, Any], name: str, value: object) -> None:
        if type(names) is not dict:
            self._fail(f"the globals of `{name}` are a {_class_name(type(names))}")
            return
        if id(names) not in self._lookups:
            expected: dict[str, Any] = {}
            self._lookups[id(names)] = names, expected
        self._lookups[id(names)][1][name] = value

    def _used(self, value: object, path: str, chains: Iterable[tuple[str, ...]]) -> None:
        """A global: a module by the attributes that code reads of it, else all of the object."""
        if isinstance(value, types.BuiltinFunctionType) and path not in self._passed:
            return  # it is only called, which is seen
        if not isinstance(value, types.ModuleType):
            self._visit(value, path)
            return
        if () in chains:
            self._visit(value, path)
        rests: dict[str, set[tuple[str, ...]]] = {}
        for chain in chains:
            if chain:
                rests.setdefault(chain[0], set()).add(chain[1:])
        for name, rest in rests.items():
            self._attribute(value, path, name, rest)

    def _attribute(
        self, module: types.ModuleType, path: str, name: str, rest: Iterable[tuple[str, ...]]
    ) -> None:
        names = names_in(module)
        if name in names:
            self._expect(names, name, names[name])
            self._used(names[name], f"{path}.{name}", rest)
        elif not _is_trusted(module):
            self._expect(names, name, ABSENT)
            if "__getattr__" in names:
                self._attribute(module, path, "__getattr__", [()])

    # --- the walk ---

    def _fail(self, why: str) -> None:
        if self.trouble is None:
            self.trouble = why

    def _visit(self, o: object, path: str) -> None:
        if type(o) not in _INERT_SET:
            self._waiting.append((o, path))

    def _drain(self) -> None:
        waiting, seen = self._waiting, self._seen
        while waiting:
            o, path = waiting.popleft()
            if id(o) in seen:
                continue
            seen[id(o)] = o
            if len(seen) > _MOST:
                self._fail(f"reaches more than {_MOST} objects, {path} among them")
                return
            self._object(o, path)

    def _object(self, o: Any, path: str) -> None:
        kind = type(o)
        visit = _VISITS.get(kind)
        if visit is not None:
            visit(self, o, path)
        elif isinstance(o, type):
            self._class(o, path)
        elif issubclass(kind, types.ModuleType):
            self._module(o, path)
        elif isinstance(o, Node):
            self._fail(f"{path} is a node of a graph that was made before")
        elif Guards.made_by_python(kind) or kind in _BASES or issubclass(kind, Tensor):
            self._instance(o, path)
        elif isinstance(o, tuple):
            self._items(o, path)
        elif not _is_inert(o):
            said = _class_name(kind)
            article = "an" if said[0] in "aeiou" else "a"
            self._fail(f"{path} is {article} {said}, whose state cannot be compared")

    def _row(self, kind: int, path: str, row: Any) -> None:
        self._rows[kind].append(row)
        self._told[kind].append(path)

    def _whole(self, o: dict[Any, Any], path: str, loads: bool = False) -> None:
        """A dict, with all items in their order."""
        parts = dict(dict.items(o))
        numbers = [k for k, v in parts.items() if loads and type(k) is str and _is_number(v)]
        self.loaded += [(o, key) for key in numbers]
        self._row(0, path, (o, parts, None, False, frozenset(numbers) or None))
        if type(o) is not dict and isinstance(o, collections.OrderedDict) and len(parts) > 1:
            self._row(5, path, (o, _items_of(o)))
        if isinstance(o, collections.defaultdict):
            self._slot(o, vars(collections.defaultdict)["default_factory"], path, "default_factory")
        for key, value in parts.items():
            self._visit(key, f"a key of {path}")
            self._visit(value, f"{path}[{_short(key)}]")

    def _list(self, o: list[Any], path: str) -> None:
        items = _items_of(o)
        self._row(3, path, (o, items))
        self._items(items, path)

    def _items(self, o: Iterable[Any], path: str) -> None:
        for i, value in enumerate(o):
            self._visit(value, f"{path}[{i}]")

    def _set(self, o: Any, path: str) -> None:
        items = _items_of(o)
        self._row(5, path, (o, items))
        self._items(items, path)

    def _slot(self, o: object, member: Any, path: str, name: str) -> None:
        try:
            value = member.__get__(o)
        except AttributeError:
            value = ABSENT
        self._row(7, f"{path}.{name}", (member, o, value))
        self._visit(value, f"{path}.{name}")

    def _account(self, code: types.CodeType) -> None:
        if id(code) not in self._accounted:
            self._accounted.add(id(code))
            for inner in code.co_consts:
                if isinstance(inner, types.CodeType):
                    self._account(inner)

    def _function(self, o: types.FunctionType, path: str) -> None:
        self._account(o.__code__)
        ours = is_librarys(o.__code__)
        ran = id(o.__code__) in (self._library if ours else self._codes)
        if not (ran and (o.__closure__ or not ours)) and (ours or not self._reads_functions):
            return  # it did not run; where it is held, it is compared by identity
        fields = [getattr(o, name) for name in _FIELDS]
        self._row(6, path, (o, (*fields, o.__dict__)))
        self._attributes(o.__dict__, path, None if self._dynamic else self._program)
        if o.__kwdefaults__:
            self._visit(o.__kwdefaults__, f"a default of {path}")
        self._visit(o.__defaults__ or (), f"a default of {path}")
        for name, cell in zip(o.__code__.co_freevars, o.__closure__ or (), strict=True):
            self._cell(cell, name)

    def _cell(self, cell: types.CellType, path: str) -> None:
        if id(cell) in self._seen:
            return
        self._seen[id(cell)] = cell
        value = _contents(cell)
        self._number("cell", cell, {path: value})
        if not self._counts(cell, path):
            self._row(4, path, (cell, value))
        self._visit(value, path)

    def _method(self, o: types.MethodType, path: str) -> None:
        self._visit(o.__self__, f"{path}.__self__")
        self._visit(o.__func__, path)

    def _builtin(self, o: types.BuiltinFunctionType, path: str) -> None:
        owner = o.__self__
        if isinstance(o, types.BuiltinFunctionType) and not calls.is_pure(o):
            said = f"{path} is {calls.name_of(o)}(), whose result or effect may differ each time"
            self._fail(said)
        if o.__name__ in calls.READ_BY_NAME and not self._dynamic:
            self._fail(f"{path} is {calls.name_of(o)}(), handed on to read attributes by name")
        if not isinstance(owner, (type, types.ModuleType, type(None))):
            self._visit(owner, f"{path}.__self__")

    def _attributes(self, d: Any, path: str, names: frozenset[str] | None) -> None:
        """The dict of an object: the attributes that code names, or all of them."""
        if type(d) is not dict:
            self._fail(f"the attributes of {path} are a {_class_name(type(d))}")
            return
        self._seen[id(d)] = d
        parts = {k: v for k, v in d.items() if names is None or k in names}
        self._number("attributes", d, parts)
        counts = frozenset(k for k in parts if self._counts(d, k)) or None
        self._row(0, f"{path}.", (d, parts, names, False, counts))
        for key, value in parts.items():
            self._visit(value, f"{path}.{key}")

    def _number(self, kind: str, place: object, parts: dict[str, Any]) -> None:
        """The whole numbers that a run may count up."""
        self._numbers += [(kind, place, k, v) for k, v in parts.items() if type(v) is int]

    def _counts(self, place: object, key: object) -> bool:
        return (id(place), key) in self._counters

    def _instance(self, o: Any, path: str) -> None:
        cls = type(o)
        self._class(cls, f"the class {cls.__name__}")
        names = self._program if _is_programs(cls) else self._names
        chosen = None if self._dynamic else names
        base = next(k for k in cls.__mro__ if not Guards.made_by_python(k))
        if base not in _BASES:
            self._fail(f"{path} is built on {_class_name(base)}, whose state cannot be compared")
        if issubclass(cls, Tensor):
            return self._tensor(o, path, chosen)
        attributes = _dict_of(o)
        self._row(2, path, (o, cls, attributes))
        if (
            self._loads
            and attributes
            and _room(cls).startswith(("rushlight.optim.", "torch.optim."))
        ):
            for i, group in enumerate(attributes.get("param_groups", ())):
                if type(group) is dict and id(group) not in self._seen:
                    self._seen[id(group)] = group
                    self._whole(group, f"{path}.param_groups[{i}]", True)
        for k in cls.__mro__:
            if Guards.made_by_python(k) and "__slots__" in vars(k):
                for name, member in vars(k).items():
                    if type(member) is types.MemberDescriptorType and (
                        chosen is None or name in chosen or cls.__name__ == "NodeHooks"
                    ):
                        self._slot(o, member, path, name)
        if attributes is not None:
            self._attributes(attributes, path, chosen)
        if isinstance(o, dict):
            self._whole(o, path)
        elif isinstance(o, list):
            self._list(o, path)
        elif isinstance(o, (set, frozenset)):
            self._set(o, path)
        elif isinstance(o, tuple):
            self._items(tuple.__iter__(o), path)
        elif isinstance(o, functools.partial):
            self._partial(o, path)
        elif isinstance(o, property):
            self._property(o, path)
        elif isinstance(o, BaseException):
            self._visit(o.args, f"{path}.args")

    def _tensor(self, o: Any, path: str, names: frozenset[str] | None) -> None:
        self.tensors[o] = path
        self._of_tensor(o, path, names)

    def _of_tensor(self, o: Any, path: str, names: frozenset[str] | None) -> None:
        attributes, hooks, others = Guards.parts(o)
        if attributes is not None:
            self._attributes(attributes, path, names)
        for held in (hooks, others) if self._hooks else ():
            self._visit(held, f"the hooks of {path}")

    def _class(self, cls: type, path: str) -> None:
        if not cls.__flags__ & _HEAP or cls.__flags__ & _IMMUTABLE:
            known = cls in _CLASSES or vars(builtins).get(cls.__name__) is cls or cls in _INERT_SET
            if not known and cls not in _BASES and not _is_number_class(cls):
                self._fail(f"{path} is {_class_name(cls)}, a class in C that is not known")
            return
        if cls is not Tensor and not Guards.made_by_python(cls) and not _is_known(cls):
            self._fail(f"{path} is {_class_name(cls)}, a class in C that is not known")
        if id(cls) in self._classes:
            return
        self._classes[id(cls)] = cls
        meta = type(cls)
        self._row(2, path, (cls, meta, None))
        if meta is not type:
            self._visit(meta, f"the class {meta.__name__}")
        dicts = []
        for k in cls.__mro__:
            if not k.__flags__ & _HEAP or k.__flags__ & _IMMUTABLE:
                continue
            if id(k) not in self._class_dicts:
                names = None if self._dynamic and not _is_trusted(k) else self._of_classes
                parts = {n: v for n, v in vars(k).items() if names is None or n in names}
                self._class_dicts[id(k)] = k, parts, names
                for name, value in parts.items():
                    self._visit(value, f"{k.__name__}.{name}")
            dicts.append(self._class_dicts[id(k)])
        self._row(1, cls.__name__, (cls, cls.__mro__, tuple(dicts)))

    def _module(self, o: types.ModuleType, path: str) -> None:
        """A module that is passed on: any attribute that code names may be read of it."""
        if self._dynamic and not _is_trusted(o):
            self._attributes(names_in(o), path, None)
            return
        for name in sorted(self._program):
            self._attribute(o, path, name, [()])

    def _partial(self, o: Any, path: str) -> None:
        self._visit(o.func, path)
        self._visit(o.args, f"an argument of {path}")
        self._visit(o.keywords, f"an argument of {path}")
        if type(o) is functools.partial:
            self._row(2, path, (o, functools.partial, o.__dict__))
            self._attributes(o.__dict__, path, None if self._dynamic else self._program)

    def _property(self, o: Any, path: str) -> None:
        for part in (o.fget, o.fset, o.fdel):
            self._visit(part, path)

    def _wrapped(self, o: Any, path: str) -> None:
        self._visit(o.__func__, path)

    def _cached(self, o: Any, path: str) -> None:
        self._visit(o.func, path)

    def _reference(self, o: Any, path: str) -> None:
        shown = o()
        if shown is None:
            self._fail(f"{path} is a weak reference to an object that is gone")
        self._row(2, path, (shown, type(shown), None))  # which also keeps it
        self._visit(shown, path)

    def _proxy(self, o: Any, path: str) -> None:
        if o:
            self._fail(f"{path} is a mappingproxy, whose state cannot be compared")
        self._row(5, path, (o, ()))

    def _slice(self, o: slice, path: str) -> None:
        self._items((o.start, o.stop, o.step), path)

    # --- the arguments ---

    def _parameters(self, function: Any) -> list[str]:
        while isinstance(function, types.MethodType):
            function = function.__func__
        code = getattr(function, "__code__", None)
        return list(code.co_varnames) if code is not None else []

    def _tree(self, value: Any, path: str | list[str], depth: int = 0) -> Any:
        """The structure of an argument, as `Guards.match` compares it."""
        kind = type(value)
        if isinstance(value, Tensor):
            self.inputs.append(value)
            return len(self.inputs) - 1
        if isinstance(path, list):
            named = [*path, *("an argument",) * len(value)]
            return ("t", kind, (), tuple(map(self._tree, value, named)))
        if depth > 30:
            self._fail(f"{path} is nested too deeply")
            return ("", None)
        if kind in _INERT_SET or id(value) in self._seen:
            return ("", value)
        if isinstance(value, tuple) and (kind is tuple or hasattr(kind, "_fields")):
            parts = tuple(self._tree(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(value))
            if kind is not tuple:
                self._visit(kind, f"the class {kind.__name__}")
            return ("t", kind, (), parts)
        fields = dataclasses.is_dataclass(kind) and type(_dict_of(value)) is dict
        if kind not in (list, dict) and not fields:
            self._visit(value, path)
            return ("", value)
        if id(value) in self._containers:
            self._fail(f"{path} is passed in twice")
            return ("", value)
        if kind is list:
            self._containers[id(value)] = value, path, dict(enumerate(value))
            parts = tuple(self._tree(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(value))
            return ("l", kind, (), parts)
        attributes = _dict_of(value) if fields else value
        if fields:
            self._visit(kind, f"the class {kind.__name__}")
        held = attributes, f"{path}." if fields else path, dict(attributes)
        self._containers[id(value)] = held
        form = f"{path}.{{}}" if fields else "{}" if path == "kwargs" else f"{path}[{{!r}}]"
        parts = tuple(self._tree(v, form.format(k), depth + 1) for k, v in attributes.items())
        form = "o" if fields else "k" if path == "kwargs" else "d"
        return (form, kind, tuple(attributes), parts)

    def told(self) -> str:
        """The guards in words."""
        kinds = "dicts classes objects lists cells sets functions slots tensors".split()
        counts = zip((*map(len, self._rows), len(self.tensors)), kinds, strict=True)
        return ", ".join(f"{count} {kind}" for count, kind in counts if count)

    # --- before and after ---

    def counters(self, ran: Ran) -> list[Counter]:
        """The numbers that a run which began in this state has counted up."""
        found = []
        classes = {id(d): cls for _, cls, d in self._rows[2]}
        for kind, place, key, value in self._numbers:
            now = _contents(place) if kind == "cell" else place.get(key, ABSENT)
            if not Guards.same(value, now):
                counter = counted(ran, kind, place, key, (value, now), classes.get(id(place)))
                found += [counter] if counter else []
        return found

    def changed(
        self,
        ran: Ran,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        counters: Iterable[Counter] = (),
    ) -> str | None:
        """The change that a run left which began in this state, in words. `counters`: the run
        counted these; guards leave them out where they were told of them."""
        for scope, (code, _) in ran.scopes.items():
            if scope not in self._scopes:
                return f"runs {code.co_qualname}() for the first time"
        if not _find_names(ran)[1] <= self._names or ran.dynamic > self._dynamic:
            return "runs other code of the library than before"
        for held, path, parts in self._containers.values():
            now = held if isinstance(held, dict) else dict(enumerate(held))
            if said := _difference(path, parts, now):
                return said
        if self._counters and self._counters != {(id(c.place), c.key) for c in counters}:
            return "counts other numbers than before"
        found = self.guards.changed(args, kwargs)
        if found is None:
            return None
        kind, number = found
        if kind < 0:
            return "leaves a mode or a setting changed"
        if kind == 8:
            return _altered([*self.tensors.values()][number])
        if kind == 9:
            return _altered("an argument")
        row, path = self._rows[kind][number], self._told[kind][number]
        o, *rest = row
        said = None
        if kind == 0:
            chosen = rest[0] if rest[2] else rest[1]
            now = {k: v for k, v in dict.items(o) if chosen is None or k in chosen}
            said = _difference(path, rest[0], now, rest[3] or ())
        elif kind == 1:
            for cls, parts, names in rest[1]:
                now = {k: v for k, v in vars(cls).items() if names is None or k in names}
                said = said or _difference(f"{cls.__name__}.", parts, now)
        elif kind in (3, 5):
            items = _items_of(o)
            if len(items) != len(rest[0]):
                return f"`{path}` went from {len(rest[0])} to {len(items)} items: {_ADVICE}"
            said = _difference(path, dict(enumerate(rest[0])), dict(enumerate(items)))
        elif kind == 4:
            return _went(f"`{path}`", rest[0], _contents(o))
        return said or f"`{path.rstrip('.')}` has changed: {_ADVICE}"


def _find_names(ran: Ran) -> tuple[frozenset[str], frozenset[str]]:
    """The attributes that the program's code names, and all that are named."""
    program: set[str] = set(_MEMBERS)
    for code, _ in ran.scopes.values():
        program |= names_of(code).attributes
    names = set(program)
    for code, _ in ran.library_scopes.values():
        names.update(code.co_names)
        if not _READERS.isdisjoint(code.co_names):  # module.__dict__.get("_forward_hooks")
            names.update(c for c in code.co_consts if type(c) is str)
    return frozenset(program), frozenset(names)


_ADVICE = "make it a tensor, or pass it in"


def _altered(path: str) -> str:
    return f"`{path}` got other memory, another shape, flags, history or hooks"


def _difference(
    path: str, before: dict[Any, Any], now: dict[Any, Any], apart: Iterable[Any] = ()
) -> str | None:
    """The first part that is another. The path of attributes ends in a point; "": of globals."""
    for key in (*before, *(k for k in now if k not in before)):
        value, after = before.get(key, ABSENT), now.get(key, ABSENT)
        if key not in apart and not Guards.same(value, after):
            name = f"{path}{key}" if path[-1:] == "." else f"{path}[{_short(key)}]"
            return _went(f"`{name}`" if path else f"the global `{key}`", value, after)
    return None


def _went(name: str, value: object, now: object) -> str:
    if isinstance(value, Tensor) and isinstance(now, Tensor):
        return f"{name} is another tensor than before: write into it (copy_), or return the new one"
    before = "nothing" if value is ABSENT else _short(value)
    return f"{name} went from {before} to {'nothing' if now is ABSENT else _short(now)}: {_ADVICE}"


def _short(value: object) -> str:
    """A value in a few characters; of a tensor or another object its class alone."""
    if type(value) in (int, float, complex, str, bytes, bool, type(None)):
        text = repr(value)
        return text if len(text) <= 40 else text[:37] + "..."
    if type(value) in (list, dict, tuple, set):
        return f"a {_class_name(type(value))} of {len(typing.cast(Any, value))}"
    return f"a {_class_name(type(value))}"


def _class_name(cls: type) -> str:
    room = _room(cls)
    return cls.__name__ if room in ("", "builtins", "__main__") else f"{room}.{cls.__name__}"


def _room(cls: type) -> str:
    name = type.__getattribute__(cls, "__module__")
    return name if isinstance(name, str) else ""


def _dict_of(o: object) -> Any:
    try:
        return object.__getattribute__(o, "__dict__")
    except AttributeError:
        return None


def _items_of(o: Any) -> tuple[Any, ...]:
    """The items of a list, a set or an OrderedDict, whatever its class says."""
    kinds: tuple[Any, ...] = (list, set, frozenset, collections.OrderedDict)
    for cls in kinds:
        if isinstance(o, cls):
            return tuple(cls.__iter__(o))
    return tuple(o)


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def _is_number(value: object) -> bool:
    """A number of an optimizer's group, or a tuple of numbers."""
    if type(value) is tuple:
        return all(type(v) in (int, float) for v in value) and bool(value)
    return type(value) in (int, float)


def _is_trusted(o: Any) -> bool:
    """A module or a class of the library or of Python's own, whose names no program computes."""
    name = o.__name__ if isinstance(o, types.ModuleType) else _room(o)
    root = str(name).partition(".")[0]
    return root in ("rushlight", "torch") or root in sys.stdlib_module_names


def _is_programs(cls: type) -> bool:
    """A class that has nothing of the library's, whose code then reads no attribute of it."""
    return not any(_room(k).startswith(("rushlight", "torch")) for k in cls.__mro__)


def _is_number_class(cls: type) -> bool:
    return any(_room(k) == "numpy" and k.__name__ == "generic" for k in cls.__mro__)


def _is_known(cls: type) -> bool:
    """A class in C of the core, or one of Python's that is listed."""
    return cls in _CLASSES or _room(cls).startswith(("rushlight", "torch"))


def _is_inert(o: object) -> bool:
    ours = _room(type(o)) in ("rushlight._core", "torch._core")  # as `rushlight run` calls it
    return ours or isinstance(o, _INERT) or _is_number_class(type(o))


_VISITS: dict[type, Callable[[State, Any, str], None]] = {
    dict: State._whole,
    collections.OrderedDict: State._whole,
    collections.defaultdict: State._whole,
    list: State._list,
    tuple: State._items,
    set: State._set,
    frozenset: State._set,
    types.FunctionType: State._function,
    types.MethodType: State._method,
    types.BuiltinFunctionType: State._builtin,
    type(object().__str__): State._builtin,
    types.ModuleType: State._module,
    functools.partial: State._partial,
    functools.cached_property: State._cached,
    property: State._property,
    staticmethod: State._wrapped,
    classmethod: State._wrapped,
    type(vars(no_grad)["__exit__"]): State._wrapped,
    weakref.ref: State._reference,
    slice: State._slice,
    types.MappingProxyType: State._proxy,
}
