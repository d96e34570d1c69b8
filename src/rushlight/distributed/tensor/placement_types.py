"""How tensors lie over processes."""

import dataclasses

from ..._missing import missing_name as _missing_name
from . import Partial as Partial
from . import Placement as Placement
from . import Replicate as Replicate
from . import Shard as Shard


@dataclasses.dataclass(frozen=True)
class _StridedShard(Shard):
    """Each process has every so many parts of a dimension. Libraries ask for it by isinstance."""

    split_factor: int


__getattr__ = _missing_name(__name__)
