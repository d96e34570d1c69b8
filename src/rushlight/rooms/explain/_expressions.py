"""Expressions of the derivative rules, and how they are written for a person.

`plus`, `times`, `power` and the other makers put an expression together and do the little algebra
that makes formulas plainer: x·x is x², 1·x is x, a quotient has one bar. `written` gives the text,
with as few parentheses as possible. Everything holds for real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

__all__ = [
    "ONE",
    "PI",
    "ZERO",
    "Call",
    "Expression",
    "Name",
    "Product",
    "Unfactored",
    "both",
    "call",
    "choice",
    "comparison",
    "either",
    "factor_of",
    "is_truth",
    "matrix_product",
    "minus",
    "names_in",
    "number",
    "opposite",
    "over",
    "parts_of",
    "plus",
    "power",
    "put",
    "times",
    "transposed",
    "written",
]


@dataclass(frozen=True)
class Name:
    """A value of the op: an argument, the result, the incoming gradient. scalar: a number."""

    text: str
    scalar: bool = False


@dataclass(frozen=True)
class Product:
    """A number times factors, each with a whole exponent; a negative one stands below the bar."""

    number: Fraction
    factors: tuple[tuple[Expression, int], ...]


@dataclass(frozen=True)
class Call:
    """A function of expressions, f(a, b); where its text has {}, an expression stands at each.

    Signs are functions too: "+"; "^", where the exponent is no whole number; "<" and the other
    comparisons; "and", "or", "not"; "if" of a condition, what holds then, and what else; "@", the
    product of matrices, and "ᵀ".
    """

    function: str
    parts: tuple[Expression, ...]


Expression: TypeAlias = Name | Product | Call

ZERO, ONE = Product(Fraction(0), ()), Product(Fraction(1), ())
PI = Name("π", scalar=True)
_INFINITY, _NAN = Name("∞", scalar=True), Name("NaN", scalar=True)


# ---- numbers


def _simple(value: float) -> Fraction | None:
    """A fraction with a small denominator, also of a number that was rounded to single precision;
    else None."""
    near = Fraction(value).limit_denominator(64)
    if float(near) == value:
        return near
    near = Fraction(value).limit_denominator(12)
    return near if near and abs(float(near) / value - 1) < 5e-8 else None


def _plain(value: float) -> Expression:
    return Product(_simple(value) or Fraction(f"{value:.12g}"), ())


def _constants() -> Iterable[tuple[float, Expression]]:
    """The constants in the numbers of rules."""
    root_pi, root_two_pi = _root(PI), _root(times(number(2), PI))
    yield math.log(2), Call("log", (number(2),))
    yield math.log(10), Call("log", (number(10),))
    yield math.pi, PI
    yield math.pi / 180, over(PI, number(180))
    yield 180 / math.pi, over(number(180), PI)
    yield math.sqrt(math.pi), root_pi
    yield 1 / math.sqrt(math.pi), over(ONE, root_pi)
    yield math.sqrt(2 * math.pi), root_two_pi
    yield 1 / math.sqrt(2 * math.pi), over(ONE, root_two_pi)
    yield math.sqrt(2 / math.pi), _root(over(number(2), PI))
    yield math.sqrt(2), _root(number(2))
    yield 1 / math.sqrt(2), over(ONE, _root(number(2)))


def number(value: float) -> Expression:
    """A number, as a person knows it: log(2), 1 / 6."""
    if math.isinf(value):
        return _INFINITY if value > 0 else minus(_INFINITY)
    if math.isnan(value):
        return _NAN
    if _simple(value) is None:
        shares = [(_simple(value / constant), known) for constant, known in _constants()]
        near = [(abs(s.numerator) + s.denominator, s, known) for s, known in shares if s]
        if near:
            cost, share, known = min(near, key=lambda item: item[0])
            if cost < 12:
                return times(Product(share, ()), known)
    return _plain(value)


# ---- algebra


def _terms(sign: str, of: Iterable[Expression]) -> list[Expression]:
    """Expressions, with the parts of those that are a call of the sign in their place."""
    found: list[Expression] = []
    for part in of:
        found += part.parts if isinstance(part, Call) and part.function == sign else [part]
    return found


def _factors(of: Expression) -> Product:
    return of if isinstance(of, Product) else Product(Fraction(1), ((of, 1),))


def _product(n: Fraction, factors: Iterable[tuple[Expression, int]]) -> Expression:
    found: dict[Expression, int] = {}
    for factor, exponent in factors:
        found[factor] = found.get(factor, 0) + exponent
    kept = tuple((f, e) for f, e in found.items() if e)
    if n == 0:
        return ZERO
    if n == 1 and len(kept) == 1 and kept[0][1] == 1:
        return kept[0][0]
    return Product(n, kept)


def times(*parts: Expression) -> Expression:
    """The product of elements."""
    result = Fraction(1)
    factors: list[tuple[Expression, int]] = []
    for part in parts:
        one = _factors(part)
        result *= one.number
        factors += one.factors
    return _product(result, factors)


def over(above: Expression, below: Expression) -> Expression:
    bottom = _factors(below)
    if bottom.number == 0:
        raise ZeroDivisionError("a formula divides by the number 0")
    turned = Product(1 / bottom.number, tuple((f, -e) for f, e in bottom.factors))
    return times(above, turned)


def minus(of: Expression) -> Expression:
    return times(Product(Fraction(-1), ()), of)


def plus(*parts: Expression) -> Expression:
    terms = [t for t in _terms("+", parts) if t != ZERO]
    return Call("+", tuple(terms)) if len(terms) > 1 else terms[0] if terms else ZERO


def _root(of: Expression) -> Expression:
    return Call("√", (of,))


def power(base: Expression, exponent: Expression) -> Expression:
    if isinstance(exponent, Product) and not exponent.factors:
        n = exponent.number
        if n.denominator == 1:
            factors = _factors(base)
            raised = tuple((f, e * int(n)) for f, e in factors.factors)
            return _product(factors.number ** int(n), raised)
        if n.denominator == 2:
            return power(_root(base), Product(Fraction(n.numerator), ()))
    return Call("^", (base, exponent))


def call(function: str, *arguments: Expression) -> Expression:
    return Call(function, arguments)


def matrix_product(*parts: Expression) -> Expression:
    """The product of matrices."""
    return Call("@", tuple(_terms("@", parts)))


def transposed(of: Expression) -> Expression:
    match of:
        case Call("ᵀ", (inner,)):
            return inner
    return Call("ᵀ", (of,))


# ---- conditions

_MIRRORED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "==": "==", "≠": "≠"}
_OPPOSITES = {"<": "≥", ">": "≤", "≤": ">", "≥": "<", "==": "≠", "≠": "=="}


def is_truth(of: Expression) -> bool:
    """Whether an expression is true or false."""
    truths = (*_OPPOSITES, "and", "or", "not", "isnan", "isfinite", "isinf")
    return isinstance(of, Call) and of.function in truths


def comparison(sign: str, left: Expression, right: Expression) -> Expression:
    if isinstance(left, Product) and not left.factors:
        left, right, sign = right, left, _MIRRORED[sign]
    return Call(sign, (left, right))


def _logic(word: str, parts: Iterable[Expression]) -> Expression:
    decides, changes_nothing = (ZERO, ONE) if word == "and" else (ONE, ZERO)
    found = [part for part in _terms(word, parts) if part != changes_nothing]
    if decides in found:
        return decides
    return Call(word, tuple(found)) if len(found) > 1 else found[0] if found else changes_nothing


def both(*parts: Expression) -> Expression:
    return _logic("and", parts)


def either(*parts: Expression) -> Expression:
    return _logic("or", parts)


def opposite(of: Expression) -> Expression:
    """The opposite condition (of numbers: NaN apart)."""
    match of:
        case Call("and" | "or" as word, parts):
            return _logic("or" if word == "and" else "and", map(opposite, parts))
        case Call("not", (inner,)):
            return inner
        case Call(sign, parts) if sign in _OPPOSITES:
            return Call(_OPPOSITES[sign], parts)
    return Call("not", (of,))


def _at_points(condition: Expression) -> bool:
    """Whether a condition holds only where something is exactly 0, or infinite."""
    match condition:
        case Call("==", (_, right)):
            return right in (ZERO, number(math.inf))
        case Call("and" | "or" as word, parts):
            return (any if word == "and" else all)(map(_at_points, parts))
    return False


def choice(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """`yes` where the condition holds; a condition that keeps NaN away from a point is left out."""
    if condition in (ZERO, ONE):
        return yes if condition == ONE else no
    yes, no = _knowing(yes, condition, True), _knowing(no, condition, False)
    if yes == no:
        return yes
    if _at_points(condition) and yes == ZERO:
        return no
    match condition:
        case Call("==", (left, right)) if yes == put(no, left, right):
            return no
    if yes == ZERO and not (isinstance(no, Call) and no.function == "if"):
        condition, yes, no = opposite(condition), no, yes
    return Call("if", (condition, yes, no))


def _knowing(of: Expression, condition: Expression, holds: bool) -> Expression:
    """The expression where a condition holds, or does not."""
    match of:
        case Call("if", (known, yes, no)) if known in (condition, opposite(condition)):
            return yes if (known == condition) is holds else no
    return of


def put(of: Expression, old: Expression, new: Expression) -> Expression:
    """The expression with one part replaced by another."""
    match of:
        case _ if of == old:
            return new
        case Product(n, factors):
            return times(Product(n, ()), *(power(put(f, old, new), number(e)) for f, e in factors))
        case Call(function, parts):
            return Call(function, tuple(put(part, old, new) for part in parts))
    return of


# ---- the incoming gradient


class Unfactored(Exception):
    """The gradient is no multiple of the incoming one, element by element."""


def factor_of(whole: Expression, gradient: Name) -> Expression:
    """The factor that, times `gradient` element by element, gives the whole."""
    if whole == gradient:
        return ONE
    if whole == ZERO:
        return ZERO
    if isinstance(whole, Product):
        held = [(f, e) for f, e in whole.factors if gradient in _leaves(f)]
        if len(held) == 1 and held[0][1] == 1:
            rest = [(f, e) for f, e in whole.factors if f != held[0][0]]
            return times(_product(whole.number, rest), factor_of(held[0][0], gradient))
    match whole:
        case Call("if", (condition, *sides)) if gradient not in _leaves(condition):
            return choice(condition, *(factor_of(side, gradient) for side in sides))
    raise Unfactored


def parts_of(of: Expression) -> tuple[Expression, ...]:
    """The expressions that an expression is made of."""
    if isinstance(of, Product):
        return tuple(factor for factor, _ in of.factors)
    return of.parts if isinstance(of, Call) else ()


def _leaves(of: Expression) -> set[Expression]:
    if isinstance(of, Name):
        return {of}
    return {leaf for part in parts_of(of) for leaf in _leaves(part)}


def names_in(of: Expression) -> set[str]:
    return {leaf.text for leaf in _leaves(of) if isinstance(leaf, Name)}


def _is_number(of: Expression) -> bool:
    """Whether an expression is made of numbers alone, no tensor."""
    return all(isinstance(leaf, Name) and leaf.scalar for leaf in _leaves(of))


def _negated(of: Expression) -> bool:
    return isinstance(of, Product) and of.number < 0


# ---- text

_WORDS, _CHOICE, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _MINUS, _POWER, _ATOM = range(11)
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def written(of: Expression, dot: str = "·") -> str:
    """The expression as text. dot: the product of elements; that of matrices, and that with a
    number, is always ·."""
    return _written(of, dot)[0]


def _within(of: Expression, least: int, dot: str) -> str:
    """The text, in parentheses unless it holds together at least that well."""
    text, strength = _written(of, dot)
    return text if strength >= least else f"({text})"


def _written(of: Expression, dot: str) -> tuple[str, int]:
    match of:
        case Name():
            return of.text, _ATOM
        case Product():
            return _quotient(of, dot)
        case Call("+", terms):
            return _sum(terms, dot), _SUM
        case Call("^", sides):
            return "^".join(_within(side, _ATOM, dot) for side in sides), _POWER
        case Call("√", (inner,)):
            return f"√{_within(inner, _ATOM, dot)}", _ATOM
        case Call("abs", (inner,)):
            return f"|{_written(inner, dot)[0]}|", _ATOM
        case Call("and", (Call() as low, Call() as high)) if between := _between(low, high, dot):
            return between, _COMPARE
        case Call("and" | "or" as word, parts):
            least = _AND if word == "and" else _OR
            return f" {word} ".join(_within(part, least + 1, dot) for part in parts), least
        case Call("not", (inner,)):
            return f"not {_within(inner, _NOT, dot)}", _NOT
        case Call("if", (condition, yes, no)):
            holds = f"{_within(yes, _SUM, dot)} if {_within(condition, _OR, dot)}"
            return f"{holds} else {_within(no, _CHOICE, dot)}", _CHOICE
        case Call("@", parts):
            return " · ".join(_within(part, _POWER, dot) for part in parts), _PRODUCT
        case Call("ᵀ", (inner,)):
            return f"{_within(inner, _ATOM, dot)}ᵀ", _ATOM
        case Call(sign, sides) if sign in _OPPOSITES:
            return f" {sign} ".join(_within(side, _SUM, dot) for side in sides), _COMPARE
        case Call(words, parts) if "{}" in words:
            least = _WORDS if words.endswith(")") else _SUM
            text = words.format(*(_within(part, least, dot) for part in parts))
            return text, _ATOM if words.endswith((")", "]")) else _WORDS
    arguments = ", ".join(_written(part, dot)[0] for part in of.parts)
    return f"{of.function}({arguments})", _ATOM


def _between(low: Call, high: Call, dot: str) -> str:
    """a ≤ x ≤ b, where x is compared with both; "" of others."""
    if {low.function, high.function} - set("<>≤≥") or low.parts[0] != high.parts[0]:
        return ""
    if low.function in "<≤":
        low, high = high, low
    if low.function in "<≤" or high.function in ">≥":
        return ""
    ends = [_within(end, _SUM, dot) for end in (low.parts[1], *high.parts)]
    return f"{ends[0]} {_MIRRORED[low.function]} {ends[1]} {high.function} {ends[2]}"


def _sum(terms: Iterable[Expression], dot: str) -> str:
    text = ""
    for term in terms:
        if text and _negated(term):
            text += f" − {_within(minus(term), _PRODUCT, dot)}"
        else:
            text += (" + " if text else "") + _within(term, _PRODUCT, dot)
    return text


def _rank(factor: Expression) -> int:
    """The place of a factor in a product: numbers, names, functions, sums."""
    if _is_number(factor):
        return 0
    if isinstance(factor, Call) and factor.function in ("+", "if"):
        return 3
    return 1 if isinstance(factor, Name) else 2


def _quotient(of: Product, dot: str) -> tuple[str, int]:
    n = abs(of.number)
    if not of.factors and 10000 % n.denominator == 0 and n < 10**6:
        above, below = f"{float(n):g}", "1"
    elif n.denominator <= 200 and n.numerator < 10**12:
        above, below = str(n.numerator), str(n.denominator)
    else:
        above, below = f"{float(n):.12g}", "1"
    top = _factors_text(above, [(f, e) for f, e in of.factors if e > 0], dot)
    under = [(f, -e) for f, e in of.factors if e < 0]
    strength = top[1]
    text = top[0]
    if under or below != "1":
        bottom = _factors_text(below, under, dot)
        text = text if strength >= _PRODUCT else f"({text})"
        text += " / " + (bottom[0] if bottom[1] > _PRODUCT else f"({bottom[0]})")
        strength = _PRODUCT
    if of.number < 0:
        return f"−{text if strength >= _PRODUCT else f'({text})'}", _MINUS
    return text, strength


def _factors_text(n: str, factors: list[tuple[Expression, int]], dot: str) -> tuple[str, int]:
    pieces: list[str] = [n] if n != "1" or not factors else []
    alone = not pieces and len(factors) == 1
    strength = _ATOM
    scalars = True
    text = pieces[0] if pieces else ""
    for factor, exponent in sorted(factors, key=lambda item: _rank(item[0])):
        if exponent > 1:
            piece = _within(factor, _ATOM, dot) + str(exponent).translate(_RAISED)
            strength = _POWER
        elif alone:
            piece, strength = _written(factor, dot)
        else:
            matrices = isinstance(factor, Call) and factor.function == "@"
            piece = _within(factor, _PRODUCT if matrices else _POWER, dot)
        if text:
            text += f" {'·' if scalars else dot} {piece}"
        else:
            text = piece
        scalars = scalars and _is_number(factor)
    return text, strength if alone or not factors else _PRODUCT
