"""Tensors filled with random numbers in place: uniform_, normal_, random_, bernoulli_, ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.dtypes import dtype
from ..._base.errors import not_implemented_for, warn
from ..._core import Tensor
from ..._devices import of
from ..._devices.cpu import number
from ..._devices.generator import fill as draw_into
from ..._levels.running import draws
from ..making.creation import zeros_like
from ..table.arrays import is_stored, none_left
from ..table.kinds import composite, linear
from ..table.signature import Generator


def _filler(kernel: str, node: str) -> Any:
    """A function that fills a tensor by a kernel. node: the class of the node, which sends a zero
    gradient to the tensor's history."""
    history = _core.make_in_place(
        linear(
            f"_{kernel.removesuffix('_')}(input: Tensor)",
            write=lambda a: None,
            transpose={"input": lambda g: zeros_like(g)},
            batch="trailing",
            node=node,
            method=False,
            samples=None,
            doc=f"The history of `{kernel}`.",
        ),
        kernel,
    )

    @draws(fills=True)
    def fill(self: Any, generator: Any, *args: Any, aten: str = "") -> Any:
        recording = self.requires_grad and _core.is_grad_enabled()
        _core.check_captured(self, aten or kernel, None)
        _core.check_in_place(self, recording)
        if recording:
            history(self)
        if of(self).has_memory:
            draw_into(kernel, generator, self, *args)
        self._bump_version()
        return self

    return fill


_LETTERS = {
    _core.Category.BOOL: "b",
    _core.Category.INTEGER: "i",
    _core.Category.FLOATING: "f",
    _core.Category.COMPLEX: "c",
}


def check_type(dtype: dtype, kinds: str, kernel: str) -> None:
    """Refuse an element type that a distribution is not defined for."""
    if _LETTERS[dtype.category] not in kinds or dtype.name.startswith("float8"):
        not_implemented_for(kernel, dtype.scalar_name)


def _check_continuous(name: str, dtype: dtype, shown: str) -> None:
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {shown}"
        )


@cache
def _largest(dtype: dtype) -> float:
    return float(dtypes.finfo(dtype.to_real()).max)


def _check_above_zero(kernel: str, parameter: str, value: float) -> None:
    if not value > 0:
        raise RuntimeError(f"{kernel} expects {parameter} > 0.0, but found {parameter}={value:g}")


_fill_uniform = _filler("uniform_", "UniformBackward0")


@composite(name="uniform_", where="Tensor", native=_core.kernels.fill_uniform)
def uniform_(
    self: Tensor,
    from_: float = 0.0,
    to: float = 1.0,
    *,
    generator: Generator | None = None,
    **named: Any,
) -> Any:
    """Fill with numbers drawn evenly from [from, to)."""
    low = named.pop("from", from_)
    none_left("uniform_", named)
    check_type(self.dtype, "fc", "check_uniform_bounds")
    most = _largest(self.dtype)
    for name, value in (("from", low), ("to", to)):
        if not abs(value) <= most:
            raise RuntimeError(f"{name} is out of bounds for {self.dtype.to_real().c_name}")
    if low > to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={to:g}"
        )
    if to - low > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{self.dtype.to_real().scalar_name}>"
            f"::max(), but found to={to:g} and from={low:g} which result in to-from to exceed the "
            "limit"
        )
    return _fill_uniform(self, generator, float(low), float(to))


def check_deviation(std: float) -> None:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


_fill_normal = _filler("normal_", "NormalBackward0")


@composite(
    name="normal_",
    where="Tensor",
    native=_core.kernels.fill_normal,
    overloads=("(input: Tensor, mean: float = None, std: float = None, *, generator)",),
)
def normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Any:
    """Fill with numbers of a normal distribution."""
    check_deviation(std)
    check_type(self.dtype, "fc", "normal_kernel_cpu")
    return _fill_normal(self, generator, float(mean), float(std))


DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def _inside(low: int, end: int, dtype: dtype) -> tuple[int, int]:
    """A range of integers, its ends moved to where a floating-point type holds both; as torch."""
    digits = DIGITS[dtype.name]

    def as_held(value: int) -> int:
        held = _core.cast(number(value), dtype.code).item()
        return int(held) if math.isfinite(held) else value

    if as_held(low + 1) < low:
        low = as_held(low + 1) + (1 << (abs(low + 1).bit_length() - digits))
    if as_held(end - 1) >= end:
        end = as_held(end - 1) - (1 << (abs(end - 1).bit_length() - digits))
    return low, end


def _check_bounds(low: int, last: int, dtype: dtype) -> None:
    if dtype.is_complex:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    least, most = (0, 1) if dtype is dtypes.bool else _limits(dtype)
    for name, value in (("from", low), ("to - 1", last)):
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {dtype.c_name}")
        digits = DIGITS.get(dtype.name, 64)
        if abs(value) > 1 << digits:
            warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision "
                f"limitations {dtype.c_name} can support discrete uniform distribution only within "
                "this range. This warning will become an error in version 1.7 release, please fix "
                "the code in advance",
            )


def _limits(dtype: dtype) -> tuple[float, float]:
    info: Any = dtypes.finfo(dtype) if dtype.is_floating_point else dtypes.iinfo(dtype)
    return info.min, info.max


