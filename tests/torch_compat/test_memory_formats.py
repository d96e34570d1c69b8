"""Where results lie in memory: strides, types and values of calls on tensors of several layouts."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight

pytorch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def dense(order: tuple[int, ...]) -> Callable[[Any, np.ndarray], Any]:
    """A tensor whose dimensions lie in memory in an order, the slowest first."""

    def laid_out(m: Any, a: np.ndarray) -> Any:
        strides, step = [0] * a.ndim, 1
        for dim in reversed(order[: a.ndim]):
            strides[dim] = step
            step *= a.shape[dim]
        t = m.empty_strided(a.shape, strides, dtype=m.float32)
        t.copy_(m.from_numpy(a.copy()))
        return t

    return laid_out


LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


def channels_last(m: Any, a: np.ndarray) -> Any:
    return dense(LAST[a.ndim])(m, a)


LAYOUTS: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "rows": lambda m, a: m.from_numpy(a.copy()),
    "reversed": lambda m, a: dense(tuple(reversed(range(a.ndim))))(m, a),
    "every second": lambda m, a: m.from_numpy(np.repeat(a, 2, -1))[..., ::2],
    "expanded": lambda m, a: m.from_numpy(a[:1].copy()).expand(*a.shape),
}
IMAGE_LAYOUTS = LAYOUTS | {
    "channels last": channels_last,
    "some channels": lambda m, a: channels_last(m, np.concatenate([a, a], 1))[:, : a.shape[1]],
}

# Sizes of 1 lie anywhere, and tell of a format all the same.
IMAGES = [(2, 4, 6, 6), (2, 1, 6, 6), (2, 4, 1, 1)]
VOLUMES = [(2, 4, 4, 4, 4), (2, 1, 4, 4, 4)]
STACKS = [(2, 4, 6), (1, 4, 6), (2, 1, 6)]
MATRICES = [(4, 4), (1, 6), (4, 1)]

ON_IMAGES = """
F.max_pool2d(x, 2, return_indices=True)
F.avg_pool2d(x, 2)
F.lp_pool2d(x, 2.0, 2)
F.adaptive_avg_pool2d(x, 1)
F.adaptive_avg_pool2d(x, (3, 2))
F.adaptive_max_pool2d(x, 2, return_indices=True)
F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)
F.interpolate(x, scale_factor=2)
F.interpolate(x, scale_factor=2, mode="bilinear")
F.interpolate(x, scale_factor=2, mode="bicubic")
F.interpolate(x, scale_factor=2, mode="nearest-exact")
F.interpolate(x, size=(3, 3), mode="area")
F.interpolate(x, size=(3, 3), mode="bilinear", antialias=True)
F.conv2d(x, w, b, padding=1)
F.conv2d(x, w.contiguous(memory_format=m.channels_last), b, padding=1, stride=2)
F.conv2d(x, each, padding=1, groups=x.shape[1])
F.conv_transpose2d(x, back, padding=1)
F.conv_transpose2d(x, back.contiguous(memory_format=m.channels_last), padding=1)
F.group_norm(x, 1, c, c)
F.instance_norm(x)
F.layer_norm(x, x.shape[1:])
F.local_response_norm(x, 2)
F.pad(x, (1, 1, 1, 1), value=2.0)
F.pad(x, (1, 0, 1, 0), mode="reflect")
F.pad(x, (1, 1, 1, 1), mode="replicate")
F.pad(x, (1, 1, 1, 1), mode="circular")
F.pixel_shuffle(x, 2)
F.pixel_unshuffle(x, 2)
F.channel_shuffle(x, 2)
F.unfold(x, 2)
F.dropout(x, 0.5)
F.dropout2d(x, 0.5)
F.relu(x)
F.relu6(x)
F.gelu(x)
F.hardswish(x)
F.logsigmoid(x)
F.softmax(x, 1)
F.log_softmax(x, -1)
m.cat([x, x], 1)
m.cat([x, x], 0)
m.cat([x, x.contiguous()], 1)
m.stack([x, x])
m.stack([x, x], 1)
m.hstack([x, x])
m.dstack([x, x])
x * 2.0
1 - x
x + x
x + x.contiguous()
x.contiguous() + x
x * c.view(1, -1, 1, 1)
c.view(1, -1, 1, 1) * x
x * x.mean((2, 3), keepdim=True)
x * x[:1]
x > 0
m.where(x > 0, x, 0.0)
m.addcmul(x, x, x)
m.nan_to_num(x)
x.masked_fill(x > 0, 1.0)
x.sum(1, keepdim=True)
x.mean((2, 3))
x.max(1)
x.cumsum(1)
x.cummax(1)
m.var_mean(x, (2, 3), keepdim=True)
m.aminmax(x, dim=1)
x.sort(1)
x.topk(1, 1)
x.flip(2, 3)
x.tril()
x.renorm(2, 1, 1.0)
x.index_select(1, i)
x.index_fill(1, i, 1.0)
x.gather(1, x.argmax(1, keepdim=True))
x.repeat(1, 2, 1, 1)
x.clone()
x.clone(memory_format=m.contiguous_format)
x.clone(memory_format=m.channels_last)
x.contiguous(memory_format=m.channels_last)
x.contiguous(memory_format=m.preserve_format)
x.contiguous(memory_format=m.channels_last_3d)
x.is_contiguous(memory_format=m.channels_last)
x.is_contiguous(memory_format=m.preserve_format)
x.double()
x.to(memory_format=m.channels_last)
x.to(m.float64, memory_format=m.channels_last)
x.to(m.float64, memory_format=m.contiguous_format)
x.to(m.float32, copy=True)
x.to(m.float32, copy=True, memory_format=m.channels_last)
x.float(memory_format=m.channels_last)
x.to(m.complex64)
m.zeros_like(x)
m.full_like(x, 3.0)
m.rand_like(x)
m.randn_like(x)
m.randint_like(x, 3)
m.ones_like(x, memory_format=m.channels_last)
m.zeros_like(x, memory_format=m.contiguous_format)
m.zeros_like(x, dtype=m.float64)
m.rand_like(x, memory_format=m.channels_last)
m.randint_like(x, 3, memory_format=m.channels_last)
m.zeros_like(x, device="meta")
m.bernoulli(x.abs().clamp(0, 1))
x.clone().resize_(x.shape, memory_format=m.channels_last)
x.clone().resize_(x.shape, memory_format=m.contiguous_format)
x.clone().resize_as_(x, memory_format=m.preserve_format)
x[:, :0]
x[..., :0] * 2
x[:0] + 1
m.linalg.inv(x @ x.mT + 10 * m.eye(x.shape[2]))
m.nn.Conv2d(4, 3, 3).to(memory_format=m.channels_last).weight * 0
"""
# Of these a dimension of one entry may have another stride than PyTorch's.
ON_LARGE_IMAGES = """
F.batch_norm(x, None, None, training=True)
F.glu(x, 1)
F.mse_loss(x, x, reduction="none")
m.cat([x, x.double()], 1)
m.complex(x, x)
x.clamp(0, 1)
x**3
x.roll(1, 2)
x[i]
x[:, i]
x[i, :, i]
x[x[:, 0, 0, 0] > -9]
"""
ON_VOLUMES = """
F.max_pool3d(x, 2, return_indices=True)
F.avg_pool3d(x, 2)
F.adaptive_avg_pool3d(x, 1)
F.adaptive_max_pool3d(x, 2)
F.interpolate(x, scale_factor=2)
F.interpolate(x, scale_factor=2, mode="trilinear")
F.conv3d(x, m.ones(3, x.shape[1], 3, 3, 3), padding=1)
F.group_norm(x, 1)
F.pad(x, (1, 1, 1, 1, 1, 1), mode="replicate")
F.channel_shuffle(x, 2)
m.cat([x, x], 1)
m.stack([x, x], 1)
x * 2.0
x * c.view(1, -1, 1, 1, 1)
m.rand_like(x, memory_format=m.channels_last_3d)
x.clone(memory_format=m.channels_last_3d)
x.to(memory_format=m.channels_last_3d)
"""
ON_STACKS = """
x * 2.0
x + x.contiguous()
x * x[:1]
x.sort(1)
x.flip(1)
x.roll(1, 1)
x.clone()
x[:, :0]
m.randn_like(x)
m.cat([x, x], 1)
m.stack([x, x], 1)
F.max_pool1d(x, 2)
F.pad(x, (1, 1))
F.batch_norm(x, None, None, training=True)
x @ x.mT
"""
ON_MATRICES = """
x * 2.0
x * x[:, :1]
x.contiguous() + x
x + x.t() if x.shape[0] == x.shape[1] else x
m.where(x > 0, x, x.t().contiguous().t())
x.masked_fill(x > 0, 1.0)
x.tril()
x.double()
x.t()[:0]
x[:, :0]
m.empty_like(x).zero_()
m.rand_like(x)
x.index_fill(0, i * 0, 1.0)
m.zeros_like(x, memory_format=m.channels_last)
x.clone(memory_format=m.channels_last)
m.linalg.inv(x @ x.t() + 10 * m.eye(x.shape[0]))
m.linalg.cholesky(x @ x.t() + 10 * m.eye(x.shape[0]))
m.linalg.qr(x)
m.linalg.solve(x @ x.t() + 10 * m.eye(x.shape[0]), x)
"""
ALONE = """
m.empty(2, 3, 4, 5, memory_format=m.channels_last).zero_()
m.empty((2, 3, 4, 5, 6), memory_format=m.channels_last_3d).zero_()
m.empty((2, 3, 4, 5), memory_format=m.contiguous_format).zero_()
m.empty((0, 3, 4, 5), memory_format=m.channels_last)
m.empty((2, 0, 4, 5), memory_format=m.channels_last)
m.empty(2, 3, 4, 5, memory_format=m.channels_last, device="meta")
m.empty((2, 3, 4), memory_format=m.channels_last)
m.empty((2, 3, 4, 5), memory_format=m.channels_last_3d)
m.empty((2, 3, 4, 5), memory_format=m.preserve_format)
m.empty_strided((0, 4), (7, 3))
m.empty_strided((0, 4), (7, 3)).clone()
m.zeros(2, 3).resize_(2, 3, memory_format=m.channels_last)
"""
# What a layer gets backwards lies as its argument does, whatever the incoming gradient.
BACKWARD = """
F.max_pool2d(x, 2)
F.avg_pool2d(x, 2)
F.adaptive_avg_pool2d(x, (3, 2))
F.adaptive_max_pool2d(x, 2)
F.conv2d(x, w, b, padding=1)
F.conv_transpose2d(x, back, padding=1)
F.batch_norm(x, None, None, training=True)
F.batch_norm(x, c * 0, c * 0 + 1, c, c)
F.group_norm(x, 1, c, c)
F.pad(x, (1, 0, 1, 0), mode="reflect")
F.pad(x, (1, 1, 1, 1), mode="replicate")
F.pad(x, (1, 1, 1, 1))
F.interpolate(x, scale_factor=2, mode="bilinear")
F.pixel_shuffle(x, 2)
F.channel_shuffle(x, 2)
m.cat([x, x], 1)
F.gelu(x)
x * 2.0
x.clone()
"""


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def values(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def names(m: Any, x: Any) -> dict[str, Any]:
    """What the expressions may use."""
    channels = x.shape[1] if x.ndim > 1 else 1
    given = {
        "w": values((3, channels, 3, 3), 1),
        "b": values((3,), 2),
        "each": values((channels, 1, 3, 3), 3),
        "back": values((channels, 3, 3, 3), 4),
        "c": values((channels,), 5),
    }
    tensors = {name: m.from_numpy(a) for name, a in given.items()}
    return {"m": m, "F": m.nn.functional, "x": x, "i": m.tensor([0, 0]), **tensors}


def leaves(result: Any) -> list[Any]:
    return [v for r in result for v in leaves(r)] if isinstance(result, tuple) else [result]


def run(m: Any, expression: str, x: Any) -> Any:
    """What the expression gives, or the exception that it raises."""
    m.manual_seed(0)
    try:
        return leaves(eval(expression, names(m, x)))
    except Exception as error:
        return error


def seen(m: Any, value: Any) -> Any:
    if not isinstance(value, m.Tensor):
        return value
    return tuple(value.shape), tuple(value.stride()), str(value.dtype).removeprefix("torch.")


def check(expression: str, make: Callable[[Any], Any]) -> None:
    want, found = (
        run(pytorch, expression, make(pytorch)),
        run(rushlight, expression, make(rushlight)),
    )
    if isinstance(want, Exception):
        assert type(found) is type(want), f"PyTorch raises {want!r}, this is {found!r}"
        assert str(found).split("\n")[0].split(". ")[0] == str(want).split("\n")[0].split(". ")[0]
        return
    if isinstance(found, Exception):
        raise found
    assert [seen(rushlight, v) for v in found] == [seen(pytorch, v) for v in want]
    for a, b in zip(found, want, strict=True):
        if isinstance(b, pytorch.Tensor) and b.device.type == "cpu":
            np.testing.assert_allclose(
                a.detach().numpy(), b.detach().numpy(), rtol=1e-3, atol=1e-4, equal_nan=True
            )


def over(text: str, layouts: dict[str, Any]) -> Any:
    cases = [(e, layout) for e in lines(text) for layout in layouts]
    return pytest.mark.parametrize("expression, layout", cases)


@over(ON_IMAGES, IMAGE_LAYOUTS)
def test_images(expression: str, layout: str) -> None:
    for shape in IMAGES:
        check(expression, lambda m, s=shape: IMAGE_LAYOUTS[layout](m, values(s)))


@over(ON_LARGE_IMAGES, IMAGE_LAYOUTS)
def test_large_images(expression: str, layout: str) -> None:
    check(expression, lambda m: IMAGE_LAYOUTS[layout](m, values(IMAGES[0])))


@over(ON_VOLUMES, {"rows": 0, "channels last": 0, "some channels": 0})
def test_volumes(expression: str, layout: str) -> None:
    for shape in VOLUMES:
        check(expression, lambda m, s=shape: IMAGE_LAYOUTS[layout](m, values(s)))


@over(ON_STACKS, LAYOUTS)
def test_stacks(expression: str, layout: str) -> None:
    for shape in STACKS:
        check(expression, lambda m, s=shape: LAYOUTS[layout](m, values(s)))


@over(ON_MATRICES, {n: layout for n, layout in LAYOUTS.items() if n != "expanded"})
def test_matrices(expression: str, layout: str) -> None:
    for shape in MATRICES:
        check(expression, lambda m, s=shape: LAYOUTS[layout](m, values(s)))


@pytest.mark.parametrize("expression", lines(ALONE))
def test_new_tensors(expression: str) -> None:
    check(expression, lambda m: m.ones(()))


@pytest.mark.parametrize("incoming", ["rows", "channels last"])
@pytest.mark.parametrize("layout", ["rows", "channels last", "reversed"])
@pytest.mark.parametrize("expression", lines(BACKWARD))
def test_gradients(expression: str, layout: str, incoming: str) -> None:
    def gradient(m: Any) -> Any:
        x = IMAGE_LAYOUTS[layout](m, values(IMAGES[0])).requires_grad_()
        out = eval(expression, names(m, x))
        g = IMAGE_LAYOUTS[incoming](m, values(tuple(out.shape), 7))
        return m.autograd.grad(out, x, g)[0]

    want, found = gradient(pytorch), gradient(rushlight)
    assert seen(rushlight, found) == seen(pytorch, want)
    np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=1e-3, atol=1e-4)


ON_META = """
F.max_pool2d(x, 2)
F.avg_pool2d(x, 2)
F.adaptive_avg_pool2d(x, 1)
F.adaptive_avg_pool2d(x, (3, 2))
F.interpolate(x, scale_factor=2, mode="bilinear")
F.conv2d(x, m.ones(3, x.shape[1], 3, 3).to(x.device), padding=1)
F.batch_norm(x, None, None, training=True)
F.group_norm(x, 1)
F.pad(x, (1, 1, 1, 1))
F.dropout(x)
F.pixel_unshuffle(x, 2)
F.channel_shuffle(x, 2)
m.cat([x, x], 1)
m.stack([x, x], 1)
m.zeros_like(x)
m.rand_like(x)
F.relu(x)
x * 2.0
x + x.contiguous()
x.clone()
x.clone(memory_format=m.channels_last)
x.double()
x.to(memory_format=m.channels_last)
x.masked_fill(x > 0, 1.0)
x.flip(1)
x.sum(1, keepdim=True)
"""


@over(ON_META, IMAGE_LAYOUTS)
def test_meta_gives_the_strides_of_the_cpu(expression: str, layout: str) -> None:
    for shape in [(2, 4, 6, 6), (1, 4, 6, 2)]:
        x = IMAGE_LAYOUTS[layout](rushlight, values(shape))
        there = rushlight.empty_strided(x.shape, x.stride(), device="meta")
        found, want = (eval(expression, names(rushlight, t)) for t in (there, x))
        assert seen(rushlight, found) == seen(rushlight, want)


@pytest.mark.parametrize("layout", IMAGE_LAYOUTS)
def test_grad_of_a_leaf_has_its_strides(layout: str) -> None:
    """Where it leaves no gaps; else it is row-major."""

    def gradient(m: Any) -> Any:
        x = IMAGE_LAYOUTS[layout](m, values(IMAGES[0])).detach().requires_grad_()
        (x * x).backward(m.from_numpy(values(IMAGES[0], 7)))
        return x.grad

    assert seen(rushlight, gradient(rushlight)) == seen(pytorch, gradient(pytorch))


def test_a_net_keeps_channels_last() -> None:
    """From the image to the pooled features, and back to the gradient of the first weight."""

    def strides(m: Any) -> list[Any]:
        nn = m.nn
        layers = [
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.Dropout2d(0.0),
            nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1),
        ]  # fmt: skip
        x = channels_last(m, values((2, 3, 12, 12)))
        steps = []
        for layer in layers:
            x = layer.to(memory_format=m.channels_last)(x)
            steps.append(tuple(x.stride()))
        x.sum().backward()
        return [*steps, tuple(layers[0].weight.stride()), tuple(layers[0].weight.grad.stride())]

    assert strides(rushlight) == strides(pytorch)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0)])
@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_pickles_keep_the_order_of_strides(order, name):
    steps = (12, 4, 1)
    t = rushlight.arange(24).view(2, 3, 4).to(getattr(rushlight, name)).permute(order)
    again = pickle.loads(pickle.dumps(t))
    assert again.stride() == tuple(steps[d] for d in order)
    assert again.tolist() == t.tolist()
