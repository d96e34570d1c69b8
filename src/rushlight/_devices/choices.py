"""Which kernel of several computes a call: thresholds and tiles by device, from choices.toml.

`measure` times the kernels on a device, with each number of a row at several values, and returns
the row that was fastest.
"""

from __future__ import annotations

import contextlib
import json
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from .. import _core
from .._base.outside import np
from .accelerators import Facts, numbered

__all__ = [
    "Row",
    "has_tf32",
    "measure",
    "pieces",
    "product",
    "row",
    "using",
    "wanted_groups",
    "written",
]


class Row(NamedTuple):
    """A device's numbers. Products and convolutions count what they multiply."""

    device: str
    date: str
    how: str
    """On what the numbers were measured."""
    least_side: int
    """Rows, columns and terms below which products take the kernel without preparation."""
    least_product: int
    """And what they multiply."""
    least_convolution: int
    few_tiles: int
    """A sum is cut into pieces where there are fewer work items than this,"""
    few_groups: int
    """or fewer groups,"""
    least_terms: int
    """and the pieces have so many terms."""
    wide_groups: int
    """Tiles are of 128 rows and columns where there are so many of them, else of 64."""
    packed_terms: int
    """Of products of packed copies: terms whose copies stay near the processor,"""
    packed_numbers: int
    """numbers of all pieces,"""
    packed_bytes: int
    """and of convolutions, bytes of patches at a time."""
    long_row: int
    """Elements of a row from which on a softmax has kernels of its own."""
    groups_each: int
    """Groups of a multiprocessor for which reductions are cut into parts."""
    row_pieces: int
    """Pieces of 16 bytes of a row, up to which a part of a warp reduces the row, not a group."""
    least_twice: int
    """Elements of a reduction over scattered dimensions that is worth two kernels."""
    least_library: int
    """Products and convolutions that multiply so much are those of cuBLAS and cuDNN, if here."""


NEVER = 1 << 62


@cache
def _table() -> dict[str, Row]:
    with Path(__file__).with_name("choices.toml").open("rb") as file:
        return {each["device"]: Row(**each) for each in tomllib.load(file)["row"]}


_chosen: dict[int, Row] = {}


def row(device: int) -> Row:
    """The row of a device: of its name, else of its kind."""
    found = _chosen.get(device)
    if found is None:
        facts, table = numbered(device).facts, _table()
        kind = "a processor" if facts.is_cpu else "NVIDIA" if facts.warp else "a GPU"
        found = _chosen[device] = table.get(facts.name, table[kind])
    return found


@contextlib.contextmanager
def using(device: int, /, **numbers: Any) -> Iterator[None]:
    """A block in which some numbers of a device's row are others."""
    before = row(device)
    _chosen[device] = before._replace(**numbers)
    _core.accelerator_forget_calls()
    try:
        yield
    finally:
        _chosen[device] = before
        _core.accelerator_forget_calls()


def _multiplies(facts: Facts, stored: Any) -> bool:
    """Whether tiles.cl has a kernel for an element type on a device."""
    return stored.is_floating_point and (stored.itemsize > 2 or facts.capability >= (8, 0))


def has_tf32(device: int) -> bool:
    return numbered(device).facts.capability >= (8, 0)


