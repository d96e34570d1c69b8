"""Kernels of CUDA's devices that memory bounds, on the stand-in, against NumPy in float64.

Pointwise programs, reductions, softmax, norms and attention: of lengths around a warp and a group,
from addresses that are no multiple of 16, with steps, NaN, infinities and nothing at all.
"""

import _standin as standin
import numpy as np
import pytest

import rushlight as torch
from rushlight import _core
from rushlight._devices import choices
from rushlight._devices.accelerators import numbered
from rushlight.ops.layers.there.fused_attention import Fused

functional = torch.nn.functional
LENGTHS = (1, 31, 32, 33, 1000, 4097)
HALVES = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
ROUNDS = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, **HALVES}
"""By how much at most a number is changed that is rounded to a type, in parts of the number."""


@pytest.fixture(autouse=True)
def _card():
    """Every program is compiled, and nothing goes by the host."""
    after, refused = _core.accelerator_compile_after(0), _core.accelerator_refuse_fallbacks(True)
    yield
    _core.accelerator_compile_after(after)
    _core.accelerator_refuse_fallbacks(refused)


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def there(values, dtype, shift=0):
    """(values on the device, `shift` elements behind an address that is a multiple of 16, and the
    same rounded, in float64)."""
    flat = torch.tensor(np.concatenate([np.zeros(shift), np.ravel(values)])).to(dtype)
    found = flat.to("cuda")[shift:].view(*np.shape(values))
    return found, flat[shift:].double().numpy().reshape(np.shape(values))


def near(found, wanted, bound, dtype=None):
    """Within a bound beside the rounding to the result's type; NaN and infinities are the same."""
    if dtype is not None:
        assert found.dtype is dtype
    given = found.detach().cpu().double().numpy()
    assert given.shape == np.shape(wanted)
    np.testing.assert_array_equal(np.isnan(given), np.isnan(wanted))
    even = ~np.isfinite(wanted)
    np.testing.assert_array_equal(given[even], np.asarray(wanted)[even])
    with np.errstate(all="ignore"):
        most = bound + ROUNDS.get(found.dtype, 0) * np.abs(wanted)
        most = most + (2.0**-25 if found.dtype is torch.float16 else 0)  # half its smallest number
        wrong = (
            (np.abs(given - wanted) > most)[~even] if given.ndim else np.abs(given - wanted) > most
        )
    assert not wrong.any(), np.abs(given - wanted).max()


# ---- pointwise programs


FORMS = {
    "dense": lambda a, b: (a, b),
    "a row for all": lambda a, b: (a, b[:1]),
    "a column for all": lambda a, b: (a, b[:, :1]),
    "turned": lambda a, b: (a, b.t().contiguous().t()),
    "every second": lambda a, b: (a[:, ::2], b[:, ::2]),
    "without the first": lambda a, b: (a[:, 1:], b[:, :-1]),
    "nothing": lambda a, b: (a[:0], b[:0]),
}
WHOLE = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int16, torch.uint8]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(3, 40), (5, 31), (1, 1), (7, 1000)])
def test_programs_go_through_every_form(form, shape):
    first, second = np.random.default_rng(1).integers(0, 9, (2, *shape))
    for one, dtype in enumerate(WHOLE):
        other = WHOLE[one - 1] if dtype.is_floating_point else dtype
        for shift in (0, 1):
            a, b = FORMS[form](there(first, dtype, shift)[0], there(second, other)[0])
            x, y = FORMS[form](torch.tensor(first), torch.tensor(second))
            wanted = (x * y + x).numpy()
            assert torch.equal((a * b + a).cpu().long(), torch.tensor(wanted))
            assert torch.equal((a > b).cpu(), x > y)


def test_programs_leave_the_neighbours_of_their_result():
    for n in (1, 5, 31, 1000):
        whole = torch.zeros(n + 32).to("cuda")
        whole[3 : 3 + n].copy_(torch.arange(n).float().to("cuda")).add_(1)
        wanted = np.zeros(n + 32)
        wanted[3 : 3 + n] = np.arange(n) + 1
        near(whole, wanted, 0)


