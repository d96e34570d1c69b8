"""Transforms and constraints against PyTorch: values, Jacobians, shapes, caches, texts."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

MATRIX = [[0.3, -1.0], [0.5, 2.0]]
CASES: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "exp": (lambda D, t: D.ExpTransform(), [0.3, -1.0]),
    "power": (lambda D, t: D.PowerTransform(t.tensor([2.0, -0.5])), [0.3, 1.0]),
    "power of a number": (lambda D, t: D.PowerTransform(3.0), [0.3, 1.0]),
    "sigmoid": (lambda D, t: D.SigmoidTransform(), [0.3, -200.0]),
    "softplus": (lambda D, t: D.SoftplusTransform(), [0.3, -1.0]),
    "tanh": (lambda D, t: D.TanhTransform(), [0.3, -1.0]),
    "abs": (lambda D, t: D.AbsTransform(), [0.3, -1.0]),
    "affine": (lambda D, t: D.AffineTransform(1.0, -2.0), [0.3, -1.0]),
    "affine tensors": (
        lambda D, t: D.AffineTransform(t.tensor(1.0), t.tensor([[2.0, -1.0]])),
        [[0.3, -1.0]],
    ),
    "affine vectors": (lambda D, t: D.AffineTransform(1.0, -2.0, event_dim=1), [0.3, -1.0]),
    "corr cholesky": (lambda D, t: D.CorrCholeskyTransform(), [0.3, -1.0, 0.5]),
    "softmax": (lambda D, t: D.SoftmaxTransform(), [0.3, -1.0]),
    "stick breaking": (lambda D, t: D.StickBreakingTransform(), [0.3, -1.0]),
    "lower cholesky": (lambda D, t: D.LowerCholeskyTransform(), MATRIX),
    "positive definite": (lambda D, t: D.PositiveDefiniteTransform(), MATRIX),
    "cat": (lambda D, t: D.CatTransform([D.ExpTransform(), D.TanhTransform()], 0), [0.3, -1.0]),
    "cat lengths": (
        lambda D, t: D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [1, 2]),
        [[0.3, -1.0, 2.0]],
    ),
    "stack": (
        lambda D, t: D.StackTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)], 1),
        MATRIX,
    ),
    "compose": (
        lambda D, t: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, -1.0)]),
        [0.3, -1.0],
    ),
    "compose dims": (
        lambda D, t: D.ComposeTransform([D.AffineTransform(1.0, 2.0), D.SoftmaxTransform()]),
        [0.3, -1.0],
    ),
    "compose nothing": (lambda D, t: D.identity_transform, [0.3, -1.0]),
    "independent": (lambda D, t: D.IndependentTransform(D.ExpTransform(), 1), [0.3, -1.0]),
    "reshape": (lambda D, t: D.ReshapeTransform((4,), (2, 2)), [[0.3, -1.0, 0.5, 2.0]]),
    "cdf": (
        lambda D, t: D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)),
        [0.3, -1.0],
    ),
    "inverse": (lambda D, t: D.ExpTransform().inv, [0.3, 1.0]),
    "inverse of a composition": (
        lambda D, t: D.ComposeTransform([D.ExpTransform(), D.TanhTransform()]).inv,
        [0.8, 0.9],
    ),
}


def _tried(call: Callable[[], Any]) -> Any:
    """What a call gives, in Python's terms, or the error that it raises."""
    try:
        found = call()
    except (NotImplementedError, ValueError, RuntimeError, TypeError, AttributeError) as error:
        return type(error).__name__, str(error)
    if isinstance(found, (rl.Tensor, torch.Tensor)):
        return [list(found.shape), *found.detach().flatten().tolist()]
    return tuple(found) if isinstance(found, (rl.Size, torch.Size)) else found


def _same(ours: Any, theirs: Any) -> None:
    if isinstance(ours, list) and isinstance(theirs, list):
        assert ours[0] == theirs[0]
        assert ours[1:] == pytest.approx(theirs[1:], rel=1e-6, abs=1e-7)
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", CASES)
def test_transforms_are_torchs(name: str) -> None:
    make, given = CASES[name]
    told = []
    for library in (rl, torch):
        t, x = make(library.distributions, library), library.tensor(given)
        y = t(x)
        cached = _tried(lambda t=t: repr(t.with_cache(1)))
        told.append(
            [
                _tried(lambda y=y: y),
                _tried(lambda t=t, y=y: t.inv(y)),
                _tried(lambda t=t, x=x, y=y: t.log_abs_det_jacobian(x, y)),
                _tried(lambda t=t, x=x, y=y: t.inv.log_abs_det_jacobian(y, x)),
                *(_tried(lambda t=t, n=n: repr(getattr(t, n))) for n in ("domain", "codomain")),
                *(_tried(lambda t=t, n=n: getattr(t, n)) for n in ("bijective", "sign")),
                _tried(lambda t=t: t.event_dim),
                _tried(lambda t=t: t.domain.event_dim),
                _tried(lambda t=t: t.codomain.is_discrete),
                _tried(lambda t=t: repr(t)),
                _tried(lambda t=t: repr(t.inv)),
                cached,
                _tried(lambda t=t, x=x: t.forward_shape(x.shape)),
                _tried(lambda t=t, y=y: t.inverse_shape(y.shape)),
                _tried(lambda t=t: t.forward_shape(())),
                _tried(lambda t=t, library=library: t.inverse_shape(library.Size((3, 2)))),
                t == make(library.distributions, library),
                t == library.distributions.ExpTransform(),
                t.inv.inv is t,
            ]
        )
    for ours, theirs in zip(*told, strict=True):
        _same(ours, theirs)


