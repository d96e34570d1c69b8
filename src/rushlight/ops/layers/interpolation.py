"""Interpolation of images, and sampling them at given places."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._base.device import cpu
from ..._base.dtypes import float32, float64, uint8
from ..._base.errors import warn
from ..._base.outside import np, np_types
from ..elementwise.selection import where
from ..layout.joining import stack
from ..layout.rearrange import meshgrid
from ..making.creation import linspace, ones, zeros
from ..making.from_data import tensor
from ..table.arrays import Array, anywhere, check_64_bits, check_room, listed, refuse
from ..table.kinds import composite, constant, general
from ..table.signature import Flag, Tensor
from .activation import hardtanh
from .adaptive_pooling import adaptive_avg_pools
from .padding import arrays_of, counted, resampling, tap

_Ints = tuple[int, ...]
_Tap = tuple[Tensor, Tensor | None]  # places and weights, or None for weights of 1
_kernels = _core.kernels

# ---- interpolation

_MODES = ("nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact")
_NEEDS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


def _ratio(n: int, out: int, scale: float | None) -> float:
    """How far one output moves on the input."""
    return 1.0 / scale if scale else n / out


def _nearest_taps(n: int, out: int, scale: float | None, exact: bool) -> _Tap:
    # In float32, as torch computes the places.
    i, step = counted(out, dtype=float32), tensor(_ratio(n, out, scale), dtype=float32, device=cpu)
    places = ((i + 0.5) * step if exact else i * step).floor().long()
    return places.clamp(max=n - 1)[None], None


def _centres(n: int, out: int, scale: float | None, corners: bool) -> Tensor:
    """Where the outputs lie on the input's axis."""
    i = counted(out, dtype=float64)
    if corners:
        return i * ((n - 1) / (out - 1) if out > 1 else 0.0)
    return (i + 0.5) * _ratio(n, out, scale) - 0.5


def _linear_taps(n: int, out: int, scale: float | None, corners: bool) -> _Tap:
    x = _centres(n, out, scale, corners).clamp(min=0.0)
    low = x.long().clamp(max=n - 1)
    high = (low + 1).clamp(max=n - 1)
    part = x - low
    return stack([low, high]), stack([1 - part, part])


def _cubic(x: Tensor, a: float) -> Tensor:
    x = x.abs()
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return where(x <= 1, near, where(x < 2, far, 0.0))


def _cubic_taps(n: int, out: int, scale: float | None, corners: bool) -> _Tap:
    x = _centres(n, out, scale, corners)
    base = x.floor()
    part = x - base
    places = stack([(base.long() + t).clamp(0, n - 1) for t in (-1, 0, 1, 2)])
    return places, stack([_cubic(part - t, -0.75) for t in (-1, 0, 1, 2)])


def _as_it_is(n: int, nearest: bool) -> _Tap:
    return counted(n)[None], None if nearest else ones(1, n, dtype=float64, device=cpu)


def _antialias_taps(n: int, out: int, scale: float | None, corners: bool, cubic: bool) -> _Tap:
    """Weights over a support that grows with the reduction in size."""
    step = (n - 1) / (out - 1) if corners and out > 1 else _ratio(n, out, scale)
    stretch = max(step, 1.0)
    reach = (2.0 if cubic else 1.0) * stretch
    centre = step * (counted(out, dtype=float64) + 0.5)
    first = (centre - reach + 0.5).long().clamp(min=0)
    last = (centre + reach + 0.5).long().clamp(max=n)
    count = int((last - first).max())
    places = first[None] + counted(count)[:, None]
    x = (places - centre[None] + 0.5) / stretch
    weights = _cubic(x, -0.5) if cubic else (1 - x.abs()).clamp(min=0.0)
    weights = where(places < last[None], weights, 0.0)
    return places.clamp(max=n - 1), weights / weights.sum(0)


