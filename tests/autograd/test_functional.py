"""autograd.functional: products and matrices of first and second derivatives."""

import pytest

from _subject import submodule, torch

F = submodule("autograd.functional")


def values(*shape):
    torch.manual_seed(5)
    return torch.rand(*shape, dtype=torch.float64)


def close(a, b):
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(close, a, b))
    return torch.allclose(a, b)


def test_vjp():
    x = values(3)
    out, g = F.vjp(torch.exp, x, torch.ones(3, dtype=torch.float64))
    assert close(out, x.exp()) and close(g, x.exp()) and not g.requires_grad
    out, g = F.vjp(lambda a, b: (a * b).sum(), (x, 2 * x))
    assert isinstance(g, tuple) and close(g, (2 * x, x))
    out, g = F.vjp(lambda a: (a, 2 * a), x, (x, x))
    assert isinstance(out, tuple) and close(g, 3 * x)


def test_jvp():
    x = values(3)
    out, t = F.jvp(lambda a: a * a, x, torch.ones(3, dtype=torch.float64))
    assert close(out, x * x) and close(t, 2 * x) and not t.requires_grad
    out, t = F.jvp(lambda a, b: (a * b, a), (x, x), (x, x))
    assert close(t, (2 * x * x, x))
    out, t = F.jvp(lambda a: a.detach() * 1, x, x)
    assert close(t, 0 * x)


@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian(vectorize):
    x, w = values(2), values(3, 2)
    assert close(F.jacobian(lambda a: w @ a, x, vectorize=vectorize), w)
    j = F.jacobian(lambda a, b: (a * b, b.sum()), (x, x), vectorize=vectorize)
    assert close(j, ((torch.diag(x), torch.diag(x)), (0 * x, torch.ones_like(x))))
    assert F.jacobian(lambda a: a.sum(), values(2, 3), vectorize=vectorize).shape == (2, 3)
    assert F.jacobian(lambda a: a[:, None] * a, x, vectorize=vectorize).shape == (2, 2, 2)


def test_jacobian_by_forward_mode():
    x, w = values(2), values(3, 2)
    assert close(F.jacobian(lambda a: w @ a, x, strategy="forward-mode", vectorize=True), w)
    j = F.jacobian(lambda a, b: (a * b, b.sum()), (x, x), strategy="forward-mode", vectorize=True)
    assert close(j, ((torch.diag(x), torch.diag(x)), (0 * x, torch.ones_like(x))))


@pytest.mark.parametrize("vectorize", [False, True])
def test_hessian(vectorize):
    x = values(3)
    assert close(F.hessian(lambda a: (a**3).sum(), x, vectorize=vectorize), torch.diag(6 * x))
    h = F.hessian(lambda a, b: (a * b).sum(), (x, x), vectorize=vectorize)
    eye = torch.eye(3, dtype=torch.float64)
    assert close(h, ((0 * eye, eye), (eye, 0 * eye)))


def test_hessian_forward_over_reverse():
    x = values(3)
    h = F.hessian(lambda a: (a**3).sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode")
    assert close(h, torch.diag(6 * x))


@pytest.mark.parametrize("product", [F.hvp, F.vhp])
def test_products_with_the_hessian(product):
    x, v = values(3), torch.arange(3, dtype=torch.float64)
    out, r = product(lambda a: (a**3).sum(), x, v)
    assert close(out, (x**3).sum()) and close(r, 6 * x * v) and not r.requires_grad
    out, r = product(lambda a, b: (a * b).sum(), (x, x), (v, 2 * v))
    assert close(r, (2 * v, v))
    assert close(product(lambda a: a.sum(), x, v)[1], 0 * x)


def test_results_can_be_differentiated():
    x = values(3).requires_grad_()
    j = F.jacobian(lambda a: (a**3).sum(), x, create_graph=True)
    assert close(torch.autograd.grad(j.sum(), x)[0], 6 * x)
    h = F.hessian(lambda a: (a**3).sum(), x, create_graph=True)
    assert close(torch.autograd.grad(h.sum(), x)[0], 6 + 0 * x)
    _, g = F.vjp(lambda a: (a**3).sum(), x, create_graph=True)
    assert close(torch.autograd.grad(g.sum(), x)[0], 6 * x)
    _, t = F.jvp(lambda a: a**3, x, torch.ones_like(x), create_graph=True)
    assert close(torch.autograd.grad(t.sum(), x)[0], 6 * x)
    _, r = F.hvp(lambda a: (a**3).sum(), x, torch.ones_like(x), create_graph=True)
    assert close(torch.autograd.grad(r.sum(), x)[0], 6 + 0 * x)


def test_it_works_under_no_grad():
    x = values(3)
    with torch.no_grad():
        assert close(F.jacobian(lambda a: a.sum(), x), torch.ones_like(x))
        assert close(F.vjp(lambda a: a.sum(), x)[1], torch.ones_like(x))
        assert not torch.is_grad_enabled()


def test_strict_mode_passes_where_all_depends():
    x = values(3)
    assert close(F.hessian(lambda a: (a**3).sum(), x, strict=True), torch.diag(6 * x))
    assert close(F.jacobian(torch.exp, x, strict=True), torch.diag(x.exp()))


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"])
def test_strict_mode_refuses_what_does_not(name):
    x = values(3)
    v = {"vjp": (torch.ones((), dtype=torch.float64),), "jacobian": (), "hessian": ()}.get(
        name, (x,)
    )
    with pytest.raises(
        RuntimeError, match=r"^Output 0 of the user-provided function does not require"
    ):
        getattr(F, name)(lambda a: torch.zeros((), dtype=torch.float64), x, *v, strict=True)