@pytest.mark.parametrize("name", CASES)
def test_copies_do_the_same(name: str) -> None:
    make, given = CASES[name]
    t, x = make(rl.distributions, rl), rl.tensor(given)
    y = t(x)
    for made in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert rl.equal(made(x), y)
        assert repr(made) == repr(t)


def test_a_cache_gives_back_what_it_was_given() -> None:
    for library in (rl, torch):
        D = library.distributions
        t = D.SigmoidTransform(cache_size=1)
        x = library.tensor(40.0)
        assert t.inv(t(x)) is x
        assert t(x) is t(x)
        plain = D.SigmoidTransform()
        assert plain(x) is not plain(x)
        chain = D.ComposeTransform([D.ExpTransform(), D.TanhTransform()], cache_size=1)
        assert chain.inv(chain(x)) is x
        with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
            D.ExpTransform(cache_size=2)


CHECKS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "boolean": (lambda c, t: c.boolean, [0.0, 1.0, 0.5]),
    "one hot": (lambda c, t: c.one_hot, [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
    "nonnegative integer": (lambda c, t: c.nonnegative_integer, [0.0, 2.0, 0.5, -1.0]),
    "positive integer": (lambda c, t: c.positive_integer, [0.0, 2.0, 0.5, -1.0]),
    "integer interval": (lambda c, t: c.integer_interval(0, 2), [0.0, 2.0, 3.0, 0.5]),
    "real": (lambda c, t: c.real, [0.0, float("nan"), float("inf")]),
    "real vector": (lambda c, t: c.real_vector, [[0.0, float("nan")], [1.0, 2.0]]),
    "positive": (lambda c, t: c.positive, [0.0, 1.0]),
    "nonnegative": (lambda c, t: c.nonnegative, [0.0, -1.0]),
    "greater": (lambda c, t: c.greater_than(t.tensor([0.5, -1.0])), [0.5, 1.0]),
    "less": (lambda c, t: c.less_than(1), [0.5, 1.0]),
    "interval": (lambda c, t: c.interval(0.5, 1.0), [0.5, 1.0, 2.0]),
    "half open": (lambda c, t: c.half_open_interval(0.5, 1.0), [0.5, 1.0, 2.0]),
    "simplex": (lambda c, t: c.simplex, [[0.5, 0.5], [0.6, 0.5], [1.5, -0.5]]),
    "multinomial": (lambda c, t: c.multinomial(3), [[1.0, 2.0], [2.0, 2.0], [-1.0, 0.0]]),
    "lower triangular": (lambda c, t: c.lower_triangular, [[1.0, 0.0], [2.0, -1.0]]),
    "lower cholesky": (lambda c, t: c.lower_cholesky, [[1.0, 0.0], [2.0, -1.0]]),
    "corr cholesky": (lambda c, t: c.corr_cholesky, [[[1.0, 0.0], [0.6, 0.8]]]),
    "square": (lambda c, t: c.square, [[[1.0, 0.0]]]),
    "symmetric": (lambda c, t: c.symmetric, [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [0.0, 1.0]]]),
    "semidefinite": (lambda c, t: c.positive_semidefinite, [[1.0, 1.0], [1.0, 1.0]]),
    "definite": (lambda c, t: c.positive_definite, [[[2.0, 1.0], [1.0, 2.0]]]),
    "definite of others": (lambda c, t: c.positive_definite, [[1.0, 2.0], [2.0, 1.0]]),
    "independent": (lambda c, t: c.independent(c.positive, 1), [[1.0, 2.0], [0.0, 1.0]]),
    "too few": (lambda c, t: c.independent(c.positive, 2), [1.0]),
    "cat": (lambda c, t: c.cat([c.positive, c.real], -1, [1, 2]), [[-1.0, 2.0, 3.0]]),
    "stack": (lambda c, t: c.stack([c.positive, c.real], 0), [-1.0, 2.0]),
    "dependent": (lambda c, t: c.dependent, [1.0]),
    "dependent of a kind": (lambda c, t: c.dependent(is_discrete=True, event_dim=1), [1.0]),
    "mixture": (
        lambda c, t: c.MixtureSameFamilyConstraint(c.interval(t.zeros(2), t.tensor([1.0, 2.0]))),
        [0.5, 1.5],
    ),
    "not constraints": (lambda c, t: c.cat([3]), [1.0]),
    "no constraint": (lambda c, t: c.independent(3, 1), [1.0]),
    "negative": (lambda c, t: c.independent(c.real, -1), [1.0]),
    "no mixture": (lambda c, t: c.MixtureSameFamilyConstraint(3), [1.0]),
}


@pytest.mark.parametrize("name", CHECKS)
def test_constraints_are_torchs(name: str) -> None:
    make, given = CHECKS[name]
    told = []
    for library in (rl, torch):
        try:
            c = make(library.distributions.constraints, library)
        except AssertionError as error:
            told.append([str(error)])
            continue
        value = library.tensor(given)
        told.append(
            [
                _tried(lambda c=c, v=value: c.check(v)),
                _tried(lambda c=c: repr(c)).__str__().replace("rushlight", "torch"),
                _tried(lambda c=c: c.event_dim),
                _tried(lambda c=c: c.is_discrete),
                library.distributions.constraints.is_dependent(c),
                type(c).__name__,
            ]
        )
    for ours, theirs in zip(*told, strict=True):
        if "object at 0x" not in str(theirs):
            assert ours == theirs
