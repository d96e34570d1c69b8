"""Numbers of families with a parameter for each element: Poisson, binomial, gamma and Dirichlet.

Each takes double numbers from the generator, element by element in the order of the result. The
gradients of gamma and Dirichlet numbers are those of a number at a fixed value of its distribution
function; they are integrals, right to rounding (PyTorch's are fits of about three digits).
"""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base.dtypes import finfo, float32, float64
from ..._core import Tensor
from ..._devices import of
from ..._devices.generator import for_host, state_of
from ..._levels.running import draws
from ..elementwise.special import digamma
from ..layout.shape import common_shape
from ..making.creation import zeros_like
from ..table.arrays import refuse
from ..table.formulas import Symbol, Untraceable
from ..table.kinds import composite, general, pointwise
from ..table.reference import alias
from ..table.signature import Generator
from .fills import check_type

_kernels = _core.kernels


def _doubles(t: Tensor) -> Tensor:
    """Double numbers in main memory, where the kernels are."""
    return _core.cast(_core.copy_to(t, -1), float64.code)


def _fitting(made: Tensor, like: Tensor) -> Tensor:
    """A kernel's numbers in the type of a parameter, and where that is."""
    made, where = _core.cast(made, like.dtype.code), of(like)
    return where.from_host(made) if where.makes else made


def _each(kernel: str, generator: Any, *parameters: Tensor) -> Tensor:
    """Numbers of the type of the last parameter, one for each place of tensors of one shape."""
    made = getattr(_kernels, kernel)(state_of(generator), *map(_doubles, parameters))
    return _fitting(made, parameters[-1])


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


_poisson: Any = general(
    "_poisson(input: Tensor, generator: Any)",
    is_=lambda rate, generator: _each("poisson_numbers", generator, rate),
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
        return where.made(tuple(input.shape), input.dtype)
    if not bool((input.detach() >= 0).all()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return _poisson(input, for_host(generator, input))


def _binomial_numbers(count: Tensor, prob: Tensor, generator: object) -> Tensor:
    shape = common_shape([count.shape, prob.shape])
    return _each("binomial_numbers", generator, count.expand(shape), prob.expand(shape))


_binomial: Any = general(
    "_binomial(count: Tensor, prob: Tensor, generator: Any)",
    is_=_binomial_numbers,
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
        return count + prob
    return _binomial(count, prob, for_host(generator, count))


def check_type_of_doubles(input: Tensor, kernel: str) -> None:
    """Refuse what is neither float32 nor float64."""
    if input.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_name}'")


def _gamma_numbers(alpha: Tensor, generator: object) -> Tensor:
    kernel = "gamma_numbers_single" if alpha.dtype is float32 else "gamma_numbers"
    return _each(kernel, generator, alpha).clamp(min=finfo(alpha.dtype).tiny)


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
    is_=_gamma_numbers,
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
        return where.made(tuple(input.shape), input.dtype)
    return _gamma(input, for_host(generator, input))


def _dirichlet_numbers(alpha: Tensor, generator: Any) -> Tensor:
    made = _kernels.dirichlet_numbers(state_of(generator), _core.copy_to(alpha, -1))
    return _fitting(made, alpha)


_dirichlet: Any = general(
    "_dirichlet(input: Tensor, generator: Any)",
    is_=_dirichlet_numbers,
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
        return where.made(tuple(input.shape), input.dtype)
    return _dirichlet(input, for_host(generator, input))


def _dirichlet_gradient(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    refuse("_dirichlet_grad_cpu", x._form, "biuc", halves=True)
    for other in (alpha, total):
        if other.dtype is not x.dtype:
            raise RuntimeError(
                f"Found dtype {other.dtype.scalar_name} but expected {x.dtype.scalar_name}"
            )
    shape = common_shape([x.shape, alpha.shape, total.shape])
    if x._on_meta:
        return x.new_empty(shape)
    a, sums, places = (_doubles(t.expand(shape)) for t in (alpha, total, x))
    b = sums - a
    return _fitting(_kernels.beta_gradient(a, b, places, digamma(a) - digamma(a + b)), x)


_dirichlet_grad: Any = general(
    "_dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor)",
    is_=_dirichlet_gradient,
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
