"""The training steps of captured.py written for JAX: microseconds of a jitted step, called from
Python and inside `lax.fori_loop`, with one thread.

    python benchmarks/jax_steps.py [NAME ...]

JAX is a dependency of this file alone: `pip install jax`. The sizes are those of workloads.py.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LOOP = 100  # steps of one call of a loop
Tree = Any
Made = tuple[Callable[[Tree], Tree], Tree]  # a step from state to state, and the first state


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    draw = np.random.default_rng(seed).standard_normal(shape)
    return (draw * scale).astype(np.float32)


def layers(*sizes: int) -> Tree:
    made = []
    for n, (inner, outer) in enumerate(pairwise(sizes)):
        made += [random(outer, inner, seed=2 * n, scale=inner**-0.5), random(outer, seed=2 * n + 1)]
    return [jnp.asarray(a) for a in made]


def network(p: Tree, x: Any, between: Callable[[Any], Any]) -> Any:
    for n in range(0, len(p), 2):
        x = x @ p[n].T + p[n + 1]
        x = between(x) if n + 2 < len(p) else x
    return x


def sgd(p: Tree, g: Tree, lr: float) -> Tree:
    return jax.tree.map(lambda a, b: a - lr * b, p, g)


def adam(state: Tree, g: Tree, lr: float) -> Tree:
    p, m, v, t = state
    t = t + 1
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)

    def move(a: Any, b: Any, c: Any) -> Any:
        return a - lr * (b / (1 - 0.9**t)) / (jnp.sqrt(c / (1 - 0.999**t)) + 1e-8)

    return jax.tree.map(move, p, m, v), m, v, t


def with_adam(loss: Callable[[Tree], Any], p: Tree) -> Made:
    zeros = jax.tree.map(jnp.zeros_like, p)
    start = p, zeros, zeros, jnp.float32(0)
    return lambda state: adam(state, jax.grad(loss)(state[0]), 1e-4), start


def mlp_loss(p: Tree) -> Any:
    x, y = random(32, 4), (random(32, seed=1) > 0).astype(np.int32)
    scores = jax.nn.log_softmax(network(p, x, jax.nn.relu))
    return -jnp.take_along_axis(scores, y[:, None], 1).mean()


def mlp_sgd() -> Made:
    return lambda p: sgd(p, jax.grad(mlp_loss)(p), 1e-3), layers(4, 64, 64, 2)


def mlp_adam() -> Made:
    return with_adam(mlp_loss, layers(4, 64, 64, 2))


def pinn_burgers() -> Made:
    t, x = np.abs(random(128)), random(128, seed=1, scale=0.5)
    x0 = random(32, 1, seed=2, scale=0.5)

    def u(p: Tree, t: Any, x: Any) -> Any:
        return network(p, jnp.stack([t, x])[None], jnp.tanh)[0, 0]

    u_t, u_x = jax.grad(u, 1), jax.grad(u, 2)
    u_xx = jax.grad(u_x, 2)

    def loss(p: Tree) -> Any:
        def residual(t: Any, x: Any) -> Any:
            return u_t(p, t, x) + u(p, t, x) * u_x(p, t, x) - 0.01 / np.pi * u_xx(p, t, x)

        inside = jax.vmap(residual)(t, x)
        start = network(p, jnp.concatenate([jnp.zeros((32, 1)), x0], 1), jnp.tanh)
        return (inside**2).mean() + ((start + jnp.sin(np.pi * x0)) ** 2).mean()

    return with_adam(loss, layers(2, 32, 32, 32, 1))


def rnn_50_steps() -> Made:
    inputs = [random(8, 16, seed=3 + t) for t in range(50)]

    def loss(p: Tree) -> Any:
        h = jnp.zeros((8, 32))
        for x in inputs:
            h = jnp.tanh(x @ p[0] + h @ p[1] + p[2])
        return (h**2).mean()

    p = [
        random(16, 32, scale=0.25),
        random(32, 32, seed=1, scale=0.18),
        random(32, seed=2, scale=0.1),
    ]
    # The gradient is added, scaled to nothing, so that a loop depends on the step before.
    return lambda p: sgd(p, jax.grad(loss)(p), 1e-9), [jnp.asarray(a) for a in p]


def ode_rk4_64_steps() -> Made:
    start, dt = random(16, 2), 1 / 64

    def loss(p: Tree) -> Any:
        def field(y: Any) -> Any:
            return network(p, y, jnp.tanh)

        def step(y: Any, _: Any) -> tuple[Any, None]:
            k1 = field(y)
            k2 = field(y + (dt / 2) * k1)
            k3 = field(y + (dt / 2) * k2)
            k4 = field(y + dt * k3)
            return y + (dt / 6) * (k1 + 2 * k2 + 2 * k3 + k4), None

        return (lax.scan(step, start, None, length=64)[0] ** 2).mean()

    return lambda p: sgd(p, jax.grad(loss)(p), 1e-9), layers(2, 50, 2)


def policy() -> Made:
    p = layers(17, 64, 64, 6)
    return lambda x: x + 0 * network(p, x, jnp.tanh).sum(), jnp.asarray(random(1, 17))


def best(call: Callable[[], Any], calls: int, turns: int = 20) -> float:
    found = float("inf")
    for _ in range(turns):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        found = min(found, (time.perf_counter() - start) / calls)
    return found * 1e6


def main() -> None:
    rows = (mlp_sgd, mlp_adam, pinn_burgers, rnn_50_steps, ode_rk4_64_steps, policy)
    print(
        f"jax {jax.__version__}\n{'step':20}{'from Python':>12}{'in a loop':>12}  us, compiling s"
    )
    for row in rows:
        if sys.argv[1:] and row.__name__ not in sys.argv[1:]:
            continue
        step, state = row()
        jitted = jax.jit(step)
        start = time.perf_counter()
        jax.block_until_ready(jitted(state))
        took = time.perf_counter() - start
        loop = jax.jit(lambda s, step=step: lax.fori_loop(0, LOOP, lambda _, s: step(s), s))
        jax.block_until_ready(loop(state))
        alone = best(lambda: jax.block_until_ready(jitted(state)), 50)  # noqa: B023
        inside = best(lambda: jax.block_until_ready(loop(state)), 1) / LOOP  # noqa: B023
        print(f"{row.__name__:20}{alone:12.1f}{inside:12.1f}{took:12.1f}", flush=True)


if __name__ == "__main__":
    main()
