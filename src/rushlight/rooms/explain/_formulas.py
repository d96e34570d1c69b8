"""The local gradient of each argument of each op, as a short formula that a person reads.

The formulas come from the op table. A rule is Python of one or a few lines: the source of the rule
is run here with the op's values as names in the place of tensors, and the result becomes the text
(`_expressions.py`). The words `formula=` and `written=` of a statement (ops/README.md) give the
text where a rule is no formula, and the text of a call inside another op's rule.

The formulas hold for real numbers: conjugates, conversions between element types, and the sums over
broadcast dimensions are left out. So are the cases in which a rule keeps NaN away from a single
point. A factor is about elements, and `·` is their product. In a text in terms of g, `·` is the
product of matrices or with a number, and `⊙` that of elements. `n` is how many elements are reduced
to one (of `max`: how many share the gradient). Where an op has several results, `g1`, `g2` are the
gradients of the second and third, and `gs` are all. A name behind a comma stands for what follows
it: `σ · (1 − σ), σ = sigmoid(input)`.
"""

from __future__ import annotations

import ast
import builtins
import functools
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, TypeGuard

from .. import _core
from . import _expressions as ex
from ._expressions import Expression, Name
from ._rules import Rule, node_of, rule, stated

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


_LONG = 60


def _derived(op: _core.Op, argument: str, function: Any, values: dict[str, object]) -> Formula:
    """The formula of a rule. A long formula has names for its parts."""
    try:
        short = _told(op, argument, function, values, None)
        if len(short.text) <= _LONG:
            return short
        named = _told(op, argument, function, values, {})
    except _NO_FORMULA:
        return _derived(op, argument, function, {}) if values else _NONE
    return named if len(named.text) < len(short.text) else short


def _told(
    op: _core.Op,
    argument: str,
    function: FunctionType,
    values: dict[str, object],
    parts: dict[str, Expression] | None,
) -> Formula:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    result = _Reading(parts).called(function, [_value_of(op, name, values) for name in names], {})
    if isinstance(result, tuple):
        result = result[_position(op, argument)]
    whole = ex.ZERO if result is None else _expression(result)
    if ex.is_truth(whole):
        whole = ex.choice(whole, ex.ONE, ex.ZERO)
    is_factor = True
    if names[:1] in (("g",), ("gs",)):
        try:
            whole = ex.factor_of(whole, _G)
            is_factor = _G.text not in ex.names_in(whole)
        except ex.Unfactored:
            is_factor = False
    dot = "·" if is_factor else "⊙"
    text = ex.written(whole, dot)
    used = ex.names_in(whole)
    for name, of in reversed((parts or {}).items()):
        if name in used:
            text += f", {name} = {ex.written(of, dot)}"
            used |= ex.names_in(of)
    # "input" of "input.shape" and "dims" of "dims⁻¹".
    reads = {re.split(r"[^A-Za-z0-9_]", name)[0] for name in used}
    return Formula(text, is_factor, _reads(text, reads & _values(op)))


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


@dataclass(frozen=True)
class _Unknown:
    """The result of a part of a rule that is no formula, which the rule may not need."""

    why: str


# Errors while a rule is read, which may be any Python.
_NO_FORMULA = (
    _Unreadable,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


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
        return (_G,) + (None,) * 8
    if re.fullmatch(r"g\d", name):
        return None  # of several results, only the first is looked at
    if name == "needs":
        return (1,) * 16
    if name in op.entry.function.params or name == "out" or re.fullmatch(r"out\d", name):
        return Name(name, scalar=_is_number(op, name))
    if name == "g":
        return _G
    if name.endswith("_dtype"):
        return _REAL_TYPE
    return Name(f"{name.removesuffix('_shape')}.shape")


def _is_number(op: _core.Op, name: str) -> bool:
    found = re.search(rf"\b{name}: ([\w | ]+)", op.entry.signature)
    return found is not None and {w.strip() for w in found[1].split("|")} <= _NUMBER_TYPES


def _expression(value: object) -> Expression:
    if _is_symbolic(value):
        return value
    if isinstance(value, bool):
        return ex.ONE if value else ex.ZERO
    if isinstance(value, (int, float)):
        return ex.number(value)
    raise _Unreadable(f"{type(value).__name__} in a formula")


_EXPRESSIONS: tuple[type, ...] = ex.Expression.__args__


def _known(value: object) -> object:
    if isinstance(value, _Unknown):
        raise _Unreadable(value.why)
    return value


def _is_symbolic(value: object) -> TypeGuard[Expression]:
    return isinstance(value, _EXPRESSIONS)


@dataclass(frozen=True)
class _Method:
    """A method of a tensor, before it is called."""

    name: str
    of: Expression


# ---- what the ops of a rule are in a formula


def _same(x: Expression, *_: object) -> Expression:
    return x


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
    "t": ex.transposed,
    "_div_floor": _elements(lambda a, b: ex.call("floor", ex.over(a, b))),
    "_div_trunc": _elements(lambda a, b: ex.call("trunc", ex.over(a, b))),
    "softplus": _elements(lambda x, *_: ex.call("log1p", ex.call("exp", x))),
    "_one_less": _elements(lambda n: ex.call("abs", ex.plus(n, ex.minus(ex.ONE)))),
    "_erfcx_slope": lambda x, n: _of_erfcx(_expression(x), n),
    "xlogy": _elements(lambda a, b: _product(a, ex.call("log", b))),
    "xlog1py": _elements(lambda a, b: _product(a, ex.call("log1p", b))),
    "_sinc_slope": _elements(lambda x: _of_sinc(x, _product(ex._PI, x))),
    "_embedding_again": lambda x, at, *_: ex.call("{}[{}]", x, _expression(at)),
}


