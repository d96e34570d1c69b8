"""Algorithms over processes."""

from ..._base.missing import missing_name as _missing_name

__getattr__ = _missing_name(
    __name__, late={n: n for n in ("ddp_comm_hooks", "join", "model_averaging")}
)
