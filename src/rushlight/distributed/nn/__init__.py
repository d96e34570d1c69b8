"""`torch.distributed.nn`: collectives with gradients."""

from ..._errors import refused as _refused
from ..._missing import missing_name as _missing_name
from . import functional as functional
from .functional import all_gather as all_gather
from .functional import all_reduce as all_reduce
from .functional import all_to_all as all_to_all
from .functional import broadcast as broadcast
from .functional import gather as gather
from .functional import reduce as reduce
from .functional import reduce_scatter as reduce_scatter
from .functional import scatter as scatter

RemoteModule = _refused(
    "torch.distributed.nn.RemoteModule", "processes do not talk to each other here.", True
)

__getattr__ = _missing_name(__name__)
