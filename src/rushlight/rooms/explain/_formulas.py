"""The local gradient of each argument of each op, as a short formula that a person reads.

The formulas come from the op table. A rule is Python of one or a few lines: it is run here with
symbols in the place of tensors, and what comes out becomes the text (`_expressions.py`). The words
`formula=` and `written=` of a statement (ops/README.md) give the text where a rule is no formula,
and the text of a call inside another op's rule.

The formulas hold for real numbers: conjugates, conversions between element types, and the sums over
broadcast dimensions are left out. So are the cases in which a rule keeps NaN away from a single
point. A factor is about elements, and `·` is their product. In a text in terms of g, `·` is the
product of matrices or with a number, and `⊙` that of elements. `n` is how many elements are reduced
to one (of `max`: how many share the gradient). Where an op has several results, `g1`, `g2` are the
gradients of the second and third, and `gs` are all. A name behind a comma stands for what follows
it: `σ · (1 − σ), σ = sigmoid(input)`.
"""

from __future__ import annotations

import builtins
import functools
import math
import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import BuiltinFunctionType, CellType, FunctionType
from typing import Any

from .. import _core
from . import _expressions as ex
from ._expressions import Expression, Name
from ._rules import Rule, rule, stated

__all__ = ["Formula", "Rule", "local_gradient", "rule"]


@dataclass(frozen=True)
class Formula:
    """A local gradient: `text` is the factor that the incoming gradient is multiplied with, element
    by element; or, where `is_factor` is False, the gradient that is sent on, in terms of g.

    `reads` are the names of the op's values in it. The text is "" where none is known.

    >>> formula = torch.explain._formulas.local_gradient(torch.tanh, "input")
    >>> formula.text, formula.reads
    ('1 − out²', ('out',))
    >>> formula.named({"out": "h"})
    '1 − h²'
    """

    text: str
    is_factor: bool
    reads: tuple[str, ...]

    def named(self, names: Mapping[str, str]) -> str:
        """The text with other names for the op's values; what is no single name goes into
        parentheses where it needs them."""

        def put(found: re.Match[str]) -> str:
            name = names.get(found[0])
            if name is None or found[0] not in (*self.reads, "g"):
                return found[0]
            left, right = self.text[: found.start()], self.text[found.end() :]
            alone = left.endswith(("(", ", ", "|")) and right.startswith((")", ",", "|"))
            bare = _SINGLE.fullmatch(name) or (alone and "," not in name) or not (left or right)
            return name if bare else f"({name})"

        return _WORD.sub(put, self.text)


_NONE = Formula("", False, ())
# A name of the op's values: no function's, and no attribute.
_WORD = re.compile(r"(?<![\w.])[A-Za-z_][A-Za-z0-9_]*(?![A-Za-z0-9_]|\()")
_INCOMING = re.compile(r"\bg(s|\d)?\b", re.ASCII)
_SINGLE = re.compile(r"[\w.]+(\[[\w.,:]*\])*(\([^()]*\))?")


def local_gradient(op: _core.Op, argument: str, values: Mapping[str, Any] | None = None) -> Formula:
    """The local gradient of an op's argument. values: plain arguments of the call, by name, where
    the formula is to be of that call: `{"exponent": 4}`.

    >>> torch.explain._formulas.local_gradient(torch.div, "other").text
    '−input / other²'
    >>> torch.explain._formulas.local_gradient(torch.mm, "input").text
    'g · mat2ᵀ'
    """
    given = {k: v for k, v in (values or {}).items() if type(v) in (bool, int, float)}
    given = {k: v for k, v in given.items() if abs(v) < 2**63 or math.isinf(v)}
    return _formula(op, argument, tuple(sorted(given.items())))


@functools.lru_cache(maxsize=4096, typed=True)
def _formula(op: _core.Op, argument: str, values: tuple[tuple[str, object], ...]) -> Formula:
    entry = getattr(op, "entry", None)
    if entry is None:
        return _NONE
    said = entry.formula.get(argument)
    whole = _read(said, op, not _INCOMING.search(said)) if said else _NONE
    if said and not any(name in whole.reads for name, _ in values):
        return whole
    found = stated(op, argument)
    if found is None:
        return _NONE
    if not callable(found):
        return Formula(ex.written(ex.number(found)), True, ())
    derived = _derived(op, argument, found, dict(values))
    if not said or 0 < len(derived.text) <= _LONG:
        return derived
    numbers = {name: f"{value:g}".replace("-", "−") for name, value in values}
    return _read(whole.named(numbers), op, whole.is_factor)


