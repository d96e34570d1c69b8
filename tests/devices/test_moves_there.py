"""Moves, gathering and reductions by an index on the accelerator: against NumPy, and the CPU."""

from functools import partial

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core

pytestmark = pytest.mark.usefixtures("refuse")

INTEGERS = ["bool", "uint8", "int8", "int16", "int32", "int64"]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def places(below, *shape, seed=1):
    return np.random.default_rng(seed).integers(0, below, shape)


def both(values, dtype="float64", grad=False):
    """The same numbers on the CPU and on the accelerator."""
    cpu = torch.tensor(values).to(getattr(torch, dtype))
    there = cpu.to("opencl")
    return (cpu.requires_grad_(), there.requires_grad_()) if grad else (cpu, there)


def long(values):
    return torch.tensor(values).to("opencl")


def agree(want, have, rtol=1e-12, strides=True):
    want, have = ([r] if isinstance(r, torch.Tensor) else list(r) for r in (want, have))
    assert len(want) == len(have)
    for w, h in zip(want, have, strict=True):
        assert h.device.type == "opencl"
        assert (h.dtype, h.shape) == (w.dtype, w.shape)
        if strides and w.numel():
            wide = [d for d, n in enumerate(w.shape) if n > 1]
            assert [h.stride(d) for d in wide] == [w.stride(d) for d in wide]
        equal(h, w.detach().double().numpy() if w.dtype.is_floating_point else w.numpy(), rtol)


def equal(there, array, rtol=1e-12):
    back = there.detach().cpu()
    back = back.double() if back.dtype.is_floating_point else back
    assert back.shape == array.shape
    np.testing.assert_allclose(back.numpy(), array, rtol=rtol, atol=rtol)


def gradients(f, *tensors):
    """Of the sum of squares of f's result; and of the sum of squares of these."""
    result = f(*tensors)
    first = torch.autograd.grad((result * result).sum(), tensors, create_graph=True)
    inner = sum((g * g).sum() for g in first)
    second = torch.autograd.grad(inner, tensors, allow_unused=True)
    return [g for g in (*first, *second) if g is not None]


# ---- copies, fills, and parts that are replaced

