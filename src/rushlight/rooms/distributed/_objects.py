"""Collectives of Python objects: their pickles go as bytes, after their lengths."""

from __future__ import annotations

import pickle
from typing import Any

from .. import _root as rl
from .._core import Tensor
from . import _collectives
from ._groups import ProcessGroup, place, present


def to_tensor(obj: object) -> Tensor:
    """An object's pickle as bytes."""
    return rl.frombuffer(bytearray(pickle.dumps(obj)), dtype=rl.uint8)


def from_tensor(tensor: Tensor) -> Any:
    """The object of a pickle's bytes."""
    return pickle.loads(tensor.contiguous().numpy().tobytes())


def _length(data: Tensor) -> Tensor:
    return rl.tensor([data.numel()], dtype=rl.int64, device="cpu")


def _padded(obj: object, group: ProcessGroup) -> tuple[list[int], Tensor]:
    """How long each process's pickle is, and this one's, as long as the longest."""
    data = to_tensor(obj)
    lengths = rl.zeros(group.size(), dtype=rl.int64, device="cpu")
    _collectives.all_gather_into_tensor(lengths, _length(data), group)
    padded = rl.zeros(int(lengths.max()), dtype=rl.uint8, device="cpu")
    padded[: data.numel()] = data
    return lengths.tolist(), padded


def all_gather_object(
    object_list: list[Any], obj: object, group: ProcessGroup | None = None
) -> None:
    """The list becomes the objects of all processes, in the order of ranks."""
    own = present("all_gather_object", group)
    if own is None:
        return
    lengths, padded = _padded(obj, own)
    every = rl.empty(own.size(), padded.numel(), dtype=rl.uint8, device="cpu")
    _collectives.all_gather_into_tensor(every, padded, own)
    for i, length in enumerate(lengths):
        object_list[i] = from_tensor(every[i, :length])


def gather_object(
    obj: object,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """The list of rank `dst` (0 if not told) becomes the objects of all."""
    own = present("gather_object", group)
    if own is None:
        return
    root = place(own, dst, group_dst, default=0)
    if own.rank() == root and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if own.rank() != root and object_gather_list:
        raise ValueError(
            "Argument ``object_gather_list`` must NOT be specified on non-destination ranks."
        )
    lengths, padded = _padded(obj, own)
    if own.rank() != root:
        _collectives.gather(padded, None, group=own, group_dst=root)
        return
    every = list(rl.empty(own.size(), padded.numel(), dtype=rl.uint8, device="cpu").unbind())
    _collectives.gather(padded, every, group=own, group_dst=root)
    assert object_gather_list is not None
    for i, length in enumerate(lengths):
        object_gather_list[i] = from_tensor(every[i][:length])


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: object = None,
    group_src: int | None = None,
) -> None:
    """The list's objects become those of rank `src` (0 if not told)."""
    own = present("broadcast_object_list", group)
    if own is None:
        return
    root = place(own, src, group_src, default=0)
    length = rl.zeros(len(object_list), dtype=rl.int64, device="cpu")
    parts = []
    if own.rank() == root:
        parts = [to_tensor(obj) for obj in object_list]
        length = rl.tensor([part.numel() for part in parts], dtype=rl.int64, device="cpu")
    _collectives.broadcast(length, group=own, group_src=root)
    total = int(length.sum())
    data = rl.cat(parts) if parts else rl.empty(total, dtype=rl.uint8, device="cpu")
    _collectives.broadcast(data, group=own, group_src=root)
    if own.rank() != root:
        for i, part in enumerate(data.split(length.tolist())):
            object_list[i] = from_tensor(part)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """The output's first place gets the object at this rank's place in the list of rank `src`."""
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    own = present("scatter_object_list", group)
    if own is None:
        return
    root = place(own, src, group_src, default=0)
    if own.rank() != root:
        length = rl.zeros(1, dtype=rl.int64, device="cpu")
        _collectives.scatter(length, None, group=own, group_src=root)
        data = rl.empty(int(length), dtype=rl.uint8, device="cpu")
        _collectives.recv(data, group=own, group_src=root, tag=_TAG)
        scatter_object_output_list[0] = from_tensor(data)
        return
    if not scatter_object_input_list:
        raise ValueError("Argument ``scatter_object_input_list`` must be specified on source rank.")
    parts = [to_tensor(obj) for obj in scatter_object_input_list]
    lengths = [_length(part) for part in parts]
    _collectives.scatter(
        rl.zeros(1, dtype=rl.int64, device="cpu"), lengths, group=own, group_src=root
    )
    works = [
        _collectives.isend(part, group=own, group_dst=i, tag=_TAG)
        for i, part in enumerate(parts)
        if i != root
    ]
    for work in works:
        if work is not None:
            work.wait()
    scatter_object_output_list[0] = from_tensor(parts[root])


_TAG = 30_001  # of the messages of objects


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: ProcessGroup | None = None,
    device: object = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send a list's objects to a process."""
    own = present("send_object_list", group)
    if own is None:
        return
    peer = place(own, dst, group_dst)
    parts = [to_tensor(obj) for obj in object_list]
    lengths = rl.tensor([part.numel() for part in parts], dtype=rl.int64, device="cpu")
    _collectives.send(lengths, group=own, group_dst=peer, tag=_TAG)
    if parts:
        _collectives.send(rl.cat(parts), group=own, group_dst=peer, tag=_TAG)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: object = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Wait for a list of objects from a process, or from any; the rank that sent it."""
    own = present("recv_object_list", group)
    if own is None:
        return -1
    lengths = rl.zeros(len(object_list), dtype=rl.int64, device="cpu")
    sender = _collectives.recv(lengths, src, own, _TAG, group_src)
    if object_list:
        data = rl.empty(int(lengths.sum()), dtype=rl.uint8, device="cpu")
        _collectives.recv(data, sender, own, _TAG)
        for i, part in enumerate(data.split(lengths.tolist())):
            object_list[i] = from_tensor(part)
    return sender
