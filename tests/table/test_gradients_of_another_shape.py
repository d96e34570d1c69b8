"""A hook that gives a gradient another shape in place: the backward works or refuses, as PyTorch
does with RuntimeError; no rule and no kernel reads past what came, or answers with SystemError."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import DIFFERENTIABLE, calls, plain, tensors_in

import rushlight as torch

CHANGES: dict[str, Callable[[Any], Any]] = {
    "longer": lambda g: setattr(g, "data", torch.ones(7, dtype=g.dtype)),
    "empty": lambda g: setattr(g, "data", torch.ones(0, 3, dtype=g.dtype)),
    "number": lambda g: setattr(g, "data", torch.ones((), dtype=g.dtype)),
    "wider": lambda g: setattr(g, "data", torch.ones(2, *g.shape, dtype=g.dtype)),
    "resized": lambda g: g.resize_(5) and None,
    "type": lambda g: setattr(g, "data", g.data.to(torch.int16)),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_backward_works_or_refuses(name: str) -> None:
    for change in CHANGES.values():
        for call in calls(name)[:2]:
            tensors = call.tensors
            for i in call.leaves:
                tensors[i] = torch.from_numpy(np.array(tensors[i]._array)).requires_grad_()
            with warnings.catch_warnings(action="ignore"):
                outputs = [t for t in tensors_in(plain(call.having(tensors).run())) if t.grad_fn]
                for t in outputs:
                    t.register_hook(change)
                try:
                    torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])
                except (
                    RuntimeError,
                    IndexError,
                    NotImplementedError,
                    ValueError,
                    TypeError,
                ) as error:
                    assert str(error)