def _read(text: str, op: _core.Op, is_factor: bool) -> Formula:
    """The formula of a text that a statement gives."""
    return Formula(text, is_factor, _reads(text, _values(op)))


def _values(op: _core.Op) -> set[str]:
    """The names of the values that a rule may read, but g."""
    return {*op.entry.function.params, "out", "out1", "out2"}


def _reads(text: str, values: set[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in _WORD.findall(text) if word in values))


_LONG, _LONGEST = 60, 150
"""A formula with more letters has names for its parts; with still more, nobody reads the text."""


def _derived(op: _core.Op, argument: str, function: Any, values: dict[str, object]) -> Formula:
    """The formula of a rule. A long formula has names for its parts."""
    try:
        whole = _result(op, argument, function, values)
    except Exception:  # a rule may be any Python
        return _derived(op, argument, function, {}) if values else _NONE
    is_factor = True
    if function.__code__.co_varnames[:1] in (("g",), ("gs",)):
        try:
            whole = ex.factor_of(whole, _G)
            is_factor = _G.text not in ex.names_in(whole)
        except ex.Unfactored:
            is_factor = False
    short = _told(op, whole, is_factor, {})
    if len(short.text) <= _LONG:
        return short
    named = _told(op, *_with_names(whole, is_factor))
    best = min(short, named, key=lambda formula: len(formula.text))
    return best if len(best.text) <= _LONGEST else _NONE


def _result(
    op: _core.Op, argument: str, function: FunctionType, values: dict[str, object]
) -> Expression:
    """The result of a rule for an argument, as an expression."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    result = _run(function, [_value_of(op, name, values) for name in names], {})
    if isinstance(result, tuple):
        result = result[_position(op, argument)]
    whole = _expression(result)
    if _UNKNOWN.text in ex.names_in(whole):
        raise _Unreadable(argument)
    return ex.choice(whole, ex.ONE, ex.ZERO) if ex.is_truth(whole) else whole


def _told(
    op: _core.Op, whole: Expression, is_factor: bool, parts: dict[str, Expression]
) -> Formula:
    """An expression as a formula, with names for some parts."""
    dot = "·" if is_factor else "⊙"
    text = ex.written(whole, dot)
    used = ex.names_in(whole)
    for name, of in parts.items():
        text += f", {name} = {ex.written(of, dot)}"
        used |= ex.names_in(of)
    # "input" of "input.shape" and "dims" of "dims⁻¹".
    reads = {re.split(r"[^A-Za-z0-9_]", name)[0] for name in used}
    return Formula(text, is_factor, _reads(text, reads & _values(op)))


def _with_names(
    whole: Expression, is_factor: bool
) -> tuple[Expression, bool, dict[str, Expression]]:
    """An expression with names for the calls in it that come more than once, the largest first."""
    parts: dict[str, Expression] = {}
    free = ["σ", "τ"]
    while free:
        counts: dict[ex.Call, int] = {}
        waiting: list[Expression] = [whole]
        for of in waiting:
            waiting += ex.parts_of(of)
            if isinstance(of, ex.Call):
                counts[of] = counts.get(of, 0) + 1
        again = [of for of, count in counts.items() if count > 1]
        if not again:
            break
        part = max(again, key=lambda of: len(ex.written(of)))
        name = free.pop(-1 if part.function == "tanh" else 0)
        parts[name] = part
        whole = ex.put(whole, part, Name(name))
    return whole, is_factor, parts


def _position(op: _core.Op, argument: str) -> int:
    """The number of the argument's gradient among those that a rule gives."""
    entry = op.entry
    for targets in entry.targets:
        names = [entry.function.params[i] for i in targets]
        if argument in names:
            return names.index(argument)
    raise _Unreadable(argument)


# ---- values

_G = Name("g")
_N = Name("n", scalar=True)


class _Unreadable(Exception):
    """A rule, or a part of it, is no formula."""


