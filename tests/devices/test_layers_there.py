"""Layers on the accelerator: normalisation, losses, pooling and resizing, forward and backward.

Each is called on the CPU and on the accelerator with the same numbers, in both widths and with
strided tensors, and no call may go by way of the host. What NumPy says plainly is tested with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core
from rushlight.nn import functional as F

pytestmark = pytest.mark.usefixtures("refuse")

NEAR = {torch.float64: 1e-11, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
WIDE = [torch.float32, torch.float64]
HALVES = [torch.float16, torch.bfloat16]


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def near(have: Any, want: Any, dtype: Any, scale: float = 1) -> None:
    have, want = have.detach().cpu(), want.detach()
    assert have.dtype is want.dtype and have.shape == want.shape
    x, y = have.double().numpy(), want.double().numpy()
    most = np.abs(y[np.isfinite(y)]).max(initial=1)
    np.testing.assert_allclose(x, y, rtol=0, atol=scale * NEAR[dtype] * most)


def agree(
    f: Callable[..., Any], *arrays: Any, dtype: Any = torch.float32, leaves: Any = None
) -> None:
    """Values and gradients of f of tensors of these numbers, on both devices."""
    found = []
    for device in ("cpu", "opencl"):
        given = []
        for i, array in enumerate(arrays):
            if array is None:
                given.append(None)
                continue
            t = torch.tensor(array)
            floating = t.is_floating_point()
            t = (t.to(dtype) if floating else t).to(device)
            given.append(t.requires_grad_(floating and (leaves is None or i in leaves)))
        out = f(*given)
        outs = out if isinstance(out, tuple) else (out,)
        differentiable = [t for t in outs if t.requires_grad]
        wanted = [t for t in given if t is not None and t.requires_grad]
        seeds = [
            torch.tensor(numbers(*t.shape, seed=7)).to(t.dtype).to(device) for t in differentiable
        ]
        grads = torch.autograd.grad(differentiable, wanted, seeds) if wanted and outs else ()
        found.append((outs, grads))
    for a, b in zip(found[1], found[0], strict=True):
        for have, want in zip(a, b, strict=True):
            near(have, want, dtype)


# ---- normalisation


@pytest.mark.parametrize("dtype", WIDE + HALVES)
@pytest.mark.parametrize(
    "shape, n", [((3, 5), 1), ((2, 3, 4), 2), ((5,), 1), ((700, 3), 1), ((2, 1500), 1)]
)
@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm(dtype: Any, shape: tuple[int, ...], n: int, affine: bool) -> None:
    rest = [numbers(*shape[-n:], seed=i) if affine else None for i in (1, 2)]
    agree(lambda x, w, b: F.layer_norm(x, shape[-n:], w, b), numbers(*shape), *rest, dtype=dtype)


def test_layer_norm_is_mean_0_and_deviation_1() -> None:
    x = numbers(4, 1000) * 3 + 100
    y = F.layer_norm(torch.tensor(x).to("opencl"), (1000,), eps=0).cpu().numpy()
    np.testing.assert_allclose(
        y, (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), atol=1e-11
    )


def test_layer_norm_of_little() -> None:
    empty = torch.zeros(0, 3, device="opencl", requires_grad=True)
    weight = torch.ones(3, device="opencl", requires_grad=True)
    y = F.layer_norm(empty, (3,), weight)
    y.backward(torch.zeros(0, 3, device="opencl"))
    assert (
        y.shape == (0, 3) and empty.grad.shape == (0, 3) and weight.grad.cpu().tolist() == [0, 0, 0]
    )


def test_norms_of_nothing() -> None:
    for f, shape in (
        (lambda x: F.batch_norm(x, None, None, training=True), (0, 3)),
        (lambda x: F.group_norm(x, 2), (0, 4, 2)),
        (lambda x: F.layer_norm(x, (0,)), (2, 0)),
        (lambda x: F.interpolate(x, size=2), (0, 2, 2)),
    ):
        x = torch.zeros(shape, device="opencl", requires_grad=True)
        y = f(x)
        y.backward(torch.zeros(shape, device="opencl"))
        assert y.shape == x.grad.shape == shape


def test_norms_of_strided_tensors() -> None:
    w = numbers(4, seed=1)
    agree(lambda x, w: F.layer_norm(x.t(), (4,), w), numbers(4, 6), w)
    agree(lambda x, w: F.batch_norm(x.t(), None, None, w, training=True), numbers(4, 8), w)
    agree(lambda x, w: F.group_norm(x.transpose(1, 2), 2, w), numbers(2, 3, 4), w)


@pytest.mark.parametrize("dtype", WIDE + HALVES)
@pytest.mark.parametrize("shape", [(6, 3), (2, 3, 4), (2, 3, 5, 4), (3, 2, 40, 30)])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm(dtype: Any, shape: tuple[int, ...], training: bool, affine: bool) -> None:
    channels = shape[1]
    rest = [numbers(channels, seed=i) if affine else None for i in (1, 2)]
    mean, var = numbers(channels, seed=3), numbers(channels, seed=4) ** 2 + 0.5

    def f(x: Any, mean: Any, var: Any, w: Any, b: Any) -> Any:
        y = F.batch_norm(x, mean, var, w, b, training=training, momentum=0.3)
        return y, mean, var

    agree(f, numbers(*shape), mean, var, *rest, dtype=dtype, leaves=(0, 3, 4))


def test_running_statistics_are_written_in_place() -> None:
    x = numbers(50, 4) * 2 + 1
    mean, var = torch.zeros(4, device="opencl"), torch.ones(4, device="opencl")
    F.batch_norm(torch.tensor(x).float().to("opencl"), mean, var, training=True)
    np.testing.assert_allclose(mean.cpu().numpy(), 0.1 * x.mean(0), rtol=1e-5)
    np.testing.assert_allclose(var.cpu().numpy(), 0.9 + 0.1 * x.var(0, ddof=1), rtol=1e-5)
    apart = torch.zeros(8, device="opencl")
    F.batch_norm(torch.tensor(x).float().to("opencl"), apart[::2], apart[1::2], training=True)
    np.testing.assert_allclose(apart.cpu().numpy()[::2], 0.1 * x.mean(0), rtol=1e-5)


def test_batch_norm_of_large_numbers() -> None:
    x = numbers(1000, 2, 9) + 3000
    y = F.batch_norm(torch.tensor(x).float().to("opencl"), None, None, training=True)
    assert abs(y.cpu().numpy().std() - 1) < 1e-3 and abs(y.cpu().numpy().mean()) < 1e-3


def test_batch_norm_keeps_the_format() -> None:
    x = torch.tensor(numbers(2, 3, 4, 5)).float().to(memory_format=torch.channels_last)
    there = x.to("opencl")
    assert F.batch_norm(there, None, None, training=True).stride() == x.stride()
    assert F.max_pool2d(there, 2).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("dtype", WIDE + HALVES)
@pytest.mark.parametrize("shape, groups", [((2, 4), 2), ((2, 6, 5), 3), ((1, 4, 30, 20), 1)])
@pytest.mark.parametrize("affine", [True, False])
def test_group_norm(dtype: Any, shape: tuple[int, ...], groups: int, affine: bool) -> None:
    rest = [numbers(shape[1], seed=i) if affine else None for i in (1, 2)]
    agree(lambda x, w, b: F.group_norm(x, groups, w, b), numbers(*shape), *rest, dtype=dtype)


def test_gradients_of_the_statistics_of_groups() -> None:
    agree(
        lambda x, w, b: torch.native_group_norm(x, w, b, 2, 4, 15, 2, 1e-5),
        *(numbers(2, 4, 15), numbers(4, seed=1), numbers(4, seed=2)),
    )
    agree(lambda x: torch.native_group_norm(x, None, None, 2, 4, 15, 2, 1e-5)[1], numbers(2, 4, 15))


def test_only_some_gradients() -> None:
    for leaves in ((0,), (1,), (0, 2), (1, 2)):
        x, w, b = numbers(6, 4), numbers(4, seed=1), numbers(4, seed=2)
        agree(lambda x, w, b: F.layer_norm(x, (4,), w, b), x, w, b, leaves=leaves)
        agree(lambda x, w, b: F.group_norm(x, 2, w, b), x, w, b, leaves=leaves)
        agree(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), x, w, b, leaves=leaves)


# ---- losses


PAIRS: dict[str, Callable[..., Any]] = {
    "mse": F.mse_loss,
    "smooth": lambda x, y, reduction: F.smooth_l1_loss(x, y, reduction=reduction, beta=0.6),
    "huber": lambda x, y, reduction: F.huber_loss(x, y, reduction=reduction, delta=0.8),
    "logits": F.binary_cross_entropy_with_logits,
    "margin": F.soft_margin_loss,
    "probabilities": lambda x, y, reduction: F.binary_cross_entropy(
        x.sigmoid(), y.sigmoid(), reduction=reduction
    ),
}


@pytest.mark.parametrize("dtype", [*WIDE, torch.float16])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("name", PAIRS)
def test_losses_of_pairs(name: str, reduction: str, dtype: Any) -> None:
    f = PAIRS[name]
    agree(
        lambda x, y: f(x, y, reduction=reduction), numbers(3, 5), numbers(3, 5, seed=1), dtype=dtype
    )


@pytest.mark.parametrize("name", PAIRS)
def test_losses_of_strided_and_of_little(name: str) -> None:
    f = PAIRS[name]
    agree(
        lambda x, y: f(x.t(), y[:, ::2], reduction="none"),
        numbers(4, 3),
        numbers(3, 8, seed=1),
        leaves=(0,),
    )
    agree(lambda x, y: f(x, y, reduction="mean"), numbers(), numbers(seed=1))
    empty = torch.zeros(0, 2, device="opencl")
    assert torch.isnan(f(empty, empty, reduction="mean").cpu())
    assert f(empty, empty, reduction="sum").item() == 0
    assert f(empty, empty, reduction="none").shape == (0, 2)


def test_a_loss_of_many() -> None:
    x, y = numbers(300, 1000), numbers(300, 1000, seed=1)
    found = F.mse_loss(torch.tensor(x).float().to("opencl"), torch.tensor(y).float().to("opencl"))
    assert abs(found.item() - ((x - y) ** 2).mean()) < 1e-6


def test_weights_of_losses() -> None:
    x, y = numbers(3, 4), np.abs(numbers(3, 4, seed=1)).clip(0, 1)
    weight, positive = np.abs(numbers(4, seed=2)), np.abs(numbers(4, seed=3))
    agree(
        lambda x, y, w, p: F.binary_cross_entropy_with_logits(
            x, y, w, pos_weight=p, reduction="none"
        ),
        *(x, y, weight, positive),
        leaves=(0,),
    )
    agree(
        lambda x, y, w: F.binary_cross_entropy(x.sigmoid(), y, w.expand(3, 4), reduction="none"),
        *(x, y, weight),
        leaves=(0,),
    )


def test_probabilities_at_the_ends() -> None:
    x = torch.tensor([0.0, 1.0, 0.0, 1.0]).to("opencl")
    y = torch.tensor([0.0, 0.0, 1.0, 1.0]).to("opencl")
    assert F.binary_cross_entropy(x, y, reduction="none").cpu().tolist() == [0, 100, 100, 0]


@pytest.mark.parametrize("dtype", [*WIDE, torch.float16])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(6, 4), (2, 4, 3), (3, 4, 2, 2), (4,)])
@pytest.mark.parametrize("weighted", [True, False])
def test_nll_loss(dtype: Any, reduction: str, shape: tuple[int, ...], weighted: bool) -> None:
    target_shape = () if len(shape) == 1 else (shape[0], *shape[2:])
    target = np.random.default_rng(1).integers(0, 4, target_shape)
    if target.ndim:
        target.flat[1] = -100
    weight = np.abs(numbers(4, seed=2)) if weighted else None
    agree(
        lambda x, t, w: F.nll_loss(x, t, w, reduction=reduction),
        *(numbers(*shape), target, weight),
        dtype=dtype,
        leaves=(0,),
    )
    agree(
        lambda x, t, w: F.cross_entropy(x, t, w, reduction=reduction),
        *(numbers(*shape), target, weight),
        dtype=dtype,
        leaves=(0,),
    )


def test_cross_entropy_by_numpy() -> None:
    x, target = numbers(50, 7), np.random.default_rng(1).integers(0, 7, 50)
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    there = torch.tensor(x).to("opencl").requires_grad_()
    loss = F.cross_entropy(there, torch.tensor(target).to("opencl"), ignore_index=3)
    kept = target != 3
    assert abs(loss.item() + logs[np.arange(50), target][kept].mean()) < 1e-12
    loss.backward()
    want = (np.exp(logs) - np.eye(7)[target]) * kept[:, None] / kept.sum()
    np.testing.assert_allclose(there.grad.cpu().numpy(), want, atol=1e-12)


def test_a_target_that_is_no_class() -> None:
    x = torch.zeros(3, 4, device="opencl", requires_grad=True)
    loss = F.nll_loss(x, torch.tensor([0, 9, 9]).to("opencl"), reduction="none")
    with pytest.raises(torch.AcceleratorError, match="target 9, which is out of bounds"):
        torch.accelerator.synchronize()
    assert np.isnan(loss.detach().cpu().numpy()).tolist() == [False, True, True]
    loss.backward(torch.ones(3, device="opencl"))
    assert x.grad.cpu().tolist() == [[-1, 0, 0, 0], [0] * 4, [0] * 4]


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_multi_margin_loss(p: int, reduction: str) -> None:
    target, weight = np.array([1, 0, 3]), np.abs(numbers(4, seed=2))
    agree(
        lambda x, t, w: F.multi_margin_loss(x, t, p, 0.7, w, reduction=reduction),
        *(numbers(3, 4), target, weight),
        leaves=(),
    )


# ---- pooling


def _floating(f: Callable[..., Any]) -> Callable[..., Any]:
    """A pool that gives indices too: they are compared, and the gradient is of the values."""
    return lambda x: f(x, return_indices=True)


POOLS: dict[str, tuple[tuple[int, ...], Callable[..., Any]]] = {
    "max1": ((2, 3, 9), _floating(lambda x, **k: F.max_pool1d(x, 3, 2, 1, **k))),
    "max2": ((2, 3, 7, 6), _floating(lambda x, **k: F.max_pool2d(x, 2, **k))),
    "max2 over each other": (
        (2, 3, 7, 8),
        _floating(lambda x, **k: F.max_pool2d(x, (3, 2), (1, 2), 1, **k)),
    ),
    "max2 dilated": (
        (1, 2, 9, 9),
        _floating(lambda x, **k: F.max_pool2d(x, 3, 2, 1, 2, ceil_mode=True, **k)),
    ),
    "max3": ((1, 2, 5, 6, 4), _floating(lambda x, **k: F.max_pool3d(x, 2, 1, **k))),
    "max without batch": ((3, 6, 6), lambda x: F.max_pool2d(x, 2)),
    "adaptive max1": ((2, 3, 7), _floating(lambda x, **k: F.adaptive_max_pool1d(x, 3, **k))),
    "adaptive max2": (
        (2, 3, 7, 6),
        _floating(lambda x, **k: F.adaptive_max_pool2d(x, (3, 2), **k)),
    ),
    "adaptive max3": ((1, 2, 5, 6, 4), lambda x: F.adaptive_max_pool3d(x, 2)),
    "avg1": ((2, 3, 9), lambda x: F.avg_pool1d(x, 3, 2, 1)),
    "avg2": ((2, 3, 7, 6), lambda x: F.avg_pool2d(x, 2)),
    "avg2 padded": ((2, 3, 7, 8), lambda x: F.avg_pool2d(x, (3, 2), (1, 2), 1, True)),
    "avg2 without pad": ((2, 3, 7, 8), lambda x: F.avg_pool2d(x, 3, 2, 1, True, False)),
    "avg2 by number": ((2, 3, 7, 8), lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5)),
    "avg3": ((1, 2, 5, 6, 4), lambda x: F.avg_pool3d(x, 2, 1, 1)),
    "adaptive avg1": ((2, 3, 7), lambda x: F.adaptive_avg_pool1d(x, 3)),
    "adaptive avg2": ((2, 3, 7, 6), lambda x: F.adaptive_avg_pool2d(x, (3, 4))),
    "adaptive avg2 to more": ((1, 2, 3, 4), lambda x: F.adaptive_avg_pool2d(x, (5, 7))),
    "adaptive avg3": ((1, 2, 5, 6, 4), lambda x: F.adaptive_avg_pool3d(x, (2, 3, 3))),
    "of a view": ((2, 6, 7, 3), lambda x: F.max_pool2d(x.transpose(1, 3), 2, 1)),
    "avg of a view": ((2, 6, 7, 3), lambda x: F.avg_pool2d(x.transpose(1, 3), 2, 1)),
}


@pytest.mark.parametrize("dtype", [*WIDE, torch.bfloat16])
@pytest.mark.parametrize("name", POOLS)
def test_pools(name: str, dtype: Any) -> None:
    shape, f = POOLS[name]
    if name == "avg3" and dtype is torch.bfloat16:
        with pytest.raises(NotImplementedError, match="not implemented for 'BFloat16'"):
            f(torch.zeros(shape, dtype=dtype, device="opencl"))
        return
    x = numbers(*shape)

    def values(x: Any) -> Any:
        out = f(x)
        return out[0] if isinstance(out, tuple) else out

    agree(values, x, dtype=dtype)
    here, there = (f(torch.tensor(x).to(dtype).to(device)) for device in ("cpu", "opencl"))
    if isinstance(here, tuple):
        assert there[1].cpu().tolist() == here[1].tolist()


def test_the_first_largest_wins_and_a_nan_before_all() -> None:
    x = torch.tensor([[[1.0, 1.0, float("nan"), 5.0, -float("inf"), -float("inf")]]]).to("opencl")
    out, indices = F.max_pool1d(x, 2, return_indices=True)
    assert indices.cpu().tolist() == [[[0, 2, 4]]] and np.isnan(out.cpu().numpy()).tolist() == [
        [[False, True, False]]
    ]


def test_pools_of_nothing() -> None:
    x = torch.zeros(0, 3, 6, 6, device="opencl", requires_grad=True)
    for f in (F.max_pool2d, F.avg_pool2d, F.adaptive_avg_pool2d):
        out = f(x, 2)
        assert out.shape[0] == 0
    assert F.max_pool2d(x, 2).shape == (0, 3, 3, 3)


@pytest.mark.parametrize("dtype", WIDE)
def test_fractional_pools(dtype: Any) -> None:
    u, x = np.random.default_rng(1).random((2, 3, 2)), numbers(2, 3, 9, 8)
    agree(
        lambda x, u: F.fractional_max_pool2d(x, (2, 3), (4, 3), _random_samples=u),
        *(x, u),
        dtype=dtype,
        leaves=(0,),
    )
    u, x = np.random.default_rng(1).random((1, 2, 3)), numbers(1, 2, 6, 7, 8)
    agree(
        lambda x, u: F.fractional_max_pool3d(x, 2, (3, 2, 4), _random_samples=u),
        *(x, u),
        dtype=dtype,
        leaves=(0,),
    )


def test_places_outside_are_left_out() -> None:
    indices = torch.tensor([[[0, 77, -1, 2]]]).to("opencl")
    g = torch.ones(1, 1, 4, device="opencl")
    found = _core.kernels.max_pool_backward(g, indices, (1, 1, 3), 1)
    assert found.cpu().tolist() == [[[1, 0, 1]]]


def test_errors_are_those_of_the_cpu() -> None:
    x = torch.zeros(1, 1, 2, 2, device="opencl")
    with pytest.raises(RuntimeError, match="Output size is too small"):
        F.max_pool2d(x, 5)
    with pytest.raises(RuntimeError, match="pad should be at most half"):
        F.avg_pool2d(x, 2, padding=2)


# ---- resizing


RESIZED: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 5), {"size": 8}),
    ((2, 3, 5), {"size": 3, "mode": "linear"}),
    ((2, 3, 4, 5), {"scale_factor": 2}),
    ((2, 3, 4, 5), {"size": (3, 7), "mode": "nearest-exact"}),
    ((2, 3, 4, 5), {"size": (7, 3), "mode": "bilinear"}),
    ((2, 3, 4, 5), {"scale_factor": 1.7, "mode": "bilinear", "align_corners": True}),
    ((2, 3, 4, 5), {"size": (9, 3), "mode": "bicubic"}),
    ((1, 2, 9, 8), {"size": (3, 3), "mode": "bilinear", "antialias": True}),
    ((1, 2, 9, 8), {"size": (4, 3), "mode": "bicubic", "antialias": True}),
    ((1, 2, 3, 4, 3), {"size": (4, 3, 5), "mode": "trilinear"}),
    ((1, 2, 3, 4, 3), {"scale_factor": 2, "mode": "nearest"}),
    ((1, 2, 6, 6), {"size": (4, 3), "mode": "area"}),
]


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("shape, how", RESIZED)
def test_interpolate(shape: tuple[int, ...], how: dict[str, Any], dtype: Any) -> None:
    agree(lambda x: F.interpolate(x, **how), numbers(*shape), dtype=dtype)
    agree(lambda x: F.interpolate(x.mT, **how), numbers(*shape), dtype=dtype)


@pytest.mark.parametrize("dtype", HALVES)
def test_interpolate_halves(dtype: Any) -> None:
    agree(
        lambda x: F.interpolate(x, size=(7, 3), mode="bilinear"), numbers(2, 3, 4, 5), dtype=dtype
    )


def test_interpolate_bytes() -> None:
    x = torch.arange(12, dtype=torch.uint8).reshape(1, 1, 3, 4)
    there = F.interpolate(x.to("opencl"), scale_factor=2)
    assert (
        there.dtype is torch.uint8
        and there.cpu().tolist() == F.interpolate(x, scale_factor=2).tolist()
    )


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_borders(mode: str) -> None:
    agree(lambda x: F.pad(x, (2, 1), mode), numbers(2, 3, 5))
    agree(lambda x: F.pad(x, (2, 1, 0, 3), mode), numbers(2, 3, 5, 4))
    agree(lambda x: F.pad(x.mT, (1, 2, 1, 0, 2, 1), mode), numbers(1, 2, 3, 5, 4))
