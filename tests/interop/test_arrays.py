"""Tensors and arrays on one memory, dtype by dtype, and NumPy's scalars: on machines of 64 bits and
in Pyodide, where C's `long`, and with it NumPy's integer, has 32."""

import numpy as np
import pytest

from _subject import torch

VALUES = {
    "bool": [True, False, True],
    "uint8": [0, 7, 255],
    "int8": [-128, 7, 127],
    "uint16": [0, 7, 65535],
    "int16": [-32768, 7, 32767],
    "uint32": [0, 7, 2**32 - 1],
    "int32": [-(2**31), 7, 2**31 - 1],
    "uint64": [0, 7, 2**64 - 1],
    "int64": [-(2**63), 7, 2**63 - 1],
    "float16": [0.5, -65504.0, float("inf")],
    "float32": [0.5, -(2.0**-149), float("inf")],
    "float64": [0.1, -(2.0**-1074), float("inf")],
    "complex64": [0.5 - 2j, 1j, -3],
    "complex128": [0.1 - 2j, 1j, -3],
}
# C's names: each is an integer of some size, and two of them may have one size.
INTEGERS = "byte short intc long longlong intp int_"
UNSIGNED = "ubyte ushort uintc ulong ulonglong uintp uint"


@pytest.mark.parametrize("name", VALUES)
def test_an_array_of_a_tensor_is_its_memory(name):
    tensor = torch.tensor(VALUES[name], dtype=getattr(torch, name))
    array = tensor.numpy()
    assert array.dtype == np.dtype(name) and array.dtype.isnative
    assert array.tolist() == VALUES[name]
    assert array.ctypes.data == tensor.data_ptr()
    array[0] = VALUES[name][1]
    assert tensor[0].item() == VALUES[name][1]
    tensor[2] = tensor[1]
    assert array[2].item() == VALUES[name][1]


@pytest.mark.parametrize("name", VALUES)
def test_a_tensor_of_an_array_is_its_memory(name):
    array = np.array(VALUES[name], name)
    tensor = torch.from_numpy(array)
    assert tensor.dtype == getattr(torch, name) and tensor.tolist() == VALUES[name]
    assert tensor.data_ptr() == array.ctypes.data
    assert np.shares_memory(array, tensor.numpy())
    tensor[0] = tensor[1]
    assert array[0].item() == VALUES[name][1]
    copy = torch.tensor(array)
    array[1] = array[2]
    assert copy[1].item() == VALUES[name][1] and tensor[1].item() == VALUES[name][2]


@pytest.mark.parametrize("name", [*INTEGERS.split(), *UNSIGNED.split()])
def test_integers_of_c_are_taken_by_their_size(name):
    kind = getattr(np, name)
    ends = np.iinfo(kind)
    word = ("uint" if name in UNSIGNED.split() else "int") + str(8 * np.dtype(kind).itemsize)
    array = np.array([ends.min, 3, ends.max], kind)
    for tensor in (torch.from_numpy(array), torch.tensor(array), torch.as_tensor(array)):
        assert tensor.dtype == getattr(torch, word)
        assert tensor.tolist() == [ends.min, 3, ends.max]
        assert tensor.numpy().dtype == array.dtype
    assert torch.tensor(kind(5)).item() == 5
    assert torch.arange(9)[kind(5)].item() == 5
    assert torch.zeros(kind(2), kind(3)).shape == (2, 3)
    assert torch.arange(6).reshape(kind(2), 3).sum(kind(1)).tolist() == [3, 12]


