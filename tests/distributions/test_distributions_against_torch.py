"""Every distribution against PyTorch: equal seeds give equal samples, and equal values, gradients,
shapes, texts and errors."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")


class Case(NamedTuple):
    make: Callable[..., Any]  # from the library's torch.distributions and tensors
    parameters: list[Any]
    value: Any  # in the support


def named(name: str) -> Callable[..., Any]:
    return lambda D, *args: getattr(D, name)(*args)


def case(name: str, parameters: list[Any], value: Any) -> Case:
    return Case(named(name), parameters, value)


MATRIX = [[2.0, 0.5], [0.5, 1.0]]
TRIL = [[1.5, 0.0], [0.3, 0.8]]
THREE = [0.2, 0.5, 0.3]
CASES: dict[str, Case] = {
    "Bernoulli": case("Bernoulli", [[0.25, 0.75]], [1.0, 0.0]),
    "Bernoulli logits": Case(lambda D, x: D.Bernoulli(logits=x), [[-1.0, 2.0]], [1.0, 0.0]),
    "Beta": case("Beta", [[0.5, 3.0], [1.5, 2.0]], [0.3, 0.4]),
    "Binomial": Case(lambda D, p: D.Binomial(9, p), [[0.25, 0.75, 0.5]], [1.0, 7.0, 0.0]),
    "Binomial counts": case("Binomial", [[3.0, 40.0], [0.25, 0.75]], [1.0, 31.0]),
    "Binomial logits": Case(lambda D, x: D.Binomial(9, logits=x), [[0.0, 5.0]], [1.0, 9.0]),
    "Categorical": case("Categorical", [THREE], 2.0),
    "Categorical logits": Case(lambda D, x: D.Categorical(logits=x), [[THREE, THREE]], [2.0, 0]),
    "Cauchy": case("Cauchy", [[0.5, -1.0], [1.0, 2.0]], [0.3, 0.4]),
    "Chi2": case("Chi2", [[0.5, 3.0]], [0.3, 0.4]),
    "ContinuousBernoulli": case("ContinuousBernoulli", [[0.1, 0.5, 0.8]], [0.3, 0.4, 0.9]),
    "ContinuousBernoulli logits": Case(
        lambda D, x: D.ContinuousBernoulli(logits=x), [[-2.0, 0.001, 1.0]], [0.3, 0.4, 0.0]
    ),
    "Dirichlet": case("Dirichlet", [[0.5, 3.0, 2.0]], [0.3, 0.4, 0.3]),
    "Exponential": case("Exponential", [[0.5, 3.0]], [0.3, 0.4]),
    "FisherSnedecor": case("FisherSnedecor", [[1.5, 3.0, 5.0], [1.0, 3.5, 6.0]], [0.3, 0.4, 2.0]),
    "Gamma": case("Gamma", [[0.5, 3.0], [1.0, 2.0]], [0.3, 0.4]),
    "GeneralizedPareto": case(
        "GeneralizedPareto", [[0.5, 0.0, -1.0], [1.0, 2.0, 1.5], [0.3, 0.0, -0.4]], [0.7, 0.4, 1.0]
    ),
    "Geometric": case("Geometric", [[0.25, 0.75]], [1.0, 4.0]),
    "Gumbel": case("Gumbel", [[0.5, -1.0], [1.0, 2.0]], [0.3, 0.4]),
    "HalfCauchy": case("HalfCauchy", [[0.5, 3.0]], [0.3, 0.4]),
    "HalfNormal": case("HalfNormal", [[0.5, 3.0]], [0.3, 0.4]),
    "Independent": Case(
        lambda D, a, b: D.Independent(D.Normal(a, b), 1), [[0.5, -1.0], [1.0, 2.0]], [0.3, 0.4]
    ),
    "InverseGamma": case("InverseGamma", [[0.5, 3.0], [1.0, 2.0]], [0.3, 0.4]),
    "Kumaraswamy": case("Kumaraswamy", [[0.5, 3.0], [1.5, 2.0]], [0.3, 0.4]),
    "LKJCholesky": Case(
        lambda D, c: D.LKJCholesky(3, c),
        [[0.5, 2.0]],
        [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.48, 0.64, 0.6]],
    ),
    "Laplace": case("Laplace", [[0.5, -1.0], [1.0, 2.0]], [0.3, 0.4]),
    "LogNormal": case("LogNormal", [[0.5, -1.0], [1.0, 2.0]], [0.3, 0.4]),
    "LogisticNormal": case("LogisticNormal", [[0.5, -1.0], [1.0, 2.0]], [0.3, 0.4, 0.3]),
    "LowRankMultivariateNormal": case(
        "LowRankMultivariateNormal",
        [[[0.5, 1.0], [0.0, 2.0]], [[0.3], [-0.5]], [1.0, 2.0]],
        [0.3, 0.4],
    ),
    "MixtureSameFamily": Case(
        lambda D, p, a, b: D.MixtureSameFamily(D.Categorical(p), D.Normal(a, b)),
        [[THREE, THREE], [[0.5, -1.0, 2.0], [0.0, 1.0, 2.0]], [1.0, 2.0, 0.5]],
        [0.3, 0.4],
    ),
    "MixtureSameFamily of vectors": Case(
        lambda D, p, a, b: D.MixtureSameFamily(D.Categorical(p), D.Independent(D.Normal(a, b), 1)),
        [[0.4, 0.6], [[0.5, -1.0, 2.0], [0.0, 1.0, 2.0]], [1.0, 2.0, 0.5]],
        [0.3, 0.4, 0.5],
    ),
    "Multinomial": Case(lambda D, p: D.Multinomial(5, p), [[THREE, THREE]], [1.0, 4.0, 0.0]),
    "Multinomial logits": Case(
        lambda D, x: D.Multinomial(5, logits=x), [[0.0, -np.inf, 1.0]], [1.0, 0.0, 4.0]
    ),
    "MultivariateNormal": case("MultivariateNormal", [[0.5, 1.0], MATRIX], [0.3, 0.4]),
    "MultivariateNormal precision": Case(
        lambda D, a, b: D.MultivariateNormal(a, precision_matrix=b),
        [[[0.5, 1.0], [1.0, 2.0]], MATRIX],
        [0.3, 0.4],
    ),
    "MultivariateNormal factors": Case(
        lambda D, a, b: D.MultivariateNormal(a, scale_tril=b),
        [[0.5, 1.0], [TRIL, TRIL, [[2.0, 0.0], [1.0, 1.0]]]],
        [0.3, 0.4],
    ),
    "NegativeBinomial": case("NegativeBinomial", [[3.0, 4.5], [0.25, 0.75]], [1.0, 7.0]),
    "NegativeBinomial logits": Case(
        lambda D, n, x: D.NegativeBinomial(n, logits=x), [[3.0, 0.0], [0.5, -1.0]], [2.0, 0.0]
    ),
    "Normal": case("Normal", [[0.5, -1.0], [1.0, 2.0]], [0.3, 0.4]),
    "OneHotCategorical": case("OneHotCategorical", [[THREE, THREE]], [0.0, 1.0, 0.0]),
    "OneHotCategoricalStraightThrough": case(
        "OneHotCategoricalStraightThrough", [THREE], [0.0, 1.0, 0.0]
    ),
    "Pareto": case("Pareto", [[0.2, 0.3], [1.5, 3.0]], [0.3, 0.4]),
    "Poisson": case("Poisson", [[0.5, 3.0, 40.0]], [0.0, 4.0, 38.0]),
    "RelaxedBernoulli": case("RelaxedBernoulli", [0.7, [0.25, 0.75]], [0.3, 0.4]),
    "RelaxedBernoulli logits": Case(
        lambda D, t, x: D.RelaxedBernoulli(t, logits=x), [0.7, [0.25, 0.75]], [0.3, 0.4]
    ),
    "LogitRelaxedBernoulli": Case(
        lambda D, t, x: D.relaxed_bernoulli.LogitRelaxedBernoulli(t, x),
        [0.7, [0.25, 0.75]],
        [0.3, 0.4],
    ),
    "RelaxedOneHotCategorical": case("RelaxedOneHotCategorical", [0.7, THREE], [0.3, 0.4, 0.3]),
    "ExpRelaxedCategorical": Case(
        lambda D, t, x: D.relaxed_categorical.ExpRelaxedCategorical(t, x),
        [0.7, THREE],
        [-1.0, -0.5, -2.0],
    ),
    "StudentT": case(
        "StudentT", [[0.5, 1.5, 3.0], [0.5, -1.0, 0.0], [1.0, 2.0, 0.5]], [0.3, 0.4, -1.0]
    ),
    "TransformedDistribution": Case(
        lambda D, a, b: D.TransformedDistribution(
            D.Normal(a, b), [D.TanhTransform(), D.AffineTransform(1.0, -2.0)]
        ),
        [[0.5, -1.0], [1.0, 2.0]],
        [0.3, 1.4],
    ),
    "Uniform": case("Uniform", [[0.0, -1.0], [1.0, 2.0]], [0.3, 0.4]),
    "VonMises": case("VonMises", [[0.5, -1.0], [1.0, 8.0]], [0.3, 0.4]),
    "Weibull": case("Weibull", [[0.5, 3.0], [1.5, 2.0]], [0.3, 0.4]),
    "Wishart": Case(lambda D, n, c: D.Wishart(n, c), [3.5, MATRIX], [[1.0, 0.2], [0.2, 3.0]]),
    "Wishart factors": Case(
        lambda D, n, c: D.Wishart(n, scale_tril=c),
        [[3.5, 4.0], TRIL],
        [[1.0, 0.2], [0.2, 3.0]],
    ),
}
# PyTorch's own gradients of gamma numbers are fits of three digits, its Bessel functions
# polynomials of seven: those here are right to rounding.
FITTED = ("Gamma", "Chi2", "Beta", "Dirichlet", "FisherSnedecor", "StudentT", "Wishart")
NEED_FLOAT32 = {"GeneralizedPareto"}  # PyTorch compares the concentration with a float32 zero
DTYPES = ["float32", "float64"]


def _made(library: Any, name: str, dtype: str = "float64") -> tuple[Any, list[Any], Any]:
    make, parameters, value = CASES[name]
    kind = {"dtype": getattr(library, dtype)}
    leaves = [library.tensor(p, requires_grad=True, **kind) for p in parameters]
    return make(library.distributions, *leaves), leaves, library.tensor(value, **kind)


def _both(name: str, dtype: str = "float64") -> Any:
    return zip(_made(rl, name, dtype), _made(torch, name, dtype), strict=True)


def _close(ours: Any, theirs: Any, rtol: float, dtype: str = "") -> None:
    expected = theirs.detach().numpy()
    assert tuple(ours.shape) == expected.shape
    assert str(ours.dtype) == str(theirs.dtype)
    atol = max(1e-12, rtol / 10)
    np.testing.assert_allclose(ours.detach().numpy(), expected, rtol, atol)


def _answer(call: Callable[[], Any]) -> Any:
    """What a call gives, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except (NotImplementedError, ValueError, RuntimeError, AttributeError) as error:
            return type(error), str(error).split(". ")[0].replace("torch.", "").strip()


