"""torch._foreach_* against PyTorch: every form of every function, gradients, types and errors.

A case is a call written with A(), B(), P(): lists of two tensors each, the last of positive
numbers; I(): integers; and the libraries' own `torch`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import rushlight
from rushlight._tensor import foreach as _foreach

pytorch = pytest.importorskip("torch")

UNARY = [n for n in sorted(_foreach._UNARY)]
LIST = "add sub mul div clamp_max clamp_min maximum minimum pow".split()
CASES = [
    *(f"{n}(P())" for n in UNARY),
    *(f"{n}(P(), {other})" for n in LIST for other in ("2.5", "[2.0, 3.5]", "B()", "(1, 2)")),
    *(f"{n}(I(), {other})" for n in LIST for other in ("2", "[2, 3.5]", "I()", "(1, True)")),
    *(f"{n}(I(), torch.tensor(2.5, dtype=torch.float64))" for n in ("add", "mul", "div", "pow")),
    *(f"{n}(A(), B(), alpha=3)" for n in ("add", "sub")),
    "add(A(), torch.tensor(2.0), alpha=3)",
    *(
        f"{n}(A(), B(), P(), {last})"
        for n in ("addcmul", "addcdiv")
        for last in ("2.5", "[2, 3]", "value=2", "scalars=[2.0, 3.0]", "torch.tensor([2.0, 3.0])")
    ),
    *(f"{n}(A(), B(), P())" for n in ("addcmul", "addcdiv", "lerp")),
    *(f"lerp(A(), B(), {w})" for w in ("0.25", "[0.25, 0.75]")),
    "pow(2.0, A())",
    *(f"norm(A(), {o})" for o in ("1", "2", "3", "float('inf')", "0", "2, dtype=torch.float64")),
    *(f"powsum(A(), {o})" for o in ("1", "2", "3", "2, dtype=torch.float64")),
    "norm(A())",
    "max(A())",
    "max(I())",
    "clone(A())",
    "mm([P()[0].view(2, 2)], [A()[0].view(2, 2)])",
    "copy_(A(), [torch.tensor(3.0), torch.tensor(4)])",
    "zero_(I())",
]
_HAVE_ONE = re.compile(r"(clone|copy_|max|mm|norm|powsum|zero_|pow\(2)")
CASES += [c.replace("(", "_(", 1) for c in CASES if not _HAVE_ONE.match(c)]
ERRORS = [
    *(f"{n}([])" for n in ("abs", "exp_", "norm", "zero_", "max", "clone")),
    *("add([], 1)", "add([], [])", "pow(2, [])", "addcmul([], [], [], [2])", "mm([], [])"),
    *("add(A(), [])", "add(A(), A()[:1])", "add_(A(), A()[:1])", "mul(A(), [1.0])"),
    *("addcmul(A(), B()[:1], B())", "addcdiv(A(), B(), B()[:1])", "addcmul(A(), A(), A(), [2])"),
    *(f"addcmul(A(), A(), A(), torch.tensor({p}))" for p in ("[2.0]", "[[2.0]]", "2.0")),
    *("lerp(A(), B()[:1], 0.5)", "lerp(A(), B(), B()[:1])", "lerp(I(), I(), 0.5)"),
    *("mul(A(), torch.tensor([2.0]))", "add_(A(), torch.tensor([2.0]))", "copy_(A(), B()[:1])"),
    *("abs(A()[0])", "abs(3)", "abs([1, 2])", "abs([A()[0], None])", "abs(A(), 1)", "abs()"),
    *("abs(A(), foo=2)", "add(A())", "add(A(), 'a')", "add(A(), 2, alpha=2)", "add(A(), 1, foo=2)"),
    *("add(A(), [1.0, 2.0], alpha=2)", "add(A(), [torch.ones(3), 3])", "sub(A(), 1, alpha=2)"),
    *("sub(A(), 'a', 'b')", "sub(A(), B()[0])", "clamp_max(A(), torch.ones(1))", "copy_(A())"),
    *("copy_()", "mm(A(), B()[:1])", "norm(A(), 'fro')", "norm(I())", "norm(A(), 1j)"),
    *("norm([torch.zeros(0)], float('inf'))", "max([torch.zeros(0)])", "powsum(I())"),
    *("add_(I(), 1.5)", "exp_(I())", "div_(I(), I())", "addcdiv(I(), I(), I())"),
    *("sub([torch.tensor(True)], [True])", "add(iter(A()), 1)", "add([torch.ones(2)], [None])"),
]


def run(m: Any, call: str) -> tuple[Any, list[Any]]:
    """The outcome of `m._foreach_CALL`, and the leaves it was computed from."""
    rng = np.random.default_rng(0)
    leaves: list[Any] = []

    def lists(positive: bool) -> list[Any]:
        arrays = [rng.uniform(0.1 if positive else -2, 2, s).astype("f") for s in ((4,), (2, 4))]
        if positive:
            arrays = [a * np.float32(0.45) for a in arrays]  # where acos is defined
        made = [m.tensor(a).requires_grad_() for a in arrays]
        leaves.extend(made)
        return [t * 1 for t in made]

    names = {
        "A": lambda: lists(False),
        "B": lambda: lists(False),
        "P": lambda: lists(True),
        "I": lambda: [m.tensor([1, 2]), m.tensor([[3], [4]])],
        "torch": m,
    }
    try:
        return eval(f"torch._foreach_{call}", names), leaves
    except Exception as error:
        return error, leaves


def test_the_same_functions_as_pytorch() -> None:
    theirs = {n for n in dir(pytorch) if n.startswith("_foreach_")}
    assert set(_foreach.__all__) == theirs
    assert all(callable(getattr(rushlight, name)) for name in theirs)


@pytest.mark.parametrize("call", CASES)
def test_values_and_gradients(call: str) -> None:
    want, their_leaves = run(pytorch, call)
    found, leaves = run(rushlight, call)
    if isinstance(want, Exception):  # in place, where the result's type does not fit
        assert "(I()" in call
        check_alike(found, want)
        return
    if isinstance(found, Exception):
        raise found
    assert type(found) is type(want) and len(found) == len(want)
    for mine, theirs in zip(found, want, strict=True):
        assert str(mine.dtype) == str(theirs.dtype) and tuple(mine.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(mine.detach(), theirs.detach().numpy(), rtol=2e-6, atol=1e-6)
    if want[0].grad_fn is None or "NotImplemented" in want[0].grad_fn.name():
        return
    for results in (found, want):
        sum((r * r).sum() for r in results).backward()
    for mine, theirs in zip(leaves, their_leaves, strict=True):
        assert (mine.grad is None) == (theirs.grad is None)
        if theirs.grad is not None:
            np.testing.assert_allclose(mine.grad, theirs.grad, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("call", ERRORS)
def test_errors(call: str) -> None:
    want, found = run(pytorch, call)[0], run(rushlight, call)[0]
    assert isinstance(want, Exception)
    check_alike(found, want)


def check_alike(found: Any, want: Exception) -> None:
    assert type(found) is type(want)
    # clamp_max_ names the C++ type in PyTorch
    line = str(want).replace("long int", "Long").split("\n")[0].split(". ")[0]
    assert str(found).split("\n")[0].split(". ")[0] == line
