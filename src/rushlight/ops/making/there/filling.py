"""Tensors filled with numbers in even steps, and with others' values."""

from __future__ import annotations

from typing import Any

from .... import _core
from ...._base import dtypes
from ...._base.outside import np
from ...._core import Tensor
from ...._devices.accelerators import numbered
from ...._devices.launch import Written, code, empty, start, takes
from ...._devices.there import named, there
from ...elementwise import selection
from ...elementwise.selection import _copied as _put
from ...table.arrays import cell

__all__ = ["between", "steps"]


@there(selection._copied)
def _copied(tensor: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """The tensor that `copy_` puts in the place of a tensor."""
    if tensor._accelerator is None:  # the source is copied to the host
        there = numbered(source._accelerator)
        return NotImplemented if tensor._on_meta else _put(tensor.detach(), there.to_host(source))
    if not takes(tensor) or not isinstance(source, Tensor) or source._on_meta:
        return NotImplemented
    if source._accelerator is None and source.dtype.code <= dtypes.float64.code:
        source = numbered(tensor._accelerator).from_host(source)
    sizes = zip(reversed(source.shape), reversed(tensor.shape), strict=False)
    spreads = source.dim() <= tensor.dim() and all(n in (1, m) for n, m in sizes)
    if not takes(tensor, source) or not spreads:
        return NotImplemented
    made = empty(tensor.shape, tensor)
    _core.copy_values(made, source)
    return made


@there(selection._overwrite, selection.fill)
def _overwrite(tensor: Tensor, value: Tensor) -> Tensor:
    """A tensor filled with the number of another: `fill`, and the new tensor of `fill_`."""
    return _copied(tensor, value) if value.dim() == 0 else NotImplemented


def _write(tensor: Tensor, value: float) -> None:
    """Write one number into every element."""
    _core.copy_values(tensor, _core.wrap(cell(value, tensor.dtype.numpy)))


@there(*named("_overwrite_number"), takes="real", writes=True)
def _overwrite_number_(tensor: Tensor, value: Any) -> Written:
    """Write a number into a tensor: `fill_`."""
    return _write(tensor, value)


@there(*named("_overwrite_number", "_fill_number"), takes="real")
def _overwrite_number(tensor: Tensor, value: Any) -> Tensor:
    made = empty(tensor.shape, tensor)
    _write(made, value)
    return made


@there(selection._zeroed, takes="real", writes=True)
def _zeroed_(tensor: Tensor) -> Written:
    """Write zeros into a tensor: `zero_`."""
    return _overwrite_number_(tensor, 0)


@there(selection._zeroed, takes="real")
def _zeroed(tensor: Tensor) -> Tensor:
    return _overwrite_number(tensor, 0)


def _widest(tensor: Tensor) -> str:
    """The name of the dtype that real numbers are computed in, so that they are rounded once."""
    return "float64" if numbered(tensor._accelerator or 0).facts.has_double else "float32"


def steps(out: Tensor, first: float, step: float) -> None:
    """Fill with first + i step."""
    name = _widest(out) if out.dtype.is_floating_point else "int64"
    as_held = getattr(np, name)
    given = code(out), out.numel(), as_held(first), as_held(step)
    start("filling.cl", "steps", out.numel(), out, out, *given, computes=name)


def between(out: Tensor, first: float, last: float, step: float) -> None:
    """Fill from first to last, both included."""
    name = _widest(out)
    as_held = getattr(np, name)
    given = code(out), out.numel(), *map(as_held, (first, last, step))
    start("filling.cl", "evenly", out.numel(), out, out, *given, computes=name)
