"""The programs that benchmarks/compare.py times: plain PyTorch code, with the library handed in as
`torch`.

Each entry of WORKLOADS is a function that sets one program up and answers a `step` to be called
again and again. Data and weights come from NumPy, so every library computes the same numbers; a
step answers a tensor (or number), and compare.py checks that the libraries agree on it before it
trusts a time.

Run as a program (`workloads.py LIBRARY THREADS MODULE`) this file is the worker: it reads one
request a line from standard input and answers one line of JSON. See `serve`. MODULE is the file
of the programs: this one, or another such as around.py.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

Step = Callable[[], Any]
Setup = Callable[..., Step]
Work = dict[str, Any]  # the options `operations` and `arrays`

# name -> (set-up, options). Options: `variants`, settings of which each library may use its
# fastest; `calls`, operations a step does, so that times are shown for one; `once`, too long for
# many repeats. What a step cannot do without, from which compare.py computes the row's floor:
# `operations`, floating-point ones of its products and convolutions as they are defined, a
# multiplication and an addition counting two; `arrays`, how many arrays it reads and writes
# and of how many numbers each: of every operation the operands and the result where these are
# large, else of every step the parameters, their gradients and the optimizer's state.
Workloads = dict[str, tuple[Setup, dict[str, Any]]]
WORKLOADS: Workloads = {}


def workload(into: Workloads = WORKLOADS, **options: Any) -> Callable[[Setup], Setup]:
    def add(setup: Setup) -> Setup:
        into[setup.__name__] = (setup, options)
        return setup

    return add


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    draw = np.random.default_rng(seed).standard_normal(shape)
    return (draw * scale).astype(np.float32)


def fill(torch: Any, network: Any) -> Any:
    """Give a network weights of NumPy's, scaled to keep activations of unit size."""
    with torch.no_grad():
        for number, parameter in enumerate(network.parameters()):
            shape = tuple(parameter.shape)
            parameter.copy_(torch.from_numpy(random(*shape, seed=number, scale=shape[-1] ** -0.5)))
    return network


# Optimizer settings: each library is timed with all of these and shown with its best.
STEP_VARIANTS = [{}, {"foreach": True}, {"foreach": False}, {"fused": True}]


# --- small operations
# ------------------------------------------------------------------------------


@workload()
def mul_no_grad(torch: Any) -> Step:
    a, b = torch.from_numpy(random(4, 4)), torch.from_numpy(random(4, 4, seed=1))

    def step() -> Any:
        return a * b

    return step


@workload()
def mul_recording(torch: Any) -> Step:
    a = torch.from_numpy(random(4, 4)).requires_grad_()
    b = torch.from_numpy(random(4, 4, seed=1)).requires_grad_()

    def step() -> Any:
        return a * b

    return step


@workload(calls=50)
def chain_50_mul(torch: Any) -> Step:
    start = torch.from_numpy(random(4, 4)).requires_grad_()
    factor = torch.from_numpy(1 + random(4, 4, seed=1, scale=0.01)).requires_grad_()
    ones = torch.ones(4, 4)

    def step() -> Any:
        start.grad = factor.grad = None
        x = start
        for _ in range(50):
            x = x * factor
        x.backward(ones)
        return factor.grad

    return step


@workload(calls=14)
def mixed_14_ops(torch: Any) -> Step:
    a = torch.from_numpy(random(8, 8)).requires_grad_()
    b = torch.from_numpy(random(8, 8, seed=1)).requires_grad_()
    c = torch.from_numpy(random(8, seed=2)).requires_grad_()

    def step() -> Any:
        a.grad = b.grad = c.grad = None
        x = a @ b + c  # 2
        y = torch.tanh(x) * a  # 2
        z = torch.exp(y * 0.1) - b  # 3
        u = torch.sigmoid(z.t()).reshape(4, 16)  # 3
        v = torch.relu(u - 0.5)  # 2
        w = v / (u + 1)  # 2, 14 in all
        w.sum().backward()
        return a.grad

    return step


# --- training steps
# --------------------------------------------------------------------------------


