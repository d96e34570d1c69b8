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


@pytest.mark.parametrize("outer, inner", list(itertools.product([jacrev, jacfwd], repeat=2)))
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


def shifted_product(x):
    out = torch.zeros_like(x)
    out[1:] = x[:2] * x[2]
    return out


def added_to_one_place(x):
    out = torch.zeros_like(x)
    out[0] += x.sum()
    return out


def through_a_view_of_a_view(x):
    out = x.new_zeros(2, 3)
    out.t()[1:][:, 0].copy_(x[:2] * x[2])
    return out.sum(0)


def into_parts(x):
    out = torch.zeros_like(x)
    first, rest = out.narrow(0, 0, 1), out.narrow(0, 1, 2)
    rest.add_(x[:2].sin())
    first.copy_(x[1:2] * 3)
    return out


def the_whole_after_a_part(x):
    out = x * 2
    out[1:] = x[:2]
    out.add_(x.cos()).mul_(0.5)
    return out


def by_indices(x):
    out = x.clone()
    out[torch.tensor([2, 0])] = x[:2] * x[1]
    out.masked_fill_(x > 2.5, 0.0)
    return out


WRITING = [
    shifted_product,
    added_to_one_place,
    through_a_view_of_a_view,
    into_parts,
    the_whole_after_a_part,
    by_indices,
]


@pytest.mark.parametrize("f", WRITING)
def test_writes_under_every_pair_of_transforms(f) -> None:
    rows = torch.arange(6.0, dtype=torch.float64).reshape(2, 3) / 2 + 0.1
    x = rows[1]

    def along(g):
        return lambda q: jvp(g, (q,), (q.sin(),))[1]

    def by_rows(g):  # the same by reverse-mode
        return lambda q: jacrev(g)(q) @ q.sin()

    def looped(g):
        return torch.stack([g(r) for r in rows])

    assert torch.allclose(jacfwd(f)(x), jacrev(f)(x))
    assert torch.allclose(vmap(f)(rows), looped(f))
    assert torch.allclose(vmap(along(f))(rows), looped(by_rows(f)))
    assert torch.allclose(vmap(jacrev(f))(rows), looped(jacfwd(f)))
    assert torch.allclose(along(along(f))(x), by_rows(by_rows(f))(x))
    assert torch.allclose(
        along(lambda q: vmap(f)(torch.stack([q, q * 2])).sum(0))(x),
        by_rows(lambda q: f(q) + f(q * 2))(x),
    )
    assert torch.allclose(jacfwd(jacrev(f))(x), jacrev(jacfwd(f))(x))


def test_a_captured_dual_written_with_a_younger_one() -> None:
    """A view of a tensor of the older level takes it along when it gets a younger tangent."""

    def outer(x):
        def inner(y):
            out = x * 1
            out[:2] = y[:2] * x[1:]
            return out

        return jvp(inner, (x,), (torch.ones_like(x),))[1]

    x = torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64)
    assert outer(x).tolist() == [2.0, 3.0, 0.0]
    assert jacfwd(outer)(x).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    assert jacrev(outer)(x).tolist() == jacfwd(outer)(x).tolist()


def test_jacobians_of_a_number() -> None:
    x = torch.tensor(2.0)
    for jac in (jacrev, jacfwd):
        assert jac(lambda a: a**3)(x).item() == 12.0
        assert jac(jac(lambda a: a**3))(x).item() == 12.0
    assert hessian(lambda a: a**3)(x).item() == 12.0


DROPPING = [
    torch.nn.functional.dropout,
    lambda x: torch.nn.functional.alpha_dropout(x, training=True),
    lambda x: torch.nn.functional.feature_alpha_dropout(x.reshape(1, 8), training=True)[0],
    lambda x: torch.nn.functional.dropout1d(x.reshape(1, 8, 1)).reshape(8),
    lambda x: torch.nn.functional.rrelu(-x, training=True),
    torch.nn.functional.gumbel_softmax,
    torch.rand_like,
    torch.randn_like,
    lambda x: torch.randint_like(x, 1000),
    lambda x: torch.randperm(8) + x,
    lambda x: x.clone().uniform_(),
]


@pytest.mark.parametrize("draw", DROPPING)
@pytest.mark.filterwarnings("ignore:dropout")
def test_random_numbers_same_and_different(draw) -> None:
    x = torch.ones(32, 8)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(draw)(x)
    assert len({tuple(row) for row in vmap(draw, randomness="same")(x).tolist()}) == 1
    assert len({tuple(row) for row in vmap(draw, randomness="different")(x).tolist()}) > 16


@pytest.mark.parametrize(
    "draw", [torch.bernoulli, torch.poisson, torch.normal, lambda p: torch.multinomial(p, 4)]
)
def test_draws_by_values_are_not_the_same(draw) -> None:
    x = torch.full((32, 8), 0.5)
    assert len({tuple(row) for row in vmap(draw, randomness="different")(x).tolist()}) > 16
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
        vmap(draw, randomness="same")(x)
