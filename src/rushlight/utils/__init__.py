"""Helpers beside the tensors: datasets and loaders, hook handles."""

from .._missing import missing_name
from . import checkpoint as checkpoint
from . import data as data
from . import hooks as hooks

__all__ = ["checkpoint", "data", "hooks"]

__getattr__ = missing_name(__name__)
