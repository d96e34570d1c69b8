"""Every row of the table is complete, and what it names exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import DIFFERENTIABLE, OPS, Call, calls, tensor_of

import rushlight as torch
from rushlight.ops.table.names import namespace
from rushlight.ops.table.statement import node_name

# What the engine and the rules call; not for programs.
INTERNAL = frozenset(["alias", "strided_view", "sum_to"])
PUBLIC = [n for n in OPS if not n.startswith("_") and not n.endswith("_") and n not in INTERNAL]

# The class names of PyTorch 2.13's nodes, one a line.
NODES = (Path(__file__).parents[1] / "data" / "node_names.txt").read_text().split()


@pytest.mark.parametrize("name", list(OPS))
def test_a_row_is_complete(name: str) -> None:
    entry = OPS[name]
    assert entry.doc and entry.doc.strip(), f"'{name}' has no doc"
    assert entry.function.__doc__, f"'{name}': the function has no docstring"
    if entry.kind != "composite":
        assert entry.function.__doc__.startswith(f"{name}(")
        assert entry.signature.startswith(f"{name}(")
        # A step of another op's rule (its transpose, say) is run by that op's second derivative.
        unseen = entry.rules and entry.samples is None and not name.startswith("_")
        assert not unseen, f"'{name}' has rules and no samples"
    if name in PUBLIC:
        is_found_under_its_name(name)


def is_found_under_its_name(name: str) -> None:
    entry = OPS[name]
    if name in namespace(entry.namespace):
        assert callable(namespace(entry.namespace)[name])
    else:
        # `x.view(...)`, `x.float()`: methods only.
        assert "method" in entry.forms
    if "method" in entry.forms:
        assert callable(getattr(torch.Tensor, name))
    if "in_place" in entry.forms:
        form = getattr(torch.Tensor, name + "_")
        # A function of its own where the in-place form refuses more than the op does (abs_).
        assert form.__doc__ and getattr(form, "base", entry.function) is entry.function


def recorded(call: Call) -> list[torch.Tensor]:
    leaves = [tensor_of(call.tensors[i]._array).requires_grad_() for i in call.leaves]
    return [o for o in call.replaced(leaves).outputs() if o.requires_grad and not o.is_leaf]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_node_names(name: str) -> None:
    """The class of grad_fn is one of PyTorch's, or of a step that PyTorch does not have."""
    for call in calls(name):
        for out in recorded(call):
            node = type(out.grad_fn).__name__
            own = name.startswith("_") and node == node_name(name)
            assert own or node in NODES, f"PyTorch has no {node}"
