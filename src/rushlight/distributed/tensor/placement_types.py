"""How tensors lie over processes."""

from ..._missing import missing_name as _missing_name
from . import Partial as Partial
from . import Placement as Placement
from . import Replicate as Replicate
from . import Shard as Shard

__getattr__ = _missing_name(__name__)