_upsamples = {
    (mode, n): resampling(f"_upsample_{name.lower()}{n}d", f"Upsample{name}{n}D{aa}Backward0")
    for mode, name, sizes, aa in (
        ("nearest", "Nearest", (1, 2, 3), ""),
        ("nearest-exact", "NearestExact", (1, 2, 3), ""),
        ("linear", "Linear", (1,), ""),
        ("bilinear", "Bilinear", (2,), ""),
        ("trilinear", "Trilinear", (3,), ""),
        ("bicubic", "Bicubic", (2,), ""),
    )
    for n in sizes
}
_upsamples["bilinear-aa", 2] = resampling(
    "_upsample_bilinear2d_aa", "UpsampleBilinear2DAaBackward0"
)
_upsamples["bicubic-aa", 2] = resampling("_upsample_bicubic2d_aa", "UpsampleBicubic2DAaBackward0")


def _whole(places: Array, weights: Any) -> tuple[Array, Array, int]:
    """Places and weights for bytes: the weights of one place added up, then as whole numbers of
    2 ** -bits that fit 16 bits."""
    weights = weights.copy()
    for k in range(1, len(weights)):
        weights[k] += np.where(places[k] == places[k - 1], weights[k - 1], 0.0)
    top = max(float(weights.max()), 0.0)
    bits = next((b for b in range(22) if int(0.5 + top * 2 ** (b + 1)) >= 1 << 15), 22)
    weights[:-1][places[1:] == places[:-1]] = 0.0
    return places, np.trunc(weights * 2**bits + np.copysign(0.5, weights)).astype(np.int32), bits


def _resample_bytes(x: Array, taps: Any) -> Array:
    few = x.shape[1] <= 4  # then torch leaves out what changes no size
    for axis, of_axis in reversed(taps):
        places, weights, bits = _whole(*arrays_of(of_axis))
        if few and places.shape[1] == x.shape[axis]:
            continue
        shape = [-1 if i == axis else 1 for i in range(x.ndim)]
        total: Any = np.int32(1 << (bits - 1))
        for at, weight in zip(places, weights, strict=True):
            total = total + x.take(at, axis) * weight.reshape(shape)
        x = np.clip(total >> bits, 0, 255).astype(np.uint8)
    return x.copy()


_upsample_bytes = constant(
    "_upsample_bytes(input: Tensor, taps: Any)",
    _resample_bytes,
    method=False,
    keeps="format: input",
    batch="folded",
    doc="Weighted sums of bytes along dimensions, rounded after each.",
)


def _is_whole(size: object) -> bool:
    """Whether it is a whole number, or a tensor of one."""
    if isinstance(size, Tensor):
        return not (size.is_floating_point() or size.is_complex())
    return isinstance(size, (int, np_types.integer))


def _target(
    input: Tensor,
    size: int | tuple[int, ...] | None,
    scale_factor: float | None,
    recompute: bool | None,
) -> tuple[list[int], list[float | None]]:
    """The wanted sizes, and the factors that places are computed with (None: from the sizes)."""
    n = input.ndim - 2
    spatial = [int(s) for s in input.shape[2:]]
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, (tuple, list)):
            if len(size) != n:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, but got "
                    "input with spatial "
                    f"dimensions of {spatial} and output size of {size}. Please provide input "
                    "tensor in (N, C, d1, d2, "
                    "...,dK) format and output size in (o1, o2, ...,oK) format."
                )
            if not all(map(_is_whole, size)):
                kinds = [type(s) for s in size]
                raise TypeError(
                    "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
                    f"Tuple[int, int, int], but got size with types {kinds}"
                )
            return [int(s) for s in size], [None] * n
        if not _is_whole(size):
            raise TypeError(
                "interpolate() received an invalid combination of arguments: size is a "
                f"{type(size).__name__}, not a number or a tuple of numbers"
            )
        return [int(size)] * n, [None] * n
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, (tuple, list)):
        if len(scale_factor) != n:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got "
                "input with spatial "
                f"dimensions of {spatial} and scale_factor of shape {scale_factor}. Please provide "
                "input tensor in "
                "(N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
            )
        factors = [float(f) for f in scale_factor]
    else:
        factors = [float(scale_factor)] * n
    sizes = [s * f for s, f in zip(spatial, factors, strict=True)]
    if not all(abs(size) < 2.0**63 for size in sizes):
        raise RuntimeError(
            "value cannot be converted to type int64_t without overflow\n"
            f"scale_factor={scale_factor} of {spatial} gives sizes {sizes}."
        )
    wanted = [math.floor(size) for size in sizes]
    return wanted, [None] * n if recompute else list(factors)


