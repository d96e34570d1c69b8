"""The page of a profile: a flame graph and the tables, as one HTML file without network."""

from __future__ import annotations

from typing import Any

from .._records import Spot
from ._page import document, script, text_of
from ._profile import PARTS, Profile, Row, part_of, place_of, slow_path, title_of

__all__ = ["page"]

_LEAST = 2000
"""A spot with less than this part of the time is not drawn."""


def page(profile: Profile) -> str:
    """The page as HTML."""
    parts = {"style": text_of("profile.css"), "script": script("dom", "profile")}
    return document("profile.html", parts, _data(profile), profile.title or "profile")


def _data(profile: Profile) -> dict[str, Any]:
    tables = {"part": list(profile.parts.values()), "module": profile.modules}
    tables |= {"line": profile.lines, "op": profile.ops}
    return {
        "title": profile.title or "profile",
        "wall": profile.wall_ns,
        "peak": profile.records.peak,
        "parts": list(PARTS),
        "flame": _flame([profile.records.root], profile.wall_ns // _LEAST),
        "tables": [
            {"title": title, "rows": [_row(row) for row in rows if row.name][:100]}
            for title, rows in tables.items()
        ],
    }


def _row(row: Row) -> list[Any]:
    return [row.name, row.ns, row.bytes, row.calls, row.slow]


def _title(spot: Spot) -> str:
    if spot.parent is None:
        return "the program"
    if spot.is_module:
        kind = type(spot.what).__name__
        return kind if len(spot.path) == 1 else f"{spot.path[-1]} ({kind})"
    return title_of(spot)


def _flame(spots: list[Spot], least: int) -> dict[str, Any]:
    """Spots of one name as one bar, with the bars of those inside, the slowest first."""
    inside: dict[tuple[str, str], list[Spot]] = {}
    for spot in spots:
        for child in spot.children:
            inside.setdefault((_title(child), place_of(child)), []).append(child)
    bars = [
        bar
        for group in inside.values()
        if sum(s.ns for s in group) >= least
        for bar in (_flame(group, least),)
    ]
    first = spots[0]
    return {
        "name": _title(first),
        "ns": sum(s.ns for s in spots),
        "self": sum(s.self_ns for s in spots),
        "calls": sum(s.runs for s in spots),
        "bytes": sum(s.bytes for s in spots),
        "part": part_of(first),
        "place": place_of(first),
        "module": first.module,
        "slow": next((slow for s in spots if (slow := slow_path(s))), ""),
        "inside": sorted(bars, key=lambda bar: -bar["ns"]),
    }
