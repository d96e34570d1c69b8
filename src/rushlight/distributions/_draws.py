"""Samplers that the op table has not: gamma, Dirichlet and binomial numbers, drawn as PyTorch does.

Each element takes double numbers one at a time from the generator, in the order of the elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rushlight import _root as rl
from rushlight._root import Tensor

from .._generator import draw
from ..autograd import Function

_Array = NDArray[np.float64]


def _source(kernel: str, a: float, b: float) -> Callable[[], float]:
    one = np.empty(1)
    return lambda: float(np.asarray(draw(kernel, None, one, a, b))[0])


_uniform = _source("uniform_", 0.0, 1.0)
_normal = _source("normal_", 0.0, 1.0)


def _each(draw_one: Callable[..., float], *arrays: _Array) -> _Array:
    """`draw_one` for each element of arrays of one shape."""
    flat = zip(*(a.ravel().tolist() for a in arrays), strict=True)
    made = np.array([draw_one(*values) for values in flat], dtype=np.float64)
    return made.reshape(arrays[0].shape)


_THIRD = float(np.float32(1 / 3))  # in single precision in PyTorch, too


def _one_gamma(alpha: float) -> float:
    """Marsaglia and Tsang (2000); below one, with the factor U^(1 / alpha)."""
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1 - _uniform()) ** (1 / alpha)
        alpha += 1
    d = alpha - _THIRD
    c = 1 / math.sqrt(9 * d)
    while True:
        x = _normal()
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - _uniform()
        xx = x * x
        if u < 1 - 0.0331 * xx * xx or math.log(u) < 0.5 * xx + d * (1 - v + math.log(v)):
            return scale * d * v


def _stirling(k: float) -> float:
    """log k! less Stirling's formula."""
    return math.lgamma(k + 1) - (
        (k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)
    )


