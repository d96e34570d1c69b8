"""Errors of exports: never raised."""

from .._missing import missing_name as _missing_name
from . import OnnxExporterError as OnnxExporterError


class OnnxExporterWarning(UserWarning):
    """Never given."""


class UnsupportedOperatorError(OnnxExporterError):
    """Never raised."""


class SymbolicValueError(OnnxExporterError):
    """Never raised."""


__getattr__ = _missing_name(__name__)
