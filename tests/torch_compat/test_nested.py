"""Nested tensors of jagged layout: what models do with them, against PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rushlight

pytorch = pytest.importorskip("torch")

CASES = """
n | n * 2 | n + n | n - 1.0 | 1.0 / (n.abs() + 1) | n * n.sin() | n + d | n * e | -n
n == n | n > 3 | n.sum() | n.mean() | n.max() | n.sum(dim=1) | n.mean(dim=1) | n.amax(1)
n.sum(1, keepdim=True) | n.sum(-1) | n.sum(-1, keepdim=True) | n.mean(dim=-1) | n.any()
n.to(m.float64) | n.float() | n.clone() | n.detach() | F.linear(n, w) | F.linear(n, w, b)
n @ w.t() | F.layer_norm(n, (4,)) | F.rms_norm(n, (4,)) | F.relu(n) | F.gelu(n)
F.dropout(n, 0.0) | m.softmax(n, -1) | m.softmax(n, 1) | n.unbind() | n[0] | n[-1]
n.to_padded_tensor(0.5) | m.nested.to_padded_tensor(n, 0.0) | n.values() | n.offsets()
n.transpose(1, 2).values() | n.unsqueeze(-1) | n.unflatten(-1, (2, 2))
n.unflatten(-1, (2, 2)).flatten(-2) | n.view(2, -1, 2, 2) | n.reshape(2, -1, 4) | A(n, n, n)
A(n.sin(), n, n).transpose(1, 2).flatten(-2)
m.nested.as_nested_tensor([x, y], layout=m.jagged)
m.nested.nested_tensor([[1.0], [2.0, 3.0]], layout=m.jagged)
m.nested.nested_tensor_from_jagged(m.cat([x, y]), m.tensor([0, 2, 7])).sum(1)
F.embedding(i, w)
m.nested.nested_tensor_from_jagged(m.cat([x, y]), lengths=m.tensor([2, 5])) | n.exp().sum()
m.where(n > 1, n, 0.0) | m.nested.nested_tensor([], layout=m.jagged)
m.nested.nested_tensor([x, y[0]], layout=m.jagged) | n.sum(dim=0)
m.nested.nested_tensor([x[:, :2], y], layout=m.jagged)
m.nested.nested_tensor_from_jagged(x) | n + n[0]
m.cat([n, n * 2], -1) | m.cat([n, n], 2) | m.cat([n, n], 1) | m.cat([n, n])
m.cat((n, n.sin()), dim=2)
n.chunk(2, -1) | n.split(1, -1) | n.detach().split([1, 3], dim=2) | n.select(2, 0)
n.narrow(-1, 1, 2) | n[..., 1]
n.unsqueeze(-1).squeeze(-1) | n.max(2) | n.max(1) | n.min(-1) | n.argmax(2) | n.log_softmax(-1)
n.prod(1) | (n > 0) & (n < 1) | m.logical_or(n > 0, n < 1) | n.select(1, 0) | n.chunk(2, 1)
m.nested.narrow(y, 1, c, m.tensor([2, 1, 2, 1, 1]), layout=m.jagged) | h | h * 2 | h + h | h.sin()
h.lengths() | h.offsets() | h.values() | h.unbind() | h.contiguous() | h.contiguous().sum(1) | h[0]
h.is_contiguous() | h.to_padded_tensor(0.0) | h.sum(1) | h.clone() | h.contiguous().lengths()
m.nested.narrow(y, 0, 0, 1, layout=m.jagged) | m.nested.narrow(x, 1, 1, 2, layout=m.jagged)
m.nested.nested_tensor_from_jagged(y, m.tensor([0, 3, 5]), m.tensor([1, 2]))
m.nested.masked_select(x, x > 0) | m.nested.masked_select(x, x > 9) | m.nested.masked_select(x, x)
m.nested.masked_select(m.ones(2, 3, 2), m.tensor([[True, False]])[:, None, :])
"""
EXPRESSIONS = [e.strip() for e in CASES.strip().replace("\n", " | ").split(" | ")]


def names(m: Any) -> dict[str, Any]:
    def of(*size: int) -> Any:
        numbers = np.sin(np.arange(np.prod(size), dtype=np.float32)) * 3
        return m.from_numpy(numbers.reshape(size).astype(np.float32)).requires_grad_()

    def attention(q: Any, k: Any, v: Any, **how: Any) -> Any:
        heads = (t.unflatten(-1, (2, 2)).transpose(1, 2) for t in (q, k, v))
        return m.nn.functional.scaled_dot_product_attention(*heads, **how)

    x, y = of(2, 4), of(5, 4)
    ids = [m.tensor([0, 1]), m.tensor([2, 0, 1])]
    return {
        **{"m": m, "F": m.nn.functional, "A": attention, "x": x, "y": y, "d": of(4)},
        **{"w": of(3, 4), "b": of(3), "e": of(2, 1, 4)},
        "n": m.nested.as_nested_tensor([x, y], layout=m.jagged),
        "i": m.nested.nested_tensor(ids, layout=m.jagged),
        "c": m.tensor([0, 2, 1, 3, 2]),
        "h": m.nested.nested_tensor_from_jagged(y, m.tensor([0, 3, 5]), m.tensor([1, 2])),
    }


def told(result: Any) -> Any:
    """The parts, as lists; what a backward leaves is told apart."""
    if result is None or isinstance(result, bool):
        return result
    if isinstance(result, tuple):
        return [told(r) for r in result]
    if getattr(result, "is_nested", False):
        shape = [str(n) if not str(n).isdigit() else int(n) for n in result.shape]
        ragged = [i for i, n in enumerate(shape) if isinstance(n, str)]
        return ["nested", ragged, str(result.dtype), [told(part) for part in result.unbind()]]
    return str(result.dtype), result.tolist()


def outcome(m: Any, expression: str) -> tuple[Any, Any]:
    """The result, and the gradients of all leaves; None where no backward runs."""
    given = names(m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(expression, given)
        except Exception as error:
            return type(error), None
        parts = [result] if not isinstance(result, tuple) else list(result)
        if not all(getattr(part, "requires_grad", False) for part in parts):
            return told(result), None
        dense = [part.values() if part.is_nested else part for part in parts]
        try:
            sum((part * part).sum() for part in dense).backward()
        except (
            NotImplementedError,
            RuntimeError,
            ValueError,
            AttributeError,
        ):  # of PyTorch's rules
            return told(result), None
    leaves = (given[name] for name in "x y w b d e".split())
    return told(result), [None if t.grad is None else t.grad.tolist() for t in leaves]


def flat(tree: Any) -> list[Any]:
    return (
        [leaf for part in tree for leaf in flat(part)]
        if isinstance(tree, (list, tuple))
        else [tree]
    )


def same(found: Any, want: Any) -> None:
    found, want = flat([found]), flat([want])
    numbers = [type(v) is float for v in want]
    assert [v for v, n in zip(found, numbers, strict=True) if not n] == [
        v for v, n in zip(want, numbers, strict=True) if not n
    ]
    left, right = ([v for v, n in zip(vs, numbers, strict=True) if n] for vs in (found, want))
    np.testing.assert_allclose(left, right, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression: str) -> None:
    (found, gradients), (want, expected) = (outcome(m, expression) for m in (rushlight, pytorch))
    same(found, want)
    # PyTorch's gradient of a softmax over the lengths does not add up to 0, as that of one does.
    if expected is not None and expression != "m.softmax(n, 1)":
        same(gradients, expected)