COPIES = {
    "alias_copy": torch.alias_copy,
    "detach_copy": torch.detach_copy,
    "fill": lambda t: torch.fill(t, 1),
    "fill_of_tensor": lambda t: torch.fill(t, t[1, 1, 1]),
    "select_scatter": lambda t: torch.select_scatter(t, t[0], 0, -1),
    "slice_scatter": lambda t: torch.slice_scatter(t, t[:2], 0, 0, None, 2),
    "diagonal_scatter": lambda t: torch.diagonal_scatter(t, t.diagonal(0, 1, 0) + 1, 0, 0, 1),
    "other_dtype": lambda t: torch.select_scatter(t, t[0].to(torch.int16), 0, 1),
    **{f"rot90_{k}": lambda t, k=k: torch.rot90(t, k, (0, -1)) for k in range(-1, 4)},
}
SEEN = {
    "rows": lambda t: t[:3, :3],
    "whole": lambda t: t[:3, :3].contiguous(),
    "turned": lambda t: t.permute(2, 0, 1)[:3, :3],
    "spread": lambda t: t[:3, :1, :2].expand(3, 3, 2),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies(name):
    f = COPIES[name]
    for dtype in ("float32", "float64", "bfloat16", "uint8", "bool"):
        cpu, there = both(np.arange(60).reshape(4, 5, 3), dtype)
        for how, seen in SEEN.items():
            agree(f(seen(cpu)), f(seen(there)), strides=how != "spread" or "rot" not in name)


def test_quarter_turns_are_numpys():
    cpu, there = both(numbers(3, 4, 2))
    for k in range(-2, 6):
        equal(torch.rot90(there, k, (1, 2)), np.rot90(cpu.numpy(), k, (1, 2)))
        equal(torch.rot90(there, k, (2, 0)), np.rot90(cpu.numpy(), k, (2, 0)))
    equal(torch.rot90(there[:0]), np.rot90(cpu.numpy()[:0]))


def test_a_fill_and_a_fill_at_an_index_are_two():
    _, there = both(numbers(3, 4))
    filled = there.cpu().numpy().copy()
    equal(torch.fill(there, 2.5), np.full((3, 4), 2.5))
    filled[:, [0, 3]] = 1e300
    equal(there.index_fill(1, long([0, -1]), 1e300), filled)
    filled[:, 1] = filled[2, 2]
    equal(there.index_fill_(1, long([0, 3]), 1e300).index_fill(1, long([1]), there[2, 2]), filled)


MANY = {
    "contiguous": lambda t: t.contiguous(),
    "cat": lambda t: torch.cat([t, t], 2),
    "roll": lambda t: t.roll((1, 1), (0, 2)),
    "rot90": lambda t: torch.rot90(t, 1, (1, 3)),
    "select_scatter": lambda t: torch.select_scatter(t, t[0], 0, 1),
    "strided": lambda t: torch.as_strided_scatter(t, t[0, 0, 0, 0, 0, 0], (2, 2), (3, 1), 1),
}


@pytest.mark.parametrize("name", MANY)
def test_more_dimensions_than_kernels_take(name):
    pair = both(numbers(2, 4, 2, 4, 2, 4, 2, 4))
    seen = [t[:, ::2, :, 1::2, :, ::2, :, ::2].permute(7, 5, 3, 1, 0, 2, 4, 6) for t in pair]
    agree(*map(MANY[name], seen))


# ---- views by strides

STRIDED = {
    "apart": ((2, 3), (5, 1), 1),
    "twice": ((3, 3), (1, 1), 2),
    "rows_twice": ((4, 2), (0, 3), 0),
    "long": ((2, 600), (1, 1), 0),
    "no_dims": ((), (), 3),
    "none": ((0, 2), (1, 1), 0),
}


@pytest.mark.parametrize("name", STRIDED)
def test_views_by_strides(name):
    size, stride, offset = STRIDED[name]
    flat = numbers(700)
    where = np.lib.stride_tricks.as_strided(
        np.arange(700)[offset:], size, [8 * s for s in stride], writeable=False
    )
    leaf = both(flat, grad=True)[1]
    seen = leaf.as_strided(size, stride, offset)
    equal(seen, flat[where])
    weights = numbers(*size, seed=3)
    (found,) = torch.autograd.grad(seen, leaf, long(weights))
    want = np.zeros(700)
    np.add.at(want, where, weights)
    equal(found, want)
    source = numbers(*size, seed=4)
    for at, value in zip(where.ravel(), source.ravel(), strict=True):
        flat[at] = value
    equal(torch.as_strided_scatter(leaf.detach(), long(source), size, stride, offset), flat)
    equal(torch.as_strided_copy(leaf, size, stride, offset), leaf.detach().cpu().numpy()[where])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_gradients_of_views_by_strides(dtype):
    rtol = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3}[dtype]
    for seen in (lambda t: t, lambda t: t.t(), lambda t: t[:1].expand(4, 5), lambda t: t[1:, ::2]):
        for size, stride, offset in list(STRIDED.values())[:3]:
            if size == (2, 3):
                stride = (2, 1)

            def f(t, seen=seen, size=size, stride=stride, offset=offset):
                return seen(t).as_strided(size, stride, offset)

            want, have = (gradients(f, t) for t in both(numbers(4, 5), dtype, grad=True))
            agree(want, have, rtol, strides=False)


PARTS = {
    "strided": lambda t, s: torch.as_strided_scatter(t, s, (2, 2), (2, 1), 1),
    "strided_columns": lambda t, s: torch.as_strided_scatter(t.t(), s, (2, 2), (2, 1), 1),
    "select": lambda t, s: torch.select_scatter(t, s[0, :1].expand(5), 0, 1),
    "slice": lambda t, s: torch.slice_scatter(t, s.repeat(2, 1), 1, 1, 3),
    "diagonal": lambda t, s: torch.diagonal_scatter(t, s.reshape(4), 1),
    "turned": lambda t, s: torch.rot90(t) * s[0, 0],
}


@pytest.mark.parametrize("name", PARTS)
def test_gradients_of_parts_replaced(name):
    pairs = both(numbers(4, 5), grad=True), both(numbers(2, 2, seed=5), grad=True)
    agree(*(gradients(PARTS[name], *given) for given in zip(*pairs, strict=True)), strides=False)


