"""Random numbers: generators, and the functions that draw from them, equal to PyTorch's by seed."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator
from operator import index as as_int
from typing import Any

import numpy as np

from . import _core, dtypes
from .devices import of
from .dtypes import from_numpy_dtype
from .errors import not_implemented_for
from .generator import Generator, default_generator, draw, state_of
from .ops._arrays import fitted_number, none_left, widened
from .ops._factory import destination, finished, numpy_of, shape_of
from .ops._kinds import composite, linear
from .ops._op import draws
from .ops.creation import empty_like, zeros_like
from .ops.shape import common_shape

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

Tensor = _core.Tensor
_kernels = _core.kernels
_wrap = _core.wrap


def manual_seed(seed: int) -> Generator:
    """Seed the default generator; returns it.

    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the system's entropy; returns the seed.

    >>> torch.seed() == torch.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The default generator's seed.

    >>> _ = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The default generator's state.

    >>> state = torch.get_rng_state()
    >>> first = torch.rand(3)
    >>> torch.set_rng_state(state)
    >>> torch.equal(first, torch.rand(3))
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Set the default generator's state.

    >>> state = torch.Generator().manual_seed(1).get_state()
    >>> torch.set_rng_state(state)
    >>> torch.rand(1)
    tensor([0.7576])
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **more: Any) -> Iterator[None]:
    """Draw inside the block without the outside noticing.

    >>> _ = torch.manual_seed(0)
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(1)
    ...     inside = torch.rand(1)
    >>> torch.rand(1)
    tensor([0.4963])
    """
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            set_rng_state(state)


# ---- in place


def _marker(name: str, node: str) -> Any:
    # Writes nothing; its node gives what was here before a gradient of zero.
    op = linear(
        f"_{name}(input)",
        write=lambda a: None,
        transpose={"input": lambda g: zeros_like(g)},
        node=node,
        method=False,
        samples=None,
        doc=f"The history of `{name}_`.",
    )
    return _core.make_in_place(op, f"{name}_")


_HISTORY = {
    "uniform_": _marker("uniform", "UniformBackward0"),
    "normal_": _marker("normal", "NormalBackward0"),
    "bernoulli_": _marker("bernoulli", "BernoulliBackward2"),
    "random_": _marker("random", "RandomBackward2"),
    "randint_": _marker("random_to", "RandomBackward0"),
    "exponential_": _marker("exponential", "ExponentialBackward0"),
    "geometric_": _marker("geometric", "GeometricBackward0"),
    "cauchy_": _marker("cauchy", "CauchyBackward0"),
    "log_normal_": _marker("log_normal", "LogNormalBackward0"),
}


@draws
def _fill(self: Any, kernel: str, generator: Any, *args: Any) -> Any:
    recording = self.requires_grad and _core.is_grad_enabled()
    _core.check_captured(self, kernel, args[0] if args else None)
    _core.check_in_place(self, recording)
    if recording:
        _HISTORY[kernel](self)
    if of(self).has_memory:
        array = _core.to_write(self)
        draw(kernel, generator, array, *args)
        _core.write_values(self, array)
    self._bump_version()
    return self


_LETTERS = {
    _core.Category.BOOL: "b",
    _core.Category.INTEGER: "i",
    _core.Category.FLOATING: "f",
    _core.Category.COMPLEX: "c",
}


def _check_type(dtype: Any, kinds: str, kernel: str) -> None:
    """Refuse an element type that a distribution is not defined for."""
    if _LETTERS[dtype.category] not in kinds:
        not_implemented_for(kernel, dtype.scalar_name)


def _check_continuous(name: str, dtype: Any, shown: str) -> None:
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {shown}"
        )


def _largest(dtype: Any) -> float:
    return float(dtypes.finfo(dtype.to_real()).max)


def _check_above_zero(kernel: str, parameter: str, value: float) -> None:
    if not value > 0:
        raise RuntimeError(f"{kernel} expects {parameter} > 0.0, but found {parameter}={value:g}")


@composite(name="uniform_")
def uniform_(
    self: Any, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **named: Any
) -> Any:
    """Fill with numbers drawn evenly from [from, to)."""
    low = named.pop("from", from_)
    none_left("uniform_", named)
    _check_type(self.dtype, "fc", "check_uniform_bounds")
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
    return _fill(self, "uniform_", generator, float(low), float(to))


def _check_deviation(std: Any) -> None:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


