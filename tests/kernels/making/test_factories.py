"""The factories: what the kernels make, and what they leave to the Python of ops/making."""

import math

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core

kernels = _core.kernels


def test_ranges_of_integers():
    for args in [
        (0,),
        (7,),
        (3, 3),
        (2, 10),
        (10, 2, -3),
        (-5, 6, 4),
        (1, 2, 100),
        (5, 2**62, 2**61),
    ]:
        assert kernels.arange(*args).tolist() == list(range(*args))
    assert kernels.arange(300_000).tolist() == list(range(300_000))
    for args in [(-1,), (0, 5, 0), (0, 5, -1), (-(2**63), 2**63 - 1, 1), (1.0, math.inf), (True,)]:
        assert kernels.arange(*args) is NotImplemented


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ranges_of_floats(dtype):
    for start, end, step in [
        (0.0, 1.0, 0.1),
        (5, -5, -0.75),
        (0, 200_000.0, 1),
        (1e10, 1e10 + 5, 0.5),
    ]:
        n = math.ceil((end - start) / step)
        expected = np.array([start + i * step for i in range(n)]).astype(dtype)
        found = kernels.arange(start, end, step, dtype=getattr(torch, dtype))
        np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 128, 200_001])
def test_even_steps(n):
    found = kernels.linspace(-3, 7, n).numpy()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.linspace(-3, 7, n), rtol=0, atol=5e-7)
    if n > 1:
        assert found[0] == -3 and found[-1] == 7
    np.testing.assert_allclose(
        kernels.linspace(-3, 7, n, dtype=torch.float64).numpy(),
        np.linspace(-3, 7, n),
        rtol=0,
        atol=2e-15,
    )
    np.testing.assert_allclose(
        kernels.logspace(-1, 2, n, 2.0).numpy(), np.logspace(-1, 2, n, base=2), rtol=1e-6
    )


def test_filled():
    for found, expected in [
        (kernels.zeros(2, 3), np.zeros((2, 3), np.float32)),
        (kernels.zeros(()), np.zeros((), np.float32)),
        (kernels.zeros([0, 2], dtype=torch.int16), np.zeros((0, 2), np.int16)),
        (kernels.ones((70,), dtype=torch.bool), np.ones(70, bool)),
        (kernels.ones(3, dtype=torch.complex64), np.ones(3, np.complex64)),
        (kernels.full((100,), 2.5), np.full(100, 2.5, np.float32)),
        (kernels.full([], 7), np.array(7, np.int64)),
        (kernels.full((2,), True), np.array([True, True])),
        (kernels.eye(3, 5, dtype=torch.int64), np.eye(3, 5, dtype=np.int64)),
        (kernels.eye(4), np.eye(4, dtype=np.float32)),
    ]:
        assert found.numpy().dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected)
    for call in [
        lambda: kernels.zeros(),
        lambda: kernels.zeros(-1),
        lambda: kernels.zeros(2.0),
        lambda: kernels.zeros(2, device="meta"),
        lambda: kernels.zeros(2, dtype=torch.int64, requires_grad=True),
        lambda: kernels.zeros(2, requires_grad=1),
        lambda: kernels.zeros(2, anything=None),
        lambda: kernels.full((2,), 1e60, dtype=torch.float32),
        lambda: kernels.full((2,), 1j),
        lambda: kernels.eye(-1),
    ]:
        assert call() is NotImplemented


def test_sizes_that_no_memory_has():
    assert kernels.zeros(2**40, 2**40) is NotImplemented  # the definition says which
    for call in [
        lambda: torch.zeros(2**40, 2**40),
        lambda: kernels.arange(2**62),
        lambda: kernels.eye(2**40),
    ]:
        with pytest.raises(RuntimeError):
            call()


def test_like_another_tensor():
    t = torch.zeros(3, 4, dtype=torch.float64).t()
    made = kernels.full_like(t, 1.5)
    assert made.stride() == t.stride() and made.dtype is t.dtype and bool((made == 1.5).all())
    assert kernels.zeros_like(t, dtype=torch.int8).dtype is torch.int8
    assert kernels.new_full(t, (2,), 3).tolist() == [3.0, 3.0]
    assert kernels.new_ones(t, 2, 2).dtype is torch.float64
    assert kernels.full_like(torch.zeros(2, dtype=torch.int32), 2**40) is NotImplemented
    with torch.device("meta"):
        assert torch.zeros(2).device.type == "meta"
    assert torch.zeros(2).device.type == "cpu"
    assert kernels.zeros(2) is not NotImplemented


def test_a_device_named():
    meta = torch.zeros(2, device="meta")
    for device in ("cpu", torch.device("cpu"), torch.device("cpu", 1), None):
        assert kernels.zeros(2, device=device, dtype=torch.int8).dtype is torch.int8
        assert torch.zeros_like(torch.ones(2), device=device).tolist() == [0, 0]
    for device in ("meta", "cpu:0", torch.device("meta"), 0, 1.5, b"cpu"):
        assert kernels.zeros(2, device=device) is NotImplemented
    for made in (torch.ones_like(meta, device="cpu"), meta.new_ones(2, device="cpu")):
        assert made.tolist() == [1, 1]
    with torch.device("meta"):
        assert kernels.zeros(2) is NotImplemented
        assert torch.zeros(2, device="cpu").tolist() == [0, 0]
        assert torch.zeros(2, device=torch.device("cpu")).tolist() == [0, 0]


