"""`torch.distributed.optim`: optimizers over processes."""

from ..._base.missing import missing_name as _missing_name
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

__getattr__ = _missing_name(__name__)
