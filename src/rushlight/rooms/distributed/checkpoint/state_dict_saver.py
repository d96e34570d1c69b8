"""`save`: of the ranks that have a value or chunk, one alone writes it."""

from __future__ import annotations

import copy
import enum
import os
import uuid
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..._base.missing import missing_name as _missing_name
from ..._base.size import Size
from .._groups import ProcessGroup
from ._chunks import block
from ._flat import Flat, flatten, is_tensor
from ._together import Ranks
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(enum.Enum):
    """The place that an `async_save` runs in: always a thread here."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """When an `async_save` has its copy of the values, and when they are written."""

    staging_completion: Future[None]
    upload_completion: Future[None]


class _Item(NamedTuple):
    """A value, or a chunk of a tensor, that a rank could write."""

    name: str
    begin: tuple[int, ...] | None  # None: no tensor
    lengths: tuple[int, ...] = ()
    size: tuple[int, ...] = ()
    properties: TensorProperties | None = None
    weight: int = 0  # in bytes

    @property
    def identity(self) -> tuple[str, tuple[int, ...] | None]:
        return self.name, self.begin


def _items(flat: Flat) -> tuple[list[_Item], dict[Any, object]]:
    """The items that this rank could write, and their values."""
    items, values = [], {}
    for name, value in flat.values.items():
        if not is_tensor(value):
            item, content = _Item(name, None), value
        else:
            own = block(value)
            if own is None:
                continue
            content, begin, size = own
            properties = TensorProperties(content.dtype, requires_grad=value.requires_grad)
            weight = content.numel() * content.element_size()
            shape = tuple(content.shape)
            item = _Item(name, tuple(begin), shape, tuple(size), properties, weight)
            if content.numel() == 0 and shape != tuple(size):
                continue  # nothing of the tensor is on this rank
        items.append(item)
        values[item.identity] = content
    return items, values


def _shared_out(plans: list[list[_Item]], to_lowest: bool) -> list[list[_Item]]:
    """The items that each rank writes: an item's writer is its owner with the least to write.

    With `to_lowest`, and for a value that is no tensor, the lowest owner is. All compute the same.
    """
    owners: dict[object, list[int]] = {}
    items: dict[object, _Item] = {}
    for rank, plan in enumerate(plans):
        for item in plan:
            owners.setdefault(item.identity, []).append(rank)
            items.setdefault(item.identity, item)
    shares: list[list[_Item]] = [[] for _ in plans]
    weights = [0] * len(plans)
    for identity in sorted(items, key=lambda each: (len(owners[each]) > 1, -items[each].weight)):
        item, ranks = items[identity], owners[identity]
        lowest = to_lowest or item.begin is None
        rank = ranks[0] if lowest else min(ranks, key=weights.__getitem__)
        shares[rank].append(item)
        weights[rank] += item.weight
    return shares


def _contents(
    shares: list[list[_Item]], places: list[list[object]], paths: object, folder: object
) -> Metadata:
    """The table of contents of what the ranks have written."""
    kinds: dict[str, Any] = {}
    storage: dict[MetadataIndex, Any] = {}
    for share, written in zip(shares, places, strict=True):
        for item, place in zip(share, written, strict=True):
            if item.begin is None or item.properties is None:
                kinds.setdefault(item.name, BytesStorageMetadata())
                storage[MetadataIndex(item.name)] = place
                continue
            kind = kinds.setdefault(
                item.name, TensorStorageMetadata(item.properties, Size(item.size), [])
            )
            storage[MetadataIndex(item.name, item.begin, len(kind.chunks))] = place
            kind.chunks.append(ChunkStorageMetadata(Size(item.begin), Size(item.lengths)))
    meta = StorageMeta(str(folder), str(uuid.uuid4()))
    return Metadata(kinds, paths, storage, meta, "1.0.0")


def _plain(tensor: Any) -> object:
    """A tensor on the CPU whose memory has its values and no more."""
    tensor = tensor.cpu().contiguous()
    whole = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    return tensor if whole else tensor.clone()


def _states(state_dict: dict[str, object]) -> dict[str, object]:
    """The dict, with their states for objects that have a `state_dict`."""
    return {
        key: value.state_dict() if hasattr(value, "state_dict") else value
        for key, value in state_dict.items()
    }


def _save(flat: Flat, writer: FileSystemWriter, planner: object, ranks: Ranks) -> Metadata:
    def plan() -> tuple[list[_Item], dict[str, Any], int]:
        return _items(flat)[0], flat.paths, writer.next_number()

    plans = ranks.step("plan", plan)
    number = max(number for _, _, number in plans)
    to_lowest = bool(getattr(planner, "dedup_save_to_lowest_rank", False))
    shares = _shared_out([items for items, _, _ in plans], to_lowest)

    def write() -> list[Any]:
        share, values = shares[ranks.rank], _items(flat)[1]
        if not share:
            return []
        every: Iterable[object] = (
            values[item.identity] if item.begin is None else _plain(values[item.identity])
            for item in share
        )
        return writer.write_values(f"__{ranks.rank}_{number}.distcp", every)

    places = ranks.step("write", write)
    paths: dict[str, Any] = {}
    for _, known, _ in plans:
        paths = {**known, **paths}
    contents = _contents(shares, places, paths, writer.path)

    def finish() -> None:
        if ranks.rank == 0:
            writer.write_metadata(contents)

    ranks.step("finish", finish)
    return contents


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: object = None,
    planner: DefaultSavePlanner | None = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write a dict of tensors, other values, and objects with a `state_dict`, to a folder.

    All ranks of the group call it. A tensor that several ranks have under one name is taken to be
    the same on all, and written by one of them; of a DTensor each rank writes its part. Values
    that are no tensors are those of the lowest rank that has them. Until all is written, the
    folder has the checkpoint that it had before.

    Raises CheckpointException on all ranks when it fails on one.

    >>> import os, tempfile
    >>> dcp = torch.distributed.checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2)}, checkpoint_id=folder, no_dist=True)
    ...     sorted(os.listdir(folder))
    ['.metadata', '__0_0.distcp']
    """
    writer = FileSystemWriter.meant(checkpoint_id, storage_writer)
    return _save(flatten(_states(state_dict)), writer, planner, Ranks(process_group, no_dist))


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: object = None,
    planner: DefaultSavePlanner | None = None,
    process_group: ProcessGroup | None = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: object = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Any]:
    """`save` of the values as they are now, in a thread; a Future of its Metadata.

    Wait for it before the next save to the same folder. Several ranks write before it returns: the
    Future is done then.
    """
    writer = FileSystemWriter.meant(checkpoint_id, storage_writer)
    flat = flatten(_states(state_dict))
    ranks = Ranks(process_group, no_dist)
    if ranks.count > 1:
        done: Future[object] = Future()
        try:
            done.set_result(_save(flat, writer, planner, ranks))
        except BaseException as error:
            done.set_exception(error)
        return done
    kept = {name: copy.deepcopy(_detached(value)) for name, value in flat.values.items()}
    pool = ThreadPoolExecutor(1, "async_save")
    result = pool.submit(_save, flat._replace(values=kept), writer, planner, ranks)
    pool.shutdown(wait=False)
    return result


def _detached(value: Any) -> object:
    return value.detach() if is_tensor(value) else value


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: object,
    process_group: ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: DefaultSavePlanner | None = None,
) -> Metadata:
    """`save` by its older name: objects with a `state_dict` are not asked for it."""
    writer = FileSystemWriter.meant(None, storage_writer)
    return _save(flatten(state_dict), writer, planner, Ranks(process_group, no_dist))


__getattr__ = _missing_name(__name__)