def _of_sinc(x: Expression, angle: Expression) -> Expression:
    apart = ex.plus(ex.call("cos", angle), ex.minus(ex.over(ex.call("sin", angle), angle)))
    return ex.over(apart, x)


def _of_erfcx(x: Expression, order: object) -> Expression:
    if order != 1:
        return ex.call("erfcx_derivative", _expression(order), x)
    two = ex.number(2)
    steep = _product(two, _product(x, ex.call("erfcx", x)))
    return ex.plus(steep, ex.minus(ex.over(two, ex.power(ex._PI, ex.number(0.5)))))


def _as_written(op: _core.Op, arguments: list[object]) -> Expression:
    """A call as the op's statement writes it."""
    words = op.entry.written
    given = dict(zip(op.entry.function.params, arguments, strict=False))
    parts = [_expression(given[name]) for name in re.findall(r"{(\w+)}", words)]
    if words == "0":
        return ex.ZERO
    return parts[0] if words == "{input}" else ex.call(re.sub(r"{\w+}", "{}", words), *parts)


_BINARY: dict[type[ast.operator], tuple[object, Callable[..., Expression]]] = {
    ast.Add: (operator.add, ex.plus),
    ast.Sub: (operator.sub, lambda a, b: ex.plus(a, ex.minus(b))),
    ast.Mult: (operator.mul, _product),
    ast.Div: (operator.truediv, ex.over),
    ast.Pow: (operator.pow, ex.power),
    ast.MatMult: (operator.matmul, ex.matrix_product),
    ast.BitAnd: (operator.and_, ex.both),
    ast.BitOr: (operator.or_, ex.either),
}
_UNARY: dict[type[ast.unaryop], tuple[object, Callable[..., Expression]]] = {
    ast.USub: (operator.neg, ex.minus),
    ast.UAdd: (operator.pos, _same),
    ast.Invert: (operator.invert, ex.opposite),
    ast.Not: (operator.not_, ex.opposite),
}
_COMPARE: dict[type[ast.cmpop], tuple[Any, str]] = {
    ast.Eq: (operator.eq, "=="),
    ast.NotEq: (operator.ne, "≠"),
    ast.Lt: (operator.lt, "<"),
    ast.LtE: (operator.le, "≤"),
    ast.Gt: (operator.gt, ">"),
    ast.GtE: (operator.ge, "≥"),
}


def _truth(condition: object) -> Expression:
    """A value as a condition: of numbers, what is not 0 holds."""
    found = _expression(condition)
    if ex.is_truth(found) or isinstance(found, Name) or found in (ex.ZERO, ex.ONE):
        return found
    return ex.comparison("≠", found, ex.ZERO)


def _called_op(op: _core.Op, arguments: list[object]) -> Expression:
    """The result of an op: as its statement writes a call, by `_OPS`, by its own composed forward,
    or as a function of its name."""
    if op.entry.written:
        return _as_written(op, arguments)
    name = op.entry.name
    if name in _OPS:
        return _OPS[name](*arguments)
    forward = op.entry.traced_forward
    if name.startswith("_") and forward is not None:
        return _Reading(None).called(forward, arguments, {})
    if name.startswith("_") and name.endswith("_transpose"):
        return ex.call(name.strip("_").removesuffix("_transpose") + "ᵀ", _expression(arguments[0]))
    shown = [_expression(a) for a in arguments if a is not None and not isinstance(a, str)]
    return ex.call(name.lstrip("_"), *shown)


# ---- reading a rule

