"""Text in an SVG file: what may stand in it, and how much room it takes."""

from __future__ import annotations

import re
from html import escape

__all__ = ["clean", "coordinate", "width", "xml"]

_UNDRAWABLE = re.compile(
    "[^\t\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]"
)
"""Characters that XML has no place for, and marks that turn the direction of the text behind."""


def clean(text: str) -> str:
    """Text without control characters."""
    return _UNDRAWABLE.sub("", text)


def xml(text: str) -> str:
    """Text as it stands in XML."""
    return escape(clean(text))


def coordinate(value: float) -> str:
    """A number with one digit behind the point, or none."""
    return f"{value:.1f}".removesuffix(".0")


_WIDTHS = {
    **dict.fromkeys("ijl'|", 0.28),
    **dict.fromkeys("ftrI.,:;!/\\()[] -", 0.39),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ&", 0.71),
    **dict.fromkeys("mwMW%@", 0.96),
    **dict.fromkeys("+=<>−×÷~·", 0.8),
}


def width(text: str, size: float) -> float:
    """About how wide a text is, in a font that is rather wide. The signs of other scripts may be
    as wide as they are high."""
    return size * sum(_WIDTHS.get(c, 0.62 if c < "\u2e80" else 1.05) for c in text)
