"""Padding, and moving channels into space.

Padding other than with a constant is a gather by index along each dimension. It shares with
interpolation the idea of taps: every output is a weighted sum of a few inputs, so forward is a
gather and its transpose a sum over runs of equal places (`resampling` makes such a pair of ops).
"""

from __future__ import annotations

import functools
from operator import index as as_int
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.device import cpu
from ..._base.outside import np
from ..._core import Op
from ..making.creation import arange
from ..table.arrays import Array, cell, check_room, listed, refuse, rounded, widened
from ..table.kinds import composite, general, linear
from ..table.signature import Number, Sizes, Tensor

_Ints = tuple[int, ...]
_kernels = _core.kernels

# ---- taps: out[i] = sum over t of weights[t, i] * in[places[t, i]] along one dimension


def counted(*bounds: int, dtype: Any = dtypes.int64) -> Tensor:
    """The whole numbers below a bound, or between two, on the processor."""
    return arange(*bounds, dtype=dtype, device=cpu)


def tap(places: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
    """Places (int64) and weights (float64) as an op's taps have them."""
    kept = _core.keep_constant(places.contiguous())
    return kept, None if weights is None else _core.keep_constant(weights.contiguous())


def arrays_of(tap: Any) -> tuple[Array, Array | None]:
    """The places and the weights as ndarrays."""
    places, weights = tap
    return places._array, None if weights is None else weights._array


def _gathered(x: Array, places: Array, weights: Array | None, axis: int) -> Array:
    out = None
    for t in range(places.shape[0]):
        part = np.take(x, places[t], axis)
        if weights is not None:
            shape = [1] * x.ndim
            shape[axis] = -1
            part = part * weights[t].astype(x.dtype).reshape(shape)
        out = part if out is None else out + part
    return np.ascontiguousarray(out)


def _summed(g: Array, places: Array, weights: Array | None, axis: int, size: int) -> Array:
    """The transpose: every gradient goes back to the places that it came from."""
    shape = list(g.shape)
    shape[axis] = size
    out = np.zeros(shape, g.dtype)
    for t in range(places.shape[0]):
        part = g
        if weights is not None:
            wide = [1] * g.ndim
            wide[axis] = -1
            part = g * weights[t].astype(g.dtype).reshape(wide)
        row = places[t]
        order = np.argsort(row, kind="stable")
        row = row[order]
        if not row.size:
            continue
        starts = np.flatnonzero(np.concatenate(([True], row[1:] != row[:-1])))
        sums = np.add.reduceat(np.take(part, order, axis), starts, axis)
        at = [slice(None)] * g.ndim
        at[axis] = row[starts]
        out[tuple(at)] += sums
    return out


def resample(x: Array, taps: Any) -> Array:
    wide = widened(x)
    for axis, tap in taps:
        wide = _gathered(wide, *arrays_of(tap), axis)
    return rounded(np.ascontiguousarray(wide), x)


def resample_back(g: Array, taps: Any, shape: tuple[int, ...]) -> Array:
    wide = widened(g)
    for axis, tap in reversed(taps):
        wide = _summed(wide, *arrays_of(tap), axis, shape[axis])
    return rounded(np.ascontiguousarray(wide), g)


def resampling(name: str, node: str, keeps: str = "format: input") -> Op:
    """A pair of ops, each the other's transpose, under torch's name of the node."""
    op = linear(
        f"{name}(input: Tensor, taps: Any)",
        resample,
        native=_kernels.resample,
        transpose={"input": lambda g, taps, input_shape: back(g, taps, tuple(input_shape))},
        batch="folded",
        node=node,
        method=False,
        keeps=keeps,
        doc="Weighted sums of a few inputs along dimensions.",
    )
    back: Any = linear(
        f"{name}_transpose(input: Tensor, taps: Any, shape: Any)",
        resample_back,
        native=_kernels.resample_backward,
        transpose={"input": lambda g, taps: op(g, taps)},
        batch="folded",
        node=node.replace("Backward0", "BackwardBackward0"),
        method=False,
        keeps="format: input",
        doc="The transpose of weighted sums along dimensions.",
    )
    return op


# ---- padding


@functools.lru_cache(maxsize=512)
def _border_of(sizes: _Ints, pad: _Ints) -> tuple[tuple[Any, ...], _Ints, tuple[Any, ...]]:
    """The kept part of the input, the result's sizes, and the place of the part in the result."""
    kept: list[Any] = [slice(None)] * len(sizes)
    there: list[Any] = [slice(None)] * len(sizes)
    shape = list(sizes)
    for i in range(len(pad) // 2):
        axis = len(sizes) - 1 - i
        before, after = pad[2 * i], pad[2 * i + 1]
        kept[axis] = slice(max(-before, 0), sizes[axis] - max(-after, 0))
        inner = kept[axis].stop - kept[axis].start
        there[axis] = slice(max(before, 0), max(before, 0) + inner)
        shape[axis] = sizes[axis] + before + after
    return tuple(kept), tuple(shape), tuple(there)


def _constant_pad(x: Array, pad: _Ints, value: float) -> Array:
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * x.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad "
            f"length is {len(pad)}while the input has {x.ndim}dimensions."
        )
    kept, shape, there = _border_of(x.shape, pad)
    if min(shape, default=0) < 0:
        raise RuntimeError(
            f"narrow(): length must be non-negative. The widths {listed(pad)} leave "
            f"{listed(shape)} of {listed(x.shape)}."
        )
    if value:
        out = np.empty(shape, x.dtype)
        out[...] = cell(value, x.dtype)
    else:
        out = np.zeros(shape, x.dtype)
    out[there] = x[kept]
    return out


constant_pad_nd: Op = general(
    "constant_pad_nd(input: Tensor, pad: Sizes, value: Number = 0)",
    _constant_pad,
    native=_kernels.constant_pad,
    vjp={"input": lambda g, pad: constant_pad_nd(g, tuple(-p for p in pad), 0)},
    method=False,
    samples=lambda make: [(make(2, 3), (1, 2)), (make(2, 3), (1, -1, 0, 2), 1.5)],
    keeps="format: input",
    formula={"input": "g without its padding"},
    stored="all",
    doc="The tensor with a border of a constant; a negative width cuts.",
    batch="trailing",
)


def _reflected(n: int, before: int, after: int) -> Tensor:
    return (n - 1) - ((n - 1) - counted(-before, n + after).abs()).abs()


def _replicated(n: int, before: int, after: int) -> Tensor:
    return counted(-before, n + after).clamp(0, n - 1)


def _wrapped(n: int, before: int, after: int) -> Tensor:
    """A negative width cuts; what is left goes round."""
    first = max(-before, 0)
    size = n - max(-after, 0) - first
    return first + counted(-max(before, 0), size + max(after, 0)) % max(size, 1)


_pads = {
    (mode, n): resampling(
        f"_{mode}_pad{n}d",
        f"{node}{n}DBackward0" if node else "CopySlices",
        "format and back: input" if node else "rows",
    )
    for mode, node in (
        ("reflect", "ReflectionPad"),
        ("replicate", "ReplicationPad"),
        ("circular", ""),
    )
    for n in (1, 2, 3)
}
_PLACES = {"reflect": _reflected, "replicate": _replicated, "circular": _wrapped}


def _check_border(shape: _Ints, pad: _Ints, mode: str) -> None:
    n = len(pad) // 2
    if mode != "circular" and 0 in shape[-n - 1 :]:
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and "
            f"other non-zero dimensions for input, but got: {listed(shape)}"
        )
    sizes = tuple(reversed(shape[-n:]))
    left = [size + pad[2 * i] + pad[2 * i + 1] for i, size in enumerate(sizes)]
    for i, size in enumerate(sizes):
        before, after = pad[2 * i], pad[2 * i + 1]
        if mode == "reflect" and (before >= size or after >= size):
            raise RuntimeError(
                f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input "
                f"dimension, but got: padding ({before}, {after}) at dimension "
                f"{len(shape) - 1 - i} of input {listed(shape)}"
            )
        if mode != "circular":
            continue
        seen = size + min(before, 0) + min(after, 0)  # what is left goes round
        if max(before, after) > (size if left[i] < 0 else max(seen, 0)):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if left[i] < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    if mode != "circular" and max(left) < 1:
        axes = ("W", "H", "D")
        was = ", ".join(reversed([f"{a}: {s}" for a, s in zip(axes, sizes, strict=False)]))
        now = " ".join(reversed([f"{a}: {s}" for a, s in zip(axes, left, strict=False)]))
        raise RuntimeError(f"input ({was}) is too small. Calculated output {now}")
    result = [*shape[:-n], *reversed(left)]
    if min(left) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(left)}: {listed(result)}"
        )
    check_room(result)