@composite(name="normal_")
def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Fill with numbers of a normal distribution."""
    _check_deviation(std)
    _check_type(self.dtype, "fc", "normal_kernel_cpu")
    return _fill(self, "normal_", generator, float(mean), float(std))


_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def _inside(low: int, end: int, dtype: Any) -> tuple[int, int]:
    """A range of integers, its ends moved to where a floating-point type holds both; as torch."""
    digits = _DIGITS[dtype.name]

    def as_held(value: int) -> int:
        with np.errstate(over="ignore"):
            held = float(np.array(value, np.int64).astype(dtype.numpy))
        return int(held) if math.isfinite(held) else value

    if as_held(low + 1) < low:
        low = as_held(low + 1) + (1 << (abs(low + 1).bit_length() - digits))
    if as_held(end - 1) >= end:
        end = as_held(end - 1) - (1 << (abs(end - 1).bit_length() - digits))
    return low, end


def _check_bounds(low: int, last: int, dtype: Any) -> None:
    if dtype.is_complex:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    least, most = (0, 1) if dtype is dtypes.bool else _limits(dtype)
    for name, value in (("from", low), ("to - 1", last)):
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {dtype.c_name}")
        digits = _DIGITS.get(dtype.name, 64)
        if abs(value) > 1 << digits:
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision "
                f"limitations {dtype.c_name} can support discrete uniform distribution only within "
                "this range. This warning will become an error in version 1.7 release, please fix "
                "the code in advance",
                UserWarning,
                stacklevel=4,
            )


def _limits(dtype: Any) -> tuple[float, float]:
    info: Any = dtypes.finfo(dtype) if dtype.is_floating_point else dtypes.iinfo(dtype)
    return info.min, info.max


def _integer_range(low: int, end: int | None, dtype: Any) -> tuple[int, int]:
    """The range [low, end) to draw from, checked; end None: up to the last integer that the type
    holds."""
    if end is not None:
        if low >= end:
            raise RuntimeError(
                f"random_ expects 'from' to be less than 'to', but got from={low} >= to={end}"
            )
        if dtype.is_floating_point:
            low, end = _inside(low, end, dtype)
    elif dtype.is_floating_point:
        low, end = _inside(low, low + 1, dtype)[0], (1 << _DIGITS[dtype.name]) + 1
    else:
        end = 2 if dtype is dtypes.bool else int(_limits(dtype)[1]) + 1
    _check_bounds(low, end - 1, dtype)
    return low, end


@composite(name="random_")
def random_(
    self: Any, from_: int | None = None, to: Any = ..., *, generator: Any = None, **named: Any
) -> Any:
    """Fill with integers drawn evenly from [from, to), or from all that the dtype holds; to=None:
    to the last of them."""
    if "from" in named and to is ...:
        raise TypeError("random_() takes from= with to=")
    low = named.pop("from", from_)
    none_left("random_", named)
    if low is not None and to is ...:
        low, to = 0, low
    if low is None and to is ...:
        _check_type(self.dtype, "bif", "random_kernel_cpu")
        return _fill(self, "random_", generator)
    low, end = _integer_range(low or 0, to, self.dtype)
    if to is None and self.dtype is dtypes.int64:
        return _fill(self, "random_", generator, low)
    return _fill(self, "randint_", generator, low, end)


@composite(name="bernoulli_")
def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Fill with 1 by probability p (a number or a tensor), else 0."""
    one = not isinstance(p, Tensor)
    _check_type(self.dtype, "bif", f"bernoulli_{'scalar' if one else 'tensor'}_cpu_")
    if one:
        return _fill(self, "bernoulli_", generator, _probability(p))
    return _fill(self, "bernoulli_", generator, _probabilities(p, self.shape))


def _probability(p: float) -> float:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return float(p)


def _probabilities(p: Any, shape: Any) -> Any:
    _check_type(p.dtype, "f", "bernoulli_tensor_cpu_p_")
    return np.ascontiguousarray(widened(p.expand(shape)._array))


def _one_parameter(name: str, default: float | None, parameter: str, check: Any, doc: str) -> None:
    @composite(name=name, doc=doc)
    def method(self: Any, value: float = default, *, generator: Any = None, **named: Any) -> Any:  # type: ignore[assignment]
        value = named.pop(parameter, value)
        none_left(name, named)
        if value is None:
            raise TypeError(f'{name}() missing 1 required positional arguments: "{parameter}"')
        check(self.dtype, value)
        return _fill(self, name, generator, float(value))


