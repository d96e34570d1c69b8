"""torch.poisson, binomial, _standard_gamma, _sample_dirichlet and their gradients: PyTorch's
numbers for the same seed, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as rl

RATES = [0.0, 0.5, 3.0, 9.99, 10.0, 30.0, 1e3, 1e6]
COUNTS = [0.0, 5.0, 3.0, 99.0, 10.0, 300.0, 1e3, 1e6]
PROBS = [0.5, 0.5, 0.1, 0.9, 0.02, 0.3, 0.6, 0.25]
SHAPES = [0.01, 0.5, 3.0, 99.0, 10.0, 300.0, 1e3, 1.0]
DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "poisson": lambda t, d: t.poisson(t.tensor(RATES * 50, dtype=d)),
    "poisson of columns": lambda t, d: t.poisson(t.tensor(RATES * 4, dtype=d).view(8, 4).T),
    "poisson, expanded": lambda t, d: t.poisson(t.tensor(RATES, dtype=d).expand(5, 8)),
    "poisson of a number": lambda t, d: t.poisson(t.tensor(3.0, dtype=d)),
    "poisson of none": lambda t, d: t.poisson(t.zeros(0, 3, dtype=d)),
    "binomial": lambda t, d: t.binomial(
        t.tensor(COUNTS * 50, dtype=d), t.tensor(PROBS * 50, dtype=d)
    ),
    "binomial, broadcast": lambda t, d: t.binomial(
        t.tensor(COUNTS, dtype=d), t.tensor(0.3, dtype=d)
    ),
    "gamma": lambda t, d: t._standard_gamma(t.tensor(SHAPES * 50, dtype=d)),
    "gamma of a number": lambda t, d: t._standard_gamma(t.tensor(0.7, dtype=d)),
    "dirichlet": lambda t, d: t._sample_dirichlet(t.tensor(SHAPES * 50, dtype=d).view(10, 5, 8)),
    "dirichlet of a number": lambda t, d: t._sample_dirichlet(t.tensor(0.7, dtype=d)),
    "bernoulli of a number": lambda t, d: t.bernoulli(t.tensor(0.7, dtype=d)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", DRAWS)
def test_equal_seeds_give_torchs_numbers(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    made = []
    for library in (rl, torch):
        library.manual_seed(7)
        kind = getattr(library, dtype)
        numbers = DRAWS[name](library, kind)
        made.append((numbers.numpy(), library.rand(1).item()))
    (ours, after), (theirs, torch_after) = made
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    # The sum of Dirichlet's gamma numbers is added up in another order.
    np.testing.assert_allclose(ours, theirs, 4e-16 if "dirichlet" in name else 0)
    assert after == torch_after


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_poisson_of_halves(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    made = []
    for library in (rl, torch):
        library.manual_seed(7)
        rates = library.tensor([0.5, 3.0, 40.0], dtype=getattr(library, dtype))
        made.append((str(library.poisson(rates).dtype), library.poisson(rates).tolist()))
    assert made[0] == made[1]


def test_a_generator_of_its_own_is_drawn_from() -> None:
    for name in ("poisson", "_standard_gamma", "_sample_dirichlet"):
        draw = getattr(rl, name)
        rates = rl.tensor([3.0, 40.0, 2.0])
        ours = [draw(rates, generator=rl.Generator().manual_seed(3)) for _ in range(2)]
        rl.manual_seed(3)
        assert rl.equal(ours[0], ours[1])
        assert rl.equal(ours[0], draw(rates))


def test_gradients() -> None:
    rate = rl.tensor([3.0, 40.0], requires_grad=True)
    counts = rl.poisson(rate)
    assert type(counts.grad_fn).__name__ == "PoissonBackward0"
    counts.sum().backward()
    assert rate.grad.tolist() == [0.0, 0.0]

    alpha = rl.tensor([0.5, 3.0, 40.0], dtype=rl.float64, requires_grad=True)
    x = rl._standard_gamma(alpha)
    assert type(x.grad_fn).__name__ == "StandardGammaBackward0"
    (g,) = rl.autograd.grad(x.sum(), alpha, create_graph=True)
    assert rl.equal(g, rl._standard_gamma_grad(alpha, x))
    with pytest.raises(NotImplementedError, match="the derivative for '_standard_gamma_grad'"):
        rl.autograd.grad(g.sum(), alpha)
    for drawn in (
        rl._sample_dirichlet(alpha),
        rl.binomial(rl.full((3,), 9.0, dtype=rl.float64), alpha / 100),
    ):
        assert type(drawn.grad_fn).__name__ == "NotImplemented"
        with pytest.raises(RuntimeError, match=r"derivative for aten::\w+ is not implemented"):
            drawn.sum().backward()


def test_gamma_gradients_move_a_number_along_its_quantile() -> None:
    special = pytest.importorskip("scipy.special")
    a = np.array([0.05, 0.3, 1.0, 4.5, 60.0, 900.0])
    u = np.array([0.3, 0.9, 0.5, 0.01, 0.999, 0.4])
    x = special.gammaincinv(a, u)
    h = 1e-4 * a
    expected = (special.gammaincinv(a + h, u) - special.gammaincinv(a - h, u)) / (2 * h)
    ours = rl._standard_gamma_grad(rl.from_numpy(a), rl.from_numpy(x))
    np.testing.assert_allclose(ours.numpy(), expected, 1e-5)


BAD: dict[str, Callable[[Any], Any]] = {
    "rate": lambda t: t.poisson(t.tensor([1.0, -1.0])),
    "nan rate": lambda t: t.poisson(t.tensor([math.nan])),
    "integer rates": lambda t: t.poisson(t.tensor([1, 2])),
    "no tensor": lambda t: t.poisson(2.0),
    "integer counts": lambda t: t.binomial(t.tensor([1]), t.tensor([0.5])),
    "integer probs": lambda t: t.binomial(t.tensor([1.0]), t.tensor([1])),
    "two types": lambda t: t.binomial(t.ones(1), t.ones(1, dtype=t.float64)),
    "halves": lambda t: t.binomial(t.ones(1).half(), t.ones(1).half()),
    "no probs": lambda t: t.binomial(t.ones(1)),
    "gamma halves": lambda t: t._standard_gamma(t.ones(1).half()),
    "gamma integers": lambda t: t._standard_gamma(t.ones(1, dtype=t.int64)),
    "dirichlet halves": lambda t: t._sample_dirichlet(t.ones(1).half()),
    "gradient of two types": lambda t: t._dirichlet_grad(
        t.ones(2), t.ones(2), t.ones(2, dtype=t.float64)
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name: str) -> None:
    errors = (RuntimeError, ValueError, TypeError, NotImplementedError)
    with pytest.raises(errors) as ours:
        BAD[name](rl)
    torch = pytest.importorskip("torch")
    with pytest.raises(errors) as theirs:
        BAD[name](torch)
    assert type(ours.value) is type(theirs.value)
    assert str(ours.value).split("\n")[0].startswith(str(theirs.value).split("\n")[0].rstrip("."))


def test_parameters_that_no_number_fits_end() -> None:
    """PyTorch loops on most of these for ever."""
    odd = rl.tensor([math.nan, math.inf, -5.0, -math.inf, 0.0], dtype=rl.float64)
    gammas = rl._standard_gamma(odd).tolist()
    assert math.isnan(gammas[0])
    assert gammas[1] == math.inf
    assert all(math.isnan(v) for v in gammas[2:4])
    assert 0 < gammas[4] < 1e-300
    counts = rl.tensor([math.nan, math.inf, -5.0, 5.0, 5.0, 5.0, 5.0], dtype=rl.float64)
    probs = rl.tensor([0.5, 0.5, 0.5, math.nan, 2.0, -1.0, 0.0], dtype=rl.float64)
    found = rl.binomial(counts, probs).tolist()
    assert [v for v in found if not math.isnan(v)] == [math.inf, 0.0, 5.0, 0.0, 0.0]
    assert math.isnan(found[0])
    assert math.isnan(found[3])
    assert rl.poisson(rl.tensor([math.inf, 0.0])).tolist() == [math.inf, 0.0]
    loc = rl.tensor([math.nan, 0.0])
    angles = rl.distributions.VonMises(loc, loc + 1, validate_args=False).sample()
    assert math.isnan(angles[0])
    odd = rl.tensor([math.nan, math.inf, 0.0, -1.0, -100.0, 1e-300, 1e300])
    angles = rl.distributions.VonMises(0.0, odd.double(), validate_args=False).sample()
    assert bool(angles[:5].isnan().all())


def test_under_vmap_each_element_has_numbers_of_its_own() -> None:
    rates = rl.full((4, 3), 5.0)
    for draw in (rl.poisson, rl._standard_gamma, lambda a: rl.binomial(a * 10, a / 10)):
        rl.manual_seed(1)
        ours = rl.vmap(draw, randomness="different")(rates)
        rl.manual_seed(1)
        assert rl.equal(ours, rl.stack([draw(r) for r in rates]))
        with pytest.raises(RuntimeError, match="random operation"):
            rl.vmap(draw)(rates)
    shared = rl.vmap(lambda a: rl._sample_dirichlet(rl.ones(3)) + 0 * a, randomness="same")(rates)
    assert rl.equal(shared[0], shared[1])


def test_distributions_check_their_arguments_under_vmap() -> None:
    D = rl.distributions
    found = rl.vmap(lambda a: D.Normal(a, 1.0).log_prob(rl.tensor(2.0)))(rl.tensor([0.5, 2.0]))
    assert rl.equal(found, D.Normal(rl.tensor([0.5, 2.0]), 1.0).log_prob(rl.tensor(2.0)))
    with pytest.raises(ValueError, match="Expected parameter scale"):
        rl.vmap(lambda a: D.Normal(0.0, a).mean)(rl.tensor([[0.5, 1.0], [2.0, -2.0]]))
    with pytest.raises(ValueError, match="to be within the support"):
        rl.vmap(lambda x: D.Poisson(rl.ones(2)).log_prob(x))(rl.tensor([[1.0, 0.5]]))