def _border(input: Tensor, pad: _Ints, mode: str) -> Tensor:
    n = len(pad) // 2
    if not n or input.ndim not in (n + 1, n + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    taps = _border_taps(tuple(input.shape), pad, mode)
    if mode != "circular":
        refuse(f"{'reflection' if mode == 'reflect' else 'replication'}_pad{n}d", input._form, "b")
    return _core.remember(_pads[mode, n], input, taps)


@functools.lru_cache(maxsize=256)
def _border_taps(shape: _Ints, pad: _Ints, mode: str) -> tuple[Any, ...]:
    _check_border(shape, pad, mode)
    axes = range(len(shape) - 1, -1, -1)
    widths = zip(axes, pad[::2], pad[1::2], strict=False)
    return tuple((d, tap(_PLACES[mode](shape[d], a, b)[None])) for d, a, b in widths)


@composite(where="nn", remembers=True)
def pad(input: Tensor, pad: Sizes, mode: str = "constant", value: Number | None = None) -> Tensor:
    """A border around the last dimensions: widths (last before, last after, the one before it,
    ...)."""
    widths = tuple([as_int(p) for p in pad])
    if len(widths) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(widths) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            "padding length "
            f"{len(widths)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        for i in range(len(widths) // 2):
            size = input.shape[input.ndim - 1 - i]
            left = size + min(widths[2 * i], 0) + min(widths[2 * i + 1], 0)
            if left < 0:
                raise RuntimeError("narrow(): length must be non-negative.")
            if size + widths[2 * i] + widths[2 * i + 1] >= 2**63:
                raise RuntimeError(
                    f"The input size {size}, plus negative padding {widths[2 * i]} and "
                    f"{widths[2 * i + 1]} resulted in a negative output size, which is invalid. "
                    f"Check dimension {input.ndim - 1 - i} of your input."
                )
        if isinstance(value, complex):
            raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
        return _core.remember(constant_pad_nd, input, widths, 0 if value is None else float(value))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in _PLACES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return _border(input, widths, mode)


# ---- channels into space


def _shuffle(x: Tensor, r: int) -> Tensor:
    if x.ndim < 3:
        raise RuntimeError(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{x.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if r * r >= 2**63:
        raise ValueError(
            f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={r}"
        )
    *lead, c, h, w = x.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    t = x.reshape(*lead, c // (r * r), r, r, h, w)
    t = t.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return t.reshape(*lead, c // (r * r), h * r, w * r)


def _unshuffle(x: Tensor, r: int) -> Tensor:
    if x.ndim < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{x.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = x.shape
    for name, size in (("height", h), ("width", w)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, "
                f"but input.size({-2 if name == 'height' else -1})={size} is not divisible by {r}"
            )
    n = len(lead)
    t = x.reshape(*lead, c, h // r, r, w // r, r)
    t = t.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return t.reshape(*lead, c * r * r, h // r, w // r)


pixel_shuffle: Op = linear(
    "pixel_shuffle(input: Tensor, upscale_factor: int)",
    native=_core.kernels.pixel_shuffle,
    is_=_shuffle,
    transpose={"input": lambda g, upscale_factor: pixel_unshuffle(g, upscale_factor)},
    where="torch nn",
    method=False,
    out=False,
    samples=lambda make: [(make(1, 4, 2, 3), 2)],
    keeps="format: input",
    doc="(..., channels * r * r, height, width) as (..., channels, height * r, width * r).",
)
pixel_unshuffle: Op = linear(
    "pixel_unshuffle(input: Tensor, downscale_factor: int)",
    native=_core.kernels.pixel_unshuffle,
    is_=_unshuffle,
    transpose={"input": lambda g, downscale_factor: pixel_shuffle(g, downscale_factor)},
    where="torch nn",
    method=False,
    out=False,
    samples=lambda make: [(make(1, 2, 4, 2), 2)],
    keeps="format: input",
    doc="The inverse of `pixel_shuffle`.",
)


def _dealt(input: Tensor, groups: int) -> Tensor:
    if input.ndim < 3:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{listed(input.shape)}"
        )
    c = input.shape[1]
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    if c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    return input.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2)


channel_shuffle: Op = linear(
    "channel_shuffle(input: Tensor, groups: int)",
    native=_core.kernels.channel_shuffle,
    is_=_dealt,
    transpose={"input": lambda g, groups: channel_shuffle(g, g.shape[1] // groups)},
    node="ChannelShuffleBackward0",
    where="torch nn",
    method=False,
    out=False,
    samples=lambda make: [(make(1, 6, 2), 2)],
    keeps="format: input",
    formula={"input": "channel_shuffle(g, channels / groups)"},
    doc="The channels dealt out from groups, one of each in turn.",
)