def _agree(ours: Callable[[], Any], theirs: Callable[[], Any], rtol: float) -> None:
    a, b = _answer(ours), _answer(theirs)
    if isinstance(b, torch.Tensor):
        assert isinstance(a, rl.Tensor), a
        _close(a, b, rtol)
    else:
        assert a == b or (isinstance(a, tuple) and a[0] is b[0] is NotImplementedError), (a, b)


def _rtol(name: str, dtype: str) -> float:
    if name.startswith("VonMises"):
        return 2e-6 if dtype == "float64" else 5e-5
    return 1e-10 if dtype == "float64" else 2e-5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_equal_seeds_give_equal_samples(name: str, dtype: str) -> None:
    (ours, theirs), _, _ = _both(name, dtype)
    # The roots of what rounding leaves of 1 - 1 stand on the diagonal of LKJ's factors.
    rtol = 3e-3 if "LKJ" in name else 2e-5
    rtol = rtol if dtype == "float32" else 1e-9
    rl.manual_seed(3)
    torch.manual_seed(3)
    for shape in ((), (40,), (2, 3), (0,)):
        _agree(lambda s=shape: ours.sample(s), lambda s=shape: theirs.sample(s), rtol)
    shape = (2, *theirs.batch_shape)
    _agree(lambda: ours.expand(shape).sample((2,)), lambda: theirs.expand(shape).sample((2,)), rtol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, dtype: str) -> None:
    (ours, theirs), _, (x, y) = _both(name, dtype)
    rtol = _rtol(name, dtype)
    for statistic in ("mean", "mode", "variance", "stddev"):
        _agree(lambda s=statistic: getattr(ours, s), lambda s=statistic: getattr(theirs, s), rtol)
    # PyTorch has log n! in single precision for the multinomial.
    _agree(ours.entropy, theirs.entropy, max(rtol, 1e-7) if "Multinomial" in name else rtol)
    _agree(ours.enumerate_support, theirs.enumerate_support, rtol)
    if name in NEED_FLOAT32 and dtype == "float64":
        return
    _agree(lambda: ours.log_prob(x), lambda: theirs.log_prob(y), rtol)
    _agree(lambda: ours.cdf(x), lambda: theirs.cdf(y), rtol)
    q, p = rl.tensor(0.3, dtype=x.dtype), torch.tensor(0.3, dtype=y.dtype)
    _agree(lambda: ours.icdf(q), lambda: theirs.icdf(p), rtol)
    shape = (3, *theirs.batch_shape)
    _agree(lambda: ours.expand(shape).log_prob(x), lambda: theirs.expand(shape).log_prob(y), rtol)
    if "Multinomial" not in name:  # PyTorch's loses by expand what its entropy needs
        _agree(lambda: ours.expand(shape).entropy(), lambda: theirs.expand(shape).entropy(), rtol)


