"""`load`: each rank reads the chunks that overlap its own parts, however many ranks wrote them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import _root as rl
from ..._base.missing import missing_name as _missing_name
from ..._base.size import Size
from .._groups import ProcessGroup
from ._chunks import block, overlap
from ._flat import flatten, is_tensor, set_at
from ._together import Ranks
from .default_planner import DefaultLoadPlanner
from .filesystem import FileSystemReader
from .metadata import BytesStorageMetadata, Metadata, MetadataIndex, TensorStorageMetadata

__all__ = ["load", "load_state_dict"]


class _Read(NamedTuple):
    """A value or chunk to be read, and what is done with it."""

    place: Any
    is_tensor: bool
    take: Callable[[object], None]


def _place(content: Metadata, name: str, begin: Any) -> object:
    place = content.storage_data.get(MetadataIndex(name, begin))
    if place is None:
        raise RuntimeError(
            f"The checkpoint has {name} in its list, but not where it lies: it is damaged."
        )
    return place


def _reads(state: dict[str, Any], content: Metadata, partial: bool) -> list[_Read]:
    """All that is to be read for a state dict, in the order of the files."""
    flat = flatten(state)
    reads: list[_Read] = []
    for name, value in flat.values.items():
        kind = content.state_dict_metadata.get(name)
        if kind is None:
            if not partial:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        elif isinstance(kind, BytesStorageMetadata):

            def put(found: object, keys: Any = flat.keys[name]) -> None:
                set_at(state, keys, found)

            reads.append(_Read(_place(content, name, None), False, put))
        elif is_tensor(value):
            reads += _chunks(name, value, kind, content)
        else:
            raise ValueError(
                f"Invalid checkpoint metadata for {name}, expected BytesStorageMetadata but found "
                "<class 'torch.distributed.checkpoint.metadata.TensorStorageMetadata'>"
            )
    return sorted(reads, key=lambda read: (read.place.relative_path, read.place.offset))


def _chunks(
    name: str, value: object, kind: TensorStorageMetadata, content: Metadata
) -> list[_Read]:
    own = block(value)
    if own is None:
        return []
    target, begin, size = own
    if Size(kind.size) != size:
        raise ValueError(
            f"Size mismatch between saved {Size(kind.size)} and current: {size} for {name}"
        )
    reads, covered = [], 0
    for chunk in kind.chunks:
        shared = overlap(begin, target.shape, chunk.offsets, chunk.sizes)
        if shared is None:
            continue
        to, of = shared

        def copy(found: Any, part: Any = target[to], of: object = of, chunk: Any = chunk) -> None:
            if found.shape != Size(chunk.sizes):
                raise RuntimeError(
                    f"{name} has {found.shape} in its file, and {Size(chunk.sizes)} in the "
                    "checkpoint's list: the checkpoint is damaged."
                )
            with rl.no_grad():
                part.copy_(found[of])

        reads.append(_Read(_place(content, name, chunk.offsets), True, copy))
        covered += target[to].numel()
    if covered != target.numel():
        raise RuntimeError(
            f"The checkpoint has {covered} of the {target.numel()} elements of {name} that are "
            "needed here: it is damaged."
        )
    return reads


def _fill(
    state: dict[str, object], reader: FileSystemReader, planner: object, ranks: Ranks
) -> None:
    """Read what a state dict has."""
    partial = bool(getattr(planner, "allow_partial_load", False))
    reads: list[_Read] = []
    ranks.step("plan", lambda: reads.extend(_reads(state, reader.read_metadata(), partial)))

    def read() -> None:
        for kind in (True, False):
            chosen = [each for each in reads if each.is_tensor == kind]
            values = reader.read_values((each.place for each in chosen), weights_only=kind)
            for each, found in zip(chosen, values, strict=True):
                each.take(found)

    ranks.step("read", read)


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: object = None,
    planner: DefaultLoadPlanner | None = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Read what a dict has from a folder: tensors are written to in place, other values replaced.

    All ranks of the group call it; they may be more or fewer than those that saved. Values that
    are no tensors are unpickled, which can run any code: load only what you trust.

    Raises CheckpointException on all ranks when it fails on one: for names that the checkpoint
    does not have, other sizes, and files that are missing or damaged.

    >>> import tempfile
    >>> dcp = torch.distributed.checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2), "step": 7}, checkpoint_id=folder, no_dist=True)
    ...     state = {"w": torch.zeros(2), "step": 0}
    ...     dcp.load(state, checkpoint_id=folder, no_dist=True)
    >>> state
    {'w': tensor([1., 1.]), 'step': 7}
    """
    reader, ranks = (
        FileSystemReader.meant(checkpoint_id, storage_reader),
        Ranks(process_group, no_dist),
    )
    states = {
        key: value.state_dict() if hasattr(value, "state_dict") else value
        for key, value in state_dict.items()
    }
    _fill(states, reader, planner, ranks)
    for key, state in states.items():
        if hasattr(state_dict[key], "load_state_dict"):
            state_dict[key].load_state_dict(state)
        else:
            state_dict[key] = state


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: object,
    process_group: ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: DefaultLoadPlanner | None = None,
) -> None:
    """`load` by its older name: objects with a `state_dict` are not asked for it."""
    _fill(
        state_dict,
        FileSystemReader.meant(None, storage_reader),
        planner,
        Ranks(process_group, no_dist),
    )


__getattr__ = _missing_name(__name__)
