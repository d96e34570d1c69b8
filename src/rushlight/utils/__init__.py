"""Helpers beside the tensors: datasets and loaders, hook handles."""

from typing import TYPE_CHECKING

from .._missing import missing_name
from . import hooks as hooks

if TYPE_CHECKING:
    from . import checkpoint as checkpoint
    from . import data as data

__all__ = ["checkpoint", "data", "hooks"]

__getattr__ = missing_name(__name__, late={name: name for name in ("checkpoint", "data")})