def _gradients(result: Any, leaves: list[Any], library: Any) -> list[Any]:
    used = library.autograd.grad(result.sum(), leaves, allow_unused=True)
    return [library.zeros_like(a) if g is None else g for a, g in zip(leaves, used, strict=True)]


@pytest.mark.parametrize("what", ["log_prob", "entropy", "mean", "variance", "rsample"])
@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str, what: str) -> None:
    if name in NEED_FLOAT32 and what == "log_prob":
        pytest.skip("PyTorch refuses float64 here")
    if name.startswith("Wishart") and what == "rsample":
        pytest.skip("PyTorch writes to a mask that its backward needs")
    if name == "Wishart factors" and what == "log_prob":
        pytest.skip("PyTorch gives the zeros of a triangular factor a gradient")
    found = []
    for library in (rl, torch):
        d, leaves, value = _made(library, name)
        library.manual_seed(5)
        calls = {
            "log_prob": lambda d=d, v=value: d.log_prob(v),
            "entropy": lambda d=d: d.entropy(),
            "mean": lambda d=d: d.mean,
            "variance": lambda d=d: d.variance,
            "rsample": lambda d=d: d.rsample((5,)) ** 2 if d.has_rsample else None,
        }
        result = _answer(calls[what])
        graph = getattr(result, "requires_grad", False) and result.grad_fn is not None
        found.append(_gradients(result, leaves, library) if graph else [])
    ours, theirs = found
    assert len(ours) == len(theirs)
    fitted = what == "rsample" and any(f in name for f in FITTED)
    for a, b in zip(ours, theirs, strict=True):
        # PyTorch's polygamma has eight digits.
        _close(a, b, 3e-3 if fitted else max(_rtol(name, "float64"), 3e-8))