def test_positions_have_64_bits_where_those_of_numpy_have_32():
    assert torch.arange(3).numpy().dtype == np.int64
    assert torch.tensor([3.0, 1.0]).argsort().numpy().dtype == np.int64
    assert torch.from_numpy(np.arange(3)).dtype == getattr(torch, np.arange(3).dtype.name)
    rows = np.array([2, 0])  # NumPy's own integer, of 32 bits in Pyodide
    x = torch.arange(12.0).reshape(4, 3)
    assert x[rows].tolist() == [[6, 7, 8], [0, 1, 2]]
    assert x[torch.from_numpy(rows)].tolist() == x.numpy()[rows].tolist()
    assert x[np.array([True, False, False, True])].tolist() == [[0, 1, 2], [9, 10, 11]]


def test_views_keep_their_strides_both_ways():
    array = np.arange(24.0).reshape(2, 3, 4)
    for view in (array.T, array[:, 1:, ::2], array[1, :, 2], array[0, 0, 0:1]):
        tensor = torch.from_numpy(view)
        assert tensor.tolist() == view.tolist()
        assert tensor.stride() == tuple(step // 8 for step in view.strides)
        assert tensor.numpy().strides == view.strides
    tensor = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)[::3]
    assert tensor.numpy().tolist() == tensor.tolist()
    assert tensor.numpy().strides == tuple(4 * step for step in tensor.stride())


def test_memory_lives_as_long_as_either():
    tensor = torch.from_numpy(np.arange(1000.0))
    array = torch.arange(1000.0).numpy()
    others = [(np.full(1000, -1.0), torch.full((1000,), -1.0)) for _ in range(50)]
    assert tensor.tolist() == array.tolist() == list(range(1000))
    del others


def test_numpy_asks_tensors_for_arrays():
    tensor = torch.arange(6.0).reshape(2, 3)
    assert np.asarray(tensor).ctypes.data == tensor.data_ptr()
    assert np.asarray(tensor, dtype="int16").tolist() == [[0, 1, 2], [3, 4, 5]]
    copy = np.array(tensor)
    copy[0, 0] = 9
    assert tensor[0, 0].item() == 0
    assert np.stack([tensor, tensor]).shape == (2, 2, 3)
    assert np.allclose(np.linalg.svd(tensor)[1] ** 2, np.linalg.eigvalsh(tensor @ tensor.T)[::-1])
    with pytest.raises(RuntimeError, match="requires grad"):
        tensor.requires_grad_().numpy()
    assert tensor.detach().numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert torch.tensor([1 + 2j]).conj().resolve_conj().numpy().tolist() == [1 - 2j]


def test_ufuncs_take_tensors_and_operators_take_arrays():
    tensor, array = torch.tensor([0.25, 4.0]), np.array([1.0, 2.0], "float32")
    assert isinstance(np.sqrt(tensor), torch.Tensor)
    assert np.sqrt(tensor).tolist() == [0.5, 2.0]
    assert np.hypot(torch.tensor([3.0]), torch.tensor([4.0])).tolist() == [5.0]
    for result in (tensor * array, np.multiply(array, tensor)):
        assert isinstance(result, torch.Tensor) and result.tolist() == [0.25, 8.0]
    x = torch.tensor([2.0], requires_grad=True)
    (x * np.float32(3) + np.int64(1)).backward()
    assert x.grad.tolist() == [3.0]


@pytest.mark.parametrize("name", VALUES)
def test_scalars_of_numpy_are_numbers(name):
    kind = np.dtype(name).type
    for value in VALUES[name]:
        tensor = torch.tensor(kind(value))
        assert tensor.shape == () and tensor.item() == value
        assert tensor.dtype == getattr(torch, name)
    listed = torch.tensor([kind(value) for value in VALUES[name][1:2]])
    assert listed.tolist() == VALUES[name][1:2]


def test_what_no_tensor_can_be_is_said():
    for kind in ("U1", "O", "datetime64[s]", "longdouble"):
        with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type"):
            torch.from_numpy(np.zeros(2, kind))
    with pytest.raises(ValueError, match="byte order"):
        torch.from_numpy(np.zeros(2, ">i4"))
    with pytest.raises(ValueError, match="negative"):
        torch.from_numpy(np.arange(3)[::-1])