_UNKNOWN = Name("?")
"""The result of a part of a rule that is no formula, which the rule may not need."""


class _RealType:
    """The element type of every tensor in a formula."""

    is_complex, is_floating_point, name, itemsize = False, True, "float64", 8


_REAL_TYPE = _RealType()
_NUMBER_TYPES = frozenset({"Number", "int", "float", "bool"})


def _value_of(op: _core.Op, name: str, values: dict[str, object]) -> object:
    """The value that a parameter of a rule stands for."""
    if name in values:
        return values[name]
    if name == "gs":
        return (_Symbol(_G),) + (None,) * 8
    if re.fullmatch(r"g\d", name):
        return None  # of several results, only the first is looked at
    if name == "needs":
        return (1,) * 16
    if name in op.entry.function.params or name == "out" or re.fullmatch(r"out\d", name):
        return _Symbol(Name(name, scalar=_is_number(op, name)))
    if name == "g":
        return _Symbol(_G)
    if name.endswith("_dtype"):
        return _REAL_TYPE
    return _Symbol(Name(f"{name.removesuffix('_shape')}.shape"))


def _is_number(op: _core.Op, name: str) -> bool:
    found = re.search(rf"\b{name}: ([\w | ]+)", op.entry.signature)
    return found is not None and {w.strip() for w in found[1].split("|")} <= _NUMBER_TYPES


_EXPRESSIONS = (Name, ex.Product, ex.Call)


def _expression(value: object) -> Expression:
    if value is None:  # no gradient
        return ex.ZERO
    if isinstance(value, _Symbol):
        return value.of
    if isinstance(value, _EXPRESSIONS):
        return value
    if isinstance(value, (int, float)):
        return ex.number(value)
    raise _Unreadable(f"{type(value).__name__} in a formula")


# ---- what the ops of a rule are in a formula


def _same(x: object, *_: object) -> Expression:
    return _expression(x)


def _product(a: Expression, b: Expression) -> Expression:
    """A column times a row is a product of matrices. A factor that is a truth makes a choice."""
    if ex.is_truth(a) or ex.is_truth(b):
        return ex.choice(a, b, ex.ZERO) if ex.is_truth(a) else ex.choice(b, a, ex.ZERO)
    for column, row in ((a, b), (b, a)):
        match column:
            case ex.Call("unsqueeze", (Name() as vector, last)) if last == ex.number(-1):
                if isinstance(row, Name) and not row.scalar:
                    return ex.matrix_product(vector, ex.transposed(row))
    return ex.times(a, b)


def _elements(make: Callable[..., Expression]) -> Callable[..., Expression]:
    return lambda *parts: make(*map(_expression, parts))


_OPS: dict[str, Callable[..., Expression]] = {
    **dict.fromkeys("conj resolve_conj to _kept finite".split(), _same),
    "pow": _elements(ex.power),
    "rsqrt": _elements(lambda a: ex.power(a, ex.number(-0.5))),
    "reciprocal": _elements(lambda a: ex.over(ex.ONE, a)),
    "unless": lambda _, value, instead: _expression(value),
    "where": lambda c, a, b: ex.choice(_truth(c), _expression(a), _expression(b)),
    "zeros_like": lambda *_: ex.ZERO,
    "matmul": _elements(ex.matrix_product),
    "t": _elements(ex.transposed),
    "_div_floor": _elements(lambda a, b: ex.call("floor", ex.over(a, b))),
    "_div_trunc": _elements(lambda a, b: ex.call("trunc", ex.over(a, b))),
    "softplus": _elements(lambda x, *_: ex.call("log1p", ex.call("exp", x))),
    "_one_less": _elements(lambda n: ex.call("abs", ex.plus(n, ex.minus(ex.ONE)))),
    "_erfcx_slope": lambda x, n: _of_erfcx(_expression(x), n),
    "xlogy": _elements(lambda a, b: _product(a, ex.call("log", b))),
    "xlog1py": _elements(lambda a, b: _product(a, ex.call("log1p", b))),
    "_sinc_slope": _elements(lambda x: _of_sinc(x, _product(ex.PI, x))),
    "_embedding_again": _elements(lambda x, at, *_: ex.call("{}[{}]", x, at)),
}