_SYMBOLS = {"s": "σ", "t": "τ"}  # what a local variable of a rule is in a formula
_MAX_DEPTH = 12


class _Reading:
    """Runs the source of a rule with names for tensors. parts: takes what local variables stand
    for, where they are to keep their names."""

    def __init__(self, parts: dict[str, Expression] | None) -> None:
        self.parts = parts
        self.depth = 0

    def called(self, function: FunctionType, args: list[object], named: dict[str, object]) -> Any:
        """The result of a function."""
        node = node_of(function)
        if node is None or self.depth == _MAX_DEPTH:
            raise _Unreadable(function.__name__)
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        scope = _Scope(function, {})
        variable = node.args.vararg
        if variable is not None:
            scope.local[variable.arg] = tuple(args[len(names) :])
        elif len(args) > len(names):
            raise _Unreadable(function.__name__)
        defaults = function.__defaults__ or ()
        scope.local |= dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        scope.local |= dict(zip(names, args, strict=False)) | (function.__kwdefaults__ or {})
        scope.local |= named
        self.depth += 1
        try:
            if isinstance(node, ast.Lambda):
                return self.value(node.body, scope)
            return self.run(node.body, scope)
        finally:
            self.depth -= 1

    # statements

    def run(self, body: list[ast.stmt], scope: _Scope) -> object:
        for at, statement in enumerate(body):
            match statement:
                case ast.Return(value=ast.expr() as value):
                    return self.value(value, scope)
                case ast.Assign(targets=[target], value=value):
                    self.assign(target, self.perhaps(value, scope), scope)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self.assign(target, self.perhaps(value, scope), scope)
                case ast.If():
                    test = _known(self.value(statement.test, scope))
                    rest = body[at + 1 :]
                    if not _is_symbolic(test):
                        return self.run(
                            [*(statement.body if test else statement.orelse), *rest], scope
                        )
                    yes = self.run([*statement.body, *rest], scope.copy())
                    no = self.run([*statement.orelse, *rest], scope.copy())
                    return ex.choice(_truth(test), _expression(yes), _expression(no))
                case ast.Expr(value=ast.Constant()) | ast.Assert():
                    pass
                case _:
                    raise _Unreadable(type(statement).__name__)
        raise _Unreadable("a function without a value")

    def assign(self, target: ast.expr, value: object, scope: _Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope.local[name] = self.part(name, value)
            case ast.Tuple(elts=targets) if isinstance(value, tuple):
                for one, part in zip(targets, value, strict=False):
                    self.assign(one, part, scope)
            case _:
                raise _Unreadable("an assignment to no name")

    def part(self, name: str, value: object) -> object:
        """A name for a value, where parts have names."""
        if self.parts is None or not isinstance(value, (ex.Call, ex.Choice)):
            return value
        shown = _SYMBOLS.get(name)
        if shown is None or shown in self.parts:
            return value
        self.parts[shown] = value
        return Name(shown)

    # expressions

    def perhaps(self, node: ast.expr, scope: _Scope) -> object:
        try:
            return self.value(node, scope)
        except _Unreadable as error:
            return _Unknown(str(error))

    def value(self, node: ast.expr, scope: _Scope) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return scope.find(name)
            case ast.Attribute(value=of, attr=name):
                return _attribute(self.value(of, scope), name)
            case ast.BinOp():
                sides = self.value(node.left, scope), self.value(node.right, scope)
                return _applied(_BINARY.get(type(node.op)), *sides)
            case ast.UnaryOp():
                return _applied(_UNARY[type(node.op)], self.value(node.operand, scope))
            case ast.Compare(left=left, ops=[how], comparators=[right]):
                return _comparison(how, self.value(left, scope), self.value(right, scope))
            case ast.BoolOp():
                return self.logic(node, scope)
            case ast.IfExp():
                test = _known(self.value(node.test, scope))
                if not _is_symbolic(test):
                    return self.value(node.body if test else node.orelse, scope)
                yes, no = (_expression(self.value(n, scope)) for n in (node.body, node.orelse))
                return ex.choice(_truth(test), yes, no)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part, scope) for part in parts)
            case ast.Subscript():
                of, at = self.value(node.value, scope), self.value(node.slice, scope)
                if isinstance(of, tuple) and isinstance(at, int):
                    return of[at]
                if isinstance(of, Name) and of.text.endswith(".shape"):
                    return of if isinstance(at, _Unknown) else Name(f"{of.text}[{at}]", scalar=True)
            case ast.Call():
                return self.call(node, scope)
        raise _Unreadable(type(node).__name__)

    def logic(self, node: ast.BoolOp, scope: _Scope) -> object:
        is_and = isinstance(node.op, ast.And)
        found: list[Expression] = []
        for part in node.values:
            value = _known(self.value(part, scope))
            if _is_symbolic(value):
                found.append(_truth(value))
            elif bool(value) is not is_and:
                return value
        return (ex.both if is_and else ex.either)(*found) if found else is_and

    def call(self, node: ast.Call, scope: _Scope) -> object:
        function = self.value(node.func, scope)
        args: list[object] = []
        for part in node.args:
            if isinstance(part, ast.Starred):
                args += self.value(part.value, scope)
            else:
                args.append(self.perhaps(part, scope))
        named = {k.arg: self.perhaps(k.value, scope) for k in node.keywords if k.arg is not None}
        if function is isinstance:
            return _is_instance(*args)
        if function in (tuple, builtins.float) and len(args) == 1:
            return args[0]
        if isinstance(function, _Method):
            return _called_method(function, args, named)
        if isinstance(function, _core.Op):
            return _called_op(function, [*args, *named.values()])
        if isinstance(function, _core.Public):
            function = function.__wrapped__
        if isinstance(function, FunctionType):
            name = function.__name__
            if name in _OPS:
                return _OPS[name](*args)
            entry = getattr(function, "entry", None)
            if entry is not None:
                shown = [_expression(a) for a in args if a is not None]
                return ex.call(entry.name.lstrip("_"), *shown)
            return self.called(function, args, named)
        numbers = all(isinstance(a, (int, float)) for a in args)
        if numbers and getattr(function, "__module__", "") == "math":
            return function(*args)
        raise _Unreadable(f"a call of {function!r}")


