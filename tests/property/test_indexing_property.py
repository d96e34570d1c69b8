"""Random index expressions, read and written, against NumPy (and PyTorch where NumPy differs).

NumPy and PyTorch index alike in all that is generated here, with two exceptions that the
generator leaves out: negative steps, and an int beside an index array with a slice in between
(NumPy counts a plain int as an index array, PyTorch does not), which the PyTorch test covers.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _subject import torch

BOUNDED = settings(max_examples=150, deadline=None, derandomize=True, database=None)


@st.composite
def shapes(draw, dims=(0, 4)):
    return tuple(draw(st.lists(st.integers(0, 4), min_size=dims[0], max_size=dims[1])))


@st.composite
def slices(draw, size):
    ends = st.one_of(st.none(), st.integers(-size - 2, size + 2))
    return slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, 3])))


@st.composite
def basic_index(draw, shape):
    """Ints, slices, None and one Ellipsis."""
    index, used = [], 0
    count = draw(st.integers(0, len(shape)))
    dots = draw(st.one_of(st.none(), st.integers(0, count)))
    for i in range(count + 1):
        if dots == i:
            index.append(Ellipsis)
            used = len(shape) - (count - i)
        if draw(st.integers(0, 5)) == 0:
            index.append(None)
        if i == count:
            break
        size = shape[used]
        if size and draw(st.booleans()):
            index.append(draw(st.integers(-size, size - 1)))
        else:
            index.append(draw(slices(size)))
        used += 1
    return tuple(index)


@st.composite
def advanced_index(draw, shape, ints=False):
    """Index arrays (int or bool) mixed with slices; `ints` also mixes in plain ints."""
    lengths = draw(st.sampled_from([(1,), (2,), (3,), (2, 2), (1, 3)]))
    index, dim = [], 0
    while dim < len(shape):
        size = shape[dim]
        choice = draw(st.integers(0, 5))
        if choice == 0 and size and ints:
            index.append(draw(st.integers(-size, size - 1)))
        elif choice in (1, 2) and size:
            flat = st.lists(st.integers(-size, size - 1), min_size=4, max_size=4)
            values = np.resize(np.array(draw(flat)), lengths)
            index.append(values)
        elif choice == 3 and draw(st.booleans()):
            index.append(None)
            continue
        else:
            index.append(draw(slices(size)))
        dim += 1
    return tuple(index)


def as_tensors(index):
    return tuple(torch.from_numpy(i) if isinstance(i, np.ndarray) else i for i in index)


def numbered(shape):
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def strides_in_elements(array):
    return tuple(s // array.itemsize for s in array.strides)


@BOUNDED
@given(st.data())
def test_basic_get(data):
    shape = data.draw(shapes())
    index = data.draw(basic_index(shape))
    array = numbered(shape)
    tensor = torch.from_numpy(array)
    want, have = array[index], tensor[index]
    assert have.shape == want.shape
    assert np.array_equal(have.numpy(), want)
    if isinstance(want, np.ndarray) and want.size > 1:
        assert have.data_ptr() == want.__array_interface__["data"][0], "not a view"
        moved = [
            (s, n) for s, n in zip(strides_in_elements(want), want.shape, strict=True) if n > 1
        ]
        mine = [(s, n) for s, n in zip(have.stride(), have.shape, strict=True) if n > 1]
        assert mine == moved


@BOUNDED
@given(st.data())
def test_basic_set(data):
    shape = data.draw(shapes())
    index = data.draw(basic_index(shape))
    array = numbered(shape)
    tensor = torch.from_numpy(array.copy())
    want = array.copy()
    if data.draw(st.booleans()):
        want[index] = -7
        tensor[index] = -7
    else:
        values = -numbered(array[index].shape) - 1
        want[index] = values
        tensor[index] = torch.from_numpy(np.asarray(values))
    assert np.array_equal(tensor.numpy(), want)


@BOUNDED
@given(st.data())
def test_advanced_get(data):
    shape = data.draw(shapes(dims=(1, 4)))
    index = data.draw(advanced_index(shape))
    array = numbered(shape)
    want = array[index]
    have = torch.from_numpy(array)[as_tensors(index)]
    assert have.shape == want.shape
    assert np.array_equal(have.numpy(), want)
    if any(isinstance(i, np.ndarray) for i in index) and want.size:
        assert not np.shares_memory(have.numpy(), array)


@BOUNDED
@given(st.data())
def test_advanced_set(data):
    shape = data.draw(shapes(dims=(1, 4)))
    index = data.draw(advanced_index(shape))
    array = numbered(shape)
    tensor, want = torch.from_numpy(array.copy()), array.copy()
    # The same value everywhere: which of two writes to one place wins is nobody's promise.
    want[index] = -7
    tensor[as_tensors(index)] = -7
    assert np.array_equal(tensor.numpy(), want)


@BOUNDED
@given(st.data())
def test_masks(data):
    shape = data.draw(shapes(dims=(1, 4)))
    dims = data.draw(st.integers(1, len(shape)))
    bits = data.draw(st.integers(0, 2**32 - 1))
    mask = np.random.default_rng(bits).random(shape[:dims]) < 0.5
    array = numbered(shape)
    tensor = torch.from_numpy(array.copy())
    chosen = torch.from_numpy(mask)
    assert np.array_equal(tensor[chosen].numpy(), array[mask])
    tensor[chosen] = -1
    want = array.copy()
    want[mask] = -1
    assert np.array_equal(tensor.numpy(), want)
    values = -numbered(array[mask].shape) - 2
    tensor[chosen] = torch.from_numpy(values)
    want[mask] = values
    assert np.array_equal(tensor.numpy(), want)


@BOUNDED
@given(st.data())
def test_gradient_of_reading_is_a_count(data):
    """d(sum of x[index])/dx counts how often each element was read."""
    shape = data.draw(shapes(dims=(1, 3)))
    index = data.draw(st.one_of(basic_index(shape), advanced_index(shape)))
    x = torch.from_numpy(numbered(shape)).requires_grad_()
    x[as_tensors(index)].sum().backward()
    counts = np.zeros(shape, np.float32)
    positions = np.arange(counts.size).reshape(shape)[index]
    np.add.at(counts.reshape(-1), np.asarray(positions).reshape(-1), 1)
    assert np.array_equal(x.grad.numpy(), counts)


@BOUNDED
@given(st.data())
def test_gradient_of_writing_is_what_was_not_overwritten(data):
    shape = data.draw(shapes(dims=(1, 3)))
    index = data.draw(basic_index(shape))
    x = torch.from_numpy(numbered(shape)).requires_grad_()
    value = torch.tensor(5.0, requires_grad=True)
    y = x * 2
    y[index] = value
    y.sum().backward()
    kept = np.ones(shape, np.float32)
    kept[index] = 0
    assert np.array_equal(x.grad.numpy(), 2 * kept)
    assert value.grad.item() == kept.size - kept.sum()


@BOUNDED
@given(st.data())
def test_mixed_with_ints_like_torch(data):
    oracle = pytest.importorskip("torch")
    shape = data.draw(shapes(dims=(1, 4)))
    index = data.draw(advanced_index(shape, ints=True))
    array = numbered(shape)
    theirs = tuple(oracle.from_numpy(i) if isinstance(i, np.ndarray) else i for i in index)
    want = oracle.from_numpy(array.copy())
    have = torch.from_numpy(array.copy())
    assert np.array_equal(have[as_tensors(index)].numpy(), want[theirs].numpy())
    want[theirs] = -3
    have[as_tensors(index)] = -3
    assert np.array_equal(have.numpy(), want.numpy())


@BOUNDED
@given(st.data())
def test_out_of_range_is_an_index_error_and_writes_nothing(data):
    shape = data.draw(shapes(dims=(1, 3)))
    dim = data.draw(st.integers(0, len(shape) - 1))
    beyond = data.draw(st.integers(0, 3))
    bad = data.draw(st.sampled_from([shape[dim] + beyond, -shape[dim] - 1 - beyond]))
    if data.draw(st.booleans()):
        bad = torch.tensor([bad])
    index = (slice(None),) * dim + (bad,)
    tensor = torch.from_numpy(numbered(shape))
    for use in (lambda: tensor[index], lambda: tensor.__setitem__(index, 5)):
        # A row of a dimension with nothing else in it has no element to be out of bounds.
        if tensor.numel() == 0 and isinstance(bad, torch.Tensor):
            continue
        try:
            use()
        except IndexError:
            continue
        raise AssertionError(f"{shape}[{index}] was accepted")
    assert np.array_equal(tensor.numpy(), numbered(shape))
