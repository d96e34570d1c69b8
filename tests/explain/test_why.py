"""`explain.why_no_grad`: what it says of each way to be without a gradient.

The line that it must name is marked by a comment in this file.
"""

import contextlib
import copy
from pathlib import Path

import pytest

from _subject import torch

nn = torch.nn
explain = torch.explain
HERE = Path(__file__)


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


def names_line(text, mark):
    """Whether a text names the line of this file that ends with a mark, with its code."""
    lines = HERE.read_text(encoding="utf-8").splitlines()
    (at,) = [n for n, line in enumerate(lines, 1) if line.endswith(f"# {mark}")]
    code = lines[at - 1].strip()
    return f'File "{HERE}", line {at}, in ' in text and f"\n    {code}\n" in text + "\n"


# ---- it does not require grad


def test_detached():
    w = leaf(2)
    h = (w * 2).detach()  # detached
    later = h.exp() + 1
    for text in (explain.why_no_grad(h), explain.why_no_grad(later)):
        assert "detach() (or .data) cut its history" in text and names_line(text, "detached")
    assert text.startswith("`later` does not require grad: ")
    assert text.endswith("\n  Use the tensor itself where its gradient is wanted.")


def test_data():
    w = leaf(2)
    h = (w * 2).data  # data
    assert names_line(explain.why_no_grad(h), "data")


def test_no_grad():
    w = leaf(2)
    with torch.no_grad():
        h = w * 2  # without grad
    text = explain.why_no_grad(h)
    assert "with gradients switched off" in text and names_line(text, "without grad")
    assert "Move that line out of torch.no_grad()" in text


def test_inference_mode():
    w = leaf(2)
    with torch.inference_mode():
        h = w * 2  # inference
        made = torch.ones(2)
    text = explain.why_no_grad(h)
    assert "in inference mode" in text and names_line(text, "inference")
    assert "it was made in inference mode" in explain.why_no_grad(made)


@pytest.mark.parametrize(
    "make", [torch.argmax, torch.isnan, torch.Tensor.long], ids=lambda f: f.__name__
)
def test_an_op_without_derivative(make):
    w = leaf(2)
    h = make(w)  # no derivative
    text = explain.why_no_grad(h)
    assert "a result that has no derivative" in text and names_line(text, "no derivative")
    assert "argmax" in text


def test_built_from_data():
    w = leaf(2)
    h = torch.tensor([w.sum().item(), 2.0])  # from data
    text = explain.why_no_grad(h * 2)
    assert "it was built from data" in text and names_line(text, "from data")
    assert "torch.stack or torch.cat" in text


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        (lambda: torch.tensor([1, 2]), "int64"),
        (lambda: torch.zeros(2, dtype=torch.int32), "int32"),
        (lambda: torch.ones(2, dtype=torch.bool), "bool"),
    ],
    ids=["data", "zeros", "bool"],
)
def test_integers(make, dtype):
    h = make()
    assert explain.why_no_grad(h) == (
        f"`h` does not require grad: it holds {dtype}, and only floating point and complex can.\n"
        "  Make it floating point first: t.float().requires_grad_()."
    )


def test_never_asked():
    x = torch.zeros(2)
    text = explain.why_no_grad(x.exp())
    assert "nothing that it was computed from does" in text
    assert "make it with requires_grad=True" in text


def test_a_frozen_parameter():
    layer = nn.Linear(2, 2).requires_grad_(False)
    text = explain.why_no_grad(layer.weight)
    assert text.startswith("`weight` does not require grad: it is a parameter that was frozen")
    data = nn.Parameter(torch.tensor([1.0]), requires_grad=False)
    assert "it is a parameter that was frozen" in explain.why_no_grad(data)


def test_what_the_message_is_when_there_is_no_graph():
    w = leaf(2)
    h = w.detach()  # no graph
    for ask in (explain.tree, explain.saved, explain.graph):
        with pytest.raises(ValueError, match=r"there is no graph to show\. `h` does not") as error:
            ask(h)
        assert names_line(str(error.value), "no graph")


# ---- it is no leaf