def _check_sizes(spatial: Sequence[int], wanted: Sequence[int]) -> None:
    if min(spatial) > 0 and min(wanted) > 0:
        return
    names = {1: ("W",), 2: ("H", "W"), 3: ("D", "H", "W")}[len(wanted)]

    def text(sizes: Sequence[int]) -> str:
        return ", ".join(f"{name}: {v}" for name, v in zip(names, sizes, strict=True))

    raise RuntimeError(
        f"Input and output sizes should be greater than 0, but got input ({text(spatial)}) output "
        f"({text(wanted)})"
    )


@composite(where="nn", remembers=True)
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: Flag | None = None,
    antialias: bool = False,
) -> Tensor:
    """The images of (batch, channels, ...) brought to a size or scaled by a factor."""
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: "
                "linear | bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    n = input.ndim - 2
    if n not in (1, 2, 3) or mode not in _MODES:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the "
            "modes: nearest | "
            "linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact "
            f"(got {mode})"
        )
    wanted, factors = _target(input, size, scale_factor, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic") and n == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    if mode in _NEEDS and _NEEDS[mode] != input.ndim:
        raise NotImplementedError(
            f"Got {input.ndim}D input, but {mode} mode needs {_NEEDS[mode]}D input"
        )
    if mode == "area":
        return adaptive_avg_pools[n](input, wanted)
    kernel = f"{mode}{n}d_aa" if antialias else f"{mode}{n}d"
    private = "_" if antialias or mode == "nearest-exact" else ""
    check_64_bits(f"{private}upsample_{kernel}".replace("-", "_"), "output_size", wanted)
    _check_sizes(input.shape[2:], wanted)
    check_room([*input.shape[:2], *wanted])
    return resampled(input, mode, wanted, factors, bool(align_corners), antialias)


def _refusing(mode: str, n: int, antialias: bool) -> str:
    """The name of torch's kernel that has no code for an element type."""
    if antialias:
        return "compute_index_ranges_weights"
    if n == 2 and mode != "bicubic":
        return f"upsample_{mode.removesuffix('-exact')}2d_channels_last"
    kind = "nearest" if mode.startswith("nearest") else "cubic" if mode == "bicubic" else "linear"
    return f"compute_indices_weights_{kind}"


def resampled(
    input: Tensor,
    mode: str,
    wanted: Sequence[int],
    factors: Sequence[float | None],
    corners: bool,
    antialias: bool,
) -> Tensor:
    """The images with the wanted sizes; a factor (None: from the sizes) says how far apart the
    places are that are read."""
    n = len(wanted)
    kind = input._form.dtype.kind
    bytes_ = input.dtype is uint8 and mode in ("bilinear", "bicubic")
    if not bytes_ and (kind in "bic" or (kind == "u" and mode not in ("nearest", "nearest-exact"))):
        refuse(_refusing(mode, n, antialias), input._form, "biuc")
    if antialias:
        refuse("compute_index_ranges_weights", input._form, "", halves=True)
    taps = _taps(
        tuple(input.shape[2:]), tuple(wanted), tuple(factors), mode, corners, antialias, bytes_
    )
    if bytes_:
        return _core.remember(_upsample_bytes, input, taps)
    return _core.remember(_upsamples[mode + ("-aa" if antialias else ""), n], input, taps)


@functools.lru_cache(maxsize=256)
def _taps(
    spatial: _Ints,
    wanted: _Ints,
    factors: tuple[float | None, ...],
    mode: str,
    corners: bool,
    antialias: bool,
    bytes_: bool,
) -> tuple[Any, ...]:
    """What each output reads, by dimension."""
    as_is = spatial == wanted and (antialias or bytes_ or mode != "bicubic")  # whatever the factors
    taps = []
    for i, (have, out, factor) in enumerate(zip(spatial, wanted, factors, strict=True)):
        made: _Tap
        if as_is:
            made = _as_it_is(have, mode.startswith("nearest"))
        elif mode in ("nearest", "nearest-exact"):
            made = _nearest_taps(have, out, factor, mode == "nearest-exact")
        elif antialias:
            made = _antialias_taps(have, out, factor, corners, mode == "bicubic")
        elif mode == "bicubic":
            made = _cubic_taps(have, out, factor, corners)
        else:
            made = _linear_taps(have, out, factor, corners)
        taps.append((i + 2, tap(*made)))
    return tuple(taps)


@composite(where="nn")
def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` under its older name."""
    warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


# ---- sampling at given places

GRID_MODES = ("bilinear", "nearest", "bicubic")
GRID_PADDINGS = ("zeros", "border", "reflection")
_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


def _corners(align_corners: bool | None) -> bool:
    if align_corners is None:
        warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
            "1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of "
            "grid_sample for "
            "details.",
        )
        return False
    return align_corners


@composite(where="nn")
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The places that affine maps theta give the pixels of images of a size, in [-1, 1]."""
    align_corners = _corners(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got "
            f"{theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    check_64_bits("affine_grid_generator", "size", size)
    check_room([size[0], *size[2:], n])
    how: Any = {"dtype": theta.dtype, "device": theta.device}

    def axis(n: int) -> Tensor:
        if n <= 1:
            return zeros(n, **how)
        line = linspace(-1, 1, n, **how)
        return line if align_corners else line * ((n - 1) / n)

    spatial = [int(s) for s in size[2:]]
    axes = meshgrid(*(axis(n) for n in spatial), indexing="ij")
    base = stack([*reversed(axes), ones(spatial, **how)], -1)
    flat = base.reshape(1, -1, n + 1).expand(size[0], -1, -1)
    return flat.bmm(theta.mT).reshape(size[0], *spatial, n)


def _bounded(at: Tensor, size: int, padding: int, corners: bool) -> Tensor:
    """Whole places moved into the image as the padding says; zeros leave them."""
    if padding == _BORDER:
        return at.clamp(0, size - 1)
    if padding == _REFLECTION:
        low, high = (0, 2 * (size - 1)) if corners else (-1, 2 * size - 1)
        if high <= low:
            return at * 0
        return _mirror(at.double(), size, corners)[0].clamp(0, size - 1).long()
    return at


def _cubic_weights(part: Tensor) -> list[Tensor]:
    """The weights of the places -1, 0, 1, 2 around a fraction, by Keys' kernel with a = -0.75."""
    a = -0.75

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]


def _cubic_slopes(part: Tensor) -> list[Tensor]:
    """The derivatives of these weights by the fraction."""
    a = -0.75

    def near(x: Tensor) -> Tensor:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Tensor) -> Tensor:
        return (3 * a * x - 10 * a) * x + 8 * a

    return [far(part + 1), near(part), -near(1 - part), -far(2 - part)]


def _grid_taps(x: Tensor, size: int, mode: int, padding: int, corners: bool) -> list[Any]:
    """(whole places, weights or None, the weights' slopes) of what is read along one dimension at
    the real places x."""
    if mode == _NEAREST:
        return [(x.detach().round().long(), None, 0)]
    low = x.detach().floor()
    part = x - low
    base = low.long()
    if mode == _BILINEAR:
        return [(base, 1 - part, -1), (base + 1, part, 1)]
    every = zip((-1, 0, 1, 2), _cubic_weights(part), _cubic_slopes(part), strict=True)
    return [(_bounded(base + t, size, padding, corners), w, slope) for t, w, slope in every]


def _grid_axes(
    input: Tensor, grid: Tensor, mode: int, padding: int, corners: bool
) -> list[list[Any]]:
    """The taps of each dimension, with slopes by the numbers of the grid."""
    every = []
    n = input.ndim - 2
    for k, size in enumerate(map(int, input.shape[2:])):
        number = grid.select(-1, n - 1 - k)
        x = (number + 1) * ((size - 1) / 2) if corners else ((number + 1) * size - 1) / 2
        rate: Any = (size - 1) / 2 if corners else size / 2
        if mode != _BICUBIC:
            if padding == _REFLECTION:
                x, turned = _mirror(x, size, corners)
                rate = turned * rate
            if padding != _ZEROS:
                rate = where((x > 0) & (x < size - 1), rate, 0.0)
                x = hardtanh(x, 0, size - 1)  # a clamp that is flat at its bounds too
        taps = _grid_taps(x, size, mode, padding, corners)
        every.append([(at, weight, slope * rate) for at, weight, slope in taps])
    return every


def _pixels(input: Tensor, axes: list[list[Any]]) -> Any:
    """Of each pixel that the places read: its place in the flat image, where it is none, and its
    taps."""
    for corner in itertools.product(*axes):
        index: Any = None
        inside: Any = None
        for (at, _, _), size in zip(corner, map(int, input.shape[2:]), strict=True):
            there, place = (at >= 0) & (at < size), at.clamp(0, size - 1)
            inside = there if inside is None else inside & there
            index = place if index is None else index * size + place
        yield index, ~inside, corner


def _weight(corner: Any, without: int = -1) -> Any:
    """The product of the weights, for one dimension its slope."""
    weight: Any = None
    for d, (_, part, slope) in enumerate(corner):
        part = slope if d == without else part
        if part is not None:
            weight = part if weight is None else weight * part
    return weight


def _picked(input: Tensor, index: Tensor, outside: Tensor) -> Tensor:
    n, c = input.shape[:2]
    places = index.reshape(n, 1, math.prod(index.shape[1:])).expand(n, c, -1)
    flat = input.reshape(n, c, math.prod(input.shape[2:]))
    picked = flat.gather(2, places).reshape(n, c, *index.shape[1:])
    return picked.masked_fill(outside.unsqueeze(1), 0.0) if anywhere(outside) else picked


def _sample(input: Tensor, grid: Tensor, mode: int, padding: int, corners: bool) -> Tensor:
    total: Any = None
    for index, outside, corner in _pixels(input, _grid_axes(input, grid, mode, padding, corners)):
        picked = _picked(input, index, outside)
        weight = _weight(corner)
        if weight is not None:
            picked = picked * weight.unsqueeze(1)
        total = picked if total is None else total + picked
    return total


def _sample_vjp(
    g: Tensor,
    input: Tensor,
    grid: Tensor,
    mode: int,
    padding: int,
    corners: bool,
    needs: tuple[int, ...],
) -> tuple[Tensor | None, ...]:
    n, c = input.shape[:2]
    axes = _grid_axes(input, grid, mode, padding, corners)
    to_input: Any = input.detach().reshape(n, c, math.prod(input.shape[2:])) * 0
    slopes: list[Any] = [0] * len(axes)
    for index, outside, corner in _pixels(input, axes):
        if needs[0]:
            weight = _weight(corner)
            part = g if weight is None else g * weight.unsqueeze(1)
            part = part.masked_fill(outside.unsqueeze(1), 0.0)
            places = index.reshape(n, 1, math.prod(index.shape[1:])).expand(n, c, -1)
            to_input = to_input.scatter_add(2, places, part.reshape(places.shape))
        if needs[1]:
            dot = (g * _picked(input, index, outside)).sum(1)
            slopes = [s + dot * _weight(corner, d) for d, s in enumerate(slopes)]
    return (
        to_input.reshape(input.shape) if needs[0] else None,
        stack(slopes[::-1], -1) if needs[1] else None,
    )


def _sampler(n: int) -> Any:
    image, places = ((2, 3, 4), (2, 3, 2)) if n == 2 else ((2, 3, 2, 3), (2, 1, 2, 3))
    return general(
        f"_grid_sampler_{n}d(input: Tensor, grid: Tensor, mode: Any, padding: Any, corners: Any)",
        is_=_sample,
        native=_kernels.grid_sample,
        vjp={"input, grid": _sample_vjp},
        backward=(_kernels.grid_sample_backward, "g input grid mode padding corners needs"),
        node=f"GridSampler{n}DBackward0",
        method=False,
        samples=lambda make: [
            (make(1, *image), make(1, *places), mode, padding, corners)
            for mode, padding, corners in ((0, 0, False), (2 if n == 2 else 0, 1, True))
        ],
        keeps="format: input",
        formula={"input": "g spread over the pixels", "grid": "g · the image's slope"},
        doc="Images sampled at places.",
    )


_samplers = {n: _sampler(n) for n in (2, 3)}


def _check_grid(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    if mode not in GRID_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in GRID_PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            "'reflection', "
            f"but got: '{padding_mode}'"
        )


def check_sampled(input: Tensor, grid: Tensor) -> None:
    """The conditions on images and on the grid that samples them, of any dimensions."""
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            "sizes "
            f"{listed(input.shape)} and grid with sizes {listed(grid.shape)}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but "
            "got grid with sizes "
            f"{listed(grid.shape)}"
        )
    for dim, size in enumerate(input.shape[2:], 2):
        if not size:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {listed(input.shape)} with dimension {dim} being empty"
            )


def _check_grid_sizes(input: Tensor, grid: Tensor, mode: str) -> None:
    check_sampled(input, grid)
    if input.ndim not in (4, 5) or grid.ndim != input.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected {5 if input.ndim == 5 else 4}D input and grid with same "
            f"number of dimensions, but got input with sizes {listed(input.shape)} and grid with "
            f"sizes {listed(grid.shape)}"
        )
    if mode == "bicubic" and input.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if grid.dtype is not input.dtype:
        raise RuntimeError(
            f"expected scalar type {input.dtype.scalar_name} but found {grid.dtype.scalar_name}"
        )


@composite(where="nn", autocast="float32 here, widest there", remembers=True)
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """input sampled at the places of grid, whose last dimension is (x, y) or (x, y, z) in [-1,
    1]."""
    _check_grid(input, grid, mode, padding_mode)
    warns = align_corners is None
    align_corners = _corners(align_corners)
    _check_grid_sizes(input, grid, mode)
    refuse(f"grid_sampler_{input.ndim - 2}d_cpu_kernel_impl", input._form, "biuc")
    how = GRID_MODES.index(mode), GRID_PADDINGS.index(padding_mode), bool(align_corners)
    sampler = _samplers[input.ndim - 2]
    if warns:
        return sampler(input, grid, *how)
    return _core.remember(sampler, input, grid, *how)


def _mirror(x: Tensor, size: int, corners: bool) -> tuple[Tensor, Tensor]:
    """The places reflected at the borders, and 1 or -1: the direction in which each goes then."""
    low, high = (0.0, 2.0 * (size - 1)) if corners else (-1.0, 2.0 * size - 1)
    if high <= low:
        return x * 0, x.detach() * 0
    half, span = low / 2, (high - low) / 2
    behind = x.detach() < half
    away = (x - half).abs()
    turns = (away.detach() / span).floor()
    rest = away - turns * span
    odd = turns % 2 == 1
    return where(odd, span - rest + half, rest + half), where(odd ^ behind, -1.0, 1.0).to(x.dtype)


__all__ = ["affine_grid", "grid_sample", "interpolate", "upsample"]
