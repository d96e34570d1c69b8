"""Trees of containers: flat and back, prefixes, and what the transforms accept."""

import collections

import pytest

import rushlight as torch
from rushlight.utils import _pytree as tree

Pair = collections.namedtuple("Pair", "a b")

TREES = [
    1,
    (1, [2, {"k": 3}]),
    Pair(1, (2, 3)),
    collections.OrderedDict(x=1, y=[2]),
    collections.deque([1, 2], maxlen=5),
    (),
    None,
]


@pytest.mark.parametrize("value", TREES, ids=repr)
def test_round_trip(value) -> None:
    leaves, spec = tree.tree_flatten(value)
    again = tree.tree_unflatten(leaves, spec)
    assert again == value and type(again) is type(value)
    assert spec == tree.tree_structure(again) and spec.num_leaves == len(leaves)


def test_map() -> None:
    assert tree.tree_map(lambda a, b: a + b, {"x": (1, 2)}, {"x": (10, 20)}) == {"x": (11, 22)}
    assert tree.tree_map_only(int, lambda a: -a, [1, "s"]) == [-1, "s"]


def test_own_containers() -> None:
    class Box:
        def __init__(self, item):
            self.item = item

    tree.register_pytree_node(Box, lambda b: ([b.item], None), lambda c, _: Box(c[0]))
    found = torch.func.grad(lambda b: (b.item**2).sum())(Box(torch.tensor([3.0])))
    assert isinstance(found, Box) and found.item.tolist() == [6.0]


def test_prefixes() -> None:
    _, spec = tree.tree_flatten(((1, 2), {"k": 3}))
    assert tree.broadcast_to_and_flatten((0, None), spec) == [0, 0, None]
    assert tree.broadcast_to_and_flatten((0, 1, 2), spec) is None


def test_wrong_number_of_leaves() -> None:
    _, spec = tree.tree_flatten((1, 2))
    with pytest.raises(
        ValueError, match="has length 1 but the spec refers to a pytree that holds 2"
    ):
        tree.tree_unflatten([1], spec)
