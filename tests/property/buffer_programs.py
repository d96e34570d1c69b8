"""Random programs that write into fresh tensors and views of them, for both libraries.

A program is a function of three numbers. It keeps a pool of tensors: buffers, views of them and
results; its steps make more and write some of them, by values that depend on the three numbers.
What it gives is three sums over the whole pool, so that a view that missed a write would show.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

MAKE: dict[str, Callable[..., Any]] = {
    "zeros": lambda m, a, k: a.new_zeros(3),
    "zeros2": lambda m, a, k: a.new_zeros(2, 3),
    "strided": lambda m, a, k: a.new_zeros(3, 2).t().clone(),
    "zeros_like": lambda m, a, k: m.zeros_like(a),
    "new_ones": lambda m, a, k: a.new_ones(2, 2),
    "clone": lambda m, a, k: a.clone(),
    "times": lambda m, a, k: a * 1.5,
    "plus": lambda m, a, k: a + 1,
    "minus": lambda m, a, k: -a,
    "same": lambda m, a, k: a.reshape(-1) + 0.5,
    "sin": lambda m, a, k: a.sin(),
    "square": lambda m, a, k: a * a,
    "sum": lambda m, a, k: a.sum(),
    "matrix": lambda m, a, k: a.reshape(-1)[:2].outer(a.reshape(-1)[:2]),
    "cat": lambda m, a, k: m.cat([a.reshape(-1), a.reshape(-1)[:1]]),
    "detach": lambda m, a, k: a.detach() * 0.5,
}
VIEW: dict[str, Callable[..., Any]] = {
    "first": lambda m, a, k: a[0],
    "last": lambda m, a, k: a[-1],
    "rest": lambda m, a, k: a[1:],
    "steps": lambda m, a, k: a[..., ::2],
    "column": lambda m, a, k: a[:, k % 2],
    "new": lambda m, a, k: a[None],
    "t": lambda m, a, k: a.t(),
    "flat": lambda m, a, k: a.view(-1),
    "folded": lambda m, a, k: a.view(2, -1),
    "narrow": lambda m, a, k: a.narrow(0, 0, 1),
    "unbind": lambda m, a, k: a.unbind(0)[k % a.shape[0]],
    "split": lambda m, a, k: a.split(2)[0],
    "diagonal": lambda m, a, k: a.diagonal(),
    "as_strided": lambda m, a, k: a.as_strided((2,), (1,)),
    "unfold": lambda m, a, k: a.unfold(0, 2, 2),
    "view_as": lambda m, a, k: a.view_as(a),
    "complex": lambda m, a, k: (
        m.view_as_complex(a.unfold(-1, 2, 2)) if a.shape[-1] % 2 == 0 else a[..., :1]
    ),
    "movedim": lambda m, a, k: a.movedim(0, -1),
    "squeeze": lambda m, a, k: a.squeeze(),
    "whole": lambda m, a, k: a[...],
}
WRITE: dict[str, Callable[..., Any]] = {
    "copy": lambda m, a, b, k: a.copy_(b),
    "add": lambda m, a, b, k: a.add_(b),
    "sub": lambda m, a, b, k: a.sub_(b, alpha=0.5),
    "mul": lambda m, a, b, k: a.mul_(b),
    "iadd": lambda m, a, b, k: a.__iadd__(b),
    "double": lambda m, a, b, k: a.mul_(2),
    "shift": lambda m, a, b, k: a.add_(0.3),
    "set": lambda m, a, b, k: a.__setitem__(Ellipsis, b),
    "set_first": lambda m, a, b, k: a.__setitem__(0, b.reshape(-1)[0]),
    "set_rest": lambda m, a, b, k: a.__setitem__(slice(1, None), b.sum()),
    "set_list": lambda m, a, b, k: a.__setitem__([0, -1], b.mean()),
    "set_mask": lambda m, a, b, k: a.__setitem__(a.detach() > 0.2, b.mean()),
    "number": lambda m, a, b, k: a.__setitem__(0, 0.7),
    "fill": lambda m, a, b, k: a.fill_(b.sum()),
    "zero": lambda m, a, b, k: a.zero_(),
    "sin": lambda m, a, b, k: a.sin_(),
    "tanh": lambda m, a, b, k: a.tanh_(),
    "pow": lambda m, a, b, k: a.pow_(2),
    "clamp": lambda m, a, b, k: a.clamp_(-0.8, 0.8),
    "masked_fill": lambda m, a, b, k: a.masked_fill_(a.detach() > 0.5, 0.1),
    "where_fill": lambda m, a, b, k: a.masked_fill_(a.detach() > 0.5, b.mean()),
    "index_add": lambda m, a, b, k: a.index_add_(0, m.tensor([0]), b[:1]),
    "index_fill": lambda m, a, b, k: a.index_fill_(0, m.tensor([0]), 0.4),
    "addcmul": lambda m, a, b, k: a.addcmul_(b, b),
    "lerp": lambda m, a, b, k: a.lerp_(b, 0.25),
    "cumsum": lambda m, a, b, k: a.cumsum_(0),
    "div": lambda m, a, b, k: a.div_(2 + b * b),
    "exp": lambda m, a, b, k: a.mul_(0.1).exp_(),
    "reshape": lambda m, a, b, k: a.unsqueeze_(0),
    "turn": lambda m, a, b, k: a.transpose_(0, -1),
}
TABLES = {"make": MAKE, "view": VIEW, "write": WRITE}

Steps = list[tuple[str, str, float, float, int]]


def steps(seed: int) -> Steps:
    """The steps of a program: (kind, name, which tensor, which other one, a number)."""
    rng = random.Random(seed)
    return [
        (
            kind := rng.choices(["make", "view", "write"], [3, 4, 6])[0],
            rng.choice(sorted(TABLES[kind])),
            rng.random(),
            rng.random(),
            rng.randrange(10),
        )
        for _ in range(rng.randint(4, 12))
    ]


# Programs that every transform can be put around: nothing is overwritten that a gradient asks for.
TAME = "0 1 2 3 7 8 12 14 16 17 19 21 22 23 24 26 27 28 32 34 36 37 38 39 42 44 45 46 48 49 50 54"


def run(m: Any, x: Any, program: Steps, plain: bool = True) -> Any:
    """What a program makes of three numbers. A step that does not fit its tensor is left out.

    `plain`: new tensors are made without x. Under vmap they are one for all elements then, and may
    not be written with what differs from element to element.
    """
    pool: list[Any] = [m.zeros(2, 3, dtype=m.float64) if plain else x.new_zeros(2, 3)]
    pool += [pool[0][0], x * 1]
    for kind, name, p, q, k in program:
        a, b = pool[int(p * len(pool))], ([*pool, x])[int(q * (len(pool) + 1))]
        if not fits(kind, name, a):
            continue
        if kind == "write":
            WRITE[name](m, a, like(a, b), k)
        else:
            pool.append(TABLES[kind][name](m, a, k))
    sums = [sum(total(m, t) * (0.3 + n) for n, t in enumerate(pool[i::3])) for i in range(3)]
    return m.stack([m.as_tensor(s).to(x.dtype) + x[i] * 0 for i, s in enumerate(sums)])


def fits(kind: str, name: str, a: Any) -> bool:
    """Whether a step makes sense for a tensor of this shape."""
    n, size = a.dim(), a.numel()
    if a.dtype.is_complex:
        return name in ("copy", "add", "mul", "double", "zero", "times", "first", "set", "sin")
    if name in ("t", "transpose"):
        return n == 2
    if name in ("column", "diagonal"):
        return n == 2 and a.shape[1] > 1
    if name in ("flat", "folded"):
        return bool(a.is_contiguous()) and (name == "flat" or (size % 2 == 0 and size > 0))
    if name in ("as_strided", "matrix", "split", "unfold", "set_list"):
        return n > 0 and size > 1 and a.shape[0] > 1 and n < 4
    if name == "complex":
        return n > 0 and size > 1 and n < 3
    if name in ("reshape", "new"):
        return n < 3
    return (n > 0 and size > 0) or name in ("copy", "add", "mul", "fill", "zero", "sin", "times")


def like(a: Any, b: Any) -> Any:
    """A value that can be written into a: b, or something of it."""
    if b.dtype.is_complex and not a.dtype.is_complex:
        b = b.real
    if a.shape == b.shape:
        return b * 1
    return (b.sum() * 0.3).expand(a.shape)


def total(m: Any, t: Any) -> Any:
    """A number that depends on every element."""
    if t.dtype.is_complex:
        t = t.real * 0.5 + t.imag
    weights = m.arange(1, t.numel() + 1, dtype=m.float64).reshape(t.shape)
    return (m.tanh(t * 0.5) * weights).sum()
