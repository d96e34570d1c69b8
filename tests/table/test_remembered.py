"""Functions remembered as one call of an op: what decides that call, and what is refused."""

import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core

F = torch.nn.functional


def image(*shape, **how):
    return torch.rand(*shape, **how)


def test_every_argument_decides():
    x, other = image(1, 2, 6, 6), image(1, 2, 8, 6)
    for _ in range(3):
        assert F.avg_pool2d(x, 2).shape == (1, 2, 3, 3)
        assert F.avg_pool2d(other, 2).shape == (1, 2, 4, 3)
        assert F.avg_pool2d(x, [2, 3]).shape == (1, 2, 3, 2)
        assert F.avg_pool2d(x, kernel_size=3).shape == (1, 2, 2, 2)
        assert F.avg_pool2d(x, 2, ceil_mode=True, stride=5).shape == (1, 2, 2, 2)
        assert F.avg_pool2d(x, 2, stride=5).shape == (1, 2, 1, 1)
        assert F.avg_pool2d(x.double(), 2).dtype is torch.float64
        assert F.pad(x, (1, 1), "constant", 1.0)[0, 0, 0, 0] == 1
        assert F.pad(x, (1, 1), "constant", 2.0)[0, 0, 0, 0] == 2
        assert F.pad(x, (1, 1, 0, 0), "reflect")[0, 0, 0, 0] == x[0, 0, 0, 1]
        with pytest.raises(RuntimeError, match="stride should not be zero"):
            F.avg_pool2d(x, 2, 0)
        with pytest.raises(TypeError):
            F.avg_pool2d(x, "2")


def test_a_list_is_read_each_time():
    x, sizes = image(1, 1, 6, 6), [2, 2]
    assert F.avg_pool2d(x, sizes).shape == (1, 1, 3, 3)
    sizes[1] = 3
    assert F.avg_pool2d(x, sizes).shape == (1, 1, 3, 2)


def test_texts_that_are_no_longer_there():
    x = image(1, 1, 4, 4)
    for mode in ("nearest", "bilinear", "bicubic", "nearest-exact") * 20:
        made = F.interpolate(x, scale_factor=2, mode="".join(list(mode)))
        assert torch.equal(made, F.interpolate(x, size=(8, 8), mode=mode))


def test_a_tensor_given_twice_may_be_two_the_next_time():
    a, b = image(3, 3, 3, 3), image(3, 3, 3, 3)
    F.conv2d(a, a)
    for _ in range(2):
        found = F.conv2d(a, b)
        assert torch.allclose(found[..., 0, 0], torch.einsum("nchw,ochw->no", a, b), 1e-4)
    F.conv2d(a, b)
    assert torch.allclose(F.conv2d(a, a)[..., 0, 0], torch.einsum("nchw,ochw->no", a, a), 1e-4)


def test_whether_a_gradient_is_wanted_decides():
    x = image(1, 1, 4, 4)
    for _ in range(2):
        assert F.max_pool2d(x, 2).grad_fn is None
        x.requires_grad_()
        made = F.max_pool2d(x, 2)
        assert type(made.grad_fn).__name__ == "MaxPool2DWithIndicesBackward0"
        made.sum().backward()
        assert x.grad.sum() == 4
        with torch.no_grad():
            assert F.max_pool2d(x, 2).grad_fn is None
        x = x.detach()
    pair = F.max_pool2d(x, 2, return_indices=True)
    assert torch.equal(pair[0], F.max_pool2d(x, 2)) and pair[1].dtype is torch.int64


def test_a_warning_is_given_each_time():
    x, grid = image(1, 1, 3, 3), image(1, 2, 2, 2)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            F.grid_sample(x, grid)
        assert len(found) == 1


def test_transforms_meta_and_modes_are_no_plain_calls():
    x = image(3, 1, 4, 4)
    plain = F.avg_pool2d(x, 2)
    assert torch.equal(torch.func.vmap(lambda t: F.avg_pool2d(t, 2))(x), plain)
    assert F.avg_pool2d(x.to("meta"), 2).device.type == "meta"
    _, tangent = torch.func.jvp(lambda t: F.max_pool2d(t, 2), (x,), (torch.ones_like(x),))
    assert torch.equal(tangent, torch.ones(3, 1, 2, 2))
    w = image(1, 1, 3, 3)
    F.conv2d(x, w)
    with torch.autocast("cpu"):
        assert F.conv2d(x, w).dtype is torch.bfloat16
    assert F.conv2d(x, w).dtype is torch.float32


def test_more_kinds_of_calls_than_are_kept():
    for n in range(2, 400):
        made = F.avg_pool1d(torch.ones(1, n), 2, 1)
        assert made.shape == (1, n - 1) and made.sum() == n - 1


def test_only_an_op_is_remembered():
    with pytest.raises(TypeError, match="remember"):
        _core.remember(np.add, 1, 2)
