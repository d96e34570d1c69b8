"""Helpers of passes."""

from ...._base.missing import missing_name as _missing_name

__getattr__ = _missing_name(__name__, late={"matcher_utils": "matcher_utils"})
