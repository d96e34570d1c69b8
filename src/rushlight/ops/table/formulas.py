"""Tracing: a pointwise lambda becomes a small program that a kernel runs in one pass over memory.

`trace(function, n_inputs)` calls the function on symbols; every op of the table that meets a symbol
lands in `_call`, which writes one instruction. Code that no program can hold (control flow on
values, an op that is not pointwise) raises `Untraceable`: then the function is run on tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _core
from ..._core import Op

__all__ = ["BOOLEAN", "Symbol", "Untraceable", "trace", "trace_partial"]

_MAX_REGISTERS = 32
BOOLEAN: set[str] = set()
"""The kernels whose result is boolean, as their statements say."""


class Untraceable(Exception):
    """A function is no straight-line pointwise program."""


class _Trace:
    def __init__(self) -> None:
        self.inputs: list[Symbol] = []
        self.constants: dict[tuple[type, Any], Symbol] = {}
        self.steps: list[tuple[str, Symbol, tuple[Symbol, ...]]] = []

    def constant(self, value: float) -> Symbol:
        key = (type(value), repr(value))
        if key not in self.constants:
            self.constants[key] = Symbol(self, constant=value)
        return self.constants[key]

    def emit(self, kernel: str, *args: Any) -> Symbol:
        symbols = tuple(self.lift(a) for a in args)
        if _core.kernel_arity(kernel) != len(symbols):
            raise Untraceable(f"no kernel '{kernel}' of {len(symbols)} arguments")
        out = Symbol(self, boolean=kernel in BOOLEAN)
        if kernel == "where":
            out.boolean = symbols[1].boolean and symbols[2].boolean
            kernel, symbols = self._selection(*symbols)
        if kernel == "mul":
            kernel, symbols = self._product(*symbols)
        self.steps.append((kernel, out, symbols))
        return out

    def _selection(self, condition: Symbol, *sides: Symbol) -> tuple[str, tuple[Symbol, ...]]:
        """`where`, which looks by itself where its condition is x > 0, and which also
        multiplies where it chooses between x > 0 and x times a number."""
        match self._made(condition):
            case ("gt", x, zero) if zero.constant == 0:
                match self._made(sides[1]):
                    case ("mul", y, factor) if x is y is sides[0]:
                        return "scaled_below", (x, factor)
                return "where_above", (x, *sides)
        return "where", (condition, *sides)

    def _product(self, a: Symbol, b: Symbol) -> tuple[str, tuple[Symbol, ...]]:
        """`mul`, which takes a square off by itself: the slope of tanh in one pass."""
        match self._made(b):
            case ("sub", x, square):
                match self._made(square):
                    case ("mul", y, z) if y is z:
                        return "mul_less_square", (a, x, y)
        return "mul", (a, b)

    def _made(self, symbol: Symbol) -> tuple[Any, ...] | None:
        """The instruction that makes a symbol."""
        return next(((k, *args) for k, out, args in self.steps if out is symbol), None)

    def lift(self, value: Symbol | float) -> Symbol:
        if isinstance(value, Symbol):
            return value
        if isinstance(value, (bool, int, float)):
            return self.constant(value)
        raise Untraceable(f"{type(value).__name__} in a pointwise program")


class Symbol:
    """Stands for one value of a program while it is traced."""

    __slots__ = ("boolean", "constant", "trace")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, trace: _Trace, *, constant: float | None = None, boolean: bool = False
    ) -> None:
        self.trace, self.constant, self.boolean = trace, constant, boolean

    def __bool__(self) -> bool:
        raise Untraceable("control flow on a value")

    def __getattr__(self, name: str) -> Any:
        # Methods of tensors: x.exp(), x.sign(), ...
        method: Any = getattr(_core.Tensor, name, None)
        if type(method) not in (_core.Op, _core.Public):
            raise Untraceable(f"attribute '{name}' of a value")
        return lambda *args: method(self, *args)

    def _binary(kernel: str) -> tuple[Any, Any]:  # type: ignore[misc]
        return (lambda a, b: a.trace.emit(kernel, a, b), lambda a, b: a.trace.emit(kernel, b, a))

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("sub")
    __mul__, __rmul__ = _binary("mul")
    __truediv__, __rtruediv__ = _binary("div")
    __mod__, __rmod__ = _binary("remainder")
    __eq__, _ = _binary("eq")
    __ne__, _ = _binary("ne")
    __lt__, _ = _binary("lt")
    __le__, _ = _binary("le")
    __gt__, _ = _binary("gt")
    __ge__, _ = _binary("ge")
    __and__, __rand__ = _binary("logical_and")
    __or__, __ror__ = _binary("logical_or")

    def __pow__(self, exponent: object) -> Symbol:
        if exponent == 2 and not isinstance(exponent, Symbol):
            return self.trace.emit("mul", self, self)
        return self.trace.emit("pow", self, exponent)

    def __rpow__(self, base: float) -> Symbol:
        return self.trace.emit("pow", base, self)

    def __neg__(self) -> Symbol:
        return self.trace.emit("neg", self)

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return self.trace.emit("abs", self)

    def __invert__(self) -> Symbol:
        return self.trace.emit("logical_not", self)


def _call(op: Op, slots: tuple[Symbol | float | None, ...]) -> Symbol:
    """The result of an op of symbols: one instruction, or the op's own program inlined."""
    entry = op.entry
    if entry.kind != "pointwise":
        if entry.name == "where":
            trace = next(s.trace for s in slots if isinstance(s, Symbol))
            return trace.emit("where", *slots)
        raise Untraceable(f"'{entry.name}' is no pointwise op")
    if entry.traced_forward is not None:
        forward = entry.traced_forward
        return forward(*slots[: forward.__code__.co_argcount])
    trace = next(s.trace for s in slots if isinstance(s, Symbol))
    if entry.kernel is None:
        raise Untraceable(f"'{entry.name}' has no kernel")
    return trace.emit(entry.kernel, *slots[: _core.kernel_arity(entry.kernel)])


