"""Values out of a file as text in an error."""

from __future__ import annotations

_LONGEST = 80
_PLAIN = (type(None), bool, float, complex)


def shown(value: object) -> str:
    """A value as text of bounded length, whatever a file has made of it."""
    kind = type(value)
    if kind in (tuple, list) and len(value) <= 8:  # type: ignore[arg-type]
        inside = ", ".join(_shown(each) for each in value)  # type: ignore[attr-defined]
        return f"[{inside}]" if kind is list else f"({inside})"
    return _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, str | bytes):
        return repr(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]!r}..."
    if type(value) is int:
        return repr(value) if abs(value) < 2**64 else f"an int of {value.bit_length()} bits"
    return repr(value) if type(value) in _PLAIN else f"a {type(value).__name__}"


def printed(text: str) -> str:
    """Text as it is where it is short and can be printed, as names are that save() writes."""
    return text if len(text) < 200 and text.isprintable() else shown(text)


def described(error: Exception) -> str:
    """An error that may hold values out of a file, in the same way."""
    said = error.args[0] if error.args else ""
    if isinstance(error, UnicodeError):
        said = error.args[-1]
    return f"{type(error).__name__}: {said[:200] if isinstance(said, str) else shown(said)}"
