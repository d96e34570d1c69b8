"""Sums of products by Einstein's notation.

An equation is read once (`_plan`, cached): what to permute, sum and multiply for each operand. Two
operands that share summed
subscripts are contracted by one batched matrix product.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from ... import _core
from ..._core import Tensor
from ..table.kinds import composite
from .products import viewed_product

_Labels = tuple[int, ...]
_ELLIPSIS = 52  # subscripts from here on stand for the dimensions of '...'


def _number(letter: str) -> int:
    return ord(letter) - ord("A") if letter.isupper() else ord(letter) - ord("a") + 26


def _letter(label: int) -> str:
    if label >= _ELLIPSIS:
        return "..."
    return chr(ord("A") + label) if label < 26 else chr(ord("a") + label - 26)


def _subscripts(text: str, start: int, where: str) -> list[int | None]:
    """The labels of one operand; None stands for the ellipsis."""
    labels: list[int | None] = []
    i = 0
    while i < len(text):
        c = text[i]
        if c == ".":
            if None in labels:
                raise RuntimeError(
                    f"einsum(): found '.' for {where} for which an ellipsis was already found"
                )
            if text[i : i + 3] != "...":
                raise RuntimeError(
                    f"einsum(): found '.' for {where} that is not part of any ellipsis"
                )
            labels.append(None)
            i += 3
            continue
        if c != " ":
            if not (c.isascii() and c.isalpha()):
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {start + i} in the equation "
                    "string, "
                    "subscripts must be in [a-zA-Z]"
                )
            labels.append(_number(c))
        i += 1
    return labels


@functools.lru_cache(maxsize=512)
def _plan(equation: str, ndims: tuple[int, ...]) -> tuple[tuple[_Labels, ...], _Labels]:
    """The labels of every dimension of every operand, and of the result."""
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) > len(ndims):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    given, at = [], 0
    for i, part in enumerate(parts):
        given.append(_subscripts(part, at, f"operand {i}"))
        at += len(part) + 1
    if len(parts) < len(ndims):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    result = _subscripts(right, len(left) + 2, "the output") if arrow else None
    return _finish(given, ndims, result)


def _finish(
    given: list[list[int | None]], ndims: tuple[int, ...], result: list[int | None] | None
) -> tuple[tuple[_Labels, ...], _Labels]:
    spans = []
    for i, (labels, ndim) in enumerate(zip(given, ndims, strict=True)):
        named = sum(label is not None for label in labels)
        if named > ndim or (named != ndim and None not in labels):
            how = "is more than" if None in labels else "does not match"
            tail = "" if None in labels else " and no ellipsis was given"
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) {how} the number of "
                "dimensions "
                f"({ndim}) for operand {i}{tail}"
            )
        spans.append(ndim - named)
    widest = max((s for s, labels in zip(spans, given, strict=True) if None in labels), default=0)
    dots = tuple(range(_ELLIPSIS, _ELLIPSIS + widest))

    def expand(labels: list[int | None], span: int) -> _Labels:
        out: list[int] = []
        for label in labels:
            if label is None:
                out.extend(dots[widest - span :])
            else:
                out.append(label)
        return tuple(out)

    operands = tuple(expand(labels, s) for labels, s in zip(given, spans, strict=True))
    if result is None:
        counts: dict[int, int] = {}
        for row in operands:
            for used in row:
                counts[used] = counts.get(used, 0) + 1
        once = sorted(label for label, n in counts.items() if n == 1 and label < _ELLIPSIS)
        return operands, (*dots, *once)
    known = {label for labels in operands for label in labels}
    seen = set()
    for label in result:
        if label is None:
            continue
        if label in seen:
            raise RuntimeError(
                f"einsum(): output subscript {_letter(label)} appears more than once in the output"
            )
        if label not in known:
            raise RuntimeError(
                f"einsum(): output subscript {_letter(label)} does not appear in the equation for "
                "any input operand"
            )
        seen.add(label)
    return operands, expand(result, widest)


def _without_repeats(t: Tensor, labels: _Labels, operand: int) -> tuple[Any, _Labels]:
    """The diagonal over labels that appear twice in one operand."""
    while len(set(labels)) != len(labels):
        first = next(i for i, label in enumerate(labels) if labels.count(label) > 1)
        second = labels.index(labels[first], first + 1)
        if t.shape[first] != t.shape[second]:
            raise RuntimeError(
                f"einsum(): subscript {_letter(labels[first])} is repeated for operand {operand} "
                "but the sizes "
                f"don't match, {t.shape[second]} != {t.shape[first]}"
            )
        t = t.diagonal(0, first, second)
        rest = [label for i, label in enumerate(labels) if i not in (first, second)]
        labels = (*rest, labels[first])
    return t, labels


def _check_sizes(tensors: list[Tensor], operands: list[_Labels]) -> None:
    sizes: dict[int, int] = {}
    for i, (t, labels) in enumerate(zip(tensors, operands, strict=True)):
        for label, size in zip(labels, t.shape, strict=True):
            before = sizes.get(label, 1)
            if size != 1 and before not in (1, size):
                raise RuntimeError(
                    f"einsum(): subscript {_letter(label)} has size {size} for operand {i} which "
                    "does not broadcast "
                    f"with previously seen size {before}"
                )
            if size != 1 or label not in sizes:
                sizes[label] = size


def _sum_out(t: Tensor, labels: _Labels, kept: set[int]) -> tuple[Any, _Labels]:
    gone = [i for i, label in enumerate(labels) if label not in kept]
    if not gone:
        return t, labels
    return t.sum(gone), tuple(label for label in labels if label in kept)


def _squeeze(
    t: Tensor, labels: _Labels, other: Tensor, other_labels: _Labels
) -> tuple[Any, _Labels]:
    """Drop dimensions of size 1 that the other operand has larger: they broadcast."""
    for label in labels:
        if label in other_labels:
            i = labels.index(label)
            if t.shape[i] == 1 and other.shape[other_labels.index(label)] != 1:
                t = t.squeeze(i)
                labels = labels[:i] + labels[i + 1 :]
    return t, labels


def _pair(a: Tensor, la: _Labels, b: Tensor, lb: _Labels, kept: set[int]) -> tuple[Any, _Labels]:
    """Multiply two operands and sum what neither the result nor a later operand wants."""
    a, la = _squeeze(a, la, b, lb)
    b, lb = _squeeze(b, lb, a, la)
    a, la = _sum_out(a, la, kept | set(lb))
    b, lb = _sum_out(b, lb, kept | set(la))
    shared = [label for label in la if label in lb]
    batch = [label for label in shared if label in kept]
    summed = [label for label in shared if label not in kept]
    only_a = [label for label in la if label not in lb]
    only_b = [label for label in lb if label not in la]
    size_a = dict(zip(la, a.shape, strict=True))
    size_b = dict(zip(lb, b.shape, strict=True))
    out = (*batch, *only_a, *only_b)
    left = a.permute([la.index(x) for x in (*batch, *only_a, *summed)])
    right_order = (*batch, *summed, *only_b) if summed else (*batch, *only_b)
    right = b.permute([lb.index(x) for x in right_order])
    if not summed:
        left = left.reshape([*(size_a[x] for x in (*batch, *only_a)), *(1 for _ in only_b)])
        right = right.reshape(
            [*(size_b[x] for x in batch), *(1 for _ in only_a), *(size_b[x] for x in only_b)]
        )
        return left * right, out
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected scalar type {a.dtype.scalar_name} but found {b.dtype.scalar_name}"
        )
    n, m = math.prod(size_a[x] for x in batch), math.prod(size_a[x] for x in only_a)
    k, p = math.prod(size_a[x] for x in summed), math.prod(size_b[x] for x in only_b)
    if batch:
        product = left.reshape(n, m, k).bmm(right.reshape(n, k, p))
    else:
        product = left.reshape(m, k).mm(right.reshape(k, p))
    shape = [*(size_a[x] for x in (*batch, *only_a)), *(size_b[x] for x in only_b)]
    return product.reshape(shape), out


def _by_lists(args: tuple[Any, ...]) -> tuple[list[Any], tuple[tuple[_Labels, ...], _Labels]]:
    """einsum(a, [0, 1], b, [1, 2], [0, 2])."""

    def read(items: Any, what: str) -> list[int | None]:
        labels: list[int | None] = []
        for item in items:
            if item is Ellipsis:
                labels.append(None)
            elif item >= 0 and item < _ELLIPSIS:
                labels.append(item)
            else:
                raise ValueError(
                    f"einsum(): subscript {item} in {what} is not within the valid range [0, 52)"
                )
        return labels

    tensors, given = [], []
    result = read(args[-1], "the output") if len(args) % 2 else None
    for i in range(0, len(args) - len(args) % 2, 2):
        tensors.append(args[i])
        given.append(read(args[i + 1], f"operand {i // 2}"))
    return tensors, _finish(given, tuple(t.ndim for t in tensors), result)


@functools.lru_cache(maxsize=512)
def _as_product(la: _Labels, lb: _Labels, result: _Labels) -> tuple[bool, bool] | None:
    """Whether two operands make a (stacked) product of matrices, or of a matrix and a vector: which
    of them is to be turned."""
    n = len(la)
    if n == 2 and len(lb) == len(result) == 1 and lb != result and {*la} == {*lb, *result}:
        return la[0] != result[0], False
    if n < 2 or len(lb) != n or len(result) != n or len({*la, *lb}) != n + 1:
        return None
    batch, (i, j) = result[:-2], result[-2:]
    if la[:-2] != batch or lb[:-2] != batch or i not in la[-2:] or j not in lb[-2:]:
        return None
    k = la[-1] if la[-2] == i else la[-2]
    if k not in lb[-2:] or k in result or i == j:
        return None
    return la[-1] == i, lb[-1] == k


@composite(method=False, autocast="low")
def einsum(*args: Any) -> Tensor:
    """The sum of products that the equation's subscripts describe: einsum('bij,bjk->bik', x, y)."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its "
            "subscripts list"
        )
    equation = args[0]
    if isinstance(equation, str):
        tensors = (
            list(args[1])
            if len(args) == 2 and isinstance(args[1], (list, tuple))
            else list(args[1:])
        )
        for i, t in enumerate(tensors):
            if not isinstance(t, _core.Tensor):
                raise TypeError(
                    f"expected Tensor as element {i} in argument 1, but got {type(t).__name__}"
                )
        operands, result = _plan(equation, tuple([t.ndim for t in tensors]))
    else:
        tensors, (operands, result) = _by_lists(args)
    if len(tensors) == 2:
        # The commonest case by far: a product of matrices, or of stacks of them.
        (a, b), (la, lb) = tensors, operands
        turned = _as_product(la, lb, result) if a.dtype is b.dtype else None
        if turned is not None:
            x, y = a.mT if turned[0] else a, b.mT if turned[1] else b
            if x.shape[-1:] == y.shape[-2:][:1] and x.shape[:-2] == y.shape[:-2]:
                return viewed_product(x, y)
    labels = list(operands)
    for i, t in enumerate(tensors):
        tensors[i], labels[i] = _without_repeats(t, labels[i], i)
    _check_sizes(tensors, labels)
    t, have = tensors[0], labels[0]
    for i in range(1, len(tensors)):
        kept = set(result).union(*labels[i + 1 :])
        t, have = _pair(t, have, tensors[i], labels[i], kept)
    t, have = _sum_out(t, have, set(result))
    if have != result or (len(tensors) == 1 and len(have) == len(labels[0])):
        t = t.permute([have.index(x) for x in result])
    return t


__all__ = ["einsum"]
