"""Helpers beside the tensors: datasets and loaders, hook handles."""

from . import data as data
from . import hooks as hooks

__all__ = ["data", "hooks"]
