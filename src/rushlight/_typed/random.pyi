"""ops/random/: functions in torch. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import TypeAlias, overload

from .._base.device import device as _device
from .._base.device import layout as _layout
from .._base.device import memory_format as _memory_format
from .._base.dtypes import dtype as _dtype
from .._core import Tensor
from .._devices.generator import Generator as _Generator

_Ints: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int

def bernoulli(
    input: Tensor,
    p: _float | None = None,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """1 by the probability each element gives, else 0."""

def binomial(count: Tensor, prob: Tensor, generator: _Generator | None = None) -> Tensor: ...
def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn by the weights in each row."""

def normal(
    mean: Tensor | _float,
    std: Tensor | _float = 1.0,
    size: Sequence[_int] | None = None,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """Normal numbers; mean and std are numbers (with a size) or tensors."""

def poisson(input: Tensor, generator: _Generator | None = None) -> Tensor:
    """Counts of a Poisson distribution with the rates that each element gives."""

@overload
def rand(
    *size: _Ints,
    generator: _Generator | None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of the given size with numbers drawn evenly from [0, 1)."""

@overload
def rand(
    *size: _Ints,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def rand_like(
    input: Tensor,
    *,
    memory_format: _memory_format | None = None,
    generator: _Generator | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of another's size and dtype with numbers drawn evenly from [0, 1)."""

@overload
def randint(
    high: _int,
    size: Sequence[_int],
    *,
    generator: _Generator | None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of integers drawn evenly from [low, high)."""

@overload
def randint(
    high: _int,
    size: Sequence[_int],
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint(
    low: _int,
    high: _int,
    size: Sequence[_int],
    *,
    generator: _Generator | None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint(
    low: _int,
    high: _int,
    size: Sequence[_int],
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    low: _int,
    high: _int,
    *,
    generator: _Generator | None,
    memory_format: _memory_format | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of another's size with integers drawn evenly from [low, high)."""

@overload
def randint_like(
    input: Tensor,
    low: _int,
    high: _int,
    *,
    memory_format: _memory_format | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    high: Tensor,
    *,
    generator: _Generator | None,
    memory_format: _memory_format | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    high: Tensor,
    *,
    memory_format: _memory_format | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    high: _int,
    *,
    generator: _Generator | None,
    memory_format: _memory_format | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    high: _int,
    *,
    memory_format: _memory_format | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randn(
    *size: _Ints,
    generator: _Generator | None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of the given size with numbers of the standard normal distribution."""

@overload
def randn(
    *size: _Ints,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def randn_like(
    input: Tensor,
    *,
    memory_format: _memory_format | None = None,
    generator: _Generator | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of another's size and dtype with numbers of the standard normal distribution."""

def randperm(
    n: _int,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