def mlp(
    torch: Any,
    optimizer: Callable[[Any], Any],
    sizes: tuple[int, ...] = (4, 64, 64, 2),
    batch: int = 32,
    parallel: Callable[[Any], Any] = lambda network: network,
) -> Step:
    """A step of a network of linear layers; `parallel` wraps it for several processes."""
    nn = torch.nn
    layers = [nn.Linear(inner, outer) for inner, outer in pairwise(sizes)]
    between = [part for layer in layers[:-1] for part in (layer, nn.ReLU())]
    network = parallel(fill(torch, nn.Sequential(*between, layers[-1])))
    update = optimizer(network.parameters())
    criterion = nn.CrossEntropyLoss()
    x = torch.from_numpy(random(batch, sizes[0]))
    target = torch.from_numpy((random(batch, seed=1) > 0).astype(np.int64))

    def step() -> Any:
        update.zero_grad()
        loss = criterion(network(x), target)
        loss.backward()
        update.step()
        return loss

    return step


@workload(variants=STEP_VARIANTS)
def mlp_sgd(torch: Any, **setting: Any) -> Step:
    return mlp(torch, lambda parameters: torch.optim.SGD(parameters, lr=1e-3, **setting))


@workload(variants=STEP_VARIANTS)
def mlp_adam(torch: Any, **setting: Any) -> Step:
    return mlp(torch, lambda parameters: torch.optim.Adam(parameters, lr=1e-4, **setting))


@workload()
def rnn_50_steps(torch: Any) -> Step:
    into = torch.from_numpy(random(16, 32, scale=0.25)).requires_grad_()
    onto = torch.from_numpy(random(32, 32, seed=1, scale=0.18)).requires_grad_()
    bias = torch.from_numpy(random(32, seed=2, scale=0.1)).requires_grad_()
    inputs = [torch.from_numpy(random(8, 16, seed=3 + t)) for t in range(50)]
    start = torch.zeros(8, 32)

    def step() -> Any:
        into.grad = onto.grad = bias.grad = None
        h = start
        for x in inputs:
            h = torch.tanh(x @ into + h @ onto + bias)
        h.pow(2).mean().backward()
        return onto.grad

    return step


@workload()
def ode_rk4_64_steps(torch: Any) -> Step:
    nn = torch.nn
    field = fill(torch, nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2)))
    parameters = list(field.parameters())
    start = torch.from_numpy(random(16, 2))
    dt = 1 / 64

    def step() -> Any:
        for parameter in parameters:
            parameter.grad = None
        y = start
        for _ in range(64):
            k1 = field(y)
            k2 = field(y + (dt / 2) * k1)
            k3 = field(y + (dt / 2) * k2)
            k4 = field(y + dt * k3)
            y = y + (dt / 6) * (k1 + 2 * k2 + 2 * k3 + k4)
        y.pow(2).mean().backward()
        return parameters[0].grad

    return step


@workload(variants=STEP_VARIANTS)
def pinn_burgers(torch: Any, **setting: Any) -> Step:
    """u_t + u u_x = (0.01 / pi) u_xx inside, u(0, x) = -sin(pi x) at the start; the second
    derivative is taken
    through the first (create_graph), and the loss through both."""
    nn = torch.nn
    layers = [
        nn.Linear(2, 32),
        nn.Tanh(),
        nn.Linear(32, 32),
        nn.Tanh(),
        nn.Linear(32, 32),
        nn.Tanh(),
    ]
    network = fill(torch, nn.Sequential(*layers, nn.Linear(32, 1)))
    update = torch.optim.Adam(network.parameters(), lr=1e-4, **setting)
    t = torch.from_numpy(np.abs(random(128, 1))).requires_grad_()
    x = torch.from_numpy(random(128, 1, seed=1, scale=0.5)).requires_grad_()
    x0 = torch.from_numpy(random(32, 1, seed=2, scale=0.5))
    zero, u0 = torch.zeros(32, 1), -torch.sin(np.pi * x0)

    def derivative(y: Any, argument: Any) -> Any:
        return torch.autograd.grad(y, argument, torch.ones_like(y), create_graph=True)[0]

    def step() -> Any:
        update.zero_grad()
        u = network(torch.cat([t, x], dim=1))
        u_t, u_x = torch.autograd.grad(u, (t, x), torch.ones_like(u), create_graph=True)
        u_xx = derivative(u_x, x)
        residual = u_t + u * u_x - (0.01 / np.pi) * u_xx
        boundary = network(torch.cat([zero, x0], dim=1)) - u0
        loss = residual.pow(2).mean() + boundary.pow(2).mean()
        loss.backward()
        update.step()
        return loss

    return step


