"""Private names of torch and of torch.ops.aten that are a few lines over public ones."""

import math

import pytest

import rushlight as rl

aten = rl.ops.aten
X = rl.arange(6.0).reshape(2, 3)


def test_chunks_are_filled_and_laid_side_by_side() -> None:
    found = rl._chunk_cat([X, X[:1]], 0, 2)
    assert found.tolist() == [[0, 1, 2, 0, 1, 2], [3, 4, 5, 0, 0, 0]]
    assert rl._chunk_cat([rl.arange(5)], 0, 3).tolist() == [[0, 1], [2, 3], [4, 0]]


@pytest.mark.parametrize(
    "given", [([], 0, 2), ([X], 0, 0), ([X, X.double()], 0, 2), ([X[:0]], 0, 2)]
)
def test_chunks_of_nothing_are_refused(given: tuple) -> None:
    with pytest.raises(RuntimeError, match="_chunk_cat expects"):
        rl._chunk_cat(*given)


def test_a_masked_index_may_lie_outside() -> None:
    mask, place = rl.tensor([True, False, True]), [rl.tensor([0, 7, -9]), rl.tensor([9, 7, -9])]
    assert rl._unsafe_masked_index(X, mask, place, 5).tolist() == [2, 5, 0]
    added = rl._unsafe_masked_index_put_accumulate(X, mask, place, rl.tensor([10.0, 20, 30]))
    assert added.tolist() == [[30, 1, 12], [3, 4, 5]]


def test_safe_softmax_of_a_row_of_minus_infinity() -> None:
    x = rl.tensor([[0.0, -math.inf], [-math.inf, -math.inf]], requires_grad=True)
    found = aten._safe_softmax(x, -1)
    assert found.tolist() == [[1, 0], [0, 0]]
    found.square().sum().backward()
    assert x.grad.tolist() == [[0, 0], [0, 0]]


def test_slice() -> None:
    assert aten.slice.Tensor(X, 1, 0, None, 2).tolist() == [[0, 2], [3, 5]]
    with pytest.raises(RuntimeError, match="slice step must be positive"):
        aten.slice(X, 0, 0, 1, 0)


def test_an_index_outside_the_plane_is_refused() -> None:
    g, where = rl.ones(1, 1, 1), rl.full((1, 1, 1), 3)
    call = aten.max_pool2d_with_indices_backward
    plane = rl.ones(1, 2, 2)
    assert call(g, plane, [2], [], [0], [1], False, where).tolist() == [[[0, 0], [0, 1]]]
    with pytest.raises(RuntimeError, match="outside the plane"):
        call(g, plane, [2], [], [0], [1], False, where + 1)


def test_statistics_of_a_group_have_gradients() -> None:
    x = rl.randn(2, 4, 3, dtype=rl.float64, requires_grad=True)
    assert rl.autograd.gradcheck(
        lambda x: rl.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)[1:], x
    )


def test_complex_of_halves() -> None:
    half = rl.tensor([1.0, 2.0], dtype=rl.float16)
    assert rl.complex(half, half * 2).tolist() == [1 + 2j, 2 + 4j]
    assert rl.view_as_complex(rl.zeros(0, 2)).shape == (0,)
