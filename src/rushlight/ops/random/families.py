"""Numbers of families with a parameter for each element: Poisson, binomial, gamma and Dirichlet.

Each takes double numbers from the generator, element by element in the order of the result. The
gradients of gamma and Dirichlet numbers are those of a number at a fixed value of its distribution
function; they are integrals, right to rounding (PyTorch's are fits of about three digits).
"""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base.outside import np
from ..._core import Tensor
from ..._devices import of
from ..._devices.generator import for_host, state_of
from ..._levels.running import draws
from ..elementwise.special import digamma
from ..making.creation import zeros_like
from ..table.arrays import Array, refuse, scalar_name
from ..table.formulas import Symbol, Untraceable
from ..table.kinds import composite, general, pointwise
from ..table.reference import alias
from ..table.signature import Generator
from .fills import check_type

_kernels = _core.kernels
_wrap = _core.wrap


def _doubles(a: Array) -> Array:
    return a.astype(np.float64, order="C", copy=False)


def _each(kernel: str, generator: Any, *parameters: Array) -> Array:
    """Double numbers, one for each place of arrays of one shape."""
    doubles = (_wrap(_doubles(p)) for p in parameters)
    return getattr(_kernels, kernel)(state_of(generator), *doubles)._array


def _underived(op: str) -> Any:
    """The rule of an op that has no derivative; it raises when a gradient comes to it."""

    def rule(g: Tensor) -> Any:
        raise RuntimeError(f"derivative for aten::{op} is not implemented")

    return rule


def _unfinished(op: str) -> Any:
    def partial(input: Tensor | Symbol) -> Any:
        if isinstance(input, Symbol):
            raise Untraceable("no derivative")
        raise NotImplementedError(f"the derivative for '{op}' is not implemented.")

    return partial


def _poisson_numbers(rate: Array, generator: object) -> Array:
    return _each("poisson_numbers", generator, rate).astype(rate.dtype)


_poisson: Any = general(
    "_poisson(input: Tensor, generator: Any)",
    _poisson_numbers,
    vjp={"input": lambda g: zeros_like(g)},
    jvp={"input": lambda t: zeros_like(t)},
    node="PoissonBackward0",
    method=False,
    samples=None,
    batch="trailing",
    traits="random",
    doc="The numbers of `poisson`.",
)


@composite(method=False)
@draws(of_values=True, one_by_one=True)
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts of a Poisson distribution with the rates that each element gives."""
    check_type(input.dtype, "f", "poisson_cpu")
    where = of(input)
    if not where.has_memory:
        return where.tensor(input._array)
    rates = (where.to_host(input) if where.makes else input)._array
    if not (_doubles(rates) >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return _poisson(input, for_host(generator, input))


def _binomial_numbers(count: Array, prob: Array, generator: object) -> Array:
    count, prob = np.broadcast_arrays(count, prob)
    return _each("binomial_numbers", generator, count, prob).astype(prob.dtype)


_binomial: Any = general(
    "_binomial(count: Tensor, prob: Tensor, generator: Any)",
    _binomial_numbers,
    vjp={"count": _underived("binomial"), "prob": _underived("binomial")},
    node="NotImplemented",
    method=False,
    samples=None,
    batch="trailing",
    traits="random",
    doc="The numbers of `binomial`.",
)


@composite(method=False)
@draws(of_values=True, one_by_one=True)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of successes in `count` trials, each of probability `prob`; both are tensors of the
    same floating-point type."""
    for name, a in (("count", count), ("prob", prob)):
        if not a.dtype.is_floating_point:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: "
                f"{a.dtype.scalar_name}"
            )
    check_type_of_doubles(count, "binomial_cpu")
    if prob.dtype is not count.dtype:
        raise RuntimeError(
            f"Found dtype {prob.dtype.scalar_name} but expected {count.dtype.scalar_name}"
        )
    where = of(count)
    if not where.has_memory:
        return where.tensor((count + prob)._array)
    return _binomial(count, prob, for_host(generator, count))


def check_type_of_doubles(input: Tensor, kernel: str) -> None:
    """Refuse what is neither float32 nor float64."""
    if input.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_name}'")


