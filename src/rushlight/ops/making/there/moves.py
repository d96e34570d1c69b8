"""Moves between devices."""

from __future__ import annotations

from typing import Any

from ...._core import Tensor
from ...._devices import cpu
from ...._devices.there import there
from .. import casts


@there(casts._to_device)
def _to_device(tensor: Tensor, where: Any, back: Any) -> Tensor:

    return back.to_host(tensor) if where is cpu else where.from_host(tensor)
