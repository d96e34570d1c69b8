"""The page of a profile: a flame graph and the tables, as one HTML file without network."""

from __future__ import annotations

from typing import Any

from .._records import Spot
from ._page import document, script, text_of
from ._profile import (
    part_of,
    place_of,
    profile,
    size_text,
    slow_path,
    time_text,
    title_of,
)

__all__ = ["page"]

_LEAST = 2000
"""A spot with less than this part of the time is not drawn."""

_MOST = 100
"""Rows of a table."""


def page(of: profile) -> str:
    """The page as HTML."""
    parts = {
        "style": text_of("page.css") + text_of("profile.css"),
        "script": script("dom", "profile"),
    }
    title = f"{of.title or 'profile'}: where the time goes"
    return document("profile.html", parts, _data(of), title)


def _data(of: profile) -> dict[str, Any]:
    return {
        "title": of.title or "profile",
        "summary": of.summary,
        "flame": _flame(of, [spot for spot in of.records.spots if spot.parent is None]),
        "tables": [cells[: _MOST + 1] for cells in of.tables()],
    }


def _title(spot: Spot) -> str:
    if spot.parent is None:
        return "the program"
    if spot.is_module:
        kind = type(spot.what).__name__
        return name if (name := spot.path[-1]).startswith(kind) else f"{name} ({kind})"
    return title_of(spot)


def _flame(of: profile, spots: list[Spot]) -> dict[str, Any]:
    """Spots of one name as one bar, with the bars of those inside, the slowest first."""
    inside: dict[tuple[str, str], list[Spot]] = {}
    for spot in spots:
        for child in spot.children:
            inside.setdefault((_title(child), place_of(child)), []).append(child)
    bars = [
        _flame(of, group)
        for group in inside.values()
        if sum(s.ns for s in group) * _LEAST >= of.wall_ns
    ]
    slow = next((slow for s in spots if (slow := slow_path(s))), "")
    return {
        "name": _title(spots[0]),
        "ns": sum(s.ns for s in spots),
        "part": part_of(spots[0]),
        "slow": slow,
        "about": _about(of.wall_ns, spots, slow),
        "inside": sorted(bars, key=lambda bar: -bar["ns"]),
    }


def _about(wall: int, spots: list[Spot], slow: str) -> str:
    first, took = spots[0], sum(s.ns for s in spots)
    runs, grown = sum(s.runs for s in spots), sum(s.bytes for s in spots)
    said = [
        f"{_title(first)}: {time_text(took)}, {100 * took / wall:.1f} %",
        f"{time_text(sum(s.self_ns for s in spots))} of that its own",
        f"{runs:,} call{'s' * (runs != 1)}",
        f"memory {'+' * (grown > 0)}{size_text(grown)}" if grown else "",
        *(part_of(first), first.module, place_of(first), slow),
    ]
    return " · ".join(filter(None, said))