def _gamma_numbers(alpha: Array, generator: object) -> Array:
    kernel = "gamma_numbers_single" if alpha.dtype == np.float32 else "gamma_numbers"
    made = _each(kernel, generator, alpha).astype(alpha.dtype)
    return np.maximum(made, np.finfo(alpha.dtype).tiny)


_standard_gamma_grad: Any = pointwise(
    "_standard_gamma_grad(input: Tensor, output: Tensor)",
    kernel="gamma_slope",
    partials={
        "input": _unfinished("_standard_gamma_grad"),
        "output": _unfinished("_standard_gamma_grad"),
    },
    refuses={"bool int half complex": "_standard_gamma_grad_cpu"},
    node="NotImplemented",
    in_place=False,
    method=False,
    samples=lambda make: [
        (make(2, 3, low=0.5, high=3.0), make(2, 3, low=0.5, high=3.0)),
    ],
    traits="underived",
    doc="The derivative of a gamma number `output` with respect to its parameter `input`.",
)

_gamma: Any = general(
    "_gamma(input: Tensor, generator: Any)",
    _gamma_numbers,
    vjp={"input": lambda g, input, out: g * _standard_gamma_grad(input, out)},
    node="StandardGammaBackward0",
    method=False,
    samples=None,
    batch="trailing",
    traits="random",
    doc="The numbers of `_standard_gamma`.",
)


@composite(method=False)
@draws(of_values=True, one_by_one=True)
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma numbers of the shapes that each element gives, and of scale 1."""
    check_type_of_doubles(input, "gamma_cpu")
    where = of(input)
    if not where.has_memory:
        return where.tensor(input._array)
    return _gamma(input, for_host(generator, input))


def _dirichlet_numbers(alpha: Array, generator: Any) -> Array:
    return _kernels.dirichlet_numbers(state_of(generator), _wrap(np.asarray(alpha)))._array


_dirichlet: Any = general(
    "_dirichlet(input: Tensor, generator: Any)",
    _dirichlet_numbers,
    vjp={"input": _underived("_sample_dirichlet")},
    node="NotImplemented",
    method=False,
    samples=None,
    batch="trailing",
    traits="random",
    doc="The numbers of `_sample_dirichlet`.",
)


@composite(method=False)
@draws(of_values=True, one_by_one=True)
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma numbers of the shapes that each element gives, over their sum in the last dimension."""
    check_type_of_doubles(input, "dirichlet")
    where = of(input)
    if not where.has_memory:
        return where.tensor(input._array)
    return _dirichlet(input, for_host(generator, input))


def _dirichlet_gradient(x: Array, alpha: Array, total: Array) -> Array:
    refuse("_dirichlet_grad_cpu", x, "biuc", halves=True)
    for other in (alpha, total):
        if other.dtype != x.dtype:
            raise RuntimeError(f"Found dtype {scalar_name(other)} but expected {scalar_name(x)}")
    x, alpha, total = np.broadcast_arrays(x, alpha, total)
    a, b = _wrap(_doubles(alpha)), _wrap(_doubles(total) - _doubles(alpha))
    psi = digamma(a) - digamma(a + b)
    return _kernels.beta_gradient(a, b, _wrap(_doubles(x)), psi)._array.astype(x.dtype)


_dirichlet_grad: Any = general(
    "_dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor)",
    _dirichlet_gradient,
    vjp={name: _underived("_dirichlet_grad") for name in ("x", "alpha", "total")},
    node="NotImplemented",
    method=False,
    samples=lambda make: [
        (make(3, low=0.1, high=0.9), make(3, low=0.1, high=1.5), make(3, low=2.0, high=4.0)),
    ],
    batch="trailing",
    traits="underived",
    doc="The derivative of Dirichlet numbers x with respect to their own parameters alpha, over "
    "1 - x; `total` is the sum of the parameters.",
)

# torch has them under these names
for _op in (_standard_gamma, _standard_gamma_grad, _sample_dirichlet, _dirichlet_grad):
    alias(_op.__name__, _op, method=False)
