"""The short texts of pictures: names of results, formulas in them, numbers."""

from __future__ import annotations

import pytest
from rushlight.explain._labels import (
    arguments,
    derivative,
    local_formula,
    number_text,
    operands,
    result_name,
    sent_on,
    shape_text,
    sign,
    value_names,
)

from _subject import torch


def graph(_, /, **names):
    """The graph of a result. A variable `_` gives no name to it."""
    return torch.explain.graph(_, names=names)


def leaf(value=2.0):
    return torch.tensor(value, requires_grad=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2, "2"),
        (-3, "−3"),
        (2.0, "2"),
        (-0.25, "−0.25"),
        (1 / 3, "0.3333"),
        (123456.0, "1.235e5"),
        (1e-9, "1e−9"),
        (10**9, "1e9"),
        pytest.param(10**400, "1e400", id="beyond floats"),
        (float("nan"), "NaN"),
        (float("inf"), "∞"),
        (-float("inf"), "−∞"),
        (True, "True"),
        (1 + 2j, "(1+2j)"),
        (None, ""),
        ("text", ""),
    ],
)
def test_numbers(value, text):
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: torch.tensor(-1.5), "−1.5"),
        (lambda: torch.tensor([[2.0]]), "2"),
        (lambda: torch.tensor([1.0, 2.0, -3.0]), "[1, 2, −3]"),
        (lambda: torch.tensor([1.0, float("nan")]), "[1, NaN]"),
        (lambda: torch.ones(4), ""),
        (lambda: torch.ones(2, 2), ""),
        (lambda: torch.ones(0), ""),
        (lambda: torch.ones(1, device="meta"), ""),
        (lambda: torch.tensor(1 + 2j), ""),
        (lambda: torch.ones(1).to_sparse(), ""),
        (lambda: torch.tensor(2.0, dtype=torch.bfloat16), "2"),
        (lambda: torch.tensor(7), "7"),
        (lambda: torch.tensor(True), "True"),
    ],
)
def test_numbers_of_tensors(make, text):
    assert number_text(make()) == text


def test_shapes():
    assert [shape_text(s) for s in ((), (3,), (2, 3))] == ["", "(3)", "(2, 3)"]


def test_signs():
    x = leaf()
    made = [x + 1, x - 1, 1 - x, x * 2, x / 2, -x, x**2, x.sqrt(), x.tanh(), x.sum()]
    signs = [sign(graph(y).nodes[0]) for y in made]
    assert signs == ["+", "−", "−", "×", "÷", "−", "^", "√", "tanh", "Σ"]
    a, b = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    assert sign(graph(a @ b).nodes[0]) == "@"


def test_a_result_without_a_name_is_written_out_where_that_is_short():
    x, w = leaf(), leaf(3.0)

    def name(_):
        return result_name(graph(_, x=x, w=w).nodes[0])

    found = [name(w * x), name(x + 1.5), name(w - x), name(x / w), name(-x), name(x.tanh())]
    found += [name((w * x).exp()), name(w * x * w)]
    assert found == ["w·x", "x + 1.5", "w − x", "x / w", "−x", "tanh(x)", "exp(w·x)", "w²·x"]


def test_a_product_of_matrices_without_a_name_is_called_by_its_factors():
    a, b = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    h = torch.ones(2, 2, requires_grad=True)

    def name(_):
        return result_name(graph(_, a=a, b=b, h=h).nodes[0])

    found = [name(a @ b), name(torch.mm(a, b) + h), name((a + h) @ b)]
    assert found == ["a @ b", "(a @ b) + h", ""]
    (edge,) = [e for e in graph((a @ b).tanh(), a=a, b=b).edges if e.source.title == "tanh"]
    assert local_formula(edge).text == "1 − tanh(a @ b)²"


def test_a_result_that_would_be_long_has_no_name():
    x = leaf()
    assert result_name(graph((((x * 1.5).tanh() * 2.5).tanh() * 3.5).tanh(), x=x).nodes[0]) == ""


