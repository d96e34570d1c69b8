"""Random histories of views, slices, in-place writes, reads, hooks and modes, on both libraries.

A history is a list of steps over a pool of tensors, drawn from a seed. Both libraries run the same
list; after each step the two must agree on whether it raised, with what type and first sentence,
and on the values, flags and history (requires_grad, is_leaf, version, the node and its edges, which
tensor is the base, .grad) of every tensor of the pool. A step that raised must have changed
nothing here. At the end both run a backward; gradients and the calls of hooks must agree.

`RUSHLIGHT_HISTORIES=5000 pytest tests/property/test_inplace_histories.py` runs more of them;
RUSHLIGHT_HISTORIES_FROM is the first seed, so that one history is run again by its seed and 1.
"""

import os
import random
import re
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from history_steps import CHANGES, COMPLEX, PURE, VIEWS, WRITES  # noqa: E402

import rushlight  # noqa: E402

COUNT = int(os.environ.get("RUSHLIGHT_HISTORIES", "300"))
FIRST = int(os.environ.get("RUSHLIGHT_HISTORIES_FROM", "0"))
CHUNK = 50

TABLES = {"view": VIEWS, "pure": PURE, "write": WRITES, "change": CHANGES, "hook": {"hook": None}}


def draw(seed, tables):
    """The steps of one history: (kind, name, first, second, number, mode)."""
    rng = random.Random(seed)
    steps = []
    for _ in range(rng.randint(4, 16)):
        kind = rng.choices(list(tables), [5, 3, 6, 1.5, 0.7])[0]
        name = rng.choice(sorted(tables[kind]))
        mode = rng.choices(["grad", "no_grad", "inference"], [80, 17, 3])[0]
        steps.append((kind, name, rng.random(), rng.random(), rng.randrange(100), mode))
    return steps


SHAPES = [(3,), (3, 2), (2, 3), (2, 2), (), (0, 2)]


def start(t, seed, dtype):
    rng = random.Random(-seed - 1)
    values = np.random.RandomState(seed)
    pool = []
    for i in range(3):
        shape = rng.choices(SHAPES, [4, 4, 4, 2, 1, 1])[0]
        numbers = np.round(values.rand(*shape), 3)
        if dtype == "complex128":
            numbers = numbers + 1j * np.round(values.rand(*shape), 3)
        kind = getattr(t, dtype)
        x = t.zeros(shape, dtype=kind) if 0 in shape else t.tensor(numbers.tolist(), dtype=kind)
        if i < 2:
            x.requires_grad_()
        pool.append(x)
    pool.append(pool[0] * 1)
    pool.append(pool[2].clone())
    return pool


LATE = "Inplace update to inference tensor outside InferenceMode is not allowed"
EARLY = "Inference tensors cannot be saved for backward"


def in_mode(t, mode):
    if mode == "inference":
        return t.inference_mode()
    return t.set_grad_enabled(mode == "grad")


def first_sentence(text):
    return re.split(r"[.]\s|\n", text)[0].rstrip(". ")


def step(t, pool, calls, s, tables):
    """What one step gives: ("ok", tensor or None), or (exception type, first sentence)."""
    kind, name, a, b, k, mode = s
    x, y = pool[int(a * len(pool))], pool[int(b * len(pool))]
    try:
        with warnings.catch_warnings(), in_mode(t, mode):
            warnings.simplefilter("ignore")
            if kind == "hook":
                tag = len(calls["tags"])
                calls["tags"].append(tag)
                x.register_hook(lambda g: calls["seen"].append((tag, g.tolist())))
                return "ok", None
            made = tables[kind][name](t, x, y, k)
            return "ok", made if kind in ("view", "pure") else None
    except (RuntimeError, IndexError, ValueError, TypeError) as e:
        return type(e).__name__, first_sentence(str(e))


# Composed operations and no-ops may be made of other steps here.
SAME_NODE = {"ReshapeAliasBackward0", "UnsafeViewBackward0", "AliasBackward0", "ViewBackward0"}


def node_name(node):
    if node is None:
        return None
    name = type(node).__name__
    return "View" if name in SAME_NODE else name


def asked(question):
    """The answer, or how it was refused."""
    try:
        return question()
    except RuntimeError as e:
        return first_sentence(str(e))


def history(x):
    node = x.grad_fn
    edges = [] if node is None else [(node_name(n), nr) for n, nr in node.next_functions]
    return node_name(node), edges, x.is_leaf, x.output_nr


def state(pool, x):
    """What a program sees of a tensor, apart from its values."""
    base = asked(lambda: x._base)
    return {
        "shape": tuple(x.shape),
        "requires_grad": x.requires_grad,
        "history": asked(lambda: history(x)),
        "version": asked(lambda: x._version),
        "is_view": x._is_view(),
        "base": next((i for i, other in enumerate(pool) if other is base), None),
        "retains_grad": x.retains_grad,
        "is_inference": x.is_inference(),
        "lazy": (x.is_conj(), x.is_neg()),
        "grad": None if grad_of(x) is None else grad_of(x).tolist(),
    }


