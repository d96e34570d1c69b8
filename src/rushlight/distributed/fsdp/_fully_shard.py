"""Another place of `torch.distributed.fsdp`'s names."""

from ..._missing import missing_name as _missing_name
from . import *  # noqa: F403

__getattr__ = _missing_name(__name__)
