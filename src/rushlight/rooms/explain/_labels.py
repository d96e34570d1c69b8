"""Short texts in a picture for an op, a result, a number and a local gradient."""

from __future__ import annotations

import ast
import functools
import math
import re
from decimal import Decimal

from .._core import Tensor
from . import _expressions as ex
from ._formulas import Formula, local_gradient
from ._graph import Constant, Edge, Node

__all__ = [
    "arguments",
    "derivative",
    "local_formula",
    "number_text",
    "operands",
    "result_name",
    "sent_on",
    "shape_text",
    "sign",
    "value_names",
]

_SIGNS = {
    "add": "+",
    "sub": "−",
    "rsub": "−",
    "mul": "×",
    "div": "÷",
    "true_divide": "÷",
    "neg": "−",
    "matmul": "@",
    "mm": "@",
    "bmm": "@",
    "mv": "@",
    "dot": "@",
    "sum": "Σ",
    "sqrt": "√",
    "pow": "^",
}
_PYTHON = {
    "add": ast.Add,
    "sub": ast.Sub,
    "rsub": ast.Sub,
    "mul": ast.Mult,
    "div": ast.Div,
    "pow": ast.Pow,
}
LONGEST = 16
"""A name with more letters is no help inside a formula."""
_FEW = 3
"""A vector with more elements is shown by its shape."""


def sign(node: Node) -> str:
    """The op's sign, `×`, or its name where it has none."""
    return _SIGNS.get(node.title, node.title) if node.kind == "op" else node.title


def number_text(value: object) -> str:
    """A number, or the elements of a small tensor, as a person writes them; "" of others.

    >>> from rushlight.explain._labels import number_text
    >>> number_text(-0.5), number_text(torch.tensor([1.0, 2.0])), number_text(torch.ones(3, 3))
    ('−0.5', '[1, 2]', '')
    """
    if isinstance(value, Tensor):
        if value._on_meta or value.is_complex() or value.is_sparse or value.is_quantized:
            return ""
        if value.numel() == 1:
            return number_text(value.detach().reshape(()).item())
        if value.dim() == 1 and 1 < value.numel() <= _FEW:
            return f"[{', '.join(_decimal(v, 3) for v in value.detach().tolist())}]"
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value) if isinstance(value, (bool, complex)) else ""
    return _decimal(value, 4)


def _decimal(value: float, digits: int) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if isinstance(value, int):
        text = str(value) if abs(value) < 10**6 else f"{Decimal(value).normalize():.{digits}g}"
    else:
        text = f"{value:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    if exponent:
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "−")


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as Python writes it; "" of a number."""
    return f"({', '.join(map(str, shape))})" if shape else ""


def arguments(node: Node) -> list[Edge | Constant]:
    """The arguments and constants that a call computes with, in the order of the program's text."""
    found: list[Edge | Constant] = [*node.edges, *operands(node)]
    return sorted(found, key=lambda a: _place(node, a.argument))


def operands(node: Node) -> list[Constant]:
    """The constants that the op computes with: tensors without gradient, and the numbers that
    could have been tensors. An axis or an epsilon is none of them."""
    found = [c for c in node.constants if isinstance(c.value, Tensor) or _is_operand(node, c)]
    known = {c.argument for c in found} | {e.argument for e in node.edges}
    written = _literal(node) if node.op is not None and len(node.edges) == 1 else None
    if written is not None and len(known) == 1:
        other = "other" if "input" in known else "input"
        found.append(Constant(other, written, ""))
    return found


def _is_operand(node: Node, constant: Constant) -> bool:
    return node.op is not None and bool(
        re.search(rf"\b{re.escape(constant.argument)}: Tensor \|", node.op.entry.signature)
    )


def _place(node: Node, argument: str) -> int:
    params = node.op.entry.function.params if node.op is not None else ()
    if node.title == "rsub":  # `rsub(input, other)` is `other - input`
        params = params[1::-1] + params[2:]
    return params.index(argument) if argument in params else len(params)


def _literal(node: Node) -> int | float | None:
    """The number in `10 - d`, which no rule reads and nothing keeps, from the program's line."""
    if node.title not in _PYTHON or node.place is None:
        return None
    return _literal_in(node.place.code, node.title)


