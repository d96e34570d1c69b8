"""Another place of the names of `torch.distributed`."""

from datetime import timedelta
from typing import Any

from .. import distributed as _distributed
from .._missing import missing_name as _missing_name

globals().update({n: v for n, v in vars(_distributed).items() if not n.startswith("_")})

default_pg_timeout = timedelta(minutes=30)


def _get_default_group() -> Any:
    """The group of one; ValueError where there is none."""
    return _distributed._group(None)


def _object_to_tensor(obj: Any, device: Any = None, group: Any = None) -> Any:
    """An object's pickle as bytes, and how many they are."""
    import pickle

    from .. import _root as rl

    data = rl.tensor(list(pickle.dumps(obj)), dtype=rl.uint8)
    return data, rl.tensor([data.numel()])


def _tensor_to_object(tensor: Any, tensor_size: Any, group: Any = None) -> Any:
    """The object of a pickle's bytes."""
    import pickle

    return pickle.loads(bytes(tensor[: int(tensor_size)].tolist()))


__getattr__ = _missing_name(__name__)
