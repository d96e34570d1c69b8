"""`rearrange`: a tensor's dimensions by name, "b (h w) -> b h w"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rushlight import _root as rl
from rushlight._root import Tensor

__all__ = ["rearrange"]

_WORD = re.compile(r"\.\.\.|\(|\)|\w+|\S")
Axes = list[list[str]]  # each dimension as the axes that it is made of; [] has size 1


def _axes(side: str, whole: str) -> Axes:
    """One side of a pattern."""
    found: Axes = []
    group: list[str] | None = None
    for word in _WORD.findall(side):
        if word == "(" and group is None:
            group = []
        elif word == ")" and group is not None:
            found.append(group)
            group = None
        elif word == "..." or word.isidentifier() or word == "1":
            each = [] if word == "1" else [word]
            if group is None:
                found.append(each)
            else:
                group += each
        else:
            raise ValueError(f"Unknown token or misplaced parenthesis {word!r} in {whole!r}")
    if group is not None:
        raise ValueError(f"A parenthesis is not closed in {whole!r}")
    flat = [axis for each in found for axis in each]
    for axis in flat:
        if flat.count(axis) > 1:
            raise ValueError(f"Indexing expression contains duplicate dimension {axis!r}")
    return found


def _sizes(left: Axes, shape: Sequence[int], lengths: dict[str, int]) -> dict[str, int]:
    """The size of each axis of the left side."""
    sizes = dict(lengths)
    for axes, size in zip(left, shape, strict=True):
        unknown = [axis for axis in axes if axis not in sizes]
        known = 1
        for axis in axes:
            known *= sizes.get(axis, 1)
        if len(unknown) > 1:
            raise ValueError(f"Could not infer sizes for {sorted(unknown)}: name all but one")
        if (not unknown and known != size) or (unknown and (not known or size % known)):
            raise ValueError(f"Shape mismatch, can't divide axis of length {size} in {axes}")
        for axis in unknown:
            sizes[axis] = size // known
    return sizes


def rearrange(
    tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int
) -> Tensor:
    """The dimensions of a tensor in another order, taken apart or put together, by a pattern.

    pattern: names on both sides of "->"; parentheses make several names one dimension, "..." stands
    for all others, 1 for a dimension of size 1. axes_lengths: sizes that cannot be inferred. A list
    of tensors is stacked first. Raises ValueError where the pattern does not fit.

    >>> torch.func.rearrange(torch.tensor([[1, 2, 3], [4, 5, 6]]), "a b -> b a")
    tensor([[1, 4],
            [2, 5],
            [3, 6]])
    """
    x: Tensor = rl.stack(list(tensor)) if isinstance(tensor, (list, tuple)) else tensor
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"The pattern {pattern!r} needs one '->'")
    left, right = (_axes(side, pattern) for side in sides)
    if ["..."] in left:
        at, rest = left.index(["..."]), x.ndim - (len(left) - 1)
        if rest < 0:
            raise ValueError(f"{pattern!r} names more dimensions than the {x.ndim} of the tensor")
        others = [f".{i}" for i in range(rest)]
        left[at : at + 1] = [[axis] for axis in others]
        for i, axes in reversed(list(enumerate(right))):
            if axes == ["..."]:
                right[i : i + 1] = [[axis] for axis in others]
            elif "..." in axes:
                k = axes.index("...")
                right[i] = [*axes[:k], *others, *axes[k + 1 :]]
    names = [{axis for axes in side for axis in axes} for side in (left, right)]
    if names[0] != names[1]:
        raise ValueError(
            "Identifiers only on one side of rearrange expression (should be on both): "
            f"{names[0] ^ names[1]}"
        )
    unused = set(axes_lengths) - names[0]
    if unused:
        raise ValueError(f"Axis lengths are given for {sorted(unused)}, which the pattern has not")
    if len(left) != x.ndim:
        raise ValueError(
            f"Number of dimensions in pattern ({len(left)}) must be equal to the number of "
            f"dimensions in the tensor ({x.ndim})"
        )
    sizes = _sizes(left, x.shape, axes_lengths)
    order = [axis for axes in left for axis in axes]
    wanted = [axis for axes in right for axis in axes]
    result = x.reshape([sizes[axis] for axis in order])
    result = result.permute([order.index(axis) for axis in wanted]) if wanted else result
    shape = []
    for axes in right:
        size = 1
        for axis in axes:
            size *= sizes[axis]
        shape.append(size)
    return result.reshape(shape)
