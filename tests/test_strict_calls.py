"""Calls at the border: sizes that no memory holds, bools among sizes, gradients that do not fit."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import rushlight as torch
from rushlight.nn import functional as F
from rushlight.nn.utils import rnn

HUGE = 2**63 - 1
IMAGE = torch.ones(1, 1, 2, 2)
PACKED = rnn.pack_padded_sequence(torch.ones(2, 3, 1), torch.tensor([2, 1, 1]))
NO_INDEX = torch.tensor([], dtype=torch.int64)

REFUSED = {
    "hann_window": lambda: torch.hann_window(HUGE),
    "kaiser_window": lambda: torch.kaiser_window(2**40),
    "output_padding": lambda: F.conv_transpose2d(IMAGE, IMAGE, output_padding=-1),
    "stride": lambda: F.conv_transpose2d(IMAGE, IMAGE, stride=HUGE),
    "diag": lambda: torch.diag(torch.ones(2), HUGE),
    "diag below": lambda: torch.diag(torch.ones(2), -(2**63)),
    "pack": lambda: rnn.pack_padded_sequence(torch.ones(2, 3), torch.tensor([2**40, 1, 1])),
    "pad": lambda: rnn.pad_packed_sequence(PACKED, total_length=2**40),
    "pad more": lambda: rnn.pad_packed_sequence(PACKED, total_length=HUGE),
    "bags": lambda: F.embedding_bag(
        torch.tensor([0]), torch.ones(3, 2), torch.tensor([0, 9]), mode="sum"
    ),
    "bags fall": lambda: F.embedding_bag(
        torch.tensor([0, 1, 1]), torch.ones(3, 2), torch.tensor([0, 2, 1]), mode="max"
    ),
    "last bag": lambda: F.embedding_bag(
        torch.tensor([0]),
        torch.ones(3, 2),
        torch.tensor([0, 9]),
        mode="sum",
        include_last_offset=True,
    ),
    "baddbmm": lambda: torch.baddbmm(torch.ones(2, 2).long(), IMAGE[0], IMAGE[0]),
    "dist": lambda: torch.dist(torch.tensor([True]), torch.tensor([1.0])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(RuntimeError) as found:
        REFUSED[name]()
    assert str(found.value)


def test_diagonal_beyond_the_corners() -> None:
    assert torch.diag(torch.ones(2, 2), HUGE).shape == (0,)
    assert torch.diag(torch.ones(2, 2), -(2**63)).shape == (0,)


def test_padded_to_a_length() -> None:
    for batch_first in (False, True):
        padded, _ = rnn.pad_packed_sequence(PACKED, batch_first, 7.0, 4)
        rows = padded if batch_first else padded.transpose(0, 1)
        assert rows[:, :, 0].tolist() == [[1, 1, 7, 7], [1, 7, 7, 7], [1, 7, 7, 7]]


def test_bool_among_sizes() -> None:
    """A bool is a size of 1 or 0, except in the first place, as in torch."""
    for make in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn):
        assert make(3, True).shape == (3, 1)
        assert all(type(n) is int for n in make(3, True).shape)
        with pytest.raises(TypeError):
            make(True, 3)
    x = torch.ones(2, 2)
    assert x.reshape(2, True, 2).shape == (2, 1, 2)
    assert x.new_zeros(2, False).shape == (2, 0)
    assert torch.ones(2).tile(2, True).shape == (2, 2)
    assert torch.ones(2).resize_(2, True).shape == (2, 1)


def test_bags_of_nothing() -> None:
    w = torch.ones(3, 2, requires_grad=True)
    out = F.embedding_bag(NO_INDEX, w, torch.tensor([0, 0]), mode="max")
    assert out.tolist() == [[0, 0], [0, 0]]
    out.sum().backward()
    assert w.grad.abs().sum() == 0


def test_addr_scales_the_input_in_the_common_type() -> None:
    v = torch.tensor([1.0, 2.0])
    found = torch.addr(torch.tensor([3, 5]), v, v, beta=0.5)
    assert found.tolist() == [[2.5, 4.5], [3.5, 6.5]]
    truth = torch.addr(torch.tensor([True, False]), v, v, beta=2)
    assert truth.tolist() == [[3, 2], [4, 4]]


def test_softmax_of_empty_integers() -> None:
    for function in (torch.softmax, torch.log_softmax):
        found = function(torch.zeros(0, 3, dtype=torch.int64), 1)
        assert found.shape == (0, 3) and found.dtype is torch.int64
        with pytest.raises(NotImplementedError):
            function(torch.zeros(1, dtype=torch.int64), 0)


def test_area_of_size_zero() -> None:
    assert F.interpolate(IMAGE, size=(0, 2), mode="area").shape == (1, 1, 0, 2)


@pytest.mark.parametrize("change", ["data", "resize"])
def test_a_hook_that_changes_the_shape(change: str) -> None:
    def hook(g: torch.Tensor) -> None:
        if change == "data":
            g.data = torch.ones(5)
        else:
            g.resize_(3)

    x = torch.ones(2, requires_grad=True)
    y = torch.stack([x, x])
    y.register_hook(hook)
    with pytest.raises(RuntimeError, match="StackBackward0 returned an invalid gradient"):
        (y * 2).sum().backward()
    with pytest.raises(RuntimeError, match="invalid gradient"):
        torch.stack([x, x]).grad_fn(torch.ones(5))


def test_order_of_many_products() -> None:
    """The cheapest order, against all orders; hundreds of matrices in a moment."""
    from functools import cache

    from rushlight.ops.matrix.fused_products import _best_order

    rng = np.random.default_rng(3)
    for n in range(2, 9):
        sizes = [int(k) for k in rng.integers(1, 9, n + 1)]

        @cache
        def least(i: int, j: int, sizes: list[int] = sizes) -> int:
            return min(
                (
                    least(i, k) + least(k + 1, j) + sizes[i] * sizes[k + 1] * sizes[j + 1]
                    for k in range(i, j)
                ),
                default=0,
            )

        split = _best_order(sizes)

        def cost(i: int, j: int, sizes: list[int] = sizes, split: np.ndarray = split) -> int:
            if i == j:
                return 0
            k = int(split[i, j])
            return cost(i, k) + cost(k + 1, j) + sizes[i] * sizes[k + 1] * sizes[j + 1]

        assert cost(0, n - 1) == least(0, n - 1)
    many = [torch.full((k % 5 + 1, (k + 1) % 5 + 1), 0.3) for k in range(300)]
    assert torch.linalg.multi_dot(many).shape == (1, 1)


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


def test_dlpack_without_sizes() -> None:
    room = (ctypes.c_float * 2)()
    managed = _Tensor(ctypes.addressof(room), (1, 0), 1, 2, 32, 1, None, None, 0, None, None)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    capsule = make(ctypes.addressof(managed), b"dltensor", None)
    with pytest.raises(BufferError, match="no sizes"):
        torch.from_dlpack(capsule)


def test_sparse_bools_stay_bools() -> None:
    d = torch.tensor([[True, False, True], [False, True, True]])
    for s in (d.to_sparse(), d.to_sparse_csr()):
        for write in (lambda t: t.mul_(2), lambda t: t.div_(2)):
            kept = s.clone()
            with pytest.raises(RuntimeError, match="can't be cast to the desired output type Bool"):
                write(kept)
            assert kept.dtype is torch.bool and torch.equal(kept.to_dense(), d)
        with pytest.raises(RuntimeError):
            s**2
    s = d.to_sparse()
    assert torch.sparse.sum(s, 0).to_dense().tolist() == [True, True, True]
    assert torch.sparse.sum(s).item() == 4
    rows = torch.tensor([[[True, False]], [[False, False]]]).to_sparse(1)
    assert rows[0].dtype is torch.bool and rows[0].tolist() == [[True, False]]


def test_matrix_transpose_of_sparse_batches() -> None:
    a = torch.arange(12.0).view(2, 2, 3)
    s = a.to_sparse()
    for turned in (s.mT, s.mH, s.adjoint()):
        assert torch.equal(turned.to_dense(), a.mT)
    with pytest.raises(RuntimeError, match="only supported on matrices"):
        _ = torch.ones(3).to_sparse().mT
