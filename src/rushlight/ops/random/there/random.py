"""Random numbers drawn on the device: tensors filled by Philox, from a seed and a place in it."""

from __future__ import annotations

from math import log1p, prod
from typing import Any

from .... import _core
from ...._base import dtypes
from ...._base.outside import np
from ...._core import Tensor
from ...._devices.launch import code, computed, empty, rows, start, takes
from ...._devices.there import named, numbers_of, there
from .. import samples

__all__ = ["fill", "words"]

_FILE = "random.cl"
_N = numbers_of(_FILE)
_KINDS = "uniform_ normal_ log_normal_ exponential_ cauchy_ geometric_ bernoulli_".split()
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LARGEST = {"bool": 1} | {
    name: dtypes.iinfo(getattr(dtypes, name)).max
    for name in ("uint8", "int8", "int16", "int32", "int64")
}


def words(counters: int, seed: int, counter: tuple[int, int], like: Tensor) -> Tensor:
    """Philox's words of consecutive counters, as int32: four of each. counter: the low and the
    high 64 bits of the first counter."""
    out = empty((counters, 4), like, dtypes.int32)
    low, high = map(_signed, counter)
    start(_FILE, "random_words", counters, out, out, counters, _signed(seed), low, high)
    return out


def _signed(value: int) -> int:
    """The int64 with the bits of a number of 64 bits."""
    return (value + 2**63) % 2**64 - 2**63


@there(*named(*(f"_{name.removesuffix('_')}" for name in (*_KINDS, "random_", "randint_"))))
def _history(tensor: Tensor) -> Tensor:
    """The tensor to enter into the history of a tensor before it is filled."""
    return tensor


@there(*named("_normal_1", "_normal_2", "_normal_3"), samples._bernoulli_of)
def _drawn(*given: Any) -> Tensor:
    """Numbers drawn already by the tensors before them."""
    return given[-1]


def fill(name: str, place: Any, tensor: Tensor, *args: Any) -> None:
    """Fill a tensor by a distribution, named as the CPU's kernel. place: the generator's, which is
    moved by what is drawn."""
    if tensor.is_complex():
        _fill_parts(name, place, tensor, *args)
        return
    out = tensor
    if not takes(tensor):
        out = empty(tensor.shape, tensor, dtypes.int64)
    elif not tensor.is_contiguous():
        out = empty(tensor.shape, tensor)
    if out.numel():
        whole = name in ("random_", "randint_")
        (_integers if whole else _numbers)(name, place, out, *args)
    if out is not tensor:
        _core.copy_values(tensor, out)


def _fill_parts(name: str, place: Any, tensor: Tensor, *args: float) -> None:
    """The real and the imaginary parts of complex numbers."""
    if name == "normal_":  # each part has half the variance, and the whole mean
        args = (args[0], args[1] / 2**0.5)
    parts = empty((), tensor, tensor.dtype.to_real())
    whole = tensor if tensor.is_contiguous() else empty(tensor.shape, tensor)
    begin = tensor.storage_offset() * 2 if whole is tensor else 0
    shape = (*tensor.shape, 2)
    strides = [prod(shape[d + 1 :]) for d in range(len(shape))]
    _core.take_place(parts, _core.storage_of(whole), shape, strides, begin)
    fill(name, place, parts, *args)
    if whole is not tensor:
        _core.copy_values(tensor, whole)


def _integers(name: str, place: Any, out: Tensor, *bounds: int) -> None:
    kind = out.dtype.name
    low, end = bounds if name == "randint_" else (bounds[0] if bounds else 0, None)
    if end is None:
        end = (1 << _DIGITS[kind] if kind in _DIGITS else _LARGEST[kind]) + 1
    n = out.numel()
    items = (n + 1) // 2
    seed, first, base = place.drawn(4 * items, out._accelerator)
    given = code(out), n, _signed(seed), _signed(first), low, _signed((end - low) % 2**64)
    start(_FILE, "random_integers", items, out, out, base, *given)


def _numbers(name: str, place: Any, out: Tensor, *args: Any) -> None:
    kind, p = getattr(_N, name.strip("_").upper()), None
    computes = computed(out.dtype).name if out.dtype.is_floating_point else "float32"
    if name == "geometric_":
        args = 0.0, log1p(-args[0])
    if isinstance(args[0], Tensor):
        kind, p, args = _N.BERNOULLI_EACH, rows(args[0]), (0.0,)
    a, b = map(getattr(np, computes), (*args, 0.0)[:2])
    n, each = out.numel(), 2 if computes == "float64" else 4
    items = -(-n // each)
    digits = _DIGITS[out.dtype.name if name == "uniform_" else computes]
    seed, first, base = place.drawn(4 * items, out._accelerator)
    types = code(out), 0 if p is None else code(p)
    given = digits, kind, n, _signed(seed), _signed(first), a, b
    start(_FILE, "random_numbers", items, out, out, p, base, *types, *given, computes=computes)
