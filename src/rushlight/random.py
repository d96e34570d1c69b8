"""Random numbers: generators, and the functions that draw from them, equal to PyTorch's by seed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from operator import index as as_int
from typing import Any

import numpy as np

from . import _core, dtypes
from .errors import not_implemented_for
from .generator import Generator, default_generator, draw, state_of
from .ops._arrays import none_left
from .ops._factory import allocate, finished, numpy_of, shape_of
from .ops._kinds import composite, linear
from .ops._op import draws
from .ops.creation import zeros_like

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
    _core.check_in_place(self, recording)
    if recording:
        _HISTORY[kernel](self)
    array = _core.to_write(self)
    draw(kernel, generator, array, *args)
    _core.write_values(self, array)
    self._bump_version()
    return self


def _float_only(self: Any, name: str) -> None:
    if self.dtype.category < 2:
        not_implemented_for(name, self.dtype.scalar_name)


@composite(name="uniform_")
def uniform_(
    self: Any, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **named: Any
) -> Any:
    """Fill with numbers drawn evenly from [from, to)."""
    low = named.pop("from", from_)
    none_left("uniform_", named)
    _float_only(self, "check_uniform_bounds")
    if low > to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}"
        )
    return _fill(self, "uniform_", generator, float(low), float(to))


@composite(name="normal_")
def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Fill with numbers of a normal distribution."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    _float_only(self, "normal_kernel_cpu")
    return _fill(self, "normal_", generator, float(mean), float(std))


@composite(name="random_")
def random_(
    self: Any, from_: Any = None, to: Any = None, *, generator: Any = None, **named: Any
) -> Any:
    """Fill with integers drawn evenly from [from, to), or from all that the dtype holds."""
    low = named.pop("from", from_)
    if low is not None and to is None:
        low, to = 0, low
    if low is None and to is None:
        return _fill(self, "random_", generator)
    low = 0 if low is None else int(low)
    if low >= to:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={to}"
        )
    return _fill(self, "randint_", generator, low, int(to))


@composite(name="bernoulli_")
def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Fill with 1 by probability p (a number or a tensor), else 0."""
    return _fill(self, "bernoulli_", generator, _probability(p))


def _probability(p: Any) -> Any:
    if isinstance(p, Tensor):
        array = p._array
        if array.size and not (array.min() >= 0 and array.max() <= 1):
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
        return array
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return float(p)


def _one_parameter(name: str, kernel: str, default: float | None, parameter: str, doc: str) -> None:
    @composite(name=name, doc=doc)
    def method(self: Any, value: Any = default, *, generator: Any = None, **named: Any) -> Any:
        value = named.pop(parameter, value)
        return _fill(self, kernel, generator, float(value))


_one_parameter(
    "exponential_", "exponential_", 1.0, "lambd", "Fill from an exponential distribution."
)
_one_parameter("geometric_", "geometric_", None, "p", "Fill from a geometric distribution.")


@composite(name="cauchy_")
def cauchy_(self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
    """Fill from a Cauchy distribution."""
    return _fill(self, "cauchy_", generator, float(median), float(sigma))


@composite(name="log_normal_")
def log_normal_(self: Any, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
    """Fill with exponentials of normal numbers."""
    return _fill(self, "log_normal_", generator, float(mean), float(std))


# ---- new tensors

# torch's names of its kernels, which its errors show.
_KERNEL_NAMES = {"uniform_": "check_uniform_bounds", "normal_": "normal_kernel_cpu"}


def _sampled(name: str, kernel: str, args: tuple[float, ...], doc: str) -> Any:
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
        if dtype is not None and dtype.category < 2:
            not_implemented_for(_KERNEL_NAMES[kernel], dtype.scalar_name)
        array = allocate(shape_of(name, size), numpy_of(dtype, name))
        draw(kernel, generator, array, *args)
        return finished(array, requires_grad, out, device, function=name)

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
        generator: Any = None,
    ) -> Any:
        return create(
            tuple(input.shape),
            dtype=dtype or input.dtype,
            device=device,
            requires_grad=requires_grad,
            generator=generator,
        )

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
    low, high = as_int(low), as_int(high)
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    array = allocate(shape_of("randint", tuple(size)), numpy_of(dtype or dtypes.int64, "randint"))
    draw("randint_", generator, array, int(low), int(high))
    return finished(array, requires_grad, out, device, function="randint")


@composite(method=False)
@draws
def randint_like(
    input: Any,
    low: Any = 0,
    high: Any = None,
    *,
    dtype: Any = None,
    generator: Any = None,
    **more: Any,
) -> Any:
    """A tensor of another's size with integers drawn evenly from [low, high)."""
    if high is None:
        low, high = 0, low
    return randint(
        low, high, tuple(input.shape), dtype=dtype or input.dtype, generator=generator, **more
    )


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
    array = _kernels.randperm(state_of(generator), int(n))
    if dtype is not None and dtype is not dtypes.int64:
        array = array.astype(dtype.numpy)
    return finished(array, requires_grad, out, device, function="randperm")


@composite(method=False)
@draws
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    **more: Any,
) -> Any:
    """Normal numbers; mean and std are numbers (with a size) or tensors."""
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError('normal() missing 1 required positional arguments: "size"')
        array = allocate(shape_of("normal", tuple(size)), numpy_of(more.get("dtype"), "normal"))
        draw("normal_", generator, array, float(mean), float(std))
        return finished(array, more.get("requires_grad", False), out, more.get("device"))
    if not isinstance(std, Tensor) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    shape = np.broadcast_shapes(
        mean.shape if isinstance(mean, Tensor) else (), std.shape if isinstance(std, Tensor) else ()
    )
    like = mean if isinstance(mean, Tensor) else std
    array = draw("normal_", generator, np.empty(shape, like._array.dtype), 0.0, 1.0)
    array *= std._array if isinstance(std, Tensor) else std
    array += mean._array if isinstance(mean, Tensor) else mean
    return finished(array, out=out)


@composite
@draws
def bernoulli(input: Any, p: Any = None, *, generator: Any = None, out: Any = None) -> Any:
    """1 by the probability each element gives, else 0."""
    array = np.empty(input.shape, input._array.dtype)
    draw("bernoulli_", generator, array, _probability(input if p is None else p))
    return finished(array, out=out)


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
    num_samples = as_int(num_samples)
    weights = input._array
    if weights.dtype.kind not in "f" and weights.dtype.name != "bfloat16":
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{input.dtype.scalar_name}"
        )
    if weights.dtype.itemsize == 2:
        weights = weights.astype(np.float32)
    array = _kernels.multinomial(state_of(generator), weights, int(num_samples), bool(replacement))
    return finished(array, out=out)


@composite
@draws
def poisson(input: Any, generator: Any = None) -> Any:
    """Counts of a Poisson distribution with the rates that each element gives."""
    # NumPy's sampler, seeded from this generator: the distribution is right, the stream is not
    # torch's.
    state = _kernels.random_bits64(state_of(generator))
    rng = np.random.Generator(np.random.MT19937(state))
    return _wrap(rng.poisson(input._array).astype(input._array.dtype))
