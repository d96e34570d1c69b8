"""Scaling of losses over processes: over one, that of `torch.amp`."""

from ..._base.missing import missing_name as _missing_name
from ...amp import GradScaler


class ShardedGradScaler(GradScaler):
    """`torch.amp.GradScaler`: one process has all gradients."""


__getattr__ = _missing_name(__name__)
