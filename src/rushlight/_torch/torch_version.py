"""`torch.torch_version`: a version that is text and compares as versions do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from .._base.version import TORCH_VERSION

__all__ = ["TorchVersion"]

# A version by PEP 440, with the separators and spellings that it allows.
_PATTERN = re.compile(
    r"\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<phase>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<candidate>\d*))?"
    r"(?:-(?P<build>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<patch>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<day>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
    re.IGNORECASE,
)
_PHASES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_FIRST, _LAST = (-1,), (1,)


def _key(text: str) -> tuple[object, ...] | None:
    """The key by which versions are ordered; None for a text that is no version."""
    m = _PATTERN.fullmatch(text)
    if m is None:
        return None
    release = [int(part) for part in m["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        del release[-1]
    final = m["post"] or m["build"]
    post = (0, int(m["build"] or m["patch"] or 0)) if final else _FIRST
    dev = (0, int(m["day"] or 0)) if m["dev"] else _LAST
    if m["phase"]:
        phase = m["phase"].lower()
        before: tuple[object, ...] = (0, _PHASES.get(phase, phase), int(m["candidate"] or 0))
    else:
        before = _FIRST if m["dev"] and not final else _LAST
    parts = re.split("[-_.]", m["local"].lower()) if m["local"] else []
    local = [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]
    return int(m["epoch"] or 0), release, before, post, dev, bool(local), local


class TorchVersion(str):
    """A version as text that compares with versions, texts and tuples of numbers.

    >>> torch.torch_version.TorchVersion("2.13.0+rushlight") > "2.9"
    True
    >>> torch.torch_version.TorchVersion("2.13.0") >= (2, 13)
    True
    """

    __module__ = "rushlight.torch_version"

    def _compared(self, other: object, compare: Callable[[object, Any], bool]) -> bool:
        """Compare as versions; as texts, where the other is none."""
        if isinstance(other, Iterable) and not isinstance(other, str):
            text = ".".join(str(part) for part in other)
        elif isinstance(other, str) or hasattr(other, "release"):  # packaging's Version
            text = str(other)
        else:
            return NotImplemented
        mine, theirs = _key(self), _key(text)
        if mine is None or theirs is None:
            return compare(str(self), text)
        return compare(mine, theirs)

    def __lt__(self, other: object) -> bool:
        return self._compared(other, lambda a, b: a < b)

    def __le__(self, other: object) -> bool:
        return self._compared(other, lambda a, b: a <= b)

    def __gt__(self, other: object) -> bool:
        return self._compared(other, lambda a, b: a > b)

    def __ge__(self, other: object) -> bool:
        return self._compared(other, lambda a, b: a >= b)

    def __eq__(self, other: object) -> bool:
        return self._compared(other, lambda a, b: a == b)

    def __ne__(self, other: object) -> bool:
        return self._compared(other, lambda a, b: a != b)

    __hash__ = str.__hash__


__version__ = TorchVersion(TORCH_VERSION)
