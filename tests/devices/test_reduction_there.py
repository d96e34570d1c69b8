"""Reductions, scans and sorted orders on the accelerator: against NumPy, and against the CPU."""

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core

pytestmark = pytest.mark.usefixtures("refuse")

FLOATS = ["float32", "float64"]
HALVES = ["float16", "bfloat16"]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def both(values, dtype="float32", grad=False):
    """The same numbers on the CPU and on the accelerator."""
    cpu = torch.tensor(values).to(getattr(torch, dtype))
    there = cpu.to("opencl")
    return (cpu.requires_grad_(), there.requires_grad_()) if grad else (cpu, there)


def tensors(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


def agree(want, have, rtol=1e-5, atol=1e-6):
    want, have = tensors(want), tensors(have)
    assert len(want) == len(have)
    for w, h in zip(want, have, strict=True):
        assert h.device.type == "opencl"
        assert (h.dtype, h.shape) == (w.dtype, w.shape)
        back = h.detach().cpu()
        if w.dtype.is_floating_point:
            a, b = (t.detach().double().numpy() for t in (back, w))
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(back.numpy(), w.numpy())


REDUCTIONS = {
    "sum": torch.sum,
    "mean": torch.mean,
    "amax": torch.amax,
    "amin": torch.amin,
    "nansum": torch.nansum,
    "logsumexp": torch.logsumexp,
    "var": torch.var,
    "std": torch.std,
    "var_mean": torch.var_mean,
    "std_mean": torch.std_mean,
    "norm1": lambda a, d, keepdim: torch.linalg.vector_norm(a, 1, d, keepdim),
    "norm2": lambda a, d, keepdim: torch.linalg.vector_norm(a, 2, d, keepdim),
    "norm3": lambda a, d, keepdim: torch.linalg.vector_norm(a, 3, d, keepdim),
    "norm0": lambda a, d, keepdim: torch.linalg.vector_norm(a, 0, d, keepdim),
    "norm_inf": lambda a, d, keepdim: torch.linalg.vector_norm(a, float("inf"), d, keepdim),
    "any": lambda a, d, keepdim: torch.any(a > 1, d, keepdim),
    "all": lambda a, d, keepdim: torch.all(a > -1, d, keepdim),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_dimensions(name, dtype):
    f = REDUCTIONS[name]
    cpu, there = both(numbers(3, 4, 5), dtype)
    for dim in [(0,), (1,), (-1,), (0, 2), (1, 2), (0, 1, 2)]:
        for keepdim in (False, True):
            agree(f(cpu, dim, keepdim=keepdim), f(there, dim, keepdim=keepdim))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_other_strides(name):
    f = REDUCTIONS[name]
    cpu, there = both(numbers(4, 6, 5))
    for of in (
        lambda t: t.transpose(0, 2),
        lambda t: t[::2, 1:, ::3],
        lambda t: t[0].expand(3, 6, 5),
    ):
        for dim in [(0,), (1,), (0, 2)]:
            agree(f(of(cpu), dim, keepdim=False), f(of(there), dim, keepdim=False))


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "var", "norm3", "logsumexp"])
@pytest.mark.parametrize("dtype", HALVES)
def test_halves(name, dtype):
    f = REDUCTIONS[name]
    cpu, there = both(numbers(6, 40), dtype)
    step = 2.0**-10 if dtype == "float16" else 2.0**-7
    agree(f(cpu, (1,), keepdim=False), f(there, (1,), keepdim=False), rtol=step, atol=step)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_integers(dtype):
    cpu, there = both(np.arange(-6, 18).reshape(4, 6) % 5, dtype)
    for f in (
        torch.sum,
        lambda t: torch.sum(t, 1),
        lambda t: torch.prod(t, 0),
        lambda t: t.sum(0, dtype=torch.float32),
        lambda t: t.sum(0, dtype=torch.int32),
        lambda t: t.any(1),
        lambda t: t.all(0),
        lambda t: t.amax(1),
        lambda t: t.amin(0),
        lambda t: t.count_nonzero(1),
        lambda t: t.cumsum(1),
        lambda t: t.cumprod(0),
        lambda t: t.sort(1),
        lambda t: t.sort(0, descending=True),
        lambda t: t.cummax(0),
        lambda t: t.mode(1),
    ):
        agree(f(cpu), f(there))
    if dtype != "bool":
        for f in (torch.argmax, torch.argmin, torch.median, lambda t: t.topk(2, 1)):
            agree(f(cpu), f(there))


