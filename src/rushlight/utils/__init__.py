"""Helpers beside the tensors: datasets and loaders, hook handles."""

from . import hooks as hooks
from . import data as data

__all__ = ["data", "hooks"]
