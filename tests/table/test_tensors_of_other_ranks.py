"""Every op with one of its tensors replaced by a number without dimensions, by an empty tensor, or
by one that has a dimension more: an answer, or a refusal in words; nothing is read beyond a tensor
(`make sanitize` sees that)."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
from cases import REFUSALS, SAMPLED, Call, calls

import rushlight as torch

OTHERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "number": lambda t: t.detach().reshape(-1)[:1].reshape(()),
    "empty": lambda t: t.detach().reshape(-1)[:0],
    "wider": lambda t: t.detach().unsqueeze(0),
}


def with_other(call: Call, at: int, other: Callable[[torch.Tensor], torch.Tensor]) -> Call | None:
    tensors = call.tensors
    if not tensors[at].numel():
        return None
    tensors[at] = other(tensors[at])
    return call.having(tensors)


@pytest.mark.parametrize("name", SAMPLED)
def test_an_answer_or_a_refusal(name: str) -> None:
    for call in calls(name)[:2]:
        for at in range(len(call.tensors)):
            for other in OTHERS.values():
                changed = with_other(call, at, other)
                if changed is None:
                    continue
                with warnings.catch_warnings(action="ignore"):
                    try:
                        changed.outputs()
                    except (*REFUSALS, IndexError, AssertionError) as refusal:
                        assert str(refusal), f"{changed!r}: {type(refusal).__name__} without words"
