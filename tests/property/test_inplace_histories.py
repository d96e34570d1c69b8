"""Random histories of views, slices, in-place writes, reads, detach and no_grad, on both libraries.

A history is a list of steps over a pool of tensors, drawn from a seed. Both libraries run the same
list; after each step the two must agree on whether it raised, with what type and first words, and
on the values, flags and history (requires_grad, is_leaf, version, node's name) of every tensor of
the pool. At the end both run a backward and the gradients must agree.

`RUSHLIGHT_HISTORIES=5000 pytest tests/property/test_inplace_histories.py` runs more of them.
"""

import os
import random
import re
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight  # noqa: E402

COUNT = int(os.environ.get("RUSHLIGHT_HISTORIES", "300"))
CHUNK = 50

SLICES = [slice(None), slice(0, 2), slice(1, None), slice(None, None, 2), 0, 1, -1]
VIEWS = {
    "view": lambda t, x, k: x.view(-1),
    "t": lambda t, x, k: x.t() if x.dim() <= 2 else x.transpose(0, 1),
    "slice": lambda t, x, k: x[SLICES[k % len(SLICES)]],
    "slice1": lambda t, x, k: x[:, SLICES[k % len(SLICES)]],
    "select": lambda t, x, k: x.select(0, k % max(x.shape[0], 1)) if x.dim() else x.view(1),
    "narrow": lambda t, x, k: x.narrow(0, 0, max(x.shape[0] - 1, 1)),
    "unsqueeze": lambda t, x, k: x.unsqueeze(k % (x.dim() + 1)),
    "expand": lambda t, x, k: x.unsqueeze(0).expand(2, *x.shape),
    "diagonal": lambda t, x, k: x.diagonal(),
    "split": lambda t, x, k: x.split(1)[k % max(x.shape[0], 1)],
    "unbind": lambda t, x, k: x.unbind()[k % max(x.shape[0], 1)],
    "detach": lambda t, x, k: x.detach(),
    "view_as": lambda t, x, k: x.view_as(x),
    "data": lambda t, x, k: x.data,
}
PURE = {
    "mul": lambda t, x, y, k: x * 1.5,
    "exp": lambda t, x, y, k: (x * 0.1).exp(),
    "square": lambda t, x, y, k: x * x,
    "sigmoid": lambda t, x, y, k: x.sigmoid(),
    "add": lambda t, x, y, k: x + y,
    "product": lambda t, x, y, k: x * y,
    "sum": lambda t, x, y, k: x.sum(0),
    "clone": lambda t, x, y, k: x.clone(),
    "reshape": lambda t, x, y, k: x.reshape(-1),
    "cat": lambda t, x, y, k: t.cat([x.reshape(-1), y.reshape(-1)]),
}
WRITES = {
    "mul_": lambda t, x, y, k: x.mul_(1.1),
    "add_": lambda t, x, y, k: x.add_(y),
    "add1_": lambda t, x, y, k: x.add_(1),
    "product_": lambda t, x, y, k: x.mul_(y),
    "copy_": lambda t, x, y, k: x.copy_(y),
    "zero_": lambda t, x, y, k: x.zero_(),
    "fill_": lambda t, x, y, k: x.fill_(0.5),
    "sigmoid_": lambda t, x, y, k: x.sigmoid_(),
    "tanh_": lambda t, x, y, k: x.tanh_(),
    "setitem": lambda t, x, y, k: x.__setitem__(SLICES[k % len(SLICES)], 0.25),
    "setitem_y": lambda t, x, y, k: x.__setitem__(SLICES[k % len(SLICES)], y),
    "setslice": lambda t, x, y, k: x.__setitem__((slice(None), slice(0, 1)), 2.0),
    "detach_": lambda t, x, y, k: x.detach_(),
    "requires_grad_": lambda t, x, y, k: x.requires_grad_(),
    "iadd": lambda t, x, y, k: x.__iadd__(y),
    "imul_slice": lambda t, x, y, k: x[0:1].mul_(y),
    "relu_": lambda t, x, y, k: x.relu_(),
    "masked_fill_": lambda t, x, y, k: x.masked_fill_(x.detach() > 0.5, 0.1),
}


def draw(seed):
    """The steps of one history: (kind, name, first, second, number, no_grad)."""
    rng = random.Random(seed)
    steps = []
    for _ in range(rng.randint(4, 14)):
        kind = rng.choices(["view", "pure", "write", "read"], [4, 3, 5, 1])[0]
        table = {"view": VIEWS, "pure": PURE, "write": WRITES, "read": {"read": None}}[kind]
        steps.append(
            (
                kind,
                rng.choice(sorted(table)),
                rng.random(),
                rng.random(),
                rng.randrange(100),
                rng.random() < 0.2,
            )
        )
    return rng, steps