# ---- reductions


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("shift", [0, 1])
def test_sums(length, shift):
    """A sum of floats adds blocks of 32 such for each of 8 neighbours, and those with what was
    lost; then parts in pairs. So each element is in at most 64 additions that round."""
    for rows in (1, 3, 40):
        for dtype, unit in ROUNDS.items():
            t, x = there(normal(rows, length), dtype, shift)
            for dim in (0, 1, None):
                unit = 2.0**-53 if dtype is torch.float64 else 2.0**-24
                bound = 64 * unit * np.abs(x).sum(dim)
                near(t.sum() if dim is None else t.sum(dim), x.sum(dim), bound, dtype)
            near(t.mean(1), x.mean(1), 66 * unit * np.abs(x).mean(1), dtype)


@pytest.mark.parametrize("length", LENGTHS)
def test_extremes_and_their_places(length):
    x = np.random.default_rng(2).integers(-5, 5, (9, length)).astype(float)
    x[1, length // 2], x[2, -1], x[3, 0] = np.nan, np.inf, -np.inf
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        t, _ = there(x, dtype, 1)
        for dim in (0, 1):
            near(t.amax(dim), x.max(dim), 0, dtype)
            near(t.amin(dim), x.min(dim), 0, dtype)
            for place, values, index in (("argmax", *t.max(dim)), ("argmin", *t.min(dim))):
                wanted = getattr(x, place)(dim)
                near(getattr(t, place)(dim), wanted, 0)
                near(index, wanted, 0)
                chosen = np.take_along_axis(x, np.expand_dims(wanted, dim), dim)
                near(values, chosen.squeeze(dim), 0)
        near(t.argmax(), np.argmax(x), 0)


def test_whole_numbers_and_truths():
    for length in LENGTHS:
        whole = np.random.default_rng(3).integers(-9, 9, (6, length))
        truth = whole > 7
        for dim in (0, 1):
            near(torch.tensor(whole).to("cuda").sum(dim), whole.sum(dim), 0, torch.int64)
            near(torch.tensor(truth).to("cuda").sum(dim), truth.sum(dim), 0, torch.int64)
            near(torch.tensor(truth).to("cuda").any(dim), truth.any(dim), 0, torch.bool)
            near(torch.tensor(~truth).to("cuda").all(dim), (~truth).all(dim), 0, torch.bool)
        odd = (whole % 2 * 2 - 1)[:, :30]
        near(torch.tensor(odd).to("cuda").prod(1), odd.prod(1), 0, torch.int64)


def test_several_dimensions():
    t, x = there(normal(8, 16, 40, 9), torch.float32)
    for dims in ((0, 2, 3), (1,), (0, 1), (2,), (1, 3), (0, 3), (0, 1, 2, 3)):
        near(t.sum(dims), x.sum(dims), 128 * 2.0**-24 * np.abs(x).sum(dims))
        near(t.transpose(1, 2).amax(dims), x.swapaxes(1, 2).max(dims), 0)
        near(t.mean(dims, keepdim=True), x.mean(dims, keepdims=True), 1e-5)
    assert t[:0].sum((0, 1)).cpu().tolist() == [[0.0] * 9] * 40


def test_long_rows_and_columns_are_cut():
    for shape in ((1, 200_001), (60_000, 3), (300, 5, 64)):
        t, x = there(normal(*shape), torch.float32)
        for dim in range(len(shape)):
            near(t.sum(dim), x.sum(dim), 128 * 2.0**-24 * np.abs(x).sum(dim))
        near(t.argmax(), x.argmax(), 0)
        near(t.var(), x.var(ddof=1), 1e-5)
        near(torch.linalg.vector_norm(t), np.sqrt((x * x).sum()), 1e-3)


# ---- softmax


def exponentials(x):
    """(softmax, its logarithm) along the last dimension."""
    with np.errstate(all="ignore"):
        most = x.max(-1, keepdims=True)
        away = x - np.where(most == -np.inf, 0, most)
        logarithms = away - np.log(np.exp(away).sum(-1, keepdims=True))
        return np.exp(away) / np.exp(away).sum(-1, keepdims=True), logarithms


@pytest.mark.parametrize("length", [*LENGTHS, 9001, 20_000])
@pytest.mark.parametrize("dtype", ROUNDS)
def test_softmax(length, dtype):
    unit = max(ROUNDS[dtype] if dtype is torch.float64 else 2.0**-24, 2.0**-53)
    rows = 9 if length < 4000 else 2
    values = normal(rows, length) * 4
    if rows == 9:
        values[1, 0], values[2], values[3, -1], values[4, 0] = -np.inf, -np.inf, np.nan, np.inf
    for shift in (0, 1):
        t, x = there(values, dtype, shift)
        softmax, logarithms = exponentials(x)
        # An exponential is off by its argument's rounding and its own; the sum by 200 additions.
        near(torch.softmax(t, 1), softmax, 256 * unit * np.nan_to_num(softmax), dtype)
        near(
            torch.log_softmax(t, 1),
            logarithms,
            256 * unit * (1 + np.abs(np.nan_to_num(logarithms))),
        )


@pytest.mark.parametrize("length", [1, 33, 1000, 20_000])
@pytest.mark.parametrize("dtype", ROUNDS)
def test_gradients_of_softmax(length, dtype):
    values, slopes = normal(3, length), normal(3, length, seed=1)
    for function, log in ((torch.softmax, False), (torch.log_softmax, True)):
        t = there(values, dtype)[0].requires_grad_()
        g, slope = there(slopes, dtype, 1)
        found = function(t, 1)
        found.backward(g)
        y = found.detach().cpu().double().numpy()  # as rounded: the gradient is of that
        sums = (slope if log else slope * y).sum(1, keepdims=True)
        parts = np.abs(slope if log else slope * y).sum(1, keepdims=True)
        unit = 2.0**-53 if dtype is torch.float64 else 2.0**-24
        wanted = slope - np.exp(y) * sums if log else y * (slope - sums)
        size = np.abs(slope) + np.exp(y) * parts if log else np.abs(y) * (np.abs(slope) + parts)
        near(t.grad, wanted, 256 * unit * size, dtype)


# ---- norms


def composed(x, dims, weight, bias, shape):
    """Mean 0 and variance 1 over dimensions, by PyTorch's formula, on the CPU in float64."""
    mean = x.mean(dims, keepdim=True)
    away = x - mean
    result = away / ((away * away).mean(dims, keepdim=True) + 1e-5).sqrt()
    return result if weight is None else result * weight.view(shape) + bias.view(shape)


def layer(x, w, b):
    return functional.layer_norm(x, x.shape[1:], w, b)


def batch(x, w, b):
    return functional.batch_norm(x, None, None, w, b, training=True)


def groups(x, w, b):
    return functional.group_norm(x, 2, w, b)


def by_layers(x, w, b):
    return composed(x, -1, w, b, (1, -1))


def by_batch(x, w, b):
    return composed(x, [d for d in range(x.dim()) if d != 1], w, b, (1, -1, *[1] * (x.dim() - 2)))


def by_groups(x, w, b):
    found = composed(x.view(x.shape[0], 2, -1), -1, None, None, ()).view(x.shape)
    shape = (1, -1, *[1] * (x.dim() - 2))
    return found if w is None else found * w.view(shape) + b.view(shape)


NORMS = {layer: by_layers, batch: by_batch, groups: by_groups}
SHAPES = [
    *((layer, shape) for shape in [(3, 1), (5, 31), (70, 384), (3, 4097), (2, 12_000)]),
    *((batch, shape) for shape in [(8, 5), (300, 40), (4, 3, 7, 7), (4, 3, 8, 8), (9, 2, 40, 40)]),
    *((groups, shape) for shape in [(4, 8, 1), (3, 6, 5, 5), (2, 4, 8, 8), (1, 2, 160, 160)]),
]


@pytest.mark.parametrize(("norm", "shape"), SHAPES)
@pytest.mark.parametrize("weighted", [True, False])
def test_norms_and_their_gradients(norm, shape, weighted):
    """A result is near 1 in size, a gradient near that of the whole gradients: the bounds are some
    hundred roundings of such numbers."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        channels = shape[1]
        made = normal(*shape) * 2 + 3, normal(channels, seed=1), normal(channels, seed=2)
        given = [there(v, dtype, shift)[0].requires_grad_() for shift, v in enumerate(made)]
        exact = [torch.tensor(there(v, dtype)[1]).requires_grad_() for v in made]
        if not weighted:
            given[1:], exact[1:] = [None, None], [None, None]
        found, wanted = norm(*given), NORMS[norm](*exact)
        near(found, wanted.detach().numpy(), 256 * 2.0**-24, dtype)
        g, slope = there(normal(*shape, seed=3), dtype)
        found.backward(g)
        wanted.backward(torch.tensor(slope))
        for one, other in zip(given, exact, strict=True):
            if one is not None:
                size = other.grad.abs().max().item() + 1
                near(
                    one.grad,
                    other.grad.numpy(),
                    512 * 2.0**-24 * size + ROUNDS[dtype] * size,
                    dtype,
                )


# ---- attention


def attend(q, k, v, mask, causal):
    """Attention composed of products, on the CPU in float64."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    m, n = scores.shape[-2:]
    if causal:
        scores = scores.masked_fill(torch.arange(n) > torch.arange(m).unsqueeze(1), -np.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -np.inf) if mask.dtype is torch.bool else scores + mask
    return torch.softmax(scores, -1).nan_to_num() @ v


CALLS = [
    (32, (1, 1, 1, 1, 1), "whole"),
    (32, (2, 2, 2, 33, 100), "causal"),
    (64, (1, 4, 2, 130, 70), "whole"),
    (64, (1, 2, 2, 70, 70), "causal"),
    (64, (2, 2, 1, 33, 40), "truths"),
    (64, (1, 2, 2, 20, 90), "numbers"),
    (64, (1, 2, 2, 40, 40), "turned"),
    (128, (1, 2, 1, 65, 70), "causal"),
]


@pytest.mark.parametrize(("depth", "sizes", "kind"), CALLS)
@pytest.mark.parametrize("dtype", [*HALVES, torch.float32])
def test_attention_and_its_gradients(depth, sizes, kind, dtype):
    """Weights of halves are rounded to the type before the product with values: an error is some
    roundings of a mean of values, which are about 1. Scores of floats are sums of `depth` terms."""
    some = 4 if dtype in HALVES else depth
    outer, heads, of_keys, m, n = sizes

    def tensor(heads, length, seed):
        shape = (outer, length, heads, depth) if kind == "turned" else (outer, heads, length, depth)
        t, x = there(normal(*shape, seed=seed), dtype)
        both = t.requires_grad_(), torch.tensor(x).requires_grad_()
        return both, [a.transpose(1, 2) if kind == "turned" else a for a in both]

    leaves, views = zip(*map(tensor, (heads, of_keys, of_keys), (m, n, n), (0, 1, 2)), strict=True)
    mask = exact = None
    if kind == "truths":
        seen = normal(outer, 1, m, n) > 0
        seen[0, 0, 0] = False  # a query that sees nothing
        mask, exact = torch.tensor(seen).to("cuda"), torch.tensor(seen)
    if kind == "numbers":
        mask, added = there(normal(m, n, seed=4), dtype)
        exact = torch.tensor(added)
    causal = kind == "causal"
    found = functional.scaled_dot_product_attention(
        *(pair[0] for pair in views), mask, is_causal=causal, enable_gqa=heads != of_keys
    )
    wanted = attend(*(pair[1] for pair in views), exact, causal)
    near(found, wanted.detach().numpy(), some * ROUNDS[dtype], dtype)
    g, slope = there(normal(*wanted.shape, seed=5), dtype)
    found.backward(g)
    wanted.backward(torch.tensor(slope))
    for one, other in leaves:
        size = max(other.grad.abs().max().item(), 1)
        near(one.grad, other.grad.numpy(), 2 * some * ROUNDS[dtype] * size, dtype)


# ---- losses, and rows by number


def test_losses_and_their_gradients():
    for n, classes, dtype in (
        (5, 10, torch.float32),
        (300, 33, torch.float32),
        (40, 1000, torch.float16),
    ):
        target = np.random.default_rng(5).integers(0, classes, n)
        target[0] = -100
        t, x = there(normal(n, classes), dtype)
        given, exact = t.requires_grad_(), torch.tensor(x).requires_grad_()
        found = functional.cross_entropy(given, torch.tensor(target).to("cuda"))
        wanted = functional.cross_entropy(exact, torch.tensor(target))
        found.backward(), wanted.backward()
        near(found, wanted.detach().numpy(), 4 * ROUNDS[dtype] * (1 + np.abs(x).max()), dtype)
        near(given.grad, exact.grad.numpy(), 8 * ROUNDS[dtype] / n, dtype)
        other, y = there(normal(n, classes, seed=6), dtype)
        found = functional.mse_loss(t.detach(), other)
        near(found, ((x - y) ** 2).mean(), 4 * ROUNDS[dtype], dtype)


@pytest.mark.parametrize("width", [1, 3, 8, 33, 64])
def test_rows_by_number(width):
    index = np.random.default_rng(7).integers(0, 20, (4, 9))
    for dtype in (torch.float32, torch.bfloat16, torch.int16, torch.float64):
        for shift in (0, 1):
            t, x = there(np.arange(20 * width).reshape(20, width) % 200, dtype, shift)
            at = torch.tensor(index).to("cuda")
            near(torch.nn.functional.embedding(at, t), x[index], 0, dtype)
            near(t.index_select(0, at[0]), x[index[0]], 0, dtype)
            near(t[:, : width // 2 + 1][at[1]], x[:, : width // 2 + 1][index[1]], 0, dtype)
            near(t[at], x[index], 0, dtype)


@pytest.mark.parametrize(
    ("shape", "axes", "numbers", "launches"),
    [
        ((4, 8, 4), (0, 2), {"least_twice": 128}, 2),
        ((4, 8, 4), (0, 2), {"least_twice": 129}, 1),
        ((1 << 16,), (0,), {"groups_each": 4}, 2),
        ((1 << 16,), (0,), {"groups_each": 0}, 1),
        ((1 << 16,), (0,), {"row_pieces": 1 << 14}, 1),
        ((1 << 16,), (0,), {"row_pieces": (1 << 14) - 1}, 2),
    ],
)
def test_reductions_are_cut_as_the_table_says(shape, axes, numbers, launches):
    a = torch.ones(shape, device="cuda")
    with choices.using(a._accelerator, **numbers):
        assert (a.sum(axes).sum() == a.numel()).item()
        before = standin.opened().standin_launches()
        a.sum(axes)
        assert standin.opened().standin_launches() == before + launches


def test_a_card_without_tensor_cores_for_bfloat16_is_not_given_what_needs_them(monkeypatch):
    q = torch.ones(1, 1, 4, 32, device="cuda")
    assert Fused(q, q, q, None, False).fits
    monkeypatch.setattr(numbered(q._accelerator).facts, "capability", (7, 5))
    assert not Fused(q, q, q, None, False).fits
    assert choices.product(q._accelerator, torch.float16, (512,) * 3, 512, 1) == ("TILED", 64)
    assert functional.scaled_dot_product_attention(q, q, q).sum().item() == 128
