"""Nested tensors of jagged layout: what a model does with them is what it does with each part."""

from __future__ import annotations

import copy
import pickle

import pytest

import rushlight as torch
from rushlight import nn

PARTS = [torch.arange(8.0).reshape(2, 4).sin(), torch.arange(20.0).reshape(5, 4).cos()]


def made(parts=PARTS):
    return torch.nested.as_nested_tensor(parts, layout=torch.jagged)


def test_shape_and_parts():
    n = made()
    assert (n.dim(), n.size(0), n.size(2), len(n), n.numel()) == (3, 2, 4, 2, 28)
    assert n.is_nested and n.layout is torch.jagged and repr(n.size(1)) == "j1"
    assert n.offsets().tolist() == [0, 2, 7] and n.values().shape == (7, 4)
    assert repr(n).startswith("NestedTensor(size=(2, j1, 4), offsets=tensor([0, 2, 7])")
    assert all(torch.equal(a, b) for a, b in zip(n.unbind(), PARTS, strict=True))
    assert type(n.values()) is torch.Tensor


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n))])
def test_copies(copied):
    again = copied(made())
    assert type(again) is type(made()) and torch.equal(again.values(), made().values())


def test_a_model_does_to_all_what_it_does_to_each():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 4))
    many, one = (copy.deepcopy(model) for _ in range(2))
    (many(made()).sum(1) ** 2).sum().backward()
    sum((one(part).sum(0) ** 2).sum() for part in PARTS).backward()
    for a, b in zip(many.parameters(), one.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_attention_is_that_of_each_part():
    def attend(q):
        heads = q.unflatten(-1, (2, 2)).transpose(-3, -2)
        found = nn.functional.scaled_dot_product_attention(heads, heads, heads)
        return found.transpose(-3, -2).flatten(-2)

    for found, part in zip(attend(made()).unbind(), PARTS, strict=True):
        torch.testing.assert_close(found, attend(part))


def test_gradients_reach_the_parts():
    leaves = [part.clone().requires_grad_() for part in PARTS]
    padded = (made(leaves) * 2).to_padded_tensor(7.0)
    assert padded.shape == (2, 5, 4) and (padded[0, 2:] == 7).all()
    padded.sum().backward()
    assert all((leaf.grad == 2).all() for leaf in leaves)
    own = torch.nested.nested_tensor(PARTS, layout=torch.jagged, requires_grad=True)
    (own * own).sum().backward()
    assert own.grad.is_nested and torch.equal(own.grad.values(), 2 * own.values().detach())


@pytest.mark.parametrize(
    "call",
    [
        lambda n: n.cumsum(1),
        lambda n: torch.fft.fft(n),
        lambda n: n.numpy(),
        lambda n: n.transpose(0, 1),
        lambda n: n[:, 0],
        lambda n: torch.cat([n, n]),
        lambda n: n.T,
        lambda n: torch.nested.nested_tensor(PARTS),
        lambda n: torch.nested.narrow(n, 0, 0, 1),
    ],
)
def test_the_rest_is_refused(call):
    with pytest.raises((NotImplementedError, RuntimeError), match="not"):
        call(made())


def test_parts_with_holes_between_them():
    rows = torch.arange(12.0).reshape(2, 6).requires_grad_()
    starts, lengths = torch.tensor([0, 2]), torch.tensor([3, 2])
    nested = torch.nested.narrow(rows, 1, starts, lengths, layout=torch.jagged)
    assert nested.values().data_ptr() == rows.data_ptr() and nested.lengths() is lengths
    (nested * 2).contiguous().values().sum().backward()
    assert rows.grad.tolist() == [[2, 2, 2, 0, 0, 0], [0, 0, 2, 2, 0, 0]]
    for call in (nested.sum, lambda: nested.softmax(1), lambda: nested * torch.ones(2, 1)):
        with pytest.raises(RuntimeError, match="with holes: call contiguous"):
            call()
    with pytest.raises(RuntimeError, match="within the size 6 of dim 1"):
        torch.nested.narrow(rows, 1, starts, torch.tensor([3, 5]), layout=torch.jagged)


def test_offsets_fit_the_values():
    for offsets in ([0, 2, 8], [1, 7], [0, 5, 2, 7]):
        with pytest.raises(RuntimeError, match="offsets rise from 0"):
            torch.nested.nested_tensor_from_jagged(torch.ones(7, 4), torch.tensor(offsets))
    with pytest.raises(RuntimeError, match="whose offsets differ"):
        made() + made(PARTS[::-1])
