"""`torch.distributed.optim`: optimizers over processes."""

from ..._errors import refuse_all as _refuse_all
from ..._missing import missing_name as _missing_name
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

globals().update(
    _refuse_all(
        "torch.distributed.optim",
        "DistributedOptimizer as_functional_optim",
        "parameters of other processes (RPC) and functional optimizers are not here.",
    )
)

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

__getattr__ = _missing_name(__name__)
