"""`torch.distributed.checkpoint`: state dicts in folders; one process writes one file.

The file is that of `torch.save`, not PyTorch's format: `load` reads what `save` here wrote.
"""

from __future__ import annotations

import os
from typing import Any

from ... import _root as rl
from ..._core import Tensor
from ..._elsewhere import refuse_all as _refuse_all
from ..._missing import missing_name as _missing_name
from ...futures import Future

_FILE = "__0_0.distcp"
globals().update(
    _refuse_all(
        "torch.distributed.checkpoint",
        """BytesStorageMetadata ChunkStorageMetadata DefaultLoadPlanner DefaultSavePlanner
        HuggingFaceStorageReader HuggingFaceStorageWriter LoadPlan LoadPlanner Metadata ReadItem
        SavePlan SavePlanner StorageReader StorageWriter TensorStorageMetadata WriteItem
        load_sharded_optimizer_state_dict""",
        "one process writes one file, without a plan.",
    )
)


class CheckpointException(BaseException):
    """What goes wrong in a process: never raised."""


class _Place:
    """A folder that checkpoints are written to and read from."""

    def __init__(self, path: Any, *args: Any, **settings: Any) -> None:
        self.path = os.fspath(path)


class FileSystemReader(_Place):
    """The folder that a checkpoint is read from."""


class FileSystemWriter(_Place):
    """The folder that a checkpoint is written to."""


def _file(checkpoint_id: Any, place: Any) -> str:
    folder = checkpoint_id if checkpoint_id is not None else getattr(place, "path", None)
    if folder is None:
        raise RuntimeError(
            "`checkpoint_id` must be specificed if storage_reader/storage_writer is None."
        )
    return os.path.join(os.fspath(folder), _FILE)


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    **settings: Any,
) -> None:
    """Write a dict of tensors, other values, and objects with a `state_dict`, to a folder."""
    from ...serialization import save as write

    path = _file(checkpoint_id, storage_writer)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write({k: _state(v) for k, v in state_dict.items()}, path)


def _state(value: Any) -> Any:
    return value.state_dict() if hasattr(value, "state_dict") else value


def async_save(state_dict: dict[str, Any], **settings: Any) -> Future[None]:
    """`save`, done when it returns: the result is a Future that is done."""
    save(state_dict, **settings)
    done: Future[None] = Future()
    done.set_result(None)
    return done


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    **settings: Any,
) -> None:
    """Read what the dict has from a folder: tensors are written to in place.

    Raises CheckpointException for keys that the checkpoint does not have.
    """
    from ...serialization import load as read

    found = read(_file(checkpoint_id, storage_reader), weights_only=False)
    missing = [k for k in state_dict if k not in found]
    if missing:
        raise CheckpointException(f"Missing key in checkpoint state_dict: {missing[0]}.")
    for key, value in state_dict.items():
        if hasattr(value, "load_state_dict"):
            value.load_state_dict(found[key])
        else:
            state_dict[key] = _filled(value, found[key])


def _filled(target: Any, source: Any) -> Any:
    """A value with tensors of the target written to in place."""
    if isinstance(target, Tensor) and isinstance(source, Tensor):
        with rl.no_grad():
            return target.copy_(source)
    if isinstance(target, dict) and isinstance(source, dict):
        return {k: _filled(v, source[k]) if k in source else v for k, v in target.items()}
    return source


save_state_dict, load_state_dict = save, load

__getattr__ = _missing_name(
    __name__, late={n: n for n in ("state_dict", "stateful", "format_utils")}
)