def trace(function: Callable[..., Any], n_inputs: int) -> tuple[Any, ...]:
    """The program of `function(*inputs)` as (n_inputs, constants, code, result register)."""
    t = _Trace()
    t.inputs = [Symbol(t) for _ in range(n_inputs)]
    return _program(t, t.lift(function(*t.inputs)))


def trace_partial(partial: Callable[..., Any], n_inputs: int) -> tuple[Any, ...]:
    """The program of `g * partial(*inputs)`, g being input 0; a boolean partial selects g."""
    t = _Trace()
    t.inputs = [Symbol(t) for _ in range(n_inputs + 1)]
    g = t.inputs[0]
    value = partial(*t.inputs[1:])
    if isinstance(value, Symbol) and value.boolean:
        return _program(t, t.emit("where", value, g, 0))
    if not isinstance(value, Symbol) and value == 0:
        return _program(t, t.emit("where", False, g, 0))
    return _program(t, t.emit("mul", g, value))


def _program(t: _Trace, result: Symbol) -> tuple[Any, ...]:
    """Number the registers: inputs, constants, then temporaries, which are used again once dead."""
    steps: list[tuple[str, Symbol, tuple[Symbol, ...]]] = []
    needed = {id(result)}
    for step in reversed(t.steps):
        if id(step[1]) in needed:
            needed.update(id(s) for s in step[2])
            steps.insert(0, step)
    register: dict[int, int] = {id(s): i for i, s in enumerate(t.inputs)}
    constants = [s for s in t.constants.values() if id(s) in needed]
    for s in constants:
        register[id(s)] = len(register)
    last_use: dict[int, int] = {}
    for at, (_, _, args) in enumerate(steps):
        for s in args:
            last_use[id(s)] = at
    last_use[id(result)] = len(steps)
    fixed = len(register)
    free: list[int] = []
    top = fixed
    code = []
    for at, (kernel, out, args) in enumerate(steps):
        where = [register[id(s)] for s in args]
        for s in {id(s): s for s in args}.values():
            if last_use[id(s)] == at and register[id(s)] >= fixed:
                free.append(register[id(s)])
        if free:
            register[id(out)] = free.pop()
        else:
            register[id(out)] = top
            top += 1
        where += [where[0]] * (3 - len(where))
        code.append((kernel, register[id(out)], *where))
    if top > _MAX_REGISTERS:
        raise Untraceable("more values at once than a program has registers")
    if not code:
        raise Untraceable("a program without an instruction")
    return len(t.inputs), [s.constant for s in constants], code, register[id(result)]


_core.register(symbol=Symbol)
