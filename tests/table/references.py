"""What every public op computes, said a second time: by NumPy, SciPy, or a few plain lines.

`REFERENCES[name]` takes the op's arguments with ndarrays for tensors (floating-point ones as
float64 or complex128) and gives an array, a number or a tuple of them; None in a tuple is not
compared. Nothing here may use the library. A function that NumPy or `scipy.special` has by the same
name, with the same number of arguments, needs no row: `reference` finds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.special
from references_arrays import ARRAYS, one_dim
from references_layers import NN
from references_matrix import LINALG
from references_spectral import FFT

Array = np.ndarray


def reference(name: str, n_numbers: int) -> Callable[..., Any] | None:
    """The reference of an op; n_numbers: of a pointwise op how many arguments it has, else 0."""
    if name in REFERENCES:
        return REFERENCES[name]
    for module in (np, scipy.special):
        found = getattr(module, name, None)
        if isinstance(found, np.ufunc) and found.nin == n_numbers and found.nout == 1:
            return found
    return None


# ---- helpers


def floating(a: Array) -> Array:
    """Integers as float64."""
    return np.asarray(a) * 1.0 if np.asarray(a).dtype.kind in "biu" else np.asarray(a)


def sign(a: Array) -> Array:
    if a.dtype.kind != "c":
        return np.sign(a)
    size = np.abs(a)
    return np.where(size == 0, 0, a / np.where(size == 0, 1, size))


# ---- random numbers


def _moved(score: Any, ratio: Any) -> float:
    """-(dF/da) / density at x, for F = the integral of the density up to x: over v = log(x / t),
    with the ratio of t density(t) to x density(x)."""
    total, _ = scipy.integrate.quad(
        lambda v: score(v) * ratio(v), 0, np.inf, epsabs=0, epsrel=1e-13, limit=200
    )
    return -total


@np.vectorize
def standard_gamma_grad(a: float, x: float) -> float:
    mean = np.log(x) - scipy.special.digamma(a)
    return x * _moved(lambda v: mean - v, lambda v: np.exp(-a * v - x * np.expm1(-v)))


@np.vectorize
def dirichlet_grad(x: float, a: float, total: float) -> float:
    """A Dirichlet number moves with its own parameter as a beta number does."""
    mean = np.log(x) - scipy.special.digamma(a) + scipy.special.digamma(total)

    def ratio(v: float) -> float:
        return np.exp(-a * v) * ((1 - x * np.exp(-v)) / (1 - x)) ** (total - a - 1)

    return x / (1 - x) * _moved(lambda v: mean - v, ratio)


# ---- arithmetic


def add(a: Any, b: Any, *, alpha: float = 1) -> Any:
    return np.add(a, np.multiply(alpha, b)) if np.ndim(a) + np.ndim(b) >= 0 else None


def subtract(a: Any, b: Any, *, alpha: float = 1) -> Any:
    return np.subtract(a, np.multiply(alpha, b))


def divide(a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    quotient = np.true_divide(a, b)
    if rounding_mode is None:
        return quotient
    return np.floor(quotient) if rounding_mode == "floor" else np.trunc(quotient)


def clamp(a: Array, min: Any = None, max: Any = None) -> Array:
    a = a if min is None else np.maximum(a, min)
    return a if max is None else np.minimum(a, max)


def round_(a: Array, *, decimals: int = 0) -> Array:
    return np.round(a, decimals)


def lerp(a: Array, end: Array, weight: Any) -> Array:
    return (1 - weight) * a + weight * end


def addcmul(a: Array, b: Array, c: Array, *, value: float = 1) -> Array:
    return a + value * (b * c)


def addcdiv(a: Array, b: Array, c: Array, *, value: float = 1) -> Array:
    return a + value * (b / c)


def nan_to_num(a: Array, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Array:
    return np.nan_to_num(a, nan=nan or 0.0, posinf=posinf, neginf=neginf)


# ---- products of matrices


def factors(c: Array, beta: float, alpha: float) -> tuple[float, float]:
    """Of integers the factors are whole, too."""
    return (int(beta), int(alpha)) if c.dtype.kind == "i" else (beta, alpha)


def addmm(c: Array, a: Array, b: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    beta, alpha = factors(c, beta, alpha)
    return beta * c + alpha * (a @ b)


def addr(c: Array, a: Array, b: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    beta, alpha = factors(c, beta, alpha)
    return beta * c + alpha * np.outer(a, b)


def addbmm(c: Array, a: Array, b: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    beta, alpha = factors(c, beta, alpha)
    return beta * c + alpha * (a @ b).sum(0)


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    y = np.einsum("...i,oi->...o", x, weight) if weight.ndim > 1 else x @ weight
    return y if bias is None else y + bias


def cross(a: Array, b: Array, *, dim: int = -1) -> Array:
    a, b = np.broadcast_arrays(a, b)
    return np.cross(a, b, axis=dim)


def solve(a: Array, b: Array, *, left: bool = True) -> Array:
    if not left:
        return np.swapaxes(solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    if b.ndim == 1 or b.shape == a.shape[:-1]:
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b)


def solve_triangular(
    a: Array, b: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        n = a.shape[-1]
        a = a - a * np.eye(n) + np.eye(n)
    return solve(a, b, left=left)


def cholesky(a: Array, *, upper: bool = False) -> Array:
    lower = np.linalg.cholesky(a)
    return np.conj(np.swapaxes(lower, -1, -2)) if upper else lower


def second_kind(n: Array, x: Array) -> Array:
    return np.where(np.asarray(n) < 0, 0.0, scipy.special.eval_chebyu(np.maximum(n, 0), x))


def polynomials() -> dict[str, Callable[..., Any]]:
    """Those of degree n, by SciPy; the third and fourth kinds by differences of the second."""
    found: dict[str, Callable[..., Any]] = {
        "chebyshev_polynomial_t": lambda x, n: scipy.special.eval_chebyt(n, x),
        "hermite_polynomial_h": lambda x, n: scipy.special.eval_hermite(n, x),
        "hermite_polynomial_he": lambda x, n: scipy.special.eval_hermitenorm(n, x),
        "laguerre_polynomial_l": lambda x, n: scipy.special.eval_laguerre(n, x),
        "legendre_polynomial_p": lambda x, n: scipy.special.eval_legendre(n, x),
    }
    found["chebyshev_polynomial_u"] = lambda x, n: second_kind(n, x)
    found["chebyshev_polynomial_v"] = lambda x, n: second_kind(n, x) - second_kind(n - 1, x)
    found["chebyshev_polynomial_w"] = lambda x, n: second_kind(n, x) + second_kind(n - 1, x)
    for letter in "tuvw":
        f = found[f"chebyshev_polynomial_{letter}"]
        found[f"shifted_chebyshev_polynomial_{letter}"] = lambda x, n, f=f: f(
            2 * np.asarray(x) - 1, n
        )
    return {
        name: lambda x, n, f=f: f(x, np.trunc(np.asarray(n)).astype(int))
        for name, f in found.items()
    }


POLYNOMIALS = polynomials()

REFERENCES: dict[str, Callable[..., Any]] = {
    # arithmetic
    "add": add,
    "sub": subtract,
    "rsub": lambda a, b, *, alpha=1: subtract(b, a, alpha=alpha),
    "mul": np.multiply,
    "div": divide,
    "neg": np.negative,
    "abs": np.abs,
    "sgn": sign,
    "positive": np.positive,
    "square": lambda a: a * a,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "reciprocal": lambda a: 1 / floating(a),
    "pow": lambda a, b: np.power(a, b),
    "float_power": lambda a, b: np.power(floating(a), b),
    "floor_divide": np.floor_divide,
    "clamp": clamp,
    "clamp_min": np.maximum,
    "clamp_max": np.minimum,
    "round": round_,
    "frac": lambda a: a - np.trunc(a),
    "lerp": lerp,
    "addcmul": addcmul,
    "addcdiv": addcdiv,
    "nan_to_num": nan_to_num,
    "ldexp": lambda a, b: a * 2.0**b,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "deg2rad": lambda a: a * (math.pi / 180),
    "rad2deg": lambda a: a * (180 / math.pi),
    "isreal": lambda a: np.imag(a) == 0,
    "isposinf": lambda a: a == np.inf,
    "isneginf": lambda a: a == -np.inf,
    "where": np.where,
    "masked_fill": lambda a, mask, value: np.where(mask, value, a),
    # elementary functions under torch's names
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "logical_not": np.logical_not,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    # products of matrices
    "matmul": np.matmul,
    "mm": np.dot,
    "bmm": lambda a, b: np.einsum("bij,bjk->bik", a, b),
    "mv": np.dot,
    "dot": np.dot,
    "kron": np.kron,
    "vdot": np.vdot,
    "addmm": addmm,
    "addmv": addmm,
    "addr": addr,
    "baddbmm": addmm,
    "addbmm": addbmm,
    "linear": linear,
    "_linear_bias": linear,
    "_linalg_cross": cross,
    "trace": np.trace,
    "inv": np.linalg.inv,
    "solve": solve,
    "solve_triangular": solve_triangular,
    "det": np.linalg.det,
    "_slogdet": np.linalg.slogdet,
    "cholesky": cholesky,
    "pinv": np.linalg.pinv,
    "matrix_exp": scipy.linalg.expm,
    # softmax
    "softmax": one_dim(scipy.special.softmax),
    "log_softmax": one_dim(scipy.special.log_softmax),
    "logsumexp": lambda a, dim, keepdim=False: scipy.special.logsumexp(a, dim, keepdims=keepdim),
    # special functions and complex numbers
    "lgamma": scipy.special.gammaln,
    "_standard_gamma_grad": standard_gamma_grad,
    "_dirichlet_grad": dirichlet_grad,
    "igamma": scipy.special.gammainc,
    "igammac": scipy.special.gammaincc,
    "polygamma": scipy.special.polygamma,
    "mvlgamma": lambda a, p: np.vectorize(scipy.special.multigammaln)(a, p),
    "zeta": scipy.special.zeta,
    "logit": lambda a, eps=None: scipy.special.logit(
        a if eps is None else np.clip(a, eps, 1 - eps)
    ),
    "sinc": np.sinc,
    "bessel_j0": scipy.special.j0,
    "bessel_j1": scipy.special.j1,
    "bessel_y0": scipy.special.y0,
    "bessel_y1": scipy.special.y1,
    "modified_bessel_i0": scipy.special.i0,
    "modified_bessel_i1": scipy.special.i1,
    "modified_bessel_k0": scipy.special.k0,
    "modified_bessel_k1": scipy.special.k1,
    "scaled_modified_bessel_k0": scipy.special.k0e,
    "scaled_modified_bessel_k1": scipy.special.k1e,
    "airy_ai": lambda x: scipy.special.airy(x)[0],
    "spherical_bessel_j0": lambda x: np.sinc(x / np.pi),
    **POLYNOMIALS,
    "xlogy": scipy.special.xlogy,
    "ndtr": scipy.special.ndtr,
    "logaddexp": lambda a, b: np.log(np.exp(a) + np.exp(b)),
    "real": np.real,
    "imag": np.imag,
    "conj": np.conj,
    "conj_physical": np.conj,
    "resolve_conj": np.array,
    "resolve_neg": np.array,
    "angle": np.angle,
    "frexp": np.frexp,
    "complex": lambda a, b: a + 1j * b,
    "polar": lambda a, b: a * np.exp(1j * b),
    "signbit": np.signbit,
    "cholesky_solve": lambda b, factor, upper=False: np.linalg.solve(
        factor.T.conj() @ factor if upper else factor @ factor.T.conj(), b
    ),
    "dist": lambda a, b, p=2: np.linalg.norm((a - b).ravel(), p),
    "renorm": lambda a, p, dim, most: np.stack(
        [
            part * min(1.0, most / (np.linalg.norm(part.ravel(), p) + 1e-7))
            for part in np.moveaxis(a, dim, 0)
        ],
        dim,
    ),
    "vander": lambda x, N=None, increasing=False: np.vander(x, N, increasing=increasing),
    **ARRAYS,
    **NN,
    **FFT,
    **LINALG,
}