def test_no_elements_and_no_dimensions():
    cpu, there = both(np.zeros((0, 3)))
    for f in (
        torch.sum,
        torch.prod,
        torch.mean,
        torch.any,
        torch.all,
        torch.count_nonzero,
        lambda t: t.sum(0),
        lambda t: t.sum(1),
        lambda t: t.mean(0),
        lambda t: t.prod(0),
        lambda t: t.cumsum(0),
        lambda t: t.sort(0),
        lambda t: torch.linalg.vector_norm(t),
    ):
        agree(f(cpu), f(there))
    cpu, there = both(np.array(2.5))
    for f in (
        torch.sum,
        torch.mean,
        torch.amax,
        torch.argmax,
        torch.median,
        lambda t: t.sum(0),
        lambda t: t.max(0),
        lambda t: t.cumsum(0),
        lambda t: t.cummin(0),
        lambda t: t.logcumsumexp(0),
        lambda t: t.sort(),
        lambda t: t.topk(1),
        lambda t: t.kthvalue(1),
        lambda t: t.mode(),
        lambda t: t.var(correction=0),
    ):
        agree(f(cpu), f(there))


def test_sums_of_a_million_keep_their_digits():
    values = np.random.default_rng(1).random((1_000_000,)).astype(np.float32)
    exact = values.astype(np.float64)
    there = torch.tensor(values).to("opencl")
    for have, want in [
        (there.sum(), exact.sum()),
        (there.mean(), exact.mean()),
        (there.var(), exact.var(ddof=1)),
        (torch.linalg.vector_norm(there), np.sqrt((exact * exact).sum())),
        (there.reshape(1000, 1000).sum(0)[7], exact.reshape(1000, 1000).sum(0)[7]),
        (there.reshape(2, -1).sum(1)[1], exact.reshape(2, -1).sum(1)[1]),
        (there.reshape(-1, 2).sum(0)[1], exact.reshape(-1, 2).sum(0)[1]),
        (there.logsumexp(0), np.log(np.exp(exact).sum())),
    ]:
        assert abs(have.item() - want) <= 4e-7 * want
    sums = there.cumsum(0).cpu().numpy()
    np.testing.assert_allclose(sums, np.cumsum(exact), rtol=2e-6)
    assert there.sum(dtype=torch.float64).item() == pytest.approx(exact.sum(), rel=1e-13)


def test_numbers_that_are_not_finite():
    inf, nan = np.inf, np.nan
    values = np.array([[1, inf, 2], [1, nan, -inf], [-inf, -inf, -inf], [inf, -inf, 3]])
    cpu, there = both(values)
    for f in (
        lambda t: t.sum(1),
        lambda t: t.mean(0),
        lambda t: t.amax(1),
        lambda t: t.amin(1),
        lambda t: t.max(1),
        lambda t: t.min(0),
        lambda t: t.argmax(),
        lambda t: t.logsumexp(1),
        lambda t: t.nansum(1),
        lambda t: t.any(1),
        lambda t: t.logcumsumexp(1),
        lambda t: t.cumsum(1),
        lambda t: t.cummax(1),
        lambda t: t.cummin(1),
        lambda t: t.sort(1),
        lambda t: t.sort(0, descending=True),
        lambda t: t.topk(2, 1),
        lambda t: t.median(1),
        lambda t: t.nanmedian(1),
        lambda t: t.median(),
    ):
        agree(f(cpu), f(there))
    long = np.ones(300_000, np.float32)
    long[1234] = inf
    assert both(long)[1].sum().item() == inf
    long[299_999] = nan
    there = both(long)[1]
    assert np.isnan(there.sum().item()) and np.isnan(there.amin().item())
    assert there.argmax().item() == 299_999


