"""`torch.distributed.distributed_c10d`: its names under their module's name."""

from __future__ import annotations

from typing import Any

from .._missing import missing_name as _missing_name
from . import *  # noqa: F403
from . import ProcessGroup, _group
from . import __all__ as __all__
from .constants import default_pg_timeout as default_pg_timeout

_pg_map: dict[ProcessGroup, Any] = {}


def _get_default_group() -> ProcessGroup:
    """The group of this process; ValueError where none was started."""
    return _group(None)


__getattr__ = _missing_name(__name__)