def _of_sinc(x: Expression, angle: Expression) -> Expression:
    apart = ex.plus(ex.call("cos", angle), ex.minus(ex.over(ex.call("sin", angle), angle)))
    return ex.over(apart, x)


def _of_erfcx(x: Expression, order: object) -> Expression:
    if order != 1:
        return ex.call("erfcx_derivative", _expression(order), x)
    two = ex.number(2)
    steep = _product(two, _product(x, ex.call("erfcx", x)))
    return ex.plus(steep, ex.minus(ex.over(two, ex.power(ex.PI, ex.number(0.5)))))


def _as_written(op: _core.Op, arguments: list[object]) -> Expression:
    """A call as the op's statement writes it."""
    words = op.entry.written
    given = dict(zip(op.entry.function.params, arguments, strict=False))
    parts = [_expression(given[name]) for name in re.findall(r"{(\w+)}", words)]
    if words == "0":
        return ex.ZERO
    return parts[0] if words == "{input}" else ex.call(re.sub(r"{\w+}", "{}", words), *parts)


def _truth(condition: object) -> Expression:
    """A value as a condition: of numbers, what is not 0 holds."""
    found = _expression(condition)
    if ex.is_truth(found) or isinstance(found, Name) or found in (ex.ZERO, ex.ONE):
        return found
    return ex.comparison("≠", found, ex.ZERO)


def _called_op(op: _core.Op, arguments: list[object]) -> object:
    """The result of an op: as its statement writes a call, by `_OPS`, by its own composed forward,
    or as a function of its name."""
    if op.entry.written:
        return _as_written(op, arguments)
    name = op.entry.name
    if name in _OPS:
        return _OPS[name](*arguments)
    forward = op.entry.traced_forward
    if name.startswith("_") and forward is not None:
        return forward(*arguments)
    if name.startswith("_") and name.endswith("_transpose"):
        return ex.call(name.strip("_").removesuffix("_transpose") + "ᵀ", _expression(arguments[0]))
    shown = [_expression(a) for a in arguments if a is not None and not isinstance(a, str)]
    return ex.call(name.lstrip("_"), *shown)


# ---- running a rule


class _Undecided(Exception):
    """A rule goes one way where a condition holds, and another way elsewhere."""

    def __init__(self, condition: Expression) -> None:
        self.condition = condition


_decided: ContextVar[dict[Expression, bool]] = ContextVar("decided")
"""The conditions of which it is settled, while a rule runs, whether they hold."""


def _run(
    function: Callable[..., Any], values: list[object], decided: dict[Expression, bool]
) -> Any:
    """The result of a function; a choice, where it goes two ways."""
    before = _decided.set(decided)
    try:
        return _stand_in(function)(*values)
    except _Undecided as found:
        condition = found.condition
    finally:
        _decided.reset(before)
    ways = (_run(function, values, {**decided, condition: holds}) for holds in (True, False))
    return _either(condition, *ways)


def _either(condition: Expression, yes: Any, no: Any) -> Any:
    if isinstance(yes, tuple):
        return tuple(_either(condition, *parts) for parts in zip(yes, no, strict=True))
    return ex.choice(condition, _expression(yes), _expression(no))


def _stand_in(of: Any) -> Any:
    """The stand-in, in a rule, for a function or an op: of an op, and of a name in `_OPS`, a maker
    of expressions; of another function, the same code with stand-ins for its own calls."""
    name = getattr(of, "__name__", "")
    if isinstance(of, _core.Public):
        of = of.__wrapped__
    if isinstance(of, _core.Op):
        return lambda *args, **named: _symbol(_called_op, of, [*args, *named.values()])
    if isinstance(of, BuiltinFunctionType):
        return lambda *args, **named: _symbol(of, *args, **named)
    if of is tuple:
        return lambda of: of
    if not isinstance(of, FunctionType):
        return of
    if name in _OPS:
        return lambda *args, **_: _symbol(_OPS[name], *args)
    if hasattr(of, "entry"):
        return lambda *args, **_: _symbol(_called_op, of, list(args))

    def called(*args: object, **named: object) -> object:
        code, known = of.__code__, {**vars(builtins), **of.__globals__}
        names = {name: _stand_in(known[name]) for name in code.co_names if name in known}
        cells = tuple(CellType(_stand_in(cell.cell_contents)) for cell in of.__closure__ or ())
        twin = FunctionType(code, {**of.__globals__, **names}, name, of.__defaults__, cells)
        twin.__kwdefaults__ = of.__kwdefaults__
        return _symbol(twin, *args, **named)

    return called