@pytest.mark.parametrize("length", [1, 15, 16, 17, 33, 1000])
def test_orders(length):
    values = np.random.default_rng(length).integers(0, 12, (3, length))
    cpu, there = both(values)
    for f in (
        lambda t: t.sort(1, stable=True),
        lambda t: t.sort(1, descending=True, stable=True),
        lambda t: t.t().sort(0, stable=True),
        lambda t: t.kthvalue((length + 1) // 2, 1),
        lambda t: t.median(1, keepdim=True),
        lambda t: t.mode(1),
        lambda t: t.argsort(1),
    ):
        agree(f(cpu), f(there))
    values, places = there.topk(min(length, 5), 1)
    np.testing.assert_array_equal(values.cpu().numpy(), -np.sort(-cpu.numpy(), 1)[:, :5])
    np.testing.assert_array_equal(
        np.take_along_axis(cpu.numpy(), places.cpu().numpy(), 1), values.cpu()
    )


@pytest.mark.parametrize(
    "shape, dim", [((5000,), 0), ((3, 1300), 1), ((1300, 3), 0), ((2, 7, 4), 1)]
)
def test_scans(shape, dim):
    values = 1 + 0.01 * numbers(*shape)
    for dtype in FLOATS:
        cpu, there = both(values, dtype)
        for f in (torch.cumsum, torch.cumprod, torch.cummax, torch.cummin, torch.logcumsumexp):
            agree(f(cpu, dim), f(there, dim), rtol=2e-5)
    agree(cpu.cumsum(dim, dtype=torch.int64), there.cumsum(dim, dtype=torch.int64))


def test_places_are_the_first_and_of_long_rows():
    values = np.zeros((2, 70_000), np.float32)
    values[:, [50, 40_000, 69_999]] = 3
    values[1, 0] = -4
    cpu, there = both(values)
    for f in (lambda t: t.argmax(1), lambda t: t.argmin(1), torch.argmax, lambda t: t.max(1)):
        agree(f(cpu), f(there))
    cpu, there = both(numbers(60, 50).T)
    agree(cpu.argmax(), there.argmax())
    agree(cpu.t().argmin(1), there.t().argmin(1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
def test_distinct_elements_and_places_in_sorted_rows(dtype):
    cpu, there = both(np.random.default_rng(4).integers(0, 9, (6, 50)), dtype)
    bounds, values = both(np.sort(numbers(6, 7) * 4 + 4, 1), dtype)
    for f in (
        lambda t: t.unique(return_inverse=True, return_counts=True),
        lambda t: t.t().unique(),
        lambda t: t.unique_consecutive(return_inverse=True, return_counts=True),
        lambda t: t[0].unique(dim=0),
        lambda t: torch.isin(t, t[0, :3]),
        lambda t: torch.isin(t, t[0, :3], invert=True),
        lambda t: torch.searchsorted(t[0].sort()[0], t),
        lambda t: torch.searchsorted(t[0].sort()[0], t, right=True, out_int32=True),
        lambda t: torch.searchsorted(bounds if t is cpu else values, t, side="right"),
    ):
        agree(f(cpu), f(there))
    if not cpu.is_floating_point():
        agree(cpu[0].bincount(), there[0].bincount())
        agree(cpu[0].bincount(minlength=20), there[0].bincount(minlength=20))


def test_the_trace():
    for shape in [(3, 3), (2, 4), (4, 2)]:
        cpu, there = both(numbers(*shape))
        agree(torch.trace(cpu), torch.trace(there))


GRADIENTS = {
    "sum": lambda t: t.sum((0, 2)),
    "mean": lambda t: t.mean(1),
    "mean_all": lambda t: t.mean(),
    "amax": lambda t: t.amax((0, 2)),
    "max_all": lambda t: t.max(),
    "var": lambda t: t.var(1),
    "std": lambda t: t.std((0, 1)),
    "norm2": lambda t: torch.linalg.vector_norm(t, 2, 1),
    "norm3": lambda t: torch.linalg.vector_norm(t, 3, 1),
    "logsumexp": lambda t: t.logsumexp((1, 2)),
    "prod": lambda t: t.prod(),
    "nansum": lambda t: t.nansum(0),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, dtype):
    found = []
    for t in both(numbers(3, 4, 5), dtype, grad=True):
        result = GRADIENTS[name](t)
        (result * result).sum().backward()
        found.append(t.grad)
    agree(*found)
    assert found[0].stride() == found[1].stride()


def test_the_gradient_of_a_broadcast_is_summed():
    for shape in [(1,), (4, 1), (1, 1, 5), (3, 1, 1), (4, 5), ()]:
        found = []
        for t, other in zip(
            both(numbers(*shape), grad=True), both(numbers(3, 4, 5, seed=2)), strict=True
        ):
            (t * other).sum().backward()
            found.append(t.grad)
        agree(*found)


def test_the_gradient_of_a_mean_is_a_view():
    there = both(numbers(3, 4), grad=True)[1]
    (given,) = torch.autograd.grad(there.mean(1), there, torch.ones(3).to("opencl"))
    assert given.stride() == (1, 0)
    np.testing.assert_array_equal(given.cpu().numpy(), np.full((3, 4), 0.25))


def test_what_is_wrong_is_said_as_on_the_cpu():
    cpu, there = both(numbers(3, 4))
    _core.accelerator_refuse_fallbacks(False)
    for f, error in [
        (lambda t: t.sum(2), IndexError),
        (lambda t: t.sum((0, 0)), RuntimeError),
        (lambda t: t.long().mean(), RuntimeError),
        (lambda t: t[:, :0].amax(1), IndexError),
        (lambda t: t.topk(5, 1), RuntimeError),
        (lambda t: t.kthvalue(0), RuntimeError),
        (lambda t: t.cumsum(3), IndexError),
        (lambda t: (t > 0).argmax(), RuntimeError),
    ]:
        with pytest.raises(error) as by_cpu:
            f(cpu)
        with pytest.raises(error) as by_device:
            f(there)
        assert str(by_cpu.value) == str(by_device.value)