def test_a_number():
    assert torch.scalar_tensor(2).dtype is torch.float32 and kernels.scalar_tensor(2).item() == 2
    assert kernels.scalar_tensor(-3, dtype=torch.int64, device="cpu").tolist() == -3
    assert kernels.scalar_tensor(True).tolist() == 1 and kernels.scalar_tensor(math.inf).isinf()
    assert kernels.full((2,), -math.inf, dtype=torch.bfloat16).tolist() == [-math.inf, -math.inf]
    assert kernels.full((2,), 3, dtype=torch.uint8).tolist() == [3, 3]
    assert kernels.full((2,), 2, dtype=torch.bool).tolist() == [True, True]
    assert kernels.full((2,), True, dtype=torch.complex64).tolist() == [1, 1]
    for number in (1j, "1"):
        assert kernels.scalar_tensor(number) is NotImplemented
    for number, whole in ((1.5, 1), (-1.5, -1), (127.0, 127)):
        assert kernels.full((2,), number, dtype=torch.int8).tolist() == [whole, whole]
    for kind in ("bool", "int64"):
        assert kernels.full((2,), 0.5, dtype=getattr(torch, kind)).tolist() == 2 * [kind == "bool"]
    beyond = {"uint8": (-1, -0.5), "int8": (128, 127.5), "int32": (math.nan,), "float16": (65505,)}
    for kind, numbers in {**beyond, "int64": (2.0**63, math.inf)}.items():
        for number in numbers:
            assert kernels.full((2,), number, dtype=getattr(torch, kind)) is NotImplemented
    for shape in ((0, 3), (3, 0), (3, 2), (2, 3)):
        made = torch.zeros(shape).fill_diagonal_(1)
        np.testing.assert_array_equal(made.numpy(), np.eye(*shape))


def test_to():
    t = torch.ones(2, requires_grad=True)
    for args in (("cpu",), (torch.device("cpu"), torch.float32), (torch.float32,)):
        assert kernels.to(t, *args) is t
    assert kernels.to(t, device="cpu", non_blocking=True) is t
    assert kernels.to(t, torch.float64, device="cpu").dtype is torch.float64
    double = t.to("cpu", torch.float64)
    double.sum().backward()
    assert double.dtype is torch.float64 and t.grad.dtype is torch.float32
    for args, how in [
        (("meta",), {}),
        ((torch.float32, "cpu"), {}),
        ((None,), {}),
        (("cpu", None), {}),
        (("cpu",), {"device": "cpu"}),
        ((torch.float32,), {"dtype": torch.float32}),
        (("cpu",), {"copy": True}),
        (("cpu",), {"requires_grad": False}),
        (("cpu", torch.float32, True), {}),
    ]:
        assert kernels.to(t, *args, **how) is NotImplemented
    assert kernels.to() is NotImplemented and kernels.to(3, "cpu") is NotImplemented
    assert kernels.to(torch.ones(2, device="meta"), "cpu") is NotImplemented


def test_places_of_triangles():
    for n, m, offset in [
        (3, 4, 0),
        (4, 3, 1),
        (4, 3, -2),
        (0, 3, 0),
        (3, 3, 2**40),
        (3, 3, -(2**40)),
    ]:
        near = max(min(offset, 9), -9)
        np.testing.assert_array_equal(
            kernels.tril_indices(n, m, offset).numpy(), np.array(np.tril_indices(n, near, m))
        )
        np.testing.assert_array_equal(
            kernels.triu_indices(n, m, offset).numpy(), np.array(np.triu_indices(n, near, m))
        )


def test_numbers_in_nested_lists():
    for data, dtype, expected in [
        ([[1, 2], [3, 4]], None, np.array([[1, 2], [3, 4]], np.int64)),
        ([[True], [False]], None, np.array([[True], [False]])),
        ((1, 2.5, True), None, np.array([1, 2.5, 1], np.float32)),
        ([1, 2j], None, np.array([1, 2j], np.complex64)),
        ([], None, np.zeros(0, np.float32)),
        ([[], []], torch.int8, np.zeros((2, 0), np.int8)),
        (2**63 - 1, None, np.array(2**63 - 1)),
        ([-1, 300], torch.int16, np.array([-1, 300], np.int16)),
        ([2.7, -2.7], torch.int32, np.array([2, -2], np.int32)),
        ([254.5, 0.5], torch.uint8, np.array([254, 0], np.uint8)),
        ([-(2.0**63)], torch.int64, np.array([-(2**63)])),
        ([0.0, 0.5], torch.bool, np.array([False, True])),
        ([0.1, 1e300], torch.float32, np.array([0.1, np.inf], np.float32)),
        ([0.1, 2**60 + 1], torch.float64, np.array([0.1, 2**60])),
        ([2049, 65504], torch.float16, np.array([2048, 65504], np.float16)),
    ]:
        found = kernels.tensor(data, dtype=dtype)
        assert found.numpy().dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected)
    assert kernels.tensor([1.0], requires_grad=True).requires_grad
    itself = [1]
    itself.append(itself)
    for data, dtype in [
        ([[1, 2], [3]], None),
        ([[1], 2], None),
        ([1, [2]], None),
        (itself, None),
        (2**63, None),
        ([300], torch.uint8),
        ([-1], torch.uint8),
        ([math.nan], torch.int64),
        ([255.5], torch.uint8),
        ([-0.5], torch.uint8),
        ([-128.5], torch.int8),
        ([2.0**63], torch.int64),
        ([1j], torch.float32),
        (["1"], None),
        ([torch.ones(1)], None),
        ({1: 2}, None),
        (None, None),
    ]:
        assert kernels.tensor(data, dtype=dtype) is NotImplemented