class _Symbol:
    """A tensor or a number while a rule runs: all that the rule does with symbols becomes an
    expression. To `isinstance` a symbol is a tensor, and ops hand symbols on."""

    def __init__(self, of: Expression) -> None:
        self.of = of

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return _core.Tensor

    @classmethod
    def __torch_function__(
        cls, op: Any, types: object, args: Any = (), kwargs: dict[str, object] | None = None
    ) -> object:
        return _stand_in(op)(*args, **(kwargs or {}))

    __iter__ = None  # `__getitem__` alone would give places without end

    def __bool__(self) -> bool:
        condition = _truth(self)
        if condition in (ex.ZERO, ex.ONE):
            return condition == ex.ONE
        decided = _decided.get()
        if condition not in decided:
            raise _Undecided(condition)
        return decided[condition]

    def __getitem__(self, at: object) -> object:
        if isinstance(self.of, Name) and self.of.text.endswith(".shape"):
            if isinstance(at, slice):
                at = ":".join("" if end is None else str(end) for end in (at.start, at.stop))
            return _Symbol(Name(f"{self.of.text}[{at}]", scalar=True))
        raise _Unreadable("an index")

    def __getattr__(self, name: str) -> object:
        if name in ("mH", "mT", "H", "T"):
            return _Symbol(ex.transposed(self.of))
        if name == "dtype":
            return _REAL_TYPE
        if name == "real":
            return self
        if name in ("shape", "ndim"):
            if isinstance(self.of, Name):
                return _Symbol(Name(f"{self.of.text}.{name}", scalar=True))
            return _Symbol(_UNKNOWN)
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **named: _symbol(_called_method, name, self.of, args, named)


def _symbol(made: Callable[..., object], *args: object, **named: object) -> object:
    """The result of a call in a rule: a symbol for an expression, and for an unknown value."""
    try:
        found = made(*args, **named)
    except _Undecided:
        raise
    except Exception:  # a rule may be any Python
        return _Symbol(_UNKNOWN)
    return _Symbol(found) if isinstance(found, _EXPRESSIONS) else found


def _operators() -> None:
    """Give symbols the operators of Python."""

    def operator(make: Callable[..., Expression], turned: bool) -> Callable[..., object]:
        def of(*values: object) -> object:
            parts = [_expression(v) for v in (values[::-1] if turned else values)]
            return _Symbol(make(*parts))

        return of

    two: dict[str, Callable[..., Expression]] = {
        "add": ex.plus,
        "sub": lambda a, b: ex.plus(a, ex.minus(b)),
        "mul": _product,
        "truediv": ex.over,
        "pow": ex.power,
        "matmul": ex.matrix_product,
        "and": ex.both,
        "or": ex.either,
    }
    for name, make in two.items():
        setattr(_Symbol, f"__{name}__", operator(make, False))
        setattr(_Symbol, f"__r{name}__", operator(make, True))
    one: dict[str, Callable[..., Expression]] = {
        "neg": ex.minus,
        "pos": _same,
        "invert": ex.opposite,
    }
    signs = {"eq": "==", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}
    for name, sign in signs.items():
        one[name] = functools.partial(ex.comparison, sign)
    for name, make in one.items():
        setattr(_Symbol, f"__{name}__", operator(make, False))


_operators()


def _called_method(
    name: str, of: Expression, args: tuple[object, ...], named: dict[str, object]
) -> object:
    if name in _OPS:
        return _OPS[name](of, *args)
    op = getattr(getattr(_core.Tensor, name, None), "entry", None)
    if op is not None and op.written:
        return _as_written(op.function, [of, *args])
    if name == "numel" or (name == "sum" and ex.is_truth(of)):
        return _N
    # `keepdim` is about the shape alone.
    shown = [*args, *(value for key, value in named.items() if key != "keepdim")]
    return ex.call(name, of, *map(_expression, shown))