def _viewed(torch: Any, recorded: bool, view: Callable[[Any], Any]) -> Step:
    x = torch.from_numpy(random(4, 4)).requires_grad_(recorded)

    def step() -> Any:
        result = None
        for _ in range(100):
            result = view(x)
        return result

    return step


_VIEWS: dict[str, Callable[[Any], Any]] = {
    "view_select": lambda x: x[1],
    "view_transpose": lambda x: x.t(),
    "view_reshape": lambda x: x.view(2, 8),
}
for _recorded in (False, True):
    for _name, _view in _VIEWS.items():
        _row = partial(_viewed, recorded=_recorded, view=_view)
        WORKLOADS[_name + "_recorded" * _recorded] = (_row, {"calls": 100})


# --- large arrays
# ----------------------------------------------------------------------------------


@workload(arrays=(2, 1 << 22))
def exp_4m(torch: Any) -> Step:
    x = torch.from_numpy(random(1 << 22))
    return lambda: torch.exp(x)


@workload(arrays=(2, 1 << 22))
def tanh_4m(torch: Any) -> Step:
    x = torch.from_numpy(random(1 << 22))
    return lambda: torch.tanh(x)


@workload(arrays=(2, 1 << 22))
def softmax_4m(torch: Any) -> Step:
    x = torch.from_numpy(random(4096, 1024))
    return lambda: torch.softmax(x, dim=1)


@workload(calls=6)
def softmax_and_sums_of_halves(torch: Any) -> Step:
    x, to = torch.from_numpy(random(8, 128, 128)).half(), torch.float32

    def step() -> Any:
        torch.softmax(x, -1, dtype=to), torch.log_softmax(x, -1, dtype=to)
        torch.sum(x, -1, dtype=to), torch.mean(x, -1, dtype=to), torch.prod(x, -1, dtype=to)
        return torch.cumsum(x, -1, dtype=to)

    return step


@workload(arrays=(2, 1 << 22))
def layer_norm_4m(torch: Any) -> Step:
    x = torch.from_numpy(random(4096, 1024))
    weight = torch.from_numpy(random(1024, seed=1))
    bias = torch.from_numpy(random(1024, seed=2))
    return lambda: torch.nn.functional.layer_norm(x, (1024,), weight, bias)


@workload(arrays=(13 + 18, 1 << 22))  # forward and backward
def chain_4m_backward(torch: Any) -> Step:
    """Six pointwise operations over four million numbers, and back."""
    x = torch.from_numpy(random(1 << 22, scale=0.5)).requires_grad_()

    def step() -> Any:
        x.grad = None
        ((x.sin() * x).exp() + x.tanh()).sum().backward()
        return x.grad

    return step


# --- layers and networks whose time is in the kernels
# -----------------------------------------------------------------------------------------------


def work_of_linears(batch: int, *sizes: int) -> Work:
    """What a step of layers of these sizes does at least, with Adam: three products a layer, but
    for the gradient of the first one's input; and seven passes over the parameters, of which it
    reads value, gradient and two moments and writes all but the gradient."""
    products = [inner * outer for inner, outer in pairwise(sizes)]
    parameters = sum(products) + sum(sizes[1:])
    operations = 2 * batch * (3 * sum(products) - products[0])
    return {"operations": operations, "arrays": (7, parameters)}


def backwards(torch: Any, leaves: list[Any], result: Callable[[], Any]) -> Step:
    """The forward that `result` computes and a backward from a fixed gradient."""
    gradient = torch.from_numpy(random(*result().shape, seed=99))

    def step() -> Any:
        for leaf in leaves:
            leaf.grad = None
        result().backward(gradient)
        return leaves[-1].grad

    return step


@workload(operations=3 * 2 * 1024**3, arrays=(6, 1024**2))
def linear_1024(torch: Any) -> Step:
    x = torch.from_numpy(random(1024, 1024)).requires_grad_()
    weight = torch.from_numpy(random(1024, 1024, seed=1, scale=1 / 32)).requires_grad_()
    bias = torch.from_numpy(random(1024, seed=2)).requires_grad_()
    linear = torch.nn.functional.linear
    return backwards(torch, [x, bias, weight], lambda: linear(x, weight, bias))


