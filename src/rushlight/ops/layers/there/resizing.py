"""Resizing of images, and borders made of their elements: weighted sums along dimensions.

An op gets taps, (axis, (places, weights or None)) for each dimension: out[i] is the sum over t of
weights[t, i] * in[places[t, i]]. The host turns them, or their transpose, into the runs of elements
that each output sums; the runs stay on the device for the next call.
"""

from __future__ import annotations

from math import prod
from typing import Any

from .... import _core
from ...._base import dtypes
from ...._base.outside import np
from ...._core import Tensor
from ...._devices.launch import Ints, code, computed, empty, rows, start
from ...._devices.there import there
from ...table.statement import OPS
from .. import padding

_FILE = "resizing.cl"
_KEPT = 128  # dimensions whose runs are kept
_runs: dict[tuple[Any, ...], tuple[Any, ...]] = {}


def _runs_of(places: Any, weights: Any, size: int | None) -> tuple[Any, Any, Any]:
    """Where the run of each output begins, what it reads, and the weights.

    size: of the input that the transpose gives; None for the sums themselves.
    """
    taps, out = places.shape
    if size is None:
        begins = np.arange(out + 1) * taps
        return begins, places.T.ravel(), None if weights is None else weights.T.ravel()
    flat = places.ravel()
    order = np.argsort(flat, kind="stable")
    begins = np.searchsorted(flat[order], np.arange(size + 1))
    sources = np.tile(np.arange(out), taps)[order]
    return begins, sources, None if weights is None else weights.ravel()[order]


def _there(array: Any, like: Any, dtype: str) -> Tensor | None:
    if array is None:
        return None
    return _core.copy_to(_core.wrap(np.ascontiguousarray(array, dtype)), like._accelerator)


def _tables(
    places: Tensor, weights: Tensor | None, size: int | None, like: Tensor
) -> tuple[Any, ...]:
    """The runs on the device of `like`."""
    kind = computed(like.dtype).name
    key = id(places), id(weights), size, kind, like._accelerator
    found = _runs.get(key)
    if found is None:
        begins, sources, values = _runs_of(*padding.arrays_of((places, weights)), size)
        while len(_runs) >= _KEPT:
            _runs.pop(list(_runs)[0], None)  # noqa: RUF015  (other threads may add one)
        # The tensors are kept too, so that no others get their ids.
        there = _there(begins, like, "int64"), _there(sources, like, "int64")
        found = _runs[key] = (*there, _there(values, like, kind), places, weights)
    return found[:3]


def resampled(x: Tensor, taps: Any, shape: Ints | None = None) -> Tensor:
    """The sums along all dimensions; with the shape of the input, their transpose."""
    if computed(x.dtype) is dtypes.int64 and any(w is not None for _, (_, w) in taps):
        return NotImplemented
    wide = dtypes.float32 if x.dtype.itemsize == 2 and x.dtype.is_floating_point else x.dtype
    made = rows(x)
    for axis, (places, weights) in taps if shape is None else reversed(taps):
        have = made.shape[axis]
        wanted = places.shape[1] if shape is None else shape[axis]
        sizes = list(made.shape)
        sizes[axis] = wanted
        out = empty(sizes, x, wide)
        tables = _tables(places, weights, None if shape is None else wanted, x)
        numbers = code(made), code(out), out.numel(), have, wanted, prod(sizes[axis + 1 :])
        start(_FILE, "resample", out.numel(), x, made, out, *tables, *numbers)
        made = out
    return rows(made, x.dtype)


_DEFINED = (padding.resample, padding.resample_back)
_OPS = (e.op for e in OPS.values() if getattr(e.op, "forward", None) in _DEFINED)
_KERNELS = _core.kernels.resample, _core.kernels.resample_backward
there(*_OPS, *_KERNELS, takes="real, taps: any")(resampled)