def _one_binomial(count: float, p: float) -> float:
    """Sums of geometric numbers where few successes are expected, else Hormann's BTRS (1993)."""
    if math.isnan(count) or math.isnan(p):
        return math.nan
    if count <= 0 or p <= 0:
        return 0.0
    if p >= 1:
        return count
    if p > 0.5:
        return count - _one_binomial(count, 1 - p)
    if count * p < 10:
        successes, trials, log_miss = 0, 0.0, math.log1p(-p)
        while True:
            u = _uniform()
            trials += math.ceil(math.log(u) / log_miss) if u else math.inf
            if trials > count:
                return float(successes)
            successes += 1
    stddev = math.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = count * p + 0.5
    v_r = 0.92 - 4.2 / b
    r = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * stddev
    m = math.floor((count + 1) * p)
    while True:
        u = _uniform() - 0.5
        v = _uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c) if us else -1
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0 or k > count:
            continue
        bound = (
            (m + 0.5) * math.log((m + 1) / (r * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(r * (count - k + 1) / (k + 1))
            + (_stirling(m) + _stirling(count - m))
            - (_stirling(k) + _stirling(count - k))
        )
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return float(k)


def _one_poisson(rate: float) -> float:
    """Products of uniform numbers for small rates, else Hormann's PTRS (1993)."""
    if rate == 0:
        return 0.0
    if rate < 10:
        end, count, product = math.exp(-rate), 0, 1.0
        while True:
            product *= _uniform()
            if product <= end:
                return float(count)
            count += 1
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = _uniform() - 0.5
        v = _uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43) if us else -1
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if left <= -rate + k * log_rate - math.lgamma(k + 1):
            return float(k)


# The derivative of a sample with respect to a parameter a, at a fixed value F of its distribution
# function: dx/da = -(dF/da) / density. For y = log x (gamma) or log(x / (1 - x)) (beta), dF/da is
# the integral of density times score over one of the two sides of y, taken where the density
# falls, by the double exponential rule for half lines: u = exp(pi / 2 sinh t).
_T = np.linspace(-3.6, 3.6, 145)
_U = np.exp(np.pi / 2 * np.sinh(_T))
_WEIGHTS = (_T[1] - _T[0]) * np.pi / 2 * np.cosh(_T) * _U


def _side(falls_left: Any, ratio: Callable[[Any], Any], score: Callable[[Any], Any]) -> _Array:
    """dy/da; `ratio(u)` is log density(y + u) / density(y), `score(u)` its derivative by a."""
    u = np.where(falls_left[..., None], -_U, _U)
    with np.errstate(all="ignore"):
        density = np.exp(ratio(u))
        parts = np.where(density > 0, density * score(u), 0.0) * _WEIGHTS
    total = parts.sum(-1)
    return np.where(falls_left, -total, total)


def _digamma(a: _Array) -> _Array:
    return rl.digamma(rl.from_numpy(np.ascontiguousarray(a))).numpy()


def _gamma_gradient(alpha: _Array, x: _Array) -> _Array:
    y = np.log(x)[..., None]
    a, psi = alpha[..., None], _digamma(alpha)[..., None]
    made = _side(
        x < alpha,
        lambda u: a * u - x[..., None] * np.expm1(u),
        lambda u: y + u - psi,
    )
    return x * made


def _beta_gradient(a: _Array, b: _Array, x: _Array) -> _Array:
    """dx/da of x of the beta distribution, over 1 - x."""
    with np.errstate(all="ignore"):
        y = (np.log(x) - np.log1p(-x))[..., None]
        left = x < a / (a + b)
    a_, b_ = a[..., None], b[..., None]
    psi = (_digamma(a) - _digamma(a + b))[..., None]

    def log_share(z: Any) -> Any:
        return -np.logaddexp(0.0, -z)

    made = _side(
        left,
        lambda u: a_ * (log_share(y + u) - log_share(y)) + b_ * (log_share(-y - u) - log_share(-y)),
        lambda u: log_share(y + u) - psi,
    )
    return x * made


def _doubles(tensor: Tensor) -> _Array:
    return tensor.detach().to(rl.float64).contiguous().numpy()


def _like(array: _Array, tensor: Tensor) -> Tensor:
    return rl.from_numpy(np.ascontiguousarray(array)).to(tensor.dtype)


class _StandardGamma(Function):
    @staticmethod
    def forward(ctx: Any, alpha: Tensor) -> Tensor:
        x = _like(_each(_one_gamma, _doubles(alpha)), alpha)
        x = x.clamp(min=rl.finfo(alpha.dtype).tiny)
        ctx.save_for_backward(alpha, x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        alpha, x = ctx.saved_tensors
        return g * _like(_gamma_gradient(_doubles(alpha), _doubles(x)), g)


class _Dirichlet(Function):
    @staticmethod
    def forward(ctx: Any, alpha: Tensor) -> Tensor:
        gammas = _each(_one_gamma, _doubles(alpha))
        info = rl.finfo(alpha.dtype)
        x = _like(gammas / gammas.sum(-1, keepdims=True), alpha)
        x = x.clamp(min=info.tiny, max=1 - info.eps / 2)
        ctx.save_for_backward(alpha, x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        alpha, x = ctx.saved_tensors
        a, value = _doubles(alpha), _doubles(x)
        rest = a.sum(-1, keepdims=True) - a
        each = _like(_beta_gradient(a, rest, value), g)
        return each * (g - (x * g).sum(-1, True))


def standard_gamma(alpha: Tensor) -> Tensor:
    """Gamma numbers of rate 1; their gradient is that of a sample at a fixed quantile."""
    return _StandardGamma.apply(alpha)


def sample_dirichlet(alpha: Tensor) -> Tensor:
    """Gamma numbers over their sum in the last dimension, with the gradient of that."""
    return _Dirichlet.apply(alpha)


def binomial(count: Tensor, probs: Tensor) -> Tensor:
    """Binomial numbers, one for each pair of elements."""
    return _like(_each(_one_binomial, _doubles(count), _doubles(probs)), probs)


def poisson(rate: Tensor) -> Tensor:
    """Poisson numbers, one for each rate."""
    return _like(_each(_one_poisson, _doubles(rate)), rate)
