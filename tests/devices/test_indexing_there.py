"""Indexing, joins and moves on the accelerator: against the CPU, without the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core

pytestmark = pytest.mark.usefixtures("refuse")

TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool]
REAL = [torch.float32, torch.float64]


def values(*shape: int, dtype: Any = torch.float32, seed: int = 0) -> Any:
    """Small whole numbers, so that sums are exact in all types."""
    made = np.random.default_rng(seed).integers(-4, 5, shape)
    return torch.tensor(made).to(dtype)


def index(*shape: int, below: int, seed: int = 1) -> Any:
    return torch.tensor(np.random.default_rng(seed).integers(0, below, shape))


def there(x: Any) -> Any:
    """The same on the accelerator, with the same strides."""
    if isinstance(x, (list, tuple)):
        return type(x)([there(v) for v in x])
    return x.to("opencl") if isinstance(x, torch.Tensor) else x


def here(x: Any) -> Any:
    before = _core.accelerator_refuse_fallbacks(False)
    moved = x.cpu()
    _core.accelerator_refuse_fallbacks(before)
    return moved


def check(f: Callable[..., Any], *args: Any) -> None:
    """What f gives there is what it gives on the CPU."""
    want, have = f(*args), f(*map(there, args))
    for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (have, want)], strict=True):
        assert a.device.type == "opencl" and a.dtype is b.dtype and a.shape == b.shape
        assert torch.equal(here(a), b), (here(a), b)


MOVES: dict[str, Callable[..., Any]] = {
    "cat": lambda x: torch.cat([x, x[:1], x.flip(0)]),
    "cat along 1": lambda x: torch.cat([x, x[:, :0], x[:, 1:]], 1),
    "cat with an empty vector": lambda x: torch.cat([x, x.new_empty(0), x]),
    "stack": lambda x: torch.stack([x, x + x], 1),
    "stack of views": lambda x: torch.stack([x.t(), x.t()], -1),
    "flip": lambda x: x.flip(0, 1),
    "flip of a view": lambda x: x.t()[1:].flip(1),
    "roll": lambda x: x.roll((1, -2), (0, 1)),
    "roll all": lambda x: x.roll(-5),
    "repeat": lambda x: x.repeat(2, 1, 3),
    "repeat none": lambda x: x.repeat(0, 2),
    "tril": lambda x: x.tril(1),
    "triu": lambda x: x.t().triu(-1),
    "diag_embed": lambda x: x.diag_embed(1, 0, 2),
    "diag": lambda x: x.diag(1),
    "diag of a vector": lambda x: x[0].diag(-1),
    "block_diag": lambda x: torch.block_diag(x, x[0], x[:, :1]),
    "contiguous": lambda x: x.t().contiguous(),
    "pad": lambda x: torch.nn.functional.pad(x, (1, -1, 0, 2)),
    "gather": lambda x: x.gather(1, torch.tensor([[1, 1], [0, 3], [2, 2]]).to(x.device)),
    "index": lambda x: x[torch.tensor([2, 0, -1]).to(x.device)],
    "two indices": lambda x: x[
        torch.tensor([[0], [2]]).to(x.device), torch.tensor([1, -1, 0]).to(x.device)
    ],
    "index of a view": lambda x: x.t()[:, torch.tensor([0, 2]).to(x.device)],
    "index on the CPU": lambda x: x[torch.tensor([2, 0])],
    "index_select": lambda x: x.index_select(1, torch.tensor([3, 0, 0]).to(x.device)),
    "take": lambda x: x.take(torch.tensor([[0, -1], [5, 7]]).to(x.device)),
    "mask": lambda x: x[x != 0],
    "masked_select": lambda x: x.masked_select(x[:, :1] != 0),
    "nonzero": lambda x: x.nonzero(),
    "nonzero as a tuple": lambda x: x.nonzero(as_tuple=True),
}


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", MOVES)
def test_moves(name: str, dtype: Any) -> None:
    if "block_diag" in name and dtype is torch.bool:
        return check(lambda x: torch.block_diag(x, x), values(3, 4, dtype=dtype))
    return check(MOVES[name], values(3, 4, dtype=dtype))


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("name", [n for n in MOVES if "nonzero" not in n])
def test_gradients_of_moves(name: str, dtype: Any) -> None:
    if name in ("repeat", "repeat none"):
        pytest.importorskip("rushlight")
        _core.accelerator_refuse_fallbacks(False)  # sums over the copies are reductions

    def gradient(x: Any) -> Any:
        x = x.detach().requires_grad_()
        out = MOVES[name](x)
        seed = values(*out.shape, dtype=dtype, seed=3).to(x.device)
        return torch.autograd.grad(out, x, seed)[0]

    check(gradient, values(3, 4, dtype=dtype))


def _index_put(x: Any, i: Any, v: Any, accumulate: bool) -> Any:
    return x.index_put((i,), v, accumulate=accumulate)


def _assigned(x: Any, i: Any, v: Any) -> Any:
    x = x.clone()
    x[:, i] = v.t()
    x[i[:1]] = 7
    x[x > 3] = 1
    return x


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_writes(dtype: Any) -> None:
    x, rows = values(5, 4, dtype=dtype), values(7, 4, dtype=dtype, seed=2)
    i, wide = index(7, below=5), index(7, 4, below=5)
    check(lambda x, i, v: _index_put(x, i, v, False), x, i, rows)
    check(lambda x, i, v: x.scatter(0, i, v), x, wide, rows)
    check(lambda x, i: x.scatter(0, i, 2), x, wide)
    check(lambda x, i: x.scatter_(0, i, 2), x.clone(), wide)
    check(lambda x, i: x.index_fill(0, i, 1), x, i)
    check(lambda x, i, v: x.index_copy(0, i, v), x, i, rows)
    check(lambda x, i, v: x.clone().put_(i, v), x, i, rows[:, 0])
    check(lambda x, v: x.masked_scatter(x != 0, v), x, values(5, 4, dtype=dtype, seed=8))
    check(_assigned, values(5, 5, dtype=dtype), i[:3], values(3, 5, dtype=dtype))
    if dtype is torch.bool:
        return
    check(lambda x, i, v: _index_put(x, i, v, True), x, i, rows)
    check(lambda x, i, v: x.scatter_add(0, i, v), x, wide, rows)
    check(lambda x, i, v: x.clone().scatter_add_(0, i, v), x, wide, rows)
    check(lambda x, i, v: x.index_add(0, i, v), x, i, rows)
    check(lambda x, i, v: x.clone().index_add_(0, i, v), x, i, rows)
    check(lambda x, i, v: x.put(i, v, True), x, i, rows[:, 0])


@pytest.mark.parametrize("dtype", [*REAL, torch.int64], ids=str)
@pytest.mark.parametrize("size", [1, 3, 5000])
def test_long_indices(dtype: Any, size: int) -> None:
    """Few work items and a long index: what lands in one place is put into the index's order."""
    n = 3000
    x, i, v = values(size, dtype=dtype), index(n, below=size), values(n, dtype=dtype, seed=4)
    check(lambda x, i, v: x.index_put((i,), v, accumulate=True), x, i, v)
    check(lambda x, i, v: x.index_put((i,), v), x, i, v)
    check(lambda x, i, v: x.scatter(0, i, v), x, i, v)
    two, wide = values(2, size, 2, dtype=dtype), index(2, n, 2, below=size)
    more = values(2, n, 2, dtype=dtype, seed=5)
    check(lambda x, i, v: x.scatter_add(1, i, v), two, wide, more)
    check(lambda x, i, v: x.scatter(1, i, v), two, wide, more)
    check(lambda x, i, v: x.transpose(0, 1).index_add(0, i, v), two, i, more.transpose(0, 1))


