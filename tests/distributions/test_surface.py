"""The names, the registries and the errors of torch.distributions, also against PyTorch."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import rushlight as rl

D = rl.distributions
C = D.constraints
# What libraries import from PyTorch's modules, besides the classes.
NAMES = """
binomial Binomial | constraint_registry ConstraintRegistry biject_to transform_to
constraints _Dependent _DependentProperty _IndependentConstraint _Boolean _OneHot _IntegerInterval
constraints _IntegerLessThan _IntegerGreaterThan _Real _GreaterThan _GreaterThanEq _LessThan
constraints _Interval _HalfOpenInterval _Simplex _Multinomial _LowerTriangular _LowerCholesky
constraints _CorrCholesky _Square _Symmetric _PositiveSemidefinite _PositiveDefinite _Cat _Stack
constraints MixtureSameFamilyConstraint
continuous_bernoulli ContinuousBernoulli | dirichlet Dirichlet _Dirichlet _Dirichlet_backward
distribution Distribution | exp_family ExponentialFamily | fishersnedecor FisherSnedecor
gamma Gamma _standard_gamma | generalized_pareto GeneralizedPareto | gumbel Gumbel
half_cauchy HalfCauchy | half_normal HalfNormal | independent Independent
inverse_gamma InverseGamma
kl _KL_REGISTRY _KL_MEMOIZE _dispatch_kl _kl_normal_normal _x_log_x kl_divergence register_kl
kumaraswamy Kumaraswamy _moments | lkj_cholesky LKJCholesky | log_normal LogNormal
logistic_normal LogisticNormal
lowrank_multivariate_normal _batch_capacitance_tril _batch_lowrank_logdet
lowrank_multivariate_normal _batch_lowrank_mahalanobis LowRankMultivariateNormal
mixture_same_family MixtureSameFamily | multinomial Multinomial
multivariate_normal _batch_mahalanobis _batch_mv _precision_to_scale_tril MultivariateNormal
negative_binomial NegativeBinomial | normal Normal
one_hot_categorical OneHotCategorical OneHotCategoricalStraightThrough | pareto Pareto
poisson Poisson | relaxed_bernoulli LogitRelaxedBernoulli RelaxedBernoulli
relaxed_categorical ExpRelaxedCategorical RelaxedOneHotCategorical | studentT StudentT
transforms _InverseTransform _clipped_sigmoid | uniform Uniform
utils _standard_normal _sum_rightmost broadcast_all clamp_probs euler_constant lazy_property
utils logits_to_probs probs_to_logits tril_matrix_to_vec vec_to_tril_matrix
von_mises VonMises _log_modified_bessel_fn _rejection_sample | weibull Weibull
wishart Wishart _mvdigamma
"""
MODULES = [line.split() for line in NAMES.replace("|", "\n").splitlines() if line.strip()]


def test_modules_have_the_names_that_libraries_import() -> None:
    for module, *names in MODULES:
        found = importlib.import_module(f"rushlight.distributions.{module}")
        assert [name for name in names if not hasattr(found, name)] == []


def test_modules_and_public_names_are_torchs() -> None:
    torch = pytest.importorskip("torch")
    import pkgutil

    assert set(D.__all__) == set(torch.distributions.__all__)
    for info in pkgutil.iter_modules(torch.distributions.__path__):
        theirs = importlib.import_module(f"torch.distributions.{info.name}")
        ours = importlib.import_module(f"rushlight.distributions.{info.name}")
        assert set(ours.__all__) == set(theirs.__all__), info.name
    for module, *names in MODULES:  # the list above is of names that there are
        found = importlib.import_module(f"torch.distributions.{module}")
        assert [name for name in names if not hasattr(found, name)] == []


CONSTRAINTS: dict[str, Callable[[Any, Any], Any]] = {
    "real": lambda c, t: c.real,
    "real_vector": lambda c, t: c.real_vector,
    "positive": lambda c, t: c.positive,
    "nonnegative": lambda c, t: c.nonnegative,
    "greater_than": lambda c, t: c.greater_than(2.0),
    "greater_than_eq": lambda c, t: c.greater_than_eq(t.tensor([1.0, -2.0])),
    "less_than": lambda c, t: c.less_than(-1.0),
    "unit_interval": lambda c, t: c.unit_interval,
    "interval": lambda c, t: c.interval(-1.0, 3.0),
    "half_open_interval": lambda c, t: c.half_open_interval(-1.0, 3.0),
    "simplex": lambda c, t: c.simplex,
    "lower_cholesky": lambda c, t: c.lower_cholesky,
    "positive_definite": lambda c, t: c.positive_definite,
    "positive_semidefinite": lambda c, t: c.positive_semidefinite,
    "corr_cholesky": lambda c, t: c.corr_cholesky,
    "independent": lambda c, t: c.independent(c.positive, 1),
    "cat": lambda c, t: c.cat([c.positive, c.unit_interval], -1, [1, 1]),
    "stack": lambda c, t: c.stack([c.positive, c.less_than(0.0)], -1),
    "boolean": lambda c, t: c.boolean,
    "one_hot": lambda c, t: c.one_hot,
    "nonnegative_integer": lambda c, t: c.nonnegative_integer,
    "integer_interval": lambda c, t: c.integer_interval(0, 3),
    "dependent": lambda c, t: c.dependent,
    "multinomial": lambda c, t: c.multinomial(3),
    "lower_triangular": lambda c, t: c.lower_triangular,
    "symmetric": lambda c, t: c.symmetric,
    "square": lambda c, t: c.square,
}
UNCONSTRAINED: dict[str, Any] = {
    "corr_cholesky": [0.3, -1.0, 0.5],
    "lower_cholesky": [[0.3, -1.0], [0.5, 2.0]],
    "positive_definite": [[0.3, -1.0], [0.5, 2.0]],
    "positive_semidefinite": [[0.3, -1.0], [0.5, 2.0]],
}
REGISTRIES = ["biject_to", "transform_to"]


@pytest.mark.parametrize("registry", REGISTRIES)
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_registries_give_transforms_into_the_constraint(name: str, registry: str) -> None:
    constraint = CONSTRAINTS[name](C, rl)
    try:
        t = getattr(D, registry)(constraint)
    except NotImplementedError as error:
        assert str(error) == f"Cannot transform {type(constraint).__name__} constraints"
        return
    x = rl.tensor(UNCONSTRAINED.get(name, [0.3, -1.0]), dtype=rl.float64, requires_grad=True)
    y = t(x)
    assert bool(constraint.check(y).all())
    assert rl.allclose(t(t.inv(y)), y)
    if registry == "biject_to" and t.bijective:
        assert rl.allclose(t.inv(y), x)
    assert bool(rl.autograd.grad(y.sum(), x)[0].isfinite().all())


@pytest.mark.parametrize("registry", REGISTRIES)
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_registries_are_torchs(name: str, registry: str) -> None:
    torch = pytest.importorskip("torch")
    told = []
    for library in (rl, torch):
        constraint = CONSTRAINTS[name](library.distributions.constraints, library)
        try:
            t = getattr(library.distributions, registry)(constraint)
        except NotImplementedError as error:
            told.append(str(error))
            continue
        x = library.tensor(UNCONSTRAINED.get(name, [0.3, -1.0]), dtype=library.float64)
        y = t(x)
        try:
            jacobian = t.log_abs_det_jacobian(x, y).tolist()
        except NotImplementedError:
            jacobian = []
        told.append([repr(t), y.flatten().tolist(), t.inv(y).flatten().tolist(), jacobian])
    if isinstance(told[1], str):
        assert told[0] == told[1]
        return
    assert told[0][0] == told[1][0]
    for a, b in zip(told[0][1:], told[1][1:], strict=True):
        assert a == pytest.approx(b, rel=1e-10)


def test_a_registry_takes_new_constraints() -> None:
    class _Even(C.Constraint):
        pass

    registry = D.constraint_registry.ConstraintRegistry()
    registry.register(_Even, lambda c: D.AffineTransform(0, 2))
    assert registry(_Even()) == D.AffineTransform(0, 2)

    @registry.register(C.real)
    def _real(constraint: Any) -> Any:
        return D.ExpTransform()

    assert isinstance(registry(C.real), D.ExpTransform)
    with pytest.raises(TypeError, match="Expected constraint to be either a Constraint subclass"):
        registry.register(3, _real)


# Refused, with PyTorch's exception and its first sentence.
REFUSED: dict[str, Callable[[Any], Any]] = {
    "scale": lambda t: t.distributions.Gumbel(0.0, t.tensor([1.0, -1.0])),
    "half": lambda t: t.distributions.HalfNormal(-1.0),
    "both": lambda t: t.distributions.Binomial(3, t.tensor(0.5), t.tensor(0.5)),
    "neither": lambda t: t.distributions.NegativeBinomial(3.0),
    "none": lambda t: t.distributions.ContinuousBernoulli(),
    "relaxed": lambda t: t.distributions.RelaxedBernoulli(t.tensor(1.0)),
    "probs": lambda t: t.distributions.Binomial(3, t.tensor([0.5, 1.5])),
    "continuous": lambda t: t.distributions.ContinuousBernoulli(1.5, validate_args=True),
    "count": lambda t: t.distributions.Binomial(-1, t.tensor(0.5)),
    "counts": lambda t: t.distributions.Binomial(t.tensor([1, 2]), t.tensor(0.5)).entropy(),
    "total": lambda t: t.distributions.Multinomial(t.tensor(3), t.ones(2)),
    "lkj": lambda t: t.distributions.LKJCholesky(1),
    "df": lambda t: t.distributions.Wishart(t.tensor(0.5), t.eye(2)),
    "wishart": lambda t: t.distributions.Wishart(t.tensor(3.0)),
    "matrix": lambda t: t.distributions.Wishart(t.tensor(3.0), t.ones(2)),
    "factor": lambda t: t.distributions.LowRankMultivariateNormal(
        t.zeros(2), t.zeros(3, 1), t.ones(2)
    ),
    "diagonal": lambda t: t.distributions.LowRankMultivariateNormal(
        t.zeros(2), t.zeros(2, 1), t.ones(3)
    ),
    "vector": lambda t: t.distributions.LowRankMultivariateNormal(
        t.zeros(2), t.zeros(2), t.ones(2)
    ),
    "batches": lambda t: t.distributions.LowRankMultivariateNormal(
        t.zeros(3, 2), t.zeros(2, 2, 1), t.ones(2)
    ),
    "mixture": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Normal(0.0, 1.0), t.distributions.Normal(t.zeros(2), 1.0)
    ),
    "component": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.ones(2)), 3
    ),
    "components": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.ones(2)), t.distributions.Normal(t.zeros(3), 1.0)
    ),
    "mixture batch": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.ones(4, 2)), t.distributions.Normal(t.zeros(3, 2), 1.0)
    ),
    "negative count": lambda t: t.distributions.Poisson(2.0).log_prob(t.tensor(-1.0)),
    "fraction": lambda t: t.distributions.Poisson(2.0).log_prob(t.tensor(0.5)),
    "below": lambda t: t.distributions.Pareto(1.0, 1.0).log_prob(t.tensor(0.5)),
    "no vector": lambda t: t.distributions.OneHotCategorical(t.ones(3)).log_prob(t.ones(3)),
    "event": lambda t: t.distributions.OneHotCategorical(t.ones(3)).log_prob(t.ones(2)),
    "batch": lambda t: t.distributions.Weibull(t.ones(3), 1.0).log_prob(t.ones(2)),
    "a number": lambda t: t.distributions.StudentT(1.0).log_prob(2.0),
    "too many": lambda t: t.distributions.Multinomial(2, t.ones(2)).log_prob(t.tensor([2.0, 1.0])),
    "words": lambda t: t.distributions.VonMises("a", 1.0),
    "relaxed value": lambda t: t.distributions.RelaxedBernoulli(t.tensor(1.0), 0.5).log_prob(
        t.tensor(2.0)
    ),
    "no sampler": lambda t: t.distributions.Poisson(1.0).rsample(),
    "no mode": lambda t: (
        t.distributions.MixtureSameFamily(
            t.distributions.Categorical(t.ones(2)), t.distributions.Normal(t.zeros(2), 1.0)
        ).mode
    ),
    "no cdf": lambda t: t.distributions.StudentT(1.0).cdf(t.tensor(1.0)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_arguments_are_refused(name: str) -> None:
    call = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, NotImplementedError, AssertionError)) as ours:
            call(rl)
        torch = pytest.importorskip("torch")
        with pytest.raises((ValueError, NotImplementedError, AssertionError)) as theirs:
            call(torch)
    assert type(ours.value) is type(theirs.value)
    assert str(ours.value).replace("rushlight", "torch") == str(theirs.value)


def test_checks_can_be_turned_off() -> None:
    d = D.HalfNormal(-1.0, validate_args=False)
    assert bool(d.log_prob(rl.tensor(-1.0)) == -rl.inf)
    D.Distribution.set_default_validate_args(False)
    try:
        assert float(D.Poisson(-2.0).rate) == -2.0
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="Expected parameter rate"):
        D.Poisson(-2.0)


def test_an_own_distribution_says_what_it_lacks() -> None:
    class Mine(D.Distribution):
        arg_constraints: ClassVar[dict[str, Any]] = {}

        def __init__(self) -> None:
            super().__init__(validate_args=False)

    for call in (lambda: Mine().sample(), lambda: Mine().mean, lambda: Mine().support):
        with pytest.raises(NotImplementedError):
            call()

    class Moved(D.Normal):
        def __init__(self, by: float) -> None:
            super().__init__(by, 1.0)

    with pytest.raises(NotImplementedError, match=r"must also define a custom \.expand\(\) method"):
        Moved(1.0).expand((2,))


def test_a_subclass_with_parameters_of_its_own_expands_as_its_base() -> None:
    class Ordered(D.Categorical):
        arg_constraints: ClassVar[dict[str, Any]] = {"cuts": C.real_vector}

        def __init__(self, cuts: Any) -> None:
            self.cuts = cuts
            super().__init__(logits=cuts)

        def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
            new = self._get_checked_instance(Ordered, _instance)
            new.cuts = self.cuts
            return super().expand(batch_shape, _instance=new)

    d = Ordered(rl.tensor([0.0, 1.0, 2.0])).expand((4,))
    assert tuple(d.logits.shape) == (4, 3)
    assert tuple(d.sample((2,)).shape) == (2, 4)
    assert tuple(d.cuts.shape) == (3,)


def test_lazy_properties_show_themselves_on_the_class() -> None:
    shown = D.Binomial.logits
    assert isinstance(shown, property)
    assert isinstance(shown, D.utils.lazy_property)
    d = D.Binomial(3, rl.tensor(0.5))
    assert "logits" not in vars(d)
    assert float(d.logits) == 0.0
    assert "logits" in vars(d)


def test_singular_wishart_degrees_are_told() -> None:
    with pytest.warns(UserWarning, match="Low df values detected"):
        D.Wishart(rl.tensor(1.5), rl.eye(2))
