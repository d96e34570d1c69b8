"""Passes over graphs."""

from ..._base.missing import missing_name as _missing_name

__getattr__ = _missing_name(__name__, late={n: n for n in ("graph_drawer", "shape_prop", "utils")})
