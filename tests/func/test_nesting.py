"""Transforms in any order: the levels never mix,
and what leaves a transform is as plain as it can be."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import rushlight as torch
from rushlight.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

X = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64)


def f(x: torch.Tensor) -> torch.Tensor:
    return (x.sin() * x.exp()).sum() * x[0]


def analytic_hessian() -> torch.Tensor:
    x = X.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.stack([torch.autograd.grad(g[i], x, retain_graph=True)[0] for i in range(3)])


@pytest.mark.parametrize("outer, inner", itertools.product([jacrev, jacfwd], repeat=2))
def test_second_derivatives_in_any_order(outer, inner) -> None:
    assert torch.allclose(outer(inner(f))(X), analytic_hessian())
    batch = torch.stack([X, X * 2])
    found = vmap(outer(inner(f)))(batch)
    assert torch.allclose(found[0], analytic_hessian())
    assert torch.allclose(found[1], outer(inner(f))(X * 2))


@pytest.mark.parametrize("order", list(itertools.product([jacrev, jacfwd], repeat=3)))
def test_third_derivatives_in_any_order(order) -> None:
    a, b, c = order
    expected = jacrev(lambda x: hessian(f)(x))(X)
    assert torch.allclose(a(b(c(f)))(X), expected)


def test_derivatives_do_not_mix() -> None:
    one = torch.tensor(1.0)

    def along(g, x):
        return jvp(g, (x,), (torch.ones_like(x),))[1]

    for inner in (grad, lambda g: lambda x: along(g, x)):
        for outer in (grad, lambda g: lambda x: along(g, x)):
            # d/dx (x * d/dy (x + y)) is 1, not 2.
            assert outer(lambda x, i=inner: x * i(lambda y: x + y)(one))(one).item() == 1.0


def test_gradient_of_each_element_by_a_captured_tensor() -> None:
    rows = torch.arange(6.0).reshape(2, 3)
    w = torch.ones(3)
    found = vmap(lambda row: grad(lambda w: (w * row).sum() ** 2)(w))(rows)
    assert found.tolist() == [[0.0, 6.0, 12.0], [72.0, 96.0, 120.0]]


def test_results_are_plain_where_nothing_outside_needs_the_graph() -> None:
    g = grad(f)(X)
    assert not g.requires_grad and g.grad_fn is None
    y, pull = vjp(f, X)
    assert not y.requires_grad and not pull(torch.ones_like(y))[0].requires_grad
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    g = grad(lambda x: (x * w).sum() ** 2)(X)
    assert g.requires_grad
    assert torch.autograd.grad(g.sum(), w)[0].shape == (3,)
    with torch.no_grad():
        assert not grad(lambda x: (x * w).sum() ** 2)(X).requires_grad


def test_modes_inside_and_outside() -> None:
    with torch.no_grad():
        assert torch.allclose(grad(f)(X), torch.func.grad(f)(X))
        assert grad(grad(lambda x: x**3))(torch.tensor(2.0)).item() == 12.0

    def cut(x):
        with torch.no_grad():
            c = x * x
        return (x * c).sum()

    assert grad(cut)(torch.tensor([2.0])).tolist() == [4.0]


def test_linearize_calls_the_function_once() -> None:
    calls = []

    def counted(x):
        calls.append(1)
        return x.sin()

    _, push = linearize(counted, X)
    for k in range(3):
        t = torch.full((3,), float(k), dtype=torch.float64)
        assert torch.allclose(push(t), X.cos() * k)
    assert len(calls) == 1


def test_nothing_is_kept() -> None:
    x = torch.ones(4)
    seen = weakref.ref(x)
    vmap(grad(lambda a: a * a))(x)
    hessian(lambda a: (a**3).sum())(x)
    jvp(torch.sin, (x,), (x,))
    del x
    gc.collect()
    assert seen() is None


def test_printing() -> None:
    texts = []
    vmap(lambda a: (texts.append(repr(a)), a)[1])(torch.ones(2, 2))
    jvp(lambda a: (texts.append(repr(a)), a)[1], (torch.ones(1),), (torch.ones(1),))
    assert texts[0] == (
        "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1., 1.],\n            [1., 1.]])\n)"
    )
    assert texts[1] == "GradTrackingTensor(lvl=1, value=\n    tensor([1.])\n)"


def test_empty_batch() -> None:
    assert vmap(lambda a: a.sin().sum())(torch.zeros(0, 3)).shape == (0,)
    assert vmap(grad(lambda a: a.sin().sum()))(torch.zeros(0, 3)).shape == (0, 3)


def test_a_batched_number_promotes_like_a_number() -> None:
    numbers = torch.ones(2, dtype=torch.float64)
    rows = torch.ones(2, 3)
    assert vmap(lambda n, r: n * r)(numbers, rows).dtype == torch.float32
    assert vmap(lambda n: n * torch.ones(3, dtype=torch.int64))(numbers).dtype == torch.float64


def test_randomness() -> None:
    x = torch.zeros(64, 4)
    with pytest.raises(
        RuntimeError, match="called random operation while in randomness error mode"
    ):
        vmap(lambda a: a + torch.rand(4))(x)
    same = vmap(lambda a: a + torch.rand(4), randomness="same")(x)
    assert (same == same[0]).all()
    different = vmap(lambda a: a + torch.rand(4), randomness="different")(x)
    assert len(np.unique(different.numpy())) == 64 * 4
    ones = torch.ones(64, 8)
    dropped = vmap(torch.nn.functional.dropout, randomness="different")(ones)
    assert len({tuple(row) for row in dropped.tolist()}) > 16


def test_in_place_writes_of_one_element() -> None:
    def shifted(a, k):
        out = torch.zeros_like(a)
        out[1:] = a[:-1]
        out[k] += 10
        return out

    found = vmap(shifted)(torch.arange(6.0).reshape(2, 3), torch.tensor([0, 2]))
    assert found.tolist() == [[10.0, 0.0, 1.0], [0.0, 3.0, 14.0]]


def test_control_flow_on_values_is_refused() -> None:
    x = torch.ones(2, 2)
    with pytest.raises(
        RuntimeError, match=r"vmap: It looks like you're calling .item\(\) on a Tensor"
    ):
        vmap(lambda a: a.sum().item())(x)
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        vmap(lambda a: a if a.sum() > 0 else -a)(x)


def test_threads_have_levels_of_their_own() -> None:
    import threading

    results = {}

    def work(k: int) -> None:
        x = torch.full((3,), float(k), dtype=torch.float64)
        for _ in range(20):
            results[k] = hessian(lambda a: (a**3).sum())(x)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        assert torch.allclose(results[k], torch.eye(3, dtype=torch.float64) * 6 * k)