@workload(operations=3 * 2 * 16 * 28 * 28 * 128 * 128 * 9, arrays=(4, 16 * 128 * 28 * 28))
def conv_128(torch: Any) -> Step:
    """A convolution of 128 channels with 3 x 3 and both of its gradients, 16 images of 28 x 28."""
    x = torch.from_numpy(random(16, 128, 28, 28)).requires_grad_()
    weight = torch.from_numpy(random(128, 128, 3, 3, seed=1, scale=1 / 34)).requires_grad_()
    conv2d = torch.nn.functional.conv2d
    return backwards(torch, [x, weight], lambda: conv2d(x, weight, padding=1))


@workload(
    operations=2 * 40 * 32 * 4 * 128 * (3 * 64 + 3 * 128), arrays=(2, 4 * 128 * (64 + 128 + 2))
)
def lstm_64_128(torch: Any) -> Step:
    """An LSTM of 128 units over 40 steps of 64 numbers, batch 32, and all its gradients."""
    network = fill(torch, torch.nn.LSTM(64, 128))
    x = torch.from_numpy(random(40, 32, 64)).requires_grad_()
    return backwards(torch, [x, *network.parameters()], lambda: network(x)[0])


@workload(
    operations=2 * 16 * 32 * 32 * 64 * 64 * 9 * (3 * 6 - 1), arrays=(3, 6 * 64 * 64 * 9 + 768)
)
def residual_blocks(torch: Any) -> Step:
    """A step of three residual blocks of 64 channels, 16 images of 32 x 32, with SGD."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = (nn.Conv2d(64, 64, 3, padding=1, bias=False) for _ in "12")
            self.norm1, self.norm2 = nn.BatchNorm2d(64), nn.BatchNorm2d(64)

        def forward(self, x: Any) -> Any:
            inner = torch.relu(self.norm1(self.first(x)))
            return torch.relu(self.norm2(self.second(inner)) + x)

    network = nn.Sequential(Block(), Block(), Block())
    with torch.no_grad():
        for number, parameter in enumerate(p for p in network.parameters() if p.ndim > 1):
            shape = tuple(parameter.shape)
            parameter.copy_(torch.from_numpy(random(*shape, seed=number, scale=1 / 24)))
    update = torch.optim.SGD(network.parameters(), lr=1e-3)
    images = torch.from_numpy(random(16, 64, 32, 32))

    def step() -> Any:
        update.zero_grad()
        loss = network(images).pow(2).mean()
        loss.backward()
        update.step()
        return network[0].first.weight.grad

    return step


def _mnist_work() -> Work:
    first, second = 26 * 26 * 32 * 9, 24 * 24 * 64 * 32 * 9
    dense = work_of_linears(64, 9216, 128, 10)
    # The first convolution's input wants no gradient, and that of the first linear layer does.
    convolutions = 2 * 64 * (2 * first + 3 * second) + 2 * 64 * 9216 * 128
    return {"operations": dense["operations"] + convolutions, "arrays": dense["arrays"]}


@workload(variants=STEP_VARIANTS, **_mnist_work())
def mnist_net(torch: Any, **setting: Any) -> Step:
    """A step of the network of PyTorch's MNIST example, 64 images, with Adam. Its dropout draws
    the same numbers in both libraries, since they start from the same seed."""
    nn = torch.nn
    network = nn.Sequential(
        *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten()),
        *(nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10)),
        nn.LogSoftmax(dim=1),
    )
    with torch.no_grad():
        for number, parameter in enumerate(network.parameters()):
            shape = tuple(parameter.shape)
            scale = prod(shape[1:]) ** -0.5
            parameter.copy_(torch.from_numpy(random(*shape, seed=number, scale=scale)))
    update = torch.optim.Adam(network.parameters(), lr=1e-4, **setting)
    images = torch.from_numpy(random(64, 1, 28, 28))
    classes = torch.arange(64) % 10
    torch.manual_seed(0)

    def step() -> Any:
        update.zero_grad()
        torch.nn.functional.nll_loss(network(images), classes).backward()
        update.step()
        return network[0].weight.grad

    return step


@workload(variants=STEP_VARIANTS, **work_of_linears(128, 784, 512, 512, 10))
def mlp_784(torch: Any, **setting: Any) -> Step:
    return mlp(torch, partial(torch.optim.Adam, lr=1e-4, **setting), (784, 512, 512, 10), 128)


@workload(variants=STEP_VARIANTS, **work_of_linears(256, 17, 256, 256, 6))
def mlp_17(torch: Any, **setting: Any) -> Step:
    return mlp(torch, partial(torch.optim.Adam, lr=1e-4, **setting), (17, 256, 256, 6), 256)


def gpt(
    torch: Any,
    depth: int = 4,
    width: int = 128,
    heads: int = 4,
    batch: int = 8,
    length: int = 128,
    by_hand: bool = True,
    parallel: Callable[[Any], Any] = lambda network: network,
) -> Step:
    """A step of a transformer that reads `batch` texts of `length` tokens, with AdamW. Attention
    is `scaled_dot_product_attention`, or its formula written out. `parallel` wraps the network for
    several processes."""
    nn, functional = torch.nn, torch.nn.functional
    words = 256

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def attention(self, q: Any, k: Any, v: Any) -> Any:
            if not by_hand:
                return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            scores = (q @ k.transpose(-2, -1)) * (width // heads) ** -0.5
            return scores.masked_fill(self.later, float("-inf")).softmax(-1) @ v

        def forward(self, x: Any) -> Any:
            b, t, _ = x.shape
            parts = self.qkv(self.first(x)).view(b, t, 3, heads, width // heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
            x = x + self.out(self.attention(q, k, v).transpose(1, 2).reshape(b, t, width))
            return x + self.down(functional.gelu(self.up(self.second(x))))

    blocks = nn.Sequential(*[Block() for _ in range(depth)])
    for block in blocks:
        block.later = torch.ones(length, length).triu(1).bool()
    network = fill(
        torch, nn.Sequential(nn.Embedding(words, width), blocks, nn.Linear(width, words))
    )
    network = parallel(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    tokens = torch.arange(batch * length).view(batch, length) * 7 % words

    def step() -> Any:
        optimizer.zero_grad()
        scores = network(tokens)
        loss = functional.cross_entropy(scores.view(-1, words), (tokens + 1).view(-1) % words)
        loss.backward()
        optimizer.step()
        return loss

    return step


def _gpt_row(depth: int, width: int, heads: int, batch: int, length: int, by_hand: bool) -> None:
    """A row of gpt and what it does at least: three products for each weight, and six of the
    length squared in attention, of which the causal op needs half."""
    weights = depth * 12 * width**2 + width * 256
    attention = depth * 6 * 2 * length * width // (1 if by_hand else 2)
    work = batch * length * (6 * weights + attention)
    name = f"gpt_{depth}x{width}" + "_by_hand" * by_hand
    setup = partial(
        gpt, depth=depth, width=width, heads=heads, batch=batch, length=length, by_hand=by_hand
    )
    WORKLOADS[name] = (setup, {"operations": work, "arrays": (7, weights + width * 256)})


_gpt_row(4, 128, 4, 12, 64, by_hand=False)
_gpt_row(4, 128, 4, 12, 64, by_hand=True)
_gpt_row(6, 384, 6, 8, 256, by_hand=False)


# --- transforms
# ---------------------------------------------------------------------------------------


@workload()
def hvp_mlp(torch: Any) -> Step:
    """A Hessian-vector product of a 64-64-1 network's loss, reverse over reverse."""
    nn = torch.nn
    network = fill(torch, nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)))
    parameters = list(network.parameters())
    direction = [torch.from_numpy(random(*p.shape, seed=9 + n)) for n, p in enumerate(parameters)]
    x, y = torch.from_numpy(random(64, 64)), torch.from_numpy(random(64, 1, seed=1))

    def step() -> Any:
        loss = (network(x) - y).pow(2).mean()
        first = torch.autograd.grad(loss, parameters, create_graph=True)
        along = sum((g * v).sum() for g, v in zip(first, direction, strict=True))
        return torch.autograd.grad(along, parameters)[0]

    return step