def test_a_result():
    w = leaf(2)
    h = w.exp()  # a result
    text = explain.why_no_grad(h)
    assert text.startswith("`h` is no leaf, and .grad is kept for leaves: it was computed by exp")
    assert names_line(text, "a result") and "retain_grad()" in text


def test_a_parameter_that_is_no_leaf():
    weight = torch.randn(3, requires_grad=True) * 0.1
    text = explain.why_no_grad(weight)
    assert "is no leaf" in text and "call\n  requires_grad_()" in text


def test_a_result_that_is_to_keep_its_gradient():
    w = leaf(2)
    h = w.exp()
    h.retain_grad()
    assert "no backward has reached it since" in explain.why_no_grad(h)
    h.sum().backward()
    assert explain.why_no_grad(h) == "`h` has a gradient: float32[2]."


def test_asking_of_a_result_warns_of_nothing(recwarn):
    w = leaf(2)
    explain.why_no_grad(w * 2)
    assert not recwarn.list


# ---- it is a leaf


def test_a_leaf_that_has_a_gradient():
    w = leaf(2)
    (w * w).sum().backward()
    assert explain.why_no_grad(w) == "`w` has a gradient: float32[2]."


def test_no_backward_yet():
    w = leaf(2)
    loss = (w * w).sum()
    text = explain.why_no_grad(w)
    assert "no backward has run through `loss`, which needs it" in text
    assert text.endswith("\n  Call loss.backward().")
    assert loss.grad_fn is not None


@pytest.mark.parametrize("clear", ["zero_grad", "None"])
def test_it_was_cleared(clear):
    w = leaf(2)
    loss = (w * w).sum()
    loss.backward()  # the backward
    if clear == "None":
        w.grad = None
    else:
        torch.optim.SGD([w], lr=0.1).zero_grad()
    text = explain.why_no_grad(w)
    assert "though a backward ran through the graph of `loss`, which needs it" in text
    assert names_line(text, "the backward") and "has cleared it since" in text


def test_autograd_grad_fills_none():
    w = leaf(2)
    loss = (w * w).sum()
    torch.autograd.grad(loss, w)  # grad
    text = explain.why_no_grad(w)
    assert names_line(text, "grad")
    assert "autograd.grad()\n  or backward(inputs=...), which fill no .grad of others" in text


def test_a_backward_that_did_not_reach_it():
    w, other = leaf(2), leaf(2)
    loss = (other * other).sum()
    loss.backward()  # elsewhere
    text = explain.why_no_grad(w)
    assert "`loss` was not computed from it, and that is what a backward ran through" in text
    assert names_line(text, "elsewhere") and "torch.explain.unused(loss, parameters)" in text


def test_nothing_is_known():
    w = leaf(2)
    text = explain.why_no_grad(w)
    assert "no backward has reached it, or zero_grad() has cleared it since" in text
    assert "torch.explain.unused(loss, parameters)" in text


def test_the_result_that_a_backward_went_through_is_named_first():
    w = leaf(2)
    unused_result = w.exp()
    loss = (w * w).sum()
    loss.backward()
    w.grad = None
    assert "the graph of `loss`" in explain.why_no_grad(w)
    del unused_result


# ---- and in any case


def test_stale_views_among_the_variables_do_no_harm():
    w, base = leaf(2), leaf(2) * 1
    parts = base.unbind()
    first = parts[0]
    base.mul_(2)
    assert "`base` was not computed from it" in explain.why_no_grad(w)
    with contextlib.suppress(RuntimeError):
        first.grad_fn  # noqa: B018


def test_a_copy_is_asked_for_itself():
    layer = nn.Linear(1, 1)
    twin = copy.deepcopy(layer)
    layer(torch.ones(1, 1)).sum().backward()
    assert explain.why_no_grad(layer.weight) == "`layer.weight` has a gradient: float32[1, 1]."
    assert explain.why_no_grad(twin.weight).startswith("`twin.weight` is a leaf")


def test_a_tensor_without_a_name():
    assert explain.why_no_grad(torch.zeros(1)).startswith("This tensor does not require grad")


def test_what_is_no_tensor():
    with pytest.raises(TypeError, match="why_no_grad: expected a tensor, got list"):
        explain.why_no_grad([leaf(1)])