# ---- reductions by an index

REDUCE = {
    "sum": lambda a, b: a + b,
    "mean": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "amax": max,
    "amin": min,
}


def reduced(x, dim, index, source, how, include_self):
    """What scatter_reduce gives, by elements."""
    out, counts = x.copy(), np.full(x.shape, int(include_self))
    for at in np.ndindex(*index.shape):
        to = (*at[:dim], index[at], *at[dim + 1 :])
        first = counts[to] == 0
        out[to] = source[at] if first else REDUCE[how](out[to], source[at])
        counts[to] += 1
    if how == "mean":
        with np.errstate(all="ignore"):
            divided = out // np.maximum(counts, 1) if x.dtype.kind == "i" else out / counts
        out = np.where(counts > 0, divided, x)
    return out


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("how", REDUCE)
def test_reductions_by_an_index(how, include_self):
    for shape, size, dim in [((5, 4), (7, 3), 0), ((3, 4, 2), (2, 9, 2), 1), ((6,), (1500,), 0)]:
        x, source = numbers(*shape), 1 + 0.01 * numbers(*size, seed=2)
        index = places(shape[dim], *size)
        given = dim, long(index), long(source), how
        want = reduced(x, dim, index, source, how, include_self)
        equal(long(x).scatter_reduce(*given, include_self=include_self), want, 1e-11)
        there = long(x)
        there.scatter_reduce_(*given, include_self=include_self)
        equal(there, want, 1e-11)
    x, source, index = (places(9, *s, seed=7) - 4 for s in [(5, 4), (7, 3), (7, 3)])
    index = abs(index)
    want = reduced(x, 0, index, source, how, include_self)
    given = 0, long(index), long(source), how
    equal(long(x).scatter_reduce(*given, include_self=include_self), want, 0)


@pytest.mark.parametrize("how", ["prod", "mean", "amax", "amin"])
def test_reductions_of_slices(how):
    x, source, index = numbers(5, 4), numbers(7, 4, seed=2), places(4, 7)
    for include_self in (True, False):
        want = reduced(x, 0, np.repeat(index[:, None], 4, 1), source, how, include_self)
        given = long(index), long(source), how
        equal(long(x).index_reduce(0, *given, include_self=include_self), want)
        turned = long(np.ascontiguousarray(x.T)).t()
        turned.index_reduce_(-2, *given, include_self=include_self)
        equal(turned, want)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", *INTEGERS])
def test_reductions_of_other_types(dtype):
    x, source, index = both(places(5, 4, 3), dtype), both(places(4, 6, 3), dtype), places(4, 6, 3)
    for how in REDUCE:
        if dtype == "bool" and how == "mean":
            continue
        for include_self in (True, False):
            want, have = (
                t.scatter_reduce(0, i, s, how, include_self=include_self)
                for t, i, s in zip(x, (torch.tensor(index), long(index)), source, strict=True)
            )
            agree(want, have, 0)


def test_reductions_keep_nan():
    x, source = np.array([1.0, np.nan, 3.0]), np.array([np.nan, 2.0, np.inf])
    index = np.array([0, 1, 2])
    for how in REDUCE:
        want, have = (
            t.scatter_reduce(0, i, s, how)
            for t, i, s in [
                (torch.tensor(x), torch.tensor(index), torch.tensor(source)),
                (long(x), long(index), long(source)),
            ]
        )
        agree(want, have)


@pytest.mark.parametrize("how", REDUCE)
def test_gradients_of_reductions(how):
    index = both(places(4, 6, 3), "int64")
    source = numbers(6, 3, seed=3)
    source[1, 1] = source[2, 0] = 0  # a product of the others is not a quotient
    for include_self in (True, False):
        f = partial(_reduced_at, how, include_self)
        pairs = index, both(numbers(4, 3), grad=True), both(source, grad=True)
        found = [gradients(partial(f, place), *given) for place, *given in zip(*pairs, strict=True)]
        agree(*found, rtol=1e-10, strides=False)


def _reduced_at(how, include_self, index, x, source):
    return x.scatter_reduce(0, index, source, how, include_self=include_self)


