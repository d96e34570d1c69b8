"""Whole numbers of a program that a run counts up: `self.steps += 1`.

Where all code that ran does no more with such a number than adding to it, and comparing it with
other numbers (`self.steps % 100 == 0`), a replay adds as much, as long as the comparisons come out
alike. Names and bytecode tell; a number is no counter where code is not understood.
"""

from __future__ import annotations

import dis
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

from .calls import Ran

__all__ = ["Counter", "counted"]

_MOST = 8  # values that a number has in a run, and that are compared
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{"%": operator.mod, "//": operator.floordiv, "+": operator.add, "-": operator.sub},
    **{"*": operator.mul, "<": operator.lt, "<=": operator.le, "==": operator.eq},
    **{"!=": operator.ne, ">": operator.gt, ">=": operator.ge},
}
_COMPARES = ("<", "<=", "==", "!=", ">", ">=")
_SKIPPED = ("CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "TO_BOOL", "RESUME")
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")
_LOADS = {"attributes": "LOAD_ATTR", "globals": "LOAD_GLOBAL", "cell": "LOAD_DEREF"}
Test = list[tuple[Callable[[Any, Any], Any], Any]]  # applied one after another


class Counter:
    """A place of a number, by how much a run counts it up, and how it is compared: each test with
    the values that it may see, counted from the first."""

    def __init__(
        self, place: Any, key: str, value: int, by: int, tests: list[tuple[Test, range]]
    ) -> None:
        self.place, self.key, self.by, self.tests = place, key, by, tests
        self.outcomes = self._compared(value)

    def _compared(self, value: int) -> list[bool]:
        found = []
        for test, seen in self.tests:
            for more in seen:
                made: Any = value + more
                for function, other in test:
                    made = function(made, other)
                found.append(bool(made))
        return found

    def fits(self) -> bool:
        """Whether a run would compare alike."""
        place = self.place
        value = place.cell_contents if type(place) is types.CellType else place.get(self.key)
        return type(value) is int and (not self.tests or self._compared(value) == self.outcomes)

    def add(self) -> None:
        """Count."""
        if type(self.place) is types.CellType:
            self.place.cell_contents += self.by
        else:
            self.place[self.key] += self.by


def counted(
    ran: Ran, kind: str, place: Any, key: str, values: tuple[Any, Any], cls: type | None
) -> Counter | None:
    """The counter at a place that a run has changed from one value to another; None where there may
    be more to it. `kind`: attributes (of an object of a class), globals, or cell."""
    value, now = values
    if type(value) is not int or type(now) is not int or ran.dynamic:
        return None
    if kind == "attributes" and not _is_plain(cls, key):
        return None
    read_otherwise = "cell_contents" if kind == "cell" else key
    if any(read_otherwise in code.co_names for code in ran.library):
        return None
    by, uses = now - value, [_Uses(*scope, kind, place, key, cls) for scope in ran.scopes.values()]
    if not all(use.understood for use in uses):
        return None
    sums = [(use, *added) for use in uses for added in use.sums]
    tests = []
    for use in uses:
        for at, test in use.tests:
            # After the only sum of a run a test sees the new value.
            after = len(sums) == 1 and sums[0][0] is use and sums[0][2] == by
            after = after and use.is_always_before(sums[0][1], at)
            tests.append((test, range(by, by + 1) if after else range(by + 1)))
    if tests and not 0 < by <= _MOST:
        return None
    return Counter(place, key, value, by, tests)


def _is_plain(cls: type | None, key: str) -> bool:
    """Whether objects keep an attribute in their dict, and writing it does no more."""
    module = getattr(sys.modules.get("rushlight.nn.modules.module"), "Module", object)
    plain = getattr(cls, "__setattr__", None) in (object.__setattr__, module.__setattr__)
    return plain and not hasattr(getattr(cls, key, None), "__set__")


class _Uses:
    """The sums and the comparisons of a number in code, by its name; a sum with what is added."""

    def __init__(
        self,
        code: types.CodeType,
        names: dict[str, Any],
        kind: str,
        place: Any,
        key: str,
        cls: type | None,
    ) -> None:
        self.code, self.names, self.kind, self.key, self.cls = code, names, kind, key, cls
        self.attributes = place if kind == "attributes" else {}
        self.own = kind != "globals" or names is place
        self.steps = [i for i in dis.get_instructions(code) if i.opname not in _SKIPPED]
        self.sums: list[tuple[int, Any]] = []
        self.tests: list[tuple[int, Test]] = []
        stored: set[int] = set()
        self.understood = True
        for at, step in enumerate(self.steps):
            if not self._is_named(step) or at in stored:
                continue
            store = self._added(at)
            test = self._compared(at) if store is None else None
            if store is not None:
                stored.add(store)
                more = self.steps[at + 1]
                self.sums.append((at, more.argval if more.opname in _CONSTANTS else None))
            elif test is not None:
                self.tests.append((at, test))
            else:
                self.understood = False

    def is_always_before(self, first: int, second: int) -> bool:
        """Whether the second instruction runs after the first alone."""
        at = self.steps[first].offset
        jumps = [i for i in self.steps if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs]
        over = any(min(i.offset, i.argval) <= at < max(i.offset, i.argval) for i in jumps)
        return first < second and not over and not getattr(self.code, "co_exceptiontable", b"-")

    def _is_named(self, step: dis.Instruction) -> bool:
        """Whether an instruction reads, writes or deletes what has the name of the number."""
        names = (self.key, "cell_contents") if self.kind == "cell" else (self.key,)
        if step.argval not in names or type(step.arg) is not int:
            return False
        if self.kind == "cell":
            return "DEREF" in step.opname or step.argval == "cell_contents"
        of_attribute = "ATTR" in step.opname or "METHOD" in step.opname
        if step.opcode not in dis.hasname or step.opname.startswith("IMPORT"):
            return False
        return of_attribute or (self.kind == "globals" and self.own)

    def _is_load(self, at: int) -> bool:
        step = self.steps[at]
        return step.opname == _LOADS[self.kind] and "NULL" not in step.argrepr

    def _added(self, at: int) -> int | None:
        """Where the number is written after something was added to it."""
        depth = 0
        for k in range(at + 1, len(self.steps) - 2 if self._is_load(at) else 0):
            step = self.steps[k]
            if self._is_named(step) or step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
                return None
            if step.opname == "BINARY_OP" and depth == 1:
                adds = step.argrepr in ("+=", "+", "-=", "-")
                return self._stored(k + 1, self.steps[at - 1]) if adds else None
            depth += dis.stack_effect(step.opcode, step.arg, jump=False)
            if depth < 0:
                return None
        return None

    def _stored(self, at: int, own: dis.Instruction) -> int | None:
        """Where, of the instruction after the sum; `own`: what gave the object."""
        first, second = self.steps[at], self.steps[at + 1]
        if self.kind != "attributes":
            wanted = _LOADS[self.kind].replace("LOAD", "STORE")
            return at if first.opname == wanted and first.argval == self.key else None
        if second.opname != "STORE_ATTR" or second.argval != self.key:
            return None
        copied = first.opname == "SWAP" and own.opname == "COPY" and own.arg == 1
        return at + 1 if copied or _is_same_local(own, first) else None

    def _compared(self, at: int) -> Test | None:
        """The comparison of the number."""
        test: Test = []
        k, own = at + 1, self.steps[at - 1]
        while self._is_load(at) and k + 1 < len(self.steps):
            name = self.steps[k].opname
            jumps = "JUMP" in name and "_IF_" in name and "OR_POP" not in name
            if test and (jumps or name == "UNARY_NOT"):
                return test
            other, k = self._constant(k, own)
            step = self.steps[k]
            sign = step.argrepr.removeprefix("bool(").removesuffix(")")
            known = step.opname in ("BINARY_OP", "COMPARE_OP") and sign in _OPERATORS
            if not known or type(other) not in (int, float, bool):
                return None
            test.append((_OPERATORS[sign], other))
            if sign in _COMPARES:
                return test
            k += 1
        return None

    def _constant(self, k: int, own: dis.Instruction) -> tuple[Any, int]:
        """The number that is read there, and the place of the next instruction."""
        step, following = self.steps[k], self.steps[k + 1]
        if step.opname in _CONSTANTS:
            return step.argval, k + 1
        if step.opname == "LOAD_GLOBAL" and "NULL" not in step.argrepr:
            return self.names.get(step.argval), k + 1
        if _is_same_local(own, step) and following.opname == "LOAD_ATTR":
            name, of_class = following.argval, getattr(self.cls, following.argval, None)
            plain = self.cls is not None and _is_plain(self.cls, name)
            return self.attributes.get(name, of_class) if plain else None, k + 2
        return None, k + 1


def _is_same_local(one: dis.Instruction, other: dis.Instruction) -> bool:
    return one.opname.startswith("LOAD_FAST") and one[:3] == other[:3]
