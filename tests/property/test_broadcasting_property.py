"""Broadcasting against NumPy: shapes, values, gradients summed back, refusals."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from _subject import torch

BOUNDED = settings(max_examples=120, deadline=None, derandomize=True, database=None)


@st.composite
def compatible(draw, count=2):
    """Shapes that broadcast together: a common shape, each with dims dropped or set to 1."""
    full = draw(st.lists(st.integers(0, 4), max_size=4))
    found = []
    for _ in range(count):
        start = draw(st.integers(0, len(full)))
        ones = draw(st.lists(st.booleans(), min_size=len(full), max_size=len(full)))
        found.append(tuple(1 if one else n for n, one in zip(full, ones, strict=True))[start:])
    return found


def values(shape, seed):
    return np.random.default_rng(seed).normal(size=shape)


def laid_out(array, how):
    """The same values in another memory layout."""
    if how == 1:
        return np.asfortranarray(array)
    if how == 2 and array.ndim:
        spaced = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
        spaced[..., ::2] = array
        return spaced[..., ::2]
    return array


OPERATIONS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "lt": np.less,
    "atan2": np.arctan2,
}  # fmt: skip


@BOUNDED
@given(compatible(), st.sampled_from(sorted(OPERATIONS)), st.integers(0, 2), st.integers(0, 2))
def test_value_and_shape(shapes, name, first, second):
    a, b = laid_out(values(shapes[0], 1), first), laid_out(values(shapes[1], 2), second)
    have = getattr(torch, name)(torch.from_numpy(a), torch.from_numpy(b))
    want = OPERATIONS[name](a, b)
    assert have.shape == want.shape
    np.testing.assert_allclose(have.numpy(), want, rtol=1e-14)


@BOUNDED
@given(compatible())
def test_gradient_is_summed_over_what_was_broadcast(shapes):
    a = torch.from_numpy(np.asarray(values(shapes[0], 1))).requires_grad_()
    b = torch.from_numpy(np.asarray(values(shapes[1], 2))).requires_grad_()
    (a * b).sum().backward()
    full = np.broadcast_shapes(*shapes)
    for mine, other in ((a, b), (b, a)):
        spread = np.broadcast_to(other.detach().numpy(), full)
        extra = len(full) - mine.dim()
        axes = tuple(range(extra)) + tuple(
            i + extra for i, n in enumerate(mine.shape) if n == 1 and full[i + extra] != 1
        )
        want = spread.sum(axes).reshape(tuple(mine.shape))
        assert mine.grad.shape == mine.shape
        np.testing.assert_allclose(mine.grad.numpy(), want, rtol=1e-12, atol=1e-12)


@BOUNDED
@given(compatible(3))
def test_three_operands(shapes):
    c, a, b = (values(shape, i) for i, shape in enumerate(shapes))
    have = torch.where(*(torch.from_numpy(np.asarray(v)) for v in (c > 0, a, b)))
    want = np.where(c > 0, a, b)
    assert have.shape == want.shape and np.array_equal(have.numpy(), want)


@BOUNDED
@given(compatible())
def test_in_place_takes_only_what_fits(shapes):
    a, b = values(shapes[0], 1), values(shapes[1], 2)
    target = torch.from_numpy(np.array(a))
    before = target.clone()
    fits = np.broadcast_shapes(*shapes) == shapes[0]
    try:
        target.add_(torch.from_numpy(np.asarray(b)))
    except RuntimeError as error:
        assert not fits and str(error).startswith("output with shape"), error
        assert torch.equal(target, before)
    else:
        assert fits
        np.testing.assert_allclose(target.numpy(), a + b, rtol=1e-14)


@BOUNDED
@given(compatible())
def test_expand_and_broadcast_to(shapes):
    full = np.broadcast_shapes(*shapes)
    a = values(shapes[0], 1)
    tensor = torch.from_numpy(np.asarray(a))
    want = np.broadcast_to(a, full)
    assert np.array_equal(tensor.expand(full).numpy(), want)
    assert torch.broadcast_shapes(*shapes) == full
    spread = torch.broadcast_tensors(tensor, torch.zeros(shapes[1]))
    assert all(tuple(t.shape) == full for t in spread)


SIZES = st.lists(st.integers(1, 4), max_size=3)


@BOUNDED
@given(SIZES, SIZES)
def test_refusals(first, second):
    try:
        np.broadcast_shapes(tuple(first), tuple(second))
    except ValueError:
        try:
            torch.zeros(first) + torch.zeros(second)
        except RuntimeError as error:
            text = str(error)
            assert text.startswith("The size of tensor a (")
            assert ") must match the size of tensor b (" in text
            assert "at non-singleton dimension" in text
        else:
            raise AssertionError(f"{first} + {second} was accepted") from None


@BOUNDED
@given(st.data())
def test_matmul_batches(data):
    batch_a, batch_b = data.draw(compatible())
    n, k, m = (data.draw(st.integers(0, 4)) for _ in range(3))
    a, b = values((*batch_a, n, k), 1), values((*batch_b, k, m), 2)
    have = torch.matmul(torch.from_numpy(a), torch.from_numpy(b))
    want = np.matmul(a, b)
    assert have.shape == want.shape
    np.testing.assert_allclose(have.numpy(), want, rtol=1e-12, atol=1e-12)


@BOUNDED
@given(st.data())
def test_reductions(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    dims = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    dims = tuple(d - len(shape) if data.draw(st.booleans()) else d for d in dims)
    keep = data.draw(st.booleans())
    a = laid_out(values(shape, 1), data.draw(st.integers(0, 2)))
    tensor = torch.from_numpy(a)
    for mine, numpys in (("sum", np.sum), ("mean", np.mean), ("amax", np.max), ("amin", np.min)):
        have = getattr(tensor, mine)(dims, keepdim=keep)
        want = numpys(a, axis=dims, keepdims=keep)
        assert have.shape == want.shape
        np.testing.assert_allclose(have.numpy(), want, rtol=1e-12, atol=1e-12)
