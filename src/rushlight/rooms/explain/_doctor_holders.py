"""Where a program keeps a tensor: the container's name, and the line that fills the container."""

from __future__ import annotations

import linecache
import re
import sys
from collections import deque
from types import FrameType, FunctionType, ModuleType

from .._base import FOLDER
from .._base.sources import locals_of
from .._core import Tensor
from ._passes import _program

__all__ = ["holder"]

_FILLS = "append|extend|add|appendleft|update"
_MOST = 1000
"""Items of a container that are looked at: the last."""


def holder(t: Tensor) -> tuple[tuple[str, int] | None, str]:
    """The line of the program that puts something into the container that holds a tensor, and the
    container's name; None and "" where no variable leads to one."""
    frame: FrameType | None = _program(sys._getframe(1))
    while frame is not None and not frame.f_code.co_filename.startswith(FOLDER):
        for name, value in {**frame.f_globals, **locals_of(frame)}.items():
            found = _inside(value, t, name)
            line = _line_that_fills(frame.f_code.co_filename, found) if found else None
            if line is not None:
                return line, found
        frame = frame.f_back
    return None, ""


def _inside(value: object, t: Tensor, name: str, depth: int = 3) -> str:
    """The name, of a variable or an attribute, of the container in there that holds `t`; or ""."""
    if not depth or isinstance(value, (type, Tensor, ModuleType, FunctionType)):
        return ""
    if isinstance(value, (list, tuple, deque, dict)):
        items = list(value.values() if isinstance(value, dict) else value)[-_MOST:]
        if any(item is t for item in items):
            return name
        return next((n for item in items if (n := _inside(item, t, name, depth - 1))), "")
    fields = getattr(value, "__dict__", None)
    named = list(fields.items()) if isinstance(fields, dict) else []
    return next((n for key, held in named if (n := _inside(held, t, key, depth - 1))), "")


def _line_that_fills(file: str, word: str) -> tuple[str, int] | None:
    """The first line that puts something into a container of that name."""
    fills = rf"\b{re.escape(word)}(\[.*\])*(\.({_FILLS})\(| *\+= | *= *{re.escape(word)} *\+ )"
    fills += rf"|\b{re.escape(word)}\[.*\] *=(?!=)"
    lines = enumerate(linecache.getlines(file), 1)
    return next(((file, n) for n, line in lines if re.search(fills, line)), None)
