"""Random stacks of transforms against their definitions, and against PyTorch where it is installed.

A stack is a list of transforms put around a function of three numbers. Each transform makes another
such function: it differentiates (or maps) the one inside, whose body also uses the variable outside
of it, so that a derivative which took part in the wrong one would show. The definitions use
`autograd.grad` with graphs of graphs and loops: no tangent, no batch, no level.

Some of the functions are programs that write into fresh tensors and views of them
(`buffer_programs.py`). Those are compared with PyTorch under each transform alone as well;
`RUSHLIGHT_PROGRAMS=2000 pytest tests/property/test_transform_stacks.py -k programs` runs more of
them, and RUSHLIGHT_PROGRAMS_FROM is the first.
"""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable
from typing import Any

import buffer_programs
import numpy as np
import pytest

import rushlight

try:
    import torch as pytorch
except ImportError:
    pytorch = None

POINT = np.array([0.3, -0.7, 0.9])
DEPTH = 4
STACKS = 120
PROGRAMS = int(os.environ.get("RUSHLIGHT_PROGRAMS", "12"))
FIRST = int(os.environ.get("RUSHLIGHT_PROGRAMS_FROM", "0"))

Function = Callable[[Any], Any]


def bases(m: Any) -> list[Function]:
    def written(x: Any) -> Any:
        out = m.zeros_like(x)
        out[1:] = x[:2] * x[2]
        out[0] += x.sum()
        return out.add_(x.cos()).mul_(0.5)

    return [
        lambda x: x.sin() * x.flip(0).exp(),
        lambda x: m.softmax(x, 0) * x.sum(),
        lambda x: x / (1 + x.square().sum()),
        lambda x: m.tanh(m.outer(x, x) @ x),
        lambda x: m.where(x > 0, x.pow(3), x * 2).cumsum(0),
        lambda x: m.logsumexp(x, 0) * x[[2, 0, 0]],
        lambda x: x.abs().sqrt() * x.prod(),
        written,
        *(program(m, int(seed)) for seed in buffer_programs.TAME.split()),
    ]


def program(m: Any, seed: int, *, plain: bool = False) -> Function:
    steps = buffer_programs.steps(seed)
    return lambda x: buffer_programs.run(m, x, steps, plain)


def fold(m: Any, t: Any) -> Any:
    """Any result as three numbers, not linearly, so that nothing is lost to the next derivative."""
    return m.tanh(t.reshape(-1, 3)).sum(0)


# ---- the transforms, by the words of `func` (m.func) and by definition


class Words:
    """`torch.func`, of either library."""

    def __init__(self, m: Any) -> None:
        self.m, f = m, m.func
        self.grad = lambda g, x: f.grad(g)(x)
        self.jacrev = lambda g, x: f.jacrev(g)(x)
        self.jacfwd = lambda g, x: f.jacfwd(g)(x)
        self.hessian = lambda g, x: f.hessian(g)(x)
        self.jvp = lambda g, x, v: f.jvp(g, (x,), (v,))[1]
        self.vjp = lambda g, x, u: f.vjp(g, x)[1](u)[0]
        self.linearize = lambda g, x, v: f.linearize(g, x)[1](v)
        self.vmap = lambda g, rows: f.vmap(g)(rows)
        self.chunks = lambda g, rows: f.vmap(g, chunk_size=2)(rows)
        self.last = lambda g, rows: f.vmap(g, in_dims=1, out_dims=1)(rows.t()).t()


