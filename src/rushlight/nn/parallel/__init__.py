"""`DataParallel` and `DistributedDataParallel` for one process on one device: they call the module.

Programs that wrap their model run unchanged: the model is the attribute `module`, and its keys in a
state_dict begin with "module.".
"""

from ..._missing import missing_name as _missing_name
from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel  # not the module of that name
from .distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]

__getattr__ = _missing_name(__name__)
