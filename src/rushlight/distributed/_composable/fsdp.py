"""Another place of `torch.distributed.fsdp`'s names."""

from ..._missing import missing_name as _missing_name
from ..fsdp import CPUOffloadPolicy as CPUOffloadPolicy
from ..fsdp import FSDPModule as FSDPModule
from ..fsdp import MixedPrecisionPolicy as MixedPrecisionPolicy
from ..fsdp import OffloadPolicy as OffloadPolicy
from ..fsdp import fully_shard as fully_shard
from ..fsdp import register_fsdp_forward_method as register_fsdp_forward_method

__getattr__ = _missing_name(__name__)
