"""The programs that tools/gpu_check.py times on a device: plain PyTorch code for either library.

A program is a function of a `Place` (a library and its device) that answers a call to be timed.
Numbers come from NumPy, so both libraries compute the same, and `values` of their results can be
compared. What a call cannot do without stands beside the program: bytes read and written, floating-
point operations.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
import workloads

Call = Callable[[], Any]
TILE = 1_048_573  # a prime, so that no two rows of a matrix are alike
SAMPLES = 4096  # of a result, compared one by one
AT_ONCE = 100  # calls that are queued before the device is waited for
BATCHES = 5  # of a measurement
LEAST = 0.02  # seconds of a batch
ROUNDING = {"float32": 1e-4, "tf32": 5e-3, "bfloat16": 3e-2, "float16": 5e-3}


class NotHere(Exception):
    """This library or machine has not what is asked for."""


@lru_cache(maxsize=4)
def _drawn(count: int, seed: int, mean: float) -> np.ndarray:
    """Normal numbers; a few that are repeated, since drawing is slow."""
    drawn = np.random.default_rng(seed).standard_normal(min(count, TILE)) + mean
    return np.resize(drawn.astype(np.float32), count)


class Place:
    """A library and its device, as a program sees them; other names are the library's."""

    def __init__(self, library: str, device: str) -> None:
        self.library, self.device = library, device
        self.torch: Any = import_module(library)
        for part in ("nn", "optim", "autograd"):
            import_module(f"{library}.{part}")
        self.wait: Callable[[], object] = lambda: None
        if library == "rushlight" and device != "cpu":
            known = import_module("rushlight._devices")
            self.wait = known.of(self.torch.empty(1, device=device)).synchronize
        elif device.startswith("cuda"):
            self.wait = self.torch.cuda.synchronize
        else:
            self.torch.set_num_threads(1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def from_numpy(self, array: np.ndarray) -> Any:
        return self.torch.from_numpy(array).to(self.device)

    def numbers(
        self,
        *shape: int,
        kind: str = "float32",
        seed: int = 0,
        grad: bool = False,
        mean: float = 0.0,
    ) -> Any:
        array = _drawn(prod(shape), seed, mean).reshape(shape)
        numbers = self.torch.from_numpy(array).to(self.device, copy=True)
        numbers = numbers.to(getattr(self.torch, "float32" if kind == "tf32" else kind))
        return numbers.requires_grad_(grad)

    def precise(self, kind: str) -> None:
        """Whether products of float32 may be rounded as TF32 is."""
        self.torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        self.torch.backends.cudnn.allow_tf32 = kind == "tf32"


@dataclass(frozen=True)
class Program:
    make: Callable[[Place], Call]
    bytes: float = 0
    operations: float = 0
    kind: str = "float32"
    each: bool = False  # small calls: how long one takes to queue, and until it is done


# ---- the cost of a call


def _small(function: Callable[..., Any], **numbers: Any) -> Program:
    def made(place: Place) -> Call:
        a, b = (place.numbers(8, 8, seed=s, **numbers) for s in (0, 1))
        return lambda: function(place.torch, a, b)

    return Program(made, each=True)


def _upload(place: Place) -> Call:
    a = place.torch.ones(8, 8)
    return lambda: a.to(place.device, copy=True)


def _launch(place: Place) -> Call:
    """A kernel that does nothing, with two tensors and two numbers."""
    if place.library != "rushlight":
        raise NotHere("a kernel of rushlight's")
    core = import_module("rushlight._core")
    build = import_module("rushlight._devices.accelerators").build
    text_of = import_module("rushlight._devices.texts").text_of
    a = place.numbers(8, 8)
    text = text_of("pairs.cl", "float32", False)
    text += "\nKERNEL nothing(BUFFER(a), BUFFER(b), i64 m, i64 n) {}\n"
    number, given = build(a._accelerator, text, "nothing"), (a, a, 1, 2)

    def call() -> Any:
        core.accelerator_launch(number, 64, 64, given)
        return a

    return call


def _chain(torch: Any, a: Any, b: Any) -> Any:
    return torch.nn.functional.silu(torch.tanh(a * b + a) - b)


CALLS = {
    "a + b": _small(lambda torch, a, b: a + b),
    "a chain of five": _small(_chain),
    "gelu": _small(lambda torch, a, b: torch.nn.functional.gelu(a)),
    "a.sum()": _small(lambda torch, a, b: a.sum()),
    "softmax": _small(lambda torch, a, b: torch.softmax(a, 1)),
    "a @ b": _small(lambda torch, a, b: a @ b),
    "a view": _small(lambda torch, a, b: a[1:5]),
    "a + b, recorded": _small(lambda torch, a, b: a + b, grad=True),
    "empty": _small(lambda torch, a, b: torch.empty(8, 8, device=a.device).zero_()),
    "copy from the host": Program(_upload, each=True),
    "copy to the host": _small(lambda torch, a, b: a.to("cpu", copy=True)),
    "an empty kernel": Program(_launch, each=True),
}


# ---- memory


def _array(
    factor: int, function: Callable[..., Any], n: int, kind: str = "float32", below: int = 0
) -> Program:
    """factor: how often a call must go over all numbers, to read or to write them. below: bounds
    the function's index of n numbers."""

    def made(place: Place) -> Call:
        a, b = (place.numbers(n, 1024, kind=kind, seed=seed, mean=1.0) for seed in (0, 1))
        index = place.from_numpy(np.arange(n)[::-1] % (below or n))
        return lambda: function(place.torch, a, b, index)

    size = 2 if kind in ("bfloat16", "float16") else 4
    return Program(made, bytes=factor * size * n * 1024, kind=kind)


def _backward(factor: int, function: Callable[..., Any], n: int) -> Program:
    """The gradient of a function whose forward is done."""

    def made(place: Place) -> Call:
        a, b = (place.numbers(n, 1024, seed=seed, grad=not seed) for seed in (0, 1))
        result = function(place.torch, a, b, None)
        seed = b if result.shape == b.shape else place.torch.ones_like(result)
        grad = place.torch.autograd.grad
        return lambda: grad(result, a, seed, retain_graph=True)[0]

    return Program(made, bytes=factor * 4 * n * 1024)


def _norm(torch: Any, a: Any, b: Any, i: Any) -> Any:
    return torch.nn.functional.layer_norm(a, (1024,), b[0], b[1])


def _entropy(torch: Any, a: Any, b: Any, i: Any) -> Any:
    return torch.nn.functional.cross_entropy(a, i)


def _memory(n: int) -> dict[str, Program]:
    """n: rows of 1024 numbers."""
    return {
        "copy": _array(2, lambda torch, a, b, i: b.copy_(a), n),
        "a + b": _array(3, lambda torch, a, b, i: a + b, n),
        "softmax": _array(2, lambda torch, a, b, i: torch.softmax(a, 1), n),
        "layer norm": _array(2, _norm, n),
        "sum": _array(1, lambda torch, a, b, i: a.sum(), n),
        "sum of rows": _array(1, lambda torch, a, b, i: a.sum(1), n),
        "sum of columns": _array(1, lambda torch, a, b, i: a.sum(0), n),
        "exp": _array(2, lambda torch, a, b, i: torch.exp(a), n),
        "gelu": _array(2, lambda torch, a, b, i: torch.nn.functional.gelu(a), n),
        "a * b + a": _array(3, lambda torch, a, b, i: torch.addcmul(a, a, b), n),
        "a + b in bfloat16": _array(3, lambda torch, a, b, i: a + b, n, "bfloat16"),
        "softmax in bfloat16": _array(2, lambda torch, a, b, i: torch.softmax(a, 1), n, "bfloat16"),
        "softmax backward": _backward(3, lambda torch, a, b, i: torch.softmax(a, 1), n),
        "layer norm backward": _backward(3, _norm, n),
        "cross entropy": _array(1, _entropy, n, below=1024),
        "amax of rows": _array(1, lambda torch, a, b, i: a.amax(1), n),
        "cumsum of rows": _array(2, lambda torch, a, b, i: a.cumsum(1), n),
        "a transposed copy": _array(2, lambda torch, a, b, i: a.t().contiguous(), n),
        "rows by index": _array(2, lambda torch, a, b, i: a[i], n),
        "a + a row": _array(2, lambda torch, a, b, i: a + b[0], n),
        "where": _array(3, lambda torch, a, b, i: torch.where(a > 0, a, b), n),
    }


# ---- products, convolutions, attention


def _product(m: int, k: int, n: int, kind: str) -> Program:
    def made(place: Place) -> Call:
        a, b = place.numbers(m, k, kind=kind), place.numbers(k, n, kind=kind, seed=1)
        return lambda: a @ b

    return Program(made, operations=2.0 * m * k * n, kind=kind)


def _products(quick: bool) -> dict[str, Program]:
    kinds = ("float32", "bfloat16", "tf32", "float16")
    sizes = [(n, n, n) for n in (4096, 1024, 8192, 2048, 512, 256, 128)]
    odd = [(4095, 4097, 4093), (1000, 3000, 777), (8192, 384, 1536)]
    if quick:
        sizes, odd = [(64, 64, 64)], [(33, 50, 17)]
    pairs = [(s, t) for s in sizes for t in kinds] + [(s, t) for s in odd for t in kinds[:2]]
    return {f"{m} x {k} x {n} in {t}": _product(m, k, n, t) for (m, k, n), t in pairs}


def _passes(result: Callable[[], Any], leaves: list[Any], torch: Any) -> Call:
    """A forward and a backward; the gradient of the first leaf."""
    seed = torch.ones_like(result())
    return lambda: torch.autograd.grad(result(), leaves, seed)[0]


def _convolution(
    images: tuple[int, ...], out: int, size: int, stride: int, kind: str, back: bool
) -> Program:
    batch, channels, height, width = images

    def made(place: Place) -> Call:
        x = place.numbers(*images, kind=kind, grad=back)
        w = place.numbers(out, channels, size, size, kind=kind, seed=1, grad=back)
        convolved = partial(
            place.torch.nn.functional.conv2d, x, w, stride=stride, padding=size // 2
        )
        return _passes(convolved, [x, w], place.torch) if back else convolved

    places = batch * (height // stride) * (width // stride)
    operations = 2.0 * places * out * channels * size**2 * (3 if back else 1)
    return Program(made, operations=operations, kind=kind)


def _convolutions(quick: bool) -> dict[str, Program]:
    """Of a ResNet-50: channels, height, channels out, size, stride."""
    shapes = [(64, 56, 64, 3, 1), (256, 14, 256, 3, 1), (3, 224, 64, 7, 2), (256, 56, 64, 1, 1)]
    shapes += [(128, 56, 128, 3, 2), (512, 7, 512, 3, 1), (1024, 14, 256, 1, 1)]
    batch = 2 if quick else 32
    shapes = [(4, 8, 6, 3, 1), (3, 16, 4, 7, 2)] if quick else shapes
    return {
        f"{c} x {h} x {h} to {o}, {k} x {k} by {s} in {kind}{', and back' * back}": _convolution(
            (batch, c, h, h), o, k, s, kind, back
        )
        for c, h, o, k, s in shapes
        for kind, back in (
            ("float32", False),
            ("float32", True),
            ("tf32", False),
            ("bfloat16", False),
        )
    }


def _attention(
    batch: int, heads: int, length: int, depth: int, kind: str, causal: bool, back: bool
) -> Program:
    def made(place: Place) -> Call:
        shape = batch, heads, length, depth
        q, k, v = (place.numbers(*shape, kind=kind, seed=s, grad=back) for s in range(3))
        attend = place.torch.nn.functional.scaled_dot_product_attention
        mixed = partial(attend, q, k, v, is_causal=causal)
        return _passes(mixed, [q, k, v], place.torch) if back else mixed

    products = 2 * (3.5 if back else 1) / (2 if causal else 1)
    operations = products * 2.0 * batch * heads * length**2 * depth
    return Program(made, operations=operations, kind=kind)


def _attentions(quick: bool) -> dict[str, Program]:
    shapes = [(8, 6, 256, 64), (8, 12, 1024, 64), (2, 16, 4096, 128)]
    return {
        f"{b} x {h} x {n} x {d} in {kind}{', causal' * causal}{', and back' * back}": _attention(
            b, h, n, d, kind, causal, back
        )
        for b, h, n, d in ([(1, 2, 33, 16)] if quick else shapes)
        for kind in ("float32", "bfloat16")
        for causal, back in ((True, False), (True, True), (False, False))
    }


# ---- training steps


def _step(setup: Callable[..., Call]) -> Program:
    def made(place: Place) -> Call:
        place.torch.set_default_device(place.device)
        try:
            return setup(place)
        finally:
            place.torch.set_default_device(None)

    return Program(made)


def _lower(setup: Callable[..., Call]) -> Program:
    """The same under autocast to bfloat16."""
    inner = _step(setup).make

    def made(place: Place) -> Call:
        step, kind = inner(place), place.torch.device(place.device).type

        def call() -> Any:
            with place.torch.autocast(kind, dtype=place.torch.bfloat16):
                return step()

        return call

    return Program(made, kind="bfloat16")


def _steps(quick: bool) -> dict[str, Program]:
    def of(name: str) -> Callable[..., Call]:
        return workloads.WORKLOADS[name][0]

    names = {
        "MLP 4-64-64-2, SGD": "mlp_sgd",
        "MLP 4-64-64-2, Adam": "mlp_adam",
        "PINN, Burgers": "pinn_burgers",
        "RNN of 50 steps": "rnn_50_steps",
        "GPT 6x384": "gpt_6x384",
        "three residual blocks": "residual_blocks",
        "MLP 784-512-512-10": "mlp_784",
        "LSTM 64-128": "lstm_64_128",
        "MNIST's network": "mnist_net",
    }
    found = {name: _step(of(row)) for name, row in names.items()}
    if quick:
        return {name: found[name] for name in list(names)[:4]}
    return found | {"GPT 6x384 in bfloat16": _lower(of("gpt_6x384"))}


def groups(quick: bool) -> dict[str, dict[str, Program]]:
    """All programs; quick: small ones, for trying."""
    return {
        "calls": CALLS,
        "memory": _memory(64 if quick else 1 << 15),
        "products": _products(quick),
        "convolutions": _convolutions(quick),
        "attention": _attentions(quick),
        "steps": _steps(quick),
    }


# ---- measuring


def values(result: Any) -> dict[str, Any]:
    """Some numbers of a result, and the root of the mean square of all."""
    array = result.detach().cpu().float().numpy().reshape(-1)
    places = np.random.default_rng(0).integers(0, array.size, SAMPLES if array.size > 1 else 1)
    mean = float(np.dot(array, array) / array.size) ** 0.5
    return {"mean": mean, "samples": array[places].tolist(), "size": array.size}


def measure(place: Place, program: Program, call: Call, seconds: float) -> dict[str, list[float]]:
    """The seconds of a call, one number of each batch; for small calls also until it is queued."""
    clock, wait = time.perf_counter, place.wait

    def batch(count: int) -> tuple[float, float]:
        wait()
        began = clock()
        for _ in range(count):
            call()
        queued = clock() - began
        wait()
        return (clock() - began) / count, queued / count

    gc.collect()
    first = min(batch(1)[0] for _ in range(2))
    count = AT_ONCE if program.each else max(1, int(LEAST / first))
    done: list[float] = []
    queued: list[float] = []
    end = clock() + seconds
    while len(done) < BATCHES and (clock() < end or not done):
        if program.each:
            done.append(sum(batch(1)[0] for _ in range(20)) / 20)
            queued.append(batch(count)[1])
        else:
            done.append(batch(count)[0])
    return {"done": done, "queued": queued}