def start(t, seed):
    values = np.random.RandomState(seed)
    shapes = [(3,), (3, 2), (2, 3)]
    pool = []
    for i in range(3):
        shape = shapes[values.randint(len(shapes))]
        x = t.tensor(values.rand(*shape).round(3).tolist(), dtype=t.float64)
        if i < 2:
            x.requires_grad_()
        pool.append(x)
    pool.append(pool[0] * 1)
    pool.append(pool[2].clone())
    return pool


def step(t, pool, s):
    """What one step gives: ("ok", tensor or None), or (exception type, text)."""
    kind, name, a, b, k, no_grad = s
    x, y = pool[int(a * len(pool))], pool[int(b * len(pool))]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with t.set_grad_enabled(not no_grad):
                if kind == "view":
                    return "ok", VIEWS[name](t, x, k)
                if kind == "pure":
                    return "ok", PURE[name](t, x, y, k)
                if kind == "write":
                    WRITES[name](t, x, y, k)
                return "ok", None
    except (RuntimeError, IndexError, ValueError, TypeError) as e:
        return type(e).__name__, str(e)


def state(t, x):
    """What a program sees of a tensor, apart from its values."""
    try:
        node = x.grad_fn
        name, leaf = None if node is None else type(node).__name__, x.is_leaf
    except RuntimeError as e:
        name, leaf = first_words(str(e)), None
    return (tuple(x.shape), x.requires_grad, leaf, x._version, x._is_view(), name)


def first_words(text):
    return re.sub(r"[\d]+", "N", re.split(r"[.:] ", text)[0])[:60]


# Composed operations and no-ops may be made of other steps here; what they compute is compared all
# the same.
SAME_NODE = {
    "ViewBackward0",
    "ReshapeAliasBackward0",
    "UnsafeViewBackward0",
    "AliasBackward0",
}


def same_state(a, b):
    return a[:-1] == b[:-1] and (a[-1] == b[-1] or {a[-1], b[-1]} <= SAME_NODE)


def finish(t, pool):
    """Gradients of the sum of everything that has a history, and what went wrong."""
    leaves, total, errors = [], None, []
    for x in pool:
        try:
            if x.requires_grad and x.grad_fn is not None:
                part = (x * 0.5).sum()
                total = part if total is None else total + part
            elif x.requires_grad:
                leaves.append(x)
        except RuntimeError as e:
            errors.append(first_words(str(e)))
    if total is not None:
        try:
            total.backward()
        except RuntimeError as e:
            errors.append(first_words(str(e)))
            return errors, None
    return errors, [None if x.grad is None else x.grad.tolist() for x in leaves]


def compare(seed):
    """None, or how the two libraries differ on this history."""
    _, steps = draw(seed)
    theirs, ours = start(torch, seed), start(rushlight, seed)
    done = []
    for s in steps:
        done.append((*s[:2], int(s[2] * len(theirs)), int(s[3] * len(theirs)), s[4], s[5]))
        a, b = step(torch, theirs, s), step(rushlight, ours, s)
        if a[0] != b[0]:
            return f"seed {seed}: {done}\n  torch: {a}\n  rushlight: {b}"
        if a[0] != "ok":
            if first_words(a[1]) != first_words(b[1]):
                return f"seed {seed}: {done}\n  torch: {a}\n  rushlight: {b}"
        elif a[1] is not None:
            theirs.append(a[1])
            ours.append(b[1])
        for i, (x, y) in enumerate(zip(theirs, ours, strict=True)):
            p, q = state(torch, x), state(rushlight, y)
            if not same_state(p, q):
                return f"seed {seed}: {done}\n  state of {i}: torch {p}\n  rushlight {q}"
            if not np.allclose(x.detach().numpy(), y.detach().numpy(), equal_nan=True):
                return f"seed {seed}: {done}\n  values of {i}: torch {x}\n  rushlight {y}"
    p, q = finish(torch, theirs), finish(rushlight, ours)
    if "unsupported operation" in p[0]:
        # torch cannot differentiate a fill of an expanded tensor; here it has its gradient
        return None
    if p[0] != q[0] or (p[1] is None) != (q[1] is None):
        return f"seed {seed}: {done}\n  backward: torch {p}\n  rushlight {q}"
    for i, (g, h) in enumerate(zip(p[1] or [], q[1] or [], strict=True)):
        if (g is None) != (h is None) or (g is not None and not np.allclose(g, h, equal_nan=True)):
            return f"seed {seed}: {done}\n  gradient {i}: torch {g}\n  rushlight {h}"
    return None


@pytest.mark.parametrize("chunk", range((COUNT + CHUNK - 1) // CHUNK))
def test_histories_agree_step_by_step(chunk):
    found = [compare(seed) for seed in range(chunk * CHUNK, min((chunk + 1) * CHUNK, COUNT))]
    found = [f for f in found if f]
    assert not found, f"{len(found)} histories differ, the first:\n{found[0]}"