class Definitions:
    """The same of rushlight's graphs alone."""

    def __init__(self) -> None:
        self.m = rushlight
        self.jacrev = self.jacfwd = self.jacobian
        self.linearize = self.jvp
        self.chunks = self.last = self.vmap

    def grad(self, g: Function, x: Any) -> Any:
        q = x * 1
        return rushlight.autograd.grad(
            g(q), q, create_graph=True, allow_unused=True, materialize_grads=True
        )[0]

    def jacobian(self, g: Function, x: Any) -> Any:
        q = x * 1
        out = g(q)
        rows = [
            rushlight.autograd.grad(
                out.reshape(-1)[i],
                q,
                create_graph=True,
                allow_unused=True,
                materialize_grads=True,
            )[0]
            for i in range(out.numel())
        ]
        return rushlight.stack(rows).reshape(*out.shape, 3)

    def hessian(self, g: Function, x: Any) -> Any:
        return self.jacobian(lambda q: self.grad(g, q), x)

    def jvp(self, g: Function, x: Any, v: Any) -> Any:
        return self.jacobian(g, x) @ v

    def vjp(self, g: Function, x: Any, u: Any) -> Any:
        return u @ self.jacobian(g, x)

    def vmap(self, g: Function, rows: Any) -> Any:
        return rushlight.stack([g(row) for row in rows.unbind(0)])


def around(words: Any, kind: str, g: Function, seed: int) -> Function:
    """The function of x that a transform makes of g."""
    m = words.m

    def made(x: Any) -> Any:
        def inner(q: Any) -> Any:  # of the variable inside, with the one outside in its body
            return g(q) * x + q * x.sum()

        def scalar(q: Any) -> Any:
            return (inner(q) * m.cos(x + seed)).sum()

        if kind in ("grad", "hessian"):
            return fold(m, getattr(words, kind)(scalar, x))
        if kind in ("jacrev", "jacfwd"):
            return fold(m, getattr(words, kind)(inner, x))
        if kind in ("jvp", "linearize", "vjp"):
            return fold(m, getattr(words, kind)(inner, x, m.sin(x * 2)))
        rows = m.stack([x, x.flip(0) * 0.5, m.cos(x)])
        return fold(m, getattr(words, kind)(inner, rows))

    return made


KINDS = "grad jacrev jacfwd hessian jvp vjp linearize vmap chunks last".split()


def stack(seed: int) -> tuple[int, list[str]]:
    rng = random.Random(seed)
    depth = rng.randint(2, DEPTH)
    kinds = [rng.choice(KINDS) for _ in range(depth)]
    while kinds.count("hessian") > 1:  # the definition of three is derivatives of order six
        kinds[kinds.index("hessian")] = "jvp"
    which = rng.randrange(12)
    if which >= 8:
        which = 8 + rng.randrange(len(buffer_programs.TAME.split()))
    return which, kinds


def value(words: Any, seed: int) -> np.ndarray:
    which, kinds = stack(seed)
    f = bases(words.m)[which]
    for n, kind in enumerate(kinds):
        f = around(words, kind, f, n)
    x = words.m.from_numpy(POINT.copy())
    if isinstance(words, Definitions):
        x.requires_grad_()
    return f(x).detach().numpy()


@pytest.mark.parametrize("seed", range(STACKS))
def test_a_stack_is_what_its_definitions_say(seed: int) -> None:
    found, want = value(Words(rushlight), seed), value(Definitions(), seed)
    np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-9, err_msg=str(stack(seed)))


@pytest.mark.skipif(pytorch is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("seed", range(STACKS))
@pytest.mark.filterwarnings("ignore")
def test_a_stack_is_what_pytorch_makes_of_it(seed: int) -> None:
    if "linearize" in stack(seed)[1]:
        pytest.skip("PyTorch's linearize takes what its function captures for constants")
    try:
        want = value(Words(pytorch), seed)
    except (RuntimeError, NotImplementedError) as error:
        pytest.skip(f"PyTorch: {error}")
    found = value(Words(rushlight), seed)
    np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-9, err_msg=str(stack(seed)))


@pytest.mark.parametrize("seed", range(0, STACKS, 4))
def test_the_result_of_a_stack_has_a_history(seed: int) -> None:
    """Plain reverse-mode around a stack, against differences of its values."""
    which, kinds = stack(seed)
    words = Words(rushlight)
    f = bases(rushlight)[which]
    for n, kind in enumerate(kinds[:2]):
        f = around(words, kind, f, n)
    x = rushlight.from_numpy(POINT.copy()).requires_grad_()
    direction = np.array([0.5, -1.0, 0.25])
    (g,) = rushlight.autograd.grad(f(x).sum(), x)
    step = 1e-6
    ahead, behind = (
        f(rushlight.from_numpy(POINT + s * step * direction)).sum().item() for s in (1, -1)
    )
    assert g.numpy() @ direction == pytest.approx((ahead - behind) / (2 * step), rel=1e-6, abs=1e-7)