@functools.cache
def _literal_in(code: str, title: str) -> int | float | None:
    """The number in a line that has the operator once, with a number on one side."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return None
    found = [
        n for n in ast.walk(tree) if isinstance(n, ast.BinOp) and isinstance(n.op, _PYTHON[title])
    ]
    if len(found) != 1:
        return None
    numbers = [
        side.value
        for side in (found[0].left, found[0].right)
        if isinstance(side, ast.Constant) and type(side.value) in (int, float)
    ]
    first = isinstance(found[0].left, ast.Constant)
    wrong = title in ("rsub", "sub") and (title == "rsub") != first
    if len(numbers) != 1 or wrong:
        return None
    return numbers[0]  # type: ignore[return-value]


# ---- names inside formulas


def result_name(node: Node, nr: int = 0, longest: int = LONGEST) -> str:
    """The name of a result in a formula: the program's name, or a short expression, `w3·b`; else
    "".  Of `fc1.weight` the last word, where the whole is too long."""
    label = node.labels.get(nr, "")
    if not label:
        return _written(node, nr, longest)
    if len(label) > longest:
        label = label.rpartition(".")[2]
    return label if len(label) <= longest else ""


def _written(node: Node, nr: int, longest: int) -> str:
    expression = _expression(node, nr, 2, longest)
    text = "" if expression is None else ex.written(expression)
    return text.replace(" · ", "·") if len(text) <= longest else ""


def _expression(node: Node, nr: int, depth: int, longest: int) -> ex.Expression | None:
    """A result in terms of named ones."""
    if node.labels.get(nr):
        name = result_name(node, nr, longest)
        return ex.Name(name) if name else None
    if node.kind != "op" or not depth or len(node.outputs) != 1:
        return None
    parts: dict[str, ex.Expression] = {}
    for edge in node.edges:
        part = _expression(edge.target, edge.nr, depth - 1, longest)
        if part is None:
            return None
        parts[edge.argument] = part
    for constant in operands(node):
        text = number_text(constant.value)
        if not constant.label and not text:
            return None
        parts[constant.argument] = ex.Name(constant.label or text)
    values = [parts[k] for k in sorted(parts, key=lambda k: _place(node, k))]
    title = node.title
    if len(values) == 2 and title in ("mul", "add", "sub", "rsub", "div"):
        a, b = values
        if title in ("sub", "rsub"):
            b = ex.minus(b)
        if title == "div":
            return ex.over(a, b)
        return ex.times(a, b) if title == "mul" else ex.plus(a, b)
    if title in ("matmul", "mm") and all(isinstance(part, ex.Name) for part in values):
        return ex.call("{} @ {}", *values)
    if len(values) == 1 and title == "neg":
        return ex.minus(values[0])
    if len(values) == 1 and len(node.edges) == 1 and title not in _PYTHON and title.isidentifier():
        return ex.call(title, values[0])
    return None


def value_names(node: Node, longest: int = LONGEST) -> dict[str, str]:
    """The names of a call's values in its formulas, by the op's own word for each value:
    `{"input": "w3", "other": "b", "out": "d"}`. A value without a short name is left out.

    >>> w, x = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    >>> from rushlight.explain._labels import value_names
    >>> value_names(torch.explain.graph(w * x).nodes[0])
    {'out': 'w·x', 'input': 'w', 'other': 'x'}
    """
    names = {}
    for nr in range(len(node.outputs)):
        text = result_name(node, nr, longest)
        if text:
            names["out" if nr == 0 else f"out{nr}"] = text
    for edge in node.edges:
        text = result_name(edge.target, edge.nr, longest)
        if text and edge.argument:
            names[edge.argument] = text
    for constant in node.constants:
        text = constant.label if len(constant.label) <= longest else ""
        text = text or (number_text(constant.value) if constant in operands(node) else "")
        if text:
            names[constant.argument] = text
    return names


# ---- local gradients


def local_formula(edge: Edge, longest: int = LONGEST) -> Formula:
    """The local gradient along an edge, in the program's names.

    >>> a, w1 = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    >>> b = w1 * a
    >>> from rushlight.explain._labels import local_formula
    >>> [local_formula(edge).text for edge in torch.explain.graph(b).edges]
    ['a', 'w1']
    """
    node = edge.source
    if node.op is None or not edge.argument:
        return Formula("", False, ())
    formula = local_gradient(node.op, edge.argument, node.plain)
    names = value_names(node, longest)
    return Formula(formula.named(names), formula.is_factor, formula.reads)


def derivative(edge: Edge) -> str:
    """The sign of the local gradient, `∂b/∂w1`; "" where one of the two has no name."""
    above = result_name(edge.source)
    below = result_name(edge.target, edge.nr)
    if not (above and below):
        return ""
    return f"∂{_whole(above)}/∂{_whole(below)}"


def sent_on(formula: Formula) -> str:
    """The gradient that goes along an edge, in terms of the incoming one: `g · w1`."""
    text = formula.text
    if not formula.is_factor or not text:
        return text
    if text in ("1", "−1"):
        return text.replace("1", "g")
    if text.startswith("−") and not _is_sum(text[1:]):
        return f"−g · {text[1:]}"
    return f"g · ({text})" if _is_sum(text) or " if " in text else f"g · {text}"


def _is_sum(text: str) -> bool:
    """Whether a text has a sign of a sum, a comparison or a comma outside all parentheses."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if not depth and (letter in "+,<>=≤≥≠" or (letter == "−" and at)):
            return True
    return False


def _whole(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+(\[[^\]]*\])*(\([^()]*\))?", text) else f"({text})"