def test_a_long_name_is_its_last_word_inside_formulas():
    x = leaf()
    y = x.exp()
    found = graph(y, **{"blocks.10.attention.weight": x, "y": y}).edges
    assert [derivative(edge) for edge in found] == ["∂y/∂weight"]
    nothing = graph(y, **{"a_name_that_is_rather_long": x, "y": y}).edges
    assert [derivative(edge) for edge in nothing] == [""]


def test_the_values_of_a_call_by_the_names_of_its_rule():
    w, x = leaf(), torch.tensor(3.0)
    y = w * x
    assert value_names(graph(y, w=w, x=x, y=y).nodes[0]) == {"input": "w", "other": "x", "out": "y"}
    assert value_names(graph(w.pow(3), w=w).nodes[0])["exponent"] == "3"
    unnamed = graph((w * 2.0 + w * w * w * w).tanh(), w=w).nodes[0]
    assert "input" not in value_names(unnamed)


def test_values_of_ops_with_several_results():
    t = torch.ones(2, requires_grad=True)
    p, q = t.unbind()
    node = graph(p * q, p=p, q=q).nodes[-2]
    assert value_names(node) | {"input": ""} == {"out": "p", "out1": "q", "input": ""}


def test_local_formulas_speak_of_the_program():
    x, w = leaf(), leaf(3.0)
    h = torch.tanh(x)
    assert [local_formula(e).text for e in graph(h, h=h, x=x).edges] == ["1 − h²"]
    assert [local_formula(e).text for e in graph(x / w, x=x, w=w).edges] == ["1 / w", "−x / w²"]


@pytest.mark.parametrize(
    ("make", "sent"),
    [
        (lambda x: x * 3.5, "g · 3.5"),
        (lambda x: x + 1, "g"),
        (lambda x: 1 - x, "−g"),
        (lambda x: torch.tanh(x * 1), "g · (1 − out²)"),
        (lambda x: torch.relu(x), "g · (1 if out > 0 else 0)"),
        (lambda x: torch.cos(x), "−g · sin(x)"),
    ],
)
def test_the_gradient_that_is_sent_on(make, sent):
    x = leaf()
    edge = graph(make(x), x=x).nodes[0].edges[0]
    formula = local_formula(edge, longest=1)
    assert sent_on(formula) == sent


def test_a_rule_that_is_no_factor_is_sent_as_it_is():
    a, b = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    assert [sent_on(local_formula(e)) for e in graph(a @ b, a=a, b=b).edges] == ["g · bᵀ", "aᵀ · g"]


def operand_values(_):
    return [(c.argument, c.value) for c in operands(graph(_).nodes[0])]


def test_the_number_of_the_line_is_an_operand_that_nothing_keeps():
    x = leaf()
    y = 10 - x
    assert operand_values(y) == [("other", 10)]
    y = x - 2.5
    assert operand_values(y) == [("other", 2.5)]
    y = x + 1
    assert operand_values(y) == [("other", 1)]


def test_a_line_that_does_not_say_which_number_gives_none():
    x = leaf()
    y = (x + 1) + 2
    assert operand_values(y) == []
    one = 1
    y = x + one
    assert operand_values(y) == []
    y = sum([x, 5])
    assert operand_values(y) == []


def test_what_is_no_number_to_compute_with_is_no_operand():
    x = torch.ones(2, 3, requires_grad=True)
    assert operand_values(x.softmax(1)) == []
    assert operand_values(x.transpose(0, 1)) == []
    mask = torch.tensor([True, False, True])
    assert [name for name, _ in operand_values(x.masked_fill(mask, 0.0))] == ["mask"]


def test_arguments_stand_as_the_call_is_written():
    w, x = leaf(), torch.tensor(3.0)
    y = x * w
    assert [a.argument for a in arguments(graph(y).nodes[0])] == ["input", "other"]
    y = 10 - w
    assert [a.argument for a in arguments(graph(y).nodes[0])] == ["other", "input"]
    linear = torch.nn.Linear(2, 2)
    y = linear(torch.ones(1, 2, requires_grad=True))
    assert [a.argument for a in arguments(graph(y).nodes[0])] == ["input", "weight", "bias"]