# ---- segments


@pytest.mark.parametrize("how", ["sum", "mean", "prod", "max", "min"])
def test_segments(how):
    data, lengths = numbers(2, 9, 3), np.array([[2, 0, 3, 1], [0, 0, 9, 0]])
    part = {"max": np.max, "min": np.min, "sum": np.sum, "mean": np.sum, "prod": np.prod}[how]
    for first in (None, 0.75):
        neutral = {"max": -np.inf, "min": np.inf, "sum": 0, "mean": 0, "prod": 1}[how]
        begin = neutral if first is None else first
        want = np.empty((2, 4, 3))
        for r, s in np.ndindex(2, 4):
            at, n = lengths[r, :s].sum(), lengths[r, s]
            rows = np.concatenate([np.full((1, 3), begin), data[r, at : at + n]])
            want[r, s] = part(rows, 0)
            if how == "mean":
                empty = np.nan if first is None else first
                want[r, s] = want[r, s] / n if n else empty
        found = torch.segment_reduce(
            long(data), how, lengths=long(lengths), axis=1, unsafe=True, initial=first
        )
        equal(found, want)

    def f(t):
        return torch.segment_reduce(t, how, offsets=torch.tensor([0, 4, 8, 9]).to(t.device))

    agree(*(gradients(f, t) for t in both(data[0], grad=True)), rtol=1e-10, strides=False)
    half = torch.segment_reduce(
        both(np.ones((9, 2)), "float16")[1], how, lengths=long([4, 5]), axis=0
    )
    equal(half, np.array([[4.0, 4.0], [5.0, 5.0]]) if how == "sum" else np.ones((2, 2)))


# ---- gathering


def test_gathering_without_dimensions():
    one, five, none = both(2.5, grad=True)[1], both(numbers(5), grad=True)[1], long([0])[:0]
    for f, t, want, by in [
        (lambda t: t.gather(0, long([0])), one, [2.5], 1),
        (lambda t: t.gather(0, long([0, 0, 0])), one, [2.5] * 3, 3),
        (lambda t: t.gather(0, long(3)), five, five.detach().cpu().numpy()[3], [0, 0, 0, 1, 0]),
        (lambda t: t.gather(0, none.to(torch.uint8)), five, [], [0] * 5),
        (lambda t: t.index_select(0, long([0])), one, 2.5, 1),
        (lambda t: t.index_add(0, long([0]), t, alpha=2), one, 7.5, 3),
        (lambda t: t.index_copy(0, long([0]), t * 2), one, 5, 2),
        (lambda t: t.index_fill(0, long([0]), 4), one, 4, 0),
        (lambda t: t.index_reduce(0, long([0]), t, "prod"), one, 6.25, 5),
        (lambda t: t.scatter_add(0, long([0, 0]), long([1.0, 2.0]).double()), one, 5.5, 1),
        (lambda t: t.scatter_reduce(0, long(0), t, "mean"), one, 2.5, 1),
        (lambda t: t.unfold(0, 1, 1), one, [2.5], 1),
    ]:
        found = f(t)
        equal(found, np.array(want, float))
        (given,) = torch.autograd.grad(found.sum(), t)
        equal(given, np.array(by, float))


def test_slices_written_by_an_index():
    x, source, index = numbers(4, 5), numbers(4, 3, seed=2), [4, 0, 4]
    want = x.copy()
    for k, at in enumerate(index):
        want[:, at] += source[:, k] * -1.5
    equal(long(x).index_add(1, long(index), long(source), alpha=-1.5), want)
    equal(long(x).index_add_(-1, long(index).int(), long(source), alpha=-1.5), want)
    want = x.copy()
    want[:, 2] = 7
    equal(long(x).index_copy(1, long([2]), long(7.0).double()), want)
    agree(
        *(
            t.index_add(0, i, t[:2], alpha=3)
            for t, i in zip(
                both(places(9, 3, 2), "int8"), (torch.tensor([1, 1]), long([1, 1])), strict=True
            )
        ),
        strides=False,
    )


