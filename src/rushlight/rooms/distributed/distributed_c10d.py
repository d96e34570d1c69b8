"""`torch.distributed.distributed_c10d`: its names under their module's name."""

from __future__ import annotations

from typing import Any

from .. import _root as rl
from .._base.missing import missing_name as _missing_name
from .._core import Tensor
from . import *  # noqa: F403
from . import ProcessGroup, _objects
from . import __all__ as __all__
from ._groups import _World, is_outside
from ._groups import default_group as _get_default_group
from .constants import default_pg_timeout as default_pg_timeout

_rank_not_in_group = is_outside
_pg_map: dict[ProcessGroup, Any] = _World.groups


def _get_default_store() -> object:
    """The store that the processes share."""
    _get_default_group()
    return _World.store()


def _get_pg_default_device(group: ProcessGroup | None = None) -> object:
    """Where the tensors of collectives are: the CPU."""
    return rl.device("cpu")


def _object_to_tensor(
    obj: object, device: object = None, group: object = None
) -> tuple[Tensor, Tensor]:
    """An object's pickle as bytes, and how many they are."""
    data = _objects.to_tensor(obj)
    return data, rl.tensor([data.numel()])


def _tensor_to_object(tensor: Tensor, tensor_size: Any, group: object = None) -> object:
    """The object of a pickle's bytes."""
    return _objects.from_tensor(tensor[: int(tensor_size)])


__getattr__ = _missing_name(__name__)