def integer_range(low: int, end: int | None, dtype: dtype) -> tuple[int, int]:
    """The range [low, end) to draw from, checked; end None: up to the last integer that the type
    holds."""
    if is_stored(dtype):
        not_implemented_for("random_update_from_to", dtype.scalar_name)
    if end is not None:
        if low >= end:
            raise RuntimeError(
                f"random_ expects 'from' to be less than 'to', but got from={low} >= to={end}"
            )
        if dtype.is_floating_point:
            low, end = _inside(low, end, dtype)
    elif dtype.is_floating_point:
        low, end = _inside(low, low + 1, dtype)[0], (1 << DIGITS[dtype.name]) + 1
    else:
        end = 2 if dtype is dtypes.bool else int(_limits(dtype)[1]) + 1
    _check_bounds(low, end - 1, dtype)
    return low, end


_fill_bernoulli = _filler("bernoulli_", "BernoulliBackward2")


_fill_random = _filler("random_", "RandomBackward2")
_fill_randint = _filler("randint_", "RandomBackward0")


@composite(
    name="random_",
    where="Tensor",
    overloads=(
        "(self, *, generator)",
        "(self, from: int, to: int | None, *, generator)",
        "(self, to: int, *, generator)",
    ),
)
def random_(
    self: Tensor,
    from_: int | None = None,
    to: Any = ...,
    *,
    generator: Generator | None = None,
    **named: Any,
) -> Any:
    """Fill with integers drawn evenly from [from, to), or from all that the dtype holds; to=None:
    to the last of them."""
    if "from" in named and to is ...:
        raise TypeError("random_() takes from= with to=")
    low = named.pop("from", from_)
    none_left("random_", named)
    aten = "random_.from"
    if low is not None and to is ...:
        low, to, aten = 0, low, "random_.to"
    if low is None and to is ...:
        check_type(self.dtype, "bif", "random_kernel_cpu")
        return _fill_random(self, generator)
    low, end = integer_range(low or 0, to, self.dtype)
    if to is None and self.dtype is dtypes.int64:
        return _fill_random(self, generator, low, aten=aten)
    return _fill_randint(self, generator, low, end, aten=aten)


@composite(
    name="bernoulli_",
    where="Tensor",
    native=_core.kernels.fill_bernoulli,
    overloads=(
        "(input: Tensor, p: Tensor, *, generator)",
        "(input: Tensor, p: float = 0.5, *, generator)",
    ),
)
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Any:
    """Fill with 1 by probability p (a number or a tensor), else 0."""
    if isinstance(p, Tensor):
        return _fill_by(self, p, generator=generator)
    check_type(self.dtype, "bif", "bernoulli_scalar_cpu_")
    return _fill_bernoulli(self, generator, _probability(p), aten="bernoulli_.float")


@draws(fills=True)
def _fill_by(self: Any, p: Any, *, generator: Any) -> Any:
    check_type(self.dtype, "bif", "bernoulli_tensor_cpu_")
    return _fill_bernoulli(self, generator, _probabilities(p, self), aten="bernoulli_.Tensor")


def _probability(p: float) -> float:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return float(p)


def _probabilities(p: Tensor, like: Tensor) -> Tensor:
    check_type(p.dtype, "f", "bernoulli_tensor_cpu_p_")
    shape = like.shape
    if like._accelerator is not None:
        return (p.detach() if p._accelerator is not None else p.to(like.device)).expand(shape)
    p = p.detach().expand(shape)
    return p if p.dtype.itemsize > 2 else _core.cast(p, dtypes.float32.code)


def _one_parameter(
    name: str, default: float | None, parameter: str, check: Callable[..., Any], node: str, doc: str
) -> None:
    fill = _filler(name, node)
    given = f"{parameter}: float" + ("" if default is None else f" = {default}")

    @composite(
        name=name,
        where="Tensor",
        native=getattr(_core.kernels, f"fill_{name[:-1]}"),
        doc=doc,
        signature=f"{name}(self: Tensor, {given}, *, generator: Generator | None = None)",
    )
    def method(
        self: Tensor,
        value: float = default,  # type: ignore[assignment]
        *,
        generator: Generator | None = None,
        **named: Any,
    ) -> Any:
        value = named.pop(parameter, value)
        none_left(name, named)
        if value is None:
            raise TypeError(f'{name}() missing 1 required positional arguments: "{parameter}"')
        check(self.dtype, value)
        return fill(self, generator, float(value))


def _check_exponential(dtype: dtype, lambd: float) -> None:
    _check_continuous("Exponential", dtype, dtype.scalar_name)
    check_type(dtype, "fc", "exponential_cpu")
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")


def _check_geometric(dtype: Any, p: float) -> None:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    check_type(dtype, "if", "geometric_cpu")


_one_parameter(
    "exponential_",
    1.0,
    "lambd",
    _check_exponential,
    "ExponentialBackward0",
    "Fill from an exponential distribution.",
)
_one_parameter(
    "geometric_",
    None,
    "p",
    _check_geometric,
    "GeometricBackward0",
    "Fill from a geometric distribution.",
)


_fill_cauchy = _filler("cauchy_", "CauchyBackward0")


_fill_log_normal = _filler("log_normal_", "LogNormalBackward0")


@composite(name="cauchy_", where="Tensor", native=_core.kernels.fill_cauchy)
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Any:
    """Fill from a Cauchy distribution."""
    _check_above_zero("cauchy_", "sigma", sigma)
    _check_continuous("Cauchy", self.dtype, self.dtype.c_name)
    check_type(self.dtype, "fc", "cauchy_cpu")
    return _fill_cauchy(self, generator, float(median), float(sigma))


@composite(name="log_normal_", where="Tensor", native=_core.kernels.fill_log_normal)
def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Any:
    """Fill with exponentials of normal numbers."""
    _check_above_zero("log_normal_", "std", std)
    check_type(self.dtype, "f", "log_normal_cpu")
    return _fill_log_normal(self, generator, float(mean), float(std))