@workload()
def hvp_forward(torch: Any) -> Step:
    """The same forward over reverse: the tangent of the gradient along a direction."""
    shapes = ((64, 64), (64,), (64, 1), (1,))
    parameters = tuple(
        torch.from_numpy(random(*s, scale=0.1, seed=n)) for n, s in enumerate(shapes)
    )
    direction = tuple(torch.from_numpy(random(*s, seed=9 + n)) for n, s in enumerate(shapes))
    x, y = torch.from_numpy(random(64, 64)), torch.from_numpy(random(64, 1, seed=1))

    def loss(w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        return (torch.tanh(x @ w1 + b1) @ w2 + b2 - y).pow(2).mean()

    gradient = torch.func.grad(loss, argnums=(0, 1, 2, 3))
    return lambda: torch.func.jvp(gradient, parameters, direction)[1][0]


@workload()
def vmap_grad_256(torch: Any) -> Step:
    """Per-sample gradients of a 16-32-1 network over 256 samples."""
    w1, w2 = torch.from_numpy(random(16, 32, scale=0.25)), torch.from_numpy(random(32, 1, seed=1))
    x, y = torch.from_numpy(random(256, 16, seed=2)), torch.from_numpy(random(256, seed=3))

    def loss(w1: Any, w2: Any, x: Any, y: Any) -> Any:
        return ((torch.tanh(x @ w1) @ w2).squeeze(-1) - y).pow(2).sum()

    every = torch.func.vmap(torch.func.grad(loss, argnums=(0, 1)), in_dims=(None, None, 0, 0))
    return lambda: every(w1, w2, x, y)[0]


# --- rows of later work: no target yet, shown where both libraries have them
# ------------------------


@workload(later=True, once=True)
def backward_1m_nodes(torch: Any) -> Step:
    """A chain of a million additions to a scalar: built, walked backwards and destroyed."""
    nodes = int(os.environ.get("RUSHLIGHT_BENCH_NODES", "1000000"))
    start = torch.ones((), requires_grad=True)

    def step() -> Any:
        start.grad = None
        x = start
        for _ in range(nodes):
            x = x + 1.0
        x.backward()
        return start.grad

    return step


# --- the worker
# ------------------------------------------------------------------------------------


def load(library: str, threads: int) -> Any:
    """The module that workloads call `torch`: torch, rushlight, or rushlight under torch's name."""
    if library == "rushlight-as-torch":
        importlib.import_module("rushlight").install_as_torch()
        library = "torch"
    torch = importlib.import_module(library)
    torch.set_num_threads(threads)
    for submodule in ("nn", "optim", "autograd"):
        importlib.import_module(f"{library}.{submodule}")
    return torch


def values(result: Any) -> list[float]:
    """A few numbers of a step's result, or of the first of several, for comparing libraries."""
    while isinstance(result, (tuple, list)):
        result = result[0]
    if hasattr(result, "detach"):
        result = result.detach()
        result = (result.abs() if result.is_complex() else result).double().numpy()
    flat = np.asarray(result, dtype=np.float64).reshape(-1)
    return (
        [float(v) for v in (flat[0], flat[-1], flat.mean(), np.abs(flat).max())]
        if flat.size
        else []
    )


def best_time(step: Step, seconds: float, once: bool) -> tuple[float, int]:
    """The best time of a call, from samples long enough for the clock, in about `seconds`."""
    clock = time.perf_counter
    began = clock()
    step()
    first = clock() - began
    if once:
        return first, 1
    inner = max(1, int(0.01 / max(first, 1e-9)))
    loop = range(inner)
    began = clock()  # the first call may be far slower than the rest: measure again
    if first > seconds:
        step()
        return clock() - began, 1
    for _ in loop:
        step()
    inner = max(1, int(0.01 / max((clock() - began) / inner, 1e-9)))
    loop, best, samples = range(inner), float("inf"), 0
    deadline = clock() + seconds
    while clock() < deadline or samples < 3:
        began = clock()
        for _ in loop:
            step()
        best = min(best, (clock() - began) / inner)
        samples += 1
    return best, samples


# --- memory
# ------------------------------------------------------------------------------


def _conv_net(torch: Any) -> Step:
    """A step of three convolutions with their norms over 32 images of 32 x 32."""
    nn = torch.nn
    layers: list[Any] = []
    for inner, outer in ((3, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU()]
        layers += [nn.MaxPool2d(2)]
    network = fill(torch, nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10)))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    images = torch.from_numpy(random(32, 3, 32, 32))
    classes = torch.arange(32) % 10

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(images), classes)
        loss.backward()
        optimizer.step()
        return loss

    return step


