"""`torch.amp`: automatic mixed precision."""

from .._base.missing import missing_name as _missing_name
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

__getattr__ = _missing_name(__name__)