def alone(m: Any) -> dict[str, Callable[[Function], Function]]:
    """Each transform, and pairs of them, around a function of three numbers."""
    f, fw = m.func, m.autograd.forward_ad

    def along(g: Function) -> Function:
        return lambda x: f.jvp(g, (x,), (m.sin(x * 2),))[1]

    def by_hand(g: Function) -> Function:
        def tangent(x: Any) -> Any:
            with fw.dual_level():
                return fw.unpack_dual(g(fw.make_dual(x, m.sin(x * 2)))).tangent

        return tangent

    def rows(g: Function) -> Function:
        return lambda x: f.vmap(g)(m.stack([x, x * 0.5, m.cos(x)]))

    def total(g: Function) -> Function:
        return lambda x: g(x).sum()

    return {
        "jvp": along,
        "dual_level": by_hand,
        "jacfwd": f.jacfwd,
        "jacrev": f.jacrev,
        "vmap": rows,
        "vmap of jvp": lambda g: rows(along(g)),
        "vmap of grad": lambda g: rows(f.grad(total(g))),
        "hessian": lambda g: f.hessian(total(g)),
        "jacrev of jacfwd": lambda g: f.jacrev(f.jacfwd(total(g))),
        "jacfwd of jacfwd": lambda g: f.jacfwd(f.jacfwd(total(g))),
        "jvp of grad": lambda g: along(f.grad(total(g))),
        "functional": lambda g: (
            lambda x: m.autograd.functional.jacobian(g, x, vectorize=True, strategy="forward-mode")
        ),
    }


def found_or_refused(m: Any, seed: int, kind: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = alone(m)[kind](program(m, seed, plain=True))
            return made(m.from_numpy(POINT.copy())).detach().numpy()
    except (RuntimeError, NotImplementedError, AttributeError) as error:
        return error


@pytest.mark.skipif(pytorch is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("kind", alone(rushlight))
def test_programs_that_write_are_what_pytorch_makes_of_them(kind: str) -> None:
    compared = 0
    for seed in range(FIRST, FIRST + PROGRAMS):
        want = found_or_refused(pytorch, seed, kind)
        if isinstance(want, Exception):  # PyTorch refuses more of them
            continue
        found = found_or_refused(rushlight, seed, kind)
        assert not isinstance(found, Exception), f"seed {seed}: {found}"
        np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-9, err_msg=f"seed {seed}")
        compared += 1
    assert compared >= PROGRAMS // 4


def test_a_derivative_takes_part_in_its_own_alone() -> None:
    """d/dx (x * d/dy (x + y)) is 1 at every depth and in every pair of modes."""
    one = rushlight.ones(())
    f = rushlight.func
    modes: list[Callable[[Function], Function]] = [
        f.grad,
        f.jacrev,
        f.jacfwd,
        lambda g: lambda x: f.jvp(g, (x,), (rushlight.ones_like(x),))[1],
        lambda g: lambda x: f.vjp(g, x)[1](rushlight.ones_like(x))[0],
        lambda g: lambda x: f.linearize(g, x)[1](rushlight.ones_like(x)),
    ]
    for outer in modes:
        for inner in modes:
            assert outer(lambda x, i=inner: x * i(lambda y: x + y)(one))(one).item() == 1
            for middle in modes:
                # d/dx x * d/dy (y * d/dz (x + y + z)) = d/dx x = 1
                found = outer(
                    lambda x, i=inner, j=middle: (
                        x * j(lambda y: y * i(lambda z: x + y + z)(one))(one)
                    )
                )(one)
                assert found.item() == 1