def product(
    device: int, stored: Any, sizes: tuple[int, int, int], terms: int, stacks: int
) -> tuple[str, int]:
    """Which kernels a product takes ("", "TILED", "TILES" or "PACKED", see products.cl), and the
    rows and columns of a tile. sizes: rows, columns, terms of a part; terms: of a whole sum."""
    (m, n, depth), chosen, facts = sizes, row(device), numbered(device).facts
    if min(m, n) < chosen.least_side or stacks * m * n * terms < chosen.least_product:
        return "", 4
    if facts.is_cpu and not facts.warp:
        return "PACKED", 8
    if depth < chosen.least_side:
        return "", 4
    if not facts.warp or not _multiplies(facts, stored):
        return "TILED", 64
    wide, narrow = (-(-m // tile) * -(-n // tile) for tile in (128, 64))
    idle = wide * 4 > narrow * 1.25  # what tiles have beyond the ends
    if stored.itemsize > 4 or idle or stacks * wide < chosen.wide_groups:
        return "TILES", 64
    return "TILES", 128


def pieces(device: int, way: str, tiles: int, numbers: int, terms: int) -> int:
    """Into how many pieces the sums of a product are cut. tiles: of all work items or groups;
    numbers: of the result."""
    chosen = row(device)
    if way == "PACKED":
        cut = chosen.packed_numbers // numbers, terms // chosen.packed_terms
    else:
        most = chosen.few_groups if way else chosen.few_tiles
        cut = most // tiles, terms // chosen.least_terms
    return max(1, min(cut))


def wanted_groups(like: Any) -> int:
    """Into how many groups a reduction is cut, on a device whose work items go in warps."""
    device = like._accelerator
    return row(device).groups_each * numbered(device).facts.processors


# ---- measuring


def _jobs(device: int) -> dict[str, Callable[[], object]]:
    """Calls that show the numbers of a row, by name."""
    here, random = numbered(device), np.random.default_rng(0)

    def numbers(*shape: int) -> Any:
        return here.tensor(random.standard_normal(shape, np.float32))

    def times(m: int, k: int, n: int) -> Callable[[], object]:
        a, b = numbers(m, k), numbers(k, n)
        return lambda: a @ b

    sums, wide, deep = numbers(64, 1 << 14), numbers(4096, 2048), numbers(16, 512, 16)
    images, taps, lines = numbers(4, 32, 14, 14), numbers(32, 32, 3, 3), numbers(512, 64)
    one, ones = numbers(1, 1, 14, 14), numbers(8, 1, 3, 3)
    convolve = _core.kernels.convolution

    def convolved(x: Any, w: Any) -> object:
        return convolve(x, w, None, (1, 1), (1, 1), (1, 1), 1)

    return {
        "narrow": times(8, 512, 512),
        "small": times(48, 48, 48),
        "square": times(1024, 256, 1024),
        "long": times(128, 8192, 128),
        "dot": times(2, 1 << 16, 2),
        "small images": lambda: convolved(one, ones),
        "images": lambda: convolved(images, taps),
        "long rows": lambda: sums.sum(1),
        "short rows": lambda: wide.sum(1),
        "scattered": lambda: deep.sum((0, 2)),
        "rows": lambda: _core.kernels.softmax(lines, 1),
    }


_TRIED: dict[str, tuple[tuple[int, ...], str]] = {
    "least_side": ((4, 8, 16, 32), "narrow"),
    "least_product": ((1 << 14, 1 << 16, 1 << 17, 1 << 19), "small"),
    "least_convolution": ((1 << 12, 1 << 14, 1 << 17), "small images"),
    "few_tiles": ((512, 2048, 8192, 33792), "dot"),
    "few_groups": ((66, 132, 264, 528), "long"),
    "least_terms": ((64, 128, 256, 512), "long"),
    "wide_groups": ((32, 64, 128, 256), "square"),
    "packed_terms": ((256, 1024, 4096), "long"),
    "packed_bytes": ((1 << 20, 1 << 23, 1 << 26), "images"),
    "long_row": ((32, 64, 128), "rows"),
    "groups_each": ((2, 4, 8, 16), "long rows"),
    "row_pieces": ((128, 256, 512, 1024), "short rows"),
    "least_twice": ((1 << 13, 1 << 15, 1 << 18), "scattered"),
    "least_library": ((1 << 21, NEVER), "square"),
}
"""The values that are tried for a number, and the call that shows which is best."""


def _times(
    device: int, job: Callable[[], object], rows: dict[int, Row], seconds: float
) -> dict[int, float]:
    """The shortest times of eight calls by rows, which take turns: all meet the same noise."""
    finish, times = numbered(device).synchronize, dict.fromkeys(rows, inf)
    first, until = True, 0.0
    while first or perf_counter() < until:
        for value, each in rows.items():
            with using(device, **each._asdict()):
                if first:  # compiles
                    job()
                    finish()
                begun = perf_counter()
                for _ in range(8):
                    job()
                finish()
                times[value] = min(times[value], perf_counter() - begun)
        if first:
            first, until = False, perf_counter() + seconds * len(rows)
    return times


def measure(
    device: int, date: str, how: str = "measured", seconds: float = 0.05, most: float = inf
) -> Row:
    """The row of a device, its numbers chosen one after another by the time of calls. most: the
    seconds after which no other number is tried; `how` then names those that were not."""
    end, jobs, left = perf_counter() + most, _jobs(device), list(_TRIED)
    best = row(device)._replace(device=numbered(device).facts.name, date=date, how=how)
    for name, (values, job) in _TRIED.items():
        if perf_counter() > end:
            return best._replace(how=f"{how}, but not {', '.join(left)}")
        left.remove(name)
        now, kernels = getattr(best, name), best._replace(least_library=NEVER)
        tried: dict[int, dict[str, Any]] = {value: {name: value} for value in {now, *values}}
        rows = {value: kernels._replace(**number) for value, number in tried.items()}
        times = _times(device, jobs[job], rows, seconds)
        fastest = min(times, key=times.__getitem__)
        if times[fastest] < 0.95 * times[now]:  # less is noise
            best = best._replace(**tried[fastest])
    return best


def written(found: Row) -> str:
    """The row as choices.toml has it."""
    lines = (f"{name} = {json.dumps(value)}" for name, value in found._asdict().items())
    return "\n".join(("[[row]]", *lines, ""))