def grad_of(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x.grad


def states(pool):
    return [state(pool, x) for x in pool], [np.array(x.detach().tolist()) for x in pool]


def close(a, b):
    return np.shape(a) == np.shape(b) and np.allclose(a, b, equal_nan=True, rtol=1e-9, atol=1e-9)


def different(a, b):
    """Which words of two states differ; numbers are compared as numbers."""
    found = [key for key in a if key != "grad" and a[key] != b[key]]
    if (a["grad"] is None) != (b["grad"] is None) or (
        a["grad"] is not None and not close(a["grad"], b["grad"])
    ):
        found.append("grad")
    return [f"{key}: torch {a[key]}, rushlight {b[key]}" for key in found]


def unspecified(x, y):
    """Whether a write to x that reads y reads what it has written, in an order that PyTorch leaves
    open: here everything is read first."""
    a, b = memory(x), memory(y)
    if a.size and a.ndim and shown_twice(a):
        return True
    same = a.ctypes.data == b.ctypes.data and a.strides == b.strides and a.shape == b.shape
    return bool(a.size and b.size) and not same and np.shares_memory(a, b)


def memory(x):
    """What lies in memory behind a tensor, as an array that shares it."""
    x = x.detach()
    x = x.conj() if x.is_conj() else x
    return (x._neg_view() if x.is_neg() else x).numpy()


def shown_twice(a):
    """Whether an array has two elements at one address."""
    addresses = sum(
        (np.arange(n).reshape([-1] + [1] * (a.ndim - d - 1)) * s)
        for d, (n, s) in enumerate(zip(a.shape, a.strides, strict=True))
    )
    return np.unique(addresses).size < a.size


def finish(t, pool, calls):
    """Gradients of the sum of everything that has a history, and what went wrong."""
    total, errors = None, []
    for x in pool:
        try:
            if x.requires_grad and x.grad_fn is not None and x.numel():
                part = (x * (0.5 + 0.25j)).sum().real if x.is_complex() else (x * 0.5).sum()
                total = part if total is None else total + part
        except RuntimeError as e:
            errors.append(first_sentence(str(e)))
    if total is not None:
        try:
            total.backward()
        except RuntimeError as e:
            errors.append(first_sentence(str(e)))
            return errors, None
    return errors, [None if grad_of(x) is None else grad_of(x).tolist() for x in pool]


def compare(seed, dtype="float64"):
    """None, or how the two libraries differ on this history."""
    tables = COMPLEX if dtype == "complex128" else TABLES
    theirs, ours = start(torch, seed, dtype), start(rushlight, seed, dtype)
    calls = [{"tags": [], "seen": []}, {"tags": [], "seen": []}]
    done = []
    before, values = states(ours)
    for s in draw(seed, tables):
        i, j = int(s[2] * len(theirs)), int(s[3] * len(theirs))
        done.append((*s[:2], i, j, *s[4:]))
        say = f"seed {seed}: {done}\n  "
        if s[1] == "set_data" and theirs[i].is_inference() != theirs[j].is_inference():
            # torch's tensor is half an inference tensor from then on: its version counter stays
            return None
        open_order = s[0] == "write" and unspecified(theirs[i], theirs[j])
        a = step(torch, theirs, calls[0], s, tables)
        b = step(rushlight, ours, calls[1], s, tables)
        if a[0] == b[0] != "ok" and (a[1] + b[1]).count(LATE):
            # torch says this after everything else, and after it has written
            return None
        if a[0] == b[0] != "ok" and a[1].startswith(EARLY):
            # torch says this before it computes
            continue
        if a[0] != "ok" and "INTERNAL ASSERT" in a[1]:
            return None
        if a[0] != b[0] or (a[0] != "ok" and a[1] != b[1]):
            return f"{say}torch: {a}\n  rushlight: {b}"
        if open_order and (a[0] == "ok" or s[1] == "function_"):
            return None
        if a[0] != "ok" and s[1] in ("function_", "backward"):
            pass  # the program's own forward has written, and backward stops on its way
        elif a[0] != "ok":
            after, now = states(ours)
            if after != before or not all(map(close, values, now)):
                return f"{say}refused, but changed: {before}\n  {after}"
        elif a[1] is not None:
            theirs.append(a[1])
            ours.append(b[1])
        before, values = states(ours)
        expected, numbers = states(theirs)
        for n, (p, q) in enumerate(zip(expected, before, strict=True)):
            if found := different(p, q):
                return f"{say}state of {n}: {found}"
            if not close(numbers[n], values[n]):
                return f"{say}values of {n}: torch {numbers[n]}\n  rushlight {values[n]}"
    say = f"seed {seed}: {done}\n  "
    p, q = finish(torch, theirs, calls[0]), finish(rushlight, ours, calls[1])
    if any(text.startswith("unsupported operation") for text in p[0]):
        # torch cannot differentiate a fill of an expanded tensor; here it has its gradient
        return None
    if p[0] != q[0] or (p[1] is None) != (q[1] is None):
        return f"{say}backward: torch {p}\n  rushlight {q}"
    for n, (g, h) in enumerate(zip(p[1] or [], q[1] or [], strict=True)):
        if (g is None) != (h is None) or (g is not None and not close(g, h)):
            return f"{say}gradient {n}: torch {g}\n  rushlight {h}"
    seen, called = calls[0]["seen"], calls[1]["seen"]
    if [tag for tag, _ in seen] != [tag for tag, _ in called] or not all(
        close(g, h) for (_, g), (_, h) in zip(seen, called, strict=True)
    ):
        return f"{say}hooks: torch {seen}\n  rushlight {called}"
    return None


def differing(chunk, count, dtype):
    seeds = range(FIRST + chunk * CHUNK, FIRST + min((chunk + 1) * CHUNK, count))
    return [f for f in (compare(seed, dtype) for seed in seeds) if f]


@pytest.mark.parametrize("chunk", range((COUNT + CHUNK - 1) // CHUNK))
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_histories_agree_step_by_step(dtype, chunk):
    found = differing(chunk, COUNT, dtype)
    assert not found, f"{len(found)} histories differ, the first:\n{found[0]}"