def _check_exponential(dtype: Any, lambd: float) -> None:
    _check_continuous("Exponential", dtype, dtype.scalar_name)
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")


def _check_geometric(dtype: Any, p: float) -> None:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    _check_type(dtype, "if", "geometric_cpu")


_one_parameter(
    "exponential_", 1.0, "lambd", _check_exponential, "Fill from an exponential distribution."
)
_one_parameter("geometric_", None, "p", _check_geometric, "Fill from a geometric distribution.")


@composite(name="cauchy_")
def cauchy_(self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
    """Fill from a Cauchy distribution."""
    _check_above_zero("cauchy_", "sigma", sigma)
    _check_continuous("Cauchy", self.dtype, self.dtype.c_name)
    return _fill(self, "cauchy_", generator, float(median), float(sigma))


@composite(name="log_normal_")
def log_normal_(self: Any, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
    """Fill with exponentials of normal numbers."""
    _check_above_zero("log_normal_", "std", std)
    _check_type(self.dtype, "f", "log_normal_cpu")
    return _fill(self, "log_normal_", generator, float(mean), float(std))


# ---- new tensors

# torch's names of its kernels, which its errors show.
_KERNEL_NAMES = {"uniform_": "check_uniform_bounds", "normal_": "normal_kernel_cpu"}


def _drawn_like(input: Any, place: Any, kernel: str, generator: Any, *args: Any) -> Any:
    """Numbers that a kernel draws, laid out as a tensor; place: dtype, device, requires_grad and
    memory_format of the like functions."""
    dtype, device, requires_grad, memory_format = place
    made = empty_like(
        input, dtype=dtype, device=device, requires_grad=requires_grad, memory_format=memory_format
    )
    if of(made).has_memory:
        draw(kernel, generator, made._seen, *args)
    return made


def _sampled(name: str, kernel: str, args: tuple[float, ...], doc: str) -> Any:
    def check(numpy_dtype: Any) -> None:
        if numpy_dtype.kind in "biu":
            not_implemented_for(_KERNEL_NAMES[kernel], from_numpy_dtype(numpy_dtype).scalar_name)

    @composite(method=False, name=name, doc=f"A tensor of the given size with numbers {doc}.")
    @draws
    def create(
        *size: Any,
        generator: Any = None,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **named: Any,
    ) -> Any:
        if "size" in named and not size:
            size = (named.pop("size"),)
        none_left(name, named)
        numpy_dtype = numpy_of(dtype, name, out)
        check(numpy_dtype)
        where = destination(device, name, out)
        array = where.allocate(shape_of(name, size), numpy_dtype)
        if where.has_memory:
            draw(kernel, generator, array, *args)
        return finished(array, requires_grad, out, where, function=name)

    @composite(
        method=False,
        name=name + "_like",
        doc=f"A tensor of another's size and dtype with numbers {doc}.",
    )
    @draws
    def like(
        input: Any,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
        pin_memory: bool = False,
        generator: Any = None,
    ) -> Any:
        check((dtype or input.dtype).numpy)
        place = (dtype, device, requires_grad, memory_format)
        return _drawn_like(input, place, kernel, generator, *args)

    return create


rand = _sampled("rand", "uniform_", (0.0, 1.0), "drawn evenly from [0, 1)")
randn = _sampled("randn", "normal_", (0.0, 1.0), "of the standard normal distribution")


@composite(method=False)
@draws
def randint(
    low: Any = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor of integers drawn evenly from [low, high)."""
    if size is None:
        if high is None or not isinstance(high, (tuple, list)):
            raise TypeError('randint() missing 1 required positional arguments: "size"')
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    numpy_dtype = numpy_of(dtype or (dtypes.int64 if out is None else None), "randint", out)
    low, high = _integer_range(as_int(low), as_int(high), from_numpy_dtype(numpy_dtype))
    where = destination(device, "randint", out)
    array = where.allocate(shape_of("randint", tuple(size)), numpy_dtype)
    if where.has_memory:
        draw("randint_", generator, array, low, high)
    return finished(array, requires_grad, out, where, function="randint")


@composite(method=False)
@draws
def randint_like(
    input: Any,
    low: Any = 0,
    high: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    pin_memory: bool = False,
    generator: Any = None,
) -> Any:
    """A tensor of another's size with integers drawn evenly from [low, high)."""
    if high is None:
        low, high = 0, low
    low, high = (int(n) if isinstance(n, Tensor) else n for n in (low, high))
    low, high = _integer_range(as_int(low), as_int(high), dtype or input.dtype)
    place = (dtype, device, requires_grad, memory_format)
    return _drawn_like(input, place, "randint_", generator, low, high)


@composite(method=False)
@draws
def randperm(
    n: int,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """The numbers 0 to n - 1 in random order."""
    n = as_int(n)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    numpy_dtype = numpy_of(dtype or (dtypes.int64 if out is None else None), "randperm", out)
    wanted = from_numpy_dtype(numpy_dtype)
    _check_type(wanted, "if", "randperm")
    if wanted.category == _core.Category.INTEGER and n:
        fitted_number(n - 1, numpy_dtype)
    elif wanted is not dtypes.bfloat16 and n > (1 << _DIGITS.get(wanted.name, 64)) + 1:
        most = "2049" if wanted is dtypes.float16 else f"2^{_DIGITS[wanted.name]}+1"
        raise RuntimeError(
            f"n cannot be greater than {most} for {wanted.scalar_name} type. It is {n}."
        )
    where = destination(device, "randperm", out)
    if where.has_memory:
        array = _kernels.randperm(state_of(generator), n)._array.astype(numpy_dtype, copy=False)
    else:
        array = where.allocate((n,), numpy_dtype)
    return finished(array, requires_grad, out, where, function="randperm")


@composite(method=False)
@draws
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Normal numbers; mean and std are numbers (with a size) or tensors."""
    like = mean if isinstance(mean, Tensor) else std
    if not isinstance(like, Tensor):
        if size is None:
            raise TypeError('normal() missing 1 required positional arguments: "size"')
        shape, numpy_dtype = shape_of("normal", tuple(size)), numpy_of(dtype, "normal", out)
    else:
        shape = common_shape([a.shape for a in (mean, std) if isinstance(a, Tensor)])
        numpy_dtype = like._array.dtype if out is None else out._array.dtype
    if not isinstance(std, Tensor):
        _check_deviation(std)
    elif std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    elif std.numel() and not std._meta and not bool((std >= 0).all()):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    _check_type(from_numpy_dtype(numpy_dtype), "fc", "normal_kernel_cpu")
    where = destination(device, "normal", out, like if isinstance(like, Tensor) else None)
    array = where.allocate(shape, numpy_dtype)
    if not where.has_memory:
        pass
    elif not isinstance(like, Tensor):
        draw("normal_", generator, array, float(mean), float(std))
    else:
        each = isinstance(std, Tensor)
        made = _wrap(draw("normal_", generator, array, 0.0, 1.0 if each else float(std)))
        if each:
            made.mul_(std.detach())
        made.add_(mean.detach() if isinstance(mean, Tensor) else mean)
    return finished(array, requires_grad, out, where, function="normal")


@composite
@draws
def bernoulli(input: Any, p: Any = None, *, generator: Any = None, out: Any = None) -> Any:
    """1 by the probability each element gives, else 0."""
    where = of(input)
    made = where.tensor(where.allocate(input.shape, (input if out is None else out).dtype.numpy))
    bernoulli_(made, input if p is None else p, generator=generator)
    return made if out is None else finished(made._array, out=out, function="bernoulli")


@composite
@draws
def multinomial(
    input: Any,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Any = None,
) -> Any:
    """Indices drawn by the weights in each row."""
    weights = input._array
    if weights.dtype.kind not in "f" and weights.dtype.name != "bfloat16":
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{input.dtype.scalar_name}"
        )
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.scalar_name}")
    where = of(input)
    if where.has_memory:
        state = state_of(generator)
        array = _kernels.multinomial(state, widened(weights), num_samples, replacement)
    else:
        array = where.allocate((*input.shape[:-1], num_samples), np.int64)
    return finished(array, out=out, where=where, function="multinomial")


@composite
@draws
def poisson(input: Any, generator: Any = None) -> Any:
    """Counts of a Poisson distribution with the rates that each element gives."""
    # NumPy's sampler, seeded from this generator: the distribution is right, the stream is not
    # torch's.
    _check_type(input.dtype, "f", "poisson_cpu")
    where = of(input)
    if not where.has_memory:
        return where.tensor(input._array)
    rates = widened(input._array)
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    state = _kernels.random_bits64(state_of(generator))
    rng = np.random.Generator(np.random.MT19937(state))
    return _wrap(rng.poisson(rates).astype(input._array.dtype))
