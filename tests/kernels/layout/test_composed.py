"""Functions whose arguments a kernel works out, which then calls other ops; the copies of small
blocks that some of them make; sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as torch

x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


def same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize(
    ("source", "destination"), [(0, 2), (-1, 0), ((0, 1), (2, 0)), ((), ()), ((2, 0, 1), (0, 1, 2))]
)
def test_dimensions_are_moved(source: Any, destination: Any) -> None:
    moved = torch.from_numpy(x).movedim(source, destination)
    same(moved, np.moveaxis(x, source, destination))
    assert moved._base is not None


@pytest.mark.parametrize("cuts", [1, 2, 3, 5, (1, 2), (), (2, 1), (-1,), (9,)])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_pieces_are_those_of_numpy(cuts: Any, dim: int) -> None:
    pieces = torch.from_numpy(x).tensor_split(cuts, dim)
    expected = np.array_split(x, cuts, dim)
    assert len(pieces) == len(expected)
    for found, piece in zip(pieces, expected, strict=True):
        same(found, piece)


def test_pieces_are_parts_of_the_graph_and_of_the_memory() -> None:
    leaf = torch.from_numpy(x.copy()).requires_grad_()
    first, second = leaf.hsplit([1])
    assert first.grad_fn is not None and first.grad_fn.name() == "SliceBackward0"
    assert second._base is leaf
    (first.sum() + 2 * second.sum()).backward()
    assert leaf.grad is not None
    same(leaf.grad, np.where(np.arange(3)[:, None] < 1, 1.0, 2.0) * np.ones_like(x))


def test_a_batched_tensor_is_moved_and_cut_within_its_elements() -> None:
    t = torch.from_numpy(x)
    same(torch.vmap(lambda a: a.movedim(0, 1))(t), np.moveaxis(x, 1, 2))
    same(torch.vmap(lambda a: a.flatten())(t), x.reshape(2, 12))
    same(torch.vmap(lambda a: a.unflatten(1, (2, 2)))(t), x.reshape(2, 3, 2, 2))
    same(torch.vmap(lambda a: torch.hstack((a, a)))(t), np.concatenate((x, x), 2))
    same(torch.vmap(lambda a: a.tensor_split(2)[0])(t), x[:, :2])


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.movedim((0, 0), (1, 2)),
        lambda t: t.unflatten(0, (2**40, 2**40)),
        lambda t: t.unflatten(1, (-1, -1)),
        lambda t: t.tensor_split(0),
        lambda t: t.tensor_split(2**62),
        lambda t: t.hsplit(2),
        lambda t: t.flatten(2, 1),
        lambda t: t.sum_to_size(2, 2, 4),
        lambda t: torch.hstack([]),
        lambda t: torch.nn.functional.pixel_shuffle(t, 2**31),
        lambda t: torch.nn.functional.channel_shuffle(t, 2),
    ],
)
def test_a_wrong_value_is_an_error(call: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError):
        call(torch.from_numpy(x))


def test_a_meta_tensor_has_the_shape_of_the_result() -> None:
    t = torch.empty(2, 4, 6, device="meta")
    assert t.flatten(1).shape == (2, 24) and t.hsplit(2)[1].shape == (2, 2, 6)
    assert torch.nn.functional.pixel_unshuffle(t, 2).shape == (8, 2, 3)
    assert torch.hstack((t, t)).shape == (2, 8, 6) and t.diff().shape == (2, 4, 5)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(70, 4, 2, 3), (70, 4, 3, 2), (9, 2, 2, 2, 2), (3, 5, 7, 2)])
def test_small_blocks_are_copied_in_any_order(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for order in ((0, 2, 3, 1), (0, 3, 1, 2), (1, 0, 3, 2), (2, 1, 0, 3), (0, 2, 1, 3)):
        axes = (*order, *range(4, len(shape)))
        same(torch.from_numpy(array).permute(axes).contiguous(), array.transpose(axes))
        every = tuple(slice(None, None, 1 + i % 2) for i in range(len(shape)))
        same(
            torch.from_numpy(array)[every].permute(axes).contiguous(), array[every].transpose(axes)
        )


def test_rows_of_several_lengths_are_joined() -> None:
    parts = [np.arange(40.0).reshape(5, 8) + k for k in range(3)]
    pieces = [parts[0], parts[1][:, :1].copy(), parts[2][:, :0].copy(), parts[2]]
    same(torch.cat([torch.from_numpy(p) for p in pieces], 1), np.concatenate(pieces, 1))


def test_a_slice_or_a_sum_of_sizes_is_a_size() -> None:
    size, five, words = torch.zeros(2, 3, 4).shape, (5,), ("a",)
    for made in (size[1:], size[::-1], size + five, five + size, size + torch.Size([1])):
        assert type(made) is torch.Size
    assert size[-1] == 4 and five + size == (5, 2, 3, 4) and size[:0] == ()
    for wrong, said in (([1], "can only concatenate tuple"), (words, "iterable of 'int'")):
        with pytest.raises(TypeError, match=said):
            size + wrong
    with pytest.raises(IndexError):
        size[3]


def test_elements_come_as_lists() -> None:
    assert torch.tensor([[1, 2], [3, 4]]).t().tolist() == [[1, 3], [2, 4]]
    assert torch.zeros(2, 0).tolist() == [[], []] and torch.tensor(True).tolist() is True
    assert torch.tensor([0.5], dtype=torch.float16).tolist() == [0.5]
    assert torch.tensor([1j]).conj().tolist() == [-1j]


@pytest.mark.filterwarnings("ignore:Setting the .* on a NumPy array")  # what is tried here
def test_an_array_keeps_its_shape_when_the_programs_changes() -> None:
    array = np.zeros((2, 3), np.float32)
    tensor = torch.from_numpy(array)
    array.shape = (6,)
    array[0] = 1
    assert tensor.shape == (2, 3) and tensor[0, 0] == 1 and tensor.numpy().shape == (2, 3)
