"""Pipes: datasets that are built of one another."""

from rushlight._base.missing import missing_name as _missing_name

from . import datapipe as datapipe
from . import iter as iter
from . import map as map

__getattr__ = _missing_name(__name__)
