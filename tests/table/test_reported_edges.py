"""Derivatives at the edges of functions, as users of PyTorch reported them.

`test_edges.py` looks for the kinds of these in the whole table. The expectations are mathematics:
series, polynomials, one-sided slopes.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as torch

F = torch.nn.functional
jacfwd, jacrev = torch.func.jacfwd, torch.func.jacrev
TWICE = list(itertools.product((jacrev, jacfwd), repeat=2))


@pytest.mark.parametrize("padding", ["border", "reflection"])
@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("n", [2, 3])
def test_grid_sample_on_the_border(n: int, corners: bool, padding: str) -> None:
    ramp = torch.arange(1.0, 6.0).expand(1, 1, *[5] * n)  # rises along x
    for edge in (-1.0, 1.0):
        at = [
            edge * (1 if corners else 4 / 5),
            *[0.0] * (n - 1),
        ]  # the first or last pixel's middle
        grid = torch.tensor(at).reshape(1, *[1] * n, n).requires_grad_()
        F.grid_sample(ramp, grid, padding_mode=padding, align_corners=corners).sum().backward()
        assert grid.grad.flatten().tolist() == [0.0] * n


def test_identity_of_a_spatial_transformer() -> None:
    theta = torch.tensor([[[1.0, 0, 0], [0, 1.0, 0]]], requires_grad=True)
    image = torch.arange(5.0).expand(1, 1, 5, 5)
    grid = F.affine_grid(theta, (1, 1, 5, 5), align_corners=True)
    F.grid_sample(image, grid, padding_mode="border", align_corners=True).sum().backward()
    # The slope 2 of the inner columns: x = -1/2, 0, 1/2 in 5 rows.
    assert theta.grad.flatten().tolist() == [0, 0, 30, 0, 0, 0]


def test_losses_at_logits_of_zero() -> None:
    x = torch.zeros((), requires_grad=True)
    t = torch.tensor(0.3, requires_grad=True)
    weight = torch.tensor(3.0)
    loss = F.binary_cross_entropy_with_logits(x, t, pos_weight=weight)
    (g,) = torch.autograd.grad(loss, t, create_graph=True)
    # log(sigmoid(-x)) - 3 log(sigmoid(x)) has the slope -1/2 - 3/2 at 0.
    assert torch.autograd.grad(g, x)[0].item() == -2
    logits = torch.zeros(1, 2, requires_grad=True)
    targets = torch.tensor([[1.0, 0.0]])
    F.multilabel_soft_margin_loss(logits, targets).backward()
    assert logits.grad.tolist() == [[-0.25, 0.25]]


@pytest.mark.parametrize("outer, inner", TWICE)
@pytest.mark.parametrize("f", [F.elu, F.selu, F.celu, lambda x: F.celu(x, 0.5)])
def test_exponential_that_is_not_chosen(f: Callable[..., Any], outer: Any, inner: Any) -> None:
    assert outer(inner(f))(torch.tensor(100.0)).item() == 0
    assert outer(inner(f))(torch.tensor(800.0, dtype=torch.float64)).item() == 0
    assert math.isnan(inner(f)(torch.tensor(math.nan)).item())


@pytest.mark.parametrize("outer, inner", TWICE)
def test_sinc_near_zero(outer: Any, inner: Any) -> None:
    for x in (0.0, 1e-40, 1e-20, 1e-4, 1e-2):
        x32 = torch.tensor(x)
        slope = -(math.pi**2) / 3 * x + math.pi**4 / 30 * x**3
        assert inner(torch.sinc)(x32).item() == pytest.approx(slope, rel=1e-5 if x > 1e-38 else 0.1)
        curve = -(math.pi**2) / 3 + math.pi**4 / 10 * x**2
        assert outer(inner(torch.sinc))(x32).item() == pytest.approx(curve, rel=1e-5)


class _Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g

    @staticmethod
    def jvp(ctx, t):
        return 3 * ctx.saved_tensors[0] ** 2 * t


@pytest.mark.parametrize("order", list(itertools.product((jacrev, jacfwd), repeat=3)))
def test_jvp_of_a_custom_function_is_differentiated(order: Any) -> None:
    f, found = _Cube.apply, []
    for derivative in order:
        f = derivative(f)
        found.append(f(torch.tensor(2.0)).item())
    assert found == [12, 12, 6]


def _coefficients(f: Callable[[complex], Any], n: int) -> np.ndarray:
    """Those of a polynomial of degree n, from its values on the unit circle."""
    around = np.exp(2j * np.pi * np.arange(n + 1) / (n + 1))
    return np.fft.fft([f(z) for z in around]) / (n + 1)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n, rank", [(n, r) for n in (1, 2, 3, 4) for r in range(n + 1)])
def test_derivatives_of_det_at_any_rank(n: int, rank: int, dtype: str) -> None:
    rng = np.random.default_rng(n + 10 * rank)

    def draw(*shape: int) -> np.ndarray:
        found = rng.normal(size=shape)
        return found if dtype == "float64" else found + 1j * rng.normal(size=shape)

    a, h = draw(n, rank) @ draw(rank, n), draw(n, n)
    exact = _coefficients(lambda z: np.linalg.det(a + z * h), n)
    a, h = torch.from_numpy(a), torch.from_numpy(h)

    def rev(f: Any) -> Any:
        def derivative(x: Any) -> Any:
            value, pull = torch.func.vjp(f, x)
            return pull(torch.ones_like(value))[0].conj()

        return derivative

    def fwd(f: Any) -> Any:
        return lambda x: torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]

    for order in itertools.product((rev, fwd), repeat=3):
        f = lambda x: torch.linalg.det(a + x * h)
        for k, derivative in enumerate(order, 1):
            f = derivative(f)
            found = f(torch.zeros((), dtype=a.dtype)).detach().resolve_conj().numpy()
            expected = exact[k] * math.factorial(k) if k <= n else 0
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("f, zero", [(torch.xlogy, 0.0), (torch.special.xlog1py, -1.0)])
def test_products_with_logarithms_that_are_not_chosen(f: Any, zero: float) -> None:
    x = torch.ones(3, requires_grad=True)
    y = torch.tensor([0.0, 1.0, 2.0]) + zero
    torch.where(y > zero, f(x, y), 0.0).sum().backward()
    assert x.grad.tolist() == pytest.approx([0, 0, math.log(2)])
    y.requires_grad_()
    f(torch.zeros(3), y).sum().backward()
    assert y.grad.tolist() == [0, 0, 0]  # 0 for every y


@pytest.mark.parametrize("outer, inner", TWICE)
def test_copysign_is_straight(outer: Any, inner: Any) -> None:
    for x in (0.7, 1e-30, -1e-40, math.inf):
        assert inner(torch.copysign)(torch.tensor(x), torch.tensor(-2.0)).item() == -math.copysign(
            1, x
        )
        assert outer(inner(torch.copysign))(torch.tensor(x), torch.tensor(-2.0)).item() == 0


def _curves(f: Callable[..., Any], x: Any) -> list[list[float]]:
    """The second derivatives of a function with one result, in four compositions."""
    return [outer(inner(f))(x).flatten().tolist() for outer, inner in TWICE]


def _products() -> dict[str, Callable[..., Any]]:
    at = torch.tensor([0, 0, 0, 0])
    one = torch.ones(1)
    return {
        "prod": lambda x: x.prod(),
        "cumprod": lambda x: x.cumprod(0)[-1],
        "segment_reduce": lambda x: torch.segment_reduce(x, "prod", lengths=torch.tensor([4]))[0],
        "scatter_reduce": lambda x: one.scatter_reduce(0, at, x, "prod")[0],
        "index_reduce": lambda x: one.index_reduce(0, at, x, "prod")[0],
        "index_reduce alone": lambda x: one.index_reduce(0, at, x, "prod", include_self=False)[0],
    }


@pytest.mark.parametrize("name", _products())
@pytest.mark.parametrize("first", [0.0, 1e-10, 1e-38])
def test_products_are_polynomials(name: str, first: float) -> None:
    f = _products()[name]
    numbers = [first, first, 2.0, 3.0]

    def without(*places: int) -> float:
        return math.prod(x for i, x in enumerate(numbers) if i not in places)

    x = torch.tensor(numbers)
    slopes = [without(i) for i in range(4)]
    assert jacrev(f)(x).tolist() == pytest.approx(slopes, rel=1e-5, abs=1e-45)
    assert jacfwd(f)(x).tolist() == pytest.approx(slopes, rel=1e-5, abs=1e-45)
    curve = [without(i, k) if i != k else 0.0 for i in range(4) for k in range(4)]
    for found in _curves(f, x):
        assert found == pytest.approx(curve, rel=1e-5, abs=1e-37)


@pytest.mark.parametrize("name", _products())
def test_products_of_infinite_factors(name: str) -> None:
    f = _products()[name]
    for numbers in ([math.inf, 2.0, 3.0, 1.0], [math.inf, -math.inf, 2.0, 3.0]):
        x = torch.tensor(numbers)
        slopes = [math.prod(numbers[:i] + numbers[i + 1 :]) for i in range(4)]
        assert jacrev(f)(x).tolist() == slopes


def test_a_row_that_is_not_counted_may_be_infinite() -> None:
    x = torch.tensor([[1.0, 2.0], [math.inf, 0.0]], requires_grad=True)
    for target in (torch.tensor([0, -100]), torch.tensor([[0], [-100]])):
        rows = x if target.ndim == 1 else x.unsqueeze(-1)
        (g,) = torch.autograd.grad(F.cross_entropy(rows, target), x)
        p = 1 / (1 + math.exp(-1))
        assert g.flatten().tolist() == pytest.approx([-p, p, 0, 0])


def test_a_variance_that_is_infinite() -> None:
    var = torch.tensor([math.inf, 1e-9], requires_grad=True)
    loss = F.gaussian_nll_loss(torch.ones(2), torch.ones(2), var, reduction="none")
    assert loss.tolist() == pytest.approx([math.inf, math.log(1e-6) / 2])
    assert torch.autograd.grad(loss[0], var)[0].tolist() == [0, 0]


def test_long_products_at_zeros() -> None:
    rng, ones = np.random.default_rng(0), torch.ones(3, dtype=torch.float64)
    for n in (1, 2, 3, 5, 8, 13):
        numbers = rng.integers(-2, 3, n).astype(np.float64)
        at = rng.integers(0, 3, n)
        x = torch.from_numpy(numbers)
        g = torch.from_numpy(rng.normal(size=n))
        expected = [
            sum(g[k].item() * np.prod(np.delete(numbers[: k + 1], i)) for k in range(i, n))
            for i in range(n)
        ]
        found = torch.func.vjp(lambda x: x.cumprod(0), x)[1](g)[0]
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
        places = torch.from_numpy(at)
        _, pull = torch.func.vjp(lambda x, at=places: ones.scatter_reduce(0, at, x, "prod"), x)
        same = [np.prod(numbers[(at == at[i]) & (np.arange(n) != i)]) for i in range(n)]
        found = pull(ones)[0]
        np.testing.assert_allclose(found.numpy(), same, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e19])
def test_singular_values_at_any_scale(size: float) -> None:
    def total(t: Any, size: float = size) -> Any:
        rest = torch.tensor([[0.0, 2.0], [3.0, 7.0]]) * size
        return torch.linalg.svdvals(rest + (1 + t) * size * torch.tensor([[1.0, 0], [0, 0]])).sum()

    found = torch.func.hessian(total)(torch.tensor(0.0)).item()
    double = torch.func.hessian(lambda t: total(t, 1.0))(torch.tensor(0.0)).item()
    assert found == pytest.approx(double * size, rel=1e-3)


@pytest.mark.parametrize("dtype, size", [(torch.float32, 1e25), (torch.float64, 1e200)])
def test_norms_of_large_vectors(dtype: Any, size: float) -> None:
    a, b = (torch.tensor([[1.0, 2]], dtype=dtype) * s for s in (size, 2 * size))
    b[0, 1] = 3 * size
    assert torch.linalg.vector_norm(a).item() == pytest.approx(math.sqrt(5) * size, rel=1e-6)
    assert F.cosine_similarity(a, b).item() == pytest.approx(8 / math.sqrt(65), rel=1e-6)
    assert torch.linalg.vector_norm(torch.tensor([math.inf, 1.0])).item() == math.inf


def test_what_is_said_of_singular_matrices() -> None:
    singular = torch.tensor([[1.0, 2], [2, 4]])
    for derivative in (torch.func.grad, lambda f: jacfwd(jacfwd(f))):
        with pytest.raises(torch.linalg.LinAlgError, match="slogdet: the logarithm has no deriv"):
            derivative(lambda t: torch.linalg.slogdet(singular * t)[1])(torch.tensor(1.0))


def test_gradients_of_determinants_of_which_some_are_singular() -> None:
    whole = torch.tensor([[2.0, 1], [1, 3]], dtype=torch.float64)
    near = torch.tensor([[1.0, 2], [1, 2 + 1e-12]], dtype=torch.float64)
    singular = torch.tensor([[1.0, 2], [2, 4]], dtype=torch.float64)
    for batch in ([whole, singular], [near, whole], [singular, near, whole, whole], [near, near]):
        given = torch.stack(batch).reshape(-1, 1, 2, 2).requires_grad_()
        weights = torch.arange(1.0, 1 + len(batch), dtype=torch.float64).unsqueeze(1)
        (found,) = torch.autograd.grad((torch.det(given) * weights).sum(), given, create_graph=True)
        for i, one in enumerate(batch):
            (a, b), (c, d) = one.tolist()
            want = torch.tensor([[d, -c], [-b, a]], dtype=torch.float64) * (i + 1)
            assert torch.allclose(found[i, 0], want, rtol=1e-6)
        (second,) = torch.autograd.grad(found[:, 0, 0, 0].sum(), given)
        want = torch.zeros_like(given)
        want[:, :, 1, 1] = weights
        assert torch.allclose(second, want, rtol=1e-4, atol=1e-4)


def test_deepcopy_of_a_pruned_module_says_what_to_do() -> None:
    pruned = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(3, 2), "weight", 1)
    with pytest.raises(RuntimeError, match=r"prune\.remove first"):
        copy.deepcopy(pruned)
    with torch.no_grad():
        pruned(torch.ones(1, 3))
    assert torch.equal(copy.deepcopy(pruned).weight, pruned.weight)


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
def test_anomaly_mode_names_the_where() -> None:
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = torch.where(x > 0, 3 * x.sqrt(), x)
        with pytest.raises(RuntimeError, match=r"SqrtBackward0(.|\n)*through a `where`(.|\n)*y = "):
            y.sum().backward()
    with torch.autograd.detect_anomaly():
        z = (x - 2).sqrt()  # of no `where`
        with pytest.raises(RuntimeError) as error:
            (z * 0).sum().backward()
    assert "where(" not in str(error.value)


def test_a_place_that_an_index_names_twice() -> None:
    x, at = torch.zeros(3, 4), torch.tensor([1, 1])
    filled = torch.func.vmap(lambda value: x.index_fill(0, at, value).sum())
    value = torch.tensor([1.0, 2.0])
    total, pull = torch.func.vjp(filled, value)
    assert total.tolist() == [4, 8]
    assert pull(torch.ones(2))[0].tolist() == [4, 4]


@pytest.mark.parametrize("outer, inner", TWICE)
def test_logcumsumexp_after_minus_infinity(outer: Any, inner: Any) -> None:
    x = torch.tensor([-math.inf, 1.0, 2.0])
    p = 1 / (1 + math.exp(-1))
    curve = outer(inner(lambda x: torch.logcumsumexp(x, 0)[1:].sum()))(x)
    p *= 1 - p
    expected = [0, 0, 0, 0, p, -p, 0, -p, p]
    assert curve.flatten().tolist() == pytest.approx(expected, abs=1e-6)