@dataclass
class _Scope:
    function: FunctionType
    local: dict[str, object]

    def copy(self) -> _Scope:
        return _Scope(self.function, dict(self.local))

    def find(self, name: str) -> object:
        if name in self.local:
            return self.local[name]
        free = self.function.__code__.co_freevars
        if name in free and self.function.__closure__ is not None:
            return self.function.__closure__[free.index(name)].cell_contents
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return getattr(builtins, name)


def _attribute(of: object, name: str) -> object:
    if not _is_symbolic(of):
        if isinstance(of, (ModuleType, _RealType, FunctionType, _core.Op)):
            return getattr(of, name)
        raise _Unreadable(f"attribute {name}")
    if name in ("mH", "mT", "H", "T"):
        return ex.transposed(of)
    if name == "dtype":
        return _REAL_TYPE
    if name == "real":
        return of
    if name in ("shape", "ndim"):
        if isinstance(of, Name):
            return Name(f"{of.text}.{name}", scalar=True)
        raise _Unreadable(name)
    return _Method(name, of)


def _called_method(method: _Method, args: list[object], named: dict[str, object]) -> Expression:
    if method.name in _OPS:
        return _OPS[method.name](method.of, *args)
    op = getattr(getattr(_core.Tensor, method.name, None), "entry", None)
    if op is not None and op.written:
        return _as_written(op.function, [method.of, *args])
    if method.name == "numel" or (method.name == "sum" and ex.is_truth(method.of)):
        return _N
    shown = [_expression(a) for a in args]
    # `keepdim` is about the shape alone.
    shown += [_expression(v) for k, v in named.items() if k != "keepdim"]
    return ex.call(method.name, method.of, *shown)


def _applied(how: tuple[Any, Callable[..., Expression]] | None, *values: object) -> object:
    if how is None:
        raise _Unreadable("an operator")
    plain, made = how
    if any(map(_is_symbolic, values)):
        return made(*map(_expression, values))
    if not all(isinstance(v, (int, float)) for v in values):
        raise _Unreadable("an operator on no number")
    return plain(*values)


def _comparison(how: ast.cmpop, left: object, right: Any) -> object:
    symbolic = _is_symbolic(left) or _is_symbolic(right)
    if isinstance(how, (ast.Is, ast.IsNot)):
        # An argument that may be left out is there.
        return (left is right and not symbolic) is isinstance(how, ast.Is)
    if isinstance(how, ast.In) and not symbolic:
        return left in right
    found = _COMPARE.get(type(how))
    if found is None:
        raise _Unreadable("a comparison")
    if not symbolic:
        return found[0](_known(left), _known(right))
    return ex.comparison(found[1], _expression(left), _expression(right))


def _is_instance(of: object, kinds: object) -> bool:
    every = kinds if isinstance(kinds, tuple) else (kinds,)
    if not _is_symbolic(of):
        return isinstance(of, tuple(k for k in every if isinstance(k, type)))
    return _core.Tensor in every
