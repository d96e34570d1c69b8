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


@functools.lru_cache(maxsize=512)
def _repeated(labels: _Labels) -> tuple[int, int, _Labels] | None:
    """The first two places of a label that appears twice, and the labels of its diagonal."""
    for second, label in enumerate(labels):
        first = labels.index(label)
        if first != second:
            rest = [x for i, x in enumerate(labels) if i not in (first, second)]
            return first, second, (*rest, label)
    return None


def _without_repeats(t: Tensor, labels: _Labels, operand: int) -> tuple[Any, _Labels]:
    """The diagonal over labels that appear twice in one operand."""
    while repeated := _repeated(labels):
        first, second, rest = repeated
        if t.shape[first] != t.shape[second]:
            raise RuntimeError(
                f"einsum(): subscript {_letter(labels[first])} is repeated for operand {operand} "
                "but the sizes "
                f"don't match, {t.shape[second]} != {t.shape[first]}"
            )
        t = t.diagonal(0, first, second)
        labels = rest
    return t, labels


def _broadcasts(tensors: list[Tensor], operands: list[_Labels]) -> bool:
    """Whether a label has size 1 in one operand and more in another."""
    sizes: dict[int, int] = {}
    found = False
    for i, (t, labels) in enumerate(zip(tensors, operands, strict=True)):
        for label, size in zip(labels, t.shape, strict=True):
            before = sizes.setdefault(label, size)
            if before == size:
                continue
            found = True
            if size != 1 and before != 1:
                raise RuntimeError(
                    f"einsum(): subscript {_letter(label)} has size {size} for operand {i} which "
                    "does not broadcast "
                    f"with previously seen size {before}"
                )
            sizes[label] = max(size, before) if size and before else 0
    return found


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


@functools.lru_cache(maxsize=512)
def _orders(la: _Labels, lb: _Labels, later: tuple[_Labels, ...]) -> tuple[Any, ...]:
    """Of two operands the labels to sum first, the permutations of the rest, and how many labels
    are shared and wanted `later`, of either alone, and summed; and the labels of the product."""
    kept = {label for labels in later for label in labels}
    gone_a = [i for i, label in enumerate(la) if label not in kept and label not in lb]
    gone_b = [i for i, label in enumerate(lb) if label not in kept and label not in la]
    la = tuple(label for i, label in enumerate(la) if i not in gone_a)
    lb = tuple(label for i, label in enumerate(lb) if i not in gone_b)
    batch = [label for label in la if label in lb and label in kept]
    summed = [label for label in la if label in lb and label not in kept]
    only_a, only_b = ([label for label in x if label not in y] for x, y in ((la, lb), (lb, la)))
    left, right = (*batch, *only_a, *summed), (*batch, *summed, *only_b)
    turn_a = None if left == la else [la.index(label) for label in left]
    turn_b = None if right == lb else [lb.index(label) for label in right]
    counts = len(batch), len(only_a), len(only_b), len(summed)
    return gone_a, gone_b, turn_a, turn_b, counts, (*batch, *only_a, *only_b)


def _pair(
    a: Tensor, la: _Labels, b: Tensor, lb: _Labels, later: tuple[_Labels, ...], broadcasts: bool
) -> tuple[Any, _Labels]:
    """Multiply two operands and sum what neither the result nor a later operand wants."""
    if broadcasts:
        a, la = _squeeze(a, la, b, lb)
        b, lb = _squeeze(b, lb, a, la)
    gone_a, gone_b, turn_a, turn_b, counts, out = _orders(la, lb, later)
    batch, only_a, only_b, summed = counts
    a, b = a.sum(gone_a) if gone_a else a, b.sum(gone_b) if gone_b else b
    left = a if turn_a is None else a.permute(turn_a)
    right = b if turn_b is None else b.permute(turn_b)
    head, tail = left.shape[: batch + only_a], right.shape[batch + summed :]
    if not summed:
        if only_b:
            left = left.reshape(*head, *(1,) * only_b)
        if batch and only_a:
            right = right.reshape(*head[:batch], *(1,) * only_a, *tail)
        return left * right, out
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected scalar type {a.dtype.scalar_name} but found {b.dtype.scalar_name}"
        )
    n, m, p = math.prod(head[:batch]), math.prod(head[batch:]), math.prod(tail)
    k = math.prod(left.shape[batch + only_a :])
    if batch:
        product = left.reshape(n, m, k).bmm(right.reshape(n, k, p))
    else:
        product = left.reshape(m, k).mm(right.reshape(k, p))
    return product.reshape([*head, *tail]), out


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
        if la + lb == result and a.dtype is b.dtype:
            return a.reshape(*a.shape, *[1] * b.ndim) * b
    labels = list(operands)
    for i, t in enumerate(tensors):
        tensors[i], labels[i] = _without_repeats(t, labels[i], i)
    broadcasts = _broadcasts(tensors, labels)
    t, have = tensors[0], labels[0]
    for i in range(1, len(tensors)):
        later = (result, *labels[i + 1 :])
        t, have = _pair(t, have, tensors[i], labels[i], later, broadcasts)
    t, have = _sum_out(t, have, set(result))
    if have != result or (len(tensors) == 1 and len(have) == len(labels[0])):
        t = t.permute([have.index(x) for x in result])
    return t


__all__ = ["einsum"]