@pytest.mark.parametrize("name", CASES)
def test_shapes_texts_and_flags(name: str) -> None:
    (ours, theirs), _, (x, y) = _both(name)

    def told(d: Any, value: Any) -> Any:
        shape = (3, *d.batch_shape)
        return [
            repr(d),
            repr(d.expand(shape)),
            tuple(d.batch_shape),
            tuple(d.event_shape),
            tuple(d.expand(shape).batch_shape),
            tuple(d.sample((2, 1)).shape),
            bool(d.has_rsample),
            bool(d.has_enumerate_support),
            {k: (repr(c), type(c).__name__) for k, c in d.arg_constraints.items()},
            (repr(d.support), type(d.support).__name__, d.support.event_dim, d.support.is_discrete),
            d.support.check(value).tolist(),
            type(d).__name__,
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for a, b in zip(told(ours, x), told(theirs, y), strict=True):
            assert str(a).replace("rushlight", "torch") == str(b)


@pytest.mark.parametrize("name", CASES)
def test_copies_and_pickles_give_the_same_samples(name: str) -> None:
    d, _, value = _made(rl, name)
    made = [copy.deepcopy(_detached(name)), pickle.loads(pickle.dumps(_detached(name)))]
    rl.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, likely = d.sample((3,)), _answer(lambda: d.log_prob(value))
        for copied in made:
            rl.manual_seed(1)
            assert rl.equal(copied.sample((3,)), expected)
            if isinstance(likely, rl.Tensor):
                assert rl.equal(copied.log_prob(value), likely.detach())


def _detached(name: str) -> Any:
    make, parameters, _ = CASES[name]
    return make(rl.distributions, *[rl.tensor(p, dtype=rl.float64) for p in parameters])


# Parameters that are numbers, or tensors of integers or of several shapes.
MIXED: dict[str, tuple[Callable[[Any, Any], Any], float]] = {
    **{
        name: (lambda D, t, name=name, args=args: getattr(D, name)(*args), value)
        for name, args, value in (
            ("Bernoulli", (0.3,), 1.0),
            ("Beta", (0.5, 2), 0.3),
            ("Cauchy", (0, 2.0), 0.3),
            ("Chi2", (3,), 0.3),
            ("ContinuousBernoulli", (0.3,), 0.3),
            ("Exponential", (2,), 0.3),
            ("FisherSnedecor", (3.0, 5), 0.3),
            ("Gamma", (2.0, 1.0), 0.3),
            ("GeneralizedPareto", (0.0, 1.0, 0.2), 0.3),
            ("Geometric", (0.3,), 2.0),
            ("Gumbel", (0.0, 1.0), 0.3),
            ("HalfCauchy", (1.0,), 0.3),
            ("HalfNormal", (1,), 0.3),
            ("InverseGamma", (2.0, 1.0), 0.3),
            ("Kumaraswamy", (2.0, 1.0), 0.3),
            ("Laplace", (0.0, 1.0), 0.3),
            ("LogNormal", (0.0, 1.0), 0.3),
            ("Normal", (0.0, 1.0), 0.3),
            ("Pareto", (0.1, 3.0), 0.3),
            ("Poisson", (3.0,), 2.0),
            ("StudentT", (3.0,), 0.3),
            ("Uniform", (0.0, 1.0), 0.3),
            ("VonMises", (0.0, 1.0), 0.3),
            ("Weibull", (2.0, 1.0), 0.3),
        )
    },
    "Binomial of integers": (lambda D, t: D.Binomial(t.tensor([2, 5]), t.tensor(0.3)), 1.0),
    "NegativeBinomial of integers": (lambda D, t: D.NegativeBinomial(2, t.tensor([0.3])), 1.0),
    "Poisson of a matrix": (lambda D, t: D.Poisson(t.ones(2, 3)), 1.0),
    "Normal of two shapes": (lambda D, t: D.Normal(t.zeros(2, 1), t.ones(3)), 0.3),
    "Normal of a number and double": (lambda D, t: D.Normal(0, t.ones(3).double()), 0.3),
    "LKJCholesky of a number": (lambda D, t: D.LKJCholesky(3, 2.0), 0.0),
    "LogisticNormal of numbers": (lambda D, t: D.LogisticNormal(0.0, 1.0), 0.0),
    "Wishart of a number": (lambda D, t: D.Wishart(4.0, t.eye(2)), 0.0),
    "RelaxedBernoulli of a number": (lambda D, t: D.RelaxedBernoulli(t.tensor(1.0), 0.5), 0.3),
    "Categorical of matrices": (lambda D, t: D.Categorical(t.ones(2, 3, 4)), 3.0),
    "no elements": (lambda D, t: D.Gamma(t.ones(0, 2), 1.0), 1.0),
    "Independent of two": (lambda D, t: D.Independent(D.Poisson(t.ones(2, 3)), 2), 0.0),
}


@pytest.mark.parametrize("name", MIXED)
def test_numbers_and_mixed_shapes_as_parameters(name: str) -> None:
    make, given = MIXED[name]
    ours, theirs = make(rl.distributions, rl), make(torch.distributions, torch)
    assert repr(ours) == repr(theirs)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    rl.manual_seed(3)
    torch.manual_seed(3)
    for shape in ((), (3, 2)):
        _agree(lambda s=shape: ours.sample(s), lambda s=shape: theirs.sample(s), 2e-5)
    rtol = _rtol(name, "float32")
    for statistic in ("mean", "variance"):
        _agree(lambda s=statistic: getattr(ours, s), lambda s=statistic: getattr(theirs, s), rtol)
    _agree(ours.entropy, theirs.entropy, rtol)
    if not theirs.event_shape:
        x, y = rl.tensor(given), torch.tensor(given)
        _agree(lambda: ours.log_prob(x), lambda: theirs.log_prob(y), rtol)
        _agree(lambda: ours.cdf(x), lambda: theirs.cdf(y), rtol)


def test_numbers_take_the_default_type() -> None:
    for library in (rl, torch):
        library.set_default_dtype(library.float64)
    try:
        ours, theirs = rl.distributions.Beta(0.5, 2.0), torch.distributions.Beta(0.5, 2.0)
        rl.manual_seed(3)
        torch.manual_seed(3)
        _close(ours.sample((5,)), theirs.sample((5,)), 1e-12)
    finally:
        for library in (rl, torch):
            library.set_default_dtype(library.float32)
