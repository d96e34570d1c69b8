"""The programs that benchmarks/compare.py times: plain PyTorch code, with the library handed in as
`torch`.

Each entry of WORKLOADS is a function that sets one program up and answers a `step` to be called
again and again. Data and weights come from NumPy, so every library computes the same numbers; a
step answers a tensor (or number), and compare.py checks that the libraries agree on it before it
trusts a time.

Run as a program this file is the worker: it reads one request a line from standard input and
answers one line of JSON. See `serve`.
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
from typing import Any

import numpy as np

Step = Callable[[], Any]
Setup = Callable[..., Step]

# name -> (set-up, options). Options: `variants`, settings of which each library may use its
# fastest; `calls`, operations a step does, so that times are shown for one; `once`, too long for
# many repeats.
WORKLOADS: dict[str, tuple[Setup, dict[str, Any]]] = {}


def workload(**options: Any) -> Callable[[Setup], Setup]:
    def add(setup: Setup) -> Setup:
        WORKLOADS[setup.__name__] = (setup, options)
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


def mlp(torch: Any, optimizer: Callable[[Any], Any]) -> Step:
    nn = torch.nn
    network = fill(
        torch,
        nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)),
    )
    update = optimizer(network.parameters())
    criterion = nn.CrossEntropyLoss()
    x = torch.from_numpy(random(32, 4))
    target = torch.from_numpy((random(32, seed=1) > 0).astype(np.int64))

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


@workload()
def exp_4m(torch: Any) -> Step:
    x = torch.from_numpy(random(1 << 22))
    return lambda: torch.exp(x)


@workload()
def tanh_4m(torch: Any) -> Step:
    x = torch.from_numpy(random(1 << 22))
    return lambda: torch.tanh(x)


@workload()
def softmax_4m(torch: Any) -> Step:
    x = torch.from_numpy(random(4096, 1024))
    return lambda: torch.softmax(x, dim=1)


@workload()
def layer_norm_4m(torch: Any) -> Step:
    x = torch.from_numpy(random(4096, 1024))
    weight = torch.from_numpy(random(1024, seed=1))
    bias = torch.from_numpy(random(1024, seed=2))
    return lambda: torch.nn.functional.layer_norm(x, (1024,), weight, bias)


@workload()
def chain_4m_backward(torch: Any) -> Step:
    """Six pointwise operations over four million numbers, and back."""
    x = torch.from_numpy(random(1 << 22, scale=0.5)).requires_grad_()

    def step() -> Any:
        x.grad = None
        ((x.sin() * x).exp() + x.tanh()).sum().backward()
        return x.grad

    return step


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


def load(library: str) -> Any:
    """The module that workloads call `torch`: torch, rushlight, or rushlight under torch's name."""
    if library == "rushlight-as-torch":
        importlib.import_module("rushlight").install_as_torch()
        library = "torch"
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    for submodule in ("nn", "optim", "autograd"):
        importlib.import_module(f"{library}.{submodule}")
    return torch


def values(result: Any) -> list[float]:
    """A few numbers of a step's result, for comparing libraries."""
    array = np.asarray(
        result.detach().numpy() if hasattr(result, "detach") else result, dtype=np.float64
    )
    flat = array.reshape(-1)
    return [float(v) for v in (flat[0], flat[-1], flat.mean(), np.abs(flat).max())]


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


def _gpt(torch: Any) -> Step:
    """A step of a transformer of four layers, width 128, over 8 x 128 tokens."""
    nn, functional = torch.nn, torch.nn.functional
    width, heads, length, words = 128, 4, 128, 256

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            b, t, _ = x.shape
            parts = self.qkv(self.first(x)).view(b, t, 3, heads, width // heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
            scores = (q @ k.transpose(-2, -1)) * (width // heads) ** -0.5
            seen = (scores.masked_fill(self.later, float("-inf")).softmax(-1) @ v).transpose(1, 2)
            x = x + self.out(seen.reshape(b, t, width))
            return x + self.down(functional.gelu(self.up(self.second(x))))

    blocks = nn.Sequential(*[Block() for _ in range(4)])
    for block in blocks:
        block.later = torch.ones(length, length).triu(1).bool()
    network = fill(
        torch, nn.Sequential(nn.Embedding(words, width), blocks, nn.Linear(width, words))
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    tokens = torch.arange(8 * length).view(8, length) * 7 % words

    def step() -> Any:
        optimizer.zero_grad()
        scores = network(tokens)
        loss = functional.cross_entropy(scores.view(-1, words), (tokens + 1).view(-1) % words)
        loss.backward()
        optimizer.step()
        return loss

    return step


# Programs whose memory is compared, and how many steps of each.
MEMORY: dict[str, tuple[Setup, int]] = {
    "mlp": (mlp_sgd, 200),
    "conv_net": (_conv_net, 5),
    "gpt": (_gpt, 5),
    "chain_4m": (chain_4m_backward, 5),
}


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def memory_of_training(library: str, name: str) -> dict[str, int]:
    """Peak resident bytes of a process that does some steps of a program: in all, and what of it
    came after the library was there; and the page faults of a step when several are done."""
    torch = load(library)
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


def serve(library: str) -> None:
    """Answer requests, a line of JSON each: {"name", "setting", "seconds"} -> {"best", "values"} or
    {"error"}.

    The garbage collector stays on, as in a program; a prepared step is kept while requests name the
    same one.
    """
    torch = load(library)
    numpy_version, torch_version = np.__version__, str(getattr(torch, "__version__", "?"))
    ready = {"library": library, "version": torch_version, "numpy": numpy_version}
    print(json.dumps(ready | {"python": sys.version.split()[0]}), flush=True)
    prepared: tuple[Any, Step | None] = (None, None)
    for line in sys.stdin:
        request = json.loads(line)
        setup, options = WORKLOADS[request["name"]]
        key = (request["name"], json.dumps(request["setting"]))
        answer: dict[str, Any]
        try:
            if prepared[0] != key:
                prepared = (None, None)
                gc.collect()
                fresh = setup(torch, **request["setting"])
                answer_values = values(fresh())
                prepared = (key, fresh)
            else:
                answer_values = None
            step = prepared[1]
            assert step is not None
            gc.collect()
            best, samples = best_time(step, request["seconds"], options.get("once", False))
            answer = {"best": best, "samples": samples, "values": answer_values}
        except Exception as error:  # a row a library cannot do is shown as such; the others go on
            message = str(error).strip().splitlines() or [""]
            answer = {"error": f"{type(error).__name__}: {message[0][:160]}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    if sys.argv[2:3] == ["memory"]:
        print(json.dumps(memory_of_training(sys.argv[1], sys.argv[3])))
    else:
        serve(sys.argv[1])
