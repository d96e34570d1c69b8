"""`DataParallel`, for one device, and `DistributedDataParallel`, for many processes.

The model is the attribute `module`, and its keys in a state_dict begin with "module.".
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..._base.missing import missing_name as _missing_name
from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel  # not the module of that name

if _TYPE_CHECKING:
    from .distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]

__getattr__ = _missing_name(
    __name__, late={"DistributedDataParallel": "distributed", "distributed": "distributed"}
)