def test_sums_are_those_of_the_cpu_to_the_bit() -> None:
    """Each place adds in the order of the index, whichever kernel does it."""
    torch.manual_seed(0)
    v, i = torch.randn(4000), index(4000, below=7)
    check(lambda v, i: torch.zeros(7, device=v.device).index_add(0, i, v), v, i)
    rows = torch.randn(600, 700)
    check(lambda v, i: torch.zeros(7, 700, device=v.device).index_add(0, i, v), rows, i[:600])


@pytest.mark.parametrize("dtype", [*REAL, torch.bfloat16], ids=str)
@pytest.mark.parametrize("padding", [None, 2])
def test_embedding(dtype: Any, padding: int | None) -> None:
    def both(weight: Any, i: Any) -> Any:
        weight = weight.detach().requires_grad_()
        out = torch.nn.functional.embedding(i, weight, padding)
        seed = values(*out.shape, dtype=dtype, seed=6).to(weight.device)
        return out.detach(), torch.autograd.grad(out, weight, seed)[0]

    check(both, values(9, 5, dtype=dtype), index(4, 6, below=9))
    check(both, values(9, 5, dtype=dtype), index(0, below=9))
    check(both, values(9, 5, dtype=dtype), torch.tensor(3))
    check(both, values(9, 1, dtype=dtype), index(2000, below=9))


