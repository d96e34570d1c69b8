"""`torch.distributed.distributed_c10d`: its names under their module's name."""

from __future__ import annotations

import pickle
from typing import Any

from .. import _root as rl
from .._core import Tensor
from .._missing import missing_name as _missing_name
from . import *  # noqa: F403
from . import ProcessGroup, _group
from . import __all__ as __all__
from .constants import default_pg_timeout as default_pg_timeout

_pg_map: dict[ProcessGroup, Any] = {}


def _get_default_group() -> ProcessGroup:
    """The group of this process; ValueError where none was started."""
    return _group(None)


def _object_to_tensor(obj: Any, device: Any = None, group: Any = None) -> tuple[Tensor, Tensor]:
    """An object's pickle as bytes, and how many they are."""
    data = rl.tensor(list(pickle.dumps(obj)), dtype=rl.uint8)
    return data, rl.tensor([data.numel()])


def _tensor_to_object(tensor: Tensor, tensor_size: Any, group: Any = None) -> Any:
    """The object of a pickle's bytes."""
    return pickle.loads(bytes(tensor[: int(tensor_size)].tolist()))


__getattr__ = _missing_name(__name__)