# Programs whose memory is compared, and how many steps of each.
MEMORY: dict[str, tuple[Setup, int]] = {
    "mlp": (mlp_sgd, 200),
    "conv_net": (_conv_net, 5),
    "gpt": (gpt, 5),
    "chain_4m": (chain_4m_backward, 5),
}


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def memory_of_training(library: str, name: str) -> dict[str, int]:
    """Peak resident bytes of a process that does some steps of a program: in all, and what of it
    came after the library was there; and the page faults of a step when several are done."""
    torch = load(library, threads=1)
    # What a library loads at its first use is not the program's.
    (torch.ones(2, 2, requires_grad=True) @ torch.ones(2, 2)).sum().backward()
    before = _peak_bytes()
    setup, steps = MEMORY[name]
    step = setup(torch)
    for _ in range(steps):
        step()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(steps):
        step()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    peak = _peak_bytes()
    return {"bytes": peak, "own": peak - before, "faults": faults // steps}


# --- what the machine can do
# -----------------------------------------------------------------------------------------------


def operations_per_second(torch: Any) -> float:
    """The most that a product of two square matrices reaches, of sizes whose operands stay in the
    cache of a core: multiplications and additions in float32."""
    best = 0.0
    for size in (168, 224, 256, 336, 448, 672):
        a, b = torch.from_numpy(random(size, size)), torch.from_numpy(random(size, size, seed=1))
        seconds, _ = best_time(partial(torch.matmul, a, b), 0.1, once=False)
        best = max(best, 2 * size**3 / seconds)
    return best


def bytes_per_second(torch: Any, numbers: int) -> float:
    """The bytes that a copy of so many numbers reads and writes in a second, in float32."""
    source, target = torch.ones(numbers), torch.ones(numbers)
    return 2 * 4 * numbers / best_time(lambda: target.copy_(source), 0.1, once=False)[0]


def time_of(
    torch: Any,
    request: dict[str, Any],
    prepared: dict[str, tuple[str, Step]],
    workloads: Workloads,
) -> dict[str, Any]:
    """The best time of a workload in one setting, with its values when it was set up for that."""
    setup, options = workloads[request["name"]]
    setting = json.dumps(request["setting"])
    found = None
    if prepared.get(setting, ("",))[0] != request["name"]:
        for other in [key for key, (name, _) in prepared.items() if name != request["name"]]:
            del prepared[other]
        gc.collect()
        step = setup(torch, **request["setting"])
        found = values(step())
        prepared[setting] = (request["name"], step)
    gc.collect()
    once = options.get("once", False)
    best, samples = best_time(prepared[setting][1], request["seconds"], once)
    return {"best": best, "samples": samples, "values": found}


def serve(library: str, threads: int, workloads: Workloads) -> None:
    """Answer requests, a line of JSON each: {"name", "setting", "seconds"} -> {"best", "values"},
    {"operations"} -> {"best"} and {"copy": numbers} -> {"best"}, what the machine does in a second;
    or {"error"}.

    The garbage collector stays on, as in a program; prepared steps are kept while requests name the
    same workload.
    """
    torch = load(library, threads)
    numpy_version, torch_version = np.__version__, str(getattr(torch, "__version__", "?"))
    ready = {"library": library, "version": torch_version, "numpy": numpy_version}
    print(json.dumps(ready | {"python": sys.version.split()[0]}), flush=True)
    prepared: dict[str, tuple[str, Step]] = {}
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any]
        try:
            if "operations" in request:
                answer = {"best": operations_per_second(torch)}
            elif "copy" in request:
                answer = {"best": bytes_per_second(torch, request["copy"])}
            else:
                answer = time_of(torch, request, prepared, workloads)
        except Exception as error:  # a row a library cannot do is shown as such; the others go on
            message = str(error).strip().splitlines() or [""]
            answer = {"error": f"{type(error).__name__}: {message[0][:160]}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    if sys.argv[2] == "memory":
        print(json.dumps(memory_of_training(sys.argv[1], sys.argv[3])))
    else:
        programs: Workloads = importlib.import_module(sys.argv[3]).WORKLOADS
        serve(sys.argv[1], int(sys.argv[2]), programs)