def test_complex_numbers_are_moved() -> None:
    x = torch.complex(values(3, 4), values(3, 4, seed=1))
    check(lambda x: x.flip(1), x)
    check(lambda x, i: x[i], x, torch.tensor([2, 0]))
    check(lambda x: torch.cat([x, x]), x)
    check(lambda x: x.tril(), x)


def test_no_elements_and_no_dimensions() -> None:
    none = values(0, 3)
    check(lambda x: torch.cat([x, x]), none)
    check(lambda x: x.flip(1), none)
    check(lambda x: x.nonzero(), none)
    check(lambda x, i: x[i], none.t(), torch.zeros(0, dtype=torch.int64))
    check(lambda x: x[x > 0], none)
    one = values(1)[0]
    check(lambda x: torch.stack([x, x]), one)
    check(lambda x: x.flip(()), one)
    check(lambda x: x.masked_select(x == x), one)
    check(lambda x, i: x.take(i), one, torch.tensor([0, 0]))


def told(number: int, size: int) -> None:
    """The host is told of a number out of bounds, once."""
    with pytest.raises(torch.AcceleratorError, match=f" {number}, which is out .* of {size}:"):
        torch.accelerator.synchronize()


def test_an_index_outside_reads_zeros_and_writes_nothing() -> None:
    x, i = there(values(4, 3)), there(torch.tensor([1, 9, 9]))
    found = x[i]
    told(9, 4)
    assert torch.equal(here(found), torch.stack([here(x)[1], torch.zeros(3), torch.zeros(3)]))
    y = x.clone()
    y[i - 16] = 5.0
    told(-15, 4)
    assert torch.equal(here(y), here(x))
    y[i] = 5.0
    told(9, 4)
    want = here(x)
    want[1] = 5.0
    assert torch.equal(here(y), want)


def test_where_elements_are_not_zero() -> None:
    """Over several chunks; a negative zero is none, what is no number is none either."""
    x = torch.zeros(40, 50)
    x[3, 7], x[39, 49], x[0, 0], x[20, 20] = 1.0, float("nan"), -0.0, -1e-40
    for dtype in REAL:
        assert here(there(x.to(dtype)).nonzero()).tolist() == [[3, 7], [20, 20], [39, 49]]
    many = values(5000)
    check(lambda x: x[x > 0], many)


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_the_gradient_of_an_extreme_is_shared(dtype: Any) -> None:
    x = there(torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], dtype=dtype)).requires_grad_()
    x.amax(1).sum().backward()
    shares = here(x.grad)
    assert torch.allclose(shares, torch.tensor([[0, 0.5, 0.5], [1 / 3] * 3], dtype=dtype))