def test_places_of_what_is_not_zero():
    for shape in [(), (7,), (3, 4, 5), (2, 0)]:
        cpu, there = both(places(2, *shape), "int32")
        agree(cpu.nonzero(), there.nonzero())
        for size in (0, 3, 100):
            want, have = (torch.nonzero_static(t, size=size, fill_value=-7) for t in (cpu, there))
            agree(want, have)
    want = np.full((6, 2), 9)
    want[:2] = [[0, 1], [1, 0]]
    equal(torch.nonzero_static(long([[0, 1], [1, 0]]), size=6, fill_value=9), want)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_distinct_slices(dtype):
    for shape in [(50, 3), (6, 40, 2), (4, 1), (0, 3)]:
        cpu, there = both(places(3, *shape), dtype)
        for dim in range(len(shape)):
            if 0 in shape and shape[dim]:
                continue
            how = {"return_inverse": True, "return_counts": True, "dim": dim}
            values, inverse, counts = torch.unique(there, **how)
            want = np.unique(cpu.numpy(), axis=dim, return_inverse=True, return_counts=True)
            equal(values, want[0], 0)
            equal(inverse, want[1].reshape(-1), 0)
            equal(counts, want[2], 0)
            agree(torch.unique_consecutive(cpu, **how), torch.unique_consecutive(there, **how))
    if dtype == "float32":
        values = [[np.nan, 2], [np.nan, 1], [0, 1], [-0.0, 1], [np.nan, 1]]
        agree(*(torch.unique(t, dim=0, return_counts=True) for t in both(values, dtype)))
    assert torch.unique(both(np.zeros(0), dtype)[1]).shape == (0,)


@pytest.mark.parametrize("n", [1, 3])
def test_pooling_of_no_elements(n):
    def f(t):
        return getattr(torch.nn.functional, f"adaptive_avg_pool{n}d")(t, (2,) * n)

    agree(*(gradients(f, t) for t in both(np.zeros((0, 2, *[4] * n)), grad=True)))


def test_what_is_wrong_is_said_as_on_the_cpu():
    cpu, there = both(numbers(3, 4))
    index = both([[0, 1]], "int64")
    _core.accelerator_refuse_fallbacks(False)
    for f in (
        lambda t, i: torch.select_scatter(t, t[0, :2], 0, 0),
        lambda t, i: torch.select_scatter(t, t[0], 0, 5),
        lambda t, i: torch.slice_scatter(t[0, 0], t[0, 0]),
        lambda t, i: torch.rot90(t, 1, (0, 0)),
        lambda t, i: torch.rot90(t[0]),
        lambda t, i: torch.fill(t, t),
        lambda t, i: t.gather(2, i),
        lambda t, i: t.gather(0, i[0]),
        lambda t, i: t.scatter_reduce(0, i, t, "median"),
        lambda t, i: t.scatter_reduce(0, i, t.float(), "sum"),
        lambda t, i: t.scatter_reduce_(0, i.double(), t, "sum"),
        lambda t, i: (t > 0).scatter_reduce(0, i, t > 0, "mean"),
        lambda t, i: t.index_reduce(0, i[0], t, "prod"),
        lambda t, i: t.index_reduce(0, i[0], t[:2], "sum"),
        lambda t, i: t.index_add(0, i[0], t),
        lambda t, i: t.index_copy(0, i[0], t),
        lambda t, i: t.index_select(0, i),
        lambda t, i: torch.nonzero_static(t, size=-1),
        lambda t, i: torch.unique(t[:, :0], dim=0),
        lambda t, i: torch.segment_reduce(t.long(), "sum", lengths=i[0] + 1),
    ):
        with pytest.raises(Exception) as by_cpu:
            f(cpu, index[0])
        with pytest.raises(type(by_cpu.value)) as by_device:
            f(there, index[1])
        assert str(by_cpu.value) == str(by_device.value)


def test_targets_of_ctc_loss_may_be_on_the_host():
    _core.accelerator_refuse_fallbacks(False)
    scores = numbers(12, 2, 5)
    targets, lengths = torch.tensor(1 + places(4, 2, 3)), torch.tensor([3, 2])
    found = []
    for t in both(scores, grad=True):
        given = torch.nn.functional.ctc_loss(t.log_softmax(2), targets, [12, 9], lengths)
        found.append([given, *torch.autograd.grad(given, t)])
    agree(*found, strides=False)
