"""torch._VF: functions of torch under the name that libraries call the recurrent ones by."""

from __future__ import annotations

from typing import Any

from . import _root

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    return getattr(_root, name)
